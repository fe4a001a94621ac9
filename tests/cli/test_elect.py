# SPDX-License-Identifier: Apache-2.0
"""holdfast elect on each engine: one instance of the command at any time, by
the instants of its heartbeats, and one again after whatever happens to the
leader or to the server.

    test_elect.py [OnFiles] [OnZooKeeper] [OnEtcd] [OnRedis] [OnPostgreSql]
"""

import os
import pwd
import random
import signal
import subprocess

import engines
import harness
from harness import unfinished, waiting

KILL, STOP = signal.SIGKILL, signal.SIGSTOP

FAULTS = 60 if os.environ.get("HF_LONG") == "1" else 12


class Elect:
    # Of tests that wait for the end of one.
    lease_ms = engines.SHORT_LEASE_MS

    def have_leaders_stay(self):
        """Before any candidate: its lease is so long that a server or a machine
        which stands still for a second ends no leadership, so that the order of
        leaders is known."""
        self.lease_ms = engines.Engine.lease_ms

    def candidate(self, identity, *options, count=0, flags="", ahead=0):
        """One whose command beats; once its ticket is in the queue behind
        ${ahead} others."""
        process = self.start(
            "-c", self.url(), *options, "name", "--", "sh", "-c",
            "%s; exit 3" % self.beat_command(identity, count, flags),
            command="elect", stdout=subprocess.DEVNULL)
        if ahead == 0:
            self.leads(identity)
        else:
            self.until_queued("name", ahead + 1, process)
        return process

    def now_us(self):
        return waiting.now_ms() * 1000

    def leads(self, identity, since_us=0):
        """Wait until an instance of this candidate beats that began later; its
        first heartbeat."""
        def first():
            begun = {}
            for beat in self.beats(identity):
                begun.setdefault(beat.pid, beat)
            return [b for b in begun.values() if b.at > since_us]
        try:
            return waiting.eventually("an instance of %s" % identity, first)[0]
        except AssertionError as vain:
            raise AssertionError("%s; %s" % (vain, self.what_they_do())) \
                from vain

    def what_they_do(self):
        """The queue, and what each candidate has printed and does now."""
        queue = subprocess.run(
            [harness.TOOL, "show", "-c", self.url(), "name"], text=True,
            capture_output=True, env=self.environment)
        does = unfinished.text_of([os.getpid()])
        for candidate in self.started:
            candidate.kill()
        return "\n".join([
            queue.stdout, queue.stderr, does,
            *(candidate.communicate()[1] or "" for candidate in self.started)])

    def instances(self):
        """(first, last, identity) of each instance, in their order."""
        spans = {}
        for beat in self.beats():
            first = spans.get(beat.pid, (beat.at,))[0]
            spans[beat.pid] = (first, beat.at, beat.id)
        return sorted(spans.values())

    def assert_one_at_a_time(self):
        found = self.instances()
        for (_, last, one), (first, _, other) in zip(found, found[1:]):
            self.assertLess(last, first, "%s was alive %.1f ms into %s" % (
                one, (last - first) / 1000, other))
        return [identity for _, _, identity in found]

    def assert_alive(self, *candidates):
        for candidate in candidates:
            self.assertIsNone(candidate.poll())

    def end(self, candidate):
        """Ask a candidate to end; its messages."""
        candidate.terminate()
        return self.finish(candidate)[2]

    def test_three_candidates_lead_one_after_the_other(self):
        first = self.candidate("first", "--grace", "100ms", flags="t")
        second = self.candidate("second", ahead=1)
        third = self.candidate("third", ahead=2)
        # The supervisor of the first ends its tree, and resigns.
        first.kill()
        self.leads("second")
        # The launcher of the second ends its tree; its ticket goes with the
        # session or the lease.
        os.kill(self.supervisor(second), KILL)
        status, _, err = self.finish(second)
        self.assertEqual(status, 76, err)
        self.assertIn("was killed by signal 9; the command was stopped", err)
        self.leads("third")
        err = self.end(third)
        self.assertIn("'name' is led by ", err)
        self.assertIn("leading 'name', token ", err)
        self.assertEqual(self.assert_one_at_a_time(),
                         ["first", "second", "third"])

    def test_another_machine_leads_when_the_command_fails(self):
        """And the one that resigned is behind it in the queue later."""
        self.have_leaders_stay()
        failing = self.candidate("failing", "--start-limit-burst", "3", count=2)
        able = self.candidate("able", ahead=1)
        self.leads("able")
        self.until_queued("name", 2, failing, able)
        self.assert_alive(failing, able)
        since_us = self.now_us()
        able_err = self.end(able)
        self.leads("failing", since_us)
        err = self.end(failing)
        self.assertIn("the command failed 3 times in a row, at last with status "
                      "3; resigning 'name', and campaigning again in 5s", err)
        led = self.assert_one_at_a_time()
        self.assertEqual(led[:5], ["failing"] * 3 + ["able", "failing"],
                         "able printed: %s; failing printed: %s" % (
                             able_err, err))

    def test_a_leader_resigns_when_asked(self):
        self.have_leaders_stay()
        first = self.candidate("first", "--on-revoke", "TERM")
        second = self.candidate("second", "--on-revoke=exit", ahead=1)
        self.revoke("name", "election")
        since_us = self.leads("second").at
        self.until_queued("name", 2, first, second)
        self.revoke("name", "election")
        self.leads("first", since_us)
        self.until_queued("name", 2, first, second)
        self.assertIn("'name' was released because another program asked for "
                      "it; the command was stopped", self.end(second))
        self.assertIn("the command ended with status 143", self.end(first))
        self.assertEqual(self.assert_one_at_a_time(),
                         ["first", "second", "first"])

    def test_a_leader_learns_who_evicts_it_and_why(self):
        """And campaigns again, as after any loss."""
        self.have_leaders_stay()
        first = self.candidate("first")
        second = self.candidate("second", ahead=1)
        done = subprocess.run(
            [harness.TOOL, "evict", "-c", self.url(), "--yes", "--reason",
             "it hangs", "name", self.tickets_of("name")[0]["id"]], text=True,
            capture_output=True, env=self.environment, timeout=waiting.LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.leads("second")
        said = "its ticket was evicted by %s@%s: it hangs" % (
            pwd.getpwuid(os.geteuid()).pw_name, os.uname().nodename)
        while said not in waiting.read_line(first, stream="stderr"):
            pass
        self.until_queued("name", 2, first, second)
        self.end(first)
        self.assertNotIn("evicted", self.end(second))

    # ---- faults of any kind, one after the other

    def kill_launcher(self, candidate):
        candidate.kill()

    def kill_supervisor(self, candidate):
        os.kill(self.supervisor(candidate), KILL)

    def kill_command(self, candidate):
        harness.kill(self.command(candidate))

    def resign(self, _):
        self.revoke("name", "election")

    def faults(self):
        return [self.kill_launcher, self.kill_supervisor, self.kill_command,
                self.resign]

    def contender(self, number):
        """A candidate whose command ignores SIGTERM, as a new process of that
        number."""
        return self.start(
            "-c", self.url(), "--on-revoke", "exit", "--grace", "200ms", "name",
            "--", "sh", "-c", "exec " + self.beat_command(str(number), flags="t"),
            command="elect", stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def test_after_each_fault_of_the_leader_one_runs(self):
        seed = int(os.environ.get("HF_SEED", random.randrange(1 << 32)))
        print("HF_SEED=%d" % seed, flush=True)
        chosen = random.Random(seed)
        candidates = [self.contender(i) for i in range(3)]
        for _ in range(FAULTS):
            candidates = [old if old.poll() is None else self.contender(i)
                          for i, old in enumerate(candidates)]
            since_us = self.now_us()
            leader = waiting.eventually("a leader", lambda: [
                beat.id for beat in self.beats() if beat.at > since_us])[-1]
            fault = chosen.choice(self.faults())
            since_us = self.now_us()
            print("%d: %s of %s" % (since_us, fault.__name__, leader),
                  flush=True)
            fault(candidates[int(leader)])
            waiting.eventually("another instance", lambda: any(
                first > since_us for first, _, _ in self.instances()))
        self.assert_one_at_a_time()


class OnServer(Elect):
    """What a file engine has not: leases, and a server."""

    def freeze_supervisor(self, candidate):
        os.kill(self.supervisor(candidate), STOP)

    def freeze_server(self, _):
        self.server.freeze()
        commands = {beat.pid for beat in self.beats()}
        waiting.eventually("the end of the command", lambda: not any(
            harness.is_alive(pid) for pid in commands))
        self.server.thaw()

    def faults(self):
        return super().faults() + [self.freeze_supervisor, self.freeze_server]

    def test_a_frozen_leader_is_followed(self):
        first = self.candidate("first", flags="t")
        second = self.candidate("second", ahead=1)
        os.kill(self.supervisor(first), STOP)
        self.leads("second")
        status, _, err = self.finish(first)
        self.assertEqual(status, 76, err)
        self.end(second)
        self.assertEqual(self.assert_one_at_a_time(), ["first", "second"])

    def test_a_frozen_leader_that_cannot_exit_holds_no_kill_up(self):
        """As on a machine where it gets no processor."""
        first = self.candidate("first", flags="t")
        second = self.candidate("second", ahead=1)
        command = self.leads("first").pid
        with harness.StuckExit(self.supervisor(first)) as supervisor:
            os.kill(supervisor.pid, STOP)
            supervisor.killed()
            harness.ended(command)
        self.leads("second")
        self.end(second)
        self.assertEqual(self.assert_one_at_a_time(), ["first", "second"])

    def test_a_leader_that_loses_its_session_campaigns_again(self):
        candidate = self.candidate("only", flags="t")
        self.server.freeze()
        command = self.leads("only").pid
        harness.ended(command)
        since_us = self.now_us()
        self.server.thaw()
        self.leads("only", since_us)
        self.assertIn("'name' was lost while the command ran, which was "
                      "therefore stopped: ", self.end(candidate))
        self.assert_one_at_a_time()

    def line_with(self, candidate, text):
        """Wait for a message, one of the next 20."""
        for _ in range(20):
            if text in waiting.read_line(candidate, stream="stderr"):
                return
        self.fail("no %r in 20 messages" % text)

    def test_a_lease_that_ends_between_two_starts_ends_the_leadership_only(self):
        candidate = self.candidate("only", "-b", "0", count=1)
        self.line_with(candidate, "it is started again in 3.2s")
        self.server.freeze()
        self.line_with(candidate, "'name' was lost before the command could be "
                       "started: the engine did not confirm it in time")
        since_us = self.now_us()
        self.server.thaw()
        self.leads("only", since_us)
        self.assert_alive(candidate)
        self.end(candidate)
        self.assert_one_at_a_time()

    def test_one_runs_after_the_server_was_restarted(self):
        candidates = [self.candidate("first"), self.candidate("second", ahead=1),
                      self.candidate("third", ahead=2)]
        self.server.restart()
        since_us = self.now_us()
        waiting.eventually("heartbeats after the restart", lambda: any(
            beat.at > since_us for beat in self.beats()), of=candidates)
        self.until_queued("name", 3, *candidates)
        self.assert_alive(*candidates)
        self.assert_one_at_a_time()


class OnFiles(Elect, engines.File, harness.Case):
    pass


class OnZooKeeper(OnServer, engines.ZooKeeper, harness.Case):
    pass


class OnEtcd(OnServer, engines.Etcd, harness.Case):
    pass


class OnRedis(OnServer, engines.Redis, harness.Case):
    pass


class OnPostgreSql(OnServer, engines.PostgreSql, harness.Case):
    pass


if __name__ == "__main__":
    harness.main()
