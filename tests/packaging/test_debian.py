#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What debian/ says fits the tree and what is installed from it: it needs no
tool of Debian and builds nothing."""
import fnmatch
import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))
from commands import BUILD, CMAKE, MODULES, SOURCE, public_names, run  # noqa: E402
import machine  # noqa: E402

DEBIAN = SOURCE / "debian"


def paragraphs(path):
    """The paragraphs of a control file: fields, each with its lines joined."""
    text = re.sub(r"(?m)^#.*\n", "", path.read_text())
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        fields = {}
        for line in re.sub(r"\n[ \t]+", " ", paragraph).split("\n"):
            name, colon, value = line.partition(":")
            if not colon or not re.fullmatch(r"[A-Z][\w-]*", name):
                raise AssertionError(f"{path}: no field: {line}")
            fields[name] = value.strip()
        yield fields


def names(relation):
    """The packages of a field such as Depends."""
    return {re.match(r"[\w.+-]+", word.strip()).group()
            for word in re.split(r"[,|]", relation)
            if word.strip() and not word.strip().startswith("$")}


SOURCE_PACKAGE, *BINARY = paragraphs(DEBIAN / "control")
PACKAGES = [fields["Package"] for fields in BINARY]
SONAME = "libholdfast0.1"


def installed(package):
    return (DEBIAN / f"{package}.install").read_text().split()


class Files(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        top = pathlib.Path(machine.directory("debian", on_disk=True))
        cls.addClassCleanup(shutil.rmtree, top)
        run(CMAKE, "--install", BUILD, "--prefix", top)
        # Debian has libraries in a directory of each architecture, and modules
        # of Python in one for all its versions.
        cls.files = [re.sub(r"^lib/python3[\d.]*/(dist|site)-packages/",
                            "lib/python3/dist-packages/",
                            re.sub(r"^lib(/[\w-]+-linux-\w+)?/(?!python3)",
                                   "lib/any/", str(path.relative_to(top))))
                     for path in top.rglob("*")
                     if path.is_symlink() or not path.is_dir()]

    def packages_of(self, file):
        return [package for package in PACKAGES for pattern in
                installed(package)
                if fnmatch.fnmatchcase("usr/" + file, pattern) or
                fnmatch.fnmatchcase("usr/" + file, pattern + "/*")]

    def test_each_file_is_in_one_package(self):
        self.assertGreater(len(self.files), 50)
        for file in self.files:
            self.assertEqual(len(self.packages_of(file)), 1,
                             f"{file}: {self.packages_of(file)}")

    def test_each_pattern_has_a_file(self):
        for package in PACKAGES:
            for pattern in installed(package):
                name = pathlib.Path(pattern).name
                if (pattern.endswith(f"/{MODULES}/{name}")
                        and not (BUILD / "lib" / MODULES / name).exists()):
                    continue  # a module that this build does not have
                self.assertTrue(any(
                    fnmatch.fnmatchcase("usr/" + file, pattern) or
                    fnmatch.fnmatchcase("usr/" + file, pattern + "/*")
                    for file in self.files), f"{package}: {pattern}")


class Control(unittest.TestCase):

    def test_version_is_that_of_the_tree(self):
        changelog = (DEBIAN / "changelog").read_text()
        version = re.match(r"holdfast \(([\d.]+)(~dev)?-\d+\) ", changelog)
        tree = re.search(r"project\(holdfast VERSION ([\d.]+)",
                         (SOURCE / "CMakeLists.txt").read_text())
        self.assertEqual(version.group(1), tree.group(1))

    def test_each_package_is_described(self):
        for fields in BINARY:
            summary = fields.get("Description", "")
            self.assertTrue(summary.startswith("distributed locks"), fields)

    def test_library_package_has_the_name_of_the_soname(self):
        library = (BUILD / "lib/libholdfast.so").resolve()
        dynamic = run("readelf", "-dW", library)
        soname = re.search(r"SONAME.*\[(\S+)\]", dynamic).group(1)
        self.assertEqual(SONAME, soname.replace(".so.", ""))
        self.assertIn(SONAME, PACKAGES)
        symbols = (DEBIAN / f"{SONAME}.symbols").read_text()
        self.assertTrue(symbols.startswith(f"{soname} {SONAME} "))

    def test_symbols_are_those_of_the_map(self):
        symbols = (DEBIAN / f"{SONAME}.symbols").read_text()
        self.assertEqual(set(re.findall(r"(?m)^ (\w+)@HOLDFAST_0 ", symbols)) -
                         {"HOLDFAST_0"}, public_names())

    def test_what_modules_need_is_there_at_the_build(self):
        optional = (SOURCE / "cmake/HoldfastOptional.cmake").read_text()
        needed = set(re.findall(r"DEBIAN (lib[\w-]+)\n", optional))
        self.assertEqual(len(needed), 5)
        self.assertLessEqual(needed, names(SOURCE_PACKAGE["Build-Depends"]))

    def test_packages_of_modules_have_the_names_of_error_texts(self):
        # src/client/engines.c: "install the package libholdfast0.1-...".
        for module in re.findall(r"engine-\w+|transport-\w+", " ".join(
                word for package in PACKAGES for word in installed(package))):
            self.assertIn(f"{SONAME}-{module.split('-')[1]}", PACKAGES)

    def test_tests_are_there_and_need_packages_that_are(self):
        for fields in paragraphs(DEBIAN / "tests/control"):
            for test in fields["Tests"].split():
                self.assertTrue(os.access(DEBIAN / "tests" / test, os.X_OK))
            for package in names(fields["Depends"]):
                if "holdfast" in package:
                    self.assertIn(package, PACKAGES)

    def test_licence_is_that_of_the_tree(self):
        licences = [fields.get("License", "").split()[:1]
                    for fields in paragraphs(DEBIAN / "copyright")]
        self.assertEqual(licences, [[], ["Apache-2.0"], ["Apache-2.0"]])
        self.assertIn("Apache License", (SOURCE / "LICENSE").read_text())


if __name__ == "__main__":
    unittest.main()
