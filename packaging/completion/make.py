#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the completion for a shell from the tables of the commands.

usage: make.py TEMPLATE FILE SYSCONFDIR COMPILER [FLAG...]

A template is the file for a shell, with @NAME@ for each part that is made here;
the ending of its name says for which shell.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import command_tables  # noqa: E402

SCHEMES = ("file:", "zk://", "zks://", "redis://", "rediss://", "quorum:",
           "postgresql://", "etcd://", "etcds://")
# Operands that are files, besides those called FILE.
FILES = ("HISTORY",)


def meaning(words):
    """What an operand is, of which the synopsis has ${words}: what it is called,
    and what it can be."""
    called = words[0].rstrip(".")
    if all(re.fullmatch("[a-z]+", word) for word in words):
        return "WORD", words
    return ("FILE" if called in FILES else called), []


def operands(command):
    """(position, what it is called, what it can be), of those that a shell can
    help with."""
    if command.runs_a_command():
        return
    for at, words in enumerate(command.operands()):
        called, choices = meaning(words)
        if choices or called in ("FILE", "DIR"):
            yield at, called, choices


def described(option):
    """What a menu says of an option: its help, in front of which --help has the
    choices."""
    if option.help.startswith("else "):
        return f"{option.value}, {option.help}"
    return option.help


def names(commands, zk):
    return [command.name.split()[-1] for command in commands
            if command.name.startswith("zk ") == zk]


# -------------------------------------------------------------------- bash --

def for_bash(commands):
    options, positions = [], []
    for command in commands:
        key = command.name.replace(" ", "/")
        for one in command.options:
            options.append(" ".join([key, "-" + (one.letter or "-" + one.name),
                                     "--" + one.name,
                                     one.value or "", *one.choices]).rstrip())
        positions += [" ".join([key, str(at), called, *choices])
                      for at, called, choices in operands(command)]
    return {
        "OPTIONS": "\n".join("    " + line for line in options),
        "OPERANDS": "\n".join("    " + line for line in positions),
        "COMMANDS": " ".join(names(commands, False) + ["zk"]),
        "ZK_COMMANDS": " ".join(names(commands, True)),
        "RUNNING": " ".join(command.name for command in commands
                            if command.runs_a_command()),
    }


# --------------------------------------------------------------------- zsh --

def quoted(text):
    """As one word of a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_text(text):
    """What _arguments and _describe take as it is."""
    return re.sub(r"([\\:\[\]])", r"\\\1", text)


def zsh_value(called, choices):
    """What completes a value; "( )" is nothing.  A mere " " would print a message,
    with which zsh inserts no option either."""
    if choices:
        return "(%s)" % " ".join(choices)
    return {"URL": "_holdfast_url", "FILE": "_files",
            "DIR": "_files -/"}.get(called, "( )")


def zsh_option(option):
    """The forms of an option, which exclude each other."""
    forms = [*("-" + letter for letter in option.letters), "--" + option.name]
    for form in forms:
        ends = "=" if form.startswith("--") else "+"
        yield quoted("(%s)%s%s[%s]%s" % (
            " ".join(forms), form, ends if option.value else "",
            zsh_text(described(option)),
            ":%s:%s" % (option.value, zsh_value(option.value, option.choices))
            if option.value else ""))


def zsh_operands(command):
    known = {at: (called, choices) for at, called, choices in operands(command)}
    for at, words in enumerate(command.operands()):
        if words == ["--"]:
            return
        called, choices = known.get(at, (words[0], []))
        position = "*" if words[0].endswith("...") else "%d" % (at + 1)
        yield quoted("%s:%s:%s" % (position, called.rstrip("."),
                                   zsh_value(called, choices)))


def zsh_case(command):
    """A branch: what the command takes, for _arguments."""
    specs = [spec for option in command.options for spec in zsh_option(option)]
    specs += zsh_operands(command)
    return "\n".join(["    %s)" % quoted(command.name), "        specs=(",
                      *("            " + spec for spec in specs),
                      "        )",
                      *(["        runs=yes"] if command.runs_a_command()
                        else []), "        ;;"])


def zsh_menu(commands, zk):
    return "\n".join("    " + quoted("%s:%s" % (command.name.split()[-1],
                                                zsh_text(command.about)))
                     for command in commands
                     if command.name.startswith("zk ") == zk)


def for_zsh(commands):
    return {"COMMANDS": zsh_menu(commands, False),
            "ZK_COMMANDS": zsh_menu(commands, True),
            "CASES": "\n".join(zsh_case(command) for command in commands)}


# -------------------------------------------------------------------- fish --

def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_value(called, choices):
    """What completes a value; -x: nothing else does, and no file."""
    if choices:
        return " -xa " + fish_quoted(" ".join(choices))
    return {"URL": " -xa '(__holdfast_urls)'", "FILE": " -rF",
            "DIR": " -xa '(__fish_complete_directories)'"}.get(called, " -x")


def fish_command(command):
    """The lines of a command."""
    here = "complete -c holdfast -n " + fish_quoted(
        "__holdfast_is " + command.name)
    for one in command.options:
        yield "%s%s -l %s%s -d %s" % (
            here, "".join(" -s " + letter for letter in one.letters), one.name,
            fish_value(one.value, one.choices) if one.value else "",
            fish_quoted(described(one)))
    for at, called, choices in operands(command):
        yield "complete -c holdfast -n %s%s" % (
            fish_quoted("__holdfast_is %s; and test (__holdfast_operands) -eq %d"
                        % (command.name, at)), fish_value(called, choices))


def fish_menu(commands, zk):
    for command in commands:
        if command.name.startswith("zk ") == zk:
            yield "complete -c holdfast -n %s -a %s -d %s" % (
                fish_quoted("__holdfast_is zk" if zk else "__holdfast_is"),
                command.name.split()[-1],
                fish_quoted(command.about))


def for_fish(commands):
    valued = {command.name: [form for one in command.options if one.value
                             for form in (*("-" + letter
                                            for letter in one.letters),
                                          "--" + one.name)]
              for command in commands}
    return {
        "VALUED": "\n".join(
            "        case %s\n            set valued %s" % (
                fish_quoted(name), " ".join(forms))
            for name, forms in valued.items() if forms),
        "NAMES": " ".join(names(commands, False) + ["zk"]),
        "ZK_NAMES": " ".join(names(commands, True)),
        "RUNNING": " ".join(command.name for command in commands
                            if command.runs_a_command()),
        "COMMANDS": "\n".join(fish_menu(commands, False)),
        "ZK_COMMANDS": "\n".join(fish_menu(commands, True)),
        "OPTIONS": "\n".join(line for command in commands
                             for line in fish_command(command)),
    }


SHELLS = {".bash": for_bash, ".zsh": for_zsh, ".fish": for_fish}


def filled(template, values):
    """The text of ${template} with each @NAME@ replaced."""
    text = template.read_text(encoding="utf-8")
    missing = set(re.findall(r"@([A-Z_]+)@", text)) - set(values)
    if missing:
        raise command_tables.Malformed(
            f"{template.name}: nothing makes {' '.join(sorted(missing))}")
    return re.sub(r"@([A-Z_]+)@",
                  lambda match: values.get(match[1], match[0]), text)


def main():
    if len(sys.argv) < 5:
        print("usage: make.py TEMPLATE FILE SYSCONFDIR COMPILER [FLAG...]",
              file=sys.stderr)
        return 64
    template, file = (pathlib.Path(word) for word in sys.argv[1:3])
    try:
        commands = command_tables.read(sys.argv[4:])
        values = SHELLS[template.suffix](commands)
        values.update(
            SYSCONFDIR=sys.argv[3], SCHEMES=" ".join(SCHEMES),
            ZK_ABOUT=dict(command_tables.listed())["zk"])
        text = filled(template, values)
    except command_tables.Malformed as why:
        print(f"make.py: {why}", file=sys.stderr)
        return 65
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
