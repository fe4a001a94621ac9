#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Clients, locks and elections that wait, on files."""
import gc
import pickle
import select
import sys
import threading
import time
import unittest
import warnings
import weakref
from unittest import mock

import holdfast

from cases import Case, waiting


class Locks(Case):
    def setUp(self):
        super().setUp()
        self.client = holdfast.Client(self.url)
        self.addCleanup(self.client.close)

    def queue(self, name, which="all"):
        return self.client.lock(name).tickets(which)

    def test_tokens_rise(self):
        lock = self.client.lock("a/b")
        with lock as grant:
            first = grant.token
            self.assertFalse(grant.lost)
            self.assertEqual(grant.safe_until, float("inf"))
            self.assertEqual(grant.tokens, {"a/b": first})
            grant.check()
        with lock as grant:
            self.assertGreater(grant.token, first)
        self.assertEqual(lock.name, "a/b")
        self.assertEqual(grant.safe_until, 0)
        self.assertRaises(holdfast.Usage, grant.check)
        grant.release()

    def test_timeout(self):
        with self.client.lock("x"):
            began = time.monotonic()
            with self.assertRaises(TimeoutError) as raised:
                with self.client.lock("x", timeout=0.1):
                    self.fail("both hold it")
            self.assertGreaterEqual(time.monotonic() - began, 0.1)
            self.assertIsInstance(raised.exception, holdfast.Timeout)
            self.assertEqual(raised.exception.status,
                             holdfast.Status.ETIMEDOUT)
            self.assertIn("waited", str(raised.exception))
            with self.assertRaises(holdfast.Busy):
                self.client.lock("x").acquire(timeout=0)
            self.assertEqual(len(self.queue("x")), 1)

    def test_wrong_arguments(self):
        for name, words in (("a//b", {}), ("a\0b", {}),
                            ("x", {"kind": "mutant"}), ("x", {"timeout": -1}),
                            ("x", {"kind": "read", "permits": (1, 2)}),
                            ("x", {"permits": (3, 2)})):
            with self.subTest(name=name, words=words):
                with self.assertRaises((ValueError, holdfast.Usage)):
                    self.client.lock(name, **words)
        for words, text in (({"permits": 3}, "expected two numbers"),
                            ({"permits": (1, 2, 3)}, "expected two numbers"),
                            ({"timeout": "30s"}, "a number of seconds")):
            with self.subTest(words=words):
                with self.assertRaisesRegex(TypeError, text):
                    self.client.lock("x", **words)
        with self.assertRaises(holdfast.BadURL) as raised:
            holdfast.Client("file:/tmp?nonsense=1")
        self.assertIn("nonsense", str(raised.exception))
        again = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual((type(again), str(again), again.status),
                         (holdfast.BadURL, str(raised.exception),
                          holdfast.Status.EURL))

    def test_threads_exclude_each_other_and_wait_without_the_gil(self):
        lock, count = self.client.lock("x"), 0

        def add():
            nonlocal count
            for _ in range(20):
                with lock:
                    seen = count
                    time.sleep(0)
                    count = seen + 1

        threads = [threading.Thread(target=add) for _ in range(8)]
        with lock:
            for thread in threads:
                thread.start()
            # This thread runs on while all of them wait.
            waiting.eventually("all to wait",
                               lambda: len(self.queue("x")) == 9)
            self.assertEqual(count, 0)
        for thread in threads:
            thread.join(waiting.LIMIT_S)
        self.assertEqual(count, 160)

    def test_readers_share_and_a_writer_does_not(self):
        read = self.client.lock("x", kind="read", timeout=0)
        with read, read:
            with self.assertRaises(holdfast.Busy):
                self.client.lock("x", kind="write").acquire(timeout=0)
            with self.assertRaises(holdfast.WrongKind):
                self.client.lock("x").acquire(timeout=0)
        with self.client.lock("x", kind="write") as grant:
            with self.assertRaises(holdfast.Busy):
                read.acquire()
            grant.downgrade()
            with read:
                self.assertEqual([ticket.kind for ticket in self.queue("x")],
                                 ["read", "read"])

    def test_semaphore(self):
        two = self.client.lock("x", permits=(2, 5), timeout=0)
        with two, two, self.client.lock("x", permits=(1, 5)):
            with self.assertRaises(holdfast.Busy):
                two.acquire()

    def test_several(self):
        with self.client.locks(["b", self.client.lock("a", kind="write")],
                               timeout=1) as grant:
            self.assertEqual(set(grant.tokens), {"a", "b"})
            self.assertEqual(grant.token, grant.tokens["b"])
            for name in ("a", "b"):
                self.assertTrue(self.queue(name)[0].holds)
        self.assertEqual(self.queue("a") + self.queue("b"), [])

    def test_text_wait_and_tickets(self):
        waits = []
        with self.client.lock("x", text="the first one"):
            with self.assertRaises(holdfast.Timeout):
                self.client.lock("x", on_wait=waits.append).acquire(0.1)
            ticket, = self.queue("x", "holders")
            self.assertEqual(ticket.said("text"), "the first one")
            self.assertIsNone(ticket.said("nothing"))
            self.assertTrue(ticket.own and ticket.holds)
            self.assertIn("the first one", self.tool("show", "x"))
        self.assertEqual((waits[0].ahead, waits[0].name), (1, "x"))
        self.assertIn("the%20first", waits[0].holder.replace("+", "%20"))

    def evict(self, name="x"):
        for ticket in self.queue(name):
            self.tool("evict", "--yes", "--reason", "by the test", name,
                      ticket.id)

    def test_loss(self):
        lost = []
        with self.assertRaises(holdfast.Lost) as raised:
            with self.client.lock("x", on_loss=lost.append) as grant:
                self.assertEqual(select.select([grant], [], [], 0)[0], [])
                self.evict()
                waiting.eventually("the loss", lambda: lost)
                self.assertEqual(select.select([grant], [], [], 0)[0], [grant])
                self.assertTrue(grant.lost)
                with self.assertRaisesRegex(holdfast.Lost, "the test"):
                    grant.check()
        self.assertEqual(lost, [grant])
        self.assertEqual(raised.exception.status, holdfast.Status.ELOST)

    def test_loss_does_not_hide_another_exception(self):
        with self.assertRaises(KeyError):
            with self.client.lock("x") as grant:
                self.evict()
                waiting.eventually("the loss", lambda: grant.lost)
                raise KeyError

    def test_revocation(self):
        asked = threading.Event()
        with self.client.lock("x", on_revoke=lambda grant: asked.set()):
            self.client.lock("x").revoke()
            self.assertTrue(asked.wait(waiting.LIMIT_S))
        with self.assertRaises(holdfast.Gone):
            self.client.lock("x").revoke()

    def test_exception_in_a_callback(self):
        caught = []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = caught.append

        def fail(_grant):
            raise KeyError("mine")

        with self.assertRaises(holdfast.Lost):
            with self.client.lock("x", on_loss=fail):
                self.evict()
                waiting.eventually("the callback", lambda: caught)
        self.assertEqual([type(one.exc_value) for one in caught], [KeyError])
        with self.client.lock("x"):
            pass

    def test_call_that_waits_in_a_callback(self):
        caught = []

        def on_loss(grant):
            for call in (self.client.close, self.client.lock("y").acquire,
                         grant.release):
                try:
                    call()
                except holdfast.Error as failure:
                    caught.append(failure.status)

        with self.assertRaises(holdfast.Lost):
            with self.client.lock("x", on_loss=on_loss):
                self.evict()
                waiting.eventually("three calls", lambda: len(caught) == 3)
        self.assertEqual(caught, 3 * [holdfast.Status.EREENTRANT])
        self.assertEqual(self.client.state, "CONNECTED")
        self.assertEqual(self.queue("y"), [])

    def test_close_ends_waits_and_grants(self):
        states, ends = [], []
        client = holdfast.Client(self.url, on_state=states.append)
        grant = client.lock("x").acquire()

        def wait():
            try:
                client.lock("x").acquire()
            except holdfast.Closed as failure:
                ends.append(failure)

        thread = threading.Thread(target=wait)
        thread.start()
        waiting.eventually("the wait", lambda: len(self.queue("x")) == 2)
        client.close()
        client.close()
        thread.join(waiting.LIMIT_S)
        self.assertEqual(len(ends), 1)
        self.assertTrue(grant.lost)
        self.assertRaises(holdfast.Lost, grant.release)
        self.assertRaises(holdfast.Closed, client.lock, "x")
        self.assertEqual((client.state, states[-1]), ("CLOSED", "CLOSED"))
        self.assertEqual(self.queue("x"), [])

    def test_what_is_dropped_is_released_with_a_warning(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.client.lock("x", on_loss=print).acquire()
            gc.collect()
            waiting.eventually("the release", lambda: not self.queue("x"))
            grant = holdfast.Client(self.url).lock("y").acquire()
            gc.collect()
            grant.check()  # it keeps its client alive
            del grant
            self.assertEqual([one.category for one in caught],
                             2 * [ResourceWarning])
            del caught[:]  # which kept the grant
            gc.collect()
            self.assertIn("Client", str(caught[0].message))
        self.assertEqual(self.queue("y"), [])

    def test_what_is_dropped_is_released_while_the_callback_still_runs(self):
        from holdfast import _call
        going_on = threading.Event()
        self.addCleanup(going_on.set)
        on_done = _call._End.on_done

        def late(end, result):
            on_done(end, result)
            going_on.wait(waiting.LIMIT_S)

        lock = self.client.lock("x")
        seen = weakref.ref(lock)
        with mock.patch.object(_call._End, "on_done", late), \
                self.assertWarns(ResourceWarning):
            lock.acquire()
        del lock
        self.assertFalse(going_on.is_set())
        self.assertIsNone(seen(), "the callback still refers to the lock")

    def test_nothing_is_left_in_the_table_of_callbacks(self):
        from holdfast import _call
        before = len(_call._objects)
        for _ in range(10):
            with self.client.lock("x", on_loss=print, on_wait=print):
                with self.assertRaises(holdfast.Busy):
                    self.client.lock("x", on_revoke=print).acquire(0)
        waiting.eventually("the drops",
                           lambda: len(_call._objects) <= before)

    def test_election(self):
        said = []
        candidate = self.client.election(
            "x", id="me", on_elected=lambda e: said.append(("elected", e)),
            on_deposed=lambda e: said.append(("deposed", e)))
        with candidate as election:
            election.wait(timeout=waiting.LIMIT_S)
            first = election.token
            self.assertTrue(election.is_leader and first)
            self.assertEqual(election.safe_until, float("inf"))
            self.assertEqual([one.owner for one in election.tickets()], ["me"])
            with self.client.election("x") as other:
                with self.assertRaises(holdfast.Timeout):
                    other.wait(timeout=0.05)
            self.client.lock("x").evict(election.tickets()[0], by="the test")
            waiting.eventually("two elections", lambda: len(said) == 3)
            waiting.eventually("to lead again", lambda: election.is_leader)
            self.assertGreater(election.token, first)
        self.assertEqual(said, [("elected", candidate), ("deposed", candidate),
                                ("elected", candidate)])
        self.assertEqual((candidate.is_leader, candidate.token), (False, 0))
        self.assertEqual(candidate.tickets(), [])

    def test_end_of_a_campaign(self):
        ends = []
        client = holdfast.Client(self.url)
        election = client.election(
            "x", on_ended=lambda _election, why: ends.append(why))
        election.campaign()
        client.close()
        waiting.eventually("the end", lambda: ends)
        self.assertIsInstance(ends[0], holdfast.Closed)


if __name__ == "__main__":
    unittest.main()
