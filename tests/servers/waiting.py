# SPDX-License-Identifier: Apache-2.0
"""Bounded waits.  A wait ends as soon as what it waits for is true; it fails at
its limit, and at once when a process that it waits for has ended."""

import os
import select
import time

# Generous: it bounds a failure and is never waited out in a test that passes.
LIMIT_S = float(os.environ.get("HF_WAIT_LIMIT_S", "60"))


def now_ms():
    """The clock of the library: CLOCK_BOOTTIME."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1e6


def boot_of_wall_ms():
    """now_ms() less the wall clock.  Of several readings the one that was
    interrupted least counts."""
    readings = []
    for _ in range(10):
        before = now_ms()
        wall = time.time() * 1000
        readings.append((now_ms() - before, before - wall))
    return min(readings)[1]


def end_of(process):
    """How a process ended, for people; None while it runs.  process: a Popen,
    or an object with one in .popen or .process."""
    for attribute in ("process", "popen"):
        process = getattr(process, attribute, process)
    status = process.poll()
    if status is None:
        return None
    how = "signal %d" % -status if status < 0 else "status %d" % status
    said = ""
    if process.stderr and not process.stderr.closed:
        os.set_blocking(process.stderr.fileno(), False)
        said = process.stderr.read() or ""
        if isinstance(said, bytes):
            said = said.decode(errors="replace")
    return "process %d (%s) ended with %s%s" % (
        process.pid, process.args if isinstance(process.args, str)
        else " ".join(map(str, process.args)), how,
        said and ": " + said[-3000:])


def eventually(what, condition, seconds=None, of=()):
    """Poll until condition() is true and return its value.

    of: the processes that have to run for it to become true.  Once one of them
    has ended, and condition() is still false, the wait fails and says so."""
    deadline = time.monotonic() + (seconds or LIMIT_S)
    pause = 0.001
    while True:
        # In this order: what a process did before it ended counts.
        ends = [end for end in map(end_of, of) if end]
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
