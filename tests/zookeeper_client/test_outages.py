#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The public ZooKeeper client while its connection, its session or its server
ends: how each operation ends, what its watches bring, and what the server keeps
for them.

    test_outages.py ZOOKEEPER_DRIVER
"""

import json
import os
import re
import subprocess
import sys
import unittest

from zookeeper_driver import ZookeeperDriver

import waiting
from ensemble import Ensemble
from proxy import DOWN, UP, Proxy
from zookeeper import Standalone, superuser

DRIVER = os.path.abspath(sys.argv.pop(1))

# Longer than any test, and as short as the server lets it be.
LONG, SHORT = "timeout=30s", "timeout=1s"


class Case(unittest.TestCase):
    """A driver whose connections go through a proxy, and a client that sees the
    server's tree without the library."""

    @classmethod
    def setUpClass(cls):
        cls.server = Standalone()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.proxy = Proxy(self.server.port)
        self.addCleanup(self.proxy.close)
        self.raw = self.server.client(timeout_ms=40000)
        self.addCleanup(self.raw.close)
        self.chroot = "/" + self._testMethodName
        self.raw.create(self.chroot)
        self.driver = self.make_driver()

    def make_driver(self):
        driver = ZookeeperDriver(DRIVER)
        self.addCleanup(driver.kill)
        return driver

    def url(self, options=LONG):
        return "zk://127.0.0.1:%d%s?%s" % (self.proxy.port, self.chroot,
                                           options)

    def opened(self, options=LONG, **more):
        return self.driver.opened(self.url(options), **more)

    def version(self, path):
        return self.raw.get(self.chroot + path)[1].version

    def suspend(self, session):
        """Its connection ends, and there is no other one until resume()."""
        count = self.driver.states(session).count("SUSPENDED")
        self.proxy.refuse()
        self.proxy.cut()
        self.await_states(session, "SUSPENDED", count + 1)

    def resume(self, session):
        count = self.driver.states(session).count("CONNECTED")
        self.proxy.thaw()
        self.proxy.refuse(False)
        self.await_states(session, "CONNECTED", count + 1)

    def await_states(self, session, state, count):
        self.driver.until(
            "session %d to be %s" % (session, state),
            lambda: self.driver.states(session).count(state) >= count)

    def await_starts(self, session):
        """Wait until all operations that were said are begun."""
        self.driver.say("session", session)
        self.driver.await_line("session", session, "is")

    def ends(self, *operations):
        return [self.driver.result(number).status for number in operations]

    def order(self, *operations):
        """In which they have ended."""
        self.ends(*operations)
        at = {int(line[1]): i for i, line in reversed(
            list(enumerate(self.driver.lines))) if line[0] == "op"}
        return sorted(operations, key=at.get)


class Outages(Case):
    def test_a_cut_repeats_reads_and_no_write(self):
        session = self.opened()
        self.proxy.hold(DOWN)
        first = self.driver.start(session, "get", "/")
        write = self.driver.start(session, "set", "/", data="new")
        second = self.driver.start(session, "get", "/")
        waiting.eventually("the write", lambda: self.version("") == 1)
        self.proxy.cut()
        self.proxy.thaw()
        self.assertEqual(self.ends(first, write, second),
                         ["HF_OK", "HF_EUNSURE", "HF_OK"])
        self.assertEqual(self.driver.result(first)["data"], "new")
        self.assertEqual(self.version(""), 1)
        self.assertIn("after it was sent", self.driver.result(write).text)
        self.assertNotIn("LOST", self.driver.states(session))
        self.driver.end()

    def test_a_write_that_did_not_reach_the_server_is_unsure_too(self):
        session = self.opened()
        bytes_up = self.proxy.bytes[UP]
        self.proxy.hold(UP)
        write = self.driver.start(session, "set", "/", data="new")
        waiting.eventually("the write", lambda: self.proxy.bytes[UP] > bytes_up)
        self.proxy.cut()
        self.proxy.thaw()
        self.assertEqual(self.ends(write), ["HF_EUNSURE"])
        self.assertEqual(self.version(""), 0)
        self.driver.end()

    def test_what_was_not_sent_goes_on_in_order(self):
        session = self.opened()
        self.suspend(session)
        numbers = [self.driver.start(session, "set" if i % 2 else "get", "/",
                                     data="x" if i % 2 else None, version=-1)
                   for i in range(40)]
        self.resume(session)
        self.assertEqual(self.ends(*numbers), 40 * ["HF_OK"])
        self.assertEqual(self.order(*numbers), numbers)
        self.assertEqual(self.version(""), 20)
        self.driver.end()

    def test_what_was_sent_is_repeated_ahead_of_what_waits(self):
        session = self.opened()
        self.proxy.hold(DOWN)
        sent = [self.driver.start(session, "get", "/") for _ in range(10)]
        self.await_starts(session)
        self.suspend(session)
        waits = [self.driver.start(session, "get", "/") for _ in range(10)]
        self.resume(session)
        self.assertEqual(self.order(*sent, *waits), sent + waits)
        self.driver.end()

    def test_urgent_before_normal_before_bulk(self):
        session = self.opened()
        self.suspend(session)
        bulk, normal, urgent = (
            [self.driver.start(session, "get", "/", priority=priority)
             for _ in range(10)] for priority in ("bulk", "normal", "urgent"))
        self.await_starts(session)
        self.resume(session)
        self.assertEqual(self.order(*bulk, *normal, *urgent),
                         urgent + normal + bulk)
        self.driver.end()

    def test_the_time_of_an_operation_is_over(self):
        session = self.opened()
        self.suspend(session)
        numbers = [self.driver.start(session, kind, "/", wait_ms=50)
                   for kind in ("get", "set")]
        self.assertEqual(self.ends(*numbers), 2 * ["HF_ETIMEDOUT"])
        self.assertRegex(self.driver.result(numbers[0]).text,
                         "over, and there is no connection: 127.0.0.1:")
        self.resume(session)
        self.assertEqual(self.version(""), 0)
        # The same once they were sent; the late answers disturb nobody.
        count = len(self.driver.states(session))
        self.proxy.hold(DOWN)
        numbers = [self.driver.start(session, kind, "/", wait_ms=50)
                   for kind in ("get", "set")]
        self.assertEqual(self.ends(*numbers), ["HF_ETIMEDOUT", "HF_EUNSURE"])
        self.proxy.thaw()
        self.driver.ok(session, "get", "/")
        self.assertEqual(len(self.driver.states(session)), count)
        self.driver.end()

    def test_an_operation_that_does_not_wait(self):
        session = self.opened()
        self.driver.ok(session, "get", "/", wait_ms=0)
        self.driver.ok(session, "set", "/", wait_ms=0)
        self.proxy.hold(DOWN)
        numbers = [self.driver.start(session, kind, "/", wait_ms=0, version=-1)
                   for kind in ("get", "set")]
        waiting.eventually("the write", lambda: self.version("") == 2)
        self.suspend(session)
        self.assertEqual(self.ends(*numbers), ["HF_EUNREACHABLE", "HF_EUNSURE"])
        result = self.driver.do(session, "set", "/", wait_ms=0, version=-1)
        self.assertEqual(result.status, "HF_EUNREACHABLE")
        self.resume(session)
        self.assertEqual(self.version(""), 2)
        self.driver.end()

    def test_the_first_connection_takes_too_long(self):
        self.proxy.refuse()
        session = self.driver.open(self.url(), connect_ms=100)
        numbers = [self.driver.start(session, kind, "/", wait_ms=wait_ms)
                   for kind in ("get", "set") for wait_ms in (0, 20000)]
        self.assertEqual(self.ends(*numbers), 4 * ["HF_EUNREACHABLE"])
        self.assertEqual(self.driver.session(session), "HF_EUNREACHABLE")
        self.proxy.refuse(False)
        self.driver.await_line("session", session, "CONNECTED")
        self.driver.ok(session, "get", "/")
        self.assertEqual(self.version(""), 0)
        self.driver.end()

    def test_operations_are_cancelled(self):
        session = self.opened()
        self.proxy.hold(DOWN)
        sent = [self.driver.start(session, kind, "/") for kind in ("get", "set")]
        waiting.eventually("the write", lambda: self.version("") == 1)
        for number in sent:
            self.driver.say("cancel", number)
        self.assertEqual(self.ends(*sent), ["HF_ECANCELLED", "HF_EUNSURE"])
        self.suspend(session)
        waits = [self.driver.start(session, kind, "/") for kind in ("get", "set")]
        for number in waits:
            self.driver.say("cancel", number)
        self.assertEqual(self.ends(*waits), 2 * ["HF_ECANCELLED"])
        self.resume(session)
        self.driver.ok(session, "get", "/")
        self.assertEqual(self.version(""), 1)
        self.driver.end()

    def test_a_handle_is_closed_during_an_outage(self):
        session = self.opened()
        self.suspend(session)
        numbers = [self.driver.start(session, kind, "/") for kind in ("get", "set")]
        self.assertEqual(self.driver.close(session), "HF_OK")
        self.assertEqual(self.ends(*numbers), 2 * ["HF_ECLOSED"])
        self.assertEqual(self.version(""), 0)
        self.driver.end()

    def test_a_handle_is_closed_while_the_server_is_silent(self):
        session = self.opened()
        self.proxy.hold(DOWN)
        numbers = [self.driver.start(session, kind, "/") for kind in ("get", "set")]
        waiting.eventually("the write", lambda: self.version("") == 1)
        self.assertEqual(self.driver.close(session), "HF_OK")
        self.assertEqual(self.ends(*numbers), ["HF_ECLOSED", "HF_EUNSURE"])
        self.driver.end()

    def test_a_credential_is_proved_on_each_connection(self):
        session = self.opened()
        self.driver.ok(session, "add_auth", scheme="digest", data="u:p")
        self.driver.ok(session, "create", "/mine", data="x", acl="31:auth:")
        for _ in range(2):
            self.suspend(session)
            self.resume(session)
            self.assertEqual(self.driver.ok(session, "get", "/mine")["data"], "x")
        self.suspend(session)
        added = self.driver.start(session, "add_auth", scheme="digest",
                                  data="v:p")
        refused = self.driver.start(session, "add_auth", scheme="nonsense",
                                    data="x")
        self.proxy.refuse(False)
        self.assertEqual(self.ends(added, refused), ["HF_OK", "HF_EDENIED"])
        self.assertIn("0:digest:v", self.driver.ok(session, "whoami").acls)
        self.driver.end()

    def test_a_credential_is_added_during_an_outage(self):
        session = self.opened()
        self.suspend(session)
        numbers = [self.driver.start(session, "add_auth", scheme="digest",
                                     data=data, wait_ms=wait_ms)
                   for data, wait_ms in (("a:p", 0), ("b:p", 50),
                                         ("c:p", 20000), ("d:p", 20000))]
        self.driver.say("cancel", numbers[3])
        self.assertEqual(self.driver.result(numbers[0]).status,
                         "HF_EUNREACHABLE")
        self.assertEqual(self.driver.result(numbers[1]).status, "HF_ETIMEDOUT")
        self.assertEqual(self.driver.result(numbers[3]).status, "HF_ECANCELLED")
        self.resume(session)
        self.assertEqual(self.driver.result(numbers[2]).status, "HF_OK")
        acls = self.driver.ok(session, "whoami").acls
        self.assertIn("0:digest:b", acls)  # it stays
        self.assertIn("0:digest:c", acls)
        self.suspend(session)
        number = self.driver.start(session, "add_auth", scheme="digest",
                                   data="e:p")
        self.assertEqual(self.driver.close(session), "HF_OK")
        self.assertEqual(self.driver.result(number).status, "HF_ECLOSED")
        self.driver.end()

    def test_no_further_attempt_is_made(self):
        """The policy of the URL gives up: everything ends, and the next
        operation begins anew."""
        session = self.opened(LONG + "&retry=never")
        self.suspend(session)
        numbers = [self.driver.start(session, "set", "/"),
                   self.driver.start(session, "add_auth", scheme="digest",
                                     data="u:p")]
        self.assertEqual(self.ends(*numbers), 2 * ["HF_EUNREACHABLE"])
        self.proxy.refuse(False)
        self.driver.ok(session, "get", "/")
        self.assertEqual(self.version(""), 0)
        self.driver.end()

    def test_an_added_credential_that_does_not_wait_is_cut_off(self):
        session = self.opened()
        self.proxy.hold(DOWN)
        number = self.driver.start(session, "add_auth", scheme="digest",
                                   data="u:p", wait_ms=0)
        waiting.eventually("the answer", lambda: self.proxy.waiting(DOWN))
        self.suspend(session)
        self.assertEqual(self.ends(number), ["HF_EUNREACHABLE"])
        self.resume(session)
        self.assertIn("0:digest:u", self.driver.ok(session, "whoami").acls)
        self.driver.end()

    def test_many_cuts_with_operations_under_way(self):
        """Nothing is lost, ends twice or out of order, whenever a connection
        ends; a write that ended with HF_OK was carried out once."""
        session = self.opened()
        watch = self.driver.added(session, "recursive", "/")
        sets, numbers = [], []
        for _ in range(15):
            for i in range(40):
                kind = ("get", "set", "exists", "children")[i % 4]
                numbers.append(self.driver.start(session, kind, "/",
                                                 version=-1))
                if kind == "set":
                    sets.append(numbers[-1])
            self.proxy.cut()
        ends = self.ends(*numbers)
        self.assertLessEqual(set(ends), {"HF_OK", "HF_EUNSURE"})
        self.assertEqual({end for number, end in zip(numbers, ends)
                          if number not in sets}, {"HF_OK"})
        done = sum(self.driver.result(number).status == "HF_OK"
                   for number in sets)
        self.assertLessEqual(done, self.version(""))
        self.assertLessEqual(self.version(""), len(sets))
        self.driver.ok(session, "sync", "/")
        count = len(self.driver.events(watch))
        self.raw.set(self.chroot, b"")
        self.driver.ok(session, "sync", "/")
        self.assertEqual(self.driver.events(watch)[count:], ["CHANGED /"])
        self.assertNotIn("LOST", self.driver.states(session))
        self.driver.end()


class Sessions(Case):
    def test_the_session_expires(self):
        session = self.opened(SHORT)
        before = self.driver.session(session)
        self.driver.ok(session, "create", "/e", mode="ephemeral")
        self.proxy.hold()
        write = self.driver.start(session, "set", "/")
        read = self.driver.start(session, "get", "/")
        self.driver.await_line("session", session, "LOST")
        waits = self.driver.start(session, "get", "/")
        self.assertEqual(self.ends(write, read), ["HF_EUNSURE", "HF_ELOST"])
        self.proxy.cut()
        self.proxy.thaw()
        # It was started after the end of the session, and has the new one.
        self.assertEqual(self.ends(waits), ["HF_OK"])
        after = self.driver.session(session)
        self.assertNotEqual(before.split(":")[0], after.split(":")[0])
        states = self.driver.states(session)
        self.assertEqual(states[states.index("LOST"):],
                         ["LOST", "CONNECTING", "CONNECTED"])
        waiting.eventually("the end of the ephemeral node", lambda:
                           self.raw.exists(self.chroot + "/e") is None)
        self.driver.end()

    def test_a_session_is_taken_over_from_a_process_that_was_killed(self):
        session = self.opened()
        self.driver.ok(session, "create", "/e", mode="ephemeral")
        identity = self.driver.session(session)
        self.driver.process.kill()
        second = self.make_driver()
        taken = second.opened(self.url(), session=identity)
        self.assertEqual(second.session(taken), identity)
        self.assertEqual(second.states(taken), ["CONNECTED"])
        stat = second.ok(taken, "exists", "/e")
        self.assertEqual(int(stat["ephemeralOwner"]) & (1 << 64) - 1,
                         int(identity.split(":")[0], 16))
        self.assertEqual(second.ok(taken, "ephemerals", "/").children, ["/e"])
        self.assertEqual(second.close(taken), "HF_OK")
        self.assertIsNone(self.raw.exists(self.chroot + "/e"))
        second.end()

    def test_ephemeral_nodes_outside_of_the_chroot_are_left_out(self):
        """Servers compare paths as strings, so "/a" has those of "/ab"."""
        self.raw.create(self.chroot + "/a")
        self.raw.create(self.chroot + "/ab")
        session = self.opened()
        self.driver.ok(session, "create", "/ab/e", mode="ephemeral")
        self.driver.ok(session, "create", "/a/e", mode="ephemeral")
        identity = self.driver.session(session)
        self.driver.process.kill()
        second = self.make_driver()
        taken = second.opened(self.url().replace("?", "/a?"), session=identity)
        self.assertEqual(second.ok(taken, "ephemerals", "/").children, ["/e"])
        second.end()

    def test_a_session_that_is_over_is_not_taken_over(self):
        session = self.opened()
        identity = self.driver.session(session)
        self.assertEqual(self.driver.close(session), "HF_OK")
        second = self.driver.open(self.url(), session=identity)
        self.driver.await_line("session", second, "CONNECTED")
        self.assertEqual(self.driver.states(second),
                         ["LOST", "CONNECTING", "CONNECTED"])
        self.assertNotEqual(self.driver.session(second).split(":")[0],
                            identity.split(":")[0])
        self.driver.ok(second, "get", "/")
        self.driver.end()

    def test_a_session_is_not_taken_over_with_another_password(self):
        session = self.opened()
        number, password, timeout = self.driver.session(session).split(":")
        wrong = ":".join((number, password[::-1], timeout))
        second = self.driver.open(self.url(), session=wrong)
        self.driver.await_line("session", second, "CONNECTED")
        self.assertEqual(self.driver.states(second)[0], "LOST")
        # The server has closed the connection of the session, no more.
        self.driver.ok(session, "get", "/")
        self.assertNotIn("LOST", self.driver.states(session))
        self.driver.end()

    def test_the_server_is_killed_and_comes_back(self):
        server = Standalone()
        self.addCleanup(server.close)
        session = self.driver.opened("zk://%s/?%s" % (server.address(), LONG))
        identity = self.driver.session(session)
        self.driver.ok(session, "create", "/e", mode="ephemeral")
        watch = self.driver.added(session, "persistent", "/e")
        server.kill()
        self.driver.await_line("session", session, "SUSPENDED")
        numbers = [self.driver.start(session, kind, "/e")
                   for kind in ("get", "set", "get")]
        server.start()
        self.assertEqual(self.ends(*numbers), 3 * ["HF_OK"])
        self.assertEqual(self.driver.session(session), identity)
        # That of the write above may have come while this waited.
        self.driver.await_event(watch, "RESYNC /e")
        count = len(self.driver.events(watch))
        self.driver.ok(session, "set", "/e", version=-1)
        self.driver.ok(session, "sync", "/e")
        self.assertEqual(self.driver.events(watch)[count:], ["CHANGED /e"])
        self.assertEqual(self.driver.events(watch).count("RESYNC /e"), 1)
        self.driver.end()


    def test_many_watches_over_a_restart(self):
        """Half of the nodes are created before the restart, and a quarter by
        operations that wait for it."""
        server = Standalone()
        self.addCleanup(server.close)
        session = self.driver.opened("zk://%s/?%s" % (server.address(), LONG))
        paths = ["/w%d" % i for i in range(100)]
        watches = {path: self.driver.watch(session, "data", path)
                   for path in paths}
        reads = [self.driver.start(session, "exists", path, watch=watches[path])
                 for path in paths]
        self.assertEqual(self.ends(*reads), 100 * ["HF_EGONE"])
        for path in paths[:50]:
            self.driver.ok(session, "create", path)
        for path in paths[:50]:
            self.driver.await_event(watches[path], "CREATED " + path)
        server.kill()
        self.driver.await_line("session", session, "SUSPENDED")
        creates = [self.driver.start(session, "create", path)
                   for path in paths[50:75]]
        server.start()
        self.assertEqual(self.ends(*creates), 25 * ["HF_OK"])
        for path in paths[75:]:
            self.driver.ok(session, "create", path)
        for path in paths[50:]:
            self.driver.await_event(watches[path], "CREATED " + path)
        self.driver.ok(session, "sync", "/")
        for path in paths:
            self.assertEqual(self.driver.events(watches[path]),
                             ["CREATED " + path])
        self.driver.end()


class Log(Case):
    def test_a_line_has_the_session_and_the_server(self):
        """As the server calls the session, from the first connection on, and in
        both forms of HOLDFAST_LOG."""
        for form in "debug,json", "debug":
            with self.subTest(form):
                self.driver = ZookeeperDriver(
                    DRIVER, env=dict(os.environ, HOLDFAST_LOG=form),
                    stderr=subprocess.STDOUT)
                self.addCleanup(self.driver.kill)
                self.check_lines(form.endswith("json"))

    def check_lines(self, json_lines):
        session = self.opened()
        self.driver.ok(session, "create", "/e", mode="ephemeral")
        identity = self.driver.session(session).partition(":")[0]
        self.assertEqual(self.raw.get(self.chroot + "/e")[1].ephemeral_owner,
                         int(identity, 16))
        self.proxy.cut()
        self.driver.await_line("session", session, "SUSPENDED")
        self.driver.await_line("session", session, "CONNECTED", after=2)
        self.driver.ok(session, "delete", "/e", version=-1)
        self.driver.end()
        lines = [line for line in map(" ".join, self.driver.lines)
                 if "the session is " in line]
        # CONNECTED, SUSPENDED and CONNECTED.
        self.assertGreaterEqual(len(lines), 3, self.driver.lines)
        for line in lines:
            if json_lines:
                fields = json.loads(line)
                found = fields["session"], fields["server"]
            else:
                found = tuple(word.partition("=")[2]
                              for word in line.split(" ")[-2:])
            self.assertEqual(found, ("0x" + identity,
                                     "127.0.0.1:%d" % self.proxy.port), line)


class Watches(Case):
    def fence(self, session):
        """Every callback of what the server did before has run."""
        self.driver.ok(session, "sync", "/")

    def armed(self, session, kind, path, operation):
        watch = self.driver.watch(session, kind, path)
        result = self.driver.do(session, operation, path, watch=watch)
        self.assertTrue(result.watching, result.status)
        return watch

    def test_a_persistent_watch_has_one_resync_on_each_connection(self):
        session = self.opened()
        self.driver.ok(session, "create", "/a")
        watches = {kind: self.driver.added(session, kind, "/a")
                   for kind in ("persistent", "recursive")}
        for number in range(1, 4):
            self.suspend(session)
            self.raw.set(self.chroot + "/a", b"away")
            self.resume(session)
            self.fence(session)
            self.driver.ok(session, "set", "/a", version=-1)
            self.fence(session)
            for watch in watches.values():
                self.assertEqual(self.driver.events(watch),
                                 number * ["RESYNC /a", "CHANGED /a"])
        self.driver.end()

    def test_a_one_shot_watch_fires_if_something_happened_meanwhile(self):
        session = self.opened()
        for path in ("/changed", "/same", "/parent", "/deleted"):
            self.driver.ok(session, "create", path)
        watches = {
            "changed": self.armed(session, "data", "/changed", "get"),
            "same": self.armed(session, "data", "/same", "get"),
            "children": self.armed(session, "children", "/parent", "children"),
            "deleted": self.armed(session, "data", "/deleted", "exists"),
            "created": self.armed(session, "data", "/created", "exists"),
            "missing": self.armed(session, "data", "/missing", "exists")}
        self.suspend(session)
        self.raw.set(self.chroot + "/changed", b"")
        self.raw.create(self.chroot + "/parent/child")
        self.raw.delete(self.chroot + "/deleted")
        self.raw.create(self.chroot + "/created")
        self.resume(session)
        self.fence(session)
        wanted = {"changed": ["CHANGED /changed"], "same": [],
                  "children": ["CHILDREN /parent"],
                  "deleted": ["DELETED /deleted"],
                  "created": ["CREATED /created"], "missing": []}
        found = {name: self.driver.events(watch)
                 for name, watch in watches.items()}
        self.assertEqual(found, wanted)
        # The others are set on the new connection.
        self.raw.set(self.chroot + "/same", b"")
        self.raw.create(self.chroot + "/missing")
        self.raw.set(self.chroot + "/changed", b"")
        self.driver.await_event(watches["same"], "CHANGED /same")
        self.driver.await_event(watches["missing"], "CREATED /missing")
        self.fence(session)
        self.assertEqual(self.driver.events(watches["changed"]),
                         wanted["changed"])
        self.driver.end()

    def test_one_shot_and_persistent_at_one_path_over_a_cut(self):
        session = self.opened()
        self.driver.ok(session, "create", "/a")
        data = self.armed(session, "data", "/a", "get")
        persistent = self.driver.added(session, "persistent", "/a")
        self.suspend(session)
        self.raw.set(self.chroot + "/a", b"")
        self.resume(session)
        self.fence(session)
        self.assertEqual(self.driver.events(data), ["CHANGED /a"])
        self.assertIn("RESYNC /a", self.driver.events(persistent))
        self.raw.set(self.chroot + "/a", b"")
        self.driver.until("the event", lambda:
                          self.driver.events(persistent)[-1] == "CHANGED /a")
        self.fence(session)
        self.assertEqual(self.driver.events(data), ["CHANGED /a"])
        self.assertEqual(self.driver.events(persistent).count("RESYNC /a"), 1)
        self.driver.end()

    def test_a_watch_is_set_by_a_read_that_is_repeated(self):
        session = self.opened()
        watch = self.driver.watch(session, "data", "/")
        self.proxy.hold(UP)
        bytes_up = self.proxy.bytes[UP]
        read = self.driver.start(session, "get", "/", watch=watch)
        waiting.eventually("the read", lambda: self.proxy.bytes[UP] > bytes_up)
        self.proxy.cut()
        self.proxy.thaw()
        self.assertTrue(self.driver.result(read).watching)
        self.raw.set(self.chroot, b"")
        self.driver.await_event(watch, "CHANGED /")
        self.driver.end()

    def test_the_end_of_the_session(self):
        session = self.opened(SHORT)
        self.driver.ok(session, "create", "/a")
        one_shot = self.armed(session, "data", "/a", "get")
        missing = self.armed(session, "data", "/missing", "exists")
        unset = self.driver.watch(session, "data", "/a")
        persistent = {kind: self.driver.added(session, kind, "/a")
                      for kind in ("persistent", "recursive")}
        self.proxy.hold()
        self.driver.await_line("session", session, "LOST")
        self.proxy.cut()
        self.proxy.thaw()
        for watch in persistent.values():
            self.driver.await_event(watch, "RESYNC /a")
        self.driver.ok(session, "set", "/a", version=-1)
        self.fence(session)
        for watch in persistent.values():
            self.assertEqual(self.driver.events(watch),
                             ["RESYNC /a", "CHANGED /a"])
        self.assertEqual(self.driver.events(one_shot), ["RESYNC /a"])
        self.assertEqual(self.driver.events(missing), ["RESYNC /missing"])
        self.assertEqual(self.driver.events(unset), [])
        self.driver.end()

    def test_watches_are_freed_during_outages(self):
        session = self.opened(SHORT)
        self.driver.ok(session, "create", "/a")
        watches = [self.armed(session, "data", "/a", "get"),
                   self.driver.added(session, "persistent", "/a"),
                   self.driver.added(session, "recursive", "/a")]
        self.suspend(session)
        for watch in watches:
            self.driver.unwatch(watch)
        self.resume(session)
        self.fence(session)
        self.assertEqual(self.watch_count(), 0)
        watches = [self.armed(session, "data", "/a", "get"),
                   self.driver.added(session, "persistent", "/a")]
        self.proxy.hold()
        self.driver.await_line("session", session, "LOST")
        for watch in watches:
            self.driver.unwatch(watch)
        self.proxy.cut()
        self.proxy.thaw()
        self.driver.ok(session, "set", "/a", version=-1)
        self.await_no_watch()
        self.driver.end()

    # ---- what the server keeps

    def watched(self):
        """The paths of this test at which the server watches data: wchp does
        not list watches of children."""
        return {line.removeprefix(self.chroot)
                for line in self.server.four_letters("wchp").splitlines()
                if line.startswith(self.chroot)}

    def watch_count(self):
        """Of all kinds, on the whole server; a persistent watch counts twice."""
        return self.server.mntr()["watch_count"]

    def await_no_watch(self):
        waiting.eventually("the server to forget", lambda:
                           self.watch_count() == 0, of=[self.driver])
        self.assertEqual(self.watched(), set())

    def test_a_watch_is_taken_back(self):
        session = self.opened()
        self.driver.ok(session, "create", "/a")
        for kind, operation, path in (("data", "get", "/a"),
                                      ("data", "exists", "/a"),
                                      ("data", "exists", "/missing"),
                                      ("children", "children", "/a")):
            self.await_no_watch()
            watch = self.driver.watch(session, kind, path)
            result = self.driver.do(session, operation, path, watch=watch)
            self.assertTrue(result.watching)
            self.assertEqual(self.watch_count(), 1)
            self.assertEqual(self.watched(),
                             {path} if kind == "data" else set())
            self.driver.unwatch(watch)
        for kind in ("persistent", "recursive"):
            self.await_no_watch()
            watch = self.driver.added(session, kind, "/a")
            self.assertEqual(self.watched(), {"/a"})
            self.driver.unwatch(watch)
        self.await_no_watch()
        self.assertEqual(self.driver.states(session), ["CONNECTED"])
        self.driver.end()

    def test_a_watch_that_another_one_needs_is_kept(self):
        session = self.opened()
        self.driver.ok(session, "create", "/a")
        makers = (lambda: self.armed(session, "data", "/a", "get"),
                  lambda: self.armed(session, "children", "/a", "children"),
                  lambda: self.driver.added(session, "persistent", "/a"),
                  lambda: self.driver.added(session, "recursive", "/a"))
        for first in makers:
            for second in makers:
                self.await_no_watch()
                watches = [first(), second()]
                self.driver.unwatch(watches[0])
                self.fence(session)
                self.assertGreater(self.watch_count(), 0)
                self.driver.ok(session, "delete", "/a", version=-1)
                self.driver.ok(session, "create", "/a")
                self.fence(session)
                self.assertIn("DELETED /a", self.driver.events(watches[1]))
                self.assertEqual(self.driver.events(watches[0]), [])
                self.driver.unwatch(watches[1])
        self.await_no_watch()
        self.assertEqual(self.driver.states(session), ["CONNECTED"])
        self.driver.end()


class Ensembles(unittest.TestCase):
    def test_the_session_moves_to_another_server(self):
        ensemble = Ensemble()
        self.addCleanup(ensemble.close)
        driver = ZookeeperDriver(DRIVER)
        self.addCleanup(driver.kill)
        # Without its leader the ensemble would elect another one for seconds.
        session = driver.opened("zk://%s/?%s" % (
            ensemble.addresses(ensemble.followers()), LONG))
        identity = driver.session(session)
        driver.ok(session, "create", "/a", mode="ephemeral")
        driver.ok(session, "set", "/a", data="mine")
        persistent = driver.added(session, "persistent", "/a")
        missing = driver.watch(session, "data", "/missing")
        driver.do(session, "exists", "/missing", watch=missing)
        serving = next(server for server in ensemble.servers if
                       identity.split(":")[0] in server.four_letters("cons"))
        serving.kill()
        driver.await_line("session", session, "SUSPENDED")
        read = driver.start(session, "get", "/a")
        write = driver.start(session, "create", "/missing")
        self.assertEqual(driver.result(read)["data"], "mine")
        self.assertEqual(driver.result(write).status, "HF_OK")
        self.assertEqual(driver.session(session), identity)
        driver.await_event(missing, "CREATED /missing")
        driver.await_event(persistent, "RESYNC /a")
        self.assertEqual(driver.events(persistent), ["RESYNC /a"])
        self.assertEqual(driver.states(session),
                         ["CONNECTED", "SUSPENDED", "CONNECTED"])
        driver.end()

    def test_the_server_of_the_session_leaves_the_ensemble(self):
        ensemble = Ensemble(config={"reconfigEnabled": "true"},
                            properties=superuser("super:secret"))
        self.addCleanup(ensemble.close)
        driver = ZookeeperDriver(DRIVER)
        self.addCleanup(driver.kill)
        leaving = ensemble.followers()[0]
        session = driver.opened("zk://%s/?%s" % (leaving.address(), LONG))
        identity = driver.session(session)
        driver.ok(session, "create", "/e", mode="ephemeral")
        driver.ok(session, "add_auth", scheme="digest", data="super:secret")
        driver.ok(session, "reconfig", leaving=leaving.id)
        with ensemble.client() as client:
            config = client.get("/zookeeper/config")[0].decode()
        self.assertEqual(re.findall(r"(?m)^server\.(\d+)=", config),
                         [str(server.id) for server in ensemble.servers
                          if server is not leaving])
        # It goes on to serve those who are connected to it.
        driver.ok(session, "set", "/e", version=-1)
        self.assertEqual(driver.session(session), identity)
        self.assertNotIn("LOST", driver.states(session))
        driver.end()


if __name__ == "__main__":
    unittest.main(verbosity=2)
