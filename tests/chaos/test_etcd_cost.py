#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a lock on etcd in calls, revisions and bytes, as the server counts
them, and in names of keys.  Nothing here is timed.

    test_etcd_cost.py CLIENT_DRIVER
"""

import os
import re
import sys
import unittest
import urllib.request

import client_driver
from client_driver import ClientDriver

import waiting
from etcd import Server

CLIENT_DRIVER = os.path.abspath(sys.argv.pop(1))
PAIRS = 300 if client_driver.LONG else 30
WAITERS = 100 if client_driver.LONG else 20

# Of a ticket: what the answer to its enqueue has at most.
ANSWER_BYTES = 1024
# Keep-alives, after which an idle session has used up what was proven.
IDLE = 4

# Calls that end when they are answered.
CALL = r'^grpc_server_handled_total\{.*grpc_method="(\w+)".*\} (\d+)$'


class Cost(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        # Long, so that it is neither renewed nor proven meanwhile.
        cls.url = "etcd://%s?ttl=300s" % cls.server.address()

    def metrics(self):
        with urllib.request.urlopen("http://%s/metrics" % self.server.address(),
                                    timeout=waiting.LIMIT_S) as answer:
            return answer.read().decode()

    def metric(self, name):
        return float(re.search("^%s (.*)$" % name, self.metrics(), re.M)[1])

    def await_keep_alives(self, count):
        """Of the only session that has a lease of a few seconds."""
        name = "etcd_debugging_lease_renewed_total"
        enough = self.metric(name) + count
        waiting.eventually("%d keep-alives" % count,
                           lambda: self.metric(name) >= enough)

    def calls(self):
        """How often each method was called."""
        found = {}
        for method, count in re.findall(CALL, self.metrics(), re.M):
            found[method] = found.get(method, 0) + int(count)
        return {method: count for method, count in found.items() if count}

    def since(self, before):
        return {method: count - before.get(method, 0)
                for method, count in self.calls().items()
                if count != before.get(method, 0)}

    def revision(self):
        with self.server.client() as client:
            return client.revision()

    def test_an_uncontended_lock_is_two_calls(self):
        with ClientDriver(CLIENT_DRIVER) as some:
            session, = some.opened(self.url)
            some.await_event(some.acquire(session, "alone", how="pass"),
                             "released")
            before, revision = self.calls(), self.revision()
            for _ in range(PAIRS):
                some.await_event(some.acquire(session, "alone", how="pass"),
                                 "released")
            changed = self.revision() - revision
            spent = self.since(before)
            # The revision is read by a Range of this test.
            self.assertEqual(spent.pop("Range"), 2)
            self.assertEqual(spent, {"Txn": 2 * PAIRS})
            # And nothing is written but the key and its removal.
            self.assertEqual(changed, 2 * PAIRS)

    def test_an_idle_session_is_granted_a_lock_in_two_calls(self):
        """A proof and the enqueue, which go out together: one round trip."""
        with ClientDriver(CLIENT_DRIVER) as some:
            session, = some.opened("etcd://%s?ttl=2s" % self.server.address())
            some.await_event(some.acquire(session, "idle", how="pass"),
                             "released")
            self.await_keep_alives(IDLE)
            before = self.calls()
            some.granted(some.acquire(session, "idle"))
            self.assertEqual(self.since(before), {"Txn": 2})

    def test_a_proof_writes_nothing(self):
        with ClientDriver(CLIENT_DRIVER) as some:
            session, = some.opened("etcd://%s?ttl=2s" % self.server.address())
            some.granted(some.acquire(session, "proven"))
            before, revision = self.calls(), self.revision()
            self.await_keep_alives(IDLE)
            self.assertGreaterEqual(self.since(before).get("Txn", 0), 2)
            self.assertEqual(self.revision(), revision)

    def test_names_of_keys_are_used_again(self):
        """etcd walks all that were ever there until it is compacted."""
        with ClientDriver(CLIENT_DRIVER) as some, self.server.client() as client:
            session, = some.opened(self.url)
            names = set()
            for _ in range(5):
                held = some.acquire(session, "names")
                some.granted(held)
                names.update(item.key for item in client.list("names/"))
                some.release(held)
            self.assertEqual(len(names), 1, names)

    def test_an_answer_is_as_long_however_many_wait(self):
        name = "etcd_network_client_grpc_sent_bytes_total"
        with ClientDriver(CLIENT_DRIVER) as some:
            sessions = some.opened(*[self.url] * (WAITERS + 1))
            some.granted(some.acquire(sessions[0], "answers"))
            spent = []
            for session in sessions[1:]:
                before = self.metric(name)
                some.queued(some.acquire(session, "answers"))
                spent.append(self.metric(name) - before)
            print("bytes that a server sends to each that enqueues: %s" % spent,
                  flush=True)
            # What the watches of the tickets ahead are answered counts, too.
            self.assertLessEqual(max(spent), 2 * ANSWER_BYTES)

    def test_a_release_costs_the_same_however_many_wait(self):
        for waiters in (5, WAITERS, 3 * WAITERS):
            with self.subTest(waiters), ClientDriver(CLIENT_DRIVER) as some:
                name = "queue%d" % waiters
                sessions = some.opened(*[self.url] * (waiters + 1))
                waits = []
                for session in sessions:
                    waits.append(some.acquire(session, name))
                    (some.queued if len(waits) > 1 else some.granted)(waits[-1])
                before = self.calls()
                for wait, after in zip(waits, waits[1:]):
                    some.release(wait)
                    some.granted(after)
                spent = self.since(before)
                print("%d wait: %s for %d handoffs" % (waiters, spent, waiters),
                      flush=True)
                # The removal; a reading of the queue by the one that is then
                # second, while the first holds; and a proof, if the lease of
                # the next was not proven lately.
                self.assertLessEqual(spent["Txn"], 3 * waiters)
                # The key of each new watch, and of those that had just begun.
                self.assertLessEqual(spent.get("Range", 0), 3 * waiters)


if __name__ == "__main__":
    unittest.main(verbosity=2)
