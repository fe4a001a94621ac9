# SPDX-License-Identifier: Apache-2.0
"""Runs processes of owners.c, each with many owners of locks, for workloads
that run beside each other as coroutines.

    processes = [Owners([PROGRAM, url]) for _ in range(4)]
    async with Pool(url, processes, HOLDFAST) as pool:
        one, other = pool.owners(2, random)  # in two processes
        held = await one.hold("a:m")
        wait = one.acquire("b:m", detects=True)
        await wait.queued()
        status, text = await wait.end()     # "granted", or as HF_ETIMEDOUT
        await held.release()
"""

import asyncio
import itertools
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402

ACQUIRES_MAX = 65536  # as in owners.c


class Acquire:
    """One acquire, and the grant that it ends with."""

    def __init__(self, owners, number, text):
        self.owners = owners
        self.number = number
        self.text = text
        self.events = []
        self.changed = asyncio.Event()

    def add(self, event):
        self.events.append(event)
        self.changed.set()

    def find(self, *kinds):
        """The words of the first event of these kinds; None if there is
        none."""
        return next((event for event in self.events if event[0] in kinds), None)

    async def until(self, *kinds):
        """Wait for an event of these kinds, and return its words."""
        async def found():
            while not (event := self.find(*kinds)):
                self.changed.clear()
                await self.changed.wait()
            return event
        try:
            return await asyncio.wait_for(found(), waiting.LIMIT_S)
        except asyncio.TimeoutError:
            raise AssertionError("waited in vain for '%s' of: %s; events: %s; "
                                 "process: %s" % (
                                     " or ".join(kinds), self.text, self.events,
                                     waiting.end_of(self.owners))) from None

    async def queued(self):
        return await self.until("waits", "granted", "ended")

    async def end(self):
        """("granted", ""), or the status without a grant and its text."""
        event = await self.until("granted", "ended")
        return ("granted", "") if event[0] == "granted" else (
            event[1], " ".join(event[2:]))

    def has_ended(self):
        return self.find("granted", "ended") is not None

    def cancel(self):
        self.owners.say("cancel %d" % self.number)

    async def release(self):
        self.owners.say("release %d" % self.number)
        await self.until("released")


class Owner:
    """One owner in one of the processes."""

    def __init__(self, owners, number):
        self.owners = owners
        self.number = number
        self.pid = owners.pid

    def acquire(self, *locks, detects=False, wait_ms=-1):
        return self.owners.acquire(self.number, locks, detects, wait_ms)

    async def hold(self, *locks):
        """The grant of an acquire that is expected to be granted."""
        acquire = self.acquire(*locks)
        status, text = await acquire.end()
        if status != "granted":
            raise AssertionError("%s: %s %s" % (acquire.text, status, text))
        return acquire


class Owners:
    """One process of owners.c, or of a program that does the same."""

    def __init__(self, arguments):
        self.process = machine.Process(arguments, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
        self.popen = self.process.popen
        self.pid = self.process.pid
        self.numbers = itertools.count(1)
        self.acquires = {}
        self.ready = asyncio.Event()

    async def start(self):
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self.popen.stdout)
        self.task = asyncio.create_task(self.read(reader))
        await asyncio.wait_for(self.ready.wait(), waiting.LIMIT_S)

    async def read(self, reader):
        while line := (await reader.readline()).decode():
            first, *words = line.split()
            if first == "ready":
                self.ready.set()
            else:
                self.acquires[int(first)].add(words)

    def say(self, line):
        self.popen.stdin.write(line.encode() + b"\n")
        self.popen.stdin.flush()

    def owner(self):
        return Owner(self, next(self.numbers))

    def acquire(self, owner, locks, detects, wait_ms):
        number = next(self.numbers) % ACQUIRES_MAX
        line = "%d %d %d %s %s" % (number, owner, wait_ms,
                                   "detect" if detects else "plain",
                                   " ".join(locks))
        self.acquires[number] = acquire = Acquire(self, number, line)
        self.say("acquire " + line)
        return acquire

    def kill(self):
        self.process.kill()
        self.popen.stdin.close()


class Pool:
    """Processes of owners.c, in .all, and beside them those of other programs,
    in .others.  With the paths of the tool and of the program threads.c."""

    def __init__(self, url, owners, holdfast, threads=None, others=()):
        self.url = url
        self.all = owners
        self.others = others
        self.holdfast = holdfast
        self.threads = threads

    async def __aenter__(self):
        for owners in [*self.all, *self.others]:
            await owners.start()
        return self

    async def __aexit__(self, kind, *_):
        for owners in [*self.all, *self.others]:
            if kind is None:
                owners.popen.stdin.close()
                await asyncio.wait_for(owners.task, waiting.LIMIT_S)
                status = owners.popen.wait(waiting.LIMIT_S)
                if status != 0:
                    raise AssertionError(waiting.end_of(owners))
            owners.kill()

    def owners(self, count, random):
        """New owners in as many processes."""
        return [owners.owner() for owners in random.sample(self.all, count)]
