# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree with a commit of its own, for what a release is made of:
no commit and no tag is left in this one."""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "servers"))
sys.path.insert(0, str(HERE.parents[1] / "packaging"))
import build_debian  # noqa: E402
import machine  # noqa: E402

SOURCE = pathlib.Path(os.environ["HF_SOURCE"])
# Nothing of who runs this.
ENVIRONMENT = {
    **os.environ, "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_AUTHOR_NAME": "somebody",
    "GIT_AUTHOR_EMAIL": "somebody@example.org", "GIT_COMMITTER_NAME":
    "somebody", "GIT_COMMITTER_EMAIL": "somebody@example.org"}


class Checkout:
    """.top is a new directory, .tree the copy in it."""

    def __init__(self, name):
        self.top = pathlib.Path(machine.directory(name, on_disk=True))
        self.tree = self.top / "tree"
        build_debian.copy_tree(SOURCE, self.tree)
        self.git("init", "-q")
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "-m", "all of it")

    def remove(self):
        shutil.rmtree(self.top)

    def git(self, *words):
        return subprocess.run(["git", "-C", str(self.tree), *words], check=True,
                              text=True, stdout=subprocess.PIPE,
                              env=ENVIRONMENT).stdout

    def run(self, script, *words, **options):
        """The status and the output of a script of the tree."""
        done = subprocess.run(
            ["/usr/bin/python3", "-B", self.tree / script, *words], check=False,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=ENVIRONMENT, **options)
        return done.returncode, done.stdout
