#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a lock on ZooKeeper: round trips, as a scripted server counts
them, and packets, watches and nodes, as a real one does.

    test_zk_cost.py CLIENT_DRIVER
"""

import os
import re
import sys
import time
import unittest
import uuid

import client_driver
from client_driver import ClientDriver

import jute
import waiting
from fake import Fake
from zookeeper import Standalone

CLIENT_DRIVER = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
NAME = "cost/of-one"
PATH = "/" + NAME
# Long sessions: their pings are not what is counted here.
OPTIONS = "?timeout=40s"
CYCLES = 10000 if client_driver.LONG else 1000
RELEASES = 300 if client_driver.LONG else 40
PAIRS = 300


def ticket():
    """The beginning of a ticket's path, as another client would write it."""
    return "%s/_c_%s-lock-" % (PATH, uuid.uuid4())


class RoundTrips(unittest.TestCase):
    """The scripted server, in which every packet is seen."""

    def setUp(self):
        self.seen = None  # what a script does with requests, from then on
        self.fake = Fake(self.script)
        self.addCleanup(self.fake.close)
        self.fake.create("/cost")
        self.fake.create(PATH)
        self.driver = ClientDriver(CLIENT_DRIVER)
        self.addCleanup(self.driver.kill)
        self.session, = self.driver.opened(
            "zk://%s%s" % (self.fake.address(), OPTIONS))

    def script(self, request):
        if self.seen:
            self.seen(request)

    def asked(self, since=0):
        """(op, last component) of all requests but pings."""
        return [(r.op, r.fields.get("path", "").rpartition("/")[2])
                for r in self.fake.requests[since:] if r.op != "ping"]

    def foreign(self, count):
        """Tickets of others, in order."""
        return [self.fake.create(ticket(), b"another client",
                                 jute.EPHEMERAL_SEQUENTIAL)
                for _ in range(count)]

    def deaf(self):
        """From now on the server answers nothing: what is granted now needs no
        round trip."""
        def swallow(request):
            request.swallow()
        self.seen = swallow

    def test_an_uncontended_acquire_is_one_round_trip(self):
        wait = self.driver.acquire(self.session, NAME, how="pass")
        self.driver.granted(wait)
        self.assertEqual(
            self.driver.await_event(wait, "released").words[1], "HF_OK")
        connect, create, listing, delete = self.fake.requests
        self.assertEqual(self.fake.ops(),
                         ["connect", "multi", "getChildren", "delete"])
        self.assertEqual(create.recv, listing.recv, "two packets for one")
        self.assertEqual(listing.fields, {"path": PATH, "watch": False})
        # The first below a parent tries, in the same transaction, whether
        # tickets can be deleted there.
        tried, undone, made = create.fields["ops"]
        self.assertEqual([op for op, _ in create.fields["ops"]],
                         ["create", "delete", "create"])
        self.assertEqual(tried[1]["path"], undone[1]["path"])
        self.assertTrue(delete.fields["path"].startswith(made[1]["path"]))
        self.assertEqual(self.fake.paths(), ["/cost", PATH])
        self.driver.await_event(
            self.driver.acquire(self.session, NAME, how="pass"), "released")
        self.assertEqual(self.fake.ops()[4:],
                         ["create2", "getChildren", "delete"])

    def test_the_grant_follows_the_second_answer(self):
        held = []

        def hold_back(request):
            if request.op == "getChildren":
                held.append((request, request.apply()))
                request.swallow()
        self.seen = hold_back
        wait = self.driver.acquire(self.session, NAME, how="pass")
        self.fake.eventually("the list", lambda _: held)
        self.assertFalse(self.driver.find(wait, "granted"))
        asked = len(self.fake.requests)
        self.fake.loop.do(lambda: held[0][0].reply(*held[0][1]))
        self.driver.granted(wait)
        self.driver.await_event(wait, "released")
        self.assertEqual([op for op, _ in self.asked(asked)], ["delete"])

    def test_a_held_lock_costs_a_watch_and_a_transaction_now_and_then(self):
        wait = self.driver.acquire(self.session, NAME)
        self.driver.granted(wait)
        self.fake.eventually("the watch on one's own ticket",
                             lambda fake: fake.count("getData") == 1)
        self.assertEqual(self.fake.ops(),
                         ["connect", "multi", "getChildren", "getData"])
        self.assertTrue(self.fake.requests[-1].fields["watch"])
        self.assertEqual(self.driver.release(wait), "HF_OK")
        self.assertEqual(self.fake.ops()[4:], ["delete"])

    def test_a_parent_that_is_missing_costs_its_creation(self):
        self.fake.delete(PATH)
        self.fake.delete("/cost")
        wait = self.driver.acquire(self.session, NAME, how="pass")
        self.driver.await_event(wait, "released")
        self.assertEqual(self.fake.ops(), [
            "connect", "multi", "getChildren",  # NoNode
            "createContainer", "createContainer",  # the parent, the queue
            "multi", "getChildren", "delete"])
        self.assertEqual(len({request.recv for request in
                              self.fake.requests[3:7]}), 1,
                         "more than one more round trip")

    def test_the_second_start_waits_for_the_first_whatever_that_takes(self):
        """It is started at each request of the first."""
        for trigger in ("multi", "getChildren", "createContainer"):
            for nth in (1, 2):
                with self.subTest(trigger=trigger, nth=nth):
                    self.start_at(trigger, nth)

    def start_at(self, trigger, nth):
        name = "cost/%s-%d/of-two" % (trigger, nth)
        seen, waits = [], []

        def start(request):
            seen.append(request.op)
            if request.op == trigger and seen.count(trigger) == nth:
                waits.append(self.driver.acquire(self.session, name))
        first = self.driver.acquire(self.session, "cost/aside", how="pass")
        self.driver.await_event(first, "released")
        self.seen = start
        first = self.driver.acquire(self.session, name)
        self.fake.eventually("the second start", lambda _: waits)
        self.driver.granted(first)
        self.assertEqual(self.driver.queued(waits[0]), 1)
        self.seen = None
        self.assertEqual(self.driver.release(first), "HF_OK")
        self.driver.granted(waits[0])
        self.assertEqual(self.driver.release(waits[0]), "HF_OK")

    def test_a_handoff_is_no_round_trip(self):
        first, = self.foreign(1)
        wait = self.driver.acquire(self.session, NAME)
        self.assertEqual(self.driver.queued(wait), 1)
        self.fake.eventually("both watches", lambda fake:
                             fake.count("getData") == 2)
        self.deaf()
        self.fake.delete(first)
        self.driver.granted(wait)

    def test_a_burst_of_waits_shares_a_list(self):
        """One list is under way at a time, and the next one serves all that
        came meanwhile: one for the holder, one for the first of the burst,
        which shows that the queue takes tickets, one for the next, and one for
        all others."""
        first = self.driver.acquire(self.session, NAME)
        self.driver.granted(first)
        held = []

        def hold_back(request):
            if held or request.op == "getChildren":
                held.append((request, request.apply()))
                request.swallow()
        self.seen = hold_back
        waits = [self.driver.acquire(self.session, NAME) for _ in range(20)]
        self.driver.acquire(self.session, "cost/aside")
        self.fake.eventually("all that was started", lambda fake:
                             (fake.count("create2"), fake.count("multi")) ==
                             (1, 2))

        def let_go():
            self.seen = None
            for request, answer in held:
                request.reply(*answer)
        self.fake.loop.do(let_go)
        for nth, wait in enumerate(waits):
            self.assertEqual(self.driver.queued(wait), 1 + nth)
        self.assertEqual(
            self.asked().count(("getChildren", PATH.rpartition("/")[2])), 4)

    def test_in_one_session_a_handoff_lists_nothing(self):
        waits = [self.driver.acquire(self.session, NAME) for _ in range(8)]
        for wait in waits[1:]:
            self.driver.queued(wait)
        self.await_requests()
        asked = len(self.fake.requests)
        for wait in waits:
            self.driver.granted(wait)
            self.assertEqual(self.driver.release(wait), "HF_OK")
        self.assertNotIn(("getChildren", PATH.rpartition("/")[2]),
                         self.asked(asked))

    def test_fn61_a_wait_watches_the_one_before_it_and_itself(self):
        others = self.foreign(3)
        wait = self.driver.acquire(self.session, NAME)
        self.assertEqual(self.driver.queued(wait), 3)

        def watched(fake):
            return sorted(r.fields["path"][-10:] for r in fake.requests
                          if r.op == "getData" and r.fields["watch"])
        self.fake.eventually("three watches",
                             lambda fake: len(watched(fake)) == 3)
        self.await_requests()
        # The sequences: all but the first, one's own being the last.
        self.assertEqual(watched(self.fake), [
            *(path[-10:] for path in others[1:]), "%010d" % 4])

    def test_the_last_step_of_a_deep_queue_is_no_round_trip(self):
        tickets = self.foreign(5)
        wait = self.driver.acquire(self.session, NAME)
        self.assertEqual(self.driver.queued(wait), 5)
        self.await_requests()
        for path in tickets[:-1]:
            self.fake.delete(path)
            self.await_requests()
        self.assertFalse(self.driver.find(wait, "granted"))
        self.deaf()
        self.fake.delete(tickets[-1])
        self.driver.granted(wait)

    def await_requests(self):
        """Until a second session, opened now, has been through a lock of its
        own: by then this one has asked for what it wants."""
        session, = self.driver.opened(
            "zk://%s%s" % (self.fake.address(), OPTIONS))
        wait = self.driver.acquire(session, "cost/aside", how="pass")
        self.driver.await_event(wait, "released")
        self.driver.close(session)


class Counters(unittest.TestCase):
    """A real server, and what it says of itself."""

    @classmethod
    def setUpClass(cls):
        # The lock's container is to stay while it is measured.
        cls.server = Standalone(container_check_ms=3600000)
        cls.url = "zk://%s%s" % (cls.server.address(), OPTIONS)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.driver = ClientDriver(CLIENT_DRIVER)
        self.addCleanup(self.driver.kill)

    def counts(self):
        """The counters that are compared: packets in both directions, events
        of deletions and changes, and what there is now."""
        mntr = self.server.mntr()
        return {name: mntr[name] for name in (
            "packets_received", "packets_sent", "sum_node_deleted_watch_count",
            "sum_node_changed_watch_count", "watch_count", "znode_count",
            "ephemerals_count")}

    def queue_up(self, name, sessions, waits_each):
        """sessions times waits_each waits for one lock, in the order of their
        tickets."""
        opened = self.driver.opened(*[self.url] * sessions)
        waits = []
        for _ in range(waits_each):
            for session in opened:
                wait = self.driver.acquire(session, name)
                self.driver.await_event(wait, "waits", "granted")
                waits.append((wait, session))
        return waits

    def per_release(self, name, sessions, waits_each=1):
        """The cost of a release in each counter, with sessions * waits_each
        waits behind it.  A new wait at the tail is included."""
        waits = self.queue_up(name, sessions, waits_each)
        before = self.counts()
        for _ in range(RELEASES):
            wait, session = waits.pop(0)
            self.driver.granted(wait)
            self.assertEqual(self.driver.release(wait), "HF_OK")
            again = self.driver.acquire(session, name)
            self.driver.await_event(again, "waits", "granted")
            waits.append((again, session))
        self.driver.granted(waits[0][0])
        after = self.counts()
        for session in {session for _, session in waits}:
            self.driver.close(session)
        return {name: (after[name] - before[name]) / RELEASES
                for name in before}

    def compare(self, few, many):
        print("per release and new wait, few and many waiters:", few, many,
              file=sys.stderr)
        for name in few:
            # Pings are in the counts, and the more sessions the more pings.
            self.assertLess(many[name], few[name] + 1.5, name)
        # Its own ticket's, the next one's and the one's after that.
        self.assertLessEqual(many["sum_node_deleted_watch_count"], 3)
        self.assertEqual(many["sum_node_changed_watch_count"], 0)
        # A delete, a create, a list and three watches; a list and a watch of
        # the waiter that came closer; the answers, and the events.
        self.assertLess(many["packets_received"], 10)
        self.assertLess(many["packets_sent"], 13)

    def test_a_release_costs_the_same_with_20_and_with_200_sessions(self):
        self.compare(self.per_release("cost/20-sessions", 20),
                     self.per_release("cost/200-sessions", 200))

    def test_fn60_a_release_costs_the_same_with_20_and_with_500_in_one_session(self):
        self.compare(self.per_release("cost/20-waits", 1, 20),
                     self.per_release("cost/500-waits", 1, 500))

    def test_fn07_fn08_500_waits_in_one_session_are_granted_in_order(self):
        self.pass_through("cost/in-order")
        before = self.counts()
        waits = self.queue_up("cost/in-order", 1, 500)
        tokens = []
        for wait, _ in waits:
            tokens.append(int(self.driver.granted(wait).words[1]))
            self.assertEqual(self.driver.release(wait), "HF_OK")
        self.assertEqual(tokens, sorted(set(tokens)))
        self.flat(before)

    def test_two_starts_of_a_new_name_keep_their_order(self):
        """At once, and the second when the server has seen to something else
        since."""
        session, = self.driver.opened(self.url)
        reversed_pairs = {"at once": 0, "one after the other": 0}
        for i in range(PAIRS):
            for how in reversed_pairs:
                name = "cost/%s-%d/of-two" % (how.replace(" ", "-"), i)
                first = self.driver.acquire(session, name)
                if how != "at once":
                    self.server.mntr()
                second = self.driver.acquire(session, name)
                reversed_pairs[how] += self.in_turn(first, second)
        self.driver.close(session)
        self.assertEqual(reversed_pairs, dict.fromkeys(reversed_pairs, 0),
                         "of %d pairs each" % PAIRS)

    def in_turn(self, *waits):
        """Have both granted and released; whether the second came first."""
        self.driver.until("one of them to be granted", lambda: any(
            self.driver.find(wait, "granted") for wait in waits))
        turned = not self.driver.find(waits[0], "granted")
        for wait in waits[::-1] if turned else waits:
            self.driver.granted(wait)
            self.assertEqual(self.driver.release(wait), "HF_OK")
        return turned

    def pass_through(self, name):
        """Have the queue's node made."""
        session, = self.driver.opened(self.url)
        self.driver.await_event(self.driver.acquire(session, name, how="pass"),
                                "released")
        self.driver.close(session)

    def flat(self, before):
        kept = ("watch_count", "znode_count", "ephemerals_count")

        def unchanged():
            after = self.counts()
            return all(after[name] == before[name] for name in kept)
        try:
            waiting.eventually("watches and nodes to be as before", unchanged)
        except AssertionError as error:
            raise AssertionError("%s: %s, then %s" % (
                error, before, self.counts())) from None

    def test_fn68_contended_cycles_leave_nothing(self):
        self.pass_through("cost/cycles")
        one, two = self.driver.opened(self.url, self.url)
        before = self.counts()
        waits = []
        for i in range(CYCLES):
            waits.append(self.driver.acquire((one, two)[i % 2], "cost/cycles",
                                             how="pass"))
            if len(waits) == 8:
                self.driver.await_event(waits.pop(0), "released")
        for wait in waits:
            self.driver.await_event(wait, "released")
        self.flat(before)

    def test_fn30_tries_on_a_held_lock_leave_nothing(self):
        holder, other = self.driver.opened(self.url, self.url)
        held = self.driver.acquire(holder, "cost/tries")
        self.driver.granted(held)

        def try_it():
            wait = self.driver.acquire(other, "cost/tries", 0)
            self.assertEqual(self.driver.failed(wait)[0], "HF_EBUSY")
        try_it()
        # One's own of the holder, and of the other one, which comes with what
        # the holder says of itself.
        waiting.eventually("the watches on the held ticket", lambda:
                           self.counts()["watch_count"] == 2)
        before = self.counts()
        for _ in range(CYCLES):
            try_it()
        self.flat(before)
        self.assertEqual(self.driver.release(held), "HF_OK")


class Idle(unittest.TestCase):
    """The cost of a session that holds a lock and does nothing, without its
    pings, on a real server."""

    TIMEOUT_S = 5  # a busy machine may stand still for a second or two
    A_MINUTE = 6  # timeouts, as with one of 10 s

    def setUp(self):
        self.server = Standalone()
        self.addCleanup(self.server.close)
        self.driver = ClientDriver(CLIENT_DRIVER)
        self.addCleanup(self.driver.kill)

    def hold(self, proof):
        session, = self.driver.opened("zk://%s?timeout=%ds&proof=%s" % (
            self.server.address(), self.TIMEOUT_S, proof))
        wait = self.driver.acquire(session, NAME)
        self.driver.granted(wait)
        waiting.eventually("the watch on its own ticket", lambda:
                           self.server.mntr()["watch_count"] == 1)
        return wait

    def transactions(self):
        return int(re.search(r"^Zxid: 0x([0-9a-f]+)$",
                             self.server.four_letters("srvr"),
                             re.MULTILINE).group(1), 16)

    def packets(self):
        """Those of the session, pings included."""
        return max(map(int, re.findall(r"recved=(\d+)",
                                       self.server.four_letters("cons"))))

    def test_it_makes_a_transaction_every_quarter_of_its_timeout(self):
        self.hold("eager")
        count = 4 * self.A_MINUTE // 2
        before, began = self.transactions(), time.monotonic()
        waiting.eventually("%d transactions" % count, lambda:
                           self.transactions() >= before + count)
        timeouts = (time.monotonic() - began) / self.TIMEOUT_S
        print("eager: %.1f transactions in a minute at 10 s" % (
            self.A_MINUTE * count / timeouts))
        self.assertGreater(timeouts, 0.8 * self.A_MINUTE / 2)

    def test_with_lazy_proof_it_makes_none_until_it_is_asked(self):
        wait = self.hold("lazy")
        before, packets = self.transactions(), self.packets()
        pings = 3 * self.A_MINUTE // 2
        waiting.eventually("%d pings" % pings, lambda:
                           self.packets() >= packets + pings)
        made = self.transactions() - before
        print("lazy: %d transactions in a minute at 10 s" % made)
        self.assertEqual(made, 0)
        self.assertFalse(self.driver.find(wait, "lost"))
        self.assertEqual(self.driver.check(wait), ("HF_EREENTRANT", False))
        waiting.eventually("the proof", lambda:
                           self.driver.check(wait) == ("HF_OK", True))
        # The first after a pause proves nothing yet; the second is too little if
        # a ping was sent just before, because the session is short.
        self.assertIn(self.transactions() - before, (2, 3))
        self.assertEqual(self.driver.release(wait), "HF_OK")


if __name__ == "__main__":
    unittest.main()
