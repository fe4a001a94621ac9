#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a call does not grow with the number of idle tickets, queues,
sessions and waiters: the server counts the rows and the pages that the call
touches beside few of them and beside many.  Nothing is timed."""

import unittest
import uuid

import schema
import postgres
from schema import MUTEX, NEVER_MS, WRITE, Session

FEW, MANY = 10, 10000
# To read MANY tickets takes 200.  A row that finds no room in its page any more
# goes into four trees, each of which has a page or two more on the way down.
PAGES = 40

# A session, a queue, a ticket in it and a look at it, so many times; and so
# many tickets of one more session, each in a queue of its own.
IDLE = """
    INSERT INTO holdfast.session SELECT gen_random_uuid(), 'infinity'
      FROM generate_series(1, %(idle)s);
    INSERT INTO holdfast.queue (name)
         SELECT convert_to('idle/' || n, 'UTF8')
           FROM generate_series(1, %(idle)s) AS n;
    INSERT INTO holdfast.counter (queue, counter, lowest)
         SELECT number, 2, 1 FROM holdfast.queue
          WHERE name LIKE 'idle/%%'::bytea;
    INSERT INTO holdfast.ticket
           (queue, sequence, id, session, kind, weight, payload)
    SELECT q.number, 1, gen_random_uuid(), s.id, 1, 1, ''
      FROM (SELECT number, row_number() OVER (ORDER BY number) AS n
              FROM holdfast.queue) AS q
      JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n
              FROM holdfast.session WHERE expires_at = 'infinity') AS s
        ON s.n = q.n;
    INSERT INTO holdfast.watcher SELECT queue, session FROM holdfast.ticket;
    INSERT INTO holdfast.ticket
           (queue, sequence, id, session, kind, weight, payload)
    SELECT number, 2, gen_random_uuid(), %(own)s, 1, 1, ''
      FROM holdfast.queue WHERE name LIKE 'idle/%%'::bytea;
"""

# Behind all that are in the queue: one of each of so many sessions.
WAITERS = """
    INSERT INTO holdfast.ticket
           (queue, sequence, id, session, kind, weight, payload)
    SELECT q.number, c.counter + s.n, gen_random_uuid(), s.id, %(kind)s, 1, ''
      FROM holdfast.queue q JOIN holdfast.counter c ON c.queue = q.number,
           (SELECT id, row_number() OVER (ORDER BY id) AS n
              FROM holdfast.session WHERE expires_at = 'infinity'
               AND id::text <> 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS s
     WHERE q.name = %(queue)s;
    UPDATE holdfast.counter SET sole = NULL, counter = counter + %(idle)s
     WHERE queue = (SELECT number FROM holdfast.queue WHERE name = %(queue)s)
"""

ROWS = """
    SELECT coalesce(sum(seq_tup_read), 0), sum(idx_tup_fetch),
           sum(n_tup_ins + n_tup_upd + n_tup_del)
      FROM pg_stat_xact_user_tables WHERE schemaname = 'holdfast'
"""


class Database:
    """A database with the schema and so much that is idle."""

    def __init__(self, server, idle):
        self.name = "idle_%d" % idle
        self.idle = idle
        self.server = server
        server.sql("CREATE DATABASE " + self.name)
        server.sql(schema.text(), database=self.name)
        self.session = Session(server, database=self.name)
        self.cursor = self.session.cursor
        self.session.enqueue("first")
        self.cursor.execute(IDLE, {"idle": idle, "own": self.session.id})
        self.cursor.execute("ANALYZE")

    def wait(self, queue, kind):
        self.cursor.execute(WAITERS, {"idle": self.idle, "kind": kind,
                                      "queue": queue.encode()})
        self.cursor.execute("ANALYZE holdfast.ticket")

    def empty(self, queue):
        ticket, _ = self.session.enqueue(queue)
        self.session.remove(queue, ticket)

    def nearest(self, queue):
        """The ticket behind the first one."""
        self.cursor.execute(
            "SELECT id FROM holdfast.ticket WHERE queue = (SELECT number FROM "
            "holdfast.queue WHERE name = %s) ORDER BY sequence OFFSET 1 "
            "LIMIT 1", (queue.encode(),))
        return self.cursor.fetchone()[0]

    def cost(self, function, *arguments):
        """Rows that were read and written, and pages that were looked at.  The
        plan is made before, as it is of a connection that is in use."""
        statement = "EXECUTE hf_%s(%s)" % (
            function, ", ".join(["%s"] * len(arguments)))
        self.cursor.execute("BEGIN")
        self.cursor.execute(statement, arguments)
        self.cursor.execute("ROLLBACK")
        self.cursor.execute("BEGIN")
        before = self.rows()
        self.cursor.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " +
                            statement, arguments)
        plan = self.cursor.fetchone()[0][0]["Plan"]
        rows = tuple(now - then for now, then in zip(self.rows(), before))
        self.cursor.execute("COMMIT")
        return rows, plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

    def rows(self):
        self.cursor.execute(ROWS)
        return tuple(int(count) for count in self.cursor.fetchone())


class CostTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server({"autovacuum": "off"})
        cls.addClassCleanup(cls.server.close)
        cls.databases = [Database(cls.server, idle) for idle in (FEW, MANY)]

    def compare(self, function, arguments):
        """arguments: of a place.  With few rows a planner may take any index,
        and read a row or two more."""
        few, many = (database.cost(function, *arguments(database))
                     for database in self.databases)
        said = "%s: rows scanned, read by index, written; pages: %s, %s" % (
            function, few, many)
        self.assertEqual((few[0][0], few[0][2]), (0, many[0][2]), said)
        self.assertEqual(many[0][0], 0, said)
        self.assertLessEqual(many[0][1], few[0][1] + 2, said)
        self.assertLessEqual(many[1], few[1] + PAGES, said)

    def test_a_pair_that_nobody_else_wants(self):
        for database in self.databases:
            database.empty("alone")
        ticket = schema.NOBODY[:-1] + "1"

        def enqueue(database):
            session = database.session
            return (session.id, session.ttl_ms, NEVER_MS, b"alone", ticket,
                    MUTEX, 1, b"me")

        self.compare("enqueue", enqueue)
        self.compare("list_ahead", lambda _: (b"alone", ticket, False))
        self.compare("remove", lambda database: (
            database.session.id, NEVER_MS, b"alone", ticket, None))

    def queue_up(self, queue, kind, waiting):
        """A session has a ticket of kind, and idle tickets of the kind waiting
        are behind it."""
        for database in self.databases:
            database.ticket, _ = database.session.enqueue(queue, kind)
            database.wait(queue, waiting)

    def test_a_release_that_many_wait_for(self):
        self.queue_up("crowded", WRITE, WRITE)
        self.compare("remove", lambda database: (
            database.session.id, NEVER_MS, b"crowded", database.ticket,
            None))

    def test_the_next_one_of_many(self):
        self.queue_up("next", WRITE, WRITE)
        self.compare("list_ahead", lambda database: (
            b"next", database.nearest("next"), False))
        for database in self.databases:
            nearest = database.nearest("next")
            database.session.remove("next", database.ticket)
            database.ticket = nearest
        self.compare("list_ahead", lambda database: (b"next", database.ticket, False))

    def test_what_is_done_to_one_ticket_of_many(self):
        self.queue_up("one", WRITE, WRITE)
        self.compare("request_release", lambda database: (
            NEVER_MS, b"one", database.ticket))
        self.compare("describe", lambda database: (
            database.session.id, NEVER_MS, b"one", database.ticket, b"other"))
        self.compare("find_tickets", lambda database: (
            b"one", "{%s}" % database.ticket))
        self.compare("downgrade", lambda database: (
            database.session.id, NEVER_MS, b"one", database.ticket))

    def test_a_renewal(self):
        """Of a session that has but one ticket."""
        for database in self.databases:
            database.other = Session(self.server, database=database.name)
            database.other.enqueue("renewed")
            self.addCleanup(database.other.connection.close)
        self.compare("renew", lambda database: (
            database.other.id, database.other.ttl_ms, NEVER_MS))

    def test_the_last_of_many(self):
        """Of those ahead of it a thousand at most are counted."""
        for database in self.databases:
            database.wait("last", MUTEX)
        ticket = schema.NOBODY[:-1] + "2"
        rows = [database.cost(
            "enqueue", database.session.id, database.session.ttl_ms, NEVER_MS,
            b"last", ticket, MUTEX, 1, b"me")[0] for database in self.databases]
        self.assertLessEqual(rows[1][1], rows[0][1] + 1000)


# Calls of a client, each committed; as the server can do them one after the
# other.
CALLS = """
    DO $$
    DECLARE
        ticket uuid[] := ARRAY[gen_random_uuid(), gen_random_uuid()];
        owner uuid[] := ARRAY[%(one)s, %(other)s];
        i integer := 1;
    BEGIN
        PERFORM holdfast_4.enqueue(owner[1], 3600000, %(never)s, %(queue)s,
                                   ticket[1], 1, 1, '');
        FOR n IN 1 .. %(count)s LOOP
            IF %(handoffs)s THEN
                ticket[3 - i] := gen_random_uuid();
                PERFORM holdfast_4.enqueue(owner[3 - i], 3600000, %(never)s,
                                           %(queue)s, ticket[3 - i], 1, 1, '');
                COMMIT;
            END IF;
            PERFORM holdfast_4.remove(owner[i], %(never)s, %(queue)s,
                                      ticket[i]);
            COMMIT;
            IF %(handoffs)s THEN
                i := 3 - i;
            ELSE
                ticket[i] := gen_random_uuid();
                PERFORM holdfast_4.enqueue(owner[i], 3600000, %(never)s,
                                           %(queue)s, ticket[i], 1, 1, '');
                COMMIT;
            END IF;
        END LOOP;
        PERFORM holdfast_4.remove(owner[i], %(never)s, %(queue)s, ticket[i]);
    END $$
"""


class OldSnapshotTest(unittest.TestCase):
    """A transaction that reads for long, as pg_dump does, keeps the server from
    removing the versions that calls leave behind.  The pages that a call looks
    at do not grow with their number."""

    FEW, MANY = 300, 8000

    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server({"fsync": "off", "autovacuum": "off"})
        cls.addClassCleanup(cls.server.close)
        cls.server.sql(schema.text())
        cls.old = cls.server.connect()
        cls.addClassCleanup(cls.old.close)
        cls.old.autocommit = False
        cls.old.cursor().execute(
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
            "SELECT FROM holdfast.version")

    def setUp(self):
        self.one = Session(self.server, ttl_ms=3600000)
        self.addCleanup(self.one.connection.close)
        self.other = Session(self.server, ttl_ms=3600000)
        self.addCleanup(self.other.connection.close)
        # Both are open.
        for session in self.one, self.other:
            session.enqueue("opens-" + session.id)

    def repeat(self, queue, handoffs, count):
        self.one.cursor.execute(CALLS, {
            "one": self.one.id, "other": self.other.id, "never": NEVER_MS,
            "queue": queue.encode(), "count": count, "handoffs": handoffs})

    def pages(self, session, function, *arguments):
        session.cursor.execute(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE hf_%s(%s)" % (
                function, ", ".join(["%s"] * len(arguments))), arguments)
        plan = session.cursor.fetchone()[0][0]["Plan"]
        return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

    def enqueue(self, session, queue, ticket):
        return self.pages(session, "enqueue", session.id, session.ttl_ms,
                          NEVER_MS, queue.encode(), ticket, MUTEX, 1, b"me")

    def remove(self, session, queue, ticket):
        return self.pages(session, "remove", session.id, NEVER_MS,
                          queue.encode(), ticket, None)

    def pair(self, queue):
        ticket = str(uuid.uuid4())
        return (self.enqueue(self.one, queue, ticket) +
                self.remove(self.one, queue, ticket))

    def handoff(self, queue):
        """An acquire behind a holder, its release, and the list of the next
        one."""
        held, waits = str(uuid.uuid4()), str(uuid.uuid4())
        self.enqueue(self.one, queue, held)
        pages = (self.enqueue(self.other, queue, waits) +
                 self.remove(self.one, queue, held) +
                 self.pages(self.other, "list_ahead", queue.encode(), waits,
                            False))
        self.remove(self.other, queue, waits)
        return pages

    def compare(self, queue, handoffs, measure):
        self.repeat(queue, handoffs, self.FEW)
        measure(queue)  # plans
        few = min(measure(queue) for _ in range(3))
        self.repeat(queue, handoffs, self.MANY)
        many = min(measure(queue) for _ in range(3))
        # The trees of the indexes may have grown by a level each.
        self.assertLessEqual(many, few + 30, "%d pages, %d after %d" % (
            few, many, self.MANY))

    def test_a_pair(self):
        self.compare("pair", False, self.pair)

    def test_a_handoff(self):
        self.compare("handoff", True, self.handoff)

    def test_a_pair_of_a_semaphore(self):
        """Its list is the whole queue."""
        def pair(queue):
            ticket = str(uuid.uuid4())
            return (self.pages(
                self.one, "enqueue", self.one.id, self.one.ttl_ms, NEVER_MS,
                queue.encode(), ticket, schema.LEASE, 1, b"me") +
                    self.remove(self.one, queue, ticket))

        self.compare("semaphore", True, pair)


if __name__ == "__main__":
    unittest.main()
