#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a lock costs on PostgreSQL: calls, as the server counts them.

    test_pg_cost.py CROWD
"""

import os
import re
import sys
import unittest

import crowd
from crowd import Crowd

import waiting
import postgres

CROWD = os.path.abspath(sys.argv.pop(1))
# Long leases: their renewals are not what is counted here.
OPTIONS = "?ttl=60s"
RELEASES = 300 if crowd.LONG else 30

# What goes by the clock.
TIMED = ("renew", "probe")


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
        self.crowd = Crowd(CROWD)
        self.addCleanup(self.crowd.kill)

    def calls(self):
        """How often each function was called, by whoever."""
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

    def waits(self, name, sessions, waits_each):
        """Who waits for one lock, in order."""
        opened = self.crowd.opened(*[self.url] * sessions)
        found = []
        for i in range(sessions * waits_each):
            found.append(self.crowd.acquire(opened[i % sessions], name))
            if i > 0:
                self.crowd.queued(found[-1])
            else:
                self.crowd.granted(found[-1])
        return found

    def test_an_uncontended_lock_is_two_calls(self):
        session, = self.crowd.opened(self.url)
        before = self.calls()
        for _ in range(RELEASES):
            wait = self.crowd.acquire(session, "alone", how="pass")
            self.crowd.told(wait, "released")
        self.assertEqual(self.since(before), {"enqueue": RELEASES,
                                              "withdraw": RELEASES})

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
                    self.crowd.release(waits[number])
                    self.crowd.granted(waits[number + 1])
                # The one who goes, and the one who comes: no others.
                self.assertEqual(self.since(before), {"withdraw": passed,
                                                      "ahead": passed})
                for wait in waits[passed:]:
                    self.crowd.say("cancel", wait)
                self.crowd.release(waits[passed])

    def test_thousands_wait_on_one_connection(self):
        waiting.eventually("the others to go", lambda: self.backends() == 0)
        session, = self.crowd.opened(self.url)
        waits = [self.crowd.acquire(session, "many/%d" % (number % 20))
                 for number in range(2000)]
        for wait in waits:
            self.crowd.told(wait, "granted", "waits")
        self.assertEqual(self.backends(), 1)
        self.assertEqual(self.server.sql(
            "SELECT count(*) FROM holdfast.ticket t JOIN holdfast.queue q "
            "ON q.number = t.queue "
            "WHERE convert_from(q.name, 'UTF8') LIKE 'many/%'"), [(2000,)])

    def test_a_burst_of_calls_is_answered_whole(self):
        session, = self.crowd.opened(self.url)
        waits = [self.crowd.acquire(session, "burst/%d" % number, how="pass")
                 for number in range(1500)]
        for wait in waits:
            self.assertEqual(self.crowd.told(wait, "released").words[1],
                             "HF_OK")

    def test_a_crowd_does_not_cost_the_session(self):
        """What renews it does not stand behind all who want a place."""
        session, = self.crowd.opened(self.server.url() + "?ttl=2s")
        holder = self.crowd.acquire(session, "crowded")
        self.crowd.granted(holder)
        waits = self.crowd.acquire_at_once(session, "crowded", 1000)
        for wait in waits:
            self.crowd.queued(wait)
        self.assertNotIn("LOST", self.crowd.states(session))
        self.assertIsNone(self.crowd.find(holder, "lost"))
        self.crowd.release(holder)
        self.crowd.granted(waits[0])


if __name__ == "__main__":
    unittest.main()
