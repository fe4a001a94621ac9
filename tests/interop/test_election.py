#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Candidates of Curator, kazoo and holdfast stand for one leadership on a real
ZooKeeper.

  - Curator's LeaderLatch and holdfast, as they are: latch- nodes.
  - Curator's LeaderSelector and holdfast with HF_KIND_MUTEX: lock- nodes.
  - kazoo's Election as it is and holdfast with layout=kazoo, of either kind.
  - kazoo's Election whose Lock was replaced by one with patterns, and holdfast
    in Curator's names.

HF_LONG=1 makes minutes of the seconds.
"""

import json
import os
import subprocess
import unittest
import uuid

from test_interop import (CURATOR_JARS, Case, Contender, EACH, HERE, NAME,
                          PATH, waiting)


class Candidates(Case):
    """As the contenders of test_interop.py; a leader resigns at once."""

    mark = "latch"   # of Curator's nodes
    kind = "election"

    def first(self):
        return "_c_%s-%s-" % (uuid.uuid4(), self.mark)

    def curator_candidate(self, name, command, *rest):
        recipe = {"latch": "latch", "lock": "selector"}[self.mark]
        return self.java(name, CURATOR_JARS, "CuratorElection", recipe,
                         command, self.server.address(), PATH, *rest)

    def kazoo_candidate(self, name, pattern, command, *rest):
        return self.add(Contender(name, [
            "/usr/bin/python3", os.path.join(HERE, "kazoo_election.py"),
            pattern, command, self.server.address(), PATH, *rest]))

    def ours(self, name, command, *rest, kind=None):
        return self.add(Contender(name, [
            os.environ["ELECTION"], command, kind or self.kind, self.url(),
            NAME, *rest]))

    def work(self, name):
        return self.directory, name, str(EACH)

    def contest_of(self, curators=0, pattern=None, container=True):
        for i in range(curators):
            name = "curator-%d" % i
            self.curator_candidate(name, "add", *self.work(name))
        for i in range(2 if pattern else 0):
            name = "kazoo-%d" % i
            self.kazoo_candidate(name, pattern, "add", *self.work(name))
        for i in range(3):
            name = "ours-%d" % i
            self.ours(name, "add", *self.work(name))
        self.contest(container)

    # ---- the next leader

    def standing(self, candidate, count):
        candidate.expect("ready")
        waiting.eventually("it to stand", lambda: self.client.exists(PATH) and
                           len(self.client.children(PATH)) == count)
        return candidate

    def relay(self, first, second, third):
        """The leader is killed, and the next one in the queue, of another
        library, leads; then that one is killed."""
        candidates = []
        for i, make in enumerate((first, second, third)):
            candidates.append(self.standing(make(i), i + 1))
            if i == 0:
                candidates[0].expect("elected")
        for i in range(2):
            candidates[i].process.kill()
            candidates[i + 1].expect("elected")
            self.assertEqual(len(self.client.children(PATH)), 2 - i)

    def one_of_ours(self, i):
        return self.ours("ours-%d" % i, "stand", "number %d" % i)

    def one_of_curators(self, i):
        return self.curator_candidate("curator-%d" % i, "stand",
                                      "number %d" % i)

    def show(self):
        done = subprocess.run(
            [os.environ["HOLDFAST"], "show", "--json", "-c", self.url(), NAME],
            capture_output=True, text=True, timeout=waiting.LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["tickets"]

    def seen_by(self, looker):
        looker.expect("ready")
        lines = looker.popen.communicate(timeout=60)[0].splitlines()
        self.assertEqual(looker.popen.returncode, 0)
        return lines


class Latch(Candidates):
    def test_latches_with_holdfast(self):
        self.contest_of(curators=2)

    def test_ours_follows_a_latch_that_dies_and_is_followed(self):
        self.relay(self.one_of_curators, self.one_of_ours,
                   self.one_of_curators)

    def test_a_latch_follows_ours_that_dies_and_is_followed(self):
        self.relay(self.one_of_ours, self.one_of_curators, self.one_of_ours)

    def test_an_id_is_what_curator_shows(self):
        self.standing(self.ours("first", "named", "number 0"), 1)
        self.standing(self.ours("second", "named", "\u00e4 = 1"), 2)
        seen = self.seen_by(self.curator_candidate("looker", "look"))
        self.assertEqual(seen, ["*number 0", "\u00e4 = 1"])
        self.assertEqual([t["payload"] for t in self.show()],
                         ["number 0", "\u00e4 = 1"])

    def test_each_sees_the_other(self):
        self.standing(self.one_of_curators(0), 1).expect("elected")
        ours = self.standing(self.one_of_ours(1), 2)
        tickets = self.show()
        self.assertEqual([t["kind"] for t in tickets],
                         ["election", "election"])
        self.assertEqual([t["state"] for t in tickets], ["holds", "waits"])
        self.assertEqual(tickets[0]["payload"], "number 0")
        self.assertEqual(tickets[1]["owner"]["text"], "number 1")
        seen = self.seen_by(self.curator_candidate("looker", "look"))
        self.assertEqual(seen, ["*number 0", tickets[1]["payload"]])
        # Taken out by hand: it is at the tail again, and not in a spin.
        node = max(self.client.children(PATH), key=lambda name: name[-10:])
        self.client.delete(PATH + "/" + node)
        waiting.eventually("ours to stand again",
                           lambda: len(self.client.children(PATH)) == 2)
        ours.go_on()
        ours.finish()
        self.assertEqual(len(self.client.children(PATH)), 1)


class Selector(Candidates):
    mark = "lock"
    kind = "mutex"

    def test_selectors_with_holdfast(self):
        self.contest_of(curators=2)

    def test_ours_follows_a_selector_that_dies_and_is_followed(self):
        self.relay(self.one_of_curators, self.one_of_ours,
                   self.one_of_curators)

    def test_each_sees_the_other(self):
        self.standing(self.one_of_ours(0), 1).expect("elected")
        self.standing(self.one_of_curators(1), 2)
        tickets = self.show()
        self.assertEqual([t["kind"] for t in tickets], ["mutex", "mutex"])
        self.assertEqual(tickets[1]["payload"], "number 1")
        seen = self.seen_by(self.curator_candidate("looker", "look"))
        self.assertEqual(seen, ["*" + tickets[0]["payload"], "number 1"])

    def test_kazoo_with_holdfast(self):
        self.contest_of(pattern="-lock-", container=False)


class KazooNames(Candidates):
    layout = "kazoo"

    def first(self):
        return "%s__lock__" % uuid.uuid4().hex

    def one_of_kazoos(self, i):
        return self.kazoo_candidate("kazoo-%d" % i, "stock", "stand",
                                    "number %d" % i)

    def test_kazoo_as_it_comes_with_holdfast(self):
        self.contest_of(pattern="stock", container=False)

    def test_ours_follows_kazoo_that_dies_and_is_followed(self):
        self.relay(self.one_of_kazoos, self.one_of_ours, self.one_of_kazoos)

    def test_each_sees_the_other(self):
        self.standing(self.one_of_kazoos(0), 1).expect("elected")
        self.standing(self.one_of_ours(1), 2)
        tickets = self.show()
        self.assertEqual([t["kind"] for t in tickets],
                         ["exclusive", "exclusive"])
        self.assertEqual(tickets[0]["payload"], "number 0")
        seen = self.seen_by(self.kazoo_candidate("looker", "stock", "look"))
        self.assertEqual(seen, ["number 0", tickets[1]["payload"]])


class KazooPatterns(Candidates):
    def test_kazoo_that_sees_latches_with_holdfast(self):
        self.contest_of(pattern="-latch-", container=False)


if __name__ == "__main__":
    unittest.main()
