#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Deadlocks on real servers, of owners in several processes: each one is found
and one owner of it fails; where there is none, nobody fails.

    test_deadlocks.py OWNERS THREADS HOLDFAST ENGINE

ENGINE is file, zookeeper, redis or postgres.  A workload is decided by its
seed, but for the order of what happens at once.  HF_COUNT says how many there
are of each sort, HF_SEED the seed of the first.

A deadlock has 2 to 6 owners, each in a process of its own, and locks of every
kind.  Others wait among them, some with locks of their own, which nobody wants.
If nobody looks for deadlocks, `holdfast explain` has to name the owners.

These workloads have no deadlock:

  - ordered: mutexes, readers, writers and semaphores are acquired in the order
    of their names, alone or several at once.  Waits time out, holders are asked
    for a release or evicted, threads pass a mutex on among themselves, and runs
    of the tool are inside of others.
  - by turns: all owners of a cycle but one wait at any time.
  - a free permit: a cycle has a semaphore in it of which somebody else holds
    a permit that is enough.
  - script: a run inside of another one waits, while the script of the outer
    one goes on, or goes on after a time.
  - unknown: one of a cycle does not say what it holds.  It waits for ever,
    but it is not known.
"""

import asyncio
import os
import random
import re
import sys
import unittest
import urllib.parse

import real_engines
from deadlock_workloads import (ByTurns, Deadlock, FreePermit, Ordered, Script,
                                Unknown, many_owners, run_all)
from owners import Owners, Pool

import testing
from redis_server import Client

OWNERS, THREADS, HOLDFAST = (os.path.abspath(path) for path in sys.argv[1:4])
ENGINE = sys.argv[4]
del sys.argv[1:5]

COUNT = int(os.environ.get("HF_COUNT") or (1000 if testing.LONG else 40))
SEED = int(os.environ.get("HF_SEED") or random.SystemRandom().getrandbits(32))
PROCESSES = 8
MANY = 1000 if testing.LONG else 300


class Deadlocks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.url = cls.enterClassContext(real_engines.url(HOLDFAST, ENGINE))
        print("%s, HF_SEED=%d HF_COUNT=%d" % (ENGINE, SEED, COUNT))

    def run_all(self, *sorts):
        async def run():
            owners = [Owners([OWNERS, self.url]) for _ in range(PROCESSES)]
            async with Pool(self.url, owners, HOLDFAST, THREADS) as pool:
                return await run_all(pool, COUNT, SEED, *sorts)
        return asyncio.run(run())

    def test_each_is_found_and_one_owner_fails(self):
        times = sorted(workload.took_s for workload in self.run_all(Deadlock)
                       if workload.took_s is not None)
        print("%d deadlocks: one owner failed after %.1f s (median), %.1f s "
              "(most)" % (len(times), times[len(times) // 2], times[-1]))

    def test_nobody_fails_without_one(self):
        looks = sum(workload.looks for workload in self.run_all(
            Ordered, ByTurns, Ordered, FreePermit, Script, Unknown, Script))
        print("%d workloads, %d waits of more than a second" % (COUNT, looks))
        self.assertGreater(looks, 0)

    def test_a_deadlock_among_many(self):
        """Each holds a lock of its own and waits for the common one, whose
        holder then waits for one of them.  One owner fails: nobody else does,
        and nobody else looks at more than a few queues."""
        async def run():
            owners = [Owners([OWNERS, self.url]) for _ in range(PROCESSES)]
            async with Pool(self.url, owners, HOLDFAST, THREADS) as pool:
                await many_owners(pool, MANY)
        asyncio.run(run())

    @testing.when(ENGINE == "redis")
    def test_what_looks_cost(self):
        """An owner for whose lock nobody waits lists the queue of that; one that
        holds nothing makes no request."""
        async def run():
            owners = [Owners([OWNERS, self.url]) for _ in range(3)]
            async with Pool(self.url, owners, HOLDFAST, THREADS):
                await looks(*(one.owner() for one in owners))

        async def looks(holder, bare, other):
            held = await holder.hold("cost/x:m")
            mine = await other.hold("cost/y:m")
            with Client(urllib.parse.urlsplit(self.url).port) as client:
                client.ask("MONITOR")
                first = bare.acquire("cost/x:m", detects=True)
                await first.queued()
                second = other.acquire("cost/x:m", detects=True)
                await second.queued()
                lists = await asyncio.to_thread(read_lists, client, 2)
            self.assertEqual(lists, ["cost/y"] * 2)
            for wait in first, second:
                wait.cancel()
                await wait.end()
            for grant in held, mine:
                await grant.release()
        asyncio.run(run())


def read_lists(client, count):
    """The next queues that are listed on the server of client, which shows
    them by MONITOR."""
    found = []
    while len(found) < count:
        found += re.findall(r'"evalsha" .*"holdfast:{([^"}]*)}:last".* "list" ',
                            client.file.readline().decode(), re.IGNORECASE)
    return found


if __name__ == "__main__":
    unittest.main(verbosity=2)
