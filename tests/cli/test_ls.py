# SPDX-License-Identifier: Apache-2.0
"""holdfast ls on each engine: every name that exists throughout comes once,
however many there are and whatever comes and goes meanwhile.  And holdfast
metrics of all names, which is the same walk.

    test_ls.py [Files] [ZooKeeper] [Redis] [RedisCluster] [Quorum] [PostgreSql]

The names are written to the server as the engine would, without a client for
each.  HF_LONG=1: 100,000 of them, with the time and the memory that it took.
"""

import collections
import fcntl
import json
import os
import pty
import subprocess
import sys
import threading
import time
import uuid

from prometheus_client.openmetrics.parser import text_string_to_metric_families

import harness
import testing
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import jute  # noqa: E402
import etcd  # noqa: E402
import postgres  # noqa: E402
import raw  # noqa: E402
import redis_server  # noqa: E402
from redis_cluster import Cluster  # noqa: E402
from zookeeper import JVM, Standalone  # noqa: E402

COUNT = 100000 if testing.LONG else 2000
SESSION = "5" * 32
# Long enough for the whole test.
ALIVE_S = 3600
# What an owner of this library writes, in short.
PAYLOAD = "host=db1 pid=7 command=backup thread=7 at=2026-11-21T16:33:00Z"


def numbered(first, count):
    return ["all/%06d" % i for i in range(first, first + count)]


class Names:
    """A mixin for a harness.Case that has .url() and .make(names) and
    .remove(names), which write tickets, a mutex of each name."""

    def setUp(self):
        super().setUp()
        self.made = set()

    def tearDown(self):
        self.remove(sorted(self.made))
        super().tearDown()

    def put(self, names):
        self.make(names)
        self.made.update(names)

    def ls(self, *arguments, status=0, url=None, **options):
        """Its output and its error output."""
        done = subprocess.run(
            [harness.TOOL, "ls", "-c", url or self.url(), *arguments],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=10 * waiting.LIMIT_S, env=self.environment, **options)
        self.assertEqual(done.returncode, status, done.stdout[-999:] + done.stderr)
        return done.stdout, done.stderr

    def listed(self, *arguments, **options):
        """The names that it lists, and how often."""
        out, err = self.ls("--json", *arguments, **options)
        self.assertEqual(err, "")
        return collections.Counter(json.loads(line)["name"]
                                   for line in out.splitlines())

    # ---- all

    def test_every_name_comes_once(self):
        names = numbered(0, COUNT)
        self.put(names)
        began = time.monotonic()
        with open(self.path("out"), "w") as out:
            process = subprocess.Popen(
                [harness.TOOL, "ls", "-ja", "-c", self.url(), "all"],
                stdout=out, env=self.environment)
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        with open(self.path("out")) as out:
            found = collections.Counter(json.loads(line)["name"] for line in out)
        self.assertEqual(found, collections.Counter(names))
        print("%s: %d names in %.1f s, %.1f s of it in the program, %d KiB" % (
            type(self).__name__, COUNT, time.monotonic() - began,
            used.ru_utime + used.ru_stime, used.ru_maxrss))

    def test_a_name_that_stays_comes_once_while_others_come_and_go(self):
        stays = numbered(0, 1000)
        self.put(stays)
        end = threading.Event()
        changes = []

        def change():
            number = 0
            while not end.is_set() or not changes:
                names = numbered(500000 + 10 * (number % 7), 10)
                self.make(names)
                self.remove(names)
                changes.append(number)
                number += 1

        thread = threading.Thread(target=change)
        thread.start()
        try:
            waiting.eventually("the first change", lambda: changes)
            for _ in range(3):
                before = len(changes)
                found = self.listed("all")
                self.assertEqual({name: found[name] for name in stays},
                                 dict.fromkeys(stays, 1))
                self.assertEqual(set(found.values()), {1})
                waiting.eventually("a change", lambda: len(changes) > before)
        finally:
            end.set()
            thread.join()

    # ---- the same as metrics

    def samples(self, text):
        """{metric: {name: value}}"""
        found = collections.defaultdict(dict)
        for family in text_string_to_metric_families(text):
            self.assertEqual(family.type, "gauge")
            self.assertTrue(family.documentation)
            ages = family.name.endswith("_seconds")
            self.assertTrue(family.samples or ages, family.name)
            self.assertEqual(family.unit, "seconds" if ages else "")
            for sample in family.samples:
                name = sample.labels.get("name")
                metric = sample.name.removeprefix("holdfast_queue_")
                self.assertNotIn(name, found[metric])
                found[metric][name] = sample.value
        return found

    def metrics(self, *arguments):
        return self.samples(harness.measured(
            "metrics", "-c", self.url(), *arguments, env=self.environment)[0])

    def test_metrics_of_all_names(self):
        """64 names have samples of their own, and nothing is missing in the
        sum; the memory is that of the walk."""
        names = numbered(0, COUNT)
        self.put(names)
        listed, _, of_ls = harness.measured(
            "ls", "-ja", "-c", self.url(), "all", env=self.environment)
        text, seconds, kib = harness.measured(
            "metrics", "-a", "-c", self.url(), "--within", "all",
            env=self.environment)
        found = self.samples(text)
        print("%s: metrics of %d names in %.1f s, %d KiB; holdfast ls %d KiB" % (
            type(self).__name__, COUNT, seconds, kib, of_ls))
        self.assertEqual(len(listed.splitlines()), COUNT)
        self.assertEqual(found["names"], {None: COUNT})
        self.assertEqual(found["names_unreadable"], {None: 0})
        holders = found["holders"]
        self.assertEqual(holders.pop("/other"), COUNT - 64)
        self.assertEqual(holders, dict.fromkeys(names[:64], 1))
        self.assertEqual(sum(found["waiters"].values()), 0)
        self.assertLess(kib, of_ls + 1024)
        found = self.metrics("-a", "-f", "all/000", "-f", "/all", "-i", "all")
        self.assertEqual(found["holders"], {"all/000": 0, "all": COUNT,
                                            "/other": 0})

    # ---- what it shows

    def test_prefix(self):
        self.put(["all/a", "all/a/b", "all/ab", "all/a-b", "all/%", "all/{x}",
                  "all/\u00e4", "all/[a]*", "all/" + "n" * 240])
        for prefix, expected in {
                "all/a": ["all/a", "all/a/b"], "/all/a": ["all/a", "all/a/b"],
                "all/%": ["all/%"], "all/{x}": ["all/{x}"],
                "all/[a]*": ["all/[a]*"], "all/\u00e4": ["all/\u00e4"],
                "all/b": [], "al": [], "all": self.made, "": self.made,
                "/": self.made}.items():
            with self.subTest(prefix=prefix):
                found = self.listed(prefix)
                if prefix in ("", "/"):  # and those of other tests
                    found = {name: found[name] for name in self.made}
                self.assertEqual(found, collections.Counter(expected))

    def test_kinds_and_counts(self):
        url = self.url()
        for name, options in (("r", ["-s"]), ("r", ["-s"]),
                              ("p", ["-p", "2/3"])):
            self.holder("-c", url, *options, name="kinds/" + name)
        waiter = self.start("-c", url, "-p", "2/3", "kinds/p", "--", "true")
        self.holder("-c", url, name="kinds/x/locks")
        waiting.eventually("the waiter", lambda: json.loads(
            self.ls("-j", "kinds/p")[0] or "{}").get("waiters") == 1, of=[waiter])
        out, _ = self.ls("-j", "-l", "kinds")
        found = {line["name"]: line for line in map(json.loads, out.splitlines())}
        self.assertEqual(
            {name: (line["kind"], line["holders"], line["waiters"])
             for name, line in found.items()},
            {"kinds/r": ("read", 2, 0), "kinds/p": ("semaphore", 1, 1),
             "kinds/x/locks": ("mutex", 1, 0)})
        self.assertEqual(found["kinds/p"]["holder"]["owner"]["command"],
                         "holdfast")
        self.assertGreaterEqual(found["kinds/p"]["waiter"]["age_ms"], 0)
        self.assertIsNone(found["kinds/r"]["waiter"])
        out, _ = self.ls("--long", "kinds/r")
        title, line = out.splitlines()
        self.assertRegex(title, r"^KIND +HOLDERS +WAITERS +HELD +WAITED NAME +"
                         "OWNER$")
        self.assertRegex(line, r"^read +2 +0 +\d+s +- kinds/r +holdfast \(pid ")

    def test_nothing(self):
        self.put(["all/a"])
        self.assertEqual(self.ls("nope")[0],
                         "nobody holds or waits for anything at or below nope\n")
        self.assertEqual(self.ls("-j", "nope")[0], "")

    def test_a_reader_that_ends_ends_it(self):
        self.put(numbered(0, 600))
        process = subprocess.Popen([harness.TOOL, "ls", "-jl", "-c", self.url()],
                                   stdout=subprocess.PIPE, env=self.environment)
        process.stdout.readline()
        process.stdout.close()
        self.assertNotEqual(process.wait(waiting.LIMIT_S), 0)

    def test_progress_on_a_terminal_only(self):
        """Its output is a pipe that nobody reads, so it takes long."""
        self.put(numbered(0, 2000))
        fd, terminal = pty.openpty()
        process = subprocess.Popen(
            ["setsid", "--ctty", harness.TOOL, "ls", "-jl", "-c", self.url()],
            stdin=terminal, stderr=terminal, stdout=subprocess.PIPE,
            env=self.environment)
        os.close(terminal)
        try:
            began = time.monotonic()
            process.stdout.readline()
            waiting.eventually("a second", lambda: time.monotonic() - began > 1.5)
            self.assertIn(b"names, of ", self.read_all(process, fd))
        finally:
            os.close(fd)

    def read_all(self, process, fd):
        out = threading.Thread(target=process.stdout.read)
        out.start()
        text = b""
        try:
            while part := os.read(fd, 4096):
                text += part
        except OSError:  # the last one has closed the terminal
            pass
        out.join()
        process.stdout.close()
        self.assertEqual(process.wait(waiting.LIMIT_S), 0)
        return text


class Served(Names):
    """With .server, which can be ended."""

    def test_a_server_that_ends_in_the_midst(self):
        """The output is more than a pipe has room for, so the tool is in the
        midst when the server ends."""
        self.put(numbered(0, 2000))
        with open(self.path("err"), "w+") as stderr:
            process = subprocess.Popen(
                [harness.TOOL, "ls", "-jl", "-w", "2s", "-c", self.url()],
                stdout=subprocess.PIPE, stderr=stderr, text=True,
                env=self.environment)
            out = process.stdout.readline()
            self.server.kill()
            try:
                out += process.stdout.read()
                process.stdout.close()
                process.wait(waiting.LIMIT_S)
            finally:
                self.server.start()
            stderr.seek(0)
            err = stderr.read()
        self.assertIn(process.returncode, (69, 75), err)
        self.assertIn("the list is not complete: it ends after ", err)
        for line in out.splitlines():
            json.loads(line)
        self.made.clear()  # some servers have kept them
        self.remove(numbered(0, 2000))


class Files(Names, harness.Case):
    def setUp(self):
        super().setUp()
        self.run_tool("first", "--", "true")
        self.fifo = self.path("fifo")
        os.mkfifo(self.fifo, 0o600)
        self.fd = os.open(self.fifo, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        self.links = 0

    def tearDown(self):
        super().tearDown()
        os.close(self.fd)

    def url(self):
        return "file:" + self.locks

    def directory_of(self, name):
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "_-")
                        else "".join("%%%02X" % b for b in c.encode())
                        for c in name)
        return os.path.join(self.locks, "locks", plain)

    def make(self, names):
        """All tickets are one FIFO, of which the owner is alive."""
        for name in names:
            if len(self.directory_of(name).rpartition("/")[2]) > 200:
                process = self.holder("-c", self.url(), name=name)
                self.addCleanup(process.stdin.close)
                continue
            path = self.directory_of(name)
            os.makedirs(path, 0o700, exist_ok=True)
            if self.links == 30000:  # of the most that ext4 takes
                self.links = 0
                os.rename(self.fifo, self.fifo + str(len(self.made)))
                os.mkfifo(self.fifo, 0o600)
                self.fd = os.open(self.fifo, os.O_RDONLY | os.O_NONBLOCK)
                fcntl.flock(self.fd, fcntl.LOCK_EX)
            os.link(self.fifo, os.path.join(
                path, "%020d-m-%s" % (1, uuid.uuid4())))
            self.links += 1

    def remove(self, names):
        for name in names:
            path = self.directory_of(name)
            if len(path.rpartition("/")[2]) > 200:
                continue
            for file in os.listdir(path):
                os.unlink(os.path.join(path, file))
            os.rmdir(path)

    def test_metrics_have_the_most_contended_names(self):
        """A second ticket of a name waits.  A name that is also a semaphore is
        still one name."""
        self.put(numbered(0, 200))
        busy = numbered(100, 70)
        self.make(busy)
        self.make(busy[:10])
        self.holder("-c", self.url(), "-p", "1/2", name="all/000100")
        found = self.metrics("-i", "all", "-f", "all/000199")
        waiters = found["waiters"]
        self.assertEqual(
            {name: waiters[name] for name in busy[:10]},
            dict.fromkeys(busy[:10], 2))
        self.assertEqual(waiters.pop("/other"), 6)
        self.assertEqual(waiters.pop("all/000199"), 0)
        self.assertEqual(set(waiters), set(busy[:64]))
        self.assertEqual(found["holders"]["all/000100"], 2)
        self.assertEqual(found["holders"]["/other"], 200 - 64 - 1)
        self.assertEqual(found["names"], {None: 201})
        # The other tickets do not say since when they are there.
        self.assertNotIn("/other", found["oldest_hold_seconds"])
        self.assertIn("all/000100", found["oldest_hold_seconds"])
        self.assertEqual(found["oldest_wait_seconds"], {"all/000199": 0})

    @testing.when(os.geteuid() == 0)
    def test_a_directory_of_another_user_is_counted(self):
        self.put(["all/a", "all/b"])
        os.chown(self.directory_of("all/b"), 65534, 65534)
        out, err = self.ls("-j")
        self.assertEqual([json.loads(line)["name"] for line in out.splitlines()],
                         ["all/a"])
        self.assertIn("1 of what is there could not be read", err)
        self.assertEqual(self.metrics()["names_unreadable"], {None: 1})

    def test_a_wrong_prefix(self):
        for prefix in ("all/", "a//b", "zookeeper"):
            with self.subTest(prefix=prefix):
                self.assertIn("expected", self.ls(prefix, status=64)[1])
        self.assertIn("one PREFIX at a time", self.ls("a", "b", status=64)[1])
        self.assertIn("there is no directory",
                      self.ls(url="file:" + self.path("nope"), status=73)[1])


class ZooKeeper(Served, harness.Case):
    @classmethod
    def setUpClass(cls):
        # The last one counts.
        cls.server = Standalone(jvm=JVM + ["-Xmx1g"])
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.tickets = {}

    def url(self):
        return "zk://127.0.0.1:%d" % self.server.port

    def in_steps(self, op, bodies):
        """Requests of one kind, many in a transaction."""
        with self.server.client() as client:
            for at in range(0, len(bodies), 500):
                client.multi(op, bodies[at:at + 500])

    def make(self, names):
        """The number of a ticket is given with its name."""
        def create(path, data=b""):
            return (jute.Writer().string(path).buffer(data).acls(jute.ANYONE)
                    .int(jute.PERSISTENT))

        with self.server.client() as client:
            if client.exists("/all") is None:
                client.create("/all")
        for name in names:
            self.tickets[name] = "/%s/_c_%s-lock-0000000001" % (name,
                                                               uuid.uuid4())
        self.in_steps("create", [body for name in names for body in (
            create("/" + name), create(self.tickets[name], PAYLOAD.encode()))])

    def remove(self, names):
        """What is below others first."""
        self.in_steps("delete", [
            jute.Writer().string(path).int(-1)
            for name in sorted(names, reverse=True)
            for path in (self.tickets.pop(name), "/" + name)])

    def test_a_node_that_may_not_be_read_is_counted(self):
        self.put(["all/a"])
        with self.server.client() as client:
            # Everything but to read it.
            client.create("/all/hidden", acls=[jute.Acl(30, "world", "anyone")])
            out, err = self.ls("-j", "all")
            client.delete("/all/hidden")
        self.assertEqual(len(out.splitlines()), 1)
        self.assertIn("1 of what is there could not be read", err)

    def test_tickets_of_other_libraries(self):
        """In their own words; and a semaphore of kazoo, whose two nodes are one
        name with layout=kazoo."""
        hexes = [uuid.uuid4().hex for _ in range(6)]
        nodes = {"/others/kazoo": "%s__lock__" % hexes[0],
                 "/others/go": "_c_%s-lock-" % hexes[1],
                 "/others/writelock": "x-72057594037927936-",
                 "/others/plain": "lock-",
                 "/others/rw": "_c_%s-__READ__" % uuid.uuid4(),
                 "/others/pool/leases": "_c_%s-lease-" % uuid.uuid4()}
        with self.server.client() as client:
            for path in ("/others", "/others/pool", "/others/empty", *nodes):
                client.create(path)
            for path, name in nodes.items():
                client.create("%s/%s" % (path, name), b"",
                              jute.EPHEMERAL | jute.SEQUENTIAL)
            client.create("/others/sem", b"2")
            client.create("/others/sem/" + hexes[4], b"", jute.EPHEMERAL)
            client.create("/others/sem-__lock__")
            client.create("/others/sem-__lock__/%s__lock__" % hexes[5], b"",
                          jute.EPHEMERAL | jute.SEQUENTIAL)
            found = self.kinds(self.url())
            kazoo = self.kinds(self.url() + "?layout=kazoo")
            client.remove("/others")
        both = {"others/kazoo": "exclusive", "others/go": "mutex",
                "others/writelock": "mutex", "others/plain": "mutex",
                "others/rw": "read"}
        self.assertEqual(found, {**both, "others/pool": "semaphore",
                                 "others/sem-__lock__": "exclusive"})
        self.assertEqual(kazoo, {**both, "others/sem": "semaphore"})

    def kinds(self, url):
        """Of each name; a name that comes twice fails."""
        out, _ = self.ls("-j", "others", url=url)
        lines = [json.loads(line) for line in out.splitlines()]
        found = {line["name"]: line["kind"] for line in lines}
        self.assertEqual(len(found), len(lines))
        return found

    @testing.when(testing.LONG)
    def test_a_large_tree_is_walked_only_if_asked_for(self):
        names = numbered(0, 100000)
        self.put(names)
        out, err = self.ls("-j", "all", status=71)
        self.assertIn("more than 100000 nodes below \"/all\"", err)
        self.assertIn("--all of holdfast ls or metrics", err)
        for options, status in ((["-i"], 71), (["-ai"], 0)):
            done = subprocess.run(
                [harness.TOOL, "explain", "-c", self.url(), *options, "all",
                 "all/000001"], capture_output=True, text=True, check=False,
                env=self.environment, timeout=waiting.LIMIT_S)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("held by 1", done.stdout)


class Keys:
    """A mixin: tickets in Redis."""

    def each(self, names, commands):
        """Send the commands of each name, many at a time."""
        for client in self.clients():
            with client:
                for at in range(0, len(names), 500):
                    count = 0
                    for name in names[at:at + 500]:
                        for command in commands(name):
                            client.send(*command)
                            count += 1
                    for _ in range(count):
                        self.read(client)

    def read(self, client):
        client.read()

    def key(self, name, word):
        for c in "%{}":
            name = name.replace(c, "%%%02X" % ord(c))
        return "holdfast:{%s}:%s" % (name, word)

    def make(self, names):
        now = int(time.time() * 1000)

        def commands(name):
            ticket = str(uuid.uuid4())
            yield "ZADD", self.key(name, "queue"), now, ticket
            yield ("ZADD", self.key(name, "until"), now + ALIVE_S * 1000, ticket)
            yield ("HSET", self.key(name, "tickets"), ticket,
                   "1 1 0 %d %s %s" % (now, SESSION, PAYLOAD))
        self.each(names, commands)

    def remove(self, names):
        self.each(names, lambda name: [
            ("DEL", self.key(name, "queue"), self.key(name, "until"),
             self.key(name, "tickets"))])

class Redis(Keys, Served, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = redis_server.Server(["appendonly yes"])
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self):
        return "redis://127.0.0.1:%d/0" % self.server.port

    def clients(self):
        return [self.server.client()]

    def test_keys_of_others_are_no_names(self):
        self.put(["all/a"])
        with self.server.client() as client:
            keys = ["holdfast:{all/b}:quorum:queue", "holdfast:{all/b:queue",
                    "holdfast:{all/%zz}:queue", "holdfast:{all/{}:queue",
                    "holdfast:{all/%41}:queue", "holdfast:{}:queue",
                    "holdfast:{all/b/}:queue", "holdfast:{all/b}:queued"]
            for key in keys:
                client.ask("ZADD", key, 1, str(uuid.uuid4()))
            self.assertEqual(self.listed("all"), {"all/a": 1})
            client.ask("DEL", *keys)

    def test_a_ticket_that_is_alone_is_in_the_key_of_its_number(self):
        """Where there is none any more the script is not asked."""
        at = time.time_ns() // 1000
        alone = "2 %d %s %s 3600000 1 1 %s" % (at, SESSION, uuid.uuid4(),
                                               PAYLOAD)
        with self.server.client() as client:
            keys = [self.key("all/" + name, "last")
                    for name in ("alone", "idle", "older")]
            for key, value in zip(keys, (alone, "2 %d" % at, at)):
                client.ask("SET", key, value)
            before = self.server.calls().get("evalsha", 0)
            self.assertEqual(self.listed("all"), {"all/alone": 1})
            self.assertEqual(self.server.calls()["evalsha"] - before, 2)
            client.ask("DEL", *keys, *[self.key("all/alone", word) for word in (
                "queue", "until", "tickets")])

    def test_a_name_with_participants_only(self):
        with self.server.client() as client:
            now, ticket = int(time.time() * 1000), str(uuid.uuid4())
            keys = [self.key("all/both", word)
                    for word in ("participants", "until", "tickets")]
            client.ask("ZADD", keys[0], now, ticket)
            client.ask("ZADD", keys[1], now + ALIVE_S * 1000, ticket)
            client.ask("HSET", keys[2], ticket, "8 1 0 %d %s %s" % (
                now, SESSION, PAYLOAD))
            self.assertEqual(self.listed("all"), {"all/both": 1})
            client.ask("DEL", *keys)

    def test_something_else_under_a_key_is_counted(self):
        self.put(["all/a"])
        with self.server.client() as client:
            client.ask("SET", self.key("all/b", "queue"), "x")
            out, err = self.ls("-j", "all")
            client.ask("DEL", self.key("all/b", "queue"))
        self.assertEqual(len(out.splitlines()), 1)
        self.assertIn("1 of what is there could not be read", err)

    def test_metrics_know_the_age_of_tickets_from_another_machine(self):
        """By the time of day at which the server made it."""
        self.put(["all/a"])
        made = int(time.time() * 1000) - 1000 * ALIVE_S
        with self.server.client() as client:
            ticket, = client.ask("ZRANGE", self.key("all/a", "queue"), 0, -1)
            client.ask("HSET", self.key("all/a", "tickets"), ticket,
                       "1 1 0 %d %s %s" % (made, SESSION, PAYLOAD))
        seconds = self.metrics("-i", "all")["oldest_hold_seconds"]["all/a"]
        self.assertAlmostEqual(seconds, ALIVE_S, delta=60)

    def test_progress_of_metrics_on_a_terminal(self):
        """The server answers after more than a second."""
        self.put(["all/a"])
        fd, terminal = pty.openpty()
        self.server.freeze()
        try:
            process = subprocess.Popen(
                ["setsid", "--ctty", harness.TOOL, "metrics", "-c", self.url()],
                stdin=terminal, stderr=terminal, stdout=subprocess.PIPE,
                env=self.environment)
            os.close(terminal)
            began = time.monotonic()
            waiting.eventually("a second",
                               lambda: time.monotonic() - began > 1.5)
        finally:
            self.server.thaw()
        try:
            self.assertIn(b"names, of ", self.read_all(process, fd))
        finally:
            os.close(fd)

    def test_no_right_to_scan(self):
        with self.server.client() as client:
            client.ask("ACL", "SETUSER", "limited", "on", ">word", "~holdfast:*",
                       "&holdfast:*", "+@all", "-scan")
        url = self.url().replace("://", "://limited:word@")
        self.environment["HOLDFAST_URL"] = url
        _, err = self.ls(url=url, status=77)
        self.assertIn("scan", err)
        self.assertIn("holdfast-url(7)", err)


class RedisCluster(Keys, Names, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Cluster(config=["appendonly yes"])
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self):
        return "redis://%s/0" % self.server.address()

    def clients(self):
        """Each node gets everything, and refuses what is another's."""
        return [node.client() for node in self.server.primaries]

    def read(self, client):
        try:
            client.read()
        except redis_server.ReplyError as error:
            self.assertIn("MOVED", str(error))


class PostgreSql(Served, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server(access="local all all trust\n"
                                     "host all all 127.0.0.1/32 trust\n")
        cls.addClassCleanup(cls.server.close)
        subprocess.run([harness.TOOL, "run", "-c", cls.address(cls), "first",
                        "--", "true"], check=True, timeout=waiting.LIMIT_S)
        cls.server.sql("INSERT INTO holdfast.session VALUES (%s, "
                       "clock_timestamp() + %s * interval '1 second')",
                       (str(uuid.UUID(SESSION)), ALIVE_S))

    def address(self):
        return "postgresql://postgres@127.0.0.1:%d/postgres" % self.server.port

    def url(self):
        return self.address()

    def make(self, names):
        names = [name.encode() for name in names]
        self.server.sql(
            "INSERT INTO holdfast.queue (name) SELECT n "
            "FROM unnest(%s) n ON CONFLICT DO NOTHING", (names,))
        self.server.sql(
            "INSERT INTO holdfast.counter (queue, counter, lowest) "
            "SELECT number, 1, 1 FROM holdfast.queue WHERE name = ANY (%s) "
            "ON CONFLICT DO NOTHING", (names,))
        self.server.sql(
            "INSERT INTO holdfast.ticket (queue, sequence, id, session, kind, "
            "weight, payload) SELECT number, 1, gen_random_uuid(), %s, 1, 1, %s "
            "FROM holdfast.queue WHERE name = ANY (%s)",
            (str(uuid.UUID(SESSION)), PAYLOAD.encode(), names))

    def remove(self, names):
        self.server.sql(
            "DELETE FROM holdfast.ticket WHERE queue IN (SELECT number "
            "FROM holdfast.queue WHERE name = ANY (%s))",
            ([name.encode() for name in names],))

    def test_no_right_to_look(self):
        self.server.sql("CREATE ROLE reader LOGIN")
        url = self.url().replace("postgres@", "reader@")
        self.assertIn("permission denied", self.ls(url=url, status=77)[1])


class Etcd(Served, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = etcd.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        with cls.server.client() as client:
            cls.lease = client.grant(ALIVE_S)

    def url(self):
        return "etcd://" + self.server.address()

    def key(self, name):
        return "%s/%x-0" % (name, self.lease)

    def make(self, names):
        with self.server.client() as client:
            client.put_all(((self.key(name), "mutex %s\n%s" % (
                uuid.uuid4(), PAYLOAD)) for name in names), self.lease)

    def remove(self, names):
        with self.server.client() as client:
            client.delete_these(map(self.key, names))


class Quorum(harness.Case):
    """It has no list of names, and says so."""

    def test_it_is_refused(self):
        servers = [redis_server.Server(["appendonly yes"]) for _ in range(3)]
        for server in servers:
            self.addCleanup(server.close)
            server.start()
        done = subprocess.run(
            [harness.TOOL, "ls", "-c", "quorum:%s?ttl=1s&rejoin=2s" % ",".join(
                server.url("") for server in servers)],
            capture_output=True, text=True, env=self.environment,
            timeout=waiting.LIMIT_S)
        self.assertEqual((done.returncode, done.stdout), (64, ""), done.stderr)
        self.assertIn("cannot list the names", done.stderr)
        self.assertIn("holdfast show NAME", done.stderr)


if __name__ == "__main__":
    harness.main()
