#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Faults of a cluster of etcd after which a leader does not know that it was
deposed: a disk that does not answer, a leader that runs for moments only,
partitions.

    test_etcd_faults.py HOLDER HOLDFAST

Nobody is admitted before the safe-until of the holder before.  Servers whose
leaders do not look whether they still lead break that for holders on other
members, as docs/engine-etcd.md says: there the tests show that it happens, that
the tool says so, and that the token covers it.

HF_LONG=1: each 20 times.
"""

import threading
import unittest

from etcd_losses import TTL_MS, Case
from zk_holder import LONG, summary

import etcd_gateway
import frozen_disk
import network
import waiting
from etcd import Cluster

REPETITIONS = 20 if LONG else 1
# An election that takes longer may end grants at all members: they live on for
# three quarters of a lease at least, and are proven again a moment after it.
ELECTION_MS = TTL_MS // 3
DISK_MS = 12000

try:
    network.allow()
    WHY_NO_NETWORK = None
except network.Unavailable as reason:
    WHY_NO_NETWORK = str(reason)


class KeepAlives(threading.Thread):
    """A client that takes each answered keep-alive for a whole lease, as every
    other client of etcd does."""

    def __init__(self, server, ttl_ms):
        super().__init__(daemon=True)
        self.server = server
        self.ttl_ms = ttl_ms
        self.claim_ms = 0  # it believes in its lease until then
        self.stopped = threading.Event()
        with server.client() as client:
            self.lease = client.grant(ttl_ms // 1000)
            client.put("alive/%x" % self.lease, lease=self.lease)
        self.start()

    def run(self):
        while not self.stopped.wait(0.2):
            try:
                self.renew()
            except (OSError, etcd_gateway.Error,
                    etcd_gateway.http.client.HTTPException):
                pass  # again later

    def renew(self):
        with self.server.client(timeout_s=10) as client:
            at = waiting.now_ms()
            found = client.ask("lease/keepalive", ID=str(self.lease))
        if int(found["result"].get("TTL", 0)) > 0:
            self.claim_ms = at + self.ttl_ms

    def gone_at(self, server):
        """The instant at which the server has its key no more."""
        def is_gone():
            with server.client() as client:
                return not client.get("alive/%x" % self.lease)
        waiting.eventually("a lease to end", is_gone)
        return waiting.now_ms()

    def close(self):
        self.stopped.set()
        self.join(waiting.LIMIT_S)


class Deposed(Case):
    """Leaders that do not know that there is another one."""

    def setUp(self):
        super().setUp()
        self.cluster = self.enterContext(Cluster())

    def choose(self):
        self.leader = self.cluster.leader()
        self.others = self.cluster.followers()
        self.server = self.others[0]

    def until_another_leads(self):
        waiting.eventually("another leader", lambda: self.cluster.leads()
                           not in (None, self.leader))

    @unittest.skipUnless(frozen_disk.is_possible(), "strace may not attach")
    def test_the_disk_of_a_leader_stands_still(self):
        at_leader, at_others, claims = [], [], []
        for number in range(REPETITIONS):
            for margins, found in zip(
                    (at_leader, at_others, claims), self.freeze_disk(number)):
                margins += found
        summary("at the leader: admitted after safe-until, ms", at_leader)
        summary("at the others", at_others)
        summary("keep-alives alone: gone after what they promise", claims)
        self.assertGreater(min(at_leader), 0)

    def freeze_disk(self, number):
        self.choose()
        alive = KeepAlives(self.leader, TTL_MS)
        self.addCleanup(alive.close)
        at_leader = self.pairs_at(3, [self.leader], self.others,
                                  "leader-%d-" % number)
        at_others = self.pairs_at(3, self.others, self.others,
                                  "others-%d-" % number)
        self.leader.freeze_disk()
        frozen_ms = waiting.now_ms()
        self.until_another_leads()
        gone_ms = alive.gone_at(self.others[0])
        self.pass_until(frozen_ms + DISK_MS, at_leader + at_others)
        self.leader.thaw_disk()
        self.assert_all_lost_first(at_leader)
        alive.close()
        if self.server.checks_leader():
            for first, second in at_others:
                self.assert_kept(first, second)
            early = []
        else:
            early = self.assert_ended_early(at_others)
            # The fault was what it has to be: a client without proofs is wrong.
            self.assertGreater(alive.claim_ms, gone_ms)
        found = self.margins(at_leader), early, [gone_ms - alive.claim_ms]
        self.close_all(at_leader + at_others)
        return found

    def assert_ended_early(self, pairs):
        """The leader that was deposed has ended all leases of the cluster: the
        holders are notified, and refused by what compares tokens."""
        for first, second in pairs:
            first.notified_at()
            self.assert_refused(first, second)
        margins = self.margins(pairs)
        self.assertLess(min(margins), 0)
        return margins

    def test_the_tool_says_what_old_servers_break(self):
        self.choose()
        url = self.url_of(self.cluster.servers, TTL_MS)
        old = not self.leader.checks_leader()
        said = self.run_tool("run", "-c", url, self.name(), "--", "true")
        self.assertEqual(said.stderr.count("may end all leases early"), old)
        for _ in range(2):
            said = self.run_tool("doctor", "-c", url)
            self.assertEqual("upgrade to 3.4.31" in said.stdout, old)

    def test_a_leader_runs_for_moments_only(self):
        """While its successor ends the leases of those that were connected to
        it, it answers them now and then."""
        for number in range(REPETITIONS):
            self.choose()
            pairs = self.pairs_at(4, [self.leader], self.others,
                                  "%d-" % number, ttl_ms=4000)
            self.leader.freeze()
            frozen_ms = waiting.now_ms()
            self.until_another_leads()
            # Slices of 4 s, in which others get the locks.
            self.pass_until(frozen_ms + 5000, pairs)
            self.leader.thaw_in_slices()
            self.assert_all_lost_first(pairs)
            summary("admitted after safe-until, ms", self.margins(pairs))
            self.close_all(pairs)


@unittest.skipIf(WHY_NO_NETWORK, WHY_NO_NETWORK)
class Partitioned(Case):
    """Each member is in a network namespace, and the clients in another."""

    def setUp(self):
        super().setUp()
        self.network = self.enterContext(network.Network(4))
        *hosts, self.clients = self.network.nodes
        self.cluster = self.enterContext(Cluster(hosts=hosts))

    def elected(self, others, before):
        """How long it takes until the others have another leader than the one
        of that number."""
        began_ms = waiting.now_ms()
        waiting.eventually("another leader", lambda: any(
            other.leader_id() not in (0, before) for other in others))
        return waiting.now_ms() - began_ms

    def test_a_leader_is_cut_off_from_the_others_and_not_from_clients(self):
        for number in range(REPETITIONS):
            leader = self.cluster.leader()
            leader_number = leader.number()
            others = self.cluster.followers()
            self.server = others[0]
            at_leader = self.pairs_at(3, [leader], others, "leader-%d-" %
                                      number, host=self.clients)
            at_others = self.pairs_at(3, others, others, "others-%d-" % number,
                                      host=self.clients)
            self.network.lose(pair for other in others for pair in (
                (leader.host, other.host), (other.host, leader.host)))
            is_late = self.elected(others, leader_number) > ELECTION_MS
            self.assert_all_lost_first(at_leader)
            self.network.lose([])
            summary("admitted after safe-until, ms", self.margins(at_leader))
            self.cluster.wait()
            for first, second in at_others:
                if is_late and first.all("lost"):
                    self.assert_lost_first(first, second)
                else:
                    self.assert_kept(first, second)
            self.close_all(at_leader + at_others)


if __name__ == "__main__":
    unittest.main(verbosity=2)
