# SPDX-License-Identifier: Apache-2.0
"""What the explorer finds can be gone again, step by step; it doubts itself
and finds nothing; and it says where it stopped."""

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
        story = re.search(r"invariant 1 broken: (.*)", found).group(1)
        choices = re.search(r"--choices (\S+)", found).group(1)
        again = self.run_sim(1, "--explore", "two", "--choices", choices,
                             mutation="READ_PASSES_WRITE")
        self.assertIn(f"CHECK   invariant 1 broken: {story}", again)

    def test_what_cannot_happen_is_refused(self):
        said = self.run_sim(64, "--explore", "two",
                            "--choices", "a.want,b.release")
        self.assertIn("b.release cannot happen here; expected one of", said)
        self.assertIn("a.out", said)

    def test_runs_are_equal(self):
        self.assertEqual(self.run_sim(0, "--explore", "two"),
                         self.run_sim(0, "--explore", "two"))

    def test_a_bound_is_named(self):
        said = self.run_sim(0, "--explore", "two", "--depth", "9")
        self.assertRegex(said, r" [1-9]\d* paths cut off at 9\n")
        self.assertIn("as far as this went", said)

    def test_what_looks_alike_goes_on_alike(self):
        for scene in ("two", "two-cut", "two-cancel", "permits-all"):
            said = self.run_sim(0, "--explore", scene, "--doubt")
            self.assertRegex(said, r" [1-9]\d* times seen that stages")

    def test_reduction_keeps_what_is_found(self):
        for mutation, scene in (("READ_PASSES_WRITE", "two"),
                                ("ADMIT_ON_ANY_GONE", "two-cut"),
                                ("CANCEL_KEEPS_TICKET", "two-cancel")):
            for trust in ((), ("--doubt",)):
                self.run_sim(1, "--explore", scene, *trust, mutation=mutation)


if __name__ == "__main__":
    Explore.program = sys.argv.pop()
    unittest.main()
