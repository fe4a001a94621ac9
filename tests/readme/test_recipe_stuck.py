#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/recipes/stuck.md, on each engine with its real server."""
import os
import re
import signal
import subprocess
import unittest

import recipes
from recipes import harness, waiting

import engines

DOCUMENT_TOKEN = "1795281410297985"


class Stuck:
    document = recipes.document("stuck.md")
    layout = None  # what the column LAYOUT says, where there is one

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
            self.text = re.sub(r"(?m)(TOKEN)|(?<= )(\d{10,})",
                               lambda match: f"{match[0]} " + (
                                   "LAYOUT" if match[1] else self.layout),
                               self.text)
        self.follow()

    def cross(self, *options):
        """Two runs that take two locks in opposite orders, and what is inside
        of each."""
        self.program("./upload.sh", "true")
        self.program("./copy.sh", "true")
        inner = " ".join(["exec holdfast run", *options])
        for name, other, program in (("deploy", "backup", "upload.sh"),
                                     ("backup", "deploy", "copy.sh")):
            self.program(f"./{name}.sh",
                         f"echo holds; read _; {inner} {other} -- ./{program}")
        runs = [self.start(name, "--", f"./{name}.sh", cwd=self.directory,
                           stdin=subprocess.PIPE)
                for name in ("deploy", "backup")]
        for run in runs:
            waiting.read_line(run, "holds")
        for run in runs:
            run.stdin.write("\n")
            run.stdin.flush()
        return runs

    @recipes.block("$ holdfast explain deploy")
    def test_1_a_deadlock(self):
        """And how it is ended."""
        runs = self.cross()
        _, ticket = self.wait_for_queue("deploy", 2, *runs)
        self.wait_for_queue("backup", 2, *runs)
        self.follow()
        os.kill(ticket["owner"]["pid"], signal.SIGTERM)
        self.assertEqual([self.finish(run)[0] for run in runs], [0, 143])

    def test_1_a_deadlock_that_ends_by_itself(self):
        runs = self.cross("--detect-deadlock")
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

        def has_arrived():
            """Until then a text of ZooKeeper's may say only the request."""
            owner = self.queue("deploy")[0]["owner"]
            return owner and owner["asked"]
        waiting.eventually("the message to arrive", has_arrived,
                           of=[process])
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


class OnFiles(Stuck, recipes.Leased, engines.File, recipes.Case):
    pass


class OnZooKeeper(Stuck, recipes.ZooKeeper, recipes.Case):
    layout = "curator"


class OnRedis(Stuck, recipes.Leased, engines.Redis, recipes.Case):
    layout = "redis"

    def tearDown(self):
        super().tearDown()
        with self.server.client() as client:
            client.ask("FLUSHALL")  # not to wait for leases


class OnPostgreSql(Stuck, recipes.Leased, engines.PostgreSql, recipes.Case):
    def setUp(self):
        super().setUp()
        # `show` does not make the schema.
        self.assertEqual(self.shell("holdfast run deploy -- true"), (0, ""))

    def tearDown(self):
        super().tearDown()
        self.server.sql("DELETE FROM holdfast.ticket")


if __name__ == "__main__":
    unittest.main()
