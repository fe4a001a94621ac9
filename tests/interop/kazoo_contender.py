#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A contender that uses kazoo as its users do.

    kazoo_contender.py add DIALECT SERVERS PATH DIRECTORY ID COUNT
        Print "ready", wait for a line, and COUNT times: take the lock, raise
        the number in DIRECTORY/counter by reading and writing it, log
        "ID CZXID NUMBER NODE" to DIRECTORY/log, release.
    kazoo_contender.py share DIALECT SERVERS PATH DIRECTORY ID COUNT
        The same by turns as a writer, who raises the numbers in DIRECTORY/one
        and DIRECTORY/two, and as a reader, who fails if they differ; it logs
        "ID CZXID KIND NUMBER".
    kazoo_contender.py hold DIALECT SERVERS PATH
        Take the lock, print "held", wait for a line, release, print
        "released".

DIALECT is how kazoo names its own nodes: kazoo, as it always does, or curator.
Either way extra_lock_patterns makes it respect those that Curator names.  With
stock it is kazoo as it comes: its own names, and no others seen.

Readers and writers are named as Curator names them, or stock.  In both cases a
ReadLock needs a pattern for its own name: kazoo 2.8.0 looks for its own node
among those that match its patterns, does not find it, and so waits for the
last writer of all, also for one behind it, which waits for it in turn (mended
in 2.9.0)."""

import os
import re
import sys
import uuid

from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock, ReadLock, WriteLock


class CuratorNamedLock(Lock):
    """Named so that Curator sorts it rightly, by what follows "lock-"."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.prefix = "_c_%s-lock-" % uuid.uuid4()
        self.create_path = self.path + "/" + self.prefix


def named(kind, client, path, prefix, patterns):
    # The pattern that matches this one lock alone is the cure of readers.
    lock = kind(client, path,
                extra_lock_patterns=[*patterns, re.escape(prefix)])
    lock.prefix = prefix
    lock.create_path = path + "/" + prefix
    return lock


LOCKS = {"kazoo": Lock, "curator": CuratorNamedLock, "stock": Lock}
PATTERNS = {"kazoo": ["-lock-"], "curator": ["-lock-"], "stock": ()}


def read(path):
    fd = os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)
    number = int(os.read(fd, 64) or 0)
    os.close(fd)
    return number


def write(path, number):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(fd, b"%d\n" % number)
    os.close(fd)


def log(directory, line):
    fd = os.open(directory + "/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND,
                 0o600)
    os.write(fd, (line + "\n").encode())
    os.close(fd)


def add(client, lock, directory, name):
    zxid = client.exists(lock.path + "/" + lock.node).czxid
    number = read(directory + "/counter") + 1
    write(directory + "/counter", number)
    log(directory, "%s %d %d %s" % (name, zxid, number, lock.node))


def share(client, lock, directory, name, writes):
    zxid = client.exists(lock.path + "/" + lock.node).czxid
    number = read(directory + "/one")
    if number != read(directory + "/two"):
        sys.exit("the two files differ: another contender writes")
    if writes:
        number += 1
        write(directory + "/one", number)
        write(directory + "/two", number)
    log(directory, "%s %d %s %d" % (name, zxid, "w" if writes else "r",
                                    number))


def shared_locks(client, path, dialect):
    if dialect == "stock":
        return (WriteLock(client, path),
                named(ReadLock, client, path,
                      "%s__rlock__" % uuid.uuid4().hex, ()))
    return (named(WriteLock, client, path, "_c_%s-__WRIT__" % uuid.uuid4(),
                  ("__READ__", "__WRIT__")),
            named(ReadLock, client, path, "_c_%s-__READ__" % uuid.uuid4(),
                  ("__WRIT__",)))


def share_many(client, path, dialect, directory, name, count):
    locks = shared_locks(client, path, dialect)
    print("ready", flush=True)
    sys.stdin.readline()
    first = int(name[-1])
    for turn in range(first, first + int(count)):
        with locks[turn % 2]:
            share(client, locks[turn % 2], directory, name, turn % 2 == 0)


def main():
    command, dialect, servers, path, *rest = sys.argv[1:]
    client = KazooClient(servers, timeout=10)
    client.start()
    lock = LOCKS[dialect](client, path, extra_lock_patterns=PATTERNS[dialect])
    if command == "share":
        share_many(client, path, dialect, *rest)
    elif command == "add":
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
