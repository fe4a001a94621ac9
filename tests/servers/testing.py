# SPDX-License-Identifier: Apache-2.0
"""How a program of tests ends: with 0 if every test passed, with 77 if one was
skipped and none failed, and else with 1.  ctest reports 77 as skipped."""

import os
import sys
import unittest

SKIPPED = 77

# ./dev soak sets it.
LONG = os.environ.get("HF_LONG") == "1"


def when(condition):
    """A decorator of a test, or of a class of tests, that is there only under
    this condition: the long form is for ./dev soak, a layout for one engine.
    It is not reported as skipped elsewhere, because it is not missed there.
    What is missed, such as the rights of root, is for unittest.skipUnless()."""
    return lambda test: test if condition else None


def main(verbosity=1):
    """As unittest.main(), of the program that runs."""
    program = unittest.main(exit=False, verbosity=verbosity)
    result = program.result
    for test, reason in result.skipped:
        print("skipped: %s: %s" % (test.id(), reason), flush=True)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.skipped else 0)
