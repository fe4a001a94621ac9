#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kazoo's Semaphore, as it comes, and ours with layout=kazoo on one path of a
real ZooKeeper.

kazoo writes the number of permits to the semaphore's node a moment after it
has made it, and looks for it but once: a client that comes in between goes by
its own number.  Ours is there from the node's first moment on."""

import json
import os
import subprocess
import unittest

from test_interop import (Case, Contender, EACH, FINISH_S, HERE, Library,
                          NAME, PATH, Tool, jute, waiting)

LIMIT = 3
ENTRY_MUTEX = PATH + "-__lock__"


class KazooSemaphore(Case):
    layout = "kazoo"

    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.directory, "log")

    # ---- contenders

    def kazoo_leaser(self, name, command="take", limit=LIMIT):
        rest = (self.log, name, str(EACH)) if command == "take" else ()
        return self.add(Contender(name, [
            "/usr/bin/python3", os.path.join(HERE, "kazoo_leaser.py"), command,
            self.server.address(), PATH, str(limit), *rest]))

    def leaser(self, name, permits):
        return self.add(Library(name, [
            os.environ["LEASER"], self.url(), NAME, str(permits), str(LIMIT),
            self.log, name, str(EACH)]))

    def leasing_tool(self, name, permits):
        inside = 'echo "+ $1 $2 $HOLDFAST_TOKEN" >>"$0"; ' \
                 'echo "- $1 $2 $HOLDFAST_TOKEN" >>"$0"'
        return self.add(Tool(name, [[
            os.environ["HOLDFAST"], "run", "-q", "--permits",
            "%d/%d" % (permits, LIMIT), "-c", self.url(), NAME, "--", "sh",
            "-c", inside, self.log, name, str(permits)]] * EACH))

    def run_tool(self, *options):
        return subprocess.run(
            [os.environ["HOLDFAST"], "run", *options, "-c", self.url(), NAME,
             "--", "true"], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=FINISH_S, check=False)

    def show(self):
        return json.loads(subprocess.run(
            [os.environ["HOLDFAST"], "show", "--json", "-c", self.url(), NAME],
            capture_output=True, text=True, timeout=waiting.LIMIT_S,
            check=True).stdout)

    def permits(self):
        return self.client.children(PATH) or []

    # ---- all at once

    def contend(self):
        """All queue behind a ticket of the test in the entry mutex, so that
        all contend from the first grant to the last."""
        self.client.create("/interop")
        self.client.create(ENTRY_MUTEX)
        first, _ = self.client.create(ENTRY_MUTEX + "/" + 32 * "0" + "__lock__", b"",
                                      jute.EPHEMERAL_SEQUENTIAL)
        for contender in self.contenders:
            contender.begin()
        waiting.eventually("everybody to queue", lambda: self.all_well() and
                           len(self.client.children(ENTRY_MUTEX)) ==
                           len(self.contenders) + 1)
        self.assertEqual(self.permits(), [])
        self.client.delete(first)
        for contender in self.contenders:
            contender.finish()

    def check_log(self):
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
        self.assertEqual(most, LIMIT, "nobody ever had company")
        self.assertEqual(len(tokens), len(set(tokens)))
        for contender in self.contenders:
            self.assertEqual(sum(line[:2] == ["+", contender.name]
                                 for line in lines), EACH)

    def test_kazoo_with_holdfast(self):
        for i in range(3):
            self.kazoo_leaser("kazoo-%d" % i)
        for permits in (1, 2, 3):
            self.leaser("library-%d" % permits, permits)
        for permits in (1, 2):
            self.leasing_tool("tool-%d" % permits, permits)
        self.contend()
        self.check_log()
        self.assertEqual(self.permits(), [])
        self.assertEqual(self.client.children(ENTRY_MUTEX), [])
        self.assertEqual(self.client.get(PATH)[0], b"%d" % LIMIT)

    # ---- sizes

    def test_kazoo_sees_our_size(self):
        self.assertEqual(self.run_tool("--permits", "2/3").returncode, 0)
        self.assertEqual(self.client.get(PATH)[0], b"3")
        other = self.kazoo_leaser("other", "hold", limit=4)
        other.expect("refused")
        other.finish()
        same = self.kazoo_leaser("same", "hold", limit=3)
        same.expect("held")
        same.go_on()
        same.expect("released")

    def test_we_see_kazoos_size(self):
        kazoo = self.kazoo_leaser("kazoo", "hold")
        kazoo.expect("held")
        run = self.run_tool("--permits", "1/4")
        self.assertEqual(run.returncode, 64, run.stderr)
        self.assertIn("the semaphore has 3 permits, says its node %s, and not "
                      "4" % PATH, run.stderr)
        self.assertEqual(self.run_tool("--permits", "2/3").returncode, 0)
        self.client.set(PATH, b"4")
        self.assertEqual(self.run_tool("--permits", "3/4").returncode, 0)
        kazoo.go_on()
        kazoo.expect("released")
        self.assertEqual(self.client.children(ENTRY_MUTEX), [])

    # ---- each waits for the other

    def holder(self, permits):
        """Ours, until its standard input ends."""
        holder = self.add(Contender("holder", [
            os.environ["HOLDFAST"], "run", "-q", "--permits",
            "%d/%d" % (permits, LIMIT), "-c", self.url(), NAME, "--", "sh",
            "-c", "echo held; read -r line; echo released"]))
        holder.expect("held")
        return holder

    def test_one_permit_is_one_child(self):
        holder = self.holder(2)
        shown = self.show()
        self.assertEqual([(t["state"], t["kind"], t["permits"])
                          for t in shown["tickets"]],
                         [("holds", "semaphore", 2)])
        self.assertEqual(shown["unknown"], [])
        names = self.permits()
        self.assertEqual(len(names), 2)
        for name in names:
            self.assertRegex(name, "^[0-9a-f]{32}$")
        self.kazoo_leaser("kazoo", "try").expect("taken")
        another = self.kazoo_leaser("another", "hold")
        another.expect("held")
        self.kazoo_leaser("late", "try").expect("full")
        self.assertEqual(self.run_tool("--try", "--permits", "1/3").returncode,
                         75)
        holder.go_on()
        holder.expect("released")
        holder.finish()
        self.assertEqual(self.run_tool("--permits", "2/3").returncode, 0)
        self.assertEqual(len(self.permits()), 1)
        another.go_on()
        another.expect("released")

    def test_kazoo_waits_for_us_and_we_for_kazoo(self):
        holder = self.holder(3)
        kazoo = self.kazoo_leaser("kazoo", "hold")
        waiting.eventually("kazoo to queue",
                           lambda: len(self.client.children(ENTRY_MUTEX)) == 1)
        holder.go_on()
        kazoo.expect("held")
        ours = self.add(Contender("ours", [
            os.environ["HOLDFAST"], "run", "-q", "--permits", "3/3", "-c",
            self.url(), NAME, "--", "echo", "entered"]))
        waiting.eventually("ours to queue",
                           lambda: len(self.client.children(ENTRY_MUTEX)) == 1)
        kazoo.go_on()
        ours.expect("entered")
        ours.finish()

    def test_a_try_leaves_the_entry_mutex_free(self):
        holder = self.holder(3)
        for _ in range(5):
            self.kazoo_leaser("kazoo", "try").expect("full")
            self.assertEqual(
                self.run_tool("--try", "--permits", "1/3").returncode, 75)
        self.assertEqual(self.client.children(ENTRY_MUTEX), [])
        holder.go_on()
        holder.finish()
        self.assertEqual(
            self.run_tool("-w", "10s", "--permits", "3/3").returncode, 0)


if __name__ == "__main__":
    unittest.main()
