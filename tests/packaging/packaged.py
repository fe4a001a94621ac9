# SPDX-License-Identifier: Apache-2.0
"""A Debian in which packages of ours are installed, from a repository of its own
as from any other."""
import os
import re
import shutil
import subprocess
import sys

from chroot import Debian, output

# What apt and dpkg keep for themselves, and what is not on a disk.
UNLISTED = re.compile(r"(proc|sys|dev|opt|tmp|var/(cache|log|lib/(apt|dpkg))|"
                      r"etc/(apt|ld\.so\.cache)|root)(/|$)")


def name_of(deb):
    return deb.name.split("_")[0]


def without_symbols(debs):
    return [deb for deb in debs if not name_of(deb).endswith("-dbgsym")]


class Packaged(Debian):

    def add_repository(self, name, debs):
        """Have apt know ${debs}, files of this machine."""
        directory = self.root / "opt" / name
        directory.mkdir()
        for deb in debs:
            shutil.copy(deb, directory)
        (directory / "Packages").write_text(subprocess.run(
            ["dpkg-scanpackages", "--multiversion", "."], cwd=directory,
            check=True, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL).stdout)
        (self.root / f"etc/apt/sources.list.d/{name}.list").write_text(
            f"deb [trusted=yes] file:/opt/{name} ./\n")
        self.said("apt-get -qq update")

    def apt(self, *words):
        return self.said("apt-get -qq -y --no-install-recommends "
                         "-o Dpkg::Use-Pty=0 " + " ".join(words))

    def install_what_is_needed_by(self, *names):
        """Install the dependencies of our packages, without those."""
        said = self.said("apt-get -s -qq -y --no-install-recommends install " +
                         " ".join(names))
        needed = [name for name in re.findall(r"(?m)^Inst (\S+)", said)
                  if "holdfast" not in name]
        if needed:
            self.apt("install", *needed)

    def ours(self):
        """The versions of our packages that are installed, by name."""
        said = subprocess.run(
            ["dpkg-query", "--admindir", self.root / "var/lib/dpkg", "-W", "-f",
             "${db:Status-Status} ${Package} ${Version}\n", "*holdfast*"],
            check=False, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL).stdout
        return dict(line.split()[1:] for line in said.splitlines()
                    if line.startswith("installed "))

    def engines(self):
        """What the tool says of each engine: whether it works, and the text."""
        return dict(
            (match[1], (match[2], match[3])) for match in re.finditer(
                r"(?m)^(\w+) +(works|missing) +(.*)$",
                self.said("holdfast --version -v")))

    def unowned(self):
        """The files and directories that belong to no package."""
        owned = set()
        for names in (self.root / "var/lib/dpkg/info").glob("*.list"):
            for name in names.read_text().splitlines():
                owned.add(self.real(name.lstrip("/")))
        found = set()
        for directory, below, files in os.walk(self.root):
            where = os.path.relpath(directory, self.root)
            where = "" if where == "." else where + "/"
            below[:] = [name for name in below
                        if not UNLISTED.match(where + name)]
            found.update(where + name for name in below + files)
        # Of the modules of Python, those of others are no matter of ours.
        return {name for name in found - owned
                if "__pycache__" not in name or "holdfast" in name}

    def real(self, name):
        """/lib is a link to /usr/lib, and packages may have either."""
        top = name.partition("/")[0]
        if (self.root / top).is_symlink():
            return os.path.join(os.readlink(self.root / top).lstrip("/"),
                                name[len(top) + 1:]).rstrip("/")
        return name

    def copy(self, root):
        """The same Debian once more, in ${root}."""
        output("cp", "-a", str(self.root), str(root))
        other = object.__new__(Packaged)
        other.root = root
        return other

    def autopkgtest(self, source, debs):
        """Run debian/tests of ${source}, a .dsc, with ${debs} installed; whether
        all passed, and what was printed."""
        self.said("apt-get -qq update")
        done = subprocess.run(
            self.outside('exec "$@"', "autopkgtest", "--no-built-binaries",
                         *map(str, debs), str(source), "--", "chroot",
                         str(self.root)),
            check=False, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        sys.stdout.write(done.stdout)
        return done.returncode == 0, done.stdout
