#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Write utf8_hidden.h: the characters that can deceive the reader of a terminal.

    utf8_hidden.py            write the table beside this file
    utf8_hidden.py --check    exit with 1 if it is not what would be written

They are those of these properties in the Unicode Character Database (the
package unicode-data of Debian): Default_Ignorable_Code_Point, Bidi_Control, and
the categories Cc, Zl, Zp and Cf, without Prepended_Concatenation_Mark, whose
characters are visible."""

import os
import re
import sys

DATA = "/usr/share/unicode"
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "utf8_hidden.h")


def lines_of(name):
    with open(os.path.join(DATA, name), encoding="utf-8") as file:
        yield from file


def with_property(name, wanted):
    codes = set()
    for line in lines_of(name):
        found = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))? *; *(\w+)", line)
        if found and found[3] == wanted:
            codes.update(range(int(found[1], 16),
                               int(found[2] or found[1], 16) + 1))
    return codes


def hidden():
    codes = with_property("DerivedCoreProperties.txt",
                          "Default_Ignorable_Code_Point")
    codes |= with_property("PropList.txt", "Bidi_Control")
    for category in ("Cc", "Cf", "Zl", "Zp"):
        codes |= with_property("extracted/DerivedGeneralCategory.txt", category)
    return codes - with_property("PropList.txt",
                                 "Prepended_Concatenation_Mark")


def ranges(codes):
    """[(first, last), ...], in order."""
    found = []
    for code in sorted(codes):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def table():
    version = next(lines_of("DerivedCoreProperties.txt")).split("-")[1]
    return """/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The characters that can deceive the reader of a terminal, in order: control
 * characters, and those that are invisible, reorder others or separate lines.
 * Written by utf8_hidden.py, which says by which properties, from the Unicode
 * Character Database %s.
 */
#ifndef HF_BASE_UTF8_HIDDEN_H
#define HF_BASE_UTF8_HIDDEN_H

#include <stdint.h>

/* clang-format off */
static const struct {
    uint32_t first, last;
} hf_utf8_hidden[] = {
%s};
/* clang-format on */

#endif
""" % (version.removesuffix(".txt\n"),
       "".join("    {0x%04X, 0x%04X},\n" % tuple(both)
               for both in ranges(hidden())))


def main():
    if sys.argv[1:] == ["--check"]:
        with open(TABLE, encoding="utf-8") as file:
            if file.read() != table():
                sys.exit("%s is not what utf8_hidden.py writes" % TABLE)
        return
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write(table())


main()
