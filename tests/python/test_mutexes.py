#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Locks that are counted per thread or per task, on files."""
import asyncio
import gc
import threading
import time
import unittest
import warnings

import holdfast

from cases import Case, waiting


class Mutexes(Case):
    def setUp(self):
        super().setUp()
        self.client = holdfast.Client(self.url)
        self.addCleanup(self.client.close)

    def queue(self, name="x"):
        return self.client.lock(name).tickets()

    def elsewhere(self, fn):
        """What ${fn} gives or raises on another thread."""
        found = []

        def run():
            try:
                found.append(fn())
            except holdfast.Error as failure:
                found.append(type(failure))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(waiting.LIMIT_S)
        return found[0]

    def evict(self):
        for ticket in self.queue():
            self.client.lock("x").evict(ticket, by="the test")

    def test_counts_for_its_owner(self):
        mutex = self.client.mutex("x", timeout=0)
        self.assertEqual((mutex.name, mutex.token), ("x", 0))
        with mutex as grant:
            with mutex as again:
                self.assertIs(again, grant)
                self.assertEqual(mutex.acquire(), grant)
                mutex.release()
                self.assertEqual(len(mutex.tickets()), 1)
            self.assertEqual(mutex.token, grant.token)
            self.assertTrue(mutex.tickets()[0].holds)
            # Another thread is another owner, with the same object.
            self.assertEqual(self.elsewhere(lambda: mutex.token), 0)
            self.assertEqual(self.elsewhere(mutex.acquire), holdfast.Busy)
            self.assertEqual(self.elsewhere(mutex.release), holdfast.Usage)
        self.assertEqual((mutex.token, self.queue()), (0, []))
        with self.assertRaises(holdfast.Usage) as raised:
            mutex.release()
        self.assertEqual(raised.exception.status, holdfast.Status.EOWNER)

        def token():
            with mutex as theirs:
                return theirs.token

        self.assertGreater(self.elsewhere(token), grant.token)

    def test_threads_exclude_each_other(self):
        mutex, count = self.client.mutex("x"), 0

        def add():
            nonlocal count
            for _ in range(10):
                with mutex, mutex:
                    seen = count
                    time.sleep(0)
                    count = seen + 1

        threads = [threading.Thread(target=add) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(waiting.LIMIT_S)
        self.assertEqual((count, mutex._holds), (60, {}))

    def test_loss_is_counted_down(self):
        mutex = self.client.mutex("x", timeout=1)
        lost = []
        other = self.client.mutex("x", timeout=1, on_loss=lost.append)
        grant = mutex.acquire()
        mutex.acquire()
        self.evict()
        waiting.eventually("the loss", lambda: grant.lost)
        self.assertRaises(holdfast.Lost, mutex.acquire)
        with other as theirs:  # another object, another count
            self.assertGreater(theirs.token, grant.token)
            self.assertRaises(holdfast.Lost, mutex.acquire)
            self.assertRaises(holdfast.Lost, mutex.release)
            self.assertRaises(holdfast.Lost, mutex.release)
            self.assertRaises(holdfast.Usage, mutex.release)
        with mutex:
            pass
        with self.assertRaises(holdfast.Lost):
            with other as grant:
                self.evict()
                waiting.eventually("the callback", lambda: lost)
        self.assertEqual(lost, [grant])

    def test_exception_inside_says_more_than_the_loss(self):
        mutex = self.client.mutex("x")
        with self.assertRaises(KeyError):
            with mutex as grant:
                self.evict()
                waiting.eventually("the loss", lambda: grant.lost)
                raise KeyError
        self.assertEqual(mutex._holds, {})

    def test_revocation_and_text(self):
        asked = threading.Event()
        with self.client.mutex("x", text="the first",
                               on_revoke=lambda grant: asked.set()):
            self.assertEqual(self.queue()[0].said("text"), "the first")
            self.client.lock("x").revoke()
            self.assertTrue(asked.wait(waiting.LIMIT_S))

    def test_ticket_says_what_its_owner_holds(self):
        with self.client.mutex("a"), self.client.rwlock("b").write:
            self.assertRegex(self.queue("b")[0].said("holds"), r"^a:\w+$")
            with self.client.lock("c"):
                self.assertIsNone(self.queue("c")[0].said("holds"))

    def test_deadlock(self):
        first, second = (self.client.mutex(name, timeout=waiting.LIMIT_S,
                                           detect_deadlock=True)
                         for name in "ab")
        both = threading.Barrier(2)

        def take(one, other):
            with one:
                both.wait(waiting.LIMIT_S)
                try:
                    with other:
                        return "both"
                except holdfast.Deadlock:
                    return "deadlock"

        ends = []
        thread = threading.Thread(
            target=lambda: ends.append(take(second, first)))
        thread.start()
        ends.append(take(first, second))
        thread.join(waiting.LIMIT_S)
        self.assertEqual(sorted(ends), ["both", "deadlock"])

    def test_reading_and_writing(self):
        lock = self.client.rwlock("x", timeout=0)
        with lock.read, lock.read:
            with self.assertRaises(holdfast.Usage) as raised:
                lock.write.acquire()
            self.assertEqual(raised.exception.status,
                             holdfast.Status.EREENTRANT)
            with self.assertRaises(holdfast.Usage):
                lock.write.release()
            self.assertEqual(self.elsewhere(lambda: [
                lock.read.acquire() and None, lock.read.release()]),
                [None, None])
            self.assertEqual(self.elsewhere(lock.write.acquire), holdfast.Busy)
        with lock.write as grant, lock.write, lock.read as read:
            self.assertIs(read, grant)
            self.assertEqual(self.elsewhere(lock.read.acquire), holdfast.Busy)
            self.assertEqual([one.kind for one in lock.tickets()], ["write"])
        self.assertEqual((lock.name, lock.tickets()), ("x", []))

    def test_downgrade_with_the_last_write(self):
        lock = self.client.rwlock("x", timeout=0)
        lock.write.acquire()
        token = lock.read.acquire().token
        lock.write.acquire()
        lock.write.release()
        self.assertEqual(self.elsewhere(lock.read.acquire), holdfast.Busy)
        lock.write.release()
        self.assertEqual([one.kind for one in lock.tickets()], ["read"])
        self.assertEqual((lock.read.token, lock.write.token), (token, token))
        self.assertEqual(self.elsewhere(lambda: [
            lock.read.acquire() and None, lock.read.release()]), [None, None])
        self.assertEqual(self.elsewhere(lock.write.acquire), holdfast.Busy)
        self.assertRaises(holdfast.Usage, lock.write.acquire)
        lock.read.release()
        with lock.write:
            pass

    def test_what_is_dropped_is_released(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.client.mutex("x").acquire()
            gc.collect()
            waiting.eventually("the release", lambda: not self.queue())
            self.assertEqual([one.category for one in caught],
                             [ResourceWarning])


class AsyncMutexes(Case):
    def test_counts_for_its_task(self):
        async def main(client):
            mutex = client.mutex("x", timeout=0)

            async def other():
                with self.assertRaises(holdfast.Busy):
                    await mutex.acquire()
                with self.assertRaises(holdfast.Usage):
                    await mutex.release()
                return mutex.token

            async with mutex as grant, mutex as again:
                self.assertIs(again, grant)
                self.assertEqual(await asyncio.create_task(other()), 0)
                self.assertEqual(mutex.token, grant.token)
                self.assertEqual(len(await mutex.tickets()), 1)
            self.assertEqual(await mutex.tickets(), [])
            with self.assertRaises(holdfast.Usage):
                await mutex.release()

        self.run_with_client(main)

    def test_tasks_exclude_each_other(self):
        async def main(client):
            mutex, order = client.mutex("x"), []

            async def hold():
                async with mutex, mutex:
                    order.append(mutex.token)
                    await asyncio.sleep(0)
                    order.append(mutex.token)

            await asyncio.gather(*(hold() for _ in range(10)))
            self.assertEqual(order[::2], order[1::2])
            self.assertEqual(order, sorted(order))
            self.assertEqual((len(set(order)), mutex._holds), (10, {}))

        self.run_with_client(main)

    def test_cancelled_at_any_moment(self):
        async def main(client):
            mutex = client.mutex("x")

            async def hold():
                async with mutex, mutex:
                    pass

            for pauses in range(40):
                task = asyncio.create_task(hold())
                for _ in range(pauses):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await self.queued(client, "x", 0)
            self.assertEqual(mutex._holds, {})

        self.run_with_client(main)

    def test_reading_and_writing(self):
        async def main(client):
            lock = client.rwlock("x", timeout=0)

            async def read():
                async with lock.read:
                    return True

            await lock.write.acquire()
            async with lock.read:
                with self.assertRaises(holdfast.Busy):
                    await asyncio.create_task(read())
                await lock.write.release()
                self.assertTrue(await asyncio.create_task(read()))
                with self.assertRaises(holdfast.Usage):
                    await lock.write.acquire()
                self.assertEqual([one.kind for one in await lock.tickets()],
                                 ["read"])
            self.assertEqual(await lock.tickets(), [])

        self.run_with_client(main)

    def test_deadlock(self):
        async def main(client):
            first, second = (client.mutex(name, detect_deadlock=True)
                             for name in "ab")
            ready = []

            async def take(one, other):
                async with one:
                    ready.append(one)
                    await self.until(lambda: len(ready) == 2)
                    try:
                        async with other:
                            return "both"
                    except holdfast.Deadlock:
                        return "deadlock"

            ends = await asyncio.gather(take(first, second),
                                        take(second, first))
            self.assertEqual(sorted(ends), ["both", "deadlock"])

        self.run_with_client(main)


if __name__ == "__main__":
    unittest.main()
