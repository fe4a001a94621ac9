# SPDX-License-Identifier: Apache-2.0
"""Stories of a holder whose connection, server or self is taken away, for
every engine whose tickets are leased: it keeps its lock, or hears of its loss
before anybody else is admitted."""

import os
import shutil
import tempfile

import zk_holder
from zk_holder import Holder

import waiting
from proxy import DOWN, UP, Proxy

# Short where its end is waited for, long where nothing is to be lost however
# busy the machine is.
TTL_MS = 2000
LONG_MS = 20000


class Stage:
    """Mixed into a TestCase that has holder_program, .server, .url(port) with
    the server's or a proxy's port, and .tickets(name), which are there."""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="holdfast-losses-")
        self.addCleanup(shutil.rmtree, self.directory)

    def name(self, part=""):
        return self.id() + part

    def holder_at(self, url, name=None):
        name = name or self.name()
        holder = Holder(self.holder_program, url, name,
                        os.path.join(self.directory, "store"))
        self.addCleanup(holder.close)
        return holder

    def holder(self, ttl_ms=TTL_MS, port=None, name=None):
        return self.holder_at("%s?ttl=%dms" % (
            self.url(port or self.server.port), ttl_ms), name)

    def pair(self, name=None, **options):
        """A holder and the next one in line, which goes to the server
        itself."""
        first = self.holder(name=name, **options)
        first.granted()
        return first, self.queued(name)

    def queued(self, name=None):
        """One more in line."""
        before = self.tickets(name or self.name())
        holder = self.holder(name=name)
        waiting.eventually("it to queue", lambda: self.tickets(
            name or self.name()) == before + 1)
        return holder

    def proxy(self):
        proxy = Proxy(self.server.port)
        self.addCleanup(proxy.close)
        return proxy

    def assert_lost_first(self, first, second):
        """The first one knew before the second was admitted, and its token is
        refused from then on."""
        at, token = second.granted()
        self.assertGreater(token, first.granted()[1])
        self.assertLess(first.told_at(), at)
        self.assertLess(first.safe_until(), at + zk_holder.ROUNDING_MS)

    def assert_refused(self, first, second):
        """The second one holds, and a store that compares tokens hears no more
        of the first."""
        _, token = second.granted()
        self.assertGreater(token, first.granted()[1])
        second.say("write")
        second.wait("stored")
        first.say("write")
        self.assertEqual(first.wait("refused")[2], [str(token)])

    def assert_kept(self, first, second):
        """Nobody was let in: the next one is when it is released."""
        first.say("check")
        self.assertEqual(first.wait("done")[2][0], "HF_OK", first.lines)
        self.assertFalse(second.all("granted"))
        first.say("release")
        self.assertEqual(first.wait("done", 2)[2][0], "HF_OK", first.lines)
        at, token = second.granted()
        self.assertGreater(token, first.granted()[1])
        self.assertGreater(at, first.wait("done")[0])

    def connected(self, holder):
        """How often it was."""
        return [line[2] for line in holder.all("state")].count(["CONNECTED"])

    def renewed(self, holder):
        """For longer than a lease: that is a quarter of it each time."""
        count = len(holder.all("promise"))
        waiting.eventually("renewals", lambda: len(
            holder.all("promise")) >= count + 5)

    def resumed(self, holder, count):
        waiting.eventually("it to be back",
                         lambda: self.connected(holder) > count)


class Stories(Stage):
    # ---- the connection

    def test_connections_that_are_cut_cost_nothing(self):
        proxy = self.proxy()
        first, second = self.pair(port=proxy.port, ttl_ms=LONG_MS)
        for _ in range(3):
            count = self.connected(first)
            proxy.cut()
            self.resumed(first, count)
        self.assert_kept(first, second)

    def test_fn53_who_is_cut_off_hears_it_first(self):
        """Bytes of one direction are kept, or are lost, or come too late."""
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
                # What is under way arrives after all, and does no harm.
                proxy.thaw()
                second.say("check")
                self.assertEqual(second.wait("done")[2][0], "HF_OK")
                second.say("release")
                second.wait("done", 2)
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
        first, second = self.pair()
        third = self.queued()
        second.freeze()
        first.say("release")
        token = third.granted()[1]
        second.thaw()
        self.assertFalse(second.all("granted"))
        # It has queued afresh.
        waiting.eventually("it to queue",
                         lambda: self.tickets(self.name()) == 2)
        third.say("release")
        self.assertGreater(second.granted()[1], token)

    # ---- the server

    def test_a_server_that_is_frozen_for_long_ends_the_lease(self):
        first, second = self.pair()
        self.server.freeze()
        told_at = first.told_at()
        # By one's own clock: there is nobody who could have said so.
        self.assertLess(told_at, first.safe_until() + 1000)
        self.server.thaw()
        at, token = second.granted()
        self.assertGreater(at, told_at)
        self.assertGreater(token, first.granted()[1])

    def test_a_server_that_is_frozen_for_a_moment_costs_nothing(self):
        first, second = self.pair(ttl_ms=LONG_MS)
        self.server.freeze()
        first.say("another")  # which has to wait for it
        waiting.eventually("a moment", lambda: True)
        self.server.thaw()
        self.assertEqual(first.wait("done")[2][0], "HF_OK")
        self.assertFalse(second.all("granted"))
