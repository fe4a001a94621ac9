#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SASL by GSSAPI, with a KDC of its own, and what both mechanisms do when the
server, the connection or the KDC goes: for the public ZooKeeper client and for
locks of the tool.

    test_kerberos.py ZOOKEEPER_DRIVER HOLDFAST
"""

import os
import subprocess
import sys
import unittest

from zookeeper_driver import ZookeeperDriver

import kerberos
import machine
import waiting
from proxy import Proxy
from zookeeper import Standalone, digest_section

DRIVER, TOOL = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))


class Case(unittest.TestCase):
    def make_driver(self, env=None):
        driver = ZookeeperDriver(DRIVER, env=env)
        self.addCleanup(driver.kill)
        return driver

    def hold_a_lock(self, url, env=None):
        """The tool with a lock, whose command ends with its input."""
        tool = machine.Process([TOOL, "run", "-c", url, "name", "--", "cat"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=env)
        self.addCleanup(tool.popen.stderr.close)
        self.addCleanup(tool.popen.stdout.close)
        self.addCleanup(tool.kill)
        tool.popen.stdin.write("held\n")
        tool.popen.stdin.flush()
        self.assertEqual(tool.popen.stdout.readline(), "held\n")
        return tool

    def let_go(self, tool):
        tool.popen.stdin.close()
        self.assertEqual(tool.popen.wait(waiting.LIMIT_S), 0,
                         tool.popen.stderr.read())

    def lock_survives(self, server, url, env=None):
        """A restart of the server: the session is resumed by another SASL."""
        tool = self.hold_a_lock(url, env)
        count = len(server.logged("adding SASL authorization"))
        server.restart()
        waiting.eventually(
            "another SASL",
            lambda: len(server.logged("adding SASL authorization")) > count)
        self.let_go(tool)

    def session_survives(self, driver, url):
        """A cut: its ephemeral node and its watch stay, and it is known."""
        session = driver.opened(url)
        path = "/" + self._testMethodName
        driver.ok(session, "create", path, mode="ephemeral")
        watch = driver.watch(session, "data", path)
        driver.ok(session, "get", path, watch=watch)
        self.proxy.cut()
        driver.await_line("session", session, "SUSPENDED")
        driver.ok(session, "set", path, data="new", version=-1)
        driver.await_event(watch, "CHANGED " + path)
        return driver.ok(session, "whoami").acls


class Digest(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Standalone(sasl=digest_section(alice="secret"))
        cls.addClassCleanup(cls.server.close)

    def url(self, port):
        return "zk://alice:secret@127.0.0.1:%d/?sasl=DIGEST-MD5" % port

    def test_a_lock_survives_a_restart(self):
        self.lock_survives(self.server, self.url(self.server.port))

    def test_a_session_survives_a_cut(self):
        self.proxy = Proxy(self.server.port)
        self.addCleanup(self.proxy.close)
        driver = self.make_driver()
        acls = self.session_survives(driver, self.url(self.proxy.port))
        self.assertIn("0:sasl:alice", acls)
        driver.end()

    def test_a_file_has_the_password(self):
        path = os.path.join(self.server.directory, "auth")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("digest:alice:secret\n")
        driver = self.make_driver()
        session = driver.opened(
            "zk://127.0.0.1:%d/?sasl=DIGEST-MD5&auth_file=%s" % (
                self.server.port, path))
        self.assertIn("0:sasl:alice", driver.ok(session, "whoami").acls)
        driver.end()


@unittest.skipUnless(kerberos.is_there(), "there is no KDC (krb5-kdc)")
class Kerberos(Case):
    @classmethod
    def setUpClass(cls):
        cls.kdc = kerberos.Kdc()
        cls.addClassCleanup(cls.kdc.close)
        cls.server = Standalone(sasl=cls.kdc.section(),
                                properties=cls.kdc.properties())
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.proxy = Proxy(self.server.port)
        self.addCleanup(self.proxy.close)
        self.alice = self.kdc.environment("alice")

    def url(self, port=None, options=""):
        """The principal of the server is that of localhost."""
        return "zk://127.0.0.1:%d/?sasl=GSSAPI&sasl_host=localhost%s" % (
            port or self.server.port, options)

    def is_unreachable(self, driver, session, why):
        """Reads end without a connection, and in the end, when an attempt has
        failed, with that text."""
        def ends_with_text():
            result = driver.do(session, "get", "/")
            self.assertEqual(result.status, "HF_EUNREACHABLE")
            return why in result.text
        waiting.eventually("the text %r" % why, ends_with_text, of=[driver])

    def test_a_lock_survives_a_restart(self):
        self.lock_survives(self.server, self.url(), self.alice)

    def test_a_session_survives_a_cut(self):
        driver = self.make_driver(self.alice)
        acls = self.session_survives(driver, self.url(self.proxy.port))
        self.assertIn("0:sasl:alice@" + kerberos.REALM, acls)
        driver.end()

    def test_the_host_is_that_of_the_url(self):
        driver = self.make_driver(self.alice)
        session = driver.opened("zk://localhost:%d/?sasl=GSSAPI" %
                                self.server.port)
        self.assertIn("0:sasl:alice@" + kerberos.REALM,
                      driver.ok(session, "whoami").acls)
        driver.end()

    def test_without_a_ticket_it_is_tried_again(self):
        env = self.kdc.environment("nobody")
        driver = self.make_driver(env)
        session = driver.open(self.url(), connect_ms=500)
        self.is_unreachable(driver, session, "GSSAPI")
        subprocess.run(["kinit", "-k", "-t", self.kdc.keytab("alice"), "alice"],
                       env=env, check=True)
        waiting.eventually(
            "the ticket to be used",
            lambda: driver.do(session, "get", "/").status == "HF_OK")
        driver.end()

    def test_a_principal_that_is_not_the_servers(self):
        driver = self.make_driver(self.alice)
        session = driver.open(self.url(options="&sasl_service=other"),
                              connect_ms=500)
        self.is_unreachable(driver, session, "not found in Kerberos database")
        driver.end()

    def test_a_kdc_that_hangs_keeps_nobody_waiting(self):
        """A step waits for the KDC, and nothing else does: the client is
        closed, and another one of the process is served."""
        hanging = dict(self.alice, KRB5CCNAME="MEMORY:none")
        driver = self.make_driver(hanging)
        self.kdc.process.freeze()
        self.addCleanup(self.kdc.process.thaw)
        session = driver.open(self.url(), connect_ms=300)
        result = driver.do(session, "get", "/")
        self.assertEqual(result.status, "HF_EUNREACHABLE")
        with Standalone() as other:
            served = driver.opened("zk://" + other.address())
            driver.ok(served, "get", "/")
            self.assertEqual(driver.close(served), "HF_OK")
        self.assertEqual(driver.close(session), "HF_OK")
        driver.end()


if __name__ == "__main__":
    unittest.main()
