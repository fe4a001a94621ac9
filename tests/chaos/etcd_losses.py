# SPDX-License-Identifier: Apache-2.0
"""What the tests of losses on etcd share: holders at some members of a cluster,
and others that wait for them at other members."""

import os
import subprocess
import sys
import unittest

from leased_losses import LONG_MS, LossFixture

import waiting

HOLDER = os.path.abspath(sys.argv.pop(1))
HOLDFAST = os.path.abspath(sys.argv.pop(1))

TTL_MS = 5000


class Case(LossFixture, unittest.TestCase):
    holder_program = HOLDER

    def tickets(self, name):
        with self.server.client() as client:
            return len(client.list(name + "/"))

    def url_of(self, servers, ttl_ms):
        return "etcd://%s?ttl=%dms" % (
            ",".join(server.address() for server in servers), ttl_ms)

    def pair_at(self, servers, others, name, ttl_ms=TTL_MS, **options):
        """A holder at the one servers, and one that waits at the others."""
        first = self.holder_at(self.url_of(servers, ttl_ms), name, **options)
        first.granted()
        second = self.holder_at(self.url_of(others, LONG_MS), name, **options)
        waiting.eventually("it to queue", lambda: self.tickets(name) == 2,
                           of=[second])
        return first, second

    def pairs_at(self, count, servers, others, name, **options):
        return [self.pair_at(servers, others, self.name("/%s%d" % (
            name, number)), **options) for number in range(count)]

    def pass_until(self, at_ms, pairs):
        waiting.eventually("time to pass", lambda: waiting.now_ms() > at_ms,
                           of=[second for _, second in pairs])

    def assert_all_lost_first(self, pairs):
        for first, second in pairs:
            self.assert_lost_first(first, second)
            self.assert_refused(first, second)

    @staticmethod
    def margins(pairs):
        """By how much each was admitted after the safe-until of the one
        before."""
        return [second.granted()[0] - first.safe_until()
                for first, second in pairs]

    def close_all(self, pairs):
        for pair in pairs:
            for holder in pair:
                holder.close()

    def run_tool(self, *words):
        return subprocess.run([HOLDFAST, *words], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL,
                              timeout=waiting.LIMIT_S, check=False)
