# SPDX-License-Identifier: Apache-2.0
"""The exit status of a program of tests: 0 if every test passed, 77 if one was
skipped and none failed, else 1.  ctest reports 77 as skipped."""

import os
import sys
import unittest

SKIPPED = 77

# ./dev soak sets it.
LONG = os.environ.get("HF_LONG") == "1"


def when(condition):
    """A decorator that removes a test, or a class of tests, unless the
    condition is true: the long form is for ./dev soak, a layout for one
    engine.  It is not reported as skipped, because it is not missed there.
    Use unittest.skipUnless() for tests that are missed, such as those that
    need root."""
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
