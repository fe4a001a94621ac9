#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The redis engine on a real server: the cost of a handoff, and what happens
when the server is killed, has no replica, has its clock set, or has wrong
settings.

    test_redis.py CLIENT_DRIVER CONTENDER HOLDFAST SET_CLOCK HOLD_SYNC
"""

import contextlib
import fcntl
import os
import select
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import unittest

from client_driver import LONG, ClientDriver

import machine
import waiting
from proxy import Proxy
from redis_server import Server, tickets
from script_mutant import Mutant

CLIENT_DRIVER, CONTENDER, HOLDFAST, SET_CLOCK, HOLD_SYNC = (
    os.path.abspath(path) for path in sys.argv[1:6])
del sys.argv[1:6]

NAME = "chaos/one"
TTL_MS = 2000

# What a busy machine may add to something that is answered at once.
LATE_S = 12


def commands(server):
    """Scripts run, by clients."""
    return server.calls().get("evalsha", 0)


class Cost(unittest.TestCase):
    """A handoff takes the server the same, however many wait."""

    def handoffs(self, waiters):
        """Scripts run for each release."""
        releases = 40
        with Server() as server, ClientDriver(CLIENT_DRIVER) as driver:
            url = server.url(options="?ttl=60s")
            sessions = driver.opened(*[url] * waiters)
            held = driver.acquire(sessions[0], NAME)
            driver.granted(held)
            waits = []
            for i in range(waiters + releases):
                waits.append(driver.acquire(sessions[i % waiters], NAME))
                driver.queued(waits[-1])
            before = commands(server)
            for wait in waits[:releases]:
                driver.say("release", held)
                driver.granted(wait)
                held = wait
            return (commands(server) - before) / releases

    def test_a_release_costs_the_same_however_many_wait(self):
        for waiters in (3, 10, 50, 200):
            with self.subTest(waiters):
                found = self.handoffs(waiters)
                print("%d sessions wait: %.2f scripts for a release" % (
                    waiters, found), flush=True)
                # Take it out, list the queue; a session that looks after its
                # predecessor, in case a notice was lost, now and then.
                self.assertGreaterEqual(found, 2)
                self.assertLess(found, 2.5)


class Scripts(unittest.TestCase):
    def test_those_that_are_forgotten_are_loaded_again(self):
        with Server() as server, ClientDriver(CLIENT_DRIVER) as driver:
            session, = driver.opened(server.url())
            with server.client() as client:
                client.ask("SCRIPT", "FLUSH")
            held = driver.acquire(session, NAME)
            driver.granted(held)
            self.assertEqual(driver.count_states(session, "SUSPENDED"), 0)


class Restarts(unittest.TestCase):
    """kill -9 of a server that keeps everything it has answered on disk."""

    def test_increments_while_the_server_is_killed(self):
        processes, share = (20, 100) if LONG else (20, 6)
        state = machine.directory("redis", on_disk=True)
        self.addCleanup(shutil.rmtree, state)
        with Server(["appendonly yes", "appendfsync always"]) as server:
            url = server.url(options="?ttl=10s")
            crew = [machine.popen(
                [CONTENDER, "add", url, NAME, state, str(number), str(share)],
                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
                    for number in range(processes)]
            for one in crew:
                self.addCleanup(one.kill)
            kills = 0
            while any(one.poll() is None for one in crew):
                goal = len(self.lines(state)) + processes
                waiting.eventually(
                    "progress", lambda: len(self.lines(state)) >= goal or
                    all(one.poll() is not None for one in crew), 120,
                    workers=crew)
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
        with Server() as server, ClientDriver(CLIENT_DRIVER) as driver:
            session, = driver.opened(server.url(options="?ttl=2s"))
            first = driver.acquire(session, NAME)
            token = int(driver.granted(first).words[1])
            server.restart()
            driver.await_event(first, "lost")
            second = driver.acquire(session, NAME)
            self.assertGreater(int(driver.granted(second).words[1]), token)


    def test_what_is_said_of_a_server_that_forgot(self):
        with Server() as server:
            held = os.path.join(server.directory, "held")
            tool = machine.popen(
                [HOLDFAST, "run", "-c", server.url(options="?ttl=60s"), NAME,
                 "--", "sh", "-c", "touch %s; exec sleep 60" % held],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True)
            self.addCleanup(tool.kill)
            # A ticket whose grant is not known yet would be queued again.
            waiting.eventually("the lock", lambda: os.path.exists(held),
                               of=[tool])
            server.restart()
            _, said = tool.communicate(timeout=waiting.LIMIT_S)
            self.assertEqual(tool.returncode, 76, said)
            self.assertIn("in a restart or a failover", said)

    def test_a_server_that_loads_its_file_is_not_said_to_forget(self):
        """While it loads, INFO has aof_enabled:0."""
        with Server(["appendonly yes", "appendfsync no",
                     # Microseconds for each command of the file.
                     "key-load-delay 200"]) as server:
            with server.client() as client:
                for _ in range(20000):
                    client.send("INCR", "some")
                for _ in range(20000):
                    client.read()
            server.kill()
            server.launch()
            tool = machine.popen(
                [HOLDFAST, "run", "-v", "-c", server.url(), NAME, "--", "true"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True)
            self.addCleanup(tool.kill)
            _, said = tool.communicate(timeout=waiting.LIMIT_S)
            self.assertEqual(tool.returncode, 0, said)
            self.assertIn("loading", said)
            self.assertNotIn("appendonly no", said)


class Keys(unittest.TestCase):
    """What a lock leaves in the server while it is held for long, and when it
    is held no more; and that a script which forgets that is found."""

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.server.start()
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def key(self, word):
        return "holdfast:{%s}:%s" % (NAME, word)

    def held(self, driver, port):
        session, = driver.opened("redis://127.0.0.1:%d/0?ttl=1s" % port)
        return driver.acquire(session, NAME)

    def expires_at(self):
        """0 before the first renewal, because a ticket that is alone is in the
        key "last"."""
        return int((self.client.ask("ZRANGE", self.key("until"), 0, 0,
                                    "WITHSCORES") or [None, 0])[1])

    def left_ms(self, port):
        """How long the keys of a lock live that was renewed for four leases."""
        with ClientDriver(CLIENT_DRIVER) as driver:
            held = self.held(driver, port)
            driver.granted(held)
            first = waiting.eventually("a renewal", self.expires_at)
            waiting.eventually("renewals",
                               lambda: self.expires_at() >= first + 4000)
            left = min(self.client.ask("PTTL", self.key(word))
                       for word in ("queue", "until", "tickets"))
            driver.release(held)
            return left

    def token_after(self, port):
        """How much greater it is than the last one, which came from a clock
        that was an hour ahead."""
        last = (int(self.client.ask("TIME")[0]) + 3600) * 1000000
        self.client.ask("SET", self.key("last"), last)
        with ClientDriver(CLIENT_DRIVER) as driver:
            held = self.held(driver, port)
            token = int(driver.granted(held).words[1])
            driver.release(held)
            return token - last

    def test_keys_outlive_a_ticket_by_a_minute_however_long_it_is_held(self):
        self.assertGreaterEqual(self.left_ms(self.server.port), 60000)
        with Mutant(self.server.port, "REDIS_KEYS_NOT_PROLONGED") as mutant:
            self.assertLess(self.left_ms(mutant.port), 60000)
            self.assertGreater(mutant.changed, 0)

    def test_the_token_of_a_sole_ticket_rises_when_the_clock_is_set_back(self):
        self.assertEqual(self.token_after(self.server.port), 1)
        with Mutant(self.server.port, "REDIS_SOLE_TOKEN_OF_CLOCK") as mutant:
            self.assertLess(self.token_after(mutant.port), 0)
            self.assertGreater(mutant.changed, 0)


class Closing(unittest.TestCase):
    def test_closing_a_client_removes_all_that_it_held(self):
        names = ["chaos/close/%d" % number for number in range(9999)]
        with Server() as server, ClientDriver(CLIENT_DRIVER) as driver:
            session, = driver.opened(server.url(options="?ttl=60s"))
            for held in [driver.acquire(session, name) for name in names]:
                driver.granted(held)
            driver.say("close", session)
            driver.until_state(session, "CLOSED")
            with server.client() as client:
                self.assertEqual(client.ask("KEYS", "holdfast:*:until"), [])
                for name in names:
                    self.assertEqual(tickets(client, name), [])


class Clocks(unittest.TestCase):
    """The server's wall clock is set, which docs/engine-redis.md warns of."""

    def setUp(self):
        directory = machine.directory("redis")
        self.addCleanup(shutil.rmtree, directory)
        self.file = open(os.path.join(directory, "file"), "w")
        self.addCleanup(self.file.close)
        self.server = Server(environment={
            "LD_PRELOAD": SET_CLOCK, "SET_CLOCK_FILE": self.file.name})
        self.addCleanup(self.server.close)
        self.server.start()
        self.driver = ClientDriver(CLIENT_DRIVER)
        self.addCleanup(self.driver.kill)
        url = self.server.url(options="?ttl=%dms" % TTL_MS)
        self.one, self.two = self.driver.opened(url, url)

    def set(self, seconds):
        before = self.seconds()
        self.file.seek(0)
        self.file.truncate()
        self.file.write(str(seconds))
        self.file.flush()
        waiting.eventually("the clock to be set", lambda: abs(
            self.seconds() - before) > 1000)

    def seconds(self):
        with self.server.client() as client:
            return int(client.ask("TIME")[0])

    def token(self, wait):
        return int(self.driver.granted(wait).words[1])

    def test_set_on_it_lets_another_in_early_and_the_token_shows_it(self):
        held = self.driver.acquire(self.one, NAME)
        token = self.token(held)
        self.set(3600)
        other = self.driver.acquire(self.two, NAME)
        self.assertGreater(self.token(other), token)
        self.driver.await_event(held, "lost")
        self.assertEqual(self.driver.release(other), "HF_OK")
        self.driver.end()

    def test_set_back_it_keeps_what_is_renewed_and_tokens_rise(self):
        held = self.driver.acquire(self.one, NAME)
        token = self.token(held)
        other = self.driver.acquire(self.two, NAME)
        self.driver.queued(other)
        self.set(-3600)
        renewals = commands(self.server)
        waiting.eventually("renewals",
                           lambda: commands(self.server) > renewals + 10)
        self.assertIsNone(self.driver.find(held, "lost"))
        self.assertEqual(self.driver.release(held), "HF_OK")
        self.assertGreater(self.token(other), token)
        late = self.driver.acquire(self.one, NAME)
        self.driver.queued(late)
        self.assertEqual(self.driver.release(other), "HF_OK")
        self.assertGreater(self.token(late), token + 1)
        self.driver.end()


class Replicas(unittest.TestCase):
    def test_without_them_nothing_is_granted(self):
        with Server(["repl-diskless-sync-delay 0"]) as server, \
                Proxy(server.port) as replication, \
                ClientDriver(CLIENT_DRIVER) as driver, \
                Server(["replicaof 127.0.0.1 %d" % replication.port]):
            session, = driver.opened(server.url(options="?ttl=2s&wait=1"))
            held = driver.acquire(session, NAME)
            driver.granted(held)
            replication.drop()
            driver.await_event(held, "lost")
            late = driver.acquire(session, NAME, wait_ms=3000)
            self.assertIn(driver.failed(late)[0], ("HF_ETIMEDOUT",
                                                   "HF_EUNREACHABLE"))
            replication.cut()
            replication.thaw()
            again = driver.acquire(session, NAME)
            driver.granted(again)


class Disk(unittest.TestCase):
    """When an answer comes, and when the file has what it says."""

    def setUp(self):
        directory = machine.directory("redis")
        self.addCleanup(shutil.rmtree, directory)
        self.file = open(os.path.join(directory, "file"), "w")
        self.addCleanup(self.file.close)

    def hold_up(self):
        """The server's fsync() does not return until go_on()."""
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def go_on(self):
        fcntl.flock(self.file, fcntl.LOCK_UN)

    def is_syncing(self):
        """It waits for our lock."""
        mark = ":%d " % os.fstat(self.file.fileno()).st_ino
        with open("/proc/locks") as locks:
            return any("->" in line and mark in line for line in locks)

    def server(self, policy):
        server = Server(["appendonly yes", "appendfsync " + policy],
                        environment={"LD_PRELOAD": HOLD_SYNC,
                                     "HOLD_SYNC_FILE": self.file.name})
        self.addCleanup(server.close)
        server.start()
        return server

    def test_with_always_the_answer_comes_after_the_file(self):
        with ClientDriver(CLIENT_DRIVER) as driver:
            session, = driver.opened(self.server("always").url())
            self.hold_up()
            wait = driver.acquire(session, NAME)
            waiting.eventually("it to be written", self.is_syncing)
            self.assertIsNone(driver.find(wait, "granted"))
            self.go_on()
            driver.granted(wait)

    def test_with_everysec_the_answer_comes_before_the_file(self):
        """Which is why what a server forgets counts as a failure of it."""
        with ClientDriver(CLIENT_DRIVER) as driver:
            session, = driver.opened(self.server("everysec").url())
            self.hold_up()
            wait = driver.acquire(session, NAME)
            driver.granted(wait)
            waiting.eventually("it to be written", self.is_syncing)
            self.go_on()


class Final(unittest.TestCase):
    """With wait=1 an answer is final when WAIT has said that a replica has it,
    and unsure until then."""

    def setUp(self):
        self.server = Server(["repl-diskless-sync-delay 0"])
        self.addCleanup(self.server.close)
        self.server.start()
        self.replication = Proxy(self.server.port)
        self.addCleanup(self.replication.close)
        self.replica = Server([
            "replicaof 127.0.0.1 %d" % self.replication.port])
        self.addCleanup(self.replica.close)
        self.replica.start()
        self.driver = ClientDriver(CLIENT_DRIVER)
        self.addCleanup(self.driver.kill)
        self.session, = self.driver.opened(
            self.server.url(options="?ttl=12s&wait=1"))

    def ask(self, *words):
        with self.server.client() as client:
            return client.ask(*words)

    def tickets(self):
        with self.server.client() as client:
            return len(tickets(client, NAME))

    def waits(self):
        return self.server.calls().get("wait", 0)

    def hold_up(self):
        """No replica has what is written from now on."""
        self.replication.drop()

    def go_on(self):
        self.replication.thaw()
        self.replication.cut()

    def test_a_release_is_answered_when_a_replica_has_it(self):
        held = self.driver.acquire(self.session, NAME)
        self.driver.granted(held)
        self.replication.hold()
        self.driver.say("release", held)
        waiting.eventually("the ticket to go", lambda: self.tickets() == 0)
        self.assertIsNone(self.driver.find(held, "released"))
        self.replication.thaw()
        self.assertEqual(self.driver.await_event(held, "released").words[1],
                         "HF_OK")
        self.driver.end()

    def test_a_release_that_no_replica_has_is_not_vouched_for(self):
        held = self.driver.acquire(self.session, NAME)
        self.driver.granted(held)
        self.hold_up()
        waits = self.waits()
        self.driver.say("release", held)
        # Done here, tried again, and nothing said of it.
        waiting.eventually("the ticket to go", lambda: self.tickets() == 0)
        waiting.eventually("it to be asked for again",
                           lambda: self.waits() >= waits + 2)
        self.assertIsNone(self.driver.find(held, "released"))
        self.go_on()
        self.assertEqual(self.driver.await_event(held, "released").words[1],
                         "HF_ELOST")
        self.driver.end()

    def test_a_renewal_that_no_replica_has_proves_nothing(self):
        held = self.driver.acquire(self.session, NAME)
        self.driver.granted(held)
        self.hold_up()
        from_ms, waits = waiting.now_ms(), self.waits()
        lost = self.driver.await_event(held, "lost")
        self.assertLess(lost.at_ms - from_ms, 12000)
        # It was renewed here all the time.
        self.assertGreaterEqual(self.waits(), waits + 2)

    def test_an_answer_that_is_cut_off_before_wait_is_unsure(self):
        self.hold_up()
        wait = self.driver.acquire(self.session, NAME)
        waiting.eventually("the ticket", lambda: self.tickets() == 1)
        self.assertIsNone(self.driver.find(wait, "granted", "ended"))
        self.ask("CLIENT", "KILL", "TYPE", "normal")
        self.driver.until_state(self.session, "SUSPENDED")
        self.assertIsNone(self.driver.find(wait, "granted", "ended"))
        self.go_on()
        # Found, and no second one made.
        self.driver.granted(wait)
        self.assertEqual(self.tickets(), 1)
        self.driver.end()

    def test_a_primary_that_is_demoted_meanwhile_says_nothing(self):
        """It answers WAIT with an error, and the ticket is there."""
        self.hold_up()
        wait = self.driver.acquire(self.session, NAME)
        waiting.eventually("the ticket", lambda: self.tickets() == 1)
        self.ask("REPLICAOF", "127.0.0.1", "1")
        self.driver.until_state(self.session, "SUSPENDED")
        self.assertIsNone(self.driver.find(wait, "granted", "ended"))
        self.ask("REPLICAOF", "NO", "ONE")
        self.go_on()
        self.driver.granted(wait)
        self.assertEqual(self.tickets(), 1)
        self.driver.end()


class Inputs(unittest.TestCase):
    """Wrong settings: the tool ends with a status and a text without a
    secret."""

    def setUp(self):
        self.server = Server(["appendonly yes", "appendfsync no"])
        self.addCleanup(self.server.close)
        self.server.start()

    def configure(self, *words):
        with self.server.client() as client:
            client.ask(*words)

    def run_with(self, url, wait="60s", **environment):
        return subprocess.run(
            [HOLDFAST, "run", "-w", wait, NAME, "--", "true"],
            env=dict(os.environ, HOLDFAST_URL=url, **environment),
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=waiting.LIMIT_S)

    def refused(self, url, status, *texts, wait=None, **environment):
        """Other statuses than 69 and 75 end a wait at once.  A busy machine
        needs longer to connect than the first of the short waits."""
        waits = ("1500ms", "6s", "25s") if status in (69, 75) else ("60s",)
        for chosen in (wait,) if wait else waits:
            ended = self.run_with(url, chosen, **environment)
            if ended.returncode == status and all(
                    text in ended.stderr for text in texts):
                break
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
                ("redis://[::1]:0", "no valid port"),
                ("redis://h_!", "characters that no host name has"),
                ("redis://" + 256 * "h", "too long for a host"),
                ("redis://" + 300 * "h", "too long for a host"),
                ("redis://%s/x" % address, "the number of the database"),
                ("redis://%s/0?db=1" % address, "both a database"),
                ("redis://%s?ttl=10ms" % address, "not a duration in range"),
                ("redis://%s?ttl=x" % address, "not a duration in range"),
                ("redis://%s?wait=x" % address, "not a number in range"),
                ("redis://%s?layout=x" % address, "expected layout=queue"),
                ("redis://%s?timeout=1s" % address, "does not know"),
                ("redis://user@%s" % address, "not a password"),
                ("redis://:%s@%s" % (512 * "s3cret", address),
                 "at most 511 bytes"),
                ("redis://:s3cret@%s?auth_file=/nowhere" % address,
                 "both a user and auth_file="),
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
        self.refused("redis:/nowhere/redis.sock", 69, "no such socket file")

    def test_too_many_clients_are_waited_out(self):
        self.configure("CONFIG", "SET", "maxclients", "1")
        began = time.monotonic()
        self.refused(self.server.url(), 69, "max number of clients", "within")
        self.assertGreater(time.monotonic() - began, 1)

    def test_what_waiting_does_not_mend_ends_the_wait_at_once(self):
        for url, status, text in (
                ("redis:/dev/null/redis.sock", 64, "not a directory"),
                (self.server.url().replace("//", "//:s3cret@"), 77,
                 "no password")):
            began = time.monotonic()
            with self.subTest(url):
                self.refused(url, status, text, wait="60s")
                self.assertLess(time.monotonic() - began, LATE_S)

    def test_a_policy_that_gives_up_ends_the_wait(self):
        self.refused("redis://127.0.0.1:1?retry=2x100ms", 69,
                     "gave up after 2 retries", "connection refused",
                     wait="60s")
        self.refused(self.server.url(options="?retry=often"), 64,
                     "retry=", "expected forever, never, once")

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
        write("redis://alice:s3cret@%s\nzk://alice:s3cret@h\n" %
              self.server.address())
        self.works(self.server.url(), HOLDFAST_AUTH_FILE=path)
        self.works(self.server.url(options="?auth_file=" + path))
        write("redis://alice:s3cret@%s\n" % self.server.socket)
        self.works("redis:" + self.server.socket, HOLDFAST_AUTH_FILE=path)
        # The default user may do everything here.
        self.assertIn("has no line for " + self.server.address(), self.run_with(
            self.server.url(), HOLDFAST_AUTH_FILE=path).stderr)
        write("redis:alice:s3cret\n")
        self.refused(self.server.url(), 64, "names no server",
                     HOLDFAST_AUTH_FILE=path)
        write("redis:alice:s3cret\n", 0o644)
        self.refused(self.server.url(options="?auth_file=" + path), 77,
                     "open to others")
        for text, fault in [("", "no line"), ("digest:a:s3cret\n", "scheme"),
                            ("redis:alice\n", "without a password"),
                            ("redis:alice:\n", "without a password"),
                            ("redis:alice:s3cret\r\n", "carriage return"),
                            ("redis:a:%s\n" % (512 * "s"), "too long"),
                            ("redis:a:s3cret\nredis:b:s3cret\n", "more than")]:
            write(text)
            with self.subTest(text):
                self.refused(self.server.url(options="?auth_file=" + path), 64,
                             fault)

    RIGHTS = ("~holdfast:*", "&holdfast:*", "+evalsha", "+script|load",
              "+time", "+ping", "+subscribe", "+publish", "+info",
              "+@sortedset", "+@hash", "+get", "+set", "+pttl", "+pexpire",
              "+del")

    def all_rights_but(self, *missing):
        """The URL of a user who has these."""
        self.configure("ACL", "SETUSER", "eve", "reset", "on", ">s3cret",
                       *(r for r in self.RIGHTS if r not in missing))
        return self.server.url().replace("//", "//eve:s3cret@")

    def test_rights(self):
        self.works(self.all_rights_but())
        for missing in ("~holdfast:*", "&holdfast:*", "+evalsha", "+time"):
            with self.subTest(missing):
                self.refused(self.all_rights_but(missing), 77, "NOPERM")
        self.refused(self.all_rights_but("+@hash"), 77,
                     "hdel hexists hget hgetall hset",
                     "holdfast-url(7)")
        self.refused(self.all_rights_but("+publish"), 77, "publish")
        for right in self.RIGHTS:
            if right != "+info":
                with self.subTest(right):
                    self.refused(self.all_rights_but(right), 77, "NOPERM",
                                 wait="60s")
        url = self.all_rights_but() + "?wait=1"
        self.refused(url, 77, "NOPERM", "wait", wait="60s")
        with self.server.client() as client:
            self.assertEqual(client.ask("KEYS", "holdfast:*"), [
                "holdfast:{%s}:last" % NAME])
        ended = self.run_with(self.all_rights_but("+info"))
        self.assertEqual(ended.returncode, 0)
        self.assertIn("does not let us see its INFO", ended.stderr)

    def test_a_server_that_throws_keys_away(self):
        self.configure("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
        self.refused(self.server.url(), 64, "expected maxmemory-policy")

    def test_one_that_forgets(self):
        """Said once, and used all the same."""
        self.configure("CONFIG", "SET", "appendonly", "no")
        ended = self.run_with(self.server.url())
        self.assertEqual(ended.returncode, 0)
        self.assertEqual(ended.stderr.count("expected appendonly yes"), 1)

    def test_a_replica(self):
        self.configure("REPLICAOF", "127.0.0.1", "1")
        self.refused(self.server.url(), 69, "address of its primary")

    def test_no_memory(self):
        self.configure("CONFIG", "SET", "maxmemory", "1")
        self.refused(self.server.url(), 73, "OOM", "see maxmemory")

    def test_what_is_held_is_kept_without_memory(self):
        with ClientDriver(CLIENT_DRIVER) as driver:
            session, = driver.opened(self.server.url(options="?ttl=1s"))
            held = driver.acquire(session, NAME)
            driver.granted(held)
            self.configure("CONFIG", "SET", "maxmemory", "1")
            renewals = commands(self.server)
            waiting.eventually("renewals",
                               lambda: commands(self.server) > renewals + 5)
            self.assertIsNone(driver.find(held, "lost"))
            self.assertEqual(driver.release(held), "HF_OK")

    def test_what_nobody_has_asked_about_is_released_without_memory(self):
        with ClientDriver(CLIENT_DRIVER) as driver:
            session, = driver.opened(self.server.url(options="?ttl=60s"))
            held = driver.acquire(session, NAME)
            driver.granted(held)
            self.configure("CONFIG", "SET", "maxmemory", "1")
            renewals = commands(self.server)
            self.assertEqual(driver.release(held), "HF_OK")
            self.assertLess(commands(self.server), renewals + 5)

    def test_tls(self):
        with Server(["appendonly yes"], tls=True) as server:
            shown = {"cert": "client.pem", "key": "client.key"}
            self.works(server.tls_url(ca="ca.pem", **shown))
            self.refused(server.tls_url(ca="other_ca.pem", **shown), 77, "TLS:",
                         "ca=")
            self.refused(server.tls_url(ca="ca.pem"), 77, "cert=")
            self.refused(server.tls_url(ca="ca.pem", cert="client.pem"), 64,
                         "only one of cert= and key=")
            self.refused("rediss://%s" % server.address(), 69)

    def test_keys_of_something_else(self):
        self.configure("SET", "holdfast:{%s}:queue" % NAME, "mine")
        self.refused(self.server.url(), 64, "WRONGTYPE", "something else")

    def test_keys_of_another_release(self):
        """It says so in the key "last"; nothing of it is changed."""
        last = "holdfast:{%s}:last" % NAME
        self.configure("SET", last, "3 1764000000000000")
        self.refused(self.server.url(), 64, "of another release", last[-4:])
        with self.server.client() as client:
            self.assertEqual(client.ask("GET", last), "3 1764000000000000")
            self.assertEqual(client.ask("KEYS", "*"), [last])
            client.ask("SET", last, "1764000000000000")
        self.works(self.server.url())

    def test_something_else_than_redis(self):
        with other_server(b"220 mail.example\r\n") as port:
            self.refused("redis://127.0.0.1:%d" % port, 69, "not Redis'")

    def test_one_that_is_too_old_or_not_ready(self):
        for info, status, text in (
                ("redis_version:5.0.14\r\nrole:master\r\n", 64,
                 "before 6.0; expected 6.0 or later"),
                ("redis_version:6.0.0\r\nrole:master\r\nloading:1\r\n", 69,
                 "loading")):
            with self.subTest(info), \
                    other_server(answers={b"INFO": bulk(info)}) as port:
                self.refused("redis://127.0.0.1:%d" % port, status, text)

    def test_one_that_answers_something_else(self):
        """A proxy that knows not all of Redis, say: each of our commands."""
        single, unseen = bulk("redis_version:7.0.0\r\n"), b"-NOPERM\r\n"
        cluster = bulk("redis_version:7.0.0\r\ncluster_enabled:1\r\n")
        # Without an answer to SUBSCRIBE no script is called, whose reply what
        # is said unasked could be taken for.
        not_up = {b"SUBSCRIBE": b""}
        for status, text, changed in (
                (69, "INFO gave no text", {b"INFO": b":1\r\n"}),
                (69, "INFO gave no text", {b"INFO": b"$-1\r\n"}),
                (69, "SCRIPT LOAD gave no SHA1", {b"SCRIPT": b"+OK\r\n"}),
                (69, "TIME gave no time", {b"TIME": b"+OK\r\n"}),
                (69, "LOADING", {b"INFO": b"-LOADING it\r\n"}),
                (69, "says unasked: something",
                 {b"TIME": TIME + b"+OK\r\n", **not_up}),
                (69, "says unasked: ",
                 {b"TIME": TIME + b"-ERR bye\r\n", **not_up}),
                (77, "NOPERM", {b"EVALSHA": b"-NOPERM no\r\n"}),
                (75, "READONLY", {b"EVALSHA": b"-READONLY replica\r\n"}),
                (69, "CLUSTER SLOTS gave no slots",
                 {b"INFO": cluster, b"CLUSTER": b"+OK\r\n"}),
                (69, "CLUSTER SLOTS gave no slots",
                 {b"INFO": cluster, b"CLUSTER": b"*1\r\n*1\r\n:0\r\n"}),
                (64, "another node's",
                 {b"INFO": unseen, b"CLUSTER": unseen,
                  b"EVALSHA": b"-MOVED 1 127.0.0.1:7\r\n"})):
            answers = {**ANSWERS, b"INFO": single, **changed}
            with self.subTest(text), other_server(answers=answers) as port:
                self.refused("redis://127.0.0.1:%d" % port, status, text)


class UnknownNodes(unittest.TestCase):
    """A redirect to a server that the cluster does not name gets nothing."""

    HASH_SLOT = 1

    def setUp(self):
        self.unknown = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.unknown.close)
        self.unknown.setblocking(False)
        self.address = "127.0.0.1:%d" % self.unknown.getsockname()[1]

    def nothing_is_received(self):
        with self.assertRaises(BlockingIOError):
            connection, _ = self.unknown.accept()
            waiting.eventually("what is said", lambda: select.select(
                [connection], [], [], 0)[0])
            self.fail("the unknown node received %r" % connection.recv(40))

    def run_at(self, redirect, nodes):
        """Against a node that has all slots and redirects all the same."""
        answers = {
            **ANSWERS, b"AUTH": b"+OK\r\n",
            b"INFO": bulk("redis_version:7.0.0\r\ncluster_enabled:1\r\n"),
            b"NODES": nodes, b"EVALSHA": redirect.encode() + b"\r\n"}
        with other_server(answers=answers) as port:
            answers[b"SLOTS"] = (b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" +
                                 bulk("127.0.0.1") + b":%d\r\n" % port)
            return subprocess.run(
                [HOLDFAST, "run", "-w", "2s", NAME, "--", "true"],
                env=dict(os.environ, HOLDFAST_URL=(
                    "redis://:s3cret@127.0.0.1:%d" % port)),
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=waiting.LIMIT_S)

    def test_they_get_no_credentials(self):
        others = bulk("abc 127.0.0.1:1@2 myself,master - 0 0 1 connected "
                      "0-16383\n")
        for kind in ("MOVED", "ASK"):
            for nodes, text in (
                    (others, "is not in its CLUSTER NODES"),
                    (b"-NOPERM no\r\n", "may +cluster|nodes"),
                    (b":1\r\n", "may be no node")):
                with self.subTest(kind=kind, text=text):
                    ended = self.run_at("-%s %d %s" % (
                        kind, self.HASH_SLOT, self.address), nodes)
                    self.nothing_is_received()
                    self.assertEqual((ended.returncode, ended.stdout),
                                     (75, ""), ended.stderr)
                    self.assertIn(text, ended.stderr)
                    self.assertIn(self.address, ended.stderr)
                    self.assertNotIn("s3cret", ended.stderr)


class Circle(socketserver.BaseRequestHandler):
    """In front of a real server, whose SCAN never comes to its end: what it
    answers goes on at one of .server.cursors, in turn."""

    END = b"*2\r\n$1\r\n0\r\n*"

    def handle(self):
        with socket.create_connection(("127.0.0.1",
                                       self.server.target)) as real:
            threading.Thread(target=self.pass_on, args=[real],
                             daemon=True).start()
            try:
                while data := real.recv(1 << 16):
                    while self.END in data:
                        at = self.server.scans % len(self.server.cursors)
                        self.server.scans += 1
                        data = data.replace(self.END, b"*2\r\n" + bulk(
                            self.server.cursors[at]) + b"*", 1)
                    self.request.sendall(data)
            except OSError:
                pass

    def pass_on(self, real):
        try:
            while data := self.request.recv(1 << 16):
                real.sendall(data)
            real.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Endless(unittest.TestCase):
    def test_a_scan_that_never_ends(self):
        """Counted in pages, and for every command that walks over names."""
        with Server() as server, socketserver.ThreadingTCPServer(
                ("127.0.0.1", 0), Circle) as circle:
            circle.daemon_threads = True
            circle.target = server.port
            threading.Thread(target=circle.serve_forever, daemon=True).start()
            self.addCleanup(circle.shutdown)
            url = "redis://127.0.0.1:%d" % circle.server_address[1]
            with subprocess.Popen(
                    [HOLDFAST, "run", "-c", url, NAME, "--", "sh", "-c",
                     "echo held; exec cat >/dev/null"], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True) as holder:
                waiting.read_line(holder, "held")
                for cursors in (["7"], ["7", "8", "9"],
                                [str(i) for i in range(1, 100)]):
                    for command in (["ls"], ["metrics"],
                                    ["explain", "--within", "chaos", NAME]):
                        with self.subTest(cursors=len(cursors),
                                          command=command):
                            circle.cursors, circle.scans = cursors, 0
                            done = subprocess.run(
                                [HOLDFAST, *command[:1], "-c", url,
                                 *command[1:]], capture_output=True, text=True,
                                timeout=waiting.LIMIT_S, check=False)
                            self.assertIn("without end", done.stderr)
                            self.assertNotEqual(done.returncode, 0)
                            self.assertLess(circle.scans, 20 * len(cursors)
                                            + 20)
                holder.communicate()


def bulk(text):
    return b"$%d\r\n%s\r\n" % (len(text), text.encode())


TIME = b"*2\r\n" + bulk("1700000000") + bulk("0")
ANSWERS = {b"SCRIPT": bulk(40 * "a"), b"TIME": TIME, b"EVALSHA": b"*0\r\n",
           b"SUBSCRIBE": b"*3\r\n" + bulk("subscribe") + bulk("c") + b":1\r\n",
           b"PING": b"*2\r\n" + bulk("pong") + bulk("")}


class Other(socketserver.BaseRequestHandler):
    """Another server, as far as it comes to that."""

    def handle(self):
        try:
            self.request.sendall(self.server.first_bytes)
            received = b""
            while data := self.request.recv(65536):
                received += data
                for word in received.split(b"\r\n")[:-1]:
                    self.request.sendall(self.server.answers.get(word, b""))
                received = received[received.rfind(b"\n") + 1:]
        except ConnectionError:
            pass


@contextlib.contextmanager
def other_server(first_bytes=b"", answers=None):
    """The port of one that greets, and answers each of these words."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Other) as server:
        server.daemon_threads = True
        server.first_bytes = first_bytes
        server.answers = answers or {}
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    unittest.main(verbosity=2)
