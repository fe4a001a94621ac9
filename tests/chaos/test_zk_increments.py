#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many processes increment a counter in a file under one lock on ZooKeeper,
half of them through the library and half through holdfast run: on one server,
and on three whose leader is killed and started again all the time.

    test_zk_increments.py CONTENDER HOLDFAST
"""

import os
import random
import shutil
import subprocess
import sys
import threading
import unittest

import zk_holder
import machine
import waiting
from ensemble import Ensemble
from zookeeper import Standalone

NAME = "increments/all"
CONTAINER_CHECK_MS = 500

# Longer than any election takes here: no session is to be lost.
TIMEOUT_MS = 20000

# The status of holdfast run when the server was killed during the release: it
# is unknown who removed the ticket.  The command itself was done, and the log
# shows whether two were in at once.  contender.c treats HF_ELOST in the same
# way.
LOST = 76
UNCONFIRMED = "did not confirm the release"

# The status of holdfast run when no server had a session for it within 15 s, as
# may be in an election on a busy machine.  The command was not started.
UNREACHABLE = 69

# How long everyone together may take to finish.
LIMIT_S = 1200 if zk_holder.LONG else 240


class Contender(threading.Thread):
    """One process at a time, until its share is done."""

    def __init__(self, state, url, number, share, may_repeat):
        """may_repeat: a run that finds no leader is started again."""
        super().__init__(daemon=True)
        self.may_repeat = may_repeat and number % 2 == 1
        self.command = [CONTENDER, "add", url, NAME, state, str(number),
                        str(share)]
        self.runs = 1
        if number % 2 == 1:
            self.command = [HOLDFAST, "run", "-q", "-c", url, NAME, "--",
                            CONTENDER, "once", state, str(number)]
            self.runs = share
        self.unconfirmed = 0
        self.failure = None
        self.process = None

    def run(self):
        while self.runs > 0:
            self.process = machine.popen(self.command, process_group=0,
                                         stdin=subprocess.DEVNULL,
                                         stderr=subprocess.PIPE)
            error = self.process.communicate()[1].decode()
            if self.process.returncode == UNREACHABLE and self.may_repeat:
                continue
            self.runs -= 1
            if self.process.returncode == LOST and UNCONFIRMED in error:
                self.unconfirmed += 1
            elif self.process.returncode != 0:
                self.failure = (self.process.returncode, error)
                return

    def close(self):
        """Of a test that has failed."""
        while self.is_alive():
            self.runs = 0
            if self.process:
                self.process.kill()
            self.join(0.1)


class Increments(unittest.TestCase):
    def setUp(self):
        print("HF_SEED=%d replays the choices" % zk_holder.SEED)
        self.chance = random.Random(zk_holder.SEED)
        self.state = machine.directory("increments", on_disk=True)
        self.contenders = []

    def tearDown(self):
        for contender in self.contenders:
            contender.close()
        shutil.rmtree(self.state)

    def begin(self, addresses, processes, share, may_repeat=False):
        url = "zk://%s?timeout=%dms" % (addresses, TIMEOUT_MS)
        self.began_ms = waiting.now_ms()
        for _ in range(processes):
            self.contenders.append(
                Contender(self.state, url, len(self.contenders), share,
                          may_repeat))
            self.contenders[-1].start()

    def running(self):
        return any(contender.is_alive() for contender in self.contenders)

    def lines(self):
        try:
            with open(os.path.join(self.state, "log")) as log:
                return [line.split() for line in log]
        except FileNotFoundError:
            return []

    def check(self, share):
        waiting.eventually("everyone to finish", lambda: not self.running(),
                           LIMIT_S)
        for contender in self.contenders:
            self.assertIsNone(contender.failure)
        # The log is written inside the lock, so it is in the order of grants.
        lines = self.lines()
        total = len(self.contenders) * share
        self.assertEqual([int(number) for _, _, number in lines],
                         list(range(1, total + 1)))
        tokens = [int(token) for _, token, _ in lines]
        self.assertEqual(tokens, sorted(set(tokens)))
        for number in range(len(self.contenders)):
            self.assertEqual(
                sum(1 for line in lines if line[0] == str(number)), share)
        with open(os.path.join(self.state, "counter")) as counter:
            self.assertEqual(int(counter.read()), total)
        print("%d increments in %.1f s" % (
            total, (waiting.now_ms() - self.began_ms) / 1000), flush=True)

    def check_nothing_left(self, client):
        """No ticket, and then not even the containers."""
        client.sync()
        self.assertIn(client.children("/" + NAME), (None, []))
        waiting.eventually("the containers to go",
                           lambda: client.children("/increments") is None)

    def test_on_one_server(self):
        processes, share = (50, 100) if zk_holder.LONG else (16, 10)
        with Standalone(container_check_ms=CONTAINER_CHECK_MS) as server:
            self.begin(server.address(), processes, share)
            self.check(share)
            for contender in self.contenders:
                self.assertEqual(contender.unconfirmed, 0)
            with server.client() as client:
                self.check_nothing_left(client)

    def kill_leader(self, ensemble):
        """Once something was done under the one that leads now."""
        most = 200 if zk_holder.LONG else 10
        goal = len(self.lines()) + self.chance.randrange(1, most)
        waiting.eventually(
            "progress", lambda: len(self.lines()) >= goal or
            not self.running())
        leader = ensemble.leader()
        leader.kill()
        waiting.eventually("another leader",
                           lambda: ensemble.leader() is not leader)
        leader.start()

    def test_while_the_leader_is_killed_again_and_again(self):
        processes, share = (50, 100) if zk_holder.LONG else (10, 8)
        kills, least = 0, 20 if zk_holder.LONG else 2
        with Ensemble(container_check_ms=CONTAINER_CHECK_MS) as ensemble:
            # If all were done too soon, as many are started again.
            while kills < least:
                self.begin(ensemble.addresses(), processes, share,
                           may_repeat=True)
                while self.running():
                    self.kill_leader(ensemble)
                    kills += 1
                self.check(share)
            print("%d leaders were killed" % kills)
            with ensemble.client() as client:
                self.check_nothing_left(client)


if __name__ == "__main__":
    CONTENDER, HOLDFAST = map(os.path.abspath, sys.argv[1:3])
    del sys.argv[1:3]
    unittest.main(verbosity=2)
