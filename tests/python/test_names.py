#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The names that there are, on files."""
import asyncio
import unittest

import holdfast

from cases import Case, waiting


class Names(Case):
    def setUp(self):
        super().setUp()
        self.client = holdfast.Client(self.url)
        self.addCleanup(self.client.close)

    def test_names_below_a_prefix(self):
        with self.client.lock("a"), self.client.lock("a/b", kind="read"), \
                self.client.lock("ab"), \
                self.client.lock("a/s", permits=(2, 3)):
            self.assertEqual({one.name: one.kind
                              for one in self.client.names("a")},
                             {"a": "mutex", "a/b": "read", "a/s": "semaphore"})
            walk = self.client.names()
            self.assertEqual(walk.looked_at, 0)
            self.assertEqual(sorted(one.name for one in walk),
                             ["a", "a/b", "a/s", "ab"])
            self.assertGreaterEqual(walk.looked_at, 4)
            self.assertEqual(walk.unreadable, 0)
            self.assertEqual(list(walk), [])
        self.assertEqual(list(self.client.names()), [])

    def test_holder_and_waiter(self):
        with self.client.lock("x", text="the holder"):
            with self.assertRaises(holdfast.Timeout):
                self.client.lock("x", timeout=0.05).acquire()
            found, = self.client.names("x")
            self.assertEqual((found.holders, found.waiters, found.waiter),
                             (1, 0, None))
            self.assertEqual(found.holder.said("text"), "the holder")
            self.assertTrue(found.holder.holds)
        self.run_with_client(self.wait_and_look)

    async def wait_and_look(self, client):
        async with client.lock("x"):
            tasks = [asyncio.create_task(client.lock("x").acquire())
                     for _ in range(2)]
            await self.queued(client, "x", 3)
            found, = [one async for one in client.names("x")]
            self.assertEqual((found.holders, found.waiters), (1, 2))
            tickets = await client.lock("x").tickets()
            self.assertEqual([found.holder.id, found.waiter.id],
                             [one.id for one in tickets[:2]])
            self.assertFalse(found.waiter.holds)
        for task in tasks:
            await (await task).release()

    def test_many_names_come_in_pages(self):
        async def main(client):
            names = {"n/%d" % number for number in range(300)}
            grants = await asyncio.gather(
                *(client.lock(name).acquire() for name in names))
            self.assertEqual([one.name async for one in client.names("n")
                              if one.name not in names], [])
            found = [one.name async for one in client.names()]
            self.assertEqual((len(found), set(found)), (300, names))
            await asyncio.gather(*(grant.release() for grant in grants))

        self.run_with_client(main)

    def test_walk_that_is_cancelled_misses_nothing(self):
        async def main(client):
            grants = [await client.lock("n/%d" % number).acquire()
                      for number in range(40)]
            walk, found = client.names(), []

            async def step():
                return await walk.__anext__()

            for pauses in range(1000):
                task = asyncio.create_task(step())
                for _ in range(pauses % 4):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    found.append((await task).name)
                except asyncio.CancelledError:
                    pass
                except StopAsyncIteration:
                    break
                except holdfast.Usage as failure:  # that page is under way
                    self.assertEqual(failure.status, holdfast.Status.ESTATE)
                    await asyncio.sleep(0.001)
            found += [one.name async for one in walk]
            self.assertEqual(sorted(found),
                             sorted("n/%d" % number for number in range(40)))
            for grant in grants:
                await grant.release()

        self.run_with_client(main)

    def test_failures(self):
        self.assertRaises(holdfast.BadName, self.client.names, "a//b")
        self.assertRaises(ValueError, self.client.names, timeout=-1)
        self.assertRaises(ValueError, self.client.names, "a\0")
        client = holdfast.Client(self.url)
        walk = client.names(all=True, timeout=waiting.LIMIT_S)
        client.close()
        self.assertRaises(holdfast.Closed, next, walk)
        self.assertRaises(holdfast.Closed, client.names)


if __name__ == "__main__":
    unittest.main()
