# SPDX-License-Identifier: Apache-2.0
"""In a terminal, under an interactive shell and without one."""

import os
import re
import signal

import harness
from harness import waiting

PROMPT = "PROMPT> "


class Shell(harness.Case):
    def setUp(self):
        super().setUp()
        self.environment.update(PS1=PROMPT, TERM="xterm",
                                HISTFILE="/dev/null", LC_ALL="C.UTF-8",
                                T=harness.TOOL)
        self.terminals = []
        self.shell = self.terminal("bash", "--norc", "--noprofile",
                                   "--noediting", "-i")
        self.shell.expect(PROMPT)

    def tearDown(self):
        for terminal in self.terminals:
            terminal.close()
        super().tearDown()

    def terminal(self, *arguments):
        terminal = harness.Terminal(arguments, self.environment)
        self.terminals.append(terminal)
        return terminal

    def type(self, line):
        """A line the shell reads; its echo is skipped."""
        self.shell.write(line + "\n")
        self.shell.expect(re.escape(line) + "\r\n")

    def job(self):
        """The launcher of the job, which is the shell's child."""
        return waiting.eventually(
            "a job", lambda: harness.children(self.shell.pid))[0]

    def tree(self):
        """Launcher, supervisor and command, once the command has been
        started."""
        launcher = self.job()
        supervisor = waiting.eventually("the supervisor",
                                        lambda: harness.children(launcher))[0]

        def started():
            found = harness.children(supervisor)
            return found if found and os.getpgid(found[0]) == launcher else None
        command = waiting.eventually("the command", started)[0]
        return launcher, supervisor, command

    def stopped(self, *pids):
        for pid in pids:
            waiting.eventually("the stop of %d" % pid,
                               lambda: harness.state_of(pid) == "T")

    def running(self, *pids):
        for pid in pids:
            waiting.eventually("%d to go on" % pid,
                               lambda: harness.state_of(pid) != "T")

    def name(self, pid):
        try:
            with open("/proc/%d/comm" % pid) as file:
                return file.read().strip()
        except OSError:
            return ""

    # ---- the command in the foreground

    def test_reading_from_the_terminal(self):
        self.type("$T run lock -- sh -c 'read a; echo got $a'")
        self.shell.write("hello\n")
        self.shell.expect("got hello")
        self.shell.expect(PROMPT)

    def test_interrupt(self):
        self.type("$T run lock -- sleep 1000")
        self.tree()
        self.shell.write("\x03")
        self.shell.expect(PROMPT)
        self.type("echo status $?")
        self.shell.expect("status 130")

    def test_interrupt_reaches_the_command_once(self):
        self.type("$T run lock -- %s; echo status $?" % " ".join(
            harness.REPORT_SIGNALS))
        self.shell.expect("ready\r\n")
        self.shell.write("\x03")
        self.shell.expect("INT\r\n")
        self.shell.write("end\n")
        self.shell.expect("end\r\nstatus 9")
        self.shell.expect(PROMPT)
        self.assertEqual(self.shell.text.count("INT\r\n"), 1)

    def test_quit(self):
        self.type("$T run lock -- sleep 1000")
        self.tree()
        self.shell.write("\x1c")
        self.shell.expect(PROMPT)
        self.type("echo status $?")
        self.shell.expect("status 131")

    def test_stop_and_foreground(self):
        self.type("$T run lock -- cat")
        launcher, supervisor, command = self.tree()
        for number in range(3):
            self.shell.write("\x1a")
            self.shell.expect("Stopped")
            self.shell.expect(PROMPT)
            self.stopped(launcher, command)
            self.assertNotEqual(harness.state_of(supervisor), "T")
            self.type("fg")
            self.running(launcher, command)
            self.shell.write("line %d\n" % number)
            self.shell.expect("line %d\r\nline %d\r\n" % (number, number))
        self.shell.write("\x04")
        self.shell.expect(PROMPT)
        self.type("echo status $?")
        self.shell.expect("status 0")

    def test_a_stop_just_after_the_foreground_counts(self):
        """The supervisor, which was late, sees the second stop before it learns
        that the job was continued after the first."""
        checks = [os.environ.get("ASAN_OPTIONS", ""), "verify_asan_link_order=0"]
        late = self.path("late")
        self.type("LD_PRELOAD=%s HF_LATE=%s ASAN_OPTIONS=%s $T run lock -- cat" % (
            os.environ["LATE"], late, ":".join(filter(None, checks))))
        launcher, supervisor, command = self.tree()
        self.shell.write("\x1a")
        self.shell.expect("Stopped")
        self.shell.expect(PROMPT)
        self.stopped(launcher, command)
        with open(late, "w", encoding="ascii") as file:
            file.write(str(supervisor))
        os.kill(supervisor, signal.SIGCONT)  # which only wakes it
        waiting.eventually("the supervisor to be late",
                           lambda: os.path.exists(late + ".waits"))
        self.type("fg")
        self.running(launcher, command)
        waiting.eventually("the launcher to have read that it was continued",
                           lambda: harness.has_taken_signals(launcher))
        self.shell.write("line\n")
        self.shell.expect("line\r\nline\r\n")
        self.shell.write("\x1a")
        self.stopped(command)
        os.unlink(late)
        self.shell.expect("Stopped")
        self.shell.expect(PROMPT)
        self.stopped(launcher, command)

    def test_stop_and_foreground_of_nested_runs(self):
        """Between the inner launcher and the shell is a supervisor, whose
        session is another."""
        self.type("$T run lock -- $T run inner -- cat")
        launcher, supervisor, inner = self.tree()
        inner_supervisor = waiting.eventually(
            "the inner supervisor", lambda: harness.children(inner))[0]
        command = waiting.eventually(
            "the inner command", lambda: harness.children(inner_supervisor))[0]
        waiting.eventually("cat", lambda: self.name(command) == "cat")
        self.shell.write("\x1a")
        self.stopped(launcher, inner, command)
        self.shell.expect(PROMPT)
        self.assertNotEqual(harness.state_of(supervisor), "T")
        self.assertNotEqual(harness.state_of(inner_supervisor), "T")
        self.type("fg")
        self.running(launcher, inner, command)
        self.shell.write("line\n")
        self.shell.expect("line\r\nline\r\n")
        self.shell.write("\x04")
        self.shell.expect(PROMPT)

    def test_stopped_holder_keeps_the_lock(self):
        self.type("$T run lock -- cat")
        self.tree()
        self.shell.write("\x1a")
        self.shell.expect("Stopped")
        self.assertEqual(self.run_tool("-q", "--try", "lock", "--",
                                       "true")[0], 75)

    def test_stop_then_background(self):
        self.type("$T run lock -- sleep 1000")
        launcher, _, command = self.tree()
        self.shell.write("\x1a")
        self.shell.expect("Stopped")
        self.stopped(launcher, command)
        self.type("bg")
        self.running(launcher, command)
        self.type("kill %1; wait %1; echo status $?")
        self.shell.expect("status 143")

    def test_background_job_that_reads_is_stopped(self):
        self.type("$T run lock -- cat &")
        launcher, _, command = self.tree()
        self.stopped(launcher, command)
        self.type("jobs")
        self.shell.expect("Stopped")
        self.type("fg")
        self.running(launcher, command)
        self.shell.write("line\n")
        self.shell.expect("line\r\nline\r\n")
        self.shell.write("\x04")
        self.shell.expect(PROMPT)

    def test_continued_by_hand(self):
        """What stopped with the command, goes on with it."""
        self.type("$T run lock -- sleep 1000")
        launcher, _, command = self.tree()
        self.shell.write("\x1a")
        self.shell.expect("Stopped")
        self.stopped(launcher, command)
        os.kill(command, signal.SIGCONT)
        self.running(launcher)

    def test_many_stops_and_continues(self):
        """A stop reported late must not stop what was continued since."""
        # Not one that reads: the shell may have seen a stop that was in time,
        # and taken the terminal back.
        self.type("$T run lock -- sleep 1000")
        launcher, _, command = self.tree()
        for _ in range(200):
            os.kill(command, signal.SIGTSTP)
            os.killpg(launcher, signal.SIGCONT)
        os.killpg(launcher, signal.SIGCONT)
        self.running(launcher, command)
        os.kill(launcher, signal.SIGTERM)
        harness.ended(launcher)

    def test_command_with_job_control_of_its_own(self):
        self.type("$T run lock -- bash --norc --noprofile --noediting -i")
        self.shell.expect(PROMPT)
        self.type("cat")
        waiting.eventually("cat in the foreground", lambda: self.name(
            self.shell.foreground()) == "cat")
        self.shell.write("\x1a")
        self.shell.expect("Stopped")
        self.shell.expect(PROMPT)
        self.type("fg")
        waiting.eventually("cat in the foreground", lambda: self.name(
            self.shell.foreground()) == "cat")
        self.shell.write("line\n")
        self.shell.expect("line\r\nline\r\n")
        self.shell.write("\x04")
        self.shell.expect(PROMPT)
        self.type("exit 7")
        self.shell.expect(PROMPT)
        self.type("echo status $?")
        self.shell.expect("status 7")

    def test_pipeline(self):
        self.type("echo through | $T run lock -- cat | tr a-z A-Z")
        self.shell.expect("THROUGH")
        self.shell.expect(PROMPT)

    # ---- waiting

    def test_wait_is_shown_and_taken_away(self):
        holder = self.holder()
        self.type("$T run lock -- echo mine")
        shown = self.shell.expect(
            r"holdfast: waiting for 'lock' \((\d+s), 1 ahead\), "
            r"held by ([^\r]*)")
        self.assertRegex(shown.group(2), r"^holdfast \(pid \d+ on .+\)")
        self.shell.expect(r"\r\x1b\[Kholdfast: waiting for 'lock' \([1-9]")
        self.finish(holder)
        self.shell.expect(r"\r\x1b\[Kmine\r\n")
        self.shell.expect(PROMPT)

    def test_wait_is_one_line(self):
        holder = self.holder(name="n" * 150)
        self.type("stty cols 40")
        self.shell.expect(PROMPT)
        self.type("$T run %s -- true" % ("n" * 150))
        shown = self.shell.expect(r"\x1b\[K(holdfast: waiting[^\r]*)\r")
        self.assertLess(len(shown.group(1)), 40)
        self.finish(holder)
        self.shell.expect(PROMPT)

    def test_quiet_wait(self):
        holder = self.holder()
        self.type("$T run -q lock -- echo mine")
        self.queued(2)
        self.finish(holder)
        self.shell.expect("mine")
        self.assertNotIn("waiting for", self.shell.text)

    def test_background_wait_is_not_shown(self):
        holder = self.holder()
        self.type("$T run lock -- echo mine &")
        self.queued(2)
        self.finish(holder)
        self.shell.expect("mine")
        self.assertNotIn("waiting for", self.shell.text)

    def test_interrupted_wait(self):
        self.holder()
        self.type("$T run lock -- echo mine")
        self.shell.expect("waiting for")
        self.shell.write("\x03")
        self.shell.expect(PROMPT)
        self.type("echo status $?")
        self.shell.expect("status 130")
        self.assertEqual(self.tickets(), 1)

    def test_stopped_wait_starts_nothing(self):
        holder = self.holder()
        self.type("$T run lock -- echo mine")
        self.shell.expect("waiting for")
        self.shell.write("\x1a")
        self.shell.expect("Stopped")
        self.shell.expect(PROMPT)
        self.finish(holder)
        # The lock is held for the stopped job, as a stopped command would.
        self.assertEqual(self.run_tool("-q", "-w", "100ms", "lock", "--",
                                       "true")[0], 75)
        self.type("fg")
        self.shell.expect("mine\r\n")
        self.shell.expect(PROMPT)

    # ---- no shell above

    def test_stop_key_without_job_control(self):
        """As `ssh -t host holdfast run ...`: nobody could continue it."""
        terminal = self.terminal(harness.TOOL, "run", "lock", "--", "sh", "-c",
                                 "echo up; cat")
        terminal.expect("up")
        terminal.write("\x1a")
        terminal.write("line\n")
        terminal.expect("line\r\n(.*\r\n)*line\r\n")
        terminal.write("\x04")
        terminal.drain()

    def test_terminal_closes(self):
        """The kernel signals the session's leader alone, which is the launcher;
        the command gets the signal, too."""
        mark = self.path("mark")
        terminal = self.terminal(
            harness.TOOL, "run", "lock", "--", "bash", "-c",
            "trap 'echo hup >%s; exit' HUP; echo up; while :; do "
            "read -t 0.05 line </dev/zero; done" % mark)
        terminal.expect("up")
        descriptor = terminal.fd
        terminal.fd = os.dup(harness.sys.stdin.fileno())
        os.close(descriptor)
        waiting.eventually("the mark", lambda: os.path.exists(mark))
        self.queued(0)

    def test_shell_killed(self):
        """The terminal closes under a foreground job."""
        self.type("$T run lock -- sh -c 'echo up; exec cat'")
        self.shell.expect("up")
        launcher, supervisor, command = self.tree()
        os.kill(self.shell.pid, signal.SIGKILL)
        for pid in (launcher, supervisor, command):
            harness.ended(pid)
        self.queued(0)


if __name__ == "__main__":
    harness.main()
