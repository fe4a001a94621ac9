# SPDX-License-Identifier: Apache-2.0
"""A wait without a terminal, as in a log: one line a minute.  It takes longer
than a minute, because that is what it is about."""

import time

import harness
from harness import waiting

WAITING = (r"^holdfast: waiting for 'lock' \((5\ds|1m\d\ds), \d ahead\), held by "
           r"holdfast \(pid \d+ on [^)]*\): sh -c, queued (5\ds|1m\d\ds) ago$")


class Minute(harness.Case):
    def test_one_line_a_minute(self):
        holder = self.holder()
        began = time.monotonic()
        waiters = {option: self.start(*option, "lock", "--", "true")
                   for option in ((), ("-v",), ("-q",))}
        self.queued(4)
        first = waiting.read_line(waiters[()], stream="stderr", seconds=120)
        self.assertGreaterEqual(time.monotonic() - began, 55)
        self.assertRegex(first, WAITING)
        self.finish(holder)
        said = {option: self.finish(waiter)[2]
                for option, waiter in waiters.items()}
        self.assertEqual(said[("-q",)], "")
        self.assertEqual(said[()], "")
        self.assertLessEqual(said[("-v",)].count("waiting for"), 2)


if __name__ == "__main__":
    harness.main()
