# SPDX-License-Identifier: Apache-2.0
"""What a command inherits: its environment, descriptors and signals; and the
default lock directory."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
from harness import machine, waiting

PYTHON = "/usr/bin/python3"


class Variables(harness.Case):
    def command_environment(self, *arguments):
        status, out, err = self.run_tool(*arguments, "--", "env", "-0")
        self.assertEqual(status, 0, err)
        return dict(entry.split("=", 1) for entry in out.split("\0")[:-1])

    def test_name_and_token(self):
        seen = self.command_environment("a/b")
        self.assertEqual(seen["HOLDFAST_NAME"], "a/b")
        self.assertRegex(seen["HOLDFAST_TOKEN"], r"^[1-9][0-9]*$")

    def test_name_is_canonical(self):
        self.assertEqual(self.command_environment("/a")["HOLDFAST_NAME"], "a")

    def test_tokens_rise(self):
        tokens = [int(self.command_environment("a")["HOLDFAST_TOKEN"])
                  for _ in range(5)]
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_a_waiter_keeps_its_first_ticket(self):
        """It has the number after the holder's, although it first found the
        lock taken, so no other ticket can come between."""
        first = self.start("a", "--", "sh", "-c",
                           "echo $HOLDFAST_TOKEN; exec cat >/dev/null",
                           stdin=subprocess.PIPE)
        held = int(waiting.read_line(first))
        second = self.start("a", "--", "sh", "-c", "echo $HOLDFAST_TOKEN")
        self.queued(2)
        first.stdin.close()
        first.stdin = None
        self.assertEqual(self.finish(second)[:2], (0, "%d\n" % (held + 1)))
        self.assertEqual(self.finish(first)[0], 0)

    def test_outer_values_are_replaced(self):
        self.environment["HOLDFAST_NAME"] = "outer"
        self.environment["HOLDFAST_TOKEN"] = "1"
        out = self.run_tool("inner", "--", "env")[1]
        self.assertEqual(re.findall("HOLDFAST_NAME=.*", out),
                         ["HOLDFAST_NAME=inner"])
        self.assertEqual(len(re.findall("HOLDFAST_TOKEN=", out)), 1)

    def test_the_rest_is_passed_on(self):
        self.environment["SOMETHING"] = "a=b\nc"
        seen = self.command_environment("l")
        for name, value in self.environment.items():
            self.assertEqual(seen[name], value)

    def test_url_without_a_secret_is_passed_on(self):
        url = "file:" + self.locks
        self.environment["HOLDFAST_URL"] = url
        self.assertEqual(self.command_environment("l")["HOLDFAST_URL"], url)

    def test_url_as_it_was_used(self):
        url = "file:" + self.path("other")
        for given in (None, "", "redis://user:geheim@host/", "nosuch:"):
            if given is not None:
                self.environment["HOLDFAST_URL"] = given
            seen = self.command_environment("-c", url, "l")
            self.assertEqual(seen["HOLDFAST_URL"], url)
        self.environment.pop("HOLDFAST_URL", None)
        seen = self.command_environment("l")
        self.assertEqual(seen["HOLDFAST_URL"], "file:")

    def test_an_empty_variable_chooses_nothing(self):
        """Neither an engine nor a directory: nothing is used by accident."""
        commands = [["run", "l", "--", "echo", "ran"],
                    ["elect", "l", "--", "echo", "ran"],
                    *([name, "l"] for name in ("show", "explain", "revoke",
                                               "metrics", "ls")),
                    ["evict", "--yes", "l", "0123abcd"],
                    ["torture", "--for", "1s", "l"]]
        for variable, status in (("HOLDFAST_URL", 64), ("HOLDFAST_DIR", 73)):
            for command in commands:
                with self.subTest(variable=variable, command=command):
                    self.an_empty(variable, command, status)
        self.an_empty("HOLDFAST_URL", ["doctor"], 64)
        self.an_empty("HOLDFAST_DIR", ["doctor"], 2)
        self.an_empty("HOLDFAST_URL", ["zk", "ls", "/"], 64)
        self.assertEqual(os.listdir(self.locks), [])

    def an_empty(self, variable, command, status):
        done = subprocess.run([harness.TOOL, *command], text=True,
                              env=dict(self.environment, **{variable: ""}),
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=waiting.LIMIT_S)
        text = done.stderr + (done.stdout if command == ["doctor"] else "")
        self.assertEqual(done.returncode, status, text)
        self.assertIn("%s is empty; expected" % variable, text)
        self.assertNotIn("ran", done.stdout)

    def under_service_manager(self, set_pid):
        """Whose sockets those are that the launcher was started with, as its
        command sees it, and what it reads from the first one."""
        with open(self.path("socket"), "w+") as socket:
            socket.write("passed")
            socket.seek(0)
            done = subprocess.run(
                ["sh", "-c", set_pid + "; export LISTEN_PID LISTEN_FDS=1 "
                 "LISTEN_PIDFDID=7 WATCHDOG_PID=$LISTEN_PID; "
                 "exec 3<&0 </dev/null; exec \"$@\"", "sh", *harness.RUN, "lock",
                 "--", "sh", "-c", "if test $LISTEN_PID = $$; then cat <&3; "
                 "else echo other; fi; test $WATCHDOG_PID = $LISTEN_PID || "
                 "echo $WATCHDOG_PID; echo \" $LISTEN_PIDFDID\""],
                stdin=socket, capture_output=True, text=True,
                env=self.environment, timeout=waiting.LIMIT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_sockets_of_a_service_manager_are_the_commands(self):
        """By each variable that names the process they are for; newer versions
        of systemd name it by its pidfd besides, which nobody can give the
        command before it runs."""
        self.assertEqual(self.under_service_manager("LISTEN_PID=$$"),
                         "passed \n")

    def test_sockets_of_another_process_are_not(self):
        self.assertEqual(self.under_service_manager("LISTEN_PID=1"),
                         "other\n 7\n")

    def test_names(self):
        seen = self.command_environment("b/c", "/a", "d e")
        self.assertEqual(seen["HOLDFAST_NAMES"], "b/c\na\nd e")
        self.assertEqual(seen["HOLDFAST_NAME"], "b/c")
        self.assertEqual(len(seen["HOLDFAST_TOKENS"].split()), 3)
        self.assertEqual(self.command_environment("a")["HOLDFAST_NAMES"], "a")

    def test_nested(self):
        out = self.run_tool("outer", "--", harness.TOOL, "run", "inner", "--",
                            "sh", "-c", "echo $HOLDFAST_NAME")[1]
        self.assertEqual(out, "inner\n")


class LockDirectory(harness.Case):
    """Two environments of one user must never mean two holders."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        machine.own_run()  # else, without root, they have the machine's

    def test_empty_and_login_environment_exclude_each_other(self):
        name = "holdfast-cli-test-%d" % os.getpid()
        script = "echo held; exec cat >/dev/null"
        environments = [
            ["env", "-i"],
            ["env", "-i", "HOME=/root", "USER=root", "LOGNAME=root",
             "SHELL=/bin/bash", "TERM=xterm", "LANG=C.UTF-8",
             "PATH=" + os.environ["PATH"], "XDG_RUNTIME_DIR=/run/user/0",
             "TMPDIR=" + self.directory, "XDG_SESSION_ID=1"]]
        for first, second in (environments, environments[::-1]):
            holder = subprocess.Popen(
                first + [harness.TOOL, "run", name, "--", "/bin/sh", "-c",
                         script],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.started.append(holder)
            waiting.read_line(holder, "held")
            other = second + [harness.TOOL, "run", "-q", "--try", name, "--",
                              "/bin/true"]
            self.assertEqual(subprocess.run(other).returncode, 75)
            self.finish(holder)
            self.assertEqual(subprocess.run(other).returncode, 0)

    def warned(self, *options, **variables):
        """The warning about the directory, under sudo."""
        environment = {"PATH": os.environ["PATH"], **variables}
        done = subprocess.run(
            [harness.TOOL, "run", *options, "holdfast-cli-test-%d" % os.getpid(),
             "--", "true"], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def test_sudo_changes_the_default(self):
        caller = "12345"
        err = self.warned(SUDO_UID=caller)
        self.assertRegex(err, r"holdfast: .*/holdfast.*/holdfast-12345\b")
        self.assertEqual(err.count("\n"), 1)
        self.assertEqual(self.warned("-q", SUDO_UID=caller), "")
        self.assertEqual(self.warned(SUDO_UID=caller,
                                     HOLDFAST_DIR=self.locks), "")
        self.assertEqual(self.warned("-c", "file:" + self.locks,
                                     SUDO_UID=caller), "")
        self.assertEqual(self.warned(SUDO_UID=str(os.getuid())), "")
        for nonsense in ("", "x", "-1", "1x", "9" * 30):
            self.assertEqual(self.warned(SUDO_UID=nonsense), "")

    def of_another(self, environment):
        """For a program of another user.  It cannot leave what it counts for
        ./dev coverage beside the objects, and says so, unless it has a
        directory of its own for that."""
        counts = tempfile.mkdtemp(dir=self.directory)
        os.chmod(counts, 0o777)
        return dict(environment, GCOV_PREFIX=counts)

    @unittest.skipIf(os.getuid() != 0, "only root can become another user")
    def test_any_user_needs_no_preparation(self):
        """With the default directory, for root and for another user."""
        uid = 54321 + os.getpid() % 1000
        os.chmod(self.directory, 0o711)
        tool = shutil.copy(harness.TOOL, self.path("holdfast"))
        for user in ([], ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid,
                          "--clear-groups"]):
            done = subprocess.run(
                user + [tool, "run", "holdfast-cli-test-%d" % os.getpid(),
                        "--", "true"], capture_output=True, text=True,
                env=self.of_another({"PATH": os.environ["PATH"]}))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        for where in ("/run/lock", "/tmp", "/var/tmp"):
            shutil.rmtree("%s/holdfast-%d" % (where, uid), ignore_errors=True)

    @unittest.skipIf(os.getuid() != 0, "only root can become another user")
    def test_a_group_shares_a_root(self):
        """A user waits for another one, which is killed and leaves its
        ticket."""
        tool = shutil.copy(harness.TOOL, self.path("holdfast"))
        os.chmod(self.directory, 0o1777)
        os.chown(self.locks, 0, 23456)
        os.chmod(self.locks, 0o2770)

        def start(user, *options):
            url = "file:%s?mode=0770&state=%s" % (
                self.locks, self.path("state-%d" % user))
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig=KILL", "--reuid=%d" % user,
                 "--regid=%d" % user,
                 "--groups=23456", tool, "run", "-q", *options, "-c", url,
                 "team", "--", "sh", "-c", "echo held; exec cat >/dev/null"],
                env=self.of_another(self.environment), stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                umask=0o077, process_group=0)
            self.started.append(process)
            return process
        first = start(12345)
        waiting.read_line(first, "held")
        self.assertEqual(self.finish(start(23451, "--try")), (75, "", ""))
        second = start(23451)
        self.queued(2)
        os.killpg(first.pid, signal.SIGKILL)
        waiting.read_line(second, "held")
        self.assertEqual(self.finish(second), (0, "", ""))
        self.assertEqual(self.finish(start(54321, "--try"))[0], 0)

    @unittest.skipUnless(shutil.which("systemd-tmpfiles"),
                         "no cleaner of temporary directories")
    def test_a_cleaner_of_temporary_directories(self):
        """It takes away the floor that nobody uses, and leaves that of a
        client which came after the floor had been old."""
        top, config = self.path("tmp"), self.path("tmpfiles.conf")
        state = os.path.join(top, "state")
        floor = os.path.join(state, "floor")
        url = "file:%s?state=%s" % (os.path.join(top, "root"), state)
        os.mkdir(top)
        with open(config, "w", encoding="ascii") as file:
            file.write("e %s - - - mM:10d\n" % top)

        def grow_old():
            for path in (floor, state):
                os.utime(path, (1000, 1000))

        def clean_up():
            subprocess.run(["systemd-tmpfiles", "--clean", config], check=True)
        self.assertEqual(self.run_tool("-c", url, "a", "--", "true")[0], 0)
        grow_old()
        holder = self.holder("-c", url)
        clean_up()
        self.assertTrue(os.path.exists(floor))
        grow_old()
        clean_up()
        self.assertFalse(os.path.exists(floor))
        self.assertEqual(self.run_tool("-c", url, "b", "--", "true")[0], 0)
        self.assertTrue(os.path.exists(floor))
        self.assertEqual(self.finish(holder)[0], 0)

    def test_url_of_the_environment_and_of_the_option(self):
        self.environment["HOLDFAST_URL"] = "file:" + self.path("other")
        self.holder("-c", "file:" + self.locks)
        self.assertEqual(self.run_tool("--try", "lock", "--", "true")[0], 0)
        del self.environment["HOLDFAST_URL"]
        self.assertEqual(self.run_tool("-q", "--try", "lock", "--",
                                       "true")[0], 75)


class OfTests(harness.Case):
    @unittest.skipUnless("HF_TEST_LIMIT_S" in os.environ,
                         "ctest has not started this test")
    def test_none_has_its_locks_in_the_default_directory(self):
        """ctest gives all of them one that cannot be made."""
        environment = {name: value for name, value in os.environ.items()
                       if name != "HOLDFAST_URL"}
        status, _, err = self.run_tool("lock", "--", "true", env=environment)
        self.assertEqual(status, 73)
        self.assertIn("/proc/a-test-names-a-directory-of-its-own", err)


class Descriptors(harness.Case):
    SCRIPT = ("import os\n"
              "for fd in sorted(map(int, os.listdir('/proc/self/fd'))):\n"
              "  try: print(fd, os.readlink('/proc/self/fd/%d' % fd))\n"
              "  except OSError: pass\n")

    def command_descriptors(self, **options):
        status, out, err = self.run_tool("l", "--", PYTHON, "-c", self.SCRIPT,
                                         **options)
        self.assertEqual(status, 0, err)
        found = dict(line.split(" ", 1) for line in out.splitlines())
        return {int(fd): path for fd, path in found.items()}

    def test_none_of_ours(self):
        self.assertEqual(set(self.command_descriptors()), {0, 1, 2})

    def test_those_of_the_user_pass(self):
        with open(self.path("mine"), "w") as file:
            # 9 and 200 as scripts use them, and one right behind stderr.
            os.dup2(file.fileno(), 200)
            os.dup2(file.fileno(), 9)
            try:
                found = self.command_descriptors(
                    pass_fds=[file.fileno(), 9, 200])
            finally:
                os.close(9)
                os.close(200)
            self.assertEqual(set(found), {0, 1, 2, 9, 200, file.fileno()})
            self.assertEqual(found[200], self.path("mine"))

    def test_none_of_ours_after_a_wait(self):
        """With the library's thread and loop under way."""
        holder = self.holder()
        waiter = self.start("lock", "--", PYTHON, "-c", self.SCRIPT)
        self.queued(2)
        self.finish(holder)
        out = self.finish(waiter)[1]
        self.assertEqual([line.split()[0] for line in out.splitlines()],
                         ["0", "1", "2"])

    def test_background_child_does_not_keep_the_lock(self):
        """flock(1) without -o hands its descriptor to every child."""
        script = "(trap '' TERM; exec sleep 1000) & exit 0"
        self.assertEqual(
            self.run_tool("--grace", "0s", "l", "--", "sh", "-c", script,
                          stdout=subprocess.DEVNULL)[0], 0)
        self.assertEqual(self.run_tool("--try", "l", "--", "true")[0], 0)


class Signals(harness.Case):
    SCRIPT = ("for line in open('/proc/self/status'):\n"
              "  if line.startswith(('SigBlk', 'SigIgn')):\n"
              "    print(line.strip())\n")

    def masks(self, arguments, **options):
        """Blocked and ignored signals as a fresh program sees them (the
        interpreter itself ignores SIGPIPE and SIGXFSZ)."""
        done = subprocess.run(arguments + [PYTHON, "-c", self.SCRIPT],
                              capture_output=True, text=True,
                              env=self.environment, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def assert_as_found(self, prepare):
        self.assertEqual(
            self.masks([harness.TOOL, "run", "l", "--"], preexec_fn=prepare,
                       restore_signals=False),
            self.masks([], preexec_fn=prepare, restore_signals=False))

    def test_as_found(self):
        self.assert_as_found(lambda: None)

    def test_ignored_stay_ignored(self):
        def prepare():
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGCHLD,
                           signal.SIGTSTP, signal.SIGPIPE, signal.SIGUSR1,
                           signal.SIGRTMIN):
                signal.signal(number, signal.SIG_IGN)
        self.assert_as_found(prepare)

    def test_blocked_stay_blocked(self):
        def prepare():
            signal.pthread_sigmask(signal.SIG_BLOCK, [
                signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR2,
                signal.SIGRTMAX])
        self.assert_as_found(prepare)

    def test_group_and_session_are_the_launchers(self):
        launcher = self.holder()
        command, supervisor = self.command(launcher), self.supervisor(launcher)
        self.assertEqual(os.getpgid(command), os.getpgid(launcher.pid))
        self.assertEqual(os.getsid(command), os.getsid(launcher.pid))
        self.assertEqual(os.getpgid(supervisor), supervisor)


if __name__ == "__main__":
    harness.main()
