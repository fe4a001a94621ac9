#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Make the files of a release of the tree as it is committed.

    release.py SOURCE DIRECTORY [--tag]

DIRECTORY is emptied, and has afterwards

    holdfast-VERSION.tar.gz      the files of the commit
    holdfast-VERSION.spdx.json   what is in it and what it needs: a bill of
                                 materials, SPDX 2.3
    CHANGES.md                   the newest section of CHANGELOG.md
    SHA256SUMS                   of the three

The version is that of CMakeLists.txt, with ~dev while the newest section of
CHANGELOG.md is "Unreleased".  All bytes come from the commit, so whoever has it
makes the same files.  --tag makes the tag, too; nothing is pushed."""
import gzip
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

LICENCE = "Apache-2.0"
COPYRIGHT = "The holdfast authors"


def git(source, *words):
    return subprocess.run(["git", "-C", str(source), *words], check=True,
                          stdout=subprocess.PIPE).stdout


def refuse_changes(source):
    changed = git(source, "status", "--porcelain").decode()
    if changed:
        sys.exit("release: there is what is not committed; commit it, or move "
                 f"it away:\n{changed}")


def newest_changes(source):
    """The name and the text of the newest section of CHANGELOG.md."""
    text = (source / "CHANGELOG.md").read_text(encoding="utf-8")
    name, section = re.search(
        r"(?ms)^## \[([^]]+)\][^\n]*\n(.*?)(?=^## |\Z)", text).groups()
    return name, section.strip() + "\n"


def tree_version(source, section):
    text = (source / "CMakeLists.txt").read_text(encoding="utf-8")
    version = re.search(r"project\(holdfast VERSION ([\d.]+)", text).group(1)
    if section == "Unreleased":
        return version + "~dev"
    if section != version:
        sys.exit(f"release: the newest section of CHANGELOG.md is {section}, "
                 f"and CMakeLists.txt has the version {version}")
    return version


def tag_name(version):
    return "v" + version.replace("~", "-")  # git takes no "~" in one


# ------------------------------------------------------ bill of materials --

def dependencies(source):
    """What others' libraries CMake asks for: name, lowest version, and whether
    it can be left out."""
    top = (source / "CMakeLists.txt").read_text(encoding="utf-8")
    optional = (source / "cmake/HoldfastOptional.cmake").read_text(
        encoding="utf-8")
    found = [(name.lower(), version, False) for name, version in
             re.findall(r"set\(HF_(\w+)_VERSION ([\d.]+)\)", top)]
    found += [(name, version, True) for modules in
              re.findall(r"hf_optional\(.* MODULES (.*)", optional)
              for name, version in re.findall(r"([\w-]+)>=([\d.]+)", modules)]
    return found


def bill_file(number, name, content):
    said = re.search(rb"SPDX-License-Identifier: ([\w.-]+)", content[:512])
    return {
        "SPDXID": f"SPDXRef-File-{number}",
        "fileName": "./" + name,
        "checksums": [
            {"algorithm": "SHA1",
             "checksumValue": hashlib.sha1(content).hexdigest()},
            {"algorithm": "SHA256",
             "checksumValue": hashlib.sha256(content).hexdigest()}],
        "licenseConcluded": LICENCE,
        "licenseInfoInFiles": [said.group(1).decode() if said else "NONE"],
        "copyrightText": COPYRIGHT,
    }


def bill(source, version, commit, seconds, contents):
    files = [bill_file(number, name, content)
             for number, (name, content) in enumerate(contents, 1)]
    hashes = sorted(file["checksums"][0]["checksumValue"] for file in files)
    package = {
        "SPDXID": "SPDXRef-holdfast", "name": "holdfast",
        "versionInfo": version, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue":
                                    hashlib.sha1("".join(hashes).encode())
                                    .hexdigest()},
        "licenseConcluded": LICENCE, "licenseDeclared": LICENCE,
        "licenseInfoFromFiles": [LICENCE], "copyrightText": COPYRIGHT,
    }
    packages = [package]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-holdfast")]
    relations += [("SPDXRef-holdfast", "CONTAINS", file["SPDXID"])
                  for file in files]
    for name, lowest, optional in dependencies(source):
        packages.append({
            "SPDXID": f"SPDXRef-{name}", "name": name,
            "comment": f"{lowest} or later", "filesAnalyzed": False,
            "downloadLocation": "NOASSERTION",
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION"})
        relations.append(
            (f"SPDXRef-{name}", "OPTIONAL_DEPENDENCY_OF", "SPDXRef-holdfast")
            if optional else
            ("SPDXRef-holdfast", "DEPENDS_ON", f"SPDXRef-{name}"))
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT", "name": f"holdfast-{version}",
        "documentNamespace":
            f"https://spdx.org/spdxdocs/holdfast-{version}-{commit}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                     time.gmtime(seconds)),
            "creators": ["Organization: " + COPYRIGHT,
                         "Tool: packaging/release.py"]},
        "packages": packages, "files": files,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind,
             "relatedSpdxElement": other} for one, kind, other in relations],
    }


# ---------------------------------------------------------------- the files --

def main(source, directory, *options):
    refuse_changes(source)
    section, changes = newest_changes(source)
    version = tree_version(source, section)
    commit = git(source, "rev-parse", "HEAD").decode().strip()
    seconds = int(git(source, "log", "-1", "--format=%ct"))
    # The mode of a file does not depend on whose settings these are.
    tar = git(source, "-c", "tar.umask=0022", "archive", "--format=tar",
              f"--prefix=holdfast-{version}/", "HEAD")
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        contents = [(entry.name.split("/", 1)[1],
                     archive.extractfile(entry).read())
                    for entry in archive if entry.isfile()]

    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    made = {
        f"holdfast-{version}.tar.gz": gzip.compress(tar, 9, mtime=0),
        f"holdfast-{version}.spdx.json": json.dumps(
            bill(source, version, commit, seconds, contents),
            indent=1).encode() + b"\n",
        "CHANGES.md": changes.encode(),
    }
    made["SHA256SUMS"] = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n"
        for name, content in made.items()).encode()
    for name, content in made.items():
        (directory / name).write_bytes(content)
        print(f"{len(content):9} {name}")

    tag = tag_name(version)
    if "--tag" in options:
        git(source, "tag", "-a", "--cleanup=verbatim", "-m",
            f"holdfast {version}\n\n{changes}", tag, commit)
        print(f"{tag} is the tag of {commit}")
    else:
        print(f"{commit} would have the tag {tag}")


if __name__ == "__main__":
    main(*(pathlib.Path(word).resolve() for word in sys.argv[1:3]),
         *sys.argv[3:])
