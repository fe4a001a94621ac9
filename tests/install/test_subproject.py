#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tree as a part of another project, optimised at link time; and what its
options say when others' development files are missing."""
import os
import pathlib
import re
import shutil
import unittest

from commands import (CC, CMAKE, HERE, MODULES, SOURCE, defined, public_names,
                      run)
import machine

PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C)
include(FetchContent)
FetchContent_Declare(holdfast SOURCE_DIR "{source}")
FetchContent_MakeAvailable(holdfast)
add_executable(with-shared program.c)
target_link_libraries(with-shared PRIVATE holdfast::holdfast)
add_executable(with-static program.c)
target_link_libraries(with-static PRIVATE holdfast::holdfast_static)
install(TARGETS with-shared with-static EXPORT consumer
        RUNTIME COMPONENT runtime)
install(EXPORT consumer DESTINATION lib/cmake/consumer COMPONENT dev)
"""

# Other libraries: the option, the Debian package, and the pkg-config file.
OPTIONS = (("HF_REDIS", "libhiredis-dev", "hiredis"),
           ("HF_POSTGRES", "libpq-dev", "libpq"),
           ("HF_TLS", "libssl-dev", "libssl"),
           ("HF_SASL", "libsasl2-dev", "libsasl2"))


class Fixture(unittest.TestCase):

    def setUp(self):
        self.top = pathlib.Path(machine.directory("project", on_disk=True))
        self.addCleanup(shutil.rmtree, self.top)

    def configure(self, source, *options, **more):
        return run(CMAKE, "-S", source, "-B", self.top / "build", "-G", "Ninja",
                   f"-DCMAKE_C_COMPILER={CC}", *options, **more)


class Subproject(Fixture):

    def setUp(self):
        super().setUp()
        (self.top / "CMakeLists.txt").write_text(
            PROJECT.format(source=SOURCE))
        shutil.copy(HERE / "program.c", self.top)

    def ninja(self, *targets):
        return run("ninja", "-C", self.top / "build", *targets)

    def check_works(self, program, **variables):
        locks = self.top / "locks"
        locks.mkdir(mode=0o700, exist_ok=True)
        env = dict(os.environ, HOLDFAST_DIR=str(locks), **variables)
        env.pop("HOLDFAST_URL", None)
        self.assertRegex(run(program, env=env), r"^token [1-9]\d*\n$")

    def test_builds_nothing_but_the_library(self):
        self.configure(self.top)
        built = {pathlib.Path(path).name for path in re.findall(
            r"(?m)^build (\S+): C_EXECUTABLE_LINKER",
            (self.top / "build" / "build.ninja").read_text())}
        self.assertEqual(built, {"with-shared", "with-static"})

    def test_keeps_its_names_when_optimised_at_link_time(self):
        # Not optimised otherwise: it is the names that are looked at.
        self.configure(self.top, "-DCMAKE_BUILD_TYPE=Debug",
                       "-DCMAKE_C_FLAGS=-flto", "-DHF_REDIS=OFF",
                       "-DHF_POSTGRES=OFF", "-DHF_ETCD=OFF",
                       "-DHF_TLS=OFF", "-DHF_SASL=OFF")
        self.ninja("with-shared", "with-static")
        archive = next(self.top.glob("build/**/libholdfast.a"))
        self.assertEqual(defined(["-g"], archive), public_names())
        self.check_works(self.top / "build" / "with-shared")
        self.check_works(self.top / "build" / "with-static")
        self.check_installs()

    def check_installs(self):
        """What is installed with the other project works; its components are
        not mixed with ours."""
        build, prefix = self.top / "build", self.top / "prefix"
        run("ninja", "-C", build)
        run(CMAKE, "--install", build, "--prefix", prefix)
        library = next(prefix.glob("**/libholdfast.so.*")).parent
        self.check_works(prefix / "bin/with-shared",
                         LD_LIBRARY_PATH=str(library))
        self.check_works(prefix / "bin/with-static")
        self.assertTrue((prefix / "include/holdfast/holdfast.h").is_file())
        self.assertFalse((prefix / "bin/holdfast").exists())
        for component, expected in (("runtime", {"with-shared", "with-static"}),
                                    ("holdfast-runtime",
                                     {"libholdfast.so.0.1",
                                      "libholdfast.so.0.1.0"})):
            run(CMAKE, "--install", build, "--prefix", self.top / component,
                "--component", component)
            self.assertEqual({path.name for path in
                              (self.top / component).rglob("*")
                              if not path.is_dir()}, expected)


class Options(Fixture):
    """pkg-config finds some packages only, as if others were missing."""

    def setUp(self):
        super().setUp()
        self.packages = self.top / "packages"
        self.packages.mkdir()
        self.env = dict(os.environ, PKG_CONFIG_LIBDIR=str(self.packages))
        self.env.pop("PKG_CONFIG_PATH", None)
        self.add("libuv", "2.0")
        self.add("jansson", "2.14")

    def add(self, package, version):
        (self.packages / (package + ".pc")).write_text(
            f"Name: {package}\nDescription: {package}\nVersion: {version}\n"
            "Libs:\nCflags:\n")

    def configured(self, *options):
        return self.configure(SOURCE, "-DHF_TESTS=OFF", *options, env=self.env)

    def refused(self, *options):
        with self.assertRaises(AssertionError) as caught:
            self.configured(*options)
        return re.sub(r"\s+", " ", str(caught.exception))

    def test_on_without_its_headers_is_an_error(self):
        for option, debian, _ in OPTIONS:
            with self.subTest(option=option):
                said = self.refused(f"-D{option}=ON", *(
                    f"-D{other}=OFF" for other, _, _ in OPTIONS
                    if other != option))
                self.assertIn(f"{option} is ON, but ", said)
                self.assertIn(f"apt-get install {debian}", said)

    def test_auto_says_what_it_found_and_looks_again(self):
        said = self.configured()
        for _, debian, _ in OPTIONS:
            self.assertRegex(said, rf"no, .*Debian: {debian}")
        for _, _, package in OPTIONS:
            self.add(package, "99.0")
        self.add("libcrypto", "99.0")
        said = self.configured()
        self.assertEqual(len(re.findall(": yes, there is", said)), len(OPTIONS))
        # And when one is gone, what was built with it goes too.
        (self.packages / "libpq.pc").unlink()
        module = self.top / "build" / "lib" / MODULES / "engine-postgresql.so"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text("of an earlier build")
        said = self.configured()
        self.assertFalse(module.exists())
        self.assertRegex(said, "no, .*Debian: libpq-dev")
        self.assertEqual(len(re.findall(": yes, there is", said)),
                         len(OPTIONS) - 1)

    def test_off_is_off_also_after_it_was_found(self):
        self.add("hiredis", "99.0")
        self.assertRegex(self.configured(), "redis:.*: yes")
        self.assertRegex(self.configured("-DHF_REDIS=OFF"),
                         "redis:.*: no, HF_REDIS is OFF")

    def test_one_that_is_too_old_is_missing(self):
        self.add("libpq", "13.9")
        self.assertRegex(self.configured(), "no, .*libpq 14 or later")
        self.assertIn("apt-get install libpq-dev",
                      self.refused("-DHF_POSTGRES=ON"))


if __name__ == "__main__":
    unittest.main()
