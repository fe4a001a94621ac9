#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A primary's answer to a commit that its synchronous standby does not have
proves nothing: the standby can be promoted, and then the commit was never
made.  In each test a client's commit waits for the standby, the wait ends in
some way, the standby is promoted, and another client acquires the same lock.

    test_pg_replica.py HOLDER
"""

import os
import sys
import unittest

from leased_losses import LONG_MS, LossFixture

import waiting
from postgres_pair import COMMITTING, Pair

HOLDER = os.path.abspath(sys.argv.pop(1))


class Unconfirmed(LossFixture, unittest.TestCase):
    holder_program = HOLDER

    def setUp(self):
        super().setUp()
        self.pair = Pair()
        self.addCleanup(self.pair.close)
        self.server = self.pair.primary
        self.make_schema()

    def url(self, _):
        """The first two servers."""
        return self.server.tcp_url().replace(
            ":%d/" % self.server.port, ":%d,127.0.0.1:%d/" % tuple(
                server.port for server in self.pair.servers[:2]))

    def make_schema(self):
        other = self.holder(name=self.name("/other"))
        other.granted()
        other.say("release")
        other.process.wait(waiting.LIMIT_S)

    # ---- steps

    def committing(self):
        """The transactions of holdfast that wait in the old primary."""
        return set(self.server.sql("SELECT pid, xact_start " + COMMITTING))

    def waits(self):
        """A client whose ticket the standby does not get."""
        self.pair.cut_off()
        holder = self.holder(ttl_ms=LONG_MS)
        waiting.eventually("its commit to wait", self.committing)
        return holder

    def assert_asks_in_vain(self, first, before):
        """The client has seen what became of its commit, and asks again; that
        waits as well.  Or it has found the new primary, and asks there."""
        waiting.eventually("it to ask again", lambda: self.committing() -
                           before or "SUSPENDED" in [
                               name for _, _, (name,) in first.all("state")])
        self.assertEqual(first.all("granted"), [])

    def assert_cut_in_vain(self, first):
        """The same, of a client whose connection has ended."""
        waiting.eventually("it to see the end", lambda: "SUSPENDED" in [
            name for _, _, (name,) in first.all("state")])
        self.assertEqual(first.all("granted"), [])

    def assert_one_after_the_other(self, first, second):
        """The old primary is gone."""
        waiting.eventually("both to be in the queue",
                           lambda: self.tickets(self.name()) == 2)
        waiting.eventually("one of them to be granted", lambda: first.all(
            "granted") or second.all("granted"))
        holds, waits = (first, second) if first.all("granted") else (
            second, first)
        self.assertEqual(waits.all("granted"), [])
        holds.say("release")
        self.assertEqual(holds.wait("done")[2][0], "HF_OK", holds.lines)
        self.assertGreater(waits.granted()[1], holds.granted()[1])

    def assert_followed(self, first):
        """By a failover."""
        self.pair.fail_over()
        self.assert_one_after_the_other(first, self.holder(ttl_ms=LONG_MS))

    def tickets(self, name):
        return self.pair.primary.sql(
            "SELECT count(*) FROM holdfast.ticket t JOIN holdfast.queue q "
            "ON q.number = t.queue WHERE q.name = %s", (name.encode(),))[0][0]

    # ---- cases

    def test_a_terminated_wait_for_the_standby_grants_nothing(self):
        first = self.waits()
        before = self.committing()
        self.pair.terminate(self.server)
        self.assert_asks_in_vain(first, before)
        self.server.kill()
        self.assert_followed(first)

    def test_a_cancelled_wait_for_the_standby_grants_nothing(self):
        first = self.waits()
        before = self.committing()
        self.pair.cancel(self.server)
        self.assert_asks_in_vain(first, before)
        self.server.kill()
        self.assert_followed(first)

    def test_a_fast_shutdown_before_a_failover_grants_nothing(self):
        first = self.waits()
        self.server.stop()
        self.assert_cut_in_vain(first)
        self.assert_followed(first)

    def test_an_immediate_shutdown_before_a_failover_grants_nothing(self):
        first = self.waits()
        self.server.abort()
        self.assert_cut_in_vain(first)
        self.assert_followed(first)

    def test_a_primary_that_was_replaced_grants_nothing(self):
        """It is alive, and the standby was promoted beside it."""
        first = self.waits()
        before = self.committing()
        self.pair.fail_over()
        second = self.holder_at(
            "%s?ttl=%dms" % (self.pair.primary.tcp_url(), LONG_MS))
        second.granted()
        self.pair.terminate(self.server)
        self.assert_asks_in_vain(first, before)
        self.server.kill()
        self.assert_one_after_the_other(first, second)

    def end_lease(self):
        """Of the first ticket in the old primary, as if its time had come."""
        self.server.sql(
            "SET synchronous_commit = local;"
            "UPDATE holdfast.session SET expires_at = clock_timestamp() WHERE "
            "id = (SELECT session FROM holdfast.ticket ORDER BY sequence "
            "LIMIT 1)")

    def test_a_primary_that_was_replaced_lets_nobody_in(self):
        """The lease of the holder ends there, because it renews at the new
        primary; and the wait of its ticket's removal is cancelled."""
        proxy = self.proxy()
        first = self.holder_at("%s?ttl=%dms" % (self.url(0).replace(
            ":%d," % self.server.port, ":%d," % proxy.port), 2 * LONG_MS))
        first.granted()
        count = self.connected(first)
        second = self.holder_at("%s?ttl=%dms" % (
            self.server.tcp_url(), 3 * LONG_MS))
        waiting.eventually("both to be in the queue",
                           lambda: self.tickets(self.name()) == 2)
        proxy.refuse()
        proxy.cut()
        self.pair.fail_over()
        self.resumed(first, count)
        self.end_lease()
        waiting.eventually("the removal to wait", self.committing)
        before = self.committing()
        self.pair.cancel(self.server)
        self.assert_asks_in_vain(second, before)
        self.server.kill()
        first.say("check")
        self.assertEqual(first.wait("done")[2][0], "HF_OK", first.lines)


class Replaced(LossFixture, unittest.TestCase):
    """An asynchronous standby is promoted while the primary lives: both take
    writes, and each has tickets that the other lacks."""

    holder_program = HOLDER

    def setUp(self):
        super().setUp()
        self.pair = Pair(synchronous=False)
        self.addCleanup(self.pair.close)
        self.server = self.pair.primary
        first = self.holder(name=self.name("/other"))
        first.granted()
        first.say("release")
        first.process.wait(waiting.LIMIT_S)
        waiting.eventually("the schema at the standby", self.pair.is_followed)

    def url(self, _):
        """Both servers, the first one first."""
        return self.server.tcp_url().replace(
            ":%d/" % self.server.port, ":%d,127.0.0.1:%d/" % tuple(
                server.port for server in self.pair.servers))

    def promote(self):
        self.pair.cut_off()
        self.pair.standby.sql("SELECT pg_promote()")

    def test_fn13_a_holder_at_the_old_primary_is_notified(self):
        first = self.holder(ttl_ms=5000)
        first.granted()
        # What it holds is not at the standby.
        self.promote()
        self.pair.standby.sql("DELETE FROM holdfast.ticket")
        second = self.holder_at(
            "%s?ttl=5s" % self.pair.standby.tcp_url())
        at, _ = second.granted()
        print("two holders for %d ms" % (first.notified_at() - at), flush=True)
        said = [name for _, _, (name,) in first.all("state")]
        self.assertNotIn("LOST", said)

    def test_a_later_one_waits_at_the_new_primary(self):
        """Though its URL names the old one first."""
        self.promote()
        first = self.holder_at("%s?ttl=20s" % self.pair.standby.tcp_url())
        first.granted()
        second = self.holder(ttl_ms=LONG_MS)
        waiting.eventually("it to queue there", lambda: self.pair.standby.sql(
            "SELECT count(*) FROM holdfast.ticket t JOIN holdfast.queue q "
            "ON q.number = t.queue WHERE q.name = %s",
            (self.name().encode(),)) == [(2,)], of=[second])
        self.assertEqual(second.all("granted"), [])
        first.say("release")
        self.assertGreater(second.granted()[1], first.granted()[1])


if __name__ == "__main__":
    unittest.main()
