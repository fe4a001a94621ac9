# SPDX-License-Identifier: Apache-2.0
"""holdfast verify and holdfast torture: what is noted, and what is made of
it."""

import json
import os
import socket
import subprocess
import xml.etree.ElementTree

import harness
from harness import waiting

# No contender of holdfast torture holds a lock for so long.
BEYOND_A_HOLD = "9s"

FIRST = "holdfast-history 1\n"
GOOD = FIRST + """\
# Two, one after the other.
1000000 a want x kind=mutex
1000010 a grant x token=1 safe_until=9000000
1000020 b want x kind=mutex
1000500 a release x token=1
1000700 b grant x token=2 safe_until=9000000
1000900 b release x token=2
"""
BAD = GOOD.replace("1000500 a release", "1000800 a release")


class Verify(harness.Case):
    def tool(self, *arguments, text=""):
        done = subprocess.run([harness.TOOL, *arguments], input=text,
                              capture_output=True, text=True,
                              env=self.environment,
                              timeout=waiting.LIMIT_S)
        return done.returncode, done.stdout, done.stderr

    def history(self, text):
        path = self.path("history")
        with open(path, "w") as file:
            file.write(text)
        return path

    # ---- verify

    def test_nothing_wrong(self):
        for name, text in ((self.history(GOOD), ""), ("-", GOOD)):
            status, out, err = self.tool("verify", name, text=text)
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(out.splitlines(), [
                "history   6 notes of 2 clients and 1 lock, 0.001 s",
                "attempts  2: 2 granted; 2 released, 0 lost, 0 died, "
                "0 gave up, 0 go on",
                "faults    0 clients killed, 0 times one frozen",
                "writes    0, of which 0 refused: of those who had lost the "
                "lock",
                "handoff   after release: p50 0.200 ms, p99 0.200 ms, at most "
                "0.200 ms, of 1",
                "wait      at most 0.001 s",
                "verdict   no violation in 2 grants, 0 faults, 0 losses"])

    def test_a_violation(self):
        status, out, err = self.tool("verify", self.history(BAD))
        self.assertEqual((status, err), (1, ""))
        self.assertEqual(
            out.splitlines()[0],
            'line 7: exclusion: "x" at 0.000700 s "b" (token 2) was let in '
            'while "a" (token 1, line 4) relied on it, for 0.000100 s')
        self.assertEqual(out.splitlines()[-1],
                         "verdict   1 violation in 2 grants, 0 faults, "
                         "0 losses: exclusion 1")

    def test_nothing_was_granted(self):
        """No rule is broken where nothing happened, but that shows nothing."""
        for notes in ("", "1000000 a died -\n",
                      "1000000 a want x kind=mutex\n",
                      "1000000 a want x kind=mutex\n1000001 a gaveup x\n"):
            with self.subTest(notes=notes):
                name = self.history(FIRST + notes)
                status, out, err = self.tool("verify", name)
                self.assertEqual(status, 65, out)
                self.assertEqual(out.splitlines()[-1],
                                 "verdict   none: there is no grant to judge")
                self.assertRegex(err, "^holdfast: .*: no grant is in it, so "
                                 "nothing was judged; expected .*\n$")
                status, out, _ = self.tool("verify", "--json", name)
                self.assertEqual((status, json.loads(out)["verdict"]),
                                 (65, "none"))

    def test_a_lock_that_was_never_granted(self):
        """The grants are verified; the report names the locks without one."""
        status, out, err = self.tool("verify", self.history(
            GOOD + "1000910 a want \"y kind=mutex\n"))
        self.assertEqual((status, err), (0, ""))
        self.assertIn('never     1 lock was never granted and is not judged: '
                      '"\\"y"\n', out)

    def test_the_verdict_in_json(self):
        for text, verdict in ((GOOD, "no violation"), (BAD, "violation")):
            out = self.tool("verify", "--json", "-", text=text)[1]
            self.assertEqual(json.loads(out)["verdict"], verdict)

    def test_json(self):
        status, out, err = self.tool("verify", "--json", self.history(BAD))
        self.assertEqual((status, err), (1, ""))
        said = json.loads(out)
        self.assertEqual(said["violations"], 1)
        self.assertEqual(said["broken"]["exclusion"], 1)
        self.assertEqual(said["told"][0]["attempt"]["client"], "b")
        self.assertEqual(said["told"][0]["other"]["client"], "a")
        self.assertEqual(said["told"][0]["until_us"]
                         - said["told"][0]["from_us"], 100)

    def test_a_picture(self):
        for text, words in ((GOOD, "no violation, 2 grants"),
                            (BAD, "exclusion, line 7"),
                            (FIRST, "none, 0 grants")):
            path = self.path("picture.svg")
            self.tool("verify", "--svg", path, self.history(text))
            words_in = [element.text for element in
                        xml.etree.ElementTree.parse(path).iter()
                        if element.text]
            self.assertTrue(any(words in found for found in words_in))

    def test_lateness(self):
        late = GOOD.replace("safe_until=9000000", "safe_until=1000400", 1)
        self.assertEqual(self.tool("verify", self.history(late))[0], 0)
        status, out, _ = self.tool("verify", "--late", "0ms",
                                   self.history(late))
        self.assertEqual(status, 1)
        self.assertIn("line 6: loss: ", out)

    def test_long_and_short_options(self):
        name = self.history(BAD)
        for long, short in (
                (["--json"], ["-j"]), (["--late", "0ms"], ["-A0ms"]),
                (["--svg", self.path("a")], ["-I", self.path("a")])):
            self.assertEqual(self.tool("verify", *long, name),
                             self.tool("verify", *short, name))
        for long, short in (([], []), (["--grant"], ["-G"]),
                            (["--help"], ["-h"])):
            said = self.tool("sql", *long)
            self.assertEqual(said, self.tool("sql", *short))
            self.assertEqual((said[0], said[2]), (0, ""))
        for arguments, part in ((["x"], "'x': not expected"),
                                (["--grant=x"], "takes no value"),
                                (["-x"], "-x: no such option")):
            status, out, err = self.tool("sql", *arguments)
            self.assertEqual((status, out), (64, ""))
            self.assertIn(part, err)

    def test_bad_input(self):
        rows = [
            ([], 64, "HISTORY is missing"),
            (["a", "b"], 64, "one HISTORY at a time"),
            (["--late", "soon", "-"], 64, "not a duration"),
            (["--svg"], 64, "its value is missing"),
            (["--draw", "-"], 64, "no such option"),
            (["-jx", "-"], 64, "-x: no such option"),
            (["--late=0s", "-xj", "-"], 64, "-x: no such option"),
            (["--json=1", "-"], 64, "takes no value"),
            ([self.path("none")], 66, "cannot be read"),
            ([self.history("hello\n")], 65, "line 1"),
            (["--svg", self.path("no/where.svg"), "-"], 73,
             "cannot be written"),
        ]
        for arguments, expected, part in rows:
            with self.subTest(arguments=arguments):
                status, _, err = self.tool("verify", *arguments, text=GOOD)
                self.assertEqual(status, expected, err)
                self.assertIn(part, err)

    # ---- torture

    def torture(self, *arguments):
        kept = self.path("kept")
        status, out, err = self.tool(
            "torture", "-j", "-F", "100ms", "-u", "2s", "-o", kept,
            *arguments)
        self.assertEqual((status, err), (0, ""))
        said = json.loads(out)
        self.assertEqual(said["violations"], 0)
        self.assertEqual(self.tool("verify", "--json", kept)[1], out)
        # Of a command whose contender was killed last the end may come later.
        waiting.eventually("empty queues", lambda: self.tickets() == 0)
        return said, kept

    def test_every_kind(self):
        for kind in ("mutex", "rwlock", "semaphore", "several", "election",
                     "reentrant", "kept"):
            with self.subTest(kind=kind):
                said, _ = self.torture("--kind", kind)
                self.assertGreater(said["granted"], 0)
                self.assertGreater(said["killed"] + said["frozen"], 0)

    def test_through_the_tool(self):
        said, kept = self.torture("--kind", "tool", "--faults", "500ms",
                                  "--for", BEYOND_A_HOLD)
        self.assertGreater(said["granted"], 0)
        self.assertGreater(said["writes"], 0)
        with open(kept) as file:
            self.assertIn(" seen holdfast-torture/mutex ", file.read())

    def test_all_kinds_at_once(self):
        said, kept = self.torture("--kind", "all", "--faults", "0s", "-N", "4",
                                  "--for", BEYOND_A_HOLD, "below/here")
        with open(kept) as file:
            words = {tuple(line.split()[2:4]) for line in file}
        for name in ("mutex", "kept", "rwlock", "semaphore", "one", "two",
                     "election"):
            self.assertIn(("grant", "below/here/" + name), words)
        self.assertEqual(said["locks"], 7)

    def test_what_nobody_asked_to_keep_is_in_tmpdir(self):
        folder = self.path("temporary")
        os.mkdir(folder)
        process = subprocess.Popen(
            [harness.TOOL, "torture", "--for", "1h"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(self.environment, TMPDIR=folder), process_group=0)
        self.started.append(process)
        waiting.eventually("a history", lambda: os.listdir(folder))
        history, = os.listdir(folder)
        self.granted(os.path.join(folder, history))
        process.terminate()
        status, _, err = self.finish(process)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(os.listdir(folder), [])

    def granted(self, history):
        def has_grant():
            with open(history) as file:
                return " grant " in file.read()
        waiting.eventually("a grant", has_grant)

    def test_an_engine_that_is_not_reached(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            for port in (1, silent.getsockname()[1]):
                with self.subTest(port=port):
                    status, out, err = self.tool(
                        "torture", "-c", "zk://127.0.0.1:%d" % port, "--for",
                        "300ms")
                    self.assertEqual((status, out), (69, ""))
                    self.assertIn("zk://127.0.0.1:%d" % port, err)
                    self.assertEqual(err.count("\n"), 1, err)

    def test_a_lock_that_somebody_else_holds(self):
        """All contenders wait for it until the end."""
        holder = self.holder()
        status, out, err = self.tool("torture", "--for", "300ms", "--faults",
                                     "0s", "lock")
        self.assertEqual(status, 65, out)
        self.assertIn(": 0 granted; ", out)
        self.assertIn("there is no grant to judge", out)
        self.assertIn("nothing was judged", err)
        self.finish(holder)

    def test_it_would_be_seen(self):
        """A contender that holds after it has noted its release."""
        _, kept = self.torture("--faults", "0s", "-N", "3",
                               "--for", BEYOND_A_HOLD)
        with open(kept) as file:
            lines = file.readlines()
        early = next(n for n, line in enumerate(lines)
                     if " release " in line)
        client = lines[early].split()[1]
        later = next(n for n in range(early, len(lines))
                     if " grant " in lines[n]
                     and lines[n].split()[1] != client)
        at = int(lines[later].split()[0]) + 1
        doctored = [line for n, line in enumerate(lines)
                    if n < early or line.split()[1] != client]
        doctored.append(" ".join([str(at)] + lines[early].split()[1:]) + "\n")
        status, out, err = self.tool("verify",
                                     self.history("".join(doctored)))
        self.assertEqual(status, 1, out + err)
        self.assertIn("exclusion", out)

    def test_bad_input_of_torture(self):
        rows = [
            (["-N", "0"], 64, "from 1 to 64"),
            (["-N", "many"], 64, "from 1 to 64"),
            (["--kind", "lock"], 64, "kept or all"),
            (["--for", "ever"], 64, "not a duration"),
            (["a", "b"], 64, "one NAME"),
            (["a//b"], 64, "a//b"),
            (["-c", "nowhere:"], 64, "nowhere"),
            (["--history", self.path("no/where")], 73, "cannot be written"),
        ]
        for arguments, expected, part in rows:
            with self.subTest(arguments=arguments):
                status, _, err = self.tool("torture", "--for", "1s",
                                           *arguments)
                self.assertEqual(status, expected, err)
                self.assertIn(part, err)

    def test_the_end_by_a_signal_is_in_good_order(self):
        kept = self.path("kept")
        process = subprocess.Popen(
            [harness.TOOL, "torture", "--for", "1h", "--history", kept],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment, process_group=0)
        self.started.append(process)
        waiting.eventually("a history", lambda: os.path.exists(kept))
        self.granted(kept)
        process.terminate()
        status, out, err = self.finish(process)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("no violation", out)
        self.assertEqual(self.tickets(), 0)
        self.assertTrue(os.path.exists(kept))


if __name__ == "__main__":
    harness.main()
