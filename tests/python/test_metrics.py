#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a client counts, on files."""
import os
import subprocess
import unittest

import holdfast

from cases import TOOL, Case, waiting


class Metrics(Case):
    def client(self):
        client = holdfast.Client(self.url, metrics=True)
        self.addCleanup(client.close)
        return client

    def test_numbers(self):
        client = self.client()
        before = client.stats()
        self.assertEqual((before.all.acquired, before.names, before.by_status),
                         (0, {}, {}))
        with client.lock("x"):
            with self.assertRaises(holdfast.Busy):
                client.lock("x").acquire(timeout=0)
        mutex = client.mutex("y")
        with mutex, mutex:
            pass
        stats = client.stats()
        self.assertEqual(before.all.acquired, 0)  # it is of its instant
        self.assertEqual(stats.by_status, {holdfast.Status.OK: 2,
                                           holdfast.Status.EBUSY: 1})
        self.assertEqual((stats.all.acquired, stats.all.failed,
                          stats.all.waited, stats.all.lost), (2, 1, 1, 0))
        x = stats.names["x"]
        self.assertEqual((x.name, x.acquired, x.failed), ("x", 1, 1))
        self.assertEqual(set(stats.names), {"x", "y"})
        self.assertEqual(stats.others.acquired, 0)
        self.assertEqual((stats.reconnects, stats.sessions_lost), (0, 0))

    def test_histograms(self):
        client = self.client()
        with client.lock("x"):
            waiting.eventually("some time", lambda: True)
        hold = client.stats().all.hold
        self.assertEqual((hold.count, sum(hold.buckets)), (1, 1))
        self.assertEqual(len(hold.buckets), len(holdfast.BUCKET_BOUNDS))
        bucket = hold.buckets.index(1)
        self.assertLessEqual(hold.sum, holdfast.BUCKET_BOUNDS[bucket])
        self.assertGreater(hold.sum, (0, *holdfast.BUCKET_BOUNDS)[bucket])
        self.assertEqual(holdfast.BUCKET_BOUNDS[:2], (1e-5, 3e-5))

    def test_text(self):
        client = self.client()
        with client.lock("x/\N{SNOWMAN}"):
            text = client.metrics_text()
        self.assertTrue(text.endswith("# EOF\n"))
        self.assertIn('\nholdfast_client_acquires_total{status="HF_OK"} 1\n',
                      text)
        self.assertIn('name="x/\N{SNOWMAN}"', text)

    def test_asyncio(self):
        async def main(client):
            async with client.lock("x"):
                pass
            self.assertEqual(client.stats().names["x"].acquired, 1)
            self.assertIn('name="x"', client.metrics_text())

        self.run_with_client(main, metrics=True)

    def test_events(self):
        events = []
        with holdfast.Client(self.url, on_event=events.append) as client:
            with client.lock("x") as grant:
                with self.assertRaises(holdfast.Busy):
                    client.lock("x").acquire(timeout=0)
            with client.locks(["a", "b"]):
                client.lock("a").revoke()
                # An event for each lock of the grant.
                waiting.eventually("two requests", lambda: 2 == sum(
                    one.kind == "revoked" for one in events))
        said = [(one.kind, one.name) for one in events]
        self.assertEqual(said[:3], [("acquired", "x"), ("failed", "x"),
                                    ("released", "x")])
        self.assertEqual(said[3:], [
            (kind, name) for kind in ("acquired", "revoked", "released")
            for name in "ab"])
        failed = events[1]
        self.assertEqual((failed.status, failed.token, failed.waited),
                         (holdfast.Status.EBUSY, 0, True))
        self.assertEqual((events[0].token, events[0].status, events[0].count),
                         (grant.token, holdfast.Status.OK, 1))
        self.assertEqual((events[4].index, events[4].count), (1, 2))
        self.assertGreater(events[2].duration, 0)
        self.assertLess(events[2].duration, waiting.LIMIT_S)

    def test_events_on_a_loop(self):
        events = []

        async def on_event(event):
            events.append(event.kind)

        async def main(client):
            async with client.lock("x"):
                pass
            await self.until(lambda: len(events) == 2)
            self.assertEqual(events, ["acquired", "released"])

        self.run_with_client(main, on_event=on_event)

    def test_in_the_directory_of_metrics(self):
        directory = os.path.join(self.directory, "metrics")
        os.mkdir(directory, 0o700)
        process = self.script("""
import sys
import holdfast
with holdfast.Client(sys.argv[1], metrics=True) as client:
    with client.lock("x"):
        pass
    print("done", flush=True)
    sys.stdin.readline()
""", env={**os.environ, "HOLDFAST_METRICS_DIR": directory})
        self.assertEqual(process.stdout.readline(), "done\n")
        said = subprocess.run([TOOL, "metrics", "--dir", directory], text=True,
                              stdout=subprocess.PIPE, check=True).stdout
        self.assertIn('holdfast_client_lock_acquires_total{name="x"} 1', said)
        process.communicate("\n", timeout=waiting.LIMIT_S)

    def test_client_that_does_not_count(self):
        with holdfast.Client(self.url) as client:
            for call in (client.stats, client.metrics_text):
                with self.assertRaises(holdfast.Usage) as raised:
                    call()
                self.assertEqual(raised.exception.status,
                                 holdfast.Status.ESTATE)
        self.assertRaises(holdfast.Closed, client.stats)


if __name__ == "__main__":
    unittest.main()
