# SPDX-License-Identifier: Apache-2.0
"""The core and the models do no I/O: the simulator, which links them, needs libc
alone and no function of clocks, threads, sockets or libuv."""

import re
import subprocess
import sys
import unittest

FORBIDDEN = re.compile(
    r"^(uv_|pthread_create|clock_gettime|gettimeofday|time$|nanosleep|"
    r"usleep|sleep$|socket$|connect$|epoll_|timerfd_|eventfd)")
LIBRARIES = re.compile(
    r"^(libc\.so|libasan|libubsan|libtsan|libm\.so|ld-linux)")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


class Link(unittest.TestCase):
    program = ""

    def test_libraries(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]",
                            output("readelf", "-d", self.program))
        self.assertTrue(needed)
        self.assertEqual([n for n in needed if not LIBRARIES.match(n)], [])

    def test_symbols(self):
        names = [line.split()[-1].split("@")[0] for line in
                 output("nm", "-u", self.program).splitlines()]
        self.assertIn("malloc", names)
        self.assertEqual([n for n in names if FORBIDDEN.match(n)], [])


if __name__ == "__main__":
    Link.program = sys.argv.pop()
    unittest.main()
