# SPDX-License-Identifier: Apache-2.0
"""What the tool says: the text that holdfast show prints of a command, and lines
of JSON where HOLDFAST_LOG asks for them."""

import json
import os
import re
import subprocess

import engines
import harness
from harness import waiting


class Text(harness.Case):
    def setUp(self):
        super().setUp()
        self.bin = self.path("bin")
        os.mkdir(self.bin)
        self.environment["PATH"] = self.bin + ":" + os.environ["PATH"]

    def stub(self, name):
        """A program of that name that runs until its input ends."""
        path = os.path.join(self.bin, name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\necho held\nexec /bin/cat >/dev/null\n")
        os.chmod(path, 0o755)
        return path

    def shown(self, options, command):
        """The text beside the owner, while the command runs."""
        self.stub(os.path.basename(command[0]))
        holder = self.start(*options, "lock", "--", *command,
                            stdin=subprocess.PIPE)
        waiting.read_line(holder, "held")
        out = subprocess.run([harness.TOOL, "show", "lock"], text=True,
                             env=self.environment, capture_output=True).stdout
        self.assertEqual(self.finish(holder)[0], 0)
        return re.search(r"\(pid \d+ on [^)]*\)(?:: (.*))?\n", out).group(1)

    def test_of_a_command(self):
        for command, text in (
                (["backup", "--password", "geheim"], "backup"),
                ([self.path("bin/backup"), "x"], "backup"),
                (["bash", "deploy.sh", "geheim"], "bash deploy.sh"),
                (["bash", "/srv/x/deploy.sh"], "bash deploy.sh"),
                (["bash", "-eux", "deploy.sh"], "bash deploy.sh"),
                (["bash", "-euo", "pipefail", "deploy.sh"], "bash deploy.sh"),
                (["sh", "--", "-x.sh"], "sh -x.sh"),
                (["bash", "-c", "geheim"], "bash -c"),
                (["bash", "-xc", "geheim"], "bash -c"),
                (["bash", "--rcfile", "geheim", "x.sh"], "bash"),
                (["bash", "-?", "geheim"], "bash"),
                (["bash", "-s"], "bash"),
                (["bash"], "bash"),
                (["bash", "-o"], "bash"),
                (["bash", ""], "bash"),
                (["bash", "-"], "bash"),
                (["python3", "-u", "run.py"], "python3 run.py"),
                (["python3.11", "run.py"], "python3.11 run.py"),
                (["python3", "-m", "http.server", "80"],
                 "python3 -m http.server"),
                (["python3", "-Wd", "-mmod"], "python3 -m mod"),
                (["python3", "-X", "dev", "run.py"], "python3 run.py"),
                (["python3", "-c", "geheim"], "python3 -c"),
                (["python3-config", "geheim"], "python3-config"),
                (["perl", "-w", "-Ilib", "x.pl"], "perl x.pl"),
                (["perl", "-e", "geheim"], "perl -e"),
                (["ruby", "x.rb"], "ruby x.rb"),
                (["node", "x.js"], "node x.js"),
                (["php", "-f", "x.php"], "php x.php"),
                (["php", "-r", "geheim"], "php -r"),
                (["bash", "a\nb.sh"], "bash"),
                (["bash", "x" * 80], "bash"),
                (["bash", "x" * 75], "bash " + "x" * 75)):
            with self.subTest(command):
                self.assertEqual(self.shown([], command), text)

    def test_that_is_given(self):
        for options in (["--text", "nightly, ask Zoë"], ["-T", "nightly, ask Zoë"],
                        ["--text=nightly, ask Zoë"]):
            self.assertEqual(self.shown(options, ["backup"]), "nightly, ask Zoë")
        self.assertEqual(self.shown(["--text", ""], ["backup"]), None)

    def test_that_cannot_be_shown(self):
        for text, part in (("x" * 81, "81 bytes"), ("a\nb", "control"),
                           ("\udcff", "UTF-8")):
            status, out, err = self.run_tool("--text", text, "lock", "--",
                                             "echo", "ran")
            self.assertEqual((status, out), (64, ""))
            self.assertIn("--text: ", err)
            self.assertIn(part, err)


class LogOfJson(harness.Case):
    """With HOLDFAST_LOG=json every line of the tool is JSON, whichever of
    its processes writes it."""

    LEVELS = {"error", "warning", "info", "debug"}

    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_LOG"] = "json"

    def lines_of(self, err):
        lines = [json.loads(line) for line in err.splitlines()]
        for line in lines:
            self.assertLessEqual({"time", "pid", "level", "text"}, set(line))
            self.assertIn(line["level"], self.LEVELS)
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT[\d:]{8}Z$")
        return [(line["level"], line["text"]) for line in lines]

    def tool(self, *words):
        done = subprocess.run(
            [harness.TOOL, *words], text=True, capture_output=True,
            env=self.environment, stdin=subprocess.DEVNULL,
            timeout=waiting.LIMIT_S)
        self.assertNotEqual(done.returncode, 0, words)
        return self.lines_of(done.stderr)

    def test_errors_of_each_command(self):
        nowhere = "zk://127.0.0.1:1"
        for words, part in (
                ([], "a command is missing"),
                (["frobnicate"], "'frobnicate': no such command"),
                (["run", "--no-such", "a", "--", "true"], "--no-such"),
                (["run", "a\"b\\", "c//d", "--", "true"], "empty component"),
                (["run", "-c", nowhere, "-w", "100ms", "a", "--", "true"],
                 "127.0.0.1:1"),
                (["elect", "a"], "COMMAND"),
                (["show", "-c", nowhere, "-w", "100ms", "a"], "127.0.0.1:1"),
                (["doctor", "-c", "nothing://"], "nothing"),
                (["doctor", "a", "b"], "'b'"),
                (["ls", "--no-such"], "--no-such"),
                (["evict", "a"], "TICKET"), (["revoke"], "NAME"),
                (["explain"], "NAME"), (["metrics", "--no-such"], "--no-such"),
                (["zk", "ls", "-c", nowhere, "-w", "100ms", "/"],
                 "127.0.0.1:1"),
                (["verify", "/nonexistent"], "/nonexistent")):
            lines = self.tool(*words)
            self.assertTrue(any(level == "error" and part in text
                                for level, text in lines), (words, lines))

    def test_a_run(self):
        """What its command writes is its own."""
        holder = self.holder("-v", name="a")
        status, _, err = self.run_tool("-n", "a", "--", "true")
        self.assertEqual(status, 75)
        (level, text), = self.lines_of(err)
        self.assertEqual(level, "warning")
        self.assertIn("'a' was not obtained: held by ", text)
        holder.stdin.close()
        holder.stdin = None
        status, _, err = self.finish(holder)
        self.assertEqual(status, 0)
        self.assertIn(("info", "'a' granted, token"), [
            (level, text.rpartition(" ")[0])
            for level, text in self.lines_of(err)])
        self.assertEqual(self.run_tool("a", "--", "sh", "-c",
                                       "echo plain >&2")[2], "plain\n")

    def test_a_command_that_cannot_be_run(self):
        """Its own process cannot say it."""
        plain = self.path("a\"b\\\033[31m")
        with open(plain, "w") as file:
            file.write("text")
        os.chmod(plain, 0o644)
        shown = plain.replace("\033", "?")
        for command, status, why in (
                ("no-such-command", 127, "No such file or directory"),
                (plain, 126, "Permission denied")):
            for options in (), ("-q",):
                done, out, err = self.run_tool(*options, "a", "--", command)
                self.assertEqual((done, out), (status, ""))
                self.assertEqual(self.lines_of(err), [
                    ("error", "cannot run '%s': %s" % (
                        command.replace(plain, shown), why))])
        done, _, err = self.finish(self.start(
            "-r", "never", "a", "--", "no-such-command", command="elect"))
        self.assertEqual(done, 127)
        self.assertIn(("error", "cannot run 'no-such-command': No such file or "
                       "directory"), self.lines_of(err))

    def test_an_election(self):
        leader = self.start("a", "--", "sh", "-c", "echo leads; exec sleep 1000",
                            command="elect")
        waiting.read_line(leader, "leads")
        leader.terminate()
        err = self.finish(leader)[2]
        self.assertIn(("info", "leading 'a', token"), [
            (level, text.rpartition(" ")[0])
            for level, text in self.lines_of(err)])

    def test_a_terminal(self):
        """No line is redrawn."""
        holder = self.holder(name="a")
        terminal = harness.Terminal([harness.TOOL, "run", "-w", "1500ms", "a",
                                     "--", "true"], self.environment)
        self.addCleanup(terminal.close)
        (_, text), = self.lines_of(terminal.drain())
        self.assertIn("'a' was not obtained: waited 1.5s", text)
        self.finish(holder)

    def test_levels(self):
        for value in "json", "warning,json", "debug,json":
            self.environment["HOLDFAST_LOG"] = value
            err = self.run_tool("a", "--", "true")[2]
            self.assertEqual(err != "", value == "debug,json", err)
            self.lines_of(err)
        for value in "jso", "info,jsonx", "info json":
            self.environment["HOLDFAST_LOG"] = value
            err = self.run_tool("a", "--", "true")[2]
            self.assertIn("HOLDFAST_LOG is not as expected", err)


class Origin:
    """Each line of the library has the session, as the server calls it, and the
    server."""

    def lines_of(self, log):
        """What it logs in one run, and the sessions that the server has
        meanwhile."""
        self.environment["HOLDFAST_LOG"] = log
        holder = self.holder("-c", self.url(), name="a")
        sessions = self.sessions()
        err = self.finish(holder)[2]
        return [line for line in err.splitlines() if "the session is " in line
                or "is granted" in line], sessions

    def test_fields_of_json(self):
        lines, sessions = self.lines_of("debug,json")
        self.assertGreater(len(lines), 2)
        for line in map(json.loads, lines):
            self.assertIn(line["session"], sessions)
            self.assertEqual(line["server"],
                             "127.0.0.1:%d" % self.server.port)

    def test_words_of_a_text(self):
        lines, sessions = self.lines_of("debug")
        self.assertGreater(len(lines), 2)
        for line in lines:
            text, session, server = line.rsplit(" ", 2)
            self.assertRegex(text, r"^holdfast\[\d+\]: ")
            self.assertIn(session, ["session=" + one for one in sessions])
            self.assertEqual(server, "server=127.0.0.1:%d" % self.server.port)


class OnFiles(Origin, engines.File, harness.Case):
    """It has neither."""

    def sessions(self):
        return []

    def test_fields_of_json(self):
        for line in map(json.loads, self.lines_of("debug,json")[0]):
            self.assertEqual(set(line), {"time", "pid", "level", "text"})

    def test_words_of_a_text(self):
        for line in self.lines_of("debug")[0]:
            self.assertNotIn("server=", line)


class OnZooKeeper(Origin, engines.ZooKeeper, harness.Case):
    def sessions(self):
        from kazoo.client import KazooClient
        client = KazooClient("127.0.0.1:%d" % self.server.port)
        client.start(waiting.LIMIT_S)
        owners = [client.get("/a/" + child)[1].ephemeralOwner
                  for child in client.get_children("/a")]
        client.stop()
        client.close()
        return ["0x%x" % owner for owner in owners]


class OnEtcd(Origin, engines.Etcd, harness.Case):
    def sessions(self):
        with self.server.client() as client:
            return ["%x" % lease for lease in client.leases()]


class OnRedis(Origin, engines.Redis, harness.Case):
    def sessions(self):
        """Each subscribes to a channel of its own."""
        with self.server.client() as client:
            channels = client.ask("PUBSUB", "CHANNELS")
        return [re.sub(r".*[^0-9a-f]", "", channel)
                for channel in channels]


class OnPostgreSql(Origin, engines.PostgreSql, harness.Case):
    def sessions(self):
        import postgres
        said = subprocess.run(
            [os.path.join(postgres.programs(), "psql"), "-X", "-At", "-c",
             "SELECT id FROM holdfast.session", "-d", self.url().split("?")[0]],
            check=True, text=True, stdout=subprocess.PIPE,
            timeout=waiting.LIMIT_S).stdout
        return [line.replace("-", "") for line in said.split()]


if __name__ == "__main__":
    harness.main()
