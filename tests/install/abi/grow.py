#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""grow.py FROM TO: copies the public headers, and in the copy each struct of
options has one more field at its end, as in a later release."""
import pathlib
import re
import sys

STRUCT = re.compile(r"(^struct hf_\w+_opts \{\n(?:(?!^\};).*\n)*?)(^\};)", re.M)


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    grown = 0
    for header in source.iterdir():
        text, count = STRUCT.subn(r"\1    uint64_t grown;\n\2",
                                  header.read_text())
        (target / header.name).write_text(text)
        grown += count
    if grown == 0:
        sys.exit(f"no struct of options was found in {source}; expected "
                 "lines such as \"struct hf_lock_opts {\"")


if __name__ == "__main__":
    main()
