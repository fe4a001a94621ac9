# SPDX-License-Identifier: Apache-2.0
"""A disk that does not answer, as one process sees it: each fsync() and
fdatasync() of the files there stands still, and everything else of the process
goes on.

strace(1) does that, so it needs no file system of its own and no rights but
those to trace a process of the same user."""

import os
import shutil
import subprocess

import machine
import waiting

# Longer than any test: a call goes on when the disk is thawed.
FOR_EVER_US = 3600 * 1000 * 1000


def is_possible():
    """Is strace here, and may it attach to a process that is not its child?"""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as file:
            scope = int(file.read())
    except FileNotFoundError:
        scope = 0
    return bool(shutil.which("strace")) and (
        scope == 0 or scope < 3 and os.geteuid() == 0)


class FrozenDisk:
    """From now on, until thaw(), with the files that are given."""

    def __init__(self, pid, files):
        self.pid = pid
        self.tracer = machine.Process(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(pid),
             *(word for file in files for word in ("-P", file)),
             "-e", "trace=fsync,fdatasync", "-e",
             "inject=fsync,fdatasync:delay_enter=%d" % FOR_EVER_US],
            stderr=subprocess.PIPE)
        waiting.eventually("strace to attach", self.is_attached,
                           of=[self.tracer])

    def is_attached(self):
        """To all threads; those that they start are traced from the start."""
        folder = "/proc/%d/task" % self.pid
        return all(self.traces("%s/%s/status" % (folder, task))
                   for task in os.listdir(folder))

    def traces(self, path):
        try:
            with open(path) as file:
                return "\nTracerPid:\t%d\n" % self.tracer.pid in file.read()
        except (FileNotFoundError, ProcessLookupError):
            return True  # the thread has ended

    def thaw(self):
        """What waits goes on."""
        self.tracer.popen.terminate()
        self.tracer.popen.wait(waiting.LIMIT_S)
        self.tracer.popen.stderr.close()
