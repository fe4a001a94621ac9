#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The network of the tests does what its words say, and leaves nothing."""

import errno
import glob
import os
import select
import signal
import socket
import subprocess
import sys
import unittest

import network
import waiting
from network import Network

PORT = 5000


class Cut(unittest.TestCase):
    def setUp(self):
        self.network = Network(3)
        self.addCleanup(self.network.close)
        self.a, self.b, self.c = self.network.nodes
        self.sockets = {node: self.bind(node) for node in self.network.nodes}

    def bind(self, node):
        link = node.do(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(link.close)
        link.settimeout(waiting.LIMIT_S)
        link.bind((node.address, PORT))
        return link

    def send(self, sender, receiver, text):
        self.sockets[sender].sendto(text, (receiver.address, PORT))

    def passes(self, sender, receiver):
        """Check that this packet arrives, and none that was sent before it."""
        self.send(sender, receiver, b"passes")
        self.assertEqual(self.sockets[receiver].recvfrom(100),
                         (b"passes", (sender.address, PORT)))

    def all_pass(self, but=()):
        for sender in self.network.nodes:
            for receiver in self.network.nodes:
                if sender is not receiver and (sender, receiver) not in but:
                    self.passes(sender, receiver)

    def is_quiet(self, receiver):
        return not select.select([self.sockets[receiver]], [], [], 0)[0]

    def test_all_reach_all(self):
        self.all_pass()

    def test_one_direction_is_lost_and_no_other(self):
        self.network.lose([(self.a, self.b)])
        self.send(self.a, self.b, b"lost")
        self.all_pass(but=[(self.a, self.b)])
        self.assertTrue(self.is_quiet(self.b))

    def test_both_directions(self):
        pairs = [(self.a, self.b), (self.b, self.a)]
        self.network.lose(pairs)
        for sender, receiver in pairs:
            self.send(sender, receiver, b"lost")
        self.all_pass(but=pairs)

    def test_another_cut_heals_the_first(self):
        self.network.lose([(self.a, self.b)])
        self.network.lose([(self.b, self.a)])
        self.send(self.b, self.a, b"lost")
        self.all_pass(but=[(self.b, self.a)])
        self.network.lose([])
        self.all_pass()

    def test_unplugged_it_reaches_nobody(self):
        self.network.unplug(self.a)
        for sender, receiver in ((self.a, self.b), (self.c, self.a)):
            self.send(sender, receiver, b"lost")
        self.passes(self.b, self.c)
        self.network.plug(self.a)
        self.network.wait()
        self.all_pass()

    def test_a_connection_survives_a_cut_and_nobody_is_notified(self):
        with self.a.do(socket.create_server, (self.a.address, PORT)) as at, \
                self.b.do(socket.socket) as near:
            for link in (at, near):
                link.settimeout(waiting.LIMIT_S)
            near.connect((self.a.address, PORT))
            with at.accept()[0] as far:
                far.settimeout(waiting.LIMIT_S)
                self.network.lose([(self.b, self.a)])
                near.sendall(b"question")
                far.sendall(b"unasked")  # comes: its own direction is whole
                self.assertEqual(near.recv(100), b"unasked")
                # Later, by a longer way, and yet there before.
                self.passes(self.b, self.c)
                self.passes(self.c, self.a)
                self.assertFalse(select.select([far], [], [], 0)[0])
                self.network.lose([])
                self.assertEqual(far.recv(100), b"question")

    def test_who_lives_there_can_be_asked_whatever_is_cut(self):
        with self.a.do(socket.create_server, (self.a.address, PORT)):
            self.network.unplug(self.a)
            self.assertTrue(self.a.is_open(PORT))


class Private(unittest.TestCase):
    def test_no_way_leads_out(self):
        with Network(1) as alone, socket.create_server(("0.0.0.0", 0)) as at:
            node, = alone.nodes
            for address, error in (("198.51.100.1", errno.ENETUNREACH),
                                   ("127.0.0.1", errno.ECONNREFUSED)):
                with node.do(socket.socket) as link:
                    self.assertEqual(
                        link.connect_ex((address, at.getsockname()[1])), error)

    def test_networks_do_not_see_each_other(self):
        with Network(2) as one, Network(2) as other:
            with one.nodes[0].do(socket.create_server,
                                 (one.nodes[0].address, PORT)):
                with one.nodes[1].do(socket.socket) as link:
                    link.connect((one.nodes[0].address, PORT))
                with other.nodes[1].do(socket.socket) as link:
                    self.assertEqual(
                        link.connect_ex((one.nodes[0].address, PORT)),
                        errno.ECONNREFUSED)


# A network with a process in each of its namespaces; says which these are.
MAKER = """
import os, sys, network, machine
network.allow()
made = network.Network(2)
for host in made.hosts:
    process = machine.Process(["sleep", "1000"], host=host)
    print(os.readlink("/proc/%d/ns/net" % process.pid), flush=True)
print(flush=True)
sys.stdin.read()
"""


def references(namespace):
    """Whatever keeps it: processes and their descriptors."""
    found = []
    for path in glob.glob("/proc/[0-9]*/ns/net") + \
            glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(path) == namespace:
                found.append(path)
        except OSError:
            pass  # it has gone, or is not ours to look at
    return found


class Ending(unittest.TestCase):
    def test_nothing_is_left_of_one_that_was_killed(self):
        maker = subprocess.Popen(
            [sys.executable, "-c", MAKER], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
            cwd=os.path.dirname(os.path.abspath(__file__)))
        namespaces = list(iter(lambda: maker.stdout.readline().strip(), ""))
        self.assertEqual(len(set(namespaces)), 3)
        for namespace in namespaces:
            self.assertTrue(references(namespace))
        maker.send_signal(signal.SIGKILL)
        maker.communicate()
        waiting.eventually("the namespaces to go", lambda: not any(
            references(namespace) for namespace in namespaces))
        with open("/proc/self/mountinfo") as mounts:
            text = mounts.read()
        for namespace in namespaces:
            self.assertNotIn(namespace, text)


class Skipped(unittest.TestCase):
    def test_it_is_reported_where_they_are_not_allowed(self):
        result = subprocess.run(
            ["unshare", "--user", "--map-root-user", "sh", "-c",
             "echo 0 >/proc/sys/user/max_net_namespaces && exec \"$@\"", "sh",
             sys.executable, os.path.abspath(__file__)],
            capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr),
                         (network.SKIPPED, ""))
        self.assertRegex(result.stdout, "^skipped: no network namespaces here:"
                         " unshare.2.: No space left on device; expected root,"
                         " or a kernel that allows them")


if __name__ == "__main__":
    network.allow_or_skip()
    unittest.main()
