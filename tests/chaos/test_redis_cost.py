#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a lock on Redis in commands, as the server counts them, with
those that the script runs.  Nothing here is timed.

    test_redis_cost.py CLIENT_DRIVER
"""

import os
import re
import sys
import unittest
import uuid

import client_driver
from client_driver import ClientDriver

import waiting
from redis_server import Server

CLIENT_DRIVER = os.path.abspath(sys.argv.pop(1))
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                      os.pardir, "src", "engines", "redis")
PAIRS = 300 if client_driver.LONG else 30
FEW, MANY = 10, 10000

# Of tickets, as src/core/ticket.h has them.
MUTEX, READ, WRITE = 1, 2, 3
TTL_MS = 3600000

# Of one piece of a renewal: HF_REDIS_RENEWAL_PIECE_MAX.
PIECE = 512

# The words before the tickets of a renewal: EVALSHA, the script, seven keys
# and their number, five arguments of every call, and one of its own.
BEFORE_IDS = 16

# Of Redis itself, and of this test.
OTHERS = ("info", "evalsha", "ping", "subscribe")


def script():
    """The text that a client loads: its parts in the order of the build."""
    with open(os.path.join(SOURCE, "CMakeLists.txt")) as file:
        embedded = re.search(r"hf_embed\(hf_redis_script (.*?)\)", file.read(),
                             re.S).group(1)
    parts = re.findall(r"/(\w+\.lua)\b", embedded)
    text = []
    for part in parts:
        with open(os.path.join(SOURCE, part)) as file:
            text.append(file.read())
    return "".join(text)


class Session:
    """One that calls the script as src/engines/redis/command.c does."""

    def __init__(self, client, sha):
        self.client, self.sha = client, sha
        self.name = uuid.uuid4().hex

    def words(self, operation, queue, *arguments):
        keys = ["holdfast:{%s}:%s" % (queue, word) for word in (
            "queue", "until", "tickets", "last", "watchers",
            "writers", "participants")]
        return ["EVALSHA", self.sha, len(keys), *keys, operation, queue, "",
                TTL_MS, self.name, *arguments]

    def ask(self, *words):
        now, word, *found = self.client.ask(*self.words(*words))
        assert word == "ok", (words, word)
        return found

    def ask_all(self, calls):
        """The same for each, in batches that the server's buffers hold."""
        for at in range(0, len(calls), 500):
            batch = calls[at:at + 500]
            for words in batch:
                self.client.send(*self.words(*words))
            for _ in batch:
                assert self.client.read()[1] == "ok"


def ticket():
    return str(uuid.uuid4())


def enqueue(queue, its, kind=MUTEX):
    return "enqueue", queue, its, kind, 1, "payload"


class Cost(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.server.start()
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.sha = self.client.ask("SCRIPT", "LOAD", script())

    def session(self):
        return Session(self.client, self.sha)

    def since(self, before):
        return {name: calls - before.get(name, 0)
                for name, calls in self.server.calls().items()
                if calls != before.get(name, 0) and name not in OTHERS}

    def cost(self, session, *words):
        """The commands of one call, and how many tickets it is answered
        with."""
        before = self.server.calls()
        found, *_ = session.ask(*words)
        return self.since(before), len(found) if isinstance(found, list) else 0

    # ---- alone

    def test_an_uncontended_lock_is_two_calls(self):
        with ClientDriver(CLIENT_DRIVER) as some:
            session, = some.opened(self.server.url(options="?ttl=60s"))
            before = self.server.calls()
            for _ in range(PAIRS):
                some.await_event(some.acquire(session, "alone", how="pass"),
                                 "released")
            self.assertEqual(self.since(before), {
                word: count * PAIRS for word, count in {
                    "time": 2, "hlen": 1, "get": 1, "set": 1, "zadd": 2,
                    "hset": 1, "pexpire": 3,
                    "zrange": 1, "hget": 1, "zcard": 1, "del": 1}.items()})
            self.assertEqual(
                self.server.calls()["evalsha"] - before.get("evalsha", 0),
                2 * PAIRS)

    # ---- renewals

    def renewed(self):
        """How many tickets each renewal has named, the last one first."""
        found = []
        for _, _, _, words, *_ in self.client.ask("SLOWLOG", "GET", -1):
            if "renew" not in words:
                continue
            more = re.fullmatch(r"\.\.\. \((\d+) more arguments\)", words[-1])
            count = len(words) - 1 + int(more.group(1)) if more else len(words)
            found.append(count - BEFORE_IDS)
        return found

    def test_a_large_session_is_renewed_in_pieces(self):
        """However long a script runs, others are served between two."""
        rest = PIECE // 3
        with ClientDriver(CLIENT_DRIVER) as some:
            session, = some.opened(self.server.url(options="?ttl=4s"))
            waits = [some.acquire(session, "many")
                     for _ in range(2 * PIECE + rest)]
            for wait in waits[1:]:
                some.queued(wait)
            self.client.ask("CONFIG", "SET", "slowlog-max-len", 10000)
            self.client.ask("CONFIG", "SET", "slowlog-log-slower-than", 0)
            waiting.eventually("a renewal of all", lambda: self.renewed()[:3] ==
                               [rest, PIECE, PIECE])
            self.assertLessEqual(max(self.renewed()), PIECE)
            self.assertNotIn("LOST", some.states(session))

    # ---- among idle ones

    def costs(self, session, queue, first, last):
        """Of each call about a queue of mutexes, of which the first ticket and
        the last one are ours."""
        between, third = ticket(), ticket()
        calls = {
            "enqueue": enqueue(queue, third),
            "list": ("list", queue, 0, 0, MUTEX, last),
            "exists": ("exists", queue, first, last),
            "revoke": ("revoke", queue, last),
            "describe": ("describe", queue, last, "another payload"),
            "renew": ("renew", queue, 0, first, last),
            "remove the last": ("remove", queue, third),
            "remove the first": ("remove", queue, first),
            "enqueue elsewhere": enqueue(queue + "/elsewhere", between),
            "remove elsewhere": ("remove", queue + "/elsewhere", between),
        }
        return {what: self.cost(session, *words)
                for what, words in calls.items()}

    def costs_among(self, kind, idle):
        """Where ${idle} tickets stand between ours, or elsewhere."""
        self.client.ask("FLUSHALL")
        session, others = self.session(), self.session()
        first, last = ticket(), ticket()
        where = {
            "waiters": (others, lambda number: "queue"),
            "names": (others, lambda number: "name/%d" % number),
            "our tickets": (session, lambda number: "name/%d" % number),
        }
        whose, name = where[kind]
        session.ask(*enqueue("queue", first))
        whose.ask_all([enqueue(name(number), ticket())
                       for number in range(idle)])
        session.ask(*enqueue("queue", ticket()))
        session.ask(*enqueue("queue", last))
        return self.costs(session, "queue", first, last)

    def test_a_call_costs_the_same_whatever_is_idle(self):
        for kind in ("waiters", "names", "our tickets"):
            with self.subTest(kind):
                few = self.costs_among(kind, FEW)
                many = self.costs_among(kind, MANY)
                self.assertEqual(few, many)

    def test_a_reader_costs_the_same_however_many_readers_are_ahead(self):
        costs = []
        for idle in (FEW, MANY):
            self.client.ask("FLUSHALL")
            session, others = self.session(), self.session()
            writer, reader = ticket(), ticket()
            session.ask(*enqueue("queue", writer, WRITE))
            others.ask_all([enqueue("queue", ticket(), READ)
                            for _ in range(idle)])
            costs.append([self.cost(session, *words) for words in (
                enqueue("queue", reader, READ),
                ("list", "queue", 0, 0, READ, reader),
                ("remove", "queue", reader))])
        self.assertEqual(*costs)


if __name__ == "__main__":
    unittest.main()
