#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Build the Debian packages of the tree, and let lintian read them.

    build_debian.py SOURCE DIRECTORY

SOURCE is a checkout; what git ignores in it is left out, and changes that were
not committed are built, too.  DIRECTORY is emptied; the packages are in it
afterwards, and the tree that they were built in.  The bytes of the packages
depend on the files of the tree alone: on no time, and on neither directory, if
their names have only letters, digits and -+:.~_ (others dpkg-buildflags does not
map)."""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

LINTIAN = ("lintian", "--allow-root", "--display-info", "--pedantic",
           "--tag-display-limit=0",
           "--fail-on=error,warning,info,pedantic")


def output(*command, **options):
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE, **options).stdout


def field(source, name):
    """A field of the newest entry of debian/changelog."""
    return output("dpkg-parsechangelog", "-l",
                  str(source / "debian/changelog"), "-S", name).strip()


def files(source):
    """The files that git knows, and those that it does not ignore."""
    names = output("git", "-C", str(source), "ls-files", "-zco",
                   "--exclude-standard").split("\0")
    return sorted(name for name in names if (source / name).is_file())


def copy_tree(source, tree):
    for name in files(source):
        copy = tree / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, copy, follow_symlinks=False)


def pack(tree, archive, top, time):
    """The tree without debian/, as the archive that the packages are made
    from."""
    def normal(entry):
        if entry.name == f"{top}/debian":
            return None
        entry.mtime = time
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with open(archive, "wb") as file, \
            gzip.GzipFile("", "wb", 9, file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(tree, top, filter=normal)


def run_logged(log, tree, *command):
    """Run ${command} in ${tree}, with nothing of the environment of whoever
    calls: no flags, no ccache, which may rewrite the paths that assertions
    print, and no program that is not Debian's."""
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "DEB_BUILD_OPTIONS": f"nocheck parallel={os.cpu_count()}"}
    with open(log, "w", encoding="utf-8") as file:
        done = subprocess.run(command, cwd=tree, stdout=file,
                              stderr=subprocess.STDOUT, env=environment,
                              umask=0o022, check=False)
    if done.returncode != 0:
        print(log.read_text()[-4000:])
        sys.exit(f"{command[0]} failed: see {log}")


def build(source, directory):
    """Return the names of the packages."""
    version = field(source, "Version")
    upstream = version.rsplit("-", 1)[0]
    shutil.rmtree(directory, ignore_errors=True)
    tree = directory / f"holdfast-{upstream}"
    tree.mkdir(parents=True)
    copy_tree(source, tree)
    pack(tree, directory / f"holdfast_{upstream}.orig.tar.gz",
         f"holdfast-{upstream}", int(field(source, "Timestamp")))
    run_logged(directory / "build.log", tree, "dpkg-buildpackage", "-us", "-uc")
    return sorted(directory.glob("*.deb"))


def build_older(directory, version):
    """Return the names of packages of an older ${version}, which only differ in
    that: the program and all else are those that build() has made in
    ${directory}."""
    tree = next(path for path in directory.glob("holdfast-*") if path.is_dir())
    changelog = tree / "debian/changelog"
    changelog.write_text(re.sub(r"\(.*?\)", f"({version})",
                                changelog.read_text(), count=1))
    run_logged(directory / "older.log", tree, "debian/rules", "binary")
    return sorted(directory.glob(f"*_{version}_*.deb"))


def main(source, directory):
    packages = build(source, directory)
    changes = next(directory.glob("*.changes"))
    if subprocess.run([*LINTIAN, str(changes)], check=False).returncode != 0:
        sys.exit("lintian found what is above")
    for package in packages:
        print(f"{package.stat().st_size:9} {package.name}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(),
         pathlib.Path(sys.argv[2]).resolve())
