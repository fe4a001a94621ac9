# SPDX-License-Identifier: Apache-2.0
"""Why some lines are not run: reasons.txt, held against what was counted."""

import re

# Where every line that is not run has its reason.
EXPLAINED = ("src/base/", "src/core/", "src/zookeeper_io/", "src/engines/")


def needs_reason(path):
    return path.startswith(EXPLAINED)


def inexact(text):
    return ".*".join(re.escape(part) for part in text.split("*"))


class Entry:
    """A line of reasons.txt, FILE FUNCTION: TEXT, of the lines of a function
    that read so.  In each "*" stands for anything."""

    def __init__(self, number, where, text, always):
        self.number = number
        self.always = always  # is it never run, or only now and then?
        self.pattern = re.compile("%s: %s\\Z" % (inexact(where), inexact(text)))
        self.found = self.missed = 0

    def takes(self, source, number):
        return self.pattern.match("%s %s: %s" % (
            source.path, source.functions[number],
            source.text[number - 1].strip())) is not None


class Reasons:
    """A paragraph each: what is why, and then the lines it is true of.  Those
    under a reason that begins with "Now and then" may have been run."""

    def __init__(self, path):
        self.path = path
        self.entries = []
        always = True
        before = ""
        with open(path, encoding="utf-8") as text:
            for number, line in enumerate(text, 1):
                line = line.rstrip("\n")
                if line.startswith("# ") and not before.startswith("# "):
                    always = not line.startswith("# Now and then")
                before = line
                if line and not line.startswith("# "):
                    where, colon, what = line.partition(": ")
                    if not colon or " " not in where:
                        raise SystemExit(
                            "%s:%d: expected FILE FUNCTION: TEXT" %
                            (path, number))
                    self.entries.append(Entry(number, where, what, always))

    def unexplained(self, source):
        """The lines of a source that were not run, and nothing says why."""
        left = []
        for number in sorted(source.counts):
            missed = source.counts[number] == 0
            takers = [entry for entry in self.entries
                      if entry.takes(source, number)]
            for entry in takers:
                entry.found += 1
                entry.missed += missed
            if missed and not takers:
                left.append((number, source.text[number - 1].strip()))
        return left

    def outdated(self):
        """The reasons of lines that do not exist or were run."""
        for entry in self.entries:
            if entry.found == 0:
                yield "%s:%d: there is no such line" % (self.path, entry.number)
            elif entry.missed == 0 and entry.always:
                yield "%s:%d: it was run" % (self.path, entry.number)
