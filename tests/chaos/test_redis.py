#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The redis engine on a real server: what a handoff costs, and what happens
when holders and servers are killed, frozen and set up wrongly.

    test_redis.py CROWD CONTENDER HOLDFAST SET_CLOCK
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from crowd import LONG, Crowd

import place
from proxy import Proxy
from redis_server import Server

CROWD, CONTENDER, HOLDFAST, SET_CLOCK = (
    os.path.abspath(path) for path in sys.argv[1:5])
del sys.argv[1:5]

NAME = "chaos/one"
TTL_MS = 2000
# What a machine that is busy with other tests may add to anything.
SLACK_MS = 1500


def commands(server):
    """Scripts run, by clients."""
    return server.calls().get("evalsha", 0)


class Cost(unittest.TestCase):
    """A handoff takes the server the same, however many wait."""

    def handoffs(self, waiters):
        """Commands per release, and milliseconds from release to grant."""
        releases = 40
        with Server() as server, Crowd(CROWD) as crowd:
            url = server.url(options="?ttl=60s")
            sessions = crowd.opened(*[url] * waiters)
            held = crowd.acquire(sessions[0], NAME)
            crowd.granted(held)
            waits = []
            for i in range(waiters + releases):
                waits.append(crowd.acquire(sessions[i % waiters], NAME))
                crowd.queued(waits[-1])
            took = []
            before = commands(server)
            for wait in waits[:releases]:
                asked_ms = place.now_ms()
                crowd.say("release", held)
                took.append(crowd.granted(wait).at_ms - asked_ms)
                held = wait
            # With a poll of some session in case a notice was lost.
            return ((commands(server) - before) / releases,
                    sorted(took)[releases // 2])

    def test_a_release_costs_the_same_with_fifty_waiters(self):
        few, few_ms = self.handoffs(3)
        many, many_ms = self.handoffs(50)
        print("commands per release: %.2f with 3 sessions that wait, %.2f "
              "with 50; release to grant %.1f and %.1f ms" % (
                  few, many, few_ms, many_ms), flush=True)
        # Take it out, list the queue, and a probe now and then.
        self.assertLessEqual(few, 4)
        self.assertLessEqual(many, 4)


class Deaths(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.server.start()
        self.url = self.server.url(options="?ttl=%dms" % TTL_MS)

    def crowd(self):
        crowd = Crowd(CROWD)
        self.addCleanup(crowd.kill)
        return crowd

    def holder_and_waiter(self):
        """Of two processes, with their sessions and waits."""
        one, two = self.crowd(), self.crowd()
        a, = one.opened(self.url)
        b, = two.opened(self.url)
        held = one.acquire(a, NAME)
        token = int(one.granted(held).words[1])
        waits = two.acquire(b, NAME)
        two.queued(waits)
        return one, held, token, two, waits

    def test_a_killed_holder_is_followed_when_its_ticket_runs_out(self):
        one, _, token, two, waits = self.holder_and_waiter()
        killed_ms = place.now_ms()
        one.process.kill()
        granted = two.granted(waits)
        self.assertGreater(int(granted.words[1]), token)
        self.assertLess(granted.at_ms, killed_ms + TTL_MS + SLACK_MS)
        two.end()

    def test_fn01_a_frozen_holder_is_followed_and_hears_it(self):
        one, held, token, two, waits = self.holder_and_waiter()
        frozen_ms = place.now_ms()
        one.process.freeze()
        granted = two.granted(waits)
        # Not before its last proof has run out: at best it was sent a
        # renewal's interval ago.
        self.assertGreater(granted.at_ms, frozen_ms + TTL_MS / 2)
        self.assertGreater(int(granted.words[1]), token)
        one.process.thaw()
        one.told(held, "lost")
        self.assertIsNone(two.find(waits, "lost"))
        two.end()
        one.end()

    def test_a_frozen_waiter_blocks_no_longer_than_its_lease(self):
        one, held, _, two, waits = self.holder_and_waiter()
        three = self.crowd()
        c, = three.opened(self.url)
        last = three.acquire(c, NAME)
        three.queued(last)
        two.process.freeze()
        released_ms = place.now_ms()
        self.assertEqual(one.release(held), "HF_OK")
        self.assertLess(three.granted(last).at_ms,
                        released_ms + TTL_MS + SLACK_MS)
        two.process.thaw()
        self.assertEqual(three.release(last), "HF_OK")
        two.granted(waits)  # it has queued afresh
        for crowd in (three, two, one):
            crowd.end()

    def test_a_frozen_server_loses_the_session_in_time(self):
        crowd = self.crowd()
        session, = crowd.opened(self.url)
        held = crowd.acquire(session, NAME)
        crowd.granted(held)
        frozen_ms = place.now_ms()
        self.server.freeze()
        lost = crowd.told(held, "lost")
        self.assertLess(lost.at_ms, frozen_ms + TTL_MS + SLACK_MS / 3)
        crowd.until_state(session, "LOST")
        self.server.thaw()
        crowd.until_state(session, "CONNECTED")
        again = crowd.acquire(session, NAME)
        crowd.granted(again)
        crowd.end()

    def test_a_server_that_is_back_in_time_loses_nothing(self):
        crowd = self.crowd()
        session, = crowd.opened(self.server.url(options="?ttl=20s"))
        held = crowd.acquire(session, NAME)
        crowd.granted(held)
        self.server.freeze()
        crowd.until_state(session, "SUSPENDED")
        self.server.thaw()
        crowd.until_state(session, "CONNECTED")
        self.assertIsNone(crowd.find(held, "lost"))
        self.assertEqual(crowd.release(held), "HF_OK")
        crowd.end()

    def test_connections_that_are_cut_are_made_again(self):
        one, held, _, two, waits = self.holder_and_waiter()
        with self.server.client() as client:
            for _ in range(3):
                client.ask("CLIENT", "KILL", "TYPE", "normal")
                client.ask("CLIENT", "KILL", "TYPE", "pubsub")
        self.assertEqual(place.eventually(
            "the holder's session", lambda: one.states(0)[-1] == "CONNECTED"),
            True)
        self.assertIsNone(one.find(held, "lost"))
        self.assertEqual(one.release(held), "HF_OK")
        two.granted(waits)
        two.end()
        one.end()

    def test_scripts_that_are_forgotten_are_loaded_again(self):
        crowd = self.crowd()
        session, = crowd.opened(self.url)
        with self.server.client() as client:
            client.ask("SCRIPT", "FLUSH")
        held = crowd.acquire(session, NAME)
        crowd.granted(held)
        self.assertEqual(crowd.count_states(session, "SUSPENDED"), 0)
        crowd.end()


class Restarts(unittest.TestCase):
    """kill -9 of a server that keeps everything it has answered on disk."""

    def test_increments_while_the_server_is_killed(self):
        processes, share = (20, 100) if LONG else (8, 12)
        state = tempfile.mkdtemp(prefix="holdfast-redis-")
        self.addCleanup(shutil.rmtree, state)
        with Server(["appendonly yes", "appendfsync always"]) as server:
            url = server.url(options="?ttl=10s")
            crew = [subprocess.Popen(
                [CONTENDER, "add", url, NAME, state, str(number), str(share)],
                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
                for number in range(processes)]
            kills = 0
            while any(one.poll() is None for one in crew):
                goal = len(self.lines(state)) + processes
                place.eventually(
                    "progress", lambda: len(self.lines(state)) >= goal or
                    all(one.poll() is not None for one in crew), 120)
                server.restart()
                kills += 1
            for one in crew:
                self.assertEqual((one.wait(), one.communicate()[1]), (0, b""))
        lines = self.lines(state)
        total = processes * share
        self.assertEqual([int(number) for _, _, number in lines],
                         list(range(1, total + 1)))
        tokens = [int(token) for _, token, _ in lines]
        self.assertEqual(tokens, sorted(set(tokens)))
        self.assertGreaterEqual(kills, 2)
        print("%d increments, %d servers killed" % (total, kills), flush=True)

    @staticmethod
    def lines(state):
        try:
            with open(os.path.join(state, "log")) as log:
                return [line.split() for line in log]
        except FileNotFoundError:
            return []

    def test_tokens_rise_across_a_server_that_forgets_everything(self):
        with Server() as server, Crowd(CROWD) as crowd:
            session, = crowd.opened(server.url(options="?ttl=2s"))
            first = crowd.acquire(session, NAME)
            token = int(crowd.granted(first).words[1])
            server.restart()
            crowd.told(first, "lost")
            second = crowd.acquire(session, NAME)
            self.assertGreater(int(crowd.granted(second).words[1]), token)


class Clocks(unittest.TestCase):
    """The server's wall clock is set, which docs/engine-redis.md warns of."""

    def setUp(self):
        self.file = tempfile.NamedTemporaryFile("w")
        self.addCleanup(self.file.close)
        self.server = Server(environment={
            "LD_PRELOAD": SET_CLOCK, "SET_CLOCK_FILE": self.file.name})
        self.addCleanup(self.server.close)
        self.server.start()
        self.crowd = Crowd(CROWD)
        self.addCleanup(self.crowd.kill)
        url = self.server.url(options="?ttl=%dms" % TTL_MS)
        self.one, self.two = self.crowd.opened(url, url)

    def set(self, seconds):
        before = self.seconds()
        self.file.seek(0)
        self.file.truncate()
        self.file.write(str(seconds))
        self.file.flush()
        place.eventually("the clock to be set", lambda: abs(
            self.seconds() - before) > 1000)

    def seconds(self):
        with self.server.client() as client:
            return int(client.ask("TIME")[0])

    def token(self, wait):
        return int(self.crowd.granted(wait).words[1])

    def test_set_on_it_lets_another_in_early_and_the_token_shows_it(self):
        held = self.crowd.acquire(self.one, NAME)
        token = self.token(held)
        self.set(3600)
        other = self.crowd.acquire(self.two, NAME)
        self.assertGreater(self.token(other), token)
        self.crowd.told(held, "lost")
        self.assertEqual(self.crowd.release(other), "HF_OK")
        self.crowd.end()

    def test_set_back_it_keeps_what_is_renewed_and_tokens_rise(self):
        held = self.crowd.acquire(self.one, NAME)
        token = self.token(held)
        other = self.crowd.acquire(self.two, NAME)
        self.crowd.queued(other)
        self.set(-3600)
        renewals = commands(self.server)
        place.eventually("renewals",
                         lambda: commands(self.server) > renewals + 10)
        self.assertIsNone(self.crowd.find(held, "lost"))
        self.assertEqual(self.crowd.release(held), "HF_OK")
        self.assertGreater(self.token(other), token)
        late = self.crowd.acquire(self.one, NAME)
        self.crowd.queued(late)
        self.assertEqual(self.crowd.release(other), "HF_OK")
        self.assertGreater(self.token(late), token + 1)
        self.crowd.end()


class Failover(unittest.TestCase):
    """The primary is killed and its replica promoted, behind one address.
    Another replica follows that one."""

    def setUp(self):
        self.primary = self.server()
        self.replication = Proxy(self.primary.port)
        self.addCleanup(self.replication.close)
        self.replica = self.server(self.replication.port)
        self.next = self.server(self.replica.port)
        self.address = Proxy(self.primary.port)
        self.addCleanup(self.address.close)
        self.crowd = Crowd(CROWD)
        self.addCleanup(self.crowd.kill)

    def server(self, of=None):
        server = Server(["repl-diskless-sync-delay 0"] + (
            ["replicaof 127.0.0.1 %d" % of] if of else []))
        self.addCleanup(server.close)
        server.start()
        if of:
            place.eventually("replication", lambda: "master_link_status:up" in
                             self.info(server))
        return server

    @staticmethod
    def info(server):
        with server.client() as client:
            return client.ask("INFO", "replication")

    def url(self, options):
        return "redis://127.0.0.1:%d/0?%s" % (self.address.port, options)

    def fail_over(self):
        self.primary.kill()
        with self.replica.client() as client:
            client.ask("REPLICAOF", "NO", "ONE")
        self.address.target = self.replica.port
        self.address.cut()

    def test_fn13_a_failover_can_lose_a_ticket_and_the_token_shows_it(self):
        crowd = self.crowd
        a, b = crowd.opened(self.url("ttl=20s"), self.url("ttl=20s"))
        self.replication.drop()
        held = crowd.acquire(a, NAME)
        token = int(crowd.granted(held).words[1])
        self.fail_over()
        crowd.until_state(b, "CONNECTED")
        other = crowd.acquire(b, NAME)
        # Two at once: this is what wait= is for, and what tokens are for.
        self.assertGreater(int(crowd.granted(other).words[1]), token)
        crowd.told(held, "lost")
        crowd.end()

    def test_fn13_what_replicas_have_is_not_lost(self):
        crowd = self.crowd
        a, b = crowd.opened(*[self.url("ttl=20s&wait=1")] * 2)
        held = crowd.acquire(a, NAME)
        token = int(crowd.granted(held).words[1])
        self.fail_over()
        for session in (a, b):
            crowd.until("session %d to be back" % session, lambda s=session:
                        crowd.count_states(s, "CONNECTED") == 2)
        waits = crowd.acquire(b, NAME)
        self.assertEqual(crowd.queued(waits), 1)
        self.assertIsNone(crowd.find(held, "lost"))
        self.assertEqual(crowd.release(held), "HF_OK")
        self.assertGreater(int(crowd.granted(waits).words[1]), token)
        crowd.end()

    def test_without_replicas_nothing_is_granted(self):
        crowd = self.crowd
        session, = crowd.opened(self.url("ttl=2s&wait=1"))
        held = crowd.acquire(session, NAME)
        crowd.granted(held)
        self.replication.drop()
        lost = crowd.told(held, "lost")
        self.assertTrue(lost)
        late = crowd.acquire(session, NAME, wait_ms=3000)
        self.assertIn(crowd.failed(late)[0], ("HF_ETIMEDOUT",
                                              "HF_EUNREACHABLE"))
        self.replication.cut()
        self.replication.thaw()
        again = crowd.acquire(session, NAME)
        crowd.granted(again)
        crowd.end()


class Inputs(unittest.TestCase):
    """What is set up wrongly: a status and a text, and no secret in it."""

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.server.start()

    def configure(self, *words):
        with self.server.client() as client:
            client.ask(*words)

    def run_with(self, url, **environment):
        return subprocess.run(
            [HOLDFAST, "run", "-t", "1500ms", NAME, "--", "true"],
            env=dict(os.environ, HOLDFAST_URL=url, **environment),
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=place.PATIENCE_S)

    def refused(self, url, status, *texts, **environment):
        ended = self.run_with(url, **environment)
        self.assertEqual((ended.returncode, ended.stdout), (status, ""),
                         ended.stderr)
        for text in texts:
            self.assertIn(text, ended.stderr)
        self.assertNotIn("s3cret", ended.stderr)

    def works(self, url, **environment):
        ended = self.run_with(url, **environment)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_urls(self):
        address = self.server.address()
        for url, text in [
                ("redis:", "names no server"),
                ("redis://", "the server of the URL is empty"),
                ("redis:///0", "the server of the URL is empty"),
                ("redis://h:0", "no valid port"),
                ("redis://h:70000", "no valid port"),
                ("redis://h:s3cret", "no valid port"),
                ("redis://[::1", "no IPv6 address"),
                ("redis://[h]", "no IPv6 address"),
                ("redis://h_!", "characters that no host name has"),
                ("redis://%s/x" % address, "not the number of a database"),
                ("redis://%s/0?db=1" % address, "both a database"),
                ("redis://%s?ttl=10ms" % address, "not a duration in range"),
                ("redis://%s?ttl=x" % address, "not a duration in range"),
                ("redis://%s?wait=x" % address, "not a number of replicas"),
                ("redis://%s?layout=x" % address, "expected layout=queue"),
                ("redis://%s?timeout=1s" % address, "does not know"),
                ("redis://user@%s" % address, "not a password"),
                ("redis:/" + 120 * "x", "names no server"),
                ("rediss:/socket", "TLS over a unix socket"),
                ("redis://%s?auth_file=/nowhere" % address,
                 "cannot be opened")]:
            with self.subTest(url):
                self.refused(url, 64, text)

    def test_nobody_there(self):
        self.server.kill()
        self.refused(self.server.url(), 69, "connection refused")
        self.refused("redis:" + self.server.socket, 69)

    def test_another_database_and_the_socket(self):
        self.works(self.server.url("/15"))
        self.works("redis:%s?db=15" % self.server.socket)
        self.refused(self.server.url("/99"), 64, "DB index is out of range")

    def test_passwords(self):
        url = self.server.url().replace("//", "//:s3cret@")
        self.refused(url, 77, "it has no password")
        self.configure("CONFIG", "SET", "requirepass", "s3cret")
        self.works(url)
        self.refused(self.server.url(), 77, "NOAUTH", "expected USER:PASSWORD")
        self.refused(url.replace("s3cret", "s3cret-not"), 77, "WRONGPASS")

    def test_files_of_credentials(self):
        self.configure("ACL", "SETUSER", "alice", "on", ">s3cret", "~holdfast:*",
                       "&holdfast:*", "+@all")
        path = os.path.join(self.server.directory, "secret")

        def write(text, mode=0o600):
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, mode)

        write("# for the locks\nredis:alice:s3cret\n")
        self.works(self.server.url(options="?auth_file=" + path))
        self.works(self.server.url(), HOLDFAST_AUTH_FILE=path)
        write("redis:alice:s3cret\n", 0o644)
        self.refused(self.server.url(options="?auth_file=" + path), 77,
                     "open to others")
        for text, fault in [("", "no line"), ("digest:a:s3cret\n", "scheme"),
                            ("redis:alice\n", "without a password"),
                            ("redis:alice:\n", "without a password"),
                            ("redis:a:s3cret\nredis:b:s3cret\n", "more than")]:
            write(text)
            with self.subTest(text):
                self.refused(self.server.url(options="?auth_file=" + path), 64,
                             fault)

    def test_rights(self):
        url = self.server.url().replace("//", "//eve:s3cret@")
        rights = ["~holdfast:*", "&holdfast:*", "+evalsha", "+script|load",
                  "+time", "+ping", "+subscribe", "+publish", "+info",
                  "+@sortedset", "+@hash", "+get", "+set", "+pttl", "+pexpire",
                  "+del"]
        self.configure("ACL", "SETUSER", "eve", "on", ">s3cret", *rights)
        self.works(url)
        for missing in ("~holdfast:*", "&holdfast:*", "+evalsha", "+time"):
            with self.subTest(missing):
                self.configure("ACL", "SETUSER", "eve", "reset", "on",
                               ">s3cret", *(r for r in rights if r != missing))
                self.refused(url, 77, "NOPERM")
        self.configure("ACL", "SETUSER", "eve", "reset", "on", ">s3cret",
                       *(r for r in rights if r != "+info"))
        ended = self.run_with(url)
        self.assertEqual(ended.returncode, 0)
        self.assertIn("does not let us see its INFO", ended.stderr)

    def test_a_server_that_throws_keys_away(self):
        self.configure("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
        self.refused(self.server.url(), 64, "expected maxmemory-policy")

    def test_a_replica(self):
        self.configure("REPLICAOF", "127.0.0.1", "1")
        self.refused(self.server.url(), 69, "address of its primary")

    def test_no_memory(self):
        self.configure("CONFIG", "SET", "maxmemory", "1")
        self.refused(self.server.url(), 73, "OOM", "see maxmemory")

    def test_what_is_held_is_kept_without_memory(self):
        with Crowd(CROWD) as crowd:
            session, = crowd.opened(self.server.url(options="?ttl=1s"))
            held = crowd.acquire(session, NAME)
            crowd.granted(held)
            self.configure("CONFIG", "SET", "maxmemory", "1")
            renewals = commands(self.server)
            place.eventually("renewals",
                             lambda: commands(self.server) > renewals + 5)
            self.assertIsNone(crowd.find(held, "lost"))
            self.assertEqual(crowd.release(held), "HF_OK")

    def test_tls(self):
        with Server(tls=True) as server:
            shown = {"cert": "client.pem", "key": "client.key"}
            self.works(server.tls_url(ca="ca.pem", **shown))
            self.refused(server.tls_url(ca="other_ca.pem", **shown), 69, "TLS:")
            self.refused(server.tls_url(ca="ca.pem"), 69)
            self.refused(server.tls_url(ca="ca.pem", cert="client.pem"), 64,
                         "only one of cert= and key=")
            self.refused("rediss://%s" % server.address(), 69)

    def test_keys_of_something_else(self):
        self.configure("SET", "holdfast:{%s}:queue" % NAME, "mine")
        self.refused(self.server.url(), 64, "WRONGTYPE", "something else")

    def test_something_else_than_redis(self):
        with MailServer() as port:
            self.refused("redis://127.0.0.1:%d" % port, 69, "not Redis'")


class MailServer:
    """Greets as those do."""

    def __enter__(self):
        self.claim = place.Port()
        self.process = place.Process([sys.executable, "-c", (
            "import socket\n"
            "s = socket.create_server(('127.0.0.1', %d))\n"
            "while True:\n"
            "    c = s.accept()[0]\n"
            "    c.sendall(b'220 mail.example\\r\\n')\n"
            "    c.recv(4096)\n") % self.claim.number],
            stderr=subprocess.DEVNULL)
        place.eventually("it to listen",
                         lambda: place.is_open(self.claim.number))
        return self.claim.number

    def __exit__(self, *_):
        self.process.kill()
        self.claim.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    unittest.main(verbosity=2)
