#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Signs of how the sources read: print them, of src and include.

    measure.py            the numbers
    measure.py LIST       what a number counts: single-user, single-includer,
                          booleans, prefixes, deep

They are signs, not limits.  The formatting of the sources (clang-format) is what
the patterns rely on: a function begins with "{" and ends with "}" in the first
column."""

import collections
import functools
import os
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BOOLEANS = 4  # more than these in one struct are listed
MIN_PREFIX_NAMES = 3

FUNCTION = re.compile(r"^(?P<head>[a-zA-Z_][^;{}#]*?\b(?P<name>\w+)\([^;{}]*\))"
                      r"\n\{\n(?P<body>.*?)^\}", re.M | re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"|<(?=holdfast/))([^">]+)[">]', re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
DECLARED = re.compile(r"\b(hf_[a-z0-9_]+)\(")
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\}", re.M | re.S)
BOOLEAN = re.compile(r"^\s+(?:_Atomic\s*\(?bool\)?|bool|atomic_bool)\s+([^;(]+);",
                     re.M)
ASSERTION = re.compile(r"\bassert\(")


def sources():
    """{path below src or include: its text}"""
    found = {}
    for base in ("src", "include"):
        for folder, _, names in os.walk(os.path.join(ROOT, base)):
            for name in names:
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        found[os.path.relpath(
                            path, os.path.join(ROOT, base))] = file.read()
    return found


def file_of(path):
    """A source and its header are one file."""
    return os.path.splitext(path)[0]


def functions(text):
    """[(name, lines, body)]"""
    return [(match["name"], match[0].count("\n") + 1, match["body"])
            for match in FUNCTION.finditer(text)
            if not match["head"].startswith(("struct ", "enum ", "union ")) or
            "(" in match["head"]]


def includes(texts):
    """{path: the paths of ours that it includes}"""
    found = {}
    for path, text in texts.items():
        found[path] = set()
        for name in INCLUDE.findall(text):
            for candidate in (name, os.path.join(os.path.dirname(path), name)):
                if candidate in texts:
                    found[path].add(candidate)
                    break
    return found


def depths(graph):
    @functools.cache
    def depth(path):
        return 1 + max(map(depth, graph[path]), default=0)

    return {path: depth(path) for path in graph if path.endswith(".c")}


def users(texts):
    """{function declared in a header of src: the other files that name it}"""
    code = {path: COMMENT.sub("", text) for path, text in texts.items()}
    declared = {}
    for path, text in code.items():
        if path.endswith(".h") and not path.startswith("holdfast/"):
            for name in DECLARED.findall(text):
                declared.setdefault(name, file_of(path))
    found = {name: set() for name in declared}
    for path, text in code.items():
        if path.endswith(".c"):
            for name in set(re.findall(r"\bhf_[a-z0-9_]+\b", text)):
                if name in found and file_of(path) != declared[name]:
                    found[name].add(path)
    return found


def single_includers(texts, graph):
    """{header: the only file that includes it besides its own source}"""
    found = collections.defaultdict(set)
    for path, others in graph.items():
        for other in others:
            if other.endswith(".h") and file_of(other) != file_of(path):
                found[other].add(path)
    return {header: next(iter(paths)) for header, paths in found.items()
            if len(paths) == 1 and not header.startswith("holdfast/")}


def booleans(texts):
    """{(path, struct): its fields of that kind}, where they are many"""
    found = {}
    for path, text in texts.items():
        if path.startswith("holdfast/"):
            continue
        for name, body in STRUCT.findall(COMMENT.sub("", text)):
            fields = [field.strip() for line in BOOLEAN.findall(body)
                      for field in line.split(",")]
            if len(fields) > BOOLEANS:
                found[path, name] = fields
    return found


def own_prefix(names):
    """The words with which all of these begin, "" if those of one name."""
    words = os.path.commonprefix([name.split("_") for name in names])
    return "_".join(words) + "_" if words not in [
        name.split("_") for name in names] else ""


def prefixes(texts):
    """{prefix of functions: the folders that declare some with it}, without
    those that have a longer one to themselves"""
    names = collections.defaultdict(lambda: collections.defaultdict(set))
    for path, text in texts.items():
        if path.endswith(".h") and not path.startswith("holdfast/"):
            for name in DECLARED.findall(COMMENT.sub("", text)):
                names["_".join(name.split("_")[:2])][
                    os.path.dirname(path)].add(name)
    for folders in names.values():
        all_folders = dict(folders)
        for folder, found in all_folders.items():
            longer = own_prefix(found)
            if longer and not any(
                    name.startswith(longer)
                    for other, others in all_folders.items()
                    if other != folder for name in others):
                del folders[folder]
    return {prefix: {folder: len(found) for folder, found in folders.items()
                     if len(found) >= MIN_PREFIX_NAMES}
            for prefix, folders in names.items()
            if sum(len(found) >= MIN_PREFIX_NAMES
                   for found in folders.values()) > 1}


def print_numbers(texts, graph):
    lines = [text.count("\n") for text in texts.values()]
    deep = depths(graph)
    used = users(texts)
    single = [name for name, paths in used.items() if len(paths) == 1]
    bodies = [(path, function) for path, text in texts.items()
              for function in functions(text)]
    core = [function for path, function in bodies if path.startswith("core/")]
    rows = (
        ("files; lines; median, most", "%d; %d; %d, %d" % (
            len(texts), sum(lines), statistics.median(lines), max(lines))),
        ("functions; median lines; over 60", "%d; %d; %d" % (
            len(bodies), statistics.median(count for _, (_, count, _) in bodies),
            sum(count > 60 for _, (_, count, _) in bodies))),
        ("depth of includes: median, most", "%d, %d" % (
            statistics.median(deep.values()), max(deep.values()))),
        ("functions of headers with one user", "%d of %d, %.0f %%" % (
            len(single), len(used), 100 * len(single) / len(used))),
        ("headers with one includer", "%d of %d" % (
            len(single_includers(texts, graph)),
            sum(path.endswith(".h") for path in texts))),
        ("assertions a function: all, core", "%.2f, %.2f" % (
            sum(len(ASSERTION.findall(body)) for _, (_, _, body) in bodies) /
            len(bodies),
            sum(len(ASSERTION.findall(body)) for _, _, body in core) /
            len(core))),
        ("structs with more than %d booleans" % BOOLEANS,
         len(booleans(texts))),
        ("prefixes in two folders", len(prefixes(texts))),
    )
    for what, number in rows:
        print("%-38s %s" % (what, number))


def print_list(texts, graph, what):
    if what == "single-user":
        rows = [(name, *paths) for name, paths in users(texts).items()
                if len(paths) == 1]
    elif what == "single-includer":
        rows = list(single_includers(texts, graph).items())
    elif what == "booleans":
        rows = [(path, name, *fields)
                for (path, name), fields in booleans(texts).items()]
    elif what == "prefixes":
        rows = [(prefix, *("%s:%d" % pair for pair in folders.items()))
                for prefix, folders in prefixes(texts).items()]
    elif what == "deep":
        rows = [("%2d" % depth, path) for path, depth in depths(graph).items()]
    else:
        sys.exit('no list "%s"; expected single-user, single-includer, '
                 "booleans, prefixes or deep" % what)
    for row in sorted(rows):
        print(*row)


def main():
    texts = sources()
    graph = includes(texts)
    if len(sys.argv) == 1:
        print_numbers(texts, graph)
    else:
        print_list(texts, graph, sys.argv[1])


if __name__ == "__main__":
    main()
