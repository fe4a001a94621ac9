#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The options of the commands, as their tables have them, and their texts.

One letter means one option in all commands, and one option has one letter; those
that flock(1) has mean what they mean there.  The commands of "holdfast zk" are a
tool of their own, with the letters of zkCli.sh, rm and mkdir; a few letters mean
the same in both.

Texts name manual pages, which are installed with the tool, and no document by its
path in the tree.
"""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import command_tables  # noqa: E402

# flock(1), and what its letters are called here.
OF_FLOCK = {"w": "timeout", "n": "try", "s": "read", "x": "write",
            "e": "write", "E": "conflict-exit-code", "h": "help"}
# Letters of both tools.
OF_BOTH = {"c": "url", "h": "help", "j": "json", "w": "timeout"}
# zkCli.sh has a second meaning for these.
TWICE = {"s": {"sequential", "stat"}}


def letters_of(commands):
    """({letter: options}, {option: letters}) of ${commands}."""
    by_letter, by_name = {}, {}
    for command in commands:
        for option in command.options:
            for letter in option.letters:
                by_letter.setdefault(letter, set()).add(option.name)
            by_name.setdefault(option.name, set()).add(option.letters)
    return by_letter, by_name


def ambiguous(tool, commands, twice):
    by_letter, by_name = letters_of(commands)
    for letter, names in sorted(by_letter.items()):
        if len(names) > 1 and names != twice.get(letter):
            yield f"{tool}: -{letter} means " + " and ".join(
                "--" + name for name in sorted(names)) + "; expected one option"
    for name, letters in sorted(by_name.items()):
        if len(letters) > 1:
            yield f"{tool}: --{name} has the letters " + " and ".join(
                sorted(letters)) + "; expected the same in all commands"


def other_than(meant, whose, commands):
    by_letter, _ = letters_of(commands)
    for letter, name in meant.items():
        if by_letter.get(letter, {name}) != {name}:
            yield (f"-{letter} means --{' --'.join(by_letter[letter])}; "
                   f"expected --{name}, as {whose} has it")


def documents():
    """Texts of the product with the path of a document in the tree."""
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".c", ".h", ".sql", ".lua"):
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if re.search(r'^\s*[^\s/*][^"]*"[^"]*docs/[^"]*\.md|'
                         r'^\s*"[^"]*docs/[^"]*\.md', line):
                yield (f"{path.relative_to(ROOT)}:{number}: a text names "
                       "docs/, which the user need not have; expected a manual page")


def main():
    commands = command_tables.read([os.environ.get("CC", "cc")])
    zk = [one for one in commands if one.name.startswith("zk ")]
    own = [one for one in commands if one not in zk]
    found = [*ambiguous("holdfast", own, {}), *ambiguous("zk", zk, TWICE),
             *other_than(OF_FLOCK, "flock(1)", own),
             *other_than(OF_BOTH, "holdfast", commands), *documents()]
    print("".join(line + "\n" for line in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
