# SPDX-License-Identifier: Apache-2.0
"""Exit statuses, and what is said with them."""

import os
import resource
import signal
import subprocess
import unittest

import harness
from harness import waiting


class Command(harness.Case):
    def test_exit_status_is_passed_through(self):
        for status in (0, 1, 64, 75, 76, 127, 255):
            self.assertEqual(
                self.run_tool("l", "--", "sh", "-c", "exit %d" % status),
                (status, "", ""))

    def test_signals_are_128_and_more(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV,
                       signal.SIGUSR1):
            self.assertEqual(
                self.run_tool("l", "--", "sh", "-c", "kill -%d $$" % number),
                (128 + number, "", ""))

    def test_command_that_is_not_there(self):
        status, _, err = self.run_tool("l", "--", "no-such-command")
        self.assertEqual(status, 127)
        self.assertEqual(err, "holdfast: cannot run 'no-such-command': "
                         "No such file or directory\n")

    def test_command_that_cannot_be_executed(self):
        path = self.path("plain")
        with open(path, "w") as file:
            file.write("text")
        for command in (path, self.directory):
            status, _, err = self.run_tool("l", "--", command)
            self.assertEqual(status, 126)
            self.assertIn("cannot run '%s'" % command, err)

    def test_status_when_child_signals_are_ignored(self):
        """A parent that ignores SIGCHLD hands that down."""
        status = self.run_tool(
            "l", "--", "sh", "-c", "exit 7",
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(status[0], 7)

    def test_closed_standard_descriptors(self):
        """Ours must not take their places."""
        script = ("open=; for n in 0 1 2; do"
                  " if [ -e /proc/$$/fd/$n ]; then open=\"$open$n\"; fi;"
                  " done; echo \"$open\" >%s; exit 5" % self.path("open"))
        for closed, left in ((0, "12"), (1, "02"), (2, "01"), (None, "")):
            fds = [0, 1, 2] if closed is None else [closed]
            process = subprocess.Popen(
                [harness.TOOL, "run", "l", "--", "sh", "-c", script],
                env=self.environment,
                preexec_fn=lambda: [os.close(fd) for fd in fds])
            self.assertEqual(process.wait(waiting.LIMIT_S), 5)
            with open(self.path("open")) as file:
                self.assertEqual(file.read().strip(), left)


class NotObtained(harness.Case):
    def test_try(self):
        self.holder()
        for options in (["--try"], ["-w", "0s"], ["-w", "0ms"]):
            status, out, err = self.run_tool(*options, "lock", "--", "echo")
            self.assertEqual((status, out), (75, ""))
            self.assertTrue(err.startswith("holdfast: "), err)

    def test_who_has_it(self):
        self.holder()
        for options, why in ((["--try"], ""),
                             (["-w", "50ms"], r"waited [\d.]+m?s; ahead: 1, ")):
            err = self.run_tool(*options, "lock", "--", "echo")[2]
            self.assertRegex(err, r"^holdfast: 'lock' was not obtained: " + why +
                             r"held by holdfast \(pid \d+ on [^ ]+\): sh -c, "
                             r"queued \d+s ago\n$")
        self.assertRegex(self.run_tool("--read", "lock", "--", "echo")[2],
                         r"in use as a mutex \(by holdfast \(pid \d+ on ")

    def test_timed(self):
        self.holder()
        status, out, err = self.run_tool("-w", "50ms", "lock", "--", "echo")
        self.assertEqual((status, out), (75, ""))
        self.assertNotIn("hf_", err)
        self.assertEqual(self.tickets(), 1)

    def test_fn64_leavers_ahead_put_no_deadline_off(self):
        holder = self.holder()
        leavers = []
        for count in range(12):
            leavers.append(self.start("lock", "--", "true"))
            self.queued(count + 2)
        last = self.start("-w", "2s", "lock", "--", "true")
        self.queued(len(leavers) + 2)
        # The one right before it, again and again: each time it looks anew.
        for left in range(len(leavers), 0, -1):
            try:
                last.wait(0.5)
                break
            except subprocess.TimeoutExpired:
                leavers[left - 1].terminate()
        self.assertGreater(left, 1, "it was put off until nobody left")
        self.assertEqual(self.finish(last)[0], 75)
        self.finish(holder)

    def test_replaced_status(self):
        self.holder()
        for number in (0, 1, 255):
            status = self.run_tool("-E", str(number), "--try", "lock", "--",
                                   "true")[0]
            self.assertEqual(status, number)

    def test_quiet(self):
        self.holder()
        self.assertEqual(self.run_tool("-q", "--try", "lock", "--", "true"),
                         (75, "", ""))

    def test_free_again(self):
        holder = self.holder()
        waiter = self.start("lock", "--", "echo", "mine")
        self.queued(2)
        self.assertEqual(self.finish(holder)[0], 0)
        self.assertEqual(self.finish(waiter), (0, "mine\n", ""))
        self.queued(0)

    def test_other_names_are_other_locks(self):
        self.holder()
        self.assertEqual(self.run_tool("--try", "lock2", "--", "true")[0], 0)


class Engine(harness.Case):
    def setUp(self):
        super().setUp()
        # In a sanitizer build: its leak checker wants descriptors and
        # processes of its own, which these tests take away.
        self.environment["ASAN_OPTIONS"] = "detect_leaks=0"

    def test_directory_that_is_a_file(self):
        with open(self.path("file"), "w"):
            pass
        status, _, err = self.run_tool("-c", "file:" + self.path("file"), "l",
                                       "--", "true")
        self.assertEqual(status, 73, err)
        self.assertIn(self.path("file"), err)

    def test_directory_that_cannot_be_written(self):
        if os.getuid() == 0:
            where = "/proc/holdfast"
        else:
            where = self.path("read-only")
            os.mkdir(where, 0o500)
        status, _, err = self.run_tool("-c", "file:" + where, "l", "--",
                                       "true")
        self.assertIn(status, (73, 77), err)
        self.assertIn(where, err)

    def test_out_of_descriptors(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
        status, _, err = self.run_tool("l", "--", "true", preexec_fn=limit)
        self.assertEqual(status, 71, err)
        self.assertIn("Too many open files", err)

    def test_every_low_limit_of_descriptors_is_reported(self):
        """Whatever runs out first, it is 71 or a run that worked.  How many are
        open at once depends on how soon others are closed."""
        statuses = []
        for count in range(4, 24):
            def limit():
                resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
            status, _, err = self.run_tool("l", "--", "true",
                                           preexec_fn=limit)
            self.assertIn(status, (0, 71), "%d: %s" % (count, err))
            statuses.append(status)
        self.assertEqual(statuses[0], 71)
        self.assertEqual(statuses[-1], 0)

    @unittest.skipIf(os.getuid() == 0 and not os.path.exists("/bin/setpriv")
                     and not os.path.exists("/usr/bin/setpriv"),
                     "root is not limited, and there is no setpriv")
    def test_out_of_processes(self):
        """The launcher starts none: RLIMIT_NPROC counts those of the user."""
        os.chmod(self.directory, 0o755)
        tool = [harness.TOOL, "run", "-c",
                "file:" + self.path("nobody"), "l", "--", "true"]
        if os.getuid() == 0:
            tool = ["setpriv", "--reuid=65534", "--clear-groups"] + tool

        def limit():
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        done = subprocess.run(["prlimit", "--nproc=0:0"] + tool,
                              capture_output=True, text=True,
                              env=self.environment)
        self.assertEqual(done.returncode, 71, done.stderr)
        self.assertIn("cannot start a process", done.stderr)


class Output(harness.Case):
    def test_silence_on_a_pipe(self):
        holder = self.holder()
        waiter = self.start("lock", "--", "true")
        self.queued(2)
        self.finish(holder)
        self.assertEqual(self.finish(waiter), (0, "", ""))

    def test_a_wait_is_printed_at_once_when_verbose(self):
        holder = self.holder()
        waiter = self.start("-v", "lock", "--", "true")
        line = ""
        while "waiting" not in line:
            line = waiting.read_line(waiter, stream="stderr")
        self.assertRegex(line, r"^holdfast: waiting for 'lock' \(0s, 1 ahead\), "
                         r"held by holdfast \(pid \d+ on .*\): sh -c, "
                         r"queued \d+s ago$")
        self.finish(holder)
        self.assertNotIn("waiting", self.finish(waiter)[2])
        self.assertNotIn("waiting",
                         self.run_tool("-v", "lock", "--", "true")[2])

    def test_verbose(self):
        status, out, err = self.run_tool("-v", "lock", "--", "sh", "-c",
                                         "echo $HOLDFAST_TOKEN")
        self.assertEqual(status, 0)
        self.assertIn("holdfast: engine file:%s\n" % self.locks, err)
        self.assertIn("holdfast: 'lock' granted, token %s" % out, err)

    def test_password_on_the_command_line(self):
        url = "nosuch://user:geheim@host/"
        _, _, err = self.run_tool("-c", url, "l", "--", "true")
        self.assertIn("warning: every user of this machine can read", err)
        self.assertNotIn("geheim", err)
        _, _, err = self.run_tool("-q", "-c", url, "l", "--", "true")
        self.assertNotIn("warning", err)
        self.environment["HOLDFAST_URL"] = url
        _, _, err = self.run_tool("l", "--", "true")
        self.assertNotIn("warning", err)
        self.assertNotIn("geheim", err)


if __name__ == "__main__":
    harness.main()
