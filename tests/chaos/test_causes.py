#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a first connection waits for and what it does not, on real servers: the
rows of the table of docs/engines.md that can be had.

    test_causes.py HOLDFAST ENGINE...

ENGINE: Redis, PostgreSql, Etcd, EtcdTls.  A cause that is final ends the wait with its reason
at once, and one that passes is waited out: its server comes while the tool
waits, and the command runs."""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "servers"))

import etcd  # noqa: E402
import machine  # noqa: E402
import postgres  # noqa: E402
import redis_server  # noqa: E402
import waiting  # noqa: E402
from proxy import Proxy  # noqa: E402

HOLDFAST = os.path.abspath(sys.argv.pop(1))

USAGE, UNAVAILABLE, DENIED = 64, 69, 77

# What the end of a wait for a connection says, and the advice to look at the
# server and the URL, which is of no use where the server has said what it is.
WAITED = "see that it runs and that the URL is right"


# Another user, whom the rights of a file concern.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class Case(unittest.TestCase):
    user = []  # the command that the tool is run by

    def be_nobody(self):
        if os.getuid() != 0 or subprocess.run(
                [*NOBODY, HOLDFAST, "--version"],
                capture_output=True).returncode != 0:
            self.skipTest("another user cannot run the tool here")
        self.user = NOBODY

    def tool(self, url):
        process = machine.popen(
            [*self.user, HOLDFAST, "run", "-v", "-c", url, "causes", "--",
             "echo", "held"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def assert_final(self, url, status, *parts):
        """The wait has no limit of its own, and would end after connect_ms with
        the advice WAITED."""
        process = self.tool(url)
        said, errors = process.communicate(timeout=waiting.LIMIT_S)
        self.assertEqual((process.returncode, said), (status, ""), errors)
        for part in parts:
            self.assertIn(part, errors)
        self.assertNotIn(WAITED, errors)

    def assert_waits(self, url, reason, mend):
        """The tool says that reason and waits, until mend() lets it in."""
        process = self.tool(url)
        first = waiting.read_line(process, stream="stderr")
        while reason not in first:
            first = waiting.read_line(process, stream="stderr")
        mend()
        said, errors = process.communicate(timeout=waiting.LIMIT_S)
        self.assertEqual((process.returncode, said), (0, "held\n"), errors)


class Redis(Case):
    def server(self, *config):
        server = redis_server.Server(config)
        self.addCleanup(server.close)
        return server

    def started(self, *config):
        server = self.server("appendonly yes", "appendfsync no", *config)
        server.start()
        return server

    def test_a_unix_socket_whose_server_restarts_is_waited_for(self):
        server = self.started()
        url = "redis:%s" % server.socket
        server.stop()
        self.assertFalse(os.path.exists(server.socket))
        self.assert_waits(url, "no such socket file", server.start)

    def test_a_unix_socket_that_nobody_listens_at_is_waited_for(self):
        server = self.started()
        server.kill()
        self.assertTrue(os.path.exists(server.socket))
        self.assert_waits("redis:%s" % server.socket, "connection refused",
                          server.start)

    def test_a_socket_file_that_gets_its_rights_late_is_waited_for(self):
        """A server makes the file before it sets the rights of it."""
        server = self.started()
        self.be_nobody()
        os.chmod(server.directory, 0o755)
        os.chmod(server.socket, 0o700)
        self.assert_waits("redis:%s" % server.socket, "permission denied",
                          lambda: os.chmod(server.socket, 0o777))

    def test_a_directory_that_comes_with_the_server_is_waited_for(self):
        """systemd removes that of RuntimeDirectory= while a unit is stopped."""
        server = self.server("appendonly yes")
        directory = os.path.join(server.directory, "run")
        server.socket = os.path.join(directory, "redis.sock")

        def start():
            os.mkdir(directory)
            server.start()
        self.assert_waits("redis:%s" % server.socket, "no such socket file",
                          start)

    def test_what_is_no_directory_is_final(self):
        path = os.path.join(self.server().directory, "file")
        with open(path, "w"):
            pass
        self.assert_final("redis:%s/redis.sock" % path, USAGE,
                          "not a directory")

    def test_a_port_that_nobody_listens_at_is_waited_for(self):
        server = self.server("appendonly yes")
        self.assert_waits(server.url(), "connection refused", server.start)

    def test_a_name_that_nobody_knows_is_waited_for(self):
        """RFC 2606: nobody ever will.  The text has what was wrong, and what to
        look at."""
        process = self.tool("redis://nobody.invalid:6379")
        said, errors = process.communicate(timeout=waiting.LIMIT_S)
        self.assertEqual((process.returncode, said), (UNAVAILABLE, ""), errors)
        self.assertRegex(errors, "%s: nobody.invalid:6379: no address: ." %
                         WAITED)

    def test_a_server_without_room_for_clients_is_waited_for(self):
        server = self.started("maxclients 1")
        client = server.client()
        self.addCleanup(client.close)
        client.ask("PING")
        self.assert_waits(server.url(), "max number of clients reached",
                          lambda: client.ask("CONFIG", "SET", "maxclients",
                                             "100"))

    def test_a_replica_may_be_promoted(self):
        server = self.started("replicaof 127.0.0.1 1")

        def promote():
            with server.client() as client:
                client.ask("REPLICAOF", "NO", "ONE")
        self.assert_waits(server.url(), "it is a replica", promote)

    def test_the_port_of_a_sentinel_is_final(self):
        server = self.server()
        server.config = ["sentinel monitor it 127.0.0.1 %d 1" % server.port]
        server.arguments = ["--sentinel"]
        server.start()
        self.assert_final(server.url(), USAGE, "is a Redis Sentinel",
                          "expected the address of the primary")

    def test_credentials_are_final(self):
        server = self.started("requirepass s3cret")
        self.assert_final(server.url(), DENIED, "NOAUTH")
        self.assert_final("redis://:wrong@%s/0" % server.address(), DENIED,
                          "WRONGPASS")

    def test_a_database_that_is_not_there_is_final(self):
        server = self.started("databases 2")
        self.assert_final(server.url("/9"), USAGE, "it has not the database")

    def test_a_policy_that_evicts_is_final(self):
        server = self.started("maxmemory-policy allkeys-lru")
        self.assert_final(server.url(), USAGE, "maxmemory-policy noeviction")

    def test_a_command_that_the_server_lacks_is_final(self):
        for command in ("SCRIPT", "EVALSHA", "SUBSCRIBE", "TIME"):
            with self.subTest(command):
                server = self.started('rename-command %s ""' % command)
                self.assert_final(server.url(), USAGE, "unknown command",
                                  "rename-command")
                server.close()


class PostgreSql(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server()
        cls.addClassCleanup(cls.server.close)

    def database(self):
        name = "causes_%s" % self._testMethodName[-40:]
        self.server.sql("CREATE DATABASE %s" % name)
        return name

    def made(self):
        """The URL of a database that has the schema."""
        url = self.server.url(self.database())
        process = self.tool(url)
        self.assertEqual(process.communicate(timeout=waiting.LIMIT_S)[0],
                         "held\n")
        return url

    def test_a_unix_socket_whose_server_restarts_is_waited_for(self):
        url = self.server.url(self.database())
        self.server.stop()
        self.assert_waits(url, "No such file or directory", self.server.start)

    def test_a_socket_file_that_gets_its_rights_late_is_waited_for(self):
        url = self.server.url(self.database())
        self.be_nobody()
        file = os.path.join(self.server.directory,
                            ".s.PGSQL.%d" % self.server.port)
        before = os.stat(file).st_mode & 0o777
        self.addCleanup(os.chmod, file, before)
        os.chmod(file, 0o700)
        self.assert_waits(url, "Permission denied",
                          lambda: os.chmod(file, before))

    def test_a_server_without_room_is_waited_for(self):
        url = self.server.url(self.database())
        before = dict(self.server.config)
        self.server.config.update(max_connections="10",
                                  superuser_reserved_connections="0")
        self.server.restart()
        self.addCleanup(self.server.restart)
        self.addCleanup(self.server.config.update, before)
        others = [self.server.connect() for _ in range(10)]
        for other in others:
            self.addCleanup(other.close)
        self.assert_waits(url, "53300", lambda: [
            other.close() for other in others])

    def test_a_standby_may_be_promoted(self):
        database = self.database()
        with postgres.Server(follows=self.server.port) as standby:
            self.assert_waits(standby.url(database), "is a standby",
                              lambda: standby.sql("SELECT pg_promote()"))

    def test_credentials_are_final(self):
        self.assert_final(
            "postgresql://postgres:wrong@127.0.0.1:%d/postgres" %
            self.server.port, DENIED, "28P01")

    def test_a_database_that_is_not_there_is_final(self):
        self.assert_final(self.server.url("nowhere"), USAGE, "3D000")

    def test_a_pooler_by_transaction_is_final(self):
        for mode in ("transaction", "statement"):
            with postgres.Pooler(self.server, mode) as pooler:
                self.assert_final(pooler.url(), USAGE, "pooler")

    def test_a_schema_that_was_changed_is_final(self):
        url = self.made()
        self.server.sql("ALTER TABLE holdfast.ticket ADD COLUMN mine text",
                        database=url.partition("?")[0].rpartition("/")[2])
        self.assert_final(url, USAGE, "somebody has changed the schema")

    def test_what_the_user_may_not_is_final(self):
        database = self.database()
        self.server.sql("CREATE ROLE nobody_%d LOGIN" % os.getpid())
        self.server.sql("REVOKE CREATE ON DATABASE %s FROM PUBLIC" % database)
        self.assert_final(
            self.server.url(database).replace(
                "postgres@", "nobody_%d@" % os.getpid()), DENIED, "42501")


class OfEtcd(Case):
    """Servers before 3.4.31, as Debian's is, make the tool warn first."""

    def server(self, **options):
        server = etcd.Server(**options)
        self.addCleanup(server.close)
        return server

    def started(self, **options):
        server = self.server(**options)
        server.start()
        return server

    def url(self, server, before="", after="", port=None):
        return "etcd://%s127.0.0.1:%d/locks%s" % (
            before, port or server.port, after)


class Etcd(OfEtcd):
    def test_a_server_that_restarts_is_waited_for(self):
        server = self.started()
        server.kill()
        self.assert_waits(self.url(server), "connection refused", server.start)

    def test_a_server_without_a_leader_is_waited_for(self):
        with etcd.Cluster(2) as cluster:
            one, other = cluster.servers
            other.kill()
            waiting.eventually("the loss of the leader",
                               lambda: one.status() and not one.leader_id())
            self.assert_waits(self.url(one), "knows no leader", other.start)

    def test_a_database_without_space_is_waited_for(self):
        server = self.started(config={"quota-backend-bytes": 16 << 20})
        server.fill()
        self.assert_waits(self.url(server), "database space exceeded",
                          server.make_space)

    def test_the_alarm_of_data_that_differ_is_waited_for(self):
        server = self.started()
        server.raise_alarm("CORRUPT")
        with server.client() as client:
            self.assert_waits(self.url(server), "corrupt cluster",
                              client.disarm)

    def test_credentials_are_final(self):
        server = self.started()
        server.require_users("alice:word", prefix="locks/")
        self.assert_final(self.url(server, "alice:wrong@"), DENIED,
                          "did not accept user and password")
        self.assert_final(self.url(server), DENIED, "user name is empty")
        self.assert_final(self.url(server, "alice:word@").replace(
            "/locks", "/others"), DENIED, "may not write the key others/",
            "permission denied")

    def test_a_server_that_takes_little_is_final(self):
        for option, said in (
                ("max-txn-ops", "too many operations in txn request"),
                ("max-request-bytes", "request is too large")):
            with self.subTest(option):
                server = self.started(config={option: 1})
                self.assert_final(self.url(server), USAGE, said)


class EtcdTls(OfEtcd):
    """With the module for TLS."""

    def test_tls_at_the_server_only_may_be_a_balancer_without_servers(self):
        server = self.started(tls=True)
        with Proxy(server.tls_port) as proxy:
            self.assert_waits(self.url(server, port=proxy.port),
                              "it may expect TLS (etcds:)",
                              lambda: setattr(proxy, "target", server.port))

    def test_tls_in_the_url_only_is_final(self):
        server = self.started()
        self.assert_final(self.url(server).replace("etcd:", "etcds:"),
                          UNAVAILABLE, "expected its port for TLS, or a URL "
                          "without TLS")


if __name__ == "__main__":
    unittest.main()
