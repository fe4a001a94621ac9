#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fenced writes of docs/safety.md, each into its store.  The first holder
writes, then the second.  Then the store refuses a write of the first, as of one
that was frozen meanwhile."""

import os
import shutil
import subprocess
import sys
import unittest

EXAMPLES = os.path.dirname(os.path.abspath(__file__))
HOLDFAST = sys.argv.pop(1)
sys.path.insert(0, os.path.join(EXAMPLES, "..", "tests", "servers"))

import machine  # noqa: E402
import postgres  # noqa: E402
import redis_server  # noqa: E402


def example(name):
    return os.path.join(EXAMPLES, name)


class Fencing(unittest.TestCase):
    def setUp(self):
        self.directory = machine.directory("example", on_disk=True)
        self.addCleanup(shutil.rmtree, self.directory)
        self.environment = dict(
            os.environ, HOLDFAST_URL="file:{0}/run?state={0}/state".format(
                self.directory))

    def run_command(self, *command, status=0):
        ended = subprocess.run(command, env=self.environment, timeout=60,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, check=False)
        self.assertEqual(ended.returncode, status, ended.stderr)
        return ended.stdout.strip()

    def token(self):
        """The token of a holder that has released."""
        return self.run_command(HOLDFAST, "run", "report", "--", "sh", "-c",
                                "echo $HOLDFAST_TOKEN")

    def test_a_file(self):
        file = os.path.join(self.directory, "report")
        stale = self.token()
        for value in "first", "second":
            self.run_command(HOLDFAST, "run", "report", "--",
                             example("fencing.sh"), file, value)
            with open(file, encoding="utf-8") as kept:
                self.assertEqual(kept.read(), value + "\n")
        self.environment["HOLDFAST_TOKEN"] = stale
        self.run_command(example("fencing.sh"), file, "stale", status=1)
        with open(file, encoding="utf-8") as kept:
            self.assertEqual(kept.read(), "second\n")

    def sql(self, server, token, state):
        return self.run_command(
            "psql", "-X", "-q", "-A", "-t", "-d", server.address(),
            "-v", "ON_ERROR_STOP=1", "-v", "token=" + token,
            "-v", "name=report", "-v", "state=" + state,
            "-f", example("fencing.sql"))

    def test_sql(self):
        with postgres.Server() as server:
            with open(example("fencing.sql"), encoding="utf-8") as file:
                table = file.read().split("CREATE TABLE")[1].split(";")[0]
            server.sql("CREATE TABLE" + table.replace("--", ""))
            first, second = self.token(), self.token()
            self.assertEqual(self.sql(server, first, "first"), first)
            self.assertEqual(self.sql(server, second, "second"), second)
            self.assertEqual(self.sql(server, second, "again"), second)
            self.assertEqual(self.sql(server, first, "stale"), "")
            self.assertEqual(server.sql("SELECT state FROM jobs"),
                             [("again",)])

    def test_redis(self):
        with open(example("fencing.lua"), encoding="utf-8") as file:
            script = file.read()
        first, second = self.token(), self.token()
        # One that has more digits than a double, and the one before it.
        long = "18446744073709551615", "18446744073709551614"
        with redis_server.Server() as server, server.client() as client:
            for token, value, written in (
                    (first, "first", 1), (second, "second", 1),
                    (second, "again", 1), (first, "stale", 0),
                    (long[0], "long", 1), (long[1], "stale", 0)):
                self.assertEqual(
                    client.ask("EVAL", script, "1", "report", token, value),
                    written)
                if written:
                    self.assertEqual(client.ask("HGET", "report", "value"),
                                     value)
            self.assertEqual(client.ask("HGET", "report", "value"), "long")


if __name__ == "__main__":
    unittest.main()
