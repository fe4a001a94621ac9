#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Deadlocks of owners of ours, with programs of Curator and kazoo in the same
queues of a real ZooKeeper.  Their tickets do not say what their owners hold.

A deadlock of ours is found while others wait among us, and nobody else fails.
A circle that has one of the others in it is not known: nobody fails.

HF_COUNT says how many there are of each, HF_SEED the seed of the first.
"""

import asyncio
import contextlib
import os
import random
import sys
import unittest

from test_interop import CURATOR_JARS, HERE, Standalone

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "chaos"))

from deadlock_workloads import Circle, Deadlock, run_all  # noqa: E402
from owners import Owners, Pool  # noqa: E402
import testing  # noqa: E402

COUNT = int(os.environ.get("HF_COUNT") or (500 if testing.LONG else 12))
SEED = int(os.environ.get("HF_SEED") or random.SystemRandom().getrandbits(32))
PROCESSES = 6


def mutex(workload, number):
    return ("%s:m" % workload.name(number),) * 2


class AmongOthers(Deadlock):
    def pair(self, number):
        return mutex(self, number) if number == 0 else super().pair(number)

    async def others(self, pairs):
        waits = await super().others(pairs)
        mutexes = [pair[1] for pair in pairs if pair[1].endswith(":m")]
        for number, program in enumerate(self.random.choices(
                self.pool.others, k=self.random.randint(1, 3))):
            owner = program.owner()
            held = None
            if self.random.random() < 0.5:
                held = await owner.hold("%s:m" % self.name(200 + number))
            wait = owner.acquire(self.random.choice(mutexes))
            await wait.queued()
            waits.append((wait, held))
        return waits


class ThroughOthers(Circle):
    def pair(self, number):
        return mutex(self, number)

    def owners(self, count):
        """One of them is another program's."""
        found = super().owners(count)
        self.other = self.random.randrange(count)
        found[self.other] = self.random.choice(self.pool.others).owner()
        return found

    async def run(self):
        await self.prepare()
        late = self.random.choice(
            [i for i in range(self.count) if i != self.other])
        waits = {i: self.wait(i, wait_ms=3500 if i == late else -1)
                 for i in range(self.count)}
        for wait in waits.values():
            await wait.queued()
        name = self.name(self.random.randrange(self.count))
        found = await self.explained(name)
        self.check(found is None, "explain %s: %s" % (name, found))
        await self.end(waits.pop(late), "HF_ETIMEDOUT")
        await self.release_in_order(waits, late)


class Deadlocks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(contextlib.closing(Standalone()))
        print("HF_SEED=%d HF_COUNT=%d" % (SEED, COUNT))

    def run_all(self, sort):
        url = "zk://" + self.server.address()
        jars = [os.environ["CONTENDER_CLASSES"],
                *("/usr/share/java/%s.jar" % jar for jar in CURATOR_JARS)]

        async def run():
            owners = [Owners([os.environ["OWNERS"], url])
                      for _ in range(PROCESSES)]
            others = [
                Owners(["java", "-Xmx64m", "-XX:+UseSerialGC", "-cp",
                        ":".join(jars), "CuratorOwners",
                        self.server.address()]),
                Owners(["/usr/bin/python3",
                        os.path.join(HERE, "kazoo_owners.py"),
                        self.server.address()])]
            async with Pool(url, owners, os.environ["HOLDFAST"],
                            others=others) as pool:
                await run_all(pool, COUNT, SEED, sort)
        asyncio.run(run())

    def test_a_deadlock_among_others_is_found_and_one_of_ours_fails(self):
        self.run_all(AmongOthers)

    def test_a_circle_through_another_program_is_not_known(self):
        self.run_all(ThroughOthers)


if __name__ == "__main__":
    unittest.main(verbosity=2)
