#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Barriers and double barriers, on files."""
import asyncio
import gc
import threading
import time
import unittest

import holdfast

from cases import Case, waiting


class Barriers(Case):
    def setUp(self):
        super().setUp()
        self.client = holdfast.Client(self.url)
        self.addCleanup(self.client.close)

    def test_barrier(self):
        barrier, other = self.client.barrier("x"), self.client.barrier("x")
        barrier.wait(timeout=0)
        barrier.set()
        barrier.set()
        with self.assertRaises(holdfast.Busy):
            other.wait(timeout=0)
        with self.assertRaises(holdfast.Timeout):
            other.wait(timeout=0.05)
        passed = []

        def wait():
            other.wait(waiting.LIMIT_S)
            passed.append(True)

        threads = [threading.Thread(target=wait) for _ in range(3)]
        for thread in threads:
            thread.start()
        self.assertEqual(passed, [])
        barrier.clear()
        for thread in threads:
            thread.join(waiting.LIMIT_S)
        self.assertEqual(passed, 3 * [True])
        barrier.clear()
        self.assertEqual((barrier.name, repr(barrier)),
                         ("x", "<holdfast.Barrier x>"))

    def test_barrier_outlives_its_client(self):
        with holdfast.Client(self.url) as client:
            barrier = client.barrier("x")
            barrier.set()
        self.assertRaises(holdfast.Closed, barrier.wait)
        self.assertRaises(holdfast.Closed, client.barrier, "x")
        self.assertRaises(holdfast.BadName, self.client.barrier, "a//b")
        with self.assertRaises(holdfast.Busy):
            self.client.barrier("x").wait(timeout=0)
        self.client.barrier("x").clear()

    def test_double_barrier(self):
        events = []

        def take_part(number):
            with self.client.double_barrier("x", 3, waiting.LIMIT_S) as mine:
                events.append("in")
                if number == 0:
                    waiting.eventually("all", lambda: len(events) == 3)
                    time.sleep(0.05)
                    self.assertTrue(all(one.holds
                                        for one in mine.participants()))
                    events.append("last")
            events.append("out")

        threads = [threading.Thread(target=take_part, args=(number,))
                   for number in range(3)]
        for thread in threads[:2]:
            thread.start()
        there = self.client.double_barrier("x", 3)
        waiting.eventually("two participants",
                           lambda: len(there.participants()) == 2)
        self.assertFalse(any(one.holds for one in there.participants()))
        self.assertEqual(events, [])
        threads[2].start()
        for thread in threads:
            thread.join(waiting.LIMIT_S)
        self.assertEqual(events, 3 * ["in"] + ["last"] + 3 * ["out"])
        self.assertEqual(there.participants(), [])

    def test_too_few(self):
        barrier = self.client.double_barrier("x", 2, timeout=0.05)
        self.assertRaises(holdfast.Timeout, barrier.enter)
        self.assertRaises(holdfast.Busy, barrier.enter, 0)
        self.assertEqual(barrier.participants(), [])
        with self.assertRaises(holdfast.Usage):  # it is not inside
            barrier.leave()
        for number in (0, 129):
            with self.assertRaises(holdfast.Usage):
                self.client.double_barrier("x", number)

    def inside(self):
        """Two participants that have entered."""
        one, other = (self.client.double_barrier("x", 2, waiting.LIMIT_S)
                      for _ in range(2))
        thread = threading.Thread(target=other.enter)
        thread.start()
        one.enter()
        thread.join(waiting.LIMIT_S)
        return one, other

    def test_who_fails_does_not_wait_for_the_others(self):
        other, mine = self.inside()
        with self.assertRaises(holdfast.Timeout):
            mine.leave(timeout=0.05)
        other.leave()
        thread = threading.Thread(target=other.enter)
        thread.start()
        with self.assertRaises(KeyError):
            with mine:
                thread.join(waiting.LIMIT_S)
                raise KeyError
        self.assertEqual(len(other.participants()), 1)
        other.leave()

    def test_participant_that_is_dropped_leaves(self):
        other, _mine = self.inside()
        del _mine
        gc.collect()
        other.leave()
        self.assertEqual(other.participants(), [])


class AsyncBarriers(Case):
    def test_barrier(self):
        async def main(client):
            barrier = client.barrier("x")
            await barrier.wait()
            await barrier.set()
            with self.assertRaises(holdfast.Busy):
                await barrier.wait(timeout=0)
            task = asyncio.create_task(client.barrier("x").wait())
            cancelled = asyncio.create_task(barrier.wait())
            await asyncio.sleep(0.05)
            cancelled.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await cancelled
            self.assertFalse(task.done())
            await barrier.clear()
            await task

        self.run_with_client(main)

    def test_double_barrier(self):
        async def main(client):
            events = []

            async def take_part():
                async with client.double_barrier("x", 3) as barrier:
                    events.append(len(await barrier.participants()))
                    await self.until(lambda: len(events) == 3)

            await asyncio.gather(*(take_part() for _ in range(3)))
            self.assertEqual(events, [3, 3, 3])

        self.run_with_client(main)

    def test_cancelled_at_any_moment(self):
        async def main(client):
            barrier = client.double_barrier("x", 1)
            for pauses in range(30):
                task = asyncio.create_task(barrier.enter())
                for _ in range(pauses):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    await task
                except asyncio.CancelledError:
                    pass
                else:
                    await barrier.leave()
                # A leave that nobody waits for may be under way.
                while await barrier.participants():
                    await asyncio.sleep(0.01)

        self.run_with_client(main)

    def test_participant_that_is_cancelled_inside_leaves(self):
        async def main(client):
            inside = []

            async def take_part(last):
                async with client.double_barrier("x", 2) as barrier:
                    inside.append(barrier)
                    await last

            tasks = [asyncio.create_task(take_part(asyncio.Event().wait())),
                     asyncio.create_task(take_part(asyncio.sleep(0)))]
            await self.until(lambda: len(inside) == 2)
            self.assertFalse(tasks[1].done())  # it waits for the other one
            tasks[0].cancel()
            with self.assertRaises(asyncio.CancelledError):
                await tasks[0]
            await tasks[1]

        self.run_with_client(main)


if __name__ == "__main__":
    unittest.main()
