#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with other libraries contend with ours for one path of a real
ZooKeeper.

    test_interop.py Peers|Curator|Kazoo|Kept|All|ReadWrite|KazooLayout|
        KazooReadWrite|WriteLockLayout

What can share a path, and what cannot:

  - Curator and holdfast, as they are: both name their nodes _c_UUID-lock-SEQ.
  - kazoo and holdfast, if kazoo gets extra_lock_patterns=["-lock-"]; it
    may keep its own names, HEX__lock__SEQ, which holdfast reads.
  - kazoo as it is and holdfast with layout=kazoo; ZooKeeper's own WriteLock and
    holdfast with layout=writelock.
  - Curator and kazoo only if kazoo also names its nodes as Curator does:
    Curator sorts a name without "lock-" by the whole of it, so that
    HEX__lock__SEQ comes after any ticket, and two hold the lock.  Peers shows
    it.  All three together therefore need a kazoo.recipe.lock.Lock with
    another .prefix; kazoo_contender.py has it.
  - Readers and writers: Curator and holdfast as they are, but for Curator's
    downgrade, which lets a second writer in before 5.5.0 (CURATOR-621) and
    which its contender leaves alone.  kazoo's readers and writers with names
    and patterns of their own: kazoo_contender.py says why.

HF_LONG=1 makes minutes of the seconds.
"""

import os
import shutil
import subprocess
import sys
import threading
import unittest
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "servers"))

import jute  # noqa: E402
import machine  # noqa: E402
import waiting  # noqa: E402
from zookeeper import Standalone  # noqa: E402

LONG = bool(os.environ.get("HF_LONG"))
EACH = 5000 if LONG else 30
FINISH_S = 3000 if LONG else 120

NAME = "interop/one path"
PATH = "/" + NAME

WRITELOCK_JARS = """zookeeper-recipes-lock zookeeper zookeeper-jute slf4j-api
    slf4j-nop""".split()
CURATOR_JARS = """curator-recipes curator-framework curator-client zookeeper
    zookeeper-jute guava slf4j-api slf4j-nop""".split()


class Contender:
    """One process that says "ready" when it has a session, and begins when it
    gets a line."""

    def __init__(self, name, arguments):
        self.name = name
        self.start(arguments)

    def start(self, arguments):
        self.process = machine.Process(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.popen = self.process.popen

    def expect(self, word):
        line = waiting.read_line(self, seconds=FINISH_S).strip()
        if line != word:
            raise AssertionError("%s printed %r instead of %r" % (
                self.name, line, word))

    def go_on(self):
        self.popen.stdin.write("\n")
        self.popen.stdin.flush()

    def begin(self):
        self.expect("ready")
        self.go_on()

    def finish(self):
        try:
            _, errors = self.popen.communicate(timeout=FINISH_S)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s does not end in %d s" % (
                self.name, FINISH_S)) from None
        if self.popen.returncode != 0:
            raise AssertionError("%s ended with %d: %s" % (
                self.name, self.popen.returncode, errors))

    def kill(self):
        self.process.kill()
        for stream in (self.popen.stdin, self.popen.stdout,
                       self.popen.stderr):
            stream.close()


class Library(Contender):
    """contender.c, which begins at once."""

    def __init__(self, name, arguments):
        self.name = name
        self.arguments = arguments
        self.popen = None

    def begin(self):
        self.start(self.arguments)

    def kill(self):
        if self.popen:
            super().kill()


class Tool:
    """A shell loop: holdfast run again and again, each with a session of its
    own."""

    def __init__(self, name, runs):
        """turns: the arguments of each run."""
        self.name = name
        self.runs = runs
        self.left = len(runs)
        self.process = None
        self.failure = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def begin(self):
        self.thread.start()

    def run(self):
        while self.left > 0 and not self.failure:
            self.process = machine.Process(self.runs[-self.left], text=True,
                                           stderr=subprocess.PIPE)
            errors = self.process.popen.communicate()[1]
            self.left -= 1
            if self.process.popen.returncode != 0:
                self.failure = "%s ended with %d: %s" % (
                    self.name, self.process.popen.returncode, errors)

    def finish(self):
        self.thread.join(FINISH_S)
        if self.thread.is_alive():
            raise AssertionError(self.name + " does not finish")
        if self.failure:
            raise AssertionError(self.failure)

    def kill(self):
        self.left = 0
        if self.process:
            self.process.kill()
        if self.thread.is_alive():
            self.thread.join(waiting.LIMIT_S)


class Case(unittest.TestCase):
    # How holdfast writes its tickets, and how one of the test's own begins.
    layout = "curator"

    def first(self):
        return "_c_%s-lock-" % uuid.uuid4()

    def setUp(self):
        self.directory = machine.directory("interop", on_disk=True)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        # The server removes empty containers at once, while a client may be
        # about to use them.
        self.server = Standalone(container_check_ms=100)
        self.addCleanup(self.server.close)
        self.client = self.server.client(timeout_ms=40000)
        self.addCleanup(self.client.close)
        self.contenders = []
        self.addCleanup(self.kill)

    def kill(self):
        for contender in self.contenders:
            contender.kill()

    # ---- contenders

    def add(self, contender):
        self.contenders.append(contender)
        return contender

    def java(self, name, jars, *arguments):
        path = [os.environ["CONTENDER_CLASSES"],
                *("/usr/share/java/%s.jar" % jar for jar in jars)]
        return self.add(Contender(name, [
            "java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
            "-cp", ":".join(path), *arguments]))

    def curator(self, name, command="add", *rest):
        return self.java(
            name, CURATOR_JARS, "CuratorContender", command,
            self.server.address(), PATH,
            *(rest or (self.directory, name, str(EACH))))

    def writelock(self, name):
        return self.java(
            name, WRITELOCK_JARS, "WriteLockContender", self.server.address(),
            PATH, self.directory, name, str(EACH))

    def kazoo(self, name, dialect, command="add"):
        rest = () if command == "hold" else (self.directory, name, str(EACH))
        return self.add(Contender(name, [
            "/usr/bin/python3", os.path.join(HERE, "kazoo_contender.py"),
            command, dialect, self.server.address(), PATH, *rest]))

    def url(self):
        return "zk://%s?timeout=10s&layout=%s" % (self.server.address(),
                                                  self.layout)

    def library(self, name, command="add"):
        return self.add(Library(name, [
            os.environ["CONTENDER"], command, self.url(), NAME, self.directory,
            name, str(EACH)]))

    def tool(self, name):
        return self.add(Tool(name, [[
            os.environ["HOLDFAST"], "run", "-q", "-c", self.url(), NAME, "--",
            os.environ["CONTENDER"], "once", self.directory, name]] * EACH))

    def holdfast(self):
        for i in range(3):
            self.library("library-%d" % i)
        for i in range(2):
            self.tool("tool-%d" % i)

    def attempt(self, *options):
        """The errors of a try that cannot succeed."""
        run = subprocess.run(
            [os.environ["HOLDFAST"], "run", "--try", *options, "-c",
             self.url(), NAME, "--", "true"], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=FINISH_S, check=False)
        self.assertNotEqual(run.returncode, 0)
        return run.stderr

    # ---- the contest

    def contest(self, container):
        """All queue behind a ticket of the test before any is granted the
        lock, so that all contend from the first grant to the last."""
        self.client.create("/interop")
        self.client.create(PATH, flags=jute.CONTAINER if container
                           else jute.PERSISTENT)
        first, _ = self.client.create("%s/%s" % (PATH, self.first()),
                                      b"the test", jute.EPHEMERAL_SEQUENTIAL)
        for contender in self.contenders:
            contender.begin()
        expected = len(self.contenders) + 1
        waiting.eventually("everybody to queue", lambda: self.all_well() and
                           len(self.client.children(PATH)) == expected)
        self.assertFalse(os.path.exists(self.path("log")))
        self.client.delete(first)
        for contender in self.contenders:
            contender.finish()
        self.check()
        # The first session may have expired meanwhile.
        with self.server.client() as client:
            if container:
                waiting.eventually("the container to go",
                                   lambda: not client.exists(PATH))
            self.assertFalse(client.children(PATH))

    def all_well(self):
        """Fails as soon as a contender has."""
        for contender in self.contenders:
            if isinstance(contender, Tool):
                self.assertIsNone(contender.failure)
            elif contender.popen.poll() is not None:
                contender.finish()
        return True

    def path(self, name):
        return os.path.join(self.directory, name)

    def rises(self, before, after):
        """Each grant has a ticket of its own."""
        self.assertLess(before, after, "out of order")

    def check(self):
        # Logged inside the lock: the lines are in the order of grants.
        with open(self.path("log")) as file:
            lines = [line.split() for line in file]
        total = EACH * len(self.contenders)
        names = [line[0] for line in lines]
        tokens = [int(line[1]) for line in lines]
        self.assertEqual([int(line[2]) for line in lines],
                         list(range(1, total + 1)), "a lost update")
        with open(self.path("counter")) as file:
            self.assertEqual(int(file.read()), total)
        # In the order of the queue, so no contender starves.
        for before, after in zip(tokens, tokens[1:]):
            self.rises(before, after)
        for contender in self.contenders:
            self.assertEqual(names.count(contender.name), EACH)
        switches = sum(a != b for a, b in zip(names, names[1:]))
        print("%d grants, %d to another than before, tokens 0x%x to 0x%x" % (
            total, switches, tokens[0], tokens[-1]), file=sys.stderr)


class Peers(Case):
    """The other libraries among themselves."""

    def test_curator_with_curator(self):
        self.curator("curator-0")
        self.curator("curator-1")
        self.contest(container=True)

    def test_kazoo_with_kazoo(self):
        for i in range(3):
            self.kazoo("kazoo-%d" % i, "kazoo")
        self.contest(container=False)

    def test_kazoo_named_as_curator_does_with_curator(self):
        self.curator("curator-0")
        self.curator("curator-1")
        for i in range(2):
            self.kazoo("kazoo-%d" % i, "curator")
        self.contest(container=False)

    def test_curator_does_not_respect_kazoos_own_names(self):
        # Its hexadecimal digits would have to begin with more zeros than a
        # sequence has; nobody has seen that.
        self.client.create("/interop")
        self.client.create(PATH)
        kazoo = self.kazoo("kazoo", "kazoo", "hold")
        curator = self.curator("curator", "try")
        kazoo.expect("held")
        node, = self.client.children(PATH)
        self.assertRegex(node, r"^[0-9a-f]{32}__lock__\d{10}$")
        curator.expect("ready")
        curator.go_on()
        curator.expect("taken")  # two hold it
        kazoo.go_on()
        kazoo.expect("released")

    def test_curator_respects_kazoo_that_names_as_it_does(self):
        self.client.create("/interop")
        self.client.create(PATH)
        kazoo = self.kazoo("kazoo", "curator", "hold")
        curator = self.curator("curator", "try")
        kazoo.expect("held")
        curator.expect("ready")
        curator.go_on()
        curator.expect("refused")
        kazoo.go_on()
        kazoo.expect("released")
        curator.go_on()
        curator.expect("taken")


class Curator(Case):
    def test_curator_with_holdfast(self):
        self.curator("curator-0")
        self.curator("curator-1")
        self.holdfast()
        self.contest(container=True)


class Kazoo(Case):
    def test_kazoo_with_holdfast(self):
        for i in range(3):
            self.kazoo("kazoo-%d" % i, "kazoo")
        self.holdfast()
        # kazoo believes that what it has seen once stays, so the parent is
        # what kazoo makes it.
        self.contest(container=False)


class Kept(Case):
    """Programs of ours keep their tickets.  The others know nothing of it."""

    def tokens(self):
        with open(self.path("log")) as file:
            return [int(line.split()[1]) for line in file]

    def rises(self, before, after):
        self.assertLessEqual(before, after, "out of order")

    def test_curator_and_kazoo_wait_for_no_kept_ticket(self):
        self.curator("curator-0")
        self.kazoo("kazoo-0", "curator")
        for i in range(2):
            self.library("keeper-%d" % i, "keep")
        self.contest(container=True)

    def test_one_alone_makes_one_ticket(self):
        self.library("keeper-0", "keep")
        self.contest(container=True)
        # The first one found the ticket of the test ahead, and is not kept
        # while that is there.
        self.assertLessEqual(len(set(self.tokens())), 2)


class KazooLayout(Case):
    layout = "kazoo"

    def first(self):
        return "%s__lock__" % uuid.uuid4().hex

    def test_kazoo_as_it_comes_with_holdfast(self):
        for i in range(3):
            self.kazoo("kazoo-%d" % i, "stock")
        self.holdfast()
        self.contest(container=False)


    def test_a_mixed_path_is_reported(self):
        # Ours waits for tickets of any layout, but kazoo as it comes would not
        # wait for ours.
        self.client.create("/interop")
        self.client.create(PATH)
        self.client.create(PATH + "/notes")
        kazoo = self.kazoo("kazoo", "stock", "hold")
        kazoo.expect("held")
        junk = "has a child that is no ticket and is ignored: \"notes\""
        mixed = "put layout=kazoo into the URL, here it is layout=curator"
        busy = "somebody else is ahead in the queue"
        said = self.attempt()
        self.assertIn(junk, said)
        self.assertNotIn(mixed, said)
        self.assertIn(busy, said)
        self.layout = "curator"
        said = self.attempt()
        self.assertIn(junk, said)
        self.assertIn(mixed, said)
        self.assertIn(busy, said)
        kazoo.go_on()
        kazoo.expect("released")


class WriteLockLayout(Case):
    layout = "writelock"

    def first(self):
        return "x-%s-" % uuid.uuid4().hex

    def test_writelock_with_writelock(self):
        for i in range(3):
            self.writelock("writelock-%d" % i)
        self.contest(container=False)

    def test_writelock_with_holdfast(self):
        for i in range(2):
            self.writelock("writelock-%d" % i)
        self.holdfast()
        self.contest(container=False)

    def test_writelock_has_no_readers_and_writers(self):
        for option in ("--read", "--write"):
            self.assertIn("layout=writelock has no names for readers and "
                          "writers", self.attempt(option))


class All(Case):
    def test_all_three(self):
        self.curator("curator-0")
        self.curator("curator-1")
        for i in range(2):
            self.kazoo("kazoo-%d" % i, "curator")
        self.holdfast()
        self.contest(container=False)


class Sharing(Case):
    """Readers and writers on one path.  Each contender is both by turns; a
    writer writes two files, which no reader may see apart."""

    def first(self):
        return "_c_%s-__WRIT__" % uuid.uuid4()

    def sharing_tool(self, name):
        first = int(name[-1])
        kinds = [("--write", "w") if turn % 2 == 0 else ("--read", "r")
                 for turn in range(first, first + EACH)]
        return self.add(Tool(name, [[
            os.environ["HOLDFAST"], "run", "-q", option, "-c", self.url(),
            NAME, "--", os.environ["CONTENDER"], "share-once", kind,
            self.directory, name] for option, kind in kinds]))

    def holdfast(self):
        for i in range(3):
            self.library("library-%d" % i, "share")
        for i in range(2):
            self.sharing_tool("tool-%d" % i)

    def check(self):
        with open(self.path("log")) as file:
            lines = [line.split() for line in file]
        self.assertEqual(len(lines), EACH * len(self.contenders))
        # Writers are alone, so their lines are in the order of grants.
        writes = [int(line[1]) for line in lines if line[2] == "w"]
        self.assertEqual(writes, sorted(writes), "out of order")
        numbers = [int(line[3]) for line in lines if line[2] == "w"]
        self.assertEqual(numbers, list(range(1, len(writes) + 1)),
                         "a lost update")
        for name in ("one", "two"):
            with open(self.path(name)) as file:
                self.assertEqual(int(file.read()), len(writes))
        # A reader comes after every writer ahead of it and before all others.
        for name, token, kind, number in lines:
            if kind == "r":
                ahead = sum(write < int(token) for write in writes)
                self.assertEqual(int(number), ahead, name)
        for contender in self.contenders:
            self.assertEqual(sum(line[0] == contender.name for line in lines),
                             EACH)
        print("%d writes, %d reads" % (len(writes), len(lines) - len(writes)),
              file=sys.stderr)


class ReadWrite(Sharing):
    def first(self):
        return "_c_%s-__WRIT__" % uuid.uuid4()

    def curators(self):
        for i in range(2):
            name = "curator-%d" % i
            self.curator(name, "share", self.directory, name, str(EACH))

    def kazoos(self):
        for i in range(2):
            self.kazoo("kazoo-%d" % i, "curator", "share")

    def test_curator_with_holdfast(self):
        self.curators()
        self.holdfast()
        self.contest(container=True)

    def test_kazoo_with_holdfast(self):
        self.kazoos()
        self.holdfast()
        self.contest(container=False)

    def test_all_three(self):
        self.curators()
        self.kazoos()
        self.holdfast()
        self.contest(container=False)


class KazooReadWrite(Sharing):
    layout = "kazoo"

    def first(self):
        return "%s__lock__" % uuid.uuid4().hex

    def test_kazoo_with_holdfast(self):
        for i in range(3):
            self.kazoo("kazoo-%d" % i, "stock", "share")
        self.holdfast()
        self.contest(container=False)


if __name__ == "__main__":
    unittest.main()
