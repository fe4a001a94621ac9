#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A set-user-id program with an environment that its caller has made: nothing of
that is used, by us or by a library that we link."""

import ctypes
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402

PROGRAM = os.environ["SET_USER_ID_PROGRAM"]
PLUGIN = os.environ["SET_USER_ID_PLUGIN"]
CALLER = 65534
PASSWORD = "geheim4711"
SSL_REQUEST, GSS_REQUEST = 80877103, 80877104


class PostgresServer:
    """Asks everybody for a password, and refuses it: what it was sent is in
    .startups and .passwords, how many came in .connections."""

    def __init__(self, family, address):
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.bind(address)
        self.socket.listen(16)
        self.startups, self.passwords, self.connections = [], [], 0
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def serve(self):
        while True:
            try:
                connection = self.socket.accept()[0]
            except OSError:
                return
            self.connections += 1
            with connection:
                try:
                    self.converse(connection)
                except (OSError, struct.error):
                    pass

    def converse(self, connection):
        connection.settimeout(waiting.LIMIT_S)
        while True:
            length, code = struct.unpack("!II", self.read(connection, 8))
            rest = self.read(connection, length - 8)
            if code not in (SSL_REQUEST, GSS_REQUEST):
                break
            connection.sendall(b"N")
        words = rest.rstrip(b"\0").decode().split("\0")
        self.startups.append(dict(zip(words[::2], words[1::2])))
        connection.sendall(b"R" + struct.pack("!II", 8, 3))
        kind, length = struct.unpack("!cI", self.read(connection, 5))
        self.passwords.append(self.read(connection, length - 4)[:-1].decode())
        text = b"SFATAL\0VFATAL\0C28P01\0Mno\0\0"
        connection.sendall(b"E" + struct.pack("!I", len(text) + 4) + text)

    @staticmethod
    def read(connection, count):
        data = b""
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more:
                raise OSError("it was closed")
            data += more
        return data


class Opened:
    """Which files of a directory are opened while this is entered.  The kernel
    queues an event before the call that opens returns."""

    IN_OPEN = 0x20

    def __init__(self, directory):
        self.directory = directory

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0 or libc.inotify_add_watch(
                self.fd, os.fsencode(self.directory), self.IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def names(self):
        try:
            data = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            data = b""
        found, at = set(), 0
        while at < len(data):
            length, = struct.unpack_from("I", data, at + 12)
            found.add(data[at + 16:at + 16 + length].rstrip(b"\0").decode())
            at += 16 + length
        return found - {""}


@unittest.skipIf(os.getuid() != 0, "only root can make a set-user-id program")
class SetUserId(unittest.TestCase):
    def setUp(self):
        self.directory = machine.directory("setuid", on_disk=True)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        os.chmod(self.directory, 0o755)
        self.program = shutil.copy(PROGRAM, self.path("program"))
        os.chown(self.program, 0, 0)
        os.chmod(self.program, 0o4755)
        # The caller's, who wrote what is in it.
        self.callers = self.path("home")
        os.makedirs(self.callers + "/.postgresql")
        self.theirs = machine.Port()
        self.addCleanup(self.theirs.close)
        self.caught = PostgresServer(socket.AF_INET,
                                     ("127.0.0.1", self.theirs.number))
        self.addCleanup(self.caught.close)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        path = os.path.join(self.callers, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def own(self):
        """Everything of the caller belongs to him."""
        for folder, folders, files in os.walk(self.callers):
            for name in [folder, *(os.path.join(folder, n)
                                   for n in folders + files)]:
                os.chown(name, CALLER, CALLER)

    def run_as_caller(self, environment, *arguments, program=None):
        self.own()
        done = subprocess.run(
            ["setpriv", "--reuid=%d" % CALLER, "--regid=%d" % CALLER,
             "--clear-groups", program or self.program, *arguments],
            env=dict(environment, PATH=os.environ["PATH"],
                     **{name: os.environ[name] for name in ("ASAN_OPTIONS",
                                                            "UBSAN_OPTIONS")
                        if name in os.environ}),
            text=True, capture_output=True, timeout=waiting.LIMIT_S)
        return done.stdout + done.stderr

    def plain(self):
        """The same program without the bit: then the environment counts."""
        path = shutil.copy(PROGRAM, self.path("plain"))
        os.chmod(path, 0o755)
        return path

    # ---- PostgreSQL

    def libpq_environment(self):
        """Each variable of libpq, with what sends a connection elsewhere or
        changes it; and the files of the home directory."""
        port = str(self.theirs.number)
        service = ("[evil]\nhost=127.0.0.1\nhostaddr=127.0.0.1\nport=%s\n"
                   "sslmode=disable\n" % port)
        return {
            "HOME": self.callers,
            "PGSERVICE": "evil",
            "PGSERVICEFILE": self.write("service.conf", service),
            "PGSYSCONFDIR": os.path.dirname(self.write("pg_service.conf",
                                                       service)),
            "PGHOST": "127.0.0.1", "PGHOSTADDR": "127.0.0.1", "PGPORT": port,
            "PGUSER": "evil", "PGPASSWORD": "evil", "PGDATABASE": "evil",
            "PGPASSFILE": self.write("passfile", "*:*:*:*:evil\n"),
            "PGOPTIONS": "-c search_path=evil", "PGAPPNAME": "evil",
            "PGSSLMODE": "disable", "PGSSLCERT": self.write("cert", "x"),
            "PGSSLKEY": self.write("key", "x"),
            "PGSSLROOTCERT": self.write("root", "x"), "PGSSLCRL": self.callers,
            "PGSSLCRLDIR": self.callers, "PGSSLSNI": "0",
            "PGSSLCOMPRESSION": "1", "PGREQUIRESSL": "1",
            "PGSSLMINPROTOCOLVERSION": "TLSv1",
            "PGSSLMAXPROTOCOLVERSION": "TLSv1.2", "PGREQUIREPEER": "evil",
            "PGCHANNELBINDING": "disable", "PGGSSENCMODE": "disable",
            "PGKRBSRVNAME": "evil", "PGGSSLIB": "gssapi",
            "PGCONNECT_TIMEOUT": "1", "PGCLIENTENCODING": "SQL_ASCII",
            "PGTARGETSESSIONATTRS": "standby", "PGDATESTYLE": "German",
            "PGTZ": "evil", "PGGEQO": "off", "PGLOCALEDIR": self.callers,
        }

    def right_server(self):
        sockets = self.path("sockets")
        os.makedirs(sockets, exist_ok=True)
        right = PostgresServer(socket.AF_UNIX, sockets + "/.s.PGSQL.5432")
        os.chmod(sockets + "/.s.PGSQL.5432", 0o777)
        self.addCleanup(right.close)
        return right, "?host=" + sockets

    def test_a_password_is_sent_to_nobody_else(self):
        right, options = self.right_server()
        every = self.libpq_environment()
        self.write(".pgpass", "*:*:*:*:evil\n")
        alone = [{name: value} for name, value in every.items()]
        target = ("PGHOSTADDR", "PGPORT")
        for environment in [every, {n: every[n] for n in target}, *alone]:
            with self.subTest(sorted(environment)):
                before = len(right.passwords)
                said = self.run_as_caller(environment, "postgresql://svc:%s@/db%s"
                                          % (PASSWORD, options))
                self.assertGreater(len(right.passwords), before, said)
        self.assertEqual(set(right.passwords), {PASSWORD})
        for startup in right.startups:
            self.assertEqual({key: startup.get(key) for key in (
                "user", "database", "application_name", "client_encoding")},
                {"user": "svc", "database": "db", "application_name": "holdfast",
                 "client_encoding": "UTF8"})
            self.assertEqual(set(startup) - {
                "user", "database", "application_name", "client_encoding"}, set())
        self.assertEqual(self.caught.connections, 0)

    def test_no_password_of_the_caller_is_sent(self):
        right, options = self.right_server()
        every = self.libpq_environment()
        self.write(".pgpass", "*:*:*:*:evil\n")
        for environment in (every, {"HOME": self.callers},
                            {"PGPASSWORD": "evil"},
                            {"PGPASSFILE": every["PGPASSFILE"]}):
            self.run_as_caller(environment, "postgresql://svc@/db" + options)
        self.assertGreater(right.connections, 0)
        self.assertEqual(right.passwords, [])
        # Without the bit it is sent: the test would see it.
        self.run_as_caller({"HOME": self.callers}, "postgresql://svc@/db" + options,
                           program=self.plain())
        self.assertIn("evil", right.passwords)

    def test_a_service_is_refused(self):
        """The caller says what it is."""
        every = self.libpq_environment()
        self.write(".pg_service.conf", "[db]\nhost=127.0.0.1\nport=%s\n"
                   % self.theirs.number)
        said = self.run_as_caller(
            {**every, "HOME": self.callers},
            "postgresql://svc:%s@/db?service=db" % PASSWORD)
        self.assertIn("service=", said)
        self.assertIn("set-user-id", said)
        self.assertEqual(self.caught.connections, 0)

    def test_a_server_of_the_environment(self):
        """Without the bit it is the caller's; with it, libpq's own default."""
        environment = {name: self.libpq_environment()[name]
                       for name in ("PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER")}
        url = "postgresql://svc:%s@/db" % PASSWORD
        self.run_as_caller(environment, url)
        self.assertEqual(self.caught.connections, 0)
        self.run_as_caller(environment, url, program=self.plain())
        self.assertIn(PASSWORD, self.caught.passwords)

    # ---- libsasl2

    def test_no_plugin_of_the_caller_is_loaded(self):
        plugins = os.path.join(self.callers, "plugins")
        os.makedirs(plugins)
        shutil.copy(PLUGIN, os.path.join(plugins, "libevil.so"))
        self.own()
        url = "zk://alice:%s@127.0.0.1:%d?sasl=DIGEST-MD5&retry=never" % (
            PASSWORD, self.theirs.number)
        marks = []
        for number, words in enumerate((["--switch", url], [url])):
            marks.append(os.path.join(self.callers, "mark%d" % number))
            self.run_as_caller({"SASL_PATH": plugins, "SASL_CONF_PATH": plugins,
                                "HF_TEST_MARK": marks[-1]}, *words)
        self.assertEqual([os.path.exists(mark) for mark in marks],
                         [False, False])
        mark = os.path.join(self.callers, "mark")
        said = self.run_as_caller({"SASL_PATH": plugins, "HF_TEST_MARK": mark},
                                  url, program=self.plain())
        self.assertTrue(os.path.exists(mark), said)

    # ---- libraries that say they look at nothing themselves

    def files_of(self, *variables):
        """Each variable, with a file of the caller's that has its name."""
        return {name: self.write(name, "") for name in variables}

    def check_no_file_is_opened(self, environment, url, opened_without):
        """Of the files that the variables name.  Without the bit some are:  the
        test would see it."""
        for words in ([url], ["--switch", url]):
            with Opened(self.callers) as opened:
                said = self.run_as_caller(environment, *words)
                self.assertEqual(opened.names() & set(environment), set(), said)
        with Opened(self.callers) as opened:
            said = self.run_as_caller(environment, url, program=self.plain())
            self.assertLessEqual(opened_without, opened.names(), said)

    def test_no_file_of_openssl_is_the_callers(self):
        self.check_no_file_is_opened(
            self.files_of("OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES",
                          "SSL_CERT_FILE", "SSL_CERT_DIR", "CTLOG_FILE",
                          "SSLKEYLOGFILE"),
            "rediss://:%s@127.0.0.1:%d/?retry=never" % (
                PASSWORD, self.theirs.number),
            {"OPENSSL_CONF", "SSL_CERT_FILE"})

    def test_no_file_of_kerberos_is_the_callers(self):
        """libpq looks for a ticket if the URL lets it."""
        environment = self.files_of("KRB5_CONFIG", "KRB5_KTNAME",
                                    "KRB5_CLIENT_KTNAME", "KRB5CCNAME",
                                    "KRB5_TRACE", "KRB5RCACHENAME",
                                    "GSS_MECH_CONFIG", "KRB5_KDC_PROFILE")
        self.check_no_file_is_opened(
            environment, "postgresql://svc:%s@localhost:%d/db?gssencmode=prefer" % (
                PASSWORD, self.theirs.number),
            {"KRB5_CONFIG", "KRB5CCNAME"})

    def test_no_file_of_the_resolver_is_the_callers(self):
        environment = self.files_of("HOSTALIASES", "RESOLV_HOST_CONF",
                                    "LOCPATH", "TZDIR", "NLSPATH",
                                    "GETCONF_DIR", "MALLOC_TRACE")
        self.check_no_file_is_opened(
            {**environment, "RES_OPTIONS": "debug", "LOCALDOMAIN": "evil"},
            "redis://localhost:%d/?retry=never" % self.theirs.number,
            {"RESOLV_HOST_CONF"})

    # ---- our own

    def test_no_variable_of_ours_counts(self):
        """So its locks are in the default directory."""
        if not machine.own_run():
            self.skipTest("no mount namespace to be had")
        environment = {"HOLDFAST_URL": "zk://127.0.0.1:%d" % self.theirs.number,
                       "HOLDFAST_DIR": self.callers,
                       "HOLDFAST_METRICS_DIR": self.callers,
                       "HOLDFAST_AUTH_FILE": self.write("auth", "x")}
        said = self.run_as_caller(environment)
        self.assertIn("file:/run/holdfast", said)
        self.assertNotIn("zk:", said)
        self.assertNotIn(self.callers, said)
        said = self.run_as_caller(
            {"HOLDFAST_URL": "file:" + self.callers + "/locks"},
            program=self.plain())
        self.assertIn(self.callers, said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
