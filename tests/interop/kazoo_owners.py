#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kazoo_owners.py SERVERS: tests/chaos/owners.c as a program of kazoo.  It has
mutexes only, no time-outs, and nothing that looks for deadlocks.

    acquire ID OWNER WAIT_MS HOW NAME:m
    release ID
"""

import sys
import threading

from kazoo.client import KazooClient
from kazoo_contender import PATTERNS, CuratorNamedLock

releases = {}
output = threading.Lock()


def report(number, event):
    with output:
        print(number, event, flush=True)


class WaitingLock(CuratorNamedLock):
    """Reports that it is in its queue."""

    def _get_predecessor(self, node):
        found = super()._get_predecessor(node)
        if found is not None:
            report(self.number, "waits")
        return found


def hold(lock):
    with lock:
        report(lock.number, "granted")
        releases[lock.number].wait()
    report(lock.number, "released")


def main():
    client = KazooClient(sys.argv[1], timeout=10)
    client.start()
    print("ready", flush=True)
    for line in sys.stdin:
        command, number, *rest = line.split()
        if command == "release":
            releases[number].set()
            continue
        releases[number] = threading.Event()
        lock = WaitingLock(client, "/" + rest[-1].rpartition(":")[0],
                           extra_lock_patterns=PATTERNS["curator"])
        lock.number = number
        threading.Thread(target=hold, args=(lock,), daemon=True).start()
    client.stop()
    client.close()


if __name__ == "__main__":
    main()
