# SPDX-License-Identifier: Apache-2.0
"""holdfast doctor: each finding appears when its cause is made, and not before;
the exit status is that of the worst.

    test_doctor.py [Files]
"""

import json
import os
import subprocess
import tempfile
import unittest

import harness
from harness import waiting

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


if __name__ == "__main__":
    unittest.main()
