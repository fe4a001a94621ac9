#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Mutations of the code, each a patch beside this file, and the mutants that
they make of a program.

    mutants.py list                        the name, the number of the invariant
                                           (- for the tool) and what is done
                                           wrong
    mutants.py check                       see that every patch applies
    mutants.py build NAME PROGRAM OUTPUT   make the mutant NAME of PROGRAM

A patch begins with one line, "Invariant N: what is done wrong.", "The tool: what
is done wrong." or "The library: what is done wrong.", and goes on with a unified
diff.  It applies exactly: the lines that it shows, changed or not, are in the
file, once.  At which line does not matter.

A second line "Caught by FOLDER/FILE: TEST." says which test of a C program, or in
Python of one, fails with it; test_caught.py runs that.  Without this line the simulator, the tests of
the tool or those of the quorum find it.

A mutant is built as its program was: the files that the patch changes are
compiled by the commands of the build, and linked in place of the objects that
the program has of them.  PROGRAM has to be built, by Ninja, as of now."""

import collections
import functools
import glob
import json
import os
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# A compiler that hangs ends after this.
COMMAND_S = 300
USAGE = 64

# .caught_by is None, or (test of ctest, test in it)
Mutation = collections.namedtuple("Mutation", "name number what caught_by files")
# of files: path, and the hunks, each (line, old lines, new lines)
Change = collections.namedtuple("Change", "path hunks")


class MutantError(Exception):
    """Says which mutation, what is wrong and what to do."""


# ----------------------------------------------------------------- patches --

def names():
    """All, in alphabetical order."""
    return sorted(os.path.basename(path)[:-len(".patch")]
                  for path in glob.glob(os.path.join(HERE, "*.patch")))


def named_in_patch():
    """Those whose patch says which test catches them."""
    return [name for name in names() if read(name).caught_by is not None]


def found_by_search(of):
    """The others, of which some changed file fits."""
    return [name for name in names() if read(name).caught_by is None and
            any(of(change.path) for change in read(name).files)]


def is_of_tool(path):
    return path.startswith(("src/cli/", "src/command/", "src/torture/"))


def is_of_quorum(path):
    return "quorum" in path


def is_of_simulator(path):
    return not is_of_tool(path) and not is_of_quorum(path)


@functools.lru_cache(maxsize=None)
def read(name):
    path = os.path.join(HERE, name + ".patch")
    try:
        with open(path, encoding="utf-8") as file:
            return parse(name, file.read())
    except FileNotFoundError:
        raise MutantError(
            "there is no mutation %s; expected one that has a patch in "
            "tests/mutants: `./dev sim --mutants` shows them" % name) from None


def parse(name, text):
    head, *rest = re.split(r"^--- a/", text, flags=re.MULTILINE)
    says = re.match(r"(?:Invariant (\d+)|The tool|The library): (.*)\.\n"
                    r"(?:Caught by ([a-z_]+/\w+): (\w+)\.\n)?\n", head)
    if says is None or not rest:
        raise MutantError(
            '%s.patch: expected "Invariant N: what is done wrong.", "The tool: '
            'what is done wrong." or "The library: what is done wrong.", then '
            '"Caught by FOLDER/FILE: TEST." or nothing, and below an empty line '
            'a unified diff' % name)
    return Mutation(name, says.group(1) or "-", says.group(2),
                    says.groups()[2:] if says.group(3) else None,
                    [parse_change(name, part) for part in rest])


def parse_change(name, text):
    path, second, *lines = text.splitlines()
    if second != "+++ b/" + path or not path.endswith(".c"):
        raise MutantError(
            '%s.patch: expected "--- a/FILE.c" and "+++ b/FILE.c", not %s and '
            "%s" % (name, path, second))
    hunks, counts = [], []
    for line in lines:
        begins = re.match(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@", line)
        if begins:
            hunks.append((int(begins.group(1)), [], []))
            counts.append(tuple(int(count or 1)
                                for count in begins.groups()[1:]))
        elif re.match("diff --git |index ", line):
            pass  # git's head of the next file
        elif not hunks or (line and line[0] not in " +-"):
            raise MutantError("%s.patch: this is no line of a hunk: %s"
                              % (name, line))
        else:
            # An empty line is one of context whose space was trimmed.
            if line[:1] != "+":
                hunks[-1][1].append(line[1:])
            if line[:1] != "-":
                hunks[-1][2].append(line[1:])
    if not hunks or counts != [(len(old), len(new)) for _, old, new in hunks]:
        raise MutantError("%s.patch: the lines of a hunk of %s are not as many "
                          "as its head says" % (name, path))
    return Change(path, hunks)


def positions_of(part, lines):
    return [at for at in range(len(lines) - len(part) + 1)
            if lines[at:at + len(part)] == part]


def apply(name, change, text):
    """The text of the file with the mutation in it."""
    lines = text.split("\n")
    for line, old, new in change.hunks:
        positions = positions_of(old, lines)
        if len(positions) != 1 or old == new:
            raise MutantError(
                "%s.patch does not apply: the lines of its hunk at line %d are "
                "%d times in %s, expected once; make the same mistake in the "
                "file again, and take `git diff`"
                % (name, line, len(positions), change.path))
        lines[positions[0]:positions[0] + len(old)] = new
    return "\n".join(lines)


def mutate(name):
    """Each changed file with the mutation in it, by its path."""
    texts = {}
    for change in read(name).files:
        try:
            with open(os.path.join(ROOT, change.path),
                      encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            raise MutantError("%s.patch does not apply: there is no file %s"
                              % (name, change.path)) from None
        texts[change.path] = apply(name, change, text)
    return texts


# ------------------------------------------------------------------- build --

def run(name, command, directory):
    ran = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True,
                         timeout=COMMAND_S, check=False)
    if ran.returncode != 0:
        raise MutantError("%s: this failed: %s\n%s"
                          % (name, " ".join(command), ran.stdout))
    return ran.stdout


class Build:
    """A directory that Ninja builds in: the commands by which it does."""

    def __init__(self, directory):
        self.directory = directory
        with open(os.path.join(directory, "compile_commands.json"),
                  encoding="utf-8") as file:
            self.commands = collections.defaultdict(dict)
            for entry in json.load(file):
                words = shlex.split(entry["command"])
                made = words[words.index("-o") + 1]
                self.commands[os.path.realpath(entry["file"])][made] = words

    @functools.lru_cache(maxsize=None)
    def makes(self, target):
        """The words of the command that makes it."""
        said = run(target, ["ninja", "-t", "commands", "-s", target],
                   self.directory)
        for command in said.split("&&"):
            words = shlex.split(command)
            if target in words and "rm" not in words:
                return words
        raise MutantError("%s: no command makes %s in %s"
                          % (target, target, self.directory))

    def objects_of(self, target):
        """Those in the program, and in the archives that it is linked with."""
        words = list(self.makes(target))
        for word in self.makes(target):
            if word.endswith(".a") and not os.path.isabs(word):
                words += self.makes(word)
        return {word for word in words if word.endswith(".o")}

    def compile(self, name, path, made, scratch):
        words = list(self.commands[os.path.join(ROOT, path)][made])
        words[words.index("-o") + 1] = os.path.join(
            scratch, made.replace("/", "_"))
        words[words.index("-c") + 1] = os.path.join(scratch, path)
        # Without optimisation and debugging information it takes a third of the
        # time, and a mutant is compiled for each run.  A mistake may leave a
        # variable unused; an assertion that fails names the real file.
        run(name, words + ["-O0", "-g0", "-w", "-iquote",
                           os.path.dirname(os.path.join(ROOT, path)),
                           "-fmacro-prefix-map=%s/=%s/" % (scratch, ROOT)],
            self.directory)
        return words[words.index("-o") + 1]

    def link(self, name, target, replaced, output):
        """With the objects of ${replaced}, {old: new}."""
        words = [replaced.get(word, word) for word in self.makes(target)]
        words[words.index("-o") + 1] = output
        # One that is there before an archive is looked at is not taken of it.
        first = next((at for at, word in enumerate(words)
                      if word.endswith(".a")), len(words))
        words[first:first] = [new for new in replaced.values()
                              if new not in words]
        run(name, words + ["-Wl,--strip-debug"], self.directory)

    def mutant(self, name, target, output):
        there = self.objects_of(target)
        replaced = {}
        with machine.temporary("mutant") as scratch:
            for path, text in mutate(name).items():
                mutated = os.path.join(scratch, path)
                os.makedirs(os.path.dirname(mutated), exist_ok=True)
                with open(mutated, "w", encoding="utf-8") as file:
                    file.write(text)
                made = [m for m in self.commands[os.path.join(ROOT, path)]
                        if m in there]
                if len(made) != 1:
                    raise MutantError(
                        "%s changes %s, which is %d times in %s; expected once"
                        % (name, path, len(made), target))
                replaced[made[0]] = self.compile(name, path, made[0], scratch)
            self.link(name, target, replaced, output)


@functools.lru_cache(maxsize=None)
def build_of(program):
    directory = os.path.dirname(program)
    while not os.path.exists(os.path.join(directory, "build.ninja")):
        if directory == "/":
            raise MutantError("%s is not built by Ninja: no build.ninja above "
                              "it; configure with cmake -G Ninja" % program)
        directory = os.path.dirname(directory)
    return Build(directory)


def build(name, program, output):
    """Make ${output}, the mutant ${name} of the built ${program}."""
    program = os.path.realpath(program)
    built = build_of(program)
    built.mutant(name, os.path.relpath(program, built.directory),
                 os.path.abspath(output))


# -------------------------------------------------------------------- main --

def complaints():
    for name in names():
        try:
            mutate(name)
        except MutantError as error:
            yield str(error)


def main(words):
    if words == ["list"]:
        for name in names():
            print(name, read(name).number, read(name).what)
        return 0
    if words == ["check"]:
        wrong = list(complaints())
        for what in wrong:
            print(what)
        return 1 if wrong else 0
    if len(words) == 4 and words[0] == "build":
        build(*words[1:])
        return 0
    print(__doc__, file=sys.stderr)
    return USAGE


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except MutantError as error:
        print("mutants.py: %s" % error, file=sys.stderr)
        sys.exit(USAGE)
