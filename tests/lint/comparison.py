#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Check docs/comparison.md: its rows are numbered from 1 on, each has as many
cells as its table has columns, and what it shows is there: a file and its heading
behind each link, and each test that it names.  Prints the errors, and the number
of rows."""

import os
import re
import sys

import known_failures

DOC = "docs/comparison.md"


def cells(line):
    return line.strip("| ").split(" | ")


def wrong_rows(document):
    numbers, columns = [], 0
    for line in document.splitlines():
        if line.startswith("| | |"):
            columns = line.count("|") - 1
        row = re.match(r"\| (\d+) \|", line)
        if not row:
            continue
        numbers.append(int(row[1]))
        if len(cells(line)) != columns:
            yield "%s has %d cells, expected %d" % (
                row[1], len(cells(line)), columns)
    if numbers != list(range(1, len(numbers) + 1)):
        yield "the rows are numbered %s, expected 1, 2 and so on" % numbers


def headings(path):
    """The anchors of a document, as GitHub makes them."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"(?m)^#+ (.*)$",
                                      known_failures.text_of(path))}


def wrong_links(document):
    for target in re.findall(r"\]\(([^)]+)\)", document):
        if re.match("[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        path = os.path.normpath(os.path.join("docs", path)) if path else DOC
        if not os.path.exists(os.path.join(known_failures.ROOT, path)):
            yield "links to %s, which is not there" % target
        elif heading and heading not in headings(path):
            yield "links to %s, a heading that is not there" % target


def wrong_tests(document):
    for pair in known_failures.tests_in(document):
        if not known_failures.exists(*pair):
            yield "names %s, which is not there" % ": ".join(pair)


def main():
    document = known_failures.text_of(DOC)
    wrong = [*wrong_rows(document), *wrong_links(document),
             *wrong_tests(document)]
    for what in wrong:
        print("%s: %s" % (DOC, what))
    print("%d features compared" % len(re.findall(r"(?m)^\| \d+ \|", document)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
