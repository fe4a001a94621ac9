#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every test that docs/known-failures-of-others.md names exists.

Prints what does not, and how many were found.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
DOC = "docs/known-failures-of-others.md"


def text_of(path):
    try:
        with open(os.path.join(ROOT, path)) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def exists(test, name):
    """As the document calls them; name may be empty."""
    folder, _, base = test.partition("/")
    if test == "sim/stories":
        return bool(text_of("tests/sim/stories/%s.story" % name))
    if test == "sim/plants":
        return "X(%s, " % name in text_of("src/core/plant.h")
    if test in ("conformance/suite", "conformance/kinds"):
        source = text_of("tests/%s.c" % test)
    elif folder == "interop":
        source = text_of("tests/interop/test_interop.py")
    else:
        stem = "tests/%s/test_%s" % (folder, base)
        source = text_of(stem + ".c") or text_of(stem + ".py")
    if not name:
        return bool(source)
    return re.search(r"(void|def) (story_)?%s\(" % re.escape(name), source) is not None


def main():
    rows = re.findall(r"^\| (\d+) \|.*", text_of(DOC), re.MULTILINE)
    named = re.findall(r"`([a-z]+/[\w-]+)(?:: ([\w-]+))?`", text_of(DOC))
    named = [pair for pair in named if pair[0] != "sim/stories" or pair[1]]
    wrong = [pair for pair in named
             if pair != ("sim/plants", "") and not exists(*pair)]
    for pair in wrong:
        print("%s names %s, which is not there" % (DOC, ": ".join(pair)))
    if len(rows) != len(set(rows)) or not rows or not named:
        sys.exit("%s: its rows make no sense" % DOC)
    print("%d failures of others, %d tests named" % (len(rows), len(named)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
