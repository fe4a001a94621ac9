#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/recipes/coming-from.md: each command of ours in its tables is run, and
those of flock(1) and Redis beside it, while the lock is free and while it is
held."""
import re
import shlex
import shutil
import unittest

import recipes
from recipes import waiting

import redis_server

DOCUMENT = recipes.document("coming-from.md")

# What the document says for COMMAND.
COMMANDS = ("COMMAND", "service", "a", "b")


def rows(chapter):
    """[(theirs, ours)]: the two columns of the table of a chapter."""
    table = DOCUMENT.text.split(f"## {chapter}\n", 1)[1].split("\n## ", 1)[0]
    found = [re.split(r"(?<!\\) \| ", line.strip("| "))
             for line in table.splitlines() if line.startswith("| ")]
    assert all(len(row) == 2 for row in found), found
    return [[text.replace("\\|", "|") for text in row] for row in found[1:]]


def code(text, program):
    """The command of a program that a text begins with; None: there is none."""
    match = re.match(f"`({program} [^`]*)`", text)
    return match and match[1]


class ComingFrom(recipes.Case):
    document = DOCUMENT
    programs = COMMANDS

    def test_every_block_is_run(self):
        self.every_block_is_run()

    def status_said(self, text):
        """The status that a text says for a lock that is held, else 0."""
        match = re.search(r"status (\d+)", text)
        return int(match[1]) if match else 0

    def commands(self, chapter, *replaced):
        """Ours of a table, that end by themselves."""
        for _, ours in rows(chapter):
            command = code(ours, "holdfast")
            if not command or "TICKET" in command:
                continue
            for was, is_now in replaced:
                command = command.replace(was, is_now)
            yield ours, command

    def run_all(self, chapter, *replaced):
        """Those of `run`, while the lock is free: the program has to run."""
        count = 0
        for _, command in self.commands(chapter, *replaced):
            if " run " not in command:
                continue
            with self.subTest(command=command):
                status, said = self.shell(command)
                self.assertEqual(status, 0, said)
                self.assertIn("ran\n", said)
                count += 1
        return count

    def test_flock(self):
        """Both sides, while the lock is free and while it is held."""
        self.assertTrue(shutil.which("flock"))
        lock = self.path("x")
        count = 0
        for theirs, ours in rows("flock(1)"):
            commands = code(theirs, "flock"), code(ours, "holdfast")
            if None in commands or "flock -o" in theirs:
                continue
            old, new = (command.replace("/run/lock/x", lock)
                        for command in commands)
            count += 1
            with self.subTest(old=old, new=new):
                self.assertEqual(self.shell(old), self.shell(new))
                limited = re.search(r"-n |-w ", old)
                if not limited:
                    continue
                old = old.replace("-w 30", "-w 0.1")
                new = new.replace("-w 30", "-w 0.1")
                self.while_held(lock, old, self.status_said(theirs) or (
                    0 if "-E 0" in old else 1))
                self.while_held(lock, new, self.status_said(ours) or (
                    0 if "-E 0" in new else 75))
        self.assertGreaterEqual(count, 6)

    def while_held(self, lock, command, wanted):
        """Somebody else has it, in either way."""
        if command.startswith("holdfast"):
            # Not as a run inside of a run, which might be refused.
            script = "holdfast run x -- env -u HOLDFAST_HELD " + command
        else:
            script = f"exec 8>{shlex.quote(lock)}; flock 8; {command} 8>&-"
        status, said = self.shell(script)
        self.assertEqual(status, wanted, said)
        self.assertNotIn("ran\n", said)

    def test_a_script_that_locks_itself(self):
        text, = [ours for theirs, ours in rows("flock(1)")
                 if "exec 9" in theirs]
        line = re.search(r"`(\[ .*)`", text)[1]
        self.program("job", line + '\necho "$HOLDFAST_NAME $1"')
        self.assertEqual(self.shell("job 1"), (0, "x 1\n"))

    def test_shared_readers_beside_a_writer(self):
        """`--read` wants `--write` of the writers."""
        self.assertEqual(
            self.shell("holdfast run --write x -- COMMAND")[0], 0)
        status, said = self.shell(
            "holdfast run --read x -- holdfast run --read x -- COMMAND")
        self.assertEqual((status, said), (0, "COMMAND ran\n"))

    def test_background_processes(self):
        """They keep a flock, and holdfast ends them."""
        lock = self.path("x")
        job = "sleep 1000 >/dev/null 2>&1 & echo $!"
        status, said = self.shell(
            f"flock {lock} -c '{job}'; flock -n {lock} true; echo $?")
        pid, held = said.split()
        self.assertEqual((status, held), (0, "1"))
        recipes.harness.kill(int(pid))
        status, said = self.shell(
            f"holdfast run x -- sh -c '{job}'; holdfast run --try x -- COMMAND")
        pid = said.split()[0]
        self.assertEqual(said, f"{pid}\nCOMMAND ran\n")
        self.assertFalse(recipes.harness.is_alive(int(pid)))

    def test_consul(self):
        self.assertGreaterEqual(self.run_all("consul lock"), 5)
        self.assertEqual(self.shell("holdfast run x -- sh -c 'exit 7'")[0], 7)
        self.elects("consul lock")

    def test_etcdctl(self):
        """On files, which have no session."""
        url = "-c 'etcd://etcd1,etcd2,etcd3?ttl=20s'"
        self.assertIn(url, DOCUMENT.text)
        self.assertGreaterEqual(self.run_all("etcdctl lock", (url, "")), 2)
        self.elects("etcdctl lock")
        command, = [command for _, command in self.commands("etcdctl lock")
                    if " hold -U " in command]
        process = self.start(*shlex.split(command)[2:], command="hold")
        self.until_held("x", process)
        process.terminate()
        self.assertEqual(self.finish(process)[0], 0)

    def elects(self, chapter):
        command, = [command for _, command in self.commands(chapter)
                    if " elect " in command]
        process = self.start(*shlex.split(command)[2:], command="elect")
        waiting.read_line(process)
        process.terminate()
        self.finish(process)

    def test_show_and_ls(self):
        """What prints and ends; and --watch, which goes on."""
        found = re.findall(r"`(holdfast (?:show .*?|ls))`(?=,| \|)",
                           DOCUMENT.text)
        self.assertGreaterEqual(len(found), 5)
        for command in found:
            command = command.replace("-c redis://redis1 ", "")
            with self.subTest(command=command):
                if "--watch" in command:
                    command = f"timeout 1 {command}; test $? = 124"
                self.assertEqual(self.shell(command)[0], 0)

    def test_evict(self):
        """The tables name the ticket as `evict` wants it."""
        for chapter in ("consul lock", "SETNX, SET NX, Redlock"):
            command, = [code(ours, "holdfast")
                        for _, ours in rows(chapter) if "evict" in ours]
            process = self.occupy("x")
            ticket = self.until_held("x", process)
            command = command.replace("-c redis://redis1", "").replace(
                "evict", "evict --yes")
            self.assertEqual(self.shell(command.replace(
                "TICKET", ticket["token"]))[0], 0)
            self.assertEqual(self.finish(process)[0], 76)


class Redis(recipes.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = redis_server.Server(["appendonly yes",
                                          "appendfsync always"])
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    programs = COMMANDS

    def test_each_command(self):
        server = f"redis://127.0.0.1:{self.server.port}"
        with redis_server.Several(3) as three:
            # Each of them warns of what a restart makes it forget.
            replaced = [("quorum:redis://a,redis://b,redis://c",
                         shlex.quote(three.url("?rejoin=1s&ttl=1s"))),
                        ("redis://redis1", server)]
            chapter = "SETNX, SET NX, Redlock"
            self.assertEqual(ComingFrom.run_all(self, chapter, *replaced), 3)

    commands = ComingFrom.commands

    def test_shared_with_set_nx(self):
        """The command of the document, while a program has the lock by SET NX,
        and the other way round."""
        command, = re.findall(
            r"`(holdfast run -c redis://redis1\?layout=[^`]*)`", DOCUMENT.text)
        command = command.replace("redis1", f"127.0.0.1:{self.server.port}")
        take = ("SET", "x", "ID", "NX", "PX", "10000")
        with self.server.client() as client:
            self.assertEqual(client.ask(*take), "OK")
            attempt = command.replace(" run ", " run --try ")
            self.assertEqual(self.shell(attempt)[0], 75)
            client.ask("DEL", "x")
            self.assertEqual(self.shell(attempt), (0, "COMMAND ran\n"))
            self.program("COMMAND", "echo began; exec cat")
            process = self.start(*shlex.split(command)[2:],
                                 stdin=recipes.subprocess.PIPE)
            waiting.read_line(process, "began")
            self.assertIsNone(client.ask(*take))
            self.assertEqual(self.finish(process)[0], 0)
            self.assertEqual(client.ask(*take), "OK")


if __name__ == "__main__":
    unittest.main()
