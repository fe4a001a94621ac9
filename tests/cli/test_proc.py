# SPDX-License-Identifier: Apache-2.0
"""What /proc does not show: nothing the command started outlives the lock all
the same, or it is not started."""

import os
import shutil
import subprocess
import unittest

import harness
from harness import waiting

HIDE = os.environ["HIDE"]


class Proc(harness.Case):
    def tearDown(self):
        for pid in {beat.pid for beat in self.beats()}:
            if harness.is_alive(pid):
                harness.kill(pid)
        super().tearDown()

    def hide(self, **more):
        """No kernel shows children from now on."""
        checks = [os.environ.get("ASAN_OPTIONS", ""), "verify_asan_link_order=0"]
        self.environment.update(more, LD_PRELOAD=HIDE,
                                ASAN_OPTIONS=":".join(filter(None, checks)))

    def answer(self, text, launcher):
        """Its output and error output after this input."""
        return launcher.communicate(text, timeout=waiting.LIMIT_S)

    def leftovers(self, script, count, *options):
        """Whatever the script left behind is gone when the tool has ended."""
        launcher = self.start(*options, "lock", "--", "sh", "-c",
                              script + " read go; exit 5",
                              stdin=subprocess.PIPE)
        pids = self.beating("old", count)
        self.assertEqual(self.answer("go\n", launcher), ("", ""))
        self.assertEqual(launcher.returncode, 5)
        for pid in pids:
            self.assertFalse(harness.is_alive(pid))

    def test_children_are_found_without_children(self):
        self.hide()
        self.leftovers(self.beat_command("old", flags="t") + " &", 1,
                       "--grace", "20ms")

    def test_orphans_are_found_without_children(self):
        self.hide()
        self.leftovers("%s; %s &" % (self.beat_command("old", flags="td"),
                                     self.beat_command("old", flags="ts")), 2,
                       "--grace", "20ms")

    def test_many_are_found_without_children(self):
        self.hide()
        self.leftovers("i=0; while [ $i -lt 200 ]; do %s & i=$((i+1)); done;" %
                       self.beat_command("old", flags="s"), 200)

    def test_names_that_look_like_fields(self):
        """The name of a process stands before its parent."""
        self.hide()
        program = self.path(") S 1 (x 1 2")
        shutil.copy(harness.HEARTBEAT, program)
        script = self.beat_command("old", flags="t").replace(
            harness.HEARTBEAT, "'%s'" % program, 1)
        self.leftovers(script + " &", 1, "--grace", "20ms")

    def test_term_reaches_all_without_children(self):
        self.hide()
        self.term_reaches_all()

    def test_term_reaches_all(self):
        self.term_reaches_all()

    def term_reaches_all(self):
        """SIGTERM is for the whole tree at once: one that ignores it does not
        keep it from those below."""
        below = "trap \"echo clean; exit\" TERM; echo up; while :; do :; done"
        script = ("bash -c 'bash -c \"$0\" & trap \"\" TERM; echo up; wait'"
                  " '%s' & read go; exit 5" % below)
        launcher = self.start("--grace", os.environ.get("GRACE", "1m"), "lock",
                           "--", "bash", "-c", script, stdin=subprocess.PIPE)
        waiting.read_line(launcher, "up")
        waiting.read_line(launcher, "up")
        out = self.answer("go\n", launcher)[0]
        self.assertEqual((launcher.returncode, out), (5, "clean\n"))

    def test_children_from_before_are_spared_without_children(self):
        self.hide()
        other = self.path("other")
        launcher = subprocess.Popen(
            ["bash", "-c", "sleep 1000 & echo $! >%s; exec %s run lock -- "
             "sh -c 'sleep 1000 & exit 5'" % (other, harness.TOOL)],
            env=self.environment)
        self.started.append(launcher)
        self.assertEqual(launcher.wait(waiting.LIMIT_S), 5)
        with open(other) as file:
            spared = int(file.read())
        self.assertTrue(harness.is_alive(spared))
        harness.kill(spared)

    # ---- refused

    def assert_refused(self, says, **options):
        status, out, err = self.run_tool("lock", "--", "echo", "ran", **options)
        self.assertEqual((status, out), (70, ""), err)
        self.assertIn(says, err)

    def test_no_process_but_oneself(self):
        self.hide(HF_HIDE="stat")
        self.assert_refused("does not show")

    def unshared(self, options, script):
        """The tool where the script was run before it."""
        done = subprocess.run(
            ["unshare", *options, "sh", "-c", script + ' && exec "$0" "$@"',
             harness.TOOL, "run", "lock", "--", "echo", "ran"],
            env=self.environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    @unittest.skipUnless(harness.can_unshare("-m"), "no mount namespace to be had")
    def test_no_proc(self):
        status, out, err = self.unshared(["-m"], "mount -t tmpfs none /proc")
        self.assertEqual((status, out), (70, ""), err)
        self.assertIn("mount it", err)

    @unittest.skipUnless(harness.can_unshare("-m", "-p", "-f"),
                         "no pid namespace to be had")
    def test_proc_of_other_processes(self):
        """Its numbers mean other processes there than here."""
        status, out, err = self.unshared(["-p", "-f"], "true")
        self.assertEqual((status, out), (70, ""), err)
        self.assertIn("another pid namespace", err)

    @unittest.skipUnless(os.getuid() == 0 and harness.can_unshare("-m", "-p", "-f"),
                         "no pid namespace to be had")
    def test_hidepid(self):
        """Those of the user are seen, and that is enough."""
        self.hide()
        os.chmod(self.directory, 0o1777)
        self.environment["LD_PRELOAD"] = shutil.copy(HIDE, self.path("hide"))
        tool = shutil.copy(harness.TOOL, self.path("holdfast"))
        done = subprocess.run(
            ["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c",
             "mount -o remount,hidepid=2 /proc && exec setpriv --reuid=12345"
             " --clear-groups %s run -c file:%s?state=%s lock -- sh -c"
             " 'sleep 1000 & exit 5'" % (tool, self.path("nobody"),
                                         self.path("state"))],
            env=self.environment, capture_output=True, text=True,
            timeout=waiting.LIMIT_S, check=False)
        self.assertEqual(done.returncode, 5, done.stderr)


if __name__ == "__main__":
    harness.main()
