#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Eight processes use a few nodes through the public ZooKeeper client in every
possible way, while connections are cut, held, slow and lose bytes, and servers
are killed and frozen.  zk_history.py then checks what they were asked and what
came, for the order of writes, of answers and of events, and what the caches,
the registrations and the retried writes of the processes did.

    test_zk_client_storm.py ZK_CLIENT_STORM [CLASS]

Each pass has nodes of its own and is checked by itself.  There is one pass on
one server and one on an ensemble of three; HF_SECONDS, or HF_LONG=1 for an
hour, says for how long there are others.  HF_SEED replays the choices.  The
histories of a pass in which something is wrong are kept, and with HF_KEEP=1
those of every pass.
"""

import collections
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402
import zk_history  # noqa: E402
from ensemble import Ensemble  # noqa: E402
from proxy import BOTH, DOWN, UP, Proxy  # noqa: E402
from zookeeper import Standalone  # noqa: E402

STORM = os.path.abspath(sys.argv.pop(1))
SEED = int(os.environ.get("HF_SEED") or random.SystemRandom().getrandbits(32))
SECONDS = int(os.environ.get("HF_SECONDS") or (
    1800 if os.environ.get("HF_LONG") else 0))  # of each class
PASS_S = 11  # of faults

CLIENTS = 8
HANDLES = 2

# Short, so that some sessions outlive a fault and some do not.
TIMEOUT_MS = 4000

# For how long nodes may be left that go with a session, or that a lost create
# makes late.
REMAINS_S = 20

# Passes in which the servers lose something, before the test fails.
TRIES = 3

# How many violations are printed.
SHOWN = 20


class Pass:
    """The processes of one pass and their files."""

    def __init__(self, number, seed, urls):
        self.seed = seed
        self.urls = ["%s/storm-%d?timeout=%dms" % (url, number, TIMEOUT_MS)
                     for url in urls]
        self.directory = tempfile.mkdtemp(prefix="zk-client-storm-%d-" % seed)
        self.processes = []
        self.files = []

    def begin(self, name, step, client=0):
        path = os.path.join(self.directory, name + ".history")
        self.files.append(path)
        process = machine.Process(
            [STORM, self.urls[client % len(self.urls)], path,
             str(self.seed * CLIENTS + client), name, str(HANDLES), step],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.processes.append(process)
        return process

    def ask(self, processes, word, answer):
        """Write a word to all of them, and wait for what each prints."""
        for process in processes:
            process.popen.stdin.write(word + b"\n")
            process.popen.stdin.flush()
        for process in processes:
            waiting.read_line(process, answer, seconds=2 * waiting.LIMIT_S)

    def list_nodes(self, name):
        self.end(self.begin(name, "walk"))

    def end(self, process):
        """Let it end, and see that it does."""
        process.popen.stdin.close()
        try:
            status = process.popen.wait(2 * waiting.LIMIT_S)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s does not end" % waiting.name_of(
                process.popen)) from None
        if status:
            raise AssertionError(waiting.end_of(process))

    def kill(self):
        for process in self.processes:
            process.kill()
            process.popen.stdin.close()
            process.popen.stdout.close()


class Storm(unittest.TestCase):
    """Of servers, each behind two proxies: one for each half of the clients."""

    def setUp(self):
        print("HF_SEED=%d replays the choices" % SEED, file=sys.stderr,
              flush=True)
        self.chance = random.Random(SEED)
        self.counts = collections.Counter()
        self.faults = collections.Counter()

    def put(self, servers):
        self.servers = servers
        self.halves = []
        for _ in range(2):
            self.halves.append([Proxy(server.port) for server in servers])
            for proxy in self.halves[-1]:
                self.addCleanup(proxy.close)
        # Between servers; none where there is one.
        self.links = [link for server in servers
                      for link in getattr(server, "links", {}).values()]

    def urls(self):
        return ["zk://" + ",".join("127.0.0.1:%d" % proxy.port
                                   for proxy in half) for half in self.halves]

    # ---- faults: each returns how it is undone

    def some_way(self):
        return self.chance.choice(self.chance.choice(self.halves))

    def cut(self):
        self.some_way().cut()
        return None

    def cut_all(self):
        for proxy in self.chance.choice(self.halves):
            proxy.cut()
        return None

    def refuse(self):
        proxy = self.some_way()
        proxy.refuse()
        proxy.cut()
        return lambda: proxy.refuse(False)

    def hold(self):
        proxy = self.some_way()
        ways = self.chance.choice(((UP,), (DOWN,), BOTH))
        proxy.hold(*ways)
        return lambda: proxy.thaw(*ways)

    def hold_all(self):
        half = self.chance.choice(self.halves)
        for proxy in half:
            proxy.hold()
        return lambda: [proxy.thaw() for proxy in half]

    def hold_and_cut(self):
        """What the server sent last is lost, or what the client did."""
        proxy = self.some_way()
        proxy.hold(self.chance.choice(BOTH))
        return lambda: (proxy.cut(), proxy.thaw())

    def swallow(self):
        proxy = self.some_way()
        ways = self.chance.choice(((UP,), (DOWN,), BOTH))
        proxy.drop(*ways)
        return lambda: proxy.thaw(*ways)

    def delay(self):
        proxy = self.some_way()
        proxy.delay(self.chance.choice((5, 50, 300)))
        return lambda: proxy.delay(0)

    def die(self):
        server = self.chance.choice(self.servers)
        server.kill()
        return lambda: (server.launch(), server.wait())

    def freeze(self):
        server = self.chance.choice(self.servers)
        server.freeze()
        return server.thaw

    def freeze_client(self):
        """Its callbacks come late, and its session may be over."""
        client = self.chance.choice(self.clients)
        client.freeze()
        return client.thaw

    def lag(self):
        """A follower is behind its leader, and clients move to it from the
        others, several times."""
        server = self.chance.choice(self.servers)
        ms = self.chance.choice((100, 300, 600))
        for link in server.links.values():
            link.delay(ms, (DOWN,))
        for _ in range(4):
            self.pause(0.1, 0.8)
            for half in self.halves:
                for one, proxy in zip(self.servers, half):
                    if one is not server:
                        proxy.cut()
        return lambda: [link.delay(0) for link in server.links.values()]

    def kinds(self):
        return 3 * [self.cut, self.cut_all, self.hold_and_cut] + 2 * [
            self.hold, self.delay] + [
            self.refuse, self.hold_all, self.swallow, self.die, self.freeze,
            self.freeze_client] + (6 * [self.lag] if self.links else [])

    def pause(self, least_s, most_s):
        """The fault lasts so long.  Nothing is waited for."""
        time.sleep(self.chance.uniform(least_s, most_s))

    def fault(self):
        kind = self.chance.choice(self.kinds())
        self.faults[kind.__name__] += 1
        undo = kind()
        if undo:
            # At times for longer than a session lives.
            self.pause(0.05, 1.5 if self.chance.random() < 0.9
                       else 1.5 * TIMEOUT_MS / 1000)
            undo()

    def inject_faults(self):
        end = time.monotonic() + PASS_S
        while time.monotonic() < end:
            self.pause(0.02, 0.6)
            self.fault()
            for client in self.clients:
                if not client.is_alive():
                    raise AssertionError(waiting.end_of(client))

    # ---- a pass

    def run_pass(self, number):
        one = Pass(number, SEED * 1000 + number, self.urls())
        self.addCleanup(one.kill)
        one.end(one.begin("p", "prepare"))
        self.clients = [one.begin("c%d" % i, "storm", i)
                        for i in range(CLIENTS)]
        self.inject_faults()
        self.check_quiet(one)
        for client in self.clients:
            one.end(client)
        one.end(one.begin("f", "final"))
        return self.judge(one)

    def check_quiet(self, one):
        """Nothing is under way: have the clients write down what they have, and
        wait until the servers have no node too many or too few."""
        one.ask(self.clients, b"quiet", b"quiet")
        one.list_nodes("m1")
        one.ask(self.clients, b"check", b"checked")
        end = time.monotonic() + REMAINS_S
        for number in itertools.count(2):
            name = "m%d" % number
            one.list_nodes(name)
            if not zk_history.remains(one.files, name) or \
                    time.monotonic() > end:
                break
            time.sleep(0.5)  # sessions end, and nothing says when

    def keep_logs(self, one):
        for i, server in enumerate(self.servers):
            with open(os.path.join(one.directory, "server-%d.log" % i),
                      "w") as file:
                file.write(server.log())

    def judge(self, one):
        """False if the pass proves nothing."""
        violations, lost, counts = zk_history.check_files(one.files)
        if lost:
            self.keep_logs(one)
            print("the servers lost what they had committed, so a pass proves "
                  "nothing; see %s:\n%s" % (one.directory, "\n".join(lost)),
                  flush=True)
            self.counts["passes with losses of servers"] += 1
            return False
        self.counts.update(counts)
        if violations:
            self.keep_logs(one)
            print("\n".join(violations[:SHOWN]), flush=True)
            self.fail("%d violations in %s, HF_SEED=%d" % (
                len(violations), one.directory, SEED))
        if "HF_KEEP" not in os.environ:
            shutil.rmtree(one.directory)
        return True

    def run_passes(self):
        end = time.monotonic() + SECONDS
        number = judged = 0
        try:
            while judged == 0 and number < TRIES or time.monotonic() < end:
                judged += self.run_pass(number)
                number += 1
        finally:
            print("%d passes of %s, HF_SEED=%d\n  %s\n  %s" % (
                number, type(self).__name__, SEED,
                ", ".join("%s %d" % item for item in sorted(
                    self.counts.items(), key=lambda item: str(item[0]))),
                ", ".join("%s %d" % item for item in sorted(
                    self.faults.items()))), flush=True)
        for wanted in ("HF_OK", "HF_EUNSURE", "HF_EVERSION", "events",
                       "SUSPENDED", "cache events", "cache queries",
                       "registered", "create HF_OK", "delete HF_OK",
                       "update HF_OK"):
            self.assertGreater(self.counts[wanted], 0, "no " + wanted)


class OneServer(Storm):
    def test_storm(self):
        server = Standalone()
        self.addCleanup(server.close)
        self.put([server])
        self.run_passes()


class ThreeServers(Storm):
    def test_storm(self):
        ensemble = Ensemble()
        self.addCleanup(ensemble.close)
        self.put(ensemble.servers)
        self.run_passes()


del Storm  # it has no test

if __name__ == "__main__":
    unittest.main()
