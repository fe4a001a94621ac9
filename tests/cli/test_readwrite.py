# SPDX-License-Identifier: Apache-2.0
"""--read and --write: who shares the lock, and who waits for whom."""

import os

import harness


class ReadWrite(harness.Case):
    def release(self, process):
        process.stdin.close()
        process.stdin = None
        status, out, err = self.finish(process)
        self.assertEqual((status, out, err), (0, "", ""))

    def waiter(self, option, position, words=("echo", "in")):
        """Start a tool that gets this position in the queue."""
        process = self.start(option, "lock", "--", *words)
        self.queued(position)
        return process

    def test_two_readers_at_once(self):
        first = self.holder("--read")
        second = self.holder("--read")
        self.assertEqual(self.tickets(), 2)
        self.release(first)
        self.release(second)
        self.assertEqual(self.tickets(), 0)

    def test_try_on_both_sides(self):
        reader = self.holder("--read")
        self.assertEqual(self.run_tool("--read", "--try", "lock", "--",
                                       "true")[0], 0)
        status, _, err = self.run_tool("--write", "--try", "lock", "--",
                                       "touch", self.path("ran"))
        self.assertEqual(status, 75)
        self.assertIn("(pid %d on " % self.supervisor(reader), err)
        self.release(reader)
        writer = self.holder("--write")
        for option in ("--read", "--write"):
            self.assertEqual(self.run_tool(option, "--try", "-q", "lock", "--",
                                           "touch", self.path("ran")),
                             (75, "", ""))
        self.release(writer)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_a_writer_between_two_readers(self):
        log = self.path("log")
        first = self.holder("--read")
        writer = self.waiter("--write", 2,
                             ("sh", "-c", "echo wrote >>" + log))
        # It does not pass the writer, although a reader holds the lock.
        second = self.waiter("--read", 3, ("sh", "-c", "cat " + log))
        self.assertFalse(os.path.exists(log))
        self.assertIsNone(second.poll())
        self.release(first)
        self.assertEqual(self.finish(writer)[0], 0)
        self.assertEqual(self.finish(second)[:2], (0, "wrote\n"))

    def test_a_writer_that_gives_up_lets_readers_in(self):
        first = self.holder("--read")
        writer = self.start("--write", "-q", "-w", "1s", "lock", "--", "true")
        self.queued(2)
        self.assertEqual(self.run_tool("--read", "lock", "--", "echo",
                                       "in")[:2], (0, "in\n"))
        self.assertEqual(self.finish(writer)[0], 75)
        self.release(first)

    def test_a_reader_that_is_killed_is_not_waited_for(self):
        first = self.holder("--read")
        writer = self.waiter("--write", 2)
        supervisor = self.supervisor(first)
        first.kill()
        harness.kill(supervisor)
        self.assertEqual(self.finish(writer)[:2], (0, "in\n"))

    def test_read_and_write_contradict(self):
        for options in (["--read", "--write"], ["--write", "--read"],
                        ["--read", "--permits", "1/2"]):
            status, out, err = self.run_tool(*options, "lock", "--", "touch",
                                             self.path("ran"))
            self.assertEqual((status, out), (64, ""))
            self.assertIn("--read, --write and --permits contradict each "
                          "other", err)
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(self.tickets(), 0)

    def test_twice_is_once(self):
        self.assertEqual(self.run_tool("--read", "--read", "lock", "--",
                                       "true")[0], 0)

    def test_another_kind_is_refused(self):
        rows = ((["--read"], []), (["--write"], []), ([], ["--read"]),
                ([], ["--write"]))
        for held, wanted in rows:
            with self.subTest(held=held, wanted=wanted):
                holder = self.holder(*held)
                status, out, err = self.run_tool(
                    *wanted, "lock", "--", "touch", self.path("ran"))
                self.assertEqual((status, out), (64, ""), err)
                self.assertIn("the name is in use as a %s" % (
                    "read/write lock" if held else "mutex"), err)
                self.assertIn("this is a %s" % (
                    "read/write lock" if wanted else "mutex"), err)
                self.release(holder)
        self.assertFalse(os.path.exists(self.path("ran")))


if __name__ == "__main__":
    harness.main()
