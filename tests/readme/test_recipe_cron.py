#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/recipes/cron.md: the line of the crontab, as two machines start it."""
import re
import unittest

import recipes
from recipes import waiting

LINE = ("17 3 * * *  holdfast run -nq -E 0 --at-least 5m nightly -- "
        "nightly-report")
COMMAND = LINE.split("  ")[1]
ONCE = ("17,47 3-5 * * *  holdfast run -q --once-per 20h nightly -- "
        "nightly-report")


class Nightly(recipes.OnFiles):
    document = recipes.document("cron.md")

    def setUp(self):
        super().setUp()
        self.program("nightly-report", "echo ran >>ran")

    def reports(self):
        return self.shell("cat ran")[1].count("ran\n")

    def machine(self, at_least):
        """What cron of one machine does."""
        command = COMMAND.replace("5m", at_least).replace("holdfast run ", "")
        return self.start(*command.split(), cwd=self.directory)

    def test_every_block_is_run(self):
        self.every_block_is_run()

    @recipes.block(LINE)
    def test_it_runs_once_and_prints_nothing(self):
        first = self.machine("1h")
        waiting.eventually("a report", lambda: self.reports() == 1, of=[first])
        second = self.machine("1h")
        self.assertEqual(self.finish(second), (0, "", ""))
        self.assertEqual(self.reports(), 1)
        first.terminate()
        self.assertEqual(self.finish(first), (0, "", ""))
        self.assertEqual(self.finish(self.machine("10ms")), (0, "", ""))
        self.assertEqual(self.reports(), 2)

    @recipes.block("$ " + COMMAND)
    def test_the_second_machine(self):
        first = self.machine("1h")
        waiting.eventually("a report", lambda: self.reports() == 1, of=[first])
        self.follow()
        self.assertEqual(self.reports(), 1)

    def once(self):
        return self.finish(self.start(*ONCE.split("holdfast run ")[1].split(),
                                      cwd=self.directory))

    @recipes.block(ONCE)
    def test_it_is_made_again_until_it_succeeds(self):
        self.program("nightly-report", "echo no disk >&2; exit 3")
        self.assertEqual(self.once(), (3, "", "no disk\n"))
        self.program("nightly-report", "echo ran >>ran")
        for _ in range(3):
            self.assertEqual(self.once(), (0, "", ""))
        self.assertEqual(self.reports(), 1)

    @recipes.block("holdfast last nightly")
    def test_when_it_was(self):
        self.assertEqual(self.shell(self.text),
                         (1, "nightly has never succeeded\n"))
        self.once()
        status, said = self.shell(self.text)
        self.assertEqual(status, 0)
        self.assertRegex(said, r"^\S+Z  \S+ ago, token \d+\n$")

    def test_a_failure_is_mailed(self):
        self.program("nightly-report", "echo no disk >&2; exit 3")
        status, _, err = self.finish(self.machine("10ms"))
        self.assertEqual((status, err), (3, "no disk\n"))
        self.environment["HOLDFAST_URL"] = "@nope"
        status, _, err = self.finish(self.machine("10ms"))
        self.assertEqual(status, 64)
        self.assertTrue(re.search("there is no profile 'nope'", err), err)


if __name__ == "__main__":
    unittest.main()
