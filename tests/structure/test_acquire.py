#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An acquire enters no more functions, in no more files, than it did.

    test_acquire.py ENTERED               compare with MOST
    test_acquire.py ENTERED URL           print the numbers
    test_acquire.py ENTERED URL WHAT      print each entry of WHAT (acquire,
                                          release or handoff) in order

ENTERED is the program of entered.c.  A file and its header count as one."""

import collections
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "servers"))

from zookeeper import Standalone  # noqa: E402

# (functions, files, deepest stack), with what varies from run to run.  Less is
# better: write down what is less, so that it does not grow again.
MOST = {
    ("file", "acquire"): (390, 78, 29),
    ("zookeeper", "acquire"): (528, 94, 41),
    ("zookeeper", "handoff"): (490, 99, 36),
}

Entry = collections.namedtuple("Entry", "thread depth function file")


def files_of(program, addresses):
    """{address: (function, file below the root)}"""
    lines = subprocess.run(["addr2line", "-f", "-e", program],
                           input="\n".join(addresses), capture_output=True,
                           text=True, check=True).stdout.splitlines()
    return {address: (function, os.path.relpath(place.split(":")[0], ROOT))
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


def fewest(parts):
    """{what: the numbers of the record with the fewest functions}"""
    found = {}
    for what, entries in parts:
        found[what] = min(found.get(what, numbers(entries)), numbers(entries))
    return found


class Acquire(unittest.TestCase):
    def compare(self, engine, url):
        for what, found in fewest(recorded(sys.argv[1], url)).items():
            most = MOST.get((engine, what), found)
            print("%s, %s: %d functions in %d files, %d deep" % (
                engine, what, *found), file=sys.stderr)
            for number, limit, unit in zip(found, most, (
                    "functions", "files", "functions on the stack")):
                self.assertLessEqual(number, limit, "%s: %s %s, expected at "
                                     "most %d; what has come in between?" % (
                                         what, number, unit, limit))

    def test_on_files(self):
        with tempfile.TemporaryDirectory() as directory:
            self.compare("file", "file:%s/root" % directory)

    def test_on_zookeeper(self):
        with Standalone() as server:
            self.compare("zookeeper", "zk://%s" % server.address())


def print_entries(parts, what):
    entries = min((entries for name, entries in parts if name == what),
                  key=numbers)
    for entry in entries:
        print("%d%s%s  %s" % (entry.thread, "  " * entry.depth, entry.function,
                              entry.file))


def main():
    if len(sys.argv) == 2:
        unittest.main(argv=sys.argv[:1])
    parts = recorded(*sys.argv[1:3])
    if len(sys.argv) > 3:
        print_entries(parts, sys.argv[3])
        return
    for what, found in fewest(parts).items():
        print("%-8s %4d functions in %3d files, %2d deep" % (what, *found))


if __name__ == "__main__":
    main()
