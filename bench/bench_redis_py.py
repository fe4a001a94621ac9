#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench_redis_py.py PORT KEY: redis-py's Lock as it comes, asked and answering
as bench/library.c: pair and contend, a thread and a connection each.  It is
not fair: a sample of contend is from the first release of one client to the
grant of another, with as many grants to the first one in between as it
takes."""

import sys
import threading
import time

import redis

WARM_UP = 50
LEASE_S = 10


def lock_of(client, key):
    return client.lock(key, timeout=LEASE_S)


def print_result(cpu, began, grants, samples):
    print(time.process_time_ns() - cpu, time.monotonic_ns() - began, grants,
          *samples, flush=True)


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
    print_result(cpu, began, count, samples)


class Contest:
    """State that the holder of the lock writes."""

    def __init__(self, port, key):
        self.port, self.key = port, key
        self.holder, self.free_since = None, None
        self.samples, self.grants = [], 0

    def contend(self, number, deadline):
        client = redis.Redis(port=self.port)
        lock = lock_of(client, self.key)
        while time.monotonic_ns() < deadline:
            lock.acquire()
            if self.holder not in (None, number):
                self.samples.append(time.monotonic_ns() - self.free_since)
            if self.holder != number:
                self.holder, self.free_since = number, None
            self.grants += 1
            self.free_since = self.free_since or time.monotonic_ns()
            lock.release()
        client.close()

    def run(self, clients, ms):
        cpu, began = time.process_time_ns(), time.monotonic_ns()
        threads = [threading.Thread(target=self.contend, args=(
            number, began + ms * 1000000)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print_result(cpu, began, self.grants, self.samples)


def main():
    port, key = int(sys.argv[1]), sys.argv[2]
    client = redis.Redis(port=port)
    for line in sys.stdin:
        word, *numbers = line.split()
        if word == "pair":
            pairs(lock_of(client, key), int(numbers[0]))
        elif word == "contend":
            Contest(port, key).run(int(numbers[0]), int(numbers[1]))
        else:
            raise SystemExit("a request that is not known: " + line)
    client.close()


if __name__ == "__main__":
    main()
