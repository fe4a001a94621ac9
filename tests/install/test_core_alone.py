#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The simulator, and with it the core, links neither libuv nor a client of a
vendor: nothing of it is linked, defined or asked for."""
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)

# The start of each library's public names.
VENDORS = ("uv_", "zoo_", "redis", "PQ", "SSL_")
LIBRARIES = ("libuv", "libzookeeper", "libhiredis", "libpq", "libssl")


def output(*command):
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


class CoreAlone(unittest.TestCase):

    def test_links_no_library_of_a_vendor(self):
        linked = output("ldd", PROGRAM)
        self.assertIn("libc.so", linked)
        for library in LIBRARIES:
            self.assertNotIn(library, linked)

    def test_has_no_symbol_of_a_vendor(self):
        names = [line.split()[-1] for line in output("nm", PROGRAM).splitlines()]
        self.assertIn("hf_core_step", names)
        found = [name for name in names if name.startswith(VENDORS)]
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
