#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench_etcdctl.py ADDRESS KEY: `etcdctl lock KEY true`, a process for each
lock, asked and answering as bench/library.c: pair."""

import os
import resource
import subprocess
import sys
import time


def children_cpu_ns():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((usage.ru_utime + usage.ru_stime) * 1e9)


def pairs(command, count):
    samples = []
    cpu, began = children_cpu_ns(), time.monotonic_ns()
    for _ in range(count):
        before = time.monotonic_ns()
        subprocess.run(command, check=True)
        samples.append(time.monotonic_ns() - before)
    print(children_cpu_ns() - cpu, time.monotonic_ns() - began, count,
          *samples, flush=True)


def main():
    address, key = sys.argv[1:]
    os.environ["ETCDCTL_API"] = "3"
    command = ["etcdctl", "--endpoints", address, "lock", key, "true"]
    for line in sys.stdin:
        word, *numbers = line.split()
        if word != "pair":
            raise SystemExit("a request that is not known: " + line)
        pairs(command, int(numbers[0]))


if __name__ == "__main__":
    main()
