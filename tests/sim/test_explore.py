# SPDX-License-Identifier: Apache-2.0
"""What the explorer finds can be gone again, step by step; it doubts itself
and finds nothing; and it says where it stopped."""

import re
import subprocess
import sys
import unittest


class Explore(unittest.TestCase):
    program = ""

    def run_sim(self, status, *arguments):
        ran = subprocess.run([self.program, *arguments], capture_output=True,
                             text=True)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return ran.stdout + ran.stderr

    def test_a_finding_is_replayed(self):
        plant = ("--plant", "READ_PASSES_WRITE")
        found = self.run_sim(1, *plant, "--explore", "two")
        story = re.search(r"invariant 1 broken: (.*)", found).group(1)
        choices = re.search(r"--choices (\S+)", found).group(1)
        again = self.run_sim(1, *plant, "--explore", "two",
                             "--choices", choices)
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
        for plant, scene in (("READ_PASSES_WRITE", "two"),
                             ("ADMIT_ON_ANY_GONE", "two-cut"),
                             ("CANCEL_KEEPS_TICKET", "two-cancel")):
            for trust in ((), ("--doubt",)):
                self.run_sim(1, "--plant", plant, "--explore", scene, *trust)


if __name__ == "__main__":
    Explore.program = sys.argv.pop()
    unittest.main()
