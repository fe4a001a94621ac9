#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of leased_losses.py on Redis, and some for Redis alone: servers
that forget everything, and replicas that are promoted.

    test_redis_losses.py HOLDER
"""

import os
import sys
import unittest

from leased_losses import LONG_MS, LossFixture, LossTests

import waiting
from proxy import Proxy
from redis_server import Server, tickets

HOLDER = os.path.abspath(sys.argv.pop(1))


class Case(LossFixture, unittest.TestCase):
    holder_program = HOLDER

    def url(self, port):
        return "redis://127.0.0.1:%d/0" % port

    def tickets(self, name):
        with self.server.client() as client:
            return len(tickets(client, name))


class Losses(LossTests, Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def test_clients_that_are_killed_cost_nothing(self):
        """As pg_terminate_backend() on PostgreSQL."""
        first, second = self.pair(ttl_ms=LONG_MS)
        counts = self.connected(first), self.connected(second)
        with self.server.client() as client:
            for kind in ("normal", "pubsub"):
                client.ask("CLIENT", "KILL", "TYPE", kind)
        self.resumed(first, counts[0])
        self.resumed(second, counts[1])
        self.assert_kept(first, second)

    def test_a_holder_that_cannot_reconnect_is_notified_first(self):
        proxy = self.proxy()
        first, second = self.pair(port=proxy.port)
        proxy.hold()
        with self.server.client() as client:
            for kind in ("normal", "pubsub"):
                client.ask("CLIENT", "KILL", "TYPE", kind)
        self.assert_lost_first(first, second)


class Restarts(Case):
    def test_a_server_that_keeps_everything_costs_nothing(self):
        self.server = Server(["appendonly yes", "appendfsync always"])
        with self.server:
            first, second = self.pair(ttl_ms=LONG_MS)
            count = self.connected(first)
            self.server.restart()
            self.resumed(first, count)
            self.assert_kept(first, second)

    def test_one_that_forgets_lets_another_in_and_the_token_shows_it(self):
        """As docs/engine-redis.md says of a server without persistence."""
        with Server() as self.server, Proxy(self.server.port) as proxy:
            first = self.holder(ttl_ms=3 * LONG_MS, port=proxy.port)
            first.granted()
            proxy.refuse()
            self.server.restart()
            second = self.holder()
            # Two at once, until the first one comes by.
            self.assertLess(second.granted()[0], first.safe_until())
            self.assertFalse(first.all("lost"))
            self.assert_refused(first, second)
            proxy.refuse(False)
            first.notified_at()


class Failover(Case):
    """The primary is killed and its replica promoted, behind one address.
    Another replica follows that one."""

    def setUp(self):
        super().setUp()
        self.server = self.start()
        self.replication = Proxy(self.server.port)
        self.addCleanup(self.replication.close)
        self.replica = self.start(self.replication.port)
        self.start(self.replica.port)
        self.address = self.proxy()

    def start(self, of=None):
        server = Server(["repl-diskless-sync-delay 0"] + (
            ["replicaof 127.0.0.1 %d" % of] if of else []))
        self.addCleanup(server.close)
        server.start()
        if of:
            waiting.eventually("replication", lambda: "master_link_status:up" in
                               self.info(server))
        return server

    @staticmethod
    def info(server):
        with server.client() as client:
            return client.ask("INFO", "replication")

    def holder(self, options=""):
        return self.holder_at(
            self.url(self.address.port) + "?ttl=60s" + options)

    def fail_over(self):
        self.server.kill()
        with self.replica.client() as client:
            client.ask("REPLICAOF", "NO", "ONE")
        self.server = self.replica
        self.address.target = self.replica.port
        self.address.cut()

    def test_fn13_a_failover_can_lose_a_ticket_and_the_token_shows_it(self):
        self.replication.drop()
        first = self.holder()
        first.granted()
        # Until it comes by it counts on its lease.
        self.address.refuse()
        self.fail_over()
        second = super().holder()
        # Two at once: this is what wait= is for, and what tokens are for.
        self.assertLess(second.granted()[0], first.safe_until())
        self.assertFalse(first.all("lost"))
        self.assert_refused(first, second)
        self.address.refuse(False)
        first.notified_at()

    def test_fn13_a_holder_at_a_primary_that_was_replaced_is_notified(self):
        """It lives, and takes writes; who connects from now on comes to the
        server that was promoted."""
        self.replication.drop()
        first = self.holder_at(self.url(self.address.port) + "?ttl=5s")
        first.granted()
        with self.replica.client() as client:
            client.ask("REPLICAOF", "NO", "ONE")
        self.server = self.replica
        self.address.target = self.replica.port
        second = super().holder()
        at, _ = second.granted()
        print("two holders for %d ms" % (first.notified_at() - at), flush=True)
        # By a look at the address, and not because its lease has ended: the
        # old primary renews it.
        said = [name for _, _, (name,) in first.all("state")]
        self.assertNotIn("LOST", said)

    def connections(self, key):
        with self.server.client() as client:
            text = client.ask("INFO")
        return int(text.split("\r\n%s:" % key)[1].split("\r\n")[0])

    def test_a_later_look_finds_it_too_and_no_look_stays_connected(self):
        self.replication.drop()
        first = self.holder_at(self.url(self.address.port) + "?ttl=5s")
        first.granted()
        connected = self.connections("connected_clients")
        made = self.connections("total_connections_received")
        # Each of our own questions is a connection, too.
        asked = 0

        def looked():
            nonlocal asked
            asked += 1
            return (self.connections("total_connections_received")
                    >= made + asked + 2)

        waiting.eventually("a look", looked)
        waiting.eventually("its connections to end", lambda:
                           self.connections("connected_clients") <= connected)
        with self.replica.client() as client:
            client.ask("REPLICAOF", "NO", "ONE")
        self.address.target = self.replica.port
        first.notified_at()
        self.assertNotIn(
            "LOST", [name for _, _, (name,) in first.all("state")])

    def test_fn13_what_replicas_have_is_not_lost(self):
        first = self.holder("&wait=1")
        first.granted()
        second = self.holder("&wait=1")
        waiting.eventually("it to queue",
                           lambda: self.tickets(self.name()) == 2)
        # Queued at the primary, which is ahead of its replica for a moment.
        with self.server.client() as client:
            client.ask("SET", "mark", "1")
            client.ask("WAIT", "1", "0")
        counts = self.connected(first), self.connected(second)
        self.fail_over()
        self.resumed(first, counts[0])
        self.resumed(second, counts[1])
        self.assert_kept(first, second)


if __name__ == "__main__":
    unittest.main()
