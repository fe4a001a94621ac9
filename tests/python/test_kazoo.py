#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Locks of this package and of kazoo in one queue of a real ZooKeeper: they get
in in the order in which they came, and exclude each other as far as they
should."""
import asyncio
import contextlib
import os
import sys
import threading
import time
import unittest

import holdfast

from cases import waiting
import testing
import zookeeper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "interop"))

try:
    from kazoo.client import KazooClient
    import kazoo_contender
except ImportError:
    KazooClient = None

EACH = 10
INSIDE_S = 0.002


class Section:
    """What is inside of a lock: a number that writers raise by reading and
    writing it, who came in in which order, and how many were in at once."""

    def __init__(self):
        self.guard = threading.Lock()
        self.order = []
        self.writers = self.readers = 0
        self.together = set()  # (writers, readers) after each entry
        self.number = 0

    @contextlib.contextmanager
    def entered(self, name, writes):
        with self.guard:
            self.order.append(name)
            self.writers += writes
            self.readers += not writes
            self.together.add((self.writers, self.readers))
        try:
            yield
        finally:
            with self.guard:
                self.writers -= writes
                self.readers -= not writes

    def work(self, name, writes):
        with self.entered(name, writes):
            seen = self.number
            time.sleep(INSIDE_S)
            if writes:
                self.number = seen + 1


@testing.when(KazooClient is not None)
class Kazoo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = zookeeper.Standalone()
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.close)
        cls.url = "zk://{}/?layout=kazoo".format(cls.server.address())

    def setUp(self):
        self.client = holdfast.Client(self.url)
        self.addCleanup(self.client.close)
        self.kazoo = KazooClient(self.server.address(), timeout=10)
        self.kazoo.start()
        self.addCleanup(self.kazoo.close)
        self.addCleanup(self.kazoo.stop)
        self.failures = []

    def start(self, fn, *arguments):
        """Run ${fn} on a thread, and keep how it fails."""
        def run():
            try:
                fn(*arguments)
            except BaseException as failure:  # pylint: disable=broad-except
                self.failures.append(failure)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def finish(self, threads):
        for thread in threads:
            thread.join(waiting.LIMIT_S)
            self.assertFalse(thread.is_alive())
        self.assertEqual(self.failures, [])

    def with_lock(self, lock, body):
        with lock:
            body()

    def with_lock_of_a_loop(self, make, body):
        """The same with the lock that ${make} gives out of an AsyncClient."""
        async def run():
            async with holdfast.AsyncClient(self.url) as client:
                async with make(client):
                    await asyncio.to_thread(body)

        asyncio.run(run())

    def enqueue(self, queue, contenders):
        """A thread for each, begun when the one before is in ${queue}."""
        threads = []
        before = len(queue())
        for number, (fn, *arguments) in enumerate(contenders, before + 1):
            threads.append(self.start(fn, *arguments))
            waiting.eventually(
                f"{number} tickets",
                lambda wanted=number: self.failures or
                len(queue()) == wanted)
        return threads

    def test_mutexes_in_order(self):
        section, path = Section(), "/queue/mutexes"
        name = path[1:]

        def contender(number):
            def body():
                section.work(number, True)

            lock = self.client.lock(name)
            return ((self.with_lock, self.kazoo.Lock(path), body),
                    (self.with_lock, lock, body),
                    (self.with_lock_of_a_loop, lambda c: c.lock(name), body),
                    (self.with_lock, self.client.mutex(name), body),
                    (self.with_lock_of_a_loop, lambda c: c.mutex(name), body)
                    )[number % 5]

        with self.client.lock(name) as grant:
            threads = self.enqueue(self.client.lock(name).tickets,
                                   [contender(number) for number in range(12)])
            self.assertEqual(section.order, [])
            self.assertFalse(grant.lost)
        self.finish(threads)
        self.assertEqual(section.order, list(range(12)))
        self.assertEqual((section.together, section.number), ({(1, 0)}, 12))

    def readers_and_writers(self, path):
        """For each sort of lock one that reads and one that writes."""
        name = path[1:]
        lock = self.client.rwlock(name)
        write, read = kazoo_contender.shared_locks(self.kazoo, path, "stock")
        return {
            "kazoo": {True: (self.with_lock, write),
                      False: (self.with_lock, read)},
            "lock": {True: (self.with_lock,
                            self.client.lock(name, kind="write")),
                     False: (self.with_lock,
                             self.client.lock(name, kind="read"))},
            "rwlock": {True: (self.with_lock, lock.write),
                       False: (self.with_lock, lock.read)},
            "loop": {True: (self.with_lock_of_a_loop,
                            lambda c: c.lock(name, kind="write")),
                     False: (self.with_lock_of_a_loop,
                             lambda c: c.rwlock(name).read)}}

    def test_readers_and_writers_in_order(self):
        section, path = Section(), "/queue/shared"
        locks = self.readers_and_writers(path)
        all_in = {2: threading.Barrier(4), 5: threading.Barrier(2)}
        contenders = []
        for turn, sort, writes in (
                (1, "kazoo", True),
                (2, "lock", False), (2, "kazoo", False),
                (2, "rwlock", False), (2, "loop", False),
                (3, "lock", True),
                (4, "kazoo", True),
                (5, "kazoo", False), (5, "lock", False),
                (6, "loop", True),
                (7, "rwlock", True)):
            if sort == "kazoo":  # each has one ticket
                locks.update(kazoo=self.readers_and_writers(path)["kazoo"])

            def body(turn=turn, writes=writes):
                section.work(turn, writes)
                if turn in all_in:  # readers are in together
                    with section.entered(turn, writes):
                        all_in[turn].wait(waiting.LIMIT_S)

            contenders.append((*locks[sort][writes], body))
        with self.client.lock(path[1:], kind="write"):
            threads = self.enqueue(self.client.lock(path[1:]).tickets,
                                   contenders)
            self.assertEqual(section.order, [])
        self.finish(threads)
        self.assertEqual(section.order, sorted(section.order))
        self.assertIn((0, 4), section.together)
        self.assertEqual({pair for pair in section.together if pair[0]},
                         {(1, 0)})
        self.assertEqual(section.number, 5)

    def test_readers_and_writers_in_turns(self):
        section, path = Section(), "/turns/shared"

        def take_turns(locks, first):
            for turn in range(first, first + EACH):
                writes = turn % 3 == 0
                fn, lock = locks[writes]
                fn(lock, lambda: section.work(writes, writes))

        self.finish([
            self.start(take_turns, locks, first)
            for first in range(2)
            for locks in self.readers_and_writers(path).values()])
        self.assertEqual({pair for pair in section.together if pair[0]},
                         {(1, 0)})
        self.assertEqual((len(section.order), section.number),
                         (8 * EACH, sum(section.order)))

    def semaphores(self, path, limit):
        name = path[1:]
        return ((self.with_lock, self.client.lock(name, permits=(1, limit))),
                (self.with_lock,
                 self.kazoo.Semaphore(path, max_leases=limit)),
                (self.with_lock_of_a_loop,
                 lambda c: c.lock(name, permits=(1, limit))))

    def test_permits_in_order(self):
        section, path = Section(), "/queue/permits"
        inside = threading.Semaphore(0)
        queue = self.client.lock(path[1:], permits=(1, 2))

        def body(number):
            with section.entered(number, False):
                inside.acquire(timeout=waiting.LIMIT_S)

        contenders = [(*self.semaphores(path, 2)[number % 3],
                       lambda number=number: body(number))
                      for number in range(9)]
        # kazoo is in the queue and has a permit at one moment, so the first
        # ones are waited for until they are in.
        threads = []
        for number in range(2):
            threads.append(self.start(*contenders[number]))
            waiting.eventually("a permit", lambda wanted=number + 1:
                               self.failures or len(section.order) == wanted)
        threads += self.enqueue(queue.tickets, contenders[2:])
        for left in range(9):
            # One goes, and the next one comes.
            waiting.eventually("the next", lambda: len(section.order) ==
                               min(2 + left, 9) or self.failures)
            inside.release()
        self.finish(threads)
        self.assertEqual(section.order, list(range(9)))
        self.assertEqual(section.together, {(0, 1), (0, 2)})

    def test_permits_in_turns(self):
        section, path = Section(), "/turns/permits"
        with self.client.lock(path[1:], permits=(1, 3)):
            pass  # so that the node says how many there are

        def body(number):
            with section.entered(number, False):
                time.sleep(5 * INSIDE_S)

        def take_turns(number):
            fn, lock = self.semaphores(path, 3)[number % 3]
            for _ in range(EACH):
                fn(lock, lambda: body(number))

        self.finish([self.start(take_turns, number) for number in range(9)])
        self.assertEqual(len(section.order), 9 * EACH)
        self.assertLessEqual(section.together, {(0, 1), (0, 2), (0, 3)})


if __name__ == "__main__":
    unittest.main()
