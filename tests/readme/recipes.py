# SPDX-License-Identifier: Apache-2.0
"""Run the transcripts of docs/tour.md and of docs/recipes: each command is carried
out by a shell, and has to print what the document says that it prints.  Process
numbers, tokens, times and machines may be others, lines may be broken
elsewhere, and "..." stands for what a document leaves out.

    class Deployment(recipes.Case):
        document = recipes.document("ci.md")

        @recipes.block("$ holdfast show deploy-production")
        def test_show(self):
            self.occupy("deploy-production")
            self.follow()

A method is marked with the first line of the block that it runs, and with
which one it is of those that begin so.  A block that no method runs is a
failure."""
import json
import os
import pathlib
import re
import subprocess
import sys

from document import Document

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "cli"))

import engines  # noqa: E402
import harness  # noqa: E402
from harness import waiting  # noqa: E402,F401

SOURCE = pathlib.Path(os.environ["HF_SOURCE"])
RECIPES = SOURCE / "docs" / "recipes"

# Parts of what is printed that differ from one run to the next, as they stand
# in documents, and as they may be.
VARYING = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
    (r"(?<!\S)\.\.\.(?!\S)", r".*"),
    (r"\d+\.\d{6}", r"\d+\.\d{6}"),
    (r"\d{10,}", r"\d+"),  # tokens
    (r"pid \d+ on [\w-]+", r"pid \d+ on \S+"),
    (r"pid \d+", r"pid \d+"),
    (r"waited \d+[dhms]+", r"waited \d+(?:\.\d)?[dhms]+"),
    (r"(?<![\w.])(?:\d+[dhms])+(?!\w)", r"~?(?:\d+[dhms])+"),
]


def document(name):
    return Document(RECIPES / name)


def tour():
    """docs/tour.md with its transcripts alone; readme.py has its other blocks."""
    found = Document(SOURCE / "docs" / "tour.md")
    found.blocks = [block for block in found.blocks if block[1][:2] == "$ "]
    return found


def block(first_line, number=1):
    """A decorator: the method runs this block of the document."""
    def mark(method):
        method.block = (first_line, number)
        return method
    return mark


def blocks(found):
    """{(first line, number): block} of a document."""
    numbered, seen = {}, {}
    for text in found.texts():
        first = text.splitlines()[0]
        seen[first] = seen.get(first, 0) + 1
        numbered[first, seen[first]] = text
    return numbered


def expected(text):
    """An expression for what is printed where a document has this text."""
    text = " ".join(text.split())
    found, end = "", 0
    for match in re.finditer("|".join(f"({part})" for part, _ in VARYING),
                             text):
        found += re.escape(text[end:match.start()])
        found += VARYING[match.lastindex - 1][1]
        end = match.end()
    return found + re.escape(text[end:])


def with_layout(text, layout):
    """The table of a queue, with the column that two engines have besides."""
    return re.sub(r"(?m)(TOKEN)|(?<= )(\d{10,})", lambda match: (
        f"{match[0]} " + ("LAYOUT" if match[1] else layout)), text)


def transcript(text):
    """[(command, what it prints)] of a block."""
    steps = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append([line[2:], ""])
        else:
            steps[-1][1] += line + "\n"
    return steps


class Case(harness.Case):
    """.document, .text (the block of this test) and programs of the document
    that do little: each prints its name."""

    document = None
    programs = ()
    layout = None  # what the column LAYOUT says, where there is one

    def setUp(self):
        super().setUp()
        self.bin = self.path("bin")
        os.mkdir(self.bin)
        self.environment["PATH"] = os.pathsep.join(
            [self.bin, os.path.dirname(harness.TOOL), os.environ["PATH"]])
        for name in self.programs:
            self.program(name, f"echo {name} ran")
        marked = getattr(getattr(self, self._testMethodName), "block", None)
        if marked:
            self.text = blocks(self.document)[marked]

    def every_block_is_run(self, *classes):
        """For a test of each document: by a method of this class, or of one of
        others."""
        methods = [getattr(one, name) for one in (type(self), *classes)
                   for name in dir(one)]
        self.assertEqual(
            set(blocks(self.document)),
            {method.block for method in methods if hasattr(method, "block")})

    def program(self, name, script):
        """A program on PATH, or in the current directory for ./name.  It takes
        the place of one that may just be about to be run."""
        path = self.path(name if name.startswith("./") else "bin/" + name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script + "\n")
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)

    def queue(self, name):
        """Its tickets, as `holdfast show --json` has them."""
        shown = subprocess.run(
            [harness.TOOL, "show", "--json", name], text=True,
            capture_output=True, env=self.environment, check=False,
            timeout=waiting.LIMIT_S)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return json.loads(shown.stdout)["tickets"]

    def wait_for_queue(self, name, count, *processes):
        return waiting.eventually(
            f"{count} tickets of {name}",
            lambda: len(found := self.queue(name)) == count and found,
            of=processes)

    def until_held(self, name, process):
        """The ticket by which a process holds it."""
        def found():
            pids = [process.pid, *harness.descendants(process.pid)]
            return [ticket for ticket in self.queue(name)
                    if ticket["state"] == "holds" and ticket["owner"] and
                    ticket["owner"]["pid"] in pids]
        return waiting.eventually(f"{process.args} to hold {name}", found,
                                  of=[process])[0]

    def until_asked(self, name, process):
        """The holder has received a request.  Until then a text of ZooKeeper's
        may say only the request."""
        def has_arrived():
            owner = self.queue(name)[0]["owner"]
            return owner and owner["asked"]
        waiting.eventually("the message to arrive", has_arrived, of=[process])

    def occupy(self, name, *options, command="run", program="sleeper"):
        """Hold a lock, or wait for it, until the test ends.  The text of the
        ticket is the name of the program."""
        self.program(program, "exec sleep 1000")
        return self.start(*options, name, "--", program, command=command,
                          cwd=self.directory)

    def cross(self, *runs, options=()):
        """Runs of two locks in opposite orders.  Each is (its lock, its
        program, the other lock, the program inside of the run inside)."""
        started = []
        for name, outer, other, inner in runs:
            self.program(inner, "true")
            self.program(outer, "echo holds; read _; exec " + " ".join(
                ["holdfast run", *options, other, "--", inner]))
            started.append(self.start(name, "--", outer, cwd=self.directory,
                                      stdin=subprocess.PIPE))
        for run in started:
            waiting.read_line(run, "holds")
        for run in started:
            run.stdin.write("\n")
            run.stdin.flush()
        return started

    def shell(self, script):
        """The status of a script and what it prints."""
        done = subprocess.run(
            ["bash", "-c", script], text=True, cwd=self.directory,
            env=self.environment, stdin=subprocess.DEVNULL, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=waiting.LIMIT_S)
        return done.returncode, done.stdout

    def follow(self, *replaced):
        """Carry out the block of this test in one shell.  replaced: pairs of
        what stands in a command, and what is put there."""
        steps = transcript(self.text)
        end = "-- end of a command --"
        script = ""
        for command, _ in steps:
            for was, is_now in replaced:
                command = command.replace(was, is_now)
            script += (f"{command}\nstatus=$?; echo '{end}'; "
                       "(exit $status)\n")
        _, said = self.shell(script)
        printed = said.split(end + "\n")
        self.assertEqual(len(printed), len(steps) + 1, said)
        for (command, wanted), got in zip(steps, printed):
            with self.subTest(command=command):
                self.assert_printed(got, wanted)

    def assert_printed(self, got, wanted):
        self.assertRegex(" ".join(got.split()), f"^{expected(wanted)}$")


class Leased:
    """A mixin before one of engines: the tool finds its URL."""

    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_URL"] = self.url()

    def shorten_lease(self):
        """For a test that waits until it is over."""
        self.environment["HOLDFAST_URL"] = self.environment[
            "HOLDFAST_URL"].replace(f"={self.lease_ms}ms",
                                    f"={engines.SHORT_LEASE_MS}ms")


class ZooKeeper(Leased, engines.ZooKeeper):
    """A real server, with a root for each test.  What a test before it has not
    released is there until its session ends."""

    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_URL"] = super().url()
        status, said = self.shell(f"holdfast zk create {self.root()}")
        self.assertEqual(status, 0, said)
        self.environment["HOLDFAST_URL"] = self.url()

    def root(self):
        return "/" + self._testMethodName

    def url(self):
        return super().url().replace("?", self.root() + "?")


class OnFiles(Leased, engines.File, Case):
    pass


class OnZooKeeper(ZooKeeper, Case):
    layout = "curator"


class OnRedis(Leased, engines.Redis, Case):
    layout = "redis"

    def tearDown(self):
        super().tearDown()
        with self.server.client() as client:
            client.ask("FLUSHALL")  # not to wait for leases


class OnPostgreSql(Leased, engines.PostgreSql, Case):
    def setUp(self):
        super().setUp()
        # Looking does not make the schema.
        self.assertEqual(self.shell("holdfast run a -- true"), (0, ""))

    def tearDown(self):
        super().tearDown()
        self.server.sql("DELETE FROM holdfast.ticket")
