#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/recipes/migration.md, migrate.sh and migrate.sql, on a real
PostgreSQL."""
import shutil
import unittest

import recipes
from recipes import waiting

import postgres
import psycopg2

MIGRATE = ("$ holdfast run -c postgresql:// -w 10m migrate-shop -- "
           "./migrate.sh")
DONE = "migrated to version 1\nmigrated to version 2\n"
NOTHING = "nothing to migrate: version 2\n"


class Migration(recipes.Case):
    document = recipes.document("migration.md")

    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.server.sql("DROP DATABASE IF EXISTS shop WITH (FORCE)")
        self.server.sql("CREATE DATABASE shop")
        self.environment.update(
            PGHOST=self.server.directory, PGPORT=str(self.server.port),
            PGUSER=postgres.SUPERUSER, PGDATABASE="shop", LC_ALL="C")
        for name in ("migrate.sh", "migrate.sql"):
            shutil.copy(recipes.RECIPES / name, self.directory)

    def migrates(self):
        return self.start("-c", "postgresql://", "-w", "10m", "migrate-shop",
                          "--", "./migrate.sh", cwd=self.directory)

    def versions(self):
        return self.server.sql("SELECT version, token FROM schema_version",
                               database="shop")

    def test_every_block_is_run(self):
        self.every_block_is_run()

    @recipes.block("$ export PGHOST=db PGDATABASE=shop")
    def test_the_first_one_migrates(self):
        self.follow(("PGHOST=db", "PGHOST=" + self.server.directory))

    @recipes.block(MIGRATE)
    def test_all_at_once(self):
        """One of them migrates, and the others wait for it."""
        started = [self.migrates() for _ in range(4)]
        ended = [self.finish(process) for process in started]
        self.assertEqual([(status, err) for status, _, err in ended],
                         4 * [(0, "")])
        self.assertEqual(sorted(out for _, out, _ in ended),
                         sorted([DONE] + 3 * [NOTHING]))
        self.follow()

    @recipes.block("$ HOLDFAST_TOKEN=1 ./migrate.sh")
    def test_one_that_comes_late_is_refused(self):
        self.assertEqual(self.finish(self.migrates())[:2], (0, DONE))
        found = self.versions()
        self.follow()
        self.assertEqual(self.versions(), found)

    def test_a_transaction_that_is_under_way_is_waited_for(self):
        """It may be that of a migration that has lost its lock."""
        self.assertEqual(self.finish(self.migrates())[:2], (0, DONE))
        late = psycopg2.connect(self.server.address("shop"))
        with late.cursor() as cursor:
            cursor.execute("UPDATE schema_version SET version = 1")
        process = self.migrates()
        waiting.eventually("the migration to wait", lambda: self.server.sql(
            "SELECT pid FROM pg_stat_activity WHERE datname = 'shop' AND "
            "wait_event_type = 'Lock'"), of=[process])
        late.close()  # which rolls it back
        self.assertEqual(self.finish(process)[:2], (0, NOTHING))

    @recipes.block("UPDATE schema_version SET token = :token "
                   "WHERE token <= :token;")
    def test_the_fence_is_that_of_the_file(self):
        self.assertIn(self.text, (recipes.RECIPES / "migrate.sql").read_text())

    def test_a_step_that_fails_leaves_nothing(self):
        """And its status is that of the run; the next one tries again."""
        path = self.path("migrate.sql")
        with open(path, encoding="utf-8") as file:
            good = file.read()
        self.assertEqual(good.count("ADD COLUMN"), 1)
        with open(path, "w", encoding="utf-8") as file:
            file.write(good.replace("ADD COLUMN", "ADD COLUMM"))
        status, _, err = self.finish(self.migrates())
        self.assertEqual(status, 3, err)
        self.assertEqual(self.server.sql(
            "SELECT to_regclass('customer'), to_regclass('schema_version')",
            database="shop"), [(None, None)])
        with open(path, "w", encoding="utf-8") as file:
            file.write(good)
        self.assertEqual(self.finish(self.migrates())[:2], (0, DONE))


if __name__ == "__main__":
    unittest.main()
