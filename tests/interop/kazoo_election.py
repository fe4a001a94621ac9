#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A candidate that uses kazoo as its users do.

    kazoo_election.py PATTERN add SERVERS PATH DIRECTORY ID COUNT
        Print "ready", wait for a line, and COUNT times: stand, and when elected
        raise the number in DIRECTORY/counter by reading and writing it, log
        "ID CZXID NUMBER" to DIRECTORY/log, and leave.
    kazoo_election.py PATTERN stand SERVERS PATH ID
        Print "ready", stand, print "elected", lead until the end of standard
        input.
    kazoo_election.py PATTERN look SERVERS PATH
        Print "ready" and the identifier of each contender in order.

PATTERN says whose tickets are seen beside kazoo's own: "-lock-", "-latch-", or
none with "stock", which is kazoo as it comes.  Election takes no patterns, so
the Lock that it made is replaced.
"""

import sys

from kazoo.client import KazooClient

from kazoo_contender import log, read, write


def make(client, pattern, path, name):
    election = client.Election(path, name)
    if pattern != "stock":
        election.lock = client.Lock(path, name, extra_lock_patterns=[pattern])
    return election


def lead(client, lock, directory, name):
    zxid = client.exists(lock.path + "/" + lock.node).czxid
    number = read(directory + "/counter") + 1
    write(directory + "/counter", number)
    log(directory, "%s %d %d" % (name, zxid, number))


def hold():
    print("elected", flush=True)
    sys.stdin.readline()


def main():
    pattern, command, servers, path, *rest = sys.argv[1:]
    client = KazooClient(servers, timeout=10)
    client.start()
    print("ready", flush=True)
    if command == "look":
        for contender in make(client, pattern, path, "").contenders():
            print(contender)
    elif command == "stand":
        make(client, pattern, path, rest[0]).run(hold)
    else:
        directory, name, count = rest
        sys.stdin.readline()
        election = make(client, pattern, path, name)
        for _ in range(int(count)):
            election.run(lead, client, election.lock, directory, name)
    client.stop()
    client.close()


if __name__ == "__main__":
    main()
