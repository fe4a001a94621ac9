#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Check docs/proof.md: every test that it names exists, it lists every
mutation and no others, and every patch applies.  Check docs/architecture.md:
its table lists the functions that say "Invariant N" in the code, and each file
of src has one row.  Prints the errors, and the number of tests."""

import os
import re
import sys

import known_failures

sys.path[:0] = [os.path.join(known_failures.ROOT, "proof"),
                os.path.join(known_failures.ROOT, "tests", "mutants")]

import model  # noqa: E402
import mutants  # noqa: E402

DOC = "docs/proof.md"
# Where mutations of what runs inside a server are.
MUTATIONS = ("tests/servers/script_mutant.py", "tests/chaos/test_pg_notices.py",
             "tests/postgres/test_schema.py", "tests/postgres/test_sole.py")
LISTS = ("tests/simulator/CMakeLists.txt", "tests/mutants/CMakeLists.txt",
         "tests/unit/CMakeLists.txt", "proof/CMakeLists.txt")


def exists(test, name):
    """Some are no files of their own."""
    if known_failures.exists(test, name):
        return True
    if test.startswith("fuzz/"):
        return os.path.isdir(os.path.join(
            known_failures.ROOT, "tests/fuzz/corpus", test[5:]))
    if test.startswith("sweep/"):
        return re.search(r"hf_sweep_(test|server)\(%s\b" % test[6:],
                         known_failures.text_of("tests/sweep/CMakeLists.txt"))
    return any(re.search(r"NAME %s\s" % test, known_failures.text_of(path))
               for path in LISTS)


def complaints(document):
    for pair in known_failures.tests_in(document):
        if not exists(*pair):
            yield "names %s, which is not there" % ": ".join(pair)
    named = set(re.findall(r"^\| `([A-Z_]+)` \|", document, re.MULTILINE))
    made = set(model.MUTATIONS) | set(mutants.names())
    for path in MUTATIONS:
        made |= set(re.findall(r'^    "([A-Z_]+)": \(',
                               known_failures.text_of(path), re.MULTILINE))
    for name in sorted(named - made):
        yield "%s is no mutation" % name
    for name in sorted(made - named):
        yield "%s is a mutation and not there" % name


def misplaced():
    """The invariants that only the table or only the code has."""
    page = known_failures.text_of("docs/architecture.md")
    rows = set(re.findall(r"^\| (\d+) \| .* \| `([a-z_/]+\.c)` \| `(\w+)\(\)` \|$",
                          page, re.MULTILINE))
    found = set()
    for folder in ("core", "zookeeper"):
        path = os.path.join(known_failures.ROOT, "src", folder)
        for name in sorted(os.listdir(path)):
            text = known_failures.text_of("src/%s/%s" % (folder, name))
            for number, head in re.findall(
                    r"Invariant (\d+):.*?\*/\n([^{]*)\{", text, re.DOTALL):
                function = re.search(r"(\w+)\(", head).group(1)
                found.add((number, "%s/%s" % (folder, name), function))
    for number, path, function in sorted(rows ^ found):
        yield "invariant %s: %s() of src/%s is in %s only" % (
            number, function, path,
            "the table" if (number, path, function) in rows else "the code")


def files_of_rows(page):
    """The files that the rows of the tables "file | noun" name, without .c."""
    for section in page.split("\n## "):
        folder = re.match(r"[^\n]*`src/([\w/]+)`\n", section)
        table = re.search(r"^\| file \| noun \|\n\|---\|---\|\n((?:\|.*\n)+)",
                          section, re.MULTILINE)
        if folder and table:
            for name in re.findall(r"^\| ([^|]*) \|", table.group(1),
                                   re.MULTILINE):
                yield "%s/%s" % (folder.group(1), name.strip("`"))


def files_of_src():
    """A .c and its .h are one file, "x"; a header alone is "x.h"."""
    root = os.path.join(known_failures.ROOT, "src")
    for folder, _, names in os.walk(root):
        for name in names:
            stem, kind = os.path.splitext(name)
            path = os.path.relpath(os.path.join(folder, stem), root)
            if kind in (".c", ".sql"):
                yield path
            elif kind == ".lua" or kind == ".h" and stem + ".c" not in names:
                yield path + kind


def without_row():
    """The files without one row of their own, and rows without a file."""
    rows = list(files_of_rows(known_failures.text_of("docs/architecture.md")))
    files = set(files_of_src())
    for path in sorted(files.difference(rows)):
        yield "src/%s has no row in the table of its folder" % path
    for path in sorted(set(rows) - files):
        if not os.path.isfile(os.path.join(known_failures.ROOT, "src", path)):
            yield ("a row names src/%s, which is no file; expected one file in "
                   "each row, without .c" % path)
    for path in sorted(set(rows)):
        if rows.count(path) > 1:
            yield "src/%s has %d rows; expected one" % (path, rows.count(path))


def main():
    document = known_failures.text_of(DOC)
    wrong = ["%s: %s" % (DOC, what) for what in complaints(document)]
    wrong += ["docs/architecture.md: %s" % what
              for what in [*misplaced(), *without_row()]]
    wrong += mutants.complaints()
    for what in wrong:
        print(what)
    print("%d tests named" % len(known_failures.tests_in(document)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
