#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Participants of a double barrier on files, of which some are killed: none
passes early, none hangs, and nothing is left.

    test_double_barrier.py DOUBLE_BARRIER_CYCLES DOUBLE_BARRIER

There are 20 of them.  HF_LONG=1 makes 200 cycles and more.
"""

import os
import random
import select
import shutil
import subprocess
import sys
import unittest

import client_driver

import machine
import waiting

PROGRAM, PARTICIPANT = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
COUNT = 20
CYCLES = 1000 if client_driver.LONG else 40
KILLING_CYCLES = 200 if client_driver.LONG else 8
BYTES_PER_CYCLE = 8


class Participant:
    """A process of double_barrier.c, which does what the test writes."""

    def __init__(self, url, count):
        self.process = machine.Process(
            [PARTICIPANT, url, "crew", str(count)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, bufsize=1)
        self.popen = self.process.popen
        self.expect("ready")

    def say(self, word):
        self.popen.stdin.write(word + "\n")
        self.popen.stdin.flush()

    def expect(self, word):
        waiting.read_line(self, word)

    def kill(self):
        self.process.kill()
        self.popen.stdin.close()
        self.popen.stdout.close()

    def end(self):
        self.popen.stdin.close()
        assert self.popen.wait(waiting.LIMIT_S) == 0, waiting.end_of(self)
        self.popen.stdout.close()


class DoubleBarrier(unittest.TestCase):
    def setUp(self):
        self.directory = machine.directory("participants", on_disk=True)
        self.url = "file:%s/run?state=%s/state" % ((self.directory,) * 2)
        self.locks = os.path.join(self.directory, "run", "locks")
        self.addCleanup(shutil.rmtree, self.directory)
        self.participants = []

    def tearDown(self):
        for participant in self.participants:
            participant.kill()

    def test_nobody_passes_early(self):
        """They check that themselves: see double_barrier_cycles.c."""
        board = os.path.join(self.directory, "board")
        with open(board, "wb") as file:
            file.truncate(CYCLES * BYTES_PER_CYCLE)
        running = [machine.Process([PROGRAM, self.url, "crew", str(COUNT),
                                  str(CYCLES), board], stderr=subprocess.PIPE)
                   for _ in range(COUNT)]
        try:
            for process in running:
                _, said = process.popen.communicate(timeout=600)
                self.assertEqual((process.popen.returncode, said), (0, b""))
        finally:
            for process in running:
                process.kill()
        self.assertEqual(self.there(), [])

    # The tickets of participants, dead or alive, and the ready node.

    def there(self):
        try:
            names = os.listdir(os.path.join(self.locks, "crew"))
        except FileNotFoundError:
            return []
        return [name for name in names if not name.endswith(".payload")]

    def until_there(self, counts):
        waiting.eventually("participants: %s" % counts, lambda: sum(
            "-d-" in name for name in self.there()) in counts)

    def assert_silent(self, participants):
        streams = [participant.popen.stdout for participant in participants]
        self.assertEqual(select.select(streams, [], [], 0)[0], [])

    def replace(self, participant):
        participant.kill()
        self.participants.remove(participant)
        self.participants.append(Participant(self.url, COUNT))
        return self.participants[-1]

    def enter(self):
        """All enter; the last one to do so is returned.

        Some of those that wait are killed and replaced.  The last one may be
        killed while it enters, before or after it has let in the others; the
        one that replaces it is in the same cycle either way."""
        entering = self.random.sample(self.participants, COUNT - 1)
        for participant in entering:
            participant.say("enter")
        for victim in self.random.sample(entering, self.random.randrange(4)):
            entering.remove(victim)
            entering.append(self.replace(victim))
            entering[-1].say("enter")
        self.until_there([COUNT - 1])
        self.assert_silent(entering)
        last, = set(self.participants) - set(entering)
        last.say("enter")
        if self.random.randrange(2):
            last = self.replace(last)
            last.say("enter")
        for participant in self.participants:
            participant.expect("inside")
        return last

    def leave(self, late):
        """All leave.  Some are killed while they are inside, some while they
        leave, and the last one may be, too."""
        victims = self.random.sample(self.participants,
                                     self.random.randrange(5))
        leaving = [one for one in self.participants if one not in victims]
        last = leaving.pop(leaving[0] is late)  # all others wait for it
        for participant in leaving + victims[::2]:
            participant.say("leave")
        for victim in victims:
            self.replace(victim)
        # All but the one with the lowest ticket remove theirs first.
        self.until_there(range(1, 3))
        self.assert_silent(leaving)
        if self.random.randrange(2):
            self.replace(last)
        else:
            last.say("leave")
            leaving.append(last)
        for participant in leaving:
            participant.expect("left")

    def test_some_are_killed(self):
        self.random = random.Random(66)
        self.participants = [Participant(self.url, COUNT) for _ in range(COUNT)]
        for _ in range(KILLING_CYCLES):
            self.leave(self.enter())
        # One more cycle, in which none is killed.
        for word, answer in (("enter", "inside"), ("leave", "left")):
            for participant in self.participants:
                participant.say(word)
            for participant in self.participants:
                participant.expect(answer)
        waiting.eventually("nothing left", lambda: not self.there())
        for participant in self.participants:
            participant.end()
        self.participants = []
        self.assertEqual(os.listdir(self.locks), [])


if __name__ == "__main__":
    unittest.main()
