#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of many locks and of many waiters, compared with few.

usage: scale.py BUILD file|zookeeper|postgres
                [LOCKS [WAITERS [SESSIONS [HOLDS]]]]

LOCKS, WAITERS and SESSIONS are numbers with "," between them, the least first;
HOLDS is how many milliseconds a waiter holds that was granted.
The server has its data in memory and a heap of 512 MB.  All is measured in one
run, one thing after the other: read the ratios, not the times.  docs/speed.md
says more.
"""

import contextlib
import os
import resource
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "servers"))
sys.dont_write_bytecode = True

import machine  # noqa: E402
import postgres  # noqa: E402
import waiting  # noqa: E402
from contest import Contender, table, print_facts, print_load  # noqa: E402
from zookeeper import Standalone  # noqa: E402

LOCKS = "100,10000,100000"
WAITERS = "10,1000,10000"
SESSIONS = "1,100,1000"
HOLDS = "0,20"
HELD = 200  # so many hold, and then the others leave at once
# Each session keeps a list of the queue: more than that is not tried.
LISTED_MAX = 1000000
UNDERWAY = 100
PAIRS = 500
# A session must outlast the filling of the longest queue.
TIMEOUT = "40s"
LISTS = 50
CALLS = 200

PACKAGES = "libzookeeper-java openjdk-17-jre-headless libuv1".split()


class Ours(Contender):
    """bench-scale, whose answers are words and numbers by turns."""

    def __init__(self, build, url, before=()):
        super().__init__("holdfast", [
            *before, build + "/bench/bench-scale", url, "bench/scale"])

    def ask(self, *words):
        popen = self.process.popen
        popen.stdin.write(" ".join(map(str, words)) + "\n")
        popen.stdin.flush()
        said = popen.stdout.readline().split()
        if not said:
            raise RuntimeError("asked to %s, but %s" % (
                words, waiting.end_soon_of(popen)))
        return dict(zip(said[::2], map(int, said[1::2])))


@contextlib.contextmanager
def file_engine(_build):
    with machine.temporary("bench", on_disk=False) as top:
        yield "file:%s/locks?state=%s/state" % (top, top), None


@contextlib.contextmanager
def zookeeper_engine(build):
    with Standalone(tick_ms=2000, jvm=["-Xmx512m"],
                    properties={"zookeeper.forceSync": "yes"}) as server:
        with server.client() as session:
            for path in ("/bench", "/bench/wire"):
                session.create(path)
        yield ("zk://%s?timeout=%s" % (server.address(), TIMEOUT),
               [build + "/bench/bench-wire", str(server.port), "/bench/wire"])


@contextlib.contextmanager
def postgres_engine(_build):
    with postgres.Server() as server:
        yield server.url() + "?ttl=" + TIMEOUT, None


# ---- what is measured

@contextlib.contextmanager
def ours(build, url, before=()):
    contender = Ours(build, url, before)
    try:
        yield contender
    finally:
        contender.close()


class Locks:
    """COUNT locks through one client: names that are new, then the same again;
    what each takes of memory, and a pair beside them while they are idle."""

    def __init__(self, build, url, baseline, count):
        self.count = count
        self.baseline = (baseline.ask("locks", count, UNDERWAY) if baseline
                         else None)
        with ours(build, url) as contender:
            contender.ask("pair", PAIRS)
            self.fresh = contender.ask("hold", count, UNDERWAY)
            self.beside = contender.ask("pair", PAIRS)
            contender.ask("give", UNDERWAY)
            self.known = contender.ask("hold", count, UNDERWAY)
            self.given = contender.ask("give", UNDERWAY)

    def rate(self, what):
        return self.count * 1e6 / getattr(self, what)["us"]

    def to_baseline(self, what):
        if self.baseline is None:
            return "-"
        return "%.2f" % (self.rate(what) / self.baseline.rate)

    def row(self, few):
        cpu = self.beside["cpu"] / PAIRS
        return ["%d" % self.count, "%.0f" % self.rate("fresh"),
                self.to_baseline("fresh"), "%.0f" % self.rate("known"),
                self.to_baseline("known"), "%.0f" % self.rate("given"),
                "%.0f" % (self.fresh["cpu"] / self.count),
                "%.0f" % (self.fresh["bytes"] / self.count),
                "%.0f" % (self.beside["us"] / PAIRS), "%.0f" % cpu,
                "%.2f" % (cpu / max(few.beside["cpu"] / PAIRS, 0.001))]


class Waiters:
    """COUNT waiters for one lock.  Each leaves as soon as it enters; or the
    first HELD of them hold for HOLD ms, and those alone are looked at."""

    def __init__(self, build, url, baseline, count, sessions, hold):
        self.count, self.sessions, self.hold = count, sessions, hold
        self.baseline = self.list = None
        self.entered = min(HELD, count) if hold else count
        held = [self.entered, hold * 1000] if hold else []
        if baseline:
            self.baseline = baseline.ask("handoff", PAIRS, *held[1:]).p50
            self.list = baseline.ask("list", LISTS, count).p50
        with ours(build, url) as contender:
            self.filled = contender.ask("fill", count, sessions)
            self.drained = contender.ask("drain", *held)

    @property
    def p50(self):
        return self.drained["p50_ns"] / 1000

    def is_like(self, other):
        return (self.sessions, self.hold) == (other.sessions, other.hold)

    def row(self, few):
        return ["%d" % self.count, "%d" % self.sessions, "%d" % self.hold,
                "%.2f" % (self.filled["us"] / 1e6),
                "%.0f" % (self.filled["bytes"] / self.count),
                "%.0f" % (self.list) if self.list else "-",
                "%.0f" % (self.drained["first"]), "%.0f" % self.p50,
                "%.0f" % (self.drained["mean_ns"] / 1000),
                "%.2f" % (self.p50 / self.baseline) if self.baseline else "-",
                "%.2f" % (self.p50 / few.p50),
                "%.0f" % (self.drained["cpu"] / self.entered),
                "%.1f" % (self.drained["switches"] / self.entered)]


def calls(build, url, *requests):
    """System calls of a process that is asked this, as strace(1) counts them;
    None where that is not installed, or may not trace."""
    with tempfile.NamedTemporaryFile("r") as output:
        try:
            with ours(build, url, ("strace", "-f", "-qq", "-c", "-o",
                                   output.name)) as contender:
                for request in requests:
                    contender.ask(*request)
        except (OSError, RuntimeError):
            return None
        total = [line.split() for line in output if line.rstrip()
                 .endswith(" total")]
    return int(total[0][3]) if total else None


def calls_of_one(build, url, few, many, times):
    least, most = calls(build, url, *few), calls(build, url, *many)
    if least is None or most is None:
        return "-"
    return "%.1f" % ((most - least) / times)


# ---- output

def numbers(text):
    return [int(number) for number in text.split(",")]


def print_locks(results):
    table("Locks of one client, %d under way" % UNDERWAY, [
        "locks", "new names/s", "/ wire", "known names/s", "/ wire",
        "released/s", "CPU us, new", "bytes each", "pair beside, us",
        "CPU us", "/ fewest"], [r.row(results[0]) for r in results])


def print_waiters(results):
    table("Waiters for one lock: handoff", [
        "waiters", "sessions", "held ms", "queued after s", "bytes each",
        "a list us", "first us", "p50 us", "mean us", "p50 / delete to event",
        "/ fewest", "CPU us", "switches"],
          [r.row(next(few for few in results if few.is_like(r)))
           for r in results])


def print_calls(build, url):
    table("System calls", ["", "each"], [
        ["a pair", calls_of_one(build, url, [("pair", CALLS)],
                                [("pair", 2 * CALLS)], CALLS)],
        ["a waiter of one session, queued and handed to", calls_of_one(
            build, url, [("fill", CALLS, 1), ("drain",)],
            [("fill", 2 * CALLS, 1), ("drain",)], CALLS)]])


ENGINES = {"file": file_engine, "zookeeper": zookeeper_engine,
           "postgres": postgres_engine}


def measure(build, engine, locks, waiters, sessions, holds):
    with ENGINES[engine](build) as (url, wire):
        baseline = Contender("wire", wire) if wire else None
        try:
            print_locks([Locks(build, url, baseline, n) for n in locks])
            print_waiters([Waiters(build, url, baseline, n, s, hold)
                           for hold in holds for s in sessions
                           for n in waiters if s <= n <= LISTED_MAX / s])
            print_calls(build, url)
        finally:
            if baseline:
                baseline.close()


def main():
    build, engine, *wanted = sys.argv[1:]
    defaults = [LOCKS, WAITERS, SESSIONS, HOLDS]
    wanted += defaults[len(wanted):]
    # A session has a few descriptors.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print_facts(PACKAGES, 1)
    measure(os.path.abspath(build), engine, *map(numbers, wanted))
    print_load("ended")


if __name__ == "__main__":
    main()
