# SPDX-License-Identifier: Apache-2.0
"""A scripted ZooKeeper server: a test decides how each request is answered.

    def script(request):
        if request.op == "create2" and fake.count("create2") == 1:
            request.apply()     # it takes effect,
            request.cut()       # and no client gets an answer

    with Fake(script) as fake: ...

The script is asked about every request, on the server's thread; what it leaves
alone is answered from a little tree.  A script that raises fails the test: the
exception comes out of close().
"""

import selectors
import socket
import struct

import jute
import machine
import waiting
from loop import Loop, listen, reset
from tree import Failure, Tree

CREATES = ("create", "create2", "createContainer")
WRITES = CREATES + ("delete", "setData", "multi", "check")


class Session:
    def __init__(self, number, password, timeout_ms):
        self.number = number
        self.password = password
        self.timeout_ms = timeout_ms
        self.alive = True
        self.connection = None


class Request:
    """One frame of a client.  .recv is the number of the recv() that
    completed it: requests with one number arrived together."""

    def __init__(self, connection, data, recv):
        self.connection = connection
        self.fake = connection.fake
        self.session = connection.session
        self.recv = recv
        self.at_ms = waiting.now_ms()
        self.raw = data
        self.handled = False
        reader = jute.Reader(data)
        if not connection.connected:
            connection.connected = True
            self.op, self.xid = "connect", None
            self.fields = jute.read_connect(reader)._asdict()
        else:
            self.xid, kind = reader.int(), reader.int()
            self.op = jute.NAMES.get(kind, str(kind))
            self.fields = jute.read_fields(self.op, reader)
        self.trailing = reader.left()

    def __repr__(self):
        return "%s(%s)" % (self.op, self.fields.get("path", ""))

    # ---- what a script can do; all but apply() finish the request

    def answer(self):
        """Answer as a real server."""
        self.reply(*self.apply())

    def apply(self):
        """Let it take effect now; the arguments of reply() for it: an error
        code and a payload."""
        return self.fake.apply(self)

    def swallow(self):
        """Send no answer now; the script may do so later."""
        self.handled = True

    def fail(self, code):
        self.reply(code)

    def reply(self, error=jute.OK, payload=b"", xid=None, zxid=None):
        self.handled = True
        if self.op == "connect":
            self.connection.send(jute.frame(payload))
            return
        header = jute.Writer().int(self.xid if xid is None else xid)
        header.long(self.fake.tree.zxid if zxid is None else zxid)
        header.int(error)
        self.connection.send(jute.frame(
            header.bytes + (b"" if error else payload)))

    def send(self, data):
        """These bytes instead of a frame."""
        self.handled = True
        self.connection.send(data)

    def cut(self):
        self.handled = True
        self.connection.end()


class Connection:
    def __init__(self, fake, link):
        self.fake = fake
        self.link = link
        self.session = None
        self.connected = False
        self.buffer = b""
        self.output = b""
        self.ending = False  # close when the output is gone
        self.open = True
        self.watches = {"data": set(), "exists": set(), "child": set()}

    def readable(self):
        try:
            data = self.link.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.end()
            return
        self.fake.recvs += 1
        self.buffer += data
        if not self.connected and self.buffer.startswith(b"srvr"):
            self.buffer = b""
            self.ending = self.fake.srvr != b""
            self.send(self.fake.srvr)
            return
        while self.open and len(self.buffer) >= 4:
            size = struct.unpack(">i", self.buffer[:4])[0]
            if not 0 <= size <= 1 << 20:
                raise AssertionError("the client sent a length of %d" % size)
            if len(self.buffer) < 4 + size:
                break
            data = self.buffer[4:4 + size]
            self.buffer = self.buffer[4 + size:]
            self.fake.handle(Request(self, data, self.fake.recvs))

    def send(self, data):
        if self.open:
            self.output += data
            self.flush()

    def flush(self):
        try:
            while self.output:
                self.output = self.output[self.link.send(self.output):]
        except BlockingIOError:
            pass
        except OSError:
            self.end()
            return
        if self.ending and not self.output:
            self.end(socket.socket.close)
            return
        self.fake.loop.watch(
            self.link, selectors.EVENT_READ |
            (selectors.EVENT_WRITE if self.output else 0), self.serve)

    def serve(self, events):
        if events & selectors.EVENT_READ:
            self.readable()
        if self.open and events & selectors.EVENT_WRITE:
            self.flush()

    def end(self, close=reset):
        if self.open:
            self.open = False
            self.fake.loop.watch(self.link, 0, None)
            self.fake.connections.discard(self)
            close(self.link)

    def end_after_answer(self):
        """Close once what is sent next has gone."""
        self.ending = True


class Fake:
    """Listens once made; .port and .address() say where."""

    def __init__(self, script=None, least_timeout_ms=1000,
                 most_timeout_ms=40000):
        self.script = script
        self.srvr = b""  # the answer to this four-letter word; b"": none
        self.timeouts = (least_timeout_ms, most_timeout_ms)
        self.tree = Tree()
        self.sessions = {}
        self.connections = set()
        self.requests = []  # every one, in order
        self.recvs = 0
        self.claim = machine.Port()
        self.port = self.claim.number
        self.loop = Loop()
        self.listener = None
        self.loop.do(self.listen)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def listen(self):
        self.listener = listen(self.port)
        self.loop.watch(self.listener, selectors.EVENT_READ,
                        lambda _: self.accept())

    def accept(self):
        link, _ = self.listener.accept()
        link.setblocking(False)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(self, link)
        self.connections.add(connection)
        connection.flush()

    def close(self):
        def end():
            for connection in list(self.connections):
                connection.end()
            self.loop.watch(self.listener, 0, None)
            self.listener.close()
        if self.loop.running:
            self.loop.do(end)
            self.loop.stop()
            self.claim.close()
            if self.loop.failures:
                raise self.loop.failures[0]

    # ---- what a test looks at

    def address(self):
        return "127.0.0.1:%d" % self.port

    def count(self, op):
        return sum(1 for request in self.requests if request.op == op)

    def ops(self):
        """The names of all requests but pings."""
        return [r.op for r in self.requests if r.op != "ping"]

    def paths(self):
        """All of the tree but ZooKeeper's own."""
        return self.loop.do(lambda: sorted(
            path for path in self.tree.nodes
            if path != "/" and not path.startswith("/zookeeper")))

    def eventually(self, what, condition):
        """Poll a condition, a function of this server."""
        def asked():
            if self.loop.failures:
                raise self.loop.failures[0]
            return self.loop.do(lambda: condition(self))
        return waiting.eventually(what, asked)

    # ---- cues, from a test or a script

    def later(self, ms, job):
        self.loop.do(lambda: self.loop.at(waiting.now_ms() + ms, job))

    def delete(self, path):
        """As somebody else would."""
        self.loop.do(lambda: (self.tree.delete(self.tree.tick(), path, -1),
                              self.fire()))

    def create(self, path, data=b"", flags=jute.PERSISTENT, session=0):
        """As somebody else would; the path that it got."""
        def create():
            made = self.tree.create(self.tree.tick(), session, path, data,
                                    flags)
            self.fire()
            return made
        return self.loop.do(create)

    def expire(self, session=None):
        """One session, or all: their nodes go, their connections end."""
        def expire():
            for one in [session] if session else list(self.sessions.values()):
                self.finish(one)
                if one.connection:
                    one.connection.end()
        self.loop.do(expire)

    def cut(self):
        """Every connection, by reset."""
        self.loop.do(lambda: [c.end() for c in list(self.connections)])

    # ---- requests

    def handle(self, request):
        self.requests.append(request)
        if self.script:
            self.script(request)
        if not request.handled:
            request.answer()

    def apply(self, request):
        if request.op == "connect":
            return jute.OK, self.connect(request)
        session = request.session
        if not session.alive:
            request.connection.end_after_answer()
            return jute.SESSION_EXPIRED, b""
        try:
            payload = self.perform(request.op, request.fields, request)
            return jute.OK, payload
        except Failure as failure:
            return failure.code, b""
        finally:
            self.fire()

    def connect(self, request):
        wanted = request.fields
        session = self.sessions.get(wanted["session"])
        connection = request.connection
        least, most = self.timeouts
        timeout_ms = min(max(wanted["timeout_ms"], least), most)
        if wanted["session"] and not (
                session and session.alive and
                session.password == wanted["password"]):
            connection.end_after_answer()
            return (jute.Writer().int(0).int(0).long(0).buffer(bytes(16))
                    .bool(False).bytes)
        if session:
            if session.connection:
                session.connection.end()  # it moved
            session.timeout_ms = timeout_ms
        else:
            number = 0x100000000000 + len(self.sessions) + 1
            session = Session(number, struct.pack(">qq", number, number),
                              timeout_ms)
            self.sessions[number] = session
            self.tree.tick()
        session.connection = connection
        connection.session = session
        return (jute.Writer().int(0).int(timeout_ms).long(session.number)
                .buffer(session.password).bool(False).bytes)

    def finish(self, session):
        if session.alive:
            session.alive = False
            self.tree.end(self.tree.tick(), session.number)
            self.fire()

    def perform(self, op, fields, request):
        """The payload of the answer."""
        if op == "closeSession":
            self.finish(request.session)
            request.connection.end_after_answer()
            return b""
        if op in WRITES:
            return self.write(op, fields, request.session.number)
        if op in ("exists", "getData", "getChildren", "getChildren2"):
            return self.read(op, fields, request.connection)
        if op == "sync":
            return jute.Writer().string(fields["path"]).bytes
        if op in ("setWatches", "setWatches2"):
            self.set_watches(fields, request.connection)
            return b""
        if op in ("ping", "auth"):
            return b""
        raise Failure(jute.UNIMPLEMENTED)

    def write(self, op, fields, session):
        zxid = self.tree.tick()
        if op == "multi":
            outcome, results = self.tree.multi(zxid, session, fields["ops"])
            return self.multi_payload(outcome, results)
        result = self.tree.one(zxid, session, op, fields)
        return self.payload(op, result).bytes

    def payload(self, op, result):
        writer = jute.Writer()
        if op in CREATES:
            writer.string(result)
            if op != "create":
                writer.stat(self.tree.nodes[result].stat())
        if op == "setData":
            writer.stat(result)
        return writer

    def multi_payload(self, outcome, results):
        writer = jute.Writer()
        for result in results:
            if outcome == "failed":
                writer.int(jute.OPS["error"]).bool(False).int(result)
                writer.int(result)
            else:
                op, value = result
                writer.int(jute.OPS[op]).bool(False).int(0)
                writer.bytes += self.payload(op, value).bytes
        return writer.int(-1).bool(True).int(-1).bytes

    def read(self, op, fields, connection):
        path, watch = fields["path"], fields["watch"]
        node = self.tree.nodes.get(path)
        if watch and node:
            kind = "child" if op.startswith("getChildren") else "data"
            connection.watches[kind].add(path)
        elif watch and op == "exists":
            connection.watches["exists"].add(path)
        if not node:
            raise Failure(jute.NO_NODE)
        writer = jute.Writer()
        if op == "getData":
            writer.buffer(node.data)
        elif op != "exists":
            writer.strings(sorted(node.children))
        return (writer if op == "getChildren" else
                writer.stat(node.stat())).bytes

    # ---- watches

    def fire(self):
        """Send what the last transactions fired, each watch once."""
        fired, self.tree.fired = self.tree.fired, []
        for kind, path in fired:
            for connection in list(self.connections):
                self.notify(connection, kind, path)

    def notify(self, connection, kind, path):
        sets = {jute.CREATED: ("exists",), jute.CHANGED: ("data",),
                jute.CHILDREN_CHANGED: ("child",),
                jute.DELETED: ("data", "child", "exists")}[kind]
        hit = False
        for name in sets:
            hit = hit or path in connection.watches[name]
            connection.watches[name].discard(path)
        if hit:
            self.send_event(connection, kind, path)

    def send_event(self, connection, kind, path):
        connection.send(jute.frame(
            jute.Writer().int(jute.XID_WATCH).long(-1).int(0)
            .int(kind).int(jute.SYNC_CONNECTED).string(path).bytes))

    def set_watches(self, fields, connection):
        """Set again, or fire for what happened since fields["zxid"]."""
        for name in ("data", "exists", "child"):
            for path in fields[name]:
                node = self.tree.nodes.get(path)
                kind = self.missed(name, node, fields["zxid"])
                if kind:
                    self.send_event(connection, kind, path)
                else:
                    connection.watches[name].add(path)

    def missed(self, name, node, zxid):
        if name == "exists":
            return jute.CREATED if node else None
        if not node:
            return jute.DELETED
        if name == "data":
            return jute.CHANGED if node.mzxid > zxid else None
        return jute.CHILDREN_CHANGED if node.pzxid > zxid else None
