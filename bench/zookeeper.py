#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Locks on a real ZooKeeper: ours, those of Curator and kazoo, and what the
server itself takes.

usage: zookeeper.py BUILD [ITERATIONS]

The server has its data in memory and is otherwise as ZooKeeper comes.  Every
contender is a process that lives through the whole run and does its work in
iterations, one contender after the other, in an order that turns; so what else
the machine does falls on all alike.  Figures are medians over iterations, with
the least and the most; a ratio is taken within each iteration.  Read ratios,
not times.  docs/speed.md says more."""

import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "servers"))
sys.dont_write_bytecode = True

import waiting  # noqa: E402
from contest import (  # noqa: E402
    Contender, curator, interleave, ratio, spread, table, print_facts,
    print_load)
from zookeeper import Standalone  # noqa: E402

PAIRS = 1000
HANDOFFS = 500
CONTEST_MS = 1500
CLIENTS = (2, 8, 32)
WAITERS = 1000

# The contender that handoffs and pairs are compared with.
BASELINE = "wire"

# Enough for the compilers of a server and of Curator to have done their work.
WARM_UP_PAIRS = 8000

# Whose versions matter.
PACKAGES = """libzookeeper-java libcurator-recipes-java python3-kazoo
    openjdk-17-jre-headless libuv1""".split()


def start_contenders(server, build):
    return {
        "wire": Contender("bare wire client", [
            build + "/bench/bench-wire", str(server.port), "/bench/wire"]),
        "holdfast": Contender("holdfast", [
            build + "/bench/bench-library",
            "zk://%s?timeout=10s" % server.address(), "bench/holdfast"],
            "/bench/holdfast"),
        "curator": Contender("Curator", curator(
            ["-Xmx512m"], server.address(), "/bench/curator"), "/bench/curator"),
        "kazoo": Contender("kazoo", [
            "/usr/bin/python3", HERE + "/bench_kazoo.py", server.address(),
            "/bench/kazoo"]),
    }


# ---- iterations

def warm_up(contenders):
    for name in ("wire", "curator", "holdfast"):
        contenders[name].ask("pair", WARM_UP_PAIRS)
    contenders["kazoo"].ask("pair", PAIRS)


def run_pairs(contenders, iterations):
    return interleave(iterations, {
        name: lambda c=contender: c.ask("pair", PAIRS)
        for name, contender in contenders.items()})


def run_contests(contenders, iterations, clients):
    works = {name: lambda c=contenders[name]: c.ask("contend", clients,
                                                    CONTEST_MS)
             for name in ("holdfast", "curator")}
    works["wire"] = lambda: contenders["wire"].ask("handoff", HANDOFFS)
    return interleave(iterations, works)


class Drain:
    """One session has WAITERS waiters in one queue, and each that enters
    leaves at once."""

    def __init__(self, server, contender):
        contender.ask("queue", WAITERS)
        with server.client() as session:
            waiting.eventually("all to queue", lambda: len(
                session.children(contender.path) or []) == WAITERS + 1)
        # The last of them set their watches, which are not to be counted.
        time.sleep(0.5)
        before = server.mntr()
        self.result = contender.ask("drain")
        after = server.mntr()
        self.packets_in, self.packets_out = (
            (after[way] - before[way]) / self.result.grants
            for way in ("packets_received", "packets_sent"))


def run_drains(server, contenders, iterations):
    return interleave(iterations, {
        name: lambda c=contenders[name]: Drain(server, c)
        for name in ("holdfast", "curator")})


# ---- what was found

def print_pairs(contenders, results):
    table("One client and nobody else: acquire and release, us",
          ["", "p50", "p99", "CPU", "p50 / baseline"],
          [[contenders[name].name, spread(r.p50 for r in results[name]),
            spread(r.p99 for r in results[name]),
            spread(r.cpu for r in results[name]),
            ratio(results, name, BASELINE)]
           for name in contenders])


def print_contest(contenders, results, clients):
    rows = [[contenders[name].name, spread(r.rate for r in results[name]),
             spread(r.p50 for r in results[name]),
             spread(r.p99 for r in results[name]),
             spread(r.cpu for r in results[name]),
            ratio(results, name, BASELINE)]
            for name in ("holdfast", "curator")]
    baseline = results[BASELINE]
    rows.insert(0, ["delete to event, server idle", "",
                    spread(r.p50 for r in baseline),
                    spread(r.p99 for r in baseline), "",
                    ratio(results, BASELINE, BASELINE)])
    table("%d clients, a session each: handoff, us" % clients,
          ["", "grants/s", "p50", "p99", "CPU per grant", "p50 / baseline"],
          rows)


def print_drains(contenders, results):
    table("%d waiters in one session on one lock: handoff, us" % WAITERS,
          ["", "p50", "p99", "CPU per grant", "packets in / out of the server "
           "per release"],
          [[contenders[name].name, spread(d.result.p50 for d in drains),
            spread(d.result.p99 for d in drains),
            spread(d.result.cpu for d in drains),
            "%.2f / %.2f" % (
                statistics.median(d.packets_in for d in drains),
                statistics.median(d.packets_out for d in drains))]
           for name, drains in results.items()])


def measure(server, build, iterations):
    with server.client() as session:
        for path in ("/bench", "/bench/wire"):
            session.create(path)
    contenders = start_contenders(server, build)
    try:
        warm_up(contenders)
        print_pairs(contenders, run_pairs(contenders, iterations))
        for clients in CLIENTS:
            print_contest(contenders,
                         run_contests(contenders, iterations, clients), clients)
        print_drains(contenders, run_drains(server, contenders, iterations))
    finally:
        for contender in contenders.values():
            contender.close()


def main():
    build = os.path.abspath(sys.argv[1])
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print_facts(PACKAGES, iterations)
    # As it comes, but that its data is on tmpfs.
    with Standalone(tick_ms=2000, jvm=[],
                    properties={"zookeeper.forceSync": "yes"}) as server:
        measure(server, build, iterations)
    print_load("ended")


if __name__ == "__main__":
    main()
