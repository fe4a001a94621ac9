#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The retry policy of a URL (retry=), on each engine that has connections:
what ends when the client gives up, what does not, and that the next call
starts again.

    test_giving_up.py CLIENT_DRIVER ENGINE
"""

import contextlib
import os
import sys
import unittest

from client_driver import ClientDriver

import waiting
from proxy import Proxy

CLIENT_DRIVER, ENGINE = os.path.abspath(sys.argv[1]), sys.argv[2]
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
        cls.driver = cls.stack.enter_context(ClientDriver(CLIENT_DRIVER))
        # The servers of a quorum count only some time after their start.
        first, = cls.driver.opened(cls.side.url)
        cls.driver.close(first)

    def tearDown(self):
        self.side.come()

    def assert_gave_up(self, wait, began_ms):
        status, text, at_ms = self.driver.failed(wait)
        self.assertEqual(status, "HF_EUNREACHABLE", text)
        self.assertIn("gave up after 2 retries", text)
        self.assertLess(at_ms - began_ms, SOON_MS)

    def test_a_first_connection_that_cannot_be_made(self):
        self.side.go()
        session = self.driver.open(self.url)
        for _ in range(2):  # each begins with a first try
            began_ms = waiting.now_ms()
            self.assert_gave_up(self.driver.acquire(session, NAME), began_ms)
            # Not the failure that ended the one before: there were pauses.
            self.assertGreaterEqual(waiting.now_ms() - began_ms, 150)
        self.side.come()
        wait = self.driver.acquire(session, NAME)
        self.driver.granted(wait)
        self.assertEqual(self.driver.release(wait), "HF_OK")
        self.driver.close(session)

    def test_a_connection_that_is_lost(self):
        holder, waiter = self.driver.opened(self.url, self.url)
        held = self.driver.acquire(holder, NAME)
        self.driver.granted(held)
        wait = self.driver.acquire(waiter, NAME)
        self.driver.queued(wait)
        began_ms = waiting.now_ms()
        self.side.go()
        self.assert_gave_up(wait, began_ms)
        # The holder keeps its grant until safe-until; then it is notified as
        # always.
        self.driver.await_event(held, "lost")
        for session in (holder, waiter):
            self.driver.until_state(session, "LOST")
        self.side.come()
        # A release of what was lost is no failure, and a call begins again.
        self.assertEqual(self.driver.release(held), "HF_ELOST")
        again = self.driver.acquire(waiter, NAME)
        self.driver.granted(again)
        self.assertEqual(self.driver.release(again), "HF_OK")
        for session in (holder, waiter):
            self.driver.close(session)

    def test_a_release_begins_again(self):
        session, other = self.driver.opened(
            self.url.replace("=4s", "=30s"), self.side.url)
        held = self.driver.acquire(session, NAME)
        self.driver.granted(held)
        self.side.go()
        self.driver.until_state(session, "SUSPENDED")
        probe = self.driver.acquire(session, "chaos/two")
        self.assert_gave_up(probe, waiting.now_ms())
        self.side.come()
        self.assertIsNone(self.driver.find(held, "lost"))
        self.assertEqual(self.driver.release(held), "HF_OK")
        wait = self.driver.acquire(other, NAME)
        self.driver.granted(wait)
        self.assertEqual(self.driver.release(wait), "HF_OK")
        for each in (session, other):
            self.driver.close(each)


if __name__ == "__main__":
    unittest.main()
