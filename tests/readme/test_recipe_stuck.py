#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/recipes/stuck.md, on each engine with its real server."""
import os
import re
import signal
import unittest

import recipes
from recipes import harness, waiting

DOCUMENT_TOKEN = "1795281410297985"


class Stuck:
    document = recipes.document("stuck.md")

    def holds(self, *options):
        process = self.occupy("deploy", *options, program="./deploy.sh")
        return process, self.until_held("deploy", process)

    def waits(self):
        process = self.occupy("deploy", program="./deploy.sh")
        self.wait_for_queue("deploy", 2, process)
        return process

    def test_every_block_is_run(self):
        self.every_block_is_run()

    @recipes.block("$ holdfast show deploy")
    def test_1_look(self):
        self.holds()
        self.waits()
        if self.layout:
            self.text = recipes.with_layout(self.text, self.layout)
        self.follow()

    def deploy_and_copy(self, *options):
        return self.cross(("deploy", "./deploy.sh", "backup", "./upload.sh"),
                          ("backup", "./backup.sh", "deploy", "./copy.sh"),
                          options=options)

    @recipes.block("$ holdfast explain deploy")
    def test_1_a_deadlock(self):
        """And how it is ended."""
        runs = self.deploy_and_copy()
        _, ticket = self.wait_for_queue("deploy", 2, *runs)
        self.wait_for_queue("backup", 2, *runs)
        self.follow()
        os.kill(ticket["owner"]["pid"], signal.SIGTERM)
        self.assertEqual([self.finish(run)[0] for run in runs], [0, 143])

    def test_1_a_deadlock_that_ends_by_itself(self):
        runs = self.deploy_and_copy("--detect-deadlock")
        self.assertEqual(sorted(self.finish(run)[0] for run in runs), [0, 80])

    def test_1_both_at_once(self):
        command, = re.findall("`(holdfast run backup deploy [^`]*)`", re.sub(
            r"\s+", " ", self.document.text))
        self.program("./deploy.sh", "echo ran")
        self.assertEqual(self.shell(command), (0, "ran\n"))

    @recipes.block("$ holdfast revoke deploy")
    def test_2_ask(self):
        """One that does as it is asked."""
        process, _ = self.holds("--on-revoke", "TERM")
        waiter = self.waits()
        self.follow()
        self.assertEqual(self.finish(process)[0], 79)
        self.until_held("deploy", waiter)

    def test_2_ask_one_that_ignores_it(self):
        process, _ = self.holds()
        self.shell("holdfast revoke deploy")
        self.until_asked("deploy", process)
        self.assertIn("asked to release", self.shell("holdfast show deploy")[1])

    @recipes.block("$ kill 4711")
    def test_3_end_the_program(self):
        process, ticket = self.holds()
        waiter = self.waits()
        self.follow(("4711", str(ticket["owner"]["pid"])))
        self.assertEqual(self.finish(process)[0], 143)
        self.until_held("deploy", waiter)

    def test_3_a_command_that_does_not_end(self):
        """Kill it, and not holdfast."""
        self.program("./deploy.sh", "trap '' TERM; sleep 1000 & wait")
        process = self.start("deploy", "--", "./deploy.sh", cwd=self.directory)
        self.until_held("deploy", process)
        waiter = self.waits()
        os.kill(self.command(process), signal.SIGKILL)
        self.assertEqual(self.finish(process)[0], 137)
        self.until_held("deploy", waiter)

    @recipes.block("$ holdfast evict --yes deploy " + DOCUMENT_TOKEN)
    def test_4_evict(self):
        process, ticket = self.holds()
        waiter = self.waits()
        self.follow((DOCUMENT_TOKEN, ticket["token"]))
        self.assertEqual(self.finish(process)[0], 76)
        self.until_held("deploy", waiter)

    def test_4_evict_asks(self):
        _, ticket = self.holds()
        terminal = harness.Terminal(
            [harness.TOOL, "evict", "deploy", ticket["token"]],
            self.environment)
        self.addCleanup(terminal.close)
        terminal.expect(r"evict it\? \[y/N\]")
        terminal.write("n\n")
        terminal.drain()
        self.assertEqual(len(self.queue("deploy")), 1)

    def test_a_ticket_goes_by_itself(self):
        """When nobody is left to remove it."""
        self.shorten_lease()
        process, ticket = self.holds()
        waiter = self.waits()
        for pid in (process.pid, ticket["owner"]["pid"]):
            harness.kill(pid)
        self.until_held("deploy", waiter)


class OnFiles(Stuck, recipes.OnFiles):
    pass


class OnZooKeeper(Stuck, recipes.OnZooKeeper):
    pass


class OnRedis(Stuck, recipes.OnRedis):
    pass


class OnPostgreSql(Stuck, recipes.OnPostgreSql):
    pass


if __name__ == "__main__":
    unittest.main()
