#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""As test_redis_notices.py, on PostgreSQL.  The next call of any client
removes a ticket whose session has ended, and notifies those that wait for the
ticket.  So a waiter does not have to ask, and a mutation that notifies nobody
is found because the waiter asks.

    test_pg_notices.py CLIENT_DRIVER
"""

import os
import sys
import unittest

from client_driver import ClientDriver

import waiting
import postgres

CLIENT_DRIVER = os.path.abspath(sys.argv.pop(1))
# No lease ends during the test; a waiter asks every five seconds.
OPTIONS = "?ttl=60s"

# Of remove_ended(): its text, and the mutation.
MUTATIONS = {
    "PG_REMOVE_ENDED_NOTIFIES_NO_WAITER": (
        "PERFORM holdfast_4.remove_tickets(q, queue_name, gone",
        "PERFORM holdfast_4.remove_silently(q, queue_name, gone"),
}
SILENTLY = """
CREATE FUNCTION holdfast_4.remove_silently(q bigint, queue_name bytea,
                                         ids uuid[], whose uuid)
RETURNS void LANGUAGE sql AS $$
    DELETE FROM holdfast.ticket WHERE queue = q AND id = ANY (ids)
$$"""


class Notices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server({
            "shared_preload_libraries": "pg_stat_statements",
            "pg_stat_statements.track": "top"})
        cls.addClassCleanup(cls.server.close)
        cls.server.sql("CREATE EXTENSION pg_stat_statements")

    def setUp(self):
        self.driver = ClientDriver(CLIENT_DRIVER)
        self.addCleanup(self.driver.kill)
        # A client that connects later would refuse the changed schema.
        url = self.server.url() + OPTIONS
        self.holder, self.waiter, self.third = self.driver.opened(url, url, url)

    def probes(self):
        (count,), = self.server.sql(
            "SELECT coalesce(sum(calls), 0)::integer FROM pg_stat_statements "
            "WHERE query LIKE '%holdfast_4.find_tickets(%' AND "
            "query NOT LIKE '%pg_stat_statements%'")
        return count

    def end_session_of(self, token):
        """Of that ticket, as if it had not been renewed."""
        self.server.sql(
            "UPDATE holdfast.session SET expires_at = clock_timestamp() "
            "FROM holdfast.ticket t WHERE t.session = session.id "
            "AND t.sequence = %s", (token,))

    def questions(self):
        """How often the waiter asks whether the ticket is there, from when it
        has run out until the lock is granted."""
        name = self.id()
        held = self.driver.acquire(self.holder, name)
        token = int(self.driver.granted(held).words[1])
        before = self.probes()
        wait = self.driver.acquire(self.waiter, name)
        self.driver.queued(wait)
        waiting.eventually("its first question",
                           lambda: self.probes() > before)
        before = self.probes()
        self.end_session_of(token)
        # A third client queues behind it, and asks once itself.
        late = self.driver.acquire(self.third, name)
        self.driver.granted(wait)
        self.driver.queued(late)
        waiting.eventually("the question of that one",
                           lambda: self.probes() > before)
        return self.probes() - before - 1

    def test_a_purge_notifies_waiters(self):
        self.assertEqual(self.questions(), 0)

    def test_a_removal_that_notifies_nobody_is_found(self):
        (source,), = self.server.sql("SELECT pg_get_functiondef("
                                     "'holdfast_4.remove_ended'::regproc)")
        self.addCleanup(self.server.sql, source)
        self.server.sql(SILENTLY)
        for name, (old, new) in MUTATIONS.items():
            with self.subTest(name):
                self.assertEqual(source.count(old), 1)
                self.server.sql(source.replace(old, new))
                self.assertGreater(self.questions(), 0)


if __name__ == "__main__":
    unittest.main()
