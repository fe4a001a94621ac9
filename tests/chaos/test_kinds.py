#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every kind of lock on the engines whose tickets are leased, on real servers:
through the tool, and through programs that call what the tool does not offer.

    test_kinds.py HOLDFAST DOWNGRADER DIRECTORY ENGINE

DIRECTORY has the programs of tests/interop; ENGINE is redis or postgres.
"""

import json
import os
import select
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "servers"))

import machine  # noqa: E402
import testing  # noqa: E402
import waiting  # noqa: E402

HOLDFAST, DOWNGRADER, INTEROP = (
    os.path.abspath(path) for path in sys.argv[1:4])
ENGINE = sys.argv[4]
del sys.argv[1:5]

TTL_MS = 2000
# What a machine that is busy with other tests may add to anything.
SLACK_MS = 3000
LOST, BUSY = 76, 75


class Redis:
    def __init__(self):
        import redis_server
        self.server = redis_server.Server()
        self.server.start()
        self.close = self.server.close

    def url(self, *options):
        return self.server.url(options="?" + "&".join(
            ("ttl=%dms" % TTL_MS, *options)))

    def participants(self, name):
        with self.server.client() as client:
            return sum(value.startswith("8 ") for value in client.ask(
                "HVALS", "holdfast:{%s}:tickets" % name))


class Postgres:
    def __init__(self):
        import postgres
        self.server = postgres.Server()
        self.close = self.server.close
        self.server.sql(subprocess.run(
            [HOLDFAST, "sql"], capture_output=True, text=True,
            check=True).stdout)

    def url(self):
        return "%s?ttl=%dms" % (self.server.tcp_url(), TTL_MS)

    def participants(self, name):
        return self.server.sql(
            "SELECT count(*) FROM holdfast.ticket t JOIN holdfast.queue q "
            "ON q.number = t.queue WHERE q.name = %s AND t.kind = 8",
            (name.encode(),))[0][0]


class Program:
    """A process that reads commands and prints answers, a line each."""

    def __init__(self, *arguments):
        self.arguments = arguments
        self.process = machine.Process(
            list(arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.popen = self.process.popen

    def say(self, word):
        self.popen.stdin.write(word + "\n")
        self.popen.stdin.flush()

    def expect(self, word):
        """Read a line that begins with word; the rest of it."""
        line = waiting.read_line(self).strip()
        if not line.startswith(word):
            raise AssertionError("%s said '%s' instead of '%s'" % (
                self.arguments, line, word))
        return line[len(word):].strip()

    def is_silent(self):
        return not select.select([self.popen.stdout], [], [], 0)[0]

    def finish(self):
        """Its exit status, at the end of its input."""
        _, self.errors = self.popen.communicate(timeout=waiting.LIMIT_S)
        return self.popen.returncode

    def close(self):
        self.process.kill()
        for stream in (self.popen.stdin, self.popen.stdout,
                       self.popen.stderr):
            stream.close()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = Redis() if ENGINE == "redis" else Postgres()
        cls.addClassCleanup(cls.engine.close)

    def setUp(self):
        self.name = self.id().split(".")[-1]

    def program(self, *arguments):
        program = Program(*arguments)
        self.addCleanup(program.close)
        return program

    def tool(self, *options, name=None):
        """holdfast run, whose command says "held" and waits for input."""
        return self.program(
            HOLDFAST, "run", "-c", self.engine.url(), *options,
            name or self.name, "--", "sh", "-c", "echo held; read line; exit 0")

    def held(self, *options, name=None):
        tool = self.tool(*options, name=name)
        tool.expect("held")
        return tool

    def is_busy(self, *options):
        tool = self.tool("--try", *options)
        status = tool.finish()
        self.assertIn(status, (0, BUSY), tool.errors)
        return status == BUSY

    def show(self):
        done = subprocess.run(
            [HOLDFAST, "show", "-c", self.engine.url(), "--json", self.name],
            capture_output=True, text=True, timeout=waiting.LIMIT_S,
            check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["tickets"]

    def queued(self, count):
        return waiting.eventually("%d tickets" % count, lambda: (
            len(tickets := self.show()) == count and tickets))

    def interop(self, program, *arguments):
        return self.program(os.path.join(INTEROP, program), *arguments)


class Tool(Case):
    def test_a_mutex_is_had_in_turn_and_shown(self):
        first = self.held()
        others, tickets = [], self.show()
        for i in range(2):
            others.append(self.tool())
            before, tickets = tickets, self.queued(i + 2)
            self.assertEqual([t["id"] for t in tickets[:-1]],
                             [t["id"] for t in before])
        self.assertEqual([t["state"] for t in tickets],
                         ["holds", "waits", "waits"])
        for tool in others:
            self.assertTrue(tool.is_silent())
            self.assertEqual(first.finish(), 0)
            tool.expect("held")
            first = tool
        self.assertEqual(first.finish(), 0)
        self.assertEqual(self.show(), [])

    def test_permits_are_counted(self):
        two = self.held("--permits", "2/3")
        self.assertTrue(self.is_busy("--permits", "2/3"))
        one = self.held("--permits", "1/3")
        self.assertEqual([(t["kind"], t["permits"]) for t in self.show()],
                         [("semaphore", 2), ("semaphore", 1)])
        all_three = self.tool("--permits", "3/3")
        self.queued(3)
        self.assertTrue(self.is_busy("--permits", "1/3"))  # nobody barges
        self.assertEqual(two.finish(), 0)
        self.assertTrue(all_three.is_silent())
        self.assertEqual(one.finish(), 0)
        all_three.expect("held")
        self.assertEqual(all_three.finish(), 0)

    def test_readers_share(self):
        readers = [self.held("--read") for _ in range(2)]
        writer = self.tool("--write")
        self.queued(3)
        late = self.tool("--read")  # behind the writer
        self.queued(4)
        for reader in readers:
            self.assertTrue(writer.is_silent())
            self.assertEqual(reader.finish(), 0)
        writer.expect("held")
        self.assertTrue(late.is_silent())
        self.assertEqual(writer.finish(), 0)
        late.expect("held")
        self.assertEqual(late.finish(), 0)

    def test_several_are_had_all_or_none(self):
        second = self.name + "/second"
        held = self.held(name=second)
        both = self.program(
            HOLDFAST, "run", "-c", self.engine.url(), "--try", self.name,
            second, "--", "true")
        self.assertEqual(both.finish(), BUSY)
        self.assertEqual(self.show(), [])
        both = self.program(
            HOLDFAST, "run", "-c", self.engine.url(), self.name, second, "--",
            "echo", "both")
        self.queued(1)
        self.assertEqual(held.finish(), 0)
        both.expect("both")
        self.assertEqual(both.finish(), 0)


class Calls(Case):
    def test_a_writer_becomes_a_reader(self):
        writer = self.program(DOWNGRADER, self.engine.url(), self.name)
        token = writer.expect("writes")
        reader = self.tool("--read")
        self.queued(2)
        behind = self.tool("--write")
        self.queued(3)
        self.assertTrue(reader.is_silent())
        writer.say("")
        self.assertEqual(writer.expect("reads"), token)
        reader.expect("held")
        self.assertEqual(reader.finish(), 0)
        self.assertTrue(behind.is_silent())
        writer.say("")
        writer.expect("released")
        behind.expect("held")
        self.assertEqual(behind.finish(), 0)

    def test_a_holder_is_asked_to_let_go(self):
        holder = self.interop("revocation", "hold", self.engine.url(),
                              self.name)
        holder.expect("held")
        waiter = self.tool()
        self.queued(2)
        for _ in range(2):
            self.interop("revocation", "ask", self.engine.url(),
                         self.name).expect("HF_OK")
            holder.expect("revoked")
        holder.expect("released")
        waiter.expect("held")
        self.assertEqual(waiter.finish(), 0)

    def test_a_holder_is_taken_out(self):
        holder = self.held()
        waiter = self.tool()
        tickets = self.queued(2)
        self.interop("revocation", "evict", self.engine.url(), self.name,
                     tickets[0]["id"]).expect("HF_OK")
        waiter.expect("held")
        self.assertEqual(holder.finish(), LOST)
        self.assertEqual(waiter.finish(), 0)

    def test_one_leads(self):
        candidates = []
        for i in range(3):
            candidates.append(self.interop(
                "election", "stand", "election", self.engine.url(), self.name,
                "candidate-%d" % i))
            candidates[-1].expect("ready")
            self.queued(i + 1)
        for i, candidate in enumerate(candidates):
            candidate.expect("elected")
            for other in candidates[i + 1:]:
                self.assertTrue(other.is_silent())
            if i == 1:
                candidate.process.kill()
            else:
                self.assertEqual(candidate.finish(), 0)

    def test_all_wait_at_a_barrier(self):
        setter, *waiters = [
            self.interop("barrier", self.engine.url(), self.name)
            for _ in range(3)]
        for program in (setter, *waiters):
            program.expect("ready")
        for _ in range(2):
            setter.say("set")
            setter.expect("done")
            for waiter in waiters:
                waiter.say("try")
                waiter.expect("set")
                waiter.say("wait")
            setter.say("clear")
            setter.expect("done")
            for waiter in waiters:
                waiter.expect("passed")


class DoubleBarriers(Case):
    def start(self, count, size, *rest):
        """count participants of a double barrier for size of them."""
        found = [self.interop("double_barrier", self.engine.url(), self.name,
                              str(size), *rest) for _ in range(count)]
        for participant in found:
            participant.expect("ready")
        return found

    def come(self, participants, there=0):
        """They enter, one after the other, and all wait."""
        for i, participant in enumerate(participants):
            participant.say("enter")
            self.await_participants(there + i + 1)

    def await_participants(self, count):
        waiting.eventually("%d participants" % count, lambda: (
            self.engine.participants(self.name) == count))

    def cycles(self, participants):
        for _ in range(3):
            self.come(participants[:-1])
            for participant in participants:
                self.assertTrue(participant.is_silent())
            participants[-1].say("enter")
            for participant in participants:
                participant.expect("inside")
            for participant in participants[:-1]:
                participant.say("leave")
            # Two may stay: the one that has not asked to leave, and the one
            # with the lowest ticket.
            waiting.eventually("the others to remove their tickets", lambda: (
                self.engine.participants(self.name) <= 2))
            for participant in participants:
                self.assertTrue(participant.is_silent())
            participants[-1].say("leave")
            for participant in participants:
                participant.expect("left")
            participants = participants[1:] + participants[:1]
        self.await_participants(0)

    def test_all_enter_and_all_leave(self):
        self.cycles(self.start(4, 4))

    def test_by_calls_that_are_started(self):
        self.cycles(self.start(3, 3, "start"))

    def test_who_has_died_does_not_count(self):
        participants = self.start(4, 3)
        self.come(participants[:2])
        participants[0].process.kill()
        self.await_participants(1)  # its lease is over
        self.come(participants[2:3], 1)
        for participant in participants[1:3]:
            self.assertTrue(participant.is_silent())
        participants[3].say("enter")
        for participant in participants[1:]:
            participant.expect("inside")
        for participant in participants[1:]:
            participant.say("leave")
        for participant in participants[1:]:
            participant.expect("left")

    def test_nobody_waits_for_the_dead_to_leave(self):
        participants = self.start(3, 3)
        for participant in participants:
            participant.say("enter")
        for participant in participants:
            participant.expect("inside")
        for participant in participants[1:]:
            participant.say("leave")
        killed_ms = waiting.now_ms()
        participants[0].process.kill()
        for participant in participants[1:]:
            participant.expect("left")
        self.assertLess(waiting.now_ms() - killed_ms, TTL_MS + SLACK_MS)

    def test_too_few_do_not_get_in(self):
        participant, = self.start(1, 2)
        for word, status in (("try", "HF_EBUSY"), ("soon", "HF_ETIMEDOUT")):
            participant.say(word)
            participant.expect(status)
        self.await_participants(0)

    def test_a_lock_of_that_name_is_another(self):
        both = self.start(2, 2)
        both[0].say("enter")
        self.await_participants(1)
        lock = self.held()
        self.assertEqual([t["kind"] for t in self.show()
                          if t["kind"] != "participant"], ["mutex"])
        both[1].say("enter")
        for participant in both:
            participant.expect("inside")
        self.assertEqual(lock.finish(), 0)
        for participant in both:
            participant.say("leave")
        for participant in both:
            participant.expect("left")


@testing.when(ENGINE == "redis")
class PlainKeys(Case):
    def test_there_is_a_mutex_and_nothing_else(self):
        url = self.engine.url("layout=redis-py")
        participant = self.interop("double_barrier", url, self.name, "2")
        participant.expect("ready")
        participant.say("try")
        participant.expect("HF_EUNSUPPORTED")
        for options in (["--read"], ["--write"], ["--permits", "1/2"]):
            tool = self.program(HOLDFAST, "run", "-c", url, *options,
                                self.name, "--", "true")
            self.assertNotEqual(tool.finish(), 0)
            self.assertIn("layout=redis-py has mutexes only", tool.errors)


if __name__ == "__main__":
    unittest.main()
