# SPDX-License-Identifier: Apache-2.0
"""The launcher cannot send what the supervisor waits for, because the kernel
has no memory: the run ends, and says why, instead of waiting for ever."""

import os
import subprocess

import harness
from harness import waiting

TEXT = ("holdfast: the process that waits for 'lock' or holds it cannot be "
        "notified: No buffer space available; the run ends; end some of what "
        "is running")


class Unsent(harness.Case):
    def unsent(self, message):
        """The environment of a run whose launcher cannot send it."""
        checks = [os.environ.get("ASAN_OPTIONS", ""), "verify_asan_link_order=0"]
        return dict(self.environment, HF_UNSENT=message,
                    LD_PRELOAD=os.environ["UNSENT"],
                    ASAN_OPTIONS=":".join(filter(None, checks)))

    def run_unsent(self, message, *arguments):
        return subprocess.run([harness.TOOL, *arguments], text=True,
                              env=self.unsent(message), capture_output=True,
                              timeout=waiting.LIMIT_S, check=False)

    def test_the_tickets_are_closed(self):
        """The command's status counts, and the lock is free."""
        done = self.run_unsent("tickets-closed", "run", "lock", "--", "sh", "-c",
                               "exit 5")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (5, "", TEXT + "\n"))
        self.assertEqual(self.tickets(), 0)

    def test_an_election(self):
        """It would campaign again, and cannot."""
        done = self.run_unsent("tickets-closed", "elect", "-b", "1", "lock",
                               "--", "sh", "-c", "exit 5")
        self.assertRegex(done.stderr, "resigning 'lock', .*\n" + TEXT + "\n$")
        self.assertEqual(done.returncode, 71)
        self.assertEqual(self.tickets(), 0)

    def test_the_line_is_cleared(self):
        """On a terminal: the command is not started before."""
        holder = self.holder()
        terminal = harness.Terminal(
            ["sh", "-c", harness.TOOL + " run lock -- echo started; "
             "echo status: $?"],
            self.unsent("resume"))
        try:
            terminal.expect("waiting for")
            self.finish(holder)
            terminal.expect(TEXT)
            terminal.expect("status: 71\r\n")
            self.assertNotIn("started", terminal.text)
        finally:
            terminal.close()
        # The ticket that the launcher had is that of nobody.
        self.assertEqual(self.run_tool("--try", "lock", "--", "true")[0], 0)


if __name__ == "__main__":
    harness.main()
