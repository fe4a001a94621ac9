#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""./dev run, the first command of README.md: it says how far its build is and
how long it took, on standard error; nothing where nothing is built.  The
compiler's part is played by scripts."""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402

SOURCE = pathlib.Path(os.environ["HF_SOURCE"])

CMAKE = "echo '-- The C compiler identification is GNU'; : > build/build.ninja"
NINJA = """
echo "${NINJA_STATUS}" | sed 's/%f/0/; s/%t/2/; s/$/Re-checking globbed/'
if [ -e build/holdfast ]; then
    echo 'ninja: no work to do.'
    exit 0
fi
echo "${NINJA_STATUS}" | sed 's/%f/1/; s/%t/2/; s/$/Building C object core.c.o/'
echo "${NINJA_STATUS}" | sed 's/%f/2/; s/%t/2/; s/$/Linking C executable/'
printf '#!/bin/sh\\necho "ran $*"\\n' > build/holdfast
chmod 755 build/holdfast
"""
FAILING = "echo 'FAILED: core.c.o'; exit 1"

BUILT = r"dev: built build/holdfast in \d+ s\r?\n"


class FirstCommand(unittest.TestCase):

    def setUp(self):
        self.top = pathlib.Path(machine.directory("dev-run"))
        self.addCleanup(shutil.rmtree, self.top)
        shutil.copy(SOURCE / "dev", self.top)
        (self.top / "bin").mkdir()
        self.environment = dict(
            os.environ, TERM="xterm", NINJA_STATUS="mine: ",
            PATH=f"{self.top}/bin:{os.environ['PATH']}")
        self.program("cmake", CMAKE)
        self.program("ninja", NINJA)
        self.program("dpkg-query", "echo installed")

    def program(self, name, script):
        path = self.top / "bin" / name
        path.write_text("#!/bin/sh\n" + script + "\n")
        path.chmod(0o755)

    def run_it(self, **options):
        return subprocess.run(["./dev", "run", "nightly", "--", "true"],
                              cwd=self.top, env=self.environment, text=True,
                              stdout=subprocess.PIPE, check=False, **options)

    def test_in_a_log(self):
        done = self.run_it(stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout),
                         (0, "ran run nightly -- true\n"))
        self.assertRegex(done.stderr, "^dev: building holdfast: "
                         f"looking at this machine, 0 s\n{BUILT}$")
        done = self.run_it(stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "ran run nightly -- true\n", ""))

    def test_on_a_terminal(self):
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            with os.fdopen(theirs, "wb") as stderr:
                done = self.run_it(stderr=stderr)
            said = terminal.read(10000).decode()
        self.assertEqual((done.returncode, done.stdout),
                         (0, "ran run nightly -- true\n"))
        for step in "1 of 2", "2 of 2":
            self.assertIn(f"\r\033[Kdev: building holdfast: {step} steps, ",
                          said)
        self.assertRegex(said, f"s\r\033\\[K{BUILT}$")

    def test_that_fails(self):
        self.program("ninja", FAILING)
        done = self.run_it(stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout), (70, ""))
        self.assertRegex(done.stderr, r"(?m)^FAILED: core\.c\.o\n"
                         "dev: the build failed; see above\n$")
        self.assertFalse(re.search(BUILT, done.stderr))

    def test_beside_another(self):
        """It says that it waits."""
        (self.top / "build").mkdir()
        with subprocess.Popen(
                ["flock", "build/.lock", "sh", "-c", "echo held; read _"],
                cwd=self.top, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True) as other:
            self.assertEqual(other.stdout.readline(), "held\n")
            with subprocess.Popen(
                    ["./dev", "run", "nightly", "--", "true"], cwd=self.top,
                    env=self.environment, stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE, text=True) as waits:
                self.assertEqual(
                    waits.stderr.readline(),
                    "dev: another ./dev is building; waiting for it\n")
                other.communicate("\n")
                self.assertRegex(waits.communicate()[1], f"{BUILT}$")
                self.assertEqual(waits.returncode, 0)


if __name__ == "__main__":
    unittest.main()
