#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The command that test_etcdctl.py runs under a lock: append a line to a log,
and see that nobody else does.

    etcd_counted.py PORT LOG

The line has the create revision of the key by which the lock is held, which is
the position in the queue; etcdctl has the name of the key in ETCD_LOCK_KEY, and
ours the revision in HOLDFAST_TOKEN.  The status is 3 if somebody else is here.
"""

import fcntl
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "servers"))


def revision(port):
    if "HOLDFAST_TOKEN" in os.environ:
        return int(os.environ["HOLDFAST_TOKEN"])
    import etcd_gateway  # here, because it takes longer than all else

    with etcd_gateway.Client(port) as client:
        found = client.get(os.environ["ETCD_LOCK_KEY"])
    return found.created if found else 0


def main():
    port, path = int(sys.argv[1]), sys.argv[2]
    with open(path, "a") as log:
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(3)
        who = "ours" if "HOLDFAST_TOKEN" in os.environ else "etcdctl"
        log.write("%s %d\n" % (who, revision(port)))
        log.flush()


if __name__ == "__main__":
    main()
