#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run each example in a directory of its own and check what it says."""

import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "tests", "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402

BUILT = sys.argv.pop(1)


class Examples(unittest.TestCase):
    def setUp(self):
        self.directory = machine.directory("example", on_disk=True)
        self.addCleanup(shutil.rmtree, self.directory)
        self.environment = dict(os.environ)
        self.environment["HOLDFAST_URL"] = (
            "file:{0}/run?state={0}/state".format(self.directory))

    def run_example(self, name, *arguments):
        """What it printed, line by line."""
        ended = subprocess.run(
            [os.path.join(BUILT, "example-" + name), *arguments],
            env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        return ended.stdout.splitlines()

    def tokens(self, lines):
        return [int(token) for line in lines
                for token in re.findall(r"token (\d+)", line)]

    def test_blocking(self):
        first = self.run_example("blocking", "mine")
        self.assertRegex(first[0], r"^holding mine with token \d+$")
        self.assertEqual(first[1:], ["released"])
        second = self.run_example("blocking", "mine")
        self.assertGreater(self.tokens(second), self.tokens(first))

    def test_blocking_refuses_a_bad_name(self):
        ended = subprocess.run(
            [os.path.join(BUILT, "example-blocking"), "a//b"],
            env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertIn("hf_lock_open: ", ended.stderr)

    def loop_example(self, name):
        lines = self.run_example(name)
        self.assertRegex(lines[0], r"^holding nightly-report with token \d+$")
        self.assertEqual(lines[1:], ["released: HF_OK", "closed"])

    def test_uv(self):
        self.loop_example("uv")

    def test_epoll(self):
        self.loop_example("epoll")

    def test_fencing(self):
        store = os.path.join(self.directory, "store")
        for _ in range(2):
            lines = self.run_example("fencing", store)
            self.assertEqual([line.split()[0] for line in lines],
                             ["accepted", "accepted", "refused"])
            first, second, stale = (self.tokens([line])[0] for line in lines)
            self.assertLess(first, second)
            self.assertEqual(stale, first)
            with open(store, encoding="utf-8") as kept:
                self.assertEqual(
                    kept.read(), "{} from the second holder\n".format(second))

    def candidate(self):
        process = machine.popen(
            [os.path.join(BUILT, "example-election"), "mine"],
            env=self.environment, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_election(self):
        first = self.candidate()
        lines = [waiting.read_line(first)]
        self.assertRegex(lines[0], r"^%d leads with token \d+$" % first.pid)
        second = self.candidate()
        first.kill()
        lines.append(waiting.read_line(second))
        self.assertRegex(lines[1], r"^%d leads with token \d+$" % second.pid)
        self.assertLess(*self.tokens(lines))
        second.terminate()
        self.assertIn("pid=%d " % second.pid, waiting.read_line(second))
        self.assertEqual((second.stdout.read(), second.wait(60)), ("", 0))


if __name__ == "__main__":
    unittest.main()
