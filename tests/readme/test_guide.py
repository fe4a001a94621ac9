#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/zookeeper.md: its program and its functions are compiled and run on a
server, and its tables name what there is.  docs/zookeeper-migrating.md names no
call that there is not."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402
from zookeeper import Standalone  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ["HF_SOURCE"])
LIB = pathlib.Path(os.environ["HF_BUILD"]) / "lib"
SANITIZE = {"": [], "address": ["-fsanitize=address,undefined"],
            "thread": ["-fsanitize=thread"]}[os.environ["HF_SANITIZE"]]
GUIDE = (SOURCE / "docs/zookeeper.md").read_text()
MIGRATING = (SOURCE / "docs/zookeeper-migrating.md").read_text()


def blocks():
    """The indented blocks, without their indent."""
    found = re.findall(r"(?m)(?:^    .*\n|^\n(?=    ))+", GUIDE)
    return [re.sub(r"(?m)^    ", "", block).strip("\n") + "\n"
            for block in found]


class Code(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(machine.directory("guide", on_disk=True))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        cls.server = Standalone()
        cls.addClassCleanup(cls.server.close)

    def compile_and_run(self, source, *arguments):
        program = self.top / "program"
        built = subprocess.run(
            [os.environ["CC"], "-std=gnu11", "-Wall", "-Wextra", "-Werror",
             *SANITIZE, "-o", program, source, "-I", self.top, "-I",
             SOURCE / "include", "-L", LIB, "-lholdfast", "-pthread",
             f"-Wl,-rpath,{LIB}"],
            text=True, stderr=subprocess.PIPE, check=False)
        self.assertEqual(built.returncode, 0, built.stderr)
        ran = subprocess.run([program, *arguments], text=True, timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def test_program(self):
        program, = [block for block in blocks() if block.startswith("#include")]
        self.assertIn('"zk://127.0.0.1:2181"', program)
        source = self.top / "motd.c"
        source.write_text(program.replace("127.0.0.1:2181",
                                          self.server.address()))
        self.assertEqual(self.compile_and_run(source), "version 0: hello\n")

    def test_functions(self):
        functions = [block for block in blocks()
                     if re.match(r"/\*|static |struct ", block)]
        self.assertEqual(len(functions), 6)
        (self.top / "guide.h").write_text("\n".join(functions))
        self.compile_and_run(HERE / "zookeeper_guide.c", self.server.address())


class Tables(unittest.TestCase):
    """What the document has to name."""

    def test_calls(self):
        exported = re.findall(r"\bhf_zookeeper_\w+",
                              (SOURCE / "src/holdfast.map").read_text())
        self.assertGreater(len(exported), 30)
        for name in exported:
            with self.subTest(name=name):
                self.assertTrue(f"`{name}()`" in GUIDE, "it is not named")

    def test_no_other_calls(self):
        exported = re.findall(r"\bhf_\w+",
                              (SOURCE / "src/holdfast.map").read_text())
        named = re.findall(r"\b(hf_\w+)\(\)", GUIDE + MIGRATING)
        self.assertEqual(set(named) - set(exported), set())

    def test_kinds_of_operations(self):
        header = (SOURCE / "include/holdfast/zookeeper.h").read_text()
        kinds, = re.findall(r"enum hf_zookeeper_op_kind \{(.*?)\n\};", header,
                            re.S)
        named = re.findall(r"HF_ZOOKEEPER_(\w+) =", kinds)
        rows = re.findall(r"(?m)^\| `([A-Z_]+)`[^|]*\| (?:none|`hf_zookeeper)",
                          GUIDE)
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
        rows = re.findall(r"(?m)^\| `[A-Z]+`.* \| ((?:-\d+(?:, )?)+) \|", GUIDE)
        self.assertEqual({number for row in rows for number in row.split(", ")},
                         named)


if __name__ == "__main__":
    unittest.main()
