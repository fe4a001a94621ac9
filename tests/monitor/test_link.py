# SPDX-License-Identifier: Apache-2.0
"""A program that has a monitor has no core, engine or client in it: what links
is what is needed, and the linker takes needed files of our archives only."""

import re
import subprocess
import sys
import unittest

# What the folders of the upper layers, and the machines of the core, export.
FORBIDDEN = re.compile(
    r"^hf_(core|acquisition|session|admission|effect|engine|file|zk|client|"
    r"grant|lock|election|candidacy|queue|op|open|reentrant|owner)s?_")


class Link(unittest.TestCase):
    program = ""

    def test_symbols(self):
        names = [line.split()[-1] for line in subprocess.run(
            ("nm", self.program), check=True, capture_output=True,
            text=True).stdout.splitlines()]
        self.assertIn("hf_monitor_enter", names)
        self.assertEqual([n for n in names if FORBIDDEN.match(n)], [])


if __name__ == "__main__":
    Link.program = sys.argv.pop()
    unittest.main()
