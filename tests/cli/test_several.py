#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast run with several names, and with permits of a semaphore."""

import os

import harness


class Names(harness.Case):
    def test_each_has_its_token(self):
        status, out, err = self.run_tool(
            "b", "a", "c", "--", "sh", "-c",
            "echo $HOLDFAST_NAME $HOLDFAST_TOKEN: $HOLDFAST_TOKENS")
        self.assertEqual((status, err), (0, ""))
        name, first, *tokens = out.replace(":", "").split()
        self.assertEqual(name, "b")
        self.assertEqual(first, tokens[0])
        # They are taken in the order of their names.
        self.assertEqual(sorted(map(int, tokens)),
                         [int(tokens[1]), int(tokens[0]), int(tokens[2])])
        self.queued(0)

    def test_all_or_none(self):
        holder = self.holder(name="b")
        status, out, err = self.run_tool("--try", "a", "b", "c", "--", "echo")
        self.assertEqual((status, out), (75, ""))
        self.queued(1)
        waiter = self.start("c", "b", "a", "--", "echo", "mine")
        self.queued(3)
        self.assertEqual(self.run_tool("--try", "a", "--", "true")[0], 75)
        self.finish(holder)
        self.assertEqual(self.finish(waiter), (0, "mine\n", ""))
        self.queued(0)

    def test_killed_with_its_supervisor(self):
        """The launcher keeps every ticket until the tree is gone."""
        launcher = self.holder("a", name="b")
        self.queued(2)
        os.kill(self.supervisor(launcher), harness.signal.SIGKILL)
        self.assertEqual(self.finish(launcher)[0], 76)
        # Dead tickets are removed by the next who looks.
        self.assertEqual(self.run_tool("a", "b", "--", "true")[0], 0)
        self.queued(0)

    def test_given_twice(self):
        status, _, err = self.run_tool("a", "b", "/a", "--", "true")
        self.assertEqual(status, 64)
        self.assertIn("given twice", err)

    def test_options_among_them(self):
        status, _, err = self.run_tool("a", "--try", "b", "--", "true")
        self.assertEqual(status, 64)
        self.assertIn("options stand before NAME", err)


class Permits(harness.Case):
    def test_as_many_as_there_are(self):
        first = self.holder("--permits", "1/2", name="pool")
        second = self.holder("--permits", "1/2", name="pool")
        self.assertEqual(self.run_tool("--try", "--permits", "1/2", "pool",
                                       "--", "true")[0], 75)
        waiter = self.start("--permits", "2/2", "pool", "--", "echo", "both")
        self.queued(3)
        self.finish(first)
        self.finish(second)
        self.assertEqual(self.finish(waiter), (0, "both\n", ""))
        self.queued(0)

    def test_wrong_numbers(self):
        for text in ("", "1", "0/2", "3/2", "1/2x", "x/2", "65/70", "-1/2"):
            status, _, err = self.run_tool("--permits", text, "pool", "--",
                                           "true")
            self.assertEqual(status, 64, text)
            self.assertIn("--permits '%s'" % text, err)
            self.assertIn("N of M", err)


if __name__ == "__main__":
    harness.main()
