#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""counter.sole never says that a ticket is the only one, or that there is none,
while there is another ticket or a watcher of the queue; and no ticket is below
counter.lowest: else two would hold the lock.

Two calls run on one queue, in each order of their kinds and from each state of
the queue.  The transaction of the first is open when the second starts, and is
committed or rolled back after it, as when a client crashes.  Then the queue's
row is checked, and the answer to a third call.

Mutations of the schema, each of which sets sole wrong in one place, are found
by that.  With HF_LONG=1 all pairs of calls run, and each first call is rolled
back, too."""

import concurrent.futures
import os
import unittest
import uuid

import schema
import waiting
import postgres
from schema import (BARRIER, LEASE, PARTICIPANT, MUTEX, NEVER_MS, NOBODY, READ,
                    READY, WRITE, Session)

PAST_MS = 1

# The errors of sole in the queue of that name, while no call changes it.
WRONG = """
    SELECT format('sole is %%s beside %%s other tickets and %%s watchers; %%s '
                  'tickets are below lowest', c.sole, others, watchers, below)
      FROM holdfast.queue q JOIN holdfast.counter c ON c.queue = q.number,
           LATERAL (SELECT count(*) FROM holdfast.ticket t
                     WHERE t.queue = q.number AND t.id <> c.sole) AS a (others),
           LATERAL (SELECT count(*) FROM holdfast.watcher l
                     WHERE l.queue = q.number) AS b (watchers),
           LATERAL (SELECT count(*) FROM holdfast.ticket t
                     WHERE t.queue = q.number AND t.sequence < c.lowest)
                AS d (below)
     WHERE q.name = %s AND (below > 0 OR c.sole IS NOT NULL AND
                            (others > 0 OR watchers > 0))
"""

# The tickets that count, first to last, with those that ended taken out.
STANDING = """
    SELECT t.id FROM holdfast.ticket t
      JOIN holdfast.session s ON s.id = t.session
      JOIN holdfast.queue q ON q.number = t.queue
     WHERE q.name = %s AND t.kind NOT IN (8, 9)
       AND s.expires_at > clock_timestamp()
     ORDER BY t.sequence
"""

EMPTY = """
    TRUNCATE holdfast.ticket, holdfast.watcher;
    DELETE FROM holdfast.session WHERE id::text !~ '^(0|f)\\1{7}';
"""


# As a renewal has done it.
BEGIN = """
    INSERT INTO holdfast.session
    VALUES (%s, clock_timestamp() + interval '1 minute')
"""


class Meeting:
    """A queue, the sessions that use it, and the notices that they got."""

    def __init__(self, database):
        self.database = database
        self.name = "sole-%s" % uuid.uuid4()
        self.first = NOBODY      # the ticket that stood first in the beginning
        self.owner = database.owner
        for session in database.sessions:
            session.id = str(uuid.uuid4())
            database.cursor.execute(BEGIN, (session.id,))

    def put(self, session, kind=MUTEX, ticket=None):
        """(the ticket, whether the answer said that it is the first one)."""
        ticket, seen = session.enqueue(self.name, kind, ticket)
        alone = [its for its, _ in seen] == [ticket]
        return ticket, kind != PARTICIPANT and alone

    def known_empty(self):
        ticket, _ = self.put(self.owner)
        self.owner.remove(self.name, ticket)


# ---- states of a queue

def new(_):
    pass


def empty(m):
    m.known_empty()


def sole(m):
    m.known_empty()
    m.first, _ = m.put(m.owner, WRITE)


def permit(m):
    m.known_empty()
    m.first, _ = m.put(m.owner, LEASE)


def ended(m):
    """The session of the only ticket."""
    sole(m)
    m.owner.end()


def two(m):
    sole(m)
    m.put(m.database.other, WRITE)


def three(m):
    """Of the second and the third the session is another one."""
    two(m)
    m.put(m.database.early, WRITE)


def watched(m):
    permit(m)
    m.owner.call("list_and_watch", m.owner.id, m.owner.ttl_ms, NEVER_MS, m.name.encode(),
                 False)


def flagged(m):
    m.known_empty()
    m.owner.call("set_flag", NEVER_MS, m.name.encode(), BARRIER, str(uuid.uuid4()))


STATES = (new, empty, sole, permit, ended, two, three, watched, flagged)


# ---- calls: of a meeting and a session; what put() says, or None

def enqueue(m, s):
    return m.put(s)


def enqueue_reader(m, s):
    return m.put(s, READ)


def enqueue_lease(m, s):
    return m.put(s, LEASE)


def enqueue_participant(m, s):
    return m.put(s, PARTICIPANT)


def enqueue_late(m, s):
    s.call("enqueue", s.id, s.ttl_ms, PAST_MS, m.name.encode(),
           str(uuid.uuid4()), MUTEX, 1, b"")


def enqueue_again(m, s):
    """Enqueue a ticket again, because its answer was lost; or for the first
    time."""
    m.put(s, WRITE, None if m.first == NOBODY else m.first)


def remove(m, s):
    s.remove(m.name, m.first)


def remove_late(m, s):
    s.call("remove", s.id, PAST_MS, m.name.encode(), m.first, None)


def watch(m, s):
    s.call("list_and_watch", s.id, s.ttl_ms, NEVER_MS, m.name.encode(), False)


def set_flag(m, s):
    s.call("set_flag", NEVER_MS, m.name.encode(), BARRIER, str(uuid.uuid4()))


def clear_flag(m, s):
    s.call("clear_flag", NEVER_MS, m.name.encode(), BARRIER)


def participant_and_ready_node(m, s):
    """A double barrier of one."""
    participant, _ = m.put(s, PARTICIPANT)
    s.call("new_generation", NEVER_MS, m.name.encode(), participant, 1,
           str(uuid.uuid4()))
    s.remove(m.name, participant)
    s.call("clear_flag", NEVER_MS, m.name.encode(), READY)


def downgrade(m, s):
    s.call("downgrade", m.owner.id, NEVER_MS, m.name.encode(), m.first)


def evict(m, s):
    """List the queue, which removes tickets that have ended."""
    s.list(m.name)


def close(m, s):
    s.call("close_session", m.owner.id, NEVER_MS)


def renew_without(m, s):
    s.call("renew_and_remove", m.owner.id, s.ttl_ms, NEVER_MS, "{%s}" % m.first)


def pair(m, s):
    """All of a lock in one transaction."""
    ticket, _ = m.put(s)
    s.remove(m.name, ticket)


CALLS = (enqueue, enqueue_reader, enqueue_lease, enqueue_participant,
         enqueue_late, enqueue_again, remove, remove_late, watch, set_flag,
         clear_flag, participant_and_ready_node, downgrade, evict, close, renew_without, pair)


# Those that decide by sole, or that find out.
COMERS = (enqueue, enqueue_lease, enqueue_again, remove, remove_late, watch,
          set_flag, evict, pair)
LONG = os.environ.get("HF_LONG") == "1"


def meetings(state):
    """(state, first, second, whether the first one commits): all of them, or
    with a small part of those that change nothing for each other."""
    return [(state, first, second, commits)
            for first in CALLS for second in (CALLS if LONG else COMERS)
            for commits in (True, False)
            if LONG or commits or state in (empty, sole, watched)]


class Database:
    """One with the schema of that text, and sessions that meet there."""

    def __init__(self, server, text, name):
        server.sql("CREATE DATABASE " + name)
        server.sql(text, database=name)
        self.owner, self.other, self.early, self.late, self.next = (
            self.sessions) = [Session(server, database=name) for _ in range(5)]
        # A connection that has lost its settings, as one behind a pooler that
        # hands out connections by transaction.
        self.late.cursor.execute("RESET ALL")
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.judge = server.connect(database=name)
        self.cursor = self.judge.cursor()

    def close(self):
        self.pool.shutdown()
        self.judge.close()
        for session in self.sessions:
            session.connection.close()

    def ask(self, query, *arguments):
        self.cursor.execute(query, arguments)
        return [row[0] for row in self.cursor.fetchall()]

    def is_blocked(self, session):
        return self.ask("SELECT cardinality(pg_blocking_pids(%s)) > 0",
                        session.connection.get_backend_pid())[0]

    def meet(self, state, first, second, commits):
        """The errors."""
        m = Meeting(self)
        state(m)
        self.early.connection.autocommit = False
        said = [first(m, self.early)]
        under_way = self.pool.submit(second, m, self.late)
        waiting.eventually("it to be done or to wait", lambda:
                           under_way.done() or self.is_blocked(self.late))
        if commits:
            self.early.connection.commit()
        else:
            self.early.connection.rollback()
            said = []
        self.early.connection.autocommit = True
        said.append(under_way.result(waiting.LIMIT_S))
        return self.wrong(m, [its for its in said if its])

    def wrong(self, m, said):
        found = self.ask(WRONG, m.name.encode())
        standing = self.ask(STANDING, m.name.encode())
        for ticket, is_first in said:
            if is_first and ticket in standing and ticket != standing[0]:
                found.append("answered that it is the first, beside another one")
        # The next call.
        mine, is_first = m.put(self.next)
        if is_first != (not standing):
            found.append("the next one was answered %s beside %d tickets" % (
                "that it is first" if is_first else "of others",
                len(standing)))
        self.next.remove(m.name, mine)
        return found + self.ask(WRONG, m.name.encode())

    def attack(self):
        """Every meeting that left something wrong, and what."""
        found = []
        for state in STATES:
            self.cursor.execute(EMPTY)
            for meeting in meetings(state):
                wrong = self.meet(*meeting)
                if wrong:
                    found.append((*(part.__name__ for part in meeting[:3]),
                                  meeting[3], wrong))
        return found


# By name: what the schema says, what it says instead, and where that shows.
MUTATIONS = {
    "PG_SOLE_KEPT_BY_ENQUEUE": (
        "THEN ticket_id END,", "THEN ticket_id ELSE sole END,",
        (sole, enqueue, enqueue, True)),
    "PG_SOLE_TAKEN": (
        "WHEN sole = '00000000-0000-0000-0000-000000000000'\n"
        "                    AND ticket_id <> sole AND",
        "WHEN", (sole, enqueue, enqueue, True)),
    "PG_SOLE_READ_EARLY": (
        "WHEN sole = '00000000-0000-0000-0000-000000000000'\n",
        "WHEN (SELECT early.sole FROM holdfast.counter early WHERE early.queue ="
        " q LIMIT 1) = '00000000-0000-0000-0000-000000000000'\n",
        (empty, enqueue, enqueue, True)),
    "PG_SOLE_KEPT_BY_MARK": (
        "SET sole = NULL,\n           counter", "SET counter",
        (empty, set_flag, enqueue, True)),
    "PG_SOLE_KEPT_BY_LOOK": (
        "PERFORM holdfast_4.forget_sole(q);\n    INSERT", "INSERT",
        (permit, watch, remove, True)),
    "PG_SOLE_CLEARED_BY_RELEASE": (
        "THEN '00000000-0000-0000-0000-000000000000' ELSE sole END",
        "THEN '00000000-0000-0000-0000-000000000000' "
        "ELSE '00000000-0000-0000-0000-000000000000'::uuid END",
        (two, remove, enqueue, True)),
    "PG_SOLE_CLEARED_BESIDE_OTHERS": (
        "SELECT EXISTS (SELECT FROM holdfast.ticket\n"
        "                        WHERE queue = q AND",
        "SELECT EXISTS (SELECT FROM holdfast.ticket\n"
        "                        WHERE session = session_id AND queue = q AND",
        (two, remove, evict, True)),
    "PG_SOLE_CLEARED_BESIDE_LOOKS": (
        "ELSIF NOT is_watched THEN", "ELSE is_watched := false;",
        (watched, remove, evict, True)),
    "PG_LOWEST_PAST_OTHERS": (
        "ORDER BY t.sequence LIMIT 1), lowest)",
        "ORDER BY t.sequence DESC LIMIT 1), lowest)",
        (two, pair, evict, True)),
    "PG_LOWEST_IS_THE_COUNTER": (
        "THEN counter ELSE lowest END,", "THEN counter ELSE counter END,",
        (two, enqueue, evict, True)),
    "PG_LOWEST_PAST_ALL": (
        "ORDER BY t.sequence LIMIT 1), counter)",
        "ORDER BY t.sequence DESC LIMIT 1), counter)",
        (three, close, evict, True)),
    "PG_SOLE_KEPT_LATE": (
        "IF is_empty THEN\n"
        "            PERFORM holdfast_4.forget_sole(q);\n"
        "        END IF;", "", (sole, remove_late, enqueue, True)),
}


class SoleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The effects of a crash of the server are not tested here.
        cls.server = postgres.Server({"fsync": "off"})
        cls.addClassCleanup(cls.server.close)

    def database(self, name, text):
        database = Database(self.server, text, name)
        self.addCleanup(database.close)
        return database

    def test_no_two_calls_leave_it_wrong(self):
        database = self.database("ours", schema.text())
        self.assertEqual(database.attack(), [])

    def test_it_is_taken_where_nobody_else_wants_the_lock(self):
        """Otherwise all else here would be true of a column of NULLs."""
        database = self.database("taken", schema.text())
        m = Meeting(database)
        empty(m)
        self.assertEqual(self.sole(database, m), NOBODY)
        ticket, _ = m.put(database.other)
        self.assertEqual(self.sole(database, m), ticket)
        database.other.remove(m.name, ticket)
        self.assertEqual(self.sole(database, m), NOBODY)

    def sole(self, database, m):
        return database.ask("SELECT sole::text FROM holdfast.counter "
                            "WHERE " + schema.OF_NAME, m.name.encode())[0]

    def test_one_that_is_wrong_is_found(self):
        """A wrong value, set by hand, matters: the answers of two say that
        they are first."""
        database = self.database("by_hand", schema.text())
        for state, value in ((two, "first"), (two, NOBODY), (sole, NOBODY),
                             (watched, NOBODY), (flagged, NOBODY)):
            with self.subTest(state.__name__, value=value):
                m = Meeting(database)
                state(m)
                database.cursor.execute(
                    "UPDATE holdfast.counter SET sole = %s WHERE " +
                    schema.OF_NAME,
                    (m.first if value == "first" else value, m.name.encode()))
                self.assertNotEqual(database.ask(WRONG, m.name.encode()), [])
        m = Meeting(database)
        sole(m)
        database.cursor.execute(
            "UPDATE holdfast.counter SET sole = %s WHERE " +
                    schema.OF_NAME,
            (NOBODY, m.name.encode()))
        self.assertEqual(m.put(database.other)[1], True)

    def test_mutations_are_found(self):
        for name, (old, new_text, meeting) in MUTATIONS.items():
            with self.subTest(name):
                text = schema.text()
                self.assertIn(old, text)
                database = self.database(
                    name.lower(), text.replace(old, new_text))
                self.assertNotEqual(database.meet(*meeting), [])


if __name__ == "__main__":
    unittest.main()
