# SPDX-License-Identifier: Apache-2.0
"""holdfast show: what it says of a queue, and what it does not say."""

import json
import os
import re
import signal
import subprocess

import harness


class Show(harness.Case):
    def show(self, *arguments, **options):
        done = subprocess.run([harness.TOOL, "show", *arguments],
                              capture_output=True, text=True,
                              env=self.environment, stdin=subprocess.DEVNULL,
                              timeout=harness.PATIENCE_S, **options)
        return done.returncode, done.stdout, done.stderr

    def shown(self, *arguments):
        status, out, err = self.show(*arguments)
        self.assertEqual((status, err), (0, ""))
        return out

    def length(self):
        return len(json.loads(self.shown("--json", "lock"))["tickets"])

    def waiter(self, *options):
        before = self.length()
        process = self.start(*options, "lock", "--", "true")
        harness.eventually("a longer queue",
                           lambda: self.length() == before + 1)
        return process

    def test_nobody(self):
        self.assertEqual(self.shown("lock"),
                         "nobody holds or waits for lock\n")
        self.assertEqual(self.shown("/a/b"), "nobody holds or waits for a/b\n")
        found = json.loads(self.shown("--json", "lock"))
        self.assertEqual((found["name"], found["tickets"], found["foreign"]),
                         ("lock", [], []))
        self.assertEqual(os.listdir(os.path.join(self.locks, "locks")), [])

    def test_holder_and_waiters_in_order(self):
        holder = self.holder("--read")
        waiters = [self.waiter("--write"), self.waiter("--read")]
        rows = self.shown("lock").splitlines()
        self.assertRegex(
            rows[0],
            r"^# +STATE +KIND +AGE +TOKEN +DIALECT +OWNER$")
        for row, words in zip(rows[1:], ("1 holds read", "2 waits write",
                                         "3 waits read"), strict=True):
            self.assertRegex(row, "^" + words.replace(" ", " +") +
                             r" +\d+s +\d+ +holdfast +"
                             r"holdfast \(pid \d+ on \S+\): (sh -c|true)$")
            self.assertLessEqual(len(row), 80)
            self.assertEqual(row.index("holdfast"), rows[0].index("DIALECT"))
        self.finish(holder)
        for waiter in waiters:
            self.assertEqual(self.finish(waiter)[0], 0)
        self.shown("lock")

    def test_several_readers_hold(self):
        holders = [self.holder("--read") for _ in range(2)]
        self.assertEqual(re.findall("holds|waits", self.shown("lock")),
                         ["holds", "holds"])
        for holder in holders:
            self.finish(holder)

    def test_a_semaphore(self):
        """That the name is one is found out; who waits comes last."""
        holders = [self.holder("--permits", "2/3"),
                   self.holder("--permits", "1/3")]
        waiter = self.waiter("--permits", "3/3")
        rows = self.shown("lock").splitlines()
        self.assertRegex(
            rows[0], r"^# STATE KIND +PERMITS +AGE +TOKEN +DIALECT +OWNER$")
        for row, words in zip(rows[1:], (r"1 holds semaphore 2 +\d+s +\d+",
                                         r"2 holds semaphore 1 +\d+s +\d+",
                                         r"3 waits semaphore - +\d+s +\d+"),
                              strict=True):
            self.assertRegex(row, "^" + words + r" +holdfast +holdfast \(pid ")
            self.assertEqual(row.index("holdfast"), rows[0].index("DIALECT"))
        tickets = json.loads(self.shown("--json", "lock"))["tickets"]
        self.assertEqual([(t["place"], t["state"], t["kind"], t["permits"])
                          for t in tickets],
                         [(1, "holds", "semaphore", 2),
                          (2, "holds", "semaphore", 1),
                          (3, "waits", "semaphore", None)])
        self.assertEqual([t["owner"]["pid"] for t in tickets[:2]],
                         [self.keeper(h) for h in holders])
        for holder in holders:
            self.finish(holder)
        self.assertEqual(self.finish(waiter)[0], 0)
        self.assertEqual(self.length(), 0)

    def test_a_mutex_and_a_semaphore_of_one_name(self):
        """They do not see each other; whoever looks sees both."""
        holders = [self.holder(), self.holder("--permits", "1/1")]
        self.assertEqual(
            re.findall("holds +(?:mutex|semaphore) +[1-9]",
                       self.shown("lock")),
            ["holds mutex     1", "holds semaphore 1"])
        for holder in holders:
            self.finish(holder)

    def test_json(self):
        holder = self.holder()
        waiter = self.waiter()
        found = json.loads(self.shown("--json", "-t", "5s", "lock"))
        self.assertEqual(found["engine"], "file:" + self.locks)
        first, second = found["tickets"]
        self.assertEqual([first["state"], second["state"]],
                         ["holds", "waits"])
        self.assertLess(int(first["token"]), int(second["token"]))
        self.assertEqual(first["kind"], "mutex")
        self.assertEqual([first["permits"], second["permits"]], [1, 1])
        self.assertEqual(first["dialect"], "holdfast")
        self.assertEqual(first["owner"]["pid"], self.keeper(holder))
        self.assertEqual(first["owner"]["text"], "sh -c")
        self.assertIn("pid=%d " % self.keeper(holder), first["payload"])
        self.assertRegex(first["created"], r"^\d{4}-\d\d-\d\dT[\d:]{8}Z$")
        self.assertLess(first["age_ms"], 1000 * harness.PATIENCE_S)
        self.assertRegex(first["id"], r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-"
                                      r"[0-9a-f]{12}$")
        self.finish(holder)
        self.finish(waiter)

    def test_the_dead_are_not_shown(self):
        holder = self.holder()
        tree = [holder.pid] + harness.descendants(holder.pid)
        for pid in tree:
            os.kill(pid, signal.SIGKILL)
        for pid in tree:
            harness.ended(pid)
        self.assertEqual(self.shown("lock"),
                         "nobody holds or waits for lock\n")

    def test_foreign_words_do_not_reach_the_terminal(self):
        """Others may write anything where tickets say whose they are."""
        holder = self.holder()
        place = os.path.join(self.locks, "locks", "lock")
        payload, = [n for n in os.listdir(place) if n.endswith(".payload")]
        for words in (b"\x1b[2J\xc2\x9b31m\x7f", b"\xff\xfe",
                      b"host=%1B pid=1 command=%0A%C2%85 text=%FF",
                      b"host=h pid=1 command=%E2%80%AEtxt.sh text=%E2%81%A6"):
            path = os.path.join(place.encode(), payload.encode())
            os.unlink(path)
            os.symlink(words, path)
            for options in ([], ["--json"]):
                out = self.shown(*options, "lock")
                self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f-\x9f"
                                         "\u200b-\u200f\u2028-\u202e\u2060-"
                                         "\u206f]")
        self.finish(holder)

    def test_wrong_lines(self):
        for arguments, text in (
                ([], "NAME is missing"),
                (["a", "b"], "'b': one NAME at a time"),
                (["-x", "a"], "-x: no such option"),
                (["--jsn", "a"], "--jsn: no such option"),
                (["a", "-t"], "-t: its value is missing"),
                (["-t", "5", "a"], "-t '5': not a duration"),
                (["a//b"], "hf_lock_open: "),
                (["-c", "nosuch:", "a"], "hf_client_open: ")):
            with self.subTest(arguments):
                status, out, err = self.show(*arguments)
                self.assertEqual((status, out), (64, ""))
                self.assertEqual(err.count("\n"), 1, err)
                self.assertTrue(err.startswith("holdfast: " + text), err)

    def test_nobody_answers(self):
        status, out, err = self.show("-c", "zk://127.0.0.1:1", "-t", "300ms",
                                     "lock")
        self.assertEqual((status, out), (69, ""))
        self.assertIn("no connection to zk://127.0.0.1:1", err)

    def test_help(self):
        self.assertTrue(self.shown("--help").startswith(
            "usage: holdfast show "))

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            status = subprocess.run([harness.TOOL, "show", "lock"],
                                    env=self.environment, stdout=full,
                                    stderr=subprocess.DEVNULL).returncode
        self.assertEqual(status, 73)


if __name__ == "__main__":
    harness.main()
