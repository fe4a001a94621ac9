#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench_kazoo.py SERVERS PATH: kazoo's Lock, asked and answering as
bench/library.c; pair only."""

import sys
import time

from kazoo.client import KazooClient

WARM_UP = 50


def pairs(lock, count):
    samples = []
    for _ in range(WARM_UP):
        lock.acquire()
        lock.release()
    cpu, began = time.process_time_ns(), time.monotonic_ns()
    for _ in range(count):
        before = time.monotonic_ns()
        lock.acquire()
        lock.release()
        samples.append(time.monotonic_ns() - before)
    print(time.process_time_ns() - cpu, time.monotonic_ns() - began, count,
          *samples, flush=True)


def main():
    client = KazooClient(sys.argv[1], timeout=10)
    client.start()
    lock = client.Lock(sys.argv[2])
    for line in sys.stdin:
        word, count = line.split()
        if word != "pair":
            raise SystemExit("a request that is not known: " + line)
        pairs(lock, int(count))
    client.stop()
    client.close()


if __name__ == "__main__":
    main()
