#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A proxy cuts every connection every second while ten clients take three
locks again and again: nothing stays at the server or in the process.

    test_zk_soak.py CHURN [SECONDS]

20 s, or 20 minutes with HF_LONG=1.
"""

import os
import random
import subprocess
import sys
import threading
import time

import client_driver

import machine
import waiting
from proxy import Proxy
from zookeeper import Standalone

CLIENTS = 10
SEED = int(os.environ.get("HF_SEED", random.randrange(1 << 32)))

# The heap of a program with several threads may still grow by this after a
# quarter of the time.  A leak of a hundred bytes per acquire is 20 MB in 20
# minutes.
GROWTH_KB = 4096


def resident_kb(pid):
    with open("/proc/%d/status" % pid) as status:
        for line in status:
            if line.startswith("VmRSS"):
                return int(line.split()[1])
    return 0


def is_sanitized(pid):
    """AddressSanitizer keeps what was freed for a while; it looks for leaks
    itself, at the end."""
    with open("/proc/%d/maps" % pid) as maps:
        return "san.so" in maps.read()


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


class Flaps(threading.Thread):
    """Cuts all connections of a proxy every second."""

    def __init__(self, proxy):
        super().__init__(daemon=True)
        self.proxy = proxy
        self.over = threading.Event()
        self.cuts = 0
        self.start()

    def run(self):
        while not self.over.wait(1):
            self.proxy.cut()
            self.cuts += 1

    def end(self):
        self.over.set()
        self.join()


def wait_for(process, seconds):
    """Let it be at it for so long; it must not end before."""
    try:
        process.popen.wait(seconds)
    except subprocess.TimeoutExpired:
        return
    sys.exit("churn ended with %d, HF_SEED=%d" % (
        process.popen.returncode, SEED))


def watch_it(process, seconds):
    wait_for(process, seconds / 4)
    early = resident_kb(process.pid), descriptors(process.pid)
    wait_for(process, seconds * 3 / 4)
    return early, (resident_kb(process.pid), descriptors(process.pid))


def check(process, before, after):
    assert after[1] <= before[1] + CLIENTS, (
        "descriptors: %d, then %d" % (before[1], after[1]))
    if not is_sanitized(process.pid):
        assert after[0] <= before[0] + GROWTH_KB, (
            "resident: %d kB, then %d kB" % (before[0], after[0]))


def finish(process):
    """Its summary, as numbers by name."""
    began = time.monotonic()
    try:
        out, _ = process.popen.communicate(timeout=2 * waiting.LIMIT_S)
    except subprocess.TimeoutExpired:
        sys.exit("churn does not end, HF_SEED=%d" % SEED)
    assert process.popen.returncode == 0, (
        "status %d, HF_SEED=%d" % (process.popen.returncode, SEED))
    print(out.strip(), "closed in %.1f s" % (time.monotonic() - began))
    return {name: int(number) for name, number in
            (word.split("=") for word in out.split())}


def nothing_is_left(server):
    """Of sessions that were closed while cut off too, once they are over."""
    waiting.eventually("tickets and watches to go", lambda: all(
        server.mntr()[name] == 0
        for name in ("ephemerals_count", "watch_count")))
    with server.client() as client:
        waiting.eventually("the containers to go", lambda: not client.tree())


def main():
    churn = os.path.abspath(sys.argv[1])
    seconds = (int(sys.argv[2]) if len(sys.argv) > 2 else
               1200 if client_driver.LONG else 20)
    with Standalone(container_check_ms=200) as server, \
            Proxy(server.port) as proxy:
        process = machine.Process(
            [churn, "zk://127.0.0.1:%d?timeout=4s" % proxy.port, str(CLIENTS),
             str(SEED)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            flaps = Flaps(proxy)
            before, after = watch_it(process, seconds)
            flaps.end()
            check(process, before, after)
            counts = finish(process)
        finally:
            process.kill()
        assert flaps.cuts >= seconds / 2, "%d cuts" % flaps.cuts
        assert counts["least"] > 0, "a client that was never granted"
        nothing_is_left(server)
        print("%d cuts, HF_SEED=%d, kB and descriptors %s, then %s" % (
            flaps.cuts, SEED, before, after))


if __name__ == "__main__":
    main()
