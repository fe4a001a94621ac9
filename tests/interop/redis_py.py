#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A contender with redis-py's own Lock, for one key that holdfast has too.

    redis_py.py add PORT NAME DIRECTORY ID COUNT
        COUNT times: take the lock, raise the number in DIRECTORY/counter by
        reading and writing it, log "ID NUMBER" to DIRECTORY/log, release.
    redis_py.py hold PORT NAME
        Take it, print a line, wait for the end of standard input, release, and
        print whether it was still ours.
    redis_py.py try PORT NAME
        Take it if it is free; print whether it was.
"""

import os
import sys

import redis
from redis.exceptions import LockError


def read(path):
    try:
        with open(path) as file:
            return int(file.read() or 0)
    except FileNotFoundError:
        return 0


def add(lock, directory, who, count):
    for _ in range(count):
        with lock:
            path = os.path.join(directory, "counter")
            number = read(path) + 1
            with open(path, "w") as file:
                file.write("%d\n" % number)
            with open(os.path.join(directory, "log"), "a") as log:
                log.write("%s - %d\n" % (who, number))


def hold(lock):
    lock.acquire()
    print("held", flush=True)
    sys.stdin.read()
    try:
        lock.release()
        print("released", flush=True)
    except LockError:
        print("not ours", flush=True)


def main():
    what, port, name = sys.argv[1:4]
    client = redis.Redis(port=int(port))
    lock = client.lock(name, timeout=10)
    if what == "add":
        add(lock, sys.argv[4], sys.argv[5], int(sys.argv[6]))
    elif what == "hold":
        hold(lock)
    else:
        print("free" if lock.acquire(blocking=False) else "taken")


if __name__ == "__main__":
    main()
