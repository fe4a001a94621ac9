# SPDX-License-Identifier: Apache-2.0
"""holdfast revoke and holdfast evict: whom they reach, whom they do not, and
what they say of it."""

import json
import os
import pwd
import re
import signal
import subprocess
import uuid

import engines
import harness
import jute
from harness import waiting


class Tool:
    """A mixin for a harness.Case that has .url."""

    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_URL"] = self.url()
        # The servers outlive the test.
        self.name = "lock-" + uuid.uuid4().hex[:8]

    def tool(self, command, *arguments):
        done = subprocess.run([harness.TOOL, command, *arguments],
                              capture_output=True, text=True,
                              env=self.environment, stdin=subprocess.DEVNULL,
                              timeout=waiting.LIMIT_S)
        return done.returncode, done.stdout, done.stderr

    def tickets(self):
        status, out, err = self.tool("show", "--json", self.name)
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)["tickets"]

    def holds(self, *options):
        """A holder whose command ignores what asks it to end."""
        return self.holder(*options, name=self.name)

    def ended(self, holder):
        """The status and the error output of one that has lost the lock, whose
        command would go on."""
        holder.wait(waiting.LIMIT_S)
        return holder.returncode, self.finish(holder)[2]

    def waits(self, *options):
        before = len(self.tickets())
        process = self.start(*options, self.name, "--", "true")
        waiting.eventually("a longer queue",
                           lambda: len(self.tickets()) == before + 1,
                           of=[process])
        return process

    def asked(self):
        """Which owners have received a request; one whose text was overwritten
        by it has not yet."""
        return [t["owner"] is not None and t["owner"]["asked"] is not None
                for t in self.tickets()]

    def until_asked(self, *places):
        """Until the owners at these places in the queue have received one."""
        waiting.eventually("the requests to be received at %s in %s" % (
            places, self.name), lambda: all(
                self.asked()[place] for place in places))


class EachEngine(Tool):
    """What is so on every engine."""

    # Does an owner that waits notice what is done to its ticket, before it is
    # its turn?  Where it need not, it may: what is done before it watches its
    # ticket it notices when it begins to.
    waiters_receive = True

    def test_nobody_is_there(self):
        self.finish(self.holds())  # so that there is a directory, a schema
        self.assertEqual(self.tool("revoke", self.name), (
            1, "", "holdfast: nobody was asked: nobody holds '%s'\n" %
            self.name))
        for word in ("12345", "abcdef01", str(uuid.uuid4())):
            for command in (["revoke"], ["evict", "--yes"]):
                status, out, err = self.tool(*command, self.name, word)
                self.assertEqual((status, out), (1, ""))
                self.assertTrue(err.startswith(
                    "holdfast: there is no ticket '%s' in the queue of '%s', "
                    "or not any more; " % (word, self.name)), err)
        status, out, _ = self.tool("revoke", "--json", self.name)
        self.assertEqual((status, json.loads(out)["tickets"]), (1, []))

    def test_the_holder_is_asked(self):
        holder = self.holds()
        self.waits()
        status, out, err = self.tool("revoke", self.name)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out, "asked holdfast (pid %d on %s): sh -c, which "
                         "holds %s\n" % (self.supervisor(holder),
                                         os.uname().nodename, self.name))
        self.until_asked(0)
        self.assertFalse(self.asked()[1])

    def test_a_waiter_is_asked_by_token_and_by_id(self):
        self.holds()
        self.waits()
        first, second = self.tickets()
        status, out, err = self.tool("revoke", self.name, second["token"])
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"^asked holdfast .*: true, which waits for ")
        if self.waiters_receive:
            self.until_asked(1)
        self.assertFalse(self.asked()[0])
        # One that is meant twice is asked once; one is not there.
        status, out, err = self.tool("revoke", "--json", self.name,
                                     first["id"], first["token"], "123456")
        self.assertEqual((status, err.count("\n")), (1, 1))
        found = json.loads(out)
        self.assertEqual([(t["result"], t["note"], t["id"], t["state"])
                          for t in found["tickets"]],
                         [("asked", None, first["id"], "holds")])
        self.until_asked(0)

    def test_readers_and_permits(self):
        readers = [self.holds("--read") for _ in range(2)]
        self.waits("--write")
        status, out, _ = self.tool("revoke", self.name)
        self.assertEqual((status, out.count("asked "), out.count("holds")),
                         (0, 2, 2))
        for process in readers:
            self.finish(process)
        self.name += "-semaphore"
        holders = [self.holds("--permits", "2/3"),
                   self.holds("--permits", "1/3")]
        waiter = self.waits("--permits", "3/3")
        status, out, _ = self.tool("revoke", self.name)
        self.assertEqual((status, out.count("holds")), (0, 2))
        # One that waits, and a ticket of two permits, which goes as a whole.
        waits = self.tickets()[2]
        self.assertEqual(self.tool("revoke", self.name, waits["id"])[0], 0)
        status, out, _ = self.tool("evict", "-y", self.name,
                                   self.tickets()[0]["id"])
        self.assertEqual((status, out.count("evicted ")), (0, 1))
        self.assertEqual(self.finish(holders[0])[0], 76)
        self.finish(holders[1])
        self.assertEqual(self.finish(waiter)[0], 0)

    def test_a_holder_is_evicted(self):
        holder = self.holds()
        waiter = self.waits()
        token = self.tickets()[0]["token"]
        # Standard error as well, to see that the warning comes first.
        done = subprocess.run(
            [harness.TOOL, "evict", "--yes", self.name, token],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=self.environment,
            timeout=waiting.LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(
            done.stdout, r"\Aholdfast: holdfast .*: sh -c, queued \S+ ago, which "
            r"holds '%s' \(\w+\): its owner is notified that the lock is lost; .*\n"
            r"evicted holdfast .*: sh -c, which holds \S+\n\Z" % self.name)
        self.assertEqual(self.finish(holder)[0], 76)
        self.assertEqual(self.finish(waiter)[0], 0)
        self.assertEqual(self.tool("evict", "--yes", self.name, token)[0], 1)

    def test_the_holder_learns_who_evicts_it_and_why(self):
        who = "%s@%s" % (pwd.getpwuid(os.geteuid()).pw_name,
                         os.uname().nodename)
        for options, said in (
                ([], who), (["--reason", "a disk is full"],
                            who + ": a disk is full"),
                (["-m", "\u202emirror " + "\u00e9" * 60], None),
                # Neither the shell nor a format has a say.
                (["--reason=$(date) %s %n"], who + ": $(date) %s %n")):
            holder = self.holds()
            status, _, err = self.tool("evict", "--yes", *options, self.name,
                                       self.tickets()[0]["token"])
            self.assertEqual(status, 0, err)
            code, err = self.ended(holder)
            self.assertEqual(code, 76)
            self.assertIn("its ticket was evicted by " +
                          (said or who + ": ???mirror " + "\u00e9" * 60), err)

    def test_reasons_are_checked(self):
        for reason, why in (("x" * 141, "141 bytes; expected 140 at most"),
                            ("a\nb", "has a control character at byte 1")):
            status, _, err = self.tool("evict", "-y", "-m", reason, self.name,
                                       "12345")
            self.assertEqual(status, 64)
            self.assertIn(why, err)

    def test_a_waiter_is_evicted(self):
        holder = self.holds()
        waiter = self.waits()
        old = self.tickets()[1]["id"]
        status, out, err = self.tool("evict", "--yes", "--json", self.name, old)
        self.assertEqual((status, err), (0, ""))
        ticket, = json.loads(out)["tickets"]
        self.assertEqual((ticket["result"], ticket["id"], ticket["state"]),
                         ("evicted", old, "waits"))
        self.assertIn("queues again", ticket["note"])
        self.assertNotIn(old, [t["id"] for t in self.tickets()])
        if self.waiters_receive:
            waiting.eventually("its next ticket",
                               lambda: len(self.tickets()) == 2)
        self.finish(holder)
        self.assertEqual(self.finish(waiter)[0], 0)

    def test_the_user_is_asked_on_a_terminal(self):
        self.holds()
        token = self.tickets()[0]["token"]
        for answer, end, left in (("\n", 1, 1), ("n\n", 1, 1), ("\x04", 1, 1),
                                  ("yes\n", 0, 0)):
            terminal = harness.Terminal(
                [harness.TOOL, "evict", self.name, token], self.environment)
            try:
                terminal.expect(r"holdfast \(pid \d+ on \S+\): sh -c, queued "
                                r"\d+s ago, which holds '%s' \(\w+\): its owner "
                                r"is notified" % self.name)
                terminal.expect(r"evict it\? \[y/N\] ")
                terminal.write(answer)
                terminal.expect("evicted holdfast" if end == 0
                                else "nothing was evicted")
                terminal.drain()
                self.assertEqual(len(self.tickets()), left)
            finally:
                terminal.close()


class File(EachEngine, engines.File, harness.Case):
    waiters_receive = False

    def test_wrong_lines(self):
        for arguments, text in (
                (["revoke"], "NAME is missing"),
                (["evict"], "NAME is missing"),
                (["evict", "a"], "TICKET is missing"),
                (["evict", "a", "12", "13"], "'13': one TICKET at a time"),
                (["evict", "a", "12"], "there is no terminal to ask on"),
                (["evict", "-y", "a", "me"], "'me' is no ticket; expected"),
                (["evict", "-y", "a", "abc"], "'abc' is no ticket; expected"),
                (["evict", "-y", "a", ""], "'' is no ticket; expected"),
                (["revoke", "a", "12", "-"], "'-' is no ticket; expected"),
                (["revoke", "-x", "a"], "-x: no such option"),
                (["revoke", "a//b"], "the lock name \"a//b\" has an empty"),
                (["revoke", "-c", "nosuch:", "a"], "no engine for \"nosuch")):
            with self.subTest(arguments):
                status, out, err = self.tool(*arguments)
                self.assertEqual((status, out, err.count("\n")), (64, "", 1))
                self.assertTrue(err.startswith("holdfast: " + text), err)

    def test_nothing_is_made(self):
        """Neither a directory nor an empty queue."""
        for command in (["revoke", self.name],
                        ["evict", "--yes", self.name, "1234"]):
            self.assertEqual(self.tool(*command)[0], 1)
            self.assertEqual(os.listdir(self.locks), [])
            status, _, err = self.tool(command[0], "-c", "file:" +
                                       self.path("typo"), *command[1:])
            self.assertEqual(status, 73)
            self.assertIn("there is no directory", err)

    def test_nobody_answers(self):
        status, out, err = self.tool("revoke", "-c", "zk://127.0.0.1:1", "-w",
                                     "300ms", "a")
        self.assertEqual((status, out), (69, ""))
        self.assertIn("no connection to zk://127.0.0.1:1", err)

    def stopped(self, *options):
        """One that has a ticket and gets no processor since then; with what it
        goes on."""
        before = len(self.tickets())
        self.environment["LD_PRELOAD"] = os.environ["STOP"]
        process = self.start(*options, self.name, "--", "sh", "-c",
                             "unset LD_PRELOAD; exec sleep 1000")
        del self.environment["LD_PRELOAD"]
        supervisor = self.supervisor(process)
        waiting.eventually("the stop", lambda: harness.state_of(
            supervisor) == "T", of=[process])
        self.assertEqual(len(self.tickets()), before + 1)
        return lambda: os.kill(supervisor, signal.SIGCONT)

    def test_requests_before_the_owner_watches_its_ticket(self):
        """None is lost: neither that to a holder nor that to a waiter, which
        notices a later one only when it is its turn."""
        goes_on = [self.stopped(), self.stopped()]
        for place in (0, 1):
            status, out, err = self.tool("revoke", self.name,
                                         self.tickets()[place]["token"])
            self.assertEqual((status, err), (0, ""))
        self.assertEqual(self.asked(), [False, False])
        goes_on[1]()
        self.until_asked(1)
        self.assertFalse(self.asked()[0])
        goes_on[0]()
        self.until_asked(0)

    def test_an_id_that_means_two(self):
        self.holds()
        self.waits()
        first, second = self.tickets()
        for common in range(8, 3, -1):
            if first["id"][:common] == second["id"][:common]:
                break
        else:
            # Ids are random: make the second one begin like the first.
            queue = os.path.join(self.locks, "locks", self.name)
            new = first["id"][:8] + second["id"][8:]
            for name in os.listdir(queue):
                if second["id"] in name:
                    os.rename(os.path.join(queue, name), os.path.join(
                        queue, name.replace(second["id"], new)))
        status, _, err = self.tool("revoke", self.name, first["id"][:6])
        self.assertEqual(status, 64)
        self.assertRegex(err, "may mean ticket .* or .*; write more digits")

    def test_full_disk(self):
        self.holds()
        with open("/dev/full", "w") as full:
            self.assertEqual(subprocess.run(
                [harness.TOOL, "revoke", self.name], env=self.environment,
                stdout=full, stderr=subprocess.DEVNULL).returncode, 73)


class ZooKeeper(EachEngine, engines.ZooKeeper, harness.Case):
    def put(self, client, node, data, flags=jute.EPHEMERAL | jute.SEQUENTIAL):
        client.create("/%s/%s" % (self.name, node), data, flags)

    def test_owners_that_use_other_libraries(self):
        """Curator's may listen; kazoo's do not, and are not written to."""
        with self.server.client() as client:
            client.create("/" + self.name)
            self.put(client, "_c_%s-lock-" % uuid.uuid4(), b"10.0.0.1")
            status, out, err = self.tool("revoke", self.name)
            self.assertEqual((status, out), (
                0, "asked 10.0.0.1, which holds %s\n" % self.name))
            self.assertIn("only if it has made the lock revocable", err)
            status, out, err = self.tool("revoke", self.name)
            self.assertEqual(status, 0)
            self.assertIn("has not said since that it received", err)
            ticket = self.tickets()[0]["token"]
            status, _, err = self.tool("evict", "-y", self.name, ticket)
            self.assertEqual(status, 0)
            self.assertIn("it is not notified, and goes on as if it held", err)
            self.put(client, "%s__lock__" % uuid.uuid4().hex, b"db1 4711")
            self.environment["HOLDFAST_URL"] += "&layout=kazoo"
            status, out, err = self.tool("revoke", self.name)
            self.assertEqual((status, out), (
                1, "not asked: db1 4711, which holds %s\n" % self.name))
            self.assertIn("it uses another library, which receives no", err)
            self.assertEqual(self.tickets()[0]["payload"], "db1 4711")

    def test_data_of_others_are_not_replaced(self):
        """Of the parent of the tickets, where who evicts is written."""
        path = "/" + self.name
        with self.server.client() as client:
            for data, said in ((b"theirs", False), (b"17", False), (b"", True),
                               (b"holdfast evicted long ago", True)):
                holder = self.holds()
                client.set(path, data)
                token = self.tickets()[0]["token"]
                status, _, err = self.tool("evict", "-ym", "full", self.name,
                                           token)
                self.assertEqual(status, 0, err)
                code, err = self.ended(holder)
                self.assertEqual((code, "evicted by" in err), (76, said), err)
                left = client.get(path)[0]
                self.assertEqual(left == data, not said)

    def test_who_may_not_write_the_parent_evicts_nevertheless(self):
        path = "/" + self.name
        with self.server.client() as client:
            # READ, CREATE and DELETE.
            client.create(path, acls=[jute.Acl(1 | 4 | 8, "world", "anyone")])
            holder = self.holds()
            status, _, err = self.tool("evict", "-ym", "full", self.name,
                                       self.tickets()[0]["token"])
            self.assertEqual(status, 0, err)
            code, err = self.ended(holder)
            self.assertEqual((code, "evicted by" in err), (76, False), err)
            self.assertEqual(client.get(path)[0], b"")

    def test_participants_of_a_double_barrier(self):
        with self.server.client() as client:
            client.create("/" + self.name)
            self.put(client, str(uuid.uuid4()), b"10.0.0.1", jute.EPHEMERAL)
            status, out, err = self.tool("revoke", self.name)
            self.assertEqual((status, out), (1, ""))
            self.assertIn("is a double barrier, whose participants", err)
            token = self.tickets()[0]["token"]
            status, out, err = self.tool("revoke", self.name, token)
            self.assertEqual((status, out), (
                1, "not asked: 10.0.0.1, which is at the barrier %s\n" %
                self.name))
            status, out, err = self.tool("evict", "-y", self.name, token)
            self.assertEqual((status, out), (
                0, "evicted 10.0.0.1, which is at the barrier %s\n" %
                self.name))
            self.assertEqual(self.tickets(), [])


class Etcd(EachEngine, engines.Etcd, harness.Case):
    def test_owners_that_use_other_libraries(self):
        """Go's, as the server's lock service and etcdctl: they do not watch
        their keys, and are not written to."""
        with self.server.client() as client:
            lease = client.grant(300)
            self.addCleanup(self.revoke_lease, lease)
            key = client.lock(self.name, lease)
            status, out, err = self.tool("revoke", self.name)
            self.assertEqual((status, out), (
                1, "not asked: an owner that gives no name, which holds %s\n" %
                self.name))
            self.assertIn("it uses another library, which receives no", err)
            self.assertEqual(client.get(key).value, "")
            self.assertEqual(client.get(key).modified, client.get(key).created)
            status, _, err = self.tool("evict", "-ym", "full", self.name,
                                       self.tickets()[0]["token"])
            self.assertEqual(status, 0)
            self.assertIn("it is not notified, and goes on as if it held", err)
            self.assertIsNone(client.get(key))

    def revoke_lease(self, lease):
        with self.server.client() as client:
            client.revoke(lease)


class Redis(EachEngine, engines.Redis, harness.Case):
    pass


class PostgreSql(EachEngine, engines.PostgreSql, harness.Case):
    pass


if __name__ == "__main__":
    harness.main()
