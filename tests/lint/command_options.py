#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The options of the commands are the same in the tables of the source, from
which --help is printed, and in the manual pages.

A row of a table begins HF_OPTION('t', "timeout", "DURATION", with NULL where the
option takes no value.  All commands have --help besides.  A manual page has
".It Fl t , Fl -timeout Ar duration" for it.

The commands of "holdfast zk" share one page, where each has a section ".Ss get",
and some rows, which are macros; the options of all of them stand in ".Sh OPTIONS".

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
ROW = re.compile(r"""HF_OPTION\(\s*'(\w)',\s*"([\w-]+)",\s*(NULL|"[^"]+"),""")
ITEM = re.compile(r"^\.It Fl (\w) , Fl -([\w-]+)(?: Ar (.+))?$", re.M)


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


def written(option):
    letter, name, value = option
    return ("-%s, --%s %s" % (letter, name, value)).rstrip()


def differences():
    for command in TABLES:
        table, found = in_table(command), in_manual(command)
        for option in sorted(table - found):
            yield manual_of(command), "%s %s" % (command, written(option))
        for option in sorted(found - table):
            yield manual_of(command), "no %s %s" % (command, written(option))


def main():
    wrong = list(differences())
    for path, expected in wrong:
        print("%s: expected %s, as the table of options has it"
              % (path, expected), file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
