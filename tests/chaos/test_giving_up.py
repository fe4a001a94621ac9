#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The policy of reconnecting, retry= of a URL, on each engine that has
connections: what ends when it gives up, what does not, and that the next call
begins again.

    test_giving_up.py CROWD ENGINE
"""

import contextlib
import os
import sys
import unittest

from crowd import Crowd

import waiting
from proxy import Proxy

CROWD, ENGINE = os.path.abspath(sys.argv[1]), sys.argv[2]
del sys.argv[1:3]

NAME = "chaos/one"
RETRY = "retry=2x100ms"
# Three tries and two pauses, on a busy machine: far below connect_ms.
SOON_MS = 12000


def with_option(url, option):
    return url + ("&" if "?" in url else "?") + option


class Side:
    """A server, or three, behind proxies."""

    def __init__(self, stack):
        self.proxies = []
        self.url = getattr(self, ENGINE)(stack)

    def through(self, stack, port):
        """The port of a new proxy."""
        self.proxies.append(stack.enter_context(Proxy(port)))
        return self.proxies[-1].port

    def zookeeper(self, stack):
        from zookeeper import Standalone
        server = stack.enter_context(contextlib.closing(Standalone()))
        return "zk://127.0.0.1:%d?timeout=4s" % self.through(
            stack, server.port)

    def redis(self, stack):
        from redis_server import Server
        server = stack.enter_context(Server(["appendonly yes"]))
        return "redis://127.0.0.1:%d?ttl=4s" % self.through(stack, server.port)

    def quorum(self, stack):
        from redis_server import Server
        urls = ["redis://127.0.0.1:%d" % self.through(
            stack, stack.enter_context(Server()).port) for _ in range(3)]
        return "quorum:%s?ttl=1s&rejoin=1s" % ",".join(urls)

    def postgres(self, stack):
        import postgres
        server = stack.enter_context(contextlib.closing(postgres.Server()))
        url = server.tcp_url()
        port = self.through(stack, server.port)
        return with_option(url.replace(":%d/" % server.port, ":%d/" % port),
                           "ttl=4s")

    def go(self):
        for proxy in self.proxies:
            proxy.refuse()
            proxy.cut()

    def come(self):
        for proxy in self.proxies:
            proxy.refuse(False)


class GivingUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.side = Side(cls.stack)
        cls.url = with_option(cls.side.url, RETRY)
        cls.crowd = cls.stack.enter_context(Crowd(CROWD))
        # The servers of a quorum count only some time after their start.
        first, = cls.crowd.opened(cls.side.url)
        cls.crowd.close(first)

    def tearDown(self):
        self.side.come()

    def assert_gave_up(self, wait, began_ms):
        status, text, at_ms = self.crowd.failed(wait)
        self.assertEqual(status, "HF_EUNREACHABLE", text)
        self.assertIn("gave up after 2 retries", text)
        self.assertLess(at_ms - began_ms, SOON_MS)

    def test_a_first_connection_that_cannot_be_made(self):
        self.side.go()
        session = self.crowd.open(self.url)
        for _ in range(2):  # each begins with a first try
            began_ms = waiting.now_ms()
            self.assert_gave_up(self.crowd.acquire(session, NAME), began_ms)
            # Not the failure that ended the one before: there were pauses.
            self.assertGreaterEqual(waiting.now_ms() - began_ms, 150)
        self.side.come()
        wait = self.crowd.acquire(session, NAME)
        self.crowd.granted(wait)
        self.assertEqual(self.crowd.release(wait), "HF_OK")
        self.crowd.close(session)

    def test_a_connection_that_is_lost(self):
        holder, waiter = self.crowd.opened(self.url, self.url)
        held = self.crowd.acquire(holder, NAME)
        self.crowd.granted(held)
        waiting = self.crowd.acquire(waiter, NAME)
        self.crowd.queued(waiting)
        began_ms = waiting.now_ms()
        self.side.go()
        self.assert_gave_up(waiting, began_ms)
        # Who holds keeps its grant until safe-until, which is told as ever.
        self.crowd.told(held, "lost")
        for session in (holder, waiter):
            self.crowd.until_state(session, "LOST")
        self.side.come()
        # A release of what was lost is no failure, and a call begins again.
        self.assertEqual(self.crowd.release(held), "HF_ELOST")
        again = self.crowd.acquire(waiter, NAME)
        self.crowd.granted(again)
        self.assertEqual(self.crowd.release(again), "HF_OK")
        for session in (holder, waiter):
            self.crowd.close(session)

    def test_a_release_begins_again(self):
        session, other = self.crowd.opened(
            self.url.replace("=4s", "=30s"), self.side.url)
        held = self.crowd.acquire(session, NAME)
        self.crowd.granted(held)
        self.side.go()
        self.crowd.until_state(session, "SUSPENDED")
        probe = self.crowd.acquire(session, "chaos/two")
        self.assert_gave_up(probe, waiting.now_ms())
        self.side.come()
        self.assertIsNone(self.crowd.find(held, "lost"))
        self.assertEqual(self.crowd.release(held), "HF_OK")
        wait = self.crowd.acquire(other, NAME)
        self.crowd.granted(wait)
        self.assertEqual(self.crowd.release(wait), "HF_OK")
        for each in (session, other):
            self.crowd.close(each)


if __name__ == "__main__":
    unittest.main()
