# SPDX-License-Identifier: Apache-2.0
"""A run inside of a run: what the outer one holds is known to the inner one,
which is refused where it would wait for itself; and it uses the outer engine,
also where the URL has a password."""

import json
import os
import shutil
import subprocess
import sys
import unittest

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

RUN = [harness.TOOL, "run"]
PYTHON = "/usr/bin/python3"


class Nested(harness.Case):
    def nested(self, outer, inner, *command):
        """Run `holdfast run INNER` inside of `holdfast run OUTER`."""
        return self.run_tool(*outer, "--", *RUN, *inner, "--",
                             *(command or ("echo", "ran")))

    def refused(self, outer, inner, *parts):
        status, out, err = self.nested(outer, inner)
        self.assertEqual((status, out), (64, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        for part in parts + ("never", "outer run"):
            self.assertIn(part, err)
        self.assertEqual(self.tickets(), 0)

    def taken(self, outer, inner):
        self.assertEqual(self.nested(outer, inner), (0, "ran\n", ""))

    def test_the_same_name(self):
        self.refused(["job"], ["job"], "'job' is held already (mutex)", "(pid ")
        self.refused(["job"], ["-w", "1d", "/job"], "'job' is held already")
        self.refused(["a", "job", "b"], ["c", "job"], "'job' is held already")
        self.refused(["job"], ["-c", "file:" + self.locks, "job"], "'job'")

    def test_the_same_engine_by_another_url(self):
        """Its digest differs, and the owner at the head of the queue does
        not."""
        other = "file:%s/../%s" % (self.locks, os.path.basename(self.locks))
        for options in ([], ["--write"]):
            self.refused([*options, "job"], [*options, "-c", other, "job"],
                         "'job' is held already")

    def test_other_names_and_engines(self):
        self.taken(["job"], ["task"])
        self.taken(["job"], ["-c", "file:" + self.path("other"), "job"])

    def test_a_try_answers_as_ever(self):
        status, out, err = self.nested(["job"], ["--try", "job"])
        self.assertEqual((status, out), (75, ""))
        self.assertNotIn("never", err)

    def test_deeper(self):
        self.refused(["outer"], ["middle", "--", *RUN, "outer"],
                     "'outer' is held already")

    def test_a_leader_in_its_own_election(self):
        """It would wait for itself until it is lost."""
        status, out, err = self.run_tool(
            "--restart", "never", "job", "--", harness.TOOL, "elect", "job", "--",
            "echo", "ran", command="elect")
        self.assertEqual((status, out), (64, ""), err)
        self.assertIn("'job' is held already (election)", err)

    def test_across_sessions_and_orphans(self):
        """What the command starts is part of the run, wherever it went."""
        status, out, err = self.run_tool(
            "job", "--", "setsid", "--wait", "sh", "-c",
            "%s run job -- echo ran; exit $?" % harness.TOOL)
        self.assertEqual((status, out), (64, ""))
        self.assertIn("'job' is held already", err)

    def test_readers_and_writers(self):
        self.taken(["--read", "file"], ["--read", "file"])
        self.refused(["--read", "file"], ["--write", "file"], "(read)")
        self.refused(["--write", "file"], ["--read", "file"], "(write)")
        self.refused(["--write", "file"], ["--write", "file"], "(write)")

    def test_reader_in_a_reader_behind_a_writer(self):
        self.waits_for_itself(*RUN, "--read", "file", "--", "echo", "ran")

    def test_hold_as_a_reader_in_a_reader_behind_a_writer(self):
        self.waits_for_itself(harness.TOOL, "hold", "-U", "--read", "file")

    def waits_for_itself(self, *inner):
        outer = self.start("--read", "file", "--", "sh", "-c",
                           'echo held; read line; "$@"', "sh", *inner,
                           stdin=subprocess.PIPE)
        waiting.read_line(outer, "held")
        writer = self.start("--write", "file", "--", "echo", "written")
        self.queued(2)
        outer.stdin.write("go\n")
        outer.stdin.close()
        outer.stdin = None
        status, out, err = self.finish(outer)
        self.assertEqual((status, out), (64, ""))
        self.assertIn("'file' is held already by the run that this one is part "
                      "of", err)
        self.assertEqual(self.finish(writer), (0, "written\n", ""))

    def test_permits(self):
        self.taken(["--permits", "1/2", "pool"], ["--permits", "1/2", "pool"])
        self.refused(["--permits", "1/2", "pool"], ["--permits", "2/2", "pool"],
                     "1 of the permits of 'pool' are held")
        self.refused(["--permits", "1/3", "pool"],
                     ["--permits", "1/3", "pool", "--", *RUN, "--permits",
                      "2/3", "pool"], "2 of the permits of 'pool' are held")
        self.taken(["pool"], ["--permits", "1/1", "pool"])

    def test_an_environment_that_outlived_its_run(self):
        """What it names is no ancestor, or another process with its pid."""
        _, out, _ = self.run_tool("job", "--", "sh", "-c", "echo $HOLDFAST_HELD")
        engine, _, started, rest = out.strip().split(":", 3)
        self.assertRegex(rest, r"^mutex:1:3:[0-9a-f]{8}:job$")
        for pid in (os.getpid(), 1, 999999999, 0):
            self.environment["HOLDFAST_HELD"] = "%s:%d:%s:%s" % (
                engine, pid, started, rest)
            self.assertEqual(self.run_tool("job", "--", "echo", "ran"),
                             (0, "ran\n", ""))

    def test_what_is_handed_down(self):
        _, out, _ = self.run_tool(
            "a:b", "c d", "--", *RUN, "--read", "inner", "--", "sh", "-c",
            'printf %s "$HOLDFAST_HELD"')
        lines = [line.split(":", 7) for line in out.splitlines()]
        self.assertEqual([line[3:5] + line[7:] for line in lines],
                         [["mutex", "1", "a:b"], ["mutex", "1", "c d"],
                          ["read", "1", "inner"]])
        self.assertEqual(lines[0][:3], lines[1][:3])
        self.assertEqual(lines[0][0], lines[2][0])
        self.assertNotEqual(lines[0][1], lines[2][1])

    def test_a_ticket_says_what_the_outer_runs_hold(self):
        busy = self.start("inner", "--", "sh", "-c", "echo held; read line",
                          stdin=subprocess.PIPE)
        waiting.read_line(busy, "held")
        outer = self.start("a:b", "--", *RUN, "--read", "file", "--", *RUN,
                           "inner", "--", "echo", "ran")
        self.queued(4)
        ids = [self.show(name)[0]["id"][:8] for name in ("a:b", "file")]
        waiting.eventually(
            "holds=", lambda: " holds=" in self.show("inner")[1]["payload"],
            of=[outer])
        payloads = [ticket["payload"] for ticket in self.show("inner")]
        self.assertNotIn("holds=", payloads[0])
        self.assertTrue(payloads[1].endswith(
            " holds=a%%3Ab:%s,file:%s" % tuple(ids)), payloads[1])
        busy.stdin.close()
        self.assertEqual(busy.wait(waiting.LIMIT_S), 1)  # read met the end
        self.assertEqual(self.finish(outer)[1], "ran\n")

    def show(self, name):
        out = subprocess.run([harness.TOOL, "show", "--json", name],
                             env=self.environment, check=True,
                             capture_output=True, text=True).stdout
        return json.loads(out)["tickets"]

    def test_nonsense_is_ignored(self):
        for text in ("", "\n\n", ":::::::", "x" * 100000, "\udcff:1",
                     "0123456789abcdef:1:1:mutex:1:1:01234567:",
                     "0123456789abcdef:1:1:nothing:1:1:01234567:job\n" * 2000):
            self.environment["HOLDFAST_HELD"] = text
            status, out, err = self.run_tool("job", "--", "sh", "-c",
                                             'printf %s "$HOLDFAST_HELD"')
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(len(out.splitlines()), 1)

    def test_as_many_as_there_may_be(self):
        """The longest names, in as many runs as the kernel has room for."""
        names = ["%02d" % i + "/x" * 500 for i in range(64)]
        self.taken(names, ["job"])
        self.taken(names[:32], [*names[32:], "--", *RUN, "job"])


class UrlWithPassword(harness.Case):
    """The server refuses a client without a password, so a run that is admitted has
    been given it.  The lock directory must stay empty: a run there is one that
    has chosen another engine."""

    PASSWORD = "geheim4711"

    @classmethod
    def setUpClass(cls):
        import redis_server
        cls.server = redis_server.Server(["appendonly yes", "appendfsync always"])
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        with redis_server.Client(cls.server.port) as client:
            client.ask("CONFIG", "SET", "requirepass", cls.PASSWORD)

    def setUp(self):
        super().setUp()
        self.url = "redis://:%s@127.0.0.1:%d/" % (self.PASSWORD, self.server.port)
        self.environment["HOLDFAST_URL"] = self.url
        self.name = self.id().rpartition(".")[2]

    def tearDown(self):
        used = os.listdir(self.locks)
        super().tearDown()
        self.assertEqual(used, [], "a run has used the lock directory")

    def profile(self):
        """Put the URL into a profile, and nowhere else."""
        del self.environment["HOLDFAST_URL"]
        self.environment["XDG_CONFIG_HOME"] = self.path("config")
        os.makedirs(self.path("config/holdfast"))
        path = self.path("config/holdfast/profiles")
        with open(path, "w") as file:
            file.write("prod %s\n" % self.url)
        os.chmod(path, 0o600)
        return ["-c", "@prod"]

    def ran(self, *words):
        status, out, err = self.run_tool(*words)
        self.assertEqual((status, out, err), (0, "ran\n", ""))

    def refused_there(self, *words):
        """The text; nothing ran."""
        status, out, err = self.run_tool(*words)
        self.assertEqual((status, out), (64, ""), err)
        for part in ("has a password", "closed", "-c", "auth_file="):
            self.assertIn(part, err)
        self.assertNotIn(self.PASSWORD, err)
        return err

    def test_the_same_engine(self):
        """What the outer run holds, the inner one finds held."""
        for choose in (list, self.profile):
            options = choose()
            status, out, err = self.run_tool(
                *options, self.name, "--", *RUN, "--try", self.name, "--",
                "echo", "ran")
            self.assertEqual((status, out), (75, ""), err)
            status, out, err = self.run_tool(*options, self.name, "--", *RUN,
                                             self.name, "--", "echo", "ran")
            self.assertEqual((status, out), (64, ""), err)
            self.assertIn("is held already", err)

    def test_three_deep(self):
        self.ran(self.name, "--", *RUN, self.name + "/b", "--", *RUN,
                 self.name + "/c", "--", "sh", "-c",
                 "%s run -q --try %s -- true || echo ran" % (harness.TOOL,
                                                            self.name))

    def test_a_nested_run_of_elect(self):
        """Each start of its command has a descriptor of its own, and none
        stays with the supervisor, except that it may not have closed the
        latest yet."""
        self.holder(name=self.name + "/held")
        script = ('"$@"; echo status $? $(ls -l /proc/$PPID/fd | grep -c holdfast-url) >> %s; '
                  '[ $(wc -l < %s) -eq 3 ]' % (self.path("seen"),
                                               self.path("seen")))
        status, _, err = self.run_tool(
            "--restart", "on-failure", self.name, "--", "sh", "-c", script, "sh",
            *RUN, "-q", "--try", self.name + "/held", "--", "echo", "inner",
            command="elect")
        self.assertEqual(status, 0, err)
        with open(self.path("seen")) as file:
            lines = file.read().splitlines()
        self.assertEqual([line[:10] for line in lines], ["status 75 "] * 3)
        self.assertLessEqual(int(lines[2].split()[2]), 1, lines)

    def test_other_commands(self):
        status, out, err = self.run_tool(
            self.name, "--", harness.TOOL, "show", "--json", self.name)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(len(json.loads(out)["tickets"]), 1)
        status, out, _ = self.run_tool(self.name, "--", harness.TOOL, "ls",
                                       self.name)
        self.assertEqual(status, 0)
        self.assertIn(self.name, out)
        self.ran(self.name, "--", "sh", "-c",
                 '%s run -q -c "$HOLDFAST_URL" --try %s -- true || echo ran' % (
                     harness.TOOL, self.name))

    def test_nobody_sees_the_password(self):
        """In the environment, the arguments and the output of env(1), of each
        process of both runs."""
        options = self.profile()
        outer = self.start(*options, self.name, "--", *RUN, self.name + "/inner",
                           "--", "sh", "-c", "env; echo held; read line",
                           stdin=subprocess.PIPE)
        seen = ""
        while not seen.endswith("held\n"):
            seen += waiting.read_line(outer) + "\n"
        self.assertRegex(seen, r"\nHOLDFAST_URL=fd:[0-9]+:[0-9]+:[0-9]+\n")
        pids = [outer.pid, *harness.descendants(outer.pid)]
        self.assertGreaterEqual(len(pids), 5)
        for pid in pids:
            for file in ("cmdline", "environ"):
                with open("/proc/%d/%s" % (pid, file)) as shown:
                    seen += shown.read()
        self.assertNotIn(self.PASSWORD, seen)
        outer.stdin.close()
        outer.wait(waiting.LIMIT_S)

    def test_the_descriptor(self):
        """It has a number that no script uses, only its user can open it by
        /proc, and nobody can change what the others read."""
        script = ("import os\n"
                  "fd = int(os.environ['HOLDFAST_URL'].split(':')[1])\n"
                  "print(fd, oct(os.fstat(fd).st_mode & 0o777))\n"
                  "for change in (lambda: os.pwrite(fd, b'x', 0),\n"
                  "               lambda: os.ftruncate(fd, 0),\n"
                  "               lambda: os.ftruncate(fd, 9999)):\n"
                  "    try: change(); print('changed')\n"
                  "    except PermissionError: pass\n")
        status, out, err = self.run_tool(self.name, "--", PYTHON, "-c", script)
        self.assertEqual((status, err), (0, ""))
        number, *rest = out.split()
        self.assertEqual(rest, ["0o400"])
        self.assertGreaterEqual(int(number), 256)

    def test_a_low_limit_of_descriptors(self):
        status, out, err = self.finish(self.popen_limited(64))
        self.assertEqual((status, out, err), (0, "ran\n", ""))

    def popen_limited(self, limit):
        process = subprocess.Popen(
            ["prlimit", "--nofile=%d" % limit, "--", *RUN, self.name, "--", "sh",
             "-c", "%s run -q --try %s -- true || echo ran" % (harness.TOOL,
                                                            self.name)],
            env=self.environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.started.append(process)
        return process

    def test_a_program_that_closes_descriptors(self):
        script = ("import subprocess, sys\n"
                  "sys.exit(subprocess.run(sys.argv[1:], close_fds=%s)"
                  ".returncode)\n")
        words = [*RUN, "--try", self.name + "/inner", "--", "echo", "ran"]
        self.ran(self.name, "--", PYTHON, "-c", script % False, *words)
        self.refused_there(self.name, "--", PYTHON, "-c", script % True, *words)
        for command in (["show", self.name], ["ls"], ["explain", self.name]):
            with self.subTest(command):
                self.refused_there(self.name, "--", PYTHON, "-c", script % True,
                                   harness.TOOL, *command)

    def test_another_file_at_its_number(self):
        """Also one that looks right, and has another URL."""
        script = ("import fcntl, os, sys\n"
                  "fd = int(os.environ['HOLDFAST_URL'].split(':')[1])\n"
                  "%s\n"
                  "os.dup2(other, fd, inheritable=True)\n"
                  "os.execv(sys.argv[1], sys.argv[1:])\n")
        words = [*RUN, "--try", self.name + "/inner", "--", "echo", "ran"]
        for other in ("other = os.open('/etc/hostname', os.O_RDONLY)",
                      "other = os.memfd_create('x', os.MFD_ALLOW_SEALING)\n"
                      "os.write(other, b'file:%s')\n"
                      "fcntl.fcntl(other, fcntl.F_ADD_SEALS, 15)" % self.locks):
            self.refused_there(self.name, "--", PYTHON, "-c", script % other,
                               *words)

    def test_an_environment_that_outlived_its_run(self):
        status, out, _ = self.run_tool(self.name, "--", "sh", "-c",
                                       "echo $HOLDFAST_URL")
        self.environment["HOLDFAST_URL"] = out.strip()
        self.refused_there(self.name, "--", "echo", "ran")

    def test_a_url_of_its_own(self):
        """It is what the innermost command is given."""
        other = "file:" + self.path("other")
        status, out, err = self.run_tool(
            self.name, "--", *RUN, "-c", other, self.name, "--", "sh", "-c",
            'echo $HOLDFAST_URL')
        self.assertEqual((status, out, err), (0, other + "\n", ""))

    @unittest.skipIf(os.getuid() != 0, "only root can become another user")
    def test_another_user(self):
        """It was given the engine with the descriptor, so it may use it."""
        os.chmod(self.directory, 0o711)
        tool = shutil.copy(harness.TOOL, self.path("holdfast"))
        status, out, err = self.run_tool(
            self.name, "--", "setpriv", "--reuid=54321", "--regid=54321",
            "--clear-groups", "sh", "-c",
            "GCOV_PREFIX=%s; export GCOV_PREFIX; %s run --try %s -- true; "
            "echo status $?" % (self.directory, tool, self.name))
        self.assertEqual((status, out), (0, "status 75\n"), err)


if __name__ == "__main__":
    harness.main()
