#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Locks on a session that also carries data: see bench/shared.c.

usage: shared.py BUILD

The server is that of zookeeper.py."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "servers"))
sys.dont_write_bytecode = True

from contest import print_load  # noqa: E402
from zookeeper import Standalone  # noqa: E402


def main():
    build = os.path.abspath(sys.argv[1])
    print_load("began")
    with Standalone(tick_ms=2000, jvm=[],
                    properties={"zookeeper.forceSync": "yes"}) as server:
        with server.client() as session:
            session.create("/bench")
        subprocess.run([build + "/bench/bench-shared",
                        "zk://%s/bench?timeout=10s" % server.address()],
                       check=True)
    print_load("ended")


if __name__ == "__main__":
    main()
