#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The scripted server answers as a real one, unless a script changes that."""

import struct
import unittest

import jute
import raw
from fake import Fake
from zookeeper import Standalone

EPHEMERAL_SEQUENTIAL = jute.EPHEMERAL_SEQUENTIAL


def plain(value):
    """Without what differs between any two servers: wall clock, sessions."""
    if isinstance(value, jute.Stat):
        owner = value.ephemeral_owner
        return value._replace(ctime=0, mtime=0,
                              ephemeral_owner=min(owner, 1))
    if isinstance(value, tuple):
        return tuple(plain(part) for part in value)
    return value


class Story:
    """The requests of two clients to a server, and the answers and events that
    they received."""

    def __init__(self, server):
        self.received = []
        self.one = server.client(timeout_ms=8000)
        self.two = server.client(timeout_ms=8000)

    def note(self, method, *arguments, **options):
        try:
            value = method(*arguments, **options)
        except raw.Error as error:
            value = error.code
        client = method.__self__
        self.received.append((method.__name__, arguments, plain(value),
                              client.zxid))
        return value

    def nodes(self):
        one, two, note = self.one, self.two, self.note
        note(one.create, "/q/t-", b"", EPHEMERAL_SEQUENTIAL)
        note(one.create, "/q", b"", jute.CONTAINER)
        note(one.create, "/q", b"", jute.CONTAINER)
        first = note(one.create, "/q/t-", b"one", EPHEMERAL_SEQUENTIAL)[0]
        second = note(two.create, "/q/t-", b"two", EPHEMERAL_SEQUENTIAL)[0]
        note(two.create, "/q/plain", b"x", jute.PERSISTENT)
        note(two.create, second + "/below")
        note(one.exists, "/q")
        note(one.exists, "/nothing")
        note(one.get, first)
        note(one.get, "/nothing")
        note(two.set, "/q/plain", b"longer")
        note(two.set, "/q/plain", b"wrong", version=0)
        note(two.set, "/nothing", b"")
        note(two.get, "/q/plain")
        note(one.delete, "/q")
        note(one.delete, "/q/plain", version=7)
        note(one.check, first, second)
        note(one.check, first, "/nothing", second)
        note(one.children, "/q")
        note(one.delete, first)
        note(one.delete, first)
        note(two.exists, "/q")
        note(one.sync)
        note(one.ping)

    def watches(self):
        one, two, note = self.one, self.two, self.note
        path = note(one.create, "/q/t-", b"", EPHEMERAL_SEQUENTIAL)[0]
        note(two.get, path, watch=True)
        note(two.children, "/q", watch=True)
        note(two.exists, "/later", watch=True)
        note(two.get, "/later", watch=True)
        note(one.set, path, b"news")
        note(two.get, path, watch=True)
        note(two.children, path, watch=True)
        note(one.delete, path)
        note(one.create, "/later")
        note(one.delete, "/later")
        note(two.sync)
        self.received.append(two.events[:])

    def set_again(self):
        """The request of a client after it has connected again."""
        one, two = self.one, self.two
        self.note(one.create, "/a")
        self.note(one.create, "/b")
        self.note(one.create, "/c")
        before = one.zxid
        self.note(one.set, "/b", b"changed")
        self.note(one.delete, "/c")
        two.events.clear()
        two.call("setWatches", jute.Writer().long(before)
                 .strings(["/a", "/b", "/c"]).strings(["/a", "/d"])
                 .strings(["/c", "/q"]), xid=jute.XID_SET_WATCHES)
        # In no order.
        self.received.append(sorted(two.events))
        two.events.clear()
        self.note(one.delete, "/a")
        self.note(one.create, "/d")
        self.note(two.sync)
        self.received.append(two.events[:])

    def end(self):
        self.note(self.one.create, "/q/t-", b"", EPHEMERAL_SEQUENTIAL)
        self.two.children("/q", watch=True)
        self.two.events.clear()
        self.one.close()
        self.note(self.two.children, "/q")
        self.received.append(self.two.events[:])
        self.two.close()


def notified(server):
    story = Story(server)
    for part in (story.nodes, story.watches, story.set_again, story.end):
        part()
    return story.received


class SameAsReal(unittest.TestCase):
    def test_the_same_story(self):
        self.maxDiff = None
        with Standalone() as server:
            real = notified(server)
        with Fake() as fake:
            fake.client = lambda **o: raw.Client(fake.port, **o)
            self.assertEqual(notified(fake), real)

    def test_the_counter_sticks_as_it_does(self):
        def notified(client):
            return [client.create("/full/%d-" % i, b"",
                                  EPHEMERAL_SEQUENTIAL)[0] for i in range(4)]
        with Standalone(prepared=("/full", 2147483645)) as server:
            with server.client() as client:
                real = notified(client)
        with Fake() as fake:
            fake.create("/full")
            fake.tree.nodes["/full"].counter = 2147483645
            with raw.Client(fake.port) as client:
                self.assertEqual(notified(client), real)

    def test_sessions(self):
        def notified(port):
            received = []
            first = raw.Client(port, timeout_ms=3000)
            first.create("/mine", flags=jute.EPHEMERAL)
            first.cut()
            again = raw.Client(port, timeout_ms=5000, session=first.session,
                               password=first.password)
            received += [again.session == first.session, again.timeout_ms,
                         again.tree()]
            for wrong in ({"session": 77, "password": first.password},
                          {"session": first.session, "password": bytes(16)}):
                try:
                    raw.Client(port, **wrong)
                except raw.Refused:
                    received.append("refused")
            moved = raw.Client(port, session=first.session,
                               password=first.password)
            try:
                again.ping()
            except ConnectionError:
                received.append("closed")
            moved.close()
            with raw.Client(port, timeout_ms=1) as other:
                received += [other.tree(), other.timeout_ms]
            return received
        with Standalone() as server:
            real = notified(server.port)
        self.assertEqual(real, [True, 5000, ["/mine"], "refused", "refused",
                                "closed", [], 1000])
        with Fake() as fake:
            self.assertEqual(notified(fake.port), real)


class Scripted(unittest.TestCase):
    def start(self, script=None):
        self.fake = Fake(script)
        self.addCleanup(self.fake.close)
        return raw.Client(self.fake.port)

    def test_a_create_without_an_answer(self):
        def script(request):
            if request.op == "create2":
                request.apply()
                request.cut()
        client = self.start(script)
        with self.assertRaises(ConnectionError):
            client.create("/done")
        self.assertEqual(self.fake.paths(), ["/done"])

    def test_a_create_that_is_late(self):
        def script(request):
            if request.op == "create2":
                request.cut()
                self.fake.later(20, request.apply)
        client = self.start(script)
        with self.assertRaises(ConnectionError):
            client.create("/late", flags=jute.EPHEMERAL)
        self.fake.eventually("the create",
                             lambda fake: "/late" in fake.tree.nodes)
        self.fake.expire()
        self.assertEqual(self.fake.paths(), [])

    def test_answers_held_back_and_reversed(self):
        held = []

        def script(request):
            if request.op == "exists":
                held.append(request)
                request.swallow()
                if len(held) == 2:
                    held[1].answer()
                    held[0].answer()
        client = self.start(script)
        body = jute.Writer().string("/").bool(False).bytes
        first = client.send("exists", body)
        second = client.send("exists", body)
        client.answer(second)
        client.answer(first)

    def test_what_arrived_together(self):
        client = self.start()
        body = jute.Writer().string("/").bool(False).bytes
        frames = b"".join(jute.frame(
            jute.Writer().int(xid).int(jute.OPS["exists"]).bytes + body)
                          for xid in (1, 2))
        client.link.sendall(frames)
        client.answer(1)
        client.answer(2)
        client.xid = 2
        client.exists("/")
        recvs = [r.recv for r in self.fake.requests if r.op == "exists"]
        self.assertEqual(recvs[0], recvs[1])
        self.assertNotEqual(recvs[1], recvs[2])

    def test_bytes_that_make_no_sense(self):
        def script(request):
            if request.op == "ping":
                request.send(struct.pack(">i", -1) + b"garbage")
        client = self.start(script)
        client.send("ping", xid=jute.XID_PING)
        self.assertEqual(client.read_exactly(11), b"\xff\xff\xff\xffgarbage")

    def test_errors_and_a_wrong_xid(self):
        answers = iter([lambda r: r.fail(jute.SESSION_MOVED),
                        lambda r: r.fail(-4711),
                        lambda r: r.reply(xid=99)])
        client = self.start(
            lambda r: next(answers)(r) if r.op == "sync" else None)
        for code in (jute.SESSION_MOVED, -4711):
            with self.assertRaises(raw.Error) as caught:
                client.sync()
            self.assertEqual(caught.exception.code, code)
        with self.assertRaisesRegex(AssertionError, "xid 99"):
            client.sync()

    def test_one_that_accepts_and_says_nothing(self):
        fake = Fake(lambda request: request.swallow())
        self.addCleanup(fake.close)
        with self.assertRaises(raw.Refused):
            raw.Client(fake.port, seconds=0.1)
        self.assertEqual(fake.ops(), ["connect"])

    def test_triggers_of_the_test(self):
        client = self.start()
        path, _ = client.create("/t-", flags=EPHEMERAL_SEQUENTIAL)
        client.get(path, watch=True)
        self.fake.delete(path)
        client.ping()
        self.assertEqual(client.events, [(jute.DELETED, path)])
        client.create("/t-", flags=EPHEMERAL_SEQUENTIAL)
        self.fake.expire()
        with self.assertRaises(ConnectionError):
            client.ping()
        self.assertEqual(self.fake.paths(), [])
        with self.assertRaises(raw.Refused):
            raw.Client(self.fake.port, session=client.session,
                       password=client.password)

    def test_an_exception_of_a_script_is_reported(self):
        def script(request):
            raise KeyError("oops")
        fake = Fake(script)
        with self.assertRaises(raw.Refused):
            raw.Client(fake.port, seconds=0.1)
        with self.assertRaises(KeyError):
            fake.close()


if __name__ == "__main__":
    unittest.main()
