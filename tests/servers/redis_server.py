# SPDX-License-Identifier: Apache-2.0
"""A real Redis server on a free port of 127.0.0.1 and in a directory of its
own.  Debian's package redis-tools has the program too, under another name and
without a service that would be started."""

import os
import re
import shutil
import signal
import socket
import subprocess

import machine
import waiting
from certificates import Certificates

PROGRAMS = ["/usr/bin/redis-server", "/usr/bin/redis-check-rdb"]


class ReplyError(Exception):
    """The server answered with an error."""


class Client:
    """One connection, one command at a time."""

    def __init__(self, port, timeout_s=None):
        self.socket = socket.create_connection(
            ("127.0.0.1", port), timeout_s or waiting.LIMIT_S)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word) for word in words))

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server has closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise ReplyError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$" and int(rest) >= 0:
            return self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*" and int(rest) >= 0:
            return [self.read() for _ in range(int(rest))]
        return None if kind in b"$*" else rest.decode()

    def ask(self, *words):
        self.send(*words)
        return self.read()


def tickets(client, name):
    """The ids of the tickets of a lock: they are in the queue, or one alone
    behind its sequence (src/engines/redis/uncontended.lua)."""
    last = client.ask("GET", "holdfast:{%s}:last" % name) or ""
    if last.startswith("2 "):
        return last.split(" ")[3:4]
    return client.ask("ZRANGE", "holdfast:{%s}:queue" % name, 0, -1)


class Server:
    """One process.  Not started when made.  A context manager, which removes
    everything.  config are lines of redis.conf; tls adds a port on which
    clients must show a certificate."""

    def __init__(self, config=(), tls=False, environment=None):
        self.directory = machine.directory()
        self.claim = machine.Port()
        self.tls_claim = machine.Port() if tls else None
        self.port = self.claim.number
        self.socket = os.path.join(self.directory, "redis.sock")
        self.config = list(config)
        self.arguments = []  # of the program, behind the file
        self.environment = dict(os.environ, **(environment or {}))
        if tls:
            self.add_tls()
        self.process = None
        self.starts = 0

    def add_tls(self):
        self.certificates = Certificates(self.directory)
        self.config += [
            "tls-port %d" % self.tls_claim.number,
            "tls-cert-file " + self.certificates.path("server.pem"),
            "tls-key-file " + self.certificates.path("server.key"),
            "tls-ca-cert-file " + self.certificates.path("ca.pem")]

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    # ---- life

    def program(self):
        """It looks at the name it is called by."""
        for program in PROGRAMS:
            if os.path.exists(program):
                link = os.path.join(self.directory, "redis-server")
                if not os.path.exists(link):
                    os.symlink(program, link)
                return link
        raise SystemExit("no %s; is redis-tools installed?" % PROGRAMS[1])

    def launch(self):
        """Start the process and do not wait until it serves."""
        path = os.path.join(self.directory, "redis.conf")
        with open(path, "w") as file:
            file.write("\n".join([
                "bind 127.0.0.1", "port %d" % self.port,
                "unixsocket " + self.socket, "dir " + self.directory,
                'save ""', *self.config, ""]))
        self.starts += 1
        with open(self.log_path(), "w") as log:
            self.process = machine.Process(
                [self.program(), path, *self.arguments], stdout=log, stderr=subprocess.STDOUT,
                env=self.environment)

    def start(self):
        self.launch()
        self.wait()

    def wait(self):
        """Until it serves."""
        def serves():
            if not self.process.is_alive():
                raise AssertionError("the server died:\n" + self.log())
            try:
                with Client(self.port) as client:
                    client.send("PING")
                    return client.file.readline()[:5] in (b"+PONG", b"-NOAU")
            except OSError:
                return False
        waiting.eventually("Redis to serve", serves)

    def kill(self):
        """kill -9."""
        if self.process:
            self.process.kill()

    def stop(self):
        """SIGTERM, and wait for its end."""
        self.process.signal(signal.SIGTERM)
        self.process.popen.wait(waiting.LIMIT_S)

    def restart(self):
        """On the same port, with what data is on disk."""
        self.kill()
        self.start()

    def freeze(self):
        self.process.freeze()

    def thaw(self):
        self.process.thaw()

    def close(self):
        self.kill()
        self.claim.close()
        if self.tls_claim:
            self.tls_claim.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- what it says

    def address(self):
        return "127.0.0.1:%d" % self.port

    def url(self, path="/0", options=""):
        return "redis://%s%s%s" % (self.address(), path, options)

    def tls_url(self, **files):
        """Files of Certificates, by option."""
        return "rediss://127.0.0.1:%d/0?%s" % (self.tls_claim.number, "&".join(
            "%s=%s" % (option, self.certificates.path(name))
            for option, name in files.items()))

    def client(self):
        return Client(self.port)

    def log_path(self):
        return os.path.join(self.directory, "log.%d" % self.starts)

    def log(self):
        with open(self.log_path()) as file:
            return file.read()

    def calls(self):
        """How often each command was called, those of scripts included."""
        with self.client() as client:
            lines = client.ask("INFO", "commandstats").splitlines()
        found = {}
        for line in lines:
            if line.startswith("cmdstat_"):
                name, _, rest = line[len("cmdstat_"):].partition(":")
                found[name] = int(rest.split(",")[0].partition("=")[2])
        return found

    def usec(self, command):
        """The microseconds of all calls of this command."""
        with self.client() as client:
            text = client.ask("INFO", "commandstats")
        return int(re.search(r"cmdstat_%s:calls=\d+,usec=(\d+)" % command,
                             text).group(1))


class Several:
    """Servers that know nothing of each other, as one for quorum: URLs.  Not
    started when made.  A context manager, which removes everything."""

    def __init__(self, count, **options):
        self.servers = [Server(**options) for _ in range(count)]

    def __enter__(self):
        try:
            for server in self.servers:
                server.launch()
            for server in self.servers:
                server.wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for server in self.servers:
            server.close()

    def url(self, options="", addresses=None):
        """addresses: by which they are reached instead."""
        return "quorum:%s%s" % (",".join(
            "redis://%s/0" % address for address in addresses or
            [server.address() for server in self.servers]), options)
