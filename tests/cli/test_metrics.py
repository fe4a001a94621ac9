# SPDX-License-Identifier: Apache-2.0
"""holdfast metrics, and HOLDFAST_LOG: numbers that are exact, read by the parser
of Prometheus' own library for Python; files of the living, of the dead and of
others in one directory.

    test_metrics.py [File] [ZooKeeper] [Redis] [PostgreSql] [Directory]
                    [Neighbours] [Text] [Log]
"""

import fcntl
import hashlib
import json
import os
import pty
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

from prometheus_client.openmetrics.parser import text_string_to_metric_families

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import etcd  # noqa: E402
import postgres  # noqa: E402
import redis_server  # noqa: E402
from zookeeper import Standalone  # noqa: E402

WORKER = os.environ["METRICS_WORKER"]
WORKERS = 1000
AT_ONCE = 6
DEAD = 10000
BYTES = 54128
BUCKETS = 20
# Without it the engine warns, because a restart would forget tickets.
DURABLE = ("appendonly yes",)


class Samples(dict):
    """{(name, (label, value)...): number} of OpenMetrics text."""

    def __init__(self, text):
        super().__init__()
        self.types = {}
        for family in text_string_to_metric_families(text):
            self.types[family.name] = family.type
            if not family.documentation:
                raise AssertionError("no help: " + family.name)
            if family.name.endswith("_seconds") != (family.unit == "seconds"):
                raise AssertionError("another unit: " + family.name)
            for sample in family.samples:
                key = (sample.name, *sorted(sample.labels.items()))
                if key in self:
                    raise AssertionError("twice: %s" % (key,))
                self[key] = sample.value

    def of(self, metric, /, **labels):
        return self[("holdfast_client_" + metric, *sorted(labels.items()))]

    def acquires(self):
        return {key[1][1]: value for key, value in self.items()
                if key[0] == "holdfast_client_acquires_total"}


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.metrics = self.path("metrics")
        self.environment["HOLDFAST_METRICS_DIR"] = self.metrics
        self.environment.pop("HOLDFAST_LOG", None)

    def tool(self, *arguments, **options):
        done = subprocess.run([harness.TOOL, "metrics", *arguments],
                              capture_output=True, text=True,
                              env=self.environment, stdin=subprocess.DEVNULL,
                              timeout=waiting.LIMIT_S, **options)
        return done.returncode, done.stdout, done.stderr

    def printed(self, *arguments):
        status, out, err = self.tool(*arguments)
        self.assertEqual((status, err), (0, ""))
        return out

    def sum(self):
        return Samples(self.printed("--dir", self.metrics))

    def files(self):
        return sorted(os.listdir(self.metrics))


class Scripted:
    """A mixin that has .url(): what the tool counts of a scripted run."""

    def tickets(self, name):
        out = subprocess.run([harness.TOOL, "show", "-c", self.url(), "--json",
                              name], capture_output=True, text=True, check=True,
                             env=self.environment).stdout
        return json.loads(out)["tickets"]

    def queued(self, name, count):
        waiting.eventually("%d in the queue of %s" % (count, name),
                           lambda: len(self.tickets(name)) == count)

    def run_on_engine(self, *arguments):
        return self.run_tool("-c", self.url(), *arguments)[0]

    def test_counts_are_exact(self):
        for _ in range(3):
            self.assertEqual(self.run_on_engine("exact", "--", "true"), 0)
        holder = self.holder("-c", self.url(), name="exact")
        self.assertEqual(self.run_on_engine("--try", "exact", "--", "true"), 75)
        self.assertEqual(self.run_on_engine("-w", "2s", "exact", "--", "true"),
                         75)
        waiters = []
        for count in (2, 3):
            waiters.append(self.start("-c", self.url(), "exact", "--", "true"))
            self.queued("exact", count)
        self.assert_queue_is_seen()
        self.finish(holder)
        for waiter in waiters:
            self.assertEqual(self.finish(waiter)[0], 0)
        self.assertEqual(self.run_on_engine("x", "y", "--", "true"), 0)
        for _ in range(2):  # and the same when all are folded
            self.assert_counted(self.sum())
        self.assertEqual(self.files(), ["folded"])

    def test_leaders_are_counted(self):
        """The second one waits until the first has resigned; then its ticket is
        removed by force, and it campaigns again."""
        first = self.leader("first")
        second = self.start("-c", self.url(), "lead", "--", "sleep", "1d",
                            command="elect")
        self.queued("lead", 2)
        self.end(first)
        waiting.eventually("another leader", lambda: self.sum().acquires() ==
                           {"HF_OK": 2}, of=[second])
        token, = {str(ticket["token"]) for ticket in self.tickets("lead")}
        subprocess.run([harness.TOOL, "evict", "-c", self.url(), "--yes", "lead",
                        token], check=True, capture_output=True,
                       env=self.environment, timeout=waiting.LIMIT_S)
        waiting.eventually("a third leadership", lambda: self.sum().acquires()
                           == {"HF_OK": 3}, of=[second])
        self.end(second)
        seen = self.sum()
        for name, number in (("acquires_total", 3), ("failures_total", 0),
                             ("waits_total", 1), ("losses_total", 1),
                             ("hold_seconds_count", 3),
                             ("handoff_seconds_count", 1)):
            self.assertEqual(seen.of("lock_" + name, name="lead"), number, name)

    def leader(self, word):
        process = self.start("-c", self.url(), "lead", "--", "sh", "-c",
                             "echo > '%s'; exec sleep 1d" % self.path(word),
                             command="elect")
        waiting.eventually("the leader", lambda: os.path.exists(self.path(word)),
                           of=[process])
        return process

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        self.finish(process)

    def assert_queue_is_seen(self):
        seen = Samples(self.printed("-c", self.url(), "exact", "free", "/exact"))
        every = Samples(self.printed("-c", self.url()))
        self.assertEqual(every[("holdfast_queue_names",)], 1)
        for key in seen:
            if "seconds" not in key[0] and key[1][1] == "exact":
                self.assertEqual(every[key], seen[key])
        self.assertEqual(seen[("holdfast_queue_holders", ("name", "exact"))], 1)
        self.assertEqual(seen[("holdfast_queue_waiters", ("name", "exact"))], 2)
        self.assertEqual(seen[("holdfast_queue_waiters", ("name", "free"))], 0)
        self.assertGreater(
            seen[("holdfast_queue_oldest_hold_seconds", ("name", "exact"))],
            seen[("holdfast_queue_oldest_wait_seconds", ("name", "exact"))])
        self.assertEqual({name.split("_")[1] for name in seen.types}, {"queue"})

    def assert_counted(self, seen):
        self.assertEqual(seen.acquires(),
                         {"HF_OK": 7, "HF_EBUSY": 1, "HF_ETIMEDOUT": 1})
        for name, number in (("waits_total", 4), ("losses_total", 0),
                             ("revocations_total", 0),
                             ("reconnects_total", 0),
                             ("sessions_lost_total", 0),
                             ("deadlock_searches_cut_total", 0),
                             ("wait_seconds_count", 7),
                             ("hold_seconds_count", 7),
                             ("handoff_seconds_count", 2)):
            self.assertEqual(seen.of(name), number, name)
        self.assertGreaterEqual(seen.of("round_trip_seconds_count"), 9)
        for name, lock, number in (("acquires_total", "exact", 6),
                                   ("failures_total", "exact", 2),
                                   ("waits_total", "exact", 4),
                                   ("hold_seconds_count", "exact", 6),
                                   ("handoff_seconds_count", "exact", 2),
                                   ("acquires_total", "x", 1),
                                   ("acquires_total", "y", 1),
                                   ("acquires_total", "/other", 0)):
            self.assertEqual(seen.of("lock_" + name, name=lock), number,
                             (name, lock))
        self.assertEqual({name.split("_")[1] for name in seen.types}, {"client"})


class File(Scripted, Case):
    def url(self):
        return "file:" + self.locks


class ZooKeeper(Scripted, Case):
    @classmethod
    def setUpClass(cls):
        # A session may last 40 s, so that it outlives a restart.
        cls.server = Standalone(tick_ms=2000)
        cls.addClassCleanup(cls.server.close)

    def url(self):
        return "zk://127.0.0.1:%d" % self.server.port

    def test_a_connection_that_was_lost_and_made_again(self):
        holder = self.holder("-c", self.url() + "?timeout=40s", name="again")
        self.server.restart()

        def reconnected():
            seen = self.sum()
            return (seen.of("reconnects_total") >= 1 and
                    seen.of("suspensions_total") ==
                    seen.of("reconnects_total"))
        waiting.eventually("another connection", reconnected)
        self.assertEqual(self.finish(holder)[0], 0)
        seen = self.sum()
        self.assertEqual(seen.acquires(), {"HF_OK": 1})
        self.assertEqual(seen.of("sessions_lost_total"), 0)


class Redis(Scripted, Case):
    @classmethod
    def setUpClass(cls):
        cls.server = redis_server.Server(config=DURABLE)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self):
        return self.server.url()

    def test_a_lock_that_was_lost(self):
        url = self.server.url(options="?ttl=2s")
        holder = self.holder("-c", url, name="gone")
        self.server.freeze()
        try:
            self.assertEqual(self.finish(holder)[0], 76)
        finally:
            self.server.thaw()
        seen = self.sum()
        self.assertEqual(seen.acquires(), {"HF_OK": 1})
        self.assertEqual(seen.of("losses_total"), 1)
        self.assertEqual(seen.of("lock_losses_total", name="gone"), 1)
        self.assertEqual(seen.of("hold_seconds_count"), 1)


class PostgreSql(Scripted, Case):
    @classmethod
    def setUpClass(cls):
        # Without a password in what the tool is called with.
        cls.server = postgres.Server(access="local all all trust\n"
                                     "host all all 127.0.0.1/32 trust\n")
        cls.addClassCleanup(cls.server.close)

    def url(self):
        return "postgresql://postgres@127.0.0.1:%d/postgres" % self.server.port


class Etcd(Scripted, Case):
    @classmethod
    def setUpClass(cls):
        cls.server = etcd.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self):
        return "etcd://" + self.server.address()


class Directory(Case):
    def worker(self, name="w", count=1, stdin=subprocess.DEVNULL, **options):
        return subprocess.Popen(
            [WORKER, "file:" + self.locks, name, str(count)],
            env=self.environment, stdin=stdin, stdout=subprocess.PIPE, **options)

    def work(self, name="w", count=1):
        worker = self.worker(name, count)
        out, _ = worker.communicate(timeout=waiting.LIMIT_S)
        self.assertEqual((worker.returncode, out), (0, b"." * count))

    def test_the_living_are_counted_and_not_folded(self):
        holder = self.holder()
        seen = self.sum()
        self.assertEqual(seen.acquires(), {"HF_OK": 1})
        self.assertEqual(seen.of("hold_seconds_count"), 0)
        self.assertEqual(seen.of("files", state="alive"), 1)
        self.assertEqual(len(self.files()), 1)
        self.finish(holder)
        seen = self.sum()
        self.assertEqual(seen.of("hold_seconds_count"), 1)
        self.assertEqual(seen.of("files", state="dead"), 1)
        self.assertEqual(self.files(), ["folded"])
        self.assertEqual(self.sum().acquires(), {"HF_OK": 1})

    def test_a_closed_client_of_a_living_process_is_folded(self):
        with self.worker(stdin=subprocess.PIPE) as worker:
            self.assertEqual(worker.stdout.read(1), b".")
            waiting.eventually("its file to be folded", lambda: self.sum() and
                               self.files() == ["folded"])
            self.assertIsNone(worker.poll())
            self.assertEqual(self.sum().acquires(), {"HF_OK": 1})

    def test_a_fold_that_was_killed_counts_nothing_twice(self):
        """It was killed after the new sum and before the files were removed."""
        self.work(count=3)
        name, = self.files()
        shutil.copy(os.path.join(self.metrics, name), self.path("copy"))
        self.assertEqual(self.sum().acquires(), {"HF_OK": 3})
        shutil.copy(self.path("copy"), os.path.join(self.metrics, name))
        open(os.path.join(self.metrics, "folded.tmp"), "wb").close()
        self.assertEqual(self.sum().acquires(), {"HF_OK": 3})
        self.work(count=2)
        self.assertEqual(self.sum().acquires(), {"HF_OK": 5})
        self.assertEqual(self.files(), ["folded"])

    def test_a_thousand_processes_some_of_them_killed(self):
        """Two who sum meanwhile see a number that never falls.  Whoever was
        killed has counted what he wrote, or one acquire more."""
        chosen = random.Random(1)
        least = most = 0
        left, running, falls = WORKERS, [], []
        ended = threading.Event()
        os.mkdir(self.metrics)

        def sum_up():
            last = 0
            while not ended.is_set():
                now = self.sum().acquires()["HF_OK"]
                if now < last:
                    falls.append((last, now))
                last = now
        readers = [threading.Thread(target=sum_up) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            while left or running:
                while left and len(running) < AT_ONCE:
                    killed = chosen.random() < 0.5
                    running.append((self.worker("w%d" % (left % 100),
                                                10**6 if killed else 5),
                                    killed))
                    left -= 1
                worker, killed = running.pop(0)
                with worker:
                    first = worker.stdout.read(1)
                    if killed:
                        self.assertEqual(first, b".")
                        worker.send_signal(signal.SIGKILL)
                    count = len(first + worker.stdout.read())
                self.assertEqual(worker.returncode, -9 if killed else 0)
                least += count
                most += count + (1 if killed else 0)
        finally:
            ended.set()
            for reader in readers:
                reader.join()
            for worker, _ in running:
                worker.kill()
                worker.communicate()
        self.assertEqual(falls, [])
        seen = self.sum()
        self.assertGreaterEqual(seen.acquires()["HF_OK"], least)
        self.assertLessEqual(seen.acquires()["HF_OK"], most)
        names = sum(value for key, value in seen.items() if
                    key[0] == "holdfast_client_lock_acquires_total")
        self.assertGreaterEqual(names, least)
        self.assertLessEqual(names, most)
        self.assertEqual(self.files(), ["folded"])
        self.assertEqual(self.sum().acquires(), seen.acquires())

    def test_ten_thousand_dead_processes(self):
        """Each with a lock of its own.  Once folded they cost nothing."""
        self.work("pattern")
        name, = self.files()
        path = os.path.join(self.metrics, name)
        with open(path, "rb") as file:
            good = file.read()
        at = good.index(b"pattern\0")
        end = len(good.rstrip(b"\0"))
        least = self.measure()[2]
        shutil.rmtree(self.metrics)
        os.mkdir(self.metrics)
        for i in range(1, DEAD + 1):
            # The id of a name is the beginning of its SHA-256.
            number = b"%07d" % i
            one = (good[:at - 16] + hashlib.sha256(number).digest()[:8] +
                   good[at - 8:at] + number + good[at + 7:end])
            with open(os.path.join(self.metrics, "%032x.live" % i), "wb") as file:
                file.write(one)
                file.truncate(BYTES)
        for _ in range(2):
            text, seconds, kib = self.measure()
            seen = Samples(text)
            print("%d dead processes: %.1f s, %d KiB; of one %d KiB" % (
                DEAD, seconds, kib, least))
            self.assertEqual(seen.acquires(), {"HF_OK": DEAD})
            names = [value for key, value in seen.items() if
                     key[0] == "holdfast_client_lock_acquires_total"]
            self.assertEqual((len(names), sum(names)), (1025, DEAD))
            self.assertLess(kib, least + 16 * 1024)
            self.assertEqual(self.files(), ["folded"])
            self.assertLess(seconds, 60)

    def measure(self):
        """What metrics --dir prints; its seconds and KiB."""
        return harness.measured("metrics", "--dir", self.metrics,
                                env=self.environment)

    def test_progress_on_a_terminal(self):
        """Another one has the lock on the directory for more than a second."""
        self.work()
        fd, terminal = pty.openpty()
        held = os.open(self.metrics, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_SH)
        try:
            process = subprocess.Popen(
                ["setsid", "--ctty", harness.TOOL, "metrics", "--dir",
                 self.metrics], stdin=terminal, stderr=terminal,
                stdout=subprocess.DEVNULL)
            began = time.monotonic()
            waiting.eventually("a second",
                               lambda: time.monotonic() - began > 1.5)
        finally:
            os.close(terminal)
            os.close(held)
        self.assertEqual(process.wait(waiting.LIMIT_S), 0)
        try:
            self.assertIn(b"holdfast: files looked at: 1", os.read(fd, 4096))
        finally:
            os.close(fd)

    def test_what_is_no_such_file_is_named_and_skipped(self):
        self.work()
        name, = self.files()
        with open(os.path.join(self.metrics, name), "rb") as file:
            good = file.read()
        self.assertEqual(len(good), BYTES)
        bad = {
            "0" * 32 + ".live": b"", "1" * 32 + ".live": b"x" * BYTES,
            "2" * 32 + ".live": good[:1000],
            "3" * 32 + ".live": good[:8] + struct.pack("<I", 99) + good[12:],
            "4" * 32 + ".live": good[:12] + struct.pack(">I", 0x01020304) +
                                good[16:],
            "5" * 32 + ".live": good[:96] + struct.pack("<Q", 65) + good[104:],
            "notes.txt": b"mine"}
        for other, text in bad.items():
            with open(os.path.join(self.metrics, other), "wb") as file:
                file.write(text)
        os.symlink("/etc/passwd", os.path.join(self.metrics,
                                               "6" * 32 + ".live"))
        os.mkfifo(os.path.join(self.metrics, "7" * 32 + ".live"))
        status, out, err = self.tool("--dir", self.metrics)
        self.assertEqual(status, 0)
        seen = Samples(out)
        self.assertEqual(seen.acquires(), {"HF_OK": 1})
        self.assertEqual(seen.of("files", state="skipped"), len(bad) + 2, err)
        self.assertEqual(err.count("\n"), len(bad) + 2, err)
        for part in ('"000', "too short", "no file of metrics",
                     "another version", "another byte order", "damaged",
                     "a symbolic link", "no regular file", '"notes.txt"'):
            self.assertIn(part, err)
        for other in bad:
            self.assertIn(other, self.files())

    def test_a_folded_file_that_is_damaged_stays(self):
        self.work()
        self.sum()
        folded = os.path.join(self.metrics, "folded")
        with open(folded, "r+b") as file:
            file.seek(200)
            file.write(b"\xff")
        self.work()
        status, out, err = self.tool("--dir", self.metrics)
        self.assertEqual(status, 0)
        self.assertEqual(Samples(out).acquires(), {"HF_OK": 1})
        self.assertIn('skipped "folded" of user %d: damaged' % os.getuid(), err)
        self.assertIn("nothing is folded into it while that is there; remove it",
                      err)
        self.assertEqual(len(self.files()), 2)
        os.remove(folded)
        self.assertEqual(self.sum().acquires(), {"HF_OK": 1})
        self.assertEqual(self.files(), ["folded"])

    def test_a_file_that_was_never_finished_is_removed(self):
        self.work()
        open(os.path.join(self.metrics, "a" * 32 + ".new"), "wb").close()
        self.sum()
        self.assertEqual(self.files(), ["folded"])

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_another_user_reads_and_folds_nothing(self):
        os.chmod(self.directory, 0o755)
        self.work()
        before = self.files()
        status, out, err = self.tool("--dir", self.metrics, user="nobody")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(Samples(out).acquires(), {"HF_OK": 1})
        self.assertEqual(self.files(), before)

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_a_folded_file_of_another_user_is_not_believed(self):
        os.mkdir(self.metrics)
        os.chmod(self.metrics, 0o1777)
        self.work()
        self.sum()
        os.chown(os.path.join(self.metrics, "folded"), 65534, 65534)
        status, out, err = self.tool("--dir", self.metrics)
        self.assertEqual(status, 0)
        self.assertEqual(Samples(out).acquires(), {"HF_OK": 0})
        self.assertIn("its owner is neither", err)

    def test_a_directory_that_cannot_be_used_keeps_nobody_from_locks(self):
        os.mkdir(self.metrics)
        os.chmod(self.metrics, 0o777)
        status, _, err = self.run_tool("a", "--", "true")
        self.assertEqual(status, 0)
        self.assertIn("no metrics in HOLDFAST_METRICS_DIR: everybody may write",
                      err)
        self.assertEqual(self.files(), [])
        os.rmdir(self.metrics)
        os.symlink(self.locks, self.metrics)
        status, _, err = self.run_tool("a", "--", "true")
        self.assertEqual(status, 0)
        self.assertIn("or a symbolic link", err)
        status, out, err = self.tool("--dir", self.metrics)
        self.assertEqual((status, out), (73, ""))
        status, out, err = self.tool("--dir", self.path("none"))
        self.assertEqual((status, out), (73, ""))
        self.assertIn("No such file", err)

    def test_a_file_that_is_truncated_kills_nobody(self):
        """And it counts what its client counted before, too."""
        for length in (0, 100, 1000, 2000, BYTES + 5000):
            with self.subTest(length=length):
                holder = self.holder()
                name, = self.files()
                path = os.path.join(self.metrics, name)
                os.truncate(path, length)
                self.assertEqual(self.finish(holder)[0], 0)
                self.assertEqual(os.stat(path).st_size, BYTES)
                seen = self.sum()
                self.assertEqual(
                    seen.of("lock_acquires_total", name="lock"), 1)
                self.assertEqual(
                    seen.of("lock_hold_seconds_count", name="lock"), 1)
                shutil.rmtree(self.metrics)

    def test_a_limit_of_the_size_of_files_kills_nobody(self):
        """The kernel ends a process that writes beyond it."""
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        self.environment["HOLDFAST_LOG"] = "warning"
        worker = self.worker(count=2, stderr=subprocess.PIPE,
                             preexec_fn=limited)
        out, err = worker.communicate(timeout=waiting.LIMIT_S)
        self.assertEqual((worker.returncode, out), (0, b".."), err)
        self.assertIn(b"no metrics in HOLDFAST_METRICS_DIR: write of", err)
        self.assertIn(b"File too large", err)
        self.assertEqual(self.files(), [])

    def test_a_limit_that_comes_later_kills_nobody(self):
        holder = self.holder()
        supervisor = self.supervisor(holder)
        resource.prlimit(supervisor, resource.RLIMIT_FSIZE, (0, 0))
        status, _, err = self.finish(holder)
        self.assertEqual(status, 0)
        self.assertIn("the file in HOLDFAST_METRICS_DIR is behind: write of",
                      err)
        self.assertEqual(err.count("is behind"), 1, err)
        self.assertEqual(self.sum().acquires(), {"HF_OK": 1})

    @unittest.skipUnless(harness.can_unshare("-m"),
                         "no mount namespace to be had")
    def test_a_disk_that_is_full_kills_nobody(self):
        """What finds no room is written once there is some."""
        os.mkdir(self.metrics)
        script = """mount -t tmpfs -o size=24k none "$1" || exit 9
            cat /dev/zero > "$1/all" 2>/dev/null
            "$2" run -c "$3" a -- true || exit 8
            truncate -s 16k "$1/all"
            "$2" run -c "$3" a -- sh -c 'cat /dev/zero >> "$1/all"' a "$1"
            "$2" run -c "$3" a -- sh -c '
                cat /dev/zero >> "$1/all"
                i=0
                while [ $i -lt 9 ]; do
                    "$2" run -n -c "$3" b$i -- true || exit 7
                    i=$((i + 1))
                done' a "$1" "$2" "$3" || exit 6
            rm "$1/all"
            "$2" run -c "$3" a -- true || exit 5
            "$2" metrics --dir "$1" """
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "sh", self.metrics,
             harness.TOOL, "file:" + self.locks], env=self.environment,
            capture_output=True, text=True, timeout=waiting.LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("No space left on device", done.stderr)
        self.assertGreaterEqual(Samples(done.stdout).acquires()["HF_OK"], 1)

    def test_another_who_keeps_the_lock(self):
        self.work()
        held = os.open(self.metrics, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_SH)
            status, out, err = self.tool("--dir", self.metrics)
        finally:
            os.close(held)
        self.assertEqual((status, out), (75, ""))
        self.assertIn("lslocks", err)


def histogram(first=1, total_us=1000):
    return struct.pack("<Q20Q", total_us, first, *[0] * (BUCKETS - 1))


def series(count=1, of=None):
    return struct.pack("<5Q", count, count, 0, 0, 0) + 3 * (of or histogram())


def entry(name, of=None, number=None, weight=9):
    """A name with its numbers, as a client writes it unless ${number} is
    given."""
    if number is None:
        number, = struct.unpack("<Q", hashlib.sha256(name).digest()[:8])
    return struct.pack("<QQ", number, weight) + name.ljust(256, b"\0") + (
        of or series())


def file_of_metrics(*entries, of=None):
    """The file of a client that was closed."""
    of = of or series(len(entries))
    with open("/proc/sys/kernel/random/boot_id", "rb") as file:
        boot = file.read(36)
    body = (of + of + struct.pack("<64Q", len(entries), *[0] * 63) + bytes(32) +
            histogram() + b"".join(entries).ljust(64 * 816, b"\0"))
    return (b"HFMETRIC" + struct.pack("<IIQ40s5Q", 2, 0x01020304, BYTES, boot,
                                      1, 1, 1, 2, len(entries)) + body)


class Neighbours(Case):
    """Other users write into the directory whatever they like."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.metrics)
        os.chmod(self.metrics, 0o1777)

    def put(self, content, user=None, name=None):
        path = os.path.join(self.metrics, name or
                            "%032x.live" % random.getrandbits(128))
        with open(path, "wb") as file:
            file.write(content)
        if user is not None:
            os.chown(path, user, user)
        return path

    def test_names_that_no_client_writes(self):
        """They count among the others, and nothing of them is printed."""
        bad = [b"\x1b]0;title\x07\x1b[2J", b"line\rfeed\n", b"\xc2\x9b31m",
               b"no \xff utf-8", b"/other", b"", b"x" * 256]
        self.put(file_of_metrics(
            entry(b"good"), *[entry(name) for name in bad],
            entry(b"same", number=7), entry(b"same", number=8),
            entry(b"same~0123456789abcdef", number=0x0123456789abcdef)))
        for _ in range(2):  # and the same when it was folded
            text = self.printed("--dir", self.metrics)
            self.assertEqual(
                [sign for sign in text if sign != "\n" and not
                 sign.isprintable()], [])
            seen = Samples(text)
            self.assertEqual(
                {key[1][1]: value for key, value in seen.items() if key[0] ==
                 "holdfast_client_lock_acquires_total"},
                {"good": 1, "/other": len(bad) + 3})
        self.assertEqual(self.files(), ["folded"])

    def test_numbers_that_no_client_counts_to(self):
        """A sum of them would begin at zero again, and buckets fall."""
        self.put(file_of_metrics(entry(b"good")))
        for bad in (file_of_metrics(entry(b"a"), of=series(1 << 63)),
                    file_of_metrics(entry(b"a", of=series(of=histogram(
                        (1 << 57) + 1)))),
                    file_of_metrics(entry(b"a", weight=1 << 60)),
                    file_of_metrics(entry(b"a", of=series(of=histogram(
                        total_us=(1 << 64) - 1))))):
            path = self.put(bad)
            status, out, err = self.tool("--dir", self.metrics)
            self.assertEqual(status, 0)
            self.assertIn('skipped "%s" of user %d: it has numbers that no' % (
                os.path.basename(path), os.getuid()), err)
            seen = Samples(out)
            self.assertEqual(seen.acquires(), {"HF_OK": 1})
            self.assertEqual(seen.of("files", state="skipped"), 1)
            os.remove(path)

    def test_a_sum_ends_before_it_wraps(self):
        most = 1 << 56
        for _ in range(300):
            self.put(file_of_metrics(entry(
                b"a", of=series(most, histogram(most, most))), of=series(
                    most, histogram(most, most))))
        for _ in range(2):
            seen = self.sum()
            self.assertEqual(seen.of("lock_wait_seconds_count", name="a"),
                             1 << 59)
            buckets = [value for key, value in seen.items() if key[0] ==
                       "holdfast_client_wait_seconds_bucket"]
            self.assertEqual(buckets, sorted(buckets))

    def test_any_bytes_in_any_place(self):
        chosen = random.Random(1)
        good = file_of_metrics(*[entry(b"name%d" % i) for i in range(64)])
        for _ in range(300):
            bad = bytearray(good)
            for _ in range(chosen.choice([1, 2, 8, 64])):
                at = chosen.choice([chosen.randrange(104),
                                    chosen.randrange(len(bad))])
                bad[at:at + 8] = struct.pack("<Q", chosen.choice([
                    0, 1, 63, 64, 65, 1 << 31, 1 << 55, 1 << 63,
                    (1 << 64) - 1, chosen.getrandbits(64)]))
            self.put(bad[:BYTES] if chosen.random() < 0.8 else
                     bad[:chosen.randrange(BYTES)])
        for _ in range(2):
            status, out, err = self.tool("--dir", self.metrics)
            self.assertEqual(status, 0, err)
            self.assertNotIn("\x1b", out)
            Samples(out)

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_what_a_user_counts_stays_in_a_file_of_its_own(self):
        self.put(file_of_metrics(entry(b"ours")))
        self.put(file_of_metrics(entry(b"theirs")), user=65534)
        self.put(file_of_metrics(entry(b"theirs")), user=65533)
        for _ in range(2):
            seen = self.sum()
            self.assertEqual(seen.acquires(), {"HF_OK": 3})
            self.assertEqual(self.files(), ["folded", "folded-65533",
                                            "folded-65534"])
        self.put(file_of_metrics(entry(b"theirs")), user=65534)
        self.assertEqual(self.sum().acquires(), {"HF_OK": 4})
        os.remove(os.path.join(self.metrics, "folded-65534"))
        self.assertEqual(self.sum().acquires(), {"HF_OK": 2})
        os.chown(os.path.join(self.metrics, "folded-65533"), 65533, 65533)
        live = self.put(file_of_metrics(entry(b"theirs")), user=65533)
        status, out, err = self.tool("--dir", self.metrics)
        self.assertEqual((status, Samples(out).acquires()), (0, {"HF_OK": 2}))
        self.assertIn('"folded-65533" of user 65533: its owner is neither', err)
        self.assertIn(os.path.basename(live), self.files())


class Text(Case):
    def test_a_program_writes_its_own(self):
        del self.environment["HOLDFAST_METRICS_DIR"]
        name = 'a"b\\c'
        out = subprocess.run([WORKER, "file:" + self.locks, name, "2"],
                             capture_output=True, text=True, check=True,
                             stdin=subprocess.DEVNULL,
                             env=self.environment).stdout
        seen = Samples(out.removeprefix(".."))
        self.assertEqual(seen.acquires(), {"HF_OK": 2})
        self.assertEqual(seen.of("lock_acquires_total", name=name), 2)
        self.assertEqual(seen.types["holdfast_client_wait_seconds"],
                         "histogram")
        buckets = [value for key, value in seen.items()
                   if key[0] == "holdfast_client_wait_seconds_bucket"]
        self.assertEqual(len(buckets), BUCKETS)
        self.assertEqual(buckets, sorted(buckets))
        self.assertEqual(buckets[-1], 2)

    def test_json_has_the_same_samples(self):
        self.run_tool("a", "--", "true")
        text = self.sum()
        lines = [json.loads(line) for line in
                 self.printed("--json", "--dir", self.metrics).splitlines()]
        found = {(one["metric"], *sorted(one["labels"].items())): one["value"]
                 for one in lines}
        changes = {key for key in text if key[0] == "holdfast_client_files"}
        self.assertEqual({key: value for key, value in found.items()
                          if key not in changes},
                         {key: value for key, value in text.items()
                          if key not in changes})

    def test_each_sample_has_the_labels_of_the_user(self):
        """So the queues of two engines can be in one exporter."""
        holder = self.holder(name="a")
        self.run_tool("b", "--", "true")
        url = "file:" + self.locks
        for arguments in (["-c", url, "a"], ["-c", url], ["--dir",
                                                          self.metrics]):
            labelled = Samples(self.printed(
                "--label", "engine=prod 1", "-L", "at=here", *arguments))
            self.assertGreater(len(labelled), 3)
            for key in labelled:
                self.assertIn(("engine", "prod 1"), key)
                self.assertIn(("at", "here"), key)
        for line in self.printed("-j", "-L", "engine=a\"b", "-c", url,
                                 "a").splitlines():
            self.assertEqual(json.loads(line)["labels"]["engine"], 'a"b')
        self.finish(holder)

    def test_all_names_and_those_that_are_named(self):
        """A lock that is free has a sample then, and the sum is that of all."""
        holders = [self.holder(name=name) for name in ("a/b", "c")]
        seen = Samples(self.printed("-c", "file:" + self.locks, "--within", "",
                                    "--fold", "a", "c", "free", "/c", "a/d"))
        self.assertEqual(
            {key[1][1]: value for key, value in seen.items()
             if key[0] == "holdfast_queue_holders"},
            {"a": 1, "c": 1, "free": 0, "a/d": 0, "/other": 0})
        self.assertEqual(seen[("holdfast_queue_names",)], 2)
        for holder in holders:
            self.finish(holder)

    def test_a_terminal_gets_nothing_that_deceives(self):
        """A name may have such characters; a program that reads it gets it."""
        name = "a\u202eb\u200bc\u3164d"
        self.run_tool(name, "--", "true")
        self.assertIn(name, self.printed("--dir", self.metrics))
        fd, terminal = pty.openpty()
        process = subprocess.Popen(
            [harness.TOOL, "metrics", "--dir", self.metrics], stdout=terminal,
            env=self.environment, stdin=subprocess.DEVNULL)
        os.close(terminal)
        shown = b""
        try:
            while chunk := os.read(fd, 65536):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        os.close(fd)
        self.assertEqual(process.wait(waiting.LIMIT_S), 0)
        self.assertIn('name="a?b?c?d"', shown.decode())

    def test_the_command_line(self):
        for arguments, part in (
                (["--label", "name=a"], "none of name, le"),
                (["--label", "a b=c"], "expected KEY=VALUE"),
                (["--label", "a"], "expected KEY=VALUE"),
                (["--label", "a=b\nc"], "expected KEY=VALUE"),
                (["--label", "a=b", "-L", "a=c"], "expected it once"),
                (sum((["-L", "l%d=a" % i] for i in range(9)), []),
                 "expected at most that many"),
                (["--within", "a", "b//c"], "empty component"),
                (["--within", "a"] + ["n%d" % i for i in range(65)],
                 "at most 64 NAMEs"),
                (["--all", "--dir", self.metrics], "expected one of the two"),
                (["--fold", "a/"], "none at the end"),
                (sum((["-f", "p%d" % i] for i in range(17)), []),
                 "expected at most that many"),
                (["--within", "a//b"], "empty component"),
                (["--dir", self.metrics, "a"], "expected one of the two"),
                (["--dir", self.metrics, "-c", "file:"], "one of the two")):
            status, out, err = self.tool(*arguments)
            self.assertEqual((status, out), (64, ""))
            self.assertIn(part, err)
        for names in ([], ["a"]):
            status, out, err = self.tool("-c", "file:" + self.path("none"),
                                         *names)
            self.assertEqual((status, out), (73, ""))
        with socket.socket() as dead:
            dead.bind(("127.0.0.1", 0))
            status, out, err = self.tool("-c", "zk://127.0.0.1:%d" %
                                         dead.getsockname()[1], "-w", "300ms",
                                         "a")
            self.assertEqual((status, out), (69, ""), err)

    def test_a_pipe_that_is_closed(self):
        done = subprocess.run(
            "mkdir -p %s; %s metrics --dir %s | head -1" % (
                self.metrics, harness.TOOL, self.metrics),
            shell=True, capture_output=True, text=True, env=self.environment)
        self.assertEqual(done.stdout,
                         "# TYPE holdfast_client_acquires counter\n")


class Log(Case):
    def log(self, value):
        self.environment["HOLDFAST_LOG"] = value
        status, _, err = self.run_tool("a", "--", "true")
        self.assertEqual(status, 0)
        return err.splitlines()

    def test_lines_and_json(self):
        lines = self.log("debug")
        self.assertTrue(any('debug: "a" is granted; its token is' in line
                            for line in lines), lines)
        parsed = [json.loads(line) for line in self.log("debug,json")]
        self.assertTrue(any(one["text"].startswith('"a" is granted')
                            for one in parsed), parsed)
        for one in parsed:
            self.assertEqual(set(one), {"time", "pid", "level", "text"})
        self.assertEqual(self.log("error"), [])

    def test_every_command_that_looks_has_it(self):
        self.environment["HOLDFAST_LOG"] = "debug"
        for command in ("show", "ls", "metrics", "revoke"):
            with self.subTest(command):
                done = subprocess.run([harness.TOOL, command, "a"],
                                      env=self.environment, text=True,
                                      capture_output=True,
                                      timeout=waiting.LIMIT_S)
                self.assertIn("info: the session is CONNECTED", done.stderr)

    def test_another_value_is_named(self):
        lines = self.log("verbose")
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("HOLDFAST_LOG is not as expected", lines[0])


if __name__ == "__main__":
    harness.main()
