#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The redis engine on three independent servers, of which a minority is
killed, frozen, cut off or loses its data.

    test_quorum.py CLIENT_DRIVER CONTENDER HOLDFAST SET_CLOCK
"""

import os
import random
import shutil
import subprocess
import sys
import time
import unittest

from client_driver import LONG, ClientDriver

import machine
import waiting
from proxy import Proxy
from redis_server import Several
from script_mutant import Mutant

CLIENT_DRIVER, CONTENDER, HOLDFAST, SET_CLOCK = (
    os.path.abspath(path) for path in sys.argv[1:5])
del sys.argv[1:5]

NAME = "chaos/one"
TTL_MS = 1500
REJOIN_MS = 1500
# How long a server that has just started does not count, at most.
AWAY_MS = REJOIN_MS + 1100
OPTIONS = "?ttl=%dms&rejoin=%dms" % (TTL_MS, REJOIN_MS)
# What a machine that is busy with other tests may add to anything.
SLACK_MS = 1500


def wait_ms(ms):
    """Wait until ms milliseconds have passed."""
    until = waiting.now_ms() + ms
    waiting.eventually("%d ms to pass" % ms, lambda: waiting.now_ms() >= until)


class Quorum(unittest.TestCase):
    def make(self):
        return Several(3)

    def setUp(self):
        self.several = self.make()
        self.addCleanup(self.several.close)
        self.several.__enter__()
        self.servers = self.several.servers
        self.url = self.several.url(OPTIONS)

    def driver(self):
        driver = ClientDriver(CLIENT_DRIVER)
        self.addCleanup(driver.kill)
        return driver

    def holder(self):
        """Of a process of its own: it, the wait and the token."""
        driver = self.driver()
        session, = driver.opened(self.url)
        held = driver.acquire(session, NAME)
        return driver, held, int(driver.granted(held).words[1])


class Contention(Quorum):
    def test_fn14_contenders_at_one_instant_get_it_each_time(self):
        """On servers that refuse instead of queueing, three contenders could
        get one server each, and none a majority, again and again."""
        drivers = [self.driver() for _ in range(3)]
        sessions = [driver.opened(self.url)[0] for driver in drivers]
        self.assertTrue([line for line in drivers[0].logs(0)
                         if "was started not long ago" in line])
        took = []
        last = 0
        for _ in range(100):
            asked_ms = waiting.now_ms()
            waits = [driver.acquire(session, NAME)
                     for driver, session in zip(drivers, sessions)]
            left = list(range(3))
            while left:
                first = self.first(drivers, waits, left)
                granted = drivers[first].granted(waits[first])
                if len(left) == 3:
                    took.append(granted.at_ms - asked_ms)
                self.assertGreater(int(granted.words[1]), last)
                last = int(granted.words[1])
                self.assertEqual(drivers[first].release(waits[first]), "HF_OK")
                left.remove(first)
        print("the first of three is granted after %d ms, at the most %d" % (
            sorted(took)[50], max(took)), flush=True)
        self.assertLess(sorted(took)[50], 250)
        self.assertLess(max(took), TTL_MS)
        for driver in drivers:
            driver.end()

    @staticmethod
    def first(drivers, waits, left):
        """The one that is granted the lock; it must be the only one."""
        def granted():
            return [i for i in left if drivers[i].find(waits[i], "granted")]
        waiting.eventually("a grant", granted)
        found = granted()
        assert len(found) == 1, found
        return found[0]


class Outages(Quorum):
    def waiter(self):
        driver = self.driver()
        session, = driver.opened(self.url)
        waits = driver.acquire(session, NAME)
        driver.queued(waits)
        return driver, waits

    def test_fn52_one_server_down_from_the_start_and_dying_later(self):
        self.servers[0].kill()
        one, held, token = self.holder()
        two, waits = self.waiter()
        self.assertEqual(one.release(held), "HF_OK")
        self.assertGreater(int(two.granted(waits).words[1]), token)
        # The other way round: one that is there dies while it is held.
        self.servers[0].start()
        wait_ms(AWAY_MS)
        self.servers[1].kill()
        again = one.acquire(0, NAME)
        one.queued(again)
        wait_ms(TTL_MS)
        self.assertIsNone(two.find(waits, "lost"))
        self.assertIsNone(one.find(again, "granted"))
        self.assertEqual(two.release(waits), "HF_OK")
        one.granted(again)
        # And then one more, which is one too many.
        killed_ms = waiting.now_ms()
        self.servers[2].kill()
        lost = one.await_event(again, "lost")
        self.assertLess(lost.at_ms, killed_ms + TTL_MS + SLACK_MS / 3)
        one.end()
        two.end()

    def test_a_frozen_server_does_not_hold_up_a_handoff(self):
        one, held, _ = self.holder()
        two, waits = self.waiter()
        self.servers[2].freeze()
        self.addCleanup(self.servers[2].thaw)
        released_ms = waiting.now_ms()
        self.assertEqual(one.release(held), "HF_OK")
        self.assertLess(two.granted(waits).at_ms, released_ms + SLACK_MS)
        self.servers[2].thaw()
        one.end()
        two.end()

    def test_a_frozen_server_does_not_keep_a_newcomer_out(self):
        """Only a timer ends the wait for its answer, and a borrowed loop has
        no timers but the library's descriptor."""
        one, held, _ = self.holder()
        self.assertEqual(one.release(held), "HF_OK")
        self.servers[2].freeze()
        self.addCleanup(self.servers[2].thaw)
        self.holder()

    def test_servers_that_forget_in_turn_let_nobody_in(self):
        """All three have the holder's ticket.  Each forgets everything, one
        after the other, and its answers alone do not grant another client the
        lock."""
        one, held, _ = self.holder()
        two = None
        for server in self.servers:
            server.kill()
            server.start()
            if two is None:
                two, waits = self.waiter()
            wait_ms(AWAY_MS)
        self.assertIsNone(two.find(waits, "granted"))
        self.assertIsNone(one.find(held, "lost"))
        self.assertEqual(one.release(held), "HF_OK")
        two.granted(waits)
        one.end()
        two.end()


class Limits(Quorum):
    def run_tool(self, *arguments):
        return subprocess.run([HOLDFAST, "run", "-c", self.url, *arguments],
                              capture_output=True, text=True, timeout=90,
                              check=False)

    def test_a_disagreement_is_reported_while_one_server_is_down(self):
        """The text comes from the server that answers first."""
        holder = machine.popen(
            [HOLDFAST, "run", "-c", self.url, "-p", "2/2", "pool", "--",
             "sh", "-c", "echo in; read line"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.communicate)
        waiting.read_line(holder, "in")
        self.servers[0].kill()
        ran = self.run_tool("-p", "1/3", "-w", "60s", "pool", "--", "true")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn('the limits of "pool" differ: 3 here, 2 at a ticket '
                      "ahead", ran.stderr)


class Clocks(Quorum):
    """Each server has its own."""

    def make(self):
        several = Several(3, environment={"LD_PRELOAD": SET_CLOCK})
        self.files = []
        for server in several.servers:
            file = open(os.path.join(server.directory, "clock"), "w")
            self.addCleanup(file.close)
            self.files.append(file)
            server.environment["SET_CLOCK_FILE"] = file.name
        return several

    def set(self, number, seconds):
        """Off by so much from now on, which the server has seen."""
        self.files[number].write(str(seconds))
        self.files[number].flush()
        with self.servers[number].client() as client:
            waiting.eventually("the clock to be set", lambda: abs(
                int(client.ask("TIME")[0]) - time.time() - seconds) < 1000)
            waiting.eventually("the server to look", lambda: (
                self.uptime(client) < 0) == (seconds < 0))

    @staticmethod
    def uptime(client):
        for line in client.ask("INFO", "server").splitlines():
            if line.startswith("uptime_in_seconds:"):
                return int(line.partition(":")[2])
        raise AssertionError("no uptime_in_seconds")

    def tokens(self, url):
        """Of two, one after the other: the first while one of two servers is
        an hour ahead, the second when that one is frozen and a third there."""
        ahead, _, late = self.servers
        self.url = url
        self.set(0, 3600)
        late.freeze()
        self.addCleanup(late.thaw)
        one, held, first = self.holder()
        self.assertEqual(one.release(held), "HF_OK")
        self.assertGreater(first, (time.time() + 3000) * 1000000)
        late.thaw()
        ahead.freeze()
        self.addCleanup(ahead.thaw)
        _, _, second = self.holder()
        return first, second

    def test_servers_that_are_behind_get_the_number(self):
        first, second = self.tokens(self.url)
        self.assertGreater(second, first)

    def test_a_server_that_does_not_get_the_number_is_found(self):
        mutants = [Mutant(server.port, "REDIS_NUMBER_NOT_KEPT")
                   for server in self.servers]
        for mutant in mutants:
            self.addCleanup(mutant.close)
        first, second = self.tokens(self.several.url(
            OPTIONS, ["127.0.0.1:%d" % mutant.port for mutant in mutants]))
        self.assertLess(second, first)
        self.assertTrue(all(mutant.changed for mutant in mutants))

    def test_a_clock_that_was_set_back_hides_no_start(self):
        """uptime_in_seconds is by the wall clock, and below 0 then."""
        for number in range(3):
            self.set(number, -3600)
        driver = self.driver()
        session, = driver.opened(self.url)
        self.assertTrue([line for line in driver.logs(session)
                         if "was started not long ago" in line])


class Increments(unittest.TestCase):
    PROCESSES = 5
    SHARE = 400 if LONG else 40
    FAULTS = 60 if LONG else 3

    def test_nothing_is_lost_while_a_minority_is_away(self):
        seed = int(os.environ.get("HF_SEED", random.randrange(1 << 30)))
        print("HF_SEED=%d replays the choices" % seed, flush=True)
        chance = random.Random(seed)
        state = machine.directory("increments", on_disk=True)
        self.addCleanup(shutil.rmtree, state)
        with Several(3) as several:
            # One of them keeps what it has when it is killed.
            with several.servers[2].client() as client:
                client.ask("CONFIG", "SET", "appendonly", "yes")
                client.ask("CONFIG", "SET", "appendfsync", "always")
            several.servers[2].config += ["appendonly yes",
                                          "appendfsync always"]
            proxies = [Proxy(server.port) for server in several.servers]
            try:
                self.run_all(several, proxies, state, chance)
            finally:
                for proxy in proxies:
                    proxy.close()
        self.check(state)

    def run_all(self, several, proxies, state, chance):
        url = several.url(OPTIONS, ["127.0.0.1:%d" % proxy.port
                                    for proxy in proxies])
        crew = [machine.popen(
            [CONTENDER, "add", url, "increments", state, str(number),
             str(self.SHARE)], stdin=subprocess.DEVNULL)
                for number in range(self.PROCESSES)]
        try:
            for number in range(self.FAULTS):
                goal = (number + 1) * self.PROCESSES * self.SHARE // (
                    self.FAULTS + 2)
                waiting.eventually("%d increments" % goal, lambda: len(
                    self.lines(state)) >= goal, 120, workers=crew)
                self.disturb(several, proxies, number, chance)
            for one in crew:
                self.assertEqual(one.wait(240), 0)
        finally:
            for one in crew:
                one.kill()
                one.wait()

    @staticmethod
    def disturb(several, proxies, number, chance):
        """One of them, which is itself again after that."""
        which = chance.randrange(3) if number else 2
        if number % 2 == 0:
            several.servers[which].kill()
            wait_ms(chance.randrange(100, 500))
            several.servers[which].start()
            wait_ms(AWAY_MS)
        else:
            proxies[which].hold()
            proxies[which].cut()
            proxies[which].refuse()
            wait_ms(chance.randrange(200, 1000))
            proxies[which].refuse(False)
            proxies[which].thaw()

    @staticmethod
    def lines(state):
        try:
            with open(os.path.join(state, "log")) as log:
                return [line.split() for line in log]
        except FileNotFoundError:
            return []

    def check(self, state):
        """Each number once, and tokens that rise with them."""
        lines = self.lines(state)
        self.assertEqual([int(number) for _, _, number in lines],
                         list(range(1, self.PROCESSES * self.SHARE + 1)))
        tokens = [int(token) for _, token, _ in lines]
        self.assertEqual(tokens, sorted(set(tokens)))


class Urls(unittest.TestCase):
    def refused(self, url):
        run = subprocess.run([HOLDFAST, "run", "-c", url, "a", "--", "true"],
                             stderr=subprocess.PIPE, text=True)
        self.assertNotEqual(run.returncode, 0)
        return run.stderr

    def test_what_is_no_quorum_is_refused(self):
        for url, text in (
                ("quorum:redis://a", "1 servers; expected an odd number"),
                ("quorum:redis://a,redis://b", "2 servers; expected an odd"),
                ("quorum:" + ",".join("redis://h%d" % i for i in range(11)),
                 "more than 9 servers"),
                ("quorum:redis://a,redis://b,redis://a", "one server twice"),
                ("quorum:redis://a,redis://b,zk://c", "another scheme"),
                ("quorum:redis://a,redis://u:b,geheim:c@d,redis://e",
                 "has no valid port"),
                ("quorum:redis://a,geheim:c@d,redis://e",
                 "',' as %2C"),
                ("quorum:redis://a,redis://u:b?geheim=c@d,redis://e",
                 "'?' as %3F"),
                ("quorum:redis://a,redis://b,rediss://c", "of rediss:"),
                ("quorum:redis://a,redis://b,c", "server 3 of quorum:"),
                ("quorum:redis://a,redis://b,redis://c:x", "no valid port"),
                ("quorum:redis://a,redis://b,redis://c?ttl=2m",
                 "is longer than the 60000 ms"),
                ("quorum:redis://a,redis://b,redis://c?rejoin=soon",
                 "not a duration in range"),
                ("quorum:redis://a,redis://b,redis://%41%zz", "server 3"),
                ("quorum:redis://a,redis://b,redis://c?wait=1",
                 'option "wait"')):
            said = self.refused(url)
            self.assertIn(text, said, url)
            self.assertNotIn("geheim", said)


if __name__ == "__main__":
    unittest.main()
