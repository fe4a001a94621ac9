#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Double barriers of Curator and of holdfast, on one path of a real
ZooKeeper."""

import os
import select
import unittest

from test_barriers import Participant
from test_interop import CURATOR_JARS, Case, LONG, NAME, PATH, waiting

CYCLES = 100 if LONG else 5


class DoubleBarriers(Case):
    def ours(self, i, participants, *rest):
        return self.add(Participant("ours-%d" % i, [
            os.environ["DOUBLE_BARRIER"], self.url(), NAME, str(participants),
            *rest]))

    def theirs(self, i, participants):
        path = [os.environ["CONTENDER_CLASSES"],
                *("/usr/share/java/%s.jar" % jar for jar in CURATOR_JARS)]
        return self.add(Participant("curator-%d" % i, [
            "java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
            "-cp", ":".join(path), "CuratorDoubleBarrier",
            self.server.address(), PATH, str(participants)]))

    def participants(self):
        return [name for name in self.client.children(PATH) or []
                if name != "ready"]

    def await_participants(self, count, what="they leave"):
        try:
            waiting.eventually("%d participants" % count,
                               lambda: len(self.participants()) == count)
        except AssertionError as error:
            raise AssertionError("%s as %s; there are %s; ended: %s" % (
                error, what, self.client.children(PATH),
                [(participant.name, participant.popen.communicate()[1])
                 for participant in self.contenders
                 if participant.popen.poll() is not None])) from None

    def assert_silent(self, participants):
        streams = [participant.popen.stdout for participant in participants]
        self.assertEqual(select.select(streams, [], [], 0)[0], [])

    def enter(self, participants):
        """All but the last are seen to wait."""
        for i, participant in enumerate(participants):
            self.assert_silent(participants)
            participant.say("enter")
            if i + 1 < len(participants):
                self.await_participants(i + 1, "%s enters" % participant.name)
        for participant in participants:
            participant.expect("inside")

    def leave(self, participants):
        for participant in participants:
            participant.say("leave")
        for participant in participants:
            participant.expect("left")


class Ours(DoubleBarriers):
    def begin(self, count, *rest):
        participants = [self.ours(i, count, *rest) for i in range(count)]
        for participant in participants:
            participant.expect("ready")
        return participants

    def cycles(self, participants):
        for _ in range(CYCLES):
            self.enter(participants)
            self.assertEqual(len(self.participants()), len(participants))
            self.leave(participants)
            self.await_participants(0)
            participants = participants[1:] + participants[:1]

    def test_they_enter_and_leave_together(self):
        self.cycles(self.begin(4))

    def test_by_calls_that_are_started(self):
        self.cycles(self.begin(3, "start"))

    def test_nobody_leaves_before_the_last_one_wants_to(self):
        participants = self.begin(3)
        for _ in range(CYCLES):
            self.enter(participants)
            names = self.participants()
            participants[0].say("leave")
            participants[1].say("leave")
            # The last one stays, and perhaps the one with the lowest name.
            waiting.eventually("somebody yields", lambda: len(
                self.participants()) < len(names))
            self.assert_silent(participants)
            participants[2].say("leave")
            for participant in participants:
                participant.expect("left")
            self.await_participants(0)

    def test_fn66_events_let_nobody_in(self):
        """Other nodes come and go, and a ready node is left from before."""
        participants = self.begin(2)
        self.client.create("/interop")
        self.client.create(PATH)
        self.client.create(PATH + "/ready")
        participants[0].say("enter")
        self.await_participants(1)
        for i in range(20):
            self.client.create("%s/stray-%d" % (PATH, i))
            self.client.delete("%s/stray-%d" % (PATH, i))
            self.client.set(PATH + "/ready", b"%d" % i)
        self.assert_silent(participants)
        participants[1].say("enter")
        for participant in participants:
            participant.expect("inside")
        self.leave(participants)

    def test_who_waits_in_vain_is_not_counted(self):
        participants = self.begin(2)
        participants[0].ask("soon", "HF_ETIMEDOUT")
        self.await_participants(0)
        participants[0].ask("try", "HF_EBUSY")
        self.await_participants(0)
        participants[0].ask("leave", "HF_ESTATE")
        self.enter(participants)
        self.leave(participants)

    def test_the_dead_hold_up_nobody(self):
        participants = self.begin(3)
        self.enter(participants)
        participants[0].kill()
        participants[1].say("leave")
        participants[2].say("leave")
        participants[1].expect("left")
        participants[2].expect("left")


class Mixed(DoubleBarriers):
    def test_with_curators(self):
        """On nodes that stay: Curator makes missing parents as containers and
        tries once more, and the server may have taken them away again."""
        self.client.create("/interop")
        self.client.create(PATH)
        participants = [self.ours(0, 4), self.theirs(1, 4), self.ours(2, 4),
                        self.theirs(3, 4)]
        for participant in participants:
            participant.expect("ready")
        for _ in range(CYCLES):
            self.enter(participants)
            self.leave(participants)
            self.await_participants(0)
            participants = participants[1:] + participants[:1]


if __name__ == "__main__":
    unittest.main()
