#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A living handle gets other servers of its ensemble."""

import sys
import unittest

from zk_reader import Reader

import waiting  # noqa: E402
from ensemble import Ensemble  # noqa: E402


class SetServers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ensemble = Ensemble()
        cls.addClassCleanup(cls.ensemble.close)
        cls.a, cls.b, cls.c = cls.ensemble.servers

    def setUp(self):
        self.reader = Reader(PROGRAM, "zk://%s?timeout=10s" %
                             self.a.address())
        self.addCleanup(self.reader.close)
        status, self.session = self.reader_session()
        self.assertEqual(status, "HF_OK")
        self.assert_at(self.a)

    def reader_session(self):
        self.reader.run("get", "/")
        return self.reader.run("session")

    def assert_at(self, server):
        """The session is connected to this server, and it is the same."""
        waiting.eventually(
            "the session at " + server.address(),
            lambda: "sid=0x%s," % self.session in server.four_letters("cons"),
            of=[self.reader])
        self.assertEqual(self.reader_session(), ["HF_OK", self.session])
        self.assertNotIn("LOST", self.reader.states)

    def set_servers(self, *servers):
        self.assertEqual(
            self.reader.run("servers", ",".join(servers)), ["HF_OK"])

    def test_it_moves_and_resumes(self):
        self.set_servers(self.b.address(), self.b.address())
        self.assert_at(self.b)
        self.assertEqual(self.reader.states[0], "CONNECTED")
        self.assertEqual(self.reader.states[-1], "CONNECTED")
        # Names are looked up as those of a URL.
        self.set_servers("localhost:%d" % self.c.port)
        self.assert_at(self.c)

    def test_it_stays(self):
        self.set_servers(self.a.address(), self.b.address())
        self.assert_at(self.a)
        self.assertEqual(self.reader.states, ["CONNECTED"])
        self.set_servers(self.c.address(), self.a.address())
        self.assert_at(self.a)
        self.assertEqual(self.reader.states, ["CONNECTED"])

    def test_a_list_that_is_none_changes_nothing(self):
        for bad in ("a,", "a:0", "user:password@" + self.b.address(),
                    "zk://" + self.b.address()):
            self.assertEqual(self.reader.run("servers", bad), ["HF_EURL"])
        self.assert_at(self.a)

    def test_a_server_that_is_away_is_replaced(self):
        """It has no connection when it gets the list."""
        self.set_servers(self.b.address())
        self.assert_at(self.b)
        self.b.kill()
        self.addCleanup(self.b.restart)
        self.set_servers(self.c.address())
        self.assert_at(self.c)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
