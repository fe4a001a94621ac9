#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Double barriers of Curator and of holdfast, on one path of a real
ZooKeeper."""

import os
import select
import unittest

from test_barriers import Party
from test_interop import CURATOR_JARS, Case, LONG, NAME, PATH, waiting

ROUNDS = 100 if LONG else 5


class Parties(Case):
    def ours(self, i, parties, *rest):
        return self.add(Party("ours-%d" % i, [
            os.environ["DOUBLE_BARRIER"], self.url(), NAME, str(parties),
            *rest]))

    def theirs(self, i, parties):
        path = [os.environ["CONTENDER_CLASSES"],
                *("/usr/share/java/%s.jar" % jar for jar in CURATOR_JARS)]
        return self.add(Party("curator-%d" % i, [
            "java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
            "-cp", ":".join(path), "CuratorDoubleBarrier",
            self.server.address(), PATH, str(parties)]))

    def members(self):
        return [name for name in self.client.children(PATH) or []
                if name != "ready"]

    def await_members(self, count, what="they leave"):
        try:
            waiting.eventually("%d members" % count,
                             lambda: len(self.members()) == count)
        except AssertionError as error:
            raise AssertionError("%s as %s; there are %s; ended: %s" % (
                error, what, self.client.children(PATH),
                [(party.name, party.popen.communicate()[1])
                 for party in self.contenders
                 if party.popen.poll() is not None])) from None

    def assert_silent(self, parties):
        streams = [party.popen.stdout for party in parties]
        self.assertEqual(select.select(streams, [], [], 0)[0], [])

    def enter(self, parties):
        """All but the last are seen to wait."""
        for i, party in enumerate(parties):
            self.assert_silent(parties)
            party.say("enter")
            if i + 1 < len(parties):
                self.await_members(i + 1, "%s enters" % party.name)
        for party in parties:
            party.expect("inside")

    def leave(self, parties):
        for party in parties:
            party.say("leave")
        for party in parties:
            party.expect("left")


class Ours(Parties):
    def begin(self, count, *rest):
        parties = [self.ours(i, count, *rest) for i in range(count)]
        for party in parties:
            party.expect("ready")
        return parties

    def rounds(self, parties):
        for _ in range(ROUNDS):
            self.enter(parties)
            self.assertEqual(len(self.members()), len(parties))
            self.leave(parties)
            self.await_members(0)
            parties = parties[1:] + parties[:1]

    def test_they_enter_and_leave_together(self):
        self.rounds(self.begin(4))

    def test_by_calls_that_are_started(self):
        self.rounds(self.begin(3, "start"))

    def test_nobody_leaves_before_the_last_one_wants_to(self):
        parties = self.begin(3)
        for _ in range(ROUNDS):
            self.enter(parties)
            names = self.members()
            parties[0].say("leave")
            parties[1].say("leave")
            # The last one is there, and perhaps whose name is the lowest.
            waiting.eventually("somebody yields", lambda: len(
                self.members()) < len(names))
            self.assert_silent(parties)
            parties[2].say("leave")
            for party in parties:
                party.expect("left")
            self.await_members(0)

    def test_fn66_news_let_nobody_in(self):
        """Somebody comes and goes, and a mark is left from before."""
        parties = self.begin(2)
        self.client.create("/interop")
        self.client.create(PATH)
        self.client.create(PATH + "/ready")
        parties[0].say("enter")
        self.await_members(1)
        for i in range(20):
            self.client.create("%s/stray-%d" % (PATH, i))
            self.client.delete("%s/stray-%d" % (PATH, i))
            self.client.set(PATH + "/ready", b"%d" % i)
        self.assert_silent(parties)
        parties[1].say("enter")
        for party in parties:
            party.expect("inside")
        self.leave(parties)

    def test_who_waits_in_vain_is_not_counted(self):
        parties = self.begin(2)
        parties[0].ask("soon", "HF_ETIMEDOUT")
        self.await_members(0)
        parties[0].ask("try", "HF_EBUSY")
        self.await_members(0)
        parties[0].ask("leave", "HF_ESTATE")
        self.enter(parties)
        self.leave(parties)

    def test_the_dead_hold_up_nobody(self):
        parties = self.begin(3)
        self.enter(parties)
        parties[0].kill()
        parties[1].say("leave")
        parties[2].say("leave")
        parties[1].expect("left")
        parties[2].expect("left")


class Mixed(Parties):
    def test_with_curators(self):
        """On nodes that stay: Curator makes missing parents as containers and
        tries once more, and the server may have taken them away again."""
        self.client.create("/interop")
        self.client.create(PATH)
        parties = [self.ours(0, 4), self.theirs(1, 4), self.ours(2, 4),
                   self.theirs(3, 4)]
        for party in parties:
            party.expect("ready")
        for _ in range(ROUNDS):
            self.enter(parties)
            self.leave(parties)
            self.await_members(0)
            parties = parties[1:] + parties[:1]


if __name__ == "__main__":
    unittest.main()
