#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast run with several names, and with permits of a semaphore.

    test_several.py Names Permits [OnFiles] [OnZooKeeper] [OnEtcd] [OnRedis]
                    [OnPostgreSql]
"""

import os
import subprocess

import engines
import harness
from harness import waiting


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

    def test_as_many_as_there_may_be(self):
        names = [str(number) for number in range(65)]
        self.assertEqual(self.run_tool(*names[1:], "--", "true"), (0, "", ""))
        status, _, err = self.run_tool(*names, "--", "true")
        self.assertEqual(status, 64)
        self.assertIn("expected at most 64", err)

    def test_given_twice(self):
        status, _, err = self.run_tool("a", "b", "/a", "--", "true")
        self.assertEqual(status, 64)
        self.assertIn("given twice", err)

    def test_options_among_them(self):
        status, _, err = self.run_tool("a", "--try", "b", "--", "true")
        self.assertEqual(status, 64)
        self.assertIn("options stand before NAME", err)


class Which:
    """Of several locks the one is named that somebody else has, that was asked
    for or that was lost."""

    NAMES = ("a/1", "b/2", "c/3")
    ALL = "'a/1 and 2 more'"
    BEFORE_THE_GRANT = "not started"

    def hold(self, *names):
        return self.holder("-c", self.url(), *names[:-1], name=names[-1])

    def start_all(self, *options, command=("true",)):
        return self.start("-c", self.url(), *options, *self.NAMES, "--",
                          *command)

    def hold_all(self, *options):
        process = self.start_all(
            *options, command=("sh", "-c", "echo held; exec sleep 1000"))
        waiting.read_line(process, "held")
        return process

    def test_one_that_is_held(self):
        holder = self.hold("b/2")
        held = "\"b/2\": held by holdfast (pid %d on " % self.supervisor(holder)
        status, _, err = self.finish(self.start_all("-n"))
        self.assertEqual(status, 75, err)
        self.assertIn(self.ALL + " was not obtained: " + held, err)
        # A busy machine may take longer until there is a connection at all.
        for limit in "500ms", "2s", "8s", "32s":
            status, _, err = self.finish(self.start_all("-w", limit))
            if status != 69:
                break
        self.assertEqual(status, 75, err)
        self.assertRegex(err, self.ALL + ' was not obtained: "b/2": waited ')
        self.finish(holder)

    def test_one_of_another_kind(self):
        holder = self.hold("c/3")
        status, _, err = self.finish(self.start_all("--read"))
        self.assertEqual(status, 64)
        self.assertIn("\"c/3\": the name is in use as a mutex", err)
        self.finish(holder)

    def test_the_one_that_is_waited_for(self):
        first, last = self.hold("a/1"), self.hold("c/3")
        terminal = harness.Terminal(
            [harness.TOOL, "run", "-c", self.url(), *self.NAMES, "--", "true"],
            self.environment)
        self.addCleanup(terminal.close)
        terminal.expect("waiting for 'a/1' of %s " % self.ALL)
        self.finish(first)
        terminal.expect("waiting for 'c/3' of %s " % self.ALL)
        self.finish(last)
        terminal.drain()

    def test_one_that_was_evicted(self):
        process = self.hold_all()
        ticket, = self.tickets_of("b/2")
        done = subprocess.run(
            [harness.TOOL, "evict", "-c", self.url(), "--yes", "b/2",
             ticket["id"]], text=True, capture_output=True,
            env=self.environment, timeout=waiting.LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        status, _, err = self.finish(process)
        self.assertEqual(status, 76, err)
        self.assertRegex(err, self.ALL + ' was lost while the command ran, .*: '
                         'the grant of "b/2" was lost: ')

    def test_one_that_is_asked_for(self):
        process = self.hold_all("-v", "--on-revoke", "exit")
        self.revoke("b/2", "mutex")
        status, _, err = self.finish(process)
        self.assertEqual(status, 79, err)
        self.assertIn("somebody asks for \"b/2\" to be released", err)
        self.assertIn("another program asks for 'b/2'", err)
        self.assertIn(self.ALL + " was released because another program asked "
                      "for 'b/2'; the command was stopped", err)

    def test_one_that_is_asked_for_during_the_wait(self):
        last = self.hold("c/3")
        process = self.start_all("--on-revoke", "exit",
                                 command=("sleep", "1000"))
        self.until_queued("c/3", 2, process)
        ticket, = self.tickets_of("b/2")
        self.revoke("b/2", "mutex", ticket["id"])
        self.finish(last)
        status, _, err = self.finish(process)
        self.assertEqual(status, 79, err)
        self.assertRegex(err, "asked for 'b/2'; the command was " +
                         self.BEFORE_THE_GRANT)


class OnFiles(Which, engines.File, harness.Case):
    def test_permits_of_one(self):
        """A semaphore has two tickets, and one name."""
        holder = self.holder("-p", "1/1", name="b/2")
        status, _, err = self.finish(self.start_all("-n", "-p", "1/1"))
        self.assertEqual(status, 75)
        self.assertIn("\"b/2\": held by holdfast (pid %d on " %
                      self.supervisor(holder), err)
        self.finish(holder)

    def test_one_that_a_run_around_holds(self):
        """Nothing is refused before a writer has come in between."""
        process = self.start(
            "--read", "b/2", "--", "sh", "-c", "echo held; read line; "
            "exec %s run --read a/1 b/2 c/3 -- true" % harness.TOOL,
            stdin=subprocess.PIPE)
        waiting.read_line(process, "held")
        writer = self.start("--write", "b/2", "--", "true")
        self.queued(2)
        process.stdin.write("go\n")
        status, _, err = self.finish(process)
        self.assertEqual(status, 64, err)
        self.assertIn("'b/2' is held already by the run that this one is part "
                      "of", err)
        self.assertEqual(self.finish(writer)[0], 0)


class OnZooKeeper(Which, engines.ZooKeeper, harness.Case):
    pass


class OnEtcd(Which, engines.Etcd, harness.Case):
    # There is no order between two tickets.  The server serves the watch of the
    # own one ten times a second, so the grant may be first.
    BEFORE_THE_GRANT = "(not started|stopped)"


class OnRedis(Which, engines.Redis, harness.Case):
    pass


class OnPostgreSql(Which, engines.PostgreSql, harness.Case):
    pass


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
