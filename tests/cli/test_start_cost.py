# SPDX-License-Identifier: Apache-2.0
"""The system calls of a short run: how many each of its processes makes before
the command is executed.  They are the same at any load, because what is counted
does not depend on how long anything takes.  The limits only go down."""

import os
import re
import shutil
import subprocess
import unittest

import harness

# Calls that are made once more whenever a process is woken once more.
WAKE_UPS = {"poll", "ppoll", "read", "recvmsg", "waitid", "waitpid", "wait4",
            "restart_syscall", "futex", "sched_yield"}

# A run that is slow on its way does more: after some milliseconds the library
# begins to watch its ticket.
TRIES = 5

FORKS = {"clone", "clone3", "fork", "vfork"}

# The launcher from its main() until it forks; the supervisor until it forks, in
# a lock directory that exists; the command until its exec, with one try for its
# path.  Three more than there are, for other versions of the C library.
MOST = {"launcher": 68, "supervisor": 74, "command": 21}


def is_traced():
    """May strace trace what it starts?"""
    return bool(shutil.which("strace")) and subprocess.run(
        ["strace", "-o", "/dev/null", "true"], check=False,
        stderr=subprocess.DEVNULL).returncode == 0


class Trace:
    """The calls of each process, in the order in which they began: up to its
    first fork or, if it was forked itself, up to its exec.  The threads of the
    supervisor come last, if there are any.  The directories above the lock
    directory do not count: each is opened, looked at and closed."""

    CALL = re.compile(r"(\d+) +(\w+)\(")

    def __init__(self, lines):
        self.calls, self.ended = {}, set()
        self.above = []  # what is still to come of directories above
        for line in lines:
            pid, name = self.CALL.match(line).groups()
            name = "newfstatat" if name == "fstat" else name
            if "O_PATH" in line:
                self.above += ["newfstatat", "close"]
            elif name in self.above:
                self.above.remove(name)
            else:
                self.add(pid, name)

    def add(self, pid, name):
        calls = self.calls.setdefault(pid, [])
        if pid not in self.ended and name not in WAKE_UPS:
            calls.append(name)
        if name in FORKS or (name == "execve" and len(self.calls) > 1):
            self.ended.add(pid)

    def of_roles(self):
        launcher, supervisor, command = list(self.calls.values())[:3]
        # Its first call after those of the dynamic linker.
        return {"launcher": launcher[launcher.index("fcntl"):],
                "supervisor": supervisor, "command": command}


@unittest.skipUnless(is_traced(), "strace may not trace")
class StartCost(harness.Case):
    def trace(self, *options):
        """The lines of strace about a run."""
        path = self.path("trace")
        subprocess.run(
            [shutil.which("strace"), "-f", "-qq", "-e", "signal=none",
             *options, "-o", path, harness.TOOL, "run", "a", "--", "true"],
            env=dict(self.environment,
                     PATH=os.path.dirname(shutil.which("true"))),
            check=True, stdin=subprocess.DEVNULL)
        with open(path) as file:
            return [line for line in file if re.match(r"\d+ +\w+\(", line)]

    def test_calls_of_each_process(self):
        self.run_tool("a", "--", "true")  # makes the directories
        traces = [Trace(self.trace()) for _ in range(TRIES)]
        for role, most in MOST.items():
            with self.subTest(role):
                least = min((trace.of_roles()[role] for trace in traces),
                            key=len)
                print(role, len(least))
                self.assertLessEqual(len(least), most, least)

    def test_no_library_of_another_engine(self):
        opened = "".join(self.trace("-e", "trace=openat"))
        self.assertIn("libuv", opened)
        for library in "libssl", "libsasl", "hiredis", "libpq", "nghttp2":
            with self.subTest(library):
                self.assertNotIn(library, opened)


if __name__ == "__main__":
    harness.main()
