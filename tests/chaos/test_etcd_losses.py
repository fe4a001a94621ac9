#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of leased_losses.py on etcd, and some for etcd alone: leases that the
server chooses, tokens of a login that expire, history that is compacted, and
leaders that are frozen.

    test_etcd_losses.py HOLDER

HF_LONG=1: 20 rounds of a leader that is frozen, and 20 with short leases and the
elections that etcd has by default.
"""

import os
import sys
import unittest

from leased_losses import LONG_MS, LossFixture, LossTests
from zk_holder import LONG

import waiting
from etcd import Cluster, Server

HOLDER = os.path.abspath(sys.argv.pop(1))


class Case(LossFixture, unittest.TestCase):
    holder_program = HOLDER

    def url(self, port):
        return "etcd://127.0.0.1:%d" % port

    def tickets(self, name):
        with self.server.client() as client:
            return len(client.list(name + "/"))


class Losses(LossTests, Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def test_a_restart_costs_nothing(self):
        first, second = self.pair(ttl_ms=LONG_MS)
        count = self.connected(first)
        self.server.restart()
        self.resumed(first, count)
        self.assert_kept(first, second)

    def test_fn55_a_lease_lasts_as_long_as_it_was_granted_for(self):
        """The server rounds up: what it grants counts, and not what the URL
        asks for."""
        first = self.holder(ttl_ms=2500)
        first.granted()
        with self.server.client() as client:
            lease = client.list(self.name() + "/")[0].lease
            self.assertEqual(int(client.ask("lease/timetolive", ID=str(lease))
                                 ["grantedTTL"]), 3)
        second = self.queued()
        self.renewed(first)
        self.assertFalse(second.all("granted"))
        self.server.freeze()
        frozen_at = waiting.now_ms()
        notified_at = first.notified_at()
        self.server.thaw()
        # At most one granted lease after the last proof; a ninth less, for the
        # clock of the server.
        self.assertLess(notified_at, frozen_at + 3000)

    def test_history_is_compacted_under_waiters(self):
        first, second = self.pair(ttl_ms=LONG_MS)
        proxy = self.proxy()
        third = self.holder(ttl_ms=LONG_MS, port=proxy.port)
        waiting.eventually("it to queue",
                           lambda: self.tickets(self.name()) == 3, of=[third])
        proxy.cut()
        proxy.refuse()
        with self.server.client() as client:
            for number in range(100):
                client.put("other", str(number))
        self.server.compact()
        first.say("release")
        second.granted()
        second.say("release")
        self.assertEqual(second.wait("done")[2][0], "HF_OK")
        self.server.compact()
        self.assertFalse(third.all("granted"))
        proxy.refuse(False)
        third.granted()

    def test_an_eviction_is_a_loss(self):
        first, second = self.pair(ttl_ms=LONG_MS)
        with self.server.client() as client:
            client.delete(client.list(self.name() + "/")[0].key)
        self.assertEqual(first.wait("lost")[1], "lost")
        self.assert_refused(first, second)


class Tokens(Case):
    """Each call needs a token, which lives for 2 s."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(config={"auth-token-ttl": 2})
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        cls.server.require_users("alice:word")

    def url(self, port):
        return "etcd://alice:word@127.0.0.1:%d" % port

    def test_tokens_that_expire_cost_nothing(self):
        first, second = self.pair(ttl_ms=4000)
        until = waiting.now_ms() + 6000
        waiting.eventually("three tokens to expire",
                           lambda: waiting.now_ms() > until, of=[first, second])
        self.assertEqual(self.connected(first), 1)
        self.assert_kept(first, second)


class FrozenLeader(Case):
    """Three members, and holders that are connected to those that follow."""

    config = None

    def setUp(self):
        super().setUp()
        self.cluster = self.enterContext(Cluster(config=self.config))
        self.leader = self.cluster.leader()
        self.server = self.cluster.followers()[0]

    def freeze_leader(self, name, ttl):
        """For 6 s.  Returns ten holders of leases of that length, and for how
        long there was no other leader, in milliseconds."""
        leader, followers = self.cluster.leader(), self.cluster.followers()
        holders = []
        begun = waiting.now_ms()
        for each in range(10):
            holder = self.holder_at(
                "etcd://%s?ttl=%s" % (self.cluster.address(followers), ttl),
                self.name("/%s-%d" % (name, each)))
            holder.granted()
            holders.append(holder)
        # A keep-alive hangs if it is sent before there is another leader: they
        # are sent all the time by then.
        waiting.eventually("keep-alives to be due", lambda: waiting.now_ms() >
                           begun + 1600, of=holders)
        leader.freeze()
        frozen = waiting.now_ms()
        self.cluster.leader()
        without_ms = waiting.now_ms() - frozen
        waiting.eventually("a lease to pass", lambda: waiting.now_ms() >
                           frozen + 6000, of=holders)
        self.assertIsNot(self.cluster.leads(), leader)
        return leader, holders, without_ms

    def lost(self, holders):
        """How many have lost their sessions, and how many their locks."""
        return (sum(["LOST"] in [line[2] for line in holder.all("state")]
                    for holder in holders),
                sum(bool(holder.all("lost")) for holder in holders))


class ShortLeases(FrozenLeader):
    def test_they_outlive_a_usual_election(self):
        """One takes up to 2 s, with etcd's own values.  Where two members stand
        against each other there are two, for which 3 s may be too short."""
        found = []
        for number in range(20 if LONG else 1):
            leader, holders, without_ms = self.freeze_leader(number, "3s")
            sessions, grants = self.lost(holders)
            found.append((without_ms, sessions, grants))
            print("no leader for %d ms: %d sessions of 10 lost, %d grants "
                  "ended" % found[-1], flush=True)
            leader.thaw()
            for holder in holders:
                holder.close()
            self.cluster.wait()
        print("in all: %d sessions of %d lost, %d grants ended" % (
            sum(one[1] for one in found), 10 * len(found),
            sum(one[2] for one in found)))
        self.assertFalse([one for one in found
                          if one[0] < 1700 and (one[1] or one[2])])


class Leader(FrozenLeader):
    # There is another leader a second after the last one, so that leases of
    # some seconds are renewed by then.
    config = {"heartbeat-interval": 50, "election-timeout": 500}

    def test_a_frozen_leader_ends_no_session_at_others(self):
        """A stream of keep-alives hangs for 6 s in its request to that leader:
        others are opened, and then another member taken.

        Servers whose leaders do not look whether they still lead may end leases
        when this one goes on (docs/engine-etcd.md)."""
        for number in range(20 if LONG else 1):
            leader, holders, without_ms = self.freeze_leader(number, "5s")
            self.assertEqual(self.lost(holders), (0, 0),
                             "%d ms without a leader" % without_ms)
            leader.thaw()
            if leader.checks_leader():
                for holder in holders:
                    holder.say("check")
                    holder.wait("done")
                self.assertEqual(self.lost(holders), (0, 0))
            for holder in holders:
                holder.close()

    def test_holders_at_a_frozen_leader_are_notified_first(self):
        """It answers their keep-alives when it is thawed, out of its own
        memory, although others have the locks by then."""
        pairs = []
        for number in range(4):
            name = self.name("/%d" % number)
            first = self.holder_at("etcd://%s?ttl=4s" % self.leader.address(),
                                   name)
            first.granted()
            second = self.holder_at("etcd://%s?ttl=20s" % self.cluster.address(
                self.cluster.followers()), name)
            waiting.eventually("it to queue", lambda n=name:
                               self.tickets(n) == 2, of=[second])
            pairs.append((first, second))
        self.leader.freeze()
        waiting.eventually("the next ones", lambda: all(
            second.all("granted") for _, second in pairs),
            of=[second for _, second in pairs])
        self.leader.thaw()
        for first, second in pairs:
            self.assert_lost_first(first, second)
            self.assert_refused(first, second)

    def test_a_leader_that_is_killed_costs_nothing(self):
        addresses = self.cluster.address()
        first = self.holder_at("etcd://%s?ttl=20s" % addresses)
        first.granted()
        self.server = self.cluster.followers()[0]
        second = self.holder_at("etcd://%s?ttl=20s" % addresses)
        waiting.eventually("it to queue",
                           lambda: self.tickets(self.name()) == 2, of=[second])
        self.leader.kill()
        self.server = self.cluster.leader()
        self.assert_kept(first, second)


if __name__ == "__main__":
    unittest.main(verbosity=2)
