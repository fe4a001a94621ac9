# SPDX-License-Identifier: Apache-2.0
"""The examples in the comments of holdfast.h and lock.h compile without a
warning."""
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

INCLUDE = pathlib.Path(os.environ["HF_SOURCE"]) / "include"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

# What the examples leave to the reader.
AROUND = {
    "holdfast.h": """#include <err.h>
#include <holdfast/holdfast.h>
void write_report(uint64_t token);
void example(void);
void example(void)
{
%s
}
""",
    "lock.h": """#include <stdio.h>
#include <holdfast/lock.h>
struct job { struct hf_grant *grant; };
%s
hf_status example(struct hf_lock *lock);
hf_status example(struct hf_lock *lock)
{
    static struct job job;
    hf_status status;
%s
    return status;
}
""",
}


def examples(header):
    """The indented texts of the first comment that says something."""
    text = (INCLUDE / "holdfast" / header).read_text()
    comment = re.findall(r"/\*\n(.*?) \*/", text, re.S)[0]
    found, current = [], []
    for line in [*comment.splitlines(), " * end"]:
        if line.startswith(" *     "):
            current.append(line[len(" *     "):])
        elif line == " *" and current:
            current.append("")
        elif current:
            found.append("\n".join(current).rstrip())
            current = []
    return found[0].split("\n\n") if header == "lock.h" else found[:1]


class HeaderExamples(unittest.TestCase):

    def compile(self, header):
        parts = examples(header)
        if header == "lock.h":
            parts = ["\n\n".join(parts[:-1]), parts[-1]]
        source = AROUND[header] % tuple(parts)
        with tempfile.NamedTemporaryFile(suffix=".o") as made:
            done = subprocess.run(
                [*shlex.split(os.environ.get("CC", "cc")), "-x", "c", "-c",
                 "-O2", *WARNINGS, "-I", INCLUDE, "-o", made.name, "-"],
                input=source, text=True, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + source)

    def test_that_of_all(self):
        self.compile("holdfast.h")

    def test_that_of_a_callback(self):
        self.compile("lock.h")


if __name__ == "__main__":
    unittest.main()
