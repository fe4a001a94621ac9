# SPDX-License-Identifier: Apache-2.0
"""The commands of the tool and their options, as the tables of the source have
them: struct hf_command and struct hf_option_row of src/command/command_line.h.

Completion and the manual pages are made from what is read here.  The source is
read as the compiler reads it, behind the preprocessor, so that macros are what
they stand for; but nothing is compiled or run, so this also works when the tool
is built for another machine.  A table that is in another form is refused.
"""
import ast
import pathlib
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Where commands are, in the order in which they are offered.
FOLDERS = ("src/cli", "src/torture", "src/zookeeper_tool")
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|\w+|[^\s\w]')
OPENING, CLOSING = "([{", ")]}"


class Malformed(Exception):
    """A table is not in the form that is read here."""


class Option:
    """A row.

    .letter, .name  of -w, --timeout; "": it has no letter
    .letters        the letter, and another one that means the same, if there is
                    one
    .value          "DURATION", or None: it takes none
    .choices        what the value can be, if it is one of a few, else []
    .help           what --help says
    """

    def __init__(self, letter, name, value, choices, about, also=None):
        self.letter, self.name, self.value = letter, name, value
        self.letters = letter + (also or "")
        self.choices, self.help = choices, about


class Command:
    """A command.

    .name       "run", "zk get"
    .synopsis   "[OPTION...] NAME"
    .options    in the order of --help, which is the last
    .about      what it does, in a few words, as the list of commands says it
    """

    def __init__(self, name, synopsis, options):
        self.name, self.synopsis, self.options = name, synopsis, options
        self.about = None

    def operands(self):
        """The words that the synopsis has at each position: ["get", "set"],
        then ["PATH"], then ["ENTRY..."]."""
        found = []
        for form in self.synopsis.split(" | "):
            words = [word.strip("[]") for word in form.split()
                     if not word.startswith("[OPTION")]
            if words and words[0].startswith("--") and words[0] != "--":
                continue
            for at, word in enumerate(words):
                found += [[]] if at == len(found) else []
                if word not in found[at]:
                    found[at].append(word)
        return found

    def runs_a_command(self):
        return " -- COMMAND" in self.synopsis


# ------------------------------------------------------- the initialisers --

def preprocessed(path, compiler):
    done = subprocess.run(
        [*compiler, "-std=c11", "-D_GNU_SOURCE", "-E", "-P", "-Iinclude",
         "-Isrc", path], cwd=ROOT, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise Malformed(f"{path}: '{' '.join(compiler)} -E' fails: "
                        f"{done.stderr.strip()}")
    return done.stdout


def parts(tokens):
    """${tokens} taken apart at the commas that are in no bracket."""
    found, depth = [[]], 0
    for token in tokens:
        depth += (token in OPENING) - (token in CLOSING)
        if token == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return [one for one in found if one]


def braced(text, at):
    """The tokens between the brace at ${at} and the one that closes it."""
    found, depth = [], 0
    for match in TOKEN.finditer(text, at):
        token = match[0]
        depth -= token in CLOSING
        if depth == 0 and token == "}":
            return found
        found += [token] if depth > 0 else []
        depth += token in OPENING
    raise Malformed("a table has no end")


def initialisers(text, declaration):
    """{name: tokens} of the variables that are declared so."""
    return {match[1]: braced(text, match.end() - 1) for match in
            re.finditer(declaration + r"\s*(\w+)\s*(?:\[\s*\])?\s*=\s*\{", text)}


def fields(tokens):
    """{field: tokens} of { .field = ..., }."""
    found = {}
    for part in parts(tokens):
        if part[0] != "." or part[2] != "=":
            raise Malformed(f"expected .FIELD = VALUE, not {' '.join(part)}")
        found[part[1]] = part[3:]
    return found


def literal(tokens):
    """The text of string literals, or of one character; None if it is NULL."""
    if not tokens or tokens[0][0] not in "\"'":
        return None
    return "".join(ast.literal_eval(token) for token in tokens)


# ------------------------------------------------------------ the commands --

HELP = ("h", "help", None, [], "print a summary")


def read_option(tokens, arrays):
    if tokens[0] != "{":
        raise Malformed(f"expected a row, not {' '.join(tokens)}")
    row = fields(tokens[1:-1])
    choices = arrays[row["choices"][0]] if "choices" in row else []
    letter = "" if row.get("letter") == ["0"] else literal(row.get("letter"))
    option = Option(letter, literal(row.get("name")),
                    literal(row.get("value")), choices,
                    literal(row.get("help")), literal(row.get("also")))
    if option.letter is None or not option.name or not option.help:
        raise Malformed("a row has no letter, no name or no help: "
                        + " ".join(tokens))
    return option


def read_file(text, arrays):
    """The commands of a file."""
    tables = initialisers(text, r"struct hf_option_row")
    for tokens in initialisers(text, r"struct hf_command").values():
        command = fields(tokens)
        rows = parts(tables[command["rows"][0]])
        yield Command(literal(command["name"]), literal(command["synopsis"]),
                      [read_option(row, arrays) for row in rows]
                      + [Option(*HELP)])


def string_arrays(text):
    """{name: strings} of arrays of constant strings."""
    return {name: [literal(part) for part in parts(tokens)
                   if literal(part) is not None]
            for name, tokens in initialisers(
                text, r"char \*\s*const").items()}


def listed():
    """[(name, what it does)] of all commands, in their order: from the usage and
    the table of src/cli/main.c, and the list of src/zookeeper_tool/commands.h."""
    main = (ROOT / "src/cli/main.c").read_text(encoding="utf-8")
    about = dict(re.findall(r'^    "  (\w+) +(.+)\\n"$', main, re.M))
    order = [name for name in re.findall(r'^    \{"(\w+)", ', main, re.M)
             if name != "help"]
    if sorted(about) != sorted(order):
        raise Malformed("src/cli/main.c: the table has the commands "
                        f"{sorted(order)}, and the usage {sorted(about)}")
    zk = re.findall(r'ROW\((\w+), "(.*)"\)', (
        ROOT / "src/zookeeper_tool/commands.h").read_text(encoding="utf-8"))
    return ([(name, about[name]) for name in order]
            + [("zk " + name, text) for name, text in zk])


def in_order(commands):
    """As the lists have them."""
    found = {command.name: command for command in commands}
    names = listed()
    differ = {name for name, _ in names} ^ (set(found) | {"zk"})
    if differ:
        raise Malformed("a list of commands and their tables differ: "
                        + ", ".join(sorted(differ)))
    for name, about in names:
        if name in found:
            found[name].about = about
    return [found[name] for name, _ in names if name in found]


def read(compiler):
    """All commands.  ${compiler}: the words that start a C compiler."""
    paths = [path.relative_to(ROOT) for folder in FOLDERS
             for path in sorted((ROOT / folder).glob("*.c"))
             if "struct hf_command " in path.read_text(encoding="utf-8")
             and ".synopsis" in path.read_text(encoding="utf-8")]
    with ThreadPoolExecutor() as pool:
        texts = list(pool.map(lambda path: preprocessed(path, compiler), paths))
    everywhere = {}
    for text in texts:
        everywhere.update(string_arrays(text))
    commands = []
    for path, text in zip(paths, texts):
        try:
            commands += read_file(text, {**everywhere, **string_arrays(text)})
        except (KeyError, IndexError, Malformed) as why:
            raise Malformed(f"{path}: {why}") from why
    return in_order(commands)
