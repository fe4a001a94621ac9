# SPDX-License-Identifier: Apache-2.0
"""Each deliberate fault of src/cli/mutation.h fails a test."""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "..", "..", "src", "cli", "mutation.h")

# The test that a fault has to fail, behind the file that has it.
CATCHERS = {
    "SWEEP_CHILDREN_ONLY": "proc Proc.test_term_reaches_all",
    "SCAN_OMITTED": "proc Proc.test_children_are_found_without_children",
    "NAME_ENDS_EARLY": "proc Proc.test_names_that_look_like_fields",
    "SIGNAL_NOT_RELAYED": "signals Waiting.test_the_process_that_show_names",
    "COPIES_COUNT": "signals Running.test_to_both_is_forwarded_once",
    "ANCESTOR_BY_PID": "nested "
                       "Nested.test_an_environment_that_outlived_its_run",
}


def passes(mutation, test):
    """Does the test, of a tool with that fault?  And what it said."""
    file, name = test.split()
    ran = subprocess.run(
        [sys.executable, os.path.join(HERE, "test_%s.py" % file), name],
        env=dict(os.environ, HOLDFAST=os.environ["MUTANT"],
                 HF_MUTATION=mutation, GRACE="300ms", HF_PATIENCE_S="10"),
        capture_output=True, text=True, check=False)
    return ran.returncode == 0, ran.stderr


class Mutations(unittest.TestCase):
    def test_the_table_is_whole(self):
        with open(TABLE, encoding="utf-8") as file:
            names = re.findall(r"^    X\((\w+), ", file.read(), re.MULTILINE)
        self.assertEqual(sorted(names), sorted(CATCHERS))

    def test_each_is_caught(self):
        for mutation, test in CATCHERS.items():
            with self.subTest(mutation=mutation):
                self.assertTrue(*passes("NONE", test))
                caught, said = passes(mutation, test)
                self.assertFalse(caught, said)
                self.assertRegex(said, "AssertionError|TimeoutExpired")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"] + sys.argv[1:])
