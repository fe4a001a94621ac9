# SPDX-License-Identifier: Apache-2.0
"""holdfast doctor and servers that lie: whatever they answer to what it asks, it
ends, takes memory that is bounded, and prints nothing that steers a terminal.

    test_doctor_lies.py [ZooKeeper] [Redis] [PostgreSql]
"""

import os
import socket
import socketserver
import struct
import subprocess
import sys
import threading

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import jute  # noqa: E402
import postgres  # noqa: E402
import redis_server  # noqa: E402
from fake import Fake  # noqa: E402
from redis_fake import ENDLESS, Endless, RedisFake  # noqa: E402

MEMORY_KIB = 300 << 10
OUTPUT_BYTES = 1 << 20
# A command for a terminal, one of C1, marks that reverse text or are not seen.
EVIL = "\033]0;owned\a\033[2J\u009b31m\u202e\u200b\r\b" + "x" * 600


class Case(harness.Case):
    def examine(self, what, wait="3s", status=(0, 1, 2)):
        """doctor, which waits so long for each answer, ends with such a status;
        its output."""
        path = os.path.join(self.directory, "output")
        ended, err, memory = self.run_measured(
            "doctor", "-w", wait, output=path)
        with open(path, encoding="utf-8") as file:
            out = file.read()
        print("%s: %d, %d MiB, %d bytes" % (what, ended, memory >> 10,
                                            len(out)), file=sys.stderr)
        self.assertIn(ended, status, err)
        self.assertLess(memory, MEMORY_KIB)
        self.assertLess(len(out) + len(err), OUTPUT_BYTES)
        for line in (out + err).split("\n"):
            self.assertTrue(line.isprintable(), ascii(line))
        return out


# ---------------------------------------------------------------- ZooKeeper --

STAT = jute.Stat(1, 1, 0, 0, 0, 0, 0, 0, 0, 3, 1)
SRVR = b"Zookeeper version: 3.8.0-1, built\nMode: follower\n"


def names(*words):
    return jute.Writer().strings(words).bytes


def many(count, name):
    """One name many times, which costs a server that lies nothing."""
    return struct.pack(">i", count) + count * names(name)[4:]


class ZooKeeper(Case):
    def setUp(self):
        super().setUp()
        self.fake = Fake(self.script)
        self.addCleanup(self.fake.close)
        self.environment["HOLDFAST_URL"] = "zk://%s?timeout=30s" % (
            self.fake.address())
        self.honest()

    def honest(self):
        self.fake.srvr = SRVR
        self.children = names()
        self.endless = False  # only the root has children
        self.config = b"server.1=a:1:2:participant;3\nversion=0\n"
        self.stat = STAT
        self.acl = jute.Writer().acls([jute.Acl(31, "world", "anyone")]).bytes

    def script(self, request):
        stat = jute.Writer().stat(self.stat).bytes
        children = self.children
        if not self.endless and request.fields.get("path") != "/":
            children = names()
        if request.op == "getChildren":
            request.reply(payload=children)
        elif request.op == "getChildren2":
            request.reply(payload=children + stat)
        elif request.op == "exists":
            request.reply(payload=stat)
        elif request.op == "getData":
            request.reply(payload=jute.Writer().buffer(self.config).bytes + stat)
        elif request.op == "getACL":
            request.reply(payload=self.acl + stat)

    def test_what_srvr_answers(self):
        for what, answer in (
                ("nothing", b""),
                ("without an end", (4 << 20) * b"x"),
                ("a version without an end",
                 b"Zookeeper version: " + (4 << 20) * b"9"),
                ("an evil one", ("Zookeeper version: %s, built\nMode: %s\n" % (
                    EVIL, EVIL)).encode()),
                ("NULs", SRVR[:19] + (1 << 20) * b"\0" + SRVR)):
            with self.subTest(what):
                self.fake.srvr = answer
                self.examine(what, "10s")

    def test_names(self):
        ticket = "_c_00000000-0000-4000-8000-000000000000-lock-%010d"
        self.endless = True
        self.children = names("x" * 500)
        self.examine("an endless tree", "20s")
        self.endless = False
        for what, self.children in (
                ("thousands", names(*("%0100d" % i for i in range(8000)))),
                ("millions", many(3000000, "x" * 6)),
                ("an evil one", names(EVIL, "a")),
                ("tickets", names(*(ticket % i for i in range(20000)))),
                ("evil tickets", names(*(EVIL[:30] + ticket % i
                                         for i in range(100)))),
                ("a count below 0", struct.pack(">i", -7)),
                ("a count beyond", struct.pack(">i", 0x7fffffff))):
            with self.subTest(what):
                self.examine(what)

    def test_the_configuration(self):
        for what, self.config in (
                ("fifty thousand servers", 50000 * b"server.1=:observer\n"),
                ("an evil one", EVIL.encode() + b"\nserver.1=" + EVIL.encode()),
                ("NULs", (1 << 20) * b"\0")):
            with self.subTest(what):
                self.examine(what)

    def test_access_lists(self):
        for what, count, entry in (
                ("evil", 1, jute.Acl(31, EVIL, EVIL)),
                ("fifty thousand", 50000, jute.Acl(31, "ip", "x")),
                ("numbers", 1, jute.Acl(-1, "world", "anyone"))):
            with self.subTest(what):
                one = jute.Writer().acls([entry]).bytes[4:]
                self.acl = struct.pack(">i", count) + count * one
                self.examine(what)

    def test_numbers(self):
        for number in (-1, 2 ** 31 - 1, -2 ** 31):
            with self.subTest(number):
                self.children = names("a", "b")
                self.stat = jute.Stat(*([number] * len(STAT)))
                self.examine("stat of %d" % number)
        for least, most in ((-5, 10), (2 ** 31 - 1, 2 ** 31 - 1), (0, 0)):
            with self.subTest(least=least):
                self.honest()
                self.fake.timeouts = (least, most)
                self.examine("timeouts of %d to %d" % (least, most))


# -------------------------------------------------------------------- Redis --

def evil_info(reply):
    """INFO with evil in each value that is no number."""
    lines = []
    for line in reply.decode().split("\r\n"):
        key, colon, value = line.partition(":")
        # With another policy or role the client does not connect.
        if colon and not value.isdigit() and key not in (
                "maxmemory_policy", "role", "redis_mode", "run_id",
                "redis_version"):
            value = EVIL.replace("\r", "")
        if key == "redis_version":
            value += EVIL.replace("\r", "")
        lines.append(key + colon + value)
    return "\r\n".join(lines).encode()


class Redis(Case):
    WORDS = b"INFO", b"TIME", b"CONFIG", b"SCRIPT", b"EVALSHA", b"SCAN"

    @classmethod
    def setUpClass(cls):
        cls.server = redis_server.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def setUp(self):
        super().setUp()
        self.fake = RedisFake(self.server.port)
        self.addCleanup(self.fake.close)
        self.environment["HOLDFAST_URL"] = "redis://" + self.fake.address()

    def lie_later(self, word, lie):
        """Lie about the replies to a command, but not while a link is made: to
        our server, and for a look at the address."""
        honest = 2 if word in (b"INFO", b"TIME", b"SCRIPT") else 0

        def answer(words, reply):
            nonlocal honest
            if words[0] != word:
                return reply
            honest -= 1
            return lie(reply) if honest < 0 else reply
        self.fake.lie = answer

    def endless(self, name):
        def lie(_):
            raise Endless(name)
        return lie

    def test_without_an_end(self):
        for name in ENDLESS:
            for word in self.WORDS:
                with self.subTest(name, word=word):
                    self.lie_later(word, self.endless(name))
                    self.examine("%s to %s" % (name, word.decode()), "1s")

    def test_without_an_end_from_the_beginning(self):
        for name in ENDLESS:
            with self.subTest(name):
                self.fake.lie = lambda words, reply, lie=self.endless(name): (
                    lie(reply))
                self.assertIn("error", self.examine(name, status=[2]))

    def test_large_ones(self):
        info = b"# x\r\n" + 100000 * (b"x" * 130 + b":1\r\n")
        for word, reply in (
                (b"INFO", info + b"redis_version:7.0.0\r\n"),
                (b"INFO", (15 << 20) * b"\n"),
                (b"CONFIG", 60000 * [b"x" * 100]),
                (b"EVALSHA", 60000 * [b"x" * 100]),
                (b"EVALSHA", [1, 1, (15 << 20) * b"x", b""])):
            with self.subTest(word):
                self.lie_later(word, lambda _, lie=reply: lie)
                self.examine("a large %s" % word.decode())

    def test_evil_ones(self):
        evil = EVIL.encode()
        line = EVIL.replace("\r", "")
        self.lie_later(b"INFO", evil_info)
        self.assertIn("redis-version", self.examine("INFO"))
        self.fake.lie = lambda words, reply: (
            evil_info(reply) if words[0] == b"INFO" else reply)
        self.examine("INFO of the link")
        self.lie_later(b"CONFIG", lambda _: [b"appendfsync", evil])
        self.examine("CONFIG")
        self.lie_later(b"EVALSHA", lambda _: [20, 20, evil, evil])
        self.examine("rights")
        for word in self.WORDS:
            with self.subTest(word):
                self.lie_later(word, lambda _: Exception("ERR " + line))
                self.examine("an error for " + word.decode())
        self.fake.lie = lambda words, reply: Exception("NOPERM " + line)
        self.examine("errors from the beginning", status=[2])

    def test_numbers(self):
        for number in (-1, 2 ** 63 - 1, -2 ** 63):
            with self.subTest(number):
                self.lie_later(b"TIME", lambda _: [b"%d" % number] * 2)
                self.examine("a clock of %d" % number)
                self.lie_later(b"EVALSHA", lambda _: [number, number, b"", b""])
                self.examine("rights of %d" % number)


# --------------------------------------------------------------- PostgreSQL --

def message(kind, body):
    return kind + struct.pack(">i", len(body) + 4) + body


def row(*values):
    return message(b"D", struct.pack(">h", len(values)) + b"".join(
        struct.pack(">i", -1) if value is None
        else struct.pack(">i", len(value)) + value for value in values))


def values_of(body):
    count, = struct.unpack(">h", body[:2])
    body = body[2:]
    values = []
    for _ in range(count):
        size, = struct.unpack(">i", body[:4])
        values.append(None if size < 0 else body[4:4 + size])
        body = body[4 + max(size, 0):]
    return values


def fields(**values):
    """The body of an error or a notice."""
    return b"".join(key.encode() + value.encode() + b"\0"
                    for key, value in values.items()) + b"\0"


class PostgresHandler(socketserver.StreamRequestHandler):
    """Passes messages on, and lets .server.lie() send what it wants in place of
    the first row that the examination gets."""

    def handle(self):
        self.examined = False
        try:
            with socket.create_connection(
                    ("127.0.0.1", self.server.target)) as real, \
                    real.makefile("rb") as answers:
                thread = threading.Thread(target=self.pass_up, args=[real],
                                          daemon=True)
                thread.start()
                self.pass_down(answers)
        except OSError:
            pass

    def pass_up(self, real):
        try:
            while data := self.rfile.read1(1 << 20):
                self.examined = self.examined or b"postgres-version" in data
                real.sendall(data)
            real.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def pass_down(self, answers):
        while head := answers.read(5):
            body = answers.read(struct.unpack(">i", head[1:])[0] - 4)
            if head[:1] == b"D" and self.examined:
                values = values_of(body)
                # The head of the answer is true, and ends its own row.
                if values[9] is not None:
                    self.server.lie(self.wfile.write, values)
                    continue
            self.wfile.write(head + body)


class PostgreSql(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        cls.addClassCleanup(cls.server.close)
        subprocess.run(
            [harness.TOOL, "run", "first", "--", "true"], check=True,
            env=dict(os.environ, HOLDFAST_URL=cls.server.url()),
            timeout=waiting.LIMIT_S)

    def setUp(self):
        super().setUp()
        self.fake = socketserver.ThreadingTCPServer(
            ("127.0.0.1", 0), PostgresHandler)
        self.fake.daemon_threads, self.fake.block_on_close = True, False
        self.fake.target = self.server.port
        threading.Thread(target=self.fake.serve_forever, daemon=True).start()
        self.addCleanup(self.fake.server_close)
        self.addCleanup(self.fake.shutdown)
        self.environment["HOLDFAST_URL"] = (
            "postgresql://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable" % (
                self.server.password, self.fake.server_address[1]))

    def lie(self, what, lie):
        with self.subTest(what):
            self.fake.lie = lie
            return self.examine(what)
        return ""

    @staticmethod
    def for_ever(data):
        def lie(send, _):
            while True:
                send(data)
        return lie

    def test_honest(self):
        out = self.lie("the truth", lambda send, values: send(row(*values)))
        self.assertIn("postgres-version", out)

    def test_without_an_end(self):
        def rows(send, values):
            data = 1000 * row(*values)
            while True:
                send(data)
        self.lie("rows", rows)
        self.lie("empty rows", self.for_ever(1000 * row(*14 * [None])))
        def long_row(send, _):
            send(b"D" + struct.pack(">i", 1 << 26))
            while True:
                send((1 << 16) * b"x")
        self.lie("one row", long_row)
        self.lie("notices", self.for_ever(100 * message(b"N", fields(
            S="NOTICE", C="00000", M="x" * 100))))
        self.lie("notifications", self.for_ever(100 * message(
            b"A", struct.pack(">i", 7) + b"holdfast\0" + 100 * b"x" + b"\0")))

        def parameters(send, _):
            number = 0
            while True:
                number += 1
                send(message(b"S", b"p%d\0%s\0" % (number, 1000 * b"x")))
        self.lie("parameters", parameters)

    def test_evil_ones(self):
        evil = EVIL.encode()

        def of(text, kind=b"\0\0\0\4"):
            def lie(send, values):
                changed = list(values)
                changed[7], changed[9] = kind, text
                send(row(*changed))
            return lie
        out = self.lie("a finding", of(b"\x1f".join(3 * [evil])))
        self.assertIn("owned", out)
        self.lie("without parts", of(evil))
        self.lie("many parts", of(b"\x1f".join(100000 * [b"x"])))
        self.lie("a large one", of((15 << 20) * b"x"))
        self.lie("a severity beyond", of(b"a\x1fb\x1fc", b"\x7f\xff\xff\xff"))
        self.lie("a severity below 0", of(b"a\x1fb\x1fc", b"\xff\xff\xff\xff"))
        self.lie("an error", lambda send, _: send(message(b"E", fields(
            S="ERROR", C="XX000", M=EVIL, D=EVIL, H=EVIL))))
        self.lie("an end", lambda send, _: send(message(b"E", fields(
            S="FATAL", C="57P01", M=EVIL))))


if __name__ == "__main__":
    harness.main()
