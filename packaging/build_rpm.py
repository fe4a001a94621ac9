#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Build the packages of packaging/rpm/holdfast.spec from the tarball of a
release.

    build_rpm.py SOURCE DIRECTORY

SOURCE is a checkout, as it is committed.  DIRECTORY is emptied; RPMS and SRPMS
are in it afterwards, and BUILD, in which they were built.

On Fedora rpmbuild says which packages are missing.  On Debian the spec file gets
the macros of Fedora that Debian does not have; rpm knows of no package that is
installed, and the packages need the libraries of Debian.  They show that the
spec file is right, and are not for Fedora."""
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DEBIAN = ("--nodeps", f"--load={HERE}/rpm/debian.macros")


def is_debian():
    return pathlib.Path("/etc/debian_version").exists()


def rpmbuild(directory, *words):
    command = ["rpmbuild", *(DEBIAN if is_debian() else ()),
               "--define", f"_topdir {directory}", *map(str, words)]
    with open(directory / "build.log", "w", encoding="utf-8") as log:
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        print((directory / "build.log").read_text(encoding="utf-8")[-4000:])
        sys.exit(f"rpmbuild failed: see {directory}/build.log")


def main(source, directory):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    if subprocess.run([sys.executable, "-B", HERE / "release.py", source,
                       directory / "SOURCES"], check=False).returncode != 0:
        sys.exit(1)  # it has said why
    rpmbuild(directory, "-ba", "--noclean", source / "packaging/rpm/holdfast.spec")
    for package in sorted(directory.glob("*RPMS/**/*.rpm")):
        print(f"{package.stat().st_size:9} {package.name}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(),
         pathlib.Path(sys.argv[2]).resolve())
