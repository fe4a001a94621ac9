# SPDX-License-Identifier: Apache-2.0
"""holdfast show: what it says of a queue, and what it does not say."""

import json
import os
import re
import subprocess

import harness
from harness import waiting


class Show(harness.Case):
    def show(self, *arguments, **options):
        done = subprocess.run([harness.TOOL, "show", *arguments],
                              capture_output=True, text=True,
                              env=self.environment, stdin=subprocess.DEVNULL,
                              timeout=waiting.LIMIT_S, **options)
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
        waiting.eventually("a longer queue",
                           lambda: self.length() == before + 1)
        return process

    def test_nobody(self):
        self.assertEqual(self.shown("lock"),
                         "nobody holds or waits for lock\n")
        self.assertEqual(self.shown("/a/b"), "nobody holds or waits for a/b\n")
        found = json.loads(self.shown("--json", "lock"))
        self.assertEqual((found["name"], found["tickets"], found["unknown"]),
                         ("lock", [], []))
        self.assertEqual(os.listdir(self.locks), [])

    def test_a_directory_that_is_not_there(self):
        """It is reported and not made: an empty queue would hide a typing
        error."""
        typo = self.path("typo")
        for arguments in (["-c", "file:" + typo], ["-c", "file:%s?mode=0770" %
                                                   typo]):
            status, out, err = self.show(*arguments, "lock")
            self.assertEqual((status, out), (73, ""))
            self.assertIn("there is no directory %s; expected" % typo, err)
            self.assertEqual(err.count("\n"), 1, err)
        self.environment["HOLDFAST_DIR"] = typo
        status, out, err = self.show("--json", "lock")
        self.assertEqual((status, out), (73, ""))
        self.assertIn(typo, err)
        self.assertFalse(os.path.exists(typo))

    def test_a_directory_that_was_made_for_locks_and_has_none(self):
        self.assertEqual(self.shown("lock"),
                         "nobody holds or waits for lock\n")
        self.assertEqual(os.listdir(self.locks), [])

    def test_holder_and_waiters_in_order(self):
        holder = self.holder("--read")
        waiters = [self.waiter("--write"), self.waiter("--read")]
        rows = self.shown("lock").splitlines()
        self.assertRegex(
            rows[0],
            r"^# +STATE +KIND +QUEUED +HELD +TOKEN +OWNER$")
        for row, words in zip(rows[1:], (r"1 holds read \d+s <=\d+s",
                                         r"2 waits write \d+s -",
                                         r"3 waits read \d+s -"), strict=True):
            self.assertRegex(row, "^" + words.replace(" ", " +") +
                             r" +\d+ +"
                             r"holdfast \(pid \d+ on \S+\): (sh -c|true)$")
            self.assertLessEqual(len(row), 80)
            self.assertEqual(row.index("holdfast"), rows[0].index("OWNER"))
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
            rows[0], r"^# STATE KIND +PERMITS +QUEUED +HELD +TOKEN +OWNER$")
        for row, words in zip(rows[1:], (r"1 holds semaphore 2 +\d+s +<=\d+s",
                                         r"2 holds semaphore 1 +\d+s +<=\d+s",
                                         r"3 waits semaphore - +\d+s +-"),
                              strict=True):
            self.assertRegex(row, "^" + words + r" +\d+ +holdfast \(pid ")
            self.assertEqual(row.index("holdfast"), rows[0].index("OWNER"))
        tickets = json.loads(self.shown("--json", "lock"))["tickets"]
        self.assertEqual([(t["place"], t["state"], t["kind"], t["permits"])
                          for t in tickets],
                         [(1, "holds", "semaphore", 2),
                          (2, "holds", "semaphore", 1),
                          (3, "waits", "semaphore", None)])
        self.assertEqual([t["owner"]["pid"] for t in tickets[:2]],
                         [self.supervisor(h) for h in holders])
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
        found = json.loads(self.shown("--json", "-w", "5s", "lock"))
        self.assertEqual(found["engine"], "file:" + self.locks)
        first, second = found["tickets"]
        self.assertEqual([first["state"], second["state"]],
                         ["holds", "waits"])
        self.assertLess(int(first["token"]), int(second["token"]))
        self.assertEqual(first["kind"], "mutex")
        self.assertEqual([first["permits"], second["permits"]], [1, 1])
        self.assertEqual(first["layout"], "holdfast")
        self.assertEqual(first["held_at_most_ms"], first["age_ms"])
        self.assertIsNone(second["held_at_most_ms"])
        self.assertEqual(first["owner"]["pid"], self.supervisor(holder))
        self.assertEqual(first["owner"]["text"], "sh -c")
        self.assertIn("pid=%d " % self.supervisor(holder), first["payload"])
        self.assertRegex(first["created"], r"^\d{4}-\d\d-\d\dT[\d:]{8}Z$")
        self.assertLess(first["age_ms"], 1000 * waiting.LIMIT_S)
        self.assertRegex(first["id"], r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-"
                         r"[0-9a-f]{12}$")
        self.finish(holder)
        self.finish(waiter)

    def test_that_its_owner_has_received_a_request_to_release(self):
        """Asked as docs/engine-file.md says that anybody may: by touch."""
        holder = self.holder()
        first = json.loads(self.shown("--json", "lock"))["tickets"][0]
        self.assertIsNone(first["owner"]["asked"])
        self.assertNotIn("asked", self.shown("lock"))
        queue = os.path.join(self.locks, "locks", "lock")
        ticket, = [name for name in os.listdir(queue)
                   if name.endswith(first["id"])]
        os.utime(os.path.join(queue, ticket))
        waiting.eventually("the owner's word", lambda: re.search(
            r"\): sh -c, asked to release$", self.shown("lock"),
            re.MULTILINE))
        again = json.loads(self.shown("--json", "lock"))["tickets"][0]
        self.assertRegex(again["owner"]["asked"],
                         r"^\d{4}-\d\d-\d\dT[\d:]{8}Z$")
        self.assertEqual(again["token"], first["token"])
        self.assertEqual(sorted(os.listdir(queue)),
                         [ticket, ticket + ".payload"])
        self.finish(holder)

    def test_is_it_held(self):
        """The exit status answers."""
        for options in (["--held"], ["-H"]):
            self.assertEqual(self.show(*options, "lock"),
                             (1, "nobody holds lock\n", ""))
        self.assertEqual(self.show("--held", "-q", "lock"), (1, "", ""))
        holder = self.holder()
        waiter = self.waiter()
        status, out, err = self.show("--held", "lock")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(re.findall("holds|waits", out), ["holds"])
        self.assertEqual(self.show("-Hq", "lock"), (0, "", ""))
        status, out, _ = self.show("-Hj", "lock")
        self.assertEqual((status, [t["state"] for t in
                                   json.loads(out)["tickets"]]),
                         (0, ["holds"]))
        self.finish(holder)
        self.finish(waiter)
        self.assertEqual(self.show("-Hq", "lock"), (1, "", ""))
        holder = self.holder("--permits", "1/3")
        self.assertEqual(self.show("-Hq", "lock"), (0, "", ""))
        self.finish(holder)
        status, _, err = self.show("-Hq", "-c", "zk://127.0.0.1:1", "-w",
                                   "300ms", "lock")
        self.assertEqual(status, 69)
        self.assertEqual(err.count("\n"), 1, err)

    def test_long_and_short_options(self):
        for long, short in (
                (["--json"], ["-j"]),
                (["--url", "file:" + self.locks], ["-c", "file:" + self.locks]),
                (["--timeout", "5s"], ["-w5"]),
                (["--timeout=5s", "--held"], ["-Hw", "5s"]),
                (["--held", "--quiet"], ["-qH"])):
            with self.subTest(long):
                self.assertEqual(self.show(*long, "lock"),
                                 self.show(*short, "lock"))

    def test_the_dead_are_not_shown(self):
        holder = self.holder()
        tree = [holder.pid] + harness.descendants(holder.pid)
        for pid in tree:
            harness.kill(pid)  # the death of another one may have ended it
        for pid in tree:
            harness.ended(pid)
        self.assertEqual(self.shown("lock"),
                         "nobody holds or waits for lock\n")

    def test_foreign_words_do_not_reach_the_terminal(self):
        """Others may write anything where tickets say whose they are."""
        holder = self.holder()
        queue = os.path.join(self.locks, "locks", "lock")
        payload, = [n for n in os.listdir(queue) if n.endswith(".payload")]
        for words in (b"\x1b[2J\xc2\x9b31m\x7f", b"\xff\xfe",
                      b"host=%1B pid=1 command=%0A%C2%85 text=%FF",
                      b"host=h pid=1 command=%E2%80%AEtxt.sh text=%E2%81%A6"):
            path = os.path.join(queue.encode(), payload.encode())
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
                (["a", "-w"], "-w: its value is missing"),
                (["-w", "x", "a"], "-w 'x': not a time to wait"),
                (["-jwx", "a"], "-w 'x': not a time to wait"),
                (["--timeout=x", "a"], "--timeout 'x': not a time to wait"),
                (["--json=5", "a"], "--json=5: this option takes no value; "
                                    "write --json\n"),
                (["-jx", "a"], "-x: no such option"),
                (["-q", "a"], "-q leaves nothing to show; expected"),
                (["-qHj", "a"], "-q leaves nothing to show; expected"),
                (["a//b"], "the lock name \"a//b\" has an empty component"),
                (["-c", "nosuch:", "a"], "no engine for \"nosuch:\"")):
            with self.subTest(arguments):
                status, out, err = self.show(*arguments)
                self.assertEqual((status, out), (64, ""))
                self.assertEqual(err.count("\n"), 1, err)
                self.assertTrue(err.startswith("holdfast: " + text), err)

    def test_nobody_answers(self):
        status, out, err = self.show("-c", "zk://127.0.0.1:1", "-w", "300ms",
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
