#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/other-languages.md: each is built and run by the commands
of the page, where its compiler is; alone, in a queue, and refused.

    test_other_languages.py CLASS"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from document import Document

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402

SOURCE = pathlib.Path(os.environ["HF_SOURCE"])
BUILD = pathlib.Path(os.environ["HF_BUILD"])
PAGE = SOURCE / "docs" / "other-languages.md"

# The declarations that a program has of its own, and those of the headers.
DECLARED = r"\b(hf_\w+)\(([^()]*)\)(?: ->|;)"
IN_HEADERS = r"HF_API [^;(]*\b(hf_\w+)\(((?:[^()]|\([^()]*\))*)\)"


def arity(parameters):
    return 0 if parameters.strip() in ("", "void") else \
        parameters.count(",") + 1


class Language:
    """A chapter of the page: its programs, and its last block of commands."""

    chapter = None
    files = ()
    needs = ()  # commands, and files of packages
    declares = False

    @classmethod
    def setUpClass(cls):
        missing = [one for one in cls.needs if not (
            pathlib.Path(one).exists() if one.startswith("/")
            else shutil.which(one))]
        if missing:
            raise unittest.SkipTest(f"{', '.join(missing)} is not here")
        cls.top = pathlib.Path(machine.directory("language", on_disk=True))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        prefix = cls.top / "prefix"
        subprocess.run([os.environ["CMAKE"], "--install", BUILD, "--prefix",
                        prefix], check=True, stdout=subprocess.DEVNULL)
        lib = next(prefix.glob("**/libholdfast.so")).parent
        (cls.top / "locks").mkdir(mode=0o700)
        # As docs/install.md says of a prefix of one's own.
        cls.env = dict(os.environ, HOLDFAST_DIR=str(cls.top / "locks"),
                       GOCACHE=str(cls.top / "go"),
                       PATH=f"{prefix}/bin:{os.environ['PATH']}",
                       LD_LIBRARY_PATH=str(lib),
                       PKG_CONFIG_PATH=str(lib / "pkgconfig"))
        cls.env.pop("HOLDFAST_URL", None)
        *programs, commands = cls.blocks()
        *build, cls.start = commands.splitlines()
        assert len(programs) == len(cls.files), programs
        for name, text in zip(cls.files, programs):
            (cls.top / name).write_text(text)
        for command in build:
            done = cls.shell(command)
            assert done.returncode == 0 and done.stderr == "", done

    @classmethod
    def blocks(cls):
        text = PAGE.read_text().split(f"\n## {cls.chapter}\n")[1]
        path = cls.top / "chapter.md"
        path.write_text(text.split("\n## ")[0])
        return Document(path).texts()

    @classmethod
    def shell(cls, command):
        return subprocess.run(["sh", "-ec", command], cwd=cls.top, env=cls.env,
                              text=True, capture_output=True, check=False,
                              timeout=4 * waiting.LIMIT_S)

    def test_alone(self):
        done = self.shell(self.start)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^token [1-9]\d*\n$")

    def test_in_a_queue(self):
        """It waits for the holder, and its token is greater."""
        with subprocess.Popen(
                ["holdfast", "run", "nightly", "--", "sh", "-c",
                 "echo $HOLDFAST_TOKEN; read _"], cwd=self.top, env=self.env,
                text=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE) as holder:
            first = int(holder.stdout.readline())
            with subprocess.Popen(["sh", "-ec", "exec " + self.start],
                                  cwd=self.top, env=self.env, text=True,
                                  stdout=subprocess.PIPE) as waiter:
                waiting.eventually(
                    "the program to wait", lambda: " waits " in self.shell(
                        "holdfast show nightly").stdout, of=[waiter])
                holder.communicate("\n")
                said, _ = waiter.communicate(timeout=waiting.LIMIT_S)
            self.assertEqual(waiter.returncode, 0)
            self.assertGreater(int(said.split()[1]), first)

    def test_refused(self):
        """A mutex where readers are."""
        done = self.shell("holdfast run --quiet --read nightly -- " + self.start)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no lock: ", done.stderr)
        self.assertIn("and this is a mutex", done.stderr)

    def test_declares_what_the_headers_have(self):
        """As many parameters: no compiler looks at that."""
        text = "".join(path.read_text() for path in
                       (SOURCE / "include" / "holdfast").glob("*.h"))
        theirs = dict(re.findall(IN_HEADERS, text))
        ours = re.findall(DECLARED, "".join(self.blocks()[:-1])) \
            if self.declares else []
        self.assertEqual(bool(ours), self.declares)
        for name, parameters in ours:
            self.assertEqual(arity(parameters), arity(theirs[name]), name)


class Go(Language, unittest.TestCase):
    chapter = "Go"
    files = ("nightly.go",)
    needs = ("go", "gcc", "pkg-config")


class Rust(Language, unittest.TestCase):
    chapter = "Rust"
    files = ("nightly.rs",)
    needs = ("rustc", "cc", "pkg-config")
    declares = True


class NodeJs(Language, unittest.TestCase):
    chapter = "Node.js"
    files = ("holdfast.c", "nightly.js")
    needs = ("node", "cc", "pkg-config", "/usr/include/node/node_api.h")


class Java(Language, unittest.TestCase):
    chapter = "Java"
    files = ("Nightly.java",)
    needs = ("javac", "java", "/usr/share/java/jna.jar")
    declares = True


if __name__ == "__main__":
    unittest.main()
