# SPDX-License-Identifier: Apache-2.0
"""Workloads of owners in several processes: deadlocks, and what looks like them.
test_deadlocks.py says what they are.

    async with Pool(...) as pool:
        workloads = await run_all(pool, 100, 7, Deadlock)
"""

import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import waiting  # noqa: E402

MOST_OWNERS = 6
AT_ONCE = 40  # workloads

DEADLOCK = "HF_EDEADLK"
LOOK_S = 1  # an acquire looks for deadlocks when it has waited so long


class Workload:
    """One seed, with names and owners of its own."""

    def __init__(self, pool, seed):
        self.pool = pool
        self.seed = seed
        self.random = random.Random(seed)
        self.looks = 0  # waits that were long enough for one
        self.took_s = None

    def name(self, number):
        return "%d/%d" % (self.seed, number)

    def owners(self, count):
        return self.pool.owners(count, self.random)

    def check(self, condition, text):
        if not condition:
            raise AssertionError(text)

    async def end(self, acquire, *expected):
        """Wait for its end, which is to be one of these; its status."""
        began = time.monotonic()
        status, text = await acquire.end()
        self.looks += time.monotonic() - began > LOOK_S
        self.check(status in expected, "%s ended with %s %s" % (
            acquire.text, status, text))
        return status

    async def explain_json(self, *arguments, status=0):
        """What the tool prints."""
        process = await asyncio.create_subprocess_exec(
            self.pool.holdfast, "explain", "-c", self.pool.url, "--json",
            *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, errors = await process.communicate()
        self.check(process.returncode == status, "explain ended with %d: %s" % (
            process.returncode, errors))
        return json.loads(out)

    async def explained(self, name):
        """The deadlock that the tool finds."""
        return (await self.explain_json(name))["deadlock"]

    def pair(self, number):
        """A lock as its holder has it and as one that waits for it wants it."""
        name = self.name(number)
        held, wanted = self.random.choice(
            ["mm", "ww", "wr", "rw", ("permits", "")])
        if held != "permits":
            return "%s:%s" % (name, held), "%s:%s" % (name, wanted)
        limit = self.random.randint(1, 4)
        permits = self.random.randint(1, limit)
        return "%s:%d/%d" % (name, permits, limit), "%s:%d/%d" % (
            name, self.random.randint(limit - permits + 1, limit), limit)

    def run_of(self, lock):
        name, _, kind = lock.rpartition(":")
        how = {"m": [], "r": ["--read"], "w": ["--write"]}.get(
            kind, ["--permits", kind])
        # Its holder may be evicted, which ends what it runs.
        return [self.pool.holdfast, "run", "-q", "-c", self.pool.url, *how, name, "--"]


class Deadlock(Workload):
    async def others(self, pairs):
        """Owners that wait for locks of the deadlock and have nothing that
        anybody wants."""
        waits = []
        for number in range(self.random.randint(0, 2)):
            owner, = self.owners(1)
            held = None
            if self.random.random() < 0.5:
                held = await owner.hold("%s:m" % self.name(100 + number))
            wait = owner.acquire(self.random.choice(pairs)[1], detects=True)
            await wait.queued()
            waits.append((wait, held))
        return waits

    async def pass_on(self, wait, held, *expected):
        """Release all once the wait has ended."""
        status = await self.end(wait, *expected)
        if status == "granted":
            await wait.release()
        if held:
            await held.release()
        return status

    async def explain(self, pairs, owners):
        """The tool names the owners."""
        name = self.random.choice(pairs)[0].rpartition(":")[0]
        pids = sorted(waiter["owner"]["pid"]
                      for waiter in await self.explained(name) or ())
        expected = sorted(owner.pid for owner in owners)
        self.check(pids == expected, "explain %s: processes %s, expected %s" % (
            name, pids, expected))

    async def run(self):
        count = self.random.randint(2, MOST_OWNERS)
        owners = self.owners(count)
        pairs = [self.pair(number) for number in range(count)]
        held = [await owner.hold(pair[0]) for owner, pair in zip(owners, pairs)]
        others = await self.others(pairs)
        look = set()
        if self.random.random() < 0.8:
            look = set(self.random.sample(range(count),
                                          self.random.randint(1, count)))
        waits = [None] * count
        order = self.random.sample(range(count), count)
        for i in order:
            waits[i] = owners[i].acquire(pairs[(i + 1) % count][1],
                                         detects=i in look)
            await waits[i].queued()
        closed = time.monotonic()
        if not look:
            await self.explain(pairs, owners)
            self.random.choice(waits).cancel()
        expected = DEADLOCK if look else "HF_ECANCELLED"

        async def pass_on(i):
            status = await self.pass_on(waits[i], held[i], "granted", expected)
            if status == expected:
                self.took_s = time.monotonic() - closed if look else None
            return status
        ends = await asyncio.gather(
            *(pass_on(i) for i in range(count)),
            *(self.pass_on(wait, own, "granted") for wait, own in others))
        self.check(ends.count(expected) == 1, "%s: %s" % (expected, ends))
        if look:
            victim = ends.index(expected)
            last = [i for i in order if i in look][-1]
            self.check(victim == last, "%d of %s has failed, %s look" % (
                victim, order, look))
            await self.check_text(waits[victim], pairs)

    async def check_text(self, wait, pairs):
        """It names all locks of the deadlock, and no other."""
        _, text = await wait.end()
        names = [pair[0].rpartition(":")[0] for pair in pairs]
        self.check(text.count("waits for ") == len(pairs) and all(
            'waits for "%s"' % name in text for name in names),
            "expected %s in: %s" % (names, text))


class Ordered(Workload):
    NAMES = 5

    def kinds(self):
        """What each lock can be acquired as."""
        def of_one():
            limit = self.random.randint(1, 3)
            return self.random.choice([
                ["m"], ["r", "r", "w"],
                ["%d/%d" % (n, limit) for n in range(1, limit + 1)]])
        return [of_one() for _ in range(self.NAMES)]

    def lock(self, number):
        return "%s:%s" % (self.name(number),
                          self.random.choice(self.locks[number]))

    def some(self):
        """Some of the locks, in order; sometimes the last two at once."""
        locks = [[self.lock(number)] for number in sorted(self.random.sample(
            range(self.NAMES), self.random.randint(2, 3)))]
        if self.random.random() < 0.3:
            locks[-2:] = [locks[-2] + locks[-1]]
        return locks

    async def pass_through(self, owner):
        """Acquire some, have them for a while, release them."""
        held = []
        for locks in self.some():
            acquire = owner.acquire(
                *locks, detects=True,
                wait_ms=self.random.choice([-1, -1, -1, 400, 1500, 3000]))
            if await self.end(acquire, "granted", "HF_ETIMEDOUT") != "granted":
                break
            held.append(acquire)
        for acquire in reversed(held):
            with contextlib.suppress(asyncio.TimeoutError):
                async with asyncio.timeout(self.random.uniform(0, 0.8)):
                    await acquire.until("asked", "lost")
            await acquire.release()

    async def pass_through_often(self, owner):
        for _ in range(self.random.randint(2, 3)):
            await self.pass_through(owner)

    async def disturb(self):
        owners = self.random.choice(self.pool.all)
        for _ in range(self.random.randint(0, 3)):
            await asyncio.sleep(self.random.uniform(0.1, 1))
            owners.say("%s %s" % (self.random.choice(["revoke", "evict"]),
                                  self.lock(self.random.randrange(self.NAMES))))

    async def program(self, *arguments, text=b""):
        process = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "KILL", "--", *arguments,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        async with asyncio.timeout(2 * waiting.LIMIT_S):
            _, errors = await process.communicate(text)
        self.check(process.returncode == 0, "%s ended with %d: %s" % (
            " ".join(arguments), process.returncode, errors.decode()))

    async def threads(self):
        """Threads that pass a mutex on, if there is one."""
        if ["m"] in self.locks:
            await self.program(
                self.pool.threads, self.pool.url, self.name(self.locks.index(["m"])), "4",
                "mutex", text=b"run 100\n")

    async def nested(self):
        first, second = sorted(self.random.sample(range(self.NAMES), 2))
        inner = self.run_of(self.lock(second))
        inner.insert(2, "-D")
        await self.program(*self.run_of(self.lock(first)), *inner, "true")

    async def run(self):
        self.locks = self.kinds()
        beside = self.random.random()
        work = [self.pass_through_often(owner) for owner in self.owners(
            self.random.randint(3, MOST_OWNERS))]
        if beside < 0.15:
            work.append(self.nested())
        else:
            work.append(self.disturb())
            if beside < 0.3:
                work.append(self.threads())
        await asyncio.gather(*work)


class Cycle(Workload):
    """Owners that hold a lock each; .wait(i) is for the lock of the next."""

    async def prepare(self):
        self.count = self.random.randint(2, MOST_OWNERS)
        self.all = self.owners(self.count)
        self.pairs = [self.pair(number) for number in range(self.count)]
        self.held = [await owner.hold(pair[0])
                     for owner, pair in zip(self.all, self.pairs)]

    def wait(self, i, detects=True, wait_ms=-1):
        return self.all[i].acquire(self.pairs[(i + 1) % self.count][1],
                                   detects=detects, wait_ms=wait_ms)

    async def release_in_order(self, waits, first):
        """Each of ${waits} is granted what ${first} and then the others
        release."""
        await self.held[first].release()
        for step in range(1, self.count):
            i = (first - step) % self.count
            await self.end(waits[i], "granted")
            await waits[i].release()
            await self.held[i].release()


class ByTurns(Cycle):
    """One of those that wait looks, at an instant that is known.  Around it the
    others begin and end their waits, so that one reading of all queues shows
    what never was."""

    async def replace(self, *but):
        """End a wait, not one of those, and then begin that of the one that did
        not wait; who that was."""
        began = self.idle
        i = self.random.choice([i for i in self.waits if i not in but])
        self.waits[i].cancel()
        await self.end(self.waits.pop(i), "HF_ECANCELLED")
        self.waits[began] = self.wait(began, detects=not but)
        await self.waits[began].queued()
        self.idle = i
        return began

    async def run(self):
        await self.prepare()
        self.idle = self.random.randrange(self.count)
        self.waits = {i: self.wait(i, detects=False) for i in range(self.count)
                      if i != self.idle}
        for _ in range(3):
            looks = await self.replace()
            await asyncio.sleep(LOOK_S - self.random.uniform(0, 0.01))
            for _ in range(self.random.randint(2, 5)):
                if self.count > 2:
                    await self.replace(looks)
        await self.release_in_order(self.waits, self.idle)


class FreePermit(Cycle):
    """The first lock of the cycle is a semaphore.  Somebody outside has permits
    of it, and each holder has some; the outsider's are enough."""

    def pair(self, number):
        if number > 0:
            return super().pair(number)
        return "%s:1/3" % self.name(0), "%s:2/3" % self.name(0)

    async def run(self):
        await self.prepare()
        outsider, = self.owners(1)
        permits = await outsider.hold("%s:1/3" % self.name(0))
        waits = {i: self.wait(i) for i in range(self.count)}
        for wait in waits.values():
            await wait.queued()
        await asyncio.sleep(self.random.uniform(1.2, 3.5))
        await permits.release()
        last = self.count - 1  # waits for the semaphore
        await self.end(waits[last], "granted")
        await waits[last].release()
        await self.release_in_order(waits, last)


class Unknown(Cycle):
    async def run(self):
        await self.prepare()
        silent = self.random.randrange(self.count)
        await self.held[silent].release()
        self.all[silent].number = 0
        self.held[silent] = await self.all[silent].hold(self.pairs[silent][0])
        late = self.random.choice([i for i in range(self.count) if i != silent])
        waits = {i: self.wait(i, detects=i != silent,
                              wait_ms=3500 if i == late else -1)
                 for i in range(self.count)}
        await self.end(waits.pop(late), "HF_ETIMEDOUT")
        await self.release_in_order(waits, late)


class Script(Workload):
    """A run whose script goes on although a run inside of it waits: somebody
    who has what that one waits for waits for the outer run."""

    SCRIPTS = [
        "INNER & read line",
        "(INNER &); read line",
        "(read line; kill $$) & INNER; :",
        "trap exit TERM; (read line; kill $$) & INNER & wait $!",
        "timeout 2 INNER; :",
        "INNER -w 2s; :",
        "perl -e 'alarm 2; exec @ARGV' bash -c 'INNER; :'; :",
        "python3 -c 'import subprocess, sys\ntry: subprocess.run("
        "sys.argv[1:], timeout=2)\nexcept subprocess.TimeoutExpired: pass' "
        "INNER; :",
        "echo 1 2 | xargs -n 1 -P 2 sh -c 'if [ $0 = 1 ]; then INNER; else "
        "sleep 2; kill $PPID; fi'; :",
        "printf 'all: one two\\none:\\n\\tINNER\\ntwo:\\n\\tsleep 2; "
        "kill 0' | make -s -j2 -f -; :",
    ]

    def inner(self, script):
        words = self.run_of(self.name(2) + ":m")
        words[2:2] = ["-D"]
        if " -w 2s" in script:
            words[2:2] = ["-w", "2s"]
            script = script.replace(" -w 2s", "")
        return script.replace("INNER", " ".join([*words, "true"]))

    async def run(self):
        owner, = self.owners(1)
        held = await owner.hold(self.name(2) + ":m")
        outer = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "KILL", "--",
            *self.run_of(self.name(1) + ":m"), "bash", "-c",
            "exec 3<&0; echo held; " + self.inner(
                self.random.choice(self.SCRIPTS)).replace(
                    "read line", "read line <&3"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True)  # a script may kill its group
        try:
            await self.wait_for(owner, outer)
        finally:
            await held.release()
            async with asyncio.timeout(2 * waiting.LIMIT_S):
                await outer.wait()

    async def wait_for(self, owner, outer):
        """The owner is granted what the outer run has."""
        await outer.stdout.readline()
        wait = owner.acquire(self.name(1) + ":m", detects=True)
        await wait.queued()
        await asyncio.sleep(self.random.uniform(1.2, 3.5))
        outer.stdin.close()
        await self.end(wait, "granted")
        await wait.release()


async def many_owners(pool, count):
    """A deadlock of two."""
    generator = random.Random(count)
    owners = [pool.owners(1, generator)[0] for _ in range(count)]
    held = await asyncio.gather(*(
        owner.hold("many/%d:m" % number)
        for number, owner in enumerate(owners[1:])))
    common = await owners[0].hold("many/common:m")
    waits = [owner.acquire("many/common:m", detects=True)
             for owner in owners[1:]]
    await asyncio.gather(*(wait.queued() for wait in waits))
    last = owners[0].acquire("many/%d:m" % (count // 2), detects=True)
    status, text = await last.end()
    if status != DEADLOCK or 'waits for "many/common"' not in text:
        raise AssertionError("%s %s" % (status, text))
    ended = [wait for wait in waits if wait.has_ended()]
    if ended:
        raise AssertionError("%d others have ended" % len(ended))
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*(wait.end() for wait in waits))
    await asyncio.gather(*(hold.release() for hold in [common, *held]))


async def run_all(pool, count, seed, *sorts):
    """count workloads of these sorts, by turns, with seeds from this one on.
    All are run to their ends; an AssertionError has those that have failed."""
    limit = asyncio.Semaphore(AT_ONCE)
    failures = []

    async def run(workload):
        async with limit:
            try:
                await workload.run()
            except AssertionError as error:
                failures.append("HF_SEED=%d HF_COUNT=1: %s: %s" % (
                    workload.seed, type(workload).__name__, error))
    workloads = [sorts[number % len(sorts)](pool, number)
                 for number in range(seed, seed + count)]
    await asyncio.gather(*(run(workload) for workload in workloads))
    if failures:
        raise AssertionError("\n".join(failures))
    return workloads


