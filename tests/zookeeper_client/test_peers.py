#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The public ZooKeeper client beside kazoo, a client of others: what one of them
writes the other one reads.  And what needs a server of its own settings: nodes
with a time to live, containers, and IPv6; one that takes one client only, and
one that requires SASL.

    test_peers.py ZOOKEEPER_DRIVER
"""

import os
import socket
import sys
import unittest

from kazoo.client import KazooClient
from kazoo.security import make_acl, make_digest_acl

from zookeeper_driver import ZookeeperDriver

import waiting
from zookeeper import Standalone

DRIVER = os.path.abspath(sys.argv.pop(1))

STAT = ("czxid", "mzxid", "ctime", "mtime", "version", "cversion", "aversion",
        "ephemeralOwner", "dataLength", "numChildren", "pzxid")


def has_ipv6():
    """Whether this machine has [::1]."""
    if not socket.has_ipv6:
        return False
    try:
        with socket.socket(socket.AF_INET6) as link:
            link.bind(("::1", 0))
    except OSError:
        return False
    return True


class Peers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Standalone()
        cls.addClassCleanup(cls.server.close)
        cls.kazoo = KazooClient(hosts=cls.server.address())
        cls.addClassCleanup(cls.kazoo.close)
        cls.addClassCleanup(cls.kazoo.stop)
        cls.kazoo.start(waiting.LIMIT_S)

    def setUp(self):
        self.driver = ZookeeperDriver(DRIVER)
        self.addCleanup(self.driver.kill)
        self.chroot = "/" + self._testMethodName
        self.kazoo.create(self.chroot)
        self.session = self.driver.opened(
            "zk://%s%s" % (self.server.address(), self.chroot))

    def path(self, path):
        """As kazoo names it."""
        return self.chroot + path

    def same_stat(self, path):
        """Each field of the Stat is equal."""
        theirs = self.kazoo.exists(self.path(path))
        ours = self.driver.ok(self.session, "exists", path)
        for name in STAT:
            self.assertEqual(int(ours[name]), getattr(theirs, name), name)

    def test_kazoo_reads_what_the_client_writes(self):
        self.driver.ok(self.session, "create", "/a", data="data")
        self.driver.ok(self.session, "create", "/null")
        self.driver.ok(self.session, "create", "/empty", data="")
        self.assertEqual(self.kazoo.get(self.path("/a"))[0], b"data")
        self.assertIsNone(self.kazoo.get(self.path("/null"))[0])
        self.assertEqual(self.kazoo.get(self.path("/empty"))[0], b"")
        self.driver.ok(self.session, "set", "/a", data="more")
        self.assertEqual(self.kazoo.get(self.path("/a"))[0], b"more")
        self.driver.ok(self.session, "delete", "/null")
        self.assertIsNone(self.kazoo.exists(self.path("/null")))
        self.driver.end()

    def test_the_client_reads_what_kazoo_writes(self):
        self.kazoo.create(self.path("/a"), b"data")
        self.kazoo.create(self.path("/empty"), b"")
        get = self.driver.ok(self.session, "get", "/a")
        self.assertEqual(get["data"], "data")
        self.assertEqual(self.driver.ok(self.session, "get", "/empty")["data"], "")
        self.kazoo.set(self.path("/a"), None)
        self.assertIsNone(self.driver.ok(self.session, "get", "/a")["data"])
        self.driver.end()

    def test_the_stat_is_the_same_field_by_field(self):
        self.driver.ok(self.session, "create", "/a", data="data")
        self.same_stat("/a")
        self.kazoo.create(self.path("/a/b"), b"x", ephemeral=True)
        self.kazoo.create(self.path("/a/c"))
        self.kazoo.delete(self.path("/a/c"))
        self.kazoo.set(self.path("/a"), b"longer data")
        self.kazoo.set_acls(self.path("/a"), [make_acl("world", "anyone",
                                                       all=True)])
        self.same_stat("/a")
        self.same_stat("/a/b")
        self.driver.ok(self.session, "create", "/e", mode="ephemeral")
        self.same_stat("/e")
        self.driver.ok(self.session, "create", "/c", mode="container")
        self.same_stat("/c")
        self.driver.end()

    def test_access_lists_are_the_same(self):
        # Servers show digests to those who may change the access list only.
        self.kazoo.add_auth("digest", "u:p")
        digest = make_digest_acl("u", "p", admin=True, read=True)
        self.kazoo.create(self.path("/theirs"), acl=[
            digest, make_acl("world", "anyone", admin=True, read=True)])
        acls = self.driver.ok(self.session, "get_acl", "/theirs").acls
        self.assertEqual(acls, ["17:digest:" + digest.id.id, "17:world:anyone"])
        self.driver.ok(self.session, "create", "/ours", data="x",
                       acl="17:digest:" + digest.id.id)
        found, stat = self.kazoo.get_acls(self.path("/ours"))
        self.assertEqual(found, [digest])
        self.driver.ok(self.session, "create", "/set")
        self.driver.ok(self.session, "set_acl", "/set", version=0,
                       acl="31:digest:" + digest.id.id)
        found, stat = self.kazoo.get_acls(self.path("/set"))
        self.assertEqual(found, [make_digest_acl("u", "p", all=True)])
        self.assertEqual(stat.aversion, 1)
        # The digest that kazoo computes is that of our credential.
        self.assertEqual(self.driver.do(self.session, "get", "/ours").status,
                         "HF_EDENIED")
        self.driver.ok(self.session, "add_auth", scheme="digest", data="u:p")
        self.assertEqual(self.driver.ok(self.session, "get", "/ours")["data"],
                         "x")
        self.driver.end()

    def test_sequential_names_continue_each_other(self):
        names = []
        for _ in range(3):
            names.append(self.kazoo.create(
                self.path("/s-"), sequence=True).removeprefix(self.chroot))
            names.append(self.driver.ok(self.session, "create", "/s-",
                                        mode="sequential")["path"])
            names.append(self.driver.ok(self.session, "create", "/s-",
                                        mode="ephemeral_sequential")["path"])
        self.assertEqual(names, ["/s-%010d" % i for i in range(9)])
        ours = self.driver.ok(self.session, "children", "/").children
        self.assertEqual(sorted(ours),
                         sorted(self.kazoo.get_children(self.chroot)))
        self.driver.end()

    def test_names_of_other_alphabets(self):
        for name in ("/\u00e4\u00f6", "/\u65e5\u672c"):
            self.kazoo.create(self.path(name), b"x")
            self.assertEqual(self.driver.ok(self.session, "get", name)["data"],
                             "x")
        self.assertEqual(
            sorted(self.driver.ok(self.session, "children", "/").children),
            sorted(self.kazoo.get_children(self.chroot)))
        self.driver.end()

    def test_each_has_the_events_of_the_other(self):
        theirs = []
        self.driver.ok(self.session, "create", "/a")
        watch = self.driver.watch(self.session, "data", "/a")
        self.driver.ok(self.session, "get", "/a", watch=watch)
        self.kazoo.set(self.path("/a"), b"x")
        self.driver.await_event(watch, "CHANGED /a")
        self.kazoo.get(self.path("/a"), watch=theirs.append)
        self.driver.ok(self.session, "delete", "/a", version=-1)
        waiting.eventually("the event", lambda: theirs)
        self.assertEqual(theirs[0].type, "DELETED")
        self.driver.end()


class Settings(unittest.TestCase):
    """A server that has nodes with a time to live, looks for old nodes often,
    and listens on IPv6 if there is that."""

    @classmethod
    def setUpClass(cls):
        cls.server = Standalone(
            container_check_ms=100,
            properties={"zookeeper.extendedTypesEnabled": "true"},
            config={"clientPortAddress": "::"} if has_ipv6() else None)
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.driver = ZookeeperDriver(DRIVER)
        self.addCleanup(self.driver.kill)
        self.session = self.driver.opened("zk://%s/" % self.server.address())

    def await_end(self, path):
        waiting.eventually("the end of " + path, lambda: self.driver.do(
            self.session, "exists", path).status == "HF_EGONE",
                           of=[self.driver])

    def test_a_node_with_a_time_to_live_is_deleted(self):
        for mode in ("ttl", "ttl_sequential"):
            made = self.driver.ok(self.session, "create", "/t-", mode=mode,
                                  ttl=50)
            self.await_end(made["path"])
        # 0xff00000000000000 and the time, as the server keeps it, is not what
        # it shows.
        made = self.driver.ok(self.session, "create", "/t", mode="ttl",
                              ttl=1 << 39)
        self.assertEqual(made["ephemeralOwner"], "0")
        self.driver.ok(self.session, "exists", "/t")
        self.driver.end()

    def test_a_container_is_deleted_after_its_last_child(self):
        self.driver.ok(self.session, "create", "/c", mode="container")
        self.driver.ok(self.session, "create", "/c/child")
        watch = self.driver.watch(self.session, "data", "/c")
        self.driver.ok(self.session, "exists", "/c", watch=watch)
        self.driver.ok(self.session, "delete", "/c/child")
        self.await_end("/c")
        self.driver.await_event(watch, "DELETED /c")
        self.driver.end()

    @unittest.skipUnless(has_ipv6(), "this machine has no [::1]")
    def test_a_server_by_its_ipv6_address(self):
        session = self.driver.opened("zk://[::1]:%d/" % self.server.port)
        acls = self.driver.ok(session, "whoami").acls
        self.assertTrue(any(acl.startswith("0:ip:0:0") for acl in acls), acls)
        self.driver.end()


class Refusals(unittest.TestCase):
    """A server that refuses the client, for a while or for good."""

    def test_a_full_server_takes_a_client_later(self):
        server = Standalone(max_client_cnxns=1)
        self.addCleanup(server.close)
        driver = ZookeeperDriver(DRIVER)
        self.addCleanup(driver.kill)
        with server.client():
            session = driver.open("zk://%s/" % server.address())
            read = driver.start(session, "exists", "/")
            waiting.eventually("a refusal", lambda: "Too many connections"
                               in server.log(), of=[driver])
            self.assertFalse(driver.has_ended(read))
        self.assertEqual(driver.result(read).status, "HF_OK")
        driver.end()

    def test_a_client_without_sasl_is_denied(self):
        server = Standalone(
            properties={"zookeeper.sessionRequireClientSASLAuth": "true",
                        "zookeeper.authProvider.sasl":
                        "org.apache.zookeeper.server.auth."
                        "SASLAuthenticationProvider"})
        self.addCleanup(server.close)
        driver = ZookeeperDriver(DRIVER)
        self.addCleanup(driver.kill)
        session = driver.open("zk://%s/" % server.address())
        for kind in ("create", "get"):
            result = driver.do(session, kind, "/a")
            self.assertEqual((result.status, result.error),
                             ("HF_EDENIED", -124), result.text)
            self.assertIn("SASL", result.text)
        driver.end()


if __name__ == "__main__":
    unittest.main(verbosity=2)
