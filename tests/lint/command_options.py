#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The options of the commands are the same in the tables of the source, from
which --help is printed, in the manual pages and in the completion for bash.

A row of a table begins HF_OPTION('t', "timeout", "DURATION", with NULL where the
option takes no value.  All commands have --help besides.  A manual page has
".It Fl t , Fl -timeout Ar duration" for it, and the completion a line
"run -t --timeout DURATION".  Where the value is one of a few, a line "KIND:" of
the completion names them.

The commands of "holdfast zk" share one page, where each has a section ".Ss get",
and some rows, which are macros; the options of all of them stand in ".Sh OPTIONS"
and in lines "zk -t --timeout DURATION", the others in lines "zk/get -s --stat".

Prints what differs.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = {
    "run": "src/cli/run_options.c",
    "elect": "src/cli/elect_options.c",
    "show": "src/cli/show.c",
    "metrics": "src/cli/metrics.c",
    "ls": "src/cli/ls.c",
    "revoke": "src/cli/revoke.c",
    "evict": "src/cli/evict.c",
    "sql": "src/cli/sql.c",
    "torture": "src/torture/torture.c",
    "verify": "src/torture/verify.c",
}
ZK = "src/zookeeper_tool/"
ZK_COMMANDS = re.findall(r"ROW\((\w+), \"",
                         (ROOT / ZK / "commands.h").read_text(encoding="utf-8"))
TABLES.update({"zk/" + name: ZK + "command_%s.c" % name for name in ZK_COMMANDS})
# Rows that tables share, and where they are defined.
MACROS = {"HF_TOOL_OPTIONS": ZK + "tool.h", "HF_TOOL_JSON_OPTION": ZK + "tool.h"}
COMPLETION = "packaging/completion/holdfast"
ROW = re.compile(r"""HF_OPTION\(\s*'(\w)',\s*"([\w-]+)",\s*(NULL|"[^"]+"),""")
ITEM = re.compile(r"^\.It Fl (\w) , Fl -([\w-]+)(?: Ar (.+))?$", re.M)
LINE = re.compile(r"^ +(\w+(?:/\w+)?) -(\w) --([\w-]+)(?: (\S+))?$", re.M)


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


def defined(macro):
    """The rows that ${macro} stands for."""
    return re.search(r"^#define %s\b((?:.*\\\n)*.*)" % macro,
                     text_of(MACROS[macro]), re.M)[1].replace("\\\n", "\n")


def in_table(command):
    """The options of a command as (letter, name, value or nothing)."""
    text = text_of(TABLES[command])
    text += "".join(defined(macro) for macro in MACROS
                    if re.search(r"\b%s,|\b%s\n" % (macro, macro), text))
    found = {(letter, name, "" if value == "NULL" else value.strip('"'))
             for letter, name, value in ROW.findall(text)}
    rows = text.count("HF_OPTION(")
    if rows != len(found):
        sys.exit("%s: %d rows can be read, of %d; expected HF_OPTION('t', "
                 "\"timeout\", \"DURATION\", ...)"
                 % (TABLES[command], len(found), rows))
    return found | {("h", "help", "")}


def manual_of(command):
    return "docs/man/holdfast-%s.1" % command.split("/")[0]


def part(text, macro, name):
    """What stands in a page below the header ${name}."""
    found = re.search(r"^\.%s %s\n(.*?)(?=^\.S[hs] |\Z)" % (macro, name), text,
                      re.M | re.S)
    return found[1] if found else ""


def in_manual(command):
    text = text_of(manual_of(command))
    if "/" in command:
        text = (part(text, "Sh", "OPTIONS")
                + part(text, "Ss", command.split("/")[1]))
    return {(letter, name, value.replace(" Ns ", "").replace("Ar ", "")
             .replace(" ", "").upper())
            for letter, name, value in ITEM.findall(text)}


def in_completion():
    options = {command: set() for command in TABLES}
    for command, *option in LINE.findall(text_of(COMPLETION)):
        options.setdefault(command, set()).add(tuple(option))
    common = options.pop("zk", set())
    for command in options:
        if command.startswith("zk/"):
            options[command] |= common
    return options


def kinds():
    """The values of --kind, in the table and in the completion."""
    table = re.findall(r'^    KIND\("(\w+)"', text_of(TABLES["torture"]), re.M)
    completion = re.search(r"KIND\) words='([^']*)'", text_of(COMPLETION))
    return table, completion.group(1).split() if completion else []


def written(option):
    letter, name, value = option
    return ("-%s, --%s %s" % (letter, name, value)).rstrip()


def differences():
    completion = in_completion()
    for command in sorted(completion.keys() - TABLES.keys()):
        yield COMPLETION, "no command %s" % command
    for command in TABLES:
        table = in_table(command)
        for path, found in (
                (manual_of(command), in_manual(command)),
                (COMPLETION, completion[command])):
            for option in sorted(table - found):
                yield path, "%s %s" % (command, written(option))
            for option in sorted(found - table):
                yield path, "no %s %s" % (command, written(option))
    table, found = kinds()
    if table != found:
        yield COMPLETION, "for KIND: %s" % " ".join(table)


def main():
    wrong = list(differences())
    for path, expected in wrong:
        print("%s: expected %s, as the table of options has it"
              % (path, expected), file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
