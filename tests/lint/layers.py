#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The monitor (src/monitor) knows nothing of what it guards.

Its files include one another, how a thread is started, and what of the core is
mere vocabulary: errors, memory, instants, text.  That is followed through all
headers of src, so that a header on the way brings nothing in either.  And among
its files there is no circle: a file includes headers of files below it only.

Prints each include that should not be, and fails if there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)

# What the monitor may include besides its own files, directly or not.
ALLOWED = {"core/error.h", "core/instant.h", "core/memory.h", "core/utf8.h",
           "thread/thread.h"}


def includes(path):
    """The headers of src that a file includes, as they are written."""
    return INCLUDE.findall((SRC / path).read_text())


def reached(path):
    """{header: the file that includes it}, for all that ${path} includes."""
    found, left = {}, [path]
    while left:
        by = left.pop()
        for header in includes(by):
            if header not in found:
                found[header] = by
                left.append(header)
    return found


def strangers(files):
    """What is included and is not allowed."""
    faults = set()
    for path in files:
        for header, by in reached(path).items():
            if not header.startswith("monitor/") and header not in ALLOWED:
                faults.add(f"src/{by} includes {header}: expected headers of "
                           f"src/monitor, or one of {', '.join(sorted(ALLOWED))}")
    return faults


def noun(path):
    """What a file is about: x.c, x.h and x_private.h are about one thing."""
    return pathlib.PurePath(path).stem.removesuffix("_private")


def circles(files):
    """Files that include a header which includes their own."""
    faults = set()
    for path in files:
        own = path[:-2] + ".h"
        for header in reached(path):
            if noun(header) != noun(path) and own in reached(header):
                faults.add(f"src/{path} includes {header}, which includes "
                           f"{own}: expected one of the two to be below the "
                           f"other")
    return faults


def main():
    files = sorted(f"monitor/{path.name}"
                   for path in (SRC / "monitor").glob("*.[ch]"))
    if not files:
        print("src/monitor has no files: expected those of the monitor")
        return 1
    faults = sorted(strangers(files) | circles(files))
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
