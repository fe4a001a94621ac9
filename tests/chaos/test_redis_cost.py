#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a lock on Redis in commands, as the server counts them, with
those that the script runs.  Nothing here is timed.  And what saves most of them,
a ticket that is alone in the key "last", is the same ticket all the time.

    test_redis_cost.py CLIENT_DRIVER
"""

import math
import os
import re
import sys
import unittest
import uuid

import client_driver
from client_driver import ClientDriver

import script_mutant
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

# The words before the tickets of a renewal: EVALSHA, the script, one key and
# their number, three arguments of every call, and one of its own.
BEFORE_IDS = 8

# What deletes the key of a lock with one key, if it is still one's own.
COMPARE = ("if redis.call('get', KEYS[1]) == ARGV[1] then "
           "return redis.call('del', KEYS[1]) end return 0")
# How much longer the server may take for an acquire or a release.  On the
# processor on which it was measured it is 1.85, and was 2.05 before the short
# path compared texts; another one may do better at this or at that.
BARE_SCRIPTS_MAX = 2.5
TIMED = 100
ATTEMPTS_MIN, ATTEMPTS_MAX = 20, 200

# No call is too late.
NOT_AFTER_MS = 1 << 42

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


def found_in(answer):
    """What an answer has besides the clock, which is all that the short path
    answers."""
    if isinstance(answer, str):
        return [[]]
    now, word, *found = answer
    assert word == "ok", answer
    return found


class Session:
    """One that calls the script as src/engines/redis/command.c does."""

    def __init__(self, client, sha):
        self.client, self.sha = client, sha
        self.name = uuid.uuid4().hex
        self.ttl_ms, self.not_after_ms = TTL_MS, NOT_AFTER_MS

    def words(self, operation, queue, its, *arguments):
        """its: of the ticket, behind the session in one word."""
        return ["EVALSHA", self.sha, 1, "holdfast:{%s}:last" % queue, operation,
                "2 %013d %d" % (self.not_after_ms, self.ttl_ms),
                " ".join([self.name, *its]), *arguments]

    def ask(self, *words):
        return found_in(self.client.ask(*self.words(*words)))

    def ask_all(self, calls):
        """The same for each, in batches that the server's buffers hold."""
        for at in range(0, len(calls), 500):
            batch = calls[at:at + 500]
            for words in batch:
                self.client.send(*self.words(*words))
            for _ in batch:
                found_in(self.client.read())


def ticket():
    return str(uuid.uuid4())


def enqueue(queue, its, kind=MUTEX, ttl_ms=TTL_MS):
    return "enqueue", queue, [its, str(ttl_ms), str(kind), "1", "payload"]


def remove(queue, its):
    return "remove", queue, [its]


class Case(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.server.start()
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.sha = self.client.ask("SCRIPT", "LOAD", script())

    def session(self):
        return Session(self.client, self.sha)


class Cost(Case):
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
            for first in (True, False):
                before = self.server.calls()
                for _ in range(PAIRS):
                    some.await_event(some.acquire(session, "alone", how="pass"),
                                     "released")
                # The first acquire looks whether tickets are left.
                looks = {"zrange": 1, "zcard": 2} if first else {}
                self.assertEqual(self.since(before), {
                    "time": 2 * PAIRS, "get": 2 * PAIRS, "set": 2 * PAIRS,
                    **looks})
                self.assertEqual(
                    self.server.calls()["evalsha"] - before.get("evalsha", 0),
                    2 * PAIRS)

    def test_an_uncontended_call_has_seven_words(self):
        """Each costs the server time: the command, the script, one key and
        their number, and three arguments."""
        with ClientDriver(CLIENT_DRIVER) as some:
            session, = some.opened(self.server.url(options="?ttl=60s"))
            self.client.ask("CONFIG", "SET", "slowlog-log-slower-than", 0)
            some.await_event(some.acquire(session, "alone", how="pass"),
                             "released")
            words = [words for _, _, _, words, *_ in
                     self.client.ask("SLOWLOG", "GET", -1)]
        self.assertEqual([len(its) for its in words if its[0] == "EVALSHA"],
                         [7, 7])

    def us_of(self, calls):
        """Microseconds of the server for one of these calls of scripts."""
        self.client.ask("CONFIG", "RESETSTAT")
        for words in calls:
            answer = self.client.ask(*words)
            self.assertTrue(answer == 1 or len(answer) == 18, answer)
        return self.server.usec("evalsha") / len(calls)

    def us_of_pairs(self, session, compare):
        """Of the bare script, an acquire and a release."""
        names = ["name/%d" % number for number in range(TIMED)]
        tickets = {name: ticket() for name in names}
        for name in names:
            self.client.ask("SET", name, "owner", "PX", TTL_MS)
        return (
            self.us_of([("EVALSHA", compare, 1, name, "owner")
                                   for name in names]),
            self.us_of([session.words(*enqueue(
                name, tickets[name])) for name in names]),
            self.us_of([session.words(*remove(
                name, tickets[name])) for name in names]))

    def test_an_uncontended_call_takes_the_server_little_more_than_a_script(self):
        """Nothing but a comparison is timed here: the bare script deletes a key
        if it is still one's own, as a release of redis-py does.  Other work on
        the machine only adds to a time, so the least of each is compared, until
        it is as little as it must be."""
        compare = self.client.ask("SCRIPT", "LOAD", COMPARE)
        session = self.session()
        # the first acquire of each name looks whether tickets are left
        least = self.us_of_pairs(session, compare)[:1] + 2 * (math.inf,)
        for attempt in range(ATTEMPTS_MAX):
            least = [min(us) for us in zip(
                least, self.us_of_pairs(session, compare))]
            ratios = [us / least[0] for us in least[1:]]
            if attempt >= ATTEMPTS_MIN and max(ratios) <= BARE_SCRIPTS_MAX:
                break
        self.assertLessEqual(max(ratios), BARE_SCRIPTS_MAX, least)

    def test_an_uncontended_lock_makes_no_function(self):
        """Each is made again at each call, and takes the server longer than a
        command of the short path."""
        short, rest = script().split("-- What all operations share", 1)
        self.assertNotRegex(short, r"(?m)^[^-]*\bfunction\b")
        self.assertRegex(rest, r"(?m)^[^-]*\bfunction\b")

    def test_what_a_contended_lock_costs(self):
        """Commands of a handoff from one session to another, which waits: they
        may become fewer."""
        one, other = self.session(), self.session()
        first, second, third = ticket(), ticket(), ticket()
        commands = {}
        for what, session, words in (
                ("alone", one, enqueue("queue", first)),
                ("the second, with the first one moved", other,
                 enqueue("queue", second)),
                ("the third", one, enqueue("queue", third)),
                ("a release that is waited for", one, remove("queue", first)),
                ("the first one looks", other,
                 ("list", "queue", [], 0, 0, MUTEX, second, 0, 0)),
                ("another release", other, remove("queue", second)),
                ("a release of the last", one, remove("queue", third))):
            commands[what] = sum(self.cost(session, *words)[0].values())
        self.assertEqual(commands, {
            "alone": 6, "the second, with the first one moved": 23,
            "the third": 20, "a release that is waited for": 13,
            "the first one looks": 6, "another release": 13,
            "a release of the last": 6})

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
            "list": ("list", queue, [], 0, 0, MUTEX, last),
            "exists": ("exists", queue, [], first, last),
            "revoke": ("revoke", queue, [], last),
            "describe": ("describe", queue, [], last, "another payload"),
            "renew": ("renew", queue, [], 0, first, last),
            "remove the last": remove(queue, third),
            "remove the first": remove(queue, first),
            "enqueue elsewhere": enqueue(queue + "/elsewhere", between),
            "remove elsewhere": remove(queue + "/elsewhere", between),
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
                ("list", "queue", [], 0, 0, READ, reader),
                remove("queue", reader))])
        self.assertEqual(*costs)


# Mutations of the script, and the first of the changes() of a queue of which each
# does not notify those who watch it.
UNREPORTED = {
    "REDIS_ENQUEUE_NOTIFIES_NO_WATCHER": "an enqueue",
    "REDIS_SHORT_PATH_NOTIFIES_NO_WATCHER": "an enqueue",
    "REDIS_DOWNGRADE_NOTIFIES_NO_WATCHER": "a downgrade",
    "REDIS_PROPOSE_NOTIFIES_NO_WATCHER": "a proposal",
    "REDIS_COMMIT_NOTIFIES_NO_WATCHER": "a commit",
}


class Watched(Case):
    """A session that watches a queue is notified once of whatever changes it,
    and not of what changes nothing."""

    def changes(self):
        """By name: calls, one after the other."""
        first, second, third, fourth = (ticket() for _ in range(4))
        return (
            ("an enqueue", enqueue("queue", first, WRITE)),
            ("another enqueue", enqueue("queue", second)),
            ("a downgrade", ("downgrade", "queue", [], first)),
            ("a removal", remove("queue", second)),
            ("a proposal", ("propose", *enqueue("queue", third)[1:])),
            ("a commit", ("commit", "queue", [], third, str(1 << 52))),
            ("a repair", ("repair", *enqueue("queue", fourth)[1:],
                          str((1 << 52) + 1)))), (
            ("an enqueue again", enqueue("queue", first, WRITE)),
            ("a downgrade again", ("downgrade", "queue", [], first)),
            ("a proposal again", ("propose", *enqueue("queue", third)[1:])),
            ("a commit again", ("commit", "queue", [], third, str(1 << 52))),
            ("a repair again", ("repair", *enqueue("queue", fourth)[1:],
                                str((1 << 52) + 1))),
            ("a list", ("list", "queue", [], 0, 0, 0, "", 0, 0)))

    def unreported(self, sha):
        """The first change that the script does not report; None: it reports
        all, once, and nothing else."""
        self.client.ask("FLUSHALL")
        one, other = Session(self.client, sha), Session(self.client, sha)
        changes, others = self.changes()
        with self.server.client() as notices:
            notices.ask("SUBSCRIBE", "holdfast:session:" + other.name)
            for what, words in changes:
                other.ask("list", "queue", [], 1, 0, 0, "", 0, 0)
                one.ask(*words)
                self.client.ask("PUBLISH", "holdfast:session:" + other.name,
                                "the end")
                if notices.read()[2] != "changed queue":
                    return what
                self.assertEqual(notices.read()[2], "the end", what)
            other.ask("list", "queue", [], 1, 0, 0, "", 0, 0)
            for what, words in others:
                one.ask(*words)
                self.client.ask("PUBLISH", "holdfast:session:" + other.name,
                                "the end")
                self.assertEqual(notices.read()[2], "the end", what)
        return None

    def test_each_change_is_reported_once(self):
        self.assertIsNone(self.unreported(self.sha))

    def test_a_change_that_is_not_reported_is_found(self):
        for name, what in UNREPORTED.items():
            old, new = script_mutant.MUTATIONS[name]
            with self.subTest(name):
                self.assertEqual(script().count(old), 1)
                mutant = self.client.ask("SCRIPT", "LOAD",
                                         script().replace(old, new))
                self.assertEqual(self.unreported(mutant), what)


class Alone(Case):
    """A ticket that is alone in the key "last"."""

    def enqueued(self, session, its, kind=MUTEX, ttl_ms=TTL_MS):
        """Its sequence, which is the server's clock."""
        answer = self.client.ask(*session.words(
            *enqueue("queue", its, kind, ttl_ms)))
        self.assertRegex(answer, r"\A2 \d{16}\Z")
        number = int(answer[2:])
        self.assertEqual(self.last(), "2 %d %s %s %d %d 1 payload" % (
            number, session.name, its, ttl_ms, kind))
        self.assertEqual(self.client.ask("KEYS", "*"),
                         ["holdfast:{queue}:last"])
        return number

    def last(self):
        return self.client.ask("GET", "holdfast:{queue}:last")

    def test_it_is_the_same_when_it_was_moved(self):
        for kind in (MUTEX, READ, WRITE):
            with self.subTest(kind):
                one, other, its = self.session(), self.session(), ticket()
                number = self.enqueued(one, its, kind)
                (row,), = other.ask("list", "queue", [], 0, 1, kind, "", 0, 0)
                self.assertEqual(row[:2] + row[3:], [
                    its, str(number), "%d 1 0 %d %s payload" % (
                        kind, number // 1000, one.name)])
                self.assertLessEqual(int(row[2]), TTL_MS)
                self.assertEqual(self.last(), str(number))
                keys = ["queue", "until", "tickets"]
                keys += ["writers"] if kind == WRITE else []
                for key in keys:
                    self.assertGreater(self.client.ask(
                        "PTTL", "holdfast:{queue}:" + key), TTL_MS, key)
                one.ask(*remove("queue", its))
                self.assertEqual(self.client.ask("KEYS", "*"),
                                 ["holdfast:{queue}:last"])

    def test_the_next_token_is_greater_though_the_clock_was_set_back(self):
        one = self.session()
        ahead = int(self.client.ask("TIME")[0]) * 1000000 + 3600000000
        self.client.ask("SET", "holdfast:{queue}:last", "2 %d" % ahead)
        (row,), _ = one.ask(*enqueue("queue", ticket()))
        self.assertEqual(row[1], str(ahead + 1))

    def expire(self, number):
        """Wait until a ticket with this number has, and a ttl of a second."""
        waiting.eventually(
            "the end of the lease", lambda: int(
                self.client.ask("TIME")[0]) * 1000000 > number + 1000000)

    def test_others_that_have_expired_are_gone_too(self):
        one, other, third = self.session(), self.session(), ticket()
        one.ttl_ms = 1000
        self.enqueued(one, ticket(), ttl_ms=1000)
        rows, _ = one.ask(*enqueue("queue", ticket(), ttl_ms=1000))
        self.expire(int(rows[-1][1]))
        (row,), _ = other.ask(*enqueue("queue", third))
        self.assertEqual(row[0], third)

    def test_one_that_has_expired_is_gone(self):
        """Its owner is notified, and its release finds nothing."""
        one, other, its = self.session(), self.session(), ticket()
        one.ttl_ms = 1000
        with self.server.client() as notices:
            notices.ask("SUBSCRIBE", "holdfast:session:" + one.name)
            number = self.enqueued(one, its, ttl_ms=1000)
            self.expire(number)
            self.assertEqual(one.ask(*remove("queue", its)), [0])
            self.assertEqual(notices.read()[2], "gone 0 %s queue" % its)
        self.assertEqual(other.ask(*enqueue("queue", ticket())), [[]])

    def test_another_session_removes_it(self):
        one, other, its = self.session(), self.session(), ticket()
        with self.server.client() as notices:
            notices.ask("SUBSCRIBE", "holdfast:session:" + one.name)
            self.enqueued(one, its)
            self.assertEqual(other.ask(*remove("queue", its), "616263"), [1])
            self.assertEqual(notices.read()[2],
                             "evicted 616263 %s queue" % its)

    def test_a_call_that_is_late_does_nothing(self):
        one, its = self.session(), ticket()
        late = self.session()
        late.name, late.not_after_ms = one.name, 1
        for words in (enqueue("queue", its), remove("queue", its)):
            self.assertEqual(self.client.ask(*late.words(*words))[1:],
                             ["late"])
            if words[0] == "enqueue":
                self.assertIsNone(self.last())
                self.enqueued(one, its)
        self.assertIn(its, self.last())


if __name__ == "__main__":
    unittest.main()
