# SPDX-License-Identifier: Apache-2.0
"""The command's whole process tree has ended before the next one is granted
the lock, whichever process is killed or frozen, and whatever shape the tree
has."""

import os
import signal
import stat

import harness
from harness import waiting

KILL, STOP, CONT = signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT


class Tree(harness.Case):
    def tree(self, grace="100ms", **options):
        """A holder whose tree is hard to end: the command itself, a child that
        ignores TERM, one more in its own session, and one whose parents have
        gone.  All beat as "old"."""
        script = "; ".join([
            self.beat_command("old", flags="t") + " &",
            self.beat_command("old", flags="ts") + " &",
            self.beat_command("old", flags="td"),
            "exec " + self.beat_command("old", flags="t")]).replace("&;", "&")
        launcher = self.start("--grace", grace, "lock", "--", "sh", "-c", script,
                              **options)
        self.pids = self.beating("old", 4)
        return launcher

    def next_holder(self):
        launcher = self.start("lock", "--", "sh", "-c",
                              "exec " + self.beat_command("new", count=5))
        self.queued(2)
        return launcher

    def assert_handed_over(self, launcher):
        """The one in line got the lock, after all of the old tree."""
        self.assertEqual(self.finish(launcher), (0, "", ""))
        self.assert_before("old", "new")
        for pid in self.pids:
            self.assertFalse(harness.is_alive(pid))

    # ---- killed

    def test_a_child_is_killed_though_its_parent_cannot_exit(self):
        launcher = self.start("--grace", "0s", "lock", "--", "sh", "-c", "%s & wait"
                              % self.beat_command("old", flags="t"))
        child, = self.beating("old", 1)
        with harness.StuckExit(self.command(launcher)) as parent:
            launcher.kill()
            parent.killed()
            harness.ended(child)
        self.assertEqual(self.run_tool("lock", "--", "true")[0], 0)

    def test_launcher_killed(self):
        old, new = self.tree(), self.next_holder()
        old.kill()
        self.assert_handed_over(new)

    def test_supervisor_killed(self):
        old, new = self.tree(), self.next_holder()
        os.kill(self.supervisor(old), KILL)
        status, _, err = self.finish(old)
        self.assertEqual(status, 76)
        self.assertIn("was killed by signal 9", err)
        self.assert_handed_over(new)

    def test_command_killed(self):
        old, new = self.tree(), self.next_holder()
        os.kill(self.command(old), KILL)
        self.assertEqual(self.finish(old)[0], 128 + KILL)
        self.assert_handed_over(new)

    def test_group_killed(self):
        old, new = self.tree(start_new_session=True), self.next_holder()
        os.killpg(old.pid, KILL)
        self.assertEqual(old.wait(waiting.LIMIT_S), -KILL)
        self.assert_handed_over(new)

    def test_launcher_killed_then_supervisor(self):
        """The supervisor may have begun to end the tree by then.  With both
        gone only the command is sure to end, because it is the supervisor's
        child."""
        old = self.tree(grace="10s")
        command, supervisor = self.command(old), self.supervisor(old)
        old.kill()
        harness.kill(supervisor)
        harness.ended(command)
        for pid in self.pids:
            if harness.is_alive(pid):
                harness.kill(pid)

    def test_launcher_gets_sigterm(self):
        """The command gets the signal; when it has ended, the rest is ended."""
        script = (self.beat_command("old", flags="ts") +
                  " & trap 'exit 3' TERM; echo up; while :; do wait; done")
        old = self.start("--grace", "50ms", "lock", "--", "sh", "-c", script)
        waiting.read_line(old, "up")
        self.pids = self.beating("old", 1)
        new = self.next_holder()
        old.terminate()
        self.assertEqual(old.wait(waiting.LIMIT_S), 3)
        self.assert_handed_over(new)

    # ---- frozen

    def test_launcher_frozen_and_thawed(self):
        """It keeps the ticket too: the lock waits for it."""
        old, new = self.tree(), self.next_holder()
        os.kill(old.pid, STOP)
        os.kill(self.command(old), KILL)
        for pid in self.pids:
            harness.ended(pid)
        os.kill(old.pid, CONT)
        self.assertEqual(self.finish(old)[0], 128 + KILL)
        self.assert_handed_over(new)

    def test_launcher_frozen_and_killed(self):
        old, new = self.tree(), self.next_holder()
        os.kill(old.pid, STOP)
        old.kill()
        self.assert_handed_over(new)

    def test_supervisor_frozen_and_thawed(self):
        old, new = self.tree(), self.next_holder()
        supervisor = self.supervisor(old)
        os.kill(supervisor, STOP)
        os.kill(self.command(old), KILL)
        before = len(self.beats("old"))
        waiting.eventually("more beats",
                           lambda: len(self.beats("old")) > before + 20)
        self.assertEqual(self.beats("new"), [])
        os.kill(supervisor, CONT)
        self.assertEqual(self.finish(old)[0], 128 + KILL)
        self.assert_handed_over(new)

    def test_supervisor_frozen_and_killed(self):
        old, new = self.tree(), self.next_holder()
        os.kill(self.supervisor(old), STOP)
        os.kill(self.supervisor(old), KILL)
        self.assertEqual(self.finish(old)[0], 76)
        self.assert_handed_over(new)

    def test_supervisor_frozen_and_launcher_killed(self):
        old, new = self.tree(), self.next_holder()
        supervisor = self.supervisor(old)
        os.kill(supervisor, STOP)
        old.kill()
        before = len(self.beats("old"))
        waiting.eventually("more beats",
                           lambda: len(self.beats("old")) > before + 20)
        self.assertEqual(self.beats("new"), [])
        os.kill(supervisor, CONT)
        self.assert_handed_over(new)

    def test_both_frozen_and_thawed(self):
        old, new = self.tree(), self.next_holder()
        supervisor, command = self.supervisor(old), self.command(old)
        for pid in (old.pid, supervisor):
            os.kill(pid, STOP)
        os.kill(command, KILL)
        before = len(self.beats("old"))
        waiting.eventually("more beats",
                           lambda: len(self.beats("old")) > before + 20)
        for pid in (old.pid, supervisor):
            os.kill(pid, CONT)
        self.finish(old)
        self.assert_handed_over(new)

    def test_tree_frozen(self):
        """A stopped process receives TERM only when it is continued."""
        old = self.tree()
        for pid in self.pids:
            os.kill(pid, STOP)
        new = self.next_holder()
        old.kill()
        self.assert_handed_over(new)

    # ---- shapes

    def leftovers(self, script, processes, *options):
        """The command ends with status 5 and leaves these behind."""
        old = self.start(*options, "lock", "--", "sh", "-c",
                         script + " while [ ! -e %s ]; do :; done; exit 5"
                         % self.path("go"))
        self.pids = self.beating("old", processes)
        new = self.next_holder()
        with open(self.path("go"), "w"):
            pass
        self.assertEqual(self.finish(old), (5, "", ""))
        self.assert_handed_over(new)

    def test_fn57_background_job(self):
        self.leftovers(self.beat_command("old") + " &", 1)

    def test_background_job_that_ignores_term(self):
        self.leftovers(self.beat_command("old", flags="t") + " &", 1,
                       "--grace", "20ms")

    def test_nohup(self):
        self.leftovers("nohup " + self.beat_command("old") +
                       " >/dev/null 2>&1 &", 1)

    def test_double_fork(self):
        self.leftovers(self.beat_command("old", flags="d") + ";", 1)

    def test_many_sessions(self):
        count = 500
        self.leftovers("i=0; while [ $i -lt %d ]; do %s & i=$((i+1)); done;" % (
            count, self.beat_command("old", flags="s")), count)

    def test_term_comes_before_kill(self):
        """During the grace a process can clean up."""
        script = ("bash -c 'trap \"echo clean; exit\" TERM; echo up;"
                  " while :; do :; done' & read go; exit 5")
        launcher = self.start("--grace", "1m", "lock", "--", "bash", "-c", script,
                              stdin=harness.subprocess.PIPE)
        waiting.read_line(launcher, "up")
        out = launcher.communicate("go\n", timeout=waiting.LIMIT_S)[0]
        self.assertEqual((launcher.returncode, out), (5, "clean\n"))

    # ---- lost

    def lose(self, take_away, why):
        old = self.tree(grace="1h")
        take_away()
        status, _, err = self.finish(old)
        self.assertEqual(status, 76)
        self.assertIn("'lock' was lost while the command ran, which was "
                      "therefore stopped: " + why, err)
        for pid in self.pids:
            self.assertFalse(harness.is_alive(pid))

    def take_ticket_away(self):
        for folder, _, names in os.walk(self.locks):
            for name in names:
                path = os.path.join(folder, name)
                # The payload goes with its ticket, by the owner's hand.
                if name.endswith(".payload"):
                    continue
                if stat.S_ISFIFO(os.lstat(path).st_mode):
                    os.unlink(path)

    def test_ticket_taken_away(self):
        """Another process may hold the lock at once, so there is no grace."""
        self.lose(self.take_ticket_away, "its ticket was taken out of the "
                  "queue: somebody evicted it, or deleted it")

    def test_a_loss_during_the_grace_ends_it(self):
        launcher = self.in_grace("lock")
        self.take_ticket_away()
        self.assertEqual(self.finish(launcher)[0], 76)

    def test_directory_taken_away(self):
        self.lose(lambda: os.rename(self.locks, self.path("elsewhere")),
                  "the lock directory was deleted or moved away")

    # ---- what is not ours

    def test_children_from_before_are_spared(self):
        """exec in a shell with background jobs: they are the shell's."""
        other = self.path("other")
        launcher = harness.subprocess.Popen(
            ["bash", "-c", "sleep 1000 & echo $! >%s; exec %s run lock -- "
             "sh -c 'sleep 1000 & echo up; sleep 1000'" % (
                 other, harness.TOOL)],
            stdout=harness.subprocess.PIPE, stderr=harness.subprocess.PIPE,
            text=True, env=self.environment)
        self.started.append(launcher)
        waiting.read_line(launcher, "up")
        with open(other) as file:
            spared = int(file.read())
        supervisor = [pid for pid in harness.children(launcher.pid)
                      if pid != spared][0]
        ours = harness.descendants(supervisor)
        os.kill(supervisor, KILL)
        self.assertEqual(launcher.wait(waiting.LIMIT_S), 76)
        self.assertTrue(harness.is_alive(spared))
        harness.kill(spared)
        for pid in ours:
            self.assertFalse(harness.is_alive(pid))


if __name__ == "__main__":
    harness.main()
