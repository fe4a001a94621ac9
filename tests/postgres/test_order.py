#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Why the schema takes numbers as it does: two plain ways admit two, tried
here on tables of their own; ours does not, nor under load."""

import threading
import unittest
import uuid

import schema
import waiting
import postgres

PLAIN = """
    DROP TABLE IF EXISTS plain_ticket, plain_counter;
    DROP SEQUENCE IF EXISTS plain_sequence;
    CREATE TABLE plain_ticket (sequence bigint, who text);
    CREATE TABLE plain_counter (counter bigint);
    INSERT INTO plain_counter VALUES (0);
    CREATE SEQUENCE plain_sequence;
"""

BARE_SEQUENCE = """
    INSERT INTO plain_ticket SELECT nextval('plain_sequence'), %s
    RETURNING sequence
"""

ONE_STATEMENT = """
    WITH given AS (UPDATE plain_counter SET counter = counter + 1
                   RETURNING counter),
         put AS (INSERT INTO plain_ticket SELECT counter, %s FROM given
                 RETURNING who, sequence)
    SELECT who FROM (SELECT who, sequence FROM plain_ticket
                     UNION ALL SELECT who, sequence FROM put) AS seen
    ORDER BY sequence
"""

FIRST = "SELECT who FROM plain_ticket ORDER BY sequence"


class Statement(threading.Thread):
    """One that may have to wait for another's transaction."""

    def __init__(self, server, function):
        self.server = server
        self.rows = None
        self.function = function
        super().__init__(daemon=True)
        self.start()

    def run(self):
        self.rows = self.function()

    def wait_until_blocked(self):
        waiting.eventually("it to wait for a lock", lambda: self.server.sql(
            "SELECT 1 FROM pg_locks WHERE NOT granted"))

    def result(self):
        self.join(waiting.LIMIT_S)
        return self.rows


class OrderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        cls.server.sql(schema.text())

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.server.sql(PLAIN)

    def transaction(self):
        connection = self.server.connect()
        self.addCleanup(connection.close)
        connection.autocommit = False
        return connection, connection.cursor()

    def test_a_bare_sequence_admits_two(self):
        slow, slow_cursor = self.transaction()
        fast, fast_cursor = self.transaction()
        slow_cursor.execute(BARE_SEQUENCE, ("slow",))  # takes 1
        fast_cursor.execute(BARE_SEQUENCE, ("fast",))  # takes 2, is done first
        fast.commit()
        fast_cursor.execute(FIRST)
        self.assertEqual(fast_cursor.fetchone(), ("fast",))
        slow.commit()
        slow_cursor.execute(FIRST)
        self.assertEqual(slow_cursor.fetchone(), ("slow",))

    def test_one_statement_that_locks_and_reads_admits_two(self):
        slow, slow_cursor = self.transaction()
        slow_cursor.execute(ONE_STATEMENT, ("slow",))
        self.assertEqual(slow_cursor.fetchall()[0], ("slow",))
        fast = Statement(self.server, lambda: self.server.sql(
            ONE_STATEMENT, ("fast",)))
        fast.wait_until_blocked()
        slow.commit()
        # What it read is as old as its beginning, before it waited.
        self.assertEqual(fast.result()[0], ("fast",))

    def test_ours_admits_one_when_it_had_to_wait(self):
        with schema.Session(self.server) as slow, \
                schema.Session(self.server) as fast:
            slow.connection.autocommit = False
            first, seen = slow.enqueue("ours")
            self.assertEqual([first], [ticket for ticket, _ in seen])
            other = Statement(self.server, lambda: fast.enqueue("ours"))
            other.wait_until_blocked()
            slow.connection.commit()
            second, seen = other.result()
            self.assertEqual([ticket for ticket, _ in seen], [first, second])

    def test_ours_admits_one_on_a_queue_that_is_being_made(self):
        with schema.Session(self.server) as slow, \
                schema.Session(self.server) as fast:
            slow.connection.autocommit = False
            first, _ = slow.enqueue("fresh")
            other = Statement(self.server, lambda: fast.enqueue("fresh"))
            other.wait_until_blocked()
            slow.connection.commit()
            second, seen = other.result()
            self.assertEqual([ticket for ticket, _ in seen], [first, second])

    def emptied(self, *sessions):
        """A queue that is known to be empty."""
        name = "emptied-%s" % uuid.uuid4()
        for session in sessions:
            ticket, _ = session.enqueue(name)
            session.remove(name, ticket)
        self.assertEqual(self.sole(name), schema.NOBODY)
        return name

    def sole(self, name):
        return self.server.sql("SELECT sole FROM holdfast.counter "
                               "WHERE " + schema.OF_NAME, (name.encode(),))[0][0]

    def test_ours_admits_one_on_a_queue_that_was_empty(self):
        with schema.Session(self.server) as slow, \
                schema.Session(self.server) as fast:
            name = self.emptied(slow, fast)
            slow.connection.autocommit = False
            first, _ = slow.enqueue(name)
            other = Statement(self.server, lambda: fast.enqueue(name))
            other.wait_until_blocked()
            slow.connection.commit()
            second, seen = other.result()
            self.assertEqual([ticket for ticket, _ in seen], [first, second])
            self.assertIsNone(self.sole(name))

    def test_a_release_notifies_one_that_came_while_it_waited(self):
        with schema.Session(self.server) as holder, \
                schema.Session(self.server) as waiter:
            name = self.emptied(holder, waiter)
            first, _ = holder.enqueue(name)
            self.assertEqual(self.sole(name), first)
            waiter.connection.autocommit = False
            second, _ = waiter.enqueue(name)
            release = Statement(self.server,
                                lambda: holder.remove(name, first))
            release.wait_until_blocked()
            waiter.connection.commit()
            self.assertTrue(release.result())
            waiter.connection.autocommit = True
            self.assertEqual(waiter.notices(),
                             [("first", second, first, name)])
            self.assertEqual(waiter.look_ahead(name, second), ([second], 0))

    def test_a_release_notifies_one_that_looks_since_it_waited(self):
        with schema.Session(self.server) as holder, \
                schema.Session(self.server) as looker:
            name = self.emptied(holder, looker)
            first, _ = holder.enqueue(name, schema.LEASE)
            looker.connection.autocommit = False
            looker.call("list_and_watch", looker.id, looker.ttl_ms, schema.NEVER_MS,
                        name.encode(), False)
            release = Statement(self.server,
                                lambda: holder.remove(name, first))
            release.wait_until_blocked()
            looker.connection.commit()
            self.assertTrue(release.result())
            looker.connection.autocommit = True
            self.assertEqual(looker.notices(), [("changed", name)])

    def test_a_removal_finds_an_enqueue_that_it_waited_for(self):
        """As when its connection has ended and another one takes it out."""
        with schema.Session(self.server) as lost, \
                schema.Session(self.server) as other:
            name = self.emptied(lost, other)
            ticket = str(uuid.uuid4())
            lost.connection.autocommit = False
            lost.enqueue(name, ticket=ticket)
            other.id = lost.id
            removal = Statement(self.server,
                                lambda: other.remove(name, ticket))
            removal.wait_until_blocked()
            lost.connection.commit()
            self.assertTrue(removal.result())
            self.assertEqual(other.list(name), [])
            self.assertEqual(self.sole(name), schema.NOBODY)

    def test_what_waited_for_too_long_is_not_done(self):
        with schema.Session(self.server) as slow, \
                schema.Session(self.server) as late:
            name = self.emptied(slow, late)
            slow.connection.autocommit = False
            slow.cursor.execute("SELECT FROM holdfast.counter WHERE %s "
                                "FOR UPDATE" % schema.OF_NAME, (name.encode(),))
            late.cursor.execute("SELECT holdfast_4.epoch_ms(clock_timestamp()) + 2000")
            until, = late.cursor.fetchone()
            other = Statement(self.server, lambda: late.call(
                "enqueue", late.id, late.ttl_ms, until, name.encode(),
                str(uuid.uuid4()), schema.MUTEX, 1, b""))
            other.wait_until_blocked()
            waiting.eventually("its end", lambda: self.server.sql(
                "SELECT holdfast_4.epoch_ms(clock_timestamp()) > %s", (until,))[0][0])
            slow.connection.commit()
            head, _ = other.result()
            self.assertEqual(head["code"], 1)
            self.assertEqual(late.list(name), [])

    def test_a_removal_that_comes_too_late_is_not_done(self):
        with schema.Session(self.server) as owner:
            name = self.emptied(owner)
            ticket, seen = owner.enqueue(name)
            self.assertEqual(self.sole(name), ticket)
            head, _ = owner.call("remove", owner.id, 1, name.encode(), ticket,
                                 None)
            self.assertEqual(head["code"], 1)
            self.assertEqual(owner.list(name), seen)
            self.assertIsNone(self.sole(name))

    def test_a_session_whose_ticket_is_removed_is_notified(self):
        with schema.Session(self.server) as owner, \
                schema.Session(self.server) as other:
            name = self.emptied(owner, other)
            ticket, _ = owner.enqueue(name)
            self.assertTrue(other.remove(name, ticket))
            self.assertEqual(owner.notices(), [("gone", ticket, "0", name)])

    def test_refuses_a_transaction_with_one_snapshot(self):
        for level in ("REPEATABLE READ", "SERIALIZABLE"):
            with schema.Session(self.server, by_hand=True) as session:
                session.cursor.execute("BEGIN ISOLATION LEVEL " + level)
                with self.assertRaisesRegex(Exception, "READ COMMITTED only"):
                    session.enqueue("snapshot")


class HammerTest(unittest.TestCase):
    """Many at once, on few queues; what they see is checked by them."""

    WORKERS = 12
    REPEATS = 40
    QUEUES = 3

    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        cls.server.sql(schema.text())

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.mutex = threading.Lock()
        self.done = threading.Event()
        self.inside = [None] * self.QUEUES
        self.last = [0] * self.QUEUES
        self.entered = 0
        self.wrong = []

    def enter(self, number, worker, token):
        with self.mutex:
            if self.inside[number] is not None:
                self.wrong.append("%s entered beside %s" % (
                    worker, self.inside[number]))
            if token <= self.last[number]:
                self.wrong.append("token %d after %d" % (
                    token, self.last[number]))
            self.inside[number] = worker
            self.last[number] = token
            self.entered += 1

    def leave(self, number):
        with self.mutex:
            self.inside[number] = None

    def run_once(self, session, number, worker):
        queue = "hammer-%d" % number
        ticket, seen = session.enqueue(queue)
        self.assertEqual(seen[-1][0], ticket)
        ahead = session.ahead

        def first():
            now = session.list(queue)
            # No ticket appears ahead of one that is in the queue.
            if sum(n < seen[-1][1] for _, n in now) > ahead:
                self.wrong.append("somebody appeared ahead")
            return now[0][0] == ticket
        waiting.eventually("its turn", first)
        self.enter(number, worker, seen[-1][1])
        session.list(queue)  # some time inside
        self.leave(number)
        self.assertTrue(session.remove(queue, ticket))

    def work(self, worker):
        try:
            with schema.Session(self.server) as session:
                for i in range(self.REPEATS):
                    self.run_once(session, (worker + i) % self.QUEUES,
                                  worker)
        except Exception as error:  # pylint: disable=broad-except
            self.wrong.append(repr(error))

    def judge(self, cursor, number):
        """Compare the queue's row with its tickets while no call changes it."""
        cursor.execute("SELECT queue, sole FROM holdfast.counter "
                       "WHERE %s FOR UPDATE" % schema.OF_NAME, (b"hammer-%d" % number,))
        for queue, sole in cursor.fetchall():
            cursor.execute(
                "SELECT count(*) FROM holdfast.ticket WHERE queue = %s "
                "AND id IS DISTINCT FROM %s", (queue, sole))
            others, = cursor.fetchone()
            if sole is not None and others > 0:
                self.wrong.append("%d others beside %s" % (others, sole))

    def judge_all(self):
        connection = self.server.connect()
        connection.autocommit = False
        with connection.cursor() as cursor:
            while not self.done.is_set():
                for number in range(self.QUEUES):
                    self.judge(cursor, number)
                    connection.commit()
        connection.close()

    def test_many_sessions_enter_one_by_one_and_in_order(self):
        judge = threading.Thread(target=self.judge_all)
        judge.start()
        self.addCleanup(judge.join)
        self.addCleanup(self.done.set)
        workers = [threading.Thread(target=self.work, args=(i,))
                   for i in range(self.WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(self.wrong, [])
        self.assertEqual(self.entered, self.WORKERS * self.REPEATS)
        self.assertEqual(self.server.sql(
            "SELECT count(*) FROM holdfast.ticket"), [(0,)])


if __name__ == "__main__":
    unittest.main()
