# SPDX-License-Identifier: Apache-2.0
"""holdfast run --once-per and holdfast last: within the period after a success
that was written no run starts its command, and after anything else one does."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import engines
import harness
from harness import waiting

HOUR_MS = 3600 * 1000
EARLY = re.compile(r"^holdfast: '[\w-]+' has succeeded \S+ ago \([\d-]+ [\d:]+ "
                   r"UTC, token \d+\); it is due in \S+\n$")


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_URL"] = self.url()
        # The tests share a server.
        self.name = self._testMethodName.replace("_", "-")
        self.ran = self.path("ran")

    def count(self):
        """How often the command was started."""
        try:
            with open(self.ran) as file:
                return len(file.read().split())
        except FileNotFoundError:
            return 0

    def arguments(self, *options, period="20h", script=""):
        return ["--once-per", period, *options, self.name, "--", "sh", "-c",
                "echo ran >>'%s'; %s" % (self.ran, script)]

    def once(self, *options, env=None, **how):
        """The exit status and the error output of a run."""
        status, _, err = self.run_tool(*self.arguments(*options, **how),
                                       env=env or self.environment)
        return status, err

    def last(self):
        """What holdfast last prints, as an object; None if there is none."""
        done = subprocess.run([harness.TOOL, "last", "--json", self.name],
                              env=self.environment, text=True,
                              capture_output=True, timeout=waiting.LIMIT_S)
        found = json.loads(done.stdout)
        self.assertEqual(found["name"], self.name)
        self.assertEqual(done.returncode, 1 if found["success"] is None else 0)
        return found["success"]

    def is_early(self, **how):
        before = self.count()
        status, err = self.once(**how)
        self.assertEqual(status, 0, err)
        self.assertRegex(err, EARLY)
        self.assertEqual(self.count(), before)

    def is_due(self, **how):
        before = self.count()
        status, err = self.once(**how)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(self.count(), before + 1)

    def is_over(self):
        """Wait for the end of a period of 300 ms."""
        waiting.eventually("the end of a short period",
                           lambda: self.last()["age_ms"] > 300)

    def other_clock(self):
        """The environment of a run whose wall clock jumps by up to four hours,
        back and forth, all the time."""
        checks = [os.environ.get("ASAN_OPTIONS", ""), "verify_asan_link_order=0"]
        return dict(self.environment, LD_PRELOAD=os.environ["WALL_CLOCK"],
                    ASAN_OPTIONS=":".join(filter(None, checks)))


class OnAll:
    """What holds on each engine."""

    def test_once_in_a_period(self):
        self.is_due()
        last = self.last()
        self.assertGreater(last["token"], 0)
        self.assertLess(last["age_ms"], HOUR_MS)
        self.is_early()
        self.assertEqual(self.once("-q"), (0, ""))
        self.assertEqual(self.last()["token"], last["token"])
        self.is_over()
        self.is_due(period="300ms")
        self.assertGreater(self.last()["token"], last["token"])
        # Without the option a run neither reads nor writes it.
        token = self.last()["token"]
        self.assertEqual(self.run_tool(self.name, "--", "true")[0], 0)
        self.assertEqual(self.last()["token"], token)

    def test_failures(self):
        before = self.count()
        self.assertEqual(self.once(script="exit 3"), (3, ""))
        self.assertEqual(self.once(script="kill -9 $$")[0], 128 + 9)
        self.assertIsNone(self.last())
        self.is_due()
        self.assertEqual(self.count(), before + 3)
        self.is_early()

    def killed(self, process, *, supervisor=False):
        """Kill both processes of a run and its command, as a machine that
        dies; or only one of the two."""
        pids = [process.pid, *harness.descendants(process.pid)]
        if supervisor:
            pids = [self.supervisor(process)]
        for pid in pids:
            harness.kill(pid, signal.SIGSTOP)
        for pid in pids:
            harness.kill(pid)
        self.finish(process)

    def test_kills(self):
        """In the queue, while the command runs, and when it has ended; then
        the next one runs it."""
        holder = self.start(self.name, "--", "sh", "-c", "echo; exec cat",
                            stdin=subprocess.PIPE)
        waiting.read_line(holder)
        waiter = self.start(*self.arguments())
        self.until_queued(self.name, 2, waiter)
        self.killed(waiter)
        self.finish(holder)  # which ends its input
        self.assertIsNone(self.last())
        for supervisor in (False, True):
            process = self.start(*self.arguments(script="echo up; exec sleep 1000"))
            waiting.read_line(process, "up")
            self.killed(process, supervisor=supervisor)
            self.assertIsNone(self.last())
        self.is_due()
        self.is_early()
        # With a period that is over.  It is killed when the command has
        # succeeded and left a job behind, so that nothing is written yet.
        token = self.last()["token"]
        process = self.start(*self.arguments("-g", "1h", period="1ms",
                                             script=harness.LEAVE_JOB),
                             stdin=subprocess.PIPE)
        waiting.read_line(process, "ready")
        process.stdin.write("\n")
        process.stdin.flush()
        waiting.read_line(process, "TERM")
        self.killed(process)
        self.assertEqual(self.last()["token"], token)
        self.is_due(period="1ms")
        # When it is written, and the lock is still kept.
        token = self.last()["token"]
        process = self.start("-v", "--at-least", "1h",
                             *self.arguments(period="1ms"))
        waiting.eventually("the success",
                           lambda: self.last()["token"] > token, of=[process])
        self.killed(process)
        self.is_early()

    def test_a_restart(self):
        self.is_due()
        before = self.last()
        self.restart()
        after = self.last()
        self.assertEqual((after["token"], after["at"]),
                         (before["token"], before["at"]))
        self.is_early()

    def test_a_lost_lock(self):
        process = self.start(*self.arguments(script="echo up; exec cat"),
                             stdin=subprocess.PIPE)
        waiting.read_line(process, "up")
        ticket, = self.tickets_of(self.name)
        evicted = subprocess.run(
            [harness.TOOL, "evict", "-y", self.name, ticket["id"]],
            env=self.environment, text=True, capture_output=True,
            timeout=waiting.LIMIT_S)
        self.assertEqual(evicted.returncode, 0, evicted.stderr)
        self.assertEqual(self.finish(process)[0], 76)
        self.assertIsNone(self.last())
        self.is_due()

    def test_other_clocks(self):
        self.is_due(env=self.other_clock())
        for _ in range(5):
            self.is_early(env=self.other_clock(), period="10m")
        self.is_early(period="10m")
        # Nor is it due later.
        self.is_over()
        self.is_due(env=self.other_clock(), period="300ms")


class Future:
    """Of engines whose success can be put off."""

    def test_the_future(self):
        """The clock of the engine was set back by ten hours."""
        self.is_due()
        token = self.last()["token"]
        self.put_off(10 * HOUR_MS)
        self.assertLess(self.last()["age_ms"], -9 * HOUR_MS)
        self.is_early(period="1h")
        last = self.last()
        self.assertEqual(last["token"], token)
        self.assertGreaterEqual(last["age_ms"], 0)
        self.is_over()
        self.is_due(period="300ms")


class OnFiles(engines.File, Future, OnAll, Case):
    def url(self):
        return "%s?state=%s" % (super().url(), self.path("state"))

    def written(self):
        """The file with the success."""
        name, = (name for name in os.listdir(self.path("state"))
                 if name.startswith("success-"))
        return os.path.join(self.path("state"), name)

    def rewrite(self, later_ms):
        """As if an earlier boot had written the success, later by later_ms,
        with the directory of the locks in memory."""
        shutil.rmtree(self.locks)
        os.mkdir(self.locks, 0o700)
        with open(self.written()) as file:
            token, at_ms, boot, boot_ms = file.read().split()
        boot = re.sub("[0-9a-f]", lambda digit: "%x" % (int(digit[0], 16) ^ 1),
                      boot)
        with open(self.written(), "w") as file:
            file.write("%s %d %s %s\n" % (token, int(at_ms) + later_ms, boot,
                                          boot_ms))

    def restart(self):
        self.rewrite(0)

    def put_off(self, later_ms):
        self.rewrite(later_ms)

    # ---- what is not of the engine

    def test_the_calendar_day(self):
        """By the TZ of the run: here that of a zone where it is noon, one
        where it is late, and one where the day has just begun."""
        now = time.gmtime()
        noon = dict(self.environment, TZ="AAA%+d" % (now.tm_hour - 12))
        self.is_due(period="day", env=noon)
        self.is_early(period="day", env=noon)
        self.rewrite(-25 * HOUR_MS)
        self.is_due(period="day", env=noon)
        self.rewrite(-13 * HOUR_MS)
        self.is_due(period="day", env=noon)
        self.rewrite(-11 * HOUR_MS)
        self.is_early(period="day", env=noon)
        evening = dict(self.environment, TZ="AAA%+d" % (now.tm_hour - 23))
        self.is_early(period="day", env=evening)
        midnight = dict(self.environment, TZ="AAA%+d" % now.tm_hour)
        self.is_due(period="day", env=midnight)

    def test_a_success_that_cannot_be_written(self):
        process = self.start(*self.arguments(script="echo up; exec cat"),
                             stdin=subprocess.PIPE)
        waiting.read_line(process, "up")
        os.rename(self.path("state"), self.path("elsewhere"))
        with open(self.path("state"), "w"):
            pass
        status, _, err = self.finish(process)
        self.assertRegex(err, r"^holdfast: the command has succeeded, and may "
                              r"run again within the period all the same: ")
        self.assertEqual(status, 73)
        os.unlink(self.path("state"))
        os.rename(self.path("elsewhere"), self.path("state"))
        self.assertIsNone(self.last())
        self.is_due()

    def test_what_is_refused(self):
        for arguments in (("--once-per", "1h", "a", "b"),
                          ("--once-per", "1h", "-s", "a"),
                          ("--once-per", "1h", "-p", "1/2", "a"),
                          ("--once-per", "0s", "a"), ("--once-per", "week", "a"),
                          ("--once-per", "20", "a")):
            with self.subTest(arguments):
                status, _, err = self.run_tool(*arguments, "--", "true")
                self.assertEqual(status, 64)
                self.assertIn("--once-per", err)

    def test_no_period(self):
        """The text has an example that is a period, and the word "day"."""
        for text in ("", "20", "week", "1h1d", "0s"):
            with self.subTest(text):
                status, _, err = self.run_tool("--once-per", text, "a", "--",
                                               "true")
                self.assertEqual(status, 64)
                self.assertRegex(err, "^holdfast: --once-per .*expected a "
                                      "(period|number and a unit).*, for "
                                      "instance 20h, or day\n$")

    def test_a_writer(self):
        self.is_due()
        before = self.count()
        self.assertEqual(self.once("-x", period="1ms"), (0, ""))
        self.assertEqual(self.count(), before + 1)

    def test_too_early_is_at_once(self):
        """--at-least keeps nothing, since nothing was run."""
        self.is_due()
        began = time.monotonic()
        self.assertEqual(self.once("--at-least", "1h")[0], 0)
        self.assertLess(time.monotonic() - began, 1800)

    def test_what_last_prints(self):
        def last(*arguments):
            done = subprocess.run([harness.TOOL, "last", *arguments],
                                  env=self.environment, text=True,
                                  capture_output=True, timeout=waiting.LIMIT_S)
            return done.returncode, done.stdout, done.stderr

        self.assertEqual(last(self.name),
                         (1, self.name + " has never succeeded\n", ""))
        self.is_due()
        status, out, err = last(self.name)
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ  \S+ ago, "
                              r"token \d+\n$")
        self.rewrite(HOUR_MS)
        self.assertIn("ahead of the clock", last(self.name)[1])
        self.assertEqual(last("a//b")[0], 64)
        self.assertEqual(last()[0], 64)


class OnZooKeeper(engines.ZooKeeper, OnAll, Case):
    def restart(self):
        self.server.restart()


class OnEtcd(engines.Etcd, Case):
    """No answer has a time, so it is refused, and nothing is started or held."""

    NO_TIME = ("etcd tells no time, so it cannot be known how long ago the last"
               " success was; expected another engine, such as redis:")

    def test_it_is_refused(self):
        for options in ((), ("-n",)):
            status, err = self.once(*options)
            self.assertEqual((status, self.count()), (64, 0), err)
            self.assertIn(self.NO_TIME, err)
            self.assertEqual(self.in_queue(self.name), 0)
        asked = subprocess.run([harness.TOOL, "last", self.name], text=True,
                               env=self.environment, capture_output=True,
                               timeout=waiting.LIMIT_S)
        self.assertEqual((asked.returncode, asked.stdout), (64, ""))
        self.assertIn(self.NO_TIME, asked.stderr)


class OnRedis(engines.Redis, Future, OnAll, Case):
    key = "holdfast:{%s}:success"

    def restart(self):
        self.server.restart()

    def servers(self):
        return [self.server]

    def put_off(self, later_ms):
        key = self.key % self.name
        for server in self.servers():
            with server.client() as client:
                found = client.ask("GET", key)
                if found is None:  # a minority of a quorum
                    continue
                token, at_ms = found.split()
                client.ask("SET", key, "%s %d" % (int(token),
                                                  int(at_ms) + later_ms))


class OnQuorum(OnRedis):
    key = "holdfast:{%s}:quorum:success"
    lease_ms = engines.SHORT_LEASE_MS

    @classmethod
    def setUpClass(cls):
        import redis_server
        cls.server = None
        cls.several = redis_server.Several(3, config=["appendonly yes",
                                                      "appendfsync always"])
        cls.addClassCleanup(cls.several.close)
        for server in cls.several.servers:
            server.start()

    def url(self):
        return self.several.url("?ttl=%dms&rejoin=%dms" % (self.lease_ms,
                                                           self.lease_ms))

    def servers(self):
        return self.several.servers

    def restart(self):
        for server in self.servers():
            server.restart()
        self.until_they_count()

    def setUp(self):
        super().setUp()
        self.until_they_count()

    def until_they_count(self):
        """A server that was started not long ago does not."""
        waiting.eventually("three servers", lambda: self.run_tool(
            "other", "--", "true")[::2] == (0, ""))

    def test_without_a_minority(self):
        """One of three that has missed the success changes nothing."""
        first, second, third = self.servers()
        first.freeze()
        try:
            self.is_due()
        finally:
            first.thaw()
        third.freeze()
        try:
            self.is_early()
        finally:
            third.thaw()


class OnPostgreSql(engines.PostgreSql, Future, OnAll, Case):
    def restart(self):
        self.server.restart()

    def put_off(self, later_ms):
        self.server.sql("UPDATE holdfast.success SET succeeded_at = "
                        "succeeded_at + interval '%d ms'" % later_ms)


if __name__ == "__main__":
    harness.main()
