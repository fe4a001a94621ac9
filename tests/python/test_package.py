#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The description of the C side, types, the example, wheel and sdist.

    test_package.py SOURCE PACKAGE CHECK_DESCRIPTION
"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import holdfast
from holdfast import _base, _c

from cases import Case

SOURCE, PACKAGE, CHECK = (pathlib.Path(path) for path in sys.argv[1:4])
del sys.argv[1:4]


def has(module):
    return importlib.util.find_spec(module) is not None


class Package(Case):
    def run_program(self, *command, **options):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, check=False, **options)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_description_is_that_of_the_headers(self):
        self.assertEqual(self.run_program(CHECK), "")

    def test_every_status_is_an_exception_of_its_class(self):
        for status in holdfast.Status:
            if status != holdfast.Status.OK:
                found = holdfast._library.error(status, "text")
                self.assertIsInstance(
                    found, _c.BY_CLASS[_base.c.hf_status_class(status)])
                self.assertEqual((str(found), found.status), ("text", status))
                self.assertTrue(hasattr(holdfast, type(found).__name__))
        unknown = holdfast._library.error(9999, "text")
        self.assertEqual((type(unknown), unknown.status), (holdfast.Bug, 9999))

    def test_named_tuples_have_what_the_structs_have(self):
        for ours, struct in ((holdfast.Ticket, _c.hf_ticket_view),
                             (holdfast.Wait, _c.hf_wait),
                             (holdfast.Name, _c.hf_name_view),
                             (holdfast.Histogram, _c.hf_histogram),
                             (holdfast.LockStats, _c.hf_lock_stats),
                             (holdfast.LockEvent, _c.hf_lock_event),
                             (holdfast.ClientStats, _c.hf_client_stats)):
            self.assertEqual([re.sub("_[mu]s$", "", name)
                              for name, _ in struct._fields_
                              if name not in ("status_count", "name_count")],
                             list(ours._fields))

    def test_example_and_the_document_are_one(self):
        example = (SOURCE / "examples/nightly.py").read_text()
        page = (SOURCE / "docs/python.md").read_text()
        shown = "".join(
            line[4:] + "\n" if line.strip() else "\n"
            for line in re.search(r"(?ms)^    import sys\n.*?(?=^\S)",
                                  page)[0].splitlines()).strip()
        self.assertIn(shown, example)
        self.assertRegex(
            self.run_program(sys.executable, SOURCE / "examples/nightly.py",
                             env={**os.environ, "HOLDFAST_URL": self.url}),
            r"^writing the report with token \d+\n$")

    def test_programs_of_the_document_run(self):
        page = (SOURCE / "docs/python.md").read_text()
        programs = re.findall(r"(?ms)^    import asyncio\n.*?(?=^\S)", page)
        self.assertTrue(programs)
        for program in programs:
            text = re.sub("(?m)^    ", "", program)
            self.assertEqual(
                self.run_program(sys.executable, "-X", "dev", "-c", text,
                                 env={**os.environ, "HOLDFAST_URL": self.url}),
                "")

    @unittest.skipUnless(has("mypy"), "there is no mypy")
    def test_types(self):
        said = self.run_program(
            sys.executable, "-m", "mypy", "--strict", "--cache-dir",
            self.directory + "/mypy", "-p", "holdfast", cwd=PACKAGE)
        self.assertIn("Success", said)

    @unittest.skipUnless(has("mypy"), "there is no mypy")
    def test_types_of_a_program(self):
        """It finds each exception, and sees a mistake."""
        names = sorted(name for name in holdfast.__all__
                       if isinstance(getattr(holdfast, name), type))
        self.assertIn("Timeout", names)
        program = pathlib.Path(self.directory) / "program.py"
        program.write_text(
            "import holdfast\n"
            + "".join(f"print(holdfast.{name})\n" for name in names)
            + "with holdfast.Client() as client:\n"
            "    client.lock('a', kind='shared')\n")
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir",
             self.directory + "/mypy", str(program)], text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "MYPYPATH": str(PACKAGE)})
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"program\.py:%d: error: .*\"kind\""
                         % (len(names) + 3))
        self.assertRegex(lines[-1], "^Found 1 error ")

    @unittest.skipUnless(has("setuptools") and has("wheel"),
                         "there is no setuptools")
    def test_wheel_without_a_compiler(self):
        copy = pathlib.Path(self.directory) / "package"
        shutil.copytree(PACKAGE, copy,
                        ignore=shutil.ignore_patterns("__pycache__"))
        for made in ("sdist", "bdist_wheel"):
            self.run_program(sys.executable, "setup.py", "-q", made, cwd=copy,
                             env={**os.environ, "CC": "false"})
        wheel = copy / f"dist/holdfast-{holdfast.__version__}-py3-none-any.whl"
        self.assertTrue((copy / f"dist/holdfast-{holdfast.__version__}.tar.gz")
                        .is_file())
        said = self.run_program(
            sys.executable, "-c", "import holdfast\nprint(holdfast.__file__)",
            env={**os.environ, "PYTHONPATH": str(wheel)})
        self.assertIn(".whl/", said)


if __name__ == "__main__":
    unittest.main()
