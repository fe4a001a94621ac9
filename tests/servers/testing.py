# SPDX-License-Identifier: Apache-2.0
"""Which tests are there.  A test that is missed, because it needs the rights of
root or something of the kernel, is for unittest.skipUnless(): ctest reports
that as skipped (tests/skipped)."""

import os

# ./dev soak sets it.
LONG = os.environ.get("HF_LONG") == "1"


def when(condition):
    """A decorator that removes a test, or a class of tests, unless the
    condition is true: the long form is for ./dev soak, a layout for one
    engine.  It is not reported as skipped, because it is not missed there."""
    return lambda test: test if condition else None
