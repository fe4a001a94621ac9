#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md and of the pages behind it that need nothing
installed, with the programs of this build.  test_chroot.py runs all of them.
And how long README.md is."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from document import Document
from readme import Readme, server_of

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402

SOURCE = pathlib.Path(os.environ["HF_SOURCE"])
BUILD = pathlib.Path(os.environ["HF_BUILD"])
CC = os.environ["CC"]
SANITIZE = {"": "", "address": " -fsanitize=address,undefined",
            "thread": " -fsanitize=thread"}[os.environ["HF_SANITIZE"]]
README = Readme(SOURCE)

# README.md is read before anything is tried, so it stays short: what it has no
# words for is one link away.
MOST_WORDS = 1300


class Quick(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(machine.directory("readme", on_disk=True))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        prefix = cls.top / "prefix"
        subprocess.run([os.environ["CMAKE"], "--install", BUILD, "--prefix",
                        prefix], check=True, stdout=subprocess.DEVNULL)
        lib = next(prefix.glob("**/libholdfast.so")).parent
        locks = cls.top / "locks"
        locks.mkdir(mode=0o700)
        # As docs/install.md says of a prefix of one's own.
        cls.env = dict(os.environ, HOLDFAST_DIR=str(locks),
                       PATH=f"{prefix}/bin:{os.environ['PATH']}",
                       LD_LIBRARY_PATH=str(lib),
                       PKG_CONFIG_PATH=str(lib / "pkgconfig"))
        cls.package = next(prefix.glob("**/holdfast/__init__.py"), None)
        if cls.package:
            cls.env["PYTHONPATH"] = str(cls.package.parents[1])
        cls.env.pop("HOLDFAST_URL", None)
        report = cls.top / "report.sh"
        report.write_text("#!/bin/sh\necho reported\n")
        report.chmod(0o755)
        for name, text in README.programs.items():
            (cls.top / name).write_text(text)

    def shell(self, command, status=0):
        done = subprocess.run(["sh", "-ec", command], cwd=self.top, text=True,
                              env=self.env, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def compile(self):
        command, = [line for line in README.commands if line.startswith("cc ")]
        self.shell(command.replace("cc ", CC + SANITIZE + " -Wall -Werror ", 1))

    def test_program(self):
        self.compile()
        self.assertRegex(self.shell("./nightly"), r"^token [1-9]\d*\n$")

    @unittest.skipIf(SANITIZE, "Python cannot load a library that is sanitized")
    def test_program_in_python(self):
        self.assertTrue(self.package)
        command, = [line for line in README.commands
                    if line.startswith("python3 ")]
        command = command.replace("python3", "/usr/bin/python3")
        self.assertRegex(self.shell(command), r"^token [1-9]\d*\n$")

    def test_program_that_gets_no_lock(self):
        self.compile()
        # A mutex where readers are.
        said = self.shell("holdfast run -q --read nightly -- ./nightly",
                          status=1)
        self.assertRegex(said, "^nightly: hf_lock_run: hf_lock_acquire: .*\n$")

    def test_commands_of_the_tool(self):
        ran = 0
        for command in README.commands:
            server, _ = server_of(command)
            if not command.startswith(("holdfast", "./dev run")) or server:
                continue
            if " torture " in command:
                continue
            with self.subTest(command=command):
                said = self.shell(command.replace("./dev", "holdfast", 1))
                self.assertRegex(said, "^reported\n$|^$|^holdfast 0|"
                                 "^nobody holds or waits for ")
                ran += 1
        self.assertGreaterEqual(ran, 4)

    def test_is_short(self):
        words = len((SOURCE / "README.md").read_text().split())
        self.assertLessEqual(words, MOST_WORDS)

    def test_prints_what_the_tour_prints(self):
        """And test_screens.py follows the tour."""
        tour = Document(SOURCE / "docs" / "tour.md").texts()
        self.assertTrue(README.transcripts)
        for transcript in README.transcripts:
            self.assertIn(transcript, tour)

    def test_says_what_each_command_is_for(self):
        """And no other."""
        table = re.findall(r"(?m)^\| [^|]* \| ((?:`\w+`(?:, )?)+) \|$",
                           (SOURCE / "docs" / "tour.md").read_text())
        self.assertEqual(
            sorted(re.findall(r"\w+", " ".join(table))),
            sorted(re.findall(r"(?m)^(?:usage:)? +holdfast (\w+)",
                              self.shell("holdfast --help"))))

    def test_each_document_is_listed(self):
        for folder in SOURCE / "docs", SOURCE / "docs" / "recipes":
            listed = (folder / "README.md").read_text()
            for path in folder.iterdir():
                if path.is_file() and path.name != "README.md":
                    self.assertIn(f"]({path.name})", listed)

    def test_says_how_to_build_each_engine(self):
        text = (SOURCE / "README.md").read_text()
        for package in ("libhiredis-dev", "libpq-dev", "libssl-dev",
                        "libnghttp2-dev", "libsasl2-dev"):
            self.assertIn(f"| `{package}` |", text)
            self.assertIn(package, (SOURCE / "dev").read_text())


if __name__ == "__main__":
    unittest.main()
