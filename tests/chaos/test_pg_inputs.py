#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Wrong URLs, passwords, databases, schemas, servers, and poolers in front of
them: a text by holdfast run that says what is wrong, and no secret in it.

    test_pg_inputs.py HOLDFAST
"""

import os
import shutil
import socket
import socketserver
import struct
import subprocess
import threading
import time
import unittest

from pg_tool import (DENIED, HOLDFAST, SECRET, TIMEOUT, UNREACHABLE, USAGE,
                     Case)

import machine
import waiting
import postgres
from proxy import UP, Proxy
from certificates import Certificates

# What a busy machine may add to something that is answered at once.
LATE_S = 12


class Urls(Case):
    def test_what_is_wrong_with_a_url_is_said_at_once(self):
        for url, part in (
                ("postgresql://h/d?ttl=1ms", "ttl="),
                ("postgresql://h/d?ttl=never", "ttl="),
                ("postgresql://h/d?pooler=transaction", "pooler="),
                ("postgresql://h/d?schema_owner=", "schema_owner="),
                ("postgresql://h/d?target_session_attrs=read-only",
                 '"target_session_attrs"'),
                ("postgresql://h/d?target_session_attrs=any",
                 "can be written to"),
                ("postgresql://h/d?options=-c%20jit%3Doff", '"options"'),
                ("postgresql://h/d?connect_timeout=3", '"connect_timeout"'),
                ("postgresql://h:port/d", "1 to 65535"),
                ("postgresql://h:0/d", "1 to 65535"),
                ("postgresql://h:65536/d", "1 to 65535"),
                ("postgresql://[::1/d", "in brackets"),
                ("postgresql://h/d?host=i", "one of them"),
                ("postgresql://h/d?dbname=e", "twice"),
                ("postgresql:///d?host=h,i&port=1,2,3", "different length"),
                ("postgresql://%s/d" % ",".join("h" * 17), "more than 16"),
                ("postgresql://u:%s@h:x/d" % SECRET, "1 to 65535")):
            with self.subTest(url):
                self.assert_refused(url, part, status=USAGE)

    def test_servers_are_found_in_many_ways(self):
        server, port = self.server, self.server.port
        folder = server.directory
        service = os.path.join(self.directory, "services")
        with open(service, "w") as file:
            file.write("[mine]\nhost=%s\nport=%d\nuser=postgres\n"
                       "dbname=postgres\n" % (folder, port))
        for url, environment in (
                (server.url(), {}),
                (server.url().replace("postgresql:", "postgres:"), {}),
                ("postgresql:///postgres?host=%s&port=%d&user=postgres" % (
                    folder, port), {}),
                ("postgresql:", {"PGHOST": folder, "PGPORT": str(port),
                                 "PGUSER": "postgres"}),
                ("postgresql:", {"PGSERVICE": "mine",
                                 "PGSERVICEFILE": service}),
                ("postgresql:?service=mine", {"PGSERVICEFILE": service}),
                (server.tcp_url(), {}),
                (server.url() + "?target_session_attrs=read-write", {}),
                (server.url() + "?target_session_attrs=primary",
                 {"PGTARGETSESSIONATTRS": "standby"}),
                (server.tcp_url().replace("127.0.0.1", "localhost"), {}),
                (server.tcp_url().replace("127.0.0.1", "[::ffff:127.0.0.1]"),
                 {}),
                ("postgresql://postgres:%s@/postgres?hostaddr=127.0.0.1"
                 "&port=%d" % (server.password, port), {}),
                # The first one refuses, and it is the next one's turn.
                (server.tcp_url().replace("127.0.0.1:",
                                          "127.0.0.1:1,127.0.0.1:"), {})):
            with self.subTest(url=url, **environment):
                self.assert_works(url, **environment)

    def test_a_password_comes_from_a_file(self):
        path = os.path.join(self.directory, "pgpass")
        with open(path, "w") as file:
            file.write("localhost:*:*:*:%s\n" % self.server.password)
        os.chmod(path, 0o600)
        url = "postgresql://postgres@localhost:%d/postgres" % self.server.port
        self.assert_works(url, PGPASSFILE=path)
        self.assert_works(url + "?passfile=" + path)


class FirstUse(Case):
    # src/engines/postgres/setup.c
    MAKING_LOCK = 5836046871406951169

    def test_those_who_come_first_together_make_one_schema(self):
        """None of them sees it before it waits for the lock."""
        database = self.database()
        # A third of it is the limit for the wait, in which others make it.
        url = self.server.url(database) + "?ttl=60s"
        found = []
        first = self.server.connect(database=database)
        self.addCleanup(first.close)
        with first.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", (self.MAKING_LOCK,))
            threads = [threading.Thread(
                target=lambda: found.append(self.run_tool(url, wait="30s")))
                       for _ in range(3)]
            for thread in threads:
                thread.start()
            waiting.eventually("three to wait", lambda: self.server.sql(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
                " AND NOT granted")[0][0] == 3)
            cursor.execute("SELECT pg_advisory_unlock(%s)",
                           (self.MAKING_LOCK,))
        for thread in threads:
            thread.join()
        self.assertEqual([(done.returncode, done.stdout, done.stderr)
                          for done in found], [(0, "held\n", "")] * 3)


class Refusals(Case):
    def test_who_may_not_come_in(self):
        tcp = self.server.tcp_url
        self.assert_refused(tcp(password=SECRET), "password", "28P01",
                            status=DENIED)
        self.assert_refused(tcp(password=SECRET, user="who"), "28P01",
                            status=DENIED)
        self.assert_refused(tcp().replace(":" + self.server.password, ""),
                            "PGPASSFILE", status=DENIED)
        self.assert_refused(self.server.url("nowhere"), '"nowhere"', "3D000",
                            status=USAGE)

    def test_where_there_is_nobody(self):
        self.assert_refused("postgresql://127.0.0.1:1/d", "refused")
        self.assert_refused("postgresql://nowhere.invalid/d", "no address")
        self.assert_refused("postgresql:///d?host=/nowhere", "No such file",
                            'socket "/nowhere/.s.PGSQL.5432"', "host=")

    def test_what_waiting_does_not_mend_ends_the_wait_at_once(self):
        began = time.monotonic()
        self.assert_refused("postgresql:///d?host=/dev/null", "Not a directory",
                            status=USAGE, wait="60s")
        self.assert_refused(self.server.tcp_url() + "?sslmode=require",
                            "does not support SSL", "sslmode=disable",
                            status=USAGE, wait="60s")
        self.assert_refused(self.server.tcp_url(password=SECRET), "28P01",
                            status=DENIED, wait="60s")
        self.assertLess(time.monotonic() - began, LATE_S)

    def test_all_servers_have_to_say_so(self):
        port = self.server.port
        self.assert_refused(
            "postgresql://%s:%s@127.0.0.1:%d,127.0.0.1:1/d" % (
                "who", SECRET, port), "127.0.0.1", status=UNREACHABLE)

    def test_a_policy_that_gives_up_ends_the_wait(self):
        self.assert_refused("postgresql://127.0.0.1:1/d?retry=2x100ms",
                            "gave up after 2 retries", "refused", wait="60s")
        self.assert_refused("postgresql://127.0.0.1:1/d?retry=often",
                            "retry=", "expected forever, never, once",
                            status=USAGE)

    def test_who_may_not_make_the_schema_says_how_to_have_it_made(self):
        database = self.database()
        self.server.sql("CREATE ROLE locker LOGIN")
        url = self.server.url(database).replace("postgres@", "locker@")
        self.assert_refused(url, "42501", "holdfast sql", status=DENIED)
        made = subprocess.run([HOLDFAST, "sql"], capture_output=True,
                              text=True, check=True).stdout
        self.server.sql(made, database=database)
        self.assert_refused(url, "42501", "holdfast sql --grant",
                            status=DENIED)
        self.server.sql(
            "GRANT USAGE ON SCHEMA holdfast, holdfast_4 TO locker;"
            "GRANT SELECT ON holdfast.version TO locker;"
            "GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.queue,"
            " holdfast.counter, holdfast.session, holdfast.success, holdfast.ticket,"
            " holdfast.watcher TO locker",
            database=database)
        self.assert_works(url)

    def test_a_schema_that_is_not_ours(self):
        database = self.database()
        self.server.sql("CREATE SCHEMA holdfast", database=database)
        self.assert_refused(self.server.url(database), "did not make",
                            status=USAGE)
        self.server.sql("DROP SCHEMA holdfast", database=database)
        self.assert_works(self.server.url(database))
        for change, part in (
                ("ALTER TABLE holdfast.ticket ADD extra integer", "changed"),
                ("ALTER TABLE holdfast.ticket DROP revoked", "changed"),
                ("ALTER TABLE holdfast.queue DROP CONSTRAINT queue_name_key",
                 "changed"),
                ("CREATE OR REPLACE FUNCTION holdfast_4.is_late(not_after_ms "
                 "bigint) RETURNS boolean LANGUAGE sql VOLATILE AS "
                 "'SELECT false'", "changed"),
                ("DELETE FROM holdfast.version", "changed")):
            with self.subTest(change):
                # Each on a copy: together they would hide each other.
                copy = database + "copy"
                self.server.sql("CREATE DATABASE %s TEMPLATE %s" % (
                    copy, database))
                self.server.sql(change, database=copy)
                self.assert_refused(self.server.url(copy), part,
                                    status=USAGE)
                self.server.sql("DROP DATABASE %s" % copy)

    def test_a_schema_of_another_version(self):
        """It says what is there, what it needs, and both ways out."""
        database = self.database()
        url = self.server.url(database)
        self.assert_works(url)
        early = "SELECT count(*) FROM pg_proc WHERE proname = 'early'"
        for version in (-1, 1, 3, 5):
            # As another library would have left it: other functions.
            self.server.sql(
                "UPDATE holdfast.version SET version = %d;"
                "DROP FUNCTION IF EXISTS holdfast_4.new_generation;"
                "CREATE OR REPLACE FUNCTION holdfast_4.early() RETURNS integer"
                " LANGUAGE sql AS 'SELECT 1'" % version, database=database)
            with self.subTest(version=version):
                for part in ("have version %d; expected 4" % version,
                             "install a holdfast that has version",
                             "DROP SCHEMA holdfast CASCADE"):
                    self.assert_refused(url, part, status=USAGE)
                self.assertEqual(
                    self.server.sql(early, database=database), [(1,)])
        self.server.sql("DROP SCHEMA holdfast, holdfast_4 CASCADE",
                        database=database)
        self.assert_works(url)

    def test_fn23_a_call_that_failed_is_in_nobodys_way(self):
        """Each call is a transaction of its own, and so is the release."""
        database = self.database()
        self.assert_works(self.server.url(database))
        blocker = self.server.connect(database=database)
        self.addCleanup(blocker.close)
        blocker.autocommit = False
        blocker.cursor().execute("SELECT 1 FROM holdfast.counter FOR UPDATE")
        tool = machine.popen(
            [HOLDFAST, "run", "-w", "60s", "-c", self.server.url(database) +
             "?ttl=3s", "inputs", "--", "echo", "held"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        waiting.eventually("a lock_timeout",
                           lambda: "55P03" in self.server.log_states())
        # A caller with less time gets the reason.
        self.assert_refused(self.server.url(database) + "?ttl=1s",
                            "not in the queue", "lock timeout", "55P03",
                            status=TIMEOUT)
        blocker.rollback()
        self.assertEqual(tool.communicate(timeout=waiting.LIMIT_S)[0],
                         "held\n")
        self.assertEqual(tool.returncode, 0)
        self.assertEqual(self.server.sql(
            "SELECT count(*) FROM holdfast.ticket", database=database),
                         [(0,)])

    def test_a_call_that_is_cancelled_is_made_again(self):
        """As by a statement_timeout: the SQLSTATE is the same."""
        database = self.database()
        self.assert_works(self.server.url(database))
        blocker = self.server.connect(database=database)
        self.addCleanup(blocker.close)
        blocker.autocommit = False
        blocker.cursor().execute("SELECT 1 FROM holdfast.counter FOR UPDATE")
        tool = machine.popen(
            [HOLDFAST, "run", "-w", "60s", "-c", self.server.url(database) +
             "?ttl=600s", "inputs", "--", "echo", "held"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        waiting.eventually("a call to be cancelled", lambda: self.server.sql(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'holdfast' AND datname = %s "
            "AND wait_event_type = 'Lock'", (database,)))
        waiting.eventually("it to be told",
                           lambda: "57014" in self.server.log_states())
        blocker.rollback()
        self.assertEqual(tool.communicate(timeout=waiting.LIMIT_S)[0],
                         "held\n")
        self.assertEqual(tool.returncode, 0)

    def test_a_server_that_may_forget_is_warned_of(self):
        with postgres.Server({"fsync": "off"}) as server:
            done = self.run_tool(server.url(), wait="20s")
            self.assertEqual(done.returncode, 0)
            self.assertIn("fsync=off", done.stderr)

    def test_odd_settings_of_a_role_do_no_harm(self):
        database = self.database()
        self.assert_works(self.server.url(database))
        for setting in ("statement_timeout = '1ms'",
                        "default_transaction_isolation = 'serializable'",
                        "default_transaction_read_only = on",
                        "search_path = nowhere",
                        "synchronous_commit = off",
                        "client_min_messages = debug5",
                        "idle_session_timeout = '1ms'"):
            self.server.sql("CREATE ROLE odd LOGIN SUPERUSER")
            try:
                self.server.sql("ALTER ROLE odd SET " + setting)
                with self.subTest(setting):
                    self.assert_works(self.server.url(database).replace(
                        "postgres@", "odd@"))
            finally:
                self.server.sql("DROP ROLE odd")


class Tls(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.certificates = Certificates(cls.server.directory)
        cls.server.sql("ALTER SYSTEM SET ssl = on")
        cls.show("server")

    @classmethod
    def show(cls, name):
        """From now on the server shows this certificate."""
        server = cls.server
        cert, key = (cls.certificates.path(name + end)
                     for end in (".pem", ".key"))
        for path in (cert, key):
            if server.user is not None:
                shutil.chown(path, server.user)
        os.chmod(key, 0o600)
        server.sql("ALTER SYSTEM SET ssl_cert_file = '%s'" % cert)
        server.sql("ALTER SYSTEM SET ssl_key_file = '%s'" % key)
        server.sql("SELECT pg_reload_conf()")
        waiting.eventually("its certificate", lambda: server.sql(
            "SELECT current_setting('ssl'), current_setting('ssl_key_file')"
            ) == [("on", key)])

    def url(self, ca):
        return "%s?sslmode=verify-full&sslrootcert=%s" % (
            self.server.tcp_url(), self.certificates.path(ca))

    def test_certificates(self):
        began = time.monotonic()
        self.assert_works(self.url("ca.pem"))
        self.assert_refused(self.url("other_ca.pem"),
                            "certificate verify failed", "sslrootcert=",
                            status=DENIED, wait="60s")
        self.assert_refused(self.url("none.pem"), "root certificate file",
                            "sslrootcert=", status=USAGE, wait="60s")
        self.show("wrong_name")
        self.assert_refused(self.url("ca.pem"), "does not match host name",
                            status=DENIED, wait="60s")
        self.assertLess(time.monotonic() - began, LATE_S)


class Standby(unittest.TestCase):
    def test_a_server_that_can_only_be_read_is_refused(self):
        with postgres.Server() as server:
            server.stop()
            with open(os.path.join(server.data, "standby.signal"), "w"):
                pass
            server.start()
            case = Refusals()
            case.directory = server.directory
            case.assert_refused(server.url(), "standby")


class OldServer(socketserver.BaseRequestHandler):
    """A server of an old version, as far as a client gets with it."""

    def handle(self):
        while True:
            size, code = struct.unpack("!II", self.request.recv(8))
            self.request.recv(size - 8)
            if code == 196608:
                break
            self.request.sendall(b"N")  # no encryption
        for kind, body in ((b"R", struct.pack("!I", 0)),
                           (b"S", b"server_version\x0011.22\0"),
                           (b"K", struct.pack("!II", 1, 2)),
                           (b"Z", b"I")):
            self.request.sendall(kind + struct.pack("!I", len(body) + 4) +
                                 body)
        try:
            self.request.recv(1)  # its end
        except ConnectionResetError:
            pass


class Old(unittest.TestCase):
    def test_a_server_that_is_too_old_is_refused(self):
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), OldServer) as s:
            threading.Thread(target=s.serve_forever, daemon=True).start()
            case = Refusals()
            case.directory = "/nonexistent"
            case.assert_refused(
                "postgresql://u@127.0.0.1:%d/d" % s.server_address[1],
                "PostgreSQL 11", "12 or later", status=USAGE)
            s.shutdown()


class Poolers(Case):
    def pooler(self, mode):
        """The URL of a PgBouncer in front of the server."""
        pooler = postgres.Pooler(self.server, mode)
        self.addCleanup(pooler.close)
        return pooler.url()

    def test_fn22_a_pooler_is_refused_unless_it_is_said_to_pool_by_session(self):
        for mode in ("transaction", "session"):
            url = self.pooler(mode)
            self.assert_refused(url, "pooler=session", status=USAGE)
        self.assert_works(url + "?pooler=session")

    def test_one_that_was_said_to_be_another_is_found_out(self):
        """Once it hands a statement to another process of the server."""
        url = self.pooler("transaction")
        tools = [machine.popen(
            [HOLDFAST, "run", "-w", "10s", "-c", url + "?pooler=session",
             "pooled", "--", "true"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                 for _ in range(4)]
        said = "".join(tool.communicate(timeout=waiting.LIMIT_S)[1]
                       for tool in tools)
        self.assertIn("pools by transaction", said)


class Flooded:
    """A connection to a real server, behind whose answers come parameters that
    nobody asked for, each with another name, without end."""

    PIECE = 1 << 18

    def __init__(self, server):
        self.target = "%s/.s.PGSQL.%d" % (server.directory, server.port)
        self.sent = []  # bytes of parameters, of each connection
        self.flooding = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.target)
            self.sent.append(0)
            number = len(self.sent) - 1
            for work in ((self.up, client, server),
                         (self.down, client, server, number)):
                threading.Thread(target=work[0], args=work[1:],
                                 daemon=True).start()

    @staticmethod
    def up(client, server):
        try:
            while data := client.recv(1 << 16):
                server.sendall(data)
        except OSError:
            pass
        for end in (client, server):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def parameters(self, number):
        first = self.sent[number]
        name = b"p%012d\0" % first
        value = b"v" * 1000 + b"\0"
        one = b"S" + struct.pack(">I", 4 + len(name) + len(value))
        out = b"".join(one + b"p%012d\0" % (first + i) + value
                       for i in range(self.PIECE // 1020))
        self.sent[number] += len(out)
        return out

    def down(self, client, server, number):
        """Between two messages of the server, once it has said that it is ready
        for a query (Z)."""
        buffer, ready = b"", False
        server.settimeout(0.02)
        try:
            while True:
                try:
                    data = server.recv(1 << 16)
                    if not data:
                        break
                    buffer += data
                except TimeoutError:
                    pass
                while len(buffer) >= 5:
                    size = 1 + struct.unpack(">I", buffer[1:5])[0]
                    if len(buffer) < size:
                        break
                    client.sendall(buffer[:size])
                    ready = buffer[:1] == b"Z" or ready
                    buffer = buffer[size:]
                if (ready and not buffer and self.flooding.is_set() and
                        self.sent[number] < 8 * (32 << 20)):
                    client.sendall(self.parameters(number))
        except OSError:
            pass
        for end in (client, server):
            end.close()


class Parameters(Case):
    def test_a_server_that_sends_parameters_without_end_is_hung_up_on(self):
        """libpq keeps them for as long as the connection lasts."""
        flooded = Flooded(self.server)
        self.addCleanup(flooded.close)
        holder = machine.popen(
            [HOLDFAST, "run", "-c", "postgres://%s@127.0.0.1:%d/postgres"
             "?sslmode=disable" % (postgres.SUPERUSER, flooded.port), "flooded", "--", "sh", "-c",
             "echo held; exec cat >/dev/null"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        waiting.read_line(holder, "held")
        count = len(flooded.sent)
        flooded.flooding.set()
        waiting.eventually("another connection",
                           lambda: len(flooded.sent) > count)
        flooded.flooding.clear()
        self.assertLess(max(flooded.sent), 4 * (32 << 20))
        _, err = holder.communicate(timeout=waiting.LIMIT_S)
        self.assertEqual(holder.returncode, 0, err)
        self.assertIn("parameters that nobody asked for", err)


class Turns(Proxy):
    """Counts how often the client says something after the server has: each is
    a round trip that somebody waits for."""

    def __init__(self, target):
        self.count = 0
        self.last = None
        super().__init__(target)

    def arrived(self, way, data):
        if data:
            if way.name == UP and self.last != UP:
                self.count += 1
            self.last = way.name
        super().arrived(way, data)


class Far(Case):
    """A server at 400 ms one way, and no setting that says so."""

    # Until the lock is held, with a password: TLS is asked for, the start, two
    # of SCRAM; three that prepare the connection, or six if it makes the
    # schemas; a renewal, an acquire.
    TRIPS, TRIPS_TO_MAKE = 9, 12

    def run_far(self, database):
        with Turns(self.server.port) as proxy:
            proxy.delay(400)
            url = self.server.tcp_url(database).replace(
                ":%d/" % self.server.port, ":%d/" % proxy.port)
            tool = machine.popen(
                [HOLDFAST, "run", "-c", url, "inputs", "--", "sh", "-c",
                 "echo held; read line; echo released"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
            waiting.read_line(tool, "held")
            trips = proxy.do(lambda: proxy.count)
            out, err = tool.communicate("\n", timeout=waiting.LIMIT_S)
            self.assertEqual((tool.returncode, out), (0, "released\n"), err)
            self.assertEqual(proxy.accepted, 1, err)
            return trips

    def test_a_lock_is_acquired(self):
        database = self.database()
        self.assertEqual(self.run_far(database), self.TRIPS_TO_MAKE)
        self.assertEqual(self.run_far(database), self.TRIPS)


if __name__ == "__main__":
    unittest.main()
