#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A holder whose connection, server or self is taken away: it keeps its lock
or hears of its loss before anybody else is admitted.

    test_pg_losses.py HOLDER
"""

import os
import shutil
import sys
import tempfile
import unittest

import zk_holder
from zk_holder import Holder

import place
import postgres
from proxy import DOWN, UP, Proxy

HOLDER = os.path.abspath(sys.argv.pop(1))
TTL_MS = 4000


class Losses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="holdfast-losses-")
        self.addCleanup(shutil.rmtree, self.directory)

    def holder(self, ttl_ms=TTL_MS, port=None):
        url = self.server.tcp_url()
        if port:
            url = url.replace(":%d/" % self.server.port, ":%d/" % port)
        holder = Holder(HOLDER, "%s?ttl=%dms" % (url, ttl_ms), self.id(),
                        os.path.join(self.directory, "store"))
        self.addCleanup(holder.close)
        return holder

    def pair(self, **options):
        """A holder and the next one in line."""
        first = self.holder(**options)
        first.granted()
        second = self.holder()
        place.eventually("the second to queue", lambda: self.tickets() == 2)
        return first, second

    def tickets(self):
        return self.server.sql(
            "SELECT count(*) FROM holdfast.ticket t JOIN holdfast.queue q "
            "ON q.number = t.queue WHERE q.name = %s",
            (self.id().encode(),))[0][0]

    def assert_lost_first(self, first, second):
        """The first one knew before the second was admitted, and its token is
        refused from then on."""
        at, token = second.granted()
        self.assertGreater(token, first.granted()[1])
        self.assertLess(first.told_at(), at)
        self.assertLess(first.safe_until(), at + zk_holder.ROUNDING_MS)

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

    def resumed(self, holder, count):
        place.eventually("it to be back", lambda: [
            line[2] for line in holder.all("state")].count(
                ["CONNECTED"]) > count)

    # ---- the connection

    def test_a_terminated_backend_costs_a_holder_nothing(self):
        first, second = self.pair()
        connected = first.all("state").count(["CONNECTED"])
        self.server.sql("SELECT pg_terminate_backend(pid) FROM "
                        "pg_stat_activity WHERE application_name = "
                        "'holdfast'")
        self.resumed(first, connected)
        self.resumed(second, connected)
        self.assert_kept(first, second)

    def test_fn24_who_is_terminated_and_cannot_come_back_hears_it_first(self):
        proxy = Proxy(self.server.port)
        self.addCleanup(proxy.close)
        first, second = self.pair(port=proxy.port)
        proxy.hold(UP, DOWN)
        self.server.sql("SELECT pg_terminate_backend(pid) FROM "
                        "pg_stat_activity WHERE application_name = "
                        "'holdfast'")
        self.assert_lost_first(first, second)

    def test_who_is_cut_off_hears_it_first(self):
        for ways in ((UP,), (DOWN,)):
            with self.subTest(ways=ways):
                proxy = Proxy(self.server.port)
                self.addCleanup(proxy.close)
                first, second = self.pair(port=proxy.port)
                proxy.hold(*ways)
                self.assert_lost_first(first, second)
                first.close()
                second.say("release")
                second.wait("done")
                # What lay in the proxy arrives, and does no harm.
                proxy.thaw()

    # ---- itself

    def test_a_frozen_holder_learns_it_before_anything_else(self):
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

    # ---- the server

    def test_a_server_that_is_killed_and_comes_back_costs_nothing(self):
        first, second = self.pair(ttl_ms=20000)
        connected = first.all("state").count(["CONNECTED"])
        self.server.restart()
        self.resumed(first, connected)
        self.assert_kept(first, second)

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
        first, second = self.pair(ttl_ms=20000)
        self.server.freeze()
        first.say("another")  # which has to wait for it
        place.eventually("a moment", lambda: True)
        self.server.thaw()
        self.assertEqual(first.wait("done")[2][0], "HF_OK")
        self.assertFalse(second.all("granted"))

    def test_a_clock_that_is_set_ahead_ends_leases_and_the_token_tells(self):
        """What docs/engine-postgres.md says of it: another may be admitted
        before the first one knows."""
        first, second = self.pair(ttl_ms=60000)
        # An hour more for the clock is an hour less for all leases.
        self.server.sql("UPDATE holdfast.session SET expires_at = expires_at "
                        "- interval '1 hour'")
        _, token = second.granted()
        second.say("write")
        second.wait("stored")
        first.say("write")
        self.assertEqual(first.wait("refused")[2], [str(token)])
        first.told_at()


if __name__ == "__main__":
    unittest.main()
