# SPDX-License-Identifier: Apache-2.0
"""Each mutant of holdfast elect fails a test: see test_mutations.py."""

import sys
import unittest

import test_mutations


class OfElect(test_mutations.Mutations, unittest.TestCase):
    catchers = test_mutations.ELECT_CATCHERS


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"] + sys.argv[1:])
