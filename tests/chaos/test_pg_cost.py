#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a lock on PostgreSQL in calls, as the server counts them.

    test_pg_cost.py CLIENT_DRIVER
"""

import os
import re
import sys
import unittest

import client_driver
from client_driver import ClientDriver

import waiting
import postgres

CLIENT_DRIVER = os.path.abspath(sys.argv.pop(1))
# Long leases: their renewals are not what is counted here.
OPTIONS = "?ttl=60s"
RELEASES = 300 if client_driver.LONG else 30

# The calls that depend on time.
TIMED = ("renew", "find_tickets")


class Cost(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server({
            "shared_preload_libraries": "pg_stat_statements",
            "pg_stat_statements.track": "top"})
        cls.addClassCleanup(cls.server.close)
        cls.server.sql("CREATE EXTENSION pg_stat_statements")
        cls.url = cls.server.url() + OPTIONS

    def setUp(self):
        self.driver = ClientDriver(CLIENT_DRIVER)
        self.addCleanup(self.driver.kill)

    def calls(self):
        """How often each function was called, by all clients together."""
        found = {}
        for query, calls in self.server.sql(
                "SELECT query, calls FROM pg_stat_statements"):
            match = re.search(r"PREPARE hf_(\w+)", query)
            if match and match.group(1) not in TIMED:
                found[match.group(1)] = found.get(match.group(1), 0) + calls
        return found

    def backends(self):
        return self.server.sql(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE application_name = 'holdfast'")[0][0]

    def test_closing_a_client_removes_all_that_it_held(self):
        session, = self.driver.opened(self.url)
        for held in [self.driver.acquire(session, "close/%d" % number)
                     for number in range(9999)]:
            self.driver.granted(held)
        self.driver.say("close", session)
        self.driver.until_state(session, "CLOSED")
        self.assertEqual(self.left("close/"), 0)

    def left(self, prefix):
        """How many tickets are in queues of such names.  Those of sessions of
        an earlier test may not have ended."""
        return self.server.sql(
            "SELECT count(*) FROM holdfast.ticket t "
            "JOIN holdfast.queue q ON q.number = t.queue "
            "WHERE convert_from(q.name, 'UTF8') LIKE '%s%%'" % prefix)[0][0]

    def test_a_close_lasts_as_long_as_the_server_makes_progress(self):
        """Each removal takes five milliseconds here, as on a machine that has
        much else to do."""
        session, = self.driver.opened(self.url)
        for held in [self.driver.acquire(session, "slow/%d" % number)
                     for number in range(2000)]:
            self.driver.granted(held)
        self.server.sql(
            "CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql "
            "AS 'BEGIN PERFORM pg_sleep(0.005); RETURN OLD; END'")
        self.server.sql(
            "CREATE TRIGGER slow BEFORE DELETE ON holdfast.ticket "
            "FOR EACH ROW EXECUTE FUNCTION public.slow()")
        try:
            self.driver.say("close", session)
            self.driver.until_state(session, "CLOSED")
            self.assertEqual(self.left("slow/"), 0)
        finally:
            self.server.sql("DROP FUNCTION public.slow CASCADE")

    def waits(self, name, sessions, waits_each):
        """The waits for one lock, in the order of the queue."""
        opened = self.driver.opened(*[self.url] * sessions)
        found = []
        for i in range(sessions * waits_each):
            found.append(self.driver.acquire(opened[i % sessions], name))
            if i > 0:
                self.driver.queued(found[-1])
            else:
                self.driver.granted(found[-1])
        return found

    def test_an_uncontended_lock_is_two_calls(self):
        session, = self.driver.opened(self.url)
        before = self.calls()
        for _ in range(RELEASES):
            wait = self.driver.acquire(session, "alone", how="pass")
            self.driver.await_event(wait, "released")
        self.assertEqual(self.since(before), {"enqueue": RELEASES,
                                              "remove": RELEASES})

    def since(self, before):
        return {name: calls - before.get(name, 0)
                for name, calls in self.calls().items()
                if calls != before.get(name, 0)}

    def test_a_release_costs_the_same_however_many_wait(self):
        for sessions, waits_each in ((10, 1), (50, 1), (50, 4), (2, 50)):
            with self.subTest(sessions=sessions, waits_each=waits_each):
                name = "cost/%d/%d" % (sessions, waits_each)
                waits = self.waits(name, sessions, waits_each)
                before = self.calls()
                passed = min(RELEASES, len(waits) - 2)
                for number in range(passed):
                    self.driver.release(waits[number])
                    self.driver.granted(waits[number + 1])
                # The release; its notice lets the next one in, which does not
                # look, and no other waiter calls.
                self.assertEqual(self.since(before), {"remove": passed})
                for wait in waits[passed:]:
                    self.driver.say("cancel", wait)
                self.driver.release(waits[passed])

    def test_thousands_wait_on_one_connection(self):
        waiting.eventually("the others to go", lambda: self.backends() == 0)
        session, = self.driver.opened(self.url)
        waits = [self.driver.acquire(session, "many/%d" % (number % 20))
                 for number in range(2000)]
        for wait in waits:
            self.driver.await_event(wait, "granted", "waits")
        self.assertEqual(self.backends(), 1)
        self.assertEqual(self.server.sql(
            "SELECT count(*) FROM holdfast.ticket t JOIN holdfast.queue q "
            "ON q.number = t.queue "
            "WHERE convert_from(q.name, 'UTF8') LIKE 'many/%'"), [(2000,)])

    def test_every_call_of_a_burst_is_answered(self):
        session, = self.driver.opened(self.url)
        waits = [self.driver.acquire(session, "burst/%d" % number, how="pass")
                 for number in range(1500)]
        for wait in waits:
            self.assertEqual(self.driver.await_event(wait, "released").words[1],
                             "HF_OK")

    def test_many_waiters_do_not_cost_the_session(self):
        """The renewal of the session does not wait behind all the calls that
        queue."""
        session, = self.driver.opened(self.server.url() + "?ttl=4s")
        holder = self.driver.acquire(session, "crowded")
        self.driver.granted(holder)
        waits = self.driver.acquire_at_once(session, "crowded", 2000)
        for wait in waits:
            self.driver.queued(wait)
        self.assertNotIn("LOST", self.driver.states(session))
        self.assertIsNone(self.driver.find(holder, "lost"))
        self.driver.release(holder)
        self.driver.granted(waits[0])


if __name__ == "__main__":
    unittest.main()
