#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a lock on etcd in calls, as the server counts them, and in names of
keys.  Nothing here is timed.

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

    def calls(self):
        """How often each method was called."""
        with urllib.request.urlopen("http://%s/metrics" % self.server.address(),
                                    timeout=waiting.LIMIT_S) as answer:
            text = answer.read().decode()
        found = {}
        for method, count in re.findall(CALL, text, re.M):
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
                self.assertLessEqual(sum(spent.values()), 3 * waiters)


if __name__ == "__main__":
    unittest.main(verbosity=2)
