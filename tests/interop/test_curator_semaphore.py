#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Curator's InterProcessSemaphoreV2 and InterProcessSemaphoreMutex, and ours,
on one path of a real ZooKeeper.

Curator takes several permits one by one.  So a Curator client that has some
permits can wait for one of ours, which wants more than are left and waits for
Curator's.  A client that takes several permits beside Curator needs a
deadline: these tests show that ours ends then, and Curator's here has one."""

import json
import os
import subprocess
import unittest

from test_interop import (CURATOR_JARS, Case, Contender, EACH, FINISH_S,
                          Library, NAME, PATH, Tool, jute, waiting)

LIMIT = 3
LOCKS = PATH + "/locks"
LEASES = PATH + "/leases"


class Semaphores(Case):
    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.directory, "log")

    # ---- contenders

    def curator_leaser(self, name, command, *arguments):
        return self.java(name, CURATOR_JARS, "CuratorLeaser", command,
                         self.server.address(), PATH, *arguments)

    def curator_taker(self, name, permits):
        return self.curator_leaser(name, "take", str(LIMIT), str(permits),
                                   self.log, name, str(EACH))

    def leaser(self, name, permits):
        return self.add(Library(name, [
            os.environ["LEASER"], self.url(), NAME, str(permits), str(LIMIT),
            self.log, name, str(EACH)]))

    def tool_of(self, name, permits, limit, *command):
        return self.add(Tool(name, [[
            os.environ["HOLDFAST"], "run", "-q", "--permits",
            "%d/%d" % (permits, limit), "-c", self.url(), NAME, "--",
            *command]] * EACH))

    def leasing_tool(self, name, permits):
        inside = 'echo "+ $1 $2 $HOLDFAST_TOKEN" >>"$0"; ' \
                 'echo "- $1 $2 $HOLDFAST_TOKEN" >>"$0"'
        return self.tool_of(name, permits, LIMIT, "sh", "-c", inside, self.log,
                            name, str(permits))

    def holder(self, permits, limit=LIMIT, *options):
        """Ours, until go_on()."""
        holder = self.add(Contender("holder", [
            os.environ["HOLDFAST"], "run", "-q", *options, "--permits",
            "%d/%d" % (permits, limit), "-c", self.url(), NAME, "--", "sh",
            "-c", "echo held; read -r line; echo released"]))
        return holder

    def run_tool(self, *options):
        return subprocess.run(
            [os.environ["HOLDFAST"], "run", *options, "-c", self.url(), NAME,
             "--", "true"], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=FINISH_S, check=False)

    def count(self, path):
        return len(self.client.children(path) or [])

    # ---- all at once

    def contend(self):
        """All queue behind a ticket of the test in the entry mutex, so that
        all contend from the first grant to the last."""
        for path in ("/interop", PATH, LOCKS):
            self.client.create(path)
        first, _ = self.client.create("%s/%s" % (LOCKS, self.first()),
                                      b"the test", jute.EPHEMERAL_SEQUENTIAL)
        for contender in self.contenders:
            contender.begin()
        waiting.eventually("everybody to queue", lambda: self.all_well() and
                           self.count(LOCKS) == len(self.contenders) + 1)
        self.assertEqual(self.count(LEASES), 0)
        self.client.delete(first)
        for contender in self.contenders:
            contender.finish()
        self.assertEqual((self.count(LOCKS), self.count(LEASES)), (0, 0))

    def check_permits(self):
        with open(self.log) as log:
            lines = [line.split() for line in log]
        inside, most, tokens = 0, 0, []
        for what, _, permits, token in lines:
            inside += int(permits) if what == "+" else -int(permits)
            self.assertLessEqual(inside, LIMIT)
            most = max(most, inside)
            if what == "+" and token != "0":
                tokens.append(token)
        self.assertEqual(inside, 0)
        self.assertGreater(most, 1)
        self.assertEqual(len(tokens), len(set(tokens)))
        for contender in self.contenders:
            self.assertEqual(sum(line[:2] == ["+", contender.name]
                                 for line in lines), EACH)

    def test_fn32_curator_with_holdfast(self):
        for i in range(2):
            self.curator_taker("curator-%d" % i, 1)
        for permits in (1, 2, 3):
            self.leaser("library-%d" % permits, permits)
        for permits in (1, 2):
            self.leasing_tool("tool-%d" % permits, permits)
        self.contend()
        self.check_permits()

    def test_curator_that_takes_two_with_holdfast(self):
        self.curator_taker("curator-0", 1)
        self.curator_taker("curator-1", 2)
        for permits in (1, 1, 2):
            self.leaser("library-%d" % len(self.contenders), permits)
        self.contend()
        self.check_permits()

    def test_semaphore_mutex_with_a_semaphore_of_one(self):
        """A semaphore of limit 1 is what Curator calls a semaphore mutex."""
        for i in range(2):
            name = "curator-%d" % i
            self.curator_leaser(name, "add", self.directory, name, str(EACH))
        for i in range(2):
            self.add(Library("library-%d" % i, [
                os.environ["CONTENDER"], "add-permit", self.url(), NAME,
                self.directory, "library-%d" % i, str(EACH)]))
        for i in range(2):
            name = "tool-%d" % i
            self.tool_of(name, 1, 1, os.environ["CONTENDER"], "once",
                         self.directory, name)
        self.contend()
        with open(self.log) as log:
            lines = [line.split() for line in log]
        total = EACH * len(self.contenders)
        self.assertEqual([int(line[2]) for line in lines],
                         list(range(1, total + 1)), "a lost update")
        tokens = [int(line[1]) for line in lines if line[1] != "0"]
        self.assertEqual(tokens, sorted(set(tokens)))
        for contender in self.contenders:
            self.assertEqual(sum(line[0] == contender.name for line in lines),
                             EACH)

    # ---- leases are seen by both

    def test_leases_are_read_both_ways(self):
        holder = self.holder(2)
        holder.expect("held")
        curator = self.curator_leaser("curator", "try", str(LIMIT))
        other = self.curator_leaser("other", "steps", str(LIMIT))
        for contender in (curator, other):
            contender.expect("ready")
        self.assertEqual(self.count(LEASES), 2)
        curator.go_on()
        curator.expect("taken 3")
        other.go_on()
        other.expect("1")
        curator.go_on()
        curator.expect("full 3")
        self.assertEqual(self.run_tool("--try", "--permits", "1/3").returncode,
                         75)
        shown = json.loads(subprocess.run(
            [os.environ["HOLDFAST"], "show", "--json", "-c", self.url(), NAME],
            capture_output=True, text=True, timeout=waiting.LIMIT_S,
            check=True).stdout)
        self.assertEqual([(t["state"], t["kind"], t["permits"], t["layout"])
                          for t in shown["tickets"]],
                         [("holds", "semaphore", 2, "curator"),
                          ("holds", "semaphore", 1, "curator")])
        self.assertEqual(shown["unknown"], [])
        holder.go_on()
        holder.expect("released")
        holder.finish()
        self.assertEqual(self.run_tool("--permits", "2/3").returncode, 0)

    def test_what_is_left_of_a_lease_goes_at_once(self):
        """Another client deletes one of three nodes: the command is stopped,
        and no node stays."""
        holder = self.holder(3)
        holder.expect("held")
        nodes = self.client.children(LEASES)
        self.assertEqual(len(nodes), 3)
        self.client.delete(LEASES + "/" + sorted(nodes)[1])
        waiting.eventually("the others to go", lambda: self.count(LEASES) == 0)
        self.assertNotEqual(holder.popen.wait(FINISH_S), 0)

    # ---- one by one

    def test_fn62_a_deadline_gets_out_of_curators_one_by_one(self):
        curator = self.curator_leaser("curator", "steps", "2")
        curator.expect("ready")
        curator.go_on()
        curator.expect("1")
        # Ours is next in line for two, and the second of Curator's behind it.
        ours = self.holder(2, 2, "-w", "3s")
        waiting.eventually("ours to queue", lambda: self.count(LOCKS) == 1)
        curator.go_on()
        waiting.eventually("Curator to queue", lambda: self.count(LOCKS) == 2)
        self.assertEqual(self.count(LEASES), 1)
        self.assertEqual(ours.popen.wait(FINISH_S), 75)
        curator.expect("2")


if __name__ == "__main__":
    unittest.main()
