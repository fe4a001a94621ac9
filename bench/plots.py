#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The plots of docs/speed.md, drawn from its tables.

usage: plots.py            draw them anew, with gnuplot
       plots.py --check    say which were drawn from other numbers than those of
                           the tables now; 1 if there is one

A plot has its numbers in a comment, so that a table cannot change without its
plot."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOC = os.path.join(ROOT, "docs", "speed.md")
FOLDER = os.path.join(ROOT, "docs", "plots")

STYLE = """set terminal svg size 680,340 font "sans-serif,12" background "white"
set output
set logscale x
set logscale y
set grid
set key outside right
set xlabel "%s"
set ylabel "%s"
set title "%s"
"""


COLOURS = ("#1b6ca8", "#c1440e", "#2e7d32", "#7b3fa0", "#555555", "#b8860b")


LOCKS = ("locks", "new names/s", "/ wire", "known names/s", "/ wire")
WAITERS = ("waiters", "sessions", "held ms", "queued after s", "bytes each",
           "a list us", "first us", "p50 us", "mean us", "p50 / delete to event")


def rows(columns):
    """Those of the table whose head begins with these columns."""
    with open(DOC) as file:
        lines = file.read().splitlines()
    head = " +".join(map(re.escape, columns))
    heads = [at for at, line in enumerate(lines)
             if re.match("    %s( |$)" % head, line)]
    if len(heads) != 1:
        sys.exit("docs/speed.md has %d tables of %s and should have 1"
                 % (len(heads), columns[0]))
    for line in lines[heads[0] + 1:]:
        cells = line.split()
        if len(cells) < len(columns):
            return
        yield cells


def waiters(column):
    """A line for each number of sessions and each hold."""
    lines = {}
    for cells in rows(WAITERS):
        name = "%s session%s, held %s ms" % (
            cells[1], "" if cells[1] == "1" else "s", cells[2])
        lines.setdefault(name, []).append(
            (cells[0], cells[WAITERS.index(column)]))
    return lines


def locks():
    return {name: [(cells[0], cells[column]) for cells in rows(LOCKS)]
            for name, column in (("names that are new", 2),
                                 ("names that exist", 4))}


PLOTS = {
    "handoff": ("waiters", "median handoff / floor",
                "A handoff, beside a delete and its event on the bare wire",
                lambda: waiters("p50 / delete to event")),
    "queued": ("waiters", "seconds",
               "Until all stand in line",
               lambda: waiters("queued after s")),
    "locks": ("locks held by one client", "rate / wire",
              "Locks acquired, beside a create and a list on the bare wire",
              locks),
}


def drawn_from(name):
    """The numbers of a plot's lines, as text."""
    lines = PLOTS[name][3]()
    return "".join("%s:%s\n" % (line, "".join(" (%s, %s)" % point
                                              for point in points))
                   for line, points in lines.items())


def draw(name):
    across, up, title, of = PLOTS[name]
    lines = of()
    said = [STYLE % (across, up, title)]
    for number, points in enumerate(lines.values()):
        said.append("$line%d << END\n%sEND\n" % (
            number, "".join("%s %s\n" % point for point in points)))
    said.append("plot " + ", ".join(
        '$line%d using 1:2 with linespoints pointtype %d linewidth 2 '
        'linecolor rgb "%s" title "%s"'
        % (number, number + 4, COLOURS[number % len(COLOURS)], line)
        for number, line in enumerate(lines)) + "\n")
    ran = subprocess.run(["gnuplot"], input="".join(said), text=True,
                         stdout=subprocess.PIPE, check=True)
    declared, rest = ran.stdout.split("\n", 1)
    with open(os.path.join(FOLDER, name + ".svg"), "w") as file:
        file.write("%s\n<!-- Drawn by ./dev bench plots from docs/speed.md:\n"
                   "%s-->\n%s" % (declared, drawn_from(name), rest))


def is_current(name):
    path = os.path.join(FOLDER, name + ".svg")
    if not os.path.exists(path):
        return False
    with open(path) as file:
        return drawn_from(name) in file.read()


def main():
    if sys.argv[1:] == ["--check"]:
        old = [name for name in PLOTS if not is_current(name)]
        for name in old:
            print("docs/plots/%s.svg was drawn from other numbers than those "
                  "of docs/speed.md: run ./dev bench plots" % name)
        sys.exit(1 if old else 0)
    if sys.argv[1:]:
        sys.exit("usage: plots.py [--check]")
    os.makedirs(FOLDER, exist_ok=True)
    for name in PLOTS:
        draw(name)


if __name__ == "__main__":
    main()
