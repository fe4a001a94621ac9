#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Layers that know nothing of what is above them.

What everything builds on (src/base) includes nothing else.  The monitor
(src/monitor) knows nothing of what it guards, a session with ZooKeeper
(src/zookeeper, _io, _retry) or etcd (src/etcd, _io, on src/grpc), the
connections (src/transport, src/engine_loop) and the numbers (src/metrics)
nothing of locks.  What commands
share (src/command) knows none of them, and those in programs of their own
(src/torture, src/zookeeper_tool) nothing of the tool (src/cli).  That is followed
through all headers of src, so that a header on the way brings nothing in
either.  And among the files of a layer there is no circle: a file includes
headers of files below it only.  In the core a ticket knows nothing of the
acquisition that it is for.

Prints each include that should not be, and fails if there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)

# The folders whose headers a layer may include besides its own and those of
# src/base, directly or not.
LAYERS = {
    "base": (),
    "thread": (),
    "monitor": ("thread",),
    "metrics": ("thread",),
    "operation": ("monitor", "thread"),
    "engine_loop": ("thread",),
    "transport": ("thread",),
    "grpc": (),
    "etcd": ("grpc",),
    "etcd_io": ("engine_loop", "etcd", "grpc", "thread", "transport"),
    "zookeeper": (),
    "zookeeper_io": ("engine_loop", "thread", "transport", "zookeeper"),
    "zookeeper_retry": ("zookeeper",),
    "command": ("client", "core", "monitor", "transport"),
    "torture": ("command", "core"),
    "zookeeper_tool": ("command", "client", "core", "zookeeper"),
}

# Files of the core that see nothing of an acquisition, and its headers.
BENEATH = ("own_ticket", "own_ticket_answers", "own_ticket_position",
           "own_ticket_requests", "enqueue_order", "removal",
           "admission", "schedule", "session", "ticket_watch",
           "text_update")
ABOVE = ("core/acquisition.h", "core/cohort.h", "core/core.h",
         "core/multi_lock.h")


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


def forbidden_includes(layer, files):
    """The includes that are not allowed."""
    faults = set()
    allowed = {layer, "base", *LAYERS[layer]}
    for path in files:
        for header, by in reached(path).items():
            if header.split("/")[0] not in allowed:
                faults.add(f"src/{by} includes {header}: expected headers of "
                           f"{', '.join(sorted(allowed))}")
    return faults


def noun(path):
    """The noun of a file: x.c, x.h and x_private.h have the same."""
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


def faults_of(layer):
    files = sorted(f"{layer}/{path.name}"
                   for path in (SRC / layer).glob("*.[ch]"))
    if not files:
        return {f"src/{layer} has no files: expected those of the layer"}
    return forbidden_includes(layer, files) | circles(files)


def faults_of_core():
    faults = set()
    for name in BENEATH:
        found = reached(f"core/{name}.c")
        faults |= {f"src/{found[header]} includes {header}: expected nothing "
                   f"of an acquisition beneath src/core/{name}.c"
                   for header in ABOVE if header in found}
    return faults


def main():
    faults = sorted(set().union(faults_of_core(), *map(faults_of, LAYERS)))
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
