#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of leased_losses.py on PostgreSQL, and some for PostgreSQL alone:
backends that are terminated, replicas that are promoted, and clocks that are
set.

    test_pg_losses.py HOLDER SET_CLOCK
"""

import os
import shutil
import sys
import unittest

from leased_losses import LONG_MS, TTL_MS, LossFixture, LossTests

import machine
import waiting
import postgres
from proxy import DOWN, UP, Proxy

HOLDER, SET_CLOCK = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]


class Case(LossFixture, unittest.TestCase):
    holder_program = HOLDER

    def url(self, port):
        return self.server.tcp_url().replace(
            ":%d/" % self.server.port, ":%d/" % port)

    def tickets(self, name):
        return self.server.sql(
            "SELECT count(*) FROM holdfast.ticket t JOIN holdfast.queue q "
            "ON q.number = t.queue WHERE q.name = %s", (name.encode(),))[0][0]


class Losses(LossTests, Case):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        cls.addClassCleanup(cls.server.close)

    def terminate(self):
        self.server.sql("SELECT pg_terminate_backend(pid) FROM "
                        "pg_stat_activity WHERE application_name = "
                        "'holdfast'")

    def test_a_terminated_backend_costs_a_holder_nothing(self):
        first, second = self.pair(ttl_ms=LONG_MS)
        counts = self.connected(first), self.connected(second)
        self.terminate()
        self.resumed(first, counts[0])
        self.resumed(second, counts[1])
        self.assert_kept(first, second)

    def test_fn24_a_holder_that_cannot_reconnect_is_notified_first(self):
        proxy = self.proxy()
        first, second = self.pair(port=proxy.port)
        proxy.hold(UP, DOWN)
        self.terminate()
        self.assert_lost_first(first, second)

    def test_fn54_renewals_that_fail_are_a_loss_in_time(self):
        first, second = self.pair()
        blocker = self.server.connect()
        self.addCleanup(blocker.close)
        blocker.autocommit = False
        blocker.cursor().execute("LOCK TABLE holdfast.session")
        first.notified_at()
        self.assertIn("55P03", self.server.log_states())  # lock_timeout
        blocker.rollback()
        self.assert_lost_first(first, second)

    def test_a_server_that_is_killed_and_comes_back_costs_nothing(self):
        first, second = self.pair(ttl_ms=LONG_MS)
        count = self.connected(first)
        self.server.restart()
        self.resumed(first, count)
        self.assert_kept(first, second)


def clock_of_its_own(where):
    """The file that sets a server's clock, and the server's environment."""
    os.chmod(where, 0o755)  # PostgreSQL's user reads both
    clock = os.path.join(where, "clock")
    with open(clock, "w"):
        pass
    return clock, {"LD_PRELOAD": shutil.copy(SET_CLOCK, where),
                   "SET_CLOCK_FILE": clock}


class Clocks(Case):
    """The server's wall clock is set.  docs/engine-postgres.md says what
    follows."""

    @classmethod
    def setUpClass(cls):
        where = machine.directory("clocks", on_disk=True)
        cls.addClassCleanup(shutil.rmtree, where)
        cls.clock, environment = clock_of_its_own(where)
        cls.server = postgres.Server(environment=environment)
        cls.addClassCleanup(cls.server.close)

    def set(self, seconds):
        """Only ever by an hour and more."""
        before = self.seconds()
        with open(self.clock, "w") as file:
            file.write(str(seconds))
        waiting.eventually("the clock to be set", lambda: abs(
            self.seconds() - before) > 1000)

    def seconds(self):
        return self.server.sql(
            "SELECT extract(epoch FROM clock_timestamp())::bigint")[0][0]

    def test_set_ahead_it_ends_leases_and_the_token_shows_it(self):
        first, second = self.pair(ttl_ms=3 * LONG_MS)
        self.set(3600)
        self.addCleanup(self.set, 0)
        self.assert_refused(first, second)
        first.notified_at()

    def test_set_back_it_keeps_what_is_renewed_and_tokens_rise(self):
        first, second = self.pair(ttl_ms=2 * TTL_MS)
        self.set(-3600)
        self.addCleanup(self.set, 0)
        self.renewed(first)
        self.assert_kept(first, second)


class Failover(Case):
    """The primary is killed, all of it, and its replica promoted, whose clock
    .clock sets.  The URL names both."""

    def setUp(self):
        super().setUp()
        self.primary = postgres.Server()
        self.addCleanup(self.primary.close)
        self.replication = Proxy(self.primary.port)
        self.addCleanup(self.replication.close)
        self.clock, environment = clock_of_its_own(self.directory)
        self.replica = postgres.Server(follows=self.replication.port,
                                       environment=environment)
        self.addCleanup(self.replica.close)
        self.server = self.primary

    def url(self, _):
        """Both have the password of the primary."""
        return self.primary.tcp_url().replace(
            ":%d/" % self.primary.port, ":%d,127.0.0.1:%d/" % (
                self.primary.port, self.replica.port))

    def make_schema(self):
        """One that the replica has too."""
        self.holder(name=self.name("/other")).granted()
        waiting.eventually("replication", lambda: self.primary.sql(
            "SELECT bool_and(replay_lsn = pg_current_wal_lsn()) "
            "FROM pg_stat_replication")[0][0])

    def wait_for_replica(self):
        """Each commit, from now on."""
        self.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.sql("SELECT pg_reload_conf()")
        waiting.eventually("a synchronous replica", lambda: self.primary.
                           sql("SELECT count(*) FROM pg_stat_replication "
                               "WHERE sync_state = 'sync'") == [(1,)])

    def fail_over(self):
        self.primary.kill()
        self.replica.sql("SELECT pg_promote()")
        self.server = self.replica

    def test_a_replica_that_lacks_commits_loses_and_the_token_shows_it(self):
        self.make_schema()
        self.replication.drop()
        first = self.holder(ttl_ms=3 * LONG_MS)
        first.granted()
        self.fail_over()
        second = self.holder()
        # Two at once: this is what synchronous replication is for, and what
        # tokens are for.
        self.assertLess(second.granted()[0], first.safe_until())
        self.assert_refused(first, second)
        first.notified_at()

    def test_a_synchronous_replica_loses_nothing(self):
        self.wait_for_replica()
        first, second = self.pair(ttl_ms=3 * LONG_MS)
        count = self.connected(first)
        self.fail_over()
        self.resumed(first, count)
        self.assert_kept(first, second)

    def test_a_replica_whose_clock_is_ahead_ends_leases(self):
        with open(self.clock, "w") as file:
            file.write("3600")
        self.wait_for_replica()
        first, second = self.pair(ttl_ms=3 * LONG_MS)
        self.fail_over()
        self.assert_refused(first, second)
        self.assertLess(second.granted()[0], first.safe_until())

    def test_without_its_synchronous_replica_nothing_is_granted(self):
        self.make_schema()
        self.wait_for_replica()
        self.replica.freeze()
        first = self.holder()
        waiting.eventually("its commit to wait", lambda: self.primary.sql(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE wait_event = 'SyncRep'")[0][0] > 0)
        self.assertFalse(first.all("granted"))
        self.replica.thaw()
        first.granted()


if __name__ == "__main__":
    unittest.main()
