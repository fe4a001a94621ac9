#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How much more a command costs under "holdfast run" than under flock(1).

usage: start.py HOLDFAST [ITERATIONS [OTHER_HOLDFAST]]

Iterations alternate, so that what else the machine does falls on all alike;
read the ratios, not the times.  They are taken within each iteration.  Page
faults do not depend on what else the machine does."""
import os
import resource
import shutil
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "tests", "servers"))
sys.dont_write_bytecode = True

import machine  # noqa: E402

PER_ITERATION = 20


def used():
    """Milliseconds of the clock and of processors, and page faults, of all
    children that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (time.monotonic() * 1000,
            (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_minflt)


def run_once(command, env):
    """What each run of the command used, on average."""
    before = used()
    for _ in range(PER_ITERATION):
        pid = os.posix_spawn(command[0], command, env)
        if os.waitpid(pid, 0)[1] != 0:
            raise SystemExit("%s failed" % " ".join(command))
    return [(now - then) / PER_ITERATION
            for now, then in zip(used(), before)]


def spread(values):
    return "%.2f (%.2f-%.2f)" % (statistics.median(values), min(values),
                                 max(values))


def report(commands, iterations):
    """${iterations} has what each of the commands used, the first one's being
    what the others are compared with."""
    print(f"{'':34} {'ms':>20} {'processor ms':>20} {'page faults':>11} "
          f"{'ms / flock':>16} {'processor / flock':>17}")
    for i, name in enumerate(commands):
        runs = [iteration[i] for iteration in iterations]
        ratios = [[run[k] / iteration[0][k] for run, iteration
                   in zip(runs, iterations)] for k in (0, 1)]
        print(f"{name:34} {spread([run[0] for run in runs]):>20} "
              f"{spread([run[1] for run in runs]):>20} "
              f"{statistics.median(run[2] for run in runs):11.0f} "
              f"{spread(ratios[0]):>16} {spread(ratios[1]):>17}")


def main():
    holdfast = sys.argv[1]
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with machine.temporary("bench") as top:
        # One directory, so that neither pays for a search of the other's.
        env = {"PATH": os.path.dirname(shutil.which("true")),
               "HOLDFAST_DIR": os.path.join(top, "locks")}
        os.mkdir(env["HOLDFAST_DIR"], 0o700)
        commands = {
            "flock FILE true":
                [shutil.which("flock"), os.path.join(top, "file"), "true"]}
        for number, tool in enumerate([holdfast, *sys.argv[3:]]):
            commands["holdfast run NAME -- true" + " (other)" * number] = [
                tool, "run", "bench", "--", "true"]
        iterations = []
        for _ in range(times):
            iterations.append([run_once(command, env)
                               for command in commands.values()])
    report(commands, iterations)


if __name__ == "__main__":
    main()
