# SPDX-License-Identifier: Apache-2.0
"""A run inside of a run: what the outer one holds is known to the inner one,
which is refused where it would wait for itself."""

import json
import os
import subprocess

import harness
from harness import waiting

RUN = [harness.TOOL, "run"]


class Nested(harness.Case):
    def nested(self, outer, inner, *command):
        """Run `holdfast run INNER` inside of `holdfast run OUTER`."""
        return self.run_tool(*outer, "--", *RUN, *inner, "--",
                             *(command or ("echo", "ran")))

    def refused(self, outer, inner, *parts):
        status, out, err = self.nested(outer, inner)
        self.assertEqual((status, out), (64, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        for part in parts + ("never", "outer run"):
            self.assertIn(part, err)
        self.assertEqual(self.tickets(), 0)

    def taken(self, outer, inner):
        self.assertEqual(self.nested(outer, inner), (0, "ran\n", ""))

    def test_the_same_name(self):
        self.refused(["job"], ["job"], "'job' is held already (mutex)", "(pid ")
        self.refused(["job"], ["-t", "1d", "/job"], "'job' is held already")
        self.refused(["a", "job", "b"], ["c", "job"], "'job' is held already")
        self.refused(["job"], ["-c", "file:" + self.locks, "job"], "'job'")

    def test_the_same_engine_by_another_url(self):
        """Its digest differs, and the owner at the head of the queue does
        not."""
        other = "file:%s/../%s" % (self.locks, os.path.basename(self.locks))
        for options in ([], ["--write"]):
            self.refused([*options, "job"], [*options, "-c", other, "job"],
                         "'job' is held already")

    def test_other_names_and_engines(self):
        self.taken(["job"], ["task"])
        self.taken(["job"], ["-c", "file:" + self.path("other"), "job"])

    def test_a_try_answers_as_ever(self):
        status, out, err = self.nested(["job"], ["--try", "job"])
        self.assertEqual((status, out), (75, ""))
        self.assertNotIn("never", err)

    def test_deeper(self):
        self.refused(["outer"], ["middle", "--", *RUN, "outer"],
                     "'outer' is held already")

    def test_across_sessions_and_orphans(self):
        """What the command starts is part of the run, wherever it went."""
        status, out, err = self.run_tool(
            "job", "--", "setsid", "--wait", "sh", "-c",
            "%s run job -- echo ran; exit $?" % harness.TOOL)
        self.assertEqual((status, out), (64, ""))
        self.assertIn("'job' is held already", err)

    def test_readers_and_writers(self):
        self.taken(["--read", "file"], ["--read", "file"])
        self.refused(["--read", "file"], ["--write", "file"], "(read)")
        self.refused(["--write", "file"], ["--read", "file"], "(write)")
        self.refused(["--write", "file"], ["--write", "file"], "(write)")

    def test_reader_in_a_reader_behind_a_writer(self):
        outer = self.start("--read", "file", "--", "sh", "-c",
                           'echo held; read line; "$@"', "sh", *RUN, "--read",
                           "file", "--", "echo", "ran", stdin=subprocess.PIPE)
        waiting.read_line(outer, "held")
        writer = self.start("--write", "file", "--", "echo", "written")
        self.queued(2)
        outer.stdin.write("go\n")
        outer.stdin.close()
        outer.stdin = None
        status, out, err = self.finish(outer)
        self.assertEqual((status, out), (64, ""))
        self.assertIn("'file' is held already by the run that this one is part "
                      "of", err)
        self.assertEqual(self.finish(writer), (0, "written\n", ""))

    def test_permits(self):
        self.taken(["--permits", "1/2", "pool"], ["--permits", "1/2", "pool"])
        self.refused(["--permits", "1/2", "pool"], ["--permits", "2/2", "pool"],
                     "1 of the permits of 'pool' are held")
        self.refused(["--permits", "1/3", "pool"],
                     ["--permits", "1/3", "pool", "--", *RUN, "--permits",
                      "2/3", "pool"], "2 of the permits of 'pool' are held")
        self.taken(["pool"], ["--permits", "1/1", "pool"])

    def test_an_environment_that_outlived_its_run(self):
        """What it names is no ancestor, or another process with its pid."""
        _, out, _ = self.run_tool("job", "--", "sh", "-c", "echo $HOLDFAST_HELD")
        engine, _, started, rest = out.strip().split(":", 3)
        self.assertRegex(rest, r"^mutex:1:[0-9a-f]{8}:job$")
        for pid in (os.getpid(), 1, 999999999, 0):
            self.environment["HOLDFAST_HELD"] = "%s:%d:%s:%s" % (
                engine, pid, started, rest)
            self.assertEqual(self.run_tool("job", "--", "echo", "ran"),
                             (0, "ran\n", ""))

    def test_what_is_handed_down(self):
        _, out, _ = self.run_tool(
            "a:b", "c d", "--", *RUN, "--read", "inner", "--", "sh", "-c",
            'printf %s "$HOLDFAST_HELD"')
        lines = [line.split(":", 6) for line in out.splitlines()]
        self.assertEqual([line[3:5] + line[6:] for line in lines],
                         [["mutex", "1", "a:b"], ["mutex", "1", "c d"],
                          ["read", "1", "inner"]])
        self.assertEqual(lines[0][:3], lines[1][:3])
        self.assertEqual(lines[0][0], lines[2][0])
        self.assertNotEqual(lines[0][1], lines[2][1])

    def test_a_ticket_says_what_the_outer_runs_hold(self):
        busy = self.start("inner", "--", "sh", "-c", "echo held; read line",
                          stdin=subprocess.PIPE)
        waiting.read_line(busy, "held")
        outer = self.start("a:b", "--", *RUN, "--read", "file", "--", *RUN,
                           "inner", "--", "echo", "ran")
        self.queued(4)
        ids = [self.show(name)[0]["id"][:8] for name in ("a:b", "file")]
        payloads = [ticket["payload"] for ticket in self.show("inner")]
        self.assertNotIn("holds=", payloads[0])
        self.assertTrue(payloads[1].endswith(
            " holds=a%%3Ab:%s,file:%s" % tuple(ids)), payloads[1])
        busy.stdin.close()
        self.assertEqual(busy.wait(waiting.LIMIT_S), 1)  # read met the end
        self.assertEqual(self.finish(outer)[1], "ran\n")

    def show(self, name):
        out = subprocess.run([harness.TOOL, "show", "--json", name],
                             env=self.environment, check=True,
                             capture_output=True, text=True).stdout
        return json.loads(out)["tickets"]

    def test_nonsense_is_ignored(self):
        for text in ("", "\n\n", ":::::::", "x" * 100000, "\udcff:1",
                     "0123456789abcdef:1:1:mutex:1:01234567:",
                     "0123456789abcdef:1:1:nothing:1:01234567:job\n" * 2000):
            self.environment["HOLDFAST_HELD"] = text
            status, out, err = self.run_tool("job", "--", "sh", "-c",
                                             'printf %s "$HOLDFAST_HELD"')
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(len(out.splitlines()), 1)

    def test_as_many_as_there_may_be(self):
        """The longest names, in as many runs as the kernel has room for."""
        names = ["%02d" % i + "/x" * 500 for i in range(64)]
        self.taken(names, ["job"])
        self.taken(names[:32], [*names[32:], "--", *RUN, "job"])


if __name__ == "__main__":
    harness.main()
