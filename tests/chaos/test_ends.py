#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No ticket stays when an acquire ends without a grant: each end is followed by
a look at the queue through another client, on a real server.

    test_ends.py ENDS HOLDFAST ENGINE

ENGINE is file, zookeeper, redis or postgres.
"""

import os
import subprocess
import sys
import unittest

import real_engines

ENDS, HOLDFAST = (os.path.abspath(path) for path in sys.argv[1:3])
ENGINE = sys.argv[3]
del sys.argv[1:4]

LONG = os.environ.get("HF_LONG") == "1"
REPEATS = 2000 if LONG else 100
WAYS = {"mutex", "write", "semaphore", "try", "mutex-of-threads", "several",
        "cancel"}


class Ends(unittest.TestCase):
    def test_no_ticket_is_left_when_the_call_returns(self):
        with real_engines.url(HOLDFAST, ENGINE) as url:
            program = subprocess.run(
                [ENDS, url, str(REPEATS)], stdout=subprocess.PIPE, text=True,
                timeout=(10 if LONG else 2) * 60)
        print(program.stdout)
        self.assertEqual(program.returncode, 0)
        rows = [line.split() for line in program.stdout.splitlines()]
        self.assertEqual({row[0] for row in rows}, WAYS)
        for way, ends, left, said in rows:
            self.assertEqual(int(ends), REPEATS, way)
            self.assertEqual(int(left), 0, way)
            # A machine that is busy otherwise may answer late now and then.
            self.assertLessEqual(int(said), REPEATS // 10, way)


if __name__ == "__main__":
    unittest.main(verbosity=2)
