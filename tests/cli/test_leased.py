# SPDX-License-Identifier: Apache-2.0
"""holdfast run on Redis, PostgreSQL and etcd, where tickets are leased: the whole
tree of a command is dead before the next one can be in.

    test_leased.py [Redis] [PostgreSql] [Etcd]
"""

import os
import signal
import subprocess
import sys

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import etcd  # noqa: E402
import postgres  # noqa: E402
import redis_server  # noqa: E402
from proxy import DOWN, UP, Proxy  # noqa: E402

TTL_MS = 2000
LONG_TTL_MS = 300000  # the longest that each engine takes

LOST = "'%s' was lost while the command ran, which was therefore stopped"
LATE = "did not move in time to prove"


class Leased:
    """A mixin for a harness.Case that has .server, .url(ttl_ms, port) and
    .in_queue(name): how many tickets a lock has."""

    def tearDown(self):
        self.server.thaw()
        super().tearDown()

    def proxy(self):
        proxy = Proxy(self.server.port)
        self.addCleanup(proxy.close)
        return proxy

    def tree(self, name, *options, ttl_ms=TTL_MS, port=None):
        """A holder whose tree is hard to end, all of it beating."""
        script = " & ".join([self.beat_command(name, flags="t"),
                             self.beat_command(name, flags="ts"),
                             self.beat_command(name, flags="td"),
                             "exec " + self.beat_command(name, flags="t")])
        launcher = self.start("-c", self.url(ttl_ms, port), *options, name, "--",
                              "sh", "-c", script)
        self.beating(name, 4)
        return launcher

    def next_holder(self, name):
        """The next one in the queue, which beats five times as NAME.next."""
        launcher = self.start("-c", self.url(TTL_MS), name, "--", "sh", "-c",
                              "exec " + self.beat_command(name + ".next", 5))
        waiting.eventually("the next one to queue",
                           lambda: self.in_queue(name) == 2)
        return launcher

    def assert_followed(self, name, following):
        """The next one was granted the lock when no process of the tree beat
        any more."""
        self.assertEqual(self.finish(following)[0], 0)
        self.assert_before(name, name + ".next")
        for pid in {beat.pid for beat in self.beats(name)}:
            self.assertFalse(harness.is_alive(pid))

    def test_who_is_cut_off_frozen_or_killed_is_stopped_in_time(self):
        links = {"up": self.proxy(), "down": self.proxy()}
        faults = {
            "up": (lambda launcher: links["up"].drop(UP), (LOST % "up", LATE)),
            "down": (lambda launcher: links["down"].drop(DOWN),
                     (LOST % "down", LATE)),
            "frozen": (lambda launcher: os.kill(self.supervisor(launcher),
                                                signal.SIGSTOP), (LATE,)),
            "killed": (lambda launcher: os.kill(self.supervisor(launcher),
                                                signal.SIGKILL),
                       ("was killed by signal 9; the command was stopped",))}
        launchers = {name: self.tree(name, "--grace", "5s", port=links[name].port
                                     if name in links else None)
                     for name in faults}
        following = {name: self.next_holder(name) for name in faults}
        for name, (fault, _) in faults.items():
            fault(launchers[name])
        for name, (_, texts) in faults.items():
            with self.subTest(name):
                status, _, err = self.finish(launchers[name])
                self.assertEqual(status, 76, err)
                self.assertTrue(any(text in err for text in texts), err)
                self.assert_followed(name, following[name])

    def test_the_launcher_comes_before_other_programs(self):
        """If it may; only the launcher, and only under a lease."""
        may = subprocess.run(["chrt", "-r", "1", "true"], check=False,
                             stderr=subprocess.DEVNULL).returncode == 0
        others, first = os.SCHED_OTHER, os.SCHED_RR if may else os.SCHED_OTHER
        launcher = self.holder("-c", self.url(TTL_MS))
        supervisor, command = self.supervisor(launcher), self.command(launcher)
        policy = lambda pid: os.sched_getscheduler(pid) & ~os.SCHED_RESET_ON_FORK
        waiting.eventually("the launcher's priority",
                           lambda: policy(launcher.pid) == first)
        self.assertEqual((policy(supervisor), policy(command)), (others, others))
        without = self.holder("-c", "file:" + self.locks)
        self.assertEqual(policy(without.pid), others)

    def test_a_stopped_launcher_does_not_keep_the_tree_alive(self):
        """Its supervisor is killed then.  Neither process of the tree that has
        a session of its own is stopped with the job."""
        stops = {"stopped": lambda pid: os.kill(pid, signal.SIGSTOP),
                 "job": lambda pid: os.killpg(pid, signal.SIGSTOP)}
        for name, stop in stops.items():
            with self.subTest(name):
                launcher = self.tree(name)
                following = self.next_holder(name)
                supervisor = self.supervisor(launcher)
                stop(launcher.pid)
                waiting.eventually(
                    "the launcher to stop",
                    lambda pid=launcher.pid: harness.state_of(pid) == "T")
                os.kill(supervisor, signal.SIGKILL)
                self.assert_followed(name, following)
                os.kill(launcher.pid, signal.SIGCONT)
                self.assertEqual(self.finish(launcher)[0], 76)

    def test_a_supervisor_that_freezes_while_it_ends_the_tree(self):
        """It can grant nothing more, but neither end the run."""
        launcher = self.in_grace("-c", self.url(6000), "ending")
        os.kill(self.supervisor(launcher), signal.SIGSTOP)
        status, _, err = self.finish(launcher)
        self.assertEqual(status, 76, err)
        self.assertIn(LATE, err)

    def test_the_guard_is_there_as_long_as_its_grant(self):
        launcher = self.holder("-c", self.url(TTL_MS))
        supervisor, guard = harness.children(launcher.pid)
        waiting.eventually("the guard to have a session of its own",
                           lambda: os.getsid(guard) == guard)
        self.assertEqual(harness.children(guard), [])
        launcher.kill()
        for pid in (guard, supervisor):
            harness.ended(pid)
        without = self.holder("-c", "file:" + self.locks)
        self.assertEqual(len(harness.children(without.pid)), 1)

    def test_after_a_killed_launcher_the_next_one_follows_at_once(self):
        launcher = self.tree("launcher", "--grace", "100ms", ttl_ms=LONG_TTL_MS)
        following = self.next_holder("launcher")
        launcher.kill()
        self.assert_followed("launcher", following)

    def test_after_a_killed_supervisor_the_next_one_follows_at_once(self):
        """The launcher removes the ticket when it has ended the tree."""
        launcher = self.tree("supervisor", "--grace", "100ms", ttl_ms=LONG_TTL_MS)
        following = self.next_holder("supervisor")
        os.kill(self.supervisor(launcher), signal.SIGKILL)
        self.assert_followed("supervisor", following)
        self.assertEqual(self.finish(launcher)[0], 76)

    def test_a_frozen_server_stops_the_command(self):
        launcher = self.tree("server")
        self.server.freeze()
        status, _, err = self.finish(launcher)
        self.assertEqual(status, 76, err)
        # On a busy machine the supervisor may be late, and the launcher acts.
        self.assertTrue("the engine did not confirm it in time" in err or
                        LATE in err, err)
        self.server.thaw()
        self.assertEqual(self.run_tool("-c", self.url(TTL_MS), "server",
                                       "--", "true")[0], 0)


class Redis(Leased, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = redis_server.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self, ttl_ms, port=None):
        return "redis://127.0.0.1:%d/0?ttl=%dms" % (
            port or self.server.port, ttl_ms)

    def in_queue(self, name):
        with self.server.client() as client:
            return len(redis_server.tickets(client, name))


class PostgreSql(Leased, harness.Case):
    def test_who_looks_makes_no_schema(self):
        """Twice: the first would have made it."""
        self.server.sql("CREATE DATABASE unused")
        url = self.url(TTL_MS).replace("/postgres?", "/unused?")
        for _ in range(2):
            shown = subprocess.run(
                [harness.TOOL, "show", "-c", url, "lock"], text=True,
                capture_output=True, timeout=waiting.LIMIT_S)
            self.assertEqual((shown.returncode, shown.stdout), (64, ""))
            self.assertIn("the database has no schema holdfast", shown.stderr)
            self.assertIn("check its name", shown.stderr)
        self.assertEqual(self.run_tool("-c", url, "lock", "--",
                                       harness.TOOL, "show", "-Hqc", url, "lock")[0], 0)

    @classmethod
    def setUpClass(cls):
        # Without a password in what the tool is called with.
        cls.server = postgres.Server(access="local all all trust\n"
                                     "host all all 127.0.0.1/32 trust\n")
        cls.addClassCleanup(cls.server.close)

    def url(self, ttl_ms, port=None):
        return "postgresql://postgres@127.0.0.1:%d/postgres?ttl=%dms" % (
            port or self.server.port, ttl_ms)

    def in_queue(self, name):
        return self.server.sql(
            "SELECT count(*) FROM holdfast.ticket t JOIN holdfast.queue q "
            "ON q.number = t.queue WHERE q.name = %s", (name.encode(),))[0][0]


class Etcd(Leased, harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = etcd.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def url(self, ttl_ms, port=None):
        return "etcd://127.0.0.1:%d?ttl=%dms" % (port or self.server.port, ttl_ms)

    def in_queue(self, name):
        with self.server.client() as client:
            return len(client.list(name + "/"))


if __name__ == "__main__":
    harness.main()
