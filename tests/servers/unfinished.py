# SPDX-License-Identifier: Apache-2.0
"""What a test that does not end was doing.  ctest kills it at its limit, and
what it waited for, and the processes that it waited for, are gone then.  So a
test prints both a moment before.

    watch()             print them before the limit of ctest (HF_TEST_LIMIT_S)
    text_of([pid])      what processes and all below them do"""

import faulthandler
import glob
import os
import sys
import threading
import time

# So long before ctest's limit; of a short limit, this part of it.  A machine on
# which a test takes that long is slow to print, too.
AHEAD_S = 60
AHEAD_PART = 4


def read(path):
    """The text of a file of /proc, or why it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read().replace(b"\0", b" ").decode(
                errors="replace").strip()
    except OSError as error:
        return "(%s)" % error.strerror


def children(pid):
    """The pids of the children of all threads of a process."""
    found = []
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            with open(path) as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass  # the thread has ended
    return found


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child] + descendants(child)
    return found


def text_of_thread(task):
    """The state of a thread, and where in the kernel it waits."""
    state = read(task + "/stat").rpartition(")")[2].split()[:1]
    lines = ["  thread %s: state %s, in %s, system call %s" % (
        os.path.basename(task), "".join(state) or "?", read(task + "/wchan"),
        read(task + "/syscall").partition(" ")[0])]
    # Only root may read it.
    lines += ["    " + line for line in read(task + "/stack").splitlines()]
    return "\n".join(lines)


def text_of_process(pid):
    lines = ["process %d: %s" % (pid, read("/proc/%d/cmdline" % pid)[:300])]
    lines += map(text_of_thread, sorted(glob.glob("/proc/%d/task/*" % pid)))
    return "\n".join(lines)


def real_time():
    """The processes with a real-time priority, which run before all others;
    not those of the kernel, whose parent is 2.  See proc(5) for the fields."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        fields = read(path).rpartition(")")[2].split()
        if (len(fields) > 37 and fields[37] != "0" and fields[0] != "Z" and
                fields[1] not in "02"):
            found.append(int(path.split("/")[2]))
    return found


def text_of(pids):
    """What the processes and their descendants do, and how busy the machine
    is."""
    lines = [text_of_process(one) for pid in pids
             for one in [pid, *descendants(pid)]]
    lines += ["with a real-time priority: " + text_of_process(pid)
              for pid in real_time()]
    lines.append("load: " + read("/proc/loadavg"))
    lines += ["pressure, %s: %s" % (what, read(
        "/proc/pressure/" + what).partition("\n")[0])
        for what in ("cpu", "io", "memory")]
    return "\n".join(lines) + "\n"


def print_now(limit_s):
    """Print where this test is, and what its processes do."""
    print("\nthe test has not ended, and ctest kills it after %g s:" % limit_s,
          file=sys.stderr, flush=True)
    faulthandler.dump_traceback(sys.stderr, all_threads=True)
    print(text_of([os.getpid()]), file=sys.stderr, flush=True)


def age_s():
    """How long ago this process was started, which is when ctest began to
    count."""
    ticks = int(read("/proc/self/stat").rpartition(")")[2].split()[19])
    return (time.clock_gettime(time.CLOCK_BOOTTIME) -
            ticks / os.sysconf("SC_CLK_TCK"))


def watch():
    """Print that before ctest's limit, if there is one."""
    limit_s = float(os.environ.get("HF_TEST_LIMIT_S", "0"))
    if limit_s > 0:
        at_s = limit_s - min(AHEAD_S, limit_s / AHEAD_PART)
        timer = threading.Timer(max(0, at_s - age_s()), print_now, [limit_s])
        timer.daemon = True
        timer.start()
