#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The ABI of libholdfast.so fits that of the last release.

    abi.py BUILD

BUILD has the library of this tree, with debug information.  The last release is
the newest tag such as v0.1.0 before the commit; its library is built in BUILD/abi.
Both are read with abidw and compared with abidiff, of libabigail, as far as the
public headers have it.

A program that was built against the last release has to work with this library.
So a function or a variable must not go or change, nor a struct, a union or an
enumeration.  New functions and enumerators do no harm, nor does a struct whose
first field is its size and that has new fields behind all others: see
docs/upgrading.md.  If the soname is another one, no program of the last release
loads this library, and all may change.

Without such a tag there is nothing to compare with.  The library is read all the
same, and has to have each function of src/holdfast.map with its type."""
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include/holdfast").glob("*.h"))
TAG = ("--match=v[0-9]*", "--exclude=*-dev")  # what packaging/release.py makes

# A report of abidiff on one struct.
CHANGED_STRUCT = re.compile(r"^'struct (\w+)' changed:\n((?:  .*\n)+)", re.M)
SIZE = re.compile(r"  type size changed from (\d+) to \d+ \(in bits\)")
INSERTION = re.compile(r"    '.*', at offset (\d+) \(in bits\)")
COUNT = re.compile(r"  \d+ data member insertions?:")
SIZED_STRUCT = re.compile(r"^struct (\w+) \{\n    size_t size;", re.M)


def output(*command):
    done = subprocess.run([str(word) for word in command], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def last_release():
    """Its tag and its commit; None if there is none."""
    done = subprocess.run(["git", "describe", "--tags", "--abbrev=0", *TAG],
                          cwd=ROOT, text=True, capture_output=True, check=False)
    tag = done.stdout.strip()
    return (tag, output("git", "rev-parse", tag + "^{commit}").strip()) if tag \
        else None


# ------------------------------------------------------------------ reading --

def read(library, abi):
    """Write to the file ${abi} what abidw reads from ${library}.

    Types of other headers are left out.  The options for that, --headers-dir,
    would not do, because it looks at names without directories, and
    src/client/lock.h is no public header.  Without --exported-interfaces-only
    abidw 2.2 has some functions without the symbol that they have, and abidiff
    does not compare them."""
    private = abi.with_suffix(".private")
    private.write_text("[suppress_type]\n"
                       "source_location_not_regexp = "
                       "(^|/)include/holdfast/[^/]*$\n"
                       "drop = yes\n")
    output("abidw", "--exported-interfaces-only", "--suppressions", private,
           "--no-show-locs", "--no-corpus-path", "--out-file", abi, library)


def check_is_whole(abi):
    """Each function of src/holdfast.map is in it with its type, each struct of
    the public headers with its fields, and no other struct."""
    text = abi.read_text(encoding="utf-8")
    public = set(re.findall(r"^ +(hf_\w+);", (
        ROOT / "src/holdfast.map").read_text(encoding="utf-8"), re.M))
    found = set(re.findall(r"<function-decl [^>]*elf-symbol-id='(\w+)@", text))
    structs = {name for header in HEADERS for name in re.findall(
        r"^struct (hf_\w+) \{", header.read_text(encoding="utf-8"), re.M)}
    read_structs = {
        re.search(r" name='(\w+)'", struct)[1]
        for struct in re.findall(r"<class-decl [^>]*>", text)
        if "is-declaration-only='yes'" not in struct}
    different = (public ^ found) | (structs ^ read_structs)
    if not public or not structs or different:
        sys.exit("abidw has read other functions and structs than there are in "
                 "src/holdfast.map and in the headers, or without their types; "
                 "was the library built with -g? " +
                 " ".join(sorted(different)[:10]))


def soname(abi):
    with open(abi, encoding="utf-8") as file:
        return re.search(r" soname='([^']*)'", file.read(4096))[1]


def read_release(commit, directory):
    """The file with the ABI of a release, which is read once."""
    abi = directory / f"{commit}.abi"
    if abi.exists():
        return abi
    tree, build = directory / commit, directory / f"{commit}-build"
    tree.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(["git", "archive", "--format=tar", commit], cwd=ROOT,
                          stdout=subprocess.PIPE) as process, \
            tarfile.open(fileobj=process.stdout, mode="r|") as archive:
        archive.extractall(tree)
    output("cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DHF_TESTS=OFF",
           "-DCMAKE_BUILD_TYPE=Debug")
    output("ninja", "-C", build, "holdfast_shared")
    new = abi.with_suffix(".new")
    read(build / "lib/libholdfast.so", new)
    new.rename(abi)
    return abi


# ---------------------------------------------------------------- comparing --

def sized_structs():
    return {name for header in HEADERS
            for name in SIZED_STRUCT.findall(header.read_text(encoding="utf-8"))}


def has_only_grown(report):
    """Does a report on a struct say of nothing but fields behind all others?"""
    lines = report.splitlines()
    size = SIZE.fullmatch(lines[0])
    if size is None:
        return False
    for line in lines[1:]:
        field = INSERTION.fullmatch(line)
        if field is None and COUNT.fullmatch(line) is None:
            return False
        if field is not None and int(field[1]) < int(size[1]):
            return False
    return True


def harm(old, new):
    """What abidiff reports that breaks programs; "" if there is nothing."""
    done = subprocess.run(
        ["abidiff", "--leaf-changes-only", "--no-added-syms", "--no-show-locs",
         str(old), str(new)], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False)
    if done.returncode & 3:
        sys.exit(f"abidiff failed:\n{done.stdout}")
    if done.returncode == 0:
        return ""
    sized = sized_structs()
    left = CHANGED_STRUCT.sub(
        lambda match: "" if match[1] in sized and has_only_grown(match[2])
        else match[0], done.stdout)
    summary, _, reports = left.partition("\n\n")
    no_symbol = len(re.findall(r": 0 Removed, 0 Changed, ", summary)) == 2
    return "" if no_symbol and not reports.strip() else left


def main(build):
    directory = build / "abi"
    directory.mkdir(exist_ok=True)
    new = directory / "tree.abi"
    read(build / "lib/libholdfast.so", new)
    check_is_whole(new)
    release = last_release()
    if release is None:
        print("not compared: there is no tag of a release before this commit")
        return 0
    tag, commit = release
    old = read_release(commit, directory)
    if soname(old) != soname(new):
        print(f"not compared with {tag}, which has the soname {soname(old)} and "
              f"not {soname(new)}")
        return 0
    found = harm(old, new)
    if found:
        print(f"{found}\nPrograms that were built against {tag} do not work "
              f"with this library, and its soname is the same, {soname(new)}. "
              "Keep what they use, or change the minor version, and with it the "
              "soname: include/holdfast/version.h")
        return 1
    print(f"programs that were built against {tag} work with this library")
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
