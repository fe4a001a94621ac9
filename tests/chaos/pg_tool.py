# SPDX-License-Identifier: Apache-2.0
"""holdfast run on a PostgreSQL server of its own, and what it says.  The first
argument of the test is the tool."""

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402
import postgres  # noqa: E402

HOLDFAST = os.path.abspath(sys.argv.pop(1))
SECRET = "sesame"

# holdfast run's own exit statuses
USAGE, UNREACHABLE, TIMEOUT, DENIED = 64, 69, 75, 77

# The statuses that come when the wait is over; all others end it at once.  A
# busy machine needs longer to connect than the first of these waits.
LATE = (UNREACHABLE, TIMEOUT)
SHORT_WAITS = ("1s", "5s", "25s")


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        cls.addClassCleanup(cls.server.close)
        cls.directory = machine.directory("inputs", on_disk=True)
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.databases = 0

    def database(self, template="template1"):
        """The name of a new one."""
        type(self).databases += 1
        name = "inputs%d" % self.databases
        self.server.sql("CREATE DATABASE %s TEMPLATE %s" % (name, template))
        return name

    def run_tool(self, url, wait="60s", **environment):
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("HOLDFAST", "PG"))}
        done = subprocess.run(
            [HOLDFAST, "run", "-w", wait, "inputs", "--", "echo", "held"],
            env={**clean, "HOLDFAST_URL": url, "HOME": self.directory,
                 **environment},
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=waiting.LIMIT_S, check=False)
        self.assertNotIn(SECRET, done.stderr)
        return done

    def assert_works(self, url, **environment):
        done = self.run_tool(url, **environment)
        self.assertEqual((done.returncode, done.stdout), (0, "held\n"),
                         done.stderr)

    def assert_refused(self, url, *parts, status=UNREACHABLE, wait=None,
                       **environment):
        waits = SHORT_WAITS if status in LATE else ("60s",)
        for chosen in (wait,) if wait else waits:
            done = self.run_tool(url, wait=chosen, **environment)
            if done.returncode == status and all(
                    part in done.stderr for part in parts):
                break
        self.assertEqual((done.returncode, done.stdout), (status, ""),
                         done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)
