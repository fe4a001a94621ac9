#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Safe-until ends before the leader removes the ticket, whatever comes between
the holder's server and the leader.

    test_zk_two_clocks.py HOLDER

Beside sound holders stands a mutant, which takes answers to pings for proofs.
It must fail where they pass, or this test would see nothing.
"""

import os
import random
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "mutants"))

import mutants
import zk_holder
import testing
import machine
import waiting
from ensemble import Ensemble
from proxy import DOWN, UP, Proxy
from zk_holder import Holder, TicketWatcher

TICK_MS = 500
REPEATS = 3 if zk_holder.LONG else 1
TIMEOUTS_MS = (4000, 6000, 10000) if zk_holder.LONG else (4000,)

# Shorter, and the safe_until ends before there is another leader.
RESUME_MS = 8000

# The ways in which a correct holder proves its grant.
PROOFS = {"default": "", "tick": "&tick=%dms" % TICK_MS,
          "strict": "&proof=strict"}


class TwoClocks(unittest.TestCase):
    """The classes that inherit set sync_limit: after how many ticks without a
    message a leader and a follower give each other up."""

    @classmethod
    def start(cls, sync_limit):
        print("HF_SEED=%d replays the choices" % zk_holder.SEED)
        cls.chance = random.Random(zk_holder.SEED)
        cls.ensemble = Ensemble(tick_ms=TICK_MS, sync_limit=sync_limit)
        cls.margins = []
        cls.count = 0

    @classmethod
    def tearDownClass(cls):
        cls.ensemble.close()
        zk_holder.summary("safe-until ended before the ticket's end, ms",
                          cls.margins)

    def setUp(self):
        self.directory = machine.directory("clocks", on_disk=True)
        self.things = []
        self.watched = []  # (holder, watcher)

    def tearDown(self):
        self.again()
        shutil.rmtree(self.directory)

    def mend(self):
        for server in self.ensemble.servers:
            server.thaw()
            for link in server.links.values():
                link.thaw()
        self.ensemble.wait()

    def keep(self, thing):
        self.things.append(thing)
        return thing

    def holder(self, address, timeout_ms, proof="", mutation=None):
        """A holder on that address alone, and a watcher elsewhere."""
        type(self).count += 1
        name = "clocks.%d" % self.count
        program = HOLDER
        if mutation:
            program = os.path.join(self.directory, mutation)
            if not os.path.exists(program):
                mutants.build(mutation, HOLDER, program)
        holder = self.keep(Holder(
            program, "zk://%s?timeout=%dms%s" % (address, timeout_ms, proof),
            name, os.path.join(self.directory, "store")))
        holder.granted()
        return holder, name

    def watch(self, holder, name, servers):
        watcher = self.keep(TicketWatcher(servers, "/" + name))
        self.watched.append((holder, watcher))
        return watcher

    def sound(self, address, timeout_ms, servers):
        for proof in PROOFS.values():
            self.watch(*self.holder(address, timeout_ms, proof), servers)

    def end_of(self, watcher):
        """When the ticket went.  A leader says that it lets a session expire
        before it does; a holder that knows of its loss may be faster and take
        its ticket away."""
        gone_at = watcher.gone()
        expired_at = zk_holder.expired_at(self.ensemble, watcher.session)
        return min(gone_at, expired_at or gone_at)

    def check(self, holder, watcher):
        """The point of it all."""
        end = self.end_of(watcher)
        safe_until = holder.safe_until()
        self.assertLessEqual(safe_until, end + zk_holder.ROUNDING_MS,
                             holder.lines)
        return end - safe_until

    def check_all(self):
        """Check each correct holder, and that it is notified of its loss."""
        for holder, watcher in self.watched:
            self.margins.append(self.check(holder, watcher))
            self.assertLess(holder.notified_at(), self.end_of(watcher))

    def again(self):
        """From the beginning, with what is there."""
        while self.things:
            self.things.pop().close()
        self.watched.clear()
        self.mend()

    def each_timeout(self, what, *arguments):
        for timeout_ms in TIMEOUTS_MS:
            for number in range(REPEATS):
                with self.subTest(timeout_ms=timeout_ms, repeat=number):
                    self.again()
                    what(timeout_ms, *arguments)

    def until(self, instant_ms):
        waiting.eventually("an instant", lambda: waiting.now_ms() >= instant_ms)


class PatientEnsemble(TwoClocks):
    """Its members wait for each other longer than sessions last."""

    @classmethod
    def setUpClass(cls):
        cls.start(sync_limit=24)

    def stall(self, timeout_ms, *ways):
        leader = self.ensemble.leader()
        follower = self.chance.choice(self.ensemble.followers())
        link = self.ensemble.link(follower, leader)
        self.sound(follower.address(), timeout_ms, [leader])
        holder, name = self.holder(follower.address(), timeout_ms,
                                   mutation="ZK_PING_PROVES")
        watcher = self.keep(TicketWatcher([leader], "/" + name))
        link.hold(*ways)
        self.check_all()
        with self.assertRaises(AssertionError):
            self.check(holder, watcher)

    def test_the_link_to_the_leader_stalls(self):
        self.each_timeout(self.stall, UP)

    def test_the_link_from_the_leader_stalls(self):
        self.each_timeout(self.stall, DOWN)

    def test_the_link_stalls_in_both_directions(self):
        self.each_timeout(self.stall, UP, DOWN)

    def freeze(self, timeout_ms):
        leader = self.ensemble.leader()
        follower = self.chance.choice(self.ensemble.followers())
        servers = self.ensemble.servers
        self.sound(leader.address(), timeout_ms, servers)
        self.sound(follower.address(), timeout_ms, servers)
        leader.freeze()
        self.until(waiting.now_ms() + timeout_ms * self.chance.uniform(1, 1.2))
        leader.thaw()
        self.check_all()

    def test_the_leader_freezes_and_thaws(self):
        self.each_timeout(self.freeze)

    def change_weather(self, leader, link, until_ms):
        """Something happens, for a while."""
        way = self.chance.choice((UP, DOWN))
        what = self.chance.choice(("hold", "thaw", "delay", "freeze"))
        if what == "hold":
            link.hold(way)
        elif what == "thaw":
            link.delay(0)
            link.thaw()
        elif what == "delay":
            link.delay(self.chance.uniform(0, 1000), (way,))
        else:
            leader.freeze()
        self.until(until_ms)
        leader.thaw()

    def weather(self, timeout_ms):
        leader = self.ensemble.leader()
        follower = self.chance.choice(self.ensemble.followers())
        link = self.ensemble.link(follower, leader)
        self.sound(leader.address(), timeout_ms, self.ensemble.servers)
        self.sound(follower.address(), timeout_ms, self.ensemble.servers)
        for _ in range(12):
            self.change_weather(leader, link, waiting.now_ms() +
                                timeout_ms * self.chance.uniform(0.05, 0.6))
        link.delay(0)
        link.thaw()
        for holder, _ in self.watched:
            holder.process.kill()
        for holder, watcher in self.watched:
            self.margins.append(self.check(holder, watcher))

    @testing.when(zk_holder.LONG)
    def test_any_weather(self):
        self.each_timeout(self.weather)


class HastyEnsemble(TwoClocks):
    """Its members look for another leader before sessions end."""

    @classmethod
    def setUpClass(cls):
        cls.start(sync_limit=4)

    def isolate(self, leader):
        for server in self.ensemble.servers:
            if server is not leader:
                server.links[leader.id].hold()
                leader.links[server.id].hold()

    def others(self, leader):
        return [m for m in self.ensemble.servers if m is not leader]

    def depose(self, timeout_ms):
        leader = self.ensemble.leader()
        self.sound(leader.address(), timeout_ms, self.others(leader))
        self.isolate(leader)
        waiting.eventually("the leader to give up",
                           lambda: leader.mode() != "leader")
        # Votes do not go through the links: one that has the latest
        # transaction would be elected again and again by those that cannot
        # reach it.
        leader.freeze()
        self.check_all()
        self.assertIsNot(self.ensemble.leader(), leader)

    def test_the_leader_is_cut_off_and_deposed(self):
        self.each_timeout(self.depose)

    def resume(self):
        """A client loses its connection to a leader that has been deposed and
        does not know it yet.  Whether that took a session back before it left:
        it has only a moment for it."""
        leader = self.ensemble.leader()
        proxy = self.keep(Proxy(leader.port))
        self.sound("127.0.0.1:%d" % proxy.port, RESUME_MS, self.others(leader))
        leader.freeze()
        self.isolate(leader)
        waiting.eventually("another leader",
                           lambda: self.ensemble.leader() is not leader)
        # So long that its rounding to ticks cannot hide the difference.
        self.until(waiting.now_ms() + 2 * TICK_MS)
        proxy.cut()
        waiting.eventually("the holders to try again",
                           lambda: proxy.links() == len(self.watched))
        leader.thaw()
        self.check_all()
        return any(len([line for line in holder.all("state")
                        if line[2] == ["CONNECTED"]]) > 1
                   for holder, _ in self.watched)

    def test_a_deposed_leader_takes_a_session_back(self):
        for _ in range(REPEATS):
            tries = 0
            while not self.resume():
                tries += 1
                self.assertLess(tries, 5, "it never took one back")
                self.again()
            self.again()


class UnlikeEnsemble(TwoClocks):
    """One of its followers grants less than the others.  Each test has a sound
    holder and a faulty one, which must be seen to fail."""

    MOST_MS, LESS_MS = 30000, 4000

    @classmethod
    def setUpClass(cls):
        cls.start(sync_limit=4)
        for server in cls.ensemble.followers()[:1]:
            server.config["maxSessionTimeout"] = cls.LESS_MS
            server.restart()
        cls.ensemble.wait()

    def servers(self):
        """The leader, and the followers that grant less and more."""
        followers = sorted(
            self.ensemble.followers(),
            key=lambda m: m.config["maxSessionTimeout"] > self.LESS_MS)
        return self.ensemble.leader(), *followers

    def move(self, first, then, mutation):
        """Holders whose sessions begin at one server and go on at another one;
        and the proxy of that one."""
        proxies = [self.keep(Proxy(m.port)) for m in (first, then)]
        proxies[1].refuse()
        address = ",".join("127.0.0.1:%d" % p.port for p in proxies)
        holders = [self.holder(address, self.MOST_MS, mutation=m)
                   for m in (None, mutation)]
        # Or what the first one says of them, which it does every half tick,
        # comes behind the resume and counts.
        self.until(waiting.now_ms() + 2 * TICK_MS)
        proxies[0].refuse()
        proxies[1].refuse(False)
        proxies[0].cut()
        for holder, _ in holders:
            holder.wait("state", 3)  # CONNECTED, SUSPENDED, CONNECTED
        return holders, proxies[1]

    def last_safe_until(self, holder):
        holder.notified_at()
        return [int(until) for _, _, (until,) in holder.all("safe_until")
                if until != "0"][-1]

    def watchers(self, holders, servers):
        return [self.keep(TicketWatcher(servers, "/" + name))
                for _, name in holders]

    def judge(self, holders, watchers):
        ends = [self.end_of(watcher) for watcher in watchers]
        (sound, _), (faulty, _) = holders
        self.assertLessEqual(self.last_safe_until(sound),
                             ends[0] + zk_holder.ROUNDING_MS, sound.lines)
        self.assertLess(sound.notified_at(), ends[0])
        self.assertGreater(self.last_safe_until(faulty), ends[1], faulty.lines)
        self.margins.append(ends[0] - self.last_safe_until(sound))

    def test_a_follower_grants_less_to_a_resume(self):
        leader, less, more = self.servers()
        holders, proxy = self.move(more, less, "RESUME_KEEPS_SAFE_UNTIL")
        watchers = self.watchers(holders, [leader])
        proxy.drop(UP, DOWN)
        self.judge(holders, watchers)

    def test_a_new_leader_counts_what_was_granted_first(self):
        leader, less, more = self.servers()
        holders, proxy = self.move(less, more, "ZK_LAST_TIMEOUT_COUNTS")
        watchers = self.watchers(holders, [less, more])
        resumed_at = holders[1][0].wait("state", 3)[0]
        holders[1][0].say("another")  # transactions
        waiting.eventually("a later safe_until of the faulty one", lambda: any(
            int(until) > resumed_at + self.MOST_MS / 2
            for _, _, (until,) in holders[1][0].all("safe_until")))
        proxy.drop(UP, DOWN)
        leader.freeze()
        self.judge(holders, watchers)


if __name__ == "__main__":
    HOLDER = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
