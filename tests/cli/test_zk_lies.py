# SPDX-License-Identifier: Apache-2.0
"""Servers of ZooKeeper that lie: trees without an end, and lists of any size.
Whatever they send, each command that walks ends, says why, and takes memory that
is bounded.  And what it does grows as what it is about, not as its square: that is
counted in instructions."""

import os
import re
import shutil
import struct
import subprocess
import sys
import unittest

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import jute  # noqa: E402
from fake import Fake  # noqa: E402

# What a command may take, in KiB: the bound of what is kept, 256 MiB, and what
# answers under way take besides.
MEMORY_KIB = 900 << 10

STAT = jute.Stat(1, 1, 0, 0, 0, 0, 0, 0, 0, 3, 1)
EVERYBODY = [jute.Acl(31, "world", "anyone")]

def names(*words):
    """An answer with these children, as bytes."""
    return jute.Writer().strings(words).bytes


def many(count, name):
    """The same with one name many times, which costs a liar nothing."""
    return struct.pack(">i", count) + count * names(name)[4:]


# What a node of a tree without an end has.
ENDLESS = {
    "one child with a long name": names("x" * 500),
    "thousands of children": names(*("%0100d" % i for i in range(8000))),
    "millions of children": many(3000000, "x" * 6),
}


class Lying(harness.Case):
    """A server for which each node is there, with the same children."""

    answer = names()

    def setUp(self):
        super().setUp()
        self.fake = Fake(self.script)
        self.addCleanup(self.fake.close)
        self.environment["HOLDFAST_URL"] = "zk://%s?timeout=30s" % (
            self.fake.address())

    def script(self, request):
        stat = jute.Writer().stat(STAT).bytes
        if request.op == "getChildren":
            request.reply(payload=self.answer)
        elif request.op == "getChildren2":
            request.reply(payload=self.answer + stat)
        elif request.op == "exists":
            request.reply(payload=stat)
        elif request.op == "getData":
            request.reply(payload=jute.Writer().buffer(b"").bytes + stat)
        elif request.op == "getACL":
            request.reply(payload=jute.Writer().acls(EVERYBODY).bytes + stat)

    def ends(self, status, said, *arguments):
        ended, err, memory = self.run_measured(*arguments)
        print("%s: %d MiB" % (" ".join(arguments), memory >> 10),
              file=sys.stderr)
        self.assertEqual(ended, status, err)
        self.assertRegex(err, said)
        self.assertLess(memory, MEMORY_KIB)


class Trees(Lying):
    """No tree of these has an end."""

    def walk(self, *arguments):
        for what, self.answer in ENDLESS.items():
            with self.subTest(what):
                self.ends(71, "take more than 256 MiB; expected|longer than",
                          "zk", *arguments)

    def test_tree(self):
        self.walk("tree", "/a")

    def test_tree_as_json(self):
        self.walk("tree", "--json", "/a")

    def test_list(self):
        self.walk("ls", "-R", "/a")

    def test_export(self):
        self.walk("export", "/a")

    def test_removal(self):
        self.walk("rm", "-r", "/a")
        self.assertEqual(self.fake.count("delete"), 0)


class Names(Lying):
    """Each level has twenty thousand nodes, and paths are up to 1 KiB long."""

    answer = many(20000, "x" * 100)

    def test_names(self):
        few, much = "more than 100000 nodes", "take more than 256 MiB"
        for said, words in ((few, ["ls"]), (much, ["ls", "--all"]),
                            (few, ["metrics"]), (much, ["metrics", "--all"]),
                            (much, ["explain", "--within", "x" * 100, "x/x"])):
            with self.subTest(words=words):
                # The server sends a hundred megabytes, from Python.
                self.ends(71, said, words[0], "-w", "10m", *words[1:])


class Queues(Lying):
    """One queue."""

    def test_millions_that_are_no_tickets(self):
        self.answer = many(3000000, "x")
        for words in (["show", "a"], ["show", "--json", "a"],
                      ["revoke", "a"], ["metrics", "a"]):
            with self.subTest(words=words):
                _, err, memory = self.run_measured(*words)
                print("%s: %d MiB" % (" ".join(words), memory >> 10),
                      file=sys.stderr)
                self.assertLess(memory, MEMORY_KIB)
                self.assertLess(len(err), 10000)

    def instructions(self, children, *arguments):
        """How many the command takes about these."""
        self.answer = names(*children)
        ran = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             harness.TOOL, *arguments], env=self.environment, text=True,
            stdin=subprocess.DEVNULL, capture_output=True,
            timeout=10 * waiting.LIMIT_S, check=False)
        counted = re.search(r"Collected : (\d+)", ran.stderr)
        self.assertIsNotNone(counted, ran.stderr)
        return int(counted.group(1))

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    def test_work_grows_as_the_queue(self):
        """Four times as many nodes are four times the work, and a little for
        the order, where the square would be sixteen times."""
        kinds = {
            "unknown": "foreign-%d",
            "tickets": "_c_%08x-0000-4000-8000-000000000000-lock-%010d",
            "participants": "%08x-0000-4000-8000-000000000000",
        }
        for kind, form in kinds.items():
            def children(count):
                return [form % ((i,) * form.count("%")) for i in range(count)]
            for words in (["show", "a"], ["show", "--json", "a"],
                          ["metrics", "a"]):
                with self.subTest(kind=kind, words=words):
                    none, some, all_of_it = (
                        self.instructions(children(count), *words)
                        for count in (0, 1000, 4000))
                    ratio = (all_of_it - none) / (some - none)
                    print(kind, words, "%.1f" % ratio, file=sys.stderr)
                    self.assertLess(ratio, 6)


if __name__ == "__main__":
    harness.main()
