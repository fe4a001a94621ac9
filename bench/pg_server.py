#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The processor time that a PostgreSQL server spends on the calls of a lock,
without the time of the clients.

usage: pg_server.py [-r ITERATIONS] [-p PAIRS] NAME=FOLDER...

Each FOLDER has the SQL of one version of the schema (src/engines/postgres/sql,
or the same of another commit); all are on one server, and take turns, in an
order that changes, too.  A figure is the median over iterations in
microseconds, with the least and the most.

baseline INSERT and DELETE of a row with one key, each committed
pair     an acquire and a release of a lock that nobody else wants
behind   the same behind somebody else's ticket: mutex, reader, permit
handoff  a release that somebody waits for, the question of the next one, and an
         acquire behind that one
"""

import argparse
import ctypes
import os
import re
import sys
import uuid

sys.dont_write_bytecode = True

from contest import (  # noqa: E402
    HERE, interleave, spread, table, print_facts, print_load)

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "postgres"))

import postgres  # noqa: E402
import schema  # noqa: E402
from schema import LEASE, MUTEX, NEVER_MS, READ  # noqa: E402

WARM_UP = 100
TTL_MS = 600000
BASELINE = """
    PREPARE bare_insert (bigint) AS INSERT INTO public.bare VALUES ($1);
    PREPARE bare_delete (bigint) AS DELETE FROM public.bare WHERE number = $1;
"""
# As a client prepares them; FUNCTIONS is the schema of the version.
CALLS = """
    PREPARE hf_enqueue (uuid, bigint, bigint, bytea, uuid, integer, integer,
                        bytea)
    AS SELECT * FROM FUNCTIONS.enqueue($1, $2, $3, $4, $5, $6, $7, $8);
    PREPARE hf_remove (uuid, bigint, bytea, uuid)
    AS SELECT * FROM FUNCTIONS.remove($1, $2, $3, $4);
    PREPARE hf_list_ahead (bytea, uuid, boolean)
    AS SELECT * FROM FUNCTIONS.list_ahead($1, $2, $3);
"""
PGRES_COMMAND_OK, PGRES_TUPLES_OK = 1, 2


def library():
    """libpq's, with what its functions return: psycopg2 has no calls of
    prepared statements, and its EXECUTE is parsed each time."""
    pq = ctypes.CDLL("libpq.so.5")
    for name in ("PQconnectdb", "PQexec", "PQexecPrepared", "PQnotifies"):
        getattr(pq, name).restype = ctypes.c_void_p
    for name in ("PQerrorMessage", "PQgetvalue"):
        getattr(pq, name).restype = ctypes.c_char_p
    return pq


class Client:
    """A connection with a session of its own, and the process that serves
    it."""

    pq = library()

    def __init__(self, server, database, functions):
        self.id = str(uuid.uuid4())
        self.connection = ctypes.c_void_p(self.pq.PQconnectdb(
            server.address(database).encode()))
        for text in (schema.settings() + BASELINE +
                     CALLS.replace("FUNCTIONS", functions),
                     'LISTEN "holdfast_%s"' % self.id.replace("-", "")):
            self.take(self.pq.PQexec(self.connection, text.encode()))
        self.pid = self.pq.PQbackendPID(self.connection)

    def take(self, result):
        result = ctypes.c_void_p(result)
        if self.pq.PQresultStatus(result) not in (PGRES_COMMAND_OK,
                                                  PGRES_TUPLES_OK):
            raise SystemExit(self.pq.PQerrorMessage(self.connection).decode())
        self.pq.PQclear(result)

    def call(self, statement, *arguments):
        values = (ctypes.c_char_p * len(arguments))(
            *[str(argument).encode() for argument in arguments])
        self.take(self.pq.PQexecPrepared(
            self.connection, statement.encode(), len(arguments), values, None,
            None, 0))

    def enqueue(self, queue, kind):
        ticket = str(uuid.uuid4())
        self.call("hf_enqueue", self.id, TTL_MS, NEVER_MS, queue, ticket, kind,
                  1, "me")
        return ticket

    def remove(self, queue, ticket):
        self.call("hf_remove", self.id, NEVER_MS, queue, ticket)

    def forget_notices(self):
        while True:
            notice = self.pq.PQnotifies(self.connection)
            if not notice:
                return
            self.pq.PQfreemem(ctypes.c_void_p(notice))

    def cpu_ns(self):
        with open("/proc/%d/schedstat" % self.pid) as file:
            return int(file.read().split()[0])


class Version:
    """A database with one version of the schema, and two clients of it."""

    def __init__(self, server, name, folder):
        server.sql('CREATE DATABASE "%s"' % name)
        functions, = set(re.findall(r"holdfast_\d+\b",
                                    schema.file("acquire_release.sql", folder)))
        server.sql("".join(schema.file(file, folder)
                           for file in schema.FILES) +
                   "CREATE TABLE public.bare (number bigint PRIMARY KEY)",
                   database=name)
        self.one, self.two = (Client(server, name, functions)
                              for _ in range(2))

    def baseline(self, pairs):
        for _ in range(pairs):
            self.one.call("bare_insert", 1)
            self.one.call("bare_delete", 1)

    def pairs(self, pairs, queue="pair", kind=MUTEX):
        for _ in range(pairs):
            self.one.remove(queue, self.one.enqueue(queue, kind))

    def behind(self, pairs, kind):
        queue = "behind-%d" % kind
        ticket = self.two.enqueue(queue, kind)
        self.pairs(pairs, queue, kind)
        self.two.remove(queue, ticket)

    def handoffs(self, pairs):
        holder, waiter, queue = self.one, self.two, "handoff"
        held = holder.enqueue(queue, MUTEX)
        waiting = waiter.enqueue(queue, MUTEX)
        for _ in range(pairs):
            holder.remove(queue, held)
            waiter.call("hf_list_ahead", queue, waiting, "f")
            holder, waiter, held, waiting = (
                waiter, holder, waiting, holder.enqueue(queue, MUTEX))
        holder.remove(queue, held)
        waiter.remove(queue, waiting)
        holder.forget_notices()
        waiter.forget_notices()

    def cpu_us(self, work, pairs):
        """The mean of each pair."""
        before = self.one.cpu_ns() + self.two.cpu_ns()
        work(pairs)
        return (self.one.cpu_ns() + self.two.cpu_ns() - before) / 1000 / pairs

    def works(self):
        return {"baseline": self.baseline, "pair": self.pairs,
                "behind, mutex": lambda n: self.behind(n, MUTEX),
                "behind, reader": lambda n: self.behind(n, READ),
                "behind, permit": lambda n: self.behind(n, LEASE),
                "handoff": self.handoffs}


def measure(server, folders, iterations, pairs):
    versions = {name: Version(server, name, folder)
                for name, folder in folders}
    rows = []
    for work in next(iter(versions.values())).works():
        for version in versions.values():
            version.works()[work](WARM_UP)
        results = interleave(iterations, {
            name: lambda v=version: v.cpu_us(v.works()[work], pairs)
            for name, version in versions.items()})
        rows.append([work] + [spread(results[name]) for name in versions])
    table("Processor of the server's processes, us", ["", *versions], rows)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[3][len("usage: "):])
    parser.add_argument("-r", type=int, default=7)
    parser.add_argument("-p", type=int, default=500)
    parser.add_argument("versions", nargs="+")
    options = parser.parse_args()
    print_facts(["postgresql-15"], options.r)
    with postgres.Server() as server:
        measure(server, [version.split("=") for version in options.versions],
                options.r, options.p)
    print_load("ended")


if __name__ == "__main__":
    main()
