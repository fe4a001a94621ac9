#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Mutex and Election of etcd's client for Go, and ours on the same names.

    test_etcd_go.py HOLDFAST ELECTION RECIPES

RECIPES is etcd_recipes.go, compiled.  Where there is no Go with etcd's client
it is not there, and the tests are skipped.
"""

import os
import subprocess
import sys
import unittest

import test_etcdctl
from test_etcdctl import HOLDFAST, NAME

import waiting

ELECTION = os.path.abspath(sys.argv.pop(1))
RECIPES = os.path.abspath(sys.argv.pop(1))

needs_go = unittest.skipUnless(
    os.path.exists(RECIPES), "built without Go and golang-etcd-server-dev")

# Of a lease whose owner is killed: others wait for its end.
SHORT_S = 2
LONG_S = 30


class Case(test_etcdctl.Case):
    def theirs(self, *words, ttl_s=LONG_S):
        """A program of Go's client that does what these words say."""
        process = self.start(RECIPES, self.server.address(), str(ttl_s))
        waiting.read_line(process, "ready")
        self.say(process, *words)
        return process

    def say(self, process, *words):
        process.stdin.write(" ".join(words) + "\n")
        process.stdin.flush()

    def next_in(self, count, process):
        """The process, once the queue has that many keys."""
        self.until_queued(count)
        return process

    def first(self):
        """The name and the create revision of the first key."""
        with self.server.client() as client:
            item = client.list(NAME + "/")[0]
        return item.key, str(item.created)

    def assert_first(self, process, word, key):
        """It says that it has the lock, or leads, by this key, which is the
        first one."""
        said = waiting.read_line(process).split()
        self.assertEqual(said, [word, *self.first()])
        self.assertEqual(said[1], key)

    def assert_ours_first(self, process, key):
        token = waiting.read_line(process)
        self.assertEqual((key, token), self.first())

    def short_url(self):
        return "etcd://%s?ttl=%ds" % (self.server.address(), SHORT_S)


@needs_go
class Mutex(Case):
    def test_the_order_is_kept(self):
        theirs = self.theirs("lock", NAME)
        self.until_queued(1)
        self.assert_first(theirs, "locked", self.queue()[0])
        self.assertEqual(self.ours("--try", NAME, "--", "true").returncode, 75)
        ours = self.next_in(2, self.start(HOLDFAST, "hold", NAME))
        third = self.next_in(3, self.theirs("lock", NAME))
        last = self.next_in(4, self.start(HOLDFAST, "hold", NAME))
        waits = self.queue()
        self.say(theirs, "unlock")
        waiting.read_line(theirs, "unlocked")
        self.assert_ours_first(ours, waits[1])
        self.release(ours)
        self.assert_first(third, "locked", waits[2])
        # The end of its session gives it back, too.
        third.stdin.close()
        self.assert_ours_first(last, waits[3])

    def test_a_dead_one_of_each_is_followed(self):
        theirs = self.theirs("lock", NAME, ttl_s=SHORT_S)
        waiting.read_line(theirs)
        self.environment["HOLDFAST_URL"] = self.short_url()
        ours = self.next_in(2, self.start(HOLDFAST, "hold", NAME))
        third = self.next_in(3, self.theirs("lock", NAME))
        waits = self.queue()
        theirs.kill()
        self.assert_ours_first(ours, waits[1])
        ours.kill()
        self.assert_first(third, "locked", waits[2])


@needs_go
class Turns(test_etcdctl.Turns):
    """Of Go's Mutex and ours."""

    other = "go"

    def one_of_others(self, name, log):
        process = self.begin(RECIPES, self.server.address(), str(SHORT_S),
                             stdin=subprocess.PIPE, text=True)
        process.stdin.write("count %s 1 %s\n" % (name, log))
        process.stdin.close()
        return process


@needs_go
class Election(Case):
    def stand(self, text, url=None):
        process = self.start(ELECTION, "named", "election", url or self.url,
                             NAME, text)
        waiting.read_line(process, "ready")
        return process

    def test_they_lead_by_turns_and_each_is_observed(self):
        ours = self.stand("ours")
        waiting.read_line(ours, "elected")
        observer = self.theirs("observe", NAME)
        waiting.read_line(observer, "observed ours")
        theirs = self.next_in(2, self.theirs("campaign", NAME, "theirs"))
        last = self.next_in(3, self.stand("last"))
        waits = self.queue()
        self.release(ours)
        self.assert_first(theirs, "elected", waits[1])
        waiting.read_line(observer, "observed theirs")
        self.assertIn("theirs", self.ours(NAME, command="show").stdout)
        # What it proclaims is a new value of the same key, and no end.
        self.say(theirs, "proclaim", "anew")
        waiting.read_line(theirs, "proclaimed")
        waiting.read_line(observer, "observed anew")
        self.assertIn("anew", self.ours(NAME, command="show").stdout)
        self.assertEqual(self.queue(), waits[1:])
        self.say(theirs, "resign")
        waiting.read_line(theirs, "resigned")
        waiting.read_line(last, "elected")
        waiting.read_line(observer, "observed last")
        self.assertEqual(self.queue(), waits[2:])

    def test_a_dead_one_of_each_is_followed(self):
        theirs = self.theirs("campaign", NAME, "theirs", ttl_s=SHORT_S)
        waiting.read_line(theirs)
        ours = self.next_in(2, self.stand("ours", self.short_url()))
        third = self.next_in(3, self.theirs("campaign", NAME, "third"))
        waits = self.queue()
        theirs.kill()
        waiting.read_line(ours, "elected")
        self.assertEqual(self.queue(), waits[1:])
        ours.kill()
        self.assert_first(third, "elected", waits[2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
