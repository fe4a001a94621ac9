#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A release wakes one of 200 waiters, in order, and the death of a holder
wakes the next one at once.

    test_wakeups.py CONTENDER ENDLESS_POLL [--waiters N]
"""

import argparse
import os
import select
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))
import machine  # noqa: E402
import waiting  # noqa: E402


def sleeps(pid):
    """How often a process, all threads of it, went to sleep and woke."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as status:
            for line in status:
                if line.startswith("voluntary_ctxt_switches"):
                    total += int(line.split()[1])
    return total


def rests(pid):
    """Whether all of its threads sleep and none of its timers is set.  Then
    only an event from outside wakes it."""
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] != "S":
                    return False
        for fd in os.listdir(f"/proc/{pid}/fdinfo"):
            with open(f"/proc/{pid}/fdinfo/{fd}") as info:
                timers = [line for line in info if line.startswith("it_value")]
            if any("(0, 0)" not in timer for timer in timers):
                return False
    except FileNotFoundError:
        return False  # something of it has just ended
    return True


def now_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


class Fixture:
    def __init__(self, contender, endless_poll):
        self.contender = contender
        # As in test_clocks.py.
        checks = [os.environ.get("ASAN_OPTIONS", ""),
                  "verify_asan_link_order=0"]
        self.environment = dict(os.environ, LD_PRELOAD=endless_poll,
                                ASAN_OPTIONS=":".join(filter(None, checks)))
        self.directory = machine.directory("wakeups", on_disk=True)
        self.url = (f"file:{self.directory}/run"
                    f"?state={self.directory}/state")
        self.queue = f"{self.directory}/run/locks/nightly"

    def start(self):
        return machine.popen([self.contender, "hold", self.url, "nightly"],
                             env=self.environment, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)

    def tickets(self):
        try:
            return sum(1 for e in os.scandir(self.queue)
                       if not e.is_symlink() and e.name[0].isdigit())
        except FileNotFoundError:
            return 0

    def until_tickets(self, count, *processes):
        waiting.eventually(f"{count} tickets", lambda: self.tickets() == count,
                           of=processes)

    def until_quiet(self, processes):
        """Until none of them runs, or will by itself: how often each went to
        sleep."""
        def quiet():
            before = [sleeps(p.pid) for p in processes]
            return all(rests(p.pid) for p in processes) and \
                before == [sleeps(p.pid) for p in processes] and before

        return waiting.eventually("the waiters to come to rest", quiet)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("contender")
    parser.add_argument("endless_poll")
    parser.add_argument("--waiters", type=int, default=200)
    options = parser.parse_args()
    fixture = Fixture(os.path.abspath(options.contender),
                      os.path.abspath(options.endless_poll))
    processes = []
    try:
        holder = fixture.start()
        processes.append(holder)
        token = int(waiting.read_line(holder).split()[0])
        waiters = []
        for i in range(options.waiters):
            waiters.append(fixture.start())
            processes.append(waiters[-1])
            fixture.until_tickets(i + 2, *processes)

        # A release.
        before = fixture.until_quiet(waiters)
        holder.stdin.close()
        first = int(waiting.read_line(waiters[0]).split()[0])
        assert first > token
        after = fixture.until_quiet(waiters)
        woken = [i for i in range(len(waiters)) if after[i] != before[i]]
        assert woken == [0], f"a release woke {woken}"

        # Deaths: the kernel wakes the next one.
        latencies = []
        for i in range(10):
            before = fixture.until_quiet(waiters[i + 2:])
            killed_at = now_us()
            waiters[i].kill()
            said = waiting.read_line(waiters[i + 1]).split()
            latencies.append(int(said[1]) - killed_at)
            after = fixture.until_quiet(waiters[i + 2:])
            assert after == before, "a death woke more than the next one"
        latencies.sort()

        # The death of a waiter in the middle of the queue grants nothing.
        waiters[50].send_signal(signal.SIGKILL)
        waiters[50].wait(waiting.LIMIT_S)
        held = 10
        fixture.until_tickets(len(waiters) - 11)
        fixture.until_quiet([waiters[51]])
        assert not select.select([waiters[51].stdout], [], [], 0)[0]
        for i in list(range(held, 50)) + list(range(51, len(waiters))):
            if i != held:
                waiting.read_line(waiters[i])
            waiters[i].stdin.close()
            waiting.read_line(waiters[i], b"released")
            waiters[i].wait(waiting.LIMIT_S)
        left = os.listdir(f"{fixture.directory}/run/locks")
        assert left == [], left
        print(f"{options.waiters} waiting: a release woke exactly one; kill -9 "
              f"to next grant {latencies[0]} / {latencies[5]} / "
              f"{latencies[-1]} us (min / median / max of 10)")
    finally:
        for process in processes:
            process.kill()
            process.wait()
        shutil.rmtree(fixture.directory, ignore_errors=True)


if __name__ == "__main__":
    main()
