# SPDX-License-Identifier: Apache-2.0
"""Commands that are started with some of the descriptors 0, 1 and 2 closed, as
some init scripts and job systems do.  A descriptor of the library that got such
a number would be written to by everybody who prints."""

import itertools
import os
import subprocess

import engines
import harness
from harness import waiting

# Each with every set of closed descriptors.
SETS = [closed for count in (1, 2, 3)
        for closed in itertools.combinations((0, 1, 2), count)]


class Closed:
    """A mixin."""

    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_URL"] = self.url()
        # As much as can be, for standard error.
        self.environment["HOLDFAST_LOG"] = "debug"
        # A core file would take its time.
        self.environment["ASAN_OPTIONS"] = os.environ.get(
            "ASAN_OPTIONS", "") + ":disable_coredump=1"

    def commands(self):
        return [["show", "held"], ["show", "--json", "held"], ["ls"],
                ["doctor"], ["explain", "held"], ["metrics", "held"],
                ["metrics"], ["revoke", "nobody"],
                ["evict", "--yes", "held", "01234567"],
                ["run", "--try", "held", "--", "true"],
                ["run", "free", "--", "true"],
                ["elect", "--restart", "never", "free", "--", "true"],
                ["torture", "--for", "100ms", "--count", "2", "free"],
                ["--version"], ["verify", "/dev/null"]]

    def started_with(self, closed, *words):
        """The exit status; what is open goes to /dev/null."""
        line = " ".join('%d%s/dev/null' % (fd, "<>"[fd > 0]) if fd not in closed
                        else "%d>&-" % fd for fd in (0, 1, 2))
        return subprocess.run(
            ["bash", "-c", 'exec "$@" ' + line, "bash", harness.TOOL, *words],
            env=self.environment, timeout=10 * waiting.LIMIT_S,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT).returncode

    def test_each_command(self):
        holder = self.holder(name="held")
        before = self.evidence()
        for words in self.commands():
            expected = self.started_with((), *words)
            for closed in SETS:
                with self.subTest(command=words, closed=closed):
                    status = self.started_with(closed, *words)
                    # What cannot be printed is a failure by itself.
                    allowed = (expected, 73) if 1 in closed else (expected,)
                    if words[0] == "torture":
                        # Whether it was granted anything by then or not.
                        allowed += (0, 65)
                    self.assertIn(status, allowed)
        self.assertEqual(self.evidence(), before)
        self.assertEqual(self.finish(holder)[0], 0)

    def evidence(self):
        """What must not be written to."""
        return None

    def test_output_that_cannot_be_written_is_a_failure(self):
        for words in (["show", "held"], ["ls"], ["metrics", "held"]):
            with self.subTest(command=words):
                self.assertEqual(self.started_with((), *words), 0)
                self.assertNotEqual(self.started_with((1,), *words), 0)

    def test_a_command_finds_them_closed(self):
        """As it would without holdfast."""
        script = ("import os; seen = [str(fd) for fd in range(3) if "
                  "os.path.exists('/proc/self/fd/%%d' %% fd)]; "
                  "open('%s', 'w').write(' '.join(seen))" % self.path("seen"))
        for closed in SETS:
            with self.subTest(closed=closed):
                self.assertEqual(self.started_with(
                    closed, "run", "free", "--", "/usr/bin/python3", "-c",
                    script), 0)
                with open(self.path("seen")) as file:
                    seen = {int(word) for word in file.read().split()}
                self.assertEqual(seen, {0, 1, 2} - set(closed))


class OnFiles(Closed, engines.File, harness.Case):
    def evidence(self):
        """The head of the counter of tokens, which no ticket changes: text
        that was written to the file would begin there."""
        with open(os.path.join(self.locks, "counter"), "rb") as file:
            return file.read(32)


class OnZooKeeper(Closed, engines.ZooKeeper, harness.Case):
    def commands(self):
        return super().commands() + [["zk", "ls", "/"], ["zk", "export", "/"],
                                     ["zk", "stat", "/"]]


if __name__ == "__main__":
    harness.main()
