# SPDX-License-Identifier: Apache-2.0
"""Standard error that nobody reads: a pipe or a socket that is full, a terminal
that was stopped.  The launcher and the supervisor guard a lock, so they never
wait for a reader.

    test_unread.py [OnFiles] [OnRedis]
"""

import contextlib
import errno
import os
import pty
import signal
import socket
import subprocess

import engines
import harness
from harness import waiting


def fill_pipe(fd):
    """Fill the pipe by a description of our own, so that O_NONBLOCK is not set
    for the others that have it."""
    own = os.open("/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(own, b"x" * 4096)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(own, b"x")
    os.close(own)


def fill_socket(end):
    with contextlib.suppress(BlockingIOError):
        while True:
            end.send(b"x" * 4096, socket.MSG_DONTWAIT)


def take(fd):
    """Everything that has been written by now."""
    os.set_blocking(fd, False)
    text = b""
    try:
        while True:
            data = os.read(fd, 65536)
            if not data:
                return text.decode()
            text += data
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EIO):
            raise
    return text.decode()


class Unread(harness.Case):
    def full_pipe(self):
        """Both ends."""
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        self.addCleanup(os.close, write)
        fill_pipe(write)
        return read, write


class OnFiles(Unread):
    def ends_of(self, kind):
        """A descriptor that takes nothing more, of this kind."""
        if kind == "pipe":
            return self.full_pipe()[1]
        if kind == "socket":
            ends = socket.socketpair()
            for end in ends:
                self.addCleanup(end.close)
            fill_socket(ends[1])
            return ends[1].fileno()
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        fill_pipe(slave)
        return slave

    def test_a_signal_reaches_the_command(self):
        for kind in ("pipe", "socket", "terminal"):
            with self.subTest(kind):
                launcher = self.start("-v", kind, "--", *harness.REPORT_SIGNALS,
                                      stdin=subprocess.PIPE,
                                      stderr=self.ends_of(kind))
                waiting.read_line(launcher, "ready")
                os.kill(launcher.pid, signal.SIGTERM)
                waiting.read_line(launcher, "TERM")
                launcher.communicate("end\n", timeout=waiting.LIMIT_S)
                self.assertEqual(launcher.returncode, 9)

    def test_a_signal_ends_the_wait(self):
        holder = self.holder()
        waiter = self.start("-v", "lock", "--", "true",
                            stderr=self.full_pipe()[1])
        self.queued(2)
        os.kill(waiter.pid, signal.SIGTERM)
        self.finish(waiter)
        self.assertEqual(waiter.returncode, -signal.SIGTERM)
        self.queued(1)
        self.finish(holder)

    def test_a_log_of_everything_holds_up_nothing(self):
        for log in ("debug", "debug,json"):
            done = self.run_tool("lock", "--", "sh", "-c", "exit 7",
                                 env=dict(self.environment, HOLDFAST_LOG=log),
                                 stderr=self.full_pipe()[1])
            self.assertEqual(done[0], 7)

    def test_lost_lines_are_counted_once_there_is_room(self):
        read, write = self.full_pipe()
        launcher = self.start("-v", "lock", "--", "sh", "-c",
                              "echo runs; read -r _", stdin=subprocess.PIPE,
                              stderr=write)
        waiting.read_line(launcher, "runs")
        take(read)
        os.kill(self.supervisor(launcher), signal.SIGKILL)
        self.assertEqual(self.finish(launcher)[0], 76)
        text = take(read)
        # Among them is which engine it is.  What the supervisor said of the
        # grant may have been on its way.
        self.assertRegex(text, r"^holdfast: [1-9] lines? w(as|ere) lost, because "
                         r"nobody read what was written before\n(holdfast: .*\n)*"
                         r"holdfast: the process that holds 'lock' was killed by "
                         r"signal 9.*\n$")

    def test_the_description_that_others_share_still_waits(self):
        """O_NONBLOCK would be set for the command too."""
        done = self.run_tool("-v", "lock", "--", "/usr/bin/python3", "-c",
                             "import os; print(os.get_blocking(2))")
        self.assertEqual(done[1], "True\n", done)


class OnRedis(engines.Redis, Unread):
    def hard_tree(self, name, url, **options):
        """A holder whose descendants outlive the command, all of them beating,
        and the next one in the queue."""
        holder = self.start("-v", "-c", url, name, "--", "sh", "-c",
                            " & ".join([self.beat_command(name, flags="ts"),
                                        "exec " + self.beat_command(name)]),
                            stderr=self.full_pipe()[1], **options)
        self.beating(name, 2)
        following = self.start("-c", self.url(), name, "--", "sh", "-c",
                               "exec " + self.beat_command(name + ".next", 5))
        self.until_queued(name, 2, following)
        return holder, following

    def assert_followed(self, name, following):
        self.assertEqual(self.finish(following)[0], 0)
        self.assert_before(name, name + ".next")

    def test_after_a_killed_supervisor_nothing_runs_beside_the_next(self):
        self.lease_ms = engines.SHORT_LEASE_MS
        for log in ("", "debug"):
            name = "killed" + log
            holder, following = self.hard_tree(name, self.url(), env=dict(
                self.environment, HOLDFAST_LOG=log))
            os.kill(self.supervisor(holder), signal.SIGKILL)
            self.assert_followed(name, following)
            self.assertEqual(self.finish(holder)[0], 76)

    def test_after_a_loss_nothing_runs_beside_the_next(self):
        """The connection is cut, so the lease ends."""
        from proxy import DOWN, Proxy
        self.lease_ms = engines.SHORT_LEASE_MS
        for log in ("", "debug"):
            proxy = Proxy(self.server.port)
            self.addCleanup(proxy.close)
            url = self.url().replace(str(self.server.port), str(proxy.port), 1)
            holder, following = self.hard_tree("lost" + log, url, env=dict(
                self.environment, HOLDFAST_LOG=log))
            proxy.drop(DOWN)
            self.assert_followed("lost" + log, following)
            self.assertEqual(self.finish(holder)[0], 76)


if __name__ == "__main__":
    harness.main()
