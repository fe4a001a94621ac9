# SPDX-License-Identifier: Apache-2.0
"""A run that breaks an invariant is shrunk: the trace is short, breaks the same
check as the whole run, and its command replays it."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "mutants"))

import mutants  # noqa: E402

# One or two of each kind, found by the first seeds, by a check or by an
# assertion: the mutation, the options of the run, and the most lines that the
# shrunk run may print.
MUTATIONS = (
    ("GONE_FORGOTTEN", (), 100),
    ("REMOVAL_NOT_RETRIED", (), 60),
    ("ADMIT_EXPIRED", (), 80),
    ("GRANTED_TWICE", (), 60),
    ("ZK_PING_PROVES", ("--engine", "zk"), 80),
    ("ZK_ORDER_BY_NAME", ("--engine", "zk"), 60),
    ("LEASED_SAFE_FROM_ANSWER", ("--engine", "leased"), 60),
    ("LEASED_NOT_POLLED", ("--engine", "leased"), 160),
    ("PARTICIPANT_OLD_GENERATION", ("--double-barrier",), 60),
    ("ZK_PARTICIPANT_CLEARED", ("--double-barrier", "--engine", "zk"), 80),
)
DECISIONS = 16


class Shrink(unittest.TestCase):
    program = ""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="holdfast-mutant-")
        cls.addClassCleanup(cls.directory.cleanup)

    def run_sim(self, *arguments):
        """Run the simulator, or the mutant that --mutant names, as ./dev sim does."""
        program = self.program
        if "--mutant" in arguments:
            name = arguments[arguments.index("--mutant") + 1]
            program = os.path.join(self.directory.name, name)
            if not os.path.exists(program):
                mutants.build(name, self.program, program)
        ran = subprocess.run([program, *arguments], capture_output=True,
                             text=True)
        return ran.returncode, ran.stdout + ran.stderr

    def shrunk(self, mutation, options):
        """The trace of the shrunk run, and the arguments that replay it."""
        status, output = self.run_sim("--mutant", mutation, *options,
                                    "--seeds", "400")
        self.assertEqual(status, 1, output)
        found = re.search(r"^the same with (\d+) of its \d+ decisions, after "
                          r"\d+ runs:\n(.*)^replay: \./dev sim ([^\n]*)$", output,
                          re.MULTILINE | re.DOTALL)
        self.assertIsNotNone(found, output)
        self.assertLessEqual(int(found.group(1)), DECISIONS, output)
        return found.group(2).splitlines(), found.group(3).split()

    def check_again(self, words, finding):
        status, output = self.run_sim(*words)
        self.assertEqual(status, 1, output)
        self.assertIn(finding, output)

    def test_mutants(self):
        for mutation, options, most in MUTATIONS:
            with self.subTest(mutation=mutation):
                lines, words = self.shrunk(mutation, options)
                self.assertLessEqual(len(lines), most, "\n".join(lines))
                finding = lines[-1].split("  CHECK   ")[1]
                self.check_again(words, finding.replace("assertion: ",
                                                        ""))

    def test_trace_prints_more(self):
        _, words = self.shrunk("GONE_FORGOTTEN", ())
        brief = self.run_sim(*words)[1].splitlines()
        whole = self.run_sim(*words, "--trace")[1].splitlines()
        self.assertLess(set(brief), set(whole))
        self.assertIn("core requests enqueue", "\n".join(whole))

    def test_no_shrink_only_names_the_seed(self):
        status, output = self.run_sim("--mutant", "GONE_FORGOTTEN", "--no-shrink",
                                    "--seeds", "400")
        self.assertEqual(status, 1)
        self.assertNotIn("the same with", output)

    def test_a_wrong_selection_is_refused(self):
        for words in (("--only", "a"), ("--only", "3-"), ("--only", "5-2"),
                      ("--only", "1", "--without", "luck")):
            status, output = self.run_sim("--seed", "1", *words)
            self.assertEqual(status, 64)
            self.assertIn("expected --only", output)

    def test_leaving_out_decisions_breaks_nothing(self):
        for options in ((), ("--engine", "zk"), ("--engine", "leased"),
                        ("--double-barrier",)):
            for decisions in ("none", "0-20", "0-9,30-60"):
                status, output = self.run_sim("--seed", "7", *options,
                                            "--only", decisions)
                self.assertEqual(status, 0, output)


if __name__ == "__main__":
    Shrink.program = sys.argv.pop()
    unittest.main()
