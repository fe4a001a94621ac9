# SPDX-License-Identifier: Apache-2.0
"""The link between a follower and its leader is cut once, in one direction, for
less time than either of them needs to notice.  When the cut is about to end, a
client of the follower that was idle, holds or waits does something.  Random runs
come across this once in many hours, so this test makes scripts for it."""

import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mutants"))

import mutants  # noqa: E402

SCRIPTS = int(os.environ.get("HF_STALLS", "3000"))
SEED = int(os.environ.get("HF_SEED", "1"))
# A follower that receives nothing from its leader leaves it after this time.
NOTICED_MS = 9400


def script(number):
    """The text of script ${number}.  a is on the follower s1, b on the leader."""
    chance = random.Random(SEED * 1000000 + number)
    timeout = chance.choice([4000, 6000, 6900, 10000, 10000])
    proof = chance.choice(["", "", "lazy", "strict"])
    want = chance.randint(300, 3000)
    over = want + chance.randint(20, 3000)
    cut = max(over + chance.randint(-1000, 6000), 200)
    # The leader ends a session that it receives nothing of at about this time.
    mend = cut + min(NOTICED_MS, chance.choice(
        [chance.randint(100, NOTICED_MS),
         int(timeout * chance.uniform(0.6, 1.3))]))
    step = max(mend - chance.randint(-50, 700), over + 1)
    lines = [(10, "a use-only s1"), (10, "b use-only s3"), (20, "a break"),
             (20, "b break"), (100, "- create one keep"),
             (want, "a want mutex one"), (cut, "s1 cut %s" %
                                          chance.choice(["in", "in", "out"])),
             (mend, "s1 mend")]
    role = chance.choice(["idle", "idle", "holds", "waits"])
    if role == "idle":
        lines += [(over, "a release m1"), (step, "a want mutex one"),
                  (step + chance.randint(1, 300), "b want mutex one")]
    elif role == "holds":
        lines += [(want + 10, "b want mutex one"),
                  (step, "a %s m1" % chance.choice(["check", "release"]))]
    else:
        lines += [(want - 100, "b want mutex one"), (step, "b release m1")]
    lines.sort(key=lambda line: line[0])
    return ("# %s\ncluster servers=3 timeout=%d clients=2 %s\n%s60000 - end\n"
            "expect\n" % (role, timeout, proof,
                         "".join("%d %s\n" % line for line in lines)))


class Stalls(unittest.TestCase):
    simulator = ""

    def setUp(self):
        super().setUp()
        self.directory = tempfile.TemporaryDirectory(prefix="holdfast-stalls-")
        self.addCleanup(self.directory.cleanup)

    def run_script(self, simulator, number):
        """The trace of script ${number}."""
        path = os.path.join(self.directory.name, "%d.script" % number)
        with open(path, "w") as file:
            file.write(script(number))
        ran = subprocess.run([simulator, "--script", path], timeout=60,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        text = re.sub(r"(?m)^(/.*:|  expected.*)\n", "", ran.stdout)
        # An attempt that was lost by then has nothing to check or release.
        if "60000.000  -       end" not in text and \
                "there is no grant to" not in text:
            self.fail("script %d did not come to its end:\n%s%s" % (
                number, script(number), text))
        return text

    def broken(self, simulator, numbers):
        """The first script that breaks an invariant, with its trace; or None."""
        for number in numbers:
            text = self.run_script(simulator, number)
            if re.search("CHECK +invariant", text):
                return "script %d of HF_SEED=%d\n%s%s" % (
                    number, SEED, script(number), text)
        return None

    def test_one_stall_breaks_nothing(self):
        self.assertIsNone(self.broken(self.simulator, range(SCRIPTS)))

    def found(self, name):
        mutant = os.path.join(self.directory.name, name)
        mutants.build(name, self.simulator, mutant)
        self.assertIsNotNone(self.broken(mutant, range(SCRIPTS)))

    def test_a_first_write_that_proves_is_found(self):
        self.found("ZK_PAUSE_PROVES")

    def test_a_ping_that_proves_is_found(self):
        self.found("ZK_PING_PROVES")


if __name__ == "__main__":
    Stalls.simulator = os.path.realpath(sys.argv.pop())
    unittest.main()
