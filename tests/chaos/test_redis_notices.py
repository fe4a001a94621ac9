#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The next call of any client removes a ticket that has expired, and notifies
those that waited for it.  A waiter that gets no notice asks for the ticket
after some time, which would hide that there was none.  So these tests check
that the waiter did not have to ask, and that it does with mutations of the
script that notify nobody.

    test_redis_notices.py HOLDFAST
"""

import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402
from redis_server import Server, tickets  # noqa: E402
from script_mutant import Mutant  # noqa: E402

HOLDFAST = os.path.abspath(sys.argv.pop(1))

# No lease ends during the test; a waiter asks every five seconds.
OPTIONS = "?ttl=60s"

# The options of the holder, those of the waiter, and the queue of the holder's
# ticket.
KINDS = {"mutex": ((), (), ""), "reader": (("--write",), ("--read",), ""),
         "semaphore": (("--permits", "1/1"), ("--permits", "1/1"), "/leases")}

# How a waiter asks when no notice comes: whether the ticket is there; and if it
# watches the queue, what is there, without a watch and not in detail.
IS_POLL = re.compile(r'"exists"|"list" "[^"]*" "[^"]*" "0" "0" "0" ""')

# The kinds of waiters that such a mutation does not notify.
MUTANTS = {"REDIS_PURGE_NOTIFIES_NO_WAITER": ("mutex", "reader"),
           "REDIS_PURGE_NOTIFIES_NO_WATCHER": ("semaphore",)}


class Monitor:
    """The commands that a server runs, as its MONITOR prints them."""

    def __init__(self, server):
        self.client = server.client()
        assert self.client.ask("MONITOR") == "OK"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def until(self, pattern):
        """The lines up to the one that matches."""
        lines = []
        while not lines or not re.search(pattern, lines[-1]):
            lines.append(self.client.read())
        return lines


class Notices(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.server.start()
        self.control = self.server.client()
        self.addCleanup(self.control.close)

    def command(self, port, how, name, *words):
        process = machine.popen(
            [HOLDFAST, "run", "-q", "-c",
             "redis://127.0.0.1:%d%s" % (port, OPTIONS), *how, name, "--",
             *words], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        return process

    def one_waits(self, port, kind, name):
        """One process that holds it, and one that waits and is done with what
        it asks for at first: the ticket of the one, and the other."""
        holds, waits, where = KINDS[kind]
        self.command(port, holds, name, "cat")
        held, = waiting.eventually("the holder", lambda: tickets(
            self.control, name + where))
        with Monitor(self.server) as monitor:
            waiter = self.command(port, waits, name, "true")
            monitor.until('"enqueue"')
            monitor.until('"exists"|"list"')
        return held, waiter

    def questions(self, port, kind):
        """How often the waiter asks on its own, from when the ticket has run
        out until the lock is granted."""
        name = self.id() + "/" + kind
        held, waiter = self.one_waits(port, kind, name)
        with Monitor(self.server) as monitor:
            self.control.ask("ZADD", "holdfast:{%s%s}:until" % (
                name, KINDS[kind][2]), 0, held)
            subprocess.run(
                [HOLDFAST, "show", "-c", "redis://127.0.0.1:%d" % port, name],
                stdout=subprocess.DEVNULL, check=True)
            self.assertEqual(waiter.wait(waiting.LIMIT_S), 0)
            self.control.ask("ECHO", "the end")
            return sum(IS_POLL.search(line) is not None
                       for line in monitor.until('"ECHO" "the end"'))

    def test_a_purge_notifies_waiters(self):
        for kind in KINDS:
            with self.subTest(kind):
                self.assertEqual(self.questions(self.server.port, kind), 0)

    def test_a_purge_that_notifies_nobody_is_found(self):
        for name, kinds in MUTANTS.items():
            for kind in kinds:
                with self.subTest(name, kind=kind), \
                        Mutant(self.server.port, name) as mutant:
                    self.assertGreater(self.questions(mutant.port, kind), 0)
                    self.assertGreater(mutant.changed, 0)


if __name__ == "__main__":
    unittest.main()
