#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two of examples/zookeeper.c at a time, on a server: each counts its lines, and
each shows the changes of both."""

import os
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "tests", "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402
from zookeeper import Standalone  # noqa: E402

PATH = "/examples/counter"
CHANGED = PATH + ": changed"


class Zookeeper(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Standalone()
        cls.addClassCleanup(cls.server.close)

    def url(self):
        # The node of the path is made by the program, too.
        return "zk://%s/%s" % (self.server.address(), self.id())

    def begin(self):
        """A program that watches."""
        process = machine.popen([PROGRAM, self.url(), PATH], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        waiting.read_line(process, "watching " + PATH)
        return process

    def end(self, process):
        process.stdin.close()
        self.assertEqual(process.wait(60), 0)

    def number(self):
        with self.server.client() as client:
            return client.get("/%s%s" % (self.id(), PATH))[0]

    def test_two_count(self):
        first, second = self.begin(), self.begin()
        for writer in first, second, first:
            writer.stdin.write("\n")
            writer.stdin.flush()
            for reader in first, second:
                waiting.read_line(reader, CHANGED)
        self.end(first)
        self.end(second)
        self.assertEqual(self.number(), b"3")

    def test_retries_when_another_was_faster(self):
        lines = 50
        programs = [self.begin() for _ in range(2)]
        for program in programs:
            program.stdin.write("\n" * lines)
            program.stdin.flush()
        # Each set is one event, as all are on one connection.
        for program in programs:
            for _ in range(2 * lines):
                waiting.read_line(program, CHANGED)
            self.end(program)
        self.assertEqual(self.number(), b"%d" % (2 * lines))

    def test_says_why_it_fails(self):
        ended = subprocess.run([PROGRAM, self.url(), "no-path"], text=True,
                               stdin=subprocess.DEVNULL, timeout=60,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               check=False)
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertRegex(ended.stderr, '^hf_zookeeper_create: the path "no-path"'
                         " has .*\n$")


if __name__ == "__main__":
    unittest.main()
