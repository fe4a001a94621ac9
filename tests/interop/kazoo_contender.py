#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A contender that uses kazoo as its users do.

    kazoo_contender.py add DIALECT SERVERS PATH DIRECTORY ID COUNT
        Print "ready", wait for a line, and COUNT times: take the lock, raise
        the number in DIRECTORY/counter by reading and writing it, log
        "ID CZXID NUMBER NODE" to DIRECTORY/log, release.
    kazoo_contender.py hold DIALECT SERVERS PATH
        Take the lock, print "held", wait for a line, release, print
        "released".

DIALECT is how kazoo names its own nodes: kazoo, as it always does, or curator.
Either way extra_lock_patterns makes it respect those that Curator names.  With
stock it is kazoo as it comes: its own names, and no others seen.
"""

import os
import sys
import uuid

from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock


class CuratorNamedLock(Lock):
    """Named so that Curator sorts it rightly, by what follows "lock-"."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.prefix = "_c_%s-lock-" % uuid.uuid4()
        self.create_path = self.path + "/" + self.prefix


LOCKS = {"kazoo": Lock, "curator": CuratorNamedLock, "stock": Lock}
PATTERNS = {"kazoo": ["-lock-"], "curator": ["-lock-"], "stock": ()}


def add(client, lock, directory, name):
    zxid = client.exists(lock.path + "/" + lock.node).czxid
    number = 1
    fd = os.open(directory + "/counter", os.O_RDWR | os.O_CREAT, 0o600)
    if line := os.pread(fd, 64, 0):
        number += int(line)
    os.pwrite(fd, b"%d\n" % number, 0)
    os.close(fd)
    fd = os.open(directory + "/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND,
                 0o600)
    os.write(fd, ("%s %d %d %s\n" % (name, zxid, number,
                                     lock.node)).encode())
    os.close(fd)


def main():
    command, dialect, servers, path, *rest = sys.argv[1:]
    client = KazooClient(servers, timeout=10)
    client.start()
    lock = LOCKS[dialect](client, path, extra_lock_patterns=PATTERNS[dialect])
    if command == "add":
        directory, name, count = rest
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(int(count)):
            with lock:
                add(client, lock, directory, name)
    else:
        with lock:
            print("held", flush=True)
            sys.stdin.readline()
        print("released", flush=True)
    client.stop()
    client.close()


if __name__ == "__main__":
    main()
