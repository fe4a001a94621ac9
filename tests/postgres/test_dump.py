#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A database that holds the schema beside tables of its user is dumped and
restored in each way that PostgreSQL has, and all of it is there again: what the
user has, row by row, and the schema, which a client accepts and whose tokens go
on rising.

psql reads the words of a dump for itself, to find where a statement ends.  A
function called begin made it lose all that stood behind it.  So each name of
the schema is compared with the words that the server and psql know."""

import os
import shutil
import subprocess
import unittest

import schema
import machine
import postgres
import waiting
from schema import Session

# What psql's lexer looks for at the beginning of a statement, outside of
# parentheses: src/fe_utils/psqlscan.l, "identifier_count".
PSQL_WORDS = {"begin", "case", "end", "atomic", "create", "function",
              "procedure", "or", "replace"}

# Each name of the schemas with what it is the name of.
NAMES = """
    WITH ours AS (SELECT oid, nspname FROM pg_namespace
                   WHERE nspname ~ '^holdfast')
    SELECT 'schema', nspname FROM ours
    UNION SELECT 'function', proname FROM pg_proc
     WHERE pronamespace IN (SELECT oid FROM ours)
    UNION SELECT 'argument', unnest(proargnames) FROM pg_proc
     WHERE pronamespace IN (SELECT oid FROM ours)
    UNION SELECT 'type', typname FROM pg_type
     WHERE typnamespace IN (SELECT oid FROM ours) AND typtype = 'c'
       AND typrelid IN (SELECT oid FROM pg_class WHERE relkind = 'c')
    UNION SELECT 'relation', relname FROM pg_class
     WHERE relnamespace IN (SELECT oid FROM ours) AND relkind <> 'c'
    UNION SELECT 'column', attname FROM pg_attribute JOIN pg_class c
        ON c.oid = attrelid WHERE c.relnamespace IN (SELECT oid FROM ours)
       AND attnum > 0
    UNION SELECT 'constraint', conname FROM pg_constraint
     WHERE connamespace IN (SELECT oid FROM ours)
"""

# Of the user: schemas that a dump has before ours and behind it, and functions
# and tables beside it; with every thing that psql reads in its own way.
USERS = """
    CREATE SCHEMA aaa;
    CREATE TABLE aaa.before AS SELECT n, 'a;b' AS t
      FROM generate_series(1, 300) AS n;
    CREATE TABLE public.orders AS SELECT n AS number, md5(n::text) AS what
      FROM generate_series(1, 1000) AS n;
    ALTER TABLE public.orders ADD PRIMARY KEY (number);
    CREATE FUNCTION public.total() RETURNS bigint LANGUAGE sql
    BEGIN ATOMIC SELECT count(*) FROM public.orders; END;
    CREATE SCHEMA zzz;
    CREATE FUNCTION zzz.one() RETURNS integer LANGUAGE sql
    AS $$ SELECT CASE WHEN true THEN 1 END $$;
    CREATE TABLE zzz.after (number integer REFERENCES public.orders);
    INSERT INTO zzz.after SELECT n FROM generate_series(1, 200) AS n;
    CREATE VIEW zzz.view AS SELECT * FROM aaa.before;
"""

# Of a session that outlives the test.
LIFE_MS = 3600 * 1000

TABLES = """
    SELECT format('%I.%I', nspname, relname) FROM pg_class c
      JOIN pg_namespace n ON n.oid = relnamespace
     WHERE relkind IN ('r', 'v') AND nspname !~ '^(pg_|information_schema)'
     ORDER BY 1
"""


class DumpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.sql("CREATE DATABASE origin")
        cls.server.sql(USERS, database="origin")
        cls.server.sql(schema.text(), database="origin")
        with Session(cls.server, LIFE_MS, "origin") as session, \
                Session(cls.server, database="origin") as other:
            session.enqueue("held")
            other.enqueue("held")
            cls.ticket, seen = session.enqueue("alone")
            cls.token = seen[0][1]
            other.end()
        cls.origin = cls.contents(cls.server, "origin")
        cls.definition = cls.check(cls.server, "origin")

    @staticmethod
    def contents(server, database):
        """Each table with its rows, sorted."""
        return {table: sorted(server.sql(
            "SELECT its::text FROM %s AS its" % table, database=database))
                for table, in server.sql(TABLES, database=database)}

    @staticmethod
    def check(server, database):
        """What a client compares the schema by."""
        return server.sql("SET search_path = pg_catalog, pg_temp;" +
                          schema.file("check.sql"), database=database)

    def setUp(self):
        self.directory = machine.directory()
        self.addCleanup(shutil.rmtree, self.directory)
        if self.server.user:
            shutil.chown(self.directory, self.server.user)

    def run_program(self, *command, source=None, server=None):
        """One of PostgreSQL's clients against the server, without the settings
        of whoever runs the test."""
        server = server or self.server
        done = subprocess.run(
            [os.path.join(postgres.programs(), command[0]), *command[1:]],
            check=False, stdin=source or subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=waiting.LIMIT_S, cwd=self.directory, env={
                "PATH": os.environ["PATH"], "PGHOST": server.directory,
                "PGPORT": str(server.port), "PGUSER": postgres.SUPERUSER,
                "PSQLRC": os.devnull})
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done

    def path(self, name):
        return os.path.join(self.directory, name)

    def psql(self, database, path, *options, server=None):
        with open(path, "rb") as source:
            return self.run_program(
                "psql", "--quiet", "--no-psqlrc", *options, database,
                source=source, server=server)

    def assert_restored(self, server, database):
        found = self.contents(server, database)
        self.assertEqual({table: len(rows) for table, rows in found.items()},
                         {table: len(rows)
                          for table, rows in self.origin.items()})
        self.assertEqual(found, self.origin)
        self.assertEqual(self.check(server, database), self.definition)
        self.assertEqual(server.sql("SELECT public.total(), zzz.one()",
                                    database=database), [(1000, 1)])
        # It is a queue like any other, in which the old ticket still lives.
        with Session(server, database=database) as session:
            ticket, seen = session.enqueue("alone")
            self.assertEqual([its for its, _ in seen], [self.ticket, ticket])
            self.assertGreater(seen[1][1], self.token)

    def restored(self, name):
        self.server.sql("CREATE DATABASE " + name)
        return name

    # ---- names

    def test_no_name_is_a_word_of_sql(self):
        """Functions, types, arguments and schemas: no keyword at all.  Tables
        and columns: none that a dump has to quote, now or in a query of
        somebody who did not think of it."""
        categories = dict(self.server.sql(
            "SELECT word, catcode FROM pg_get_keywords()"))
        self.assertGreater(len(categories), 400)
        found = []
        for kind, name in self.server.sql(NAMES, database="origin"):
            if not name:
                continue
            words = set(name.split("_")) if kind == "schema" else {name}
            if words & PSQL_WORDS:
                found.append((kind, name, "psql"))
            category = categories.get(name)
            if category and (category != "U" or kind in (
                    "schema", "function", "argument", "type")):
                found.append((kind, name, category))
        self.assertEqual(found, [])

    def test_every_kind_of_name_is_looked_at(self):
        kinds = {kind for kind, _ in self.server.sql(NAMES, database="origin")}
        self.assertEqual(kinds, {"schema", "function", "argument", "type",
                                 "relation", "column", "constraint"})

    # ---- dumps

    def plain(self, name, dump_options=(), psql_options=()):
        path = self.path("plain.sql")
        self.run_program("pg_dump", "--file", path, *dump_options, "origin")
        self.psql(self.restored(name), path, *psql_options)
        self.assert_restored(self.server, name)

    def test_plain(self):
        self.plain("plain")

    def test_plain_in_one_transaction(self):
        self.plain("one", psql_options=("-1", "-v", "ON_ERROR_STOP=1"))

    def test_plain_with_inserts(self):
        self.plain("inserts", ("--inserts",), ("-v", "ON_ERROR_STOP=1"))

    def test_plain_with_inserts_that_name_columns(self):
        self.plain("columns", ("--column-inserts", "--rows-per-insert=100"),
                   ("-v", "ON_ERROR_STOP=1"))

    def test_custom(self):
        path = self.path("custom")
        self.run_program("pg_dump", "-Fc", "--file", path, "origin")
        self.run_program("pg_restore", "--exit-on-error", "--dbname",
                         self.restored("custom"), path)
        self.assert_restored(self.server, "custom")

    def test_custom_as_a_script(self):
        """psql reads it, as it reads a plain one."""
        path, script = self.path("custom"), self.path("script.sql")
        self.run_program("pg_dump", "-Fc", "--file", path, "origin")
        self.run_program("pg_restore", "--file", script, path)
        self.psql(self.restored("script"), script)
        self.assert_restored(self.server, "script")

    def test_directory(self):
        path = self.path("directory")
        self.run_program("pg_dump", "-Fd", "-j2", "--file", path, "origin")
        self.run_program("pg_restore", "-j2", "--exit-on-error", "--dbname",
                         self.restored("directory"), path)
        self.assert_restored(self.server, "directory")

    def test_without_the_locks(self):
        """What the user has, and no schema of ours, which the next client makes
        anew."""
        path = self.path("without.sql")
        self.run_program("pg_dump", "-N", "holdfast*", "--file", path,
                         "origin")
        self.psql(self.restored("without"), path, "-v", "ON_ERROR_STOP=1")
        self.assertEqual(self.contents(self.server, "without"), {
            table: rows for table, rows in self.origin.items()
            if not table.startswith("holdfast")})
        self.server.sql(schema.text(), database="without")
        with Session(self.server, database="without") as session:
            self.assertGreater(session.enqueue("alone")[1][0][1], self.token)

    def test_a_session_that_goes_on_after_a_restore(self):
        """It learns from its next renewal which tickets the backup had.  One
        that it has released since comes back, and it has that removed; one that
        it got since is not there."""
        self.server.sql(schema.text(), database=self.restored("live"))
        with Session(self.server, database="live") as session:
            released, _ = session.enqueue("released")
            self.run_program("pg_dump", "-Fc", "--file", self.path("early"),
                             "live")
            session.remove("released", released)
            session.enqueue("later")
        self.run_program("pg_restore", "--exit-on-error", "--dbname",
                         self.restored("early"), self.path("early"))
        with Session(self.server, database="early") as again, \
                Session(self.server, database="early") as other:
            again.id = session.id
            _, seen = other.enqueue("released")
            self.assertEqual(seen[0][0], released)
            self.assertEqual(again.renew(), {released})
            self.assertEqual(again.renew(without=[released]), set())
            self.assertEqual(other.notices(),
                             [("gone", released, "0", "released")])
            self.assertEqual(len(other.enqueue("later")[1]), 1)

    def test_all_databases(self):
        path = self.path("all.sql")
        self.run_program("pg_dumpall", "--file", path)
        with postgres.Server() as other:
            self.psql("postgres", path, server=other)
            self.assert_restored(other, "origin")

    def test_base_backup(self):
        with postgres.Server(follows=self.server.port) as other:
            other.sql("SELECT pg_promote()")
            self.assert_restored(other, "origin")

    def test_upgrade_of_the_server(self):
        """By pg_upgrade, from the oldest version that is installed to the
        newest one.  Debian 12 has one version: its program dumps and restores
        the schema in the same way if both are the same."""
        with postgres.Server() as old, postgres.Server() as new:
            path = self.path("origin")
            self.run_program("pg_dump", "-Fc", "--create", "--file", path,
                             "origin")
            self.run_program("pg_restore", "--create", "--exit-on-error",
                             "--dbname", "postgres", path, server=old)
            for server in (old, new):
                server.stop()
            new.run("pg_upgrade", "--old-bindir", postgres.programs(),
                    "--new-bindir", postgres.programs(),
                    "--old-datadir", old.data, "--new-datadir", new.data,
                    "--socketdir", new.directory,
                    "--username", postgres.SUPERUSER)
            new.start()
            self.assert_restored(new, "origin")


if __name__ == "__main__":
    unittest.main()
