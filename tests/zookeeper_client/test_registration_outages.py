#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Registrations of the public ZooKeeper client while connections and sessions
end: the node is there again, it is deleted when the registration is closed, and
nothing that was sent before makes it again.

    test_registration_outages.py ZOOKEEPER_DRIVER
"""

import os
import random
import re
import sys
import unittest

from zookeeper_driver import ZookeeperDriver

import jute
import waiting
from ensemble import Ensemble
from proxy import DOWN, UP, Proxy
from zookeeper import Standalone

DRIVER = os.path.abspath(sys.argv.pop(1))

# Longer than any test, and as short as the server lets it be.
LONG, SHORT = "timeout=30s", "timeout=1s"

# The operations that a handle has in flight, HF_ZK_SENT_OPS_MAX.
IN_FLIGHT = 512

CUTS = 20


def check_next_session(test, driver, registration):
    """A session was lost, and the node made again.  If the servers had the old
    one still when the new session looked, the text says whose it was."""
    blocked = "BLOCKED HF_EEXISTS"
    events = driver.registration_events(registration)
    if blocked in events:
        test.assertEqual(events.pop(2), blocked)
        test.assertIn("our previous session", " ".join(
            driver.await_registration(registration, blocked)))
    test.assertEqual(events, ["REGISTERED HF_OK", "UNREGISTERED HF_ELOST",
                              "REGISTERED HF_OK"])


class Case(unittest.TestCase):
    """A driver whose connections go through a proxy, and a client that sees the
    server's tree without the library."""

    @classmethod
    def setUpClass(cls):
        cls.server = Standalone(container_check_ms=100)
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.proxy = Proxy(self.server.port)
        self.addCleanup(self.proxy.close)
        self.raw = self.server.client(timeout_ms=40000)
        self.addCleanup(self.raw.close)
        self.chroot = "/" + self._testMethodName
        self.node = self.chroot + "/r"
        self.raw.create(self.chroot)
        self.driver = ZookeeperDriver(DRIVER)
        self.addCleanup(self.driver.kill)

    def opened(self, options=LONG):
        return self.driver.opened("zk://127.0.0.1:%d%s?%s" % (
            self.proxy.port, self.chroot, options))

    def registered(self, session, data="data"):
        registration = self.driver.register(session, "/r", data)
        self.await_event(registration, "REGISTERED HF_OK")
        return registration

    def await_event(self, registration, event, after=0):
        return self.driver.await_registration(registration, event, after)

    def events(self, registration):
        return self.driver.registration_events(registration)

    def suspend(self, session):
        """Its connection ends, and there is no other one until resume()."""
        count = self.driver.states(session).count("SUSPENDED")
        self.proxy.refuse()
        self.proxy.cut()
        self.driver.until("a suspended session", lambda: self.driver.states(
            session).count("SUSPENDED") > count)

    def resume(self):
        self.proxy.thaw()
        self.proxy.refuse(False)

    def cut(self):
        """The connection ends with what is held, and another one is made."""
        self.proxy.cut()
        self.proxy.thaw()

    def stat(self):
        return self.raw.exists(self.node)

    def creations(self):
        """How many children of the chroot were created and deleted."""
        return self.raw.exists(self.chroot).cversion

    def await_node(self):
        waiting.eventually("the node", lambda: self.stat() is not None)

    def await_no_node(self):
        waiting.eventually("the end of the node", lambda: self.stat() is None)

    def start_reads(self, session, count):
        """So many operations, which are not answered while the proxy holds."""
        for _ in range(count):
            self.driver.start(session, "exists", "/")

    def say_close(self, registration, wait_ms=60000):
        """Begin a close, which waits."""
        self.driver.say("unregister", registration, wait_ms)

    def closed(self, registration):
        return self.driver.await_line("registration", registration, "closed")[1]


    def await_bytes(self, count):
        """Wait until the client has sent that many, on all connections: a
        connection begins with more than 40, and a registration with more than
        100."""
        waiting.eventually("some bytes", lambda: self.proxy.bytes[UP] >= count)


class LostAnswers(Case):
    def test_the_answer_to_the_create_is_lost(self):
        session = self.opened()
        self.proxy.hold(DOWN)
        registration = self.driver.register(session, "/r", "data")
        self.await_node()
        czxid = self.stat().czxid
        self.cut()
        line = self.await_event(registration, "REGISTERED HF_OK")
        self.assertEqual(int(line[2]), czxid)
        self.assertEqual(self.raw.get(self.node)[0], b"data")
        self.assertEqual(self.driver.unregister(registration), "HF_OK")
        self.assertEqual(self.creations(), 2)
        self.driver.end()

    def test_the_create_is_lost(self):
        session = self.opened()
        sent = self.proxy.bytes[UP]
        self.proxy.hold(UP)
        registration = self.driver.register(session, "/r", "data")
        waiting.eventually("the create", lambda: self.proxy.bytes[UP] > sent)
        self.cut()
        self.await_event(registration, "REGISTERED HF_OK")
        self.assertEqual(self.driver.unregister(registration), "HF_OK")
        self.assertEqual(self.creations(), 2)
        self.driver.end()

    def test_the_answer_to_a_set_is_lost(self):
        session = self.opened()
        registration = self.registered(session)
        self.proxy.hold(DOWN)
        self.driver.reset(registration, "new")
        waiting.eventually("the set", lambda:
                           self.raw.get(self.node)[0] == b"new")
        self.driver.reset(registration, "newer")
        self.cut()
        self.assertEqual(self.driver.wait_registered(registration), "HF_OK")
        self.assertEqual(self.raw.get(self.node)[0], b"newer")
        self.assertEqual(self.events(registration), ["REGISTERED HF_OK"])
        self.driver.end()

    def test_data_of_before_the_create_are_not_left(self):
        """The node was made with the first data, and nobody has said so."""
        session = self.opened()
        self.proxy.hold(DOWN)
        registration = self.driver.register(session, "/r", "old")
        self.await_node()
        self.driver.reset(registration, "new")
        self.cut()
        self.assertEqual(self.driver.wait_registered(registration), "HF_OK")
        self.assertEqual(self.raw.get(self.node)[0], b"new")
        self.driver.end()

    def test_the_session_makes_the_node_behind_the_look(self):
        """The node of the registration was deleted before its look, which waits
        for room among the operations in flight.  The user makes another one
        before the next create."""
        session = self.opened()
        self.proxy.hold(DOWN)
        self.start_reads(session, IN_FLIGHT - 1)
        registration = self.driver.register(session, "/r", "data")
        self.await_node()
        self.driver.start(session, "create", "/r", data="own",
                          mode="ephemeral")
        self.driver.session(session)  # the create has been started
        self.raw.delete(self.node)
        self.proxy.thaw()
        self.await_event(registration, "REGISTERED HF_OK")
        self.assertEqual(self.raw.get(self.node)[0], b"data")
        self.assertEqual(self.events(registration), ["REGISTERED HF_OK"])
        self.driver.end()

    def test_the_session_replaces_the_node_before_the_look(self):
        """The look behind the set of the data waits for room, and urgent
        operations go ahead of it."""
        session = self.opened()
        registration = self.registered(session)
        self.proxy.hold(DOWN)
        self.start_reads(session, IN_FLIGHT - 1)
        self.driver.reset(registration, "new")
        self.driver.start(session, "delete", "/r", version=-1,
                          priority="urgent")
        self.driver.start(session, "create", "/r", data="own",
                          mode="ephemeral", priority="urgent")
        self.driver.session(session)  # they have been started
        self.proxy.thaw()
        self.await_event(registration, "REGISTERED HF_OK", after=2)
        self.assertEqual(self.raw.get(self.node)[0], b"new")
        self.assertEqual(self.events(registration), [
            "REGISTERED HF_OK", "UNREGISTERED HF_EGONE", "REGISTERED HF_OK"])
        self.driver.end()

    def test_another_program_has_set_the_data(self):
        """The version is another one, of which the event is on its way."""
        session = self.opened()
        registration = self.registered(session)
        self.proxy.hold(DOWN)
        self.raw.set(self.node, b"other")
        self.driver.reset(registration, "new")
        self.driver.session(session)  # the set has been sent
        self.proxy.thaw()
        self.assertEqual(self.driver.wait_registered(registration), "HF_OK")
        self.assertEqual(self.raw.get(self.node)[0], b"new")
        self.assertEqual(self.events(registration), ["REGISTERED HF_OK"])
        self.driver.end()

    def test_the_answer_to_the_delete_is_lost(self):
        session = self.opened()
        registration = self.registered(session)
        self.proxy.hold(DOWN)
        self.say_close(registration)
        self.await_no_node()
        self.cut()
        self.assertEqual(self.closed(registration), "HF_OK")
        self.assertEqual(self.creations(), 2)
        self.driver.end()

    def test_the_delete_is_lost(self):
        session = self.opened()
        registration = self.registered(session)
        sent = self.proxy.bytes[UP]
        self.proxy.hold(UP)
        self.say_close(registration)
        waiting.eventually("the delete", lambda: self.proxy.bytes[UP] > sent)
        self.cut()
        self.assertEqual(self.closed(registration), "HF_OK")
        self.assertIsNone(self.stat())
        self.driver.end()


class Closing(Case):
    def test_the_answer_to_the_create_is_lost(self):
        session = self.opened()
        self.proxy.hold(DOWN)
        registration = self.driver.register(session, "/r", "data")
        self.await_node()
        self.say_close(registration)
        self.cut()
        self.assertEqual(self.closed(registration), "HF_OK")
        self.assertIsNone(self.stat())
        self.assertEqual(self.events(registration), [])
        self.driver.end()

    def test_the_create_is_lost(self):
        session = self.opened()
        sent = self.proxy.bytes[UP]
        self.proxy.hold(UP)
        registration = self.driver.register(session, "/r", "data")
        waiting.eventually("the create", lambda: self.proxy.bytes[UP] > sent)
        self.say_close(registration)
        self.cut()
        self.assertEqual(self.closed(registration), "HF_OK")
        self.assertEqual(self.creations(), 0)
        self.driver.end()

    def test_the_create_was_not_sent(self):
        """It never is sent.  The session may have made the node before, so only
        a look says that there is none."""
        session = self.opened()
        self.suspend(session)
        first = self.driver.register(session, "/r", "data")
        self.assertEqual(self.driver.unregister(first, 50), "HF_ETIMEDOUT")
        second = self.driver.register(session, "/r", "data")
        self.say_close(second)
        self.resume()
        self.assertEqual(self.closed(second), "HF_OK")
        self.assertEqual(self.creations(), 0)
        self.driver.end()

    def test_nothing_was_sent_in_any_session(self):
        """So there is nothing that could be there."""
        self.proxy.refuse()
        session = self.driver.open("zk://127.0.0.1:%d%s?%s" % (
            self.proxy.port, self.chroot, LONG), connect_ms=100)
        registration = self.driver.register(session, "/r", "data")
        self.assertEqual(self.driver.unregister(registration), "HF_OK")
        self.resume()
        # An attempt may take longer than an operation waits for the first
        # connection.
        waiting.eventually("a connection", lambda: self.driver.do(
            session, "sync", "/").status == "HF_OK")
        self.assertEqual(self.creations(), 0)
        self.driver.end()

    def test_the_session_had_made_the_node_before(self):
        session = self.opened()
        self.driver.ok(session, "create", "/r", data="own", mode="ephemeral")
        self.suspend(session)
        registration = self.driver.register(session, "/r", "data")
        self.say_close(registration)
        self.resume()
        self.assertEqual(self.closed(registration), "HF_OK")
        self.assertIsNone(self.stat())
        self.driver.end()

    def test_it_is_freed_opened_and_closed_during_an_outage(self):
        """The node is that of the first one."""
        session = self.opened()
        first = self.registered(session, "first")
        self.suspend(session)
        self.driver.free_registration(first)
        second = self.driver.register(session, "/r", "second")
        self.say_close(second)
        self.resume()
        self.assertEqual(self.closed(second), "HF_OK")
        self.assertIsNone(self.stat())
        self.driver.end()

    def test_it_takes_longer_than_the_caller_waits(self):
        session = self.opened()
        registration = self.registered(session)
        self.proxy.hold()
        self.assertEqual(self.driver.unregister(registration, 50),
                         "HF_ETIMEDOUT")
        self.assertIsNotNone(self.stat())
        self.cut()
        self.await_no_node()
        self.driver.end()

    def test_the_session_ends_first(self):
        session = self.opened(SHORT)
        registration = self.registered(session)
        self.suspend(session)
        self.say_close(registration)
        self.assertEqual(self.closed(registration), "HF_ELOST")
        self.resume()
        self.await_no_node()
        self.driver.end()

    def test_the_session_has_ended_before(self):
        """The node may be there until the server notices."""
        session = self.opened(SHORT)
        registration = self.registered(session)
        self.suspend(session)
        self.driver.await_line("session", session, "LOST")
        self.assertEqual(self.driver.unregister(registration), "HF_ELOST")
        self.resume()
        self.await_no_node()
        self.driver.end()

    def test_it_has_failed_and_the_session_has_made_the_node(self):
        """A node of the session counts as that of the registration, also after
        that has failed."""
        session = self.opened("timeout=4s")
        self.raw.set_acls(self.chroot, [jute.Acl(17, "world", "anyone")])
        registration = self.driver.register(session, "/r", "data")
        self.await_event(registration, "FAILED HF_EDENIED")
        self.raw.set_acls(self.chroot, [jute.Acl(31, "world", "anyone")])
        self.driver.ok(session, "create", "/r", mode="ephemeral")
        self.suspend(session)
        self.driver.await_line("session", session, "LOST")
        self.assertEqual(self.driver.unregister(registration), "HF_ELOST")
        self.resume()
        self.await_no_node()
        self.driver.end()

    def test_the_session_has_ended_and_the_node_is_made_again(self):
        session = self.opened(SHORT)
        registration = self.registered(session)
        self.suspend(session)
        self.driver.await_line("session", session, "LOST")
        self.resume()
        self.await_event(registration, "REGISTERED HF_OK", after=1)
        self.assertEqual(self.driver.unregister(registration), "HF_OK")
        self.assertIsNone(self.stat())
        self.driver.end()

    def blocked_by_the_session_before(self):
        """A session is lost here while its server keeps it.  It is not ended
        by the client, which has handed it out."""
        session = self.opened("timeout=4s")
        self.driver.session(session)
        registration = self.registered(session)
        self.proxy.hold(DOWN)
        self.driver.await_line("session", session, "LOST")
        self.cut()
        self.await_event(registration, "BLOCKED HF_EEXISTS")
        return session, registration

    def test_the_node_of_the_session_before_is_there(self):
        _, registration = self.blocked_by_the_session_before()
        self.assertEqual(self.driver.unregister(registration), "HF_ELOST")
        self.await_no_node()
        self.driver.end()

    def test_the_node_of_the_session_before_is_gone(self):
        session, registration = self.blocked_by_the_session_before()
        self.suspend(session)
        self.raw.delete(self.node)
        self.say_close(registration)
        self.resume()
        self.assertEqual(self.closed(registration), "HF_OK")
        self.driver.end()

    def test_the_session_before_has_made_the_node_unseen(self):
        """The answer to its create was lost."""
        session = self.opened("timeout=4s")
        self.driver.session(session)
        self.proxy.hold(DOWN)
        registration = self.driver.register(session, "/r", "data")
        self.await_node()
        self.driver.await_line("session", session, "LOST")
        self.cut()
        line = self.await_event(registration, "BLOCKED HF_EEXISTS")
        self.assertIn("our previous session", " ".join(line))
        self.assertEqual(self.driver.unregister(registration), "HF_ELOST")
        self.await_no_node()
        self.driver.end()

    def test_another_program_has_made_the_node_since(self):
        """The node of the first session is gone, and the second one has made
        none."""
        session = self.opened(SHORT)
        registration = self.registered(session)
        self.suspend(session)
        self.driver.await_line("session", session, "LOST")
        self.await_no_node()
        self.raw.create(self.node, b"other")
        self.resume()
        self.await_event(registration, "BLOCKED HF_EEXISTS")
        self.suspend(session)
        self.driver.until("the second loss", lambda: self.driver.states(
            session).count("LOST") == 2)
        self.assertEqual(self.driver.unregister(registration), "HF_OK")
        self.assertEqual(self.raw.get(self.node)[0], b"other")
        self.resume()
        self.driver.end()

    def test_it_is_freed_before_a_look_is_sent(self):
        """What was known of the node is older than the event that the look is
        for: somebody else has made one with the same version."""
        session = self.opened()
        registration = self.registered(session)
        watch = self.driver.watch(session, "data", "/r")
        self.driver.ok(session, "exists", "/r", watch=watch)
        self.proxy.hold(UP)
        self.start_reads(session, IN_FLIGHT)
        self.driver.session(session)  # they have been started
        self.raw.set(self.node, b"changed")
        self.driver.await_event(watch, "CHANGED /r")
        self.raw.delete(self.node)
        self.raw.create(self.node, b"other")
        self.driver.free_registration(registration)
        self.proxy.thaw()
        self.driver.ok(session, "sync", "/")
        self.assertEqual(self.raw.get(self.node)[0], b"other")
        self.driver.end()

    def test_the_handle_is_closed_first(self):
        session = self.opened()
        registration = self.registered(session)
        self.driver.free_registration(registration)
        self.assertEqual(self.driver.close(session), "HF_OK")
        self.assertIsNone(self.stat())
        self.driver.end()

    def test_it_is_closed_and_opened_during_an_outage(self):
        """The new registration takes the node of the old one over."""
        session = self.opened()
        first = self.registered(session, "first")
        self.suspend(session)
        self.driver.free_registration(first)
        second = self.driver.register(session, "/r", "second")
        self.resume()
        self.await_event(second, "REGISTERED HF_OK")
        self.assertEqual(self.raw.get(self.node)[0], b"second")
        self.assertEqual(self.driver.unregister(second), "HF_OK")
        self.driver.end()

    def test_another_program_changes_the_node_meanwhile(self):
        session = self.opened()
        registration = self.registered(session)
        self.suspend(session)
        self.say_close(registration)
        for _ in range(3):
            self.raw.set(self.node, b"other")
        self.resume()
        self.assertEqual(self.closed(registration), "HF_OK")
        self.assertIsNone(self.stat())
        self.driver.end()

    def test_another_program_replaces_the_node_meanwhile(self):
        """With the same version, so that only a look can distinguish them."""
        session = self.opened()
        registration = self.registered(session)
        self.suspend(session)
        self.say_close(registration)
        self.raw.delete(self.node)
        self.raw.create(self.node, b"other")
        self.resume()
        self.assertEqual(self.closed(registration), "HF_OK")
        self.assertEqual(self.raw.get(self.node)[0], b"other")
        self.driver.end()

    def test_it_is_closed_right_after_an_outage(self):
        """Before the event of the watch, which is on its way, has come."""
        session = self.opened()
        registration = self.registered(session)
        self.suspend(session)
        self.raw.delete(self.node)
        self.raw.create(self.node, b"other")
        count = self.driver.states(session).count("CONNECTED")
        self.proxy.delay(50)
        self.resume()
        self.driver.until("a connection", lambda: self.driver.states(
            session).count("CONNECTED") > count)
        self.say_close(registration)
        self.assertEqual(self.closed(registration), "HF_OK")
        self.assertEqual(self.raw.get(self.node)[0], b"other")
        self.driver.end()

    def test_another_program_replaces_it_with_another_version(self):
        """Here a delete without a look would fail."""
        session = self.opened()
        registration = self.registered(session)
        self.driver.reset(registration, "new")
        self.assertEqual(self.driver.wait_registered(registration), "HF_OK")
        sent = self.proxy.bytes[UP]
        self.proxy.hold(UP)
        self.say_close(registration)
        waiting.eventually("the delete", lambda: self.proxy.bytes[UP] > sent)
        self.raw.delete(self.node)
        self.raw.create(self.node, b"other")
        self.proxy.thaw()
        self.assertEqual(self.closed(registration), "HF_OK")
        self.assertEqual(self.raw.get(self.node)[0], b"other")
        self.driver.end()


class Outages(Case):
    def test_a_connection_ends(self):
        """The node stays, and nothing is written."""
        session = self.opened()
        registration = self.registered(session)
        mzxid = self.stat().mzxid
        for _ in range(3):
            self.suspend(session)
            self.resume()
            self.driver.ok(session, "sync", "/")
        self.assertEqual(self.stat().mzxid, mzxid)
        self.assertEqual(self.events(registration), ["REGISTERED HF_OK"])
        self.driver.end()

    def test_the_node_is_deleted_during_an_outage(self):
        session = self.opened()
        registration = self.registered(session)
        self.suspend(session)
        self.raw.delete(self.node)
        self.resume()
        self.await_event(registration, "REGISTERED HF_OK", after=1)
        self.assertEqual(self.events(registration),
                         ["REGISTERED HF_OK", "UNREGISTERED HF_EGONE",
                          "REGISTERED HF_OK"])
        self.driver.end()

    def test_the_node_is_replaced_during_an_outage(self):
        session = self.opened()
        registration = self.registered(session)
        self.suspend(session)
        self.raw.delete(self.node)
        self.raw.create(self.node, b"other", flags=jute.EPHEMERAL)
        self.resume()
        self.await_event(registration, "BLOCKED HF_EEXISTS")
        self.assertEqual(self.raw.get(self.node)[0], b"other")
        self.suspend(session)
        self.raw.delete(self.node)
        self.resume()
        self.await_event(registration, "REGISTERED HF_OK", after=1)
        self.assertEqual(self.events(registration),
                         ["REGISTERED HF_OK", "UNREGISTERED HF_EGONE",
                          "BLOCKED HF_EEXISTS", "REGISTERED HF_OK"])
        self.driver.end()

    def test_data_are_set_while_the_node_is_replaced(self):
        session = self.opened()
        registration = self.registered(session)
        self.suspend(session)
        self.driver.reset(registration, "new")
        self.raw.delete(self.node)
        self.raw.create(self.node, b"other")
        self.resume()
        self.await_event(registration, "BLOCKED HF_EEXISTS")
        self.assertEqual(self.raw.get(self.node)[0], b"other")
        self.raw.delete(self.node)
        self.await_event(registration, "REGISTERED HF_OK", after=1)
        self.assertEqual(self.raw.get(self.node)[0], b"new")
        self.driver.end()

    def test_data_are_set_during_an_outage(self):
        session = self.opened()
        registration = self.registered(session)
        self.suspend(session)
        self.driver.reset(registration, "new")
        self.resume()
        self.assertEqual(self.driver.wait_registered(registration), "HF_OK")
        self.assertEqual(self.raw.get(self.node)[0], b"new")
        self.assertEqual(self.events(registration), ["REGISTERED HF_OK"])
        self.driver.end()

    def test_the_old_node_outlives_its_session_here(self):
        """The server gets pings, and its answers are lost.  The node of the old
        session, which was handed out, is waited for, and is not deleted."""
        session = self.opened(SHORT)
        self.driver.session(session)
        registration = self.registered(session)
        czxid = self.stat().czxid
        self.proxy.hold(DOWN)
        self.driver.await_line("session", session, "LOST")
        self.cut()
        line = self.await_event(registration, "REGISTERED HF_OK", after=1)
        self.assertGreater(int(line[2]), czxid)
        check_next_session(self, self.driver, registration)
        self.driver.end()

    def test_the_old_session_is_ended(self):
        """Its server would keep it for longer."""
        session = self.opened("timeout=4s")
        registration = self.registered(session)
        lost = self.stat().ephemeral_owner
        self.proxy.hold(DOWN)
        self.driver.await_line("session", session, "LOST")
        self.cut()
        self.await_event(registration, "REGISTERED HF_OK", after=1)
        self.assertNotIn(lost & (1 << 64) - 1, [
            expired for _, expired, _ in self.server.expirations()])
        check_next_session(self, self.driver, registration)
        self.driver.end()

    def test_it_is_opened_before_there_is_a_connection(self):
        self.proxy.refuse()
        session = self.driver.open("zk://127.0.0.1:%d%s?%s" % (
            self.proxy.port, self.chroot, LONG), connect_ms=100)
        registration = self.driver.register(session, "/r", "data")
        self.assertEqual(self.driver.wait_registered(registration, 300),
                         "HF_ETIMEDOUT")
        self.resume()
        self.await_event(registration, "REGISTERED HF_OK")
        self.driver.end()

    def test_no_further_attempt_to_connect_is_made(self):
        """A wait begins one, and ends when that has failed."""
        session = self.opened(LONG + "&retry=never")
        self.suspend(session)
        registration = self.driver.register(session, "/r", "data")
        self.assertEqual(self.driver.wait_registered(registration),
                         "HF_EUNREACHABLE")
        self.resume()
        self.assertEqual(self.driver.wait_registered(registration), "HF_OK")
        self.driver.end()

    def test_a_timer_makes_no_attempt_to_connect(self):
        """A wait of another handle says that so much time is over."""
        session = self.opened(LONG + "&retry=never")
        other = self.driver.opened("zk://127.0.0.1:%d%s" % (
            self.server.port, self.chroot))
        self.raw.create(self.chroot + "/blocked")
        blocked = self.driver.register(other, "/blocked", "data")
        self.suspend(session)
        registration = self.driver.register(session, "/r", "data")
        self.assertEqual(self.driver.wait_registered(registration),
                         "HF_EUNREACHABLE")
        self.resume()
        self.assertEqual(self.driver.wait_registered(blocked, 1000),
                         "HF_ETIMEDOUT")
        self.assertIsNone(self.stat())
        self.assertEqual(self.driver.wait_registered(registration), "HF_OK")
        self.driver.end()

    def test_containers_go_after_it(self):
        session = self.opened()
        registration = self.driver.register(session, "/a/b/c")
        self.await_event(registration, "REGISTERED HF_OK")
        self.assertEqual(self.driver.unregister(registration), "HF_OK")
        waiting.eventually("the end of the containers", lambda:
                           self.raw.exists(self.chroot + "/a") is None)
        self.driver.end()

    def test_a_connection_is_cut_at_any_moment(self):
        """With the node deleted, and data set, at any moment, too."""
        session = self.opened()
        registration = self.driver.register(session, "/r", "first")
        choose = random.Random(1)
        self.proxy.delay(2)
        for number in range(CUTS):
            choice = choose.randrange(4)
            sent = self.proxy.bytes[UP]
            if choice < 2:
                self.driver.reset(registration, "data-%d" % number)
            elif choice == 2 and self.stat():
                self.raw.delete(self.node)
            if choice < 2:
                self.await_bytes(sent + choose.randrange(40))
            self.proxy.cut()
        self.driver.reset(registration, "last")
        self.assertEqual(self.driver.wait_registered(registration), "HF_OK")
        self.assertEqual(self.raw.get(self.node)[0], b"last")
        owner = self.stat().ephemeral_owner & (1 << 64) - 1
        self.assertEqual(owner, int(
            self.driver.session(session).split(":")[0], 16))
        self.assertNotIn("LOST", self.driver.states(session))
        kinds = [event.split()[0] for event in self.events(registration)]
        self.assertEqual(kinds, [("REGISTERED", "UNREGISTERED")[i % 2]
                                 for i in range(len(kinds))])
        self.assertEqual(self.driver.unregister(registration), "HF_OK")
        self.assertIsNone(self.stat())
        self.driver.end()

    def test_it_is_closed_and_cut_at_any_moment(self):
        session = self.opened()
        choose = random.Random(2)
        self.proxy.delay(2)
        for number in range(CUTS):
            sent = self.proxy.bytes[UP]
            registration = self.driver.register(session, "/r", str(number))
            self.await_bytes(sent + choose.randrange(100))
            self.say_close(registration)
            if number % 2:
                self.proxy.cut()
            self.assertEqual(self.closed(registration), "HF_OK")
            self.assertIsNone(self.stat())
        self.driver.end()


class Ensembles(unittest.TestCase):
    """Of three servers, which are killed and come back."""

    @classmethod
    def setUpClass(cls):
        cls.ensemble = Ensemble(read_only=True)
        cls.addClassCleanup(cls.ensemble.close)

    def setUp(self):
        self.driver = ZookeeperDriver(DRIVER)
        self.addCleanup(self.driver.kill)
        self.addCleanup(self.restart)
        with self.ensemble.client() as client:
            client.create("/" + self._testMethodName)

    def url(self, options, servers=None):
        return "zk://%s/%s?%s" % (self.ensemble.addresses(servers),
                                  self._testMethodName, options)

    def kill(self, *servers):
        for server in servers:
            server.kill()

    def restart(self):
        for server in self.ensemble.servers:
            if not server.process.is_alive():
                server.launch()
        self.ensemble.wait()

    def events(self, registration):
        return self.driver.registration_events(registration)

    def last_request(self, server):
        """The xid of the last request of the only session that is no ping."""
        return re.search(r"sid=.*lcxid=(0x[0-9a-f]+)",
                         server.four_letters("cons")).group(1)

    def test_the_session_moves_to_another_server(self):
        session = self.driver.opened(self.url(LONG, self.ensemble.followers()))
        registration = self.driver.register(session, "/a/r", "data")
        self.driver.await_registration(registration, "REGISTERED HF_OK")
        number = self.driver.session(session).split(":")[0]
        self.kill(next(server for server in self.ensemble.servers
                       if number in server.four_letters("cons")))
        self.driver.await_line("session", session, "SUSPENDED")
        self.driver.ok(session, "sync", "/")
        self.assertEqual(self.events(registration), ["REGISTERED HF_OK"])
        self.driver.reset(registration, "new")
        self.assertEqual(self.driver.wait_registered(registration), "HF_OK")
        self.assertEqual(self.driver.ok(session, "get", "/a/r")["data"], "new")
        self.assertEqual(self.driver.unregister(registration), "HF_OK")
        self.assertEqual(self.driver.do(session, "exists", "/a/r").status,
                         "HF_EGONE")
        self.driver.end()

    def test_a_server_without_a_quorum_makes_no_node(self):
        alone, *others = self.ensemble.servers
        self.kill(*others)
        waiting.eventually("the last server to be read-only",
                           lambda: alone.mode() == "read-only")
        session = self.driver.opened(self.url("timeout=4s"), read_only=1)
        registration = self.driver.register(session, "/r", "data")
        self.driver.await_registration(registration, "BLOCKED HF_EREADONLY")
        last = self.last_request(alone)
        self.assertEqual(self.driver.wait_registered(registration, 1000),
                         "HF_ETIMEDOUT")
        # It is tried again by the next connection, and not by a timer.
        self.assertEqual(self.last_request(alone), last)
        self.restart()
        self.driver.await_registration(registration, "REGISTERED HF_OK")
        self.assertEqual(self.driver.unregister(registration), "HF_OK")
        self.driver.end()

    def test_all_servers_are_away_for_longer_than_the_session(self):
        """They come back with the old session, and with its node, which goes
        when they have waited for that session in vain."""
        session = self.driver.opened(self.url("timeout=4s"))
        registration = self.driver.register(session, "/r", "data")
        self.driver.await_registration(registration, "REGISTERED HF_OK")
        self.kill(*self.ensemble.servers)
        self.driver.await_line("session", session, "LOST")
        self.restart()
        self.driver.await_registration(registration, "REGISTERED HF_OK", after=2)
        check_next_session(self, self.driver, registration)
        self.assertEqual(self.driver.unregister(registration), "HF_OK")
        self.driver.end()


if __name__ == "__main__":
    unittest.main()
