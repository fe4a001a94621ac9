# SPDX-License-Identifier: Apache-2.0
"""Each mutant of the tool fails a test."""

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "mutants"))

import mutants  # noqa: E402

import machine  # noqa: E402

TOOL = os.environ["HOLDFAST"]

# The file and the test that a mutant has to fail.
CATCHERS = {
    "TERM_CHILDREN_ONLY": ("proc", "Proc.test_term_reaches_all"),
    "SCAN_OMITTED": ("proc",
                     "Proc.test_children_are_found_without_children"),
    "NAME_ENDS_EARLY": ("proc", "Proc.test_names_that_look_like_fields"),
    "SIGNAL_NOT_RELAYED": ("signals",
                           "Waiting.test_the_process_that_show_names"),
    "DUPLICATES_COUNT": ("signals", "Running.test_to_both_is_forwarded_once"),
    "ANCESTOR_BY_PID": ("nested",
                        "Nested.test_an_environment_that_outlived_its_run"),
    "NO_GRANT_PASSES": ("verify", "Verify.test_nothing_was_granted"),
    "UNREACHED_PASSES": ("verify", "Verify.test_an_engine_that_is_not_reached"),
    "SHOW_CREATES": ("show", "Show.test_a_directory_that_is_not_there"),
    "HELD_BY_WAITERS": ("show", "Show.test_is_it_held"),
}


def build(mutation, directory):
    """The tool, a mutant or with holdfast-torture as a mutant beside it."""
    tool = os.path.join(directory, "holdfast")
    if is_of_torture(mutation):
        shutil.copy(TOOL, tool)
        mutants.build(mutation, TOOL + "-torture", tool + "-torture")
    else:
        mutants.build(mutation, TOOL, tool)
    return tool


def is_of_torture(mutation):
    return any(change.path.startswith("src/torture/")
               for change in mutants.read(mutation).files)


def passes(tool, catcher):
    """Does the test, of that tool?  And what it said."""
    name, test = catcher
    ran = subprocess.run(
        [sys.executable, os.path.join(HERE, "test_%s.py" % name), test],
        env=dict(os.environ, HOLDFAST=tool, GRACE="300ms",
                 HF_WAIT_LIMIT_S="10"),
        capture_output=True, text=True, check=False)
    return ran.returncode == 0, ran.stderr


class Mutations(unittest.TestCase):
    def test_the_table_has_every_mutation(self):
        self.assertEqual(mutants.names(mutants.is_of_tool), sorted(CATCHERS))

    def test_each_is_caught(self):
        for mutation, catcher in CATCHERS.items():
            with self.subTest(mutation=mutation), \
                    machine.temporary("mutant") as directory:
                self.assertTrue(*passes(TOOL, catcher))
                mutant = build(mutation, directory)
                caught, said = passes(mutant, catcher)
                self.assertFalse(caught, said)
                self.assertRegex(said, "AssertionError|TimeoutExpired")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"] + sys.argv[1:])
