#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/proof.md says is so: every test that it names exists, and it has
every planted fault, and none that is not planted.

Prints what is not so, and how many were found.
"""

import os
import re
import sys

import known_failures

sys.path.insert(0, os.path.join(known_failures.ROOT, "proof"))

import model  # noqa: E402

DOC = "docs/proof.md"
# Where faults are planted, and what is put before their names.
PLANTS = (("src/core/plant.h", ""),
          ("src/engines/quorum/plant.h", "QUORUM_"),
          ("src/cli/mutation.h", ""))
# Where mutations of what runs inside a server are.
MUTATIONS = ("tests/servers/script_mutant.py", "tests/chaos/test_pg_notices.py")
LISTS = ("tests/sim/CMakeLists.txt", "proof/CMakeLists.txt")


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
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", document, re.MULTILINE))
    planted = set(model.PLANTS)
    for path, prefix in PLANTS:
        planted |= {prefix + name for name in re.findall(
            r"^    X\(([A-Z_]+),", known_failures.text_of(path),
            re.MULTILINE)}
    for path in MUTATIONS:
        planted |= set(re.findall(r'^    "([A-Z_]+)": \(',
                                  known_failures.text_of(path), re.MULTILINE))
    for plant in sorted(told - planted):
        yield "%s is no planted fault" % plant
    for plant in sorted(planted - told):
        yield "%s is a planted fault and not there" % plant


def main():
    document = known_failures.text_of(DOC)
    wrong = list(complaints(document))
    for what in wrong:
        print("%s: %s" % (DOC, what))
    print("%d tests named" % len(known_failures.tests_in(document)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
