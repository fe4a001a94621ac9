#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast with layout=redis-py and redis-py's Lock on one key.

    test_redis_py.py CONTENDER HOLDFAST
"""

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402
from redis_server import Server  # noqa: E402

CONTENDER, HOLDFAST = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]

LONG = bool(os.environ.get("HF_LONG"))
OTHER = [sys.executable, os.path.join(HERE, "redis_py.py")]
NAME = "jobs:nightly"


class RedisPy(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.server.start()
        self.url = self.server.url(options="?layout=redis-py&ttl=5s")

    def other(self, *words):
        process = machine.popen(
            [*OTHER, words[0], str(self.server.port), NAME, *words[1:]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.keep(process)
        return process

    def keep(self, process):
        """Until the end of the test, and no longer."""
        for last in (process.stdin.close, process.stdout.close, process.wait,
                     process.kill):
            self.addCleanup(last)

    def ours(self, *words, url=None, command="run"):
        return subprocess.run(
            [HOLDFAST, command, "-c", url or self.url, *words],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=waiting.LIMIT_S)

    def key(self):
        with self.server.client() as client:
            return client.ask("GET", NAME)

    def holding(self):
        """Ours, until its standard input ends."""
        process = machine.popen(
            [CONTENDER, "hold", self.url, NAME], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.keep(process)
        waiting.read_line(process)
        return process

    def test_we_wait_for_it(self):
        other = self.other("hold")
        waiting.read_line(other, "held")
        value = self.key()
        self.assertEqual(self.ours("--try", NAME, "--", "true").returncode, 75)
        self.assertEqual(
            self.ours("-w", "3s", NAME, "--", "true").returncode, 75)
        self.assertEqual(self.key(), value, "not ours to touch")
        other.stdin.close()
        self.assertEqual(self.ours(NAME, "--", "true").returncode, 0)
        waiting.read_line(other, "released")
        self.assertIsNone(self.key())

    def test_it_waits_for_us(self):
        holder = self.holding()
        waiting.read_line(self.other("try"), "taken")
        # For longer than a ttl: the key is renewed with the ticket.
        waiting.eventually("renewals", lambda: self.server.calls().get(
            "pexpire", 0) > 20, 30)
        waiting.read_line(self.other("try"), "taken")
        holder.stdin.close()
        self.assertEqual(holder.wait(waiting.LIMIT_S), 0)
        self.assertIsNone(self.key())
        waiting.read_line(self.other("try"), "free")

    def test_a_key_that_was_taken_from_us_is_a_loss(self):
        holder = self.holding()
        with self.server.client() as client:
            client.ask("SET", NAME, "stolen")
        waiting.read_line(holder, "lost")
        holder.stdin.close()
        holder.wait(waiting.LIMIT_S)
        self.assertEqual(self.key(), "stolen", "not ours to delete")

    def test_it_is_shown(self):
        other = self.other("hold")
        waiting.read_line(other, "held")
        shown = self.ours(NAME, command="show")
        self.assertIn("redis-py", shown.stdout)
        self.assertIn("holds", shown.stdout)
        other.stdin.close()
        waiting.read_line(other, "released")

    def test_what_it_has_not_is_refused(self):
        for options in (["--read"], ["--write"], ["--permits", "1/2"]):
            with self.subTest(options):
                ended = self.ours(*options, NAME, "--", "true")
                self.assertNotEqual(ended.returncode, 0)
                self.assertIn("layout=redis-py has mutexes only", ended.stderr)
        ended = self.ours(NAME, "--", "true",
                          url=self.server.url(options="?layout=redisson"))
        self.assertEqual(ended.returncode, 64)
        self.assertIn("layout=", ended.stderr)

    def test_a_counter_loses_nothing(self):
        others, ours, share = (8, 8, 100) if LONG else (4, 4, 25)
        state = machine.directory("redis-py", on_disk=True)
        self.addCleanup(shutil.rmtree, state)
        crew = [self.other("add", state, "p%d" % i, str(share))
                for i in range(others)]
        crew += [machine.popen(
            [CONTENDER, "add", self.url, NAME, state, "h%d" % i, str(share)])
                 for i in range(ours)]
        for one in crew:
            self.assertEqual(one.wait(waiting.LIMIT_S * 4), 0)
        with open(os.path.join(state, "log")) as log:
            numbers = [int(line.split()[-1]) for line in log]
        self.assertEqual(numbers, list(range(1, (others + ours) * share + 1)))
        self.assertIsNone(self.key())


if __name__ == "__main__":
    unittest.main(verbosity=2)
