#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The real servers of the tests do what the tests believe of them."""

import contextlib
import os
import signal
import ssl
import subprocess
import sys
import unittest

import jute
import waiting
import raw
from ensemble import Ensemble
from proxy import DOWN
from zookeeper import Standalone

HERE = os.path.dirname(os.path.abspath(__file__))


class StandaloneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Standalone(container_check_ms=200, max_client_cnxns=8)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def test_serves_the_requests_of_a_lock(self):
        with self.server.client() as client:
            client.create("/basics", flags=jute.CONTAINER)
            name, stat = client.create("/basics/t-", b"mine",
                                       jute.EPHEMERAL_SEQUENTIAL)
            self.assertEqual(name, "/basics/t-0000000000")
            self.assertEqual(stat.ephemeral_owner, client.session)
            self.assertEqual(client.children("/basics"), ["t-0000000000"])
            self.assertEqual(client.get(name, watch=True), (b"mine", stat))
            client.check("/basics", name)
            with self.assertRaises(raw.Error) as caught:
                client.check(name, "/basics/other")
            self.assertEqual(caught.exception.code, jute.NO_NODE)
            client.delete(name)
            client.ping()
            self.assertEqual(client.events, [(jute.DELETED, name)])
            # An empty container goes by itself.
            waiting.eventually("the container to go",
                               lambda: client.children("/basics") is None)

    def test_logs_when_a_session_expires(self):
        client = self.server.client(timeout_ms=1000)
        self.assertEqual(client.timeout_ms, 1000)
        received_at = waiting.now_ms()  # or later, but not earlier
        client.create("/mine", flags=jute.EPHEMERAL)
        client.cut()
        with self.server.client() as other:
            waiting.eventually("the node to go",
                               lambda: not other.exists("/mine"))
            gone_at = waiting.now_ms()
        expired = [(at, timeout) for at, session, timeout
                   in self.server.expirations() if session == client.session]
        self.assertEqual(len(expired), 1)
        at, timeout = expired[0]
        self.assertEqual(timeout, 1000)
        # Two clocks with milliseconds; the server rounds up to its tick.
        self.assertGreater(at, received_at + 990)
        self.assertLess(at, gone_at + 5)

    def test_refuses_too_many_clients(self):
        with contextlib.ExitStack() as clients:
            for _ in range(8):
                clients.enter_context(self.server.client())
            with self.assertRaises(raw.Refused):
                self.server.client()
        waiting.eventually("room again", self.server.mode)

    def test_counts(self):
        before = self.server.mntr()["packets_received"]
        with self.server.client() as client:
            client.ping()
        self.assertGreaterEqual(self.server.mntr()["packets_received"],
                                before + 3)

    def test_stands_still_when_frozen(self):
        with self.server.client() as client:
            self.server.freeze()
            xid = client.send("ping", xid=jute.XID_PING)
            client.link.settimeout(0.2)
            with self.assertRaises(TimeoutError):
                client.answer(xid)
            self.server.thaw()
            client.link.settimeout(waiting.LIMIT_S)
            client.answer(xid)

    def test_the_same_again_and_another_on_the_same_address(self):
        with self.server.client() as client:
            client.create("/kept")
        session = self.server.client()
        self.server.restart()
        with self.server.client(session=session.session,
                                password=session.password) as resumed:
            self.assertEqual(resumed.session, session.session)
            self.assertIn("/kept", resumed.tree())
        session.cut()
        session = self.server.client()
        self.server.restart(empty=True)
        with self.assertRaises(raw.Refused):
            self.server.client(session=session.session,
                               password=session.password)
        session.cut()
        with self.server.client() as client:
            self.assertEqual(client.tree(), [])


class TlsTest(unittest.TestCase):
    def connect(self, server, shown=None):
        context = ssl.create_default_context(
            cafile=server.certificates.path("ca.pem"))
        if shown:
            context.load_cert_chain(server.certificates.path(shown + ".pem"),
                                    server.certificates.path(shown + ".key"))
        with raw.Client(server.tls_port, wrap=lambda link: context.wrap_socket(
                link, server_hostname="127.0.0.1")) as client:
            return client.tree()

    def test_a_good_certificate(self):
        with Standalone(tls=True) as server:
            self.assertEqual(self.connect(server), [])
            self.assertEqual(server.mode(), "standalone")  # in plain text

    def test_certificates_that_a_client_must_refuse(self):
        for name, reason in (("wrong_name", "IP address mismatch"),
                             ("untrusted", "unable to get local issuer")):
            with Standalone(tls=True, certificate=name) as server:
                with self.assertRaisesRegex(ssl.SSLCertVerificationError,
                                            reason):
                    self.connect(server)

    def test_a_client_that_must_show_its_own(self):
        with Standalone(tls=True, client_auth="need") as server:
            self.assertEqual(self.connect(server, "client"), [])
            for shown in (None, "untrusted"):
                with self.assertRaises((ssl.SSLError, ConnectionError,
                                        raw.Refused)):
                    self.connect(server, shown)


class ExhaustedTest(unittest.TestCase):
    """The sequence of a real server does not wrap: it sticks."""

    def test_the_counter_sticks(self):
        for container in (False, True):
            path = "/locks/old"
            with Standalone(prepared=(path, 2147483645, container)) as server:
                with server.client() as client:
                    found = [client.create("%s/%d-" % (path, i), b"",
                                           jute.EPHEMERAL_SEQUENTIAL)
                             for i in range(5)]
                    names = client.children(path)
            numbers = [name.split("-")[1] for name, _ in found]
            self.assertEqual(numbers, ["2147483645", "2147483646"] +
                             3 * ["2147483647"])
            zxids = [stat.czxid for _, stat in found]
            self.assertEqual(zxids, sorted(set(zxids)))
            self.assertEqual(len(names), 5)


class EnsembleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ensemble = Ensemble()

    @classmethod
    def tearDownClass(cls):
        cls.ensemble.close()

    def tearDown(self):
        for server in self.ensemble.servers:
            if not server.process.is_alive():
                server.launch()
            server.thaw()
            for link in server.links.values():
                link.thaw()
        self.ensemble.wait()

    def test_a_follower_behind_a_stalled_link_answers_on(self):
        leader = self.ensemble.leader()
        follower = self.ensemble.followers()[0]
        link = self.ensemble.link(follower, leader)
        with leader.client() as judge, follower.client() as client:
            client.sync()
            link.hold(DOWN)
            judge.create("/news")
            client.ping()
            self.assertIsNone(client.exists("/news"))  # it cannot know
            # Then it misses its leader's pings, and hangs up.
            with self.assertRaises(ConnectionError):
                while True:
                    client.ping()
                    client.exists("/news")
            judge.delete("/news")
        waiting.eventually("the follower to give up",
                           lambda: follower.mode() in ("", "read-only"))
        link.thaw()
        waiting.eventually("the follower to be back",
                           lambda: follower.mode() == "follower")

    def test_another_leads_when_the_leader_is_killed(self):
        leader = self.ensemble.leader()
        with self.ensemble.followers()[0].client() as client:
            client.create("/before")
        leader.kill()
        other = self.ensemble.leader()
        self.assertIsNot(other, leader)
        leader.start()
        self.assertEqual(leader.mode(), "follower")
        with leader.client() as client:
            client.sync()
            self.assertEqual(client.tree(), ["/before"])
            client.delete("/before")

    def test_a_leader_that_is_cut_off_is_deposed(self):
        leader = self.ensemble.leader()
        for follower in self.ensemble.followers():
            self.ensemble.link(follower, leader).hold()
        waiting.eventually("it to give up", lambda: leader.mode() != "leader")
        # Votes do not go through the links: one that has the latest
        # transaction would be elected again and again by those that cannot
        # reach it.
        leader.freeze()
        waiting.eventually("another leader",
                           lambda: self.ensemble.leader() is not leader)

    def test_a_frozen_leader_is_deposed(self):
        leader = self.ensemble.leader()
        leader.freeze()
        self.assertIsNot(self.ensemble.leader(), leader)
        leader.thaw()
        waiting.eventually("it to follow", lambda: leader.mode() == "follower")


class TwoClocksTest(unittest.TestCase):
    def test_a_follower_answers_for_a_session_that_has_expired(self):
        """Why answers to pings and reads prove nothing: with sync_limit
        above the session's timeout this lasts for seconds."""
        with Ensemble(sync_limit=20) as ensemble:
            leader = ensemble.leader()
            follower = ensemble.followers()[0]
            with leader.client() as judge:
                client = follower.client(timeout_ms=3000)
                client.create("/ticket", flags=jute.EPHEMERAL)
                ensemble.link(follower, leader).hold(DOWN)

                def gone():
                    client.ping()
                    return not judge.exists("/ticket")
                waiting.eventually("the ticket to go", gone)
                client.ping()
                self.assertIsNotNone(client.exists("/ticket"))
                self.assertEqual(len(ensemble.expirations()), 1)
                client.cut()


class ReadOnlyTest(unittest.TestCase):
    def test_one_of_three_serves_only_readers(self):
        with Ensemble(read_only=True) as ensemble:
            alone, *others = ensemble.servers
            for server in others:
                server.kill()
            waiting.eventually("it to be alone",
                               lambda: alone.mode() == "read-only")
            with self.assertRaises(raw.Refused):
                alone.client()
            with alone.client(read_only=True) as reader:
                self.assertTrue(reader.read_only)
                with self.assertRaises(raw.Error) as caught:
                    reader.create("/no")
                self.assertEqual(caught.exception.code, jute.NOT_READ_ONLY)


class ServeTest(unittest.TestCase):
    def serve(self, *arguments, **options):
        return subprocess.Popen(
            [sys.executable, os.path.join(HERE, "serve.py"), *arguments],
            stdout=subprocess.PIPE, text=True, **options)

    def test_has_the_status_of_its_command(self):
        for command, status in (("exit 7", 7), ("kill -USR1 $$", 138)):
            serve = self.serve("zookeeper", "--", "sh", "-c",
                               "echo $HF_ZK; " + command)
            address = serve.communicate()[0].strip()
            self.assertEqual(serve.returncode, status)
            self.assertEqual(raw.four_letters(int(address.split(":")[1]),
                                              "ruok"), "")

    def test_leaves_no_server_when_it_is_killed(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            serve = self.serve("tls", "--", "sh", "-c",
                               "echo $HF_ZK $HF_ZK_TLS; exec cat",
                               stdin=subprocess.PIPE)
            port = int(waiting.read_line(serve).split()[0].split(":")[1])
            self.assertEqual(raw.four_letters(port, "ruok"), "imok")
            serve.send_signal(number)
            serve.wait(waiting.LIMIT_S)
            # The command has ended, too: no process has the other end of the
            # pipe.
            self.assertEqual(serve.stdout.read(), "")
            waiting.eventually("the server to die",
                               lambda: not raw.four_letters(port, "ruok"))
            serve.stdin.close()
            serve.stdout.close()


if __name__ == "__main__":
    unittest.main()
