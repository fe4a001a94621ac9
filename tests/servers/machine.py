# SPDX-License-Identifier: Apache-2.0
"""What every server of a test needs of this machine: a host, a directory, ports
that stay its own, and processes that cannot outlive the test."""

import concurrent.futures
import glob
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile

import waiting

# Below what the kernel gives to outgoing connections (32768 and up): while a
# server is down nobody gets its port by chance.
PORTS = range(20000, 32000)

PREFIX = "holdfast-server-"


# ---- directories

def shared_memory():
    """Where files cost no disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def directory():
    """A new directory, which sweep() finds when its maker was killed."""
    sweep()
    return tempfile.mkdtemp(prefix="%s%d-" % (PREFIX, os.getpid()),
                            dir=shared_memory())


def sweep():
    """Remove the directories of processes that are no more."""
    where = shared_memory() or tempfile.gettempdir()
    for path in glob.glob(os.path.join(where, PREFIX + "*")):
        pid = os.path.basename(path)[len(PREFIX):].split("-")[0]
        if pid.isdigit() and not os.path.exists("/proc/" + pid):
            shutil.rmtree(path, ignore_errors=True)


# ---- hosts

class Host:
    """Where servers live: an address, and a thread on which processes are
    started and sockets are made, which then belong where the thread is."""

    def __init__(self, address="127.0.0.1"):
        self.address = address
        # The kernel kills a server when the thread that started it ends.  This
        # one lives as long as the test's process, whichever thread asks.
        self.thread = concurrent.futures.ThreadPoolExecutor(max_workers=1)

    def do(self, function, *arguments, **options):
        """Call it there; its value."""
        return self.thread.submit(function, *arguments, **options).result()

    def connect(self, port, seconds):
        """A connection from here to here: no way leads through others."""
        link = self.do(socket.socket)
        link.settimeout(seconds)
        try:
            link.connect((self.address, port))
        except BaseException:
            link.close()
            raise
        return link

    def is_open(self, port):
        """Whether somebody listens."""
        try:
            self.connect(port, waiting.LIMIT_S).close()
        except OSError:
            return False
        return True


LOCALHOST = Host()


# ---- ports

class Port:
    """A port of a host that no other test takes until close(), whether anybody
    listens on it or not.  The claim is an abstract socket, which the kernel
    removes with its process."""

    def __init__(self, host=LOCALHOST):
        for number in random.sample(PORTS, 200):
            claim = host.do(socket.socket, socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                claim.bind("\0holdfast-port-%d" % number)
                with host.do(socket.socket) as probe:
                    probe.setsockopt(socket.SOL_SOCKET,
                                     socket.SO_REUSEADDR, 1)
                    probe.bind((host.address, number))
            except OSError:
                claim.close()
                continue
            self.claim = claim
            self.number = number
            return
        raise AssertionError("no free port in %s" % PORTS)

    def close(self):
        self.claim.close()


# ---- processes

def as_user(user):
    """The options of setpriv(1) that make it so."""
    if user is None:
        return []
    group = pwd.getpwnam(user).pw_gid
    return ["--reuid", user, "--regid", str(group), "--init-groups"]


class Process:
    """A server in a group of its own, killed with this process at the
    latest."""

    def __init__(self, arguments, user=None, host=LOCALHOST, before=(),
                 **options):
        """user: run as that one, which only root can have done.  before: a
        command that changes what the process may see, and then runs it."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("process_group", 0)
        self.popen = host.do(
            subprocess.Popen,
            [*before, "setpriv", "--pdeathsig", "KILL", *as_user(user), "--"] +
            arguments,
            **options)
        self.pid = self.popen.pid

    def signal(self, number):
        self.popen.send_signal(number)

    def is_alive(self):
        return self.popen.poll() is None

    def kill(self):
        """SIGKILL, which a stopped one obeys too, and reap."""
        if self.is_alive():
            self.signal(signal.SIGKILL)
        return self.popen.wait(waiting.LIMIT_S)

    def freeze(self):
        self.signal(signal.SIGSTOP)
        waiting.eventually("process %d to stop" % self.pid,
                   lambda: self.state() == "T")

    def thaw(self):
        self.signal(signal.SIGCONT)

    def state(self):
        """The letter of /proc."""
        with open("/proc/%d/stat" % self.pid) as stat:
            return stat.read().rpartition(")")[2].split()[0]
