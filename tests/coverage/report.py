#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""report.py BUILD [--some] [PATH]: which lines of src/ the tests have run, by
folder and in BUILD/coverage.txt by file; with PATH each line beneath it that
was not.

Fails if it is less than the goal, if no reason is known for a line of the core
or of an engine, or if a reason is out of date; not with --some, when it was
only some of the tests."""

import os
import sys

import counts
import reasons

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Folders of src/, and how many of a hundred of their lines must be run.
GOALS = (("src/base", 98), ("src/core", 98), ("src/zookeeper", 98),
         ("src/zookeeper_io", 98), ("src/engines/zookeeper", 98),
         ("src/engines/file", 95), ("src/engines/leased", 95),
         ("src/engines/quorum", 95), ("src/engines/redis", 95),
         ("src/engines/postgres", 95), ("src", 90))


class Sum:
    """Of some files: how many lines they have, and so on."""

    def __init__(self):
        self.lines = self.run = self.unexplained = 0

    def add(self, source, unexplained):
        self.lines += len(source.counts)
        self.run += source.run()
        self.unexplained += unexplained

    def percent(self):
        return 100 * self.run / self.lines

    def row(self, name):
        return "%-34s %6d %6d  %5.1f %% %7d" % (
            name, self.lines, self.run, self.percent(),
            self.lines - self.run)


HEAD = "%-34s %6s %6s  %7s %7s" % ("", "lines", "run", "", "not run")


def beneath(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def sum_of(sources, missing, folder):
    total = Sum()
    for source in sources:
        if beneath(source.path, folder):
            total.add(source, len(missing.get(source.path, ())))
    return total


def folders(sources):
    return sorted({source.folder() for source in sources})


def write_files(sources, path):
    with open(path, "w", encoding="utf-8") as out:
        print(HEAD, file=out)
        for source in sources:
            total = Sum()
            total.add(source, 0)
            print(total.row(source.path), file=out)
            for number, text in source.missed():
                print("    %4d  %s" % (number, text), file=out)


def print_missed(sources, path):
    """Each line beneath the path that was not run."""
    chosen = [source for source in sources if beneath(source.path, path)]
    if not chosen:
        sys.exit("coverage: no file of src/ that is compiled is at %s" % path)
    for source in chosen:
        for number, text in source.missed():
            print("%s:%d: %s" % (source.path, number, text))


def wrong(sources, missing, known):
    for folder, goal in GOALS:
        percent = sum_of(sources, missing, folder).percent()
        if percent < goal:
            yield "%s: %.2f %% of the lines were run; expected %d %%" % (
                folder, percent, goal)
    for path, lines in sorted(missing.items()):
        for number, text in lines:
            yield "%s:%d: not run, and no reason is known: %s" % (
                path, number, text)
    yield from known.outdated()


def main():
    words = [word for word in sys.argv[1:] if word != "--some"]
    build = os.path.abspath(words[0])
    sources = counts.collect(ROOT, build)
    known = reasons.Reasons(os.path.join(HERE, "reasons.txt"))
    missing = {source.path: known.unexplained(source) for source in sources
               if reasons.needs_reason(source.path)}
    if len(words) > 1:
        print_missed(sources, os.path.relpath(words[1], ROOT))
    print(HEAD)
    for folder in folders(sources) + ["src"]:
        print(sum_of(sources, missing, folder).row(folder))
    write_files(sources, os.path.join(build, "coverage.txt"))
    if "--some" in sys.argv:
        return
    faults = list(wrong(sources, missing, known))
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
