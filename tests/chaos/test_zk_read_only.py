#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reading from a server that has lost its quorum, and going back to one that
has one, with real servers."""

import sys
import unittest

from zk_reader import Reader

import jute  # noqa: E402
import raw  # noqa: E402
import waiting  # noqa: E402
from ensemble import Ensemble  # noqa: E402
from zookeeper import Server  # noqa: E402

CHANGED, RESYNC = "3", "5"


class ReadOnly(unittest.TestCase):
    """The last member of three is alone, and the others come back."""

    def setUp(self):
        self.ensemble = Ensemble(read_only=True)
        self.addCleanup(self.ensemble.close)
        self.alone, *self.others = self.ensemble.servers
        self.url = "zk://%s?timeout=4s" % self.ensemble.addresses()

    def reader(self, url=None, read_only=True):
        reader = Reader(PROGRAM, url or self.url, read_only)
        self.addCleanup(reader.close)
        return reader

    def leave_alone(self):
        for server in self.others:
            server.kill()
        waiting.eventually("the last member to be read-only",
                           lambda: self.alone.mode() == "read-only")

    def others_return(self):
        for server in self.others:
            server.launch()
        self.ensemble.wait()

    def write(self, path, data):
        """Through a server with a quorum, so that the last member has it.  The
        members may elect anew at any time on a busy machine."""
        def written():
            try:
                with self.alone.client() as client:
                    client.create(path, data)
            except (raw.Refused, ConnectionError):
                return False
            except raw.Error as error:
                return error.code == jute.NODE_EXISTS
            return True
        waiting.eventually("a server with a quorum", written)

    def reads(self, reader, path, data):
        self.assertEqual(reader.run("get", path), ["HF_OK", data])

    def wait_for_event(self, reader, event):
        waiting.eventually(event, lambda: reader.run("read_only") and
                           event in reader.events, of=[reader])

    def test_a_new_session(self):
        self.write("/a", b"1")
        self.leave_alone()
        reader = self.reader()
        self.reads(reader, "/a", "1")
        self.assertTrue(reader.is_read_only())
        self.assertEqual(reader.states, ["CONNECTED"])
        self.assertEqual(reader.run("set", "/a", "2"), ["HF_EREADONLY"])
        self.assertEqual(reader.run("create", "/b", "2"), ["HF_EREADONLY"])
        self.assertEqual(reader.run("sync", "/a"), ["HF_EREADONLY"])
        self.assertEqual(reader.run("session"), ["HF_EUNREACHABLE", "0"])
        self.assertEqual(reader.run("watch", "/a"), ["HF_OK"])
        self.reads(reader, "/a", "1")
        # Its server gets a quorum and closes its connections.
        self.others_return()
        waiting.eventually("a server with a quorum",
                           lambda: reader.run("set", "/a", "2") == ["HF_OK"],
                           of=[reader])
        self.assertFalse(reader.is_read_only())
        self.assertIn("LOST", reader.states)
        self.assertEqual(reader.states[-1], "CONNECTED")
        # The watch is set again in the new session.
        self.wait_for_event(reader, RESYNC + " /a")
        self.assertEqual(reader.run("set", "/a", "3"), ["HF_OK"])
        self.wait_for_event(reader, CHANGED + " /a")
        self.assertEqual(reader.run("session")[0], "HF_OK")
        self.assertEqual(reader.run("close"), ["HF_OK"])

    def test_a_session_from_before(self):
        """Whether the server lets it be resumed or not, reads go on."""
        self.write("/a", b"1")
        reader = self.reader()
        self.reads(reader, "/a", "1")
        self.assertFalse(reader.is_read_only())
        self.leave_alone()
        waiting.eventually("a read-only connection", reader.is_read_only,
                           of=[reader])
        self.reads(reader, "/a", "1")
        self.others_return()
        waiting.eventually("a server with a quorum",
                           lambda: reader.run("set", "/a", "2") == ["HF_OK"],
                           of=[reader])
        self.assertFalse(reader.is_read_only())

    def test_the_search(self):
        """Its server stays without a quorum: only the search finds another
        one.  A server of its own takes the place of the members that an outage
        of the network has cut off from this one; as it knows nothing of the
        ensemble, nothing is read before."""
        self.leave_alone()
        other = Server()
        self.addCleanup(other.close)
        reader = self.reader("zk://%s,%s?timeout=4s" % (
            self.alone.address(), other.address()))
        waiting.eventually("a read-only connection", reader.is_read_only,
                           of=[reader])
        other.start()
        waiting.eventually("the search to find a server",
                           lambda: not reader.is_read_only(), of=[reader])
        self.assertEqual(reader.run("create", "/found", "x"), ["HF_OK"])
        with other.client() as client:
            self.assertEqual(client.get("/found")[0], b"x")
        self.assertIn("%s: left, because a server with a quorum was found" %
                      self.alone.address(), reader.logged)
        self.assertIn("LOST", reader.states)
        self.assertEqual(reader.states[-1], "CONNECTED")

    def test_a_close_on_a_read_only_server(self):
        self.leave_alone()
        reader = self.reader()
        waiting.eventually("a read-only connection", reader.is_read_only,
                           of=[reader])
        self.assertEqual(reader.run("close"), ["HF_OK"])
        self.assertFalse([line for line in reader.logged
                          if "without a connection" in line])

    def test_without_the_option(self):
        self.leave_alone()
        reader = self.reader("zk://%s?timeout=4s" % self.alone.address(),
                             read_only=False)
        self.assertFalse(reader.is_read_only())
        self.assertEqual(reader.states, [])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
