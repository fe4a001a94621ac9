#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The proxy of the tests does what its words say."""

import select
import socket
import unittest

import machine
import waiting
from proxy import DOWN, UP, Proxy


class Pair:
    """A connection through a proxy: both ends in our hands."""

    def __init__(self, listener, proxy):
        self.near = socket.create_connection(("127.0.0.1", proxy.port))
        self.far, _ = listener.accept()
        for link in (self.near, self.far):
            link.settimeout(waiting.LIMIT_S)

    def close(self):
        self.near.close()
        self.far.close()


def is_quiet(link):
    """Nothing comes, not even an end: looked at after something that was sent
    later has come by another way."""
    return not select.select([link], [], [], 0)[0]


class ProxyTest(unittest.TestCase):
    def setUp(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(waiting.LIMIT_S)
        self.proxy = Proxy(self.listener.getsockname()[1])
        self.pair = Pair(self.listener, self.proxy)
        self.nobody = machine.Port()  # where nobody listens

    def tearDown(self):
        self.pair.close()
        self.proxy.close()
        self.nobody.close()
        self.listener.close()

    def send(self, link, data):
        link.sendall(data)

    def expect(self, link, data):
        got = b""
        while len(got) < len(data):
            chunk = link.recv(len(data) - len(got))
            self.assertTrue(chunk, "closed after %r" % got)
            got += chunk
        self.assertEqual(got, data)

    def test_passes_both_ways_and_counts(self):
        self.send(self.pair.near, b"question")
        self.expect(self.pair.far, b"question")
        self.send(self.pair.far, b"answer")
        self.expect(self.pair.near, b"answer")
        self.assertEqual(self.proxy.bytes, {UP: 8, DOWN: 6})
        self.assertEqual((self.proxy.accepted, self.proxy.links()), (1, 1))

    def test_large_data_arrives_complete(self):
        data = bytes(range(256)) * 40000
        self.pair.near.setblocking(False)
        sent, got = 0, b""
        while len(got) < len(data):
            r, w, _ = select.select([self.pair.far],
                                    [self.pair.near] * (sent < len(data)), [],
                                    waiting.LIMIT_S)
            self.assertTrue(r or w)
            if w:
                sent += self.pair.near.send(data[sent:sent + 100000])
            if r:
                got += self.pair.far.recv(1 << 20)
        self.assertEqual(got, data)

    def test_an_end_of_one_direction_leaves_the_other(self):
        self.send(self.pair.near, b"last words")
        self.pair.near.shutdown(socket.SHUT_WR)
        self.expect(self.pair.far, b"last words")
        self.assertEqual(self.pair.far.recv(1), b"")
        self.send(self.pair.far, b"reply")
        self.pair.far.close()
        self.expect(self.pair.near, b"reply")
        self.assertEqual(self.pair.near.recv(1), b"")
        waiting.eventually("no connection", lambda: not self.proxy.links())

    def test_a_held_direction_keeps_its_bytes_for_later(self):
        self.proxy.hold(UP)
        self.send(self.pair.near, b"one ")
        self.send(self.pair.far, b"the other way")
        self.expect(self.pair.near, b"the other way")
        waiting.eventually("4 bytes", lambda: self.proxy.waiting(UP) == 4)
        self.assertTrue(is_quiet(self.pair.far))
        self.send(self.pair.near, b"two")
        self.proxy.thaw()
        self.expect(self.pair.far, b"one two")

    def test_an_end_is_held_too(self):
        self.proxy.hold(DOWN)
        self.send(self.pair.far, b"bye")
        self.pair.far.close()
        waiting.eventually("3 bytes", lambda: self.proxy.waiting(DOWN) == 3)
        self.assertTrue(is_quiet(self.pair.near))
        self.proxy.thaw(DOWN)
        self.expect(self.pair.near, b"bye")
        self.assertEqual(self.pair.near.recv(1), b"")

    def test_a_dropped_direction_loses_bytes_and_says_nothing(self):
        self.proxy.drop(UP)
        self.send(self.pair.near, b"lost")
        waiting.eventually("4 bytes", lambda: self.proxy.bytes[UP] == 4)
        self.send(self.pair.far, b"still here")
        self.expect(self.pair.near, b"still here")
        self.assertTrue(is_quiet(self.pair.far))
        # A stream with a hole in it cannot go on.
        self.proxy.thaw(UP)
        for link in (self.pair.near, self.pair.far):
            with self.assertRaises(ConnectionResetError):
                link.recv(1)

    def test_a_reset_does_not_get_through_a_hole(self):
        self.proxy.drop()
        self.pair.near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  b"\1\0\0\0\0\0\0\0")
        self.pair.near.close()
        self.send(self.pair.far, b"anybody there?")
        waiting.eventually("14 bytes", lambda: self.proxy.bytes[DOWN] == 14)
        self.assertTrue(is_quiet(self.pair.far))
        self.assertEqual(self.proxy.links(), 1)

    def test_a_reset_comes_back_to_a_writer_through_the_other_direction(self):
        self.proxy.hold(UP)
        self.pair.near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  b"\1\0\0\0\0\0\0\0")
        self.pair.near.close()
        self.send(self.pair.far, b"anybody there?")
        waiting.eventually("14 bytes", lambda: self.proxy.bytes[DOWN] == 14)
        self.assertTrue(is_quiet(self.pair.far))
        self.proxy.thaw(UP)
        with self.assertRaises(ConnectionResetError):
            self.pair.far.recv(1)

    def test_cut_resets_and_new_ones_are_welcome(self):
        self.proxy.cut()
        for link in (self.pair.near, self.pair.far):
            with self.assertRaises(ConnectionResetError):
                link.recv(1)
        again = Pair(self.listener, self.proxy)
        self.send(again.near, b"new")
        self.expect(again.far, b"new")
        again.close()

    def test_refusing_leaves_what_is_there(self):
        self.proxy.refuse()
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", self.proxy.port))
        self.send(self.pair.near, b"old")
        self.expect(self.pair.far, b"old")
        self.proxy.refuse(False)
        Pair(self.listener, self.proxy).close()

    def test_no_server_is_a_reset(self):
        self.proxy.target = self.nobody.number
        link = socket.create_connection(("127.0.0.1", self.proxy.port))
        link.settimeout(waiting.LIMIT_S)
        with self.assertRaises(ConnectionResetError):
            link.recv(1)
        link.close()

    def test_no_server_behind_a_hole_is_silence(self):
        self.proxy.target = self.nobody.number
        self.proxy.drop(DOWN)
        link = socket.create_connection(("127.0.0.1", self.proxy.port))
        before = self.proxy.bytes[UP]
        self.send(link, b"hello")
        waiting.eventually("5 bytes",
                           lambda: self.proxy.bytes[UP] == before + 5)
        self.assertTrue(is_quiet(link))
        link.close()

    def test_delay_comes_later_and_in_order(self):
        self.proxy.delay(100, [UP])
        began = waiting.now_ms()
        self.send(self.pair.near, b"slow ")
        self.send(self.pair.far, b"quick")
        self.expect(self.pair.near, b"quick")
        self.send(self.pair.near, b"coach")
        self.expect(self.pair.far, b"slow coach")
        self.assertGreaterEqual(waiting.now_ms() - began, 99)

    def test_ports_are_held_while_nobody_listens(self):
        self.proxy.refuse()
        others = [machine.Port() for _ in range(50)]
        self.assertNotIn(self.proxy.port, [port.number for port in others])
        for port in others:
            port.close()


if __name__ == "__main__":
    unittest.main()
