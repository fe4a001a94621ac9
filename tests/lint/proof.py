#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/proof.md says is so: every test that it names exists, and it has
every planted fault of the model and of the simulator, and no others.

Prints what is not so, and how many were found.
"""

import os
import re
import sys

import known_failures

sys.path.insert(0, os.path.join(known_failures.ROOT, "proof"))

import model  # noqa: E402

DOC = "docs/proof.md"
LISTS = ("tests/sim/CMakeLists.txt", "proof/CMakeLists.txt")


def exists(test, name):
    """Some are no files of their own."""
    if known_failures.exists(test, name):
        return True
    if test.startswith("fuzz/"):
        return os.path.isdir(os.path.join(
            known_failures.ROOT, "tests/fuzz/corpus", test[5:]))
    return any(re.search(r"NAME %s\s" % test, known_failures.text_of(path))
               for path in LISTS)


def complaints(document):
    for pair in known_failures.tests_in(document):
        if not exists(*pair):
            yield "names %s, which is not there" % ": ".join(pair)
    told = set(re.findall(r"^\| `([A-Z_]+)` \|", document, re.MULTILINE))
    planted = set(re.findall(
        r"^    X\(([A-Z_]+),", known_failures.text_of("src/core/plant.h"),
        re.MULTILINE)) | set(model.PLANTS)
    for plant in sorted(told ^ planted):
        yield "%s is %s" % (plant, "no planted fault" if plant in told else
                            "a planted fault and not there")


def main():
    document = known_failures.text_of(DOC)
    wrong = list(complaints(document))
    for what in wrong:
        print("%s: %s" % (DOC, what))
    print("%d tests named" % len(known_failures.tests_in(document)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
