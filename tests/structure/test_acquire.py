#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An acquire enters no more functions, in no more files, than it did; and on
files it enters those that docs/architecture.md says, in that order.

    test_acquire.py ENTERED               compare with MOST
    test_acquire.py ENTERED URL           print the numbers
    test_acquire.py ENTERED URL WHAT      print each entry of WHAT (acquire,
                                          release or handoff) in order

ENTERED is the program of entered.c.  A file and its header count as one."""

import collections
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "servers"))

from zookeeper import Standalone  # noqa: E402

# (functions, files, deepest stack) of what each record enters.  Less is
# better: write down what is less, so that it does not grow again.  On a quiet
# machine the caller of an acquire on ZooKeeper polls itself, which is some five
# functions more than where another thread was quicker.
# A handoff varies by ten, with the thread that is quicker on either side.
MOST = {
    ("file", "acquire"): (341, 75, 29),
    ("zookeeper", "acquire"): (480, 88, 40),
    ("zookeeper", "handoff"): (464, 89, 36),
}

UNITS = ("functions", "files", "functions on the stack")
RUNS_MAX = 8

# The table of docs/architecture.md, and its rows: file below src, function.
TABLE = re.compile(r"^## The life of a lock on files$.*?^\*\*Acquire\.\*\*"
                   r"(.*?)^\*\*Loss\.\*\*", re.M | re.S)
ROW = re.compile(r"^\| `([a-z0-9_/]+\.c)` \| `(\w+)\(\)` \|", re.M)
ROWS_MIN = 15

Entry = collections.namedtuple("Entry", "thread depth function file")


def below_src(path):
    """The path from src on: a cache of the compiler's answers may have that of
    another copy of the tree."""
    return "src/" + path.rpartition("/src/")[2]


def files_of(program, addresses):
    """{address: (function, its file, as src/...)}"""
    lines = subprocess.run(["addr2line", "-f", "-e", program],
                           input="\n".join(addresses), capture_output=True,
                           text=True, check=True).stdout.splitlines()
    return {address: (function, below_src(place.split(":")[0]))
            for address, function, place in
            zip(addresses, lines[::2], lines[1::2])}


def recorded(program, url):
    """[(what, [Entry])]"""
    text = subprocess.run([program, url], capture_output=True, text=True,
                          check=True, timeout=120).stdout
    parts = []
    for line in text.splitlines():
        if line.startswith("= "):
            parts.append((line[2:], []))
        else:
            parts[-1][1].append(line.split())
    addresses = sorted({words[2] for _, lines in parts for words in lines})
    found = files_of(program, addresses)
    return [(what, [Entry(int(thread), int(depth), *found[address])
                    for thread, depth, address in lines])
            for what, lines in parts]


def numbers(entries):
    return (len({(entry.function, entry.file) for entry in entries}),
            len({os.path.splitext(entry.file)[0] for entry in entries}),
            max(entry.depth for entry in entries))


def shortest(parts, what):
    """The record of ${what} that has the least of other threads and timers"""
    return min((entries for name, entries in parts if name == what),
               key=numbers)


# The clock is corrected once in some milliseconds, so in some of the records,
# and on a busy machine in each.
OF_CLOCK = {("hf_slew_read", "src/monitor/clock.c"),
            ("hf_clock_correct", "src/monitor/clock.c"),
            ("raise_to", "src/monitor/clock.c")}


def in_each(parts):
    """{what: the numbers of what each of its records enters}: what a timer or
    another thread adds is in some of them only"""
    functions, deepest = {}, {}
    for what, entries in parts:
        entered = {(entry.function, entry.file) for entry in entries} - OF_CLOCK
        functions[what] = functions.get(what, entered) & entered
        depth = max(entry.depth for entry in entries)
        deepest[what] = min(deepest.get(what, depth), depth)
    return {what: (len(entered),
                   len({os.path.splitext(file)[0] for _, file in entered}),
                   deepest[what])
            for what, entered in functions.items()}


def exceeded(engine, what, found):
    """A line for each of the numbers ${found} that is above its limit"""
    limits = MOST.get((engine, what), found)
    return ["%s: %d %s, expected at most %d; what has come in between?" % (
                what, number, unit, limit)
            for number, limit, unit in zip(found, limits, UNITS)
            if number > limit]


def documented():
    """[(file below src, function)]"""
    with open(os.path.join(ROOT, "docs", "architecture.md"),
              encoding="utf-8") as page:
        return ROW.findall(TABLE.search(page.read()).group(1))


def not_entered(steps, entries):
    """The first of ${steps} that is not entered behind those before it"""
    entered = iter((entry.file.rpartition("src/")[2], entry.function)
                   for entry in entries)
    return next((step for step in steps if step not in entered), None)


class Acquire(unittest.TestCase):
    def compare(self, engine, url):
        """The parts that were recorded.  Whether the caller or the background
        thread polls stays the same for a whole run on a busy machine, so more
        runs follow while a number is above its limit: what has come in between
        is in each of them."""
        parts = []
        for _ in range(RUNS_MAX):
            parts += recorded(sys.argv[1], url)
            found = in_each(parts)
            above = [line for what, entered in found.items()
                     for line in exceeded(engine, what, entered)]
            if not above:
                break
        for what, entered in found.items():
            print("%s, %s: %d functions in %d files, %d deep" % (
                engine, what, *entered), file=sys.stderr)
        self.assertEqual(above, [])
        return parts

    def test_on_files(self):
        with tempfile.TemporaryDirectory() as directory:
            parts = self.compare("file", "file:%s/root" % directory)
        steps = documented()
        self.assertGreaterEqual(len(steps), ROWS_MIN)
        self.assertIsNone(
            not_entered(steps, shortest(parts, "acquire")),
            "docs/architecture.md, the life of a lock on files: not entered "
            "behind the rows before it")

    def test_on_zookeeper(self):
        with Standalone() as server:
            self.compare("zookeeper", "zk://%s" % server.address())


def print_entries(parts, what):
    for entry in shortest(parts, what):
        print("%d%s%s  %s" % (entry.thread, "  " * entry.depth, entry.function,
                              entry.file))


def main():
    if len(sys.argv) == 2:
        unittest.main(argv=sys.argv[:1])
    parts = recorded(*sys.argv[1:3])
    if len(sys.argv) > 3:
        print_entries(parts, sys.argv[3])
        return
    for what, found in in_each(parts).items():
        print("%-8s %4d functions in %3d files, %2d deep" % (what, *found))


if __name__ == "__main__":
    main()
