#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Barriers of Curator and of holdfast, on one path of a real ZooKeeper."""

import os
import unittest

from test_interop import (CURATOR_JARS, Case, Contender, LONG, NAME, PATH,
                          jute, waiting)

CYCLES = 200 if LONG else 5


class Participant(Contender):
    """A process that does what the test writes, line by line."""

    def say(self, word):
        self.popen.stdin.write(word + "\n")
        self.popen.stdin.flush()

    def ask(self, word, answer):
        self.say(word)
        self.expect(answer)


class Barrier(Case):
    def setUp(self):
        super().setUp()
        path = [os.environ["CONTENDER_CLASSES"],
                *("/usr/share/java/%s.jar" % jar for jar in CURATOR_JARS)]
        self.curators = [self.add(Participant("curator-%d" % i, [
            "java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
            "-cp", ":".join(path), "CuratorBarrier", self.server.address(),
            PATH])) for i in range(2)]
        self.ours = [self.add(Participant("ours-%d" % i, [
            os.environ["BARRIER"], self.url(), NAME])) for i in range(2)]
        self.all = self.curators + self.ours
        for participant in self.all:
            participant.expect("ready")
        # Curator's clients watch the servers' configuration.
        self.watches = 0
        self.await_watches(len(self.curators))
        self.watches = len(self.curators)

    def await_watches(self, count):
        waiting.eventually("%d watches" % count, lambda: self.server.mntr()[
            "watch_count"] == self.watches + count)

    def cycle(self, setter, clearer, waiters):
        setter.ask("set", "done")
        self.await_watches(0)  # what tries have left has fired
        for participant in waiters:
            participant.say("wait")
        self.await_watches(len(waiters))
        for participant in (setter, clearer):
            participant.ask("try", "set")
        clearer.ask("clear", "done")
        for participant in waiters:
            participant.expect("passed")
        for participant in self.all:
            participant.ask("try", "clear")

    def test_whoever_sets_and_whoever_clears(self):
        for i in range(CYCLES):
            for setter in (self.curators[0], self.ours[0]):
                for clearer in (self.curators[0], self.ours[0]):
                    self.cycle(setter, clearer,
                               [self.curators[1], self.ours[1]])

    def test_fn66_writes_to_a_barrier_let_nobody_through(self):
        """They fire the watches of all waiters."""
        self.curators[0].ask("set", "done")
        self.ours[1].say("wait")
        self.curators[1].say("wait")
        for i in range(20):
            self.client.set(PATH, b"%d" % i)
            self.ours[0].ask("try", "set")
        self.ours[0].ask("clear", "done")
        self.ours[1].expect("passed")
        self.curators[1].expect("passed")

    def test_the_node_of_a_lock_is_no_barrier(self):
        self.client.create("/interop")
        self.client.create(PATH, flags=jute.CONTAINER)
        self.client.create("%s/%s" % (PATH, self.first()),
                           flags=jute.EPHEMERAL_SEQUENTIAL)
        self.ours[0].ask("set", "HF_EKIND")
        self.ours[0].ask("wait", "HF_EKIND")
        self.ours[0].ask("clear", "HF_EKIND")


if __name__ == "__main__":
    unittest.main()
