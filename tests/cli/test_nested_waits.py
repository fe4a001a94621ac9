# SPDX-License-Identifier: Apache-2.0
"""A run or a hold that waits inside of a run: does the outer one wait with it?

Only then a deadlock goes through what the outer run holds.  A wait that counts
although the outer run goes on makes somebody fail who would have got the lock.
"""

import contextlib
import json
import re
import signal
import subprocess
import sys

import harness
from harness import waiting

TOOL = harness.TOOL
PYTHON = sys.executable

# What the command of the outer run is; INNER is the words of the run inside.
# The outer run goes on by itself at the line that it reads, or can do so.
INNER = '%s run -q $D inner -- true' % TOOL
GOES_ON = {
    "in the background": ["bash", "-c", INNER + " & read line"],
    "in the background of dash": ["dash", "-c", INNER + " & read line"],
    "with a limit": ["bash", "-c",
                     INNER.replace("run", "run -w 1h") + "; read line"],
    "beside another child": ["bash", "-c", "sleep 3600 & " + INNER + "; :"],
    "beside an orphan": ["bash", "-c", "(sleep 3600 &); " + INNER + "; :"],
    "into a pipe that is read": ["bash", "-c", "x=$(%s; :); :" % INNER],
    "from xargs": ["bash", "-c", "echo 1 2 | xargs -n 1 -P 2 sh -c '%s #'"
                   % INNER],
    "from python": [PYTHON, "-c", "import subprocess, sys; "
                    "p = subprocess.Popen(sys.argv[1:])\n"
                    "try: p.wait(3600)\n"
                    "except subprocess.TimeoutExpired: pass",
                    "sh", "-c", INNER],
    "from python without a timeout": [
        PYTHON, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])",
        "sh", "-c", INNER],
    "from timeout": ["timeout", "3600", "sh", "-c", INNER],
    "a shell with a timer of another program": [
        "perl", "-e", "alarm 3600; exec @ARGV", "bash", "-c", INNER + "; :"],
    "a run with a timer of another program": [
        "perl", "-e", "alarm 3600; exec @ARGV", TOOL, "run", "-q", "inner",
        "--", "true"],
    "a shell in a shell": ["bash", "-c", "bash -c '%s; :'; :" % INNER],
    "a trap and a wait beside a timer": [
        "bash", "-c", "trap 'exit 0' TERM; (sleep 3600; kill $$) & " + INNER +
        " & wait $!"],
}

WAITS = {
    "the command itself": [TOOL, "run", "-q", "inner", "--", "true"],
    "by exec": ["bash", "-c", "exec " + INNER],
    "in the foreground of bash": ["bash", "-c", INNER + "; exit $?"],
    "in the foreground of dash": ["dash", "-c", INNER + "; exit $?"],
    "in a subshell": ["bash", "-c", "(%s; :); exit $?" % INNER],
    "two deep": [TOOL, "run", "-q", "middle", "--", "bash", "-c",
                 INNER + "; exit $?"],
}


class Waits(harness.Case):
    def held(self, name):
        process = self.start("-q", name, "--", "sh", "-c",
                             "echo held; read line", stdin=subprocess.PIPE)
        waiting.read_line(process, "held")
        return process

    def tool(self, *arguments):
        return json.loads(subprocess.run(
            [TOOL, *arguments], env=self.environment, check=True,
            capture_output=True, text=True).stdout)

    def waiter(self, name="inner", number=0):
        tickets = [ticket for ticket in self.tool(
            "show", "--json", name)["tickets"] if ticket["state"] == "waits"]
        return tickets[number]["payload"] if len(tickets) > number else ""

    def age(self, name):
        return max((ticket["age_ms"] for ticket in self.tool(
            "show", "--json", name)["tickets"] if ticket["state"] == "waits"),
            default=0)

    def outer(self, command):
        self.environment["D"] = "-D"
        return self.start("-q", "outer", "--", *command, stdin=subprocess.PIPE)


    @contextlib.contextmanager
    def both(self, command):
        """(A holder of "inner", and a run of this command).  At the end of the
        block, also if that failed, both read the end of their input and end, so
        that the next one finds nobody."""
        inner = self.held("inner")
        outer = self.outer(command)
        try:
            yield inner, outer
        finally:
            inner.stdin.close()
            outer.stdin.close()
            outer.wait(waiting.LIMIT_S)
            inner.wait(waiting.LIMIT_S)


class NestedWaits(Waits):
    def test_those_that_go_on(self):
        for what, command in GOES_ON.items():
            with self.subTest(what), self.both(command) as (_, outer):
                waiting.eventually("the wait", self.waiter, of=[outer])
                # It has looked at the outer run some times by then.
                waiting.eventually("a second", lambda: self.age("inner") > 1000,
                                   of=[outer])
                waiting.eventually("its outer run", lambda: re.search(
                    r" outer=outer:[0-9a-f]{8}", self.waiter()), of=[outer])
                text = self.waiter()
                self.assertNotIn(" holds=", text)
                self.assertNotIn(" detect", text)
                self.assertEqual(" ends" in text, what == "with a limit", text)
                self.assertIsNone(
                    self.tool("explain", "--json", "inner")["deadlock"])

    def test_those_that_wait(self):
        for what, command in WAITS.items():
            with self.subTest(what):
                inner = self.held("inner")
                outer = self.outer(command)
                names = (["outer", "middle"] if what == "two deep"
                         else ["outer"])
                pattern = " holds=" + ",".join(
                    name + ":[0-9a-f]{8}" for name in names) + "$"
                waiting.eventually(
                    "holds=", lambda: re.search(pattern, self.waiter()),
                    of=[outer])
                self.assertNotIn("outer=", self.waiter())
                inner.stdin.close()
                inner.wait(waiting.LIMIT_S)
                outer.wait(waiting.LIMIT_S)

    def test_it_is_taken_back(self):
        """Somebody outside has a shell go on that waited."""
        inner = self.held("inner")
        outer = self.outer(["bash", "-c", "echo $$; trap 'read line' USR1; "
                            + INNER + " & wait; read line"])
        shell = int(outer.stdout.readline())
        waiting.eventually("holds=", lambda: " holds=" in self.waiter(),
                           of=[outer])
        harness.machine.signal_if(lambda: outer.poll() is None, shell,
                                  signal.SIGUSR1)
        waiting.eventually("outer=", lambda: " outer=" in self.waiter(),
                           of=[outer])
        self.assertNotIn(" holds=", self.waiter())
        inner.stdin.close()
        outer.stdin.close()
        inner.wait(waiting.LIMIT_S)
        outer.wait(waiting.LIMIT_S)

    def test_a_hold(self):
        """The end of standard input ends its wait, if it reads that."""
        for options, waits in (("-U", True), ("", False),
                               ("-U -w 1h", False)):
            with self.subTest(options):
                inner = self.held("inner")
                outer = self.outer(["bash", "-c", "%s hold -q %s inner; exit $?"
                                    % (TOOL, options)])
                if waits:
                    waiting.eventually(
                        "holds=", lambda: re.search(
                            " holds=outer:[0-9a-f]{8}$", self.waiter()),
                        of=[outer])
                else:
                    waiting.eventually(
                        "a second", lambda: self.age("inner") > 1000,
                        of=[outer])
                    self.assertRegex(self.waiter(), " outer=outer:[0-9a-f]{8}")
                    self.assertNotIn(" holds=", self.waiter())
                outer.terminate()
                outer.wait(waiting.LIMIT_S)
                inner.stdin.close()
                inner.wait(waiting.LIMIT_S)


class Looks(Waits):
    """The whole of it: somebody looks for a deadlock."""

    def both_wait(self, inner, known=lambda: True):
        """The second one begins to wait when ${known} says that enough is known
        of the first one's wait."""
        first = self.start("-q", "a", "--", "bash", "-c", inner,
                           stdin=subprocess.PIPE)
        second = self.start("-q", "b", "--", "bash", "-c",
                            "echo held; read line; %s run -q -D a -- true; "
                            "exit $?" % TOOL, stdin=subprocess.PIPE)
        waiting.read_line(second, "held")
        first.stdin.write("go\n")
        first.stdin.flush()
        self.queued(3)
        waiting.eventually("the first one's wait", known, of=[first])
        second.stdin.write("go\n")
        second.stdin.flush()
        self.queued(4)
        return first, second


class NobodyFails(Looks):
    """Somebody who looks is granted what the outer run releases."""

    def test_in_the_background(self):
        first, second = self.both_wait(
            "read line; %s run -q b -- true & read line" % TOOL)
        # The waiter for "a" has looked by then.
        waiting.eventually("looks", lambda: self.age("a") > 1500, of=[second])
        first.stdin.close()
        self.assertEqual(self.finish(second)[0], 0)
        first.wait(waiting.LIMIT_S)

    def test_a_limit(self):
        """The waiter for "a" looks a second after it has begun to wait, well
        before the limit.  By then the first one's wait has said what it keeps
        from going on."""
        first, second = self.both_wait(
            "read line; %s run -q -w 8s b -- true; exit 0" % TOOL,
            lambda: self.age("b") > 1000)
        self.assertEqual(self.finish(second)[0], 0)
        self.assertEqual(first.wait(waiting.LIMIT_S), 0)


class SomebodyFails(Looks):
    def test_a_hold(self):
        first, second = self.both_wait(
            "read line; %s hold -qU b; exit $?" % TOOL,
            lambda: " holds=a:" in self.waiter("b"))
        status, _, err = self.finish(second)
        self.assertEqual(status, 80, err)
        self.assertIn("deadlock", err)
        first.terminate()
        first.wait(waiting.LIMIT_S)


if __name__ == "__main__":
    harness.main()
