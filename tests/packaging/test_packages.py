#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Build the packages and do with them what their users do, in a Debian with
nothing but its base: install, take locks, upgrade while they are held, remove,
purge.

    test_packages.py SOURCE DIRECTORY [RELEASE] [TEST...]

SOURCE is a checkout, and DIRECTORY has the packages afterwards.  Without RELEASE
they are built on this machine and tried in its release; else they and the unit
tests are built in a Debian of that release.  Status 77 with a reason where none
can be made."""
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "servers"), str(HERE.parent / "readme"),
                str(HERE.parents[1] / "packaging")]

import build_debian  # noqa: E402
import chroot  # noqa: E402
import machine  # noqa: E402
import waiting  # noqa: E402
from document_links import broken  # noqa: E402
from package_builds import Builds  # noqa: E402
from packaged import Packaged, name_of, without_symbols  # noqa: E402
from readme import Readme  # noqa: E402

SONAME = "libholdfast0.1"
MODULES = ("redis", "postgresql", "etcd", "tls", "sasl")

# Holds a lock by the shared library until a line comes.
HOLDER = """
import sys, holdfast
with holdfast.Client() as client, client.lock("upgrade/library") as grant:
    print(grant.token, flush=True)
    sys.stdin.readline()
    grant.check()
    print("held", flush=True)
"""
# For CMake: the program of README.md, with the shared library.
PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(nightly LANGUAGES C)
find_package(holdfast REQUIRED)
add_executable(nightly nightly.c)
target_link_libraries(nightly PRIVATE holdfast::holdfast)
"""


class Packages(unittest.TestCase):

    source = None  # a checkout
    builds = None  # the Builds of it
    base = None    # a Debian, of which each test has a copy

    def setUp(self):
        self.top = pathlib.Path(machine.directory("packages", on_disk=True))
        self.addCleanup(shutil.rmtree, self.top)
        self.debian = self.base.copy(self.top / "debian")
        self.all = [name_of(deb) for deb in without_symbols(self.builds.debs)]

    def have_packages(self):
        self.debian.add_repository("packages", self.builds.debs)

    def token(self, name):
        """That of a lock that is taken and released."""
        return int(self.debian.said(
            f"holdfast run -n {name} -- sh -c 'echo $HOLDFAST_TOKEN'"))

    def start(self, command):
        process = machine.popen(
            self.debian.enter(command), env=chroot.ENVIRONMENT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def ends(self, process):
        process.stdin.close()
        process.stdin = None
        self.assertEqual(process.wait(waiting.LIMIT_S), 0)

    def check_works(self, *expected):
        """${expected} work, and of the others it is said what to install."""
        said = self.debian.engines()
        for name in ("file", "zookeeper", *MODULES):
            state, why = said[name]
            self.assertEqual(state, "works" if name in expected else "missing",
                             f"{name}: {why}")
            if state == "missing":
                self.assertIn(f"install the package {SONAME}-{name} ", why)

    def test_the_tool_alone_and_each_module(self):
        self.have_packages()
        self.debian.apt("install", "holdfast")
        self.assertEqual(set(self.debian.ours()), {"holdfast"})
        self.check_works("file", "zookeeper")
        first = self.token("core")
        self.assertGreater(self.token("core"), first)
        there = []
        for module in MODULES:
            self.debian.apt("install", f"{SONAME}-{module}")
            there.append(module)
            self.check_works("file", "zookeeper", *there)
        self.assertEqual(set(self.debian.ours()), {"holdfast", *(
            f"{SONAME}-{module}" for module in MODULES)})

    def test_programs_in_c_and_python(self):
        self.have_packages()
        programs = Readme(self.source).programs
        directory = self.debian.root / "opt/programs"
        directory.mkdir()
        for name, text in {**programs, "CMakeLists.txt": PROJECT}.items():
            (directory / name).write_text(text)
        self.debian.apt("install", "python3-holdfast")
        self.assertEqual(set(self.debian.ours()), {"python3-holdfast", SONAME})
        tokens = [self.printed("python3 nightly.py")]
        self.debian.apt("install", "libholdfast-dev", "gcc", "libc6-dev",
                        "pkg-config", "cmake", "ninja-build")
        for command in (
                "gcc -o nightly nightly.c $(pkg-config --cflags --libs holdfast)"
                " && ./nightly",
                "gcc -o static nightly.c $(pkg-config --cflags holdfast) "
                "-l:libholdfast.a $(pkg-config --libs --static libuv) && "
                "./static",
                "cmake -S . -B build -G Ninja >log && ninja -C build >>log && "
                "build/nightly"):
            tokens.append(self.printed(command))
        self.assertEqual(tokens, sorted(set(tokens)))
        linked = self.debian.said("ldd /opt/programs/nightly")
        self.assertRegex(linked, r"libholdfast\.so\.0\.1 => (/usr)?/lib/")

    def printed(self, command):
        said = self.debian.said(f"cd /opt/programs && {command}")
        return int(re.fullmatch(r"token (\d+)\n", said)[1])

    def test_documents_lead_to_what_is_installed(self):
        self.have_packages()
        self.debian.apt("install", "holdfast-doc", "libholdfast-dev")
        documents = sorted((self.debian.root / "usr/share/doc/holdfast")
                           .rglob("*.md"))
        self.assertGreater(len(documents), 30)
        self.assertEqual({str(document): broken(document)
                          for document in documents if broken(document)}, {})

    def boot(self):
        """What a boot does to the directory of the locks."""
        self.debian.said("rm -r /run/holdfast; systemd-tmpfiles --create")
        self.check_directory_of_locks()

    def check_directory_of_locks(self):
        self.assertEqual(self.debian.said("stat -c '%a %U:%G' /run/holdfast"),
                         "700 root:root\n")

    def test_upgrade_removal_and_purge(self):
        debian = self.debian
        debian.add_repository("older", self.builds.older)
        debian.apt("install", "systemd-standalone-tmpfiles")
        debian.install_what_is_needed_by(*self.all)
        debian.said("systemd-tmpfiles --create")  # those of other packages
        before = debian.unowned()
        debian.apt("install", *self.all)
        self.check_directory_of_locks()
        floor = self.raise_floor()
        self.upgrade_while_locks_are_held(floor)
        self.remove_while_a_lock_is_held()
        debian.apt("install", *self.all)
        self.assertGreater(self.token("again"), 0)
        # The other package has programs with locks, too.
        debian.apt("purge", "holdfast")
        self.assertTrue((debian.root / "var/lib/holdfast/floor").exists())
        debian.apt("purge", *self.all)
        self.assertEqual(debian.unowned() - before, set())

    def raise_floor(self):
        """Have the floor far above what the clock would give; a token that is
        given out after a boot comes from nothing else."""
        file = self.debian.root / "var/lib/holdfast/floor"
        last = self.token("floor")
        raised = int(file.read_text()) + 10 ** 15
        self.assertGreater(raised, last)
        file.write_text(f"{raised:020}\n")
        self.boot()
        self.assertGreater(self.token("floor"), raised)
        return raised

    def upgrade_while_locks_are_held(self, floor):
        debian = self.debian
        older = debian.ours()
        tool = self.start("holdfast hold upgrade/tool")
        library = self.start(f"python3 -c '{HOLDER}'")
        tokens = [int(waiting.read_line(process)) for process in (tool, library)]
        waiter = self.start("holdfast run -q upgrade/tool -- "
                            "sh -c 'echo $HOLDFAST_TOKEN'")
        waiting.eventually("the waiter to queue", lambda: "waits" in debian.said(
            "holdfast show upgrade/tool"), of=[tool, waiter])

        debian.add_repository("newer", self.builds.debs)
        # A module fits the version of the program that loads it, also where apt
        # does not upgrade what comes from one source together.
        debian.apt("-o APT::Get::Upgrade-By-Source-Package=false", "install",
                   "holdfast")
        newer = debian.ours()
        for name in ("holdfast", *(f"{SONAME}-{module}" for module in MODULES)):
            self.assertNotEqual(newer[name], older[name], name)
        debian.apt("upgrade")
        newer = debian.ours()
        self.assertEqual(set(newer), set(older))
        for name, version in newer.items():
            self.assertNotEqual(version, older[name], name)
        self.assertEqual(debian.said("dpkg --verify " + " ".join(newer)), "")

        # The new programs see what the old ones hold, and wait.
        said = debian.said("holdfast show upgrade/tool")
        self.assertIn(f" {tokens[0]} ", said)
        self.assertIn("waits", said)
        for name in ("upgrade/tool", "upgrade/library"):
            debian.said(f"holdfast run -qn {name} -- false || [ $? = 75 ]")
        for process in (tool, library, waiter):
            self.assertIsNone(process.poll(), waiting.end_of(process))
        self.ends(tool)
        tokens.append(int(waiting.read_line(waiter)))
        library.stdin.write("release\n")
        library.stdin.flush()
        waiting.read_line(library, "held")
        self.ends(library)
        self.ends(waiter)
        tokens.append(self.token("upgrade/library"))
        self.boot()
        tokens.append(self.token("upgrade/tool"))
        self.assertEqual(sorted({floor, *tokens}), [floor, *tokens])
        self.check_works("file", "zookeeper", *MODULES)

    def remove_while_a_lock_is_held(self):
        """The directories stay as long as a program has a lock there."""
        debian = self.debian
        floor = debian.root / "var/lib/holdfast/floor"
        holder = self.start("holdfast hold removed")
        waiting.read_line(holder)
        debian.apt("remove", *self.all)
        self.assertEqual(debian.ours(), {})
        self.assertFalse((debian.root / "usr/bin/holdfast").exists())
        self.assertTrue(floor.exists())
        said = debian.apt("purge", *self.all)
        self.assertIn("a program has locks in /run/holdfast", said)
        self.assertTrue(floor.exists())
        self.assertTrue(list((debian.root / "run/holdfast/locks/removed")
                             .glob("*-m-*")))
        self.assertIsNone(holder.poll(), waiting.end_of(holder))
        self.ends(holder)

    def test_debians_own_way_to_test_packages(self):
        if self.builds.dsc is None:
            self.skipTest("there is no source package of this release")
        passed, said = self.debian.autopkgtest(
            self.builds.dsc, without_symbols(self.builds.debs))
        self.assertTrue(passed, said[-3000:])
        tests = (self.source / "debian/tests/control").read_text()
        for test in re.findall(r"(?m)^Tests: (\S+)", tests):
            self.assertRegex(said, rf"(?m)^{test} +PASS$")

    def test_same_bytes_in_another_directory(self):
        if not self.builds.again:
            self.skipTest("they were built once in this release")
        sums = [{deb.name: hashlib.sha256(deb.read_bytes()).hexdigest()
                 for deb in debs}
                for debs in (self.builds.debs, self.builds.again)]
        self.assertEqual(sums[0], sums[1])


def main(source, directory, release=None, *tests):
    chroot.need()
    with machine.temporary("builds") as top:
        Packages.source = source
        Packages.builds = Builds(source, directory, pathlib.Path(top), release)
        Packages.base = Packaged(pathlib.Path(top) / "base", release)
        unittest.main(argv=[sys.argv[0], *tests], verbosity=2)


if __name__ == "__main__":
    main(*(pathlib.Path(word).resolve() for word in sys.argv[1:3]),
         *sys.argv[3:])
