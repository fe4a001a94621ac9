#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that meet at a double barrier on files, of which some are killed:
nobody passes early, nobody hangs, nothing is left.

    test_parties.py PARTIES DOUBLE_BARRIER

20 of them; 200 rounds and more with HF_LONG=1.
"""

import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import unittest

import crowd

import machine
import waiting

PROGRAM, PARTY = map(os.path.abspath, sys.argv[1:3])
del sys.argv[1:3]
COUNT = 20
ROUNDS = 1000 if crowd.LONG else 40
KILLING_ROUNDS = 200 if crowd.LONG else 8
BYTES_PER_ROUND = 8


class Party:
    """Does what it is told, line by line."""

    def __init__(self, url, count):
        self.process = machine.Process(
            [PARTY, url, "crew", str(count)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, bufsize=1)
        self.popen = self.process.popen
        self.hear("ready")

    def say(self, word):
        self.popen.stdin.write(word + "\n")
        self.popen.stdin.flush()

    def hear(self, word):
        ready = select.select([self.popen.stdout], [], [], waiting.LIMIT_S)
        assert ready[0], "it says nothing, expected %s" % word
        line = self.popen.stdout.readline()
        assert line == word + "\n", "%r, expected %s" % (line, word)

    def kill(self):
        self.process.kill()
        self.popen.stdin.close()
        self.popen.stdout.close()

    def end(self):
        self.popen.stdin.close()
        assert self.popen.wait(waiting.LIMIT_S) == 0
        self.popen.stdout.close()


class Parties(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="holdfast-parties-")
        self.url = "file:%s/run?state=%s/state" % ((self.directory,) * 2)
        self.locks = os.path.join(self.directory, "run", "locks")
        self.addCleanup(shutil.rmtree, self.directory)
        self.parties = []

    def tearDown(self):
        for party in self.parties:
            party.kill()

    def test_nobody_passes_early(self):
        """They say so themselves: see parties.c."""
        board = os.path.join(self.directory, "board")
        with open(board, "wb") as file:
            file.truncate(ROUNDS * BYTES_PER_ROUND)
        running = [machine.Process([PROGRAM, self.url, "crew", str(COUNT),
                                  str(ROUNDS), board], stderr=subprocess.PIPE)
                   for _ in range(COUNT)]
        try:
            for process in running:
                _, said = process.popen.communicate(timeout=600)
                self.assertEqual((process.popen.returncode, said), (0, b""))
        finally:
            for process in running:
                process.kill()
        self.assertEqual(self.there(), [])

    # Tickets of those who are there, dead or alive, and the mark.

    def there(self):
        try:
            names = os.listdir(os.path.join(self.locks, "crew"))
        except FileNotFoundError:
            return []
        return [name for name in names if not name.endswith(".payload")]

    def until_there(self, counts):
        waiting.eventually("members: %s" % counts, lambda: sum(
            "-d-" in name for name in self.there()) in counts)

    def assert_silent(self, parties):
        streams = [party.popen.stdout for party in parties]
        self.assertEqual(select.select(streams, [], [], 0)[0], [])

    def replace(self, party):
        party.kill()
        self.parties.remove(party)
        self.parties.append(Party(self.url, COUNT))
        return self.parties[-1]

    def enter(self):
        """Some of those who wait are killed, and the last one may be, as it
        comes: before or after it has let in the others.  The last one to come,
        who then is of their round or is let in to them."""
        waiting = self.random.sample(self.parties, COUNT - 1)
        for party in waiting:
            party.say("enter")
        for victim in self.random.sample(waiting, self.random.randrange(4)):
            waiting.remove(victim)
            waiting.append(self.replace(victim))
            waiting[-1].say("enter")
        self.until_there([COUNT - 1])
        self.assert_silent(waiting)
        last, = set(self.parties) - set(waiting)
        last.say("enter")
        if self.random.randrange(2):
            last = self.replace(last)
            last.say("enter")
        for party in self.parties:
            party.hear("inside")
        return last

    def leave(self, late):
        """Some are killed inside, some as they leave; who wants to leave last
        may be, too."""
        victims = self.random.sample(self.parties, self.random.randrange(5))
        leaving = [party for party in self.parties if party not in victims]
        last = leaving.pop(leaving[0] is late)  # who holds up all others
        for party in leaving + victims[::2]:
            party.say("leave")
        for victim in victims:
            self.replace(victim)
        # All but the lowest take their tickets out first.
        self.until_there(range(1, 3))
        self.assert_silent(leaving)
        if self.random.randrange(2):
            self.replace(last)
        else:
            last.say("leave")
            leaving.append(last)
        for party in leaving:
            party.hear("left")

    def test_whoever_is_killed(self):
        self.random = random.Random(66)
        self.parties = [Party(self.url, COUNT) for _ in range(COUNT)]
        for _ in range(KILLING_ROUNDS):
            self.leave(self.enter())
        # One more, of which nobody dies.
        for word, answer in (("enter", "inside"), ("leave", "left")):
            for party in self.parties:
                party.say(word)
            for party in self.parties:
                party.hear(answer)
        waiting.eventually("nothing left", lambda: not self.there())
        for party in self.parties:
            party.end()
        self.parties = []
        self.assertEqual(os.listdir(self.locks), [])


if __name__ == "__main__":
    unittest.main()
