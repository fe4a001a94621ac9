# SPDX-License-Identifier: Apache-2.0
"""The text that holdfast show prints of a command."""

import os
import re
import subprocess

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


if __name__ == "__main__":
    harness.main()
