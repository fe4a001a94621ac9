#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast torture kills and freezes contenders.  Here the servers suffer,
too: they are killed and started again or frozen, and the connections to them
are cut, delayed or lose one direction; or the network between them is
partitioned.  After the last fault every lock must be granted again.  The
history that the contenders wrote is then verified.

    test_torture.py HOLDFAST ENGINE [KIND]

A run in which nothing was granted, or nothing was done to the servers or the
contenders, fails: it would show nothing.

HF_SECONDS says how long, HF_SEED replays the choices.  HF_HISTORY keeps the
history; else it is kept only if something was wrong.  Of zookeeper-partitioned
and etcd-partitioned the test is skipped where this machine has no network
namespaces for us.
"""

import bisect
import contextlib
import http.client
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import network  # noqa: E402
import machine  # noqa: E402
import waiting  # noqa: E402
from contenders import Contenders, merge, notes_of  # noqa: E402
from kept_tickets import KeptTickets  # noqa: E402
from partitions import Partitions  # noqa: E402
from proxy import BOTH, DOWN, UP, Proxy  # noqa: E402

HOLDFAST = os.path.abspath(sys.argv.pop(1))
ENGINE = sys.argv.pop(1)
KIND = sys.argv.pop(1) if len(sys.argv) > 1 else "all"

LONG = os.environ.get("HF_LONG") == "1"
SECONDS = int(os.environ.get("HF_SECONDS") or (300 if LONG else 20))
SEED = int(os.environ.get("HF_SEED") or random.SystemRandom().getrandbits(32))

# Short, so that some sessions outlive a fault and some do not.
LEASE_MS = 4000

# Contenders, of all hosts.
COUNT = 8

# So many grants on a ticket that is kept may pass over a client that waits.  A
# client that is cut off from its server learns nothing of others, and goes on
# until safe-until passes, one lease later.  In that time it has the lock some 15
# times, and 100 times with luck only; one that keeps its ticket all the same
# goes on for a minute.
PASSED_OVER_MAX = 100

# What a busy machine may add to the instant of a notification.
LATE = "1s"

# Of some kinds one of the contenders is killed or frozen so often.  A ticket is
# not kept after it has waited for one that was frozen, and here all want the
# same lock.
FAULTS_MS = {"kept": 2000}

# For what is done after the last fault.
GRACE_S = 60


class Engine:
    """.targets are its servers, with a proxy for each way to one."""

    hosts = [machine.LOCALHOST]  # of the contenders
    faults_ms = 500  # one of them is killed or frozen so often

    def partitions(self, _):
        """Faults of a network; none where there are only proxies."""
        return []

    def faults(self, _):
        """Faults of its own, beside those of servers and ways."""
        return []

    def may_freeze(self, _):
        """Whether what it promises holds where this server stands still for
        longer than a lease."""
        return True

    def figures(self):
        """Lines about what has happened to it."""
        return []


class File(Engine):
    """There is no server, and nothing in between."""

    def __init__(self):
        self.targets = []
        self.directory = machine.directory()

    def url(self, _):
        return "file:" + self.directory

    def close(self):
        pass


class Servers(Engine):
    """Each behind a proxy of its own."""

    def put(self, servers):
        self.servers = servers
        self.targets = [(server, Proxy(server.port)) for server in servers]

    def addresses(self):
        return ",".join("127.0.0.1:%d" % proxy.port
                        for _, proxy in self.targets)

    def around(self, server):
        """All ways to it and from it."""
        return [proxy for one, proxy in self.targets if one is server]

    def wait(self, server):
        """Until it serves again, as what it was."""
        server.wait()

    def close(self):
        for server, proxy in self.targets:
            proxy.close()
            server.close()


class ZooKeeper(Servers):
    def __init__(self):
        from ensemble import Ensemble
        self.ensemble = Ensemble()
        self.put(self.ensemble.servers)
        self.clients = self.addresses()
        # The connections over which followers receive from their leader.
        self.targets += [(server, link) for server in self.servers
                         for link in server.links.values()]

    def url(self, _):
        return "zk://%s?timeout=%dms" % (self.clients, LEASE_MS)

    def around(self, server):
        return super().around(server) + [
            one.links[server.id] for one in self.servers
            if one is not server]

    def figures(self):
        return ["a leader was elected %d times" % len(
            self.ensemble.elections())]


class Partitioned(ZooKeeper):
    """Each server in a network namespace, and the contenders in two others."""

    # Rarely, so that a holder is cut off more often than it is killed.
    faults_ms = 2000

    def __init__(self):
        from ensemble import Ensemble
        self.network = network.Network(5)
        self.hosts = self.network.nodes[3:]
        # A follower serves for 2 s after it has lost its leader; or for 6 s,
        # when the leader has granted the lock to others.
        sync_limit = (4, 12)[SEED % 2]
        print("syncLimit is %d ticks" % sync_limit)
        self.ensemble = Ensemble(self.network.nodes[:3], sync_limit=sync_limit)
        self.clients = self.ensemble.addresses()
        self.targets = [(server, None) for server in self.ensemble.servers]

    def partitions(self, chance):
        return Partitions(self.ensemble, self.network, self.hosts,
                          chance).kinds()

    def close(self):
        self.ensemble.close()
        self.network.close()


class Etcd(Servers):
    """Three members, each behind a proxy.  History is compacted all the time, so
    watches have to begin with a list again.

    The leader is frozen, and thawed in slices, only where a leader looks whether
    it still is one before it ends leases: else two may hold the lock, as
    docs/engine-etcd.md says."""

    def __init__(self):
        from etcd import Cluster
        self.begin(Cluster())
        self.put(self.cluster.servers)

    def begin(self, cluster):
        self.compactions = self.slices = 0
        self.cluster = cluster.__enter__()
        self.servers = cluster.servers
        self.ended = threading.Event()
        self.compacting = threading.Thread(target=self.compact, daemon=True)
        self.compacting.start()

    def compact(self):
        while not self.ended.wait(0.2):
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.compactions += random.choice(self.servers).compact()

    def close(self):
        self.ended.set()
        self.compacting.join()
        super().close()

    def url(self, _):
        return "etcd://%s?ttl=%dms" % (self.addresses(), LEASE_MS)

    def faults(self, _):
        def slice_leader(*_):
            leader = self.cluster.leads()
            if not leader or not self.may_freeze(leader):
                return None
            leader.freeze()
            self.slices += 1
            return leader.thaw_in_slices
        return [slice_leader]

    def may_freeze(self, server):
        leader = self.cluster.leads()
        return server is not leader or leader.checks_leader()

    def figures(self):
        return ["history was compacted %d times, a leader thawed in slices %d "
                "times" % (self.compactions, self.slices)]


class PartitionedEtcd(Etcd):
    """Each member in a network namespace, and the contenders in two others."""

    # Rarely, so that a holder is cut off more often than it is killed.
    faults_ms = 2000

    def __init__(self):
        from etcd import Cluster
        self.network = network.Network(5)
        *hosts, one, other = self.network.nodes
        self.hosts = [one, other]
        self.begin(Cluster(hosts=hosts))
        self.targets = [(server, None) for server in self.servers]

    def addresses(self):
        return self.cluster.address()

    def partitions(self, chance):
        return Partitions(self.cluster, self.network, self.hosts,
                          chance).kinds()

    def close(self):
        self.ended.set()
        self.compacting.join()
        self.cluster.close()
        self.network.close()


class Redis(Servers):
    """With every write on disk before it is answered."""

    def __init__(self):
        from redis_server import Server
        server = Server(["appendonly yes", "appendfsync always"])
        self.put([server])
        server.start()

    def url(self, _):
        return "redis://%s/0?ttl=%dms" % (self.addresses(), LEASE_MS)


class Replicated(Servers):
    """A Redis and its replica, behind one address that follows the primary.
    With wait=1 what is granted the replica has, and so a failover to it loses
    nothing, unless it is behind: then there is none here, as there must be none
    anywhere (docs/engine-redis.md).  All rules are judged."""

    def __init__(self):
        from redis_server import Server
        self.servers = [Server(["appendonly yes", "appendfsync always",
                                "repl-diskless-sync-delay 0"])
                        for _ in range(2)]
        for server in self.servers:
            server.start()
        self.primary, self.replica = self.servers
        self.address = Proxy(self.primary.port)
        # By which each is followed as a primary.
        self.ways = {server: Proxy(server.port) for server in self.servers}
        self.targets = [(server, proxy) for server in self.servers
                        for proxy in (self.address, self.ways[server])]
        self.follow()

    def url(self, _):
        return "redis://127.0.0.1:%d/0?ttl=%dms&wait=1" % (self.address.port,
                                                           LEASE_MS)

    def follow(self):
        with self.replica.client() as client:
            client.ask("REPLICAOF", "127.0.0.1",
                       self.ways[self.primary].port)

    def wait(self, server):
        super().wait(server)
        if server is self.replica:
            self.follow()  # it has forgotten its primary

    def is_in_step(self):
        with self.replica.client() as client:
            said = client.ask("INFO", "replication")
        return "master_link_status:up" in said

    def fail_over(self, chance):
        """The primary is killed or frozen, and the replica promoted; how the
        one is made the other's replica later.  None if the replica lacks
        something."""
        if not self.is_in_step():
            return None
        old = self.primary
        dies = chance.random() < 0.5
        if dies:
            old.kill()
        else:
            old.freeze()
        with self.replica.client() as client:
            client.ask("REPLICAOF", "NO", "ONE")
        self.primary, self.replica = self.replica, old
        self.address.target = self.primary.port
        self.address.cut()

        def undo():
            if dies:
                old.start()
            else:
                old.thaw()
            self.follow()
        return undo

    def close(self):
        self.address.close()
        for server in self.servers:
            self.ways[server].close()
            server.close()


class PostgreSQL(Servers):
    def __init__(self):
        from postgres import Server
        server = Server()
        self.put([server])

    def url(self, _):
        server = self.servers[0]
        return "postgresql://%s:%s@%s/postgres?ttl=%dms" % (
            "postgres", server.password, self.addresses(), LEASE_MS)


class Standby(Engine):
    """A PostgreSQL primary and its synchronous standby.  The contenders of each
    host have ways of their own to them.  All rules are judged."""

    hosts = [machine.LOCALHOST, machine.LOCALHOST]

    def __init__(self):
        from postgres_pair import Pair
        self.pair = Pair()
        self.pair.add_spare()
        self.clients = [{server: Proxy(server.port)
                         for server in self.pair.servers} for _ in self.hosts]

    @property
    def targets(self):
        return [(server, proxy)
                for server in (self.pair.primary, self.pair.standby)
                for proxy in self.ways(server)]

    def ways(self, server):
        return [self.pair.ways[server]] + [
            proxies[server] for proxies in self.clients]

    def url(self, host):
        return "postgresql://%s:%s@%s/postgres?ttl=%dms" % (
            "postgres", self.pair.primary.password,
            ",".join("127.0.0.1:%d" % proxy.port
                     for proxy in self.clients[host].values()), LEASE_MS)

    def around(self, server):
        """The two are connected through the proxy of the primary."""
        return self.ways(server) + [self.pair.ways[self.pair.primary]]

    def wait(self, server):
        server.wait()
        self.pair.wait()

    def faults(self, chance):
        from failovers import Failovers
        self.failovers = Failovers(self.pair, self.clients, chance)
        return self.failovers.kinds()

    def fail_over(self, _):
        return self.failovers.fail_over()

    def figures(self):
        return self.failovers.figures()

    def close(self):
        for proxies in self.clients:
            for proxy in proxies.values():
                proxy.close()
        self.pair.close()


ENGINES = {"file": File, "zookeeper": ZooKeeper, "etcd": Etcd,
           "redis": Redis, "redis-replica": Replicated, "postgres": PostgreSQL,
           "postgres-replica": Standby, "zookeeper-partitioned": Partitioned,
           "etcd-partitioned": PartitionedEtcd}


class Torture(unittest.TestCase):
    def setUp(self):
        self.history = os.environ.get("HF_HISTORY") or os.path.join(
            tempfile.gettempdir(), "holdfast-%s-%d.history" % (ENGINE, SEED))
        print("HF_SEED=%d replays the choices, %s has what was noted" % (
            SEED, self.history), flush=True)
        self.chance = random.Random(SEED)
        self.failovers = 0
        self.engine = ENGINES[ENGINE]()
        self.addCleanup(self.engine.close)
        self.kinds = [self.die, self.freeze] + (
            self.engine.partitions(self.chance) or
            [self.cut, self.swallow, self.hold, self.delay, self.isolate]
        ) + self.engine.faults(self.chance)
        self.spans = []  # of faults: (name, begun and undone, in ms)

    # ---- faults: each says how it is undone

    def die(self, server, _):
        server.kill()
        return server.launch

    def freeze(self, server, _):
        if not self.engine.may_freeze(server):
            return None
        server.freeze()
        return server.thaw

    def cut(self, _, proxy):
        proxy.cut()
        proxy.refuse()
        return lambda: proxy.refuse(False)

    def swallow(self, _, proxy):
        ways = self.chance.choice(((UP,), (DOWN,), BOTH))
        proxy.drop(*ways)
        return lambda: proxy.thaw(*ways)

    def hold(self, _, proxy):
        ways = self.chance.choice(((UP,), (DOWN,), BOTH))
        proxy.hold(*ways)
        return lambda: proxy.thaw(*ways)

    def delay(self, _, proxy):
        proxy.delay(self.chance.choice((5, 50, 500)))
        return lambda: proxy.delay(0)

    def isolate(self, server, _):
        """It receives nothing, nothing that it sends arrives, and no
        connection ends."""
        around = self.engine.around(server)
        for proxy in around:
            proxy.drop()
        return lambda: [proxy.thaw() for proxy in around]

    def fail_over(self, *_):
        if not hasattr(self.engine, "fail_over"):
            return None
        undo = self.engine.fail_over(self.chance)
        self.failovers += undo is not None
        return undo

    def pause(self, least_s, most_s):
        """The fault lasts so long.  Nothing is waited for."""
        time.sleep(self.chance.uniform(least_s, most_s))

    def fault(self):
        server, proxy = self.chance.choice(self.engine.targets)
        kind = self.chance.choice(self.kinds)
        begun_ms = waiting.now_ms()
        # Every other time, where there is such a thing.
        undo = self.chance.random() < 0.5 and self.fail_over()
        if undo:
            kind = self.fail_over
        else:
            undo = kind(server, proxy)
        if not undo:
            return
        self.pause(0.05, 2 * LEASE_MS / 1000)
        self.spans.append((kind.__name__, begun_ms, waiting.now_ms()))
        undo()
        if kind == self.die:
            self.engine.wait(server)

    # ---- what they noted

    def begin(self, number, host):
        hosts = len(self.engine.hosts)
        history = self.history + (".%d" % number if hosts > 1 else "")
        contenders = Contenders(
            [HOLDFAST, "torture", "--kind", KIND, "-N", str(COUNT // hosts),
             "--for", "%ds" % (SECONDS + GRACE_S),
             "--faults", "%dms" % (FAULTS_MS.get(KIND, self.engine.faults_ms)
                                   * hosts),
             "--late", LATE,
             "--seed", str(SEED + number)],
            host, history, self.engine.url(number))
        self.addCleanup(contenders.close)
        return contenders

    def everything_is_granted_again(self):
        """All servers serve again, so every lock must be granted again, and
        something on every host."""
        wanted = set().union(*(some.locks("want") for some in self.contenders))
        since = [(some, some.noted_bytes()) for some in self.contenders]

        def is_granted():
            granted = [some.locks("grant", offset) for some, offset in since]
            return all(granted) and wanted <= set().union(*granted)
        waiting.eventually("all that is wanted to be granted again", is_granted,
                           of=[some.process for some in self.contenders])

    def print_faults(self):
        """Print how often each fault was injected, and how many grants there
        were meanwhile."""
        grants = sorted(at for some in self.contenders
                        for at in some.grants())

        def count(begun_ms, ended_ms):
            return (bisect.bisect_left(grants, ended_ms) -
                    bisect.bisect_left(grants, begun_ms))
        print("%d faults of servers and their ways, %d of them failovers" % (
            len(self.spans), self.failovers))
        for name in sorted({name for name, _, _ in self.spans}):
            spans = [span[1:] for span in self.spans if span[0] == name]
            print("  %-20s %4d times, %7.1f s, %6d grants meanwhile" % (
                name, len(spans), sum(e - b for b, e in spans) / 1000,
                sum(count(b, e) for b, e in spans)))
        for line in self.engine.figures():
            print("  " + line)

    # ---- the test

    def inject_faults(self):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and all(
                some.process.is_alive() for some in self.contenders):
            self.pause(0.05, 2)
            if self.engine.targets:
                self.fault()

    def something_happened(self):
        """To the servers, where there are any, and to the contenders.  That
        something was granted is part of the exit status."""
        if self.engine.targets:
            self.assertGreater(len(self.spans), 0, "no fault of a server")
        faults = sum(len(some.faults()) for some in self.contenders)
        self.assertGreater(faults, 0, "no fault of a contender")

    def judge_together(self):
        """Those of several hosts have judged only what was noted there."""
        histories = [some.history for some in self.contenders]
        if histories != [self.history]:
            merge(histories, self.history)
            result = subprocess.run(
                [HOLDFAST, "verify", "--late", LATE, self.history],
                capture_output=True, text=True)
            print("all together:\n" + result.stdout, flush=True)
            self.assertEqual(result.returncode, 0, result.stderr)
            for history in histories:
                os.unlink(history)

    def nobody_is_starved(self):
        """By those that keep their ticket."""
        kept = KeptTickets(notes_of(self.history))
        print("%d grants on tickets that were kept, of which at most %d passed "
              "over one client" % (kept.again, kept.most), flush=True)
        self.assertLessEqual(kept.most, PASSED_OVER_MAX)

    def test_torture(self):
        self.contenders = [self.begin(number, host) for number, host
                           in enumerate(self.engine.hosts)]
        self.inject_faults()
        # First, because the contenders end some time after the last fault.
        self.everything_is_granted_again()
        self.print_faults()
        for some in self.contenders:
            some.stop()
        for some in self.contenders:
            status, said = some.end()
            print(said, flush=True)
            self.assertEqual(status, 0)
        self.something_happened()
        self.judge_together()
        self.nobody_is_starved()
        if "HF_HISTORY" not in os.environ:
            os.unlink(self.history)


if __name__ == "__main__":
    if ENGINE.endswith("-partitioned"):
        network.allow_or_skip()
    unittest.main()
