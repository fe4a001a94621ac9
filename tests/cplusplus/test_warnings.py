#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The header for C++ compiles without a warning, alone and with its tests, by
each compiler that is here, in each language from C++17 on, and without
exceptions.

    test_warnings.py COMPILER"""

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
STRICT = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
          "-Wshadow", "-Werror", "-I", os.path.join(ROOT, "include")]
ALONE = "#include <holdfast/holdfast.hpp>\nint main() { return 0; }\n"


def compilers():
    """The one that builds the tree, and those of the other families."""
    found = [sys.argv[1]] + [name for name in ("g++", "clang++")
                             if shutil.which(name)]
    return sorted({os.path.realpath(shutil.which(name)) for name in found})


class Warnings(unittest.TestCase):
    def compile(self, compiler, *arguments, text=None):
        with self.subTest(compiler=compiler, arguments=arguments):
            ended = subprocess.run([compiler, *STRICT, *arguments], text=True,
                                   input=text, capture_output=True)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_alone(self):
        for compiler in compilers():
            for standard in "17", "20":
                self.compile(compiler, "-std=c++" + standard, "-x", "c++", "-",
                             text=ALONE)

    def test_without_exceptions(self):
        for compiler in compilers():
            self.compile(compiler, "-std=c++17", "-fno-exceptions", "-x",
                         "c++", "-", text=ALONE)

    def test_each_call(self):
        """In the language that has all of it; the build has the other."""
        for compiler in compilers():
            self.compile(compiler, "-std=c++20",
                         os.path.join(HERE, "test_cplusplus.cpp"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
