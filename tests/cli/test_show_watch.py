# SPDX-License-Identifier: Apache-2.0
"""holdfast show --watch: who comes, who is granted, who goes, as soon as it
happens; and that a server does not notice it, however many wait."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.request
import uuid

import engines
import harness
import jute
from harness import waiting
from proxy import DOWN, UP, Proxy

# In a ctest; HF_LONG=1 has the ten thousand of the requirement.
LONG = os.environ.get("HF_LONG") == "1"
WAITERS = 10000 if LONG else 1200
MEASURED_S = 60 if LONG else 12

# Holders that do not stay.
SHORT = 20

# The limits: requests a second, and the bytes of a ticket in a list and of its
# text.
REQUESTS, LIST_BYTES, TEXT_BYTES = 2, 250, 300
# Texts that are read with one list; lists are made besides that for one more,
# twice for each: to watch, and for people.
TEXTS, OTHER_LISTS = 1000, 6


class Watching:
    """A mixin for a harness.Case that has .url: what each test needs."""

    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_URL"] = self.url()
        self.name = "lock-" + uuid.uuid4().hex[:8]

    def watch(self, *options, url=None, stdout=subprocess.PIPE):
        process = subprocess.Popen(
            [harness.TOOL, "show", "--watch", *options, "-c", url or self.url(),
             self.name], stdout=stdout, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL, env=self.environment, process_group=0)
        self.started.append(process)
        return process

    def line(self, process, pattern):
        """The next line, which has to match; but what it says of its
        connection, and of gaps, may come in between, on a machine that is
        busy."""
        line = waiting.read_line(process)
        while (re.search(r"Z (suspended:|resumed$|gap:)", line) and
               not re.search(pattern, line)):
            line = waiting.read_line(process)
        self.assertRegex(line, pattern)
        return line

    def event(self, process):
        """The next event, without those of its connection, and gaps."""
        while True:
            found = json.loads(waiting.read_line(process))
            if found["event"] not in ("suspended", "resumed", "gap"):
                return found

    def end(self, process):
        """Ctrl-C ends it at once, as it ends any program."""
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=waiting.LIMIT_S)
        self.assertEqual((process.returncode, err), (-signal.SIGINT, ""))
        return out


class EachEngine(Watching):
    def test_come_granted_and_gone(self):
        holder = self.holder(name=self.name)
        watch, as_json = self.watch(), self.watch("--json")
        when = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ "
        self.line(watch, when + r"there   holds  \w+ +\d+ holdfast \(pid \d+ "
                  r"on \S+\): sh -c$")
        self.assertEqual(self.event(as_json)["event"], "there")
        waiter = self.start(self.name, "--", "true")
        self.line(watch, when + r"came    waits  \w+ +\d+ holdfast .*: true$")
        came = self.event(as_json)
        self.assertEqual((came["event"], came["place"], came["state"],
                          came["owner"]["text"]), ("came", 2, "waits", "true"))
        self.assertEqual(came["owner"]["pid"], self.supervisor(waiter))
        waiter.send_signal(signal.SIGTERM)
        self.finish(waiter)
        self.line(watch, when + r"gone    waits  .*: true$")
        gone = self.event(as_json)
        self.assertEqual((gone["event"], gone["place"], gone["id"]),
                         ("gone", None, came["id"]))
        following = self.start(self.name, "--", "sh", "-c", "cat; exit 3",
                               stdin=subprocess.PIPE)
        self.line(watch, when + r"came    waits")
        self.assertEqual(self.event(as_json)["event"], "came")
        self.finish(holder)
        self.line(watch, when + r"gone    holds  .*: sh -c$")
        self.line(watch, when + r"granted holds  .*: sh -c$")
        self.assertEqual([self.event(as_json)["event"] for _ in range(2)],
                         ["gone", "granted"])
        self.finish(following)
        self.line(watch, when + r"gone    holds  ")
        self.end(watch)
        self.end(as_json)

    def test_a_semaphore(self):
        holders = [self.holder("--permits", "1/2", name=self.name)
                   for _ in range(2)]
        watch = self.watch("--json")
        self.assertEqual(
            [(e["event"], e["state"], e["kind"], e["permits"]) for e in
             (self.event(watch) for _ in range(2))],
            [("there", "holds", "semaphore", 1)] * 2)
        waiter = self.start("--permits", "1/2", self.name, "--", "cat",
                            stdin=subprocess.PIPE)
        self.assertEqual(self.event(watch)["event"], "came")
        self.finish(holders[0])
        # The waiter's ticket goes, and one with a permit comes.
        events = [self.event(watch) for _ in range(3)]
        self.assertEqual(sorted((e["event"], e["state"]) for e in events),
                         [("gone", "holds"), ("gone", "waits"),
                          ("granted", "holds")])
        self.finish(waiter)
        self.finish(holders[1])
        self.end(watch)

    def test_a_terminal(self):
        """The queue is printed again when it has changed, and not before."""
        holder = self.holder(name=self.name)
        terminal = harness.Terminal(
            [harness.TOOL, "show", "-W", self.name], self.environment)
        try:
            terminal.expect(r"-- \S+Z\r\n# STATE .*\r\n1 holds .*: sh -c\r\n")
            waiter = self.start(self.name, "--", "true")
            terminal.expect(r"-- \S+Z\r\n# .*\r\n1 holds .*\r\n2 waits .*\r\n")
            self.assertEqual(terminal.text.count("# STATE"), 2, terminal.text)
            self.finish(holder)
            self.finish(waiter)
            terminal.expect("nobody holds or waits for " + self.name)
            terminal.write("\x03")
            terminal.drain()
        finally:
            terminal.close()

    def test_a_terminal_and_a_semaphore(self):
        """Its holders and its waiters are in queues of their own."""
        holder = self.holder("--permits", "1/1", name=self.name)
        waiter = self.start("--permits", "1/1", self.name, "--", "true")
        terminal = harness.Terminal(
            [harness.TOOL, "show", "-W", self.name], self.environment)
        try:
            terminal.expect(r"\r\n1 holds .*\r\n2 waits .*\r\n")
            self.finish(holder)
            self.finish(waiter)
            terminal.write("\x03")
            terminal.drain()
        finally:
            terminal.close()


class Served(EachEngine):
    """With a server behind a proxy.  .fill(count) puts waiters into the queue,
    .requests(proxy) says how many requests came so far."""

    PROXY = Proxy

    def proxy(self):
        proxy = self.PROXY(self.server.port)
        self.addCleanup(proxy.close)
        return proxy

    def through(self, proxy):
        return self.url().replace(":%d" % self.server.port, ":%d" % proxy.port)

    def test_a_lost_server(self):
        """The watch says so, goes on, and misses nobody."""
        proxy = self.proxy()
        holder = self.holder(name=self.name)
        watch = self.watch(url=self.through(proxy))
        self.line(watch, "there   holds")
        proxy.refuse()
        proxy.cut()
        self.line(watch, r" suspended: ")
        waiter = self.start(self.name, "--", "true")
        self.finish(holder)
        self.finish(waiter)
        proxy.refuse(False)
        self.line(watch, r" resumed$")
        self.line(watch, r" gone    holds ")
        self.end_quietly(watch)

    def test_the_server_does_not_notice_it(self):
        """Requests and bytes, while each text is read once and one comes."""
        self.fill(WAITERS)
        proxy = self.proxy()
        began = time.monotonic()
        with open(self.path("events"), "w") as out:
            watch = self.watch("--json", url=self.through(proxy), stdout=out)

        def events():
            with open(self.path("events")) as file:
                # Not those of a connection, if the machine is slow.
                return [json.loads(line) for line in file
                        if line.endswith("\n") and '"id"' in line]
        asked = self.requests(proxy)
        waiting.eventually("the first tickets", lambda: len(events()) > 0,
                           of=[watch])
        # Until all texts are read, and for as long as is to be measured.
        waiting.eventually("all tickets", lambda: len(events()) == WAITERS,
                           seconds=600, of=[watch])
        took_all = time.monotonic() - began
        self.one_more()
        waiting.eventually("one more", lambda: len(events()) == WAITERS + 1,
                           seconds=60, of=[watch])
        left = MEASURED_S - (time.monotonic() - began)
        waiting.eventually("the time to be over", lambda: time.monotonic() >=
                           began + MEASURED_S, seconds=max(left, 0) + 10,
                           of=[watch])
        took = time.monotonic() - began
        found = events()
        requests = self.requests(proxy) - asked
        bytes_ = proxy.bytes[UP] + proxy.bytes[DOWN]
        self.end_quietly(watch)
        print("%d waiters: all texts after %.1f s; in %.1f s %.2f requests/s, "
              "%.0f bytes/s" % (WAITERS, took_all, took, requests / took,
                                bytes_ / took), flush=True)
        self.assertEqual([e["event"] for e in found],
                         ["there"] * WAITERS + ["came"])
        self.assertTrue(all(e["payload"] for e in found))
        # A connection is made with a few requests.
        lists = WAITERS // TEXTS + OTHER_LISTS
        self.assertLess(requests, REQUESTS * took + 30)
        self.assertLess(bytes_, WAITERS * (TEXT_BYTES + LIST_BYTES * lists))

    def end_quietly(self, watch):
        watch.send_signal(signal.SIGINT)
        watch.communicate(timeout=waiting.LIMIT_S)


class File(EachEngine, engines.File, harness.Case):
    def test_wrong_lines(self):
        for options in (["--held"], ["-qH"]):
            done = subprocess.run([harness.TOOL, "show", "-W", *options, "a"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (64, ""))
            self.assertIn("--held answers at once and --watch goes on; "
                          "expected one of the two", done.stderr)

    def test_no_directory_and_nobody_there(self):
        watch = self.watch(url="file:" + self.path("typo"))
        out, err = watch.communicate(timeout=waiting.LIMIT_S)
        self.assertEqual((watch.returncode, out), (73, ""))
        self.assertIn("there is no directory", err)
        watch = self.watch("-w", "300ms", url="zk://127.0.0.1:1")
        out, err = watch.communicate(timeout=waiting.LIMIT_S)
        self.assertEqual((watch.returncode, out), (69, ""))
        self.assertIn("no connection to zk://127.0.0.1:1", err)

    def test_a_pipe_that_ends(self):
        self.holder(name=self.name)
        with open("/dev/full", "w") as full:
            watch = self.watch(stdout=full)
            self.assertEqual(watch.wait(waiting.LIMIT_S), 73)

    def test_a_downgrade_and_many_readers(self):
        readers = [self.holder("--read", name=self.name) for _ in range(2)]
        watch = self.watch()
        for _ in readers:
            self.line(watch, "there   holds  read")
        for reader in readers:
            self.finish(reader)
            self.line(watch, "gone    holds  read")
        self.end(watch)


class Frames(Proxy):
    """Counts what clients of ZooKeeper send: heartbeats, and all else."""

    PING = -2

    def __init__(self, port):
        self.pings = self.others = 0
        self.unread = {}  # of each connection
        super().__init__(port)

    def arrived(self, way, data):
        if way.name == UP:
            unread = self.unread.get(way, b"") + data
            while len(unread) >= 8:
                end = 4 + int.from_bytes(unread[:4], "big")
                if len(unread) < end:
                    break
                xid = int.from_bytes(unread[4:8], "big", signed=True)
                self.pings += xid == self.PING
                self.others += xid != self.PING
                unread = unread[end:]
            self.unread[way] = unread
        super().arrived(way, data)


class ZooKeeper(Served, engines.ZooKeeper, harness.Case):
    TEXT = b"host=db1 pid=%d command=holdfast thread=4711 since=1@00000000 " \
        b"at=2026-11-21T16:33:00Z text=report.sh%%20--all%%20of%%20it"

    def requests(self, _):
        return self.server.mntr()["packets_received"] - self.own

    def setUp(self):
        super().setUp()
        self.own = 0

    def put(self, client, number):
        """Not ephemeral, because the client of the tests does not ping."""
        client.create("/%s/_c_%s-lock-" % (self.name, uuid.uuid4()),
                      self.TEXT % number, jute.SEQUENTIAL)

    def fill(self, count):
        with self.server.client() as client:
            client.create("/" + self.name)
            for number in range(count):
                self.put(client, number)

    def one_more(self):
        with self.server.client() as client:
            self.put(client, 10 ** 6)
        self.own += 3  # its session, too

    def test_an_idle_watch_sends_heartbeats_alone(self):
        self.holder(name=self.name)
        proxy = Frames(self.server.port)
        self.addCleanup(proxy.close)
        watch = self.watch("--json", url=self.through(proxy))
        self.assertEqual(self.event(watch)["event"], "there")
        sent = proxy.do(lambda: proxy.others)
        waiting.eventually("two heartbeats", lambda: proxy.do(
            lambda: proxy.pings) >= 2, of=[watch])
        self.assertEqual(proxy.do(lambda: proxy.others), sent)
        self.end_quietly(watch)

    def test_short_holders_are_seen(self):
        """Or a gap says that some may be missing."""
        first = self.holder(name=self.name)
        watch = self.watch("--json")
        self.assertEqual(self.event(watch)["event"], "there")
        self.finish(first)
        tokens = [self.finish(self.start(
            self.name, "--", "sh", "-c", "echo $HOLDFAST_TOKEN; sleep 0.05",
            stdout=subprocess.PIPE))[1].strip() for _ in range(SHORT)]
        last = self.holder(name=self.name)
        pid = self.supervisor(last)
        events = [json.loads(waiting.read_line(watch))]
        while (events[-1]["event"] != "granted" or
               events[-1]["owner"]["pid"] != pid):
            events.append(json.loads(waiting.read_line(watch)))
        seen = {e["token"] for e in events if e["event"] == "granted"}
        gaps = sum(e["event"] == "gap" for e in events)
        missed = [token for token in tokens if token not in seen]
        print("%d of %d holders of 50 ms seen; gaps: %d" % (
            SHORT - len(missed), SHORT, gaps), flush=True)
        self.assertEqual(len(set(tokens)), SHORT)
        # Where the watch itself does not run for a while, one may be missed
        # without a gap; not so many.
        self.assertTrue(len(missed) < SHORT // 2 or gaps > 0, (missed, seen))
        self.finish(last)
        self.end_quietly(watch)

    def test_the_queue_is_made_anew(self):
        """Its numbers begin again, and the texts are read all the same."""
        self.fill(30)
        watch = self.watch("--json")
        for _ in range(30):
            self.assertEqual(self.event(watch)["event"], "there")
        with self.server.client() as client:
            for name in client.children("/" + self.name):
                client.delete("/%s/%s" % (self.name, name))
            client.delete("/" + self.name)
            client.create("/" + self.name)
            self.put(client, 10 ** 6)
        # Others are granted while those ahead of them are deleted.
        events = [self.event(watch)]
        while "pid=1000000 " not in events[-1]["payload"]:
            events.append(self.event(watch))
        self.assertEqual(sum(e["event"] == "gone" for e in events), 30)
        self.assertEqual(events[-1]["event"], "granted")
        self.end(watch)


TEXT = ZooKeeper.TEXT.decode()


class Etcd(Served, engines.Etcd, harness.Case):
    """What clients send is counted, on streams and for a call of its own; what
    the test itself sends is not."""

    RECEIVED = r"^grpc_server_msg_received_total\{.*\} (\d+)$"

    def setUp(self):
        super().setUp()
        self.own = 0

    def requests(self, _):
        with urllib.request.urlopen("http://%s/metrics" % self.server.address(),
                                    timeout=waiting.LIMIT_S) as answer:
            text = answer.read().decode()
        return sum(map(int, re.findall(self.RECEIVED, text, re.M))) - self.own

    def put(self, client, number):
        """One after the other, because a key's place is its revision."""
        client.put("%s/%x-%d" % (self.name, self.lease, number),
                   "mutex %s\n%s" % (uuid.uuid4(), TEXT % number), self.lease)
        self.own += 1

    def fill(self, count):
        with self.server.client() as client:
            self.lease = client.grant(3600)
            self.addCleanup(self.revoke_lease)
            for number in range(count):
                self.put(client, number)

    def revoke_lease(self):
        with self.server.client() as client:
            client.revoke(self.lease)

    def one_more(self):
        with self.server.client() as client:
            self.put(client, 10 ** 6)


class Redis(Served, engines.Redis, harness.Case):
    """Scripts are counted, each of which is a request."""

    def requests(self, _):
        with self.server.client() as client:
            info = client.ask("INFO", "commandstats")
        info = info.decode() if isinstance(info, bytes) else info
        return sum(int(calls) for calls in re.findall(
            r"cmdstat_(?:evalsha|eval|ping):calls=(\d+)", info))

    def put(self, client, number):
        key = "holdfast:{%s}:" % self.name
        ticket = str(uuid.uuid4())
        at = time.time_ns() // 1000
        client.ask("ZADD", key + "queue", str(at), ticket)
        client.ask("ZADD", key + "until", "9007199254740991", ticket)
        client.ask("HSET", key + "tickets", ticket, "1 1 0 %d %s %s" % (
            at // 1000, uuid.uuid4().hex, TEXT % number))

    def fill(self, count):
        with self.server.client() as client:
            for number in range(count):
                self.put(client, number)

    def one_more(self):
        with self.server.client() as client:
            self.put(client, 10 ** 6)


class Syncs(Proxy):
    """Counts what clients of PostgreSQL wait for an answer to: Sync and Query
    messages."""

    SSL, GSS = 80877103, 80877104  # what a client may ask before it begins

    def __init__(self, port):
        self.count = 0
        self.unread = {}  # of each connection: [has it begun, bytes]
        super().__init__(port)

    def arrived(self, way, data):
        if way.name == UP:
            state = self.unread.setdefault(way, [False, b""])
            state[1] += data
            while self.take_message(state):
                pass
        super().arrived(way, data)

    def take_message(self, state):
        """Take one message out of the bytes; False: it is not all there."""
        begun, unread = state
        at = 1 if begun else 0  # the first ones have no letter
        if len(unread) < at + 4:
            return False
        end = at + int.from_bytes(unread[at:at + 4], "big")
        if len(unread) < end:
            return False
        if not begun:
            code = int.from_bytes(unread[4:8], "big")
            state[0] = code not in (self.SSL, self.GSS)
        elif unread[:1] in (b"S", b"Q"):
            self.count += 1
        state[1] = unread[end:]
        return True


class PostgreSql(Served, engines.PostgreSql, harness.Case):
    """What the watch sends is counted, with the renewals of its lease.  The
    statistics of the server would count autovacuum and the test as well."""

    PROXY = Syncs

    def requests(self, proxy):
        return proxy.do(lambda: proxy.count)

    def put(self, first, count):
        self.server.sql(
            "INSERT INTO holdfast.ticket (queue, sequence, id, session, kind, "
            "weight, payload) SELECT number, %s + i, gen_random_uuid(), "
            "'ffffffff-ffff-ffff-ffff-ffffffffffff', 1, 1, "
            "convert_to(replace(%s, '%%d', i::text), 'UTF8') "
            "FROM holdfast.queue, generate_series(1, %s) i WHERE name = %s",
            (first, TEXT.replace("%%", "%"), count, self.name.encode()))

    def fill(self, count):
        self.finish(self.holder(name=self.name))
        self.server.sql("UPDATE holdfast.counter SET sole = NULL, lowest = 0")
        self.put(10 ** 15, count)

    def one_more(self):
        self.put(10 ** 15 + 10 ** 6, 1)


if __name__ == "__main__":
    harness.main()
