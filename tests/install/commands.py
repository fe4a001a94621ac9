# SPDX-License-Identifier: Apache-2.0
"""What the tests of this directory share: the paths of the build, and
functions that run commands."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "servers"))
import testing  # noqa: E402,F401

SOURCE = pathlib.Path(os.environ["HF_SOURCE"])
BUILD = pathlib.Path(os.environ["HF_BUILD"])
CC = os.environ["CC"]
CMAKE = os.environ["CMAKE"]
# The directory of modules, in that of libraries: with the version of the soname.
MODULES = "holdfast-0.1"
# A program that links a sanitized library has to be sanitized as well.
SANITIZE = {"": [], "address": ["-fsanitize=address,undefined"],
            "thread": ["-fsanitize=thread"]}[os.environ["HF_SANITIZE"]]


def run(*command, **options):
    """The standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} gave {done.returncode}:\n"
                             f"{done.stdout}")
    return done.stdout


def public_names():
    """The names that src/holdfast.map exports."""
    text = (SOURCE / "src" / "holdfast.map").read_text()
    return {line.strip(" ;") for line in text.splitlines()
            if line.strip().startswith("hf_")}


def defined(kind, library):
    """The symbols that others can link, without their versions."""
    names = set()
    for line in run("nm", *kind, "--defined-only", library).splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "TDBRVW":
            names.add(words[2].split("@")[0])
    return names


def engines(tool, **options):
    """What "holdfast --version -v" says of each engine: its state, and the file
    that it was loaded from or why it is missing."""
    table = run(tool, "--version", "-v", **options).splitlines()
    begin = table[2].index("FROM")
    return {row.split()[0]: (row.split()[1], row[begin:]) for row in table[3:]}
