#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/recipes/leader.md and scheduler.service, on a real ZooKeeper."""
import re
import shlex
import socket
import unittest

import recipes
import units
from recipes import waiting


class Leader(recipes.ZooKeeper, recipes.Case):
    document = recipes.document("leader.md")

    def setUp(self):
        super().setUp()
        self.program("scheduler", units.SERVICE)
        self.unit = units.Unit("scheduler.service")

    def test_every_block_is_run(self):
        self.every_block_is_run()

    def says(self, process):
        """The block of this test is its first line."""
        (command, wanted), = recipes.transcript(self.text)
        self.assertEqual(command, "holdfast elect scheduler -- scheduler")
        self.assertRegex(waiting.read_line(process, stream="stderr"),
                         f"^{recipes.expected(wanted)}$")

    def leader(self):
        process = self.unit.start(self)
        waiting.read_line(process, "began")
        return process

    @recipes.block("$ holdfast elect scheduler -- scheduler")
    def test_one_leads(self):
        self.says(self.leader())

    @recipes.block("$ holdfast elect scheduler -- scheduler", 2)
    def test_another_one_follows(self):
        leader = self.leader()
        follower = self.unit.start(self)
        self.says(follower)
        units.stop(leader)
        status, out, _ = self.finish(leader)
        self.assertEqual((status, out), (143, "asked\n"))
        self.assertIn(status, self.unit.successes)
        waiting.read_line(follower, "began")

    def test_a_follower_is_ready(self):
        """As the unit says, to a service manager that the test plays."""
        self.assertEqual(self.unit.service["Type"], "notify")
        self.leader()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            self.environment["NOTIFY_SOCKET"] = self.path("notify")
            manager.bind(self.path("notify"))
            manager.settimeout(waiting.LIMIT_S)
            self.unit.start(self)
            said = manager.recv(4096).decode()
        shown, = re.findall(r'`Status: "(.*?)[.]{3}"`',
                            (recipes.RECIPES / "leader.md").read_text())
        self.assertTrue(said.startswith("READY=1\nSTATUS=" + shown), said)

    def test_a_follower_is_stopped(self):
        self.leader()
        follower = self.unit.start(self)
        self.wait_for_queue("scheduler", 2, follower)
        units.stop(follower)
        self.assertIn(self.finish(follower)[0], self.unit.successes)

    def test_wrong_commands_are_not_started_again(self):
        prevented = self.unit.service["RestartPreventExitStatus"].split()
        wrong = self.unit.command[:2] + ["--no-such-option", "x"]
        status, _, _ = self.finish(self.unit.start(self, wrong))
        self.assertIn(str(status), prevented)
        self.assertNotIn(status, self.unit.successes)
        self.assertFalse({"69", "76"} & set(prevented))

    @recipes.block("$ holdfast elect --on-lead 'echo up' --on-resign "
                   "'echo down' address")
    def test_hooks(self):
        (command, wanted), = recipes.transcript(self.text)
        leads, up = wanted.splitlines()
        process = self.start(*shlex.split(command)[2:], command="elect")
        self.assertRegex(waiting.read_line(process, stream="stderr"),
                         f"^{recipes.expected(leads)}$")
        waiting.read_line(process, up)
        units.stop(process)
        status, out, _ = self.finish(process)
        self.assertIn(status, self.unit.successes)
        self.assertEqual(out, "down\n")

    @recipes.block("$ holdfast show scheduler")
    def test_show(self):
        leader = self.leader()
        self.wait_for_queue("scheduler", 2, leader, self.unit.start(self))
        self.follow()

    @recipes.block("$ holdfast leading scheduler")
    def test_leading(self):
        self.wait_for_queue("scheduler", 1, self.leader())
        self.follow()

    def test_a_leader_is_asked(self):
        """`holdfast revoke scheduler`, and --on-revoke TERM."""
        command = [*self.unit.command]
        command[2:2] = ["--on-revoke", "TERM"]
        first = self.unit.start(self, command)
        waiting.read_line(first, "began")
        second = self.unit.start(self, command)
        self.wait_for_queue("scheduler", 2, first, second)
        self.assertEqual(self.shell("holdfast revoke scheduler")[0], 0)
        waiting.read_line(first, "asked")
        waiting.read_line(second, "began")
        self.wait_for_queue("scheduler", 2, first, second)


if __name__ == "__main__":
    unittest.main()
