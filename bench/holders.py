#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How many sessions that hold a lock, and do nothing else, a ZooKeeper carries
before it takes twice as long for others.

usage: holders.py BUILD [COUNTS]

COUNTS are numbers of sessions with "," between them, the least first.  They
have a timeout of 2 s instead of 10 s, so that a fifth of them costs the server
as much.  docs/speed.md says more.
"""

import os
import re
import resource
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "servers"))
sys.dont_write_bytecode = True

import waiting  # noqa: E402
from contest import (  # noqa: E402
    Contender, curator, table, print_facts, print_load)
from zookeeper import Standalone  # noqa: E402

COUNTS = "100,400"
TIMEOUT_MS = 2000
SCALE = 10000 // TIMEOUT_MS
PAIRS = 1000
WARM_UP_PAIRS = 8000
# For so long the server is measured while the sessions hold.
LOOK_S = 3

PACKAGES = """libzookeeper-java libcurator-recipes-java openjdk-17-jre-headless
    libuv1""".split()


def start_contenders(server, build):
    url = "zk://%s?timeout=%dms&proof=" % (server.address(), TIMEOUT_MS)
    return [
        Contender("holdfast", [build + "/bench/bench-hold", url + "eager",
                               "bench/eager"]),
        Contender("holdfast, proof=lazy", [
            build + "/bench/bench-hold", url + "lazy", "bench/lazy"]),
        Contender("Curator", curator(
            ["-Xmx1g", "-Xss256k"], server.address(), "/bench/curator",
            str(TIMEOUT_MS))),
    ]


def transactions(server):
    return int(re.search(r"^Zxid: 0x([0-9a-f]+)$", server.four_letters("srvr"),
                         re.MULTILINE).group(1), 16)


def processor_s(server):
    """Of the server, so far."""
    with open("/proc/%d/stat" % server.process.pid) as stat:
        fields = stat.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


class Look:
    """COUNT sessions hold: what that costs the server, and a pair of another
    session's on the bare wire."""

    def __init__(self, server, baseline, count):
        self.count = count
        before = transactions(server), processor_s(server), time.monotonic()
        time.sleep(LOOK_S)
        passed = time.monotonic() - before[2]
        self.transactions = (transactions(server) - before[0]) / passed
        self.processor = (processor_s(server) - before[1]) / passed
        self.pair = baseline.ask("pair", PAIRS).p50


def look_at(server, baseline, contender, counts):
    """A look at none, and at each of counts."""
    looks = [Look(server, baseline, 0)]
    for count in counts:
        contender.ask("hold", count - looks[-1].count)
        looks.append(Look(server, baseline, count))
    contender.close()
    waiting.eventually("their sessions to end", lambda: server.mntr()[
        "ephemerals_count"] == 0, 60)
    return looks


def doubles_at(looks):
    """At how many sessions, by a line between two looks, at the timeout of
    10 s."""
    for few, many in zip(looks, looks[1:]):
        if many.pair >= 2 * looks[0].pair:
            part = (2 * looks[0].pair - few.pair) / (many.pair - few.pair)
            return "%.0f" % (SCALE * (few.count
                                      + part * (many.count - few.count)))
    return "> %d" % (SCALE * looks[-1].count)


def print_looks(name, looks):
    table("%s, timeout %d s" % (name, TIMEOUT_MS // 1000), [
        "sessions that hold", "as of 10 s", "transactions/s",
        "server's CPU ms/s", "pair beside, us", "/ none"],
          [[str(look.count), str(SCALE * look.count),
            "%.0f" % look.transactions, "%.0f" % (1000 * look.processor),
            "%.0f" % look.pair, "%.2f" % (look.pair / looks[0].pair)]
           for look in looks])


def look_at_all(server, baseline, contenders, counts):
    results = {}
    for contender in contenders:
        results[contender.name] = look_at(server, baseline, contender, counts)
        print_looks(contender.name, results[contender.name])
    table("A pair beside them takes twice as long", [
        "", "at so many sessions of 10 s"],
          [[name, doubles_at(looks)] for name, looks in results.items()])


def measure(server, build, counts):
    with server.client() as session:
        for path in ("/bench", "/bench/wire"):
            session.create(path)
    baseline = Contender("bare wire client", [
        build + "/bench/bench-wire", str(server.port), "/bench/wire"])
    contenders = start_contenders(server, build)
    try:
        baseline.ask("pair", WARM_UP_PAIRS)
        look_at_all(server, baseline, contenders, counts)
    finally:
        for contender in [baseline, *contenders]:
            contender.close()


def main():
    build, *wanted = sys.argv[1:]
    counts = list(map(int, (wanted or [COUNTS])[0].split(",")))
    # A few descriptors for each session.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print_facts(PACKAGES, 1)
    # The server must not remove containers of closed sessions meanwhile.
    with Standalone(tick_ms=TIMEOUT_MS // 4, jvm=["-Xmx512m"],
                    container_check_ms=3600000,
                    properties={"zookeeper.forceSync": "yes"}) as server:
        measure(server, os.path.abspath(build), counts)
    print_load("ended")


if __name__ == "__main__":
    main()
