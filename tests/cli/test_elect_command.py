# SPDX-License-Identifier: Apache-2.0
"""What users of holdfast elect see on one machine: restarts, signals, statuses,
messages and a terminal.  test_elect.py has what holds on each engine."""

import os
import signal
import socket
import struct
import subprocess

import harness
from harness import waiting

# It goes on after SIGHUP and cleans up after SIGTERM.
SERVICE = ("trap 'echo cleaned up; exit 4' TERM; trap 'echo reread' HUP; "
           "echo began $HOLDFAST_NAME $HOLDFAST_TOKEN; "
           "while :; do sleep 0.01; done")


class Elect(harness.Case):
    def elect(self, *arguments, **options):
        return self.start(*arguments, command="elect", **options)

    def line_with(self, process, text, stream="stdout"):
        """The next line that has the text in it, one of the next 20."""
        for _ in range(20):
            line = waiting.read_line(process, stream=stream)
            if text in line:
                return line
        self.fail("no %r in 20 lines" % text)

    def service(self, *options, script=SERVICE):
        process = self.elect(*options, "name", "--", "bash", "-c", script)
        return process, self.line_with(process, "began ").split()[-1]

    def finished(self, *arguments, **options):
        return self.finish(self.elect(*arguments, **options))

    # ---- restarts

    def test_a_command_that_ends_is_started_again_with_the_same_token(self):
        """And with nothing left of the one before."""
        script = "sleep 1000 & echo began $HOLDFAST_TOKEN $!; exit 3"
        process = self.elect("name", "--", "sh", "-c", script)
        lines = [self.line_with(process, "began ").split() for _ in range(3)]
        for _, _, pid in lines[:2]:
            self.assertFalse(harness.is_alive(int(pid)))
        self.assertEqual(len({token for _, token, _ in lines}), 1)
        process.terminate()
        _, _, err = self.finish(process)
        self.assertIn("the command ended with status 3; it is started again in "
                      "100ms\n", err)
        self.assertIn("it is started again in 200ms\n", err)

    def test_restart_never_and_on_failure(self):
        for options, status in ((("-r", "never"), 5), (("-r", "never"), 0),
                                (("--restart", "on-failure"), 0)):
            self.assertEqual(self.finished("-q", *options, "name", "--", "sh",
                                           "-c", "exit %d" % status),
                             (status, "", ""))
        self.assertEqual(self.tickets(), 0)

    def test_on_failure_starts_again_after_a_failure(self):
        mark = self.path("mark")
        status, out, _ = self.finished(
            "--restart=on-failure", "name", "--", "sh", "-c",
            "echo ran; test -e '%s' || { touch '%s'; exit 1; }" % (mark, mark))
        self.assertEqual((status, out), (0, "ran\nran\n"))

    def test_a_command_that_is_not_there_fails(self):
        """On this machine; it may be on another."""
        process = self.elect("-b", "1", "name", "--", "/no/such/command")
        self.line_with(process, "cannot run", "stderr")
        line = self.line_with(process, "holdfast: the command failed", "stderr")
        self.assertIn("1 times in a row, at last with status 127; resigning",
                      line)
        process.terminate()
        self.assertEqual(self.finish(process)[0], -signal.SIGTERM)

    # ---- signals

    def test_a_signal_that_ends_reaches_the_command_once(self):
        process, _ = self.service()
        process.terminate()
        status, out, err = self.finish(process)
        self.assertEqual((status, out), (4, "cleaned up\n"), err)
        self.assertEqual(self.tickets(), 0)

    def test_the_supervisor_passes_it_on(self):
        process, _ = self.service()
        os.kill(self.supervisor(process), signal.SIGTERM)
        self.assertEqual(self.finish(process)[:2], (4, "cleaned up\n"))

    def test_a_signal_that_the_command_survives_ends_nothing(self):
        process, token = self.service()
        process.send_signal(signal.SIGHUP)
        self.line_with(process, "reread")
        os.kill(self.command(process), signal.SIGKILL)
        self.assertEqual(self.line_with(process, "began ").split()[-1], token)
        process.terminate()
        self.assertEqual(self.finish(process)[0], 4)

    def test_a_signal_that_the_command_dies_of_ends_it(self):
        process, _ = self.service()
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(self.finish(process)[0], 128 + signal.SIGUSR1)

    def test_a_signal_between_two_starts_ends_it(self):
        process = self.elect("name", "--", "sh", "-c", "exit 3")
        self.line_with(process, "holdfast: the command ended", "stderr")
        for _ in range(3):  # the delays double: one of these is long enough
            self.line_with(process, "holdfast: the command ended", "stderr")
        process.terminate()
        self.assertEqual(self.finish(process)[0], -signal.SIGTERM)
        self.assertEqual(self.tickets(), 0)

    def test_a_signal_ends_a_candidate_that_waits(self):
        leader, _ = self.service()
        waiter = self.elect("name", "--", "true")
        self.queued(2)
        waiter.terminate()
        status, _, err = self.finish(waiter)
        self.assertEqual(status, -signal.SIGTERM, err)
        self.queued(1)
        self.assertIsNone(leader.poll())

    def test_a_reload_ends_no_candidate_that_waits(self):
        """Without a terminal, whose end it could mean."""
        leader, _ = self.service()
        waiter = self.elect("-r", "never", "name", "--", "true",
                            start_new_session=True)
        self.queued(2)
        waiter.send_signal(signal.SIGHUP)
        supervisor = self.supervisor(waiter)
        os.kill(supervisor, signal.SIGUSR1)
        harness.signals_taken(supervisor, waiter.pid)
        leader.terminate()
        self.assertEqual(self.finish(leader)[0], 4)
        self.assertEqual(self.finish(waiter)[0], 0)

    def test_a_key_of_the_terminal_ends_it(self):
        terminal = harness.Terminal(
            [harness.TOOL, "elect", "name", "--", "bash", "-c",
             "trap 'echo cleaned up; exit 0' INT; echo began; "
             "while :; do sleep 0.01; done"], self.environment)
        self.addCleanup(terminal.close)
        # Both, because the key makes the terminal drop what was not read yet.
        terminal.expect("(?s)leading 'name', token .*began|began.*leading 'name'")
        terminal.write("\x03")
        terminal.expect("cleaned up")
        self.assertNotIn("started again", terminal.drain())

    # ---- who leads

    def test_a_candidate_says_who_leads(self):
        leader, token = self.service("-T", "the first")
        waiter = self.elect("--text", "the second", "name", "--", "true")
        line = self.line_with(waiter, "holdfast: 'name' is led by ", "stderr")
        self.assertIn("(pid %d on " % self.supervisor(leader), line)
        self.assertIn(": the first", line)
        shown = subprocess.run([harness.TOOL, "show", "name"], text=True,
                               env=self.environment, capture_output=True,
                               check=True).stdout.splitlines()
        self.assertRegex(shown[1], r"^1 holds election .* %s .*the first" % token)
        self.assertRegex(shown[2], r"^2 waits election .*the second")

    def test_quiet_prints_only_errors(self):
        process, _ = self.service("-q")
        process.terminate()
        self.assertEqual(self.finish(process)[2], "")

    def test_a_killed_supervisor_ends_it(self):
        process, _ = self.service()
        os.kill(self.supervisor(process), signal.SIGKILL)
        status, _, err = self.finish(process)
        self.assertEqual(status, 76, err)
        self.assertEqual(self.finished("-q", "-r", "never", "name", "--",
                                       "true"), (0, "", ""))

    def test_a_killed_supervisor_that_has_resigned(self):
        process = self.elect("-b1", "name", "--", "false")
        self.line_with(process, "holdfast: the command failed", "stderr")
        self.queued(0)
        os.kill(self.supervisor(process), signal.SIGKILL)
        status, _, err = self.finish(process)
        self.assertEqual(status, 70, err)
        self.assertIn("the process that waits for 'name' was killed", err)

    # ---- inside of another

    def test_a_leader_does_not_wait_for_itself(self):
        for nested in ("elect", "run"):
            status, _, err = self.finished(
                "-r", "never", "name", "--", harness.TOOL, nested, "name", "--",
                "true")
            self.assertEqual(status, 64, err)
            self.assertIn("'name' is held already (election) by the run that "
                          "this one is part of", err)

    # ---- typed wrongly

    def refused(self, *arguments):
        status, out, err = self.finished(*arguments)
        self.assertEqual((status, out), (64, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def test_wrong_command_lines(self):
        self.assertIn("NAME is missing; expected holdfast elect [OPTION...] NAME "
                      "-- COMMAND [ARG...]", self.refused())
        self.assertIn("write: holdfast elect -r never name -- true",
                      self.refused("-r", "never", "name", "true"))
        self.assertIn("2 names before '--'; expected one",
                      self.refused("one", "two", "--", "true"))
        self.assertIn("-r 'sometimes': expected always, on-failure or never",
                      self.refused("-r", "sometimes", "name", "--", "true"))
        self.assertIn("--on-revoke 'term': expected ignore, TERM, HUP or exit",
                      self.refused("--on-revoke", "term", "name", "--", "true"))
        self.assertIn("expected a number from 0 to 1000000",
                      self.refused("-b", "x", "name", "--", "true"))
        self.assertIn("-w: no such option; see 'holdfast elect --help'",
                      self.refused("-w", "5s", "name", "--", "true"))


class Notifications(harness.Case):
    """What a service manager gets at NOTIFY_SOCKET, which the test plays: each
    datagram with the process that sent it."""

    READY = "READY=1\nSTATUS="
    # A command that notifies the service manager, and then serves.
    NOTIFIES = ("import os, socket, time\n"
                "to = os.environ['NOTIFY_SOCKET'].replace('@', chr(0), 1)\n"
                "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                "s.sendto(b'READY=1\\nSTATUS=of the command', to)\n"
                "print('sent', os.getpid(), flush=True)\n"
                "time.sleep(1000)\n")

    def manager(self, address=None):
        """The other end of the socket; its address is in the environment."""
        address = address or self.path("notify")
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        manager.bind(address.replace("@", "\0", 1))
        manager.settimeout(waiting.LIMIT_S)
        self.environment["NOTIFY_SOCKET"] = address
        return manager

    def received(self, manager):
        """The next datagram and the process that sent it."""
        data, control, _, _ = manager.recvmsg(4096, 256)
        (_, kind, credentials), = control
        self.assertEqual(kind, socket.SCM_CREDENTIALS)
        return data.decode(), struct.unpack("3i", credentials)[0]

    def status(self, manager, process):
        """The status that the main process of the unit sends next; each has
        READY=1, and nothing else."""
        text, pid = self.received(manager)
        self.assertEqual(pid, process.pid)
        self.assertTrue(text.startswith(self.READY), text)
        status = text[len(self.READY):]
        self.assertNotIn("\n", status)
        return status

    def until_status(self, manager, process, part):
        """The next status with that part, one of the next 20."""
        for _ in range(20):
            status = self.status(manager, process)
            if part in status:
                return status
        self.fail("no %r in 20 statuses" % part)

    def elect(self, *arguments, script="exec sleep 1000"):
        return self.start(*arguments, "name", "--", "sh", "-c", script,
                          command="elect")

    def leader(self):
        """One that no service manager has started."""
        leader = self.elect(script="echo leads; exec sleep 1000")
        waiting.read_line(leader, "leads")
        return leader

    def test_a_candidate_that_waits_is_ready(self):
        """And its status follows, from the wait to the end of its leadership."""
        for options in (), ("-q",):
            with self.subTest(options):
                leader = self.leader()
                manager = self.manager(self.path("notify%d" % len(options)))
                candidate = self.elect(*options, "-b", "1",
                                       script="read line; exit 3")
                self.until_status(manager, candidate,
                                  "waiting, 'name' is led by holdfast (pid %d "
                                  % self.supervisor(leader))
                leader.kill()
                self.assertRegex(
                    self.until_status(manager, candidate, "leading 'name'"),
                    "^leading 'name', token [1-9][0-9]*$")
                self.until_status(
                    manager, candidate, "the command failed 1 times in a row, "
                    "at last with status 3; resigning 'name'")
                self.until_status(manager, candidate, "leading 'name'")
                del self.environment["NOTIFY_SOCKET"]
                candidate.terminate()
                self.finish(candidate)

    def test_a_restart_is_a_status(self):
        manager = self.manager()
        candidate = self.elect(script="exit 3")
        for _ in range(2):
            self.until_status(manager, candidate, "leading 'name', token ")
            self.until_status(manager, candidate,
                              "the command ended with status 3; it is started "
                              "again in ")

    def test_a_leader_that_another_program_asks_to_resign(self):
        manager = self.manager()
        candidate = self.elect("--on-revoke", "exit")
        self.until_status(manager, candidate, "leading")
        subprocess.run([harness.TOOL, "revoke", "name"], check=True,
                       env=self.environment, capture_output=True)
        self.until_status(manager, candidate, "'name' was released because "
                          "another program asked for it")
        self.until_status(manager, candidate, "leading")

    def test_an_abstract_socket(self):
        manager = self.manager("@holdfast-test-%d" % os.getpid())
        self.until_status(manager, self.elect(), "leading")

    def test_the_command_notifies_too(self):
        """Its process is another one, which NotifyAccess=all lets in."""
        manager = self.manager()
        candidate = self.start("name", "--", "/usr/bin/python3", "-c",
                               self.NOTIFIES, command="elect")
        command = int(waiting.read_line(candidate).split()[1])
        for _ in range(20):
            text, pid = self.received(manager)
            if pid == command:
                self.assertEqual(text, "READY=1\nSTATUS=of the command")
                return
            self.assertEqual(pid, candidate.pid)
        self.fail("nothing of the command in 20 datagrams")

    def test_of_a_run_only_the_command_notifies(self):
        """It is ready when the command is."""
        manager = self.manager()
        run = self.start("name", "--", "/usr/bin/python3", "-c", self.NOTIFIES)
        command = int(waiting.read_line(run).split()[1])
        run.terminate()
        self.finish(run)
        self.assertEqual(self.received(manager),
                         ("READY=1\nSTATUS=of the command", command))
        manager.setblocking(False)
        self.assertRaises(BlockingIOError, manager.recv, 4096)

    def test_a_socket_that_nobody_can_write_to_is_logged_once(self):
        for address, why in ((self.path("nothing"), "No such file"),
                             ("vsock:2:1", "not supported"),
                             ("/" + "x" * 150, "too long")):
            self.environment["NOTIFY_SOCKET"] = address
            status, _, err = self.finish(self.elect(
                "-q", "-r", "on-failure", script="test -e '%s' || "
                "{ touch '%s'; exit 1; }" % ((self.path("x" + why[:3]),) * 2)))
            self.assertEqual(status, 0)
            line, = err.splitlines()
            self.assertIn("NOTIFY_SOCKET '%s': the service manager cannot be "
                          "notified: " % address, line)
            self.assertIn(why, line)
            self.assertIn("expected the path of its socket", line)
            self.assertIn("Type=exec", line)

    def test_a_service_manager_that_does_not_read(self):
        """The election waits for nobody, and the status comes when there is
        room."""
        manager = self.manager()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            other.setblocking(False)
            fill = 0
            while True:
                try:
                    other.sendto(b"x", self.path("notify"))
                    fill += 1
                except BlockingIOError:
                    break
        candidate = self.elect(script="echo leads; exec sleep 1000")
        waiting.read_line(candidate, "leads")
        for _ in range(fill):
            self.assertEqual(self.received(manager)[0], "x")
        self.until_status(manager, candidate, "leading")


if __name__ == "__main__":
    harness.main()
