# SPDX-License-Identifier: Apache-2.0
"""Tests of unfinished.py."""

import os
import re
import signal
import subprocess
import sys
import unittest

import unfinished
import waiting

HERE = os.path.dirname(os.path.abspath(__file__))

# A test that waits for a process that does not end.
WAITS = """
import subprocess
import unfinished
process = subprocess.Popen(["sleep", "1234"])
unfinished.watch()
process.wait()
"""


class Unfinished(unittest.TestCase):
    def start(self, *arguments, **options):
        process = subprocess.Popen(arguments, text=True, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_a_test_says_what_it_waits_for(self):
        environment = dict(os.environ, PYTHONPATH=HERE, HF_TEST_LIMIT_S="0.4")
        process = self.start(sys.executable, "-c", WAITS, env=environment,
                             stdin=subprocess.DEVNULL, process_group=0,
                             stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)
        text = ""
        while "pressure, memory: " not in text:
            text += waiting.read_line(process, stream="stderr") + "\n"
        self.assertIn("ctest kills it after 0.4 s", text)
        self.assertIn("in <module>\n", text)  # of the traceback
        self.assertRegex(text, r"process \d+: sleep 1234\n  thread \d+: state \w")

    def test_a_process_that_is_stopped(self):
        process = self.start("sleep", "1234")
        process.send_signal(signal.SIGSTOP)
        waiting.eventually("the stop", lambda: re.search(
            r"process %d: sleep 1234\n  thread %d: state T" % (
                process.pid, process.pid),
            unfinished.text_of([process.pid])), of=[process])

    def test_a_process_that_is_gone(self):
        process = self.start("true")
        process.wait()
        text = unfinished.text_of([process.pid])
        self.assertTrue(text.startswith(
            "process %d: (No such file or directory)\n" % process.pid), text)
        self.assertIn("\nload: ", text)

    def test_a_process_with_a_real_time_priority(self):
        try:
            process = self.start("sleep", "1234", preexec_fn=lambda:
                                 os.sched_setscheduler(0, os.SCHED_RR,
                                                       os.sched_param(1)))
        except subprocess.SubprocessError:
            self.skipTest("needs the right to set a real-time priority")
        self.assertIn("with a real-time priority: process %d: sleep 1234\n" %
                      process.pid, unfinished.text_of([]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
