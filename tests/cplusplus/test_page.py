#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program of docs/cplusplus.md and examples/nightly.cpp, built and run as
they say, with what `cmake --install` installs.

    HF_BUILD, HF_SOURCE  the tree that was built, and its sources
    CMAKE, CXX           the programs
"""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

BUILD = pathlib.Path(os.environ["HF_BUILD"])
SOURCE = pathlib.Path(os.environ["HF_SOURCE"])
sys.path[:0] = [str(SOURCE / "tests" / "readme"),
                str(SOURCE / "tests" / "servers")]

import machine  # noqa: E402
from document import Document  # noqa: E402

PAGE = Document(SOURCE / "docs" / "cplusplus.md")
EXAMPLE = SOURCE / "examples" / "nightly.cpp"


class Page(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(machine.directory("cplusplus", on_disk=True))
        self.addCleanup(shutil.rmtree, self.top)
        prefix = self.top / "prefix"
        subprocess.run([os.environ["CMAKE"], "--install", BUILD, "--prefix",
                        prefix], check=True, stdout=subprocess.DEVNULL)
        lib = next(prefix.glob("**/libholdfast.so")).parent
        locks = self.top / "locks"
        locks.mkdir(mode=0o700)
        self.env = dict(os.environ, HOLDFAST_DIR=str(locks),
                        LD_LIBRARY_PATH=str(lib),
                        PKG_CONFIG_PATH=str(lib / "pkgconfig"))
        self.env.pop("HOLDFAST_URL", None)

    def shell(self, command):
        """What ${command} prints, with the compiler that builds the tree."""
        command = command.replace(
            "c++ ", os.environ["CXX"] + " -Wall -Wextra -Werror ", 1)
        ended = subprocess.run(["sh", "-ec", command], cwd=self.top, text=True,
                               env=self.env, check=False,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        return ended.stdout

    def test_the_page(self):
        program, commands = PAGE.texts()
        (self.top / "nightly.cpp").write_text(program)
        build, run = commands.splitlines()
        self.assertEqual(self.shell(build), "")
        self.assertRegex(self.shell(run), r"^token [1-9]\d*\n$")

    def test_the_example(self):
        text = EXAMPLE.read_text()
        build, = [line.strip(" *\n") for line in text.splitlines()
                  if " c++ " in line]
        (self.top / "nightly.cpp").write_text(text)
        self.assertEqual(self.shell(build), "")
        self.assertRegex(self.shell("./nightly"),
                         r"^written under token [1-9]\d*\n$")


if __name__ == "__main__":
    unittest.main()
