#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast torture reports grants that are out of order, and only those.  In
some tests the library is a mutant.  In one waiters lose their tickets, and the
waiters behind them are granted the lock first, which is correct.  Clients that
keep their tickets starve nobody, unless the library is a mutant.

    test_order.py HOLDFAST
"""

import glob
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, folder) for folder in ("servers",
                                                           "mutants")]

from contenders import notes_of  # noqa: E402
from kept_tickets import KeptTickets  # noqa: E402
import mutants  # noqa: E402
import machine  # noqa: E402
import waiting  # noqa: E402

HOLDFAST = os.path.abspath(sys.argv.pop(1))

# Somebody is starved if so many grants on a ticket that was kept pass him over.
# Without faults that is none, or as many as it takes until a change of the queue
# is noticed.
STARVED = 20
# With this seed all that keep a ticket keep it for a minute at most, and not for
# less than a second.
KEEP_LONG = ("--seed", "7")


class Order(unittest.TestCase):
    def setUp(self):
        self.directory = machine.directory("order")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.history = os.path.join(self.directory, "history")

    def torture(self, kind, program=HOLDFAST, *options):
        process = machine.Process(
            [program, "torture", "--json", "--kind", kind, "--faults", "0s",
             "--for", "10m", "--history", self.history, *options, "name"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(os.environ, HOLDFAST_URL="file:%s/locks"
                     % self.directory))
        self.addCleanup(process.kill)
        waiting.eventually("a history", lambda: os.path.exists(self.history),
                           of=[process])
        return process

    def verdict(self, process, status):
        process.signal(signal.SIGTERM)
        out, err = process.popen.communicate(timeout=waiting.LIMIT_S)
        self.assertEqual((process.popen.returncode, err), (status, b""))
        return json.loads(out)["broken"]

    def shows(self, *rules):
        """Whether the history so far breaks them all."""
        so_far = self.history + ".so-far"
        with open(self.history) as file:
            lines = file.read().rpartition("\n")[0]
        if not lines:
            return False
        with open(so_far, "w") as copy:
            copy.write(lines + "\n")
        verify = subprocess.run([HOLDFAST, "verify", "--json", so_far],
                                stdout=subprocess.PIPE)
        broken = json.loads(verify.stdout)["broken"]
        return all(broken[rule] for rule in rules)

    def test_a_mutant_is_seen(self):
        for kind, mutation in (("mutex", "ADMIT_ON_ANY_GONE"),
                               ("rwlock", "READ_PASSES_WRITE")):
            with self.subTest(mutation=mutation):
                process = self.torture(kind, self.build(mutation))
                waiting.eventually("what is broken", lambda: self.shows(
                    "order", "exclusion"), of=[process])
                broken = self.verdict(process, 1)
                self.assertGreater(broken["order"], 0)
                self.assertGreater(broken["exclusion"], 0)
                os.unlink(self.history)

    def build(self, mutation):
        """The program with it, beside the tool, which some workers run."""
        if not os.path.exists(os.path.join(self.directory, "holdfast")):
            os.symlink(HOLDFAST, os.path.join(self.directory, "holdfast"))
        mutant = os.path.join(self.directory, mutation)
        mutants.build(mutation, HOLDFAST + "-torture", mutant)
        return mutant

    def kept(self):
        return KeptTickets(notes_of(self.history))

    def test_one_that_keeps_its_ticket_passes_over_nobody_for_long(self):
        process = self.torture("kept", HOLDFAST, *KEEP_LONG)
        waiting.eventually("tickets that are kept", lambda: self.kept()
                           .again > 20, of=[process])
        broken = self.verdict(process, 0)
        self.assertEqual(set(broken.values()), {0})
        self.assertLess(self.kept().most, STARVED)

    def test_a_mutant_that_starves_others_is_seen(self):
        process = self.torture("kept", self.build("KEPT_UNNOTICED"),
                               *KEEP_LONG)

        def shows():
            kept = self.kept()
            return max(kept.most, kept.most_waiting) >= STARVED
        waiting.eventually("somebody who is starved", shows, of=[process])
        self.verdict(process, 0)  # no rule of the lock says how long one waits

    def tickets(self):
        """In the order of the queue."""
        return sorted(path for path in glob.glob(
            os.path.join(self.directory, "locks", "locks", "name", "[0-9]*"))
                      if stat.S_ISFIFO(os.lstat(path).st_mode))

    def displace_one(self):
        """Remove the last ticket of many, which is not about to be granted."""
        try:
            tickets = self.tickets()
            if len(tickets) > 4:
                os.unlink(tickets[-1])
        except FileNotFoundError:
            pass  # its waiter was granted the lock

    def displaced(self):
        self.displace_one()
        with open(self.history) as file:
            return file.read().count(" unqueued ") > 20

    def test_a_waiter_that_lost_its_ticket_was_not_overtaken(self):
        process = self.torture("mutex")
        waiting.eventually("waiters that were displaced", self.displaced,
                           of=[process])
        broken = self.verdict(process, 0)
        self.assertEqual(set(broken.values()), {0})


if __name__ == "__main__":
    unittest.main()
