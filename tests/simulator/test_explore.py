# SPDX-License-Identifier: Apache-2.0
"""A path that the explorer finds can be replayed; its reductions hide nothing and
its digests are right; and it says where it stopped."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "mutants"))

import mutants  # noqa: E402


class Explore(unittest.TestCase):
    program = ""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="holdfast-mutant-")
        cls.addClassCleanup(cls.directory.cleanup)

    def run_sim(self, status, *arguments, mutation=None):
        program = self.program
        if mutation:
            program = os.path.join(self.directory.name, mutation)
            if not os.path.exists(program):
                mutants.build(mutation, self.program, program)
        ran = subprocess.run([program, *arguments], capture_output=True,
                             text=True)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return ran.stdout + ran.stderr

    def test_a_finding_is_replayed(self):
        found = self.run_sim(1, "--explore", "two",
                             mutation="READ_PASSES_WRITE")
        message = re.search(r"invariant 1 broken: (.*)", found).group(1)
        actions = re.search(r"--actions (\S+)", found).group(1)
        again = self.run_sim(1, "--explore", "two", "--actions", actions,
                             mutation="READ_PASSES_WRITE")
        self.assertIn(f"CHECK   invariant 1 broken: {message}", again)

    def test_an_impossible_action_is_refused(self):
        output = self.run_sim(64, "--explore", "two",
                            "--actions", "a.want,b.release")
        self.assertIn("b.release cannot happen here; expected one of", output)
        self.assertIn("a.out", output)

    def test_runs_are_equal(self):
        self.assertEqual(self.run_sim(0, "--explore", "two"),
                         self.run_sim(0, "--explore", "two"))

    def test_a_bound_is_named(self):
        output = self.run_sim(0, "--explore", "two", "--depth", "9")
        self.assertRegex(output, r" [1-9]\d* paths cut off at 9\n")
        self.assertIn("as far as this went", output)

    def test_equal_digests_have_equal_successors(self):
        for case in ("two", "two-cut", "two-cancel", "permits-all"):
            output = self.run_sim(0, "--explore", case, "--check-reduction")
            self.assertRegex(output, r" [1-9]\d* times checked that equal states")

    def test_reduction_hides_no_violation(self):
        for mutation, case in (("READ_PASSES_WRITE", "two"),
                                ("ADMIT_ON_ANY_GONE", "two-cut"),
                                ("CANCEL_KEEPS_TICKET", "two-cancel")):
            for options in ((), ("--check-reduction",)):
                self.run_sim(1, "--explore", case, *options, mutation=mutation)


if __name__ == "__main__":
    Explore.program = sys.argv.pop()
    unittest.main()
