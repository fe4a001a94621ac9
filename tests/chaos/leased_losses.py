# SPDX-License-Identifier: Apache-2.0
"""Tests of a holder that loses its connection or its server, or is frozen or
killed, for every engine whose tickets are leased.  It keeps its lock, or it is
notified of its loss before another one is granted the lock."""

import os
import shutil

import zk_holder
from zk_holder import Holder

import machine
import waiting
from proxy import DOWN, UP, Proxy

# Short where its end is waited for, long where nothing is to be lost however
# busy the machine is.
TTL_MS = 2000
LONG_MS = 20000


class LossFixture:
    """A mixin for a TestCase that has .holder_program, .server, .url(port)
    with the port of the server or of a proxy, and .tickets(name): how many
    tickets the lock has."""

    def setUp(self):
        self.directory = machine.directory("losses", on_disk=True)
        self.addCleanup(shutil.rmtree, self.directory)

    def name(self, part=""):
        return self.id() + part

    def holder_at(self, url, name=None, **options):
        name = name or self.name()
        holder = Holder(self.holder_program, url, name,
                        os.path.join(self.directory, "store"), **options)
        self.addCleanup(holder.close)
        return holder

    def holder(self, ttl_ms=TTL_MS, port=None, name=None):
        return self.holder_at("%s?ttl=%dms" % (
            self.url(port or self.server.port), ttl_ms), name)

    def pair(self, name=None, **options):
        """A holder, and the next one in the queue, which connects to the
        server without a proxy."""
        first = self.holder(name=name, **options)
        first.granted()
        return first, self.queued(name)

    def queued(self, name=None, **options):
        """One more in the queue."""
        before = self.tickets(name or self.name())
        holder = self.holder(name=name, **options)
        waiting.eventually("it to queue", lambda: self.tickets(
            name or self.name()) == before + 1, of=[holder])
        return holder

    def proxy(self):
        proxy = Proxy(self.server.port)
        self.addCleanup(proxy.close)
        return proxy

    def assert_lost_first(self, first, second):
        """The first one was notified before the second was granted the lock,
        and its token is refused from then on."""
        at, token = second.granted()
        self.assertGreater(token, first.granted()[1])
        self.assertLess(first.notified_at(), at)
        self.assertLess(first.safe_until(), at + zk_holder.ROUNDING_MS)

    def assert_refused(self, first, second):
        """The second one holds the lock, and a store that compares tokens
        refuses the first."""
        _, token = second.granted()
        self.assertGreater(token, first.granted()[1])
        second.say("write")
        second.wait("stored")
        first.say("write")
        self.assertEqual(first.wait("refused")[2], [str(token)])

    def assert_kept(self, first, second):
        """The next one is granted the lock when the first releases it, and not
        before."""
        first.say("check")
        self.assertEqual(first.wait("done")[2][0], "HF_OK", first.lines)
        self.assertFalse(second.all("granted"))
        first.say("release")
        self.assertEqual(first.wait("done", 2)[2][0], "HF_OK", first.lines)
        at, token = second.granted()
        self.assertGreater(token, first.granted()[1])
        self.assertGreater(at, first.wait("done")[0])

    def connected(self, holder):
        """How often it was connected."""
        return [line[2] for line in holder.all("state")].count(["CONNECTED"])

    def renewed(self, holder):
        """Wait until the lease was renewed so often that a lease has passed: a
        renewal comes after a quarter of it."""
        count = len(holder.all("safe_until"))
        waiting.eventually("renewals", lambda: len(
            holder.all("safe_until")) >= count + 5, of=[holder])

    def resumed(self, holder, count):
        waiting.eventually("it to be back",
                           lambda: self.connected(holder) > count,
                           of=[holder])


class LossTests(LossFixture):
    # ---- the connection

    def test_connections_that_are_cut_cost_nothing(self):
        proxy = self.proxy()
        first, second = self.pair(port=proxy.port, ttl_ms=LONG_MS)
        for _ in range(3):
            count = self.connected(first)
            proxy.cut()
            self.resumed(first, count)
        self.assert_kept(first, second)

    def test_fn53_a_holder_that_is_cut_off_is_notified_first(self):
        """The bytes of one direction are kept, lost or late."""
        ways = {"kept up": lambda proxy: proxy.hold(UP),
                "kept down": lambda proxy: proxy.hold(DOWN),
                "lost up": lambda proxy: proxy.drop(UP),
                "lost down": lambda proxy: proxy.drop(DOWN),
                "late": lambda proxy: proxy.delay(2 * TTL_MS)}
        found = {}
        for number, way in enumerate(ways):
            proxy = self.proxy()
            name = self.name("/%d" % number)
            found[way] = name, proxy, *self.pair(name, port=proxy.port)
        for way, (_, proxy, *_) in found.items():
            ways[way](proxy)
        for way, (name, proxy, first, second) in found.items():
            with self.subTest(way):
                self.assert_lost_first(first, second)
                first.say("release")
                # The bytes that were kept arrive now, and do no harm.
                proxy.thaw()
                second.say("check")
                self.assertEqual(second.wait("done")[2][0], "HF_OK")
                second.say("release")
                self.assertEqual(second.wait("done", 2)[2][0], "HF_OK",
                                 second.lines)
                waiting.eventually("nothing to be left",
                                   lambda n=name: self.tickets(n) == 0)

    def test_a_slow_way_costs_nothing(self):
        proxy = self.proxy()
        first, second = self.pair(port=proxy.port, ttl_ms=2 * TTL_MS)
        proxy.delay(TTL_MS / 20)
        self.renewed(first)
        self.assert_kept(first, second)

    # ---- itself

    def test_fn01_a_frozen_holder_learns_it_before_anything_else(self):
        first, second = self.pair()
        first.freeze()
        _, token = second.granted()
        second.say("write")
        second.wait("stored")
        first.say("write", "check")
        first.thaw()
        self.assertEqual(first.wait("refused")[2], [str(token)])
        self.assertEqual(first.wait("done")[2], ["HF_ELOST", "0", "1"])

    def test_a_killed_holder_is_followed_by_the_next(self):
        first, second = self.pair()
        token = first.granted()[1]
        first.process.kill()
        self.assertGreater(second.granted()[1], token)

    def test_a_frozen_waiter_blocks_no_longer_than_its_lease(self):
        """Its lease alone is short: the others would lose theirs where the
        machine stands still, and then it is right that the second one has the
        lock early."""
        first, second = self.pair(ttl_ms=LONG_MS)
        third = self.queued(ttl_ms=LONG_MS)
        second.freeze()
        first.say("release")
        token = third.granted()[1]
        second.thaw()
        self.assertFalse(second.all("granted"))
        # It has queued again.
        waiting.eventually("it to queue",
                           lambda: self.tickets(self.name()) == 2)
        third.say("release")
        self.assertGreater(second.granted()[1], token)

    # ---- the server

    def test_a_server_that_is_frozen_for_long_ends_the_lease(self):
        first, second = self.pair()
        self.server.freeze()
        notified_at = first.notified_at()
        # By its own clock, because no server answers.
        self.assertLess(notified_at, first.safe_until() + 1000)
        self.server.thaw()
        at, token = second.granted()
        self.assertGreater(at, notified_at)
        self.assertGreater(token, first.granted()[1])

    def test_a_server_that_is_frozen_for_a_moment_costs_nothing(self):
        first, second = self.pair(ttl_ms=LONG_MS)
        self.server.freeze()
        first.say("another")  # which has to wait for it
        waiting.eventually("a moment", lambda: True)
        self.server.thaw()
        self.assertEqual(first.wait("done")[2][0], "HF_OK")
        self.assertFalse(second.all("granted"))
