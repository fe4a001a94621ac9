#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What an etcd has on its disk: a snapshot that was restored, which takes tokens
and tickets back, no space, and data that is not that of the other members.

    test_etcd_storage.py HOLDER HOLDFAST
"""

import os
import subprocess
import unittest

from etcd_losses import HOLDFAST, Case
from leased_losses import LONG_MS

import machine
import waiting
from etcd import Server


class One(Case):
    """A cluster of one member."""

    def setUp(self):
        super().setUp()
        self.server = self.enterContext(
            Server(config={"quota-backend-bytes": 16 << 20}))

    def url(self, floor=0):
        return "etcd://%s?ttl=2s&token_floor=%d" % (self.server.address(),
                                                    floor)

    def test_a_snapshot_is_restored(self):
        """It has a ticket of somebody, and others had the lock since."""
        path = os.path.join(self.directory, "snapshot")
        saved = self.holder_at(self.url())
        saved.granted()
        self.server.save(path)
        saved.say("release")
        with self.server.client() as client:
            for number in range(100):
                client.put("other", str(number))
        last = self.holder_at(self.url())
        token = last.granted()[1]
        last.say("write")
        last.wait("stored")
        self.server.kill()
        last.notified_at()
        self.server.restore(path)
        # The ticket of the snapshot blocks for one lease, and then goes.
        self.assertEqual(self.tickets(self.name()), 1)
        lower = self.holder_at(self.url())
        self.assertLess(lower.granted()[1], token)
        lower.say("write")
        lower.wait("refused")
        lower.say("release")
        higher = self.holder_at(self.url(floor=token))
        self.assertGreater(higher.granted()[1], token)
        higher.say("write")
        higher.wait("stored")

    def test_a_session_of_before_a_restore_ends(self):
        """Its lease is in the snapshot, and so is a ticket that it has removed
        since.  If it kept the lease alive, that ticket would block for ever."""
        path = os.path.join(self.directory, "snapshot")
        url = "etcd://%s?ttl=20s" % self.server.address()
        before = self.holder_at(url, self.name("/another"))
        before.granted()
        living = self.holder_at(url)
        living.granted()
        living.say("another")
        waiting.eventually("it to queue", lambda: self.tickets(
            self.name("/another")) == 2, of=[living])
        self.server.save(path)
        before.say("release")
        self.assertEqual(living.wait("done")[2][0], "HF_OK")
        self.server.restore(path)
        living.wait("lost")
        waiting.eventually("its tickets to go", lambda: self.tickets(
            self.name()) == 0, of=[living])
        self.holder_at(url, self.name("/another")).granted()

    def test_no_space_is_left(self):
        """Who holds goes on and releases, and who waits is next."""
        first, second = self.pair_at([self.server], [self.server], self.name(),
                                     LONG_MS)
        self.server.fill()
        waits = self.waiting_tool(self.name("/another"))
        self.assert_says(waits, "space exceeded", "etcdctl alarm disarm")
        self.assertIsNone(waits.poll())
        self.assert_kept(first, second)
        second.say("release")
        self.assertEqual(second.wait("done")[2][0], "HF_OK")
        self.assertEqual(self.tickets(self.name()), 0)
        self.server.make_space()
        self.holder_at(self.url()).granted()

    def test_members_differ(self):
        """With the alarm CORRUPT nothing is carried out.  Who holds, who waits
        and who comes says so, and goes on when the alarm is disarmed."""
        holds = self.waiting_tool(self.name(), "sleep", "1000")
        waiting.eventually("it to hold", lambda: self.tickets(
            self.name()) == 1, of=[holds])
        queued = self.waiting_tool(self.name())
        waiting.eventually("it to queue", lambda: self.tickets(
            self.name()) == 2, of=[queued])
        self.server.raise_alarm("CORRUPT")
        comes = self.waiting_tool(self.name("/another"))
        for tool in (holds, comes):
            self.assert_says(tool, "corrupt cluster", "etcdctl alarm disarm")
        raised_at = waiting.now_ms()
        waiting.eventually("the lease of the holder to pass", lambda:
                           waiting.now_ms() > raised_at + 2500,
                           of=[holds, queued, comes])
        with self.server.client() as client:
            client.disarm()
        for tool, status in ((holds, 76), (queued, 0), (comes, 0)):
            self.assertEqual(tool.wait(waiting.LIMIT_S), status)

    def waiting_tool(self, name, *command):
        tool = machine.popen(
            [HOLDFAST, "run", "-c", self.url(), name, "--",
             *(command or ["true"])], stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(tool.communicate)
        self.addCleanup(tool.kill)
        return tool

    def assert_says(self, tool, *parts):
        """In one of its next lines."""
        line = ""
        while not all(part in line for part in parts):
            line = waiting.read_line(tool, stream="stderr")


if __name__ == "__main__":
    unittest.main(verbosity=2)
