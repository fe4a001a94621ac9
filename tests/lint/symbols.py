#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Headers, version script and contracts must agree.

Every function that a public header declares is exported by src/holdfast.map,
nothing else is, and each is introduced by a comment that names it:

    /**
     * hf_lock_free(lock):
     * ...
     *   Thread    any.
     */

What such a comment says of time, ownership and so on begins a line.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DECLARED = re.compile(r"^HF_API\b[^;]*?\b(hf_\w+)\s*\(", re.M)
CONTRACT = re.compile(r"^/\*\*\n(.*?)\*/", re.M | re.S)
HEADING = re.compile(r"^ \* ((?:hf_\w+\([^)]*\)(?:,\s*(?:\* )?)?)+):", re.M)
TAGS = "Time|Ownership|Callback|Thread|States|Result|Fails"
TAG = re.compile(r" \*   [A-Z]\w+(?:, \w+)* +\S")
# A formatter breaks lines that are too long, and joins the rest to the next.
JOINED = re.compile(rf" \* \S.*(?<!, )\b(?:{TAGS})(?:, \w+)*(?: {{2,}}|,$)")
# The same of other texts with tags, such as the one at the top of a header.
WIDE = re.compile(r"^ \* (?!\w+(?: \w+)* {2,})\S.*\S {3,}\S.*$", re.M)


def deformed(comment):
    """Yields the lines of a contract that a formatter has deformed: a tag such
    as "Fails" is within one, or what follows a tag is not indented."""
    is_tagged = False
    for number, line in enumerate(comment.split("\n")):
        is_tag = TAG.match(line) is not None
        is_tagged = is_tag or (is_tagged and line != " *")
        if JOINED.match(line) or (is_tagged and not is_tag and
                                  re.match(r" \* {0,4}\S", line)):
            yield number, line.strip(" *")


def declared(text):
    """The functions a header declares."""
    return set(DECLARED.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.S)))


def introduced(text):
    """The functions named by the headings of its contract comments."""
    names = set()
    for comment in CONTRACT.findall(text):
        for heading in HEADING.findall(comment):
            names.update(re.findall(r"hf_\w+(?=\()", heading))
    return names


def main():
    headers = sorted((ROOT / "include" / "holdfast").glob("*.h"))
    exported = set(re.findall(r"^\s+(hf_\w+);$",
                              (ROOT / "src" / "holdfast.map").read_text(),
                              re.M))
    functions, faults = set(), []
    for header in headers:
        text = header.read_text()
        functions |= declared(text)
        for name in sorted(declared(text) - introduced(text)):
            faults.append(f"{header.name}: {name}() has no contract comment; "
                          "expected one headed by its name")
        for name in sorted(introduced(text) - declared(text)):
            faults.append(f"{header.name}: a contract for {name}(), which it "
                          "does not declare")
        for line in WIDE.finditer(text):
            number = text.count("\n", 0, line.start()) + 1
            faults.append(f"{header.name}:{number}: a gap within a line; "
                          "expected what stands before it at the beginning of "
                          "one")
        for comment in CONTRACT.finditer(text):
            first = text.count("\n", 0, comment.start()) + 2
            for number, line in deformed(comment[1]):
                faults.append(
                    f"{header.name}:{first + number}: {line!r}: expected each of "
                    f"{TAGS} at the beginning of a line, and the lines behind "
                    "it indented; shorten the line before it that is too long")
    for name in sorted(functions - exported):
        faults.append(f"src/holdfast.map: {name} is missing")
    for name in sorted(exported - functions):
        faults.append(f"src/holdfast.map: {name} is in no public header")
    if not functions:
        faults.append("no HF_API function was found in include/holdfast")
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
