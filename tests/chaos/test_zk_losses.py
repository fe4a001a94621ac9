#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A holder that is frozen, cut off, killed or closed: it is notified of its
loss before another one can be granted the lock, and the next one is granted it
in time.

    test_zk_losses.py HOLDER
"""

import os
import random
import shutil
import sys
import unittest

import zk_holder
import jute
import machine
import waiting
from proxy import DOWN, DROP, UP, Proxy
from zk_holder import Holder, TicketWatcher
from zookeeper import Standalone

TICK_MS = 500
REPEATS = 5 if zk_holder.LONG else 1
# The operation and the length of the path, of which only the low byte differs.
DELETE = (2).to_bytes(4, "big") + bytes(3)
TIMEOUTS_MS = (4000, 6000, 10000) if zk_holder.LONG else (4000,)


class Recorder(Proxy):
    """A proxy of one client that knows the session of its connection."""

    received = b""

    def hand_on(self, connection, way):
        if way.name == DOWN:
            self.received += way.queue[0][1]
        return super().hand_on(connection, way)

    def session(self):
        """Its number and password, from the server's first frame."""
        reader = jute.Reader(self.received[4:])
        reader.int()  # the protocol's version
        reader.int()  # the timeout
        return reader.long(), reader.buffer()

    def holds_a_delete(self):
        return any(DELETE in data for connection in list(self.connections)
                   for way in connection.ways.values() if way.name == UP
                   for _, data in way.queue)


class Losses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print("HF_SEED=%d replays the choices" % zk_holder.SEED)
        cls.chance = random.Random(zk_holder.SEED)
        cls.server = Standalone(tick_ms=TICK_MS)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.directory = machine.directory("losses", on_disk=True)
        self.things = []

    def tearDown(self):
        self.clear()
        shutil.rmtree(self.directory)

    def clear(self):
        while self.things:
            self.things.pop().close()

    def keep(self, thing):
        self.things.append(thing)
        return thing

    def holder(self, name, timeout_ms, address=None):
        return self.keep(Holder(
            HOLDER, "zk://%s?timeout=%dms" % (
                address or self.server.address(), timeout_ms),
            name, os.path.join(self.directory, "store." + name)))

    def pair(self, name, timeout_ms):
        """A holder and the next one in line."""
        first = self.holder(name, timeout_ms)
        first.granted()
        second = self.holder(name, timeout_ms)
        with self.server.client() as client:
            waiting.eventually("the second to queue",
                               lambda: len(client.children("/" + name)) == 2,
                               of=[first, second])
        return first, second

    def each_repeat(self, what):
        for timeout_ms in TIMEOUTS_MS:
            for number in range(REPEATS):
                with self.subTest(timeout_ms=timeout_ms, repeat=number):
                    self.clear()
                    what("%d.%d" % (timeout_ms, number), timeout_ms)

    # ---- frozen

    def test_fn01_a_frozen_holder_learns_it_before_anything_else(self):
        self.each_repeat(self.freeze)

    def freeze(self, mark, timeout_ms):
        words = ("check", "release", "another")
        pairs = {word: self.pair("%s.%s" % (word, mark), timeout_ms)
                 for word in words}
        for first, _ in pairs.values():
            first.freeze()
        for word, (first, second) in pairs.items():
            token = second.granted()[1]
            self.assertGreater(token, first.granted()[1])
            second.say("write")
            second.wait("stored")
            # The write that it was about to make when it was frozen, and then
            # its first call of the library.
            first.say("write", word)
            first.thaw()
            self.assertEqual(first.wait("refused")[2], [str(token)])
            done = first.wait("done")[2]
            self.assertEqual(
                done, {"check": ["HF_ELOST", "0", "1"],
                       "release": ["HF_ELOST", "0", "0"],
                       "another": ["HF_OK", "0", "1"]}[word], first.lines)
            if word != "release":  # after a release there are no more events
                first.notified_at()

    # ---- cut off

    def test_fn16_a_holder_that_is_cut_off_is_notified_in_time(self):
        self.margins = []
        self.each_repeat(self.cut_off)
        zk_holder.summary("LOST told before the session expired, ms",
                          self.margins)

    def cut_off(self, mark, timeout_ms):
        """Several at once, each somewhere else between two proofs."""
        cut = []
        for number, ways in enumerate(((UP,), (DOWN,), (UP, DOWN)) * 3):
            proxy = self.keep(Proxy(self.server.port))
            name = "cut.%s.%d" % (mark, number)
            holder = self.holder(name, timeout_ms,
                                 "127.0.0.1:%d" % proxy.port)
            holder.granted()
            cut.append((holder, self.keep(
                TicketWatcher([self.server], "/" + name))))
            at = waiting.now_ms() + self.chance.uniform(0, timeout_ms / 2)
            proxy.do(lambda p=proxy, w=ways, at=at:
                     p.loop.at(at, lambda: p.change(DROP, w)))
        for holder, watcher in cut:
            gone_at = watcher.gone()
            # The log is a file: what it says may come after what it does.
            expired_at = waiting.eventually(
                "the session's end in the log", lambda:
                zk_holder.expired_at(self.server, watcher.session))
            notified_at = holder.notified_at()
            self.assertLess(notified_at, expired_at, holder.lines)
            self.assertLess(holder.safe_until(),
                            expired_at + zk_holder.ROUNDING_MS, holder.lines)
            self.assertLess(notified_at, gone_at, holder.lines)
            self.margins.append(expired_at - notified_at)

    # ---- granted less

    def test_a_resume_that_grants_less_shortens_safe_until(self):
        self.margins = []
        for number in range(REPEATS):
            with self.subTest(repeat=number):
                self.clear()
                self.grant_less("less.%d" % number)
        zk_holder.summary("LOST told before the ticket went, ms", self.margins)

    def grant_less(self, name, before_ms=15000, after_ms=4000):
        """The server is restarted with a lower maxSessionTimeout, takes the
        session up again for that, and then the holder is cut off."""
        server = self.keep(Standalone(tick_ms=TICK_MS))
        proxy = self.keep(Proxy(server.port))
        holder = self.holder(name, before_ms, "127.0.0.1:%d" % proxy.port)
        holder.granted()
        server.config["maxSessionTimeout"] = after_ms
        server.restart()
        holder.wait("state", 3)  # CONNECTED, SUSPENDED, CONNECTED
        proxy.drop(UP, DOWN)
        watcher = self.keep(TicketWatcher([server], "/" + name))
        gone_at = watcher.gone()
        notified_at = holder.notified_at()
        last = [int(until) for _, _, (until,) in holder.all("safe_until")
                if until != "0"][-1]
        self.assertLess(last, gone_at + zk_holder.ROUNDING_MS, holder.lines)
        self.assertLess(notified_at, gone_at, holder.lines)
        self.margins.append(gone_at - notified_at)

    # ---- ended

    def test_the_next_one_after_a_kill_and_after_a_close(self):
        self.kills, self.closes = [], []
        self.each_repeat(self.end)
        zk_holder.summary("kill -9 to the next grant, ms", self.kills)
        zk_holder.summary("hf_client_close to the next grant, ms", self.closes)

    def end(self, mark, timeout_ms):
        killed = [self.pair("killed.%s.%d" % (mark, i), timeout_ms)
                  for i in range(5)]
        closed = [self.pair("closed.%s.%d" % (mark, i), timeout_ms)
                  for i in range(5)]
        at = {}
        for first, second in killed:
            at[second] = waiting.now_ms()
            first.process.kill()
        for first, second in closed:
            first.say("close")
            ended_at, _, (status, *_) = first.wait("done")
            self.assertEqual(status, "HF_OK")
            self.closes.append(second.granted()[0] - ended_at)
            self.assertLess(self.closes[-1], timeout_ms / 4)
            self.assertEqual(first.process.wait(waiting.LIMIT_S), 0)
        for _, second in killed:
            self.kills.append(second.granted()[0] - at[second])
            # The server rounds up to its ticks, and this machine is busy.
            self.assertLess(self.kills[-1], timeout_ms + 4 * TICK_MS)

    # ---- ended elsewhere

    def test_a_release_after_the_session_was_ended_elsewhere_says_lost(self):
        """Another connection ends the session of the holder, which gets no
        event of that, and the next one is granted the lock before the
        release."""
        proxy = self.keep(Recorder(self.server.port))
        first = self.holder("elsewhere", 10000, "127.0.0.1:%d" % proxy.port)
        first.granted()
        second = self.holder("elsewhere", 10000)
        with self.server.client() as client:
            waiting.eventually("the second to queue", lambda:
                               len(client.children("/elsewhere")) == 2)
        session, password = proxy.session()
        proxy.hold(UP, DOWN)
        self.server.client(session=session, password=password).close()
        second.granted()
        first.say("release")
        waiting.eventually("the release to be asked for",
                           lambda: proxy.do(proxy.holds_a_delete))
        proxy.thaw(UP, DOWN)
        self.assertEqual(first.wait("done")[2][0], "HF_ELOST")


if __name__ == "__main__":
    HOLDER = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
