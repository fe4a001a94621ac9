#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the manual pages of the library from its headers.

usage: pages.py DIRECTORY HEADER...

A header has everything that a page needs: a comment at its top, types with their
comments, and before each function a contract in a fixed form.  So the pages are
made and not written: they cannot differ from the header.

Each header is a page named after it: hf_lock(3) is <holdfast/lock.h>.  A heading
in a header may begin another page:

    /* ------------------------------ watches: hf_zookeeper_watch -- */

Without a name behind the colon it is a heading within the page.  Each function
and each type that is no page itself is a link to the page that describes it.
A header that is not in this form is refused, with the place.

The pages are in mdoc(7).
"""
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
# It declares nothing: the other headers are written with it.
NO_PAGE = "attributes.h"
# What holds for all calls is there.
GENERAL = "holdfast"

SECTION = re.compile(r"/\* -{3,} ([^:]+?)(?:: (hf_\w+))? -- \*/")
HEADING = re.compile(r"((?:hf_\w+\([^)]*\)(?:,\s+)?)+):\n")
FUNCTION = re.compile(r"(.*?)\s*\b(hf_\w+)\s*\((.*)\)$", re.S)
# "  Ownership ${error} is yours." in a contract; at the top of a header
# "Paths      are absolute".  The lines that follow are indented.
TAG_OF_CONTRACT = re.compile(r"  ([A-Z]\w+(?:, [A-Z]\w+)*) +(?=\S)")
TAG_OF_TEXT = re.compile(r"(\w+(?: \w+)*) {2,}(?=\S)")


class Malformed(Exception):
    """A header is not in the form that this program reads."""


# ------------------------------------------------------------- the header --

class Function:
    """A prototype."""

    def __init__(self, code, where):
        match = FUNCTION.match(code)
        if match is None:
            raise Malformed(f"{where}: no prototype of a function: {code!r}")
        self.type, self.name, arguments = (
            re.sub(r"\s+", " ", part).strip() for part in match.groups())
        self.arguments = arguments.split(", ")


class Piece:
    """What stands between two empty lines of a header.

    .kind       "section", "text", "type" or "contract"
    .text       the comment, without its marks
    .code       a declaration, as it is
    .functions  those of a contract
    .title      of a section
    .page       that a section begins, or None
    """

    def __init__(self, kind, where, text="", code=""):
        self.kind, self.where, self.text, self.code = kind, where, text, code
        self.functions, self.title, self.page = [], None, None


def comment_text(lines):
    """The lines of a comment without its marks."""
    lines = [re.sub(r"^ ?/?\*+ ?", "", re.sub(r"\s*\*/$", "", one))
             for one in lines]
    return "\n".join(lines).strip("\n")


def prototypes(code, where):
    """The functions that are declared in ${code}."""
    code = re.sub(r"HF_NONNULL\([^)]*\)|HF_MUST_CHECK|HF_API", "", code)
    return [Function(one.strip(), where) for one in code.split(";")
            if one.strip()]


def without_guards(text):
    """${text} with nothing but comments and declarations.  What goes leaves an
    empty line, so that the others keep their numbers."""
    for pattern in (r"^#ifdef __cplusplus\n(?:.*\n)*?#endif$",
                    r"^#ifndef HOLDFAST_\w+_H\n#define \w+$", r"^#include .*$",
                    r"^#endif\Z", r"^/\* clang-format o.*$",
                    r"^/\* SPDX-.*$"):
        text = re.sub(pattern, lambda match: "\n" * match[0].count("\n"),
                      text.rstrip("\n"), flags=re.M)
    return text.split("\n")


def taken(lines, at, ends):
    """The lines from ${at} on, up to the first after which ${ends} is true."""
    end = at
    while end < len(lines) and not ends(end):
        end += 1
    return lines[at:end]


def take_comment(lines, at):
    """A comment ends where it is closed."""
    return taken(lines, at, lambda end: end > at and "*/" in lines[end - 1])


def take_code(lines, at):
    """A declaration ends at an empty line, unless a brace is open."""
    return taken(lines, at, lambda end: not lines[end].strip() and
                 "\n".join(lines[at:end]).count("{") ==
                 "\n".join(lines[at:end]).count("}"))


def contract(piece):
    """Take the heading of a contract apart, and see that it names what is
    declared below it."""
    heading = HEADING.match(piece.text + "\n")
    piece.functions = prototypes(piece.code, piece.where)
    declared = [function.name for function in piece.functions]
    named = re.findall(r"hf_\w+(?=\()", heading[1]) if heading else []
    if named != declared or not declared:
        raise Malformed(
            f"{piece.where}: the comment is about {named}, and what is "
            f"declared below it is {declared}; expected the same names in the "
            "same order")
    piece.text = piece.text[len(heading[0]):]
    return piece


def pieces_of(header):
    """The pieces of a header, in order; the first is the text at its top."""
    lines = without_guards(header.read_text(encoding="utf-8"))
    found, at = [], 0
    while at < len(lines):
        where = f"{header.name}:{at + 1}"
        section = SECTION.fullmatch(lines[at])
        if section:
            found.append(Piece("section", where))
            found[-1].title, found[-1].page = section.groups()
            at += 1
        elif lines[at].strip():
            comment = (take_comment(lines, at) if lines[at].startswith("/*")
                       else [])
            code = take_code(lines, at + len(comment))
            is_contract = comment and comment[0] == "/**"
            kind = ("contract" if is_contract else "type" if code else "text")
            piece = Piece(kind, where, comment_text(comment), "\n".join(code))
            found.append(contract(piece) if is_contract else piece)
            at += len(comment) + len(code)
        else:
            at += 1
    if not found or found[0].kind != "text":
        raise Malformed(f"{header.name}:1: no comment at the top says what the "
                        "header is about")
    return found


# ----------------------------------------------------------------- mdoc(7) --

ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha",
           "~": "\\(ti"}


def line(text):
    """A line that is not taken for a request."""
    return "\\&" + text if text[:1] in (".", "'") else text


def literal(text, offset=" -offset indent"):
    """A block that is shown as it is."""
    escaped = re.sub(r"[\\'`^~-]", lambda match: ESCAPES[match[0]], text)
    return [".Bd -literal" + offset,
            *(line(one.rstrip()) for one in escaped.split("\n")), ".Ed"]


def inline(text):
    """Text in which arguments and functions are marked."""
    text = text.replace("\\", "\\e")
    text = re.sub(r"\$\{(\w+)\}", r"\\fI\1\\fP", text)
    text = re.sub(r"\b(hf_\w+)(?=\(\))", r"\\fB\1\\fP", text)
    text = text.replace("<holdfast/", "\\%<holdfast/")
    return re.sub(r"(?<![\w-])-(?=\d)", r"\\-", text)


def sentences(lines):
    """The lines of a paragraph, each sentence on lines of its own."""
    text = "\n".join(one.strip() for one in lines)
    return [line(row)
            for sentence in re.split(r"(?<=[.!?])(?:  +|\n)", inline(text))
            for row in textwrap.wrap(sentence, 78, break_long_words=False,
                                     break_on_hyphens=False)]


def tagged(lines, tag):
    """Paragraphs of which some begin with a word that says what they are about,
    such as "Ownership": these are a list."""
    out, text, is_open = [], [], False
    for one in lines:
        match = tag.match(one)
        if match or (is_open and not one.startswith(" ")):
            out += sentences(text)
            text = []
        if match:
            out += [] if is_open else [".Bl -tag -width Ownership"]
            out.append(f".It Sy {match[1].replace(', ', ' , ')}")
            one = one[match.end():]
        elif is_open and not one.startswith(" "):
            out.append(".El")
        is_open = match is not None or (is_open and one.startswith(" "))
        text.append(one)
    return out + sentences(text) + ([".El"] if is_open else [])


def paragraphs(text, tag):
    """A comment: paragraphs, lists, and what is indented and shown as it is."""
    out = []
    for block in re.split(r"\n(?:[ \t]*\n)+", text):
        lines = block.split("\n")
        if not block.strip():
            continue
        if all(one.startswith("    ") for one in lines):
            out += literal(textwrap.dedent(block))
        elif tag.match(lines[0]) and out and out[-1] == ".El":
            out = out[:-1] + tagged(lines, tag)[1:]
        else:
            out += ([".Pp"] if out else []) + tagged(lines, tag)
    return out


def as_argument(text):
    """An argument of a macro."""
    return '"' + text.replace('"', '\\(dq') + '"' if " " in text else text


def described(piece):
    """A function, or several, with the contract."""
    out = [".Bl -tag -width Ds"]
    for function in piece.functions:
        names = [] if function.arguments == ["void"] else [
            re.search(r"(\w+)(?:\[\w*\])?$", one)[1]
            for one in function.arguments]
        last = function is piece.functions[-1]
        words = [".Fn", function.name, *names, *([] if last else [","])]
        out += [".It Xo"] if function is piece.functions[0] else []
        out += [" ".join(words)]
    out += [".Xc", *paragraphs(piece.text, TAG_OF_CONTRACT), ".El"]
    return out


def declared_type(piece):
    """A type, with the comment before it.  The backslashes of a macro only join
    lines."""
    code = re.sub(r"\s*\\$", "", piece.code, flags=re.M)
    text = paragraphs(piece.text, TAG_OF_TEXT) if piece.text else []
    return [".Pp"] + text + literal(code, "")


# --------------------------------------------------------------- the pages --

class Page:
    """A page: a header, or a part of one."""

    def __init__(self, name, header, about):
        self.name, self.header, self.about = name, header, about
        self.pieces = []

    def functions(self):
        return [function for piece in self.pieces
                for function in piece.functions]

    def types(self):
        code = "\n".join(piece.code for piece in self.pieces
                         if piece.kind == "type")
        return re.findall(r"^(?:typedef )?(?:struct|enum) (hf_\w+)(?= \{|;)",
                          code, re.M)

    def words(self):
        return "\n".join(piece.text + piece.code for piece in self.pieces)


def pages_of(header):
    """The pages that a header is."""
    name = header.stem if header.stem == GENERAL else "hf_" + header.stem
    pieces = pieces_of(header)
    about = re.sub(r"\s+", " ", re.split(r"\.(?:\s|$)", pieces[0].text)[0])
    about = about.removeprefix(name + ": ")
    pages = {name: Page(name, header, about[:1].lower() + about[1:])}
    current = pages[name]
    for piece in pieces:
        if piece.kind == "section":
            current = pages.setdefault(
                piece.page or name,
                Page(piece.page, header,
                     f"{piece.title} of holdfast/{header.name}"))
        current.pieces.append(piece)
    return list(pages.values())


def synopsis(page):
    out = [".Sh SYNOPSIS", f".In holdfast/{page.header.name}"]
    for function in page.functions():
        out += [f".Ft {as_argument(function.type)}", f".Fo {function.name}",
                *(f".Fa {as_argument(one)}" for one in function.arguments),
                ".Fc"]
    return out


def description(page):
    """The pieces in the order of the header.  What a page begins with needs no
    heading."""
    out = [".Sh DESCRIPTION"]
    if page.pieces[0].kind == "section":
        out += ["This is a part of", f".In holdfast/{page.header.name} ;",
                f".Xr hf_{page.header.stem} 3", "has what holds for all of it."]
    for piece in page.pieces:
        if piece is page.pieces[0] and piece.kind == "section":
            continue
        if piece.kind == "section":
            out += [f".Ss {piece.title[:1].upper()}{piece.title[1:]}"]
        elif piece.kind == "text":
            out += [".Pp", *paragraphs(piece.text, TAG_OF_TEXT)]
        elif piece.kind == "type":
            out += declared_type(piece)
        else:
            out += described(piece)
    return without_idle_breaks(out)


def without_idle_breaks(lines):
    """A break is not needed behind a heading, nor before what makes its own."""
    return [one for one, before, after in zip(lines, [""] + lines,
                                              lines[1:] + [""])
            if not (one == ".Pp" and (before.startswith(".S")
                                      or after.startswith((".Bd", ".Bl"))))]


def see_also(page, pages, links):
    """The pages of what this one names, the others of its header, and those that
    are about every call."""
    named = {links[word] for word in re.findall(r"\bhf_\w+", page.words())
             if word in links}
    named |= {other.name for other in pages
              if other.header == page.header or page.name == GENERAL
              or other.name in (GENERAL, "hf_status")}
    named = sorted(named - {page.name})
    if not named:
        return []
    return [".Sh SEE ALSO", *(f".Xr {name} 3 ," for name in named[:-1]),
            f".Xr {named[-1]} 3"]


def written(page, pages, date, version):
    """The text of a page."""
    links = links_of(pages)
    names = [page.name] + [function.name for function in page.functions()
                           if function.name != page.name]
    out = ['.\\" SPDX-License-Identifier: Apache-2.0',
           f'.\\" Made from holdfast/{page.header.name} by docs/man/pages.py.',
           f".Dd {date}", f".Dt {page.name.upper()} 3",
           f".Os holdfast {version}", ".Sh NAME", *(f".Nm {name} ," for name in names[:-1]),
           f".Nm {names[-1]}", f".Nd {page.about}",
           ".Sh LIBRARY", "holdfast (libholdfast, \\-lholdfast)",
           *synopsis(page), *description(page),
           *see_also(page, pages, links)]
    return "\n".join(out) + "\n"


def links_of(pages):
    """{name: page}, of the pages themselves and of what they describe."""
    links = {page.name: page.name for page in pages}
    for page in pages:
        for name in ([function.name for function in page.functions()] +
                     page.types()):
            links.setdefault(name, page.name)
    return links


def constant(file, pattern):
    """What ${pattern} finds in a file of the tree."""
    return re.search(pattern, file.read_text(encoding="utf-8"), re.M)[1]


def make(directory, headers):
    """Write all pages, and remove those that were made before."""
    pages = [page for header in headers if header.name != NO_PAGE
             for page in pages_of(header)]
    date = constant(HERE / "holdfast.1", r"^\.Dd (.*)$")
    version = ".".join(
        constant(HERE.parents[1] / "include/holdfast/version.h",
                 rf"^#define HF_VERSION_{part} (\d+)$")
        for part in ("MAJOR", "MINOR", "PATCH"))
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("*.3"):
        old.unlink()
    for page in pages:
        (directory / f"{page.name}.3").write_text(
            written(page, pages, date, version), encoding="utf-8")
    for name, page in links_of(pages).items():
        if name != page:
            (directory / f"{name}.3").write_text(f".so man3/{page}.3\n",
                                                 encoding="utf-8")


def main():
    if len(sys.argv) < 3:
        print("usage: pages.py DIRECTORY HEADER...", file=sys.stderr)
        return 64
    try:
        make(pathlib.Path(sys.argv[1]),
             [pathlib.Path(name) for name in sys.argv[2:]])
    except Malformed as why:
        print(f"pages.py: {why}", file=sys.stderr)
        return 65
    return 0


if __name__ == "__main__":
    sys.exit(main())
