# SPDX-License-Identifier: Apache-2.0
"""holdfast explain and run --detect-deadlock: two runs, each inside of another
one, that take two locks in opposite orders.

    test_explain.py File [Redis] [PostgreSql] ZooKeeper Cut Kazoo
"""

import json
import os
import subprocess
import sys
import threading
import time
import uuid

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import jute  # noqa: E402
import etcd  # noqa: E402
import postgres  # noqa: E402
import redis_server  # noqa: E402
from fake import Fake  # noqa: E402
from proxy import DOWN, Proxy  # noqa: E402
from kazoo.client import KazooClient  # noqa: E402
from zookeeper import Standalone  # noqa: E402

# How often a machine may be too busy for the two seconds.
TRIES = 5
MOST_S = 2
# A search reads three queues, and a walk asks for a name and its queue.
DELAY_MS = 600


class Explained:
    """A mixin for a harness.Case that has .url()."""

    def tool(self, command, *arguments, status=0):
        done = subprocess.run(
            [harness.TOOL, command, "-c", self.url(), *arguments], text=True,
            capture_output=True, stdin=subprocess.DEVNULL,
            timeout=waiting.LIMIT_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def all(self, status, *prefix):
        """What is found among all names: of each deadlock whether it is only
        possible, and for what its members wait."""
        found = json.loads(self.tool("explain", "--all", "--json", *prefix,
                                     status=status))
        self.assertEqual((found["unreadable"], found["complete"]), (0, True))
        return [(one["possible"],
                 sorted(waiter["waits_for"] for waiter in one["waiters"]))
                for one in found["deadlocks"]]

    def findings(self, status):
        """What doctor says of deadlocks.  status: that it ends with at least; a
        server may have other faults."""
        done = subprocess.run(
            [harness.TOOL, "doctor", "-c", self.url(), "--json"], text=True,
            capture_output=True, stdin=subprocess.DEVNULL,
            timeout=waiting.LIMIT_S)
        self.assertIn(done.returncode, range(status, 3), done.stderr)
        return [finding for finding in json.loads(done.stdout)["findings"]
                if finding["id"] == "deadlock"]

    def finding(self, status):
        """Of these how severe each is, and about which name."""
        return [(finding["severity"], finding["subject"])
                for finding in self.findings(status)]

    def explained(self, name):
        return json.loads(self.tool("explain", "--json", name))

    def outer(self, name, wanted, *options):
        """A run that holds ${name}, and at a line runs one that wants
        ${wanted}."""
        process = self.start(
            "-c", self.url(), name, "--", "sh", "-c",
            'echo held; read line; "$@"', "sh", harness.TOOL, "run", "-c",
            self.url(), *options, wanted, "--", "true", stdin=subprocess.PIPE)
        waiting.read_line(process, "held")
        return process

    def waits(self, process, wanted, count, says=" holds="):
        """Wait until ${count} tickets wait for ${wanted} and say ${says}.  A
        run says "outer=" first, and "holds=" after it has seen that the run
        around it waits for it, too."""
        def they_say_it():
            waiters = self.explained(wanted)["waiters"]
            return len(waiters) == count and all(
                says in waiter["payload"] for waiter in waiters)
        waiting.eventually("%d to wait for %s by tickets with %r" %
                           (count, wanted, says), they_say_it, of=[process])

    def go_on(self, process, wanted, says=" holds="):
        """Its inner run is to want ${wanted}, for which nobody waits."""
        process.stdin.write("go\n")
        process.stdin.flush()
        self.waits(process, wanted, 1, says)

    def opposite(self, *options):
        first = self.outer("a", "b", *options)
        second = self.outer("b", "a", *options)
        self.go_on(first, "b")
        return first, second

    def refused(self):
        """The two, until one is refused; how long that took."""
        first, second = self.opposite("-D")
        began = time.monotonic()
        second.stdin.write("go\n")
        status, _, err = self.finish(second)
        took = time.monotonic() - began
        self.assertEqual(status, 80, err)
        for part in ('this owner waits for "a" behind process', ' "true" on "',
                     'which waits for "b" behind this owner'):
            self.assertIn(part, err)
        self.assertEqual(self.finish(first)[0], 0)
        return took

    def test_opposite_orders_are_named_and_one_is_refused(self):
        for _ in range(TRIES):
            took = self.refused()
            if took < MOST_S:
                return
        self.fail("after %.1f s, expected less than %d" % (took, MOST_S))

    def test_a_deadlock_is_explained(self):
        first, second = self.opposite()
        self.assertIsNone(self.explained("a")["deadlock"])
        self.assertIn("no deadlock was found", self.tool("explain", "a"))
        self.go_on(second, "a")
        for name in "ab":
            found = self.explained(name)
            self.assertEqual({waiter["waits_for"]
                              for waiter in found["deadlock"]}, {"a", "b"})
            self.assertEqual(len(found["deadlock"]), 2)
            self.assertEqual(len(found["holders"]), 1)
            self.assertEqual(found["waiters"][0]["holds"][0]["name"],
                             "b" if name == "a" else "a")
            self.assertEqual(
                found["waiters"][0]["holds"][0]["outer_run_pid"],
                self.explained("b" if name == "a" else "a")["holders"][0]
                ["owner"]["pid"])
            self.assertEqual([w["detects"] for w in found["deadlock"]],
                             [False, False])
            self.assertEqual(
                [(wait["name"], wait["id"])
                 for wait in found["holders"][0]["waits_for"]],
                [(waiter["waits_for"], waiter["id"])
                 for waiter in found["deadlock"]
                 if waiter["waits_for"] != name])
        text = self.tool("explain", "a")
        for part in ('"a": held by 1, waited for by 1\n', "deadlock: each",
                     '  waits for "a": holdfast (pid',
                     '  waits for "b": holdfast (pid',
                     'holds "b" by the run that it is inside of, pid'):
            self.assertIn(part, text)
        first.kill()  # and so it lets go
        self.assertEqual(self.finish(second)[0], 0)

    def test_all_names(self):
        """Each deadlock is found once, without a name."""
        held = [self.outer("d/a", "d/b"), self.outer("d/b", "d/a"),
                self.outer("e/a", "e/b"), self.outer("e/b", "e/a")]
        self.go_on(held[0], "d/b")
        self.go_on(held[2], "e/b")
        self.assertEqual(self.all(0), [])
        self.assertEqual(self.finding(0), [("ok", "")])
        self.assertEqual(self.tool("explain", "--all", "d"),
                         'no deadlock was found; 2 names at or below "d" were '
                         'looked at\n')
        self.go_on(held[1], "d/a")
        self.go_on(held[3], "e/a")
        first, second = (False, ["d/a", "d/b"]), (False, ["e/a", "e/b"])
        self.assertEqual(sorted(self.all(2)), [first, second])
        self.assertEqual(self.all(2, "e"), [second])
        self.assertEqual(self.all(2, "d/b"), [first])
        self.assertEqual(self.all(0, "f"), [])
        text = self.tool("explain", "-a", status=2)
        self.assertEqual(text.count("deadlock: each waits behind"), 2)
        self.assertTrue(text.endswith("\n2 deadlocks found; 4 names were looked "
                                      "at\n"), text)
        found = self.finding(2)
        self.assertEqual([severity for severity, _ in found], ["error"] * 2)
        self.assertEqual({name[0] for _, name in found}, {"d", "e"})
        for one, other in (held[:2], held[2:]):
            one.kill()  # and so it lets go
            self.assertEqual(self.finish(other)[0], 0)

    def waits_of_holder(self, name, prefix):
        """Of the one holder of ${name}, and how the names were looked at."""
        found = json.loads(self.tool("explain", "--json", "--within", prefix,
                                     name))
        return found["holders"][0]["waits_for"], found["within"]

    def test_what_the_holder_waits_for(self):
        """Nothing that waits for "h/a" leads to it."""
        second = self.outer("h/b", "h/c")
        first = self.outer("h/a", "h/b")
        self.go_on(first, "h/b")
        waiter = self.explained("h/b")["waiters"][0]
        without = self.explained("h/a")
        self.assertEqual(without["holders"][0]["waits_for"], [])
        self.assertIsNone(without["within"])
        self.assertEqual(
            self.waits_of_holder("h/a", "h"),
            ([{"name": "h/b", "id": waiter["id"],
               "inner_run_pid": waiter["owner"]["pid"]}],
             {"prefix": "h", "names": 2, "unreadable": 0, "complete": True}))
        self.assertEqual(
            self.waits_of_holder("h/a", "h/a"),
            ([], {"prefix": "h/a", "names": 1, "unreadable": 0,
                  "complete": True}))
        self.assertEqual(self.waits_of_holder("h/b", "h")[0], [])
        text = self.tool("explain", "-i", "h", "h/a")
        self.assertIn('; waits for "h/b" by the run inside of it, pid %d\n'
                      % waiter["owner"]["pid"], text)
        self.assertTrue(text.endswith(
            '\nwhat the holders wait for was looked for in 2 names at or below '
            '"h"\n'), text)
        second.stdin.write("go\n")
        self.assertEqual(self.finish(second)[0], 0)
        self.assertEqual(self.finish(first)[0], 0)

    def test_a_possible_one(self):
        """Both outer runs go on beside the runs inside of them."""
        def outer(name, wanted):
            process = self.start(
                "-c", self.url(), name, "--", "sh", "-c",
                'echo held; read line; "$@" & read line', "sh", harness.TOOL,
                "run", "-q", "-c", self.url(), wanted, "--", "true",
                stdin=subprocess.PIPE)
            waiting.read_line(process, "held")
            return process
        first, second = outer("p", "q"), outer("q", "p")
        self.go_on(first, "q", says=" outer=")
        self.go_on(second, "p", says=" outer=")
        found = self.explained("p")
        self.assertIsNone(found["deadlock"])
        self.assertEqual({waiter["waits_for"]
                          for waiter in found["possible_deadlock"]}, {"p", "q"})
        self.assertIn("\npossible deadlock: each waits",
                      self.tool("explain", "p"))
        self.assertEqual(self.all(1), [(True, ["p", "q"])])
        (severity, name), = self.finding(1)
        self.assertEqual(severity, "warning")
        self.assertIn(name, "pq")
        for process in first, second:
            process.stdin.close()
            process.stdin = None
        for process in first, second:
            self.assertEqual(self.finish(process)[0], 1)  # read met the end

    def test_nobody(self):
        self.assertEqual(self.tool("explain", "/nobody"),
                         '"nobody": nobody holds it or waits for it\n')


class File(Explained, harness.Case):
    def url(self):
        return "file:" + self.locks

    def test_permits(self):
        """One permit of two is free again in time, so it is no deadlock."""
        first = self.outer("a", "b")
        second = self.start(
            "-c", self.url(), "b", "--", "sh", "-c", 'read line; "$@"', "sh",
            harness.TOOL, "run", "-c", self.url(), "-p", "1/2", "s", "--",
            "true", stdin=subprocess.PIPE)
        waiting.eventually("b", lambda: self.explained("b")["holders"])
        self.go_on(first, "b")
        other = self.holder("-p", "1/2", name="s")
        second.stdin.write("go\n")
        self.assertEqual(self.finish(second)[0], 0)
        self.assertEqual(self.finish(first)[0], 0)
        found = self.explained("s")
        self.assertEqual((len(found["holders"]), found["waiters"],
                          found["deadlock"]), (1, [], None))
        other.stdin.close()

    def test_the_holder_waits_for_permits(self):
        second = self.holder("-p", "2/2", name="s")
        first = self.start(
            "-c", self.url(), "a", "--", "sh", "-c", 'echo held; "$@"', "sh",
            harness.TOOL, "run", "-c", self.url(), "-p", "1/2", "s", "--",
            "true")
        waiting.read_line(first, "held")
        self.waits(first, "s", 1)
        self.assertEqual([wait["name"]
                          for wait in self.waits_of_holder("a", "/")[0]], ["s"])
        second.stdin.close()
        self.assertEqual(self.finish(first)[0], 0)

    def test_doctor_names_the_first_four(self):
        """Of a deadlock of five, and says that there are more."""
        for count, said in ((4, r'for "\w"(, "\w"){3}$'),
                            (5, r'for "\w"(, "\w"){3}, \.\.\.$')):
            names = "abcde"[:count]
            runs = [self.outer(name, wanted)
                    for name, wanted in zip(names, names[1:] + names[0])]
            for run, wanted in zip(runs, names[1:] + names[0]):
                self.go_on(run, wanted)
            found, = self.findings(2)
            self.assertRegex(found["text"], "^%d wait for each other" % count)
            self.assertRegex(found["text"], said)
            runs[0].kill()  # and so it lets go
            for run in reversed(runs[1:]):
                self.assertEqual(self.finish(run)[0], 0)

    def test_usage(self):
        for arguments, part in (([], "NAME is missing"),
                                (["a", "b"], "one NAME at a time"),
                                (["a/../b"], 'the component ".."'),
                                (["-i", "b//c", "a"], "an empty component"),
                                (["-a", "b", "c"], "one PREFIX at a time"),
                                (["-a", "b//c"], "an empty component"),
                                (["a", "-ai", "b"], "expected one of the two"),
                                (["a", "-i"], "its value is missing")):
            done = subprocess.run([harness.TOOL, "explain", "-c", self.url(),
                                   *arguments], text=True, capture_output=True,
                                  timeout=waiting.LIMIT_S)
            self.assertEqual((done.returncode, done.stdout), (64, ""))
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertIn(part, done.stderr)


class Redis(Explained, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = redis_server.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self):
        return "redis://127.0.0.1:%d/0" % self.server.port

    def test_progress_on_a_terminal(self):
        """Every answer takes so long that a few take a second."""
        first = self.outer("far", "near")
        with Proxy(self.server.port) as proxy:
            proxy.delay(DELAY_MS, [DOWN])
            terminal = harness.Terminal(
                [harness.TOOL, "explain", "-i", "/", "-c",
                 "redis://127.0.0.1:%d/0" % proxy.port, "far"],
                os.environ)
            self.addCleanup(terminal.close)
            terminal.expect(r"looking for a deadlock: \d queues? read")
            terminal.expect(r"looking for what the holders wait for: 1 names")
            terminal.expect(r'"far": held by 1, waited for by 0\r\n')
            terminal.expect("looked for in 1 name\r\n")
        first.stdin.write("go\n")
        self.assertEqual(self.finish(first)[0], 0)


class PostgreSql(Explained, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server(access="local all all trust\n"
                                     "host all all 127.0.0.1/32 trust\n")
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.run_tool("-c", self.url(), "schema", "--", "true")

    def url(self):
        return "postgresql://postgres@127.0.0.1:%d/postgres" % self.server.port


class Etcd(Explained, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = etcd.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self):
        return "etcd://" + self.server.address()


class ZooKeeper(Explained, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Standalone()
        cls.addClassCleanup(cls.server.close)

    def url(self):
        return "zk://127.0.0.1:%d" % self.server.port


class Cut(harness.Case):
    """One session of another program holds more locks than are looked at, and
    waits for a lock of a second one, which waits for all of these."""

    LOCKS = 65
    TEXT = b"10.0.0.1"  # as Curator has it

    def setUp(self):
        super().setUp()
        self.lists = 0
        self.last = None  # the list that is not answered, nor what follows
        self.fake = Fake(self.script)
        self.addCleanup(self.fake.close)
        self.fill("wanted", (2, 1))
        for number in range(self.LOCKS):
            self.fill("held%d" % number, (1, 2))

    def fill(self, name, sessions):
        self.fake.create("/" + name)
        for session in sessions:
            self.fake.create("/%s/_c_%s-lock-" % (name, uuid.uuid4()), self.TEXT,
                             jute.EPHEMERAL | jute.SEQUENTIAL, session)

    def script(self, request):
        if request.op == "getChildren":
            self.lists += 1
            if self.last is not None and self.lists >= self.last:
                request.swallow()

    def explain(self, *options):
        self.lists = 0
        return subprocess.run(
            [harness.TOOL, "explain", "--all", *options, "-c",
             "zk://" + self.fake.address()], text=True, capture_output=True,
            stdin=subprocess.DEVNULL, timeout=waiting.LIMIT_S)

    def test_a_failure_counts_more(self):
        """Than that not all was looked at."""
        whole = self.explain()
        self.assertEqual(whole.returncode, 1, whole.stderr)
        self.assertIn("64 locks of one session", whole.stdout)
        self.last = self.lists
        failed = self.explain("-w", "1s")
        self.assertEqual(failed.returncode, 75, failed.stdout)
        self.assertIn("no answer", failed.stderr)


class Kazoo(ZooKeeper):
    """In kazoo's layout, and kazoo among them."""

    def url(self):
        return super().url() + "?layout=kazoo"

    def setUp(self):
        super().setUp()
        self.kazoo = KazooClient("127.0.0.1:%d" % self.server.port)
        self.kazoo.start()
        self.addCleanup(self.kazoo.close)
        self.addCleanup(self.kazoo.stop)

    def test_its_waits_hide_nothing(self):
        first = self.outer("a", "b", "-D")
        second = self.outer("b", "a", "-D")
        lock = self.kazoo.Lock("/a", "kazoo")
        thread = threading.Thread(target=lock.acquire)
        thread.start()
        waiting.eventually("kazoo's wait",
                           lambda: self.explained("a")["waiters"])
        self.go_on(first, "b")
        second.stdin.write("go\n")
        status, _, err = self.finish(second)
        self.assertEqual(status, 80, err)
        self.assertEqual(self.finish(first)[0], 0)
        thread.join()
        lock.release()

    def test_a_circle_through_it_is_possible(self):
        """Its session holds one lock and waits for the other."""
        first = self.outer("a", "b", "-D")
        held, wanted = self.kazoo.Lock("/b", "kazoo"), self.kazoo.Lock("/a")
        held.acquire()
        thread = threading.Thread(target=wanted.acquire)
        thread.start()
        waiting.eventually("kazoo's wait",
                           lambda: self.explained("a")["waiters"])
        unknown = ("whether there is a deadlock could not be known: 1 ticket "
                   "does not say what its owner holds; ")
        self.assertIn(unknown, self.tool("explain", "a"))
        self.assertEqual(self.tool("explain", "--all"),
                         unknown + "2 names were looked at\n")
        self.assertIn(("unknown", ""), self.finding(0))
        self.go_on(first, "b")
        for name in "ab":
            found = self.explained(name)
            self.assertIsNone(found["deadlock"])
            self.assertEqual(
                sorted(waiter["waits_for"]
                       for waiter in found["possible_deadlock"]), ["a", "b"])
            text = self.tool("explain", name)
            self.assertIn("possible deadlock: ", text)
            self.assertIn('; its session holds "b"', text)
        (possible, names), = self.all(1)
        self.assertEqual((possible, sorted(names)), (True, ["a", "b"]))
        self.assertEqual([severity for severity, name in self.finding(1)
                          if name in ("a", "b")], ["warning"])
        held.release()
        self.assertEqual(self.finish(first)[0], 0)
        thread.join()
        wanted.release()


if __name__ == "__main__":
    harness.main()
