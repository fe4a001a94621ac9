#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/recipes/ci.md, on a real ZooKeeper."""
import re
import unittest

import recipes
import units
from recipes import waiting

DEPLOY = ('$ holdfast run -w 30m --text "build $BUILD of $BRANCH" '
        "deploy-production -- ./deploy.sh")


class Deployment(recipes.ZooKeeper, recipes.Case):
    document = recipes.document("ci.md")

    def setUp(self):
        super().setUp()
        self.environment.update(BUILD="4712", BRANCH="main")
        self.program("./deploy.sh", "test -n \"$HOLDFAST_TOKEN\"")

    def deploys(self):
        """Another build, in the middle of it."""
        process = self.occupy("deploy-production", "--text",
                              "build 4711 of main")
        self.until_held("deploy-production", process)
        return process

    def test_every_block_is_run(self):
        self.every_block_is_run()

    @recipes.block(DEPLOY)
    def test_it_deploys(self):
        self.follow()
        command, = [command for command, _ in recipes.transcript(self.text)]
        self.assertEqual(self.shell(command), (0, ""))

    @recipes.block(DEPLOY, 2)
    def test_another_one_deploys_all_the_time(self):
        self.deploys()
        self.follow(("-w 30m", "-w 1s"))

    @recipes.block("$ holdfast show deploy-production")
    def test_show(self):
        self.deploys()
        waits = self.occupy("deploy-production", "--text", "build 4712 of main")
        self.wait_for_queue("deploy-production", 2, waits)
        self.follow()

    def test_builds_that_are_cancelled(self):
        """One that waits leaves the queue, one that deploys gets SIGTERM, and
        the next one comes in."""
        self.program("deployment", units.SERVICE)
        first, second, third = [
            self.start_and_queue(number) for number in (1, 2, 3)]
        waiting.read_line(first, "began")
        second.terminate()
        self.finish(second)
        self.wait_for_queue("deploy-production", 2, first, third)
        first.terminate()
        self.assertEqual(self.finish(first)[:2], (143, "asked\n"))
        waiting.read_line(third, "began")

    def start_and_queue(self, number):
        process = self.start("deploy-production", "--", "deployment")
        self.wait_for_queue("deploy-production", number, process)
        return process

    def test_several_targets(self):
        command, = re.findall("`(holdfast run [^`]*deploy/staging[^`]*)`",
                              re.sub(r"\s+", " ", self.document.text))
        self.assertEqual(self.shell(command), (0, ""))
        process = self.occupy("deploy/staging")
        self.until_held("deploy/staging", process)
        self.assertEqual(
            self.shell(command.replace("-w 30m", "--try"))[0], 75)
        self.assertEqual(self.queue("deploy/production"), [])
        status, said = self.shell("holdfast ls deploy")
        self.assertEqual(status, 0)
        self.assertIn("deploy/staging", said)

    def test_an_urgent_build(self):
        process = self.occupy("deploy-production", "--on-revoke", "TERM")
        self.until_held("deploy-production", process)
        self.assertEqual(self.shell("holdfast revoke deploy-production")[0], 0)
        self.assertEqual(self.finish(process)[0], 79)


if __name__ == "__main__":
    unittest.main()
