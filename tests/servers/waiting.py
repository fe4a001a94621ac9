# SPDX-License-Identifier: Apache-2.0
"""Bounded waits.  A wait ends as soon as its condition is true.  It fails at
its limit, and at once when a process that it needs has ended; the text says
how that process ended and what it wrote to its standard error.

    eventually("the queue to be empty", lambda: not queue(), of=[server])
    read_line(holder, "held")
"""

import contextlib
import os
import select
import subprocess
import threading
import time

# Generous: it bounds a failure and is never waited out in a test that passes.
LIMIT_S = float(os.environ.get("HF_WAIT_LIMIT_S", "60"))


def now_ms():
    """The clock of the library: CLOCK_BOOTTIME."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1e6


def boot_of_wall_ms():
    """now_ms() minus the wall clock.  It is read several times, and the fastest
    reading counts, because the others were interrupted."""
    readings = []
    for _ in range(10):
        before = now_ms()
        wall = time.time() * 1000
        readings.append((now_ms() - before, before - wall))
    return min(readings)[1]


def popen_of(process):
    """The Popen of a process: itself, or what .process or .popen is."""
    for attribute in ("process", "popen"):
        process = getattr(process, attribute, process)
    return process


def name_of(popen):
    return "process %d (%s)" % (popen.pid, popen.args if isinstance(
        popen.args, str) else " ".join(map(str, popen.args)))


def errors_of(popen):
    """What an ended process wrote to its standard error and nobody has read.
    A child of it may still have the pipe open, so this does not wait."""
    said = b""
    if popen.stderr and not popen.stderr.closed:
        os.set_blocking(popen.stderr.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            while more := os.read(popen.stderr.fileno(), 65536):
                said += more
    return said.decode(errors="replace")


def end_of(process):
    """How a process ended, for people; None while it runs.  process: a Popen,
    or an object with one in .popen or .process."""
    popen = popen_of(process)
    status = popen.poll()
    if status is None:
        return None
    said = errors_of(popen)
    return "%s ended with %s%s" % (
        name_of(popen),
        "signal %d" % -status if status < 0 else "status %d" % status,
        said and ": " + said[-3000:])


def end_soon_of(process):
    """The same for a process that has closed its output, which it does a moment
    before it ends."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        popen_of(process).wait(LIMIT_S)
    return end_of(process) or "%s runs and has closed its output" % name_of(
        popen_of(process))


def read_line(process, expected=None, stream="stdout", seconds=None):
    """The next line of a process, without its end; an AssertionError that says
    how the process ended if there is none, or if it is not the expected one.

    A process that prints no line in time (LIMIT_S) is killed.  select() would
    not see a line that Python has read ahead, and a read without a limit would
    wait until ctest kills the test, which could not say for what it waited."""
    popen = popen_of(process)
    late = threading.Event()

    def give_up():
        late.set()
        popen.kill()
    timer = threading.Timer(seconds or LIMIT_S, give_up)
    timer.daemon = True
    timer.start()
    try:
        line = getattr(popen, stream).readline()
    finally:
        timer.cancel()
    wanted = "a line" if expected is None else repr(expected)
    if not line:
        raise AssertionError("expected %s, but %s" % (
            wanted, "%s printed nothing for %d s" % (
                name_of(popen), seconds or LIMIT_S)
            if late.is_set() else end_soon_of(popen)))
    line = line.rstrip(b"\n" if isinstance(line, bytes) else "\n")
    if expected is not None and line != expected:
        raise AssertionError("expected %s, but %s printed %r" % (
            wanted, name_of(popen), line))
    return line


def has_failed(process):
    """Whether it has ended with another status than 0."""
    return popen_of(process).poll() not in (None, 0)


def eventually(what, condition, seconds=None, of=(), workers=()):
    """Poll until condition() is true and return its value.

    of: the processes that have to run for it to become true.  Once one of them
    has ended, and condition() is still false, the wait fails and says so.
    workers: the same of processes that may be done, and then end with 0."""
    deadline = time.monotonic() + (seconds or LIMIT_S)
    pause = 0.001
    while True:
        # The ends are looked at first, so that what a process did before it
        # ended is seen.
        ends = [end for end in map(
            end_of, [*of, *filter(has_failed, workers)]) if end]
        value = condition()
        if value:
            return value
        if ends:
            raise AssertionError("waited for %s, but %s" % (
                what, "; ".join(ends)))
        if time.monotonic() > deadline:
            raise AssertionError("waited %d s in vain for %s" % (
                seconds or LIMIT_S, what))
        select.select([], [], [], pause)
        pause = min(2 * pause, 0.05)
