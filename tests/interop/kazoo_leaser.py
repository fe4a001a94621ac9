#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Permits of a semaphore as users of kazoo take them.

    kazoo_leaser.py take SERVERS PATH LIMIT LOG ID COUNT
        Print "ready", wait for a line, and COUNT times: take a permit of
        LIMIT, log "+ ID 1 0", stay for a moment, log "- ID 1 0", release.
    kazoo_leaser.py hold SERVERS PATH LIMIT
        Take a permit, print "held", wait for a line, release, print
        "released".  Print "refused" where the semaphore has another size.
    kazoo_leaser.py try SERVERS PATH LIMIT
        Print "taken" or "full".
"""

import os
import sys
import threading

from kazoo.client import KazooClient

INSIDE_S = 0.0005


def take(semaphore, path, name, count):
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(int(count)):
        with semaphore:
            os.write(log, b"+ %s 1 0\n" % name.encode())
            threading.Event().wait(INSIDE_S)
            os.write(log, b"- %s 1 0\n" % name.encode())
    os.close(log)


def hold(semaphore):
    try:
        semaphore.acquire()
    except ValueError:
        print("refused", flush=True)
        return
    print("held", flush=True)
    sys.stdin.readline()
    semaphore.release()
    print("released", flush=True)


def main():
    command, servers, path, limit, *rest = sys.argv[1:]
    client = KazooClient(servers, timeout=10)
    client.start()
    semaphore = client.Semaphore(path, max_leases=int(limit))
    if command == "take":
        take(semaphore, *rest)
    elif command == "hold":
        hold(semaphore)
    else:
        print("taken" if semaphore.acquire(blocking=False) else "full",
              flush=True)
    client.stop()
    client.close()


if __name__ == "__main__":
    main()
