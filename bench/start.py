#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How much longer a command takes under "holdfast run" than under flock(1).

usage: start.py HOLDFAST [ITERATIONS]

Iterations alternate, so that what else the machine does falls on both alike;
read the ratio, not the times."""
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "tests", "servers"))
sys.dont_write_bytecode = True

import machine  # noqa: E402

PER_ITERATION = 50


def run_once(command, env):
    """Milliseconds for each run of the command, on average."""
    start = time.monotonic()
    for _ in range(PER_ITERATION):
        subprocess.run(command, env=env, check=True)
    return (time.monotonic() - start) * 1000 / PER_ITERATION


def main():
    holdfast = sys.argv[1]
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with machine.temporary("bench") as top:
        env = dict(os.environ, HOLDFAST_DIR=os.path.join(top, "locks"))
        env.pop("HOLDFAST_URL", None)
        os.mkdir(env["HOLDFAST_DIR"], 0o700)
        commands = {
            "flock FILE true": ["flock", os.path.join(top, "file"), "true"],
            "holdfast run NAME -- true":
                [holdfast, "run", "bench", "--", "true"],
        }
        times = {name: [] for name in commands}
        for _ in range(iterations):
            for name, command in commands.items():
                times[name].append(run_once(command, env))
    medians = [statistics.median(times[name]) for name in commands]
    for name, median in zip(commands, medians):
        print(f"{name:28} {median:7.3f} ms")
    print(f"{'ratio':28} {medians[1] / medians[0]:7.2f}")


if __name__ == "__main__":
    main()
