#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Deadlocks of owners of ours, with programs of Curator and kazoo in the same
queues of a real ZooKeeper.  Their tickets do not say what their owners hold.

A deadlock of ours is found while others wait among us, and nobody else fails.
A cycle that has one of the others in it is not certain: nobody fails, and the
tool names it as a possible one, because two tickets of one session count as those
of one owner there.

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

from deadlock_workloads import Cycle, Deadlock, Workload, run_all  # noqa: E402
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


class ThroughOthers(Cycle):
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
        found = await self.explain_json(name)
        self.check(found["deadlock"] is None, "explain %s: %s" % (name, found))
        if not waits[late].has_ended():
            self.check(len(found["possible_deadlock"] or ()) == self.count,
                       "explain %s: %s" % (name, found))
        await self.end(waits.pop(late), "HF_ETIMEDOUT")
        await self.release_in_order(waits, late)


class OnlyOthers(Workload):
    """One program of Curator and one of kazoo take two locks, in opposite orders
    or in the same one."""

    async def expect(self, closed, held):
        found = await self.explain_json(
            "--all", str(self.seed), status=1 if closed else 0)
        cycles = [[waiter["waits_for"] for waiter in cycle["waiters"]]
                   for cycle in found["deadlocks"] if cycle["possible"]]
        names = [self.name(0), self.name(1)]
        self.check([sorted(cycle) for cycle in cycles] ==
                   ([names] if closed else []), "explain --all: %s" % found)
        for name in held if not closed else names:
            found = await self.explain_json(name)
            waits_for = sorted(waiter["waits_for"] for waiter in
                               found["possible_deadlock"] or ())
            self.check(found["deadlock"] is None and
                       waits_for == (names if closed else []),
                       "explain %s: %s" % (name, found))

    async def run(self):
        one, other = (program.owner() for program in self.random.sample(
            self.pool.others, 2))
        first, second = mutex(self, 0)[0], mutex(self, 1)[0]
        held = [await one.hold(first), await other.hold(second)]
        waits = [one.acquire(second)]
        await waits[0].queued()
        await self.expect(False, [self.name(0), self.name(1)])
        # A thread of the session that holds the lock waits only for another one.
        waits.append(other.acquire(second))
        await waits[1].queued()
        await self.expect(False, [self.name(1)])
        waits.append(other.acquire(first))
        await waits[2].queued()
        await self.expect(True, [])
        for acquire in held:
            await acquire.release()
        for wait in waits:
            await self.end(wait, "granted")
            await wait.release()


class OneSession(Workload):
    """Threads of one program hold two locks and wait for both."""

    async def run(self):
        owner = self.random.choice(self.pool.others).owner()
        locks = [mutex(self, number)[0] for number in range(2)]
        held = [await owner.hold(lock) for lock in locks]
        waits = [owner.acquire(lock) for lock in locks]
        for wait in waits:
            await wait.queued()
        found = await self.explain_json("--all", str(self.seed))
        self.check(found["deadlocks"] == [], "explain --all: %s" % found)
        found = await self.explain_json(self.name(0))
        self.check(found["possible_deadlock"] is None, "explain: %s" % found)
        for acquire in held:
            await acquire.release()
        for wait in waits:
            await self.end(wait, "granted")
            await wait.release()


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

    def test_a_cycle_through_another_program_is_possible(self):
        self.run_all(ThroughOthers)

    def test_a_cycle_of_other_programs_is_possible(self):
        self.run_all(OnlyOthers)

    def test_one_session_is_no_cycle(self):
        self.run_all(OneSession)


if __name__ == "__main__":
    unittest.main(verbosity=2)
