# SPDX-License-Identifier: Apache-2.0
"""holdfast doctor: each finding appears when its cause is made, and not before;
the exit status is that of the worst.

    test_doctor.py [Files] [ZooKeeper] [ZooKeeperSettings] [ZooKeeperEnsemble]
                   [Redis] [RedisCluster] [Quorum] [PostgreSql]
                   [Etcd] [EtcdOfLong] [EtcdCluster] [EtcdUsers]
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid

import harness
from harness import machine, waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import etcd  # noqa: E402
import jute  # noqa: E402
import postgres  # noqa: E402
import redis_server  # noqa: E402
from ensemble import Ensemble  # noqa: E402
from postgres_pair import Pair  # noqa: E402
from proxy import Proxy  # noqa: E402
from redis_cluster import Cluster  # noqa: E402
from zookeeper import Standalone, digest_section  # noqa: E402

SEVERITIES = ["ok", "unknown", "notice", "warning", "error"]
MILLION = 10 ** 6
STATUS = {"ok": 0, "unknown": 0, "notice": 0, "warning": 1, "error": 2}


class Doctor:
    """A mixin for a harness.Case that has .url()."""

    def run_doctor(self, *arguments, url=None, prefix=(), environment=None,
                   secret=False):
        """secret: the URL has a password, which is not for a command line."""
        url = url or self.url()
        environment = environment or self.environment
        if secret:
            environment = dict(environment, HOLDFAST_URL=url)
        return subprocess.run(
            [*prefix, harness.TOOL, "doctor", *([] if secret else ["-c", url]),
             *arguments],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=waiting.LIMIT_S, env=environment)

    def doctor(self, *arguments, **options):
        """Its report, after checks that hold for every report."""
        done = self.run_doctor("--json", *arguments, **options)
        self.assertEqual(done.stderr, "")
        report = json.loads(done.stdout)
        ranks = [SEVERITIES.index(finding["severity"])
                 for finding in report["findings"]]
        self.assertEqual(ranks, sorted(ranks))
        self.assertEqual(report["worst"], SEVERITIES[ranks[-1]])
        self.assertEqual(done.returncode, STATUS[report["worst"]], done.stdout)
        for finding in report["findings"]:
            self.assertEqual(sorted(finding), ["advice", "id", "severity",
                                               "subject", "text"])
            self.assertFalse(finding["text"].endswith("."), finding)
            if finding["severity"] in ("notice", "warning", "error"):
                self.assertNotEqual(finding["advice"], "", finding)
        return report

    def found(self, wanted, *arguments, **options):
        """The findings of that id."""
        return [finding
                for finding in self.doctor(*arguments, **options)["findings"]
                if finding["id"] == wanted]

    def assert_severity(self, wanted, severity, *arguments, **options):
        """The one finding of that id, which is so."""
        found = self.found(wanted, *arguments, **options)
        self.assertEqual([finding["severity"] for finding in found], [severity],
                         found)
        return found[0]

    def test_well(self):
        """Except that somebody on this machine may have locks elsewhere."""
        report = self.doctor()
        self.assertLessEqual({finding["severity"] for finding
                              in report["findings"]
                              if finding["id"] != "file-other-root"},
                             {"ok", "unknown", "notice"}, report)
        self.assertIsNone(report["probe"])

    def test_probe(self):
        report = self.doctor("--probe", "app/probe")
        probe = report["probe"]
        self.assertEqual(probe["name"], "app/probe")
        for key in ("acquire_us", "release_us", "round_trip_us"):
            self.assertGreater(probe[key], 0)
        self.assertEqual([finding["severity"] for finding in report["findings"]
                          if finding["id"] == "probe"], ["ok"])
        own = self.doctor("-P")["probe"]["name"]
        self.assertEqual(own, "holdfast-doctor/" + os.uname().nodename)

    def test_probe_of_what_is_held(self):
        self.holder("-c", self.url(), name="held")
        self.assert_severity("probe", "warning", "-w", "3s", "-P", "held")

    def test_owner_that_has_ended(self):
        # Of a process that lives there is none.
        holder = self.holder("-c", self.url(), name="left")
        self.assertEqual(self.found("ticket-owner-ended"), [])
        self.leave_ticket(holder)
        found = self.assert_severity("ticket-owner-ended", "warning")
        self.assertEqual(found["subject"], "left")
        self.assertIn("holdfast evict left ", found["advice"])

    def test_text(self):
        done = self.run_doctor()
        lines = done.stdout.splitlines()
        elsewhere = any(re.match("warning +file-other-root: ", line)
                        for line in lines)
        self.assertEqual(done.returncode, 1 if elsewhere else 0, done.stdout)
        self.assertRegex(lines[-1], r"^(\d+ \w+, )*\d+ ok$")
        self.assertNotIn("\033", done.stdout)
        for line in lines[1:-1]:
            self.assertRegex(line, r"^(%s) +[a-z-]+: |^ +to do: "
                             % "|".join(SEVERITIES))


class Files(Doctor, harness.Case):
    def setUp(self):
        super().setUp()
        # The first lock makes what is in the root directory.
        subprocess.run([harness.TOOL, "run", "-c", self.url(), "x", "--", "true"],
                       env=self.environment, check=True)

    def url(self):
        return "file:" + self.locks

    def leave_ticket(self, holder):
        """The ticket stays while somebody has the FIFO open."""
        supervisor = self.supervisor(holder)
        for entry in os.listdir("/proc/%d/fd" % supervisor):
            path = "/proc/%d/fd/%s" % (supervisor, entry)
            if "/locks/left/" in os.readlink(path):
                fifo = os.open(os.readlink(path), os.O_RDWR)
                self.addCleanup(os.close, fifo)
                self.hold_lock_of(supervisor, int(entry))
        harness.kill(supervisor)
        harness.kill(holder.pid)
        harness.ended(supervisor)

    def hold_lock_of(self, pid, fd):
        """Take a copy of the descriptor, with its lock."""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        handle = os.pidfd_open(pid)
        copy = libc.syscall(438, handle, fd, 0)  # pidfd_getfd
        os.close(handle)
        self.assertGreater(copy, 0, os.strerror(ctypes.get_errno()))
        self.addCleanup(os.close, copy)

    def test_floor_in_memory(self):
        self.assert_severity("file-floor", "ok")
        # Not itself: a test has a lock of its directory, which a client needs.
        memory = machine.directory("floor")
        self.addCleanup(shutil.rmtree, memory)
        state = os.path.join(memory, "state")
        found = self.assert_severity("file-floor", "warning",
                                     url=self.url() + "?state=" + state)
        self.assertIn("state=DIR", found["advice"])

    def test_sharing(self):
        self.assert_severity("file-sharing", "ok")
        os.chmod(self.locks, 0o2770)
        # A counter that was mapped is refused where others may write to it.
        os.remove(os.path.join(self.locks, "counter"))
        for name in os.listdir(self.locks):
            os.chmod(os.path.join(self.locks, name),
                     0o2770 if name == "locks" else 0o660)
        self.assert_severity("file-sharing", "notice",
                             url=self.url() + "?mode=0770")
        os.chmod(self.locks, 0o2750)
        self.assert_severity("file-sharing", "warning",
                             url=self.url() + "?mode=0770")

    def test_writable_by_others(self):
        os.chmod(self.locks, 0o777)
        found = self.assert_severity("engine", "error")
        self.assertIn("can be written by others", found["text"])

    def test_no_root(self):
        found = self.assert_severity("engine", "error",
                                     url="file:" + self.locks + "/none")
        self.assertIn("there is no directory", found["text"])

    def test_inotify(self):
        self.assert_severity("file-inotify", "ok")
        # The limit of a user namespace, which counts besides that of the user.
        found = self.found("file-inotify", prefix=[
            "unshare", "--user", "--map-root-user", "sh", "-c",
            "echo 0 >/proc/sys/user/max_inotify_instances; exec \"$@\"", "sh"])
        self.assertEqual([one["severity"] for one in found], ["warning"])

    def test_other_root(self):
        with tempfile.TemporaryDirectory(dir=self.directory) as other:
            self.environment["HOLDFAST_DIR"] = other
            self.assertFalse([one for one in self.found("file-other-root")
                              if one["subject"] == other])
            self.holder("-c", "file:" + other, name="a")
            found = [one for one in self.found("file-other-root")
                     if one["subject"] == other]
            self.assertEqual([one["severity"] for one in found], ["warning"])
            self.assertRegex(found[0]["text"], "^1 ")
            # Something of the locks cannot be looked at.
            os.mkfifo(other + "/locks/no-directory")
            found, = [one for one in self.found("file-other-root")
                      if one["subject"] == other]
            self.assertRegex(found["text"], "^at least 1 ")

    def test_command_line(self):
        done = self.run_doctor("name")
        self.assertEqual(done.returncode, 64)
        self.assertIn("expected --probe with it", done.stderr)
        self.assertEqual(self.run_doctor(url="none:/x").returncode, 64)
        self.assertEqual(self.run_doctor("-P", "a", "b").returncode, 64)

    def test_full_output(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([harness.TOOL, "doctor", "-c", self.url()],
                                  stdout=full, stderr=subprocess.PIPE,
                                  env=self.environment)
        self.assertEqual(done.returncode, 73)


class ZooKeeper(Doctor, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Standalone(tick_ms=500)
        cls.addClassCleanup(cls.server.close)

    def url(self):
        return "zk://127.0.0.1:%d" % self.server.port

    def tearDown(self):
        super().tearDown()
        self.server.thaw()
        # Sessions of killed programs live on.
        with self.server.client() as client:
            for name in client.children("/"):
                if name != "zookeeper":
                    client.remove("/" + name)

    def leave_ticket(self, holder):
        """Until the session is over."""
        supervisor = self.supervisor(holder)
        harness.kill(supervisor)
        harness.kill(holder.pid)
        harness.ended(supervisor)

    def test_persistent_ticket(self):
        self.assert_severity("zookeeper-nodes", "ok")
        path = "/stuck/_c_%s-lock-0000000000" % uuid.uuid4()
        with self.server.client() as client:
            client.create("/stuck")
            client.create(path)
            found = self.assert_severity("zookeeper-persistent-ticket", "error")
            self.assertEqual(found["subject"], path)
            self.assertIn("holdfast zk rm " + path, found["advice"])
            # What the session made itself belongs to it.
            client.delete(path)
            client.create(path, flags=jute.EPHEMERAL)
            self.assertEqual(self.found("zookeeper-persistent-ticket"), [])
            client.remove("/stuck")

    def test_chroot_that_is_missing(self):
        url = self.url() + "/locks"
        self.assert_severity("zookeeper-chroot", "error", url=url)
        with self.server.client() as client:
            client.create("/locks")
            self.assertEqual(self.found("zookeeper-chroot", url=url), [])
            client.delete("/locks")

    def test_access_lists(self):
        url = self.url() + "/app"
        acl = [jute.Acl(31, "digest", "a:b"), jute.Acl(1, "world", "anyone")]
        with self.server.client() as client:
            client.create("/app", acls=jute.ANYONE)
            severities = {finding["subject"]: finding["severity"]
                          for finding in self.found("zookeeper-acl", url=url)}
            self.assertEqual(severities, {"/": "notice", "/app": "notice"})
            client.delete("/app")
            client.create("/app", acls=acl)
            severities = {finding["subject"]: finding["severity"]
                          for finding in self.found("zookeeper-acl", url=url)}
            self.assertEqual(severities, {"/": "notice", "/app": "ok"})
            client.delete("/app")

    def rights(self, **options):
        """What is found of rights: {subject: (severity, text)}."""
        return {finding["subject"]: (finding["severity"], finding["text"])
                for finding in self.found("zookeeper-rights", **options)}

    def test_nodes_in_which_this_user_may_not_delete(self):
        """With CREATE and without DELETE no lock is granted there.  An entry of
        which a client cannot know whether it is for it may give the right."""
        anyone = jute.Acl(1 | 4, "world", "anyone")
        as_alice = self.url().replace("zk://", "zk://alice:word@")
        with self.server.client() as client:
            client.create("/all")
            client.create("/all/no-delete", acls=[anyone])
            client.create("/alices", acls=[
                anyone, jute.Acl(31, "digest", "alice:hash")])
            client.create("/hosts", acls=[
                anyone, jute.Acl(8, "ip", "127.0.0.1")])
            found = self.rights()
            self.assertEqual(sorted(found), ["/alices", "/all/no-delete"])
            for severity, text in found.values():
                self.assertEqual(severity, "warning")
                self.assertIn("may create tickets", text)
                self.assertIn("may not delete them", text)
            self.assertEqual(list(self.rights(url=as_alice, secret=True)),
                             ["/all/no-delete"])
        probe = self.assert_severity("probe", "error", "--probe",
                                     "all/no-delete")
        self.assertIn("may not delete them", probe["text"])

    def test_many_nodes_in_which_this_user_may_not_delete(self):
        """Some are named, the others are counted."""
        with self.server.client() as client:
            client.create("/all")
            for i in range(30):
                client.create("/all/%d" % i,
                              acls=[jute.Acl(1 | 4, "world", "anyone")])
            found = self.rights()
            self.assertEqual(len(found), 21)
            self.assertIn("10 more nodes", found[""][1])

    def test_nodes_in_which_this_user_may_not_create(self):
        # And ADMIN, with which the test gives the rights back.
        read_only = [jute.Acl(1 | 16, "world", "anyone"),
                     jute.Acl(31, "digest", "alice:hash")]
        as_alice = self.url().replace("zk://", "zk://alice:word@")
        with self.server.client() as client:
            client.create("/app")
            client.create("/app/config")
            client.create("/app/lock")
            client.create("/app/lock/_c_%s-lock-0000000000" % uuid.uuid4(),
                          flags=jute.EPHEMERAL)
            for path in ("/app/config", "/app/lock", "/app"):
                client.set_acls(path, read_only)
            found = self.rights(url=self.url() + "/app")
            alices = self.rights(url=as_alice + "/app", secret=True)
            for path in ("/app", "/app/lock", "/app/config"):
                client.set_acls(path, jute.ANYONE)
            self.assertEqual({path: severity
                              for path, (severity, _) in found.items()},
                             {"/app": "warning", "/app/lock": "notice"})
            self.assertIn("may make no node", found["/app"][1])
            self.assertIn("may put no ticket", found["/app/lock"][1])
            self.assertEqual(alices, {})

    def test_no_right_to_read(self):
        with self.server.client() as client:
            client.create("/secret", acls=[jute.Acl(31, "digest", "a:b")])
            texts = [finding["text"]
                     for finding in self.found("zookeeper-nodes")
                     if finding["severity"] == "unknown"]
            self.assertEqual(texts, ["1 nodes may not be read by this user"])
            client.delete("/secret")

    def test_timeout_that_is_not_granted(self):
        self.assert_severity("zookeeper-timeout", "ok")
        found = self.assert_severity("zookeeper-timeout", "notice",
                                     url=self.url() + "?timeout=60s")
        self.assertIn("from 1000 to 40000 ms", found["text"])

    def test_plain_text_to_another_machine(self):
        self.assert_severity("plain-text", "ok")
        found = self.found("plain-text",
                           url="zk://db1.example.invalid," + self.url()[5:])
        self.assertEqual({one["subject"]: one["severity"] for one in found},
                         {"127.0.0.1": "ok",
                          "db1.example.invalid": "warning"})

    def test_leaves_no_session(self):
        def sessions():
            return len(re.findall(r"0x[0-9a-f]+", self.server.four_letters("dump")
                                  .partition("ephemeral")[0]))

        before = sessions()
        self.doctor()
        waiting.eventually("no session of doctor's",
                           lambda: sessions() <= before)

    def test_frozen(self):
        self.server.freeze()
        report = self.doctor()
        self.assertEqual(
            sorted(finding["severity"] for finding in report["findings"]
                   if finding["id"] == "zookeeper-session"),
            ["error", "warning"])


class ZooKeeperSettings(Doctor, harness.Case):
    """Servers that are set up in other ways."""
    test_well = test_probe = test_probe_of_what_is_held = None
    test_owner_that_has_ended = test_text = None

    def start_server(self, **options):
        server = Standalone(tick_ms=500, **options)
        self.addCleanup(server.close)
        return server

    def url(self):
        return "zk://127.0.0.1:%d" % self.server.port

    def test_srvr_that_is_not_answered(self):
        """A relay in front of the server lets sessions through alone."""
        self.server = self.start_server()
        relay = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(relay.close)
        threading.Thread(target=self.relay, args=[relay], daemon=True).start()
        found = self.assert_severity(
            "zookeeper-server", "unknown",
            url="zk://127.0.0.1:%d" % relay.getsockname()[1])
        self.assertIn("srvr", found["advice"])

    def relay(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return  # the test is over
            begin = client.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL)
            if begin == b"srvr":
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.server.port))
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=pair,
                                 daemon=True).start()

    @staticmethod
    def copy(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass  # the other side has gone
        source.close()
        target.close()

    def test_counter_near_its_end(self):
        self.server = self.start_server(prepared=("/old", 3 * 2 ** 29 + 7))
        with self.server.client() as client:
            client.create("/old/_c_%s-lock-" % uuid.uuid4(),
                          flags=jute.EPHEMERAL_SEQUENTIAL)
            found = self.assert_severity("zookeeper-counter", "warning")
            self.assertEqual(found["subject"], "/old")
            client.remove("/old")
            client.create("/old")
            client.create("/old/_c_%s-lock-" % uuid.uuid4(),
                          flags=jute.EPHEMERAL_SEQUENTIAL)
            self.assertEqual(self.found("zookeeper-counter"), [])

    def test_two_that_are_alone(self):
        self.server = self.start_server()
        other = self.start_server(config={"maxSessionTimeout": 20000})
        url = "%s,127.0.0.1:%d" % (self.url(), other.port)
        found = self.found("zookeeper-server", url=url)
        self.assertEqual([one["severity"] for one in found],
                         ["error", "error"])
        self.assertEqual([one["severity"]
                          for one in self.found("zookeeper-timeout", url=url)],
                         ["ok", "ok", "warning"])

    def test_wrong_password(self):
        self.server = self.start_server(sasl=digest_section(alice="secret"))
        url = self.url().replace("zk://", "zk://alice:%s@") + "?sasl=DIGEST-MD5"
        done = self.run_doctor("--json", url=url % "mistaken")
        self.assertEqual(done.returncode, 2)
        worst = json.loads(done.stdout)["findings"][-1]
        self.assertEqual((worst["id"], worst["severity"]), ("engine", "error"))
        self.assertNotIn("mistaken", done.stdout)
        done = self.run_doctor("--json", url=url % "secret")
        self.assertEqual(done.returncode, 0, done.stdout)


class ZooKeeperEnsemble(Doctor, harness.Case):
    test_probe_of_what_is_held = test_owner_that_has_ended = test_text = None

    @classmethod
    def setUpClass(cls):
        cls.ensemble = Ensemble()
        cls.addClassCleanup(cls.ensemble.close)

    def url(self):
        return "zk://" + self.ensemble.addresses()

    def test_modes(self):
        self.assertEqual(
            sorted(finding["text"].rpartition(", ")[2]
                   for finding in self.found("zookeeper-server")),
            ["follower", "follower", "leader"])
        found = self.assert_severity("zookeeper-members", "ok")
        self.assertIn("3 members", found["text"])

    def test_z_dead_servers(self):
        """Last, because they stay dead."""
        self.assertEqual(self.found("zookeeper-session"), [])
        dead = self.ensemble.followers()[0]
        dead.kill()
        found = self.assert_severity("zookeeper-session", "warning")
        self.assertEqual(found["subject"], dead.address())
        self.ensemble.leader().kill()
        report = self.doctor()
        self.assertEqual(
            [finding["severity"] for finding in report["findings"]
             if finding["id"] == "zookeeper-session"], 3 * ["warning"] + ["error"])


class Leased(Doctor):
    """A ticket stays for a lease.  .forget() removes those of other tests."""

    def setUp(self):
        super().setUp()
        self.forget()

    def leave_ticket(self, holder):
        supervisor = self.supervisor(holder)
        harness.kill(supervisor)
        harness.kill(holder.pid)
        harness.ended(supervisor)


DURABLE = ["appendonly yes", "appendfsync always"]


class TwoServers(Proxy):
    """One address that leads to two servers: what a client connects first to
    the one, the rest to the other."""

    CONNECTIONS = 2  # of a client

    def __init__(self, first, later):
        self.later = later
        super().__init__(first)

    @property
    def target(self):
        return self.first if self.accepted <= self.CONNECTIONS else self.later

    @target.setter
    def target(self, first):
        self.first = first


class Redis(Leased, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = redis_server.Server(DURABLE)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self, user=""):
        return "redis://%s127.0.0.1:%d/0" % (user, self.server.port)

    def forget(self):
        with self.server.client() as client:
            client.ask("FLUSHALL")

    def configure(self, name, value, before):
        """Set it until the test ends."""
        with self.server.client() as client:
            client.ask("CONFIG", "SET", name, value)
        self.addCleanup(self.configure_back, name, before)

    def configure_back(self, name, value):
        with self.server.client() as client:
            client.ask("CONFIG", "SET", name, value)

    def limited(self, *rules):
        """The URL of a user with these rules and what else locks need."""
        with self.server.client() as client:
            client.ask("ACL", "SETUSER", "limited", "reset", "on", ">word",
                       "~holdfast:*", "&holdfast:*", "+@all", *rules)
        return self.url("limited:word@")

    def test_all_is_looked_at(self):
        found = {finding["id"]: finding for finding in self.doctor()["findings"]}
        for wanted in ("version", "eviction", "memory", "clients", "disk",
                       "persistence", "primaries", "rights"):
            self.assertEqual(found["redis-" + wanted]["severity"], "ok")
            self.assertEqual(found["redis-" + wanted]["subject"],
                             self.server.address())
        self.assertEqual(found["clock"]["severity"], "ok")
        self.assertEqual(found["lease"]["severity"], "ok")
        self.assertEqual(found["plain-text"]["severity"], "ok")

    def test_persistence(self):
        self.configure("appendfsync", "everysec", "always")
        self.assertIn("appendfsync is everysec", self.assert_severity(
            "redis-persistence", "notice")["text"])
        self.configure("appendonly", "no", "yes")
        self.assertIn("forgets all", self.assert_severity(
            "redis-persistence", "warning")["text"])

    def test_eviction(self):
        self.configure("maxmemory-policy", "allkeys-lru", "noeviction")
        self.assertIn("expected maxmemory-policy noeviction",
                      self.assert_severity("engine", "error", "-w", "3s")["text"])

    def test_memory(self):
        with self.server.client() as client:
            used = next(line for line in client.ask("INFO", "memory").splitlines()
                        if line.startswith("used_memory:"))
        self.configure("maxmemory", int(used.split(":")[1]) * 21 // 20, "0")
        self.assertIn("HF_EFULL", self.assert_severity("redis-memory",
                                                       "warning")["text"])

    def test_clients(self):
        # Each run of the tool has two, and this is the fifth and last but one.
        self.configure("maxclients", "5", "1000")
        with self.server.client(), self.server.client(), self.server.client():
            self.assert_severity("redis-clients", "warning")

    def test_replica(self):
        with redis_server.Server(DURABLE) as replica:
            with replica.client() as client:
                client.ask("REPLICAOF", "127.0.0.1", self.server.port)

                def follows():
                    return "master_link_status:up" in client.ask("INFO",
                                                                 "replication")
                waiting.eventually("the replica", follows)
            self.assertIn("may lack the last", self.assert_severity(
                "redis-replicas", "notice")["text"])
            self.assert_severity("redis-replicas", "ok",
                                 url=self.url() + "?wait=1")
            # There is no session, because no replica confirms it.
            self.assert_severity("engine", "error", "-w", "2s",
                                 url=self.url() + "?wait=2")
            self.assertIn("it is a replica", self.assert_severity(
                "engine", "error", "-w", "3s",
                url="redis://" + replica.address())["text"])

    def replica(self):
        """Of our server, until the test ends."""
        replica = redis_server.Server(DURABLE)
        self.addCleanup(replica.close)
        replica.start()
        with replica.client() as client:
            client.ask("REPLICAOF", "127.0.0.1", self.server.port)
            waiting.eventually("the replica", lambda: "master_link_status:up" in
                               client.ask("INFO", "replication"))
        return replica

    def at_two(self, first, later):
        """A URL for which a second connection leads elsewhere."""
        proxy = TwoServers(first.port, later.port)
        self.addCleanup(proxy.close)
        return "redis://127.0.0.1:%d/0?ttl=60s" % proxy.port

    def promoted(self):
        """A replica that was promoted while ours lives."""
        replica = self.replica()
        with replica.client() as client:
            client.ask("REPLICAOF", "NO", "ONE")
        waiting.eventually("the replica to leave", lambda: (
            "connected_slaves:0" in self.info(self.server)))
        return replica

    @staticmethod
    def info(server):
        with server.client() as client:
            return client.ask("INFO", "replication")

    def test_two_primaries_at_one_address(self):
        other = self.promoted()
        found = self.assert_severity("redis-primaries", "error",
                                     url=self.at_two(self.server, other))
        self.assertIn("was promoted in place of the first", found["text"])
        self.assertIn("REPLICAOF", found["advice"])
        found = self.assert_severity("redis-primaries", "error",
                                     url=self.at_two(other, self.server))
        self.assertIn("the first was promoted in its place", found["text"])
        with redis_server.Server(DURABLE) as unrelated:
            found = self.assert_severity("redis-primaries", "error",
                                         url=self.at_two(self.server, unrelated))
        self.assertIn("neither was promoted in place of the other",
                      found["text"])

    def test_two_primaries_as_each_shows_it(self):
        """Without an address that leads to both."""
        other = self.promoted()
        self.assert_severity("redis-primaries", "ok")
        found = self.assert_severity("redis-replicas", "notice")
        self.assertIn("has none now", found["text"])
        replication = re.search(r"master_replid:(\w+)", self.info(self.server))
        self.assertIn(replication.group(1), found["advice"])
        found = self.assert_severity("redis-primaries", "unknown",
                                     url="redis://" + other.address())
        self.assertIn("master_replid " + replication.group(1), found["text"])

    def test_an_address_that_leads_to_a_replica_too(self):
        found = self.assert_severity(
            "redis-primaries", "unknown",
            url=self.at_two(self.server, self.replica()))
        self.assertIn("it is a replica", found["text"])

    def test_an_address_that_does_not_answer_again(self):
        proxy = TwoServers(self.server.port, 1)
        self.addCleanup(proxy.close)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            proxy.later = silent.getsockname()[1]
            found = self.assert_severity(
                "redis-primaries", "unknown",
                url="redis://127.0.0.1:%d/0" % proxy.port)
        self.assertIn("no answer", found["text"])

    def test_rights(self):
        found = self.assert_severity("redis-rights", "error", secret=True,
                                     url=self.limited("-zadd", "-publish"))
        self.assertIn("zadd publish", found["text"])
        self.assertIn("ACL SETUSER", found["advice"])
        found = self.assert_severity("redis-rights", "notice", secret=True,
                                     url=self.limited("-scan"))
        self.assertIn("scan", found["text"])
        self.assert_severity("redis-rights", "warning", secret=True,
                             url=self.limited("resetkeys", "~holdfast:{app*"))

    def test_renamed_command(self):
        with redis_server.Server([*DURABLE, "rename-command ZADD other"]) as other:
            found = self.assert_severity("redis-rights", "error",
                                         url="redis://" + other.address())
        self.assertIn("zadd (no such command)", found["text"])

    def test_what_cannot_be_seen(self):
        url = self.limited("-info", "-config")
        self.assertIn("INFO", self.assert_severity(
            "redis-info", "unknown", url=url, secret=True)["text"])
        self.assertEqual(self.found("redis-persistence", url=url, secret=True),
                         [])
        self.assert_severity("redis-persistence", "unknown", secret=True,
                             url=self.limited("-config"))

    def test_password_in_the_url(self):
        done = self.run_doctor(url=self.limited())
        self.assertIn("password", done.stderr)
        self.assertNotIn("word@", done.stdout)


class RedisCluster(Leased, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Cluster(config=DURABLE)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self):
        return "redis://%s/0" % self.server.address()

    def forget(self):
        for node in self.server.primaries:
            node.ask("FLUSHALL")

    def test_each_node(self):
        nodes = sorted(node.address() for node in self.server.primaries)
        for wanted in ("redis-version", "redis-cluster", "redis-rights"):
            found = self.found(wanted)
            self.assertEqual(sorted(one["subject"] for one in found), nodes)
            self.assertEqual({one["severity"] for one in found}, {"ok"})

    def test_node_that_has_ended(self):
        lost = self.server.primaries[-1]
        lost.freeze()
        self.addCleanup(lost.thaw)
        found = self.assert_severity("redis-node", "error", "-w", "10s",
                                     url=self.url() + "?ttl=2s")
        self.assertEqual(found["subject"], lost.address())


class Quorum(Leased, harness.Case):
    # The names of a quorum cannot be listed.
    test_owner_that_has_ended = None

    @classmethod
    def setUpClass(cls):
        cls.servers = redis_server.Several(3)
        cls.addClassCleanup(cls.servers.close)
        cls.servers.__enter__()

    def url(self, options="?ttl=4s&rejoin=4s", addresses=None):
        return self.servers.url(options, addresses)

    def forget(self):
        for server in self.servers.servers:
            with server.client() as client:
                client.ask("FLUSHALL")
        # One that was started counts after a while.
        waiting.eventually("the servers count", lambda: [
            finding["severity"] for finding in json.loads(
                self.run_doctor("--json").stdout)["findings"]
            if finding["id"] == "quorum-majority"] == ["ok"])

    def test_each_server(self):
        addresses = sorted(one.address() for one in self.servers.servers)
        for wanted in ("redis-version", "redis-persistence", "quorum-server"):
            found = self.found(wanted)
            self.assertEqual(sorted(one["subject"] for one in found), addresses)
            self.assertEqual({one["severity"] for one in found}, {"ok"})
        for wanted in ("quorum-majority", "quorum-same-server", "quorum-clocks"):
            self.assert_severity(wanted, "ok")

    def test_server_that_is_away(self):
        lost = self.servers.servers[1]
        lost.stop()
        self.addCleanup(lost.start)
        found = {finding["id"]: finding for finding in self.doctor()["findings"]
                 if finding["severity"] == "warning"}
        self.assertEqual(found["quorum-server"]["subject"], lost.address())
        self.assertIn("2 of 3", found["quorum-majority"]["text"])

    def test_server_that_does_not_count_yet(self):
        found = self.found("quorum-server", "-w", "3s",
                           url=self.url("?ttl=1s&rejoin=1h"))
        self.assertEqual(found, [])  # no majority counts
        self.assert_severity("engine", "error", "-w", "2s",
                             url=self.url("?ttl=1s&rejoin=1h"))

    def test_one_server_twice(self):
        port = self.servers.servers[0].port
        found = self.assert_severity("quorum-same-server", "error", url=self.url(
            addresses=["127.0.0.1:%d" % port, "localhost:%d" % port,
                       self.servers.servers[1].address()]))
        self.assertEqual(found["subject"], "localhost:%d" % port)
        self.assertIn("127.0.0.1:%d" % port, found["text"])

    def test_replica(self):
        with redis_server.Server() as replica, replica.client() as client:
            client.ask("REPLICAOF", "127.0.0.1", self.servers.servers[0].port)

            def follows():
                return "master_link_status:up" in client.ask("INFO", "replication")
            waiting.eventually("the replica", follows)
            self.assertIn("warning", [one["severity"]
                                      for one in self.found("redis-replicas")])

    def test_majority_away(self):
        lost = self.servers.servers[1:]
        for server in lost:
            server.stop()
            self.addCleanup(server.start)
        found = self.assert_severity("engine", "error", "-w", "2s")
        self.assertIn("1 of 3 servers can be used, expected 2; server 2 of the "
                      "URL: connection refused", found["text"])


class PostgreSql(Leased, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = postgres.Server(access="local all all trust\n"
                                     "host all all 127.0.0.1/32 trust\n"
                                     "host replication all 127.0.0.1/32 trust\n")
        cls.addClassCleanup(cls.server.close)
        subprocess.run([harness.TOOL, "run", "-c", cls.address(), "first", "--",
                        "true"], check=True, timeout=waiting.LIMIT_S)
        cls.server.sql("CREATE ROLE worker LOGIN")
        cls.server.sql("CREATE DATABASE empty")
        grant = subprocess.run([harness.TOOL, "sql", "--grant"], check=True,
                               capture_output=True, text=True).stdout
        cls.server.sql(grant.replace(':"role"', "worker"))

    @classmethod
    def address(cls, user="postgres", database="postgres"):
        return "postgresql://%s@127.0.0.1:%d/%s" % (user, cls.server.port,
                                                    database)

    def url(self):
        return self.address()

    def forget(self):
        self.server.sql("DELETE FROM holdfast.ticket")

    def test_two_primaries(self):
        """A standby was promoted while the primary lives."""
        with Pair(synchronous=False) as pair:
            url = "%s,127.0.0.1:%d/postgres" % (
                pair.primary.tcp_url().rpartition("/")[0], pair.standby.port)
            subprocess.run([harness.TOOL, "run", "-c", url, "first", "--",
                            "true"], check=True, timeout=waiting.LIMIT_S,
                           stderr=subprocess.DEVNULL)
            waiting.eventually("the standby to follow", pair.is_followed)
            pair.cut_off()
            pair.standby.sql("SELECT pg_promote()")
            found = self.assert_severity("postgres-primaries", "error",
                                         url=url, secret=True)
            self.assertIn("127.0.0.1:%d (timeline 2) and 127.0.0.1:%d "
                          "(timeline 1) both take writes" % (
                              pair.standby.port, pair.primary.port),
                          found["text"])

    def set_for_server(self, name, value):
        """Set it until the test ends."""
        self.alter(name, "= '%s'" % value)
        self.addCleanup(self.alter, name, None)

    def alter(self, name, value):
        before = self.server.sql("SELECT current_setting(%s)", (name,))[0][0]
        self.server.sql("ALTER SYSTEM %s" % (
            "SET %s %s" % (name, value) if value else "RESET " + name))
        self.server.sql("SELECT pg_reload_conf()")
        waiting.eventually("the setting", lambda: self.server.sql(
            "SELECT current_setting(%s)", (name,))[0][0] != before)

    def test_all_is_looked_at(self):
        found = {finding["id"]: finding for finding in self.doctor()["findings"]}
        for wanted in ("version", "schema", "rights", "durability", "standbys",
                       "connections", "vacuum", "snapshots", "wraparound",
                       "pooler"):
            self.assertEqual(found["postgres-" + wanted]["severity"], "ok")
            self.assertEqual(found["postgres-" + wanted]["subject"],
                             "127.0.0.1:%d" % self.server.port)
        self.assertEqual(found["clock"]["severity"], "ok")
        self.assertEqual(found["lease"]["severity"], "ok")

    def test_only_reads(self):
        url = self.address(database="empty")
        self.assertIn("has no schema holdfast", self.assert_severity(
            "engine", "error", "-w", "3s", url=url)["text"])
        self.assertEqual(self.server.sql("SELECT to_regnamespace('holdfast')",
                                         database="empty"), [(None,)])

    def test_rights(self):
        worker = self.address("worker") + "?schema_owner=postgres"
        self.assert_severity("postgres-rights", "ok", url=worker)
        self.server.sql("REVOKE DELETE ON holdfast.watcher FROM worker")
        self.addCleanup(self.server.sql,
                        "GRANT DELETE ON holdfast.watcher TO worker")
        found = self.assert_severity("postgres-rights", "error", url=worker)
        self.assertIn("DELETE on watcher", found["text"])
        self.assertIn("sql --grant", found["advice"])

    def test_durability(self):
        self.set_for_server("full_page_writes", "off")
        self.assert_severity("postgres-durability", "warning")
        self.set_for_server("fsync", "off")
        self.assertIn("fsync is off", self.assert_severity(
            "postgres-durability", "warning")["text"])

    def test_vacuum(self):
        self.server.sql("ALTER TABLE holdfast.watcher SET (autovacuum_enabled=off)")
        self.addCleanup(self.server.sql, "ALTER TABLE holdfast.watcher RESET "
                        "(autovacuum_enabled)")
        self.assert_severity("postgres-vacuum", "warning")
        self.set_for_server("autovacuum", "off")
        self.assertIn("autovacuum is off:", self.assert_severity(
            "postgres-vacuum", "warning")["text"])

    def test_an_old_snapshot(self):
        """Of a transaction that reads, and of one that has written."""
        burn = ("DO $$ BEGIN FOR i IN 1 .. 1100 LOOP FOR j IN 1 .. 100 LOOP "
                "BEGIN PERFORM FROM holdfast.version FOR UPDATE; PERFORM 1 / 0; "
                "EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; "
                "COMMIT; END LOOP; END $$")
        self.assertIn("transactions old", self.assert_severity(
            "postgres-snapshots", "ok")["text"])
        old = self.server.connect()
        self.addCleanup(old.close)
        old.autocommit = False
        cursor = old.cursor()
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
                       "SELECT 1")
        self.server.sql(burn)
        found = self.assert_severity("postgres-snapshots", "warning")
        self.assertIn("process %d of postgres" % old.get_backend_pid(),
                      found["text"])
        old.rollback()
        cursor.execute("SELECT pg_current_xact_id()")
        self.assert_severity("postgres-snapshots", "ok")
        self.server.sql(burn)
        self.assert_severity("postgres-snapshots", "warning")
        old.rollback()
        self.assert_severity("postgres-snapshots", "ok")

    def test_connections(self):
        connections = self.server.sql(
            "SELECT current_setting('max_connections')::int - 3 -"
            " current_setting('superuser_reserved_connections')::int")[0][0]
        others = [self.server.connect() for _ in range(connections)]
        for other in others:
            self.addCleanup(other.close)
        self.assert_severity("postgres-connections", "warning")

    def test_other_servers(self):
        host = "127.0.0.1:%d" % self.server.port
        self.assertEqual(self.found("postgres-others"), [])
        found = self.assert_severity(
            "postgres-others", "unknown", url=self.url().replace(
                host, host + ",127.0.0.1:1"))
        self.assertIn("of the 2 servers", found["text"])

    def test_pooler(self):
        self.assert_severity("postgres-pooler", "notice",
                             url=self.url() + "?pooler=session")

    def test_standby(self):
        standby = postgres.Server(follows=self.server.port)
        self.addCleanup(standby.close)
        waiting.eventually("the standby", lambda: self.server.sql(
            "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"))
        self.assertIn("of 1 standbys none is", self.assert_severity(
            "postgres-standbys", "notice")["text"])
        self.assertIn("is a standby", self.assert_severity(
            "engine", "error", "-w", "3s",
            url="postgresql://postgres@127.0.0.1:%d/postgres" % standby.port)
            ["text"])
        self.set_for_server("synchronous_standby_names", "*")
        waiting.eventually("the standby counts", lambda: self.server.sql(
            "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"))
        self.assert_severity("postgres-standbys", "warning")
        name = self.server.sql("SELECT application_name FROM"
                               " pg_stat_replication")[0][0]
        self.alter("synchronous_standby_names", "= '%s'" % name)
        self.assert_severity("postgres-standbys", "ok")
        worker = self.address("worker") + "?schema_owner=postgres"
        self.assert_severity("postgres-standbys", "unknown", url=worker)


class OfEtcd(Leased):
    """The server of Debian is one that doctor warns of."""

    def is_old(self):
        return not self.server.servers[0].checks_leader()

    def forget(self):
        with self.server.client() as client:
            for lease in client.leases():
                client.revoke(lease)

    def test_well(self):
        self.assert_severity("etcd-version",
                             "warning" if self.is_old() else "ok")
        self.assertLessEqual(
            {finding["severity"] for finding in self.doctor()["findings"]
             if finding["id"] != "etcd-version"}, {"ok", "unknown", "notice"})

    def test_text(self):
        done = self.run_doctor()
        self.assertEqual(done.returncode, self.is_old(), done.stdout)
        self.assertEqual("upgrade to 3.4.31" in done.stdout, self.is_old())


class Etcd(OfEtcd, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = etcd.Server(config={"quota-backend-bytes": 16 << 20})
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self):
        return "etcd://%s/locks" % self.server.address()

    def test_all_is_looked_at(self):
        found = {finding["id"]: finding for finding in self.doctor()["findings"]}
        for wanted in ("member", "space", "alarm", "lease", "rights",
                       "compaction"):
            self.assertEqual(found["etcd-" + wanted]["severity"], "ok", wanted)
        self.assertEqual(found["etcd-member"]["subject"], self.server.address())
        self.assertIn("leads", found["etcd-member"]["text"])
        self.assertEqual(found["etcd-members"]["severity"], "notice")
        self.assertEqual(found["etcd-rights"]["subject"], "locks/")
        self.assertEqual(found["plain-text"]["severity"], "ok")
        # The lease that was granted for that is revoked again.
        with self.server.client() as client:
            self.assertEqual(client.leases(), [])

    def test_lease_that_is_longer(self):
        self.assertIn("3000 ms is granted", self.assert_severity(
            "etcd-lease", "notice", url=self.url() + "?ttl=2500ms")["text"])

    def test_no_space(self):
        self.server.fill()
        self.addCleanup(self.server.make_space)
        found = self.assert_severity("etcd-alarm", "error")
        self.assertIn("NOSPACE", found["text"])
        self.assertEqual(found["subject"], "%x" % self.server.number())
        self.assertIn("space exceeded", self.assert_severity(
            "etcd-lease", "unknown")["text"])

    def test_another_cluster(self):
        with etcd.Server() as other:
            found = self.assert_severity(
                "etcd-cluster", "error", url="etcd://%s,%s/locks" % (
                    self.server.address(), other.address()))
            self.assertIn("different clusters", found["text"])

    def test_nobody_listens(self):
        with etcd.Server() as other:
            other.kill()
            report = self.doctor("-w", "5s", url="etcd://" + other.address())
            self.assertEqual([finding["severity"] for finding
                              in report["findings"]
                              if finding["id"] == "etcd-member"],
                             ["warning", "error"])


class EtcdOfLong(Doctor, harness.Case):
    """A server of its own for each test, with a past or an alarm that stays."""
    test_owner_that_has_ended = test_probe_of_what_is_held = None
    test_probe = test_text = test_well = None

    def setUp(self):
        super().setUp()
        # On disk, because the server has all of its file in memory at once, and
        # memory can be taken back only of one on disk.
        self.server = etcd.Server(directory=machine.directory(on_disk=True))
        self.addCleanup(self.server.close)
        self.server.start()

    def url(self):
        return "etcd://%s/locks" % self.server.address()

    def assert_compaction(self, severity, part):
        found = self.assert_severity("etcd-compaction", severity)
        self.assertIn(part, found["text"])

    def test_compaction(self):
        """What counts is whether a million revisions are there, and neither how
        many there were nor whether somebody has compacted once."""
        self.assert_compaction("ok", "too few")
        self.server.advance(MILLION - 2)  # this makes one more
        self.assert_compaction("ok", "there were %d revisions" % MILLION)
        self.server.advance(1)
        self.assert_compaction("warning", "nobody compacts")
        with self.server.client() as client:
            last = client.revision()
            client.compact(last - MILLION)
            self.assert_compaction("warning", "nobody compacts")
            client.compact(last - MILLION + 1)
            self.assert_compaction("ok", "old revisions are compacted")

    def test_size(self):
        """80 % of the quota that a server has by default."""
        limit = (2 << 30) // 10 * 8
        for size, severity in ((limit // 4096 * 4096, "ok"),
                               (limit // 4096 * 4096 + 4096, "warning")):
            self.server.grow(size)
            found = self.assert_severity("etcd-space", severity)
            self.assertEqual(found["subject"], self.server.address())
            self.assertIn("the database has %d KiB" % (size >> 10),
                          found["text"])
        with self.server.client() as client:
            client.defragment()
        self.assert_severity("etcd-space", "ok")

    def test_alarms(self):
        """Of data that differ, and one that a later version may know."""
        number = self.server.number()
        for alarm in ("CORRUPT", 3):
            self.server.raise_alarm(alarm)
        found = self.found("etcd-alarm")
        self.assertEqual([(one["severity"], one["subject"]) for one in found],
                         [("warning", "%x" % number), ("error", "%x" % number)])
        self.assertIn("of type 3", found[0]["text"])
        self.assertIn("CORRUPT", found[1]["text"])
        self.assertIn("corrupt cluster", self.assert_severity(
            "etcd-lease", "unknown")["text"])


class EtcdCluster(OfEtcd, harness.Case):
    test_owner_that_has_ended = test_probe_of_what_is_held = None

    @classmethod
    def setUpClass(cls):
        cls.server = etcd.Cluster()
        cls.addClassCleanup(cls.server.close)
        cls.server.__enter__()

    def url(self):
        return "etcd://%s/locks" % self.server.address()

    def test_who_leads(self):
        found = self.found("etcd-member")
        self.assertEqual([finding["severity"] for finding in found], 3 * ["ok"])
        self.assertEqual(sorted(finding["text"].rpartition(" ")[2]
                                for finding in found),
                         ["follows", "follows", "leads"])
        self.assertIn("3 members vote", self.assert_severity(
            "etcd-members", "ok")["text"])

    def test_z_dead_servers(self):
        """Last, because they stay dead."""
        dead = self.server.followers()[0]
        dead.kill()
        found = [finding for finding in self.found("etcd-member")
                 if finding["severity"] == "warning"]
        self.assertEqual([finding["subject"] for finding in found],
                         [dead.address()])
        self.server.leader().kill()
        last = self.server.running()[0]
        waiting.eventually("the loss of the leader",
                           lambda: not last.leader_id())
        report = self.doctor("-w", "5s")
        self.assertEqual([finding["severity"] for finding in report["findings"]
                          if finding["id"] == "etcd-member"],
                         3 * ["warning"] + ["error"])


class EtcdUsers(Doctor, harness.Case):
    test_owner_that_has_ended = test_probe_of_what_is_held = None
    test_probe = test_text = test_well = None

    @classmethod
    def setUpClass(cls):
        cls.server = etcd.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        cls.server.require_users("alice:word", prefix="locks/")

    def url(self, prefix="locks"):
        return "etcd://alice:word@%s/%s" % (self.server.address(), prefix)

    def test_rights(self):
        self.assert_severity("etcd-rights", "ok", secret=True)
        found = self.assert_severity("etcd-rights", "error", secret=True,
                                     url=self.url("others"))
        self.assertEqual(found["subject"], "others/")
        self.assertIn("may not read and write", found["text"])

    def test_no_user(self):
        """A lease needs none, so this shows only when a key is written."""
        url = "etcd://%s/locks" % self.server.address()
        for words in (["run", "-c", url, "a", "--", "true"],
                      ["show", "-c", url, "a"]):
            done = subprocess.run([harness.TOOL, *words], text=True,
                                  capture_output=True, env=self.environment,
                                  timeout=waiting.LIMIT_S)
            self.assertEqual(done.returncode, 77, done.stderr)
            self.assertIn("user name is empty", done.stderr)

    def test_wrong_password(self):
        report = self.doctor("-w", "5s", secret=True,
                             url=self.url().replace("word", "wrong"))
        self.assertIn("error", [finding["severity"] for finding
                                in report["findings"]
                                if finding["id"] in ("etcd-member", "engine")])


if __name__ == "__main__":
    unittest.main()
