# SPDX-License-Identifier: Apache-2.0
"""Trees that fork faster than anybody can look.  Their dead fill the machine's
process table for a moment, so that other tests cannot start anything: these run
alone."""

import os

import harness


class Forkers(harness.Case):
    def test_chain_that_keeps_forking(self):
        """Each link forks the next and dies: a moving target."""
        script = ("import os, signal\n"
                  "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                  "if os.fork(): os._exit(4)\n"
                  "os.setsid()\n"
                  "file = os.open(%r, os.O_WRONLY|os.O_CREAT|os.O_APPEND)\n"
                  "while True:\n"
                  "  if os.fork(): os._exit(0)\n"
                  "  os.write(file, b'.')\n" % self.path("chain"))
        status = self.run_tool("--grace", "20ms", "lock", "--",
                               "/usr/bin/python3", "-c", script,
                               stdout=harness.subprocess.DEVNULL)[0]
        self.assertEqual(status, 4)
        length = os.path.getsize(self.path("chain"))
        self.assertEqual(self.run_tool("lock", "--", "true")[0], 0)
        self.assertEqual(os.path.getsize(self.path("chain")), length)

    def test_bomb(self):
        """128 at once that do nothing but fork and go."""
        script = ("import os, signal, time\n"
                  "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                  "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
                  "for i in range(7):\n"
                  "  os.fork()\n"
                  "end = time.monotonic() + 60\n"
                  "file = os.open(%r, os.O_WRONLY|os.O_CREAT|os.O_APPEND)\n"
                  "os.write(file, b'.')\n"
                  "while time.monotonic() < end:\n"
                  "  if os.fork(): os._exit(0)\n" % self.path("bomb"))
        launcher = self.start("--grace", "0s", "lock", "--", "/usr/bin/python3",
                              "-c", script, stdout=harness.subprocess.DEVNULL)
        status = self.finish(launcher)[0]
        self.assertEqual(status, 0)
        self.assertEqual(self.run_tool("--try", "lock", "--", "true")[0], 0)


if __name__ == "__main__":
    harness.main()
