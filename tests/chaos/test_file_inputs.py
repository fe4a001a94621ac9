#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Directories in which tickets cannot be, and one directory under two paths,
through the tool: it ends with a status and a text that names what is wrong, and
leaves nothing behind.

    test_file_inputs.py HOLDFAST
"""

import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))
import machine  # noqa: E402

HOLDFAST = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
NOBODY = 65534
IS_ROOT = os.geteuid() == 0


def can_mount():
    return IS_ROOT and subprocess.run(
        ["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode == 0


def run(url, *command, name="nightly", **options):
    return subprocess.run([HOLDFAST, "run", "-c", url, "--try", name, "--",
                           *(command or ("true",))],
                          capture_output=True, text=True, **options)


class FileInputs(unittest.TestCase):
    def setUp(self):
        self.top = machine.directory("inputs", on_disk=True)
        os.chmod(self.top, 0o755)
        self.root = f"{self.top}/run"
        self.url = f"file:{self.root}?state={self.top}/state"

    def tearDown(self):
        shutil.rmtree(self.top, ignore_errors=True)

    def refused(self, result, status, *words):
        self.assertEqual(result.returncode, status, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_names(self):
        for name, word in (("a/../b", '".."'), ("a//b", "empty"),
                           ("a" * 10000, "1024"), ("a\x01b", "\\x01"),
                           ("a/", "/"), ("", "empty")):
            self.refused(run(self.url, name=name), 64, word)
        self.assertFalse(os.path.exists(self.root) and
                         os.listdir(f"{self.root}/locks"))

    def test_urls(self):
        for url, word in (("gopher://x/", "gopher"), ("file:/x?frob=1", "frob"),
                          ("file:relative", "absolute"), ("nonsense", "URL"),
                          ("file:/a%zzb", "offset 7")):
            self.refused(run(url), 64, word)

    @unittest.skipUnless(IS_ROOT, "needs root to give a directory away")
    def test_another_users_directory(self):
        os.mkdir(self.root, 0o700)
        os.chown(self.root, NOBODY, NOBODY)
        result = run(self.url)
        self.refused(result, result.returncode, self.root, "65534")
        self.assertIn(result.returncode, (73, 77))
        self.assertEqual(os.listdir(self.root), [])

    @unittest.skipUnless(IS_ROOT, "needs root to become somebody else")
    def test_a_directory_that_cannot_be_written(self):
        result = run(self.url, user=NOBODY, group=NOBODY, extra_groups=[])
        self.refused(result, result.returncode, self.top)
        self.assertIn(result.returncode, (73, 77))

    def test_a_filesystem_that_will_not_do(self):
        result = run("file:/proc/sys")
        self.refused(result, 73, "/proc/sys", "filesystem", "proc")

    def test_a_file_where_the_directory_should_be(self):
        with open(self.root, "w", encoding="utf-8"):
            pass
        self.refused(run(self.url), 73, self.root)

    def test_a_link_where_the_directory_should_be(self):
        os.symlink(self.top, self.root)
        self.refused(run(self.url), 73, self.root)

    @unittest.skipUnless(can_mount(), "needs to mount a tmpfs")
    def test_a_disk_that_fills_up(self):
        """With no inode left an enqueue leaves nothing half-made, and works
        again as soon as there is room."""
        os.mkdir(self.root, 0o700)
        script = f"""
            set -e
            mount -t tmpfs -o mode=0700,nr_inodes=40 none {self.root}
            {HOLDFAST} run -c '{self.url}' nightly -- true
            n=0
            while touch {self.root}/fill$n 2>/dev/null; do n=$((n + 1)); done
            before=$(find {self.root} | sort)
            for free in 0 1 2 3; do
                set +e
                {HOLDFAST} run -c '{self.url}' nightly -- true 2>{self.top}/err
                status=$?
                set -e
                if [ $status != 0 ]; then
                    echo "$status $(cat {self.top}/err)"
                    left=$(find {self.root} -path '*/locks/*')
                    [ -z "$left" ] || {{ echo "left: $left"; exit 1; }}
                fi
                rm {self.root}/fill$free
            done
            rm {self.root}/fill*
            {HOLDFAST} run -c '{self.url}' nightly -- echo works again
        """
        result = subprocess.run(["unshare", "-m", "bash", "-c", script],
                                capture_output=True, text=True)
        lines = result.stdout.splitlines()
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(lines[-1], "works again")
        self.assertGreater(len(lines), 1)
        for line in lines[:-1]:
            self.assertTrue(line.startswith("73 "), line)
            self.assertIn(self.root, line)

    @unittest.skipUnless(can_mount(), "needs a mount namespace")
    def test_two_mount_namespaces_exclude_each_other(self):
        other = f"{self.top}/elsewhere"
        os.mkdir(other)
        inside = (f"mount --bind {self.root} {other} && "
                  f"exec {HOLDFAST} run --try -c 'file:{other}?state="
                  f"{self.top}/state' nightly -- true")
        nested = ["unshare", "-m", "bash", "-c", inside]
        self.assertEqual(run(self.url).returncode, 0)
        held = run(self.url, *nested)
        self.assertEqual(held.returncode, 75, held.stderr)
        self.assertEqual(subprocess.run(nested).returncode, 0)

    def test_no_environment_and_a_full_one_exclude_each_other(self):
        """By the default directory, which no variable of a login decides."""
        name = f"holdfast-test-{os.getpid()}"
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith("HOLDFAST")}
        environment["XDG_RUNTIME_DIR"] = self.top
        inner = ["env", "-i", HOLDFAST, "run", "--try", name, "--", "true"]
        held = subprocess.run([HOLDFAST, "run", name, "--", *inner],
                              env=environment, capture_output=True, text=True)
        self.assertEqual(held.returncode, 75, held.stderr)
        self.assertEqual(subprocess.run(inner).returncode, 0)


if __name__ == "__main__":
    unittest.main()
