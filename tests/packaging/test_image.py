#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What packaging/Containerfile copies into the image in which the tool is built
is enough to build it.  No image is made: that takes an engine of containers.
cli/process_one runs the tool as the image does."""
import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))
from commands import CC, CMAKE, SOURCE, run  # noqa: E402
import machine  # noqa: E402

CONTAINERFILE = SOURCE / "packaging/Containerfile"
COPY = re.compile(r"^COPY (?!--)(.*) (\S+)$", re.M)


class Image(unittest.TestCase):

    def copied(self, tree):
        """Make in ${tree} what the first stage has."""
        for names, target in COPY.findall(CONTAINERFILE.read_text()):
            for name in names.split():
                place = tree / target
                if (SOURCE / name).is_dir():
                    shutil.copytree(SOURCE / name, place,
                                    ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(SOURCE / name, place)

    def test_what_is_copied_is_enough(self):
        with machine.temporary("image") as top:
            tree = pathlib.Path(top) / "tree"
            tree.mkdir()
            self.copied(tree)
            run(CMAKE, "-S", tree, "-B", tree / "build", "-G", "Ninja",
                f"-DCMAKE_C_COMPILER={CC}", "-DHF_TESTS=OFF", "-DHF_PYTHON=OFF")
            inputs = [tree / "build" / name for name in run(
                "ninja", "-C", tree / "build", "-t", "inputs",
                "holdfast-cli-installed").splitlines()]
            sources = [path for path in map(os.path.normpath, inputs)
                       if path.startswith(f"{tree}/src/")]
            self.assertGreater(len(sources), 200)
            for path in sources:
                self.assertTrue(os.path.exists(path), path)
            # It includes headers of most directories.
            run("ninja", "-C", tree / "build",
                "src/client/CMakeFiles/hf_client.dir/client_open.c.o")
            # ./dev build --static
            for script in ("dev", "tests/portability/musl"):
                run("bash", "-n", tree / script)


if __name__ == "__main__":
    unittest.main()
