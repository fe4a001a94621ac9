#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Write python/holdfast/_c.py, which describes libholdfast to ctypes, from the
public headers: constants, statuses and their exceptions, enumerations, structs,
defaults of options, functions.

The C compiler's preprocessor reads the headers, and what is left of them is
simple: structs, enumerations and functions, whose declarations are parsed here.
A declaration of any other form is an error and is not left out.  --check writes
a program in C besides, in which the compiler compares all of that with the
headers, and which compares defaults and statuses when it is run.
"""
import argparse
import ctypes
import importlib.util
import pathlib
import re
import shlex
import subprocess
import sys

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"

# Each class of statuses is an exception, with what Python itself has for it ...
BUILTIN = {"TIMEOUT": "TimeoutError", "DENIED": "PermissionError",
           "UNAVAILABLE": "ConnectionError", "RESOURCE": "OSError"}
# ... and these statuses have one of their own below that of their class.
NAMED = {"HF_EBUSY": "Busy", "HF_EDEADLK": "Deadlock", "HF_ECLOSED": "Closed",
         "HF_EFORKED": "Forked", "HF_ENAME": "BadName", "HF_EURL": "BadURL",
         "HF_EKIND": "WrongKind"}

SCALARS = {"_Bool": "c_bool", "int": "c_int", "size_t": "c_size_t",
           "int64_t": "c_int64", "uint64_t": "c_uint64",
           "int32_t": "c_int32", "uint32_t": "c_uint32"}

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\w+|\.\.\.|<<|>>|[^\s\w]')


def preprocess(compiler, more=""):
    """What the preprocessor makes of our headers, and of ${more} after them."""
    text = "#include <holdfast/holdfast.h>\n" + more
    # From C23 on, which gcc 15 reads by itself, bool is no macro for _Bool.
    command = [*compiler, "-std=c11", f"-I{INCLUDE}", "-E", "-x", "c", "-"]
    return subprocess.run(command, input=text, stdout=subprocess.PIPE,
                          text=True, check=True).stdout


def ours(output):
    """The lines that come from a header of ours."""
    kept, ours_now = [], False
    for line in output.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            ours_now = "/holdfast/" in marker[1] and marker[1].endswith(".h")
        elif ours_now and not line.startswith("#"):
            kept.append(line)
    return "\n".join(kept)


def tokens_of(text):
    """The tokens of C, without attributes."""
    found, at = TOKEN.findall(text), 0
    kept = []
    while at < len(found):
        if found[at] in ("__attribute__", "__extension__"):
            at = closing(found, at + 1) + 1 if found[at][2] == "a" else at + 1
            continue
        kept.append(found[at])
        at += 1
    return kept


def closing(tokens, at):
    """Where the bracket that opens at ${at} is closed."""
    depth = 0
    for index in range(at, len(tokens)):
        depth += tokens[index] in ("(", "{")
        depth -= tokens[index] in (")", "}")
        if depth == 0:
            return index
    raise SystemExit(f"describe.py: unbalanced: {' '.join(tokens[at:at + 20])}")


def split(tokens, separator):
    """The parts between separators that stand in no brackets."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += token in ("(", "{")
        depth -= token in (")", "}")
        if token == separator and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def rows(tokens):
    """The arguments of each ROW(...), which are single tokens."""
    while tokens:
        end = closing(tokens, 1)
        yield [part[0] for part in split(tokens[2:end], ",")]
        tokens = tokens[end + 1:]


class Value:
    """The type of a field, a parameter or a result: a word, stars, and the
    number of elements if it is an array."""

    def __init__(self, tokens, count=None):
        self.spelled = " ".join(tokens)
        self.stars = tokens.count("*")
        words = [word for word in tokens if word not in ("const", "*")]
        self.base = " ".join(words)
        self.count = count

    def python(self, headers):
        if self.base == "void":
            name, stars = ("c_void_p" if self.stars else "None"), self.stars - 1
        elif self.base == "char":
            # A char alone is an element of an array.
            name = "c_char_p" if self.stars else "c_char"
            stars = self.stars - 1
        elif self.base in SCALARS:
            name, stars = SCALARS[self.base], self.stars
        elif self.base in headers.enums or self.base == "hf_status":
            name, stars = "c_int", self.stars
        elif self.base.startswith("struct "):
            name, stars = self.base[len("struct "):], self.stars
            if name not in headers.structs:
                name, stars = "c_void_p", stars - 1
        elif self.base in headers.function_types:
            name = headers.function_types[self.base].python(headers)
            stars = self.stars - 1  # C has only pointers to functions
        else:
            raise SystemExit(f"describe.py: what is {self.spelled!r}?")
        for _ in range(stars):
            name = f"POINTER({name})"
        return name if self.count is None else f"{name} * {self.count}"


class Function:
    """A function, or a pointer to one."""

    def __init__(self, result, parameters):
        self.result = result
        self.parameters = parameters
        self.count = None

    def words(self, headers):
        return [value.python(headers)
                for value in (self.result, *self.parameters)]

    def python(self, headers):
        return f"CFUNCTYPE({', '.join(self.words(headers))})"


def declarator(tokens):
    """(name, type) of a field or parameter; the name is "" if there is none."""
    if "(" in tokens:
        at = tokens.index("(")
        if tokens[at + 1] != "*":
            raise SystemExit(f"describe.py: what is {' '.join(tokens)!r}?")
        behind = closing(tokens, at) + 1
        return tokens[at + 2], Function(Value(tokens[:at]),
                                        parameters(tokens[behind + 1:-1]))
    count = None
    if tokens[-1] == "]":
        at = tokens.index("[")
        count = int(tokens[at + 1])
        tokens = tokens[:at]
    named = len(tokens) > 1 and re.match(r"\w", tokens[-1]) and \
        tokens[-1] not in ("const", *SCALARS) and \
        tokens[-2] not in ("struct", "enum")
    return (tokens[-1], Value(tokens[:-1], count)) if named else \
        ("", Value(tokens, count))


def parameters(tokens):
    if tokens == ["void"]:
        return []
    return [declarator(part)[1] for part in split(tokens, ",")]


class Headers:
    """What the headers declare, by name, in their order."""

    def __init__(self, compiler):
        self.enums = {}     # "enum hf_kind" -> {"HF_KIND_MUTEX": 0}
        self.structs = {}   # name -> [(field, type)]
        self.functions = {}
        self.function_types = {}  # typedef int hf_lock_fn(...)
        self.read(tokens_of(ours(preprocess(compiler))))
        self.names = {name: number for values in self.enums.values()
                      for name, number in values.items()}
        self.constants = {}  # name -> number
        self.defaults = {}   # struct -> [(path of a field, number)]
        self.statuses = []   # (name, number, class, text)
        self.bounds = []     # of the buckets of a histogram
        self.read_macros(compiler)

    def read(self, tokens):
        while tokens:
            end = tokens.index(";")
            if "{" in tokens[:end]:
                end = tokens.index(";", closing(tokens, tokens.index("{")))
            self.declaration(tokens[:end])
            tokens = tokens[end + 1:]

    def declaration(self, tokens):
        functions = self.functions
        if tokens[0] == "typedef":
            functions = self.function_types
            tokens = tokens[1:]
        if tokens[:1] == ["struct"] and len(tokens) == 2:
            return  # opaque here, or until it is defined
        if tokens[0] in ("struct", "enum") and tokens[2] == "{":
            body = tokens[3:closing(tokens, 2)]
            if tokens[0] == "enum":
                self.enums[f"enum {tokens[1]}"] = {
                    part[0]: int(" ".join(part[2:]), 0)
                    for part in split(body, ",")}
            else:
                self.structs[tokens[1]] = [
                    declarator(part) for part in split(body, ";")]
            return
        at = tokens.index("(")
        name = tokens[at - 1]
        if name in functions or closing(tokens, at) != len(tokens) - 1:
            raise SystemExit(f"describe.py: what is {' '.join(tokens)!r}?")
        functions[name] = Function(Value(tokens[:at - 1]),
                                   parameters(tokens[at + 1:-1]))

    def read_macros(self, compiler):
        text = "".join(path.read_text(encoding="utf-8") for path
                       in sorted((INCLUDE / "holdfast").glob("*.h")))
        names = re.findall(r"^#define (HF_\w+[A-Z0-9])[ \t]", text, re.MULTILINE)
        # Without HF_, so that it is not replaced itself.
        ask = "".join(f"@ {name[3:]} @ {name}\n" for name in names)
        output = preprocess(compiler, ask + "@ rows @ HF_STATUS_TABLE(ROW)\n"
                            "@ bounds @ HF_HISTOGRAM_TABLE(ROW)\n")
        lines = "\n".join(line for line in output.splitlines()
                          if not line.startswith("#"))
        for asked in lines.split("\n@ ")[1:]:
            name, _, value = asked.partition(" @")
            name, tokens = "HF_" + name, tokens_of(value)
            if name == "HF_rows":
                self.statuses = [(status, int(number), class_, text) for
                                 status, number, class_, _, text
                                 in rows(tokens)]
            elif name == "HF_bounds":
                self.bounds = [int(bound) for bound, _ in rows(tokens)]
            elif tokens[:1] == ["{"]:
                self.read_defaults(tokens)
            elif tokens and tokens != [name] and tokens[0][0] != '"':
                self.constants[name] = self.number(tokens)

    def number(self, tokens):
        """The value of a constant expression."""
        if tokens in (["(", "(", "void", "*", ")", "0", ")"], ["false"]):
            return 0
        words = [re.sub(r"^(0x[0-9a-fA-F]+|\d+)[uUlL]*$", r"\1", word)
                 for word in tokens]
        words = [str(self.names.get(word, word)) for word in words]
        expression = " ".join(words)
        if not re.fullmatch(r"[0-9a-fA-Fx()|+<> -]+", expression):
            raise SystemExit(f"describe.py: what is {' '.join(tokens)!r}?")
        return eval(expression)  # pylint: disable=eval-used

    def read_defaults(self, tokens):
        """HF_..._INIT, whose first value is the size of its struct."""
        name = tokens[4]
        if tokens[1:4] != ["sizeof", "(", "struct"]:
            raise SystemExit(f"describe.py: what is {' '.join(tokens)!r}?")
        self.defaults[name] = list(self.leaves(name, "", tokens))

    def leaves(self, struct, path, tokens):
        """The values in ${tokens}, braces and all, that are not 0."""
        values = split(tokens[1:-1], ",")
        if len(values) != len(self.structs[struct]):
            raise SystemExit(f"describe.py: the default of {struct}{path} has "
                             f"{len(values)} values")
        for (field, kind), value in zip(self.structs[struct], values):
            if value[0] == "{":
                yield from self.leaves(kind.base[len("struct "):],
                                       f"{path}{field}.", value)
            elif value[0] == "sizeof":
                yield path + field, f"sizeof({struct})"
            elif self.number(value) != 0:
                yield path + field, str(self.number(value))


def camel(name):
    return "".join(word.capitalize() for word in name.split("_"))


def exceptions(headers):
    """The classes of exceptions, as lines of Python."""
    classes = headers.enums["enum hf_class"]
    yield ("\n\nBY_CLASS: Dict[int, Type[Error]] = {}\n"
           "BY_STATUS: Dict[int, Type[Error]] = {}\n")
    for name in classes:
        if name == "HF_CLASS_OK":
            continue
        short = name[len("HF_CLASS_"):]
        bases = ", ".join(["Error", *filter(None, [BUILTIN.get(short)])])
        texts = [text.strip('"') for _, _, class_, text in headers.statuses
                 if class_ == name]
        yield f'\n\nclass {camel(short)}({bases}):\n    """'
        yield "; or ".join(texts)[0].upper() + ";\n    or ".join(texts)[1:]
        yield f'."""\n\n\nBY_CLASS[{classes[name]}] = {camel(short)}\n'
    rows = {row[0]: row for row in headers.statuses}
    for name, exception in NAMED.items():
        _, number, class_, text = rows[name]
        text = text.strip('"')
        yield (f"\n\nclass {exception}({camel(class_[len('HF_CLASS_'):])}):\n"
               f'    """{text[0].upper()}{text[1:]}."""\n\n\n'
               f"BY_STATUS[{number}] = {exception}\n")
    # What "from holdfast import *" gives, and mypy re-exports.  It has to be a
    # list of words: mypy looks at no other value.
    names = [camel(name[len("HF_CLASS_"):]) for name in classes][1:]
    yield "\n\n__all__ = [\n"
    for name in sorted([*names, *NAMED.values()]):
        yield f'    "{name}",\n'
    yield "]\n"


def describe(headers):
    """_c.py, as pieces of text."""
    yield ("# SPDX-License-Identifier: Apache-2.0\n"
           '"""Made by python/describe.py from include/holdfast/*.h: not edited'
           ' by hand."""\n'
           "# pylint: disable=all\n"
           "from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char,\n"
           "                    c_char_p, c_int, c_int32, c_int64, c_size_t,\n"
           "                    c_uint32, c_uint64, c_void_p, sizeof)\n"
           "from enum import IntEnum\n"
           "from typing import Any, Dict, List, Tuple, Type\n\n"
           "from ._error import Error\n\n")
    for name, number in sorted(headers.constants.items()):
        yield f"{name} = {number}\n"
    yield (f"HISTOGRAM_BOUNDS_US = ("
           f"{', '.join(str(bound) for bound in headers.bounds)})\n")
    for enum, values in headers.enums.items():
        if enum == "enum hf_status":
            continue
        for name, number in values.items():
            yield f"{name} = {number}\n"
    yield "\n\nclass Status(IntEnum):\n"
    yield '    """How a call of the library ended."""\n'
    for name, number, _, text in headers.statuses:
        yield f"    {name[3:]} = {number}  # {text[1:-1]}\n"
    for line in exceptions(headers):
        yield line
    for name in headers.structs:
        yield f"\n\nclass {name}(Structure):\n    pass\n"
    yield "\n\n"
    for name in by_value(headers):
        yield f"{name}._fields_ = [\n"
        for field, kind in headers.structs[name]:
            yield f'    ("{field}", {kind.python(headers)}),\n'
        yield "]\n"
    for name, leaves in headers.defaults.items():
        yield f"\n\ndef {name}_default() -> Any:\n    opts: Any = {name}()\n"
        for path, value in leaves:
            yield f"    opts.{path} = {value}\n"
        yield "    return opts\n"
    yield ("\n\n# Its result and its arguments.\n"
           "FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {\n")
    for name, function in headers.functions.items():
        result, *arguments = function.words(headers)
        yield f'    "{name}": ({result}, [{", ".join(arguments)}]),\n'
    yield "}\n"


def by_value(headers):
    """The structs, each behind those that it has as fields."""
    done = []

    def add(name):
        for _, kind in headers.structs[name]:
            if isinstance(kind, Value) and not kind.stars and \
                    kind.base.startswith("struct "):
                add(kind.base[len("struct "):])
        if name not in done:
            done.append(name)

    for name in headers.structs:
        add(name)
    return done


def check(headers, made):
    """The program that compares ${made}, the module, with the headers."""
    yield ("/* Made by python/describe.py. */\n#include <stddef.h>\n"
           "#include <stdio.h>\n#include <string.h>\n"
           "#include <holdfast/holdfast.h>\n\n")
    for name, number in {**headers.constants, **headers.names}.items():
        yield f'_Static_assert((uint64_t)({name}) == {number}U, "{name}");\n'
    for name, fields in headers.structs.items():
        struct = getattr(made, name)
        yield (f"_Static_assert(sizeof(struct {name}) == "
               f'{ctypes.sizeof(struct)}, "{name}");\n')
        for field, _ in fields:
            place = getattr(struct, field)
            yield (f"_Static_assert(offsetof(struct {name}, {field}) == "
                   f'{place.offset}, "{name}.{field}");\n'
                   f"_Static_assert(sizeof(((struct {name} *)0)->{field}) == "
                   f'{place.size}, "{name}.{field}");\n')
    for name, function in headers.functions.items():
        arguments = [value.spelled for value in function.parameters]
        yield (f"{function.result.spelled} {name}"
               f"({', '.join(arguments) or 'void'});\n")
        result, kinds = made.FUNCTIONS[name]
        for spelled, kind in zip([function.result.spelled, *arguments],
                                 [result, *kinds]):
            if kind is not None:
                yield (f"_Static_assert(sizeof({spelled}) == "
                       f'{ctypes.sizeof(kind)}, "{name}: {spelled}");\n')
    yield "\nint main(void)\n{\n    int wrong = 0;\n"
    for name, leaves in headers.defaults.items():
        macro = name.upper() + "_INIT"
        yield (f"    {{\n        static const struct {name} wanted = {macro};\n"
               f"        static struct {name} made;\n")
        for path, value in leaves:
            value = value.replace("sizeof(", "sizeof(struct ")
            suffix = "" if "(" in value else "U"
            yield f"        made.{path} = {value}{suffix};\n"
        yield ("        if (memcmp(&made, &wanted, sizeof(made)) != 0)\n"
               f'            wrong = printf("{name}: other defaults\\n");\n'
               "    }\n")
    yield ("    {\n#define BOUND(bound, text) bound,\n"
           "        static const uint64_t wanted[] = "
           "{HF_HISTOGRAM_TABLE(BOUND)};\n"
           "        static const uint64_t made[] = "
           f"{{{', '.join(map(str, made.HISTOGRAM_BOUNDS_US))}}};\n"
           "        if (sizeof(made) != sizeof(wanted) ||\n"
           "            memcmp(made, wanted, sizeof(made)) != 0)\n"
           '            wrong = printf("histograms: other bounds\\n");\n'
           "    }\n")
    for name, number, class_, text in headers.statuses:
        yield (f"    if (hf_status_class({name}) != {class_} || {name} != "
               f"{number} ||\n        strcmp(hf_status_text({name}), {text}) != "
               f'0)\n        wrong = printf("{name}: another row\\n");\n')
    yield "    return wrong != 0;\n}\n"


def load(path):
    """The module at ${path}, in a package of its own."""
    package = pathlib.Path(__file__).resolve().parent / "holdfast"
    for name, file in (("described", None),
                       ("described._error", package / "_error.py"),
                       ("described._c", path)):
        if file is None:
            spec = importlib.util.spec_from_loader(name, None, is_package=True)
        else:
            spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        if file is not None:
            spec.loader.exec_module(module)
    return module


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("--cc", default="cc", help="the C compiler")
    parser.add_argument("--check", type=pathlib.Path, metavar="FILE.c")
    parser.add_argument("output", type=pathlib.Path)
    chosen = parser.parse_args(arguments)
    headers = Headers(shlex.split(chosen.cc))
    chosen.output.write_text("".join(describe(headers)), encoding="utf-8")
    if chosen.check:
        sys.dont_write_bytecode = True
        made = load(chosen.output)
        chosen.check.write_text("".join(check(headers, made)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
