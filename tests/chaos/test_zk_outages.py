#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Servers that freeze, restart, are replaced, go one by one, say nothing or
lose their names: clients recover or say why, and no wait is forgotten.

    test_zk_outages.py CLIENT_DRIVER HOLDFAST CLASS
"""

import os
import random
import shutil
import socket
import sys
import unittest

import client_driver
from client_driver import ClientDriver

import machine
import waiting
from ensemble import Ensemble
from proxy import Proxy
from zookeeper import Standalone

CLIENT_DRIVER = os.path.abspath(sys.argv.pop(1))
HOLDFAST = os.path.abspath(sys.argv.pop(1))
REPEATS = 8 if client_driver.LONG else 1
SEED = int(os.environ.get("HF_SEED", random.randrange(1 << 32)))
NAME = "outages/one-of-them"
PATH = "/" + NAME

# How much later than promised something may come, which is what a machine with
# much to do takes away, and the time that a Java needs to come up.
LATE_S = 20


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print("HF_SEED=%d replays the choices" % SEED, file=sys.stderr)
        cls.random = random.Random(SEED)

    def setUp(self):
        self.driver = None

    def begin(self, **environment):
        self.driver = ClientDriver(CLIENT_DRIVER, **environment)
        self.addCleanup(self.driver.kill)

    def url(self, timeout_ms, *addresses):
        return "zk://%s?timeout=%dms" % (",".join(addresses), timeout_ms)

    # ---- a lock with a holder and waiters

    def contend(self, url, sessions=3):
        """A holder, and in each of sessions other ones three waits: one
        without a limit, one of an hour, and one of half a second."""
        holder, *others = self.driver.opened(*[url] * (sessions + 1))
        self.held = self.driver.acquire(holder, NAME)
        self.driver.granted(self.held)
        self.waits, self.hasty = [], []
        for other in others:
            for wait_ms, kept in ((-1, self.waits), (3600000, self.waits),
                                  (500, self.hasty)):
                wait = self.driver.acquire(other, NAME, wait_ms, "pass")
                self.driver.queued(wait)
                kept.append(wait)
        self.hasty_since_ms = waiting.now_ms()
        self.holder, self.others = holder, others

    def hasty_give_up(self):
        """The waits of half a second end at their deadline, whatever the
        server does, and with a text."""
        for wait in self.hasty:
            status, text, at_ms = self.driver.failed(wait)
            self.assertEqual(status, "HF_ETIMEDOUT", text)
            self.assertGreater(len(text), 20)
            self.assertLess(at_ms, self.hasty_since_ms + 500 + LATE_S * 1000)

    def everybody_is_granted(self):
        """The other waits are granted in the end."""
        for wait in self.waits:
            self.driver.granted(wait, LATE_S)
            self.assertEqual(self.driver.await_event(wait, "released").words[1],
                             "HF_OK")

    def nothing_is_left(self, server):
        with server.client() as client:
            waiting.eventually("the queue to be empty",
                               lambda: not client.children(PATH))
        self.driver.end()

    def the_holder_kept_it(self):
        self.assertFalse(self.driver.find(self.held, "lost"))
        self.assertEqual(self.driver.release(self.held), "HF_OK")

    def the_holder_lost_it(self):
        self.driver.await_event(self.held, "lost")
        self.assertEqual(self.driver.release(self.held), "HF_ELOST")


class OneServer(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Standalone()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def tearDown(self):
        self.server.thaw()

    def test_frozen_for_less_than_the_session(self):
        for _ in range(REPEATS):
            self.begin()
            self.contend(self.url(9000, self.server.address()))
            self.server.freeze()
            self.driver.until_state(self.holder, "SUSPENDED", LATE_S)
            self.server.thaw()
            for session in [self.holder, *self.others]:
                self.driver.until_state(session, "CONNECTED", LATE_S)
                self.assertNotIn("LOST", self.driver.states(session))
            self.hasty_give_up()
            self.the_holder_kept_it()
            self.everybody_is_granted()
            self.nothing_is_left(self.server)

    def test_frozen_for_longer_than_the_session(self):
        for _ in range(REPEATS):
            self.begin()
            self.contend(self.url(2000, self.server.address()))
            self.server.freeze()
            self.the_holder_lost_it()
            for session in [self.holder, *self.others]:
                self.driver.until("a session to be lost", lambda:
                                 self.driver.count_states(session, "LOST") > 0)
            self.hasty_give_up()
            self.server.thaw()
            self.everybody_is_granted()
            self.nothing_is_left(self.server)

    def test_restarted(self):
        for _ in range(REPEATS):
            self.begin()
            self.contend(self.url(40000, self.server.address()))
            self.server.restart()
            for session in [self.holder, *self.others]:
                self.driver.until_state(session, "CONNECTED", LATE_S)
                self.assertIn("SUSPENDED", self.driver.states(session))
                self.assertNotIn("LOST", self.driver.states(session))
            self.hasty_give_up()
            self.the_holder_kept_it()
            self.everybody_is_granted()
            self.nothing_is_left(self.server)

    def test_replaced_by_an_empty_one(self):
        with Standalone() as another, Proxy(self.server.port) as proxy:
            self.begin()
            timeout_ms = 4000
            self.contend(self.url(timeout_ms, "127.0.0.1:%d" % proxy.port))
            # The new one has seen less than these clients: it sends them away
            # without a word, and they have to find out that all is gone.
            proxy.do(lambda: setattr(proxy, "target", another.port))
            proxy.cut()
            self.driver.await_event(self.held, "lost",
                                    seconds=timeout_ms / 1000 + LATE_S)
            self.assertEqual(self.driver.release(self.held), "HF_ELOST")
            self.hasty_give_up()
            self.everybody_is_granted()
            self.nothing_is_left(another)

    def test_killed_for_good(self):
        """A wait with a deadline ends then; the others end when the client is
        closed."""
        server = Standalone()
        self.addCleanup(server.close)
        self.begin()
        self.contend(self.url(2000, server.address()))
        server.kill()
        self.the_holder_lost_it()
        self.hasty_give_up()
        late = self.driver.acquire(self.others[0], NAME, 1000)
        status, text, _ = self.driver.failed(late)
        self.assertEqual(status, "HF_ETIMEDOUT")
        self.assertIn(server.address(), text)
        self.assertIn("refused", text)
        tried = self.driver.acquire(self.others[0], NAME, 0)
        status, text, _ = self.driver.failed(tried, 15 + LATE_S)
        self.assertEqual(status, "HF_EUNREACHABLE")
        self.assertIn(server.address(), text)
        self.driver.popen.stdin.close()
        for wait in self.waits:
            self.assertEqual(self.driver.failed(wait)[0], "HF_ECLOSED")
        self.assertEqual(self.driver.popen.wait(waiting.LIMIT_S), 0)


class Lists(Case):
    """Several servers in the URL, few of them alive."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Standalone()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def dead_servers(self):
        """The ports of three servers: one refuses connections, one accepts
        them and answers nothing, and one has a full queue of connections."""
        refuses = machine.Port()
        self.addCleanup(refuses.close)
        silent = Proxy(self.server.port)
        self.addCleanup(silent.close)
        silent.hold()
        full = socket.socket()
        self.addCleanup(full.close)
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            filler = socket.socket()
            self.addCleanup(filler.close)
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        return refuses.number, silent.port, full.getsockname()[1]

    def test_dead_servers_first(self):
        dead = ["127.0.0.1:%d" % port for port in self.dead_servers()]
        self.begin()
        url = self.url(4000, *dead, self.server.address())
        # The order is each client's own: some have the dead ones in front.
        sessions = [self.driver.open(url) for _ in range(12)]
        for session in sessions:
            self.driver.until_state(session, "CONNECTED", 4 + LATE_S)
        waits = [self.driver.acquire(session, NAME, how="pass")
                 for session in sessions]
        for wait in waits:
            self.driver.granted(wait, LATE_S)
        # And again, when the connections have gone.
        with self.server.client() as client:
            self.assertFalse(client.children(PATH))
        self.driver.end()

    def test_none_but_dead_ones(self):
        ports = self.dead_servers()
        self.begin()
        session = self.driver.open(self.url(
            3000, *("127.0.0.1:%d" % port for port in ports)))
        wait = self.driver.acquire(session, NAME, 5000)
        status, text, _ = self.driver.failed(wait, 5 + LATE_S)
        self.assertEqual(status, "HF_EUNREACHABLE")
        self.assertTrue(any("127.0.0.1:%d" % port in text for port in ports),
                        text)
        self.driver.end()

    def test_the_only_one_accepts_and_says_nothing(self):
        _, silent, full = self.dead_servers()
        self.begin()
        for port in (silent, full):
            session = self.driver.open(
                self.url(10000, "127.0.0.1:%d" % port))
            # Less than one attempt takes.
            wait = self.driver.acquire(session, NAME, 1000)
            status, text, _ = self.driver.failed(wait, 1 + LATE_S)
            self.assertEqual(status, "HF_EUNREACHABLE")
            self.assertIn("127.0.0.1:%d" % port, text)
        self.driver.end()


class ThreeServers(Case):
    """An ensemble of three, down to one and back."""

    def test_down_to_one_and_back(self):
        with Ensemble() as ensemble:
            for _ in range(REPEATS):
                self.begin()
                self.contend(self.url(40000, *(
                    m.address() for m in ensemble.servers)))
                down = self.random.sample(ensemble.servers, 2)
                for server in down:
                    server.kill()
                for session in [self.holder, *self.others]:
                    self.driver.until(
                        "a session to be suspended", lambda:
                        "SUSPENDED" in self.driver.states(session), LATE_S)
                self.hasty_give_up()
                late = self.driver.acquire(self.others[0], NAME, 500)
                self.assertEqual(self.driver.failed(late)[0], "HF_ETIMEDOUT")
                for server in down:
                    server.launch()
                ensemble.wait()
                for session in [self.holder, *self.others]:
                    self.driver.until_state(session, "CONNECTED", 2 * LATE_S)
                    self.assertNotIn("LOST", self.driver.states(session))
                self.the_holder_kept_it()
                self.everybody_is_granted()
                self.nothing_is_left(ensemble.leader())


class LongOutage(Case):
    """Two of three servers are down for longer than the sessions.  The leader
    of those that come back keeps the old sessions, and gives each another
    timeout, which is so long here that a test does not wait for it: nobody
    waits for the servers to let a session expire."""

    timeout_ms = 10000

    def setUp(self):
        super().setUp()
        self.ensemble = Ensemble()
        self.addCleanup(self.ensemble.close)

    def go_down(self):
        self.down = self.random.sample(self.ensemble.servers, 2)
        for server in self.down:
            server.kill()

    def come_back(self):
        for server in self.down:
            server.launch()
        self.ensemble.wait()
        self.back_at_ms = waiting.now_ms()

    def nobody_has_waited(self, what):
        print("%s %d ms after the servers were back" % (
            what, waiting.now_ms() - self.back_at_ms), file=sys.stderr)
        self.assertEqual(self.ensemble.expirations(), [])

    def test_waits_for_a_lock(self):
        self.begin()
        self.contend(self.url(self.timeout_ms,
                              *(m.address() for m in self.ensemble.servers)))
        self.go_down()
        self.the_holder_lost_it()
        for session in self.others:
            self.driver.until("a session to be lost", lambda:
                              self.driver.count_states(session, "LOST") > 0)
        self.hasty_give_up()
        self.come_back()
        self.everybody_is_granted()
        self.nobody_has_waited("everybody was granted")
        self.nothing_is_left(self.ensemble.leader())

    def led(self):
        """The processes that have led, in order."""
        with open(self.file) as file:
            return [int(line) for line in file]

    def candidate(self):
        process = machine.Process(
            [HOLDFAST, "elect", "-c", self.url(
                self.timeout_ms, self.ensemble.addresses()), NAME, "--",
             "sh", "-c", "echo $$ >>%s; exec sleep 3600" % self.file])
        self.addCleanup(process.kill)
        return process

    def test_an_election(self):
        directory = machine.directory("election")
        self.addCleanup(shutil.rmtree, directory)
        self.file = os.path.join(directory, "led")
        open(self.file, "w").close()
        candidates = [self.candidate() for _ in range(3)]
        with self.ensemble.client() as client:
            waiting.eventually(
                "three candidates", lambda: client.exists(PATH) and
                len(client.children(PATH)) == 3, of=candidates)
        [first] = waiting.eventually("a leader", self.led, of=candidates)
        self.go_down()
        waiting.eventually("the end of the leader", lambda:
                           not os.path.exists("/proc/%d" % first),
                           of=candidates)
        self.come_back()
        waiting.eventually("another leader", lambda: len(self.led()) > 1,
                           of=candidates)
        self.nobody_has_waited("somebody led")


class Names(Case):
    """A name of the server's, as names.c resolves it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = Standalone()
        cls.proxy = Proxy(cls.server.port)

    @classmethod
    def tearDownClass(cls):
        cls.proxy.close()
        cls.server.close()

    def setUp(self):
        super().setUp()
        directory = machine.directory("names")
        self.addCleanup(shutil.rmtree, directory)
        self.file = os.path.join(directory, "names")
        self.name_is("127.0.0.1")
        self.begin(HF_NAMES=self.file)

    def name_is(self, what):
        with open(self.file + ".new", "w") as file:
            file.write("zk.test %s\n" % what)
        os.replace(self.file + ".new", self.file)

    def cut_until(self, what, condition):
        """Cut the connections again and again, because a name is not looked up
        twice within a second, until condition() is true."""
        def is_true_after_a_cut():
            self.proxy.cut()
            return condition()
        waiting.eventually(what, is_true_after_a_cut, of=[self.driver])

    def here(self):
        return self.url(10000, "zk.test:%d" % self.proxy.port)

    def test_stops_resolving(self):
        self.contend(self.here())
        self.name_is("gone")
        self.cut_until("a word of the name", lambda: [
            log for log in self.driver.logs(self.holder)
            if "zk.test" in log and "last known" in log])
        for session in [self.holder, *self.others]:
            self.driver.until_state(session, "CONNECTED", LATE_S)
            self.assertNotIn("LOST", self.driver.states(session))
        self.hasty_give_up()
        self.the_holder_kept_it()
        self.everybody_is_granted()
        self.nothing_is_left(self.server)

    def test_hangs_while_it_is_looked_up_again(self):
        self.contend(self.here())
        self.name_is("hangs")
        self.cut_until("a lookup that hangs",
                       lambda: os.path.exists(self.file + ".hangs"))
        for session in [self.holder, *self.others]:
            self.driver.until_state(session, "CONNECTED", 10 + LATE_S)
            self.assertNotIn("LOST", self.driver.states(session))
        self.the_holder_kept_it()
        self.everybody_is_granted()
        self.nothing_is_left(self.server)
        self.name_is("gone")

    def test_never_resolves(self):
        self.name_is("gone")
        session = self.driver.open(self.here())
        wait = self.driver.acquire(session, NAME, 1000)
        status, text, _ = self.driver.failed(wait)
        self.assertEqual(status, "HF_EUNREACHABLE")
        self.assertIn("zk.test", text)
        self.assertIn("no address", text)
        self.driver.end()

    def test_one_of_two_never_resolves(self):
        self.name_is("gone")
        # The order is each client's own: some have the name in front.
        sessions = [self.driver.open(self.url(10000, "zk.test:2181",
                                              self.server.address()))
                    for _ in range(12)]
        for session in sessions:
            self.driver.until_state(session, "CONNECTED", LATE_S)
        self.assertTrue(any("zk.test" in log for session in sessions
                            for log in self.driver.logs(session)))
        self.driver.end()

    def test_lookups_without_answer_hold_nobody_up(self):
        self.name_is("hangs")
        session = self.driver.open(self.here())
        wait = self.driver.acquire(session, NAME, 1000)
        status, text, _ = self.driver.failed(wait)
        self.assertEqual(status, "HF_EUNREACHABLE")
        self.assertIn("zk.test", text)
        self.driver.end()

    def test_begins_to_resolve(self):
        self.name_is("gone")
        session = self.driver.open(self.here())
        wait = self.driver.acquire(session, NAME, how="pass")
        self.driver.until("a word of the name", lambda: [
            log for log in self.driver.logs(session) if "zk.test" in log])
        self.name_is("127.0.0.1")
        self.driver.granted(wait, LATE_S)
        self.driver.end()


if __name__ == "__main__":
    unittest.main()
