#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Wrong URLs, credentials, permissions, certificates and servers: a status and
a text that names the offending part, within a stated time, by the library and
by holdfast run; and nothing is left behind.

    test_zk_inputs.py CLIENT_DRIVER HOLDFAST CLASS
"""

import base64
import concurrent.futures
import hashlib
import os
import shutil
import socketserver
import subprocess
import sys
import threading
import time
import unittest

from client_driver import ClientDriver

import jute
import machine
import waiting
import raw
from ensemble import Ensemble
from zookeeper import Standalone

CLIENT_DRIVER = os.path.abspath(sys.argv.pop(1))
HOLDFAST = os.path.abspath(sys.argv.pop(1))

# The limit of a wait, and what a busy machine may add.
WAIT_MS = 1000
# Java's first handshakes take their time on a busy machine.
HANDSHAKE_MS = 5000
LATE_S = 20

PASSWORD = "open-sesame"
SECRET = "sesame"  # a part of each password here, in no text whatever

# holdfast run's own exit statuses
USAGE, UNREACHABLE, ROOT, DENIED = 64, 69, 73, 77


def digest(user, password):
    """The id of the user in an ACL of ZooKeeper."""
    both = "%s:%s" % (user, password)
    return "%s:%s" % (user, base64.b64encode(
        hashlib.sha1(both.encode()).digest()).decode())


class Case(unittest.TestCase):
    """One client driver for all its tests, each of which leaves it as it
    was."""

    @classmethod
    def setUpClass(cls):
        cls.directory = machine.directory("inputs", on_disk=True)
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.names = cls.write("names", "zk.test 127.0.0.1\n")
        cls.driver = ClientDriver(CLIENT_DRIVER, HF_NAMES=cls.names)
        cls.addClassCleanup(cls.driver.kill)
        environment = dict(os.environ)
        for name in ("HOLDFAST_URL", "HOLDFAST_AUTH_FILE", "HOLDFAST_DIR"):
            environment.pop(name, None)
        cls.environment = environment

    @classmethod
    def write(cls, name, text, mode=0o600):
        path = os.path.join(cls.directory, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def assert_says(self, text, parts):
        for part in parts:
            self.assertIn(part, text)
        self.assertNotIn(SECRET, text)

    # ---- through the library

    def used(self):
        return self.driver.descriptors(), self.driver.threads()

    def is_idle(self):
        """No client has a connection or a timer any more."""
        return not [kind for kind in self.driver.descriptor_kinds()
                    if "socket" in kind or "timerfd" in kind]

    def warmed_up(self, *urls):
        """Note what it uses once it has been through everything that keeps
        something for good."""
        self.refused("zk://", "HF_EURL")  # by then it has come up
        for session in self.driver.opened(*urls):
            self.driver.close(session)
        waiting.eventually("an idle client driver", self.is_idle)
        self.began_with = self.used()

    def nothing_is_left(self):
        waiting.eventually("descriptors and threads to go, of %s" % (
            self.began_with,), lambda: self.used() == self.began_with)

    def refused(self, url, status, *parts):
        """It is not even opened."""
        session = self.driver.open(url)
        with self.subTest(url=url):
            got, text = self.driver.refused(session)
            self.assertEqual(got, status, text)
            self.assert_says(text, parts)

    def failing(self, rows, wait_ms=WAIT_MS):
        """Rows of URL, name, status (A|B: one of them) and the parts that the
        text must have, all at once."""
        began_ms = waiting.now_ms()
        sessions = [self.driver.open(url) for url, *_ in rows]
        waits = [self.driver.acquire(session, name, wait_ms)
                 for session, (_, name, *_) in zip(sessions, rows)]
        for wait, session, (url, name, status, *parts) in zip(
                waits, sessions, rows):
            with self.subTest(url=url, name=name):
                got, text, at_ms = self.driver.failed(wait)
                self.assertIn(got, status.split("|"), text)
                self.assert_says(text, parts)
                self.assertLess(at_ms - began_ms, wait_ms + LATE_S * 1000)
                for line in self.driver.logs(session):
                    self.assertNotIn(SECRET, line)
        for session in sessions:
            self.driver.close(session)

    def works(self, url, name):
        session = self.driver.open(url)
        wait = self.driver.acquire(session, name)
        self.driver.granted(wait)
        self.assertEqual(self.driver.release(wait), "HF_OK")
        self.driver.close(session)

    # ---- through holdfast run

    def run_tool(self, url, name, *command, **environment):
        """Started; with a terminal's worth of a wait."""
        return machine.popen(
            [HOLDFAST, "run", "-w", "%dms" % WAIT_MS, name, "--",
             *(command or ("true",))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, process_group=0,
            env=dict(self.environment, HOLDFAST_URL=url, **environment))

    def finish(self, process):
        """Its exit status and both outputs; all of it is gone."""
        out, err = process.communicate(timeout=waiting.LIMIT_S)
        with self.assertRaises(ProcessLookupError):
            os.killpg(process.pid, 0)
        return process.returncode, out, err

    def failing_runs(self, rows):
        """Rows of URL, name, exit status, the parts of the text and more of
        the environment, all at once."""
        began = time.monotonic()
        runs = [self.run_tool(url, name, **environment)
                for url, name, _, _, environment in rows]
        for process, (url, name, status, parts, _) in zip(runs, rows):
            with self.subTest(url=url, name=name):
                got, out, err = self.finish(process)
                self.assertEqual(got, status, err)
                self.assertEqual(out, "")
                self.assert_says(err, parts)
        self.assertLess(time.monotonic() - began, WAIT_MS / 1000 + LATE_S)


class Urls(Case):
    """Errors that need no server."""

    def setUp(self):
        self.warmed_up()

    def tearDown(self):
        self.nothing_is_left()

    def test_servers(self):
        for scheme in ("zk", "zks"):
            for rest, *parts in (
                    ("//", "names no server", scheme + "://"),
                    ("///locks", "names no server"),
                    ("//:2181", "server 1", "empty", "HOST"),
                    ("//h,", "server 2", "empty"),
                    ("//h,,h", "server 2", "empty"),
                    ("//h:0", "server 1", "port", "1 to 65535"),
                    ("//h:70000", "server 1", "port", "1 to 65535"),
                    ("//h,h:21x1", "server 2", "port"),
                    ("//h:", "server 1", "port"),
                    ("//[::1:2181", "server 1", "']'"),
                    ("//::1", "server 1", "brackets"),
                    ("//h%20h", "server 1", "host"),
                    (":h:2181", "//")):
                self.refused("%s:%s" % (scheme, rest), "HF_EURL", *parts)
        self.refused("zkk://h", "HF_EUNSUPPORTED", "zkk:", "zk:")

    def test_chroots(self):
        for path, *parts in (("/a/", "/a/", "at its end"),
                             ("/a//b", "/a//b", "empty component"),
                             ("/../b", "/../b", '".."'),
                             ("/%EE%80%80", "private use"),
                             ("/" + "a" * 1024, "1025 bytes", "at most")):
            self.refused("zk://h" + path, "HF_EURL", "path", *parts)

    def test_options(self):
        for option, *parts in (
                ("tiemout=3s", "tiemout", "timeout"),
                ("timeout", "KEY=VALUE"),
                ("timeout=fast", "timeout=", "fast", "from 1s to 10m"),
                ("timeout=", "timeout="),
                ("timeout=1ms", "timeout=", "from 1s"),
                ("timeout=11m", "timeout=", "to 10m"),
                ("timeout=5s&timeout=6s", "timeout", "twice"),
                ("tick=5", "tick="),
                ("acl=closed", "acl=", "closed", "open"),
                ("acl=creator", "acl=creator", "credentials", "auth_file="),
                ("layout=etcd", "layout=", "etcd", "curator"),
                ("token_floor=-1", "token_floor=", "digits"),
                ("ca=/ca.pem", "ca")):
            self.refused("zk://h?" + option, "HF_EURL", *parts)

    def test_credentials(self):
        for rest, *parts in (
                ("u@h", "user", "password"),
                ("u:@h", "password"),
                (":%s@h" % PASSWORD, "user"),
                ("u:%s@h?auth_file=/f" % PASSWORD, "auth_file="),
                ("u:%s" % PASSWORD, "server 1", "port"),
                ("u:%s/@h" % PASSWORD, "'@'", "%2F"),
                ("u:%s@" % PASSWORD, "names no server")):
            self.refused("zk://" + rest, "HF_EURL", *parts)

    def test_files_of_credentials(self):
        good = "digest:alice:%s\n" % PASSWORD
        missing = os.path.join(self.directory, "missing")
        for path, status, *parts in (
                (missing, "HF_EURL", "No such file", "auth_file="),
                (self.directory, "HF_EURL", "plain file"),
                (self.write("others", good, 0o644), "HF_EDENIED", "0644",
                 "or less"),
                (self.write("group", good, 0o660), "HF_EDENIED", "0660"),
                (self.write("plain", "alice:%s\n" % PASSWORD), "HF_EURL",
                 "digest:USER:PASSWORD"),
                (self.write("nobody", "digest::%s\n" % PASSWORD), "HF_EURL",
                 "without a user"),
                (self.write("windows", good.replace("\n", "\r\n")),
                 "HF_EURL", "carriage return"),
                (self.write("empty", ""), "HF_EURL", "no line")):
            self.refused("zk://h?auth_file=" + path, status, path, *parts)

    def test_files_for_tls(self):
        nothing = self.write("nothing.pem", "nothing\n")
        missing = os.path.join(self.directory, "missing")
        for options, *parts in (
                ("ca=ca.pem", "ca=", "absolute"),
                ("ca=" + missing, "ca=", missing, "No such file"),
                ("ca=" + nothing, "ca=", nothing, "PEM"),
                ("cert=" + nothing, "cert=", "key=", "both"),
                ("cert=%s&key=%s" % (nothing, nothing), "cert=", nothing)):
            self.refused("zks://h?" + options, "HF_EURL", *parts)

    def test_through_the_tool(self):
        others = self.write("others", "digest:alice:%s\n" % PASSWORD, 0o644)
        missing = os.path.join(self.directory, "missing")
        self.failing_runs([
            ("zk://", "x", USAGE, ["names no server"], {}),
            ("zk://h:0", "x", USAGE, ["server 1", "port"], {}),
            ("zk://h:70000", "x", USAGE, ["server 1", "port"], {}),
            ("zk://h?tiemout=3s", "x", USAGE, ["tiemout", "timeout"], {}),
            ("zk://h/a/", "x", USAGE, ["/a/"], {}),
            ("zk://u:%s" % PASSWORD, "x", USAGE, ["server 1"], {}),
            ("zk://h", "x", DENIED, [others, "or less"],
             {"HOLDFAST_AUTH_FILE": others}),
            ("zk://h", "x", USAGE, [missing, "HOLDFAST_AUTH_FILE"],
             {"HOLDFAST_AUTH_FILE": missing}),
            ("zks://h?ca=" + missing, "x", USAGE, ["ca=", missing], {}),
        ])


class Permissions(Case):
    """The permissions of a server's nodes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Standalone()
        cls.addClassCleanup(cls.server.close)
        cls.url = "zk://" + cls.server.address()
        cls.as_alice = "zk://alice:%s@%s" % (PASSWORD, cls.server.address())
        cls.as_nobody = "zk://alice:not-%s@%s" % (PASSWORD,
                                                  cls.server.address())
        anyone = [("/no-create", 1), ("/no-read", 12), ("/no-delete", 5),
                  ("/open", 31)]
        with cls.server.client() as client:
            client.create("/alices", acls=[
                jute.Acl(31, "digest", digest("alice", PASSWORD))])
            for path, permissions in anyone:
                client.create(path, acls=[
                    jute.Acl(permissions, "world", "anyone")])

    def setUp(self):
        self.warmed_up(self.url, self.as_alice)
        self.looker = self.server.client()
        self.addCleanup(self.looker.close)
        self.looker.auth("digest", ("alice:" + PASSWORD).encode())
        self.tree = self.everything()

    def everything(self):
        """All nodes but those that may not be listed."""
        found = []
        for name in self.looker.children("/"):
            found.append(name)
            if name not in ("zookeeper", "no-read"):
                found += self.looker.tree("/" + name)
        return found, self.looker.exists("/no-read").children

    def tearDown(self):
        self.nothing_is_left()
        waiting.eventually("the tree to be as before",
                           lambda: self.everything() == self.tree)
        waiting.eventually("all sessions to be gone but this one's", lambda:
                           self.server.mntr()["num_alive_connections"] <= 2)

    def test_through_the_library(self):
        rows = [
            (self.url + "/no/such", "x", "HF_EDIR", "/no/such",
             "does not exist", "create it"),
            (self.url, "alices", "HF_EDENIED", "/alices", "permission",
             "no credentials"),
            (self.as_nobody, "alices", "HF_EDENIED", "/alices", "permission",
             "password"),
            (self.as_nobody, "alices/below", "HF_EDENIED", "/alices/below",
             "permission", "password"),
        ]
        for url in (self.url, self.as_alice):
            rows += [
                (url, "no-create", "HF_EDENIED", "put a ticket below",
                 "/no-create", "permission"),
                (url, "no-create/below", "HF_EDENIED", "create",
                 "/no-create/below", "permission"),
                (url, "no-read", "HF_EDENIED", "list", "/no-read",
                 "permission"),
            ]
        self.failing(rows)
        self.works(self.as_alice, "alices")

    def test_through_the_tool(self):
        self.failing_runs([
            (self.url + "/no/such", "x", ROOT, ["/no/such"], {}),
            (self.url, "alices", DENIED, ["/alices", "no credentials"], {}),
            (self.as_nobody, "alices", DENIED, ["/alices", "password"], {}),
            (self.as_alice, "no-create", DENIED, ["/no-create"], {}),
            (self.url, "no-read", DENIED, ["/no-read"], {}),
        ])
        process = self.run_tool(self.url, "alices", "echo", "in",
                                HOLDFAST_AUTH_FILE=self.write(
                                    "auth", self.as_alice + "\n"))
        self.assertEqual(self.finish(process), (0, "in\n", ""))

    def test_a_parent_in_which_no_ticket_can_be_deleted(self):
        """No ticket is put there, so nobody waits for one that stays, and the
        session goes on."""
        session, other = self.driver.opened(self.url, self.as_alice)
        for _ in range(2):
            for client in (session, other):
                wait = self.driver.acquire(client, "no-delete")
                status, text, _ = self.driver.failed(wait)
                self.assertEqual(status, "HF_EDENIED", text)
                self.assert_says(text, ["/no-delete", "may not delete",
                                        "holdfast zk acl set"])
                self.assertEqual(
                    self.looker.exists("/no-delete").children, 0)
        self.driver.granted(self.driver.acquire(session, "open"))
        for client in (session, other):
            self.driver.close(client)

    def test_a_right_to_delete_that_goes_while_a_lock_is_held(self):
        """The ticket goes with its session, and those that wait for it are
        notified.  The next one is not put there."""
        def permit(permissions):
            self.looker.set_acls("/goes", [
                jute.Acl(permissions, "world", "anyone")])
        self.looker.create("/goes")
        holder, other = self.driver.opened(self.url, self.url)
        held = self.driver.acquire(holder, "goes")
        self.driver.granted(held)
        wait = self.driver.acquire(other, "goes")
        self.assertEqual(self.driver.queued(wait), 1)
        permit(31 & ~8)
        self.assertEqual(self.driver.release(held), "HF_EDENIED")
        self.assertTrue([line for line in self.driver.logs(holder)
                         if "/goes" in line and "permission" in line])
        status, text, _ = self.driver.failed(
            self.driver.acquire(holder, "goes"))
        self.assertEqual(status, "HF_EDENIED")
        self.assert_says(text, ["/goes", "may not delete"])
        self.driver.close(holder)
        self.driver.granted(wait)
        permit(31)
        self.assertEqual(self.driver.release(wait), "HF_OK")
        self.driver.close(other)
        waiting.eventually("all tickets to be gone", lambda:
                           self.looker.children("/goes") == [])
        self.looker.delete("/goes")

    def test_a_parent_in_which_the_tool_may_not_delete(self):
        for url in (self.url, self.as_alice):
            status, out, err = self.finish(
                self.run_tool(url, "no-delete", "echo", "in"))
            self.assertEqual((status, out), (DENIED, ""))
            self.assert_says(err, ["/no-delete", "may not delete",
                                   "holdfast zk acl set"])


class Connections(Case):
    """Servers that are there and cannot be used."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            starting = [pool.submit(Standalone, tls=True),
                        pool.submit(Standalone, tls=True, client_auth="need"),
                        pool.submit(Standalone, tls=True,
                                    certificate="expired"),
                        pool.submit(Standalone, max_client_cnxns=1),
                        pool.submit(Ensemble, hosts=2 * (machine.LOCALHOST,),
                                    read_only=True)]
        for server in starting:
            if not server.exception():
                cls.addClassCleanup(server.result().close)
        cls.open, cls.strict, cls.expired, cls.small, cls.pair = [
            server.result() for server in starting]

    def setUp(self):
        self.warmed_up(self.zks(self.open, "localhost"),
                       "zk://" + self.open.address())

    def tearDown(self):
        self.nothing_is_left()
        for server in (self.open, self.strict, self.expired):
            with server.client() as client:
                self.assertEqual(self.locks(client), [])

    @staticmethod
    def locks(client):
        """Tickets."""
        return [path for path in client.tree() if "-lock-" in path]

    @staticmethod
    def zks(server, host="127.0.0.1", ca="ca", own=None):
        """A URL; own is the name of the certificate that we show."""
        path = server.certificates.path
        options = []
        if ca:
            options.append("ca=" + path(ca + ".pem"))
        if own:
            options.append("cert=%s&key=%s" % (path(own + ".pem"),
                                               path(own + ".key")))
        return "zks://%s:%d?%s" % (host, server.tls_port, "&".join(options))

    def test_certificates(self):
        where = self.open.tls_address()
        self.failing([
            (self.zks(self.open, ca="other_ca"), "x", "HF_EDENIED", where,
             "127.0.0.1, localhost", "ca="),
            (self.zks(self.open, ca=None), "x", "HF_EDENIED", where,
             "this system trusts", "ca="),
            (self.zks(self.open, host="zk.test"), "x", "HF_EDENIED",
             "for 127.0.0.1, localhost", "expected zk.test"),
            (self.zks(self.expired), "x", "HF_EDENIED",
             self.expired.tls_address(), "certificate has expired"),
            (self.zks(self.strict), "x", "HF_EDENIED",
             self.strict.tls_address(), "wants a certificate", "cert=", "key="),
            (self.zks(self.strict, own="untrusted"), "x", "HF_EDENIED",
             self.strict.tls_address(), "refused", "cert="),
            ("zks://%s?ca=%s" % (self.open.address(),
                                 self.open.certificates.path("ca.pem")), "x",
             "HF_EPROTOCOL", self.open.address(), "TLS"),
            ("zk://" + where, "x", "HF_EURL", where, "speaks TLS", "zks:"),
        ], HANDSHAKE_MS)
        self.refused(self.zks(self.open, own="client").replace(
            "client.key", "server.key"), "HF_EURL", "key=", "server.key")
        self.works(self.zks(self.open), "x")
        self.works(self.zks(self.open, host="localhost"), "x")
        self.works(self.zks(self.strict, own="client"), "x")

    def test_what_waiting_does_not_mend_ends_the_wait_at_once(self):
        """Long before the limits of the wait and of the first connection."""
        plain = "zks://%s?ca=%s" % (self.open.address(),
                                    self.open.certificates.path("ca.pem"))
        for url, status in ((self.zks(self.open, ca="other_ca"), "HF_EDENIED"),
                            (self.zks(self.open, host="zk.test"),
                             "HF_EDENIED"),
                            (self.zks(self.strict), "HF_EDENIED"),
                            (plain, "HF_EPROTOCOL"),
                            ("zk://" + self.open.tls_address(), "HF_EURL")):
            with self.subTest(url=url):
                began_ms = waiting.now_ms()
                session = self.driver.open(url)
                wait = self.driver.acquire(session, "x", 60000)
                got, text, at_ms = self.driver.failed(wait)
                self.assertEqual(got, status, text)
                self.assertNotIn("within", text)
                self.assertLess(at_ms - began_ms, HANDSHAKE_MS)
                self.driver.close(session)

    def test_all_servers_have_to_say_so(self):
        """One that is trusted is enough, and so is one that may come."""
        ca = self.open.certificates.path("ca.pem")
        both = "%s,%s" % (self.expired.tls_address(), self.open.tls_address())
        self.works("zks://%s?ca=%s" % (both, ca), "x")
        self.failing([("zks://%s,127.0.0.1:1?ca=%s" % (
            self.expired.tls_address(), ca), "x", "HF_EUNREACHABLE")])

    def test_certificates_and_the_tool(self):
        self.failing_runs([
            (self.zks(self.open, ca="other_ca"), "x", DENIED, ["ca="],
             {}),
            (self.zks(self.expired), "x", DENIED, ["expired"], {}),
            (self.zks(self.strict), "x", DENIED, ["cert="], {}),
            ("zk://" + self.open.tls_address(), "x", USAGE, ["zks:"], {}),
        ])
        process = self.run_tool(self.zks(self.strict, own="client"), "x",
                                "sh", "-c", "echo $HOLDFAST_TOKEN")
        status, out, err = self.finish(process)
        self.assertEqual((status, err), (0, ""))
        self.assertGreater(int(out), 0)

    def test_too_many_clients(self):
        where = self.small.address()
        with raw.Client(self.small.port):
            self.failing([("zk://" + where, "x", "HF_EUNREACHABLE", where,
                           "maxClientCnxns")])
            self.failing_runs([("zk://" + where, "x", UNREACHABLE,
                                [where, "maxClientCnxns"], {})])
        self.works("zk://" + where, "x")

    def test_read_only(self):
        """A server of an ensemble without a quorum serves readers alone."""
        left, lost = self.pair.servers
        lost.kill()
        waiting.eventually("a read-only server",
                           lambda: left.mode() == "read-only")
        self.failing([
            ("zk://" + left.address(), "x", "HF_EUNREACHABLE",
             left.address(), "quorum"),
            ("zk://" + self.pair.addresses(), "x", "HF_EUNREACHABLE",
             lost.address()),
        ])
        self.failing_runs([("zk://" + left.address(), "x", UNREACHABLE,
                            [left.address(), "quorum"], {})])
        with left.client(read_only=True) as client:
            self.assertTrue(client.read_only)
            self.assertEqual(client.tree(), [])


class OtherServer(socketserver.ThreadingTCPServer):
    """A server of another protocol: it sends its bytes, asked or not, and
    closes."""

    daemon_threads = True

    def __init__(self, words, asked=True):
        self.words, self.asked = words, asked
        super().__init__(("127.0.0.1", 0), self.answer)
        self.address = "127.0.0.1:%d" % self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(0.01,),
                         daemon=True).start()

    def answer(self, link, *_):
        try:
            if self.asked:
                link.recv(4096)
            link.sendall(self.words)
        except OSError:
            pass

    def server_close(self):
        self.shutdown()
        super().server_close()


class OtherServers(Case):
    """Servers of other protocols."""

    def other_server(self, words, asked=True):
        server = OtherServer(words, asked)
        self.addCleanup(server.server_close)
        return server.address

    def test_who_answers_is_no_zookeeper(self):
        self.warmed_up()
        http = self.other_server(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        ssh = self.other_server(b"SSH-2.0-OpenSSH_9.2\r\n", asked=False)
        shut = self.other_server(b"", asked=False)
        listener = self.other_server(b"")
        self.failing([
            ("zk://" + http, "x", "HF_EPROTOCOL", http,
             "not ZooKeeper's", "port"),
            ("zks://" + http, "x", "HF_EURL", http, "TLS", "port"),
            ("zk://" + ssh, "x", "HF_EPROTOCOL|HF_EUNREACHABLE", ssh),
            ("zks://" + ssh, "x", "HF_EURL", ssh, "TLS", "port"),
            ("zk://" + shut, "x", "HF_EUNREACHABLE", shut, "closed"),
            ("zks://" + shut, "x", "HF_EPROTOCOL", shut, "closed", "TLS"),
            ("zk://" + listener, "x", "HF_EUNREACHABLE", listener, "closed",
             "quorum"),
            ("zks://" + listener, "x", "HF_EPROTOCOL", listener, "closed",
             "TLS"),
        ])
        self.failing_runs([
            ("zk://" + http, "x", UNREACHABLE, [http, "not ZooKeeper's"], {}),
            ("zk://" + shut, "x", UNREACHABLE, [shut, "closed"], {}),
            ("zks://" + http, "x", USAGE, [http, "TLS"], {}),
        ])
        self.nothing_is_left()

    def test_a_failure_is_logged_once_and_not_for_each_attempt(self):
        """Two servers that fail in different ways."""
        http = self.other_server(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        port = machine.Port()
        self.addCleanup(port.close)
        session = self.driver.open("zk://127.0.0.1:%d,%s" % (port.number, http))
        wait = self.driver.acquire(session, "x", 3 * WAIT_MS)
        self.assertEqual(self.driver.failed(wait)[0], "HF_EUNREACHABLE")
        self.assertEqual(len(self.driver.logs(session)), 2)
        self.driver.close(session)


if __name__ == "__main__":
    unittest.main()
