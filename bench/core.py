#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How many instructions of the core an acquire and its release take, beside a
few grants and beside many.  Callgrind counts them, so the figure is exact and
the same on a busy machine.

usage: core.py BENCH_CORE
"""

import re
import subprocess
import sys

GRANTS = (100, 1000, 10000, 100000)
TIMES = 1000


def instructions(program, grants, times):
    """Of the whole process."""
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         program, str(grants), str(times)],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True)
    return int(re.search(r"Collected : (\d+)", result.stderr).group(1))


def main():
    program = sys.argv[1]
    fewest = None
    print("grants  instructions for an acquire and a release  / fewest")
    for grants in GRANTS:
        # What is before and after them is the same in both runs.
        pair = (instructions(program, grants, 2 * TIMES) -
                instructions(program, grants, TIMES)) / TIMES
        fewest = fewest or pair
        print("%6d  %43.0f  %8.2f" % (grants, pair, pair / fewest))


if __name__ == "__main__":
    main()
