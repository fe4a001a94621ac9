#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Check docs/zookeeper-tests.md: every test of ours that it names exists, each
case of the other client is there once, and each row names a test or says why
there is none.  Prints the errors, and the number of cases."""

import re
import sys

import known_failures

DOC = "docs/zookeeper-tests.md"
# The cases that files of that client share.
SHARED = {"testNonexistentHost", "testPing", "testCreate"}


def complaints(document):
    for pair in known_failures.tests_in(document):
        if not known_failures.exists(*pair):
            yield "names %s, which is not there" % ": ".join(pair)
    seen = set()
    for cases, ours in re.findall(r"^\| (`test.*?) \| .*? \| (.*) \|$", document,
                                  re.MULTILINE):
        for case in re.findall(r"`(test\w+)`", cases):
            if case in seen and case not in SHARED:
                yield "%s is there twice" % case
            seen.add(case)
        if not (ours.startswith("none: ") or known_failures.tests_in(ours)):
            yield "%s names no test and does not say why" % cases


def main():
    document = known_failures.text_of(DOC)
    cases = re.findall(r"`test[A-Z]\w+`", document)
    wrong = ["%s: %s" % (DOC, what) for what in complaints(document)]
    for what in wrong:
        print(what)
    print("%d cases of the other client, %d tests of ours named" % (
        len(cases), len(known_failures.tests_in(document))))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
