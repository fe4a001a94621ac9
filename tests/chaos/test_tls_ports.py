#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A URL with TLS at a port without it, and the reverse, on each engine.
Waiting does not help, so the wait ends at once, with one text that says which
of the two it is.  A server that looks like that only for a moment is used.

    test_tls_ports.py CLIENT_DRIVER HOLDFAST CLASS
"""

import os
import shutil
import socketserver
import subprocess
import sys
import threading
import time
import unittest

from client_driver import ClientDriver

import waiting
import postgres
from certificates import Certificates
from proxy import Proxy
from redis_cluster import Cluster
from redis_server import Server, Several
from zookeeper import Standalone

CLIENT_DRIVER, HOLDFAST = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]

NAME = "tls/ports"
SECRET = "s3cret"

# holdfast run's own exit statuses
USAGE, UNREACHABLE, DENIED = 64, 69, 77

# Far below what connect_ms and the wait allow.
AT_ONCE_S = 12


class Case(unittest.TestCase):
    def run_tool(self, url, wait="60s"):
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("HOLDFAST", "PG"))}
        return subprocess.run(
            [HOLDFAST, "run", "-w", wait, NAME, "--", "echo", "held"],
            env=dict(clean, HOLDFAST_URL=url), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=waiting.LIMIT_S,
            check=False)

    def refused(self, url, status, *texts):
        """Every part is in the last line, which is the reason."""
        began = time.monotonic()
        done = self.run_tool(url)
        self.assertLess(time.monotonic() - began, AT_ONCE_S, done.stderr)
        self.assertEqual((done.returncode, done.stdout), (status, ""),
                         done.stderr)
        reason = done.stderr.splitlines()[-1]
        self.assertNotIn("within", reason)
        for text in texts:
            self.assertIn(text, reason)
        self.assertNotIn(SECRET, done.stderr)
        return done.stderr

    def waits_for_it(self, url, *texts):
        """Waiting may help, so the tool waits; its last line says what may be
        wrong."""
        done = self.run_tool(url, "5s")
        self.assertEqual((done.returncode, done.stdout), (UNREACHABLE, ""),
                         done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr.splitlines()[-1])

    def works(self, url):
        done = self.run_tool(url)
        self.assertEqual((done.returncode, done.stdout), (0, "held\n"),
                         done.stderr)
        return done.stderr


NO_TLS = ("does not speak TLS", "expected redis:", "its port for TLS")
TLS = ("speaks TLS on this port", "expected rediss:")


class Fickle(Proxy):
    """The first connections are closed, or kept and never answered."""

    def __init__(self, target, count, silent):
        self.count, self.silent, self.kept = count, silent, []
        super().__init__(target)

    def accept(self):
        if self.accepted >= self.count:
            super().accept()
            return
        client, _ = self.listener.accept()
        self.accepted += 1
        if self.silent:
            self.kept.append(client)
        else:
            client.close()


class Plain(socketserver.ThreadingTCPServer):
    """A Redis without TLS: it knows lines, and 0 ends what it sees of one."""

    daemon_threads = True

    def __init__(self):
        self.received = []
        super().__init__(("127.0.0.1", 0), self.answer)
        threading.Thread(target=self.serve_forever, args=(0.01,),
                         daemon=True).start()

    def answer(self, link, *_):
        said = b""
        while data := link.recv(4096):
            said += data
            if b"\n" in said.split(b"\0")[0]:
                link.sendall(b"-ERR unknown command\r\n")
                break
        self.received.append(said)

    def server_close(self):
        self.shutdown()
        super().server_close()


class Redis(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(["appendonly yes", "appendfsync no"], tls=True)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        cls.tls = "127.0.0.1:%d" % cls.server.tls_claim.number
        path = cls.server.certificates.path
        cls.files = "?ca=%s&cert=%s&key=%s" % (
            path("ca.pem"), path("client.pem"), path("client.key"))

    def test_the_wrong_port(self):
        plain = self.server.address()
        said = self.refused("redis://" + self.tls, USAGE, *TLS)
        self.assertIn("may be one for TLS", said)
        said = self.refused("rediss://%s%s" % (plain, self.files), USAGE,
                            *NO_TLS)
        self.assertIn("no answer to the TLS handshake", said)

    def test_with_a_password_and_a_database(self):
        self.refused("redis://:%s@%s/3" % (SECRET, self.tls), USAGE, *TLS)
        self.refused("rediss://:%s@%s/3%s" % (
            SECRET, self.server.address(), self.files), USAGE, *NO_TLS)

    def test_the_right_port(self):
        self.assertEqual(self.works("redis://" + self.server.address()), "")
        self.assertEqual(self.works("rediss://" + self.tls + self.files), "")

    def test_the_question_holds_no_secret(self):
        with Plain() as server:
            self.refused("rediss://:%s@127.0.0.1:%d" % (
                SECRET, server.server_address[1]), USAGE, *NO_TLS)
            asked = [said for said in server.received if b"TLS?" in said]
            self.assertEqual(len(asked), 1)
            self.assertNotIn(SECRET.encode(), b"".join(server.received))

    def test_a_server_that_is_late_is_asked_and_used(self):
        """An attempt has two connections."""
        for port, silent, url in (
                (self.server.port, False, "redis://127.0.0.1:%d"),
                (self.server.tls_claim.number, True, "rediss://127.0.0.1:%d" +
                 self.files.replace("%", "%%")),
                (self.server.tls_claim.number, False, "rediss://127.0.0.1:%d" +
                 self.files.replace("%", "%%"))):
            with self.subTest(url, silent=silent), \
                    Fickle(port, 2, silent) as proxy:
                self.assertIn("TLS", self.works(url % proxy.port))

    def test_nothing_is_final_after_a_first_connection(self):
        with Proxy(self.server.port) as proxy, \
                ClientDriver(CLIENT_DRIVER) as driver:
            session, = driver.opened("redis://127.0.0.1:%d?ttl=10s" %
                                     proxy.port)
            proxy.target = self.server.tls_claim.number
            proxy.cut()
            driver.until_state(session, "SUSPENDED")
            wait = driver.acquire(session, NAME)
            goal = proxy.accepted + 8
            waiting.eventually("attempts", lambda: proxy.accepted >= goal)
            self.assertIsNone(driver.find(wait, "granted", "ended"))
            proxy.target = self.server.port
            driver.granted(wait)


class RedisCluster(Case):
    def test_the_wrong_port(self):
        """The nodes of the URL in turn: all of them have to say so."""
        with Cluster(config=["appendonly yes"], tls=True) as cluster:
            plain = [node.address() for node in cluster.nodes[:2]]
            tls = ["127.0.0.1:%d" % node.tls_claim.number
                   for node in cluster.nodes[:2]]
            for count in (1, 2):
                with self.subTest(count):
                    self.refused("redis://" + ",".join(tls[:count]), USAGE,
                                 *TLS)
                    self.refused("rediss://" + ",".join(plain[:count]), USAGE,
                                 *NO_TLS)
            self.works("redis://%s,%s" % (tls[0], plain[1]))


class Quorum(Case):
    def test_the_wrong_port(self):
        with Several(3, tls=True) as several:
            plain = [server.address() for server in several.servers]
            tls = ["127.0.0.1:%d" % server.tls_claim.number
                   for server in several.servers]
            self.refused("quorum:" + ",".join("redis://" + one for one in tls),
                         USAGE, "0 of 3 servers", *TLS)
            self.refused("quorum:" + ",".join("rediss://" + one
                                              for one in plain),
                         USAGE, "0 of 3 servers", *NO_TLS)


class ZooKeeper(Case):
    def test_the_wrong_port(self):
        with Standalone(tls=True) as server:
            self.refused("zk://" + server.tls_address(), USAGE, "speaks TLS",
                         "expected zks:")
            self.refused("zks://%s?ca=%s" % (
                server.address(), server.certificates.path("ca.pem")),
                UNREACHABLE, "during the TLS handshake", "URL without TLS")


class Alert(socketserver.BaseRequestHandler):
    """A port for TLS alone, as of a proxy in front."""

    def handle(self):
        self.request.recv(4096)
        self.request.sendall(b"\x15\x03\x01\x00\x02\x02\x46")


class Mute(socketserver.BaseRequestHandler):
    """Of what is said to it nothing begins TLS: it hangs up."""

    def handle(self):
        self.request.recv(4096)


class Abrupt(socketserver.BaseRequestHandler):
    """It hangs up with something unread, which resets the connection."""

    def handle(self):
        self.request.recv(1)


class Silent(socketserver.BaseRequestHandler):
    """It waits for more."""

    def handle(self):
        try:
            while self.request.recv(4096):
                pass
        except ConnectionResetError:
            pass


class PostgreSQL(Case):
    ACCESS = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n"

    def url(self, server, mode):
        return "postgresql://postgres@127.0.0.1:%d/postgres?sslmode=%s" % (
            server.port, mode)

    def test_tls_that_the_server_does_not_have(self):
        with postgres.Server(access="local all all trust\n"
                             "host all all 127.0.0.1/32 trust\n") as server:
            self.refused(self.url(server, "require"), USAGE,
                         "does not support SSL", "ssl=on", "sslmode=disable")
            self.works(self.url(server, "prefer"))

    def test_tls_that_the_server_insists_on(self):
        with postgres.Server(access=self.ACCESS) as server:
            certificates = Certificates(server.directory)
            for end in (".pem", ".key"):
                path = certificates.path("server" + end)
                if server.user is not None:
                    shutil.chown(path, server.user)
                os.chmod(path, 0o600)
            for name, value in (("ssl_cert_file", "server.pem"),
                                ("ssl_key_file", "server.key")):
                server.sql("ALTER SYSTEM SET %s = '%s'" % (
                    name, certificates.path(value)))
            server.sql("ALTER SYSTEM SET ssl = on")
            server.sql("SELECT pg_reload_conf()")
            waiting.eventually("TLS", lambda: server.sql("SHOW ssl") ==
                               [("on",)])
            self.refused(self.url(server, "disable"), DENIED, "no encryption",
                         "expected sslmode=require")
            self.works(self.url(server, "require"))

    def test_a_port_that_says_nothing(self):
        for handler, mode, text in (
                (Mute, "disable", "TLS alone"), (Mute, "require", "TLS alone"),
                (Abrupt, "disable", "TLS alone"),
                (Silent, "disable", "TLS alone"),
                (Silent, "require", "no answer to the request for TLS")):
            with self.subTest(handler.__name__, mode=mode), \
                    socketserver.ThreadingTCPServer(("127.0.0.1", 0),
                                                    handler) as s:
                s.daemon_threads = True
                threading.Thread(target=s.serve_forever, daemon=True).start()
                self.waits_for_it("postgresql://u@127.0.0.1:%d/d?sslmode=%s" % (
                    s.server_address[1], mode), text)
                s.shutdown()

    def test_a_port_for_tls_alone(self):
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Alert) as s:
            threading.Thread(target=s.serve_forever, daemon=True).start()
            at = "postgresql://u@127.0.0.1:%d/d?sslmode=" % s.server_address[1]
            self.refused(at + "disable", UNREACHABLE,
                         "expected authentication request", "TLS alone")
            self.refused(at + "require", USAGE, "SSL negotiation")
            s.shutdown()


if __name__ == "__main__":
    unittest.main()
