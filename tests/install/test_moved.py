#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An installed tree that was moved finds its own modules, and no others.  Each
module is replaced with a file that is no library: the error names the file,
and the tests need no server and no other library."""
import os
import pathlib
import shutil
import subprocess
import unittest

from commands import (BUILD, CC, CMAKE, HERE, MODULES, SANITIZE, engines, run,
                      testing)
import machine

# No module is where the build was configured to install them.
CONFIGURED = "there is no module"
NOBODY = 65534


class Moved(unittest.TestCase):

    def setUp(self):
        self.top = pathlib.Path(machine.directory("moved", on_disk=True))
        self.addCleanup(shutil.rmtree, self.top)
        self.top.chmod(0o755)
        self.prefix = self.top / "here"
        run(CMAKE, "--install", BUILD, "--prefix", self.prefix)
        self.replace_modules(self.prefix)

    def replace_modules(self, prefix):
        directory = next(prefix.glob("**/libholdfast.a")).parent / MODULES
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        (directory / "engine-tried.so").write_text("text\n")
        return directory

    def move(self):
        there = self.top / "somewhere" / "else"
        there.parent.mkdir()
        self.prefix.rename(there)
        self.prefix = there
        return there

    def module(self):
        return str(next(self.prefix.glob("**/engine-tried.so")))

    def tool_says(self, tool=None, **options):
        done = subprocess.run(
            [tool or self.prefix / "bin" / "holdfast", "run", "-c", "tried:",
             "name", "--", "true"], check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        self.assertNotEqual(done.returncode, 0)
        return done.stdout

    def program(self, *words):
        program = self.top / "program"
        include = self.prefix / "include"
        run(CC, *SANITIZE, "-o", program, f"-I{include}",
            HERE / "program_error.c", *words)
        return program

    def test_tool(self):
        self.assertIn(self.module(), self.tool_says())
        self.move()
        self.assertIn(self.module(), self.tool_says())

    def test_modules_of_another_version_are_not_its_own(self):
        lib = pathlib.Path(self.module()).parents[1]
        (lib / MODULES).rename(lib / "holdfast-0.0")
        self.assertIn(CONFIGURED, self.tool_says())
        self.replace_modules(self.prefix)
        self.assertIn(f"{MODULES}/engine-tried.so", self.tool_says())

    def test_tool_through_a_link_and_under_another_name(self):
        self.move()
        link = self.top / "link"
        link.symlink_to(self.prefix / "bin" / "holdfast")
        self.assertIn(self.module(), self.tool_says(link))
        # A program says what it likes in argv[0].
        said = self.tool_says(self.prefix / "bin" / "holdfast", cwd="/",
                              env=dict(os.environ, PATH="/nowhere"))
        self.assertIn(self.module(), said)

    def test_torture_of_a_moved_tree(self):
        tool = self.move() / "bin" / "holdfast"
        done = subprocess.run([tool, "torture", "-c", "tried:"], check=False,
                              text=True, capture_output=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(self.module(), done.stderr)
        next(self.prefix.glob("**/holdfast-torture")).unlink()
        done = subprocess.run([tool, "verify", "-"], check=False, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (127, ""))
        self.assertIn("there is no program holdfast-torture", done.stderr)

    def test_shared_library(self):
        directory = self.move()
        lib = next(directory.glob("**/libholdfast.so")).parent
        program = self.program(lib / "libholdfast.so")
        env = dict(os.environ, LD_LIBRARY_PATH=str(lib))
        self.assertIn(self.module(), run(program, "tried:", env=env))

    def test_library_that_was_loaded_by_a_relative_path(self):
        directory = self.move()
        lib = next(directory.glob("**/libholdfast.so")).parent
        program = self.program(lib / "libholdfast.so")
        env = dict(os.environ, LD_LIBRARY_PATH=".")
        said = run(program, "tried:", env=env, cwd=lib)
        self.assertIn(CONFIGURED, said)

    def test_destdir(self):
        root = self.top / "root"
        run(CMAKE, "--install", BUILD, env=dict(os.environ, DESTDIR=str(root)))
        tool = next(root.glob("**/bin/holdfast"))
        self.prefix = tool.parent.parent
        self.replace_modules(self.prefix)
        self.assertIn(self.module(), self.tool_says(tool))
        pc = next(root.glob("**/holdfast.pc")).parent
        said = run("pkg-config", "--variable=modulesdir", "holdfast",
                   env=dict(os.environ, PKG_CONFIG_PATH=str(pc))).strip()
        self.assertEqual(os.path.realpath(said),
                         os.path.dirname(self.module()))

    def test_tree_that_anybody_may_write_to(self):
        self.move().chmod(0o1777)
        said = self.tool_says()
        self.assertIn(CONFIGURED, said)
        self.assertNotIn(self.module(), said)

    @testing.when(not SANITIZE)  # which is not for programs of that kind
    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_set_user_id_program(self):
        tool = self.move() / "bin" / "holdfast"
        tool.chmod(0o4755)
        self.assertIn(self.module(), self.tool_says())
        said = self.tool_says(user=NOBODY, group=NOBODY, extra_groups=[],
                              cwd="/")
        self.assertIn(CONFIGURED, said)
        self.assertNotIn(self.module(), said)


class Engines(unittest.TestCase):
    """holdfast --version -v"""

    def test_says_where_each_comes_from(self):
        said = engines(BUILD / "holdfast")
        self.assertEqual(said["file"], ("works", "built in"))
        self.assertEqual(said["zookeeper"], ("works", "built in"))
        for name, module in (("redis", "engine-redis"),
                             ("postgresql", "engine-postgresql"),
                             ("etcd", "engine-etcd"),
                             ("tls", "transport-tls"),
                             ("sasl", "transport-sasl")):
            file = BUILD / "lib" / MODULES / (module + ".so")
            with self.subTest(engine=name):
                if file.exists():
                    self.assertEqual(said[name], ("works", str(file)))
                else:
                    self.assertEqual(said[name][0], "missing")
                    self.assertRegex(said[name][1], "Debian: lib|=OFF")

    def test_says_why_one_is_missing(self):
        top = pathlib.Path(machine.directory("moved", on_disk=True))
        self.addCleanup(shutil.rmtree, top)
        prefix = top / "prefix"
        run(CMAKE, "--install", BUILD, "--prefix", prefix)
        for module in prefix.glob("**/engine-*.so"):
            module.write_text("text\n")
            name = module.stem.removeprefix("engine-")
            state, why = engines(prefix / "bin" / "holdfast")[name]
            self.assertEqual(state, "missing")
            self.assertIn(str(module), why)


if __name__ == "__main__":
    unittest.main()
