#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two versions of the functions beside each other, on the tables of one
database: clients of both wait for each other, and an upgrade disturbs nobody.

The other version is a real client: a copy of the tool whose module has the next
number in the name of its schema.

    test_pg_versions.py HOLDFAST HOLDFAST_INSTALLED MODULE
"""

import os
import shutil
import subprocess
import sys
import threading
import unittest

from pg_tool import DENIED, HOLDFAST, TIMEOUT, USAGE, Case

import machine
import waiting
import postgres

INSTALLED, MODULE = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "postgres"))

import schema  # noqa: E402

OURS = "holdfast_%d" % schema.VERSION
NEXT = "holdfast_%d" % (schema.VERSION + 1)
SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname ~ '^holdfast'"


def renamed(text):
    return text.replace(OURS, NEXT)


class Versions(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        assert len(OURS) == len(NEXT)  # so that the module keeps its form
        cls.next = cls.build_next()
        for role in ("alice", "bob"):
            cls.server.sql("CREATE ROLE %s LOGIN" % role)

    @classmethod
    def build_next(cls):
        """The tool of the next version."""
        root = os.path.join(cls.directory, "next")
        tool = os.path.join(root, "bin", "holdfast")
        modules = os.path.join(root, "lib",
                               os.path.basename(os.path.dirname(MODULE)))
        for path in (os.path.dirname(tool), modules):
            os.makedirs(path, mode=0o700)
        shutil.copy(INSTALLED, tool)
        with open(MODULE, "rb") as file:
            code = file.read()
        code = code.replace(OURS.encode(), NEXT.encode())
        # The definition has a hash of each function, and these name others.
        cls.server.sql("CREATE DATABASE renamed")
        cls.server.sql(renamed(schema.text()), database="renamed")
        (_, found, *_), = cls.server.sql(
            "SET search_path = pg_catalog, pg_temp;" +
            renamed(schema.file("check.sql")), database="renamed")
        old, new = renamed(schema.file("definition.txt")), found
        for was, now in zip(old.splitlines(), new.splitlines()):
            assert was.split()[:2] == now.split()[:2], (was, now)
            code = code.replace(was.split()[-1].encode(),
                                now.split()[-1].encode()) if (
                                    was != now) else code
        with open(os.path.join(modules, os.path.basename(MODULE)),
                  "wb") as file:
            file.write(code)
        return tool

    # ---- clients of both

    def run_with(self, tool, url, command, wait="60s", name="inputs"):
        clean = {key: value for key, value in os.environ.items()
                 if not key.startswith(("HOLDFAST", "PG"))}
        return machine.popen(
            [tool, "run", "-w", wait, name, "--", "sh", "-c", command],
            env={**clean, "HOLDFAST_URL": url, "HOME": self.directory},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def finish(self, tool, expected=0):
        out, err = tool.communicate("\n", timeout=waiting.LIMIT_S)
        self.assertEqual(tool.returncode, expected, err)
        return out, err

    def holds(self, tool, url):
        holder = self.run_with(tool, url, "echo held; read line")
        waiting.read_line(holder, "held")
        return holder

    def schemas(self, database):
        return sorted(name for name, in self.server.sql(
            SCHEMAS, database=database))

    def tickets(self, database):
        return self.server.sql("SELECT count(*) FROM holdfast.ticket",
                               database=database)[0][0]

    def test_a_version_is_added_beside_the_other(self):
        """Of either order: the new one, and an old one that comes later."""
        for first, second in ((HOLDFAST, self.next), (self.next, HOLDFAST)):
            database = self.database()
            url = self.server.url(database)
            holder = self.holds(first, url)
            self.assertEqual(self.schemas(database), [
                "holdfast", NEXT if first == self.next else OURS])
            # It waits for the holder, and is notified of the release.
            following = self.run_with(second, url + "?ttl=1h", "echo next")
            waiting.eventually("the next one to queue", lambda: self.tickets(
                database) == 2, of=[following])
            self.assertEqual(self.schemas(database),
                             ["holdfast", OURS, NEXT])
            self.assertIsNone(following.poll())
            self.finish(holder)
            self.assertEqual(self.finish(following)[0], "next\n")
            self.assertEqual(self.tickets(database), 0)

    def test_neither_enters_beside_the_other(self):
        database = self.database()
        url = self.server.url(database)
        for holding, other in ((HOLDFAST, self.next), (self.next, HOLDFAST)):
            holder = self.holds(holding, url)
            refused = self.run_with(other, url, "echo wrong", wait="2s")
            self.assertEqual(self.finish(refused, TIMEOUT)[0], "")
            self.finish(holder)

    def test_clients_of_both_increment_one_number(self):
        """Each reads it, and writes it one higher, while it holds the lock."""
        database = self.database()
        url = self.server.url(database)
        path = os.path.join(self.directory, "number")
        with open(path, "w") as file:
            file.write("0\n")
        command = "read n < %s; echo $((n + 1)) > %s" % (path, path)
        count = 8

        def work(tool):
            for _ in range(count):
                self.finish(self.run_with(tool, url, command))

        self.finish(self.run_with(HOLDFAST, url, "true"))
        workers = [threading.Thread(target=work, args=(tool,))
                   for tool in 2 * (HOLDFAST, self.next)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        with open(path) as file:
            self.assertEqual(int(file.read()), 4 * count)

    def test_services_go_on_while_a_version_is_added(self):
        """Also one that calls while the new schema is not committed yet."""
        database = self.database()
        url = self.server.url(database) + "?ttl=2s"
        holder = self.holds(HOLDFAST, url)
        adding = self.server.connect(database=database)
        self.addCleanup(adding.close)
        adding.autocommit = False
        adding.cursor().execute(renamed("".join(
            map(schema.file, schema.FUNCTIONS))))
        following = self.run_with(HOLDFAST, url, "echo next")
        waiting.eventually("the next one to queue", lambda: self.tickets(
            database) == 2, of=[following])
        # Some renewals.
        until, = self.server.sql("SELECT max(expires_at) + interval '3 s' FROM "
                                 "holdfast.session WHERE isfinite(expires_at)",
                                 database=database)[0]
        waiting.eventually("renewals", lambda: self.server.sql(
            "SELECT min(expires_at) > %s FROM holdfast.session "
            "WHERE isfinite(expires_at)", (until,), database=database)[0][0],
                           of=[holder, following])
        adding.commit()
        self.finish(holder)
        self.assertEqual(self.finish(following)[0], "next\n")
        self.finish(self.run_with(self.next, url, "true"))

    def test_only_the_owner_adds_one(self):
        """And who may use the tables may use it, without another grant."""
        database = self.database()
        sql = subprocess.run([HOLDFAST, "sql"], check=True,
                             capture_output=True, text=True).stdout
        grant = subprocess.run([HOLDFAST, "sql", "--grant"], check=True,
                               capture_output=True, text=True).stdout
        self.psql(database, sql)
        for role in ("alice", "bob"):
            self.psql(database, grant, "-v", "role=" + role)
        self.server.sql("GRANT CREATE ON DATABASE %s TO alice" % database)
        alice = self.server.url(database).replace("postgres@", "alice@")
        refused = self.run_with(self.next, alice, "echo wrong")
        out, err = self.finish(refused, USAGE)
        self.assertEqual(out, "")
        self.assertIn("the schema %s" % NEXT, err)
        self.assertIn("holdfast sql --functions", err)
        self.assertEqual(self.schemas(database), ["holdfast", OURS])
        functions = subprocess.run([HOLDFAST, "sql", "--functions"], check=True,
                                   capture_output=True, text=True).stdout
        self.psql(database, renamed(functions))
        for tool in (self.next, HOLDFAST):
            self.finish(self.run_with(tool, alice, "true"))
        self.finish(self.run_with(self.next, alice.replace("alice", "bob"),
                                  "true"))

    def psql(self, database, text, *arguments):
        subprocess.run(
            [os.path.join(postgres.programs(), "psql"), "-X", "-q", "-1",
             "-v", "ON_ERROR_STOP=1", *arguments, "-f", "-",
             self.server.address(database)],
            input=text, text=True, check=True, timeout=waiting.LIMIT_S)

    def test_an_owner_of_functions_is_not_trusted_more(self):
        """A role that made the schema of a version acts as all who use it."""
        database = self.database()
        self.finish(self.run_with(HOLDFAST, self.server.url(database), "true"))
        self.server.sql("GRANT CREATE ON DATABASE %s TO alice" % database)
        connection = self.server.connect(database=database, user="alice")
        self.addCleanup(connection.close)
        connection.cursor().execute("CREATE SCHEMA " + NEXT)
        refused = self.run_with(self.next, self.server.url(database), "true")
        self.assertIn("schema %s belongs to alice" % NEXT,
                      self.finish(refused, DENIED)[1])
        self.finish(self.run_with(HOLDFAST, self.server.url(database), "true"))

    def test_a_list_adds_none(self):
        database = self.database()
        url = self.server.url(database)
        self.finish(self.run_with(HOLDFAST, url, "true"))
        done = subprocess.run([self.next, "show", "-c", url, "-w", "2s",
                               "inputs"], capture_output=True, text=True,
                              check=False, timeout=waiting.LIMIT_S)
        self.assertIn("--functions", done.stderr)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.schemas(database), ["holdfast", OURS])

    def test_a_version_goes_when_nobody_uses_it(self):
        database = self.database()
        url = self.server.url(database)
        for tool in (HOLDFAST, self.next):
            self.finish(self.run_with(tool, url, "true"))
        self.server.sql("DROP SCHEMA %s CASCADE" % OURS, database=database)
        self.finish(self.run_with(self.next, url, "true"))
        self.assertEqual(self.schemas(database), ["holdfast", NEXT])

    def test_tables_are_made_anew_beside_functions(self):
        """As after DROP SCHEMA holdfast CASCADE, which the text advises."""
        database = self.database()
        url = self.server.url(database)
        self.finish(self.run_with(HOLDFAST, url, "true"))
        self.server.sql("DROP SCHEMA holdfast CASCADE", database=database)
        self.finish(self.run_with(HOLDFAST, url, "true"))
        self.assertEqual(self.schemas(database), ["holdfast", OURS])


if __name__ == "__main__":
    unittest.main()
