#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Contenders whose wall clocks jump by hours, back and forth, all the time:
nothing is granted early, and no wait and no session ends early or late.

    test_clocks.py CONTENDER HOLDFAST WALL_CLOCK
"""

import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402
from zookeeper import Standalone  # noqa: E402

NAME = "clocks/one"
PROCESSES = 6
EACH = 200 if os.environ.get("HF_LONG") == "1" else 15
SESSION_MS = 4000
# Longer than a session.
WAIT_MS = 6000


def stepping():
    """The environment of a process whose wall clock jumps."""
    checks = [os.environ.get("ASAN_OPTIONS", ""), "verify_asan_link_order=0"]
    return dict(os.environ, LD_PRELOAD=WALL_CLOCK,
                ASAN_OPTIONS=":".join(filter(None, checks)))


class Clocks:
    def setUp(self):
        self.directory = machine.directory("clocks", on_disk=True)
        self.addCleanup(shutil.rmtree, self.directory)
        self.processes = []
        self.addCleanup(self.kill)

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait(waiting.LIMIT_S)
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()

    def start(self, *arguments):
        self.processes.append(machine.popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, process_group=0, env=stepping()))
        return self.processes[-1]

    def shell_loop(self, number):
        """A shell that runs the tool again and again, each time with a client
        of its own."""
        once = '"$0" run -q -c "$1" "$2" -- "$3" once "$4" "$5" || exit'
        return self.start(
            "sh", "-c", "for i in $(seq %d); do %s; done" % (EACH, once),
            HOLDFAST, self.url, NAME, CONTENDER, self.directory, str(number))

    def test_the_clock_does_step(self):
        look = "import time; print(int(time.time()) // 3600)"
        waiting.eventually("another hour", lambda: len({
            subprocess.run([sys.executable, "-c", look], env=stepping(),
                           stdout=subprocess.PIPE, check=True).stdout
            for _ in range(3)}) > 1)

    def test_fn65_contenders_lose_nothing(self):
        for number in range(PROCESSES):
            if number % 2 == 0:
                self.start(CONTENDER, "add", self.url, NAME, self.directory,
                           str(number), str(EACH))
            else:
                self.shell_loop(number)
        for process in self.processes:
            self.assertEqual(process.wait(2 * waiting.LIMIT_S), 0)
        with open(os.path.join(self.directory, "log")) as log:
            lines = [line.split() for line in log]
        self.assertEqual([int(number) for _, _, number in lines],
                         list(range(1, PROCESSES * EACH + 1)), "a lost update")
        tokens = [int(token) for _, token, _ in lines]
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_fn65_a_wait_ends_neither_early_nor_late(self):
        holder = self.start(CONTENDER, "hold", self.url, NAME)
        self.assertRegex(waiting.read_line(holder), r"^\d+ \d+$")
        began_ms = waiting.now_ms()
        waiter = self.start(HOLDFAST, "run", "-w", "%dms" % WAIT_MS, "-c",
                            self.url, NAME, "--", "true")
        status = waiter.wait(waiting.LIMIT_S)
        self.assertGreaterEqual(waiting.now_ms() - began_ms, WAIT_MS)
        self.assertEqual(status, 75)
        # Several leases have passed meanwhile, and it was not notified of a
        # loss.
        holder.stdin.close()
        waiting.read_line(holder, "released")
        self.assertEqual(holder.wait(waiting.LIMIT_S), 0)


class OnFiles(Clocks, unittest.TestCase):
    def setUp(self):
        super().setUp()
        self.url = "file:%s/run?state=%s/state" % (self.directory,
                                                   self.directory)


class OnZooKeeper(Clocks, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Standalone()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        super().setUp()
        self.url = "zk://%s?timeout=%dms" % (self.server.address(), SESSION_MS)


if __name__ == "__main__":
    CONTENDER, HOLDFAST, WALL_CLOCK = map(os.path.abspath, sys.argv[1:4])
    del sys.argv[1:4]
    unittest.main(verbosity=2)
