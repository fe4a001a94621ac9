# SPDX-License-Identifier: Apache-2.0
"""holdfast elect --on-lead CMD --on-resign CMD: which runs when and how often,
and what its end means; on one machine, and on each engine what a loss does.

    test_elect_hooks.py [OnFiles] [OnZooKeeper] [OnEtcd] [OnRedis]
                        [OnPostgreSql] [Hooks]
"""

import os
import signal
import subprocess

import engines
import harness
from harness import waiting

# It ends by SIGTERM, after a word.
SERVICE = "trap 'exit 4' TERM; %s; while :; do sleep 0.01; done"
HANGS = "trap '' TERM; while :; do sleep 1; done"


class Logged:
    """Hooks and commands that write to one log, in the order in which they
    run."""

    def setUp(self):
        super().setUp()
        self.log = self.path("log")

    def says(self, word):
        """For sh: write a line, a word and the token."""
        return "echo %s $HOLDFAST_TOKEN >>'%s'" % (word, self.log)

    def lines(self):
        try:
            with open(self.log) as file:
                return [line.split() for line in file.read().splitlines()]
        except FileNotFoundError:
            return []

    def words(self):
        return [line[0] for line in self.lines()]

    def logged(self, word, count=1, of=()):
        """Wait until the word is there so many times."""
        waiting.eventually(
            "%d times %s" % (count, word),
            lambda: self.words().count(word) >= count, of=of)

    def hooks(self, identity=""):
        return ["--on-lead", self.says("lead" + identity),
                "--on-resign", self.says("resign" + identity)]

    def elect(self, *arguments, **options):
        return self.start(*arguments, command="elect", **options)

    def command(self, identity=""):
        """The words of one that runs until it gets SIGTERM."""
        return ["--", "sh", "-c", SERVICE % self.says("run" + identity)]

    def line_with(self, process, text):
        """The next message that has the text in it, one of the next 20."""
        for _ in range(20):
            line = waiting.read_line(process, stream="stderr")
            if text in line:
                return line
        self.fail("no %r in 20 lines" % text)


class Hooks(Logged, harness.Case):
    # ---- order, environment, status

    def test_before_and_after_the_command(self):
        process = self.elect(*self.hooks(), "name", *self.command())
        self.logged("run", of=[process])
        process.terminate()
        status, _, err = self.finish(process)
        self.assertEqual(status, 4, err)
        self.assertEqual(self.words(), ["lead", "run", "resign"])
        self.assertEqual(len({token for _, token in self.lines()}), 1)
        self.assertEqual(self.tickets(), 0)

    def test_environment_and_descriptors_are_those_of_the_command(self):
        show = "echo $HOLDFAST_NAME $HOLDFAST_NAMES $HOLDFAST_TOKENS"
        process = self.elect("-r", "never", "--on-lead", show, "--on-resign",
                             show, "name", "--", "sh", "-c", show)
        status, out, _ = self.finish(process)
        lines = out.splitlines()
        self.assertEqual((status, len(lines), len(set(lines))), (0, 3, 1))
        self.assertRegex(lines[0], r"^name name \d+$")

    def test_once_for_each_leadership(self):
        process = self.elect(*self.hooks(), "-b", "3", "name", "--", "sh", "-c",
                             self.says("run") + "; exit 5")
        self.line_with(process, "the command failed 3 times in a row")
        self.logged("resign", of=[process])
        self.assertEqual(self.words(),
                         ["lead", "run", "run", "run", "resign"])
        self.queued(0)
        process.terminate()
        self.assertEqual(self.finish(process)[0], -signal.SIGTERM)

    def test_a_command_that_is_not_started_again(self):
        process = self.elect(*self.hooks(), "-r", "never", "name", "--", "sh",
                             "-c", self.says("run") + "; exit 5")
        self.assertEqual(self.finish(process)[0], 5)
        self.assertEqual(self.words(), ["lead", "run", "resign"])

    def test_without_a_command(self):
        """It leads until a signal ends it, by which it dies."""
        process = self.elect(*self.hooks(), "name")
        self.logged("lead", of=[process])
        waiting.eventually("the leader", lambda: subprocess.run(
            [harness.TOOL, "leading", "-q", "--here", "name"],
            env=self.environment).returncode == 0)
        process.terminate()
        status, _, err = self.finish(process)
        self.assertEqual(status, -signal.SIGTERM, err)
        self.assertEqual(self.words(), ["lead", "resign"])
        self.assertEqual(self.tickets(), 0)

    def test_one_of_the_two_without_a_command(self):
        for hook, words in (("--on-lead", ["lead"]), ("--on-resign", ["lead"])):
            process = self.elect(hook, self.says("lead"), "name")
            self.line_with(process, "leading 'name'")
            waiting.eventually("the text of the ticket", lambda: "elect" in
                               subprocess.run(
                                   [harness.TOOL, "show", "name"],
                                   env=self.environment, text=True,
                                   capture_output=True).stdout)
            if hook == "--on-lead":
                self.logged("lead", of=[process])
            process.terminate()
            self.assertEqual(self.finish(process)[0], -signal.SIGTERM)
            self.assertEqual(self.words(), words)
            os.unlink(self.log)

    def test_a_candidate_that_waits_runs_nothing(self):
        first = self.elect("name", *self.command("1"))
        self.logged("run1", of=[first])
        second = self.elect(*self.hooks("2"), "name", *self.command("2"))
        self.queued(2)
        second.terminate()
        self.assertEqual(self.finish(second)[0], -signal.SIGTERM)
        self.assertEqual(self.words(), ["run1"])

    def test_a_revoked_leader_resigns_before_the_next_one_leads(self):
        first = self.elect(*self.hooks("1"), "-R", "TERM", "name",
                           *self.command("1"))
        self.logged("run1", of=[first])
        second = self.elect(*self.hooks("2"), "-R", "TERM", "name")
        self.queued(2)
        self.revoke()
        self.logged("lead2", of=[first, second])
        self.queued(2)
        # One without a command resigns as well.
        self.revoke()
        self.logged("run1", 2, of=[first, second])
        self.assertEqual(self.words(), ["lead1", "run1", "resign1", "lead2",
                                        "resign2", "lead1", "run1"])
        self.assertTrue(self.line_with(
            second, "'name' was released because another program").endswith(
                " asked for it"))

    def revoke(self):
        done = subprocess.run([harness.TOOL, "revoke", "name"], text=True,
                              env=self.environment, capture_output=True,
                              timeout=waiting.LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)

    # ---- --on-lead

    def test_a_leader_that_cannot_begin_resigns(self):
        process = self.elect("--on-lead", self.says("lead") + "; exit 3",
                             "--on-resign", self.says("resign"), "name",
                             *self.command())
        self.line_with(process, "--on-lead ended with status 3; resigning "
                       "'name', and campaigning again in 5s")
        self.logged("resign", of=[process])
        self.queued(0)
        process.terminate()
        self.finish(process)
        self.assertEqual(self.words(), ["lead", "resign"])

    def test_programs_that_are_not_there(self):
        with open(self.path("no-program"), "w"):
            pass
        for hook, status, said in (
                ("./nowhere", 127, "sh found no such program; expected one "
                 "that is on PATH here, or a path that begins with '/'"),
                (self.path("no-program"), 126, "it cannot be executed; "
                 "expected a program with the right to that (chmod +x)")):
            process = self.elect("--on-lead", hook, "name", *self.command())
            self.line_with(process, "--on-lead ended with status %d: %s; "
                           "resigning 'name'" % (status, said))
            process.terminate()
            self.finish(process)
            process = self.elect("-r", "never", "--on-resign", hook, "name",
                                 "--", "sh", "-c", "exit 9")
            got, _, err = self.finish(process)
            self.assertEqual(got, 9)
            self.assertIn("--on-resign ended with status %d: %s\n" % (
                status, said), err)
        self.assertEqual(self.words(), [])

    def begin(self, before, *arguments):
        """A candidate, by another program."""
        process = subprocess.Popen(
            [*harness.START[:-1], *before, harness.TOOL, "elect", *arguments],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=self.environment, process_group=0)
        self.started.append(process)
        return process

    def test_no_shell(self):
        """As in an image with holdfast alone."""
        process = self.begin(["env", "PATH=/nowhere"], "--on-lead", "true",
                             "name", "--", "true")
        self.line_with(process, "cannot run 'sh' for --on-lead: No such file "
                       "or directory; expected a shell on PATH")
        self.line_with(process, "--on-lead ended with status 127")

    def test_what_it_leaves_behind_is_ended(self):
        process = self.elect("--on-lead", "sleep 1000 & echo $!", "name", "--",
                             "sh", "-c", SERVICE % "echo began")
        pid = int(waiting.read_line(process))
        waiting.read_line(process, "began")
        self.assertFalse(harness.is_alive(pid))

    def test_a_signal_while_it_runs(self):
        """The command is not started, and the status is that of the hook."""
        process = self.elect("--on-lead", SERVICE % self.says("lead"),
                             "--on-resign", self.says("resign"), "name",
                             *self.command())
        self.logged("lead", of=[process])
        process.terminate()
        self.assertEqual(self.finish(process)[0], 4)
        self.assertEqual(self.words(), ["lead", "resign"])

    def test_a_signal_that_ends_it(self):
        """And leaves nothing else to say: the election ends by it."""
        for ends in ("exit 0", "trap - TERM; kill -TERM $$"):
            process = self.elect(
                "--on-lead", "trap '%s' TERM; %s; while :; do sleep 0.01; done"
                % (ends, self.says("lead")), "name", *self.command())
            self.logged("lead", of=[process])
            process.terminate()
            self.assertEqual(self.finish(process)[0], -signal.SIGTERM)
            self.assertEqual(self.words(), ["lead"])
            os.unlink(self.log)

    def test_a_request_while_it_runs(self):
        process = self.elect("--on-lead", SERVICE % self.says("lead"), "-R",
                             "exit", "name", *self.command())
        self.logged("lead", of=[process])
        self.revoke()
        self.line_with(process, "another program asked for it; --on-lead was "
                       "stopped")
        self.logged("lead", 2, of=[process])

    # ---- --on-resign

    def test_a_failure_is_printed(self):
        process = self.elect("-r", "never", "--on-resign", "exit 7", "name",
                             "--", "sh", "-c", "exit 9")
        status, _, err = self.finish(process)
        self.assertEqual(status, 9)
        self.assertIn("holdfast: --on-resign ended with status 7\n", err)

    def test_one_that_hangs_is_killed(self):
        """With all that it has started."""
        process = self.elect(
            "-r", "never", "--resign-timeout", "200ms", "--on-resign",
            "setsid sh -c \"%s\" & echo $!; %s" % (HANGS.replace("''", "\\'\\'"),
                                                   HANGS),
            "name", "--", "sh", "-c", "exit 9")
        pid = int(waiting.read_line(process))
        status, _, err = self.finish(process)
        self.assertEqual(status, 9)
        self.assertFalse(harness.is_alive(pid))
        self.assertIn("--on-resign was killed because it took too long; "
                      "expected its end within 200ms", err)
        self.assertEqual(self.tickets(), 0)

    def test_a_signal_while_it_runs_ends_the_election(self):
        """And not only what runs, although it would campaign again."""
        process = self.elect("-R", "exit", "--resign-timeout", "1h",
                             "--on-resign", SERVICE % self.says("resign"),
                             "name", *self.command())
        self.logged("run", of=[process])
        self.revoke()
        self.logged("resign", of=[process])
        process.terminate()
        self.assertEqual(self.finish(process)[0], 4)
        self.assertEqual(self.words(), ["run", "resign"])

    def test_the_launcher_is_killed(self):
        process = self.elect("--on-resign", self.says("resign"), "name",
                             *self.command())
        self.logged("run", of=[process])
        process.kill()
        self.logged("resign")
        self.queued(0)

    # ---- no process can be started

    # The kernel limits those of users only.
    AS_USER = [] if os.getuid() else [
        "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    def limited(self, *arguments):
        """A candidate whose processes may be limited."""
        os.chmod(self.directory, 0o755)
        locks = self.path("of-nobody")
        if not os.path.exists(locks):
            os.mkdir(locks, 0o700)
            if os.getuid() == 0:
                os.chown(locks, 65534, 65534)
        self.environment["HOLDFAST_URL"] = "file:" + locks
        # A change of the user forgets the signal of setpriv.
        return self.begin(self.AS_USER + harness.START[:-1], *arguments)

    def forbid_processes(self, process):
        subprocess.run([*self.AS_USER, "prlimit", "--pid", str(
            self.supervisor(process)), "--nproc=0:0"], check=True)

    def test_no_process_for_on_resign(self):
        process = self.limited("-r", "never", "--on-resign", "true", "name",
                               "--", "sh", "-c", "echo began; read _; exit 9")
        waiting.read_line(process, "began")
        self.forbid_processes(process)
        process.stdin.write("\n")
        process.stdin.flush()
        status, _, err = self.finish(process)
        self.assertEqual(status, 9)
        self.assertIn("cannot start a process for --on-resign: ", err)

    def test_no_process_for_on_lead(self):
        first = self.limited("name", "--", "sh", "-c", "echo began; exec cat")
        waiting.read_line(first, "began")
        second = self.limited("--on-lead", "true", "--on-resign",
                              self.says("resign"), "name", "--", "true")
        self.line_with(second, "is led by")
        self.forbid_processes(second)
        first.terminate()
        status, _, err = self.finish(second)
        self.assertEqual(status, 71)
        self.assertIn("cannot start a process for --on-lead: ", err)
        self.assertEqual(self.words(), [])

    # ---- the command line

    def refused(self, *arguments):
        status, out, err = self.finish(self.elect(*arguments))
        self.assertEqual((status, out), (64, ""), err)
        return err

    def test_wrong_lines(self):
        for option in ("--on-lead", "--on-resign"):
            for empty in ("", " \n"):
                self.assertIn("%s '': not a command; expected one as sh -c has "
                              "it" % option,
                              self.refused(option, empty, "name", "--", "true"))
        self.assertIn("--resign-timeout is for --on-resign; expected that, too",
                      self.refused("--resign-timeout", "5s", "name", "--",
                                   "true"))
        self.assertIn("--resign-timeout 0s: --on-resign could do nothing",
                      self.refused("--on-resign", "x", "--resign-timeout", "0s",
                                   "name"))
        self.assertIn("--resign-timeout 5: give a unit, for instance 5s",
                      self.refused("--on-resign", "x", "--resign-timeout", "5",
                                   "name"))
        self.assertIn("COMMAND is missing", self.refused("name"))
        self.assertIn("COMMAND is missing after '--'",
                      self.refused("--on-lead", "x", "name", "--"))
        self.assertIn("write: holdfast elect --on-lead x name -- cmd arg",
                      self.refused("--on-lead", "x", "name", "cmd", "arg"))
        self.assertIn("options stand before NAME",
                      self.refused("name", "--on-lead", "x", "--", "true"))


class Engines(Logged):
    def test_an_evicted_leader_resigns(self):
        """Though another one leads meanwhile."""
        first = self.elect("-c", self.url(), *self.hooks("1"), "name",
                           *self.command("1"))
        self.logged("run1", of=[first])
        done = subprocess.run(
            [harness.TOOL, "evict", "-c", self.url(), "--yes", "--reason",
             "it hangs", "name", self.tickets_of("name")[0]["id"]], text=True,
            capture_output=True, env=self.environment, timeout=waiting.LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.logged("run1", 2, of=[first])
        self.assertEqual(self.words(), ["lead1", "run1", "resign1", "lead1",
                                        "run1"])
        first.terminate()
        self.assertEqual(self.finish(first)[0], 4)

    def test_an_evicted_leader_is_killed_when_it_hangs(self):
        first = self.elect("-c", self.url(), "--resign-timeout", "100ms",
                           "--on-resign", self.says("resign") + "; " + HANGS,
                           "name", *self.command())
        self.logged("run", of=[first])
        done = subprocess.run(
            [harness.TOOL, "evict", "-c", self.url(), "--yes", "--reason",
             "it hangs", "name", self.tickets_of("name")[0]["id"]], text=True,
            capture_output=True, env=self.environment, timeout=waiting.LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.line_with(first, "--on-resign was killed because it took too long")
        self.logged("run", 2, of=[first])


class OnServer(Engines):
    """With leases, so long that a busy machine gives --on-resign its part."""

    def test_a_lease_that_is_not_renewed(self):
        """The next one leads when --on-resign has gone, which hangs and is
        killed before the lease ends."""
        hangs = "exec " + self.beat_command("resigning", flags="t")
        serves = "exec " + self.beat_command("serving", flags="t")
        first = self.elect("-c", self.url(), "-g", "1h", "--resign-timeout",
                           "1m", "--on-resign", hangs, "name", "--", "sh", "-c",
                           serves)
        served = self.beating("serving", 1)
        second = self.elect("-c", self.url(), "name", "--", "sh", "-c",
                            "exec " + self.beat_command("second"))
        self.until_queued("name", 2, first, second)
        self.server.freeze()
        resigned = self.beating("resigning", 1)
        for pid in served | resigned:
            harness.ended(pid)
        self.server.thaw()
        # Either may lead now.
        waiting.eventually("the next leader", lambda: {
            beat.pid for beat in self.beats()} - served - resigned)
        instances = {}
        for beat in self.beats():
            begin, _ = instances.get(beat.pid, (beat.at, 0))
            instances[beat.pid] = begin, beat.at
        spans = sorted(instances.values())
        for (_, last), (begin, _) in zip(spans, spans[1:]):
            self.assertLess(last, begin)
        self.line_with(first, "'name' was lost while the command ran")
        self.line_with(first, "--on-resign was killed because it took too long")

    def test_one_without_a_command_loses_its_lease(self):
        first = self.elect("-c", self.url(), *self.hooks(), "name")
        self.logged("lead", of=[first])
        self.server.freeze()
        self.line_with(first, "'name' was lost while this machine led: ")
        self.logged("resign", of=[first])
        self.server.thaw()
        self.logged("lead", 2, of=[first])
        first.terminate()
        self.assertEqual(self.finish(first)[0], -signal.SIGTERM)
        self.assertEqual(self.words(), ["lead", "resign", "lead", "resign"])


class OnFiles(Engines, engines.File, harness.Case):
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
