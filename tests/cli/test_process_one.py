# SPDX-License-Identifier: Apache-2.0
"""The tool as process 1 of a container: a pid namespace whose root directory has
the tool, a shell for the command, and little else.  The kernel ends process 1 by
no signal that it does not handle, and gives it the orphans of all others; the
user has no name, and there is no /etc.

The tool is run with what it is linked to.  ./dev musl runs these tests with one
that is linked to nothing."""

import os
import shutil
import signal
import subprocess
import sys
import unittest

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

from zookeeper import Standalone  # noqa: E402

NOBODY = 65534

# What the commands are written in.
PROGRAMS = ("sh", "sleep", "cat")

# For sh, as process 1: what a container's runtime does before it starts the
# program.  The directory is $0.
CONTAIN = """
mount -t tmpfs none "$0/dev" && mknod -m 666 "$0/dev/null" c 1 3 &&
mount -t proc proc "$0/proc" &&
exec chroot --groups= --userspec=%d:%d "$0" /usr/bin/holdfast "$@"
""" % (NOBODY, NOBODY)


def libraries(program):
    """The files that the loader of this machine gives to a program."""
    done = subprocess.run(["ldd", program], text=True, capture_output=True,
                          check=False)
    return [word for line in done.stdout.splitlines() for word in line.split()
            if word.startswith("/")]


@unittest.skipUnless(os.getuid() == 0 and harness.can_unshare("-m", "-p", "-f"),
                     "no pid namespace to be had")
class ProcessOne(harness.Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)
        self.root = self.path("root")
        for name in ("usr/bin", "dev", "proc", "run/holdfast"):
            os.makedirs(os.path.join(self.root, name))
        os.chown(os.path.join(self.root, "run/holdfast"), NOBODY, NOBODY)
        os.chmod(os.path.join(self.root, "run/holdfast"), 0o700)
        self.locks = os.path.join(self.root, "run/holdfast")
        self.copy(harness.TOOL, "/usr/bin/holdfast")
        for name in PROGRAMS:
            self.copy(shutil.which(name), "/usr/bin/" + name)
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                            "HOLDFAST_DIR": "/run/holdfast"}

    def copy(self, program, name):
        shutil.copy(program, self.root + name)
        for library in libraries(program):
            os.makedirs(self.root + os.path.dirname(library), exist_ok=True)
            shutil.copy(library, self.root + library)

    def contain(self, *arguments, script=CONTAIN):
        """Start the tool as process 1; what starts it, whose child it is."""
        process = subprocess.Popen(
            ["unshare", "--fork", "--kill-child", "--pid", "--mount", "sh", "-c",
             script, self.root, *arguments], text=True, env=self.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, process_group=0)
        self.started.append(process)
        return process

    def run_contained(self, *arguments, **options):
        return self.finish(self.contain(*arguments, **options))

    def number_inside(self, pid):
        """The number that a process has in its namespace."""
        with open("/proc/%d/status" % pid) as file:
            return [int(line.split()[-1]) for line in file
                    if line.startswith("NSpid:")][0]

    def process_one(self, process):
        """Its number outside of its namespace."""
        pid = waiting.eventually("process 1",
                                 lambda: harness.children(process.pid))[0]
        self.assertEqual(self.number_inside(pid), 1)
        return pid

    def ended_by(self, number, process):
        """The exit status after a signal.  finish() would end its standard
        input, and a command that reads it might end by that."""
        os.kill(self.process_one(process), number)
        return process.wait(waiting.LIMIT_S)

    # ---- the end of the command

    def test_status_is_that_of_the_command(self):
        for script, expected in (("exit 0", 0), ("exit 5", 5),
                                 ("kill -TERM $$", 143), ("kill -KILL $$", 137),
                                 ("kill -SEGV $$", 139)):
            with self.subTest(script=script):
                status, out, err = self.run_contained("run", "a", "--", "sh",
                                                      "-c", script)
                self.assertEqual((status, out), (expected, ""), err)

    def test_command_that_is_not_there(self):
        status, _, err = self.run_contained("run", "a", "--", "nothing")
        self.assertEqual(status, 127)
        self.assertIn("nothing", err)

    def test_who_it_is(self):
        """A user without a name, and numbers of this namespace."""
        process = self.contain("run", "a", "--", "sh", "-c",
                               "/usr/bin/holdfast show a; cat; exit 3")
        one = self.process_one(process)
        waiting.eventually("the command", lambda: os.path.basename(
            os.readlink("/proc/%d/exe" % one)) == "holdfast" and
            len(harness.descendants(one)) > 1)
        supervisor = self.number_inside(harness.children(one)[0])
        status, out, err = self.finish(process)
        self.assertEqual(status, 3, err)
        self.assertRegex(out, r"\n1 holds mutex .* \(pid %d on " % supervisor)

    # ---- signals

    def test_each_signal_is_passed_to_the_command(self):
        for name in ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2"):
            with self.subTest(signal=name):
                process = self.contain(
                    "run", "a", "--", "sh", "-c",
                    "trap 'echo %s; exit 7' %s; echo ready;"
                    " while :; do sleep 0.05; done" % (name, name))
                waiting.read_line(process, "ready")
                os.kill(self.process_one(process),
                        getattr(signal, "SIG" + name))
                status, out, err = self.finish(process)
                self.assertEqual((status, out), (7, name + "\n"), err)

    def test_signal_that_the_command_dies_of(self):
        process = self.contain("run", "a", "--", "sh", "-c",
                               "echo ready; exec sleep 1000")
        waiting.read_line(process, "ready")
        self.assertEqual(self.ended_by(signal.SIGTERM, process), 143)
        self.queued(0)

    def test_signal_while_it_waits(self):
        holder = self.holder_in_a_container()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number):
                waiter = self.contain("run", "a", "--", "sh", "-c", "echo ran")
                self.queued(2)
                os.kill(self.process_one(waiter), number)
                status, out, err = self.finish(waiter)
                self.assertEqual((status, out), (128 + number, ""), err)
                self.queued(1)
        self.assertEqual(self.finish(holder)[0], 0)

    def test_hold_ends_by_sigterm(self):
        process = self.contain("hold", "a")
        self.assertRegex(waiting.read_line(process), r"^[1-9][0-9]*$")
        self.assertEqual(self.ended_by(signal.SIGTERM, process), 0)
        self.queued(0)

    # ---- orphans

    def zombies(self, pid):
        return [child for child in harness.descendants(pid)
                if harness.state_of(child) == "Z"]

    def test_orphans_of_the_command_are_reaped(self):
        """Each shell in brackets starts a process and ends; that one outlives
        it, and ends while the command runs."""
        process = self.contain(
            "run", "a", "--", "sh", "-c",
            "i=0; while [ $i -lt 50 ]; do (sleep 0.1 &); i=$((i+1)); done;"
            " echo ready; read go; exit 4")
        waiting.read_line(process, "ready")
        pid = self.process_one(process)
        # The launcher, the supervisor and the command.
        waiting.eventually("the end of the orphans", lambda: len(
            harness.descendants(pid)) == 2 and not self.zombies(pid))
        status, out, err = self.finish(process)
        self.assertEqual((status, out), (4, ""), err)

    def test_what_the_command_left_gets_sigterm(self):
        process = self.contain(
            "run", "-g", "1m", "a", "--", "sh", "-c",
            "(trap 'echo left; exit' TERM; echo ready;"
            " while :; do sleep 0.05; done) & read go; exit 6")
        waiting.read_line(process, "ready")
        status, out, err = self.finish(process)
        self.assertEqual((status, out), (6, "left\n"), err)

    # ---- locks

    def holder_in_a_container(self, *options):
        """Holds the lock until its standard input ends."""
        process = self.contain("run", *options, "a", "--", "sh", "-c",
                               "echo held; exec cat >/dev/null")
        waiting.read_line(process, "held")
        return process

    def test_two_containers_exclude_each_other(self):
        """Their process numbers are the same, and the directory is."""
        holder = self.holder_in_a_container()
        status, out, err = self.run_contained("run", "-n", "a", "--", "sh", "-c",
                                              "echo ran")
        self.assertEqual((status, out), (75, ""), err)
        waiter = self.contain("run", "a", "--", "sh", "-c", "echo ran")
        self.queued(2)
        # The end of process 1 is that of all processes of its container.
        os.kill(self.process_one(holder), signal.SIGKILL)
        status, out, err = self.finish(waiter)
        self.assertEqual((status, out), (0, "ran\n"), err)

    def test_lock_of_zookeeper(self):
        server = Standalone()
        self.addCleanup(server.close)
        url = "zk://127.0.0.1:%d" % server.port
        holder = self.holder_in_a_container("-c", url)
        status, out, err = self.run_contained("run", "-n", "-c", url, "a", "--",
                                              "sh", "-c", "echo ran")
        self.assertEqual((status, out), (75, ""), err)
        status, out, err = self.run_contained("show", "-c", url, "a")
        self.assertEqual(status, 0, err)
        self.assertIn("1 holds mutex", out)
        self.assertEqual(self.ended_by(signal.SIGTERM, holder), 143)
        status, out, err = self.run_contained("run", "-n", "-c", url, "a", "--",
                                              "sh", "-c", "echo ran")
        self.assertEqual((status, out), (0, "ran\n"), err)

    # ---- what is missing

    def test_no_proc(self):
        status, out, err = self.run_contained(
            "run", "a", "--", "sh", "-c", "echo ran",
            script=CONTAIN.replace("mount -t proc proc", "test -d"))
        self.assertEqual((status, out), (70, ""), err)
        self.assertIn("mount it", err)

    def test_no_directory_for_locks(self):
        """Neither HOLDFAST_DIR, nor /run/lock, nor /tmp."""
        del self.environment["HOLDFAST_DIR"]
        status, out, err = self.run_contained("run", "a", "--", "sh", "-c",
                                              "echo ran")
        self.assertEqual((status, out), (73, ""), err)
        self.assertIn("/tmp", err)


if __name__ == "__main__":
    harness.main()
