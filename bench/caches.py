#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A cache of 100,000 nodes of a real ZooKeeper, ours and Curator's: what it
takes to fill it, and to be current again after an outage.

usage: caches.py BUILD [ITERATIONS]

Method and reading are those of zookeeper.py.  Each client is connected through
a proxy of its own, which counts bytes.  An outage begins with a reset of the
connection.  The proxy accepts the next one, but hands nothing on until the
outage ends, and from then on the time is taken: so the pauses between attempts
to connect are not in it.  docs/speed.md says more."""

import os
import sys

sys.dont_write_bytecode = True

from contest import (  # noqa: E402
    Contender, curator, interleave, spread, table, print_facts, print_load)

import jute  # noqa: E402
import waiting  # noqa: E402
from proxy import UP, Proxy  # noqa: E402
from zookeeper import Standalone  # noqa: E402

ROOT = "/bench"
FOLDERS = 100
LEAVES = 1000
BYTES = 100
# CuratorCache before 5.6 reads a whole level at once, and does not read those
# nodes of it that are beyond 65,535 (CURATOR-690).  So there are some levels.
LEVELS = 4
NODES = LEVELS + FOLDERS + FOLDERS * LEAVES
# Of each folder these many change: 1 % of all.
CHANGED = 10

# So many in a transaction.
TOGETHER = 100

# Whose versions matter.
PACKAGES = """libzookeeper-java libcurator-recipes-java
    openjdk-17-jre-headless libuv1""".split()


# ---- nodes

def levels():
    """The nodes that folders are in."""
    return [ROOT + "/deeper" * i for i in range(LEVELS)]


def folders():
    return ["%s/folder-%02d" % (levels()[i % LEVELS], i)
            for i in range(FOLDERS)]


def leaves(folder, count):
    """This many of them, evenly spread."""
    return ["%s/node-%03d" % (folder, i)
            for i in range(0, LEAVES, LEAVES // count)]


def write(session, op, paths, content, tail):
    """Create nodes, or set their data."""
    for at in range(0, len(paths), TOGETHER):
        session.multi(op, [tail(jute.Writer().string(path).buffer(content))
                           for path in paths[at:at + TOGETHER]])


def create_all(session):
    paths = levels() + folders()
    for folder in folders():
        paths += leaves(folder, LEAVES)
    write(session, "create", paths, b"0" * BYTES, lambda writer:
          writer.acls(jute.ANYONE).int(jute.PERSISTENT))


def change_some(session):
    """Their versions change; their data need not."""
    write(session, "setData",
          [path for folder in folders() for path in leaves(folder, CHANGED)],
          b"1" * BYTES, lambda writer: writer.int(-1))


# ---- contenders

class Cache:
    """A contender behind a proxy."""

    def __init__(self, server, name, command):
        self.name = name
        self.server = server
        self.proxy = Proxy(server.port)
        self.contender = Contender(name, command(self.proxy.port))

    def ask(self, *words, meanwhile=None):
        """The answer, with the bytes of the link as .link."""
        before = self.link()
        result = self.contender.ask(*words, meanwhile=meanwhile)
        result.link = self.link() - before
        if result.grants != NODES:
            raise SystemExit("%s has %d nodes of %d after %s" % (
                self.name, result.grants, NODES, words[0]))
        return result

    def link(self):
        return sum(self.proxy.bytes.values())

    def memory(self):
        return self.contender.ask("memory").samples[0] * 1000

    def fill(self):
        before = self.memory()
        result = self.ask("fill")
        result.memory = self.memory() - before
        return result

    def outage(self, change=None):
        """Until it is current again."""
        self.proxy.hold()
        self.proxy.cut()
        waiting.eventually("%s to connect again" % self.name,
                           lambda: self.proxy.waiting(UP))
        if change:
            with self.server.client() as session:
                change(session)
        return self.ask("resync", FOLDERS * CHANGED if change else 0,
                        meanwhile=self.proxy.thaw)

    def iteration(self):
        results = {
            "fill": self.fill(),
            "nothing": self.outage(),
            "some": self.outage(change_some),
        }
        self.contender.ask("free")
        return results

    def close(self):
        self.contender.close()
        self.proxy.close()


def start_contenders(server, build):
    return {
        "holdfast": Cache(server, "holdfast", lambda port: [
            build + "/bench/bench-holdfast-cache", str(port), ROOT]),
        "curator": Cache(server, "Curator", lambda port: curator(
            ["-Xmx2g"], "127.0.0.1:%d" % port, ROOT, "30000")),
    }


# ---- what was found

def quotient(results, name, part, figure):
    """Of ours, within each iteration."""
    return spread((figure(theirs[part]) / figure(ours[part]) for theirs, ours
                   in zip(results[name], results["holdfast"])), 2)


def print_part(title, contenders, results, part, heads=(), more=lambda r: ()):
    table(title, ["", "s", "CPU s", "MB of the link", *heads,
                  "s / holdfast", "CPU / holdfast"],
          [[contenders[name].name,
            spread((r[part].seconds for r in rows), 2),
            spread((r[part].cpu * NODES / 1e6 for r in rows), 2),
            spread((r[part].link / 1e6 for r in rows), 1),
            *more([r[part] for r in rows]),
            quotient(results, name, part, lambda r: r.seconds),
            quotient(results, name, part, lambda r: r.cpu)]
           for name, rows in results.items()])


def print_results(contenders, results):
    print_part("Filling it", contenders, results, "fill",
               ["bytes of memory a node"], lambda rows: [
                   spread(r.memory / NODES for r in rows)])
    print_part("Current again, nothing was changed", contenders, results,
               "nothing")
    print_part("Current again, 1 % of the nodes was changed", contenders,
               results, "some", ["s until these were seen"], lambda rows: [
                   spread((r.samples[0] / 1e6 for r in rows), 2)])


def measure(server, build, iterations):
    with server.client() as session:
        create_all(session)
    contenders = start_contenders(server, build)
    works = {name: cache.iteration for name, cache in contenders.items()}
    try:
        interleave(1, works)  # compilers do their work
        print_results(contenders, interleave(iterations, works))
    finally:
        for cache in contenders.values():
            cache.close()


def main():
    build = os.path.abspath(sys.argv[1])
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    print_facts(PACKAGES, iterations)
    # As it comes, but that its data is on tmpfs.
    with Standalone(tick_ms=2000, jvm=[],
                    properties={"zookeeper.forceSync": "yes"}) as server:
        measure(server, build, iterations)
    print_load("ended")


if __name__ == "__main__":
    main()
