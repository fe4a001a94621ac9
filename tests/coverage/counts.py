# SPDX-License-Identifier: Apache-2.0
"""The counts of gcov: the lines of src/, and those that were run."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor



class Source:
    """A file of src/: how often each of its lines was run, and which function
    it is of."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.counts = {}
        self.functions = {}

    def folder(self):
        return os.path.dirname(self.path)

    def run(self):
        return sum(1 for count in self.counts.values() if count > 0)

    def missed(self):
        """The lines that were not run: (number, text) in their order."""
        return [(number, self.text[number - 1].strip())
                for number in sorted(self.counts)
                if self.counts[number] == 0]


def outdated(what):
    raise SystemExit("coverage: since lines were counted, %s was changed; "
                     "count them again: ./dev coverage" % what)


def of_object(notes):
    answer = subprocess.run(["gcov", "--json-format", "--stdout", notes],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if answer.returncode != 0:
        outdated(notes)
    return notes, json.loads(answer.stdout)["files"]


def objects(build):
    for folder, _, names in os.walk(build):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".gcno"):
                yield path


def add(source, lines, is_product):
    for line in lines:
        number = line["line_number"]
        if is_product:
            source.counts.setdefault(number, 0)
            source.functions[number] = line.get("function_name", "")
        if number in source.counts:
            source.counts[number] += line["count"]


def collect(root, build):
    """Every file of src/ that was compiled.  Its lines are those that the
    product has; run they may have been anywhere: the tests compile some of it
    once more."""
    sources = {}
    product = os.path.join(build, "src") + os.sep
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = sorted(pool.map(of_object, objects(build)),
                       key=lambda pair: not pair[0].startswith(product))
    for notes, files in found:
        for file in files:
            path = os.path.relpath(file["file"], root)
            if not path.startswith("src" + os.sep):
                continue
            if os.path.getmtime(file["file"]) > os.path.getmtime(notes):
                outdated(path)
            if path not in sources:
                with open(os.path.join(root, path), encoding="utf-8") as text:
                    sources[path] = Source(path, text.read().splitlines())
            add(sources[path], file["lines"], notes.startswith(product))
    return [sources[path] for path in sorted(sources)]
