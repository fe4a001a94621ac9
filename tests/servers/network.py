# SPDX-License-Identifier: Apache-2.0
"""A network for a test: each host is a network namespace, and a bridge in one
more connects them.  Packets of one host to another can be lost, in each
direction by itself, and neither is notified.

The namespaces are those of threads and processes of ours and have no names.  No
way leads out of them, and with the last of these processes they are gone,
however it ended.
"""

import ctypes
import os
import select
import shutil
import socket
import subprocess
import sys
import threading

import machine
import waiting

# Of <sched.h>; Python has them from 3.12 on.
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

# The exit status of a skipped test, as in tests/servers/testing.py.
SKIPPED = 77

PREFIX = "192.0.2"  # reserved for documentation: no host has these
MAC = "02:00:00:00:00:%02x"
NOWHERE = MAC % 0


class Unavailable(Exception):
    """This machine does not let us make networks; the text says why."""


def unshare(flags):
    if ctypes.CDLL(None, use_errno=True).unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, "unshare(2): " + os.strerror(number))


def become_root():
    """Of a user namespace, where we may not make networks as we are.  To be
    called while there is one thread."""
    if subprocess.run(["unshare", "--net", "true"],
                      stderr=subprocess.DEVNULL).returncode == 0:
        return
    ids = {"uid_map": os.geteuid(), "gid_map": os.getegid()}
    unshare(CLONE_NEWUSER)
    with open("/proc/self/setgroups", "w") as file:
        file.write("deny")
    for name, number in ids.items():
        with open("/proc/self/" + name, "w") as file:
            file.write("0 %d 1" % number)


def allow():
    """See to it that this process can make networks, while it has one thread.
    Raises Unavailable."""
    try:
        become_root()
        with Network(2) as network:
            network.lose([network.nodes])
    except OSError as error:
        raise Unavailable("no network namespaces here: %s; expected root, or "
                          "a kernel that allows them to everybody (see "
                          "namespaces(7))" % (error.strerror or error)
                          ) from error


def allow_or_skip():
    """The same for the whole of a test, which else ends as skipped."""
    try:
        allow()
    except Unavailable as reason:
        print("skipped: %s" % reason, flush=True)
        sys.exit(SKIPPED)


class Namespace(machine.Host):
    """A host in a network namespace, which goes when it is closed and no
    process that was started there is left."""

    def __init__(self, number):
        super().__init__("%s.%d" % (PREFIX, number))
        try:
            self.do(unshare, CLONE_NEWNET)
        except BaseException:
            self.close()
            raise
        self.number = number
        self.task = self.do(threading.get_native_id)

    def close(self):
        self.thread.shutdown()

    def ip(self, *commands):
        """Each as of ip(8)."""
        # Debian has it where ordinary users do not look.
        path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
        program = shutil.which("ip", path=path)
        if not program:
            raise Unavailable("no ip(8) here; is iproute2 installed?")
        result = self.do(subprocess.run, [program, "-batch", "-"],
                         input="\n".join(commands), text=True,
                         capture_output=True)
        if result.returncode:
            raise OSError("ip -batch: %s: %s" % (result.stderr.strip(),
                                                 "; ".join(commands)))


class Network:
    """.nodes are its hosts, each of which reaches every other one."""

    def __init__(self, size):
        self.hosts = []
        try:
            self.hub = self.add(0)
            self.hub.ip("link add hub type bridge", "link set hub up")
            self.nodes = [self.add(number) for number in range(1, size + 1)]
            for node in self.nodes:
                self.lay(node)
            self.wait()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for host in self.hosts:
            host.close()

    def add(self, number):
        self.hosts.append(Namespace(number))
        return self.hosts[-1]

    def lay(self, node):
        """Connect it to the hub with a veth pair.  It has a permanent entry
        for each other host, so no ARP is needed, which could be lost."""
        self.hub.ip("link add port%d type veth peer name eth0 address %s "
                    "netns %d" % (node.number, MAC % node.number, node.task),
                    "link set port%d master hub up" % node.number)
        node.ip("link set lo up", "link set eth0 up",
                "addr add %s/24 dev eth0" % node.address,
                *(self.way(other) for other in self.nodes
                  if other is not node))

    def wait(self):
        """Wait until each host receives from each: the kernel connects a cable
        some time after it was made."""
        ends = [node.do(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
                for node in self.nodes]
        received = set()

        def call():
            for end in ends:
                for other in ends:
                    end.sendto(b"", other.getsockname())
            while ready := select.select(ends, [], [], 0)[0]:
                received.update((end, end.recvfrom(1)[1]) for end in ready)
            return len(received) == len(ends) ** 2
        try:
            for node, end in zip(self.nodes, ends):
                end.bind((node.address, 0))
            waiting.eventually("the cables", call)
        finally:
            for end in ends:
                end.close()

    @staticmethod
    def way(receiver, mac=None):
        return "neigh replace %s lladdr %s nud permanent dev eth0" % (
            receiver.address, mac or MAC % receiver.number)

    def lose(self, pairs):
        """From now on lose all packets of a sender to a receiver in pairs, and
        no others: they are sent to an address that no host has."""
        pairs = set(map(tuple, pairs))
        for sender in self.nodes:
            sender.ip(*(
                self.way(other, NOWHERE if (sender, other) in pairs else None)
                for other in self.nodes if other is not sender))

    def unplug(self, node):
        """Its cable, until some time after plug()."""
        self.hub.ip("link set port%d down" % node.number)

    def plug(self, node):
        self.hub.ip("link set port%d up" % node.number)
