# SPDX-License-Identifier: Apache-2.0
"""One of three Redis servers of a quorum lies, and two do not.  Whatever it says,
no two commands run at once under one lock, each command ends, and takes memory
that is bounded."""

import os
import subprocess
import sys
import threading

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import redis_server  # noqa: E402
from redis_fake import ENDLESS, Endless, RedisFake  # noqa: E402

OPTIONS = "?ttl=4s&rejoin=4s"
# What a command may take: an answer of 16 MiB, read, and what is made of it.
MEMORY_KIB = 100 << 10
GREATEST = 2 ** 53 - 1
HOUR_MS = 3600000


def changed(reply, change):
    """The reply with each number in it changed."""
    if isinstance(reply, list):
        return [changed(one, change) for one in reply]
    if isinstance(reply, bytes) and reply.lstrip(b"-").isdigit():
        return b"%d" % change(int(reply))
    return change(reply) if isinstance(reply, int) else reply


def of_script(lie, operations=None):
    """A lie about what the script returns: the clock, "ok", the rows, more; of
    these operations, or of all."""
    def answer(words, reply):
        if words[0] == b"EVALSHA" and isinstance(reply, list) and \
                len(reply) >= 3 and reply[1] == b"ok" and (
                    not operations
                    or words[3 + int(words[2])].decode() in operations):
            return lie(reply)
        return reply
    return answer


def numbers(change):
    return of_script(lambda reply: reply[:2] + changed(reply[2:], change))


def rows(change, *operations):
    """A lie about the rows, if there may be some."""
    return of_script(lambda reply: reply[:2] + [change(reply[2])] + reply[3:]
                     if isinstance(reply[2], list) else reply, operations)


def clock(change):
    def answer(words, reply):
        if words[0] == b"TIME":
            return [b"%d" % (change(int(reply[0]) * 1000) // 1000), reply[1]]
        return of_script(lambda said: [b"%d" % change(int(said[0]))]
                         + said[1:])(words, reply)
    return answer


def invented(count):
    """Rows of tickets that do not exist, ahead of all others."""
    return [[b"%08x-0000-4000-8000-000000000000" % i, b"%d" % (i + 1),
             b"60000", b"1 1 0 1 %032d host=h pid=1 command=c" % i, b"0"]
            for i in range(count)]


LISTS = "quorum_list", "commit"


def endless(name):
    def answer(words, reply):
        if words[0] in (b"EVALSHA", b"INFO"):
            raise Endless(name)
        return reply
    return answer


# After that there is no greater number for anybody: docs/engine-quorum.md.
USES_UP = "the greatest numbers"

LIES = {
    "negative numbers": numbers(lambda number: -number),
    "zeros": numbers(lambda number: 0),
    USES_UP: numbers(lambda number: GREATEST),
    "numbers beyond": numbers(lambda number: 2 ** 64 + number),
    "nobody is there": rows(lambda found: []),
    "everything twice": rows(lambda found: found + found),
    "what is none": rows(lambda found: [[b""]]),
    "an hour ahead": clock(lambda ms: ms + HOUR_MS),
    "an hour behind": clock(lambda ms: ms - HOUR_MS),
    "before all time": clock(lambda ms: 0),
    "the end of time": clock(lambda ms: 2 ** 62),
    "errors": lambda words, reply: Exception("ERR no")
    if words[0] == b"EVALSHA" else reply,
}
# The other two show that such a ticket has no majority.
PHANTOMS = {
    "a ticket that does not exist": rows(
        lambda found: invented(1) + found, *LISTS),
    "tickets that do not exist": rows(
        lambda found: invented(50000) + found, *LISTS),
}

# One command at a time, or it says so.
EXCLUSIVE = """
mkdir held || { echo two at once >> wrong; exit; }
read n < count; echo $((n + 1)) > count
rmdir held
"""
WORKERS, TIMES = 3, 4


class Quorum(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.servers = redis_server.Several(3)
        cls.addClassCleanup(cls.servers.close)
        cls.servers.__enter__()
        # They count some time after their start.
        subprocess.run(
            [harness.TOOL, "run", "-c", cls.servers.url(OPTIONS), "first", "--",
             "true"], check=True, timeout=waiting.LIMIT_S,
            stderr=subprocess.DEVNULL)

    def setUp(self):
        super().setUp()
        self.fake = RedisFake(self.servers.servers[0].port)
        self.addCleanup(self.fake.close)
        self.environment["HOLDFAST_URL"] = self.servers.url(
            OPTIONS, [self.fake.address()] + [
                one.address() for one in self.servers.servers[1:]])

    def ends(self, *arguments, status=None):
        """The command ends, with that status, or any."""
        ended, err, memory = self.run_measured(*arguments)
        print("%s: %d, %d MiB" % (" ".join(arguments), ended, memory >> 10),
              file=sys.stderr)
        self.assertLess(memory, MEMORY_KIB)
        self.assertLess(len(err), 10000)
        if status is not None:
            self.assertEqual(ended, status, err)
        return err

    def lies(self):
        """Each lie in turn, as a part of the test."""
        for what, self.fake.lie in (
                *LIES.items(), *PHANTOMS.items(),
                *((name, endless(name)) for name in ENDLESS)):
            with self.subTest(what):
                print(what, file=sys.stderr)
                yield what

    def test_no_two_at_once(self):
        count = os.path.join(self.directory, "count")
        for what in self.lies():
            if what == USES_UP:
                continue
            with open(count, "w") as file:
                file.write("0\n")
            results = []

            def work():
                for _ in range(TIMES):
                    results.append(self.run_tool(
                        "-w", "60s", what, "--", "sh", "-c",
                        "cd %s\n%s" % (self.directory, EXCLUSIVE)))
            threads = [threading.Thread(target=work) for _ in range(WORKERS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual([one[0] for one in results],
                             [0] * WORKERS * TIMES, results)
            self.assertFalse(os.path.exists(
                os.path.join(self.directory, "wrong")))
            with open(count) as file:
                self.assertEqual(int(file.read()), WORKERS * TIMES)

    def test_each_command_ends(self):
        for what in self.lies():
            for words in (["run", "-w", "3s", "lock", "--", "true"],
                          ["show", "-w", "3s", "lock"],
                          ["metrics", "-w", "3s", "lock"],
                          ["explain", "-w", "3s", "lock"],
                          ["revoke", "-w", "3s", "lock"],
                          ["ls", "-w", "3s"],
                          ["doctor", "-w", "3s"]):
                self.ends(*words)


if __name__ == "__main__":
    harness.main()
