#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The clocks of a holder, or of its server, are slewed as fast as chrony does
by default: a holder that is cut off is notified of its loss before the next
one is granted the lock, and what `holdfast run` has started is dead by then.

    test_slewed_clocks.py HOLDER HOLDFAST HEARTBEAT SLEWED_CLOCK ENGINE

With HF_LONG=1 the leases have their default length.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import zk_holder
from zk_holder import Holder

import machine
import waiting
from proxy import Proxy

HOLDER, HOLDFAST, HEARTBEAT, SLEWED_CLOCK = (
    os.path.abspath(path) for path in sys.argv[1:5])
ENGINE = sys.argv[5]
del sys.argv[1:6]

# maxslewrate of chrony, in millionths.
CHRONY = 83333

LEASE_MS = 10000 if zk_holder.LONG else 4000
HOLDERS = 3


def slewed(ppm):
    """The environment of the programs of a machine whose clocks are slewed."""
    if ppm == 0:
        return {}
    checks = [os.environ.get("ASAN_OPTIONS", "detect_leaks=0"),
              "verify_asan_link_order=0"]
    return {"LD_PRELOAD": SLEWED_CLOCK, "HF_SLEW_PPM": str(ppm),
            "HF_SLEW_FROM_NS": str(time.clock_gettime_ns(time.CLOCK_BOOTTIME)),
            "ASAN_OPTIONS": ":".join(checks)}


class Fixture:
    """Servers of an engine: .start_servers(stack, environment) starts them
    until the end of the stack and returns their ports; .url(ports) is the URL
    through these ports or others; .tickets(name) counts."""

    # A renewal proves the lease from when it was sent.  Else only what is
    # proven when the session is new comes as close to the end of the lease.
    RENEWALS_ARE_PRECISE = True

    def setUp(self):
        self.directory = machine.directory("slewed", on_disk=True)
        self.addCleanup(shutil.rmtree, self.directory)

    def engine(self, server_ppm):
        """Servers until the end of the test."""
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.ports = self.start_servers(stack, slewed(server_ppm))

    def proxied(self):
        """The URL through proxies, and what cuts all of them off."""
        proxies = []
        for port in self.ports:
            proxies.append(Proxy(port))
            self.addCleanup(proxies[-1].close)
        return (self.url([proxy.port for proxy in proxies]),
                lambda: [proxy.hold() for proxy in proxies])

    def holder(self, url, name, ppm=0):
        holder = Holder(HOLDER, url, name,
                        os.path.join(self.directory, "store"), **slewed(ppm))
        self.addCleanup(holder.close)
        return holder

    def cut_off(self, server_ppm=0, holder_ppm=0):
        """Holders that are cut off just when their lease was proven, with one
        behind each."""
        self.engine(server_ppm)
        url, cut = self.proxied()
        names = ["slewed-%d" % number for number in range(HOLDERS)]
        firsts = [self.holder(url, name, holder_ppm) for name in names]
        for first in firsts:
            first.granted()
        if self.RENEWALS_ARE_PRECISE:
            proven = len(firsts[0].all("safe_until"))
            firsts[0].wait("safe_until", proven + 1)
        cut()
        cut_at = waiting.now_ms()
        seconds = [self.holder(self.url(self.ports), name) for name in names]
        for name, second in zip(names, seconds):
            waiting.eventually("it to queue",
                               lambda name=name: self.tickets(name) == 2,
                               of=[second])
        early = []
        for first, second in zip(firsts, seconds):
            at, _ = second.granted()
            notified_at = first.notified_at()
            early.append(at - notified_at)
            # It is no feat to lose a lock at once.
            self.assertGreater(notified_at - cut_at, LEASE_MS / 2)
        zk_holder.summary("server %+d ppm, holder %+d ppm: notified this many "
                          "ms before the next was granted" % (
                              server_ppm, holder_ppm), early)
        self.assertGreater(min(early), 0)


class LeaseTests(Fixture):
    def test_the_server_is_fast(self):
        self.cut_off(server_ppm=CHRONY)

    def test_the_server_is_slow(self):
        self.cut_off(server_ppm=-CHRONY)

    def test_the_holder_is_slow(self):
        self.cut_off(holder_ppm=-CHRONY)

    def test_the_holder_is_a_little_slow(self):
        self.cut_off(holder_ppm=-30000)

    def test_the_holder_is_fast(self):
        self.cut_off(holder_ppm=CHRONY)

    def test_the_holder_is_slow_and_the_server_is_fast(self):
        self.cut_off(server_ppm=CHRONY, holder_ppm=-CHRONY)

    def test_a_holder_keeps_its_lock_while_all_are_slewed(self):
        """Renewals are in time with either side fast or slow."""
        for server_ppm, holder_ppm in ((CHRONY, -CHRONY), (-CHRONY, CHRONY)):
            self.engine(server_ppm)
            first = self.holder(self.url(self.ports), "kept", holder_ppm)
            first.granted()
            second = self.holder(self.url(self.ports), "kept")
            waiting.eventually("it to queue",
                               lambda: self.tickets("kept") == 2, of=[second])
            # Longer than a lease.
            first.wait("safe_until", len(first.all("safe_until")) + 6)
            first.say("check")
            self.assertEqual(first.wait("done")[2][0], "HF_OK", first.lines)
            self.assertFalse(second.all("granted"))
            first.say("release")
            second.granted()
            self.doCleanups()
            self.setUp()


class RunTests(Fixture):
    """The tool, whose command beats while it lives."""

    def run_it(self, url, part, ppm=0):
        """The file of the beats of the command of `holdfast run`, which
        ignores SIGTERM."""
        path = os.path.join(self.directory, part)
        process = machine.Process(
            [HOLDFAST, "run", "-q", "-c", url, "run", "--",
             "env", "-u", "LD_PRELOAD", HEARTBEAT, path, part, "0", "t"],
            env=dict(os.environ, **slewed(ppm)))
        self.addCleanup(process.kill)
        return path

    def beats(self, path):
        """When it beat, in ms."""
        with contextlib.suppress(FileNotFoundError), open(path) as file:
            return [int(line.split()[2]) / 1000 for line in file
                    if line.endswith("\n")]
        return []

    def ends_first(self, server_ppm=0, holder_ppm=0):
        self.engine(server_ppm)
        url, cut = self.proxied()
        first = self.run_it(url, "first", holder_ppm)
        waiting.eventually("the command to start", lambda: self.beats(first))
        second = self.run_it(self.url(self.ports), "second")
        waiting.eventually("it to queue", lambda: self.tickets("run") == 2)
        cut()
        waiting.eventually("the next to start", lambda: self.beats(second))
        early = self.beats(second)[0] - self.beats(first)[-1]
        zk_holder.summary("server %+d ppm, holder %+d ppm: the command was "
                          "dead this many ms before the next one started" % (
                              server_ppm, holder_ppm), [early])
        self.assertGreater(early, 0)

    def test_the_command_is_dead_though_the_server_is_fast(self):
        self.ends_first(server_ppm=CHRONY)

    def test_the_command_is_dead_though_the_holder_is_slow(self):
        self.ends_first(holder_ppm=-CHRONY)


class Redis(LeaseTests, RunTests, unittest.TestCase):
    def start_servers(self, stack, environment):
        from redis_server import Server
        self.server = stack.enter_context(Server(environment=environment))
        return [self.server.port]

    def url(self, ports):
        return "redis://127.0.0.1:%d/0?ttl=%dms" % (ports[0], LEASE_MS)

    def tickets(self, name):
        from redis_server import tickets
        with self.server.client() as client:
            return len(tickets(client, name))

    def test_the_clock_of_the_server_is_slewed(self):
        """Else the other tests show nothing."""
        self.engine(CHRONY)
        def ahead_ms():
            with self.server.client() as client:
                before = time.time()
                seconds, us = map(int, client.ask("TIME"))
            return (seconds + us / 1e6 - before) * 1000
        first = ahead_ms()
        waiting.eventually("it to be further ahead",
                           lambda: ahead_ms() > first + 50)


class Quorum(LeaseTests, unittest.TestCase):
    def start_servers(self, stack, environment):
        from redis_server import Server
        self.servers = [stack.enter_context(Server(environment=environment))
                        for _ in range(3)]
        return [server.port for server in self.servers]

    def url(self, ports):
        return "quorum:%s?ttl=%dms&rejoin=%dms" % (",".join(
            "redis://127.0.0.1:%d/0" % port for port in ports),
            LEASE_MS, LEASE_MS)

    def tickets(self, name):
        counts = []
        for server in self.servers:
            with server.client() as client:
                counts.append(client.ask(
                    "ZCARD", "holdfast:{%s}:quorum:queue" % name))
        return sorted(counts)[1]


class Postgres(LeaseTests, unittest.TestCase):
    def start_servers(self, stack, environment):
        from postgres import Server
        self.server = stack.enter_context(
            contextlib.closing(Server(environment=environment)))
        return [self.server.port]

    def url(self, ports):
        return "postgresql://postgres:%s@127.0.0.1:%d/postgres?ttl=%dms" % (
            self.server.password, ports[0], LEASE_MS)

    def tickets(self, name):
        if not self.server.sql("SELECT to_regclass('holdfast.ticket')")[0][0]:
            return 0
        return self.server.sql(
            "SELECT count(*) FROM holdfast.ticket t JOIN holdfast.queue q "
            "ON q.number = t.queue WHERE q.name = %s", (name.encode(),))[0][0]


class ZooKeeper(LeaseTests, unittest.TestCase):
    RENEWALS_ARE_PRECISE = False

    def start_servers(self, stack, environment):
        from zookeeper import Server
        self.server = stack.enter_context(Server(environment=environment))
        return [self.server.port]

    def url(self, ports):
        return "zk://127.0.0.1:%d/?timeout=%dms" % (ports[0], LEASE_MS)

    def tickets(self, name):
        import raw
        with self.server.client() as client:
            try:
                return len(client.children("/" + name))
            except raw.Refused:
                return 0


class File(Fixture, unittest.TestCase):
    """No clock ends a ticket here: the kernel does."""

    def rate(self, ppm):
        """The finding of `holdfast doctor` about the clocks of a machine."""
        said = subprocess.run(
            [HOLDFAST, "doctor", "--json", "-c", "file:" + self.directory],
            env=dict(os.environ, **slewed(ppm)), stdout=subprocess.PIPE,
            check=False)
        finding, = (f for f in json.loads(said.stdout)["findings"]
                    if f["id"] == "clock-rate")
        return finding

    def test_doctor_sees_the_rate(self):
        for ppm, severity, text in (
                (1, "ok", "slewed by 1 ppm"), (-900, "ok", "slewed by 900 ppm"),
                (-CHRONY, "notice", "8.33 % slow"),
                (CHRONY, "notice", "8.33 % fast"),
                (100000, "warning", "10.00 % fast")):
            finding = self.rate(ppm)
            self.assertEqual(finding["severity"], severity, finding)
            self.assertIn(text, finding["text"])
            self.assertEqual("maxslewrate" in finding["advice"],
                             severity != "ok")

    def test_the_next_is_granted_the_lock_when_the_holder_is_killed(self):
        url = "file:" + os.path.join(self.directory, "locks")
        first = self.holder(url, "slewed", -CHRONY)
        first.granted()
        second = self.holder(url, "slewed", CHRONY)
        waiting.eventually("it to connect", lambda: second.all("state"),
                           of=[second])
        first.say("check")
        self.assertEqual(first.wait("done")[2][0], "HF_OK", first.lines)
        self.assertFalse(second.all("granted"))
        killed_at = waiting.now_ms()
        first.signal(signal.SIGKILL)
        self.assertGreater(second.granted()[0], killed_at)


if __name__ == "__main__":
    cases = {"redis": Redis, "quorum": Quorum, "postgres": Postgres,
             "zookeeper": ZooKeeper, "file": File}
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]] if len(sys.argv) > 1 else
                  [sys.argv[0], cases[ENGINE].__name__], verbosity=2)
