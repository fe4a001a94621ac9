#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Operations on a real ZooKeeper: ours, those of other clients, and what the
server itself takes.

usage: operations.py BUILD [ITERATIONS]

Method and reading are those of zookeeper.py; docs/speed.md says more.  The
processor time of an operation depends less on what else the machine does than
any other figure here."""

import os
import sys

sys.dont_write_bytecode = True

from contest import (  # noqa: E402
    HERE, Contender, curator, interleave, spread, table, print_facts,
    print_load)
from zookeeper import Standalone  # noqa: E402

OPERATIONS = ("get", "set", "create")
COUNT = 500
UNDERWAY = (100, 1000)
COUNT_UNDERWAY = 3000

# Enough for the compiler of the server to have done its work.
WARM_UP = 8000

# Those that wait for a connection; enough for what else the process allocates
# not to count.
WAITING = 50000

BASELINE = "wire"
# Whose versions matter.
PACKAGES = """libzookeeper-java libzookeeper-mt2 libcurator-framework-java
    python3-kazoo openjdk-17-jre-headless libuv1""".split()


def start_contenders(server, build):
    def in_c(key, name, program, *more):
        path = "/bench/" + key
        return Contender(name, [build + "/bench/" + program, str(server.port),
                                path, *more], path)
    return {
        "wire": in_c("wire", "bare wire client", "bench-wire-operations"),
        "holdfast": in_c("holdfast", "holdfast", "bench-holdfast-operations"),
        "official": in_c("official", "official C client",
                         "bench-official-operations"),
        "cached": in_c("cached", "the same, look-ups off",
                       "bench-official-operations", "cached"),
        "curator": Contender("Curator", curator(
            ["-Xmx512m"], server.address(), "/bench/curator"),
            "/bench/curator"),
        "kazoo": Contender("kazoo", [
            "/usr/bin/python3", HERE + "/bench_kazoo.py", server.address(),
            "/bench/kazoo"], "/bench/kazoo"),
    }


def warm_up(contenders):
    for operation in OPERATIONS:
        for name in ("wire", "curator"):
            contenders[name].ask(operation, WARM_UP, UNDERWAY[0])
        for contender in contenders.values():
            contender.ask(operation, COUNT)


def run(contenders, iterations, *words):
    return interleave(iterations, {
        name: lambda c=contender: c.ask(*words)
        for name, contender in contenders.items()})


def quotient(results, name, to, figure):
    """Of a figure, within each iteration."""
    return spread((figure(ours) / figure(theirs) for ours, theirs in
                   zip(results[name], results[to])), 2)


def p50(result):
    return result.p50


def cpu(result):
    return result.cpu


def rate(result):
    return result.rate


def print_blocking(contenders, results, operation):
    table("%s, one after the other, us" % operation,
          ["", "p50", "p99", "CPU", "p50 / wire", "CPU / wire"],
          [[contenders[name].name, spread(r.p50 for r in results[name]),
            spread(r.p99 for r in results[name]),
            spread((r.cpu for r in results[name]), 1),
            quotient(results, name, BASELINE, p50),
            quotient(results, name, BASELINE, cpu)]
           for name in contenders])


def print_underway(contenders, results, operation, underway):
    table("%s, %d under way" % (operation, underway),
          ["", "a second", "CPU us", "a second / wire", "CPU / wire",
           "holdfast: a second", "CPU"],
          [[contenders[name].name, spread(r.rate for r in results[name]),
            spread((r.cpu for r in results[name]), 1),
            quotient(results, name, BASELINE, rate),
            quotient(results, name, BASELINE, cpu),
            quotient(results, "holdfast", name, rate),
            quotient(results, "holdfast", name, cpu)]
           for name in contenders])


def print_memory(contenders):
    """Of many, so that the memory that was freed before counts little."""
    table("An operation that is under way: bytes of memory", ["", "get"],
          [[contenders[name].name, "%.0f" % (
              contenders[name].ask("memory", WAITING).samples[0] * 1000 /
              WAITING)]
           for name in ("holdfast", "cached")])


def measure(server, build, iterations):
    contenders = start_contenders(server, build)
    try:
        with server.client() as session:
            for path in ["/bench"] + [c.path for c in contenders.values()]:
                session.create(path)
        warm_up(contenders)
        for operation in OPERATIONS:
            print_blocking(contenders, run(contenders, iterations, operation,
                                           COUNT), operation)
        for underway in UNDERWAY:
            for operation in OPERATIONS:
                print_underway(contenders,
                               run(contenders, iterations, operation,
                                   COUNT_UNDERWAY, underway),
                               operation, underway)
        print_memory(contenders)
    finally:
        for contender in contenders.values():
            contender.close()


def main():
    build = os.path.abspath(sys.argv[1])
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    print_facts(PACKAGES, iterations)
    # As it comes, but that its data is on tmpfs.
    with Standalone(tick_ms=2000, jvm=[],
                    properties={"zookeeper.forceSync": "yes"}) as server:
        measure(server, build, iterations)
    print_load("ended")


if __name__ == "__main__":
    main()
