#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No ticket stays when an acquire ends without a grant: each end is followed by
a look at the queue through another client, on a real server.

    test_ends.py ENDS HOLDFAST ENGINE

ENGINE is file, zookeeper, redis or postgres.
"""

import contextlib
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402

ENDS, HOLDFAST = (os.path.abspath(path) for path in sys.argv[1:3])
ENGINE = sys.argv[3]
del sys.argv[1:4]

LONG = os.environ.get("HF_LONG") == "1"
REPEATS = 2000 if LONG else 100
WAYS = {"mutex", "write", "semaphore", "try", "mutex-of-threads", "several",
        "cancel"}


@contextlib.contextmanager
def file():
    with machine.temporary("ends") as directory:
        yield "file:" + directory


@contextlib.contextmanager
def zookeeper():
    from zookeeper import Standalone
    with contextlib.closing(Standalone(tick_ms=2000)) as server:
        yield "zk://" + server.address()


@contextlib.contextmanager
def redis():
    import redis_server
    with contextlib.closing(redis_server.Server()) as server:
        server.start()
        yield server.url()


@contextlib.contextmanager
def postgres():
    import postgres as servers
    with contextlib.closing(servers.Server()) as server:
        server.sql(subprocess.run([HOLDFAST, "sql"], capture_output=True,
                                  text=True, check=True).stdout)
        yield server.tcp_url()


class Ends(unittest.TestCase):
    def test_no_ticket_is_left_when_the_call_returns(self):
        with {"file": file, "zookeeper": zookeeper, "redis": redis,
              "postgres": postgres}[ENGINE]() as url:
            program = subprocess.run(
                [ENDS, url, str(REPEATS)], stdout=subprocess.PIPE, text=True,
                timeout=(10 if LONG else 2) * 60)
        print(program.stdout)
        self.assertEqual(program.returncode, 0)
        rows = [line.split() for line in program.stdout.splitlines()]
        self.assertEqual({row[0] for row in rows}, WAYS)
        for way, ends, left, said in rows:
            self.assertEqual(int(ends), REPEATS, way)
            self.assertEqual(int(left), 0, way)
            # A machine that is busy otherwise may answer late now and then.
            self.assertLessEqual(int(said), REPEATS // 10, way)


if __name__ == "__main__":
    unittest.main(verbosity=2)
