#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What packaging/rpm/holdfast.spec makes of the tarball of a release, by the
rpmbuild of this machine: each file that is installed is in one package, and the
packages need each other and what their files need.  It compiles the tree once
more."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

from checkout import SOURCE, Checkout

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))
from commands import CMAKE, engines, run  # noqa: E402

# The packages of each component of the installation.
COMPONENTS = {
    "runtime": {"holdfast-libs"},
    "dev": {"holdfast-devel", "holdfast-static"},
    "tools": {"holdfast"},
    "doc": {"holdfast-doc"},
    "python": {"python3-holdfast"},
    "engine-redis": {"holdfast-redis"},
    "engine-postgresql": {"holdfast-postgresql"},
    "engine-etcd": {"holdfast-etcd"},
    "transport-tls": {"holdfast-tls"},
    "transport-sasl": {"holdfast-sasl"},
}
MODULES = ("redis", "postgresql", "etcd", "tls", "sasl")
PACKAGES = set().union(*COMPONENTS.values())
# What no component installs; directories of the system.
OF_RPM = re.compile(r"/usr/lib/\.build-id\b|/usr/share/licenses/")
DOCUMENTS = "/usr/share/doc/holdfast/"
OF_SPEC = {"/usr/lib/tmpfiles.d/holdfast.conf", "/run/holdfast"}
SHARED = re.compile(
    r"/(run|usr(/(bin|include|libexec|lib|lib64|share)"
    r"|/lib/(tmpfiles\.d|python3[\d.]*(/site-packages)?)"
    r"|/lib64/(cmake|pkgconfig)|/share/(doc|licenses|man(/man\d)?)"
    r"|/share/bash-completion(/completions)?|/share/zsh(/site-functions)?"
    r"|/share/fish(/vendor_completions\.d)?)?)?")

File = collections.namedtuple("File", "name mode owner")


def query(package, *words):
    return run("rpm", "-qp", "--nosignature", *words, package)


class Package:

    def __init__(self, path):
        self.path = path
        self.name = query(path, "--qf", "%{NAME}")
        self.files = [
            File(name, int(mode), owner) for name, mode, owner in
            (line.rsplit(" ", 2) for line in query(
                path, "--qf", r"[%{FILENAMES} %{FILEMODES} %{FILEUSERNAME}:"
                r"%{FILEGROUPNAME}\n]").splitlines())]
        self.requires = query(path, "--requires").splitlines()
        self.provides = query(path, "--provides").splitlines()

    def installed(self):
        """The names of its files that a component installs."""
        return {re.sub(r"(/man/man\d/.*)\.gz$", r"\1", file.name)
                for file in self.files if not os.path.stat.S_ISDIR(file.mode)
                and not OF_RPM.match(file.name) and file.name not in OF_SPEC}

    def sonames(self):
        """What its programs and libraries need."""
        return {word[:word.index("()")] for word in self.requires
                if re.match(r"lib[\w.+-]+\(\)\(64bit\)$", word)}


@unittest.skipUnless((SOURCE / ".git").exists(), "needs a checkout")
@unittest.skipUnless(shutil.which("rpmbuild"), "needs rpmbuild")
class Rpm(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        checkout = Checkout("rpm")
        cls.addClassCleanup(checkout.remove)
        cls.top = checkout.top
        status, said = checkout.run("packaging/build_rpm.py", checkout.tree,
                                    cls.top / "made")
        if status != 0:
            raise AssertionError(said)
        found = [Package(path) for path in
                 sorted(cls.top.glob("made/RPMS/**/*.rpm"))]
        cls.packages = {package.name: package for package in found}
        cls.build = next(cls.top.glob("made/BUILD/*/*/CMakeCache.txt")).parent

    def install(self, component):
        """The names of the files of a component, as they are installed."""
        prefix = self.top / "components" / component
        run(CMAKE, "--install", self.build, "--component", component,
            env=dict(os.environ, DESTDIR=str(prefix)))
        return {"/" + str(path.relative_to(prefix)) for path in
                prefix.rglob("*") if path.is_symlink() or not path.is_dir()}

    def extract(self, *names):
        """The directory with the files of these packages."""
        root = self.top / "-".join(names)
        for name in names:
            with open(self.packages[name].path, "rb") as package, \
                    subprocess.Popen(["rpm2archive", "-n", "-"], stdin=package,
                                     stdout=subprocess.PIPE) as process, \
                    tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                archive.extractall(root)
        return root

    def test_packages_are_those_of_the_components(self):
        self.assertEqual(set(self.packages), PACKAGES)

    def test_each_file_is_in_one_package_of_its_component(self):
        for component, names in COMPONENTS.items():
            files = self.install(component) - {
                DOCUMENTS + "LICENSE"}
            self.assertGreater(len(files), 0)
            with self.subTest(component=component):
                self.assertEqual(
                    sorted(files), sorted(file for name in names for file in
                                          self.packages[name].installed()))

    def test_no_file_is_in_two_packages(self):
        count = collections.Counter(
            file.name for package in self.packages.values()
            for file in package.files
            if not re.fullmatch(r"/usr/lib/\.build-id(/..)?", file.name))
        self.assertEqual([name for name, times in count.items() if times > 1],
                         [])

    def test_each_directory_has_a_package(self):
        """But those of the system."""
        owned = {file.name for package in self.packages.values()
                 for file in package.files}
        for package in self.packages.values():
            for file in package.files:
                above = os.path.dirname(file.name)
                self.assertTrue(above in owned or SHARED.fullmatch(above),
                                f"{package.name}: nobody has {above}")

    def test_modes_and_owners(self):
        for package in self.packages.values():
            for name, mode, owner in package.files:
                self.assertEqual(owner, "root:root", name)
                bits = mode & 0o7777
                if name == "/run/holdfast":
                    expected = 0o700
                elif os.path.stat.S_ISLNK(mode):
                    expected = 0o777
                elif os.path.stat.S_ISDIR(mode) or re.search(
                        r"/usr/(bin|libexec)/|\.so(\.[\d.]+)?$", name):
                    expected = 0o755
                elif name.startswith(DOCUMENTS):
                    program = SOURCE / name.removeprefix(DOCUMENTS)
                    expected = 0o755 if os.access(program, os.X_OK) else 0o644
                else:
                    expected = 0o644
                self.assertEqual(bits, expected, f"{name}: {bits:o}")

    def test_directory_of_locks_is_made_at_boot_as_it_is_installed(self):
        text = (self.extract("holdfast") /
                "usr/lib/tmpfiles.d/holdfast.conf").read_text()
        self.assertIn("d /run/holdfast 0700 root root -\n", text)

    def test_nothing_is_run_at_installation(self):
        """Triggers of glibc and systemd do what there is to do."""
        for package in self.packages.values():
            self.assertEqual(query(package.path, "--scripts", "--triggers"), "",
                             package.name)

    def test_licence_is_in_each_package_that_is_installed_alone(self):
        for name in ("holdfast", "holdfast-libs", "holdfast-doc"):
            files = [file.name for file in self.packages[name].files]
            self.assertTrue(any(OF_RPM.match(file) and
                                file.endswith("/LICENSE") for file in files),
                            name)

    def test_packages_need_what_their_files_need(self):
        needed = {name: package.sonames() - {"libc.so.6"}
                  for name, package in self.packages.items()}
        for name, libraries in {
                "holdfast": r"libuv|libjansson", "holdfast-libs": "libuv",
                "holdfast-redis": "libuv|libhiredis",
                "holdfast-postgresql": "libuv|libpq",
                "holdfast-etcd": "libuv|libnghttp2",
                "holdfast-tls": "libssl|libcrypto",
                "holdfast-sasl": "libsasl2"}.items():
            stems = {re.sub(r"\.so.*", "", soname)
                     for soname in needed.pop(name)}
            self.assertEqual(stems, set(libraries.split("|")), name)
        # Others have no programs; -devel has a link to the library.
        self.assertLessEqual(set().union(*needed.values()),
                             {"libholdfast.so.0.1"})

    def test_packages_need_others_of_their_version(self):
        version = query(self.packages["holdfast"].path, "--qf",
                        "%{VERSION}-%{RELEASE}")
        architecture = query(self.packages["holdfast"].path, "--qf", "%{ARCH}")
        provided = {word for package in self.packages.values()
                    for word in package.provides}
        needing = set()
        for package in self.packages.values():
            for word in package.requires:
                if re.match(r"\(?holdfast", word):
                    needing.add(package.name)
                    self.assertIn(" = " + version, word, package.name)
                    simple = re.sub(r"^\((.*) if holdfast\)$", r"\1", word)
                    self.assertIn(simple, provided, package.name)
        self.assertEqual(needing, PACKAGES - {"holdfast", "holdfast-libs",
                                              "holdfast-doc"})
        for name in ("holdfast-doc", "python3-holdfast"):
            self.assertEqual(query(self.packages[name].path, "--qf", "%{ARCH}"),
                             "noarch")
            self.assertNotEqual(architecture, "noarch")

    def test_tool_finds_the_modules_of_the_packages(self):
        root = self.extract("holdfast", *(f"holdfast-{module}"
                                          for module in MODULES))
        said = engines(root / "usr/bin/holdfast")
        for module in MODULES:
            self.assertEqual(said[module][0], "works", said)

    def test_package_that_an_error_names_is_provided(self):
        alone = self.extract("holdfast")
        said = engines(alone / "usr/bin/holdfast")
        for module in MODULES:
            state, why = said[module]
            self.assertEqual(state, "missing")
            name = re.search(r"install the package (\S+)", why)
            if name is None:  # shown where there is room
                continue
            self.assertTrue(any(
                word.startswith(name[1] + " = ") for word in
                self.packages[f"holdfast-{module}"].provides), name[1])
        done = subprocess.run(
            [alone / "usr/bin/holdfast", "show", "-c", "redis://127.0.0.1:1/",
             "a"], check=False, text=True, capture_output=True)
        name = re.search(r"install the package (\S+)", done.stderr)[1]
        self.assertIn(name, [word.split(" = ")[0] for word in
                             self.packages["holdfast-redis"].provides])

    def test_version_is_that_of_the_release(self):
        tarball = next((self.top / "made/SOURCES").glob("*.tar.gz")).name
        version = query(self.packages["holdfast"].path, "--qf", "%{VERSION}")
        self.assertEqual(tarball, f"holdfast-{version}.tar.gz")
        changes = query(self.packages["holdfast"].path, "--changelog")
        self.assertIn(f" - {version}-1\n", changes)


if __name__ == "__main__":
    unittest.main()
