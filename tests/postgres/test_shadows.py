#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing of another schema stands in for what the functions and the queries
mean, whatever search_path is and whatever temporary tables there are."""

import os
import unittest
import uuid

import schema
import postgres
from schema import BARRIER, PARTICIPANT, NEVER_MS, WRITE, Session

OURS = ("SELECT relname FROM pg_catalog.pg_class WHERE relnamespace IN "
        "('holdfast'::regnamespace, 'pg_catalog'::regnamespace)"
        " AND relkind IN ('r', 'v')")


class ShadowsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.sql(schema.text())
        cls.server.sql(schema.file("shadows.sql", schema.HERE))

    def session(self):
        """In the worst of circumstances."""
        session = Session(self.server, by_hand=True)
        self.addCleanup(session.connection.close)
        for name, in self.server.sql(OURS):
            session.cursor.execute('CREATE TEMP TABLE "%s" ()' % name)
        session.cursor.execute("SET search_path = shadow, pg_temp, pg_catalog")
        return session

    def test_shadows_are_seen(self):
        session = self.session()
        for query in ("SELECT clock_timestamp()", "SELECT 1 + 1",
                      "SELECT 'a'::uuid", "SELECT oid FROM pg_class"):
            with self.subTest(query), self.assertRaises(Exception):
                session.cursor.execute(query)

    def test_every_function_that_clients_call_sets_search_path(self):
        self.assertNotIn("VOLATILE AS", schema.file("calls.sql"))
        self.assertEqual(self.server.sql(
            "SELECT proname FROM pg_proc WHERE proname = 'remove_abandoned'"
            " AND proconfig = '{\"search_path=pg_catalog, pg_temp\"}'"),
                         [("remove_abandoned",)])

    def test_a_client_has_the_search_path_that_those_of_a_pair_need(self):
        """Otherwise each call would set it."""
        with Session(self.server) as session:
            session.cursor.execute("SHOW search_path")
            path, = session.cursor.fetchone()
        # Of functions that clients call, all others set it.
        source = schema.file("acquire_release.sql")
        self.assertEqual(source.count(
            "OPERATOR(pg_catalog.<>) '%s' THEN" % path),
                         source.count("VOLATILE AS"))
        self.assertIn("SET search_path = %s;" % path,
                      schema.file("setup.c", os.path.dirname(schema.FOLDER)))

    def test_every_function_finds_what_it_means(self):
        a, b = self.session(), self.session()
        name = b"shadows"
        for session in (a, b, a):  # from the second one on alone
            ticket, seen = session.enqueue("alone", WRITE)
            self.assertEqual(session.look_ahead("alone", ticket), ([ticket], 0))
            self.assertTrue(a.remove("alone", ticket))
        ticket, seen = a.enqueue("shadows", WRITE)
        b.enqueue("shadows", WRITE)
        participant, _ = b.enqueue("shadows", PARTICIPANT)
        self.assertEqual(a.list("shadows")[:1], seen)
        self.assertEqual(a.renew(), {ticket})
        for call in (("list_and_watch", b.id, 60000, NEVER_MS, name, False),
                     ("find_tickets", name, "{%s}" % ticket),
                     ("request_release", NEVER_MS, name, ticket),
                     ("downgrade", a.id, NEVER_MS, name, ticket),
                     ("set_flag", NEVER_MS, name, BARRIER, str(uuid.uuid4())),
                     ("clear_flag", NEVER_MS, name, BARRIER),
                     ("new_generation", NEVER_MS, name, participant, 1, str(uuid.uuid4()))):
            with self.subTest(call[0]):
                self.assertEqual(a.call(*call)[0]["code"], 0)
        self.assertTrue(a.remove("shadows", ticket))
        b.cursor.execute("SET search_path = pg_catalog")
        b.end()
        b.cursor.execute("SET search_path = shadow, pg_temp, pg_catalog")
        self.assertEqual(a.list("shadows"), [])
        b.call("close_session", b.id, NEVER_MS)
        a.cursor.execute("SELECT holdfast_4.remove_abandoned()")

    def test_the_library_s_queries_find_what_they_mean(self):
        session = self.session()
        session.cursor.execute("SET search_path = pg_catalog, pg_temp")
        session.cursor.execute(schema.file("trust.sql"))
        self.assertEqual(session.cursor.fetchall(), [("",)])
        session.cursor.execute(schema.file("check.sql"))
        self.assertEqual(session.cursor.fetchall()[0][1],
                         schema.file("definition.txt"))

    def test_so_does_what_people_run(self):
        session = self.session()
        session.cursor.execute("SET search_path = shadow, pg_temp, pg_catalog;"
                               "DROP SCHEMA holdfast, holdfast_4 CASCADE;" +
                               schema.text())
        session.cursor.execute(schema.file("check.sql"))
        self.assertEqual(session.cursor.fetchall(),
                         [(schema.VERSION, schema.file("definition.txt"), True,
                           True)])


if __name__ == "__main__":
    unittest.main()
