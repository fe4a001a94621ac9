# SPDX-License-Identifier: Apache-2.0
"""The engines, each with its real server, for tests of the tool that have
to hold on every one: a class of tests is a mixin with one of these and
harness.Case.

    class OnRedis(Tests, engines.Redis, harness.Case): ...

.url() is the URL, with a lease of .lease_ms where there is one.  .server is the
server; None for the file engine."""

import json
import os
import re
import subprocess
import sys

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

SHORT_LEASE_MS = 2000
TICK_MS = 500  # of ZooKeeper, whose timeouts are two ticks or more


class Engine:
    server = None
    # That of the engines by default, so that no holder loses its lock because
    # the machine is busy.  A test that waits for its end has a shorter one.
    lease_ms = 10000

    def tearDown(self):
        if self.server:
            self.server.thaw()
        super().tearDown()

    def tickets_of(self, name):
        """As `holdfast show --json` has them, in the order of the queue."""
        shown = subprocess.run([harness.TOOL, "show", "--json", "-c", self.url(),
                                name], text=True, capture_output=True,
                               env=self.environment, timeout=waiting.LIMIT_S)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return json.loads(shown.stdout)["tickets"]

    def in_queue(self, name):
        return len(self.tickets_of(name))

    def until_queued(self, name, count, *processes):
        waiting.eventually("%d tickets of %s" % (count, name),
                           lambda: self.in_queue(name) == count, of=processes)

    def revoke(self, name, kind, *ticket_id):
        """Ask the holder, or the owner of a ticket, to release, as another
        program."""
        asked = subprocess.run([os.environ["REVOKE"], self.url(), name, kind,
                                *ticket_id], text=True, capture_output=True,
                               env=self.environment, timeout=waiting.LIMIT_S)
        self.assertEqual((asked.returncode, asked.stderr), (0, ""))


class File(Engine):
    def url(self):
        return "file:" + self.locks


class ZooKeeper(Engine):
    @classmethod
    def setUpClass(cls):
        from zookeeper import Standalone
        cls.server = Standalone(tick_ms=TICK_MS)
        cls.addClassCleanup(cls.server.close)

    def url(self):
        return "zk://127.0.0.1:%d?timeout=%dms" % (self.server.port,
                                                   self.lease_ms)


class Etcd(Engine):
    # What the tool says of a server before 3.4.31, as Debian's is.
    SAID_OF_OLD = r"^holdfast: the server is etcd 3\.4\.\d+: .*\n"

    @classmethod
    def setUpClass(cls):
        import etcd
        cls.server = etcd.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def finish(self, *arguments, **options):
        status, out, err = super().finish(*arguments, **options)
        return status, out, re.sub(self.SAID_OF_OLD, "", err)

    def url(self):
        return "etcd://%s?ttl=%dms" % (self.server.address(), self.lease_ms)


class Redis(Engine):
    @classmethod
    def setUpClass(cls):
        import redis_server
        cls.server = redis_server.Server(["appendonly yes",
                                          "appendfsync always"])
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self):
        return "redis://127.0.0.1:%d/0?ttl=%dms" % (self.server.port,
                                                    self.lease_ms)


class PostgreSql(Engine):
    @classmethod
    def setUpClass(cls):
        import postgres
        # Without a password in what the tool is called with.
        cls.server = postgres.Server(access="local all all trust\n"
                                     "host all all 127.0.0.1/32 trust\n")
        cls.addClassCleanup(cls.server.close)

    def url(self):
        return "postgresql://postgres@127.0.0.1:%d/postgres?ttl=%dms" % (
            self.server.port, self.lease_ms)
