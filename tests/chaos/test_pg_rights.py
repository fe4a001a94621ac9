#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rights to own and to change the schema in PostgreSQL.  A user that made
it, or could change it, must not get the rights of the others.  And the rights
that a shared installation needs.

    test_pg_rights.py HOLDFAST
"""

import os
import subprocess
import unittest

from pg_tool import DENIED, HOLDFAST, TIMEOUT, USAGE, Case

import machine
import waiting
import postgres

SHADOWS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                       "postgres", "shadows.sql")
ROLES = ("alice", "bob", "mallory")

# A trigger's function that does what only a superuser may.
SEIZE = """
    CREATE SCHEMA trap;
    CREATE FUNCTION trap.seize() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF current_setting('is_superuser') = 'on' THEN
            ALTER ROLE mallory SUPERUSER;
        END IF;
        RETURN NEW;
    END $$;
"""
TRIGGER = """
    CREATE TRIGGER seize BEFORE INSERT ON holdfast.ticket
    FOR EACH ROW EXECUTE FUNCTION trap.seize()
"""


class RightsCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.made = {}
        for role in ROLES:
            cls.server.sql("CREATE ROLE %s LOGIN" % role)
        cls.server.sql("CREATE ROLE owner NOLOGIN")

    def url(self, database, role="postgres", owner=None):
        url = self.server.url(database).replace("postgres@", role + "@")
        return url + ("?schema_owner=" + owner if owner else "")

    def sql_as(self, role, database, text):
        connection = self.server.connect(database=database, user=role)
        try:
            connection.cursor().execute(text)
        finally:
            connection.close()

    def tool_sql(self, *arguments):
        return subprocess.run([HOLDFAST, "sql", *arguments], check=True,
                              capture_output=True, text=True).stdout

    def psql(self, database, text, *arguments):
        """As the superuser."""
        subprocess.run(
            [os.path.join(postgres.programs(), "psql"), "-X", "-q", "-1",
             "-v", "ON_ERROR_STOP=1", *arguments, "-f", "-",
             self.server.address(database)],
            input=text, text=True, check=True, timeout=waiting.LIMIT_S)

    def made_by(self, role):
        """A new database with a schema that the tool made as that role, which
        all may use."""
        if role not in self.made:
            database = self.database()
            self.server.sql("GRANT CREATE ON DATABASE %s TO %s" % (
                database, role))
            self.assert_works(self.url(database, role))
            for user in set(ROLES) - {role}:
                self.psql(database, self.tool_sql("--grant"), "-v",
                          "role=" + user)
            self.made[role] = database
        return self.database(template=self.made[role])


class Owners(RightsCase):
    def test_a_schema_that_another_user_made_is_refused(self):
        database = self.made_by("mallory")
        for role in ("alice", "postgres"):
            with self.subTest(role):
                self.assert_refused(
                    self.url(database, role), "schema holdfast belongs to "
                    "mallory", "schema_owner=mallory", status=DENIED)
        self.assert_works(self.url(database, "mallory"))

    def test_its_owner_gets_no_rights_of_a_superuser(self):
        database = self.made_by("mallory")
        self.server.sql("GRANT CREATE ON DATABASE %s TO mallory" % database)
        self.sql_as("mallory", database, SEIZE + TRIGGER)
        self.run_tool(self.url(database))
        self.assertEqual(self.server.sql(
            "SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'"),
                         [(False,)])

    def test_not_even_a_look_at_the_version_runs_its_owners_code(self):
        database = self.database()
        self.server.sql("GRANT CREATE ON DATABASE %s TO mallory" % database)
        self.sql_as("mallory", database, """
            CREATE SCHEMA holdfast;
            CREATE FUNCTION holdfast.seize() RETURNS integer
            LANGUAGE plpgsql AS $$
            BEGIN
                ALTER ROLE mallory SUPERUSER;
                RETURN 1;
            END $$;
            CREATE VIEW holdfast.version AS
            SELECT holdfast.seize() AS version""")
        self.assert_refused(self.url(database), "belongs to mallory",
                            status=DENIED)
        self.assertEqual(self.server.sql(
            "SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'"),
                         [(False,)])

    def test_an_owner_whom_the_url_names_is_trusted(self):
        database = self.made_by("mallory")
        for role in ("alice", "postgres"):
            self.assert_works(self.url(database, role, "mallory"))
        self.assert_refused(self.url(database, "alice", "bob"),
                            "belongs to mallory", status=DENIED)

    def test_a_superusers_is_everybodys(self):
        database = self.made_by("postgres")
        for role in ROLES:
            self.assert_works(self.url(database, role))

    def test_every_part_has_an_owner(self):
        for part, name in (
                ("TABLE holdfast.ticket", "holdfast.ticket"),
                ("TABLE holdfast.version", "holdfast.version"),
                ("TYPE holdfast_4.answer", "holdfast_4.answer"),
                ("FUNCTION holdfast_4.is_late", "function holdfast_4.is_late"),
                ("SCHEMA holdfast", "schema holdfast"),
                ("SCHEMA holdfast_4", "schema holdfast_4")):
            with self.subTest(part):
                database = self.made_by("postgres")
                self.server.sql("ALTER %s OWNER TO mallory" % part,
                                database=database)
                self.assert_refused(self.url(database, "alice"),
                                    name + " belongs to mallory",
                                    status=DENIED)
                self.assert_works(self.url(database, "alice", "mallory"))

    def test_a_role_that_was_switched_to_is_not_the_one_that_logged_in(self):
        """RESET ROLE leads back, also in code of the one switched to."""
        database = self.made_by("mallory")
        self.server.sql("CREATE ROLE switched LOGIN SUPERUSER")
        self.server.sql("ALTER ROLE switched SET role = mallory")
        self.assert_refused(self.url(database, "switched"),
                            "belongs to mallory", status=DENIED)


class Rights(RightsCase):
    def test_a_right_to_change_the_schema_is_refused(self):
        for grant, parts in (
                ("CREATE ON SCHEMA holdfast TO mallory",
                 ("mallory has rights",
                  "REVOKE CREATE ON SCHEMA holdfast FROM mallory")),
                ("CREATE ON SCHEMA holdfast TO PUBLIC",
                 ("PUBLIC has rights",
                  "REVOKE CREATE ON SCHEMA holdfast FROM PUBLIC")),
                ("TRIGGER ON holdfast.ticket TO PUBLIC",
                 ("REVOKE TRIGGER ON holdfast.ticket FROM PUBLIC",)),
                ("ALL ON holdfast.queue TO mallory",
                 ("REVOKE REFERENCES, TRIGGER, TRUNCATE ON holdfast.queue "
                  "FROM mallory",)),
                ("REFERENCES (id) ON holdfast.session TO mallory",
                 ("REVOKE REFERENCES (id) ON holdfast.session FROM mallory",)),
                ("UPDATE ON SEQUENCE holdfast.queue_number_seq TO mallory",
                 ("REVOKE UPDATE ON SEQUENCE holdfast.queue_number_seq FROM "
                  "mallory",))):
            with self.subTest(grant):
                database = self.made_by("postgres")
                self.server.sql("GRANT " + grant, database=database)
                for role in ("alice", "postgres"):
                    self.assert_refused(self.url(database, role), *parts,
                                        status=DENIED)
                # The statement of the text helps.
                revoke = parts[-1][parts[-1].index("REVOKE"):]
                self.server.sql(revoke, database=database)
                self.assert_works(self.url(database, "alice"))

    def test_ones_own_rights_are_ones_own_affair(self):
        database = self.made_by("postgres")
        self.server.sql("GRANT ALL ON ALL TABLES IN SCHEMA holdfast TO alice",
                        database=database)
        self.assert_works(self.url(database, "alice"))
        self.assert_refused(self.url(database, "bob"), "FROM alice",
                            status=DENIED)
        self.assert_works(self.url(database, "bob", "alice"))


class Additions(RightsCase):
    """Code that would run with the functions, and other changes of the schema,
    although everything has a trusted owner."""

    CHANGES = (
        (TRIGGER, "trigger seize on holdfast.ticket calls trap.seize"),
        ("ALTER TABLE holdfast.watcher DISABLE TRIGGER ALL", "enabled D"),
        ("CREATE RULE extra AS ON INSERT TO holdfast.ticket DO ALSO SELECT 1",
         "rule extra on holdfast.ticket"),
        ("CREATE POLICY mine ON holdfast.ticket USING (true)",
         "policy mine on holdfast.ticket"),
        ("ALTER TABLE holdfast.ticket ENABLE ROW LEVEL SECURITY",
         "row security"),
        ("ALTER TABLE holdfast.ticket ALTER weight SET DEFAULT random()",
         "default random()"),
        ("ALTER TABLE holdfast.ticket ALTER created_at SET DEFAULT now()",
         "default now()"),
        ("ALTER TABLE holdfast.watcher ADD extra bigint"
         " GENERATED ALWAYS AS (queue * 2) STORED", "generated s"),
        ("ALTER TABLE holdfast.queue ALTER number SET GENERATED BY DEFAULT",
         "identity d"),
        ("ALTER TABLE holdfast.ticket ADD CHECK (weight > 0)",
         "CHECK ((weight > 0))"),
        ("CREATE DOMAIN public.odd AS integer CHECK (value > 0);"
         "ALTER TABLE holdfast.ticket ALTER weight TYPE public.odd",
         "public.odd"),
        ("CREATE TABLE public.child () INHERITS (holdfast.ticket)",
         "public.child inherits from holdfast.ticket"),
        ("CREATE TABLE public.other (s uuid REFERENCES holdfast.session)",
         "constraint on public.other: FOREIGN KEY"),
        ("CREATE TYPE public.look AS (queue bigint, session uuid);"
         "ALTER TABLE holdfast.watcher OF public.look",
         "table holdfast.watcher of public.look"),
        ("CREATE INDEX ON holdfast.ticket ((kind + 1))", "CREATE INDEX ON"),
        ("CREATE INDEX ON holdfast.ticket (kind) WHERE weight > 0",
         "CREATE INDEX ON"),
        ("ALTER TABLE holdfast.watcher SET UNLOGGED", "unlogged table"),
        ("CREATE VIEW holdfast.extra AS SELECT 1 AS one", "holdfast.extra"),
        ("CREATE FUNCTION holdfast_4.is_late(integer) RETURNS boolean"
         " LANGUAGE sql AS 'SELECT true'", "function holdfast_4.is_late"),
        ("ALTER FUNCTION holdfast_4.enqueue SECURITY DEFINER",
         "function holdfast_4.enqueue plpgsql volatile security definer"),
        ("ALTER FUNCTION holdfast_4.enqueue SET search_path = public",
         "set search_path=public"),
        ("ALTER FUNCTION holdfast_4.enqueue SET lock_timeout = 1",
         "lock_timeout=1"),
        ("ALTER FUNCTION holdfast_4.list RESET ALL", "function holdfast_4.list"),
        ("ALTER FUNCTION holdfast_4.is_late IMMUTABLE",
         "function holdfast_4.is_late sql immutable"),
        ("ALTER FUNCTION holdfast_4.is_late STRICT", "strict"),
        ("ALTER FUNCTION holdfast_4.is_late LEAKPROOF", "leakproof"),
        ("ALTER FUNCTION holdfast_4.is_late PARALLEL SAFE", "parallel s"),
        ("CREATE OR REPLACE FUNCTION holdfast_4.is_late(not_after_ms bigint)"
         " RETURNS boolean LANGUAGE plpgsql VOLATILE AS"
         " 'BEGIN RETURN false; END'", "function holdfast_4.is_late plpgsql"),
        ("DROP FUNCTION holdfast_4.remove_abandoned",
         "function holdfast_4.remove_abandoned"),
        ("ALTER TABLE holdfast.queue DROP CONSTRAINT queue_name_key",
         "UNIQUE"),
    )

    def test_each_is_refused_and_named(self):
        for change, part in self.CHANGES:
            with self.subTest(change):
                database = self.made_by("postgres")
                self.server.sql(SEIZE, database=database)
                self.server.sql(change, database=database)
                self.assert_refused(self.url(database), part, status=USAGE)
                self.server.sql("DROP DATABASE " + database)

    def test_what_makes_no_difference_is_not_refused(self):
        database = self.made_by("postgres")
        for change in ("CREATE INDEX ON holdfast.ticket (session, queue)",
                       "ALTER TABLE holdfast.ticket SET (fillfactor = 30)",
                       "ALTER INDEX holdfast.ticket_session RENAME TO e",
                       "COMMENT ON TABLE holdfast.ticket IS 'ours'",
                       "ALTER ROLE postgres SET quote_all_identifiers = on"):
            with self.subTest(change):
                self.server.sql(change, database=database)
                self.assert_works(self.url(database))
        self.server.sql("ALTER ROLE postgres RESET ALL")


class Shared(RightsCase):
    """As docs/engine-postgres.md says."""

    def setUp(self):
        self.name = self.database()
        self.make()

    def make(self):
        self.server.sql("GRANT CREATE ON DATABASE %s TO owner" % self.name)
        self.psql(self.name, self.tool_sql(), "-c", "SET ROLE owner")
        self.server.sql("REVOKE CREATE ON DATABASE %s FROM owner" % self.name)
        for role in ("alice", "bob"):
            self.psql(self.name, self.tool_sql("--grant"), "-v",
                      "role=" + role)

    def test_two_users_share_locks(self):
        holder = machine.popen(
            [HOLDFAST, "run", "-c", self.url(self.name, "alice", "owner"),
             "inputs", "--", "sh", "-c", "echo held; read line"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        waiting.read_line(holder, "held")
        self.assert_refused(self.url(self.name, "bob", "owner"),
                            "held by", status=TIMEOUT)
        self.assertEqual(holder.communicate(
            "go\n", timeout=waiting.LIMIT_S)[0], "")
        for role in ("bob", "alice"):
            self.assert_works(self.url(self.name, role, "owner"))
        self.assert_refused(self.url(self.name, "alice"),
                            "belongs to owner", status=DENIED)
        self.assert_refused(self.url(self.name, "mallory", "owner"),
                            "42501", "--grant", status=DENIED)

    def test_the_owner_drops_one_of_another_version(self):
        """And has it made again: the rights of the others go with it."""
        self.server.sql("UPDATE holdfast.version SET version = 1",
                        database=self.name)
        self.assert_refused(self.url(self.name, "alice", "owner"),
                            "DROP SCHEMA holdfast CASCADE", status=USAGE)
        self.psql(self.name, "DROP SCHEMA holdfast, holdfast_4 CASCADE", "-c",
                  "SET ROLE owner")
        self.make()
        for role in ("alice", "bob"):
            self.assert_works(self.url(self.name, role, "owner"))

    def test_neither_can_change_the_schema(self):
        for role in ("alice", "bob"):
            for text in (
                    "CREATE TABLE holdfast.extra ()",
                    "CREATE FUNCTION holdfast_4.extra() RETURNS integer"
                    " LANGUAGE sql AS 'SELECT 1'",
                    "CREATE TRIGGER t BEFORE INSERT ON holdfast.ticket FOR"
                    " EACH ROW EXECUTE FUNCTION suppress_redundant_updates_"
                    "trigger()",
                    "CREATE RULE r AS ON INSERT TO holdfast.ticket DO ALSO"
                    " SELECT 1",
                    "CREATE POLICY p ON holdfast.ticket",
                    "CREATE INDEX ON holdfast.ticket (kind)",
                    "ALTER FUNCTION holdfast_4.enqueue SECURITY DEFINER",
                    "ALTER TABLE holdfast.ticket ALTER weight SET DEFAULT 1",
                    "CREATE TABLE pg_temp.c () INHERITS (holdfast.ticket)",
                    "CREATE TEMP TABLE f (q bigint REFERENCES"
                    " holdfast.queue)",
                    "UPDATE holdfast.version SET version = 0",
                    "DROP SCHEMA holdfast CASCADE",
                    "SET ROLE owner"):
                with self.subTest(role=role, text=text), \
                        self.assertRaises(Exception) as caught:
                    self.sql_as(role, self.name, text)
                self.assertEqual(caught.exception.pgcode[:2], "42",
                                 caught.exception)
        self.assert_works(self.url(self.name, "alice", "owner"))


class Builtins(RightsCase):
    """PUBLIC may execute the functions of the server.  Somebody who has revoked
    that for one of them (pg_notify, say) learns it when a client connects.
    Otherwise an acquire works, and its release does not."""

    # Of calls that every release, list or renewal makes; by way of an operator
    # and of a cast, too.
    SOME = ("pg_notify(text,text)", "clock_timestamp()", "replace(text,text,text)",
            "encode(bytea,text)", "uuid_send(uuid)", "uuid_ne(uuid,uuid)",
            "int8(double precision)", "timestamptz_pl_interval(timestamp with "
            "time zone,interval)")

    # Functions of the server that are words of our source, each with EXECUTE
    # for PUBLIC.
    USED = """
        SELECT p.oid::regprocedure::text FROM pg_proc p
         WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f'
           AND has_function_privilege('public', oid, 'EXECUTE')
           AND EXISTS (SELECT FROM pg_proc f
                        WHERE f.pronamespace = 'holdfast_4'::regnamespace
                          AND f.prosrc ~ ('\\m' || p.proname || '\\M\\s*[(]'))
    """

    def setUp(self):
        self.name = self.made_by("postgres")

    def revoke(self, function):
        self.server.sql("REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC" % function,
                        database=self.name)

    def grant(self, function):
        self.server.sql("GRANT EXECUTE ON FUNCTION %s TO PUBLIC" % function,
                        database=self.name)

    def test_a_client_is_refused(self):
        for function in self.SOME:
            with self.subTest(function):
                self.revoke(function)
                try:
                    self.assert_refused(
                        self.url(self.name, "alice"), function.split("(")[0],
                        "superuser", status=DENIED)
                finally:
                    self.grant(function)
                self.assertEqual(self.server.sql(
                    "SELECT count(*) FROM holdfast.ticket",
                    database=self.name), [(0,)])
        self.assert_works(self.url(self.name, "alice"))

    def test_each_function_that_ours_call_is_missed(self):
        used = [name for name, in self.server.sql(self.USED,
                                                  database=self.name)]
        self.assertIn("pg_notify(text,text)", used)
        self.assertGreater(len(used), 30)
        connection = self.server.connect(database=self.name, user="alice")
        self.addCleanup(connection.close)
        cursor = connection.cursor()
        for function in used:
            with self.subTest(function):
                self.revoke(function)
                try:
                    cursor.execute("SELECT holdfast_4.missing_rights()")
                    (found,), = cursor.fetchall()
                except Exception as error:  # pylint: disable=broad-except
                    found = str(error)  # it is called by this very function
                self.assertIn(function.split("(")[0], found)
                self.grant(function)
        cursor.execute("SELECT holdfast_4.missing_rights()")
        self.assertEqual(cursor.fetchall(), [("",)])

    def test_a_function_that_we_do_not_call_may_be_revoked(self):
        self.revoke("pg_sleep(double precision)")
        self.revoke("lo_export(oid,text)")
        self.assert_works(self.url(self.name, "alice"))


class Shadows(RightsCase):
    def test_nothing_of_other_schemas_is_used(self):
        """Though the database's settings have them come first."""
        database = self.made_by("postgres")
        with open(SHADOWS) as file:
            self.server.sql(file.read(), database=database)
        self.server.sql("ALTER DATABASE %s SET search_path = "
                        "shadow, pg_temp, pg_catalog" % database)
        for role in ("alice", "postgres"):
            self.assert_works(self.url(database, role))
        self.server.sql("DROP SCHEMA holdfast CASCADE", database=database)
        self.assert_works(self.url(database))


if __name__ == "__main__":
    unittest.main()
