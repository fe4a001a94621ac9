#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What an etcd has on its disk: a snapshot that was restored, which takes tokens
and tickets back, and no space.

    test_etcd_storage.py HOLDER HOLDFAST
"""

import os
import unittest

from etcd_losses import Case
from leased_losses import LONG_MS

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
        said = self.run_tool("run", "-c", self.url(), self.name("/another"),
                             "--", "true")
        self.assertIn("space exceeded", said.stderr)
        self.assertNotEqual(said.returncode, 0)
        self.assert_kept(first, second)
        second.say("release")
        self.assertEqual(second.wait("done")[2][0], "HF_OK")
        self.assertEqual(self.tickets(self.name()), 0)
        self.server.make_space()
        self.holder_at(self.url()).granted()


if __name__ == "__main__":
    unittest.main(verbosity=2)
