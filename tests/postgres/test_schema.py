#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the functions of the schema, called without the library."""

import re
import unittest
import uuid

import schema
import waiting
import postgres
from schema import (BARRIER, LEASE, PARTICIPANT, MUTEX, NEVER_MS, NOBODY, READ,
                    READY, WRITE, Session)

# Columns that the library need not compare to recognise its schema.
NOT_JUDGED = {
    "pg_class": {
        "follows from columns, constraints, rules, triggers and children":
            "reltype relnatts relhasindex relchecks relhasrules "
            "relhastriggers relhassubclass relispartition relpartbound",
        "storage and statistics":
            "relam relfilenode reltablespace relpages reltuples relallvisible "
            "relallfrozen reltoastrelid relrewrite relfrozenxid relminmxid "
            "reloptions",
        "has no effect here": "relisshared relispopulated relreplident",
    },
    "pg_attribute": {
        "follows from the type, defaults and children":
            "attlen attndims attbyval attalign attcollation atthasdef "
            "atthasmissing attmissingval attislocal attinhcount attfdwoptions",
        "storage and statistics":
            "attstattarget attcacheoff attstorage attcompression attoptions",
    },
    "pg_proc": {
        "in its arguments and its result":
            "provariadic proretset pronargs pronargdefaults prorettype "
            "proargtypes proallargtypes proargmodes proargnames "
            "proargdefaults",
        "for planners; support functions are superusers'":
            "procost prorows prosupport",
        "another language, or a body of its own": "probin prosqlbody",
        "EXECUTE is the only right": "proacl",
        "plpgsql and sql know no transforms": "protrftypes",
    },
}


# The change of which those who watch the queue are not notified, the text of the
# schema, and the mutation.
MUTATIONS = {
    "PG_ENQUEUE_NOTIFIES_NO_WATCHER": (
        "an enqueue", "ELSIF is_watched THEN", "ELSIF false THEN"),
    "PG_DOWNGRADE_NOTIFIES_NO_WATCHER": (
        "a downgrade",
        "IF is_watched THEN\n"
        "            PERFORM holdfast_4.notify_watchers(q, queue_name);\n"
        "        END IF;\n    END IF;", "END IF;"),
}


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        cls.server.sql(schema.text())

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.server.sql("TRUNCATE holdfast.watcher, holdfast.ticket")
        self.queue = str(uuid.uuid4())
        self.a = self.session()
        self.b = self.session()

    def session(self, **options):
        session = Session(self.server, **options)
        self.addCleanup(session.connection.close)
        return session

    def ids(self, session=None):
        return [ticket for ticket, _ in (session or self.b).list(self.queue)]

    # ---- tickets

    def test_a_ticket_is_found_by_its_id(self):
        ticket, seen = self.a.enqueue(self.queue)
        self.assertEqual(self.a.enqueue(self.queue, ticket=ticket)[1], seen)

    def test_numbers_rise_for_ever(self):
        last = 0
        for _ in range(3):
            ticket, seen = self.a.enqueue(self.queue)
            self.assertGreater(seen[0][1], last)
            last = seen[0][1]
            self.assertTrue(self.a.remove(self.queue, ticket))
        self.assertFalse(self.a.remove(self.queue, ticket))

    def number(self):
        """The one that is given next."""
        ticket, seen = self.a.enqueue(self.queue)
        self.a.remove(self.queue, ticket)
        return seen[0][1]

    def test_numbers_rise_though_the_row_is_an_old_one(self):
        """As after a failover to a replica that had not got all."""
        for counter in (0, 1):
            last = self.number()
            self.server.sql("UPDATE holdfast.counter SET counter = %s "
                            "WHERE " + schema.OF_NAME, (counter, self.queue.encode()))
            self.assertGreater(self.number(), last)

    def test_numbers_rise_though_the_clock_is_set_back(self):
        ahead = self.number() + 3600 * 10 ** 6
        self.server.sql("UPDATE holdfast.counter SET counter = %s "
                        "WHERE " + schema.OF_NAME, (ahead, self.queue.encode()))
        self.assertEqual([self.number(), self.number()],
                         [ahead + 1, ahead + 2])

    def test_names_and_payloads_are_bytes(self):
        name, payload = bytes(range(1, 256)), bytes(range(255, 0, -1))
        ticket = str(uuid.uuid4())
        _, rows = self.a.call("enqueue", self.a.id, 60000, NEVER_MS, name,
                              ticket, MUTEX, 1, payload)
        self.assertEqual(bytes(rows[0]["payload"]), payload)
        _, rows = self.b.call("list", name, True, False)
        self.assertEqual(bytes(rows[0]["payload"]), payload)

    def test_only_the_first_payload_is_for_everybody(self):
        self.a.enqueue(self.queue)
        self.b.enqueue(self.queue)
        for detailed, expected in ((False, [b"me", b""]), (True, [b"me"] * 2)):
            _, rows = self.a.call("list", self.queue.encode(), detailed,
                                  False)
            self.assertEqual([bytes(row["payload"]) for row in rows],
                             expected)

    def test_a_probe_has_what_is_there(self):
        ticket, _ = self.a.enqueue(self.queue)
        self.a.enqueue(self.queue)
        _, rows = self.b.call("find_tickets", self.queue.encode(),
                              "{%s,%s}" % (ticket, NOBODY))
        self.assertEqual([row["id"] for row in rows], [ticket])
        self.assertGreater(rows[0]["expires_in_ms"], 0)

    def test_a_list_of_nothing_writes_nothing(self):
        self.assertEqual(self.a.list("never-" + self.queue), [])
        self.assertEqual(self.server.sql(
            "SELECT 1 FROM holdfast.queue WHERE name = %s",
            (b"never-" + self.queue.encode(),)), [])

    def test_a_downgrade_keeps_all_but_the_kind(self):
        ticket, seen = self.a.enqueue(self.queue, WRITE)
        for expected in (True, True):
            head, _ = self.a.call("downgrade", self.a.id, NEVER_MS,
                                  self.queue.encode(), ticket)
            self.assertEqual(head["found"], expected)
        self.assertEqual(self.b.list(self.queue), seen)
        head, _ = self.b.call("downgrade", self.b.id, NEVER_MS,
                              self.queue.encode(), ticket)
        self.assertFalse(head["found"])  # it is another's

    # ---- notices

    def queue_of(self, kinds):
        """A session for each ticket of those kinds."""
        sessions = [self.session() for _ in kinds]
        tickets = [session.enqueue(self.queue, kind)[0]
                   for session, kind in zip(sessions, kinds)]
        return sessions, tickets

    def notified(self, kinds, gone):
        """The positions that are notified when the ticket at position gone is
        removed, and which of them is named as the first."""
        sessions, tickets = self.queue_of(kinds)
        sessions[gone].remove(self.queue, tickets[gone])
        found = []
        for position, session in enumerate(sessions):
            notices = session.notices()
            if notices:
                self.assertIn(notices, (
                    [("gone", tickets[gone], "0", self.queue)],
                    [("first", tickets[position], tickets[gone], self.queue)]))
                found.append(position if notices[0][0] == "gone" else
                             "first %d" % position)
        for session in sessions:
            session.call("close_session", session.id, NEVER_MS)
        return found

    def test_a_removal_notifies_those_that_waited_for_the_ticket(self):
        for kinds, gone, expected in (
                ([MUTEX, MUTEX, MUTEX], 0, ["first 1"]),
                ([MUTEX, MUTEX, MUTEX], 1, [2]),
                ([MUTEX, MUTEX, MUTEX], 2, []),
                ([WRITE, WRITE, READ], 0, ["first 1"]),
                ([WRITE, READ, READ, WRITE, READ], 0, [1, 2]),
                ([WRITE, READ, READ, WRITE, READ], 1, []),
                ([WRITE, READ, READ, WRITE, READ], 2, [3]),
                ([WRITE, READ, READ, WRITE, READ], 3, [4]),
                ([READ, WRITE, WRITE], 0, ["first 1"]),
                ([LEASE, LEASE, LEASE], 0, []),
                ([PARTICIPANT, PARTICIPANT, MUTEX], 0, []),
                ([PARTICIPANT, MUTEX, MUTEX], 1, [2]),
                ([MUTEX, PARTICIPANT, MUTEX], 0, ["first 2"])):
            with self.subTest(kinds=kinds, gone=gone):
                self.assertEqual(self.notified(kinds, gone), expected)

    def test_nobody_is_named_while_a_standby_may_lack_the_removal(
            self):
        self.server.sql("ALTER SYSTEM SET synchronous_standby_names = 'away'")
        self.addCleanup(self.server.sql, "SELECT pg_reload_conf()")
        self.addCleanup(self.server.sql,
                        "ALTER SYSTEM RESET synchronous_standby_names")
        sessions, tickets = self.queue_of([MUTEX, MUTEX])
        cursor = sessions[0].cursor
        cursor.execute("SET synchronous_commit = local")  # or it would wait
        self.server.sql("SELECT pg_reload_conf()")

        def is_set():
            cursor.execute("SHOW synchronous_standby_names")
            return cursor.fetchall() == [("away",)]

        waiting.eventually("the setting", is_set)
        sessions[0].remove(self.queue, tickets[0])
        self.assertEqual(sessions[1].notices(),
                         [("gone", tickets[0], "0", self.queue)])

    def test_a_downgrade_notifies_those_that_waited_for_the_write_ticket(self):
        for kinds, expected in (([WRITE, READ, READ, WRITE], [1, 2]),
                                ([WRITE, WRITE, READ], [1])):
            with self.subTest(kinds=kinds):
                sessions, tickets = self.queue_of(kinds)
                sessions[0].call("downgrade", sessions[0].id, NEVER_MS,
                                 self.queue.encode(), tickets[0])
                notified = [position for position, session in enumerate(sessions)
                            if session.notices() == [("gone", tickets[0], "3",
                                                      self.queue)]]
                self.assertEqual(notified, expected)
                for session in sessions:
                    session.call("close_session", session.id, NEVER_MS)

    def test_an_owner_is_notified_of_what_others_do(self):
        ticket, _ = self.a.enqueue(self.queue)
        for count in (1, 2):
            head, _ = self.b.call("request_release", NEVER_MS, self.queue.encode(),
                                  ticket)
            self.assertTrue(head["found"])
            self.assertEqual(self.a.notices(),
                             [("revoked", ticket, str(count), self.queue)])
        head, rows = self.a.call("renew", self.a.id, 60000, NEVER_MS)
        self.assertEqual([(row["id"], row["revoked"]) for row in rows],
                         [(ticket, 2)])
        self.b.remove(self.queue, ticket)
        self.assertEqual(self.a.notices(),
                         [("gone", ticket, "0", self.queue)])
        head, _ = self.b.call("request_release", NEVER_MS, self.queue.encode(), ticket)
        self.assertFalse(head["found"])

    def test_a_look_is_notified_once(self):
        ticket, _ = self.a.enqueue(self.queue, LEASE)
        other, _ = self.a.enqueue(self.queue, LEASE)
        _, rows = self.b.call("list_and_watch", self.b.id, 60000, NEVER_MS,
                              self.queue.encode(), False)
        self.assertEqual([row["id"] for row in rows], [ticket, other])
        self.a.remove(self.queue, ticket)
        self.a.remove(self.queue, other)
        self.assertEqual(self.b.notices(), [("changed", self.queue)])

    def unreported(self, change):
        """Does b, which watches the queue, receive anything but one notice of
        the change?"""
        self.b.call("list_and_watch", self.b.id, 60000, NEVER_MS,
                    self.queue.encode(), False)
        change()
        return self.b.notices() != [("changed", self.queue)]

    def changes(self):
        first, second = str(uuid.uuid4()), str(uuid.uuid4())
        return {
            "an enqueue": lambda: self.a.enqueue(self.queue, WRITE, first),
            "another": lambda: self.a.enqueue(self.queue, MUTEX, second),
            "a downgrade": lambda: self.a.call(
                "downgrade", self.a.id, NEVER_MS, self.queue.encode(), first),
            "a removal": lambda: self.a.remove(self.queue, first),
            "the last removal": lambda: self.a.remove(self.queue, second),
        }

    def test_a_look_is_notified_of_every_change(self):
        """Also if the queue is known to be empty before."""
        for known_empty in (False, True):
            if known_empty:
                ticket, _ = self.a.enqueue(self.queue)
                self.a.remove(self.queue, ticket)
            changes = self.changes()
            self.assertEqual([what for what, change in changes.items()
                              if self.unreported(change)], [])

    def test_a_look_is_not_notified_of_what_changes_nothing(self):
        changes = self.changes()
        for what in "an enqueue", "another", "a downgrade":
            changes[what]()
        for what in "an enqueue", "another", "a downgrade":
            self.assertTrue(self.unreported(changes[what]), what)

    def test_mutations_that_do_not_report_are_found(self):
        for name, (what, old, new) in MUTATIONS.items():
            with self.subTest(name):
                self.assertEqual(schema.text().count(old), 1)
                name = name.lower()
                self.server.sql("CREATE DATABASE " + name)
                self.server.sql(schema.text().replace(old, new), database=name)
                self.a = self.session(database=name)
                self.b = self.session(database=name)
                unreported = [what for what, change in self.changes().items()
                              if self.unreported(change)]
                self.assertIn(what, unreported)

    # ---- flags

    def test_there_is_one_mark_of_a_kind_and_it_stays(self):
        name = self.queue.encode() + b"/"
        flag = str(uuid.uuid4())
        for there, ticket in ((False, flag), (True, str(uuid.uuid4()))):
            head, _ = self.a.call("set_flag", NEVER_MS, name, BARRIER, ticket)
            self.assertEqual((head["code"], head["found"]), (0, there))
        _, rows = self.b.call("list_and_watch", self.b.id, 60000, NEVER_MS, name,
                              False)
        self.assertEqual([row["id"] for row in rows], [flag])
        self.assertGreater(rows[0]["expires_in_ms"], 1 << 60)
        self.a.call("close_session", self.a.id, NEVER_MS)
        self.assertEqual(len(self.b.list(self.queue + "/")), 1)
        for there in (True, False):
            head, _ = self.a.call("clear_flag", NEVER_MS, name, BARRIER)
            self.assertEqual((head["code"], head["found"]), (0, there))
        self.assertEqual(self.b.notices(), [("changed", self.queue + "/")])

    # ---- members

    def participants(self, session=None):
        """The kinds and ids of the participants and the ready node."""
        _, rows = (session or self.b).call("list", self.queue.encode(),
                                           False, True)
        return [(row["kind"], row["id"]) for row in rows]

    def next_generation(self, session, ticket, participants, flag=None):
        head, _ = session.call("new_generation", NEVER_MS, self.queue.encode(), ticket,
                               participants, flag or str(uuid.uuid4()))
        return head["found"]

    def look_at_participants(self):
        return self.b.call("list_and_watch", self.b.id, 60000, NEVER_MS,
                           self.queue.encode(), True)[1]

    def test_participants_are_listed_apart(self):
        ticket, _ = self.a.enqueue(self.queue)
        participant, seen = self.a.enqueue(self.queue, PARTICIPANT)
        self.assertEqual([seen_id for seen_id, _ in seen], [participant])
        self.assertTrue(self.next_generation(self.a, participant, 1))
        self.assertEqual(self.ids(), [ticket])
        self.assertEqual([kind for kind, _ in self.participants()],
                         [PARTICIPANT, READY])
        _, rows = self.b.call("find_tickets", self.queue.encode(),
                              "{%s,%s}" % (ticket, participant))
        self.assertEqual([row["id"] for row in rows], [ticket, participant])

    def test_enough_participants_set_the_ready_node(self):
        first, _ = self.a.enqueue(self.queue, PARTICIPANT)
        self.assertFalse(self.next_generation(self.a, first, 2))
        self.a.enqueue(self.queue)  # no member
        self.assertFalse(self.next_generation(self.a, first, 2))
        second, _ = self.b.enqueue(self.queue, PARTICIPANT)
        self.assertFalse(self.next_generation(self.a, NOBODY, 2))
        flags = [str(uuid.uuid4()), str(uuid.uuid4())]
        for flag in flags:
            self.assertTrue(self.next_generation(self.b, first, 2, flag))
            self.assertEqual(self.participants(), [
                (PARTICIPANT, first), (PARTICIPANT, second), (READY, flag)])
        self.b.remove(self.queue, second)
        self.assertFalse(self.next_generation(self.a, first, 2))
        self.assertEqual(self.participants()[-1], (READY, flags[1]))

    def test_a_look_at_participants_is_notified_of_every_change(self):
        first, _ = self.a.enqueue(self.queue, PARTICIPANT)
        changes = (lambda: self.a.enqueue(self.queue, PARTICIPANT),
                   lambda: self.next_generation(self.a, first, 2),
                   lambda: self.next_generation(self.a, first, 2),
                   lambda: self.a.remove(self.queue, first))
        for change in changes:
            self.look_at_participants()
            self.assertEqual(self.b.notices(), [])
            change()
            self.assertEqual(self.b.notices(), [("changed", self.queue)])

    def test_the_mark_goes_when_nobody_is_there(self):
        def lower():
            head, _ = self.b.call("clear_flag", NEVER_MS, self.queue.encode(),
                                  READY)
            return head["found"]

        self.assertFalse(lower())
        first, _ = self.a.enqueue(self.queue, PARTICIPANT)
        self.next_generation(self.a, first, 1)
        self.assertFalse(lower())
        self.a.end()
        self.assertTrue(lower())
        self.assertEqual(self.participants(), [])

    def test_a_participant_that_has_ended_does_not_count(self):
        """Not even one that no call can remove just now."""
        dead, _ = self.a.enqueue(self.queue, PARTICIPANT)
        first, _ = self.b.enqueue(self.queue, PARTICIPANT)
        self.a.end()
        holding = self.server.connect()
        self.addCleanup(holding.close)
        holding.autocommit = False
        holding.cursor().execute(
            "SELECT FROM holdfast.session WHERE id = %s FOR UPDATE",
            (self.a.id,))
        self.assertFalse(self.next_generation(self.b, first, 2))
        self.assertFalse(self.next_generation(self.b, dead, 1))
        self.assertTrue(self.next_generation(self.b, first, 1))
        self.assertIn((PARTICIPANT, dead), self.participants())

    # ---- leases

    def test_whoever_comes_by_takes_out_what_has_ended(self):
        comers = {
            "list": lambda: self.b.list(self.queue),
            "find_tickets": lambda: self.b.call(
                "find_tickets", self.queue.encode(), "{%s}" % ticket),
            "ahead": lambda: self.b.look_ahead(self.queue, behind),
            "list_and_watch": lambda: self.b.call(
                "list_and_watch", self.b.id, 60000, NEVER_MS,
                self.queue.encode(), False),
            "new_generation": lambda: self.b.call(
                "new_generation", NEVER_MS, self.queue.encode(), NOBODY, 1,
                str(uuid.uuid4())),
            "clear_flag": lambda: self.b.call(
                "clear_flag", NEVER_MS, self.queue.encode(), READY),
            "enqueue": lambda: self.b.enqueue(self.queue),
            "downgrade": lambda: self.b.call("downgrade", self.b.id, NEVER_MS,
                                             self.queue.encode(), ticket),
            "revoke": lambda: self.b.call("request_release", NEVER_MS,
                                          self.queue.encode(), ticket),
            "describe": lambda: self.b.call("describe", self.b.id, NEVER_MS,
                                            self.queue.encode(), ticket, b""),
        }
        for name, come in comers.items():
            with self.subTest(name):
                dead, waiter = self.session(), self.session()
                ticket, _ = dead.enqueue(self.queue)
                behind, _ = waiter.enqueue(self.queue)
                dead.end()
                come()
                notice = ("gone", ticket, "0", self.queue)
                self.assertEqual(waiter.notices(), [notice])
                self.assertEqual(dead.notices(), [notice])
                self.assertNotIn(ticket, self.ids())
                self.assertEqual(dead.renew(), set())
                for session in (waiter, self.b):
                    session.call("close_session", session.id, NEVER_MS)

    def test_what_has_ended_is_left_to_those_behind_it(self):
        """A call for other tickets does not remove it; the waiters behind it
        do, when the ones before it have gone."""
        sessions, tickets = self.queue_of([MUTEX] * 9)
        for number in (1, 2, 3, 4):
            sessions[number].end()
        self.assertEqual(sessions[8].look_ahead(self.queue, tickets[8]),
                         ([tickets[n] for n in (0, 5, 6, 7, 8)], 4))
        self.assertTrue(sessions[0].remove(self.queue, tickets[0]))
        self.assertEqual(sessions[5].notices(), [])
        self.assertEqual(sessions[5].look_ahead(self.queue, tickets[5]),
                         ([tickets[5]], 0))
        self.assertEqual(self.ids(), tickets[5:])

    def test_a_part_has_the_first_the_nearest_and_the_own(self):
        kinds = [WRITE, READ, WRITE, READ, READ, WRITE, READ, READ]
        _, tickets = self.queue_of(kinds)
        for position, reads, shown in ((7, True, [0, 2, 5]),
                                       (4, True, [0, 2]),
                                       (0, False, []),
                                       (5, False, [0, 2, 3, 4]),
                                       (7, False, [0, 4, 5, 6])):
            with self.subTest(position=position, reads=reads):
                self.assertEqual(
                    self.b.look_ahead(self.queue, tickets[position], reads),
                    ([tickets[n] for n in shown + [position]],
                     position - len(shown)))
        self.assertEqual(self.b.look_ahead(self.queue, NOBODY),
                         ([tickets[0]], 0))

    def test_a_ticket_is_not_in_its_own_way_when_it_is_found(self):
        """With the kind that it has by now."""
        ticket, seen = self.a.enqueue(self.queue, WRITE)
        self.a.call("downgrade", self.a.id, NEVER_MS, self.queue.encode(),
                    ticket)
        head, rows = self.a.call("enqueue", self.a.id, 60000, NEVER_MS,
                                 self.queue.encode(), ticket, WRITE, 1, b"")
        self.assertEqual([(row["id"], row["sequence"], row["kind"])
                          for row in rows], [(*seen[0], READ)])

    def test_a_session_with_half_its_time_is_left_as_it_is(self):
        self.a.enqueue(self.queue)
        expires = "SELECT expires_at FROM holdfast.session WHERE id = %s"
        before = self.server.sql(expires, (self.a.id,))
        self.a.enqueue(self.queue)
        self.assertEqual(self.server.sql(expires, (self.a.id,)), before)
        self.server.sql("UPDATE holdfast.session SET expires_at = "
                        "clock_timestamp() + interval '20 s' WHERE id = %s",
                        (self.a.id,))
        self.a.enqueue(self.queue)
        self.assertGreater(self.server.sql(expires, (self.a.id,)), before)

    def test_a_ticket_without_a_session_has_ended(self):
        self.a.enqueue(self.queue)
        self.server.sql("DELETE FROM holdfast.session WHERE id = %s",
                        (self.a.id,))
        mine, seen = self.b.enqueue(self.queue)
        self.assertEqual([ticket for ticket, _ in seen], [mine])

    def test_notices_of_several_ended_tickets_follow_the_old_queue(self):
        sessions, tickets = self.queue_of([WRITE, WRITE, READ, WRITE])
        sessions[0].end()
        sessions[1].end()
        self.b.list(self.queue)
        self.assertEqual(sessions[2].notices(),
                         [("gone", tickets[1], "0", self.queue)])
        self.assertEqual(sessions[3].notices(), [])

    def test_a_renewal_does_not_bring_back(self):
        self.a.enqueue(self.queue)
        self.a.end()
        self.assertEqual(self.a.renew(), set())
        self.assertEqual(self.ids(), [])

    def test_a_renewal_takes_out_what_its_client_does_not_know(self):
        """Of its own session only, in any queue, and it notifies the
        waiters."""
        kept, _ = self.a.enqueue(self.queue)
        unknown, _ = self.a.enqueue("other-" + self.queue)
        others, _ = self.b.enqueue("other-" + self.queue)
        self.assertEqual(self.a.renew([unknown, others]), {kept})
        self.assertEqual([ticket for ticket, _ in
                          self.b.list("other-" + self.queue)], [others])
        self.assertEqual(self.b.notices(), [
            ("gone", unknown, "0", "other-" + self.queue)])
        self.assertEqual(self.a.notices(), [])

    def test_a_session_that_begins_again_has_nothing(self):
        old, _ = self.a.enqueue(self.queue)
        self.a.enqueue("other-" + self.queue)
        self.a.end()
        new, seen = self.a.enqueue(self.queue)
        self.assertEqual([ticket for ticket, _ in seen], [new])
        self.assertEqual(self.a.renew(), {new})
        self.assertEqual(self.b.list("other-" + self.queue), [])

    def test_a_session_lives_no_shorter_for_what_comes_later(self):
        self.a.enqueue(self.queue)
        self.a.ttl_ms = 1000
        self.a.renew()
        self.a.enqueue(self.queue)
        _, rows = self.b.call("list", self.queue.encode(), False, False)
        self.assertGreater(rows[0]["expires_in_ms"], 30000)

    def test_a_renewal_under_way_saves_what_seems_to_have_ended(self):
        """Its effect cannot be seen yet, but it will be answered."""
        ticket, _ = self.a.enqueue(self.queue)
        self.a.ttl_ms = 300
        self.server.sql(
            "UPDATE holdfast.session SET expires_at = clock_timestamp() + "
            "interval '200 ms' WHERE id = %s", (self.a.id,))
        self.a.connection.autocommit = False
        self.a.ttl_ms = 60000
        self.assertEqual(self.a.renew(), {ticket})
        waiting.eventually("its end, as others see it", lambda: self.server.sql(
            "SELECT expires_at < clock_timestamp() FROM holdfast.session"
            " WHERE id = %s", (self.a.id,))[0][0])
        _, rows = self.b.call("list", self.queue.encode(), False, False)
        self.assertEqual([row["expires_in_ms"] for row in rows], [0])
        self.a.connection.commit()
        _, rows = self.b.call("list", self.queue.encode(), False, False)
        self.assertGreater(rows[0]["expires_in_ms"], 30000)

    def test_nothing_is_written_too_late(self):
        ticket, seen = self.a.enqueue(self.queue, WRITE)
        name, past = self.queue.encode(), 1
        for call in (("enqueue", self.a.id, 60000, past, name, NOBODY, MUTEX,
                      1, b""),
                     ("list_and_watch", self.a.id, 60000, past, name, False),
                     ("renew", self.a.id, 60000, past),
                     ("remove", self.a.id, past, name, ticket, None),
                     ("downgrade", self.a.id, past, name, ticket),
                     ("request_release", past, name, ticket),
                     ("set_flag", past, name, BARRIER, NOBODY),
                     ("clear_flag", past, name, WRITE),
                     ("new_generation", past, name, ticket, 1, NOBODY),
                     ("close_session", self.a.id, past)):
            with self.subTest(call[0]):
                head, rows = self.b.call(*call)
                self.assertEqual((head["code"], rows), (1, []))
        _, rows = self.b.call("list", name, False, False)
        self.assertEqual([(row["id"], row["sequence"]) for row in rows], seen)
        self.assertEqual((rows[0]["kind"], rows[0]["revoked"]), (WRITE, 0))

    # ---- what the library checks

    def test_the_library_knows_its_definition(self):
        self.maxDiff = None
        self.a.cursor.execute("SET search_path = pg_catalog, pg_temp")
        self.a.cursor.execute(schema.file("check.sql"))
        (version, found, *there), = self.a.cursor.fetchall()
        self.assertEqual((version, there), (schema.VERSION, [True, True]))
        self.assertEqual(found, schema.file("definition.txt"),
                         "after a change that was meant: schema.py writes it")

    def test_every_column_of_these_catalogs_is_judged(self):
        """By a query of ours, or by a reason here.  Those of a later server
        are in neither."""
        ours = set(re.findall(r"\w+", schema.file("check.sql") +
                              schema.file("trust.sql")))
        for catalog, reasons in NOT_JUDGED.items():
            with self.subTest(catalog):
                exempt = set(" ".join(reasons.values()).split())
                self.assertEqual(exempt & ours, set())
                self.assertEqual({name for name, in self.server.sql(
                    "SELECT attname FROM pg_attribute WHERE attnum > 0 AND "
                    "NOT attisdropped AND attrelid = %s::regclass",
                    (catalog,))} - exempt - ours, set())

    # ---- ends

    def test_a_closed_session_leaves_nothing(self):
        ticket, _ = self.a.enqueue(self.queue)
        self.a.enqueue("other-" + self.queue)
        mine, _ = self.b.enqueue(self.queue)
        self.a.call("close_session", self.a.id, NEVER_MS)
        self.assertEqual(self.b.notices(),
                         [("gone", ticket, "0", self.queue)])
        self.assertEqual(self.a.notices(), [])
        self.assertEqual(self.ids(), [mine])
        self.assertEqual(self.server.sql(
            "SELECT 1 FROM holdfast.session WHERE id = %s", (self.a.id,)), [])

    def test_a_sweep_removes_what_is_long_dead(self):
        self.a.enqueue(self.queue)
        self.b.enqueue(self.queue)
        self.server.sql("UPDATE holdfast.session SET expires_at = "
                        "now() - interval '1 hour' WHERE id = %s",
                        (self.a.id,))
        self.server.sql("SELECT holdfast_4.remove_abandoned()")
        self.assertEqual(self.server.sql(
            "SELECT id FROM holdfast.session WHERE id IN (%s, %s)",
            (self.a.id, self.b.id)), [(self.b.id,)])
        self.assertEqual(self.server.sql(
            "SELECT count(*) FROM holdfast.ticket"), [(1,)])


if __name__ == "__main__":
    unittest.main()
