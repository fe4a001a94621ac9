#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The redis engine on a real Redis Cluster: slots that move while processes
contend, nodes that are killed, frozen and replaced, and bad input.

    test_redis_cluster.py CLIENT_DRIVER CONTENDER HOLDFAST
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import unittest

from client_driver import LONG, ClientDriver

import machine
import testing
import waiting
from redis_cluster import Cluster, Node
from redis_server import Server

CLIENT_DRIVER, CONTENDER, HOLDFAST = (
    os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:4]

TTL_MS = 2000
# What a machine that is busy with other tests may add to anything.
SLACK_MS = 1500


def errors(cluster, *words):
    """How often nodes have answered so, all together."""
    found = 0
    for node in cluster.nodes:
        for line in node.ask("INFO", "errorstats").splitlines():
            if line.startswith(tuple("errorstat_%s:" % w for w in words)):
                found += int(line.partition("=")[2])
    return found


class Crew:
    """Processes that increment a counter in a file under one lock."""

    def __init__(self, url, name, processes, share):
        self.total = processes * share
        self.step = processes
        self.state = machine.directory("redis", on_disk=True)
        self.crew = [machine.popen(
            [CONTENDER, "add", url, name, self.state, str(number), str(share)],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
                     for number in range(processes)]

    def lines(self):
        try:
            with open(os.path.join(self.state, "log")) as log:
                return [line.split() for line in log]
        except FileNotFoundError:
            return []

    def over(self):
        return all(one.poll() is not None for one in self.crew)

    def progress(self):
        """Wait for some; False if there is none to come."""
        goal = len(self.lines()) + self.step
        waiting.eventually("progress", lambda: len(self.lines()) >= goal or
                           self.over(), 120, workers=self.crew)
        return not self.over()

    def close(self):
        """Of a test that has failed, too."""
        for one in self.crew:
            one.kill()
        shutil.rmtree(self.state, ignore_errors=True)

    def check(self, case):
        """To be called when it is over."""
        for one in self.crew:
            case.assertEqual((one.wait(), one.communicate()[1]), (0, b""))
        lines = self.lines()
        case.assertEqual([int(number) for _, _, number in lines],
                         list(range(1, self.total + 1)))
        tokens = [int(token) for _, token, _ in lines]
        case.assertEqual(tokens, sorted(set(tokens)))


class Increments(unittest.TestCase):
    """Nothing is lost, whatever is done to the nodes."""

    def test_a_hash_slot_moves_from_node_to_node(self):
        processes, share = (20, 200) if LONG else (6, 80)
        with Cluster() as cluster:
            name = cluster.name_at(cluster.primaries[0], "moved")
            hash_slot = cluster.hash_slot("{%s}" % name)
            crew = Crew(cluster.url("?ttl=5s"), name, processes, share)
            self.addCleanup(crew.close)
            moves = 0
            while crew.progress():
                source = cluster.primaries[moves % 3]
                target = cluster.primaries[(moves + 1) % 3]
                before = errors(cluster, "TRYAGAIN", "ASK")
                cluster.begin_move(hash_slot, source, target)
                # A client finds it half moved.
                waiting.eventually("somebody to come", lambda: crew.over() or
                                   errors(cluster, "TRYAGAIN", "ASK") > before)
                cluster.move_keys(hash_slot, source, target)
                cluster.end_move(hash_slot, target)
                moves += 1
            crew.check(self)
            self.assertGreaterEqual(moves, 2)
            self.assertGreater(errors(cluster, "MOVED"), 0)
            print("%d increments, %d moves, sent elsewhere %d times, to try "
                  "again %d times" % (
                      crew.total, moves, errors(cluster, "MOVED", "ASK"),
                      errors(cluster, "TRYAGAIN")), flush=True)

    def outage(self, cluster, node, fault):
        """Processes contend for a lock of node, and others for one of another
        node.  fault() is injected into node while all of them run."""
        processes, share = (12, 1000) if LONG else (4, 200)
        well = next(n for n in cluster.primaries if n is not node)
        while True:
            crews = [Crew(cluster.url("?ttl=2s"), cluster.name_at(n, "outage"),
                          processes, share) for n in (node, well)]
            for crew in crews:
                self.addCleanup(crew.close)
            if crews[0].progress():
                break
            # All were done before this process looked: with more to do they
            # are not.
            share *= 4
            self.assertLess(share, 100000)
            for crew in crews:
                waiting.eventually("the end of all", crew.over, 120)
                crew.check(self)
        fault()
        cluster.wait()
        for crew in crews:
            waiting.eventually("the end of all", crew.over, 120)
            crew.check(self)

    def test_nodes_are_frozen_and_killed(self):
        with Cluster(config=["appendonly yes",
                             "appendfsync always"]) as cluster:
            def freeze():
                """For longer than it takes to be given up."""
                node.freeze()
                waiting.eventually("the others to notice", lambda: "fail" in (
                    flags(cluster.primaries[2], node)))
                node.thaw()

            for _ in range(4 if LONG else 1):
                node = cluster.primaries[0]
                self.outage(cluster, node, freeze)
                node = cluster.primaries[1]
                self.outage(cluster, node, node.restart)


@testing.when(LONG)
class Torture(unittest.TestCase):
    """holdfast torture judges what its processes saw while they, and the
    nodes, are killed and frozen, and slots move."""

    SECONDS = 60
    KINDS = ("mutex", "rwlock", "semaphore")

    def setUp(self):
        seed = int(os.environ.get("HF_SEED") or
                   random.SystemRandom().getrandbits(32))
        print("HF_SEED=%d replays the choices" % seed, flush=True)
        self.chance = random.Random(seed)
        self.cluster = Cluster(config=["appendonly yes",
                                       "appendfsync always"])
        self.addCleanup(self.cluster.close)
        self.cluster.start()

    def freeze(self):
        node = self.chance.choice(self.cluster.primaries)
        node.freeze()
        self.pause(2)
        node.thaw()

    def kill(self):
        self.chance.choice(self.cluster.primaries).restart()

    def move(self):
        hash_slot = self.cluster.hash_slot(
            "{%s}" % self.chance.choice(self.KINDS))
        source = self.cluster.primary_of(hash_slot)
        target = self.chance.choice(
            [node for node in self.cluster.primaries if node is not source])
        self.cluster.begin_move(hash_slot, source, target)
        self.pause(1)
        self.cluster.move_keys(hash_slot, source, target)
        self.cluster.end_move(hash_slot, target)

    def pause(self, seconds):
        """Chosen, so long at most."""
        end_ms = waiting.now_ms() + 1000 * self.chance.uniform(0, seconds)
        waiting.eventually("an instant", lambda: waiting.now_ms() >= end_ms)

    def test_nothing_is_violated(self):
        # The lease is longer than a node is away.  A waiter whose ticket ends
        # would queue again, and the history would not show that.
        runs = [machine.popen(
            [HOLDFAST, "torture", "-c", self.cluster.url("?ttl=30s"), "-N", "5",
             "--for", "%ds" % self.SECONDS, "--faults", "20s", "--kind",
             kind, kind],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True) for kind in self.KINDS]
        while any(run.poll() is None for run in runs):
            self.chance.choice([self.freeze, self.kill, self.move, self.move])()
            self.cluster.wait()
        for run in runs:
            said = run.communicate()[0]
            print(said, flush=True)
            self.assertEqual(run.returncode, 0, said)


def flags(viewer, node):
    """The flags of node in CLUSTER NODES of viewer."""
    for line in viewer.ask("CLUSTER", "NODES").splitlines():
        words = line.split()
        if words[1].startswith(node.address() + "@"):
            return words[2].split(",")
    raise AssertionError("a node that is not known")


class Outages(unittest.TestCase):
    """One session that has something on two nodes, one of which is gone."""

    def begin(self, **options):
        self.cluster = Cluster(**options)
        self.addCleanup(self.cluster.close)
        self.cluster.start()
        self.driver = ClientDriver(CLIENT_DRIVER)
        self.addCleanup(self.driver.kill)
        self.doomed, self.well = self.cluster.primaries[:2]
        self.there = self.cluster.name_at(self.doomed, "doomed")
        self.here = self.cluster.name_at(self.well, "well")

    def hold_both(self, ttl_ms=TTL_MS, by=None):
        self.session, = self.driver.opened(
            self.cluster.url("?ttl=%dms" % ttl_ms, by))
        held = [self.driver.acquire(self.session, name)
                for name in (self.there, self.here)]
        for wait in held:
            self.driver.granted(wait)
        return held

    def keeps_the_rest(self, gone, stop, restart):
        there, here = self.hold_both()
        stopped_ms = waiting.now_ms()
        stop()
        lost = self.driver.await_event(there, "lost")
        # When it was last renewed is not known to a millisecond.
        self.assertLess(lost.at_ms, stopped_ms + TTL_MS + SLACK_MS)
        # The session lives, for longer than a ticket without renewal does.
        renewals = self.well.calls()["evalsha"]
        waiting.eventually("renewals", lambda: self.well.calls()["evalsha"] >
                           renewals + 5)
        self.assertIsNone(self.driver.find(here, "lost"))
        self.assertEqual(self.driver.count_states(self.session, "LOST"), 0)
        late = self.driver.acquire(self.session, self.here)
        self.driver.queued(late)
        self.assertEqual(self.driver.release(here), "HF_OK")
        self.driver.granted(late)
        self.assertIn(gone, "\n".join(self.driver.logs(self.session)))
        restart()
        again = self.driver.acquire(self.session, self.there)
        self.driver.granted(again)
        self.assertIsNone(self.driver.find(late, "lost"))
        self.driver.end()

    @testing.when(LONG)
    def test_a_killed_node_costs_what_it_has(self):
        self.begin()
        self.keeps_the_rest("are given up", self.doomed.kill,
                            self.doomed.start)

    def test_a_frozen_node_costs_what_it_has(self):
        self.begin()
        self.keeps_the_rest("are given up", self.doomed.freeze,
                            self.doomed.thaw)

    @testing.when(LONG)
    def test_a_node_that_is_back_in_time_costs_nothing(self):
        self.begin(config=["appendonly yes", "appendfsync always"])
        there, here = self.hold_both(20000)
        waits = self.driver.acquire(self.session, self.there)
        self.driver.queued(waits)
        self.doomed.restart()
        self.cluster.wait()
        self.assertEqual(self.driver.release(there), "HF_OK")
        self.driver.granted(waits)
        self.assertEqual(self.driver.release(here), "HF_OK")
        self.assertEqual(self.driver.count_states(self.session, "SUSPENDED"), 0)
        self.driver.end()

    def test_a_node_without_hash_slots_is_one_of_the_cluster(self):
        """CLUSTER SLOTS does not name it, and the first slot moves there."""
        self.begin()
        node = Node(["cluster-require-full-coverage no"])
        self.addCleanup(node.close)
        node.start()
        node.ask("CLUSTER", "MEET", "127.0.0.1", self.doomed.port,
                 self.doomed.bus.number)
        self.cluster.nodes.append(node)
        self.cluster.wait()
        hash_slot = self.cluster.hash_slot("{%s}" % self.there)
        self.cluster.begin_move(hash_slot, self.doomed, node)
        session, = self.driver.opened(self.cluster.url("?ttl=%dms" % TTL_MS))
        held = self.driver.acquire(session, self.there)
        # It is sent there, where a lock that is half moved has to wait.
        waiting.eventually("the new node to be asked", lambda: (
            "errorstat_TRYAGAIN" in node.ask("INFO", "errorstats")))
        self.cluster.end_move(hash_slot, node)
        self.driver.granted(held)
        self.assertEqual(self.driver.release(held), "HF_OK")

    def test_a_replica_takes_over(self):
        self.begin(replicas=1)
        replica, = self.cluster.replicas
        there, here = self.hold_both(30000, by=replica)
        waits = self.driver.acquire(self.session, self.there)
        self.driver.queued(waits)
        waiting.eventually("replication", lambda: replica.ask(
            "READONLY") and same_offset(self.doomed, replica))
        self.doomed.kill()
        waiting.eventually("the replica to be promoted", lambda: (
            "master" in flags(self.well, replica)))
        self.assertEqual(self.driver.release(there), "HF_OK")
        self.driver.granted(waits)
        self.assertIsNone(self.driver.find(here, "lost"))
        self.assertEqual(self.driver.count_states(self.session, "SUSPENDED"), 0)
        self.driver.end()

    @testing.when(LONG)
    def test_all_nodes_gone_is_a_session_lost(self):
        self.begin()
        there, here = self.hold_both()
        for node in self.cluster.nodes:
            node.kill()
        for wait in (there, here):
            self.driver.await_event(wait, "lost")
        self.driver.until_state(self.session, "LOST")
        for node in self.cluster.nodes:
            node.start()
        self.cluster.wait()
        self.driver.until_state(self.session, "CONNECTED")
        self.driver.granted(self.driver.acquire(self.session, self.there))
        self.driver.end()


def same_offset(primary, replica):
    found = [dict(line.split(":", 1) for line in
                  node.ask("INFO", "replication").splitlines() if ":" in line)
             for node in (primary, replica)]
    return found[0]["master_repl_offset"] == found[1]["slave_repl_offset"]


class Inputs(unittest.TestCase):
    """Wrong settings: the tool ends with a status and a text without a
    secret."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(full_coverage=True,
                              config=["appendonly yes", "appendfsync no"])
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start()

    def run_with(self, url, name):
        return subprocess.run(
            [HOLDFAST, "run", "-w", "1500ms", name, "--", "true"],
            env=dict(os.environ, HOLDFAST_URL=url), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=waiting.LIMIT_S)

    def refused(self, url, status, *texts, name="inputs/one"):
        ended = self.run_with(url, name)
        self.assertEqual((ended.returncode, ended.stdout), (status, ""),
                         ended.stderr)
        for text in texts:
            self.assertIn(text, ended.stderr)
        self.assertNotIn("s3cret", ended.stderr)

    def works(self, url):
        """Of locks of each node."""
        for node in self.cluster.primaries:
            ended = self.run_with(url, self.cluster.name_at(node, "inputs"))
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def configure(self, *words):
        for node in self.cluster.primaries:
            node.ask(*words)

    def test_any_node_will_do(self):
        for node in self.cluster.primaries:
            self.works(self.cluster.url(node=node))
        self.works("redis:" + self.cluster.primaries[0].socket)

    def test_the_first_of_several_need_not_be_there(self):
        claim = machine.Port()
        self.addCleanup(claim.close)
        ended = self.run_with("redis://127.0.0.1:%d,%s" % (
            claim.number, self.cluster.address()), "inputs/one")
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_urls(self):
        node = self.cluster.primaries[0].address()
        for url, text in [
                ("redis://%s,", "the server of the URL is empty"),
                ("redis://,%s", "the server of the URL is empty"),
                ("redis://%s,h:0", "no valid port"),
                ("redis://%s" + 8 * ",h", "one of too many"),
                ("redis://%s/1", "a Redis Cluster has only 0")]:
            with self.subTest(url):
                self.refused(url % node, 64, text)

    def test_several_servers_that_are_no_cluster(self):
        with Server() as one, Server() as two:
            self.refused("redis://%s,%s" % (one.address(), two.address()), 64,
                         "no node of a Redis Cluster")

    def test_names_with_braces_in_the_layout_of_others(self):
        url = self.cluster.url("?layout=redis-py")
        self.works(url)
        self.refused(url, 64, "must not have '%'", name="in{puts")

    def test_rights(self):
        rights = ["~holdfast:*", "&holdfast:*", "+evalsha", "+script|load",
                  "+time", "+ping", "+subscribe", "+publish", "+info",
                  "+@sortedset", "+@hash", "+get", "+set", "+pttl", "+pexpire",
                  "+del", "+asking", "+cluster|slots", "+cluster|nodes"]
        url = self.cluster.url().replace("//", "//eve:s3cret@")
        self.configure("ACL", "SETUSER", "eve", "reset", "on", ">s3cret",
                       *rights)
        self.works(url)
        self.configure("ACL", "SETUSER", "eve", "reset", "on", ">s3cret",
                       *(r for r in rights if r != "+cluster|slots"))
        self.refused(url, 77, "may +cluster|slots")
        self.configure("ACL", "SETUSER", "eve", "reset", "on", ">s3cret",
                       *(r for r in rights if r != "+info"))
        ended = self.run_with(url, "inputs/one")
        self.assertEqual(ended.returncode, 0)
        self.assertIn("does not let us see its INFO", ended.stderr)

    def test_a_hash_slot_of_no_node(self):
        """For once as Redis has it by default, where one is enough."""
        name = self.cluster.name_at(self.cluster.primaries[0], "nobodys")
        hash_slot = self.cluster.hash_slot("{%s}" % name)
        self.configure("CLUSTER", "DELSLOTS", hash_slot)
        try:
            self.refused(self.cluster.url(), 75, "see CLUSTER INFO", name=name)
        finally:
            self.cluster.primaries[0].ask("CLUSTER", "ADDSLOTS", hash_slot)
            self.cluster.wait()
        self.works(self.cluster.url())


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    unittest.main(verbosity=2)
