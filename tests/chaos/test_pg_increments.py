#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many processes increment a counter in a file under one lock on a PostgreSQL
whose processes are all killed and started again, again and again.

    test_pg_increments.py CONTENDER
"""

import os
import random
import shutil
import subprocess
import sys
import unittest

import zk_holder
import machine
import waiting
import postgres

CONTENDER = os.path.abspath(sys.argv.pop(1))
PROCESSES = 20
SHARE = 50 if zk_holder.LONG else 10
KILLS = 20 if zk_holder.LONG else 4
LIMIT_S = 1200 if zk_holder.LONG else 240


class Increments(unittest.TestCase):
    def test_nothing_is_lost_while_the_server_is_killed(self):
        print("HF_SEED=%d replays the choices" % zk_holder.SEED)
        chance = random.Random(zk_holder.SEED)
        state = machine.directory("increments", on_disk=True)
        self.addCleanup(shutil.rmtree, state)
        with postgres.Server() as server:
            contenders = [machine.popen(
                [CONTENDER, "add", server.url() + "?ttl=20s", "increments",
                 state, str(number), str(SHARE)], stdin=subprocess.DEVNULL)
                          for number in range(PROCESSES)]
            try:
                self.disturb(server, state, chance, contenders)
                for contender in contenders:
                    self.assertEqual(contender.wait(LIMIT_S), 0)
            finally:
                for contender in contenders:
                    contender.kill()
                    contender.wait()
            self.check(state)
            self.assertEqual(server.sql(
                "SELECT count(*) FROM holdfast.ticket"), [(0,)])

    def lines(self, state):
        try:
            with open(os.path.join(state, "log")) as log:
                return [line.split() for line in log]
        except FileNotFoundError:
            return []

    def disturb(self, server, state, chance, contenders):
        """Kill it whenever some more have been in."""
        for number in range(KILLS):
            wanted = (number * PROCESSES * SHARE // (KILLS + 1) +
                      chance.randrange(1, 8))
            waiting.eventually("%d increments" % wanted,
                               lambda: len(self.lines(state)) >= wanted,
                               LIMIT_S, workers=contenders)
            server.restart()

    def check(self, state):
        """Each number once, and tokens that rise with them."""
        lines = self.lines(state)
        self.assertEqual([int(number) for _, _, number in lines],
                         list(range(1, PROCESSES * SHARE + 1)))
        tokens = [int(token) for _, token, _ in lines]
        self.assertEqual(tokens, sorted(set(tokens)))


if __name__ == "__main__":
    unittest.main()
