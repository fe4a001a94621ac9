#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each component of the installation has its files, none has those of another,
and together they are all there are; and what was installed goes again."""
import os
import pathlib
import re
import shutil
import unittest

from commands import BUILD, CMAKE, MODULES, SOURCE, engines, run
import machine

OPTIONAL = ("engine-redis", "engine-postgresql", "engine-etcd",
            "transport-tls", "transport-sasl")

# What the files of a component match, all of them, and one of them each.
LIB = r"lib(/[\w-]+)?"
COMPONENTS = {
    "runtime": (rf"{LIB}/libholdfast\.so\.0\.1", rf"{LIB}/libholdfast\.so\.0\.1\.0"),
    "dev": (r"include/holdfast/\w+\.h(pp)?", rf"{LIB}/libholdfast\.so",
            rf"{LIB}/libholdfast\.a", rf"{LIB}/pkgconfig/holdfast\.pc",
            rf"{LIB}/cmake/holdfast/holdfast-[\w-]+\.cmake",
            r"share/man/man3/\w+\.3"),
    "tools": ("bin/holdfast", "libexec/holdfast/holdfast-zk",
              "libexec/holdfast/holdfast-torture",
              r"share/man/man1/holdfast[\w-]*\.1",
              r"share/man/man7/holdfast-url\.7",
              "share/bash-completion/completions/holdfast",
              "share/zsh/site-functions/_holdfast",
              r"share/fish/vendor_completions\.d/holdfast\.fish"),
    "doc": (r"share/doc/holdfast/(LICENSE|AUTHORS|(README|CHANGELOG|SECURITY)\.md)",
            r"share/doc/holdfast/docs/([\w-]+|recipes/[\w-]+)\.md",
            r"share/doc/holdfast/docs/(plots|recipes|monitoring)/[\w.-]+",
            r"share/doc/holdfast/examples/[a-z]+\.(c|cpp|lua|py|sh|sql)"),
    "python": (r"lib/python3[\w.]*/(dist|site)-packages/holdfast/\w+\.py",
               r"lib/python3[\w.]*/(dist|site)-packages/holdfast/py\.typed"),
    **{module: (rf"{LIB}/{MODULES}/{module}\.so",) for module in OPTIONAL},
}


def files(directory):
    """The names of the files below ${directory}, as paths from there."""
    return {str(path.relative_to(directory)) for path in directory.rglob("*")
            if path.is_symlink() or not path.is_dir()}


def built(component):
    if component == "python":
        return (BUILD / "python/package").exists()
    return (component not in OPTIONAL or
            (BUILD / "lib" / MODULES / (component + ".so")).exists())


class Components(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(machine.directory("components", on_disk=True))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        run(CMAKE, "--install", BUILD, "--prefix", cls.top / "all")
        cls.components = [name for name in COMPONENTS if built(name)]
        for name in cls.components:
            run(CMAKE, "--install", BUILD, "--prefix", cls.top / "each" / name,
                "--component", name)

    def test_each_has_its_own_files(self):
        for name in self.components:
            found = files(self.top / "each" / name)
            with self.subTest(component=name):
                for pattern in COMPONENTS[name]:
                    self.assertTrue(any(re.fullmatch(pattern, file)
                                        for file in found), pattern)
                self.assertEqual([file for file in found if not any(
                    re.fullmatch(pattern, file)
                    for pattern in COMPONENTS[name])], [])

    def test_each_file_is_in_one_of_them(self):
        each = sorted(file for name in self.components
                      for file in files(self.top / "each" / name))
        self.assertEqual(each, sorted(files(self.top / "all")))

    def test_a_module_is_used_if_its_component_is_installed(self):
        prefix = self.top / "some"
        for name in ("tools", *[name for name in OPTIONAL if built(name)][:1]):
            run(CMAKE, "--install", BUILD, "--prefix", prefix, "--component",
                name)
        said = engines(prefix / "bin/holdfast")
        for name in OPTIONAL:
            file = prefix.glob(f"**/{MODULES}/{name}.so")
            self.assertEqual(said[name.split("-")[1]][0],
                             "works" if list(file) else "missing")

    def test_uninstalling_leaves_nothing_of_ours(self):
        # The lists of the components that are installed here, and not those of
        # tests beside this one.
        lists = self.top / "lists"
        lists.mkdir()
        prefix = self.top / "gone"
        for name in self.components:
            run(CMAKE, "--install", BUILD, "--prefix", prefix, "--component",
                name)
            (BUILD / f"install_manifest_{name}.txt").rename(
                lists / f"install_manifest_{name}.txt")
        (prefix / "include/holdfast/mine.h").write_text("not ours\n")
        script = SOURCE / "cmake/uninstall.cmake"
        run(CMAKE, f"-DBUILD={lists}", "-P", script)
        self.assertEqual(files(prefix), {"include/holdfast/mine.h"})
        self.assertEqual([path for path in prefix.rglob("holdfast*")
                          if path != prefix / "include/holdfast"], [])
        with self.assertRaises(AssertionError) as caught:
            run(CMAKE, f"-DBUILD={lists}", "-P", script)
        self.assertIn("nothing was installed", str(caught.exception))

    def test_uninstalling_below_a_destdir(self):
        root = self.top / "root"
        lists = self.top / "root-lists"
        lists.mkdir()
        environment = dict(os.environ, DESTDIR=str(root))
        run(CMAKE, "--install", BUILD, "--component", "tools", env=environment)
        self.assertTrue(files(root))
        (BUILD / "install_manifest_tools.txt").rename(
            lists / "install_manifest_tools.txt")
        run(CMAKE, f"-DBUILD={lists}", "-P", SOURCE / "cmake/uninstall.cmake",
            env=environment)
        self.assertEqual(files(root), set())


if __name__ == "__main__":
    unittest.main()
