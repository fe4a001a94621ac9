#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Locks on a real Redis, a real PostgreSQL and a real etcd: ours, what programs
use there otherwise, and what the server itself takes.

usage: leased.py redis|postgres|etcd BUILD [ITERATIONS]

The server keeps its data in memory (files, if any, on tmpfs) and is otherwise
as it comes.  Method and reading are those of zookeeper.py; docs/speed.md says
more.
"""

import os
import sys

sys.dont_write_bytecode = True

from contest import (  # noqa: E402
    HERE, Contender, interleave, ratio, spread, table, print_facts,
    print_load)
import etcd  # noqa: E402
import postgres  # noqa: E402
import redis_server  # noqa: E402

PAIRS = 1000
WARM_UP_PAIRS = 500
PROCESSES = 30
HANDOFFS = 500
PAUSED_HANDOFFS = 100
PAUSE_MS = 20  # a waiter is in the queue then, and has its watches
CONTEST_MS = 1500
CLIENTS = (2, 8, 50)


def library(build, url):
    return Contender("holdfast", [
        build + "/bench/bench-library", url, "bench"])


class Redis:
    """Contenders by name, the baseline of pairs, and those that contend.  A
    bare client differs from the next in one thing only."""

    packages = "redis-tools python3-redis libhiredis0.14 libuv1".split()
    baseline = "SET and script, epoll"
    notice = "PUBLISH to message, server idle"
    rivals = ("holdfast", "redis-py Lock")

    def server(self):
        return redis_server.Server()

    def contenders(self, build, server):
        port = str(server.port)
        bare = Contender(self.baseline, [
            build + "/bench/bench-bare-redis", port])
        ours = library(build, server.url(options="?ttl=10s"))
        theirs = Contender("redis-py Lock", [
            "/usr/bin/python3", HERE + "/bench_redis_py.py", port, "bench"])
        return [bare, ours, theirs], {
            "SET and DEL, blocking": lambda: bare.ask("pair", PAIRS),
            "SET and script, blocking": lambda: bare.ask("script", PAIRS),
            self.baseline: lambda: bare.ask("polled", PAIRS),
            "SET and script, a thread": lambda: bare.ask("handed", PAIRS),
            "holdfast": lambda: ours.ask("pair", PAIRS),
            "redis-py Lock": lambda: theirs.ask("pair", PAIRS)}


class Postgres:
    packages = "postgresql-15 libpq5 libuv1".split()
    baseline = "INSERT and DELETE, bare"
    notice = "DELETE, notice, INSERT, bare"
    rivals = ("holdfast", "pg_advisory_lock")

    def server(self):
        return postgres.Server()

    def contenders(self, build, server):
        server.sql("CREATE TABLE bench_bare (number bigint PRIMARY KEY)")
        bare = Contender(self.baseline, [
            build + "/bench/bench-bare-postgres", server.address()])
        ours = library(build, server.url() + "?ttl=10s")
        theirs = Contender("pg_advisory_lock", [
            build + "/bench/bench-bare-postgres", server.address()])
        return [bare, ours, theirs], {
            "two SELECT 1, bare": lambda: bare.ask("pair", PAIRS),
            self.baseline: lambda: bare.ask("commit", PAIRS),
            "holdfast": lambda: ours.ask("pair", PAIRS),
            "pg_advisory_lock": lambda: theirs.ask("advisory", PAIRS)}


class Etcd:
    """One member, whose data is in memory.  etcdctl is a process for each
    lock."""

    packages = """etcd-server etcd-client golang-go golang-etcd-server-dev
        libnghttp2-14 libuv1""".split()
    baseline = "the two transactions, bare"
    notice = "deletion to event, bare"
    rivals = ("holdfast", "Go's Mutex")

    def server(self):
        return etcd.Server()

    def contenders(self, build, server):
        bare = Contender(self.baseline, [
            build + "/bench/bench-bare-etcd", server.host.address,
            str(server.port)])
        ours = library(build, "etcd://%s/bench?ttl=10s" % server.address())
        theirs = Contender("Go's Mutex", [
            build + "/bench/bench_etcd_go", server.address(), "go"])
        process = Contender("etcdctl lock", [
            "/usr/bin/python3", HERE + "/bench_etcdctl.py", server.address(),
            "etcdctl"])
        return [bare, ours, theirs, process], {
            self.baseline: lambda: bare.ask("pair", PAIRS),
            "a proof, bare": lambda: bare.ask("prove", PAIRS),
            "holdfast": lambda: ours.ask("pair", PAIRS),
            "Go's Mutex": lambda: theirs.ask("pair", PAIRS),
            "etcdctl lock": lambda: process.ask("pair", PROCESSES)}


# ---- what was found

def print_pairs(kind, results):
    table("One client and nobody else: acquire and release, us",
          ["", "p50", "p99", "CPU", "p50 / baseline"],
          [[name, spread(r.p50 for r in iterations),
            spread(r.p99 for r in iterations),
            spread(r.cpu for r in iterations),
            ratio(results, name, kind.baseline)]
           for name, iterations in results.items()])


def print_handoffs(kind, results):
    table("Released while another client waits: handoff, us",
          ["", "p50", "p99", "p50 / baseline"],
          [[name, spread(r.p50 for r in iterations),
            spread(r.p99 for r in iterations),
            ratio(results, name, kind.notice)]
           for name, iterations in results.items()])


def print_contest(kind, results, clients):
    table("%d clients, a session each: handoff, us" % clients,
          ["", "grants/s", "p50", "p99", "CPU per grant", "p50 / baseline"],
          [[name, "" if name == kind.notice else
            spread(r.rate for r in iterations),
            spread(r.p50 for r in iterations),
            spread(r.p99 for r in iterations),
            "" if name == kind.notice else spread(r.cpu for r in iterations),
            ratio(results, name, kind.notice)]
           for name, iterations in results.items()])


def measure(kind, server, build, iterations):
    (bare, *rivals), pairs = kind.contenders(build, server)
    try:
        for contender in (bare, rivals[0]):
            contender.ask("pair", WARM_UP_PAIRS)
        print_pairs(kind, interleave(iterations, pairs))
        print_handoffs(kind, interleave(iterations, {
            kind.notice: lambda: bare.ask("handoff", PAUSED_HANDOFFS,
                                          PAUSE_MS),
            "holdfast": lambda: rivals[0].ask("handoff", PAUSED_HANDOFFS,
                                              PAUSE_MS)}))
        for clients in CLIENTS:
            works = {kind.notice: lambda: bare.ask("handoff", HANDOFFS)}
            for name, rival in zip(kind.rivals, rivals):
                works[name] = lambda r=rival: r.ask("contend", clients,
                                                    CONTEST_MS)
            print_contest(kind, interleave(iterations, works), clients)
    finally:
        for contender in (bare, *rivals):
            contender.close()


def main():
    kind = {"redis": Redis, "postgres": Postgres, "etcd": Etcd}[sys.argv[1]]()
    build = os.path.abspath(sys.argv[2])
    iterations = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    print_facts(kind.packages, iterations)
    with kind.server() as server:
        measure(kind, server, build, iterations)
    print_load("ended")


if __name__ == "__main__":
    main()
