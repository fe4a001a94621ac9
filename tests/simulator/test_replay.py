# SPDX-License-Identifier: Apache-2.0
"""A seed gives the same trace each time, whatever ran before it in the process."""

import subprocess
import sys
import unittest


class Replay(unittest.TestCase):
    program = ""

    def run_sim(self, *arguments):
        return subprocess.run([self.program, *arguments], check=True,
                              capture_output=True, text=True).stdout

    def test_transcripts_are_equal(self):
        for seed in ("3", "17", "2004"):
            first = self.run_sim("--seed", seed, "--trace")
            self.assertGreater(len(first.splitlines()), 50)
            self.assertEqual(first, self.run_sim("--seed", seed, "--trace"))

    def test_a_batch_is_the_sum_of_its_seeds(self):
        steps = 0
        for seed in range(40, 60):
            words = self.run_sim("--seed", str(seed)).split()
            steps += int(words[words.index("steps,") - 1])
        batch = self.run_sim("--seeds", "20", "--first", "40", "--jobs", "2")
        self.assertIn(f"20 seeds from 40, {steps} steps,", batch)

    def test_all_is_each_kind_in_its_share(self):
        lines = self.run_sim("--all", "--seeds", "100").splitlines()
        self.assertEqual(
            [line.split(" seeds from 1, ")[0] for line in lines],
            ["plain: 33", "zk: 30", "etcd: 10", "leased: 15",
             "double-barrier: 2", "zk double-barrier: 1",
             "leased double-barrier: 1", "etcd double-barrier: 1",
             "deadlock: 1", "zk deadlock: 1", "leased deadlock: 1",
             "etcd deadlock: 1", "success: 1", "zk success: 1",
             "leased success: 1"])


if __name__ == "__main__":
    Replay.program = sys.argv.pop()
    unittest.main()
