#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/recipes/systemd.md, and the unit files beside it: systemd accepts them,
and their commands do on a real ZooKeeper what the documents say."""
import os
import shlex
import shutil
import subprocess
import unittest

import recipes
import units
from recipes import waiting

ANALYZE = shutil.which("systemd-analyze")
SERVICES = ("nightly.service", "scheduler.service")


class Files(recipes.Case):
    """Without a server."""

    document = recipes.document("systemd.md")

    def copy(self, folder):
        """The unit files, with programs that there are."""
        os.makedirs(folder)
        self.program("report", "exit 0")
        for path in recipes.RECIPES.iterdir():
            if path.suffix not in (".service", ".timer"):
                continue
            text = path.read_text().replace("/usr/bin/holdfast",
                                            recipes.harness.TOOL)
            text = text.replace("/usr/local/bin/nightly-report",
                                self.path("bin/report"))
            text = text.replace("/usr/local/bin/scheduler",
                                self.path("bin/report"))
            with open(os.path.join(folder, path.name), "w",
                      encoding="utf-8") as file:
                file.write(text)

    @unittest.skipUnless(ANALYZE, "systemd is not installed")
    def test_systemd_accepts_them(self):
        """It also warns of names that it does not know, and of values."""
        folder = self.path("units")
        self.copy(folder)
        for name in sorted(os.listdir(folder)):
            with self.subTest(name=name):
                done = subprocess.run(
                    [ANALYZE, "verify", "--man=no", f"./{name}"], cwd=folder,
                    text=True, check=False, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT)
                self.assertEqual((done.returncode, done.stdout), (0, ""))

    @unittest.skipUnless(shutil.which("systemctl"), "systemd is not installed")
    def test_they_are_enabled(self):
        """In a root of their own, where no manager runs."""
        root = self.path("root")
        self.copy(f"{root}/etc/systemd/system")
        for name in ("nightly.timer", "scheduler.service"):
            subprocess.run(["systemctl", f"--root={root}", "enable", "--quiet",
                            name], check=True)
        wanted = sorted(path.name for path in recipes.pathlib.Path(root).glob(
            "etc/systemd/system/*.wants/*"))
        self.assertEqual(wanted, ["nightly.timer", "scheduler.service"])

    def test_time_to_stop(self):
        """holdfast must have done its part before systemd kills it."""
        for name in SERVICES:
            unit = units.Unit(name)
            self.assertEqual(unit.service["KillMode"], "mixed")
            self.assertGreaterEqual(unit.stop_s(),
                                    2 * units.grace_s(unit.command), name)

    def test_timer_and_service_belong_together(self):
        text = (recipes.RECIPES / "nightly.timer").read_text()
        self.assertNotIn("Unit=", text)  # the name is the service's
        self.assertIn("AccuracySec=1s", text)


class Nightly(recipes.ZooKeeper, recipes.Case):
    document = recipes.document("systemd.md")
    programs = ("nightly-report",)

    def setUp(self):
        super().setUp()
        self.unit = units.Unit("nightly.service")

    def test_every_block_is_run(self):
        self.every_block_is_run()

    def test_it_runs(self):
        status, out, err = self.finish(self.unit.start(self))
        self.assertEqual((status, out, err), (0, "nightly-report ran\n", ""))

    @recipes.block("$ holdfast run --try nightly -- nightly-report")
    def test_another_machine_runs_it(self):
        self.until_held("nightly", self.occupy("nightly",
                                               program="nightly-report"))
        self.follow()
        status, out, _ = self.finish(self.unit.start(self))
        self.assertEqual((status, out), (75, ""))
        self.assertIn(status, self.unit.successes)

    def test_it_is_stopped_while_the_job_runs(self):
        self.program("nightly-report", units.SERVICE)
        process = self.unit.start(self)
        waiting.read_line(process, "began")
        units.stop(process)
        status, out, _ = self.finish(process)
        self.assertEqual((status, out), (143, "asked\n"))
        self.assertIn(status, self.unit.successes)

    @recipes.block("ExecStart=/usr/bin/holdfast run -w 2h nightly -- "
                   "/usr/local/bin/nightly-report")
    def test_it_is_stopped_while_it_waits(self):
        holder = self.occupy("nightly")
        self.until_held("nightly", holder)
        waits = shlex.split(self.text.partition("=")[2])
        stopped = self.unit.start(self, waits)
        self.wait_for_queue("nightly", 2, stopped)
        comes_in = self.unit.start(self, waits)
        self.wait_for_queue("nightly", 3, stopped, comes_in)
        units.stop(stopped)
        status, out, _ = self.finish(stopped)
        self.assertEqual(out, "")
        self.assertIn(status, self.unit.successes)
        self.assertLess(status, 0)
        units.stop(holder)
        self.assertEqual(self.finish(comes_in)[:2], (0, "nightly-report ran\n"))

    @recipes.block("systemctl daemon-reload")
    def test_the_commands_name_what_is_enabled(self):
        """Files.test_they_are_enabled runs the second one."""
        self.assertEqual(self.text, "systemctl daemon-reload\n"
                         "systemctl enable --now nightly.timer\n")


if __name__ == "__main__":
    unittest.main()
