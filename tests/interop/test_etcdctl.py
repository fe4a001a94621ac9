#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast on etcd, and etcdctl and the server's lock service on the same names.

    test_etcdctl.py HOLDFAST
"""

import concurrent.futures
import os
import random
import subprocess
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "servers"))

import etcd  # noqa: E402
import machine  # noqa: E402
import waiting  # noqa: E402

HOLDFAST = os.path.abspath(sys.argv.pop(1))

LONG = bool(os.environ.get("HF_LONG"))
NAME = "jobs/nightly"


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = etcd.Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def setUp(self):
        self.url = "etcd://%s?ttl=5s" % self.server.address()
        self.environment = dict(os.environ, HOLDFAST_URL=self.url,
                                ETCDCTL_API="3",
                                ETCDCTL_ENDPOINTS=self.server.address())
        with self.server.client() as client:
            client.delete_all("jobs/")

    def start(self, *words):
        process = machine.popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env=self.environment)
        for last in (process.stdin.close, process.stdout.close, process.wait,
                     process.kill):
            self.addCleanup(last)
        return process

    def ours(self, *words, command="run"):
        return subprocess.run(
            [HOLDFAST, command, *words], capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=waiting.LIMIT_S,
            env=self.environment)

    def etcdctl(self, *words):
        """Until it prints a line, which is the name of the key."""
        process = self.start("etcdctl", *words)
        return process, waiting.read_line(process)

    def hold(self, name=NAME):
        """Ours, until its standard input ends."""
        process = self.start(HOLDFAST, "hold", name)
        waiting.read_line(process)
        return process

    def release(self, process):
        process.stdin.close()
        self.assertEqual(process.wait(waiting.LIMIT_S), 0)

    def queue(self, prefix=NAME + "/"):
        with self.server.client() as client:
            return [item.key for item in client.list(prefix)]

    def until_queued(self, count, prefix=NAME + "/"):
        waiting.eventually("%d keys" % count,
                           lambda: len(self.queue(prefix)) == count)


class Locks(Case):
    def test_we_wait_for_etcdctl(self):
        other, key = self.etcdctl("lock", NAME)
        self.assertEqual(self.queue(), [key])
        self.assertEqual(self.ours("--try", NAME, "--", "true").returncode, 75)
        self.assertEqual(
            self.ours("-w", "3s", NAME, "--", "true").returncode, 75)
        self.assertEqual(self.queue(), [key])
        other.terminate()
        self.assertEqual(self.ours(NAME, "--", "true").returncode, 0)

    def test_etcdctl_waits_for_us_and_the_order_is_kept(self):
        holder = self.hold()
        first = self.start("etcdctl", "lock", NAME)
        self.until_queued(2)
        second = self.start(HOLDFAST, "hold", NAME)
        self.until_queued(3)
        third = self.start("etcdctl", "lock", NAME)
        self.until_queued(4)
        waits = self.queue()
        self.release(holder)
        self.assertEqual(waiting.read_line(first), waits[1])
        self.assertEqual(self.queue(), waits[1:])
        first.terminate()
        waiting.read_line(second)
        self.assertEqual(self.queue(), waits[2:])
        self.release(second)
        self.assertEqual(waiting.read_line(third), waits[3])

    def test_one_that_is_killed_is_followed(self):
        other = self.start("etcdctl", "lock", "--ttl", "2", NAME)
        waiting.read_line(other)
        ours = self.start(HOLDFAST, "hold", NAME)
        self.until_queued(2)
        other.kill()
        waiting.read_line(ours)
        ours.kill()
        waiting.read_line(self.start("etcdctl", "lock", NAME))

    def test_it_is_shown(self):
        _, key = self.etcdctl("lock", NAME)
        shown = self.ours(NAME, command="show").stdout
        self.assertRegex(shown, "holds")
        self.assertIn(NAME, self.ours(command="ls").stdout)
        # And it can be evicted.
        token = shown.splitlines()[1].split()[5]
        self.assertEqual(self.ours("--yes", NAME, token, command="evict").returncode, 0)
        self.assertNotIn(key, self.queue())

    def test_names_below_names(self):
        """Go's mutex waits for all keys below its name; ours do not."""
        deeper = self.hold(NAME + "/part")
        self.assertEqual(self.ours("--try", NAME, "--", "true").returncode, 0)
        other = self.start("etcdctl", "lock", NAME)
        self.until_queued(2)
        self.assertEqual(self.ours("--try", NAME, "--", "true").returncode, 75)
        self.release(deeper)
        waiting.read_line(other)

    def test_readers_wait_for_it(self):
        other, _ = self.etcdctl("lock", NAME)
        self.assertEqual(
            self.ours("--try", "--read", NAME, "--", "true").returncode, 75)
        other.terminate()
        self.assertEqual(self.ours("--read", NAME, "--", "true").returncode, 0)


class Service(Case):
    """v3lockpb, by which other languages lock."""

    def test_it_waits_for_us_and_we_for_it(self):
        holder = self.hold()
        got = []

        def lock():
            with self.server.client() as client:
                got.append(client.lock(NAME, lease))
        with self.server.client() as client:
            lease = client.grant(60)
            thread = threading.Thread(target=lock)
            thread.start()
            self.until_queued(2)
            self.assertEqual(got, [])
            self.release(holder)
            thread.join(waiting.LIMIT_S)
            self.assertEqual(got, ["%s/%x" % (NAME, lease)])
            self.assertEqual(self.ours("--try", NAME, "--", "true").returncode,
                             75)
            client.unlock(got[0])
            self.assertEqual(self.ours("--try", NAME, "--", "true").returncode,
                             0)
            client.revoke(lease)


class Elections(Case):
    def elect(self, text):
        return self.start(HOLDFAST, "elect", "--text", text, NAME, "--", "sh",
                          "-c", "echo leads; exec sleep 1000")

    def test_they_lead_by_turns(self):
        ours = self.elect("ours")
        waiting.read_line(ours, "leads")
        listener = self.start("etcdctl", "elect", "--listen", NAME)
        key = waiting.read_line(listener)
        self.assertTrue(key.startswith(NAME + "/"), key)
        self.assertIn("ours", waiting.read_line(listener))
        theirs = self.start("etcdctl", "elect", NAME, "theirs")
        self.until_queued(2)
        again = self.elect("again")
        self.until_queued(3)
        ours.terminate()
        self.assertTrue(waiting.read_line(theirs).startswith(NAME + "/"))
        self.assertIn("theirs", self.ours(NAME, command="show").stdout)
        theirs.terminate()
        waiting.read_line(again, "leads")


class Turns(Case):
    """Programs of both in a queue, some of which are killed.  Each holds the
    lock for one line in the log, as of etcd_counted.py.  Most of the time a
    queue waits for the lease of one that was killed, so there are several."""

    other = "etcdctl"  # in the lines of the other program
    queues = 8 if LONG else 1

    def setUp(self):
        super().setUp()
        self.logs = self.enterContext(
            machine.temporary("etcdctl", on_disk=False))

    def begin(self, *words, **options):
        return machine.popen(words, env=self.environment,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, **options)

    def counted(self, log):
        """Without what Python looks for at its start, half of the time that a
        turn takes."""
        return [sys.executable, "-E", "-S", os.path.join(
            HERE, "etcd_counted.py"), str(self.server.port), log]

    def one_of_ours(self, name, log):
        return self.begin(HOLDFAST, "run", name, "--", *self.counted(log))

    def one_of_others(self, name, log):
        return self.begin("etcdctl", "lock", "--ttl", "2", "--", name,
                          *self.counted(log))

    @staticmethod
    def lines(log):
        """(who, create revision) of each grant."""
        with open(log) as file:
            return [line.split() for line in file]

    def take_turns(self, queue, chance, wanted):
        """The number of grants, and how many were killed."""
        name = "%s%d" % (NAME, queue)
        log = os.path.join(self.logs, str(queue))
        open(log, "w").close()
        kinds = self.one_of_ours, self.one_of_others
        crew, statuses, killed = [], [], 0
        while len(self.lines(log)) < wanted:
            for one in crew:
                if one.poll() is not None:
                    statuses.append(one.returncode)
            crew = [one for one in crew if one.poll() is None]
            while len(crew) < 6:
                crew.append(kinds[len(statuses) % 2 if not crew else
                                  chance.randrange(2)](name, log))
            if chance.random() < 0.1:
                chance.choice(crew).kill()
                killed += 1
            waiting.eventually("an end", lambda: any(
                one.poll() is not None for one in crew))
        for one in crew:
            one.kill()
            one.wait()
        lines = self.lines(log)
        self.assertNotIn(3, statuses, "two were there together")
        self.assertEqual({who for who, _ in lines}, {"ours", self.other})
        # A key that has gone by then (its program was killed) has no revision.
        revisions = [int(revision) for _, revision in lines
                     if int(revision) > 0]
        self.assertEqual(revisions, sorted(set(revisions)))
        return len(lines), killed

    def test_nobody_is_there_together_and_the_order_is_kept(self):
        wanted, seed = (10000 if LONG else 60), random.randrange(1 << 30)
        print("seed %d" % seed)
        with concurrent.futures.ThreadPoolExecutor(self.queues) as pool:
            found = list(pool.map(lambda queue: self.take_turns(
                queue, random.Random(seed + queue), wanted // self.queues),
                range(self.queues)))
        print("%d grants, %d killed" % (sum(one[0] for one in found),
                                        sum(one[1] for one in found)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
