#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Install to a temporary prefix and use what is there as other projects do:
headers, both libraries, pkg-config, find_package and the tool."""
import os
import pathlib
import re
import shutil
import unittest

from commands import (BUILD, CC, CMAKE, HERE, MODULES, SANITIZE, SOURCE, defined,
                      public_names, run, testing)
import machine

HEADERS = sorted(path.name for path in (SOURCE / "include/holdfast").glob("*.h")
                 if path.name != "uv.h")
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


class Installed(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(machine.directory("install", on_disk=True))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        cls.prefix = cls.top / "prefix"
        run(CMAKE, "--install", BUILD, "--prefix", cls.prefix)
        cls.lib = next(cls.prefix.glob("**/libholdfast.a")).parent
        cls.locks = cls.top / "locks"
        cls.locks.mkdir(mode=0o700)
        cls.env = dict(os.environ, HOLDFAST_DIR=str(cls.locks),
                       LD_LIBRARY_PATH=str(cls.lib),
                       PKG_CONFIG_PATH=str(cls.lib / "pkgconfig"))
        cls.env.pop("HOLDFAST_URL", None)

    def compile(self, name, *words):
        program = self.top / name
        run(CC, *SANITIZE, "-o", program, *words)
        return program

    def pkg_config(self, *words):
        return run("pkg-config", *words, "holdfast", env=self.env).split()

    def check_works(self, program):
        self.assertRegex(run(program, env=self.env), r"^token [1-9]\d*\n$")

    def linked(self, program):
        return run("ldd", program, env=self.env)

    def test_program_by_pkg_config(self):
        program = self.compile("shared", HERE / "program.c",
                               *self.pkg_config("--cflags", "--libs"))
        self.check_works(program)
        self.assertIn(f"{self.lib}/libholdfast.so", self.linked(program))

    def test_example_of_the_readme(self):
        readme = (SOURCE / "README.md").read_text()
        chapter = readme.split("## From C", 1)[1].split("\n    cc ", 1)[0]
        example = self.top / "nightly.c"
        example.write_text("".join(
            line[4:] + "\n" for line in chapter.splitlines()
            if line.startswith("    ")))
        self.check_works(self.compile("nightly", "-Wall", "-Werror", example,
                                      *self.pkg_config("--cflags", "--libs")))

    def test_static_program_by_pkg_config(self):
        words = self.pkg_config("--cflags", "--libs", "--static")
        # Both are installed, and a linker takes the shared one if it may.
        words = [word.replace("-lholdfast", "-l:libholdfast.a")
                 for word in words]
        program = self.compile("static", HERE / "program.c", *words)
        self.check_works(program)
        self.assertNotIn("libholdfast", self.linked(program))

    def test_programs_by_find_package(self):
        project = self.top / "project"
        project.mkdir()
        shutil.copy(HERE / "consumer.cmake", project / "CMakeLists.txt")
        shutil.copy(HERE / "program.c", project)
        run(CMAKE, "-S", project, "-B", project / "build", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_C_COMPILER={CC}",
            f"-DCMAKE_C_FLAGS={' '.join(SANITIZE)}")
        run(CMAKE, "--build", project / "build")
        self.check_works(project / "build" / "with-shared")
        self.check_works(project / "build" / "with-static")
        self.assertNotIn("libholdfast",
                         self.linked(project / "build" / "with-static"))

    def test_shared_library_exports_the_public_names_only(self):
        library = self.lib / "libholdfast.so"
        self.assertEqual(defined(["-D"], library), public_names())

    def test_archive_has_the_public_names_only(self):
        library = self.lib / "libholdfast.a"
        names = {name for name in defined(["-g"], library)
                 if not name.startswith(("__asan_", "__odr_asan", "__ubsan"))}
        self.assertEqual(names, public_names())

    def test_shared_library_needs_libuv_and_libc_only(self):
        dynamic = run("readelf", "-dW", self.lib / "libholdfast.so")
        needed = re.findall(r"\(NEEDED\).*\[(lib\w+)", dynamic)
        expected = {"libuv", "libc"}
        if SANITIZE:
            expected |= {"libasan", "libubsan", "libtsan", "libm", "libgcc_s"}
        self.assertLessEqual(set(needed), expected)
        self.assertIn("NODELETE", dynamic)
        self.assertRegex(dynamic, r"\(SONAME\).*\[libholdfast\.so\.0\.1\]")

    @testing.when(not SANITIZE)  # sanitizers have their own needs
    def test_needs_no_function_that_glibc_2_31_and_musl_lack(self):
        # The same functions as ever, which moved to libc from elsewhere.
        moved = re.compile(r"f?l?stat(at)?(64)?|(pthread|sem|dl)_?\w+|"
                           r"__libc_start_main|__isoc23_\w+")
        for file in (self.lib / "libholdfast.so", self.prefix / "bin/holdfast",
                     next(self.prefix.glob("**/holdfast-torture")),
                     next(self.prefix.glob("**/holdfast-zk")),
                     *self.lib.glob(f"{MODULES}/*.so")):
            wanted = re.findall(r"(\w+)@GLIBC_2\.(\d+)",
                                run("nm", "-D", "--undefined-only", file))
            with self.subTest(file=file.name):
                self.assertTrue(wanted)
                self.assertEqual([name for name, minor in wanted
                                  if int(minor) > 31
                                  and not moved.fullmatch(name)], [])

    def test_pkg_config_says_where_modules_are_and_what_libuv_it_needs(self):
        said = run("pkg-config", "--variable=modulesdir", "holdfast",
                   env=self.env).strip()
        self.assertEqual(os.path.realpath(said), str(self.lib / MODULES))
        self.assertEqual(run("pkg-config", "--print-requires-private",
                             "holdfast", env=self.env), "libuv >= 1.9\n")

    def check_header(self, header, language, standard):
        # A unit of nothing but declarations would be empty, which ISO C
        # forbids.
        source = f"#include <holdfast/{header}>\nextern int unit;\n"
        with self.subTest(header=header, standard=standard):
            run(CC, "-x", language, f"-std={standard}", *STRICT,
                f"-I{self.prefix / 'include'}", "-fsyntax-only", "-",
                input=source)

    def test_headers_stand_alone(self):
        for header in HEADERS:
            self.check_header(header, "c", "c11")
            self.check_header(header, "c", "c17")
            self.check_header(header, "c++", "c++17")
        # libuv's own header asks for more than ISO C.
        self.check_header("uv.h", "c", "gnu11")
        self.check_header("uv.h", "c++", "c++17")

    def test_no_header_of_a_vendor_is_in_ours(self):
        include = self.prefix / "include"
        for header in HEADERS:
            read = run(CC, f"-I{include}", "-M", "-x", "c", "-",
                       input=f"#include <holdfast/{header}>\n")
            self.assertIn(header, read)
            for vendor in ("uv.h", "zookeeper/", "hiredis", "libpq", "openssl"):
                self.assertNotIn(f"/{vendor}", read)

    def test_tool(self):
        tool = self.prefix / "bin" / "holdfast"
        self.assertIn("0.1.0", run(tool, "--version", env=self.env))
        said = run(tool, "run", "install/tool", "--", "sh", "-c",
                   'echo "$HOLDFAST_NAME"', env=self.env)
        self.assertEqual(said, "install/tool\n")
        self.assertNotIn("libholdfast", self.linked(tool))

    def test_tool_that_judges_histories(self):
        tool = self.prefix / "bin" / "holdfast"
        said = run(tool, "verify", "-", input="holdfast-history 1\n"
                   "1 a want x kind=mutex\n2 a grant x token=1\n")
        self.assertIn("verdict   no violation in 1 grant", said)
        self.assertFalse((tool.parent / "holdfast-torture").exists())

    def test_tool_for_zookeeper(self):
        tool = self.prefix / "bin" / "holdfast"
        self.assertIn("usage: holdfast zk get ", run(tool, "zk", "get", "-h"))
        self.assertFalse((tool.parent / "holdfast-zk").exists())
        program = next(self.prefix.glob("libexec/holdfast/holdfast-zk"))
        self.assertNotIn("libholdfast", self.linked(program))

    def test_manual(self):
        pages = self.prefix / "share" / "man" / "man1"
        for name in ("holdfast", "holdfast-run", "holdfast-elect", "holdfast-hold",
                     "holdfast-show", "holdfast-ls", "holdfast-explain",
                     "holdfast-doctor", "holdfast-last", "holdfast-leading",
                     "holdfast-revoke", "holdfast-evict", "holdfast-metrics", "holdfast-zk"):
            self.assertRegex((pages / (name + ".1")).read_text(),
                             r"(?m)^\.(TH|Dt) ")
        self.assertTrue((pages.parent / "man7" / "holdfast-url.7").is_file())

    def test_manual_of_the_library(self):
        pages = self.prefix / "share" / "man"
        self.assertLessEqual(public_names(), {path.stem for path in
                                              pages.glob("man3/*.3")})
        # A link to the page of another name.
        self.assertRegex(run("mandoc", "-Tascii", "man3/hf_zookeeper_get.3",
                             cwd=pages), r"^HF_ZOOKEEPER_OP\(3\)")

    def test_completion(self):
        share = self.prefix / "share"
        said = run("bash", "--norc", "-c",
                   'source "$1" && complete -p holdfast', "bash",
                   share / "bash-completion/completions/holdfast")
        self.assertEqual(said, "complete -F _holdfast holdfast\n")
        for file, begins in (
                ("zsh/site-functions/_holdfast", "#compdef holdfast\n"),
                ("fish/vendor_completions.d/holdfast.fish", "# SPDX-")):
            text = (share / file).read_text()
            self.assertTrue(text.startswith(begins), file)
            # The profiles of the machine are those that the tool reads.
            self.assertRegex(text, "'/.*etc/holdfast/profiles'")


if __name__ == "__main__":
    unittest.main()
