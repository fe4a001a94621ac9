#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The transcripts of docs/tour.md, on each engine with its real server; those that
name ZooKeeper in their commands, on ZooKeeper."""
import re
import signal
import subprocess
import unittest

import recipes
from recipes import harness, waiting

from ensemble import Ensemble

# What it calls the reader's servers, and a token.
SERVERS = "zk://zk1,zk2,zk3"
TOKEN = "1795281410297985"

ELECT = "$ holdfast elect scheduler -- ./scheduler"


class Screens:
    document = recipes.tour()

    def holds(self, name="nightly", *options, program="./report.sh"):
        process = self.occupy(name, *options, program=program)
        return process, self.until_held(name, process)

    def waits(self, name="nightly", count=2):
        process = self.occupy(name, program="./report.sh")
        self.wait_for_queue(name, count, process)
        return process

    def begin(self, command):
        """A command that goes on until the test ends."""
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", "sh", "-c",
             "exec " + command], text=True, process_group=0,
            cwd=self.directory, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.started.append(process)
        return process

    def campaign(self):
        """The command of this test's block, which prints a line; the line."""
        (command, wanted), = recipes.transcript(self.text)
        self.program("./scheduler", "exec sleep 1000")
        return self.begin(command), wanted

    @recipes.block(ELECT)
    def test_elect(self):
        leader, wanted = self.campaign()
        self.assert_printed(waiting.read_line(leader, stream="stderr"), wanted)

    @recipes.block(ELECT, 2)
    def test_elect_another(self):
        """It leads when the first one is stopped, and says what that said."""
        first = recipes.blocks(self.document)[ELECT, 1]
        (_, leads), = recipes.transcript(first)
        leader, _ = self.campaign()
        self.assert_printed(waiting.read_line(leader, stream="stderr"), leads)
        follower, wanted = self.campaign()
        self.assert_printed(waiting.read_line(follower, stream="stderr"),
                            wanted)
        leader.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(leader)[0], 143)
        self.assert_printed(waiting.read_line(follower, stream="stderr"), leads)

    @recipes.block("$ holdfast show nightly")
    def test_show(self):
        self.holds()
        self.waits()
        if self.layout:
            self.text = recipes.with_layout(self.text, self.layout)
        self.follow()

    @staticmethod
    def event(watch):
        """The next line of a watch, without the gaps of a busy machine."""
        line = waiting.read_line(watch)
        while re.search(r"Z gap\b", line):
            line = waiting.read_line(watch)
        return line

    @recipes.block("$ holdfast show --watch nightly")
    def test_watch(self):
        """A line is awaited before the next one is caused."""
        (command, wanted), = recipes.transcript(self.text)
        there, came, gone, granted = wanted.splitlines()
        holder, _ = self.holds()
        watch = self.begin(command)
        self.assert_printed(self.event(watch), there)
        self.waits()
        self.assert_printed(self.event(watch), came)
        holder.send_signal(signal.SIGTERM)
        self.assert_printed(self.event(watch), gone)
        self.assert_printed(self.event(watch), granted)

    @recipes.block("$ holdfast metrics nightly | grep -v '#'")
    def test_metrics(self):
        self.holds()
        self.waits()
        self.follow()

    @recipes.block("$ holdfast ls --long app")
    def test_ls(self):
        self.holds("app/report")
        for count in (2, 3):
            self.waits("app/report", count)
        for _ in range(2):
            self.holds("app/workers", "--permits", "1/2", program="./work.py")
        # The order is that in which they are found.
        self.follow(("--long app", "--long app | LC_ALL=C sort"))

    @recipes.block("$ holdfast revoke nightly")
    def test_revoke_and_evict(self):
        """The second command asks, on a terminal."""
        (revoke, asked), (evict, question) = recipes.transcript(self.text)
        holder, ticket = self.holds()
        waiter = self.waits()
        status, said = self.shell(revoke)
        self.assertEqual(status, 0, said)
        self.assert_printed(said, asked)
        self.until_asked("nightly", holder)
        terminal = harness.Terminal(
            ["sh", "-c", evict.replace(TOKEN, ticket["token"])],
            self.environment)
        self.addCleanup(terminal.close)
        terminal.expect(r"\[y/N\]")
        self.assert_printed(terminal.text, question)
        terminal.write("y\n")
        terminal.drain()
        self.assertEqual(self.finish(holder)[0], 76)
        self.until_held("nightly", waiter)

    @recipes.block("$ holdfast explain a")
    def test_a_deadlock(self):
        runs = self.cross(("a", "./deploy.sh", "b", "./restart.sh"),
                          ("b", "./b.sh", "a", "./migrate.sh"))
        for name in "ab":
            self.wait_for_queue(name, 2, *runs)
        self.follow()

    def test_doctor(self):
        """Its transcript is of ZooKeeper; here that it finds no error, and
        ends with its summary."""
        self.holds()
        status, said = self.shell("holdfast doctor --probe")
        self.assertIn(status, (0, 1), said)
        self.assertRegex(said, r"\nok +probe: (?s:.*)\n(\d+ \w+, )*\d+ ok\n$")


class OnFiles(Screens, recipes.OnFiles):
    def test_every_block_is_run(self):
        self.every_block_is_run(OnZooKeeper, Examined)


class OnZooKeeper(Screens, recipes.OnZooKeeper):
    @recipes.block(f"$ export HOLDFAST_URL={SERVERS}")
    def test_nodes(self):
        self.follow((SERVERS, self.url()))
        status, said = self.shell("gunzip -c app.gz")
        self.assertEqual(status, 0, said)
        self.assertRegex(said, '"/config/db".*"aDI="')  # base64 of h2


class OnRedis(Screens, recipes.OnRedis):
    pass


class OnPostgreSql(Screens, recipes.OnPostgreSql):
    pass


class Examined(recipes.Case):
    """An ensemble of three, one of which is dead.  zk1 is the living follower;
    by the address 0.0.0.0 they are here, and count as other machines."""

    document = recipes.tour()

    @classmethod
    def setUpClass(cls):
        cls.ensemble = Ensemble(tick_ms=2000)
        cls.addClassCleanup(cls.ensemble.close)

    @recipes.block(f"$ holdfast doctor -c {SERVERS} --probe")
    def test_doctor(self):
        follower, dead = self.ensemble.followers()
        leader, = set(self.ensemble.servers) - {follower, dead}
        dead.kill()
        address = {f"zk{number}": f"0.0.0.0:{server.port}" for number, server
                   in enumerate((follower, leader, dead), 1)}
        for name, ours in address.items():
            self.text = self.text.replace(f"{name}:2181", ours)
        self.text = self.text.replace("plain-text: zk1:",
                                      "plain-text: 0.0.0.0:")
        self.follow((SERVERS, "zk://" + ",".join(address.values())))


if __name__ == "__main__":
    unittest.main()
