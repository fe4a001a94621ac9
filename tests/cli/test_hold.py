# SPDX-License-Identifier: Apache-2.0
"""holdfast hold: a lock without a command, for scripts and service managers."""

import os
import re
import signal
import socket
import subprocess

import engines
import harness
from harness import waiting

NOTHING = "standard input has ended already, so 'lock' would be released at once"


class Case(harness.Case):
    def hold(self, *arguments, **options):
        options.setdefault("stdin", subprocess.PIPE)
        return self.start(*arguments, command="hold", **options)

    def held(self, *arguments, **options):
        """A holder, and its token."""
        process = self.hold(*arguments, **options)
        return process, waiting.read_line(process).strip()

    def ends(self, process, status, err=""):
        """It ends with nothing more on standard output."""
        ended, out, said = self.finish(process)
        self.assertEqual((ended, out), (status, ""), said)
        if err:
            self.assertIn(err, said)
        else:
            self.assertEqual(said, "")

    def is_free(self, name="lock", *options):
        return self.run_tool("-n", "-q", *options, name, "--",
                             "true")[0] == 0


class OnEachEngine:
    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_URL"] = self.url()

    def evict(self, name):
        """Remove the ticket of the one that holds ${name}."""
        ticket, = self.tickets_of(name)
        subprocess.run([harness.TOOL, "evict", "-y", name, str(
            ticket["token"])], env=self.environment, check=True,
                       stdout=subprocess.DEVNULL, timeout=waiting.LIMIT_S)

    def test_until_its_input_ends(self):
        first, token = self.held("lock")
        self.assertFalse(self.is_free())
        ticket, = self.tickets_of("lock")
        self.assertEqual((ticket["token"], ticket["owner"]["text"]),
                         (token, "holdfast hold"))
        second = self.hold("lock")
        self.until_queued("lock", 2, first, second)
        first.stdin.write("what is written means nothing\n")
        first.stdin.flush()
        self.assertFalse(self.is_free())
        first.stdin.close()
        first.stdin = None
        self.ends(first, 0)
        self.assertGreater(int(waiting.read_line(second)), int(token))
        second.stdin.close()
        second.stdin = None
        self.ends(second, 0)
        self.assertTrue(self.is_free())

    def test_until_a_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
                       signal.SIGQUIT, signal.SIGUSR1):
            with self.subTest(number):
                process, _ = self.held("-U", "lock")
                process.send_signal(number)
                self.ends(process, 0)
                self.assertTrue(self.is_free())

    def test_another_program_asks(self):
        process, _ = self.held("-U", "--on-revoke", "exit", "lock")
        self.revoke("lock", "mutex")
        self.ends(process, 79, "'lock' was released because another program "
                  "asked for it")
        self.assertTrue(self.is_free())

    def test_another_program_asks_in_vain(self):
        """What ends it is what comes after the request."""
        process, _ = self.held("-U", "lock")
        self.revoke("lock", "mutex")
        self.evict("lock")
        self.ends(process, 76, "was lost")


class OnFiles(OnEachEngine, engines.File, Case):
    def test_killed(self):
        process, _ = self.held("-U", "lock")
        process.kill()
        process.wait()
        self.assertTrue(self.is_free())

    def test_stopped(self):
        process, _ = self.held("lock")
        os.kill(process.pid, signal.SIGTSTP)
        waiting.eventually("the stop", lambda: harness.state_of(
            process.pid) == "T")
        self.assertFalse(self.is_free())
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.close()
        process.stdin = None
        self.ends(process, 0)

    def test_evicted(self):
        process, _ = self.held("-U", "lock")
        self.evict("lock")
        self.ends(process, 76, "was lost")

    def test_signals_during_the_wait(self):
        holder = self.holder()
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.hold("lock")
            self.queued(2)
            process.send_signal(number)
            self.ends(process, -number)
            self.queued(1)
        holder.kill()

    def test_ignored_signals(self):
        process = subprocess.Popen(
            ["sh", "-c", "trap '' HUP; exec \"$0\" hold lock", harness.TOOL],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=self.environment)
        self.started.append(process)
        waiting.read_line(process)
        with open("/proc/%d/status" % process.pid) as file:
            ignored, = re.findall(r"(?m)^SigIgn:\s+([0-9a-f]+)$", file.read())
        self.assertTrue(int(ignored, 16) >> (signal.SIGHUP - 1) & 1)
        process.send_signal(signal.SIGHUP)
        self.assertFalse(self.is_free())
        process.terminate()
        self.ends(process, 0)

    def test_input_that_ends_during_the_wait(self):
        holder = self.holder()
        for options, status in (((), 75), (("-E", "3"), 3)):
            process = self.hold(*options, "lock")
            self.queued(2)
            process.stdin.close()
            process.stdin = None
            self.ends(process, status, "'lock' was not obtained: standard "
                      "input has ended during the wait")
            self.queued(1)
        holder.kill()

    def test_input_that_has_ended_from_the_start(self):
        self.ends(self.hold("lock", stdin=subprocess.DEVNULL), 64, NOTHING)
        closed = subprocess.run(
            ["sh", "-c", "exec \"$0\" hold lock <&-", harness.TOOL],
            env=self.environment, capture_output=True, text=True,
            timeout=waiting.LIMIT_S, check=False)
        self.assertEqual((closed.returncode, closed.stdout), (64, ""))
        self.assertIn(NOTHING, closed.stderr)
        self.assertEqual(self.tickets(), 0)
        process, _ = self.held("-U", "lock", stdin=subprocess.DEVNULL)
        process.terminate()
        self.ends(process, 0)

    def test_output_that_nobody_reads(self):
        reader, writer = os.pipe()
        os.close(reader)
        process = self.hold("-U", "lock", stdout=writer)
        os.close(writer)
        status, _, err = self.finish(process)
        self.assertEqual(status, 73)
        self.assertIn("standard output cannot be written to: Broken pipe; "
                      "'lock' is released", err)
        self.assertTrue(self.is_free())

    def test_output_that_is_full(self):
        """It is not waited for without an eye on the rest."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(writer, True)
        process = self.hold("-U", "lock", stdout=writer)
        self.queued(1)
        process.terminate()
        status, _, err = self.finish(process)
        self.assertEqual((status, err), (0, ""))
        os.close(reader)
        os.close(writer)

    def test_not_obtained(self):
        holder = self.holder()
        for options in (["-n"], ["-w", "0.1"], ["-w", "100ms"]):
            self.ends(self.hold("-U", *options, "lock"), 75,
                      "'lock' was not obtained: ")
        self.ends(self.hold("-Unq", "-E", "0", "lock"), 0)
        holder.kill()

    def test_kinds(self):
        reader, _ = self.held("-s", "lock")
        self.assertEqual(self.run_tool("-ns", "lock", "--", "true")[0], 0)
        for letter in "xe":
            self.ends(self.hold("-Un" + letter, "lock"), 75, "not obtained")
        permit, _ = self.held("-p", "2/2", "pool")
        self.ends(self.hold("-Un", "-p", "1/2", "pool"), 75, "not obtained")
        for process in (reader, permit):
            process.terminate()
            self.ends(process, 0)

    def test_several(self):
        process = self.hold("b", "a")
        tokens = waiting.read_line(process).split()
        self.assertEqual([self.tickets_of(name)[0]["token"]
                          for name in ("b", "a")],
                         tokens)
        process.terminate()
        self.ends(process, 0)

    def test_inside_of_a_run_that_has_the_lock(self):
        status, out, err = self.run_tool("lock", "--", "sh", "-c",
                                         "sleep 9 | \"$0\" hold lock",
                                         harness.TOOL)
        self.assertEqual((status, out), (64, ""))
        self.assertIn("'lock' is held already (mutex) by the run that this one "
                      "is part of", err)

    def test_wrong_command_lines(self):
        for words, part in (
                ([], "NAME is missing"),
                (["a", "--", "true"], "hold runs no command; expected holdfast "
                 "hold a, or holdfast run a -- COMMAND"),
                (["a", "-w", "5"], "'-w': options stand before NAME; expected "
                 "holdfast hold [OPTION...] NAME..."),
                (["-t", "5", "a"], "-t: no such option"),
                (["-w", "a"], "a write lock is -x"),
                (["-k", "5m", "a"], "-k: no such option"),
                (["-R", "TERM", "a"], "expected ignore or exit"),
                (["-U", "a//b"], "a//b"),
                (["-Uc", "nosuch://x", "a"], "nosuch")):
            with self.subTest(words):
                self.ends(self.hold(*words), 64, part)

    def test_coprocess_of_bash(self):
        """The script of holdfast-hold(1)."""
        script = """coproc lock { exec "$0" hold -w 30 deploy; }
read -r token <&"${lock[0]}" || exit 75
echo "$token"; read -r _
eval "exec ${lock[1]}>&-"
wait; echo free; read -r _"""
        process = subprocess.Popen(
            ["bash", "-c", script, harness.TOOL], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment)
        self.started.append(process)
        waiting.read_line(process)
        self.assertFalse(self.is_free("deploy"))
        process.stdin.write("\n")
        process.stdin.flush()
        waiting.read_line(process, "free")
        self.assertTrue(self.is_free("deploy"))

    def test_script_that_is_killed(self):
        script = """coproc lock { exec "$0" hold deploy; }
read -r token <&"${lock[0]}"; echo "$token"; read -r _"""
        process = subprocess.Popen(
            ["bash", "-c", script, harness.TOOL], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=self.environment)
        self.started.append(process)
        waiting.read_line(process)
        process.kill()
        waiting.eventually("the release", lambda: self.tickets() == 0)

    def test_service_manager(self):
        path = self.path("notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(waiting.LIMIT_S)
            self.environment["NOTIFY_SOCKET"] = path
            holder = self.holder()
            process = self.hold("-U", "lock", stdin=subprocess.DEVNULL)
            self.queued(2)
            manager.setblocking(False)
            with self.assertRaises(BlockingIOError):
                manager.recv(4096)
            manager.settimeout(waiting.LIMIT_S)
            holder.stdin.close()
            holder.stdin = None
            self.assertEqual(self.finish(holder)[0], 0)
            token = waiting.read_line(process).strip()
            self.assertEqual(
                manager.recv(4096).decode(),
                "READY=1\nSTATUS=holding 'lock', token " + token)
            process.terminate()
            self.ends(process, 0)

    def test_terminal(self):
        terminal = harness.Terminal([harness.TOOL, "hold", "lock"],
                                    self.environment)
        terminal.expect(r"(\d{10,})")
        self.assertFalse(self.is_free())
        terminal.write("\x04")
        terminal.drain()
        self.assertTrue(self.is_free())
        terminal.close()


class Leased(OnEachEngine):
    def have_leases_end(self):
        """Soon, but also when the server stands still for a moment: only for
        tests that wait for that."""
        self.lease_ms = engines.SHORT_LEASE_MS
        self.environment["HOLDFAST_URL"] = self.url()

    def test_stopped_for_too_long(self):
        self.have_leases_end()
        process, _ = self.held("-U", "lock")
        os.kill(process.pid, signal.SIGSTOP)
        waiting.eventually("the lease to end", self.is_free, of=[process])
        os.kill(process.pid, signal.SIGCONT)
        self.ends(process, 76, "lost")

    def test_server_that_is_frozen(self):
        self.have_leases_end()
        process, _ = self.held("-U", "lock")
        self.server.freeze()
        status, out, err = self.finish(process)
        self.assertEqual((status, out), (76, ""))
        self.assertIn("was lost", err)


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
