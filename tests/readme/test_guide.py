#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The documents about the ZooKeeper client: their code is compiled and run on a
server, and prints what they say; their tables name what there is, and no call
that there is not."""
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
import testing  # noqa: E402
import waiting  # noqa: E402
from proxy import Proxy  # noqa: E402
from zookeeper import Standalone  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ["HF_SOURCE"])
LIB = pathlib.Path(os.environ["HF_BUILD"]) / "lib"
SANITIZE = {"": [], "address": ["-fsanitize=address,undefined"],
            "thread": ["-fsanitize=thread"]}[os.environ["HF_SANITIZE"]]
OFFICIAL = pathlib.Path("/usr/include/zookeeper/zookeeper.h")


class Code(Document):
    """A document of docs/ with code in C."""

    def __init__(self, name):
        super().__init__(SOURCE / "docs" / name)

    def code(self, after=None):
        """The blocks of C, or those behind a line that is ${after}."""
        return [block for before, block in self.blocks
                if re.match(r"#include|#define|/\*|static |struct |int main", block)
                and after in (None, before)]

    def output(self):
        """What the document says that its program prints."""
        printed, = [block for _, block in self.blocks if block.startswith("$ ")]
        return printed.partition("\n")[2]


GUIDE = Code("zookeeper.md")
MIGRATING = Code("zookeeper-migrating.md")
TUTORIAL = Code("zookeeper-tutorial.md")


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(machine.directory("guide", on_disk=True))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        cls.server = Standalone()
        cls.addClassCleanup(cls.server.close)

    def build(self, source, *words):
        """Compile a program without a warning."""
        program = self.top / source.stem
        built = subprocess.run(
            [os.environ["CC"], "-std=gnu11", "-Wall", "-Wextra", "-Werror",
             "-o", program, source, *words, "-pthread"],
            text=True, stderr=subprocess.PIPE, check=False)
        self.assertEqual(built.returncode, 0, built.stderr)
        return program

    def printed(self, program, *arguments):
        """What a program prints that must succeed, and says nothing else."""
        ran = subprocess.run([program, *arguments], text=True, timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def build_with_library(self, source, *words):
        return self.build(
            source, *words, *SANITIZE, "-I", self.top, "-I",
            SOURCE / "include", "-L", LIB, "-lholdfast", f"-Wl,-rpath,{LIB}")

    def compile_and_run(self, source, *arguments):
        """The same of a program that uses the library."""
        return self.printed(self.build_with_library(source), *arguments)


class Guide(Case):
    def test_program(self):
        program, = [block for block in GUIDE.code()
                    if block.startswith("#include")]
        self.assertIn('"zk://127.0.0.1:2181"', program)
        source = self.top / "motd.c"
        source.write_text(program.replace("127.0.0.1:2181",
                                          self.server.address()))
        self.assertEqual(self.compile_and_run(source), "version 0: hello\n")

    def test_functions(self):
        """A function that the program does not call is a warning."""
        functions = [block for block in GUIDE.code()
                     if not block.startswith("#include")]
        (self.top / "guide.h").write_text("\n".join(functions))
        self.compile_and_run(HERE / "zookeeper_guide.c", self.server.address())


class Tutorial(Case):
    def test_program(self):
        source = self.top / "tutorial.c"
        source.write_text("\n".join(TUTORIAL.code()))
        for _ in range(2):  # a program that has run before is in its way
            self.assertEqual(
                self.compile_and_run(
                    source, f"zk://{self.server.address()}/tutorial"),
                TUTORIAL.output())


class Migrating(Case):
    """Each of the two programs needs a server without nodes."""

    PRINTED = "config: one\nconfig: two\nworker: a\n"

    def source(self, after):
        source = self.top / "migrating.c"
        source.write_text("\n".join(MIGRATING.code(after)))
        return source

    @testing.when(OFFICIAL.exists())
    def test_before(self):
        program = self.build(self.source("Before:"), "-lzookeeper_mt")
        self.assertEqual(self.printed(program, self.server.address()),
                         self.PRINTED)

    def test_after(self):
        server = Standalone()
        self.addCleanup(server.close)
        self.assertEqual(self.compile_and_run(self.source("After:"),
                                              f"zk://{server.address()}"),
                         self.PRINTED)

    def test_a_read_is_under_way_when_the_session_ends(self):
        """The program goes on, and reads again in the next session."""
        server = Standalone()
        self.addCleanup(server.close)
        proxy = Proxy(server.port)
        self.addCleanup(proxy.close)
        program = machine.popen(
            [self.build_with_library(self.source("After:"),
                                     HERE / "zookeeper_read_under_way.c",
                                     "-Wl,--wrap=hf_zookeeper_get_start"),
             f"zk://127.0.0.1:{proxy.port}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        waiting.read_line(program, "reading", stream="stderr")
        proxy.hold()
        program.stdin.write("go\n")
        program.stdin.flush()
        with server.client() as client:
            waiting.eventually("the session to end", lambda: not client.exists(
                "/workers/a"), of=[program])
        proxy.cut()
        proxy.thaw()
        for expected in ("read: HF_ELOST", "read: HF_OK"):
            waiting.read_line(program, expected, stream="stderr")
        # Whether the worker is shown again by then is not said.
        out, _ = program.communicate(timeout=waiting.LIMIT_S)
        self.assertEqual(program.returncode, 0)
        self.assertEqual(out.splitlines()[:2], self.PRINTED.splitlines()[:2])


class Tables(unittest.TestCase):
    """What the document has to name."""

    def test_calls(self):
        exported = re.findall(r"\bhf_zookeeper_\w+",
                              (SOURCE / "src/holdfast.map").read_text())
        self.assertGreater(len(exported), 30)
        for name in exported:
            with self.subTest(name=name):
                self.assertTrue(f"`{name}()`" in GUIDE.text, "it is not named")

    def test_no_other_calls(self):
        exported = re.findall(r"\bhf_\w+",
                              (SOURCE / "src/holdfast.map").read_text())
        for document in (GUIDE, MIGRATING, TUTORIAL):
            named = re.findall(r"\b(hf_\w+)\(\)", document.text)
            self.assertEqual(set(named) - set(exported), set())

    @testing.when(OFFICIAL.exists())
    def test_what_the_other_client_has(self):
        """Each function, and each constant but the errors."""
        header = re.sub(r"(?s)/\*.*?\*/", "", OFFICIAL.read_text())
        names = [name + "()" for name in
                 re.findall(r"ZOOAPI [^;(]*?\b(z\w+|is_\w+|close_\w+)\s*\(",
                            header)]
        names += re.findall(r"ZOOAPI [^;(]*?\b(ZOO\w+);", header)
        names += re.findall(r"(?m)^#define (ZOO_\w+)", header)
        self.assertGreater(len(names), 100)
        for name in names:
            with self.subTest(name=name):
                self.assertTrue(f"`{name}`" in MIGRATING.text, "it is not named")

    def test_kinds_of_operations(self):
        header = (SOURCE / "include/holdfast/zookeeper.h").read_text()
        kinds, = re.findall(r"enum hf_zookeeper_op_kind \{(.*?)\n\};", header,
                            re.S)
        named = re.findall(r"HF_ZOOKEEPER_(\w+) =", kinds)
        rows = re.findall(r"(?m)^\| `([A-Z_]+)`[^|]*\| (?:none|`hf_zookeeper)",
                          GUIDE.text)
        self.assertEqual(rows, named)

    def test_errors_of_servers(self):
        """The errors that have a status of their own are those of
        op_failure.c."""
        numbers = dict(re.findall(
            r"X\((\w+), (-\d+),",
            (SOURCE / "src/zookeeper/protocol.h").read_text()))
        function = re.search(
            r"^static hf_status status_of\(.*?^}",
            (SOURCE / "src/zookeeper/op_failure.c").read_text(),
            re.M | re.S)[0]
        named = {numbers[name]
                 for name in re.findall(r"case HF_ZK_(\w+):", function)
                 if name in numbers}
        rows = re.findall(r"(?m)^\| `[A-Z]+`.* \| ((?:-\d+(?:, )?)+) \|",
                          GUIDE.text)
        self.assertEqual({number for row in rows for number in row.split(", ")},
                         named)


if __name__ == "__main__":
    unittest.main()
