# SPDX-License-Identifier: Apache-2.0
"""Describe the headers to Python, where that was not done before (a checkout;
an sdist has holdfast/_c.py already), and take the version from there."""
import os
import pathlib
import re
import shlex
import subprocess
import sys

from setuptools import setup

HERE = pathlib.Path(__file__).resolve().parent
MADE = HERE / "holdfast" / "_c.py"
DESCRIBE = HERE / "describe.py"

if DESCRIBE.exists():
    subprocess.run([sys.executable, DESCRIBE, "--cc",
                    shlex.join(shlex.split(os.environ.get("CC", "cc"))), MADE],
                   check=True)
number = {name: value for name, value in re.findall(
    r"^HF_VERSION_(MAJOR|MINOR|PATCH) = (\d+)$",
    MADE.read_text(encoding="utf-8"), re.MULTILINE)}
setup(version="{MAJOR}.{MINOR}.{PATCH}".format(**number))
