#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench_kazoo.py SERVERS PATH: kazoo's Lock, asked and answering as
bench/library.c, pair only; and its operations, as bench/operations.h."""

import sys
import threading
import time

from kazoo.client import KazooClient

WARM_UP = 50
DATA = b"0123456789" * 10


def answer(count, work):
    """What work() takes, which returns the samples."""
    cpu, began = time.process_time_ns(), time.monotonic_ns()
    samples = work()
    print(time.process_time_ns() - cpu, time.monotonic_ns() - began, count,
          *samples, flush=True)


def one_after_the_other(work, count):
    for _ in range(WARM_UP):
        work()

    def sampled():
        samples = []
        for _ in range(count):
            before = time.monotonic_ns()
            work()
            samples.append(time.monotonic_ns() - before)
        return samples
    answer(count, sampled)


def many(start, count, underway):
    """start() returns kazoo's IAsyncResult."""
    ended = threading.Event()
    left = [count - underway, count]  # to be started; that have not ended

    def on_done(result):
        result.get()
        if left[0] > 0:
            left[0] -= 1
            start().rawlink(on_done)
        left[1] -= 1
        if left[1] == 0:
            ended.set()

    def work():
        for _ in range(underway):
            start().rawlink(on_done)
        ended.wait()
        return []
    answer(count, work)


def main():
    client = KazooClient(sys.argv[1], timeout=10)
    client.start()
    path = sys.argv[2]
    lock = client.Lock(path)

    def pair():
        lock.acquire()
        lock.release()
    works = {
        "pair": (pair, None),
        "get": (lambda: client.get(path), lambda: client.get_async(path)),
        "set": (lambda: client.set(path, DATA),
                lambda: client.set_async(path, DATA)),
        "create": (
            lambda: client.create(path + "/n-", DATA, sequence=True),
            lambda: client.create_async(path + "/n-", DATA, sequence=True)),
    }
    for line in sys.stdin:
        word, count, *underway = line.split()
        one, start = works[word]
        if underway:
            many(start, int(count), int(underway[0]))
        else:
            one_after_the_other(one, int(count))
    client.stop()
    client.close()


if __name__ == "__main__":
    main()
