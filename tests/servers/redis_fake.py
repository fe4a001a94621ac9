# SPDX-License-Identifier: Apache-2.0
"""A Redis server that lies: in front of a real one, which is asked the same, and
whose replies a test changes."""

import socket
import socketserver
import threading

# Replies of which the end never comes: how they begin, and what follows for ever.
ENDLESS = {
    "an endless text": (b"$9000000000\r\n", 8192 * b"x"),
    "an endless line": (b"+", 8192 * b"x"),
    "an endless list": (b"*1000000000\r\n", 2048 * b":1\r\n"),
    "endless depth": (b"", 2048 * b"*1\r\n"),
    "endless replies": (b"", 2048 * b":1\r\n"),
    "endless lists": (b"", 8 * (b"*256\r\n" + 256 * b"*0\r\n")),
    "nothing": (b"", b""),
}


class Endless(Exception):
    """The reply is one of ENDLESS."""


def encode(reply):
    """The bytes of a reply: None, an integer, bytes, an exception or a list."""
    if reply is None:
        return b"$-1\r\n"
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if isinstance(reply, str):
        return b"+%s\r\n" % reply.encode()
    if isinstance(reply, Exception):
        return b"-%s\r\n" % str(reply).encode()
    if isinstance(reply, list):
        return b"*%d\r\n" % len(reply) + b"".join(map(encode, reply))
    return b"$%d\r\n%s\r\n" % (len(reply), reply)


def decode(file):
    """The next reply, or command, of a connection.  A status is a str."""
    line = file.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("the end")
    kind, rest = line[:1], line[1:-2]
    if kind == b"$":
        count = int(rest)
        return None if count < 0 else file.read(count + 2)[:-2]
    if kind == b"*":
        return [decode(file) for _ in range(max(int(rest), 0))]
    if kind == b":":
        return int(rest)
    return Exception(rest.decode()) if kind == b"-" else rest.decode()


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            with socket.create_connection(
                    ("127.0.0.1", self.server.target)) as real, \
                    real.makefile("rb") as replies:
                self.serve(real, replies)
        except OSError:
            pass

    def serve(self, real, replies):
        while True:
            words = decode(self.rfile)
            real.sendall(encode(words))
            if words[0].upper() == b"SUBSCRIBE":
                self.relay(real, replies)
                return
            reply = decode(replies)
            try:
                self.wfile.write(encode(self.server.lie(words, reply)))
            except Endless as lie:
                begin, rest = ENDLESS[str(lie)]
                self.wfile.write(begin)
                while rest:
                    self.wfile.write(rest)

    def relay(self, real, replies):
        """Notices, and the PINGs among them, are passed on as they are."""
        def up():
            try:
                while data := self.rfile.read1(65536):
                    real.sendall(data)
                real.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        thread = threading.Thread(target=up, daemon=True)
        thread.start()
        while data := replies.read1(65536):
            self.wfile.write(data)


class RedisFake(socketserver.ThreadingTCPServer):
    """A context manager.  .lie(words, reply) returns the reply to a command, or
    raises Endless(NAME)."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, target, lie=lambda words, reply: reply):
        super().__init__(("127.0.0.1", 0), Handler)
        self.target = target
        self.lie = lie
        self.port = self.server_address[1]
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def address(self):
        return "127.0.0.1:%d" % self.port

    def close(self):
        self.shutdown()
        self.server_close()
