# SPDX-License-Identifier: Apache-2.0
"""Signals to either of our two processes: while the lock is waited for and
while the command runs."""

import os
import re
import signal

import harness
from harness import waiting

# A command that prints each of the signals it expects, as often as
# it came, once the last has come.
COUNT = """
import signal, sys
signals = {int(word) for word in sys.argv[1:]}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
got = []
while not got or got[-1] != max(signals):
    got.append(int(signal.sigwait(signals)))
print(*got)
"""


class Running(harness.Case):
    def reporter(self, **options):
        launcher = self.start("lock", "--", *harness.REPORT_SIGNALS,
                              stdin=harness.subprocess.PIPE, **options)
        waiting.read_line(launcher, "ready")
        return launcher

    def each_of_both(self):
        """A function that finds the process to be signalled: `show` names the
        supervisor, the shell the launcher."""
        for find in (lambda launcher: launcher.pid, self.supervisor):
            with self.subTest(supervisor=find == self.supervisor):
                yield find

    def test_each_is_forwarded_once(self):
        for find in self.each_of_both():
            launcher = self.reporter()
            for name in ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM"):
                os.kill(find(launcher), getattr(signal, "SIG" + name))
                waiting.read_line(launcher, name)
            self.assertEqual(launcher.communicate(
                "end\n", timeout=waiting.LIMIT_S)[0], "")
            self.assertEqual(launcher.returncode, 9)

    def test_to_both_is_forwarded_once(self):
        """As pkill sends it: to every process of this name.  Real-time signals
        queue, in the order of their numbers, so that no copy hides in another
        one or comes behind the last."""
        one, last = signal.SIGRTMIN + 3, signal.SIGRTMIN + 10
        for order in (1, -1):
            launcher = self.start("lock", "--", "/usr/bin/python3", "-c", COUNT,
                                  str(one), str(last))
            waiting.read_line(launcher, "ready")
            for pid in [launcher.pid, self.supervisor(launcher)][::order]:
                os.kill(pid, one)
            os.kill(self.supervisor(launcher), last)
            self.assertEqual(self.finish(launcher),
                             (0, "%d %d\n" % (one, last), ""))

    def test_command_that_dies_of_it(self):
        for find in self.each_of_both():
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
                           signal.SIGQUIT, signal.SIGRTMIN + 3):
                launcher = self.holder()
                os.kill(find(launcher), number)
                # Not to end it by the end of its input.
                launcher.wait(waiting.LIMIT_S)
                self.assertEqual(self.finish(launcher)[0], 128 + number)
                self.assertEqual(self.tickets(), 0)

    def test_ignored_from_the_start_are_not_forwarded(self):
        """nohup, and background jobs of shells without job control."""
        for find in self.each_of_both():
            launcher = self.reporter(preexec_fn=lambda: [
                signal.signal(n, signal.SIG_IGN)
                for n in (signal.SIGHUP, signal.SIGINT)])
            os.kill(find(launcher), signal.SIGHUP)
            os.kill(find(launcher), signal.SIGINT)
            os.kill(find(launcher), signal.SIGUSR1)
            waiting.read_line(launcher, "USR1")
            self.assertEqual(launcher.communicate(
                "end\n", timeout=waiting.LIMIT_S)[0], "")

    def test_alarm_from_before_the_exec(self):
        """perl -e 'alarm 1; exec ...' is an old way to limit a run."""
        launcher = self.start("lock", "--", "cat", stdin=harness.subprocess.PIPE,
                              preexec_fn=lambda: signal.setitimer(
                                  signal.ITIMER_REAL, 0.2))
        self.assertEqual(launcher.wait(waiting.LIMIT_S),
                         128 + signal.SIGALRM)

    def test_stop_signals_to_the_supervisor_do_nothing(self):
        """The shell that controls the job stops and continues the launcher."""
        launcher = self.holder()
        for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGCONT):
            os.kill(self.supervisor(launcher), number)
        self.assertEqual(self.finish(launcher), (0, "", ""))

    def test_group_signal_ends_the_run(self):
        launcher = self.start("lock", "--", "sleep", "1000",
                              start_new_session=True)
        self.command(launcher)
        waiting.eventually("the command", lambda: os.getpgid(
            self.command(launcher)) == launcher.pid)
        os.killpg(launcher.pid, signal.SIGTERM)
        self.assertEqual(self.finish(launcher)[0], 128 + signal.SIGTERM)
        self.assertEqual(self.tickets(), 0)


class Waiting(harness.Case):
    def test_leaves_the_queue_and_dies_of_it(self):
        self.holder()
        for find in (lambda launcher: [launcher.pid],
                     lambda launcher: [self.supervisor(launcher)],
                     lambda launcher: [launcher.pid, self.supervisor(launcher)],
                     lambda launcher: [self.supervisor(launcher), launcher.pid]):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
                           signal.SIGQUIT):
                waiter = self.start("lock", "--", "echo", "ran")
                self.queued(2)
                for pid in find(waiter):
                    harness.kill(pid, number)
                self.assertEqual(self.finish(waiter), (-number, "", ""))
                self.assertEqual(self.tickets(), 1)

    def test_the_process_that_show_names(self):
        self.holder()
        waiter = self.start("lock", "--", "echo", "ran")
        self.queued(2)
        shown = harness.subprocess.run(
            [harness.TOOL, "show", "lock"], env=self.environment,
            capture_output=True, text=True).stdout.splitlines()
        os.kill(int(re.search(r"pid (\d+)", shown[2]).group(1)),
                signal.SIGTERM)
        self.assertEqual(self.finish(waiter), (-signal.SIGTERM, "", ""))
        self.assertEqual(self.tickets(), 1)

    def test_supervisor_of_a_stopped_launcher(self):
        """As for the launcher itself: it has to be continued first."""
        holder = self.holder()
        waiter = self.start("lock", "--", "echo", "ran")
        self.queued(2)
        os.kill(waiter.pid, signal.SIGSTOP)
        waiting.eventually("a stop",
                           lambda: harness.state_of(waiter.pid) == "T")
        os.kill(self.supervisor(waiter), signal.SIGTERM)
        os.kill(waiter.pid, signal.SIGCONT)
        self.assertEqual(self.finish(waiter), (-signal.SIGTERM, "", ""))
        self.assertEqual(self.tickets(), 1)
        self.finish(holder)

    def test_ignored_from_the_start(self):
        holder = self.holder()
        waiter = self.start("lock", "--", "echo", "ran",
                            preexec_fn=lambda: signal.signal(
                                signal.SIGINT, signal.SIG_IGN))
        self.queued(2)
        os.kill(waiter.pid, signal.SIGINT)
        self.finish(holder)
        self.assertEqual(self.finish(waiter), (0, "ran\n", ""))

    def test_signal_and_grant_at_once(self):
        """In either order the command does not run after the ticket was
        removed, and no ticket stays."""
        for _ in range(20):
            holder = self.holder()
            waiter = self.start("lock", "--", "echo", "ran")
            self.queued(2)
            holder.stdin.close()
            os.kill(waiter.pid, signal.SIGTERM)
            out = waiter.stdout.read()
            status = waiter.wait(waiting.LIMIT_S)
            self.assertIn((status, out), ((-signal.SIGTERM, ""), (0, "ran\n"),
                                          (128 + signal.SIGTERM, ""),
                                          (128 + signal.SIGTERM, "ran\n")))
            holder.wait(waiting.LIMIT_S)
            self.queued(0)

    def test_killed_waiter_leaves_the_queue(self):
        holder = self.holder()
        for victim in (lambda launcher: launcher.pid, self.supervisor):
            waiter = self.start("lock", "--", "echo", "ran")
            self.queued(2)
            os.kill(victim(waiter), signal.SIGKILL)
            status, out, err = self.finish(waiter)
            self.assertIn(status, (-signal.SIGKILL, 70))
            self.assertEqual(out, "")
            self.assertEqual(self.run_tool("-w", "20ms", "-q", "lock", "--",
                                           "true")[0], 75)
            # A dead ticket is removed by the next who looks.
        last = self.start("lock", "--", "echo", "last")
        self.finish(holder)
        self.assertEqual(self.finish(last), (0, "last\n", ""))


class Stopping(harness.Case):
    """Without a shell that controls jobs nobody could continue the launcher."""

    def stopped(self, pid):
        waiting.eventually("a stop", lambda: harness.state_of(pid) == "T")

    def running(self, pid):
        waiting.eventually("its end", lambda: harness.state_of(pid) != "T")

    def test_keyboard_stop_without_job_control(self):
        launcher = self.start("lock", "--", "cat", start_new_session=True,
                              stdin=harness.subprocess.PIPE)
        command = self.command(launcher)
        os.kill(command, signal.SIGTSTP)
        self.running(command)
        self.assertNotEqual(harness.state_of(launcher.pid), "T")
        self.assertEqual(self.finish(launcher)[0], 0)

    def test_stop_of_the_command_alone(self):
        """SIGSTOP by hand: it stays stopped until it is continued by hand, or
        through the launcher."""
        launcher = self.start("lock", "--", "cat", start_new_session=True,
                              stdin=harness.subprocess.PIPE)
        command = self.command(launcher)
        for whom in (command, launcher.pid):
            os.kill(command, signal.SIGSTOP)
            self.stopped(command)
            os.kill(whom, signal.SIGCONT)
            self.running(command)
        self.assertEqual(self.finish(launcher)[0], 0)


if __name__ == "__main__":
    harness.main()
