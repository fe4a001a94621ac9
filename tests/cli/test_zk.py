# SPDX-License-Identifier: Apache-2.0
"""holdfast run on ZooKeeper: faults of its connection, and of its launcher and
its supervisor.  The whole tree of a command is dead before the server can have
let the session expire, by the server's own log."""

import os
import signal
import sys

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402
from proxy import DOWN, UP, Proxy  # noqa: E402
from zookeeper import Standalone  # noqa: E402

KILL, STOP, CONT = signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT

LONG = os.environ.get("HF_LONG") == "1"
TIMEOUTS_MS = (4000, 6000, 10000) if LONG else (4000,)
TICK_MS = 500


class ZooKeeper(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Standalone(tick_ms=TICK_MS)
        cls.count = 0

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        super().setUp()
        self.proxies = []

    def tearDown(self):
        self.server.thaw()
        super().tearDown()
        for proxy in self.proxies:
            proxy.close()

    # ---- what the tests are made of

    def proxy(self):
        self.proxies.append(Proxy(self.server.port))
        return self.proxies[-1]

    def url(self, timeout_ms, port=None):
        return "zk://127.0.0.1:%d?timeout=%dms" % (port or self.server.port,
                                                   timeout_ms)

    def name(self):
        type(self).count += 1
        return "lock-of-test-%d" % self.count

    def tree(self, name, url, *options):
        """A holder whose tree is hard to end, all of it beating under the
        name; and the session of its ticket."""
        script = " & ".join([self.beat_command(name, flags="t"),
                             self.beat_command(name, flags="ts"),
                             self.beat_command(name, flags="td"),
                             "exec " + self.beat_command(name, flags="t")])
        launcher = self.start("-c", url, *options, name, "--", "sh", "-c", script)
        self.beating(name, 4)
        return launcher, self.sessions(name)[0]

    def next_holder(self, name, timeout_ms):
        """The next one in the queue, which beats five times as NAME.next."""
        launcher = self.start("-c", self.url(timeout_ms), name, "--", "sh", "-c",
                              "exec " + self.beat_command(name + ".next", 5))
        waiting.eventually("the next one to queue",
                           lambda: len(self.sessions(name)) == 2)
        return launcher

    def sessions(self, name):
        """Those of the tickets of a lock, in the order of the queue."""
        path = "/" + name
        with self.server.client() as client:
            nodes = [client.exists(path + "/" + child)
                     for child in client.children(path) or []]
        return [node.ephemeral_owner for node in
                sorted((n for n in nodes if n), key=lambda n: n.czxid)]

    def expired_at(self, session):
        """In ms, once the server says so."""
        return waiting.eventually("the session's end in the log", lambda: [
            at for at, number, _ in self.server.expirations()
            if number == session])[0]

    def last_beat(self, name):
        return max(beat.at for beat in self.beats(name)) / 1000

    def assert_dead(self, name):
        for pid in {beat.pid for beat in self.beats(name)}:
            self.assertFalse(harness.is_alive(pid))

    def assert_dead_before_expiry(self, name, session):
        self.assert_dead(name)
        expired_at = self.expired_at(session)
        self.assertLess(self.last_beat(name), expired_at)
        print("dead %.0f ms before the session's end" % (
            expired_at - self.last_beat(name)), flush=True)

    def assert_lost(self, launcher, *texts):
        status, _, err = self.finish(launcher)
        self.assertEqual(status, 76, err)
        self.assertTrue(any(text in err for text in texts), err)

    def each_timeout(self, what):
        for timeout_ms in TIMEOUTS_MS:
            with self.subTest(timeout_ms=timeout_ms):
                what(timeout_ms)

    # ---- the server and the way to it

    def cut(self, timeout_ms):
        runs = []
        for grace in ("5s", "0s"):
            for ways in ((UP,), (DOWN,), (UP, DOWN)):
                name, proxy = self.name(), self.proxy()
                runs.append((name, proxy, ways, *self.tree(
                    name, self.url(timeout_ms, proxy.port), "--grace", grace)))
        for _, proxy, ways, _, _ in runs:
            proxy.drop(*ways)
        for name, _, _, launcher, session in runs:
            # Without grace the launcher watches over the last moments as well,
            # and on a busy machine it may be the one that is awake in time.
            self.assert_lost(launcher, "'%s' was lost while the command ran, "
                             "which was therefore stopped" % name,
                             "did not move in time to prove")
            self.assert_dead_before_expiry(name, session)

    def test_fn17_cut_link(self):
        self.each_timeout(self.cut)

    def freeze_server(self, timeout_ms):
        name = self.name()
        launcher, _ = self.tree(name, self.url(timeout_ms))
        self.server.freeze()
        self.assert_lost(launcher, "the engine did not confirm it in time")
        self.assert_dead(name)
        self.server.thaw()
        self.assertEqual(self.run_tool("-c", self.url(timeout_ms), name, "--",
                                       "true")[0], 0)

    def test_frozen_server(self):
        self.each_timeout(self.freeze_server)

    def test_a_session_outlasts_its_timeout(self):
        self.outlast_the_timeout(self.url(4000))

    def test_a_lazy_session_is_asked_for_its_proof(self):
        """Nobody else would, and the command ends with its promise."""
        self.outlast_the_timeout(self.url(4000) + "&proof=lazy")

    def outlast_the_timeout(self, url):
        """With more grace wanted than a lease has."""
        name = self.name()
        launcher = self.start("-c", url, "--grace", "1h", name, "--",
                              "sh", "-c", "exec " + self.beat_command(name))
        self.beating(name, 1)
        began_at = self.last_beat(name)
        waiting.eventually("more than a timeout to pass", lambda:
                           self.last_beat(name) > began_at + 6000)
        self.assertIsNone(launcher.poll())
        launcher.terminate()
        self.assertEqual(self.finish(launcher)[0], 128 + signal.SIGTERM)

    # ---- the halves

    def freeze_supervisor(self, timeout_ms):
        name = self.name()
        launcher, session = self.tree(name, self.url(timeout_ms))
        following = self.next_holder(name, timeout_ms)
        os.kill(self.supervisor(launcher), STOP)
        self.assert_lost(launcher, "did not move in time to prove that it still "
                         "does; the command was killed")
        self.assert_dead_before_expiry(name, session)
        self.assertEqual(self.finish(following)[0], 0)
        self.assert_before(name, name + ".next")

    def test_frozen_supervisor(self):
        self.each_timeout(self.freeze_supervisor)

    def test_frozen_launcher(self):
        """The supervisor alone keeps the session, and ends the tree."""
        name = self.name()
        launcher, _ = self.tree(name, self.url(4000))
        launcher.send_signal(STOP)
        stopped_at = self.last_beat(name)
        following = self.next_holder(name, 4000)
        waiting.eventually("a timeout to pass", lambda:
                           self.last_beat(name) > stopped_at + 5000)
        self.assertEqual(len(self.sessions(name)), 2)
        os.kill(self.command(launcher), KILL)
        self.assertEqual(self.finish(following)[0], 0)
        self.assert_before(name, name + ".next")
        launcher.send_signal(CONT)
        self.assertEqual(self.finish(launcher)[0], 128 + KILL)

    def kill_supervisor(self, timeout_ms):
        name = self.name()
        launcher, session = self.tree(name, self.url(timeout_ms))
        following = self.next_holder(name, timeout_ms)
        os.kill(self.supervisor(launcher), KILL)
        self.assert_lost(launcher, "was killed by signal 9; the command was "
                         "stopped")
        self.assert_dead_before_expiry(name, session)
        self.assertEqual(self.finish(following)[0], 0)
        self.assert_before(name, name + ".next")

    def test_killed_supervisor(self):
        self.each_timeout(self.kill_supervisor)

    def test_killed_launcher(self):
        """The supervisor closes the session: nobody waits for a timeout."""
        name = self.name()
        launcher, session = self.tree(name, self.url(40000), "--grace", "100ms")
        following = self.next_holder(name, 4000)
        launcher.kill()
        self.assertEqual(self.finish(following)[0], 0)
        self.assert_before(name, name + ".next")
        self.assertNotIn(session, [number for _, number, _ in
                                   self.server.expirations()])

    # ---- no connection, and where the URL comes from

    def assert_unreachable(self, *ports):
        """Within a time that is enough for one attempt to fail."""
        names = [self.name() for _ in ports]
        runs = [self.start("-w", "3s", "-c", self.url(4000, port), name, "--",
                           "echo", "ran") for port, name in zip(ports, names)]
        for run, port, name in zip(runs, ports, names):
            status, out, err = self.finish(run)
            self.assertEqual((status, out), (69, ""), err)
            self.assertIn("127.0.0.1:%d" % port, err)
            self.assertEqual(self.sessions(name), [])

    def test_nobody_listens(self):
        port = machine.Port()
        self.assert_unreachable(port.number)
        port.close()

    def test_a_hole_instead_of_a_server(self):
        proxies = [self.proxy() for _ in range(3)]
        for proxy, ways in zip(proxies, ((UP,), (DOWN,), (UP, DOWN))):
            proxy.drop(*ways)
        self.assert_unreachable(*(proxy.port for proxy in proxies))

    def test_a_frozen_server_from_the_beginning(self):
        self.server.freeze()
        status, out, err = self.run_tool(
            "-w", "1s", "-c", self.url(4000), self.name(), "--", "echo", "ran")
        self.server.thaw()
        self.assertEqual((status, out), (69, ""), err)

    def test_a_wait_that_is_cut_off_ends_in_time(self):
        name, proxy = self.name(), self.proxy()
        self.tree(name, self.url(4000))
        waiter = self.start("-w", "3s", "-c", self.url(4000, proxy.port), name,
                            "--", "echo", "ran")
        waiting.eventually("the waiter to queue",
                           lambda: len(self.sessions(name)) == 2)
        proxy.drop()
        self.assertEqual(self.finish(waiter)[:2], (75, ""))

    def test_the_environment_names_the_engine(self):
        name = self.name()
        self.environment["HOLDFAST_URL"] = self.url(4000)
        holder = self.holder(name=name)
        self.assertEqual(len(self.sessions(name)), 1)
        self.assertEqual(self.run_tool("--try", name, "--", "true")[0], 75)
        holder.stdin.close()
        holder.stdin = None
        self.assertEqual(self.finish(holder)[0], 0)
        status, out, _ = self.run_tool(name, "--", "sh", "-c",
                                       "echo $HOLDFAST_URL $HOLDFAST_NAME "
                                       "$((HOLDFAST_TOKEN > 0))")
        self.assertEqual((status, out), (0, "%s %s 1\n" % (self.url(4000),
                                                           name)))
        self.assertEqual(self.sessions(name), [])

    def test_a_secret_is_not_handed_down(self):
        secret = self.url(4000).replace("zk://", "zk://alice:geheim@")
        name = self.name()
        for given, options in ((secret, []), (None, ["-c", secret]),
                               ("file:", ["-c", secret])):
            self.environment.pop("HOLDFAST_URL", None)
            if given is not None:
                self.environment["HOLDFAST_URL"] = given
            status, out, _ = self.run_tool(*options, name, "--", "env")
            self.assertEqual(status, 0)
            self.assertIn("HOLDFAST_URL=fd:", out)
            self.assertNotIn("geheim", out)
            self.assertIn("HOLDFAST_NAMES=" + name, out)


if __name__ == "__main__":
    harness.main()
