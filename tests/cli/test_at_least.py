# SPDX-License-Identifier: Apache-2.0
"""holdfast run --at-least: the lock is kept though the command was quicker."""

import os
import signal
import subprocess
import time

import engines
import harness
from harness import waiting

LONG = "1h"


class Case(harness.Case):
    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_URL"] = self.url()

    def is_free(self):
        return self.run_tool("-n", "-q", "lock", "--", "true")[0] == 0

    def kept(self, *options, script="exit 3", at_least=LONG):
        """A run whose command has ended, and which keeps the lock."""
        process = self.start("-v", "--at-least", at_least, *options, "lock",
                             "--", "sh", "-c", script)
        self.until_said(process)
        return process

    def until_said(self, process):
        for _ in range(20):
            line = waiting.read_line(process, stream="stderr")
            if "--at-least" in line:
                self.assertRegex(line, r"the command ended with status \d+; "
                                 r"keeping 'lock' for \S+ \(--at-least\)")
                return
        self.fail("it does not say that it keeps the lock")


class OnFiles(engines.File, Case):
    def test_from_the_grant_on(self):
        began = time.monotonic()
        process = self.kept(at_least="700ms", script="sleep 0.3; exit 3")
        self.assertFalse(self.is_free())
        self.assertEqual(self.finish(process)[0], 3)
        took = time.monotonic() - began
        self.assertGreaterEqual(took, 0.7)
        self.assertTrue(self.is_free())

    def test_a_wait_before_it_does_not_count(self):
        holder = self.holder()
        process = self.start("-v", "-k", "500ms", "lock", "--", "true")
        self.queued(2)
        time.sleep(0.6)
        holder.stdin.close()
        self.until_said(process)
        self.assertEqual(self.finish(process)[0], 0)

    def test_a_command_that_takes_longer(self):
        status, _, err = self.run_tool("-v", "-k", "50ms", "lock", "--", "sh",
                                       "-c", "sleep 0.2; exit 4")
        self.assertEqual(status, 4)
        self.assertNotIn("keeping", err)

    def test_what_the_command_leaves_behind_ends_first(self):
        process = self.kept(script="sleep 1000 & exit 0")
        supervisor, = harness.children(process.pid)
        self.assertEqual(harness.children(supervisor), [])

    def test_signals_end_it(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
                       signal.SIGUSR1):
            with self.subTest(number):
                process = self.kept()
                process.send_signal(number)
                self.assertEqual(self.finish(process)[0], 3)
                self.assertTrue(self.is_free())

    def test_a_signal_to_the_supervisor(self):
        process = self.kept()
        os.kill(harness.children(process.pid)[0], signal.SIGTERM)
        self.assertEqual(self.finish(process)[0], 3)

    def test_a_command_that_was_asked_to_end(self):
        """The user does not want the rest either."""
        process = self.start("-k", LONG, "lock", "--", "sh", "-c",
                             "trap 'exit 5' TERM; echo up; "
                             "while :; do sleep 0.01; done")
        waiting.read_line(process, "up")
        process.terminate()
        self.assertEqual(self.finish(process)[0], 5)

    def test_a_signal_that_means_something_else(self):
        process = self.start("-v", "-k", LONG, "lock", "--", "sh", "-c",
                             "trap 'exit 0' HUP; echo up; "
                             "while :; do sleep 0.01; done")
        waiting.read_line(process, "up")
        process.send_signal(signal.SIGHUP)
        self.until_said(process)
        self.assertFalse(self.is_free())

    def test_ctrl_c(self):
        terminal = harness.Terminal(
            [harness.TOOL, "run", "-k", LONG, "lock", "--", "sh", "-c",
             "echo up; exec sleep 1000"], self.environment)
        terminal.expect("up")
        terminal.write("\x03")
        terminal.drain()
        self.assertTrue(self.is_free())
        terminal.close()

    def test_stopped_and_continued(self):
        process = self.kept()
        os.kill(process.pid, signal.SIGTSTP)
        waiting.eventually("the stop",
                           lambda: harness.state_of(process.pid) == "T")
        self.assertFalse(self.is_free())
        os.kill(process.pid, signal.SIGCONT)
        process.terminate()
        self.assertEqual(self.finish(process)[0], 3)

    def test_a_command_that_cannot_be_run(self):
        status, _, err = self.run_tool("-k", LONG, "lock", "--", "no-such")
        self.assertEqual(status, 127, err)
        self.assertTrue(self.is_free())

    def test_the_launcher_is_killed(self):
        process = self.kept()
        process.kill()
        process.wait()
        waiting.eventually("the release", self.is_free)

    def test_another_program_asks(self):
        process = self.kept("-R", "TERM")
        self.revoke("lock", "mutex")
        self.assertEqual(self.finish(process)[0], 3)
        process = self.kept()
        self.revoke("lock", "mutex")
        self.assertFalse(self.is_free())

    def test_evicted_meanwhile(self):
        process = self.kept()
        ticket, = self.tickets_of("lock")
        subprocess.run([harness.TOOL, "evict", "-y", "lock", str(
            ticket["token"])], env=self.environment, check=True,
                       stdout=subprocess.DEVNULL, timeout=waiting.LIMIT_S)
        status, _, err = self.finish(process)
        self.assertEqual(status, 76)
        self.assertIn("'lock' was lost after the command had ended, before the "
                      "time of --at-least was over: ", err)

    def test_two_machines(self):
        """Their clocks differ: one comes when the other one's job is done."""
        first = self.kept("-n", script="echo ran")
        second = self.run_tool("-nq", "-E", "0", "-k", LONG, "lock", "--",
                               "echo", "ran")
        self.assertEqual(second, (0, "", ""))
        first.terminate()
        self.assertEqual(self.finish(first)[:2], (0, "ran\n"))

    def test_elect_has_no_such_option(self):
        status, _, err = self.finish(self.start("-k", "5m", "lock", "--", "true",
                                                command="elect"))
        self.assertEqual(status, 64)
        self.assertIn("-k: no such option", err)


class Leased:
    def have_lease(self, lease_ms):
        self.lease_ms = lease_ms
        self.environment["HOLDFAST_URL"] = self.url()

    def test_it_is_renewed_and_released(self):
        self.have_lease(5000)  # the server may stand still for a second
        process = self.kept()
        time.sleep(1.2 * self.lease_ms / 1000)
        self.assertFalse(self.is_free())
        process.terminate()
        self.assertEqual(self.finish(process)[0], 3)
        self.assertTrue(self.is_free())

    def test_the_server_is_frozen(self):
        self.have_lease(engines.SHORT_LEASE_MS)
        process = self.kept()
        self.server.freeze()
        status, _, err = self.finish(process)
        self.assertEqual(status, 76)
        self.assertIn("was lost after the command had ended, before the time of "
                      "--at-least was over", err)


class OnZooKeeper(Leased, engines.ZooKeeper, Case):
    pass


class OnEtcd(Leased, engines.Etcd, Case):
    pass


class OnRedis(Leased, engines.Redis, Case):
    pass


class OnPostgreSql(Leased, engines.PostgreSql, Case):
    pass


if __name__ == "__main__":
    harness.main()
