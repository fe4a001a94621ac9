#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Creates, deletes and updates that are retried, when answers are lost: with a
scripted server, which loses one of them on purpose, and with a real one behind a
proxy.

    test_lost_answers.py ZOOKEEPER_DRIVER
"""

import os
import random
import sys
import unittest

from zookeeper_driver import ZookeeperDriver

import jute
import waiting
from fake import Fake
from proxy import DOWN, UP, Proxy
from zookeeper import Standalone

DRIVER = os.path.abspath(sys.argv.pop(1))

PARENTS, UNIQUE = 1, 4
# Longer than connections end all the time.
LONG_MS = 120000
SEQUENTIAL = dict(path="/q/job-", mode="sequential", data="mine")
EPHEMERAL_SEQUENTIAL = dict(SEQUENTIAL, mode="ephemeral_sequential")


def driver_of(case):
    driver = ZookeeperDriver(DRIVER)
    case.addCleanup(driver.kill)
    return driver


class Scripted(unittest.TestCase):
    """.lose is what happens to the next request of a kind: {op: function}."""

    def setUp(self):
        self.lose = {}
        self.fake = Fake(self.script)
        self.addCleanup(self.fake.close)
        self.fake.create("/q")
        self.driver = driver_of(self)
        self.session = self.driver.opened(
            "zk://%s?timeout=1s" % self.fake.address())

    def script(self, request):
        lose = self.lose.pop(request.op, None)
        if lose:
            lose(request)

    # ---- what happens to a request

    @staticmethod
    def carried_out(request):
        request.apply()
        request.cut()

    @staticmethod
    def lost(request):
        request.cut()

    def session_ends(self, request):
        """Carried out, and then the session is over."""
        request.apply()
        session = request.session
        request.cut()
        self.fake.finish(session)

    # ---- what a test looks at

    def jobs(self):
        return [path for path in self.fake.paths() if "job-" in path]

    def sent(self, op):
        return [request.fields["path"] for request in self.fake.requests
                if request.op == op]

    def do(self, kind, **options):
        return self.driver.do(self.session, kind, **options)


class Creates(Scripted):
    def test_what_was_carried_out_is_found(self):
        self.lose["create2"] = self.carried_out
        result = self.do("create_protected", **SEQUENTIAL)
        self.assertEqual(result.status, "HF_OK")
        self.assertEqual(self.jobs(), [result["path"]])
        self.assertEqual(self.fake.count("create2"), 1)
        self.driver.end()

    def test_what_was_lost_is_repeated(self):
        self.lose["create2"] = self.lost
        result = self.do("create_protected", **SEQUENTIAL)
        self.assertEqual(result.status, "HF_OK")
        self.assertEqual(self.jobs(), [result["path"]])
        first, second = self.sent("create2")
        self.assertNotEqual(first, second)
        self.driver.end()

    def test_what_comes_late_is_deleted(self):
        late = []

        def lost(request):
            late.append(request.fields["path"])
            request.cut()
        self.lose["create2"] = lost
        result = self.do("create_protected", **SEQUENTIAL)
        self.assertEqual(result.status, "HF_OK")
        made = self.fake.create(late[0], flags=jute.SEQUENTIAL)
        self.assertIn(made, self.jobs())
        self.fake.eventually("the removal", lambda _: made in self.sent(
            "delete"))
        self.fake.eventually("its end", lambda fake: made not in
                             fake.tree.nodes)
        self.assertEqual(self.jobs(), [result["path"]])
        self.driver.end()

    def test_nothing_stays_when_the_time_is_over(self):
        """The answer is lost, and no other connection is answered in time."""
        self.lose["create2"] = self.carried_out
        self.lose["sync"] = lambda request: request.swallow()
        result = self.do("create_protected", wait_ms=300, **SEQUENTIAL)
        self.assertEqual(result.status, "HF_ETIMEDOUT")
        self.assertIn("is deleted in the background", result.text)
        self.fake.eventually("the removal", lambda fake: not [
            path for path in fake.tree.nodes if "job-" in path])
        self.driver.end()

    def test_nothing_stays_when_it_is_cancelled(self):
        def swallow(request):
            request.apply()
            request.swallow()
        self.lose["create2"] = swallow
        number = self.driver.start(self.session, "create_protected",
                                   **SEQUENTIAL)
        self.fake.eventually("the create", lambda fake: any(
            "job-" in path for path in fake.tree.nodes))
        self.driver.say("cancel", number)
        self.assertEqual(self.driver.result(number).status, "HF_ECANCELLED")
        self.fake.eventually("the removal", lambda fake: not [
            path for path in fake.tree.nodes if "job-" in path])
        self.driver.end()

    def test_it_goes_on_in_the_next_session(self):
        for options in (SEQUENTIAL, EPHEMERAL_SEQUENTIAL):
            self.lose["create2"] = self.session_ends
            result = self.do("create_protected", **options)
            self.assertEqual(result.status, "HF_OK")
            self.assertIn(result["path"], self.jobs())
            self.fake.delete(result["path"])
            self.fake.eventually("nothing else", lambda fake: not [
                path for path in fake.tree.nodes if "job-" in path])
        self.assertIn("LOST", self.driver.states(self.session))
        self.driver.end()

    def test_an_ephemeral_node_is_known_by_its_session(self):
        for lose in (self.carried_out, self.lost, self.session_ends):
            self.lose["create2"] = lose
            result = self.do("create_protected", path="/e", mode="ephemeral")
            self.assertEqual(result.status, "HF_OK")
            self.assertEqual(result["path"], "/e")
            self.assertIn("/e", self.fake.paths())
            self.fake.delete("/e")
        self.driver.end()

    def test_another_program_was_faster(self):
        def other_first(request):
            self.fake.tree.create(self.fake.tree.tick(), 99, "/e", b"", 1)
            request.cut()
        self.lose["create2"] = other_first
        result = self.do("create_protected", path="/e", mode="ephemeral")
        self.assertEqual(result.status, "HF_EEXISTS")
        self.driver.end()

    def test_a_persistent_node_is_known_by_its_data_alone(self):
        for flags, status in ((0, "HF_EUNSURE"), (UNIQUE, "HF_OK")):
            self.lose["create2"] = self.carried_out
            result = self.do("create_protected", path="/p", data="mine",
                             flags=flags)
            self.assertEqual(result.status, status)
            self.fake.delete("/p")
        self.lose["create2"] = self.lost
        result = self.do("create_protected", path="/p", data="mine")
        self.assertEqual(result.status, "HF_OK")
        self.driver.end()

    def test_what_an_old_session_has_left_is_waited_for(self):
        """The client gives its session up before the server does."""
        self.driver.ok(self.session, "create", "/e", mode="ephemeral")
        old = next(iter(self.fake.sessions.values()))

        def forgotten(request):
            # Another session of the client, while the server keeps the first.
            if request.fields["session"]:
                request.fields["session"] = 0x4711
        self.lose["connect"] = forgotten
        self.fake.cut()
        self.driver.await_line("session", self.session, "LOST")
        number = self.driver.start(self.session, "create_protected", path="/e",
                                   mode="ephemeral")
        self.fake.eventually("a second look", lambda fake:
                             fake.count("exists") >= 2)
        self.assertFalse(self.driver.has_ended(number))
        self.fake.expire(old)
        self.assertEqual(self.driver.result(number).status, "HF_OK")
        self.driver.end()

    def test_parents_are_made_though_answers_are_lost(self):
        made = []

        def cut_each(request):
            if len(made) < 5:
                made.append(request.fields["path"])
                self.lose["create2"] = cut_each
                if len(made) > 1:
                    request.apply()
                    request.cut()
        self.lose["create2"] = cut_each
        result = self.do("create_protected", path="/a/b/c", data="x",
                         flags=PARENTS | UNIQUE)
        self.assertEqual(result.status, "HF_OK")
        self.assertIn("/a/b/c", self.fake.paths())
        self.driver.end()

    def test_a_close_ends_what_waits(self):
        self.lose["create2"] = self.carried_out
        self.lose["sync"] = lambda request: request.swallow()
        number = self.driver.start(self.session, "create_protected",
                                   **SEQUENTIAL)
        self.fake.eventually("the look", lambda fake: fake.count("sync"))
        self.assertEqual(self.driver.close(self.session), "HF_OK")
        self.assertEqual(self.driver.result(number).status, "HF_EUNSURE")
        self.driver.end()

    def test_a_try_waits_for_nothing(self):
        self.lose["create2"] = self.lost
        result = self.do("create_protected", wait_ms=0, **SEQUENTIAL)
        self.assertEqual(result.status, "HF_EUNREACHABLE")
        self.driver.end()


class Deletes(Scripted):
    def test_a_lost_delete_is_carried_out(self):
        for lose in (self.carried_out, self.lost, self.session_ends):
            self.fake.create("/d")
            self.driver.ok(self.session, "exists", "/d")
            self.lose["delete"] = lose
            result = self.do("delete_guaranteed", path="/d", version=0)
            self.assertEqual(result.status, "HF_OK")
            self.assertNotIn("/d", self.fake.paths())
        self.driver.end()

    def test_a_new_node_with_that_name_is_left_alone(self):
        def replace(request):
            request.apply()
            self.fake.tree.create(self.fake.tree.tick(), 0, "/d", b"", 0)
            request.cut()
        self.fake.create("/d")
        self.driver.ok(self.session, "exists", "/d")
        self.lose["delete"] = replace
        result = self.do("delete_guaranteed", path="/d", version=0)
        self.assertEqual(result.status, "HF_EUNSURE")
        self.assertIn("/d", self.fake.paths())
        self.driver.end()


class Updates(Scripted):
    def setUp(self):
        super().setUp()
        self.fake.create("/n", b"a")

    def data(self):
        return self.fake.loop.do(lambda: self.fake.tree.nodes["/n"].data)

    def test_an_update_that_was_lost_is_repeated(self):
        self.lose["setData"] = self.lost
        result = self.do("update", path="/n", data="b")
        self.assertEqual(result.status, "HF_OK")
        self.assertEqual(self.data(), b"ab")
        self.driver.end()

    def test_an_update_that_was_carried_out(self):
        for unique, status in ((0, "HF_EUNSURE"), (1, "HF_OK")):
            self.lose["setData"] = self.carried_out
            result = self.do("update", path="/n", data="b", unique=unique)
            self.assertEqual(result.status, status)
        self.assertEqual(self.data(), b"abb")
        self.driver.end()

    def test_another_program_was_faster(self):
        def other_first(request):
            self.fake.tree.set(self.fake.tree.tick(), "/n", b"other", -1)
            request.cut()
        self.lose["setData"] = other_first
        result = self.do("update", path="/n", data="b")
        self.assertEqual(result.status, "HF_OK")
        self.assertEqual(self.data(), b"otherb")
        self.driver.end()

    def test_it_goes_on_in_the_next_session(self):
        def lost(request):
            session = request.session
            request.cut()
            self.fake.finish(session)
        self.lose["setData"] = lost
        result = self.do("update", path="/n", data="b")
        self.assertEqual(result.status, "HF_OK")
        self.assertEqual(self.data(), b"ab")
        self.driver.end()


class Real(unittest.TestCase):
    """The same on a real server, as far as a proxy can bring it about."""

    @classmethod
    def setUpClass(cls):
        cls.server = Standalone()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.proxy = Proxy(self.server.port)
        self.addCleanup(self.proxy.close)
        self.raw = self.server.client(timeout_ms=40000)
        self.addCleanup(self.raw.close)
        self.top = "/" + self._testMethodName
        self.raw.create(self.top)
        self.raw.create(self.top + "/q")
        self.driver = driver_of(self)
        self.session = self.driver.opened("zk://127.0.0.1:%d%s?timeout=30s" % (
            self.proxy.port, self.top))

    def jobs(self):
        return self.raw.children(self.top + "/q")

    def is_one_job(self, result):
        self.assertEqual(result.status, "HF_OK")
        self.assertEqual(["/q/" + name for name in self.jobs()],
                         [result["path"]])

    def test_a_create_that_was_carried_out(self):
        for options in (SEQUENTIAL, EPHEMERAL_SEQUENTIAL):
            self.proxy.hold(DOWN)
            number = self.driver.start(self.session, "create_protected",
                                       **options)
            waiting.eventually("the create", self.jobs)
            self.proxy.cut()
            self.proxy.thaw()
            result = self.driver.result(number)
            self.is_one_job(result)
            self.raw.delete(self.top + result["path"])
        self.driver.end()

    def test_a_create_that_was_lost(self):
        bytes_up = self.proxy.bytes[UP]
        self.proxy.hold(UP)
        number = self.driver.start(self.session, "create_protected",
                                   **SEQUENTIAL)
        waiting.eventually("the create",
                           lambda: self.proxy.bytes[UP] > bytes_up)
        self.proxy.cut()
        self.proxy.thaw()
        self.is_one_job(self.driver.result(number))
        self.driver.end()

    def test_a_delete_goes_on_when_its_time_is_over(self):
        self.raw.create(self.top + "/d")
        self.raw.create(self.top + "/e")
        self.driver.ok(self.session, "sync", "/")
        self.proxy.refuse()
        self.proxy.cut()
        self.driver.await_line("session", self.session, "SUSPENDED")
        numbers = [self.driver.start(self.session, "delete_guaranteed", path,
                                     wait_ms=100) for path in ("/d", "/e")]
        for number in numbers:
            result = self.driver.result(number)
            self.assertEqual(result.status, "HF_ETIMEDOUT")
            self.assertRegex(result.text, "in the background, when there is a "
                             "connection: 127.0.0.1:")
        self.driver.say("cancel", numbers[1])
        self.proxy.refuse(False)
        waiting.eventually("the delete", lambda: not self.raw.exists(
            self.top + "/d"))
        self.driver.ok(self.session, "sync", "/")
        self.assertTrue(self.raw.exists(self.top + "/e"))
        # It was cancelled, which is no failure to warn of.
        self.assertFalse(any("in the background stays" in " ".join(line)
                             for line in self.driver.of("session",
                                                        self.session)))
        self.driver.end()

    def test_a_delete_that_was_not_sent_repeats_nothing(self):
        """Nothing is known of the node when the session ends."""
        session = self.driver.opened("zk://127.0.0.1:%d%s?timeout=1s" % (
            self.proxy.port, self.top))
        self.driver.ok(session, "exists", "/q")
        self.raw.create(self.top + "/d")
        self.proxy.refuse()
        self.proxy.cut()
        self.driver.await_line("session", session, "SUSPENDED")
        number = self.driver.start(session, "delete_guaranteed", "/d",
                                   wait_ms=LONG_MS)
        self.driver.await_line("session", session, "LOST")
        self.proxy.refuse(False)
        self.assertEqual(self.driver.result(number).status, "HF_OK")
        self.assertFalse(self.raw.exists(self.top + "/d"))
        self.driver.end()

    def test_a_delete_that_goes_on_leaves_a_new_node_alone(self):
        self.raw.create(self.top + "/d")
        self.driver.ok(self.session, "exists", "/d")
        self.proxy.refuse()
        self.proxy.cut()
        self.driver.await_line("session", self.session, "SUSPENDED")
        self.assertEqual(
            self.driver.do(self.session, "delete_guaranteed", path="/d",
                           wait_ms=100).status, "HF_ETIMEDOUT")
        self.raw.delete(self.top + "/d")
        self.raw.create(self.top + "/d")
        self.proxy.refuse(False)
        self.driver.until("the end of the delete", lambda: any(
            "deleted in the background stays: /d" in " ".join(line)
            for line in self.driver.of("session", self.session)))
        self.assertTrue(self.raw.exists(self.top + "/d"))
        self.driver.end()

    def test_nothing_is_done_twice_or_left(self):
        """Many of them at once, while connections end at random."""
        seed = random.randrange(1 << 32)
        draw = random.Random(seed)
        creates, updates = [], {}
        for number in range(60):
            creates.append(self.driver.start(self.session, "create_protected",
                                             wait_ms=LONG_MS, **SEQUENTIAL))
            text = "<%d>" % number
            if number % 5 == 0:
                updates[text] = self.driver.start(
                    self.session, "update", "/q", data=text, unique=1,
                    wait_ms=LONG_MS)
            if draw.random() < 0.25:
                direction = draw.choice((UP, DOWN))
                self.proxy.hold(direction)
                self.driver.start(self.session, "sync", "/")
                waiting.eventually("bytes that are held", lambda:
                                   self.proxy.waiting(direction))
                self.proxy.cut()
                self.proxy.thaw()
        with self.subTest(seed=seed):
            made = [self.driver.result(number) for number in creates]
            self.assertEqual({result.status for result in made}, {"HF_OK"})
            self.assertEqual(sorted("/q/" + name for name in self.jobs()),
                             sorted(result["path"] for result in made))
            ended = {text: self.driver.result(number).status
                     for text, number in updates.items()}
            data = self.raw.get(self.top + "/q")[0].decode()
            for text, status in ended.items():
                self.assertIn(status, ("HF_OK", "HF_EUNSURE"))
                self.assertIn(data.count(text),
                              (1,) if status == "HF_OK" else (0, 1))
        self.driver.end()


if __name__ == "__main__":
    unittest.main(verbosity=2)
