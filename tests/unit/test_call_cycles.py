#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No two files of a library call each other, directly or by way of others.

    test_call_cycles.py libhf_core.a a.c.o,b.c.o,... ...

Each argument is one library: an archive, or all its objects with a comma between
them.  The calls are read off the objects: a file calls another one if
it needs a symbol that the other one defines.  A call through a table of
functions does not count, because that is how a file reaches the files above it.

Prints each circle and what closes it, and fails if there is one.
"""

import collections
import os
import subprocess
import sys


def symbols(library):
    """({symbol: the file that defines it}, {file: the symbols it needs})."""
    defined, needed = {}, collections.defaultdict(set)
    text = subprocess.run(["nm", "-A", *library.split(",")], check=True,
                          capture_output=True, text=True).stdout
    for line in text.splitlines():
        place, *fields = line.split()
        path = place.split(":")[-2]
        file = os.path.basename(path).removesuffix(".o").removesuffix(".c")
        kind, name = fields[-2:] if len(fields) > 1 else (fields[0], "")
        if kind == "U":
            needed[file].add(name)
        elif kind.isupper():
            defined[name] = file
    return defined, needed


def calls(defined, needed):
    """{file: {file that it calls: the symbols}}"""
    graph = {}
    for file, names in needed.items():
        graph[file] = collections.defaultdict(set)
        for name in names:
            if defined.get(name, file) != file:
                graph[file][defined[name]].add(name)
    return graph


def reached(graph, file):
    """All that ${file} calls, directly or not."""
    found, left = set(), [file]
    while left:
        for other in graph.get(left.pop(), {}):
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def inside(library):
    """How many files of ${library} are in a circle; prints what closes each."""
    graph = calls(*symbols(library))
    if len(graph) < 2:
        sys.exit(f"{library}: {len(graph)} files with calls, expected at "
                 "least two")
    below = {file: reached(graph, file) for file in graph}
    found = {file for file in graph if file in below[file]}
    for file in sorted(found):
        for other, names in sorted(graph[file].items()):
            if file in below.get(other, ()):
                print(f"{file}.c calls {other}.c, which leads back to it: "
                      f"{', '.join(sorted(names))}")
    print(f"{os.path.relpath(library.split(',')[0])}"
          f"{' ...' if ',' in library else ''}: "
          f"{len(graph)} files, {len(found)} of them in a circle")
    return len(found)


def main(libraries):
    if not libraries:
        sys.exit("no libraries given, expected at least one")
    return 1 if sum(map(inside, libraries)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
