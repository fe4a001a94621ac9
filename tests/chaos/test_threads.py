#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Threads of one process that contend for a lock, alone and with another
process: what a handoff costs the server, and what stays after many.

    test_threads.py THREADS

10,000 contended cycles, or 100,000 with HF_LONG=1.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import unittest

import client_driver

import machine
import waiting
from zookeeper import Standalone

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
CYCLES = 100000 if client_driver.LONG else 10000
GRANTS = 20000 if client_driver.LONG else 5000
# For one run of all grants.
LIMIT_S = 600
# One byte lost in a cycle, or one block in a thousand, would be more.
SPARE_BLOCKS = 4
SPARE_BYTES = 4096
# How often a client may make something late, and how long all takes to end.
ATTEMPTS = 3
RETURN_S = 20
# On one ticket: the first grant, and sixteen it is handed on to.
GRANTS_PER_TICKET = 17


class Threads:
    """A process of threads.c.  As a context manager it checks that the program
    ends without error."""

    def __init__(self, url, name, threads, how="mutex"):
        self.process = machine.Process(
            [PROGRAM, url, name, str(threads), how],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.popen = self.process.popen

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.popen.stdin.close()
                status = self.popen.wait(waiting.LIMIT_S)
                assert status == 0, waiting.end_of(self)
        finally:
            self.process.kill()
            self.popen.stdout.close()

    def say(self, line):
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()

    def expect(self, word):
        line = waiting.read_line(self, seconds=LIMIT_S).split()
        assert line and line[0] == word, "expected %s, not %s" % (word, line)
        return [int(number) for number in line[1:]]

    def heap(self):
        self.say("heap")
        return self.expect("heap")

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))


def run_all(grants, *processes):
    """Run all at once.  Of each: the number of tickets, and the most grants in
    a row."""
    for process in processes:
        process.say("run %d" % grants)
    return [process.expect("ran") for process in processes]


class Cost(unittest.TestCase):
    """On a real server, by what it says of itself."""

    def setUp(self):
        self.server = Standalone(container_check_ms=3600000)
        self.addCleanup(self.server.close)
        # Long sessions: their pings are not what is counted here.
        self.url = "zk://%s?timeout=40s" % self.server.address()

    def packets(self):
        counts = self.server.mntr()
        return counts["packets_received"] + counts["packets_sent"]

    def per_handoff(self, threads, others):
        """Packets in both directions for each grant, while others threads of
        another process contend, too."""
        name = "threads/%d-%d" % (threads, others)
        with contextlib.ExitStack() as stack:
            many = stack.enter_context(Threads(self.url, name, threads))
            rest = [stack.enter_context(Threads(self.url, name, others))
                    for _ in range(others > 0)]
            run_all(threads, many, *rest)  # the warm-up
            before = self.packets()
            counted = run_all(GRANTS, many, *rest)
            packets = self.packets() - before
        grants = GRANTS * len(counted) + threads + others * len(rest)
        print("%d threads, %d elsewhere: %.2f packets for each of %d grants, "
              "%d tickets, at most %d grants on one" % (
                  threads, others, packets / grants, grants,
                  sum(tickets for tickets, _ in counted),
                  max(longest for _, longest in counted)))
        self.assertEqual(max(longest for _, longest in counted),
                         GRANTS_PER_TICKET)
        return packets / grants

    def test_a_handoff_costs_the_same_with_10_and_with_1000_threads(self):
        few, many = self.per_handoff(10, 0), self.per_handoff(1000, 0)
        self.assertAlmostEqual(few, many, delta=0.2)
        # A create, a list and a delete for GRANTS_PER_TICKET grants, and their
        # answers.
        self.assertLess(many, 1)

    def test_the_same_while_another_process_wants_it(self):
        few, many = self.per_handoff(10, 10), self.per_handoff(1000, 10)
        self.assertAlmostEqual(few, many, delta=0.4)
        # Watches and their events come on top.
        self.assertLess(many, 2)


    def test_a_ticket_that_is_kept_costs_nothing(self):
        """It was kept since the warm-up, so it is passed on without a bound,
        and the server is asked nothing."""
        with Threads(self.url, "threads/kept", 10, "keep") as threads:
            run_all(10, threads)  # the last unlock keeps the ticket
            before = self.packets()
            (tickets, longest), = run_all(GRANTS, threads)
            packets = self.packets() - before
        print("%.4f packets for each of %d grants on a ticket that is kept" % (
            packets / GRANTS, GRANTS))
        self.assertEqual((tickets, longest), (1, GRANTS + 10))
        # Pings, and the two questions to the server.
        self.assertLess(packets / GRANTS, 0.05)

    def test_a_ticket_that_is_kept_goes_when_another_process_comes(self):
        with Threads(self.url, "threads/kept", 1, "keep") as one, \
                Threads(self.url, "threads/kept", 1, "keep") as two:
            for process in (one, two) * 10:
                run_all(1, process)  # returns long before a day is over


class Leavings(unittest.TestCase):
    """Of many contended cycles."""

    def alike(self, before, after):
        """Buffers that are kept for the next time are of this size or that."""
        *counts, one, two = before
        *counts_after, one_after, two_after = after
        return counts == counts_after and all(
            now[0] <= then[0] + SPARE_BLOCKS and now[1] <= then[1] + SPARE_BYTES
            for then, now in ((one, one_after), (two, two_after)))

    def warm_up(self, all_counts, one, two):
        """Until nothing grows any more, and the two have met."""
        counted = None
        for _ in range(20):
            before = counted
            run_all(1000, one, two)
            counted = all_counts()
            if before and self.alike(before, counted):
                return counted
        raise AssertionError("it grows: %s, then %s" % (before, counted))

    def returns_to(self, before, all_counts):
        try:
            waiting.eventually("all to be as before", lambda: self.alike(
                before, all_counts()), seconds=RETURN_S)
        except AssertionError:
            return False
        return True

    def cycle(self, url, how, counts):
        """What a client makes when it first needs it, such as the thread that
        waits for directories, may come after the warm-up, but only once."""
        with Threads(url, "threads/cycles", 4, how) as one, \
                Threads(url, "threads/cycles", 4, how) as two:
            def all_counts():
                return [counts(), one.descriptors(), two.descriptors(),
                        one.heap(), two.heap()]
            for _ in range(ATTEMPTS):
                before = self.warm_up(all_counts, one, two)
                run_all(CYCLES // 2, one, two)
                if self.returns_to(before, all_counts):
                    break
            else:
                self.fail("%s, then %s" % (before, all_counts()))
            print("%d cycles, %s on %s: %s" % (
                CYCLES, how, url.partition(":")[0], before))

    def on_zookeeper(self, how):
        with Standalone(container_check_ms=3600000) as server:
            def counts():
                # One that is kept is there for a while, or it is not.
                waiting.eventually("no ticket", lambda: server.mntr()[
                    "ephemerals_count"] == 0)
                mntr = server.mntr()
                return [mntr[name] for name in (
                    "watch_count", "znode_count", "ephemerals_count")]
            self.cycle("zk://%s?timeout=40s" % server.address(), how, counts)

    def on_files(self, how):
        directory = machine.directory()
        self.addCleanup(shutil.rmtree, directory)

        def files():
            return sorted(name for _, _, names in os.walk(directory)
                          for name in names)

        def counts():
            waiting.eventually("no ticket", lambda: not any(
                name[0].isdigit() for name in files()))
            return files()
        self.cycle("file:%s/locks?state=%s/state" % (directory, directory),
                   how, counts)

    def test_of_tickets_on_zookeeper(self):
        self.on_zookeeper("lock")

    def test_of_threads_on_zookeeper(self):
        self.on_zookeeper("mutex")

    def test_of_tickets_that_are_kept_on_zookeeper(self):
        self.on_zookeeper("keep-briefly")

    def test_of_tickets_that_are_kept_on_files(self):
        self.on_files("keep-briefly")

    def test_of_tickets_on_files(self):
        self.on_files("lock")

    def test_of_threads_on_files(self):
        self.on_files("mutex")


if __name__ == "__main__":
    unittest.main()
