#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Check docs/known-failures-of-others.md: every test that it names exists, the
first one of each row carries the number of the row, a row without one says
why, and every number has a row; a public report names a test, and its number,
if it has one, is that of a row.  Prints the errors and their number."""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
DOC = "docs/known-failures-of-others.md"
NUMBERS = set(range(1, 70))
WITHOUT_TEST = ("no such engine", "does not apply: ")


def text_of(path):
    try:
        with open(os.path.join(ROOT, path)) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def exists(test, name):
    """As the document calls them; name may be empty."""
    folder, _, base = test.partition("/")
    if test == "sim/scripts":
        return bool(text_of("tests/simulator/scripts/%s.script" % name))
    if test == "sim/mutants":
        return bool(text_of("tests/mutants/%s.patch" % name))
    if test in ("conformance/suite", "conformance/kinds"):
        source = text_of("tests/%s.c" % test)
    elif folder == "interop":
        source = (text_of("tests/interop/test_%s.py" % base.replace("-", "_")) or
                  text_of("tests/interop/test_interop.py"))
    else:
        stem = "tests/%s/test_%s" % (folder, base)
        source = (text_of(stem + ".c") or text_of(stem + ".py") or
                  text_of("tests/%s/%s.py" % (folder, base)))
    if not name:
        return bool(source)
    # In C a macro such as TEST() defines it.
    return re.search(r"((void|def) (case_)?|^[A-Z_]+\()%s\b" % re.escape(name),
                     source, re.MULTILINE) is not None


def tests_in(text):
    """Those that are named there, as (test, name or nothing)."""
    found = re.findall(r"`([a-z_]+/[\w-]+)(?:: ([\w-]+))?`", text)
    folders = (("sim/scripts", ""), ("sim/mutants", ""))
    return [pair for pair in found if pair not in folders]


def wrong_with(number, here):
    """The error in the last column of a row, or None."""
    tests = tests_in(here)
    if not tests:
        if here.startswith(WITHOUT_TEST):
            return None
        return "names no test and does not say why"
    if "fn%02d" % number not in re.split("[_-]", tests[0][1]):
        return "begins with %s, which has no fn%02d in its name" % (
            ": ".join(tests[0]), number)
    return None


def complaints(document):
    rows = re.findall(r"^\| (\d+) \|.*?\| (.*) \|$", document, re.MULTILINE)
    numbers = [int(number) for number, _ in rows]
    for number, here in rows:
        wrong = wrong_with(int(number), here)
        if wrong:
            yield "%s %s" % (number, wrong)
    for number in sorted(NUMBERS - set(numbers)):
        yield "%d is not there" % number
    for number in sorted(set(numbers)):
        if numbers.count(number) > 1 or number not in NUMBERS:
            yield "%d is there twice, or is no number of ours" % number
    for link, here, number in re.findall(
            r"^\| (\[.*?) \| .*? \| (.*) \| (\d+|–) \|$", document,
            re.MULTILINE):
        if not tests_in(here):
            yield "%s names no test" % link
        if number != "–" and int(number) not in NUMBERS:
            yield "%s is a case of %s, which is not there" % (link, number)
    for pair in tests_in(document):
        if not exists(*pair):
            yield "names %s, which is not there" % ": ".join(pair)


def main():
    document = text_of(DOC)
    wrong = list(complaints(document))
    for what in wrong:
        print("%s: %s" % (DOC, what))
    print("%d failures of others, %d tests named" % (
        len(NUMBERS), len(tests_in(document))))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
