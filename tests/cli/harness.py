# SPDX-License-Identifier: Apache-2.0
"""What the tests of the tool share: a lock directory for each test, processes
of the tool, heartbeats and a terminal.

holdfast run is two processes: the launcher, which was started, and its child,
the supervisor, whose child is the command.  Commands of the tests beat: they
write lines to a file, so that a test can see when the last one of a tree was
alive."""

import ctypes
import errno
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))
import testing  # noqa: E402,F401
import machine  # noqa: E402
import unfinished  # noqa: E402
import waiting  # noqa: E402
from unfinished import children, descendants  # noqa: E402

# A shell without job control ignores these signals for what it runs in the
# background.  Everything that is started here would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

TOOL = os.environ["HOLDFAST"]
HEARTBEAT = os.environ["HEARTBEAT"]

REPORT_SIGNALS = ["/usr/bin/python3", os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "report_signals.py")]

# For sh: leave a job behind that says when it gets SIGTERM, and goes on.
LEAVE_JOB = ("{ trap 'echo TERM' TERM; echo ready; "
             "while :; do sleep 0.05; done; } & read -r _; exit 0")

# The kernel kills the launcher when the test ends, whatever way; the supervisor
# then ends the command.
START = ["setpriv", "--pdeathsig", "KILL", "--", TOOL]
RUN = [*START, "run"]


# The kernel counts what a process had before its exec(), so it is started by an
# interpreter that is smaller than a test.
MEASURE = """
import os, resource, sys
status = os.spawnv(os.P_WAIT, sys.argv[1], sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


def measured(*arguments, env):
    """The output of the tool, the seconds that it took, and its memory in
    KiB, without what AddressSanitizer keeps of what was freed."""
    options = env.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=0"
    began = time.monotonic()
    done = subprocess.run(
        ["/usr/bin/python3", "-S", "-c", MEASURE, TOOL, *arguments],
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env=dict(env, ASAN_OPTIONS=options), timeout=10 * waiting.LIMIT_S)
    seconds = time.monotonic() - began
    if done.returncode != 0:
        raise AssertionError("%s: %s" % (done.returncode, done.stderr))
    return done.stdout, seconds, int(done.stderr)


def can_unshare(*options):
    return subprocess.run(["unshare", *options, "true"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


def kill(pid, number=signal.SIGKILL):
    """Send a signal to a process that may have ended by itself."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def state_of(pid):
    """The letter of /proc, '' when there is no such process."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def is_alive(pid):
    return state_of(pid) not in ("", "Z", "X")


def has_taken_signals(pid):
    """Has the process read all signals that were sent to it, and waits for
    more?"""
    with open("/proc/%d/status" % pid) as file:
        words = dict(line.split(":", 1) for line in file)
    return words["State"].split()[0] == "S" and not any(
        int(words[key], 16) for key in ("SigPnd", "ShdPnd"))


def signals_taken(*pids):
    """Wait until each process in turn has done what its signals ask for, which
    may be to send the next one a signal."""
    for pid in pids:
        waiting.eventually("process %d to read its signals" % pid,
                           lambda: has_taken_signals(pid))


def ended(pid):
    """Wait until the process has died, reaped or not."""
    waiting.eventually("the end of process %d" % pid, lambda: not is_alive(pid))


class StuckExit:
    """Keeps a process from exiting, as a machine does on which it gets no
    processor: when SIGKILL has ended it, it stays there as the parent of its
    children until the end of the block.  By ptrace(2), of its first thread.

        with StuckExit(pid) as process:
            ...
            process.killed()"""

    SEIZE, DETACH, TRACE_EXIT, EVENT_EXIT = 0x4206, 17, 0x40, 6

    def __init__(self, pid):
        self.pid = pid
        self.ptrace = ctypes.CDLL(None, use_errno=True).ptrace
        self.ptrace.argtypes = [ctypes.c_long] * 4
        self.ptrace.restype = ctypes.c_long
        self.ask(self.SEIZE, self.TRACE_EXIT)

    def ask(self, request, data):
        if self.ptrace(request, self.pid, 0, data) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def is_exiting(self):
        pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
        return pid != 0 and status >> 16 == self.EVENT_EXIT

    def killed(self):
        """Wait until somebody has sent it SIGKILL."""
        waiting.eventually("SIGKILL for process %d" % self.pid, self.is_exiting)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ask(self.DETACH, 0)


class Beat:
    """One line of a heartbeat file."""

    def __init__(self, line):
        self.id, pid, at = line.split()
        self.pid = int(pid)
        self.at = int(at)


class Case(unittest.TestCase):
    """A test with a lock directory of its own, of which nothing stays."""

    def setUp(self):
        self.directory = machine.directory("cli", on_disk=True)
        self.locks = os.path.join(self.directory, "locks")
        os.mkdir(self.locks, 0o700)
        self.beats_path = os.path.join(self.directory, "beats")
        self.environment = dict(os.environ, HOLDFAST_DIR=self.locks)
        for name in ("HOLDFAST_URL", "HOLDFAST_NAME", "HOLDFAST_NAMES",
                     "HOLDFAST_TOKEN", "HOLDFAST_TOKENS", "HOLDFAST_HELD",
                     "NOTIFY_SOCKET"):
            self.environment.pop(name, None)
        self.started = []

    def tearDown(self):
        # A test that fails may leave a frozen supervisor, or a process of a
        # command whose parents have ended: they are no descendants of ours.
        machine.end_processes_of(self.directory)
        for process in self.started:
            # Another process may have the number of one that was reaped.
            if process.poll() is None:
                for pid in descendants(process.pid):
                    kill(pid)
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- the tool

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, *arguments, command="run", **options):
        """Start `holdfast run ARGUMENTS`, or another command that has the same
        two processes, its output in pipes."""
        for stream in ("stdout", "stderr"):
            options.setdefault(stream, subprocess.PIPE)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("env", self.environment)
        # In a group of its own, as under a shell with job control.  In ours the
        # kernel would send SIGHUP to all of us when a test leaves a stopped
        # process in a group that has become an orphan.
        if not options.get("start_new_session"):
            options.setdefault("process_group", 0)
        process = subprocess.Popen([*START, command, *arguments], text=True, **options)
        self.started.append(process)
        return process

    def finish(self, process):
        """Its exit status, output and error output."""
        try:
            out, err = process.communicate(timeout=waiting.LIMIT_S)
        except subprocess.TimeoutExpired as late:
            raise AssertionError("%s has not ended, or something of it has its "
                                 "output open, after %g s; it does this:\n%s" % (
                waiting.name_of(process), waiting.LIMIT_S, unfinished.text_of(
                    [os.getpid()]))) from late
        return process.returncode, out, err

    def run_tool(self, *arguments, **options):
        return self.finish(self.start(*arguments, **options))

    def run_measured(self, *arguments, output="/dev/null"):
        """The exit status, the standard error, and the memory in KiB."""
        with open(output, "w") as out:
            ran = subprocess.run(
                ["/usr/bin/python3", "-S", "-c", MEASURE, TOOL,
                 *arguments], env=self.environment, text=True,
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                timeout=10 * waiting.LIMIT_S, check=False)
        *said, memory = ran.stderr.rstrip("\n").split("\n")
        return ran.returncode, "\n".join(said), int(memory)

    def holder(self, *options, name="lock"):
        """Start a tool that holds the lock until its standard input ends; the
        process, once the command runs."""
        process = self.start(*options, name, "--", "sh", "-c",
                             "echo held; exec cat >/dev/null",
                             stdin=subprocess.PIPE)
        waiting.read_line(process, "held")
        return process

    def in_grace(self, *arguments):
        """Start a tool whose command has ended and left a job behind, which has
        got SIGTERM and ignores it; the process."""
        process = self.start("-g", "1h", *arguments, "--", "sh", "-c", LEAVE_JOB,
                             stdin=subprocess.PIPE)
        waiting.read_line(process, "ready")
        process.stdin.write("\n")
        process.stdin.flush()
        waiting.read_line(process, "TERM")
        return process

    def supervisor(self, launcher):
        return waiting.eventually("the supervisor", lambda: children(launcher.pid),
                                  of=[launcher])[0]

    def command(self, launcher):
        supervisor = self.supervisor(launcher)
        return waiting.eventually("the command", lambda: children(supervisor),
                                  of=[launcher])[0]

    # ---- queues of the file engine

    def tickets(self):
        """How many tickets there are in all queues, without those that are
        being made."""
        count = 0
        for folder, _, names in os.walk(self.locks):
            for name in names:
                if name == ".new":
                    continue
                try:
                    mode = os.lstat(os.path.join(folder, name)).st_mode
                except OSError:
                    continue
                if mode & 0o170000 == 0o010000:
                    count += 1
        return count

    def queued(self, count):
        waiting.eventually("%d tickets in the queue" % count,
                           lambda: self.tickets() == count)

    # ---- heartbeats

    def beat_command(self, identity, count=0, flags=""):
        return "%s %s %s %d '%s'" % (HEARTBEAT, self.beats_path, identity,
                                     count, flags)

    def beats(self, identity=None):
        try:
            with open(self.beats_path) as file:
                text = file.read()
        except FileNotFoundError:
            return []
        found = [Beat(line) for line in text.splitlines(True)
                 if line.endswith("\n")]
        return [b for b in found if identity in (None, b.id)]

    def beating(self, identity, count):
        """Wait until count processes beat under this identity; their pids.
        """
        def pids():
            all_ended = all(p.poll() is not None for p in self.started)
            found = {beat.pid for beat in self.beats(identity)}
            if len(found) >= count:
                return found
            if all_ended:
                raise AssertionError("%d heartbeats of %s, then the end: %s" % (
                    len(found), identity, self.finish(self.started[-1])))
            return None
        return waiting.eventually("%d heartbeats of %s" % (count, identity),
                                  pids)

    def assert_before(self, first, second):
        """The last heartbeat of one tree came before the first of the
        other."""
        last = max(beat.at for beat in self.beats(first))
        began = min(beat.at for beat in self.beats(second))
        self.assertLess(last, began, "%s was still alive %.1f ms into %s" % (
            first, (last - began) / 1000, second))


class Terminal:
    """A pseudo-terminal with a program as the leader of its session."""

    def __init__(self, arguments, environment):
        self.text = ""
        self.seen = 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.execvpe(arguments[0], arguments, environment)
            finally:
                os._exit(127)

    def write(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern):
        """Read on until the pattern matches behind what was matched before;
        the match."""
        deadline = time.monotonic() + waiting.LIMIT_S
        while True:
            match = re.compile(pattern).search(self.text, self.seen)
            if match:
                self.seen = match.end()
                return match
            left = deadline - time.monotonic()
            if left <= 0 or not self.read_some(left):
                raise AssertionError("no %r in %r" % (
                    pattern, self.text[self.seen:]))

    def read_some(self, timeout):
        if not select.select([self.fd], [], [], timeout)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            data = b""
        self.text += data.decode(errors="replace")
        return bool(data)

    def drain(self):
        """Read until the other side has closed."""
        while self.read_some(waiting.LIMIT_S):
            pass
        return self.text

    def foreground(self):
        return os.tcgetpgrp(self.fd)

    def close(self):
        for pid in descendants(self.pid) + [self.pid]:
            kill(pid)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def main():
    unfinished.watch()
    unittest.main(verbosity=2)
