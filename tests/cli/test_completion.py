# SPDX-License-Identifier: Apache-2.0
"""Completion for bash: what it offers for a line.  The function is called as bash
calls it; one test types into a real bash, which also shows that the words fit in
the line."""

import os
import re
import subprocess

import harness

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                    os.pardir, "packaging", "completion", "holdfast")
CALL = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=($2) COMP_CWORD=${#COMP_WORDS[@]}
if [[ $2 != *' ' ]]; then ((COMP_CWORD--)); fi
_holdfast
if ((${#COMPREPLY[@]})); then printf '%s\\n' "${COMPREPLY[@]}"; fi
"""
COMMANDS = ["run", "elect", "show", "ls", "revoke", "evict", "metrics", "sql",
            "torture", "verify"]
ZK_COMMANDS = ["get", "set", "create", "rm", "ls", "stat", "tree", "watch", "acl",
               "txn", "export", "import"]


class Completion(harness.Case):
    def offered(self, line, prelude=""):
        done = subprocess.run(
            ["bash", "--norc", "-c", prelude + CALL, "bash", FILE, line],
            check=False, capture_output=True, text=True, cwd=self.directory)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return done.stdout.splitlines()

    def test_commands(self):
        self.assertEqual(self.offered("holdfast "), COMMANDS + ["zk"])
        self.assertEqual(self.offered("holdfast zk "), ZK_COMMANDS)
        self.assertEqual(self.offered("holdfast zk ex"), ["export"])
        self.assertEqual(self.offered("holdfast zk --"), ["--help"])
        self.assertEqual(self.offered("holdfast sh"), ["show"])
        self.assertEqual(self.offered("holdfast --v"), ["--version"])
        self.assertEqual(self.offered("holdfast --version --"), ["--verbose"])

    def test_options_are_those_of_the_help(self):
        for command in COMMANDS + ["zk " + name for name in ZK_COMMANDS]:
            usage = subprocess.run(
                [harness.TOOL, *command.split(), "--help"], check=True,
                capture_output=True, text=True).stdout
            self.assertEqual(
                sorted(self.offered("holdfast %s -" % command)),
                sorted(re.findall(r"^  -\w, (--[\w-]+)", usage, re.M)))

    def test_an_option(self):
        self.assertEqual(self.offered("holdfast run --per"), ["--permits"])
        self.assertEqual(self.offered("holdfast show -t 5s --h"),
                         ["--held", "--help"])
        self.assertEqual(self.offered("holdfast run --bogus"), [])
        self.assertEqual(self.offered("holdfast walk --"), [])

    def test_values(self):
        for option in ("-k ", "--kind ", "--kind="):
            self.assertEqual(self.offered("holdfast torture %sre" % option),
                             ["reentrant"])
        self.assertEqual(self.offered("holdfast show -c r"),
                         ["redis://", "rediss://"])
        # Only what follows the ':' is replaced.
        self.assertEqual(self.offered("holdfast show -c zk:"), ["//"])
        self.assertEqual(self.offered("holdfast zk acl "), ["get", "set"])
        self.assertEqual(self.offered("holdfast zk get -c zk:"), ["//"])
        self.assertEqual(self.offered("holdfast elect -r on"), ["on-failure"])
        self.assertEqual(self.offered("holdfast run --on-revoke=T"),
                         ["TERM"])
        self.assertEqual(self.offered("holdfast run -t "), [])
        self.assertEqual(self.offered("holdfast run -t --q"), [])

    def test_files(self):
        open(self.path("history"), "w").close()
        for line in ("verify his", "verify -j -l 0s his", "torture -o his",
                     "torture --svg=his", "run -c file:his",
                     "show --url=file:his", "run name -- cat his",
                     "run name -- ./his", "elect name -- ./his", "zk txn his", "zk import /a his",
                     "zk get -o his"):
            self.assertEqual(
                [os.path.basename(name)
                 for name in self.offered("holdfast " + line)],
                ["history"], line)
        self.assertEqual(self.offered("holdfast show his"), [])
        self.assertEqual(self.offered("holdfast zk get his"), [])

    def test_the_command_that_is_run(self):
        for names in ("name", "-t 5s name more", "-- -name"):
            self.assertIn("bash", self.offered("holdfast run %s -- bas"
                                               % names))
        self.assertEqual(self.offered("holdfast run name -- git --per"), [])

    def test_the_completion_of_that_command(self):
        """bash-completion, where it is there, knows other commands."""
        for name in ("_comp_command_offset", "_command_offset"):
            self.assertEqual(
                self.offered("holdfast run -- -name -- git che",
                             "%s() { COMPREPLY=(from $1); }\n" % name),
                ["from", "5"])

    def test_in_a_real_shell(self):
        terminal = harness.Terminal(
            ["bash", "--norc", "--noprofile", "-i"],
            dict(os.environ, PS1="ready> ", TERM="dumb", HISTFILE=""))
        self.addCleanup(terminal.close)
        terminal.expect("ready> ")
        terminal.write("bind 'set bell-style none'; . '%s'; echo so''urced\n"
                       % FILE)
        terminal.expect("sourced")
        for typed, completed in (
                ("holdfast sh", "holdfast show "),
                ("holdfast run --per", "holdfast run --permits "),
                ("holdfast torture --kind=se", "holdfast torture --kind=se"),
                ("holdfast torture --kind=sem",
                 "holdfast torture --kind=semaphore "),
                ("holdfast run --url=q", "holdfast run --url=quorum:"),
                ("holdfast run --url=zk:", "holdfast run --url=zk://"),
                ("holdfast run -c po", "holdfast run -c postgresql://")):
            terminal.write(typed + "\t;")
            terminal.expect(re.escape(completed + ";"))
            terminal.write("\x15")  # forget the line


if __name__ == "__main__":
    harness.main()
