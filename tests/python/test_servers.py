#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One queue with kazoo's lock on a real ZooKeeper, and one key with redis-py's
on a real Redis."""
import asyncio
import concurrent.futures
import contextlib
import threading
import time
import unittest

import holdfast

from cases import waiting
import redis_server
import testing
import zookeeper

try:
    import redis
except ImportError:
    redis = None
try:
    from kazoo.client import KazooClient
    from kazoo.exceptions import LockTimeout
except ImportError:
    KazooClient = None

EACH = 10


class Count:
    """A number that each holder raises by reading and writing it."""

    def __init__(self):
        self.number = 0
        self.tokens = []

    def add(self, token=None):
        seen = self.number
        time.sleep(0.002)
        self.number = seen + 1
        if token is not None:
            self.tokens.append(token)


class OneQueue(unittest.TestCase):
    def share(self, url, name, other):
        """Two threads, a loop of asyncio and ${other}, which is a context, add
        to one number."""
        count, failures = Count(), []

        def ours():
            with holdfast.Client(url) as client:
                for _ in range(EACH):
                    with client.lock(name, timeout=waiting.LIMIT_S) as grant:
                        count.add(grant.token)

        async def on_a_loop():
            async with holdfast.AsyncClient(url) as client:
                for _ in range(EACH):
                    async with client.lock(
                            name, timeout=waiting.LIMIT_S) as grant:
                        count.add(grant.token)

        def theirs():
            for _ in range(EACH):
                with other:
                    count.add()

        def caught(target):
            try:
                target()
            except BaseException as failure:  # pylint: disable=broad-except
                failures.append(failure)

        threads = [threading.Thread(target=caught, args=(target,)) for target in
                   (ours, ours, lambda: asyncio.run(on_a_loop()), theirs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(waiting.LIMIT_S)
        self.assertEqual(failures, [])
        self.assertEqual(count.number, 4 * EACH)
        self.assertEqual(count.tokens, sorted(count.tokens))

    def wait_for_the_other(self, url, name, other):
        """With Client and the lock of theirs that is held."""
        with holdfast.Client(url) as client, other:
            with self.assertRaises(holdfast.Timeout) as raised:
                client.lock(name, timeout=0.2).acquire()
            self.assertIn("ahead: 1", str(raised.exception))
            with self.assertRaises(holdfast.Busy):
                client.lock(name, timeout=0).acquire()

    @testing.when(KazooClient is not None)
    def test_kazoo(self):
        with zookeeper.Standalone() as server, contextlib.ExitStack() as ended:
            theirs = KazooClient(server.address(), timeout=10)
            theirs.start()
            ended.callback(theirs.close)
            ended.callback(theirs.stop)
            lock = theirs.Lock("/jobs/nightly")
            url = "zk://{}/?layout=kazoo".format(server.address())
            self.share(url, "jobs/nightly", lock)
            self.wait_for_the_other(url, "jobs/nightly", lock)
            with holdfast.Client(url) as client, \
                    client.lock("jobs/nightly") as grant:
                self.assertGreater(grant.safe_until, time.clock_gettime(
                    time.CLOCK_BOOTTIME))
                with self.assertRaises(LockTimeout):
                    lock.acquire(timeout=0.2)

    @testing.when(redis is not None)
    def test_redis_py(self):
        server = redis_server.Server()
        self.addCleanup(server.close)
        server.start()
        url = server.url(options="?layout=redis-py&ttl=5s")
        lock = redis.Redis(port=server.port).lock("jobs:nightly", timeout=10)
        self.share(url, "jobs:nightly", lock)
        self.wait_for_the_other(url, "jobs:nightly", lock)
        with holdfast.Client(url) as client, client.lock("jobs:nightly"):
            self.assertFalse(lock.acquire(blocking=False))

    @testing.when(redis is not None)
    def test_redis_py_beside_our_own_layout(self):
        """They are other locks, even with the same name: docs/engine-redis.md
        says so."""
        server = redis_server.Server()
        self.addCleanup(server.close)
        server.start()
        lock = redis.Redis(port=server.port).lock("jobs:nightly", timeout=10)
        with holdfast.Client(server.url()) as client:
            with client.lock("jobs:nightly"):
                self.assertTrue(lock.acquire(blocking=False))
            with client.lock("jobs:nightly", timeout=0) as grant:
                grant.check()
            lock.release()

    def test_other_nouns_between_clients(self):
        server = redis_server.Server()
        self.addCleanup(server.close)
        server.start()

        async def far(url):
            async with holdfast.AsyncClient(url) as client:
                await client.barrier("start").wait(waiting.LIMIT_S)
                async with client.double_barrier("round", 2, waiting.LIMIT_S):
                    pass
                async with client.mutex("jobs/x", timeout=waiting.LIMIT_S):
                    return [one.name async for one in client.names("jobs")]

        with holdfast.Client(server.url(), metrics=True) as client, \
                concurrent.futures.ThreadPoolExecutor(1) as pool, \
                client.lock("jobs/y"):
            barrier = client.barrier("start")
            barrier.set(waiting.LIMIT_S)
            found = pool.submit(asyncio.run, far(server.url()))
            with client.rwlock("other").write, client.mutex("jobs/x") as grant:
                self.assertLess(grant.safe_until, float("inf"))
                self.assertEqual(
                    {one.name for one in client.names()},
                    {"jobs/x", "jobs/y", "other"})
                self.assertFalse(found.done())
                barrier.clear()
                with client.double_barrier("round", 2, waiting.LIMIT_S):
                    pass
                waiting.eventually("a waiter", lambda: [
                    one for one in client.names("jobs/x") if one.waiters])
            self.assertEqual(set(found.result(waiting.LIMIT_S)),
                             {"jobs/x", "jobs/y"})
            self.assertEqual(client.stats().names["jobs/x"].acquired, 1)
            self.assertGreater(client.stats().round_trip.count, 0)

    def test_server_that_is_not_there(self):
        with holdfast.Client("zk://127.0.0.1:1", connect_timeout=0.3) as client:
            with self.assertRaises(ConnectionError) as raised:
                client.lock("x").acquire()
            self.assertIsInstance(raised.exception, holdfast.Unavailable)


if __name__ == "__main__":
    unittest.main()
