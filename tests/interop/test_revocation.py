#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Revocation between Curator and holdfast, and what holdfast show prints of a
queue of Curator, kazoo and holdfast, on one path of a real ZooKeeper."""

import json
import os
import subprocess
import unittest
import uuid

from test_interop import (CURATOR_JARS, Case, Contender, NAME, PATH, jute,
                          waiting)


class Revocation(Case):
    def revoker(self, name, command, what):
        return self.java(name, CURATOR_JARS, "CuratorRevoker", command,
                         self.server.address(), what)

    def ours(self, name, command):
        return self.add(Contender(name, [
            os.environ["REVOCATION"], command, self.url(), NAME]))

    def node(self):
        name, = self.client.children(PATH)
        return PATH + "/" + name

    def test_curator_asks_holdfast(self):
        ours = self.ours("ours", "hold")
        ours.expect("held")
        for i in range(2):
            curator = self.revoker("curator-%d" % i, "ask", self.node())
            curator.expect("asked")
            ours.expect("revoked")
            curator.finish()
        ours.expect("released")
        ours.finish()

    def test_holdfast_asks_curator(self):
        curator = self.revoker("curator", "hold", PATH)
        curator.expect("held")
        ours = self.ours("ours", "ask")
        ours.expect("HF_OK")
        curator.expect("revoked")
        curator.expect("released")
        ours.finish()
        curator.finish()

    def test_holdfast_asks_holdfast_and_then_nobody(self):
        holder = self.ours("holder", "hold")
        holder.expect("held")
        for i in range(2):
            asker = self.ours("asker-%d" % i, "ask")
            asker.expect("HF_OK")
            holder.expect("revoked")
        holder.expect("released")
        holder.finish()
        self.ours("late", "ask").expect("HF_EGONE")


class Shown(Case):
    def show(self, *options):
        done = subprocess.run(
            [os.environ["HOLDFAST"], "show", "-c", self.url(), *options, NAME],
            capture_output=True, text=True, timeout=waiting.LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def test_nobody_without_a_node(self):
        self.assertEqual(self.show(),
                         ("nobody holds or waits for %s\n" % NAME, ""))

    def test_fn48_a_ghost_is_seen_and_can_be_taken_out(self):
        # A server that has forgotten to remove a ticket: nobody's session is
        # behind it, and nothing but a deletion will end it.
        self.client.create("/interop")
        self.client.create(PATH)
        self.client.create(PATH + "/_c_%s-lock-" % uuid.uuid4(), b"10.0.0.1",
                           jute.SEQUENTIAL)
        waiter = self.add(Contender("waiter", [
            os.environ["HOLDFAST"], "run", "-c", self.url(), NAME, "--",
            "echo", "entered"]))
        waiting.eventually("the waiter to queue",
                           lambda: len(self.client.children(PATH)) == 2)
        ghost, ours = json.loads(self.show("--json")[0])["tickets"]
        self.assertEqual([ghost["state"], ours["state"]], ["holds", "waits"])
        self.assertEqual(ghost["payload"], "10.0.0.1")
        self.assertIsNotNone(ghost["created"])
        self.add(Contender("remover", [
            os.environ["REVOCATION"], "evict", self.url(), NAME,
            ghost["id"]])).expect("HF_OK")
        waiter.expect("entered")
        waiter.finish()
        self.assertEqual(self.client.children(PATH), [])

    def test_tickets_of_all_makes_in_order(self):
        self.client.create("/interop")
        self.client.create(PATH)
        kazoo = self.kazoo("kazoo", "kazoo", "hold")
        kazoo.expect("held")
        ours = self.add(Contender("ours", [
            os.environ["HOLDFAST"], "run", "-c", self.url(), NAME, "--",
            "true"]))
        waiting.eventually("ours to queue",
                           lambda: len(self.client.children(PATH)) == 2)
        curator = self.curator("curator", "try")
        curator.expect("ready")
        curator.go_on()
        waiting.eventually("Curator to queue",
                           lambda: len(self.client.children(PATH)) == 3)
        text, _ = self.client.create(
            PATH + "/" + "0" * 32 + "__rlock__",
            "gr\u00fc\u00df \x1b[2J dich".encode(), jute.EPHEMERAL_SEQUENTIAL)
        odd, _ = self.client.create(PATH + "/x-0123abcd-", b"\xff\x00\xfe",
                                    jute.EPHEMERAL_SEQUENTIAL)
        self.client.create(PATH + "/odd", b"", jute.EPHEMERAL)
        out, err = self.show("--json")
        found = json.loads(out)
        tickets = found["tickets"]
        self.assertEqual([t["layout"] for t in tickets],
                         ["kazoo", "curator", "curator", "kazoo", "writelock"])
        self.assertEqual([t["state"] for t in tickets][:2],
                         ["holds", "waits"])
        self.assertEqual([t["place"] for t in tickets], [1, 2, 3, 4, 5])
        self.assertEqual(tickets[0]["payload"], "")
        self.assertEqual(tickets[1]["owner"]["text"], "true")
        self.assertRegex(tickets[2]["payload"], r"^\d+\.\d+\.\d+\.\d+$")
        self.assertEqual(tickets[3]["kind"], "read")
        self.assertEqual(tickets[3]["payload"], "gr\u00fc\u00df \x1b[2J dich")
        in_order = sorted((n for n in self.client.children(PATH)
                           if n != "odd"), key=lambda name: name[-10:])
        for ticket in tickets:
            node = in_order[ticket["place"] - 1]
            stat = self.client.exists(PATH + "/" + node)
            self.assertEqual(int(ticket["token"]), stat.czxid)
            self.assertIsNotNone(ticket["created"])
        self.assertEqual(found["unknown"], ["odd"])
        self.assertIn('"odd"', err)
        out, _ = self.show()
        self.assertNotRegex(out, r"[\x00-\x09\x0b-\x1f\x7f]")
        rows = out.splitlines()
        self.assertRegex(rows[1], r"^1 +holds +exclusive +~\d+s +<=~\d+s +\d+ +"
                         r"kazoo +-$")
        self.assertRegex(rows[2], r"^2 +waits +mutex +\d+s +- +\d+ +curator +"
                         r"holdfast \(pid \d+ on .+\): true$")
        kazoo.go_on()
        ours.finish()
        self.client.delete(text)
        self.client.delete(odd)


if __name__ == "__main__":
    unittest.main()
