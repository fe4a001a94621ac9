#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is noted by contenders of several hosts is judged as one: each of two
crowds has a lock of its own of the same name, and nothing is wrong until both
are taken for one.

    test_contenders.py HOLDFAST
"""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402
from contenders import Contenders, merge  # noqa: E402

HOLDFAST = os.path.abspath(sys.argv.pop(1))


class Merged(unittest.TestCase):
    def broken(self, history, status):
        result = subprocess.run([HOLDFAST, "verify", "--json", history],
                                stdout=subprocess.PIPE)
        self.assertEqual(result.returncode, status)
        return json.loads(result.stdout)["broken"]

    def begin(self, number):
        contenders = Contenders(
            [HOLDFAST, "torture", "--for", "10m", "--faults", "0s"],
            machine.LOCALHOST, os.path.join(self.directory, "history.%d" % number),
            "file:%s/%d" % (self.directory, number))
        self.addCleanup(contenders.close)
        return contenders

    def test_two_who_do_not_know_of_each_other(self):
        self.directory = machine.directory()
        crowds = [self.begin(number) for number in range(2)]
        waiting.eventually("histories", lambda: all(
            os.path.exists(some.history) for some in crowds))
        waiting.eventually("grants", lambda: all(
            len(some.grants()) > 10 for some in crowds))
        for some in crowds:
            some.stop()
        for some in crowds:
            status, said = some.end()
            self.assertEqual(status, 0, said)
        merged = os.path.join(self.directory, "merged")
        merge([some.history for some in crowds], merged)
        broken = self.broken(merged, 1)
        for rule in ("exclusion", "tokens", "order"):
            self.assertGreater(broken[rule], 0, rule)


if __name__ == "__main__":
    unittest.main()
