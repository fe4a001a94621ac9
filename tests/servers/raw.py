# SPDX-License-Identifier: Apache-2.0
"""A minimal client of ZooKeeper, one request at a time: what tests look at a
tree with, without the library under test."""

import socket
import struct

import jute
import machine


class Error(Exception):
    """A server's answer with an error code."""

    def __init__(self, code, what):
        super().__init__("error %d to %s" % (code, what))
        self.code = code


class Refused(Exception):
    """The server did not take the session."""


def four_letters(port, word, host=machine.LOCALHOST, seconds=5):
    """The answer of a server to a four-letter word; '' without one."""
    text = b""
    try:
        with host.connect(port, seconds) as link:
            link.sendall(word.encode())
            while chunk := link.recv(65536):
                text += chunk
    except OSError:
        return ""
    return text.decode(errors="replace")


class Client:
    """A session on one server.  A context manager, which ends it."""

    def __init__(self, port, timeout_ms=10000, session=0, password=bytes(16),
                 last_zxid=0, read_only=False, host=machine.LOCALHOST, wrap=None,
                 seconds=30):
        self.xid = 0
        self.events = []  # (type, path) of the watches that fired
        self.zxid = last_zxid
        self.buffered = b""
        self.link = None
        # A server that wants no more clients closes as soon as it has accepted,
        # which may show at any of these steps.
        try:
            self.link = host.connect(port, seconds)
            if wrap:
                self.link = wrap(self.link)
            self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.link.sendall(jute.frame(
                jute.Writer().int(0).long(last_zxid).int(timeout_ms)
                .long(session).buffer(password).bool(read_only).bytes))
            answer = jute.Reader(self.receive())
        except (BrokenPipeError, ConnectionResetError,
                socket.timeout) as error:
            if self.link:
                self.link.close()
            raise Refused(str(error)) from error
        answer.int()
        self.timeout_ms = answer.int()
        self.session = answer.long()
        self.password = answer.buffer()
        self.read_only = answer.bool() if answer.left() else False
        if self.timeout_ms <= 0:
            self.link.close()
            raise Refused("session 0x%x is not known" % session)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- frames

    def read_exactly(self, count):
        while len(self.buffered) < count:
            chunk = self.link.recv(65536)
            if not chunk:
                raise ConnectionResetError("the server closed the connection")
            self.buffered += chunk
        data, self.buffered = self.buffered[:count], self.buffered[count:]
        return data

    def receive(self):
        return self.read_exactly(
            struct.unpack(">i", self.read_exactly(4))[0])

    def send(self, op, body=b"", xid=None):
        """Only send; the xid that the answer will have."""
        if xid is None:
            self.xid += 1
            xid = self.xid
        self.link.sendall(jute.frame(
            jute.Writer().int(xid).int(jute.OPS[op]).bytes + body))
        return xid

    def answer(self, xid, what=""):
        """The answer to an xid, as a Reader; watch events are put aside."""
        while True:
            reader = jute.Reader(self.receive())
            got, zxid, error = reader.int(), reader.long(), reader.int()
            if got == jute.XID_WATCH:
                kind, _, path = reader.int(), reader.int(), reader.string()
                self.events.append((kind, path))
                continue
            if zxid > 0:
                self.zxid = zxid
            if got != xid:
                raise AssertionError("xid %d instead of %d" % (got, xid))
            if error:
                raise Error(error, what)
            return reader

    def call(self, op, writer=None, xid=None):
        body = writer.bytes if writer else b""
        return self.answer(self.send(op, body, xid), op)

    # ---- requests

    def ping(self):
        self.call("ping", xid=jute.XID_PING)

    def auth(self, scheme, secret):
        self.call("auth", jute.Writer().int(0).string(scheme).buffer(secret),
                  xid=jute.XID_AUTH)

    def create(self, path, data=b"", flags=jute.PERSISTENT, acls=None):
        """create2; the path that it got, and its Stat."""
        op = "createContainer" if flags == jute.CONTAINER else "create2"
        answer = self.call(op, jute.Writer().string(path).buffer(data)
                           .acls(acls or jute.ANYONE).int(flags))
        return answer.string(), answer.stat()

    def delete(self, path, version=-1):
        self.call("delete", jute.Writer().string(path).int(version))

    def exists(self, path, watch=False):
        """Its Stat, or None."""
        try:
            return self.call("exists", jute.Writer().string(path)
                             .bool(watch)).stat()
        except Error as error:
            if error.code != jute.NO_NODE:
                raise
            return None

    def get(self, path, watch=False):
        answer = self.call("getData", jute.Writer().string(path).bool(watch))
        return answer.buffer(), answer.stat()

    def set(self, path, data, version=-1):
        return self.call("setData", jute.Writer().string(path).buffer(data)
                         .int(version)).stat()

    def set_acls(self, path, acls, version=-1):
        self.call("setACL",
                  jute.Writer().string(path).acls(acls).int(version))

    def children(self, path, watch=False):
        """Names, sorted; None when there is no such node."""
        try:
            return sorted(self.call("getChildren", jute.Writer().string(path)
                                    .bool(watch)).strings())
        except Error as error:
            if error.code != jute.NO_NODE:
                raise
            return None

    def sync(self, path="/"):
        self.call("sync", jute.Writer().string(path))

    def multi(self, op, bodies):
        """Requests of one kind in one transaction; a Writer of each."""
        writer = jute.Writer()
        for body in bodies:
            writer.int(jute.OPS[op]).bool(False).int(-1)
            writer.bytes += body.bytes
        writer.int(-1).bool(True).int(-1)
        answer = self.call("multi", writer)
        # If one fails, the answer to each is an error, of those before it 0.
        while answer.int() == jute.OPS["error"] and not answer.bool():
            answer.int()
            if error := answer.int():
                raise Error(error, "multi")

    def check(self, *paths):
        """A multi of nothing but checks: a committed write."""
        self.multi("check", [jute.Writer().string(path).int(-1)
                             for path in paths])

    # ---- the whole tree

    def tree(self, path="/"):
        """Every path below, but ZooKeeper's own."""
        found = []
        for name in self.children(path) or []:
            below = path.rstrip("/") + "/" + name
            if below != "/zookeeper":
                found += [below] + self.tree(below)
        return found

    def remove(self, path):
        """A path with all below it."""
        for below in reversed(self.tree(path)):
            self.delete(below)
        self.delete(path)

    def cut(self):
        """Drop the connection; the session lives on until it expires."""
        self.link.close()

    def close(self):
        """End the session."""
        try:
            self.call("closeSession")
        except (ConnectionError, OSError):
            pass
        self.link.close()
