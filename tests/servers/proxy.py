# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy whose two directions can each be made to fail."""

import collections
import errno
import selectors
import socket

import machine
import waiting
from loop import Loop, listen, reset

# What a direction does with the bytes that come in.
PASS = "pass"  # hands them on
HOLD = "hold"  # keeps them, and the end of the connection, until it passes
DROP = "drop"  # forgets them; who lost bytes is cut when it passes again

UP, DOWN = "up", "down"  # from the client to the server, and back
BOTH = (UP, DOWN)

# More than this is left in the sender's socket.
BUFFER_BYTES = 16 << 20


class Way:
    """One direction of one connection."""

    def __init__(self, name, source, sink):
        self.name = name
        self.source = source
        self.sink = sink
        self.queue = collections.deque()  # (due at, bytes; b"" is the end)
        self.bytes = 0
        self.read_end = False
        self.deaf = False  # the sink is gone, and the source must not know
        self.lost = False  # bytes, or the end of the source

    def put(self, data, due_ms):
        self.queue.append((due_ms, data))
        self.bytes += len(data)
        self.read_end = self.read_end or not data


class Connection:
    def __init__(self, client, server):
        self.client = client
        self.server = server
        self.connected = False
        self.ways = {client: Way(UP, client, server),
                     server: Way(DOWN, server, client)}

    def back(self, way):
        """The other direction."""
        return self.ways[way.sink]


class Proxy:
    """Listens on .port (a machine.Port; a new one by default) for connections
    to ("127.0.0.1", target).  All methods are safe from any thread and have
    taken effect when they return."""

    def __init__(self, target, port=None):
        self.target = target
        self.claim = port or machine.Port()
        self.port = self.claim.number
        self.mode = {UP: PASS, DOWN: PASS}
        self.delay_ms = {UP: 0, DOWN: 0}
        self.bytes = {UP: 0, DOWN: 0}
        self.accepted = 0
        self.connections = set()
        self.listener = None
        self.loop = Loop()
        self.do = self.loop.do
        self.do(self.listen)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- what a test says

    def set(self, mode, directions=BOTH):
        """PASS, HOLD or DROP from now on, on connections old and new."""
        self.do(lambda: self.change(mode, directions))

    def hold(self, *directions):
        self.set(HOLD, directions or BOTH)

    def drop(self, *directions):
        self.set(DROP, directions or BOTH)

    def thaw(self, *directions):
        """Pass again, what was held first."""
        self.set(PASS, directions or BOTH)

    def delay(self, ms, directions=BOTH):
        """Hand on what comes from now on this much later."""
        def change():
            for direction in directions:
                self.delay_ms[direction] = ms
        self.do(change)

    def cut(self):
        """Reset every connection; new ones are welcome."""
        self.do(lambda: [self.end(c) for c in list(self.connections)])

    def refuse(self, refusing=True):
        """Refuse new connections; old ones go on."""
        self.do(self.deafen if refusing else self.listen)

    def close(self):
        if self.loop.running:
            self.cut()
            self.do(self.deafen)
            self.loop.stop()
            self.claim.close()
            if self.loop.failures:
                raise self.loop.failures[0]

    def waiting(self, direction):
        """How many bytes came and were not handed on, on all connections."""
        return self.do(lambda: sum(
            len(data) for c in self.connections for way in c.ways.values()
            if way.name == direction for _, data in way.queue))

    def links(self):
        return self.do(lambda: len(self.connections))

    # ---- connections, on the loop's thread

    def listen(self):
        if not self.listener:
            self.listener = listen(self.port)
            self.loop.watch(self.listener, selectors.EVENT_READ,
                            lambda _: self.accept())

    def deafen(self):
        if self.listener:
            self.loop.watch(self.listener, 0, None)
            self.listener.close()
            self.listener = None

    def accept(self):
        try:
            client, _ = self.listener.accept()
        except OSError:
            return
        server = socket.socket()
        for link in (client, server):
            link.setblocking(False)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.accepted += 1
        connection = Connection(client, server)
        self.connections.add(connection)
        error = server.connect_ex(("127.0.0.1", self.target))
        if error not in (0, errno.EINPROGRESS):
            self.fail(connection)
        else:
            self.watch(connection)

    def fail(self, connection):
        """The server cannot be reached."""
        connection.connected = True
        self.sink_gone(connection, connection.ways[connection.client])
        self.flush(connection)

    def sink_gone(self, connection, way):
        """The RST that the sink would send goes its way like all bytes."""
        back = connection.back(way)
        if self.mode[back.name] == PASS:
            self.end(connection)
            return
        way.deaf = back.read_end = back.lost = True
        way.queue.clear()

    def end(self, connection, close=reset):
        self.connections.discard(connection)
        for link in connection.ways:
            self.loop.watch(link, 0, None)
            close(link)

    def watch(self, connection):
        """Ask for what can be worked on now, and for nothing else."""
        wanted = dict.fromkeys(connection.ways, 0)
        for way in connection.ways.values():
            full = sum(len(d) for _, d in way.queue) >= BUFFER_BYTES
            if not way.read_end and not full:
                wanted[way.source] |= selectors.EVENT_READ
            if self.is_due(way):
                wanted[way.sink] |= selectors.EVENT_WRITE
        if not connection.connected:
            wanted[connection.server] = selectors.EVENT_WRITE
        for link, events in wanted.items():
            self.loop.watch(link, events,
                            lambda events, link=link:
                            self.serve(connection, link, events))

    def is_due(self, way):
        return (way.queue and self.mode[way.name] == PASS and
                way.queue[0][0] <= waiting.now_ms())

    def serve(self, connection, link, events):
        if not connection.connected and link is connection.server:
            if link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self.fail(connection)
                return
            connection.connected = True
        elif events & selectors.EVENT_READ:
            if not self.read(connection.ways[link]):
                self.end(connection)
                return
        self.flush(connection)

    def read(self, way):
        """False when the connection is to be reset."""
        try:
            data = way.source.recv(65536)
        except BlockingIOError:
            return True
        except OSError:
            # A reset travels like everything else: not through a hole.
            data = b""
            if self.mode[way.name] == PASS and not way.queue:
                return False
        self.bytes[way.name] += len(data)
        if self.mode[way.name] == DROP:
            way.lost = True
            way.read_end = not data
        elif way.deaf:
            way.read_end = not data
        else:
            self.arrived(way, data)
        return True

    def arrived(self, way, data):
        """Bytes that are to go on, or b"", which is the end of them."""
        way.put(data, waiting.now_ms() + self.delay_ms[way.name])

    def flush(self, connection):
        if connection not in self.connections:
            return
        if not connection.connected:
            self.watch(connection)
            return
        for way in connection.ways.values():
            while connection in self.connections and self.is_due(way):
                if not self.hand_on(connection, way):
                    break
            self.set_timer(connection, way)
        ways = connection.ways.values()
        if connection not in self.connections:
            return
        if all(way.read_end and not way.queue for way in ways) and \
                not any(way.lost for way in ways):
            self.end(connection, socket.socket.close)
        else:
            self.watch(connection)

    def hand_on(self, connection, way):
        """The first bytes of the queue; False when the sink takes no more."""
        due, data = way.queue.popleft()
        try:
            if not data:
                way.sink.shutdown(socket.SHUT_WR)
                return True
            sent = way.sink.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.sink_gone(connection, way)
            return False
        if sent < len(data):
            way.queue.appendleft((due, data[sent:]))
        return sent == len(data)

    def set_timer(self, connection, way):
        if way.queue and way.queue[0][0] > waiting.now_ms():
            self.loop.at(way.queue[0][0], lambda: self.flush(connection))

    def change(self, mode, directions):
        for direction in directions:
            self.mode[direction] = mode
        for connection in list(self.connections):
            if any(way.lost and self.mode[way.name] == PASS
                   for way in connection.ways.values()):
                self.end(connection)
            else:
                self.flush(connection)
