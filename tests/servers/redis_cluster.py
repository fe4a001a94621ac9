# SPDX-License-Identifier: Apache-2.0
"""A real Redis Cluster on 127.0.0.1: primaries that share the slots, each a
redis_server.Server, and replicas if they are wanted."""

import machine
import waiting
from redis_server import Server

HASH_SLOTS = 16384
# A node that is silent for so long is held to be dead.
NODE_TIMEOUT_MS = 1500


class Node(Server):
    """One process.  Its bus has a port of its own: without cluster-port it
    would be the port of the clients plus 10000, which another server may
    have."""

    def __init__(self, config, tls=False):
        self.bus = machine.Port()
        super().__init__([
            "cluster-enabled yes", "cluster-config-file nodes.conf",
            "cluster-port %d" % self.bus.number,
            "cluster-node-timeout %d" % NODE_TIMEOUT_MS, *config], tls=tls)

    def close(self):
        super().close()
        self.bus.close()

    def ask(self, *words):
        with self.client() as client:
            return client.ask(*words)

    def id(self):
        return self.ask("CLUSTER", "MYID")

    def info(self):
        return dict(line.split(":", 1) for line in
                    self.ask("CLUSTER", "INFO").splitlines())

    def serves_all(self, nodes):
        info = self.info()
        return (info["cluster_state"] == "ok" and
                info["cluster_known_nodes"] == str(nodes) and
                info["cluster_slots_ok"] == str(HASH_SLOTS))


class Cluster:
    """Started by start(), and a context manager.  With full_coverage the nodes
    serve nothing while one of them is down, as Redis does by default."""

    def __init__(self, primaries=3, replicas=0, full_coverage=False,
                 config=(), tls=False):
        config = ["cluster-require-full-coverage %s" % (
            "yes" if full_coverage else "no"), *config]
        self.nodes = [Node(config, tls) for _ in range(primaries + replicas)]
        self.primaries = self.nodes[:primaries]
        self.replicas = self.nodes[primaries:]

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for node in self.nodes:
            node.close()

    # ---- life

    def start(self):
        for node in self.nodes:
            node.start()
        share = HASH_SLOTS // len(self.primaries)
        for i, node in enumerate(self.primaries):
            last = HASH_SLOTS if node is self.primaries[-1] else (i + 1) * share
            node.ask("CLUSTER", "ADDSLOTSRANGE", i * share, last - 1)
        for i, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            if i > 0:
                node.ask("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port,
                         self.nodes[0].bus.number)
        self.wait()
        for i, node in enumerate(self.replicas):
            node.ask("CLUSTER", "REPLICATE", self.primaries[i].id())
        for i, node in enumerate(self.replicas):
            waiting.eventually("a replica to follow", lambda node=node: (
                "master_link_status:up" in node.ask("INFO", "replication")))

    def wait(self):
        """Until all nodes know all, and serve."""
        waiting.eventually("the cluster to be one", lambda: all(
            node.serves_all(len(self.nodes)) for node in self.nodes))

    # ---- slots

    def hash_slot(self, key):
        return self.nodes[0].ask("CLUSTER", "KEYSLOT", key)

    def primary_of(self, hash_slot):
        """The node that says so itself."""
        for node in self.primaries:
            for row in node.ask("CLUSTER", "SLOTS"):
                if row[0] <= hash_slot <= row[1] and row[2][1] == node.port:
                    return node
        raise AssertionError("nobody has the slot %d" % hash_slot)

    def name_at(self, node, stem):
        """The name of a lock that is node's."""
        for i in range(1000):
            name = "%s-%d" % (stem, i)
            if self.primary_of(self.hash_slot("{%s}" % name)) is node:
                return name
        raise AssertionError("no such name")

    def begin_move(self, hash_slot, source, target):
        target.ask("CLUSTER", "SETSLOT", hash_slot, "IMPORTING", source.id())
        source.ask("CLUSTER", "SETSLOT", hash_slot, "MIGRATING", target.id())

    def move_keys(self, hash_slot, source, target):
        """As redis-cli does, one by one."""
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", hash_slot, 10):
            for key in keys:
                source.ask("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)

    def end_move(self, hash_slot, target):
        """The target first, as the specification has it."""
        for node in [target] + [n for n in self.primaries if n is not target]:
            node.ask("CLUSTER", "SETSLOT", hash_slot, "NODE", target.id())

    def move(self, hash_slot, source, target):
        self.begin_move(hash_slot, source, target)
        self.move_keys(hash_slot, source, target)
        self.end_move(hash_slot, target)

    # ---- what it says

    def address(self):
        return ",".join(node.address() for node in self.primaries)

    def url(self, options="", node=None):
        """By all primaries, or by one."""
        return "redis://%s%s" % (node.address() if node else self.address(),
                                 options)
