# SPDX-License-Identifier: Apache-2.0
"""holdfast doctor: each finding appears when its cause is made, and not before;
the exit status is that of the worst.

    test_doctor.py [Files] [ZooKeeper] [ZooKeeperSettings] [ZooKeeperEnsemble]
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import jute  # noqa: E402
from ensemble import Ensemble  # noqa: E402
from zookeeper import Standalone, digest_section  # noqa: E402

SEVERITIES = ["ok", "unknown", "notice", "warning", "error"]
STATUS = {"ok": 0, "unknown": 0, "notice": 0, "warning": 1, "error": 2}


class Doctor:
    """A mixin for a harness.Case that has .url()."""

    def run_doctor(self, *arguments, url=None, prefix=(), environment=None):
        return subprocess.run(
            [*prefix, harness.TOOL, "doctor", "-c", url or self.url(),
             *arguments],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=waiting.LIMIT_S, env=environment or self.environment)

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
        report = self.doctor()
        self.assertIn(report["worst"], ("ok", "unknown", "notice"), report)
        self.assertIsNone(report["probe"])

    def test_probe(self):
        report = self.doctor("--probe", "app/probe")
        probe = report["probe"]
        self.assertEqual(probe["name"], "app/probe")
        for key in ("acquire_us", "release_us", "round_trip_us"):
            self.assertGreater(probe[key], 0)
        self.assertEqual([finding["severity"] for finding in report["findings"]
                          if finding["id"] == "probe"], ["ok"])
        own = self.doctor("-p")["probe"]["name"]
        self.assertEqual(own, "holdfast-doctor/" + os.uname().nodename)

    def test_probe_of_what_is_held(self):
        self.holder("-c", self.url(), name="held")
        self.assert_severity("probe", "warning", "-t", "300ms", "-p", "held")

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
        self.assertEqual(done.returncode, 0, done.stdout)
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
        found = self.assert_severity("file-floor", "warning",
                                     url=self.url() + "?state=/dev/shm/hf-none")
        self.assertIn("state=DIR", found["advice"])

    def test_sharing(self):
        self.assert_severity("file-sharing", "ok")
        os.chmod(self.locks, 0o2770)
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

    def test_command_line(self):
        done = self.run_doctor("name")
        self.assertEqual(done.returncode, 64)
        self.assertIn("expected --probe with it", done.stderr)
        self.assertEqual(self.run_doctor(url="none:/x").returncode, 64)
        self.assertEqual(self.run_doctor("-p", "a", "b").returncode, 64)

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


if __name__ == "__main__":
    unittest.main()
