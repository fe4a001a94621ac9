#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The histories of several hosts are merged and verified as one.  Two groups
of contenders have one lock each, of the same name: each history is correct,
and the merged one breaks the rules.

    test_merged_histories.py HOLDFAST
"""

import json
import os
import shutil
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
            machine.LOCALHOST,
            os.path.join(self.directory, "history.%d" % number),
            "file:%s/%d" % (self.directory, number))
        self.addCleanup(contenders.close)
        return contenders

    def test_two_groups_with_a_lock_each(self):
        self.directory = machine.directory("histories")
        self.addCleanup(shutil.rmtree, self.directory)
        groups = [self.begin(number) for number in range(2)]
        waiting.eventually("histories", lambda: all(
            os.path.exists(group.history) for group in groups), of=groups)
        waiting.eventually("grants", lambda: all(
            len(group.grants()) > 10 for group in groups), of=groups)
        for group in groups:
            group.stop()
        for group in groups:
            status, said = group.end()
            self.assertEqual(status, 0, said)
        merged = os.path.join(self.directory, "merged")
        merge([group.history for group in groups], merged)
        broken = self.broken(merged, 1)
        for rule in ("exclusion", "tokens", "order"):
            self.assertGreater(broken[rule], 0, rule)


if __name__ == "__main__":
    unittest.main()
