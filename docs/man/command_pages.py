#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the manual pages of the commands from their sources here and the tables
of the commands.

usage: command_pages.py DIRECTORY COMPILER [FLAG...]

A source is a page in mdoc(7) that names each option once, by its long name, and
says what it does:

    .It Fl -timeout
    Wait for the lock at most this long.

The forms come from the table: ".It Fl w , Fl -timeout Ar duration".  A page with
a text for an option that there is not, or without one for an option that there
is, is refused.

The commands of "holdfast zk" share a page, where each has a section ".Ss get";
options in the section OPTIONS are those of all of them.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "packaging"))

import command_tables  # noqa: E402

ITEM = re.compile(r"^\.It Fl -([\w-]+)$", re.M)
WRITTEN_OUT = re.compile(r"^\.It Fl (\w) , Fl -", re.M)


def forms(option):
    """The line that an item becomes."""
    value = " ".join("Ar " + word.lower() if word.isalnum() else f"Ns {word} Ns"
                     for word in re.findall(r"\w+|\W+", option.value or ""))
    forms = ["Fl " + letter for letter in option.letters]
    forms.append("Fl -" + option.name)
    return (".It %s %s" % (" , ".join(forms), value)).rstrip()


def sections(text):
    """[(name, text)] of the parts of a page, each with its heading; the name is
    that of the heading if it is of a command, "" in other parts."""
    found = []
    for part in re.split(r"^(?=\.S[hs] )", text, flags=re.M):
        heading = re.match(r"\.(S[hs]) (.*)\n", part)
        if heading and heading[1] == "Ss":
            name = heading[2]
        else:
            name = ""
        found.append((name, part))
    return found


class Page:
    """A page that is being made for ${commands}."""

    def __init__(self, path, commands):
        self.path, self.commands = path, commands
        # Of each command the names of options that have a text.
        self.described = {command.name: [] for command in commands}

    def fail(self, why):
        raise command_tables.Malformed(f"{self.path.name}: {why}")

    def commands_of(self, section):
        """Those that the options of a part of the page are of."""
        if len(self.commands) == 1:
            return self.commands
        return [command for command in self.commands
                if command.name.split()[-1] == section] or self.commands

    def expand(self, section, name):
        """The line for the option ${name}, which stands in ${section}."""
        lines = set()
        for command in self.commands_of(section):
            option = next((one for one in command.options if one.name == name),
                          None)
            if option is None:
                self.fail(f"--{name}: 'holdfast {command.name}' has no such "
                          "option; expected one of "
                          + ", ".join("--" + one.name
                                      for one in command.options))
            if name in self.described[command.name]:
                self.fail(f"--{name} of 'holdfast {command.name}' has two "
                          "texts; expected one")
            self.described[command.name].append(name)
            lines.add(forms(option))
        if len(lines) > 1:
            self.fail(f"--{name} is not the same in all commands of the page: "
                      + ", ".join(sorted(lines)))
        return lines.pop()

    def made(self):
        text = self.path.read_text(encoding="utf-8")
        if WRITTEN_OUT.search(text):
            self.fail(f"'{WRITTEN_OUT.search(text)[0]}': the table has the "
                      "forms of an option; expected '.It Fl -NAME' alone")
        text = "".join(
            ITEM.sub(lambda match, name=name: self.expand(name, match[1]), part)
            for name, part in sections(text))
        for command in self.commands:
            for option in command.options:
                if option.name not in self.described[command.name]:
                    self.fail(f"--{option.name} of 'holdfast {command.name}' "
                              "has no text; expected a line "
                              f"'.It Fl -{option.name}' with one below it")
        return text


def pages(commands):
    """{name: text} of all pages."""
    by_page = {}
    for command in commands:
        by_page.setdefault("holdfast-" + command.name.split()[0],
                           []).append(command)
    sources = {path.stem: path for path in HERE.glob("*.1")}
    for name in sorted(set(by_page) - set(sources)):
        raise command_tables.Malformed(
            f"{name}.1: no such page; expected one in {HERE} for the command "
            f"'holdfast {by_page[name][0].name}'")
    return {name: Page(path, by_page[name]).made() if name in by_page
            else path.read_text(encoding="utf-8")
            for name, path in sources.items()}


def main():
    if len(sys.argv) < 3:
        print("usage: command_pages.py DIRECTORY COMPILER [FLAG...]",
              file=sys.stderr)
        return 64
    directory = pathlib.Path(sys.argv[1])
    try:
        made = pages(command_tables.read(sys.argv[2:]))
    except command_tables.Malformed as why:
        print(f"command_pages.py: {why}", file=sys.stderr)
        return 65
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("*.1"):
        old.unlink()
    for name, text in made.items():
        (directory / f"{name}.1").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
