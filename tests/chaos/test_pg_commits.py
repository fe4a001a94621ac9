#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A call that PostgreSQL has executed and not committed: the commit fails, or
it is unknown whether the synchronous standby has it.

    test_pg_commits.py HOLDER
"""

import os
import signal
import sys
import unittest

from leased_losses import LONG_MS, LossFixture

import waiting
import postgres
from proxy import Proxy

HOLDER = os.path.abspath(sys.argv.pop(1))

# Commits of some change to a ticket fail, as they do where the disk or the
# queue of notices is full.
REFUSE = """
CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no commit' USING ERRCODE = '53100'; END $$;
CREATE CONSTRAINT TRIGGER refuse AFTER %s ON holdfast.ticket
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION public.refuse();
"""


class Case(LossFixture, unittest.TestCase):
    holder_program = HOLDER

    def url(self, port):
        return self.server.tcp_url().replace(
            ":%d/" % self.server.port, ":%d/" % port)

    def tickets(self, name):
        return self.server.sql(
            "SELECT count(*) FROM holdfast.ticket t JOIN holdfast.queue q "
            "ON q.number = t.queue WHERE q.name = %s", (name.encode(),))[0][0]

    def waiting(self, event):
        """Backends of holders that wait for that."""
        return [pid for pid, in self.server.sql(
            "SELECT pid FROM pg_stat_activity WHERE wait_event = %s "
            "AND application_name = 'holdfast'", (event,))]


class Failing(Case):
    """Commits that fail, which every client sees in the end."""

    def setUp(self):
        super().setUp()
        self.server = postgres.Server()
        self.addCleanup(self.server.close)
        self.holder(name=self.name("/schema")).granted()

    def refuse(self, change):
        """After connecting: a schema with a trigger of others may be
        refused."""
        failures = self.server.log().count(" 53100 ERROR")
        self.server.sql(REFUSE % change)
        return failures

    def commit(self):
        self.server.sql("DROP FUNCTION public.refuse() CASCADE")

    def failed(self, before, count):
        """Wait until count more commits have failed."""
        waiting.eventually("commits to fail", lambda: self.server.log().count(
            " 53100 ERROR") >= before + count)

    def test_who_is_not_committed_is_not_in(self):
        blocker = self.server.connect()
        self.addCleanup(blocker.close)
        blocker.autocommit = False
        blocker.cursor().execute(
            "INSERT INTO holdfast.queue (name) VALUES (%s)",
            (self.name().encode(),))
        holders = [self.holder(ttl_ms=LONG_MS) for _ in range(2)]
        waiting.eventually("both to be connected", lambda: all(
            self.connected(holder) for holder in holders))
        before = self.refuse("INSERT")
        blocker.rollback()
        for count in (2, 4):
            self.failed(before, count)
            self.assertEqual([h.all("granted") for h in holders], [[], []])
        self.commit()
        waiting.eventually("one to be in", lambda: any(
            holder.all("granted") for holder in holders))
        first, second = sorted(holders, key=lambda h: not h.all("granted"))
        waiting.eventually("the other one to queue",
                           lambda: self.tickets(self.name()) == 2)
        self.assert_kept(first, second)

    def test_what_is_not_committed_is_not_released(self):
        first, second = self.pair(ttl_ms=LONG_MS)
        before = self.refuse("DELETE")
        first.say("release")
        self.failed(before, 2)
        self.assertFalse(first.all("done"), first.lines)
        self.commit()
        self.assertEqual(first.wait("done")[2][0], "HF_OK")
        second.granted()

    def test_a_ticket_that_its_session_does_not_know_goes(self):
        first = self.holder(ttl_ms=LONG_MS)
        first.granted()
        self.server.sql(
            "WITH q AS (INSERT INTO holdfast.queue (name) "
            "VALUES (%s) RETURNING number), "
            "c AS (INSERT INTO holdfast.counter (queue, counter, lowest) "
            "SELECT number, 1, 1 FROM q) "
            "INSERT INTO holdfast.ticket "
            "(queue, sequence, id, session, kind, weight, payload) "
            "SELECT q.number, 1, gen_random_uuid(), t.session, 1, 1, '' "
            "FROM q, holdfast.ticket t JOIN holdfast.queue o "
            "ON o.number = t.queue WHERE o.name = %s",
            (self.name("/unknown").encode(), self.name().encode()))
        second = self.holder(name=self.name("/unknown"), ttl_ms=LONG_MS)
        waiting.eventually("the other one to queue", lambda: self.tickets(
            self.name("/unknown")) == 2)
        second.granted()
        first.say("check")
        self.assertEqual(first.wait("done")[2][0], "HF_OK")


class Standby(Case):
    """A synchronous standby that is frozen for a while: what waits for it is
    not there yet.  The URL names both servers."""

    def setUp(self):
        super().setUp()
        self.primary = postgres.Server()
        self.addCleanup(self.primary.close)
        self.replication = Proxy(self.primary.port)
        self.addCleanup(self.replication.close)
        self.replica = postgres.Server(follows=self.replication.port)
        self.addCleanup(self.replica.close)
        self.server = self.primary
        self.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.sql("SELECT pg_reload_conf()")
        waiting.eventually("a synchronous replica", lambda: self.primary.
                           sql("SELECT count(*) FROM pg_stat_replication "
                               "WHERE sync_state = 'sync'") == [(1,)])
        holder = self.holder(name=self.name("/schema"))
        holder.granted()
        # Or its renewals would be taken for what the next one waits for.
        holder.close()
        waiting.eventually("its connection to go", lambda: not self.primary.sql(
            "SELECT FROM pg_stat_activity "
            "WHERE application_name = 'holdfast'"))

    def url(self, _):
        """Both have the password of the primary."""
        return self.primary.tcp_url().replace(
            ":%d/" % self.primary.port, ":%d,127.0.0.1:%d/" % (
                self.primary.port, self.replica.port))

    def holder_that_waits(self):
        """For the standby, which has not got its ticket."""
        self.replication.drop()
        holder = self.holder(ttl_ms=3 * LONG_MS)
        waiting.eventually("its commit to wait",
                           lambda: self.waiting("SyncRep"))
        return holder

    def fail_over(self, end):
        end()
        self.replica.sql("SELECT pg_promote()")
        self.server = self.replica

    def assert_one_at_a_time(self, first):
        """Where the standby rules now."""
        second = self.holder(ttl_ms=3 * LONG_MS)
        waiting.eventually("one to be in", lambda: any(
            holder.all("granted") for holder in (first, second)))
        first, second = sorted((first, second),
                               key=lambda h: not h.all("granted"))
        waiting.eventually("the other one to queue",
                           lambda: self.tickets(self.name()) == 2)
        self.assert_kept(first, second)

    def test_a_commit_whose_wait_is_cancelled_lets_nobody_in(self):
        first = self.holder_that_waits()
        # Whatever it does then: look for its ticket, renew it.
        for _ in range(4):
            for pid in self.waiting("SyncRep"):
                self.primary.sql("SELECT pg_cancel_backend(%s)", (pid,))
            waiting.eventually("a commit to wait again",
                               lambda: self.waiting("SyncRep"))
        self.assertFalse(first.all("granted"), first.lines)
        self.fail_over(self.primary.kill)
        self.assert_one_at_a_time(first)

    def test_a_backend_that_is_terminated_meanwhile_lets_nobody_in(self):
        first = self.holder_that_waits()
        ended = self.waiting("SyncRep")
        for pid in ended:
            self.primary.sql("SELECT pg_terminate_backend(%s)", (pid,))
        waiting.eventually("its next connection to wait", lambda: set(
            self.waiting("SyncRep")) - set(ended))
        self.assertFalse(first.all("granted"), first.lines)
        self.fail_over(self.primary.kill)
        self.assert_one_at_a_time(first)

    def test_a_fast_shutdown_meanwhile_lets_nobody_in(self):
        first = self.holder_that_waits()
        self.primary.process.signal(signal.SIGINT)
        waiting.eventually("the connection to end",
                           lambda: ["SUSPENDED"] in [
                               line[2] for line in first.all("state")])
        self.assertFalse(first.all("granted"), first.lines)
        # It would wait for the standby, which lacks something.
        self.fail_over(self.primary.kill)
        self.assert_one_at_a_time(first)


if __name__ == "__main__":
    unittest.main()
