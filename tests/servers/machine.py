# SPDX-License-Identifier: Apache-2.0
"""What a test takes of this machine: directories, ports and processes.  None
of it stays when the test ends, even if it is killed: the kernel closes the
ports and kills the processes, and the next test removes the directories."""

import concurrent.futures
import contextlib
import ctypes
import fcntl
import functools
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

# Below the ports that the kernel gives to outgoing connections (32768 and up),
# so that no connection gets the port of a server that is down.
PORTS = range(20000, 32000)

PREFIX = "holdfast-test-"


# ---- directories

def shared_memory():
    """The folder of a file system in memory; None where there is none."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def directory(name="server", on_disk=False):
    """The path of a new directory of this process, in memory or where TMPDIR
    says.  The maker removes it.  If the test is killed, the next test that
    makes a directory does.

    The process keeps a lock of the directory until it ends, whatever way: one
    without a lock has no owner any more.  A number of a process would not do,
    because another process may have it by then, and because a test may run in a
    PID namespace of its own and share /dev/shm with others."""
    where = tempfile.gettempdir() if on_disk else shared_memory()
    remove_abandoned()
    while True:
        path = tempfile.mkdtemp(prefix="%s%s-" % (PREFIX, name), dir=where)
        if lock_directory(path):
            return path  # else another test has just removed it


@contextlib.contextmanager
def temporary(name, on_disk=True):
    """The same with an end: the path of a directory that is removed then."""
    path = directory(name, on_disk)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


_CLONE_NEWNS = 0x20000
_OWN_RUN = """mount --make-rprivate / && mount -t tmpfs -o mode=755 none /run &&
    mkdir -m 1777 /run/lock"""


@functools.lru_cache(maxsize=None)
def own_run():
    """From now on this thread and the processes that it starts have a /run of
    their own, where root and users have their default directories for locks: so
    they meet nobody's.  False: only root can have that."""
    libc = ctypes.CDLL(None, use_errno=True)
    return (os.geteuid() == 0 and libc.unshare(_CLONE_NEWNS) == 0 and
            subprocess.run(["sh", "-c", _OWN_RUN], check=False,
                           stderr=subprocess.DEVNULL).returncode == 0)


def lock_directory(path):
    """Keep a lock of it until this process ends; False if it is locked or not
    there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            return True
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return False


def remove_abandoned():
    """Remove the directories of tests that have ended without removing them,
    and end the processes that use them."""
    for where in {shared_memory(), tempfile.gettempdir()} - {None}:
        for path in glob.glob(os.path.join(where, PREFIX + "*")):
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            except OSError:
                continue  # it has gone, or is another user's
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                end_processes_of(path)
                # Not what a killed test may have mounted there.
                subprocess.run(["rm", "-rf", "--one-file-system", "--", path],
                               check=False, stderr=subprocess.DEVNULL)
            except BlockingIOError:
                pass  # its test runs
            finally:
                os.close(descriptor)


def uses(pid, path):
    """Does the process have the path in its environment or its arguments?"""
    for name in ("environ", "cmdline"):
        try:
            with open("/proc/%d/%s" % (pid, name), "rb") as file:
                if path.encode() in file.read():
                    return True
        except OSError:
            pass  # it has ended, or is another user's
    return False


def signal_if(is_it, pid, number=signal.SIGKILL):
    """Send a signal to a process whose number was read from /proc; whether it
    was sent.  The process may have ended, and another one may have its number.
    So a descriptor of the process is opened, and then is_it() has to be true."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        if not is_it():
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)


def end_processes_of(path):
    """Kill every process that has the path in its environment or its
    arguments, whatever its parent is, and wait until all have ended."""
    def kill_all():
        found = [pid for pid in map(int, filter(str.isdigit,
                                                os.listdir("/proc")))
                 if pid != os.getpid() and uses(pid, path)]
        for pid in found:
            signal_if(lambda pid=pid: uses(pid, path), pid)
        return not found
    waiting.eventually("the end of the processes of " + path, kill_all)


# ---- hosts

class Host:
    """An address, and a thread on which processes are started and sockets are
    made.  They belong to the network namespace of that thread."""

    def __init__(self, address="127.0.0.1"):
        self.address = address
        # The kernel kills a server when the thread that started it ends.  This
        # one lives as long as the test's process, whichever thread asks.
        self.thread = concurrent.futures.ThreadPoolExecutor(max_workers=1)

    def do(self, function, *arguments, **options):
        """Call the function on the thread; its value."""
        return self.thread.submit(function, *arguments, **options).result()

    def connect(self, port, seconds):
        """A connection from this address to itself."""
        link = self.do(socket.socket)
        link.settimeout(seconds)
        try:
            link.connect((self.address, port))
        except BaseException:
            link.close()
            raise
        return link

    def is_open(self, port):
        """Whether a server listens there."""
        try:
            self.connect(port, waiting.LIMIT_S).close()
        except OSError:
            return False
        return True


LOCALHOST = Host()


# ---- ports

class Port:
    """A port of a host that no other test takes until close(), whether a server
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
    """The options of setpriv(1) that change to that user."""
    if user is None:
        return []
    group = pwd.getpwnam(user).pw_gid
    return ["--reuid", user, "--regid", str(group), "--init-groups"]


def popen(arguments, **options):
    """A Process as a Popen, for a command that needs no more."""
    return Process(arguments, **options).popen


class Process:
    """A process in a group of its own.  The kernel kills it when the test ends,
    whatever way."""

    def __init__(self, arguments, user=None, host=LOCALHOST, before=(),
                 **options):
        """user: the user to run as, which only root may choose.  before: a
        command that runs another one, such as unshare(1)."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("process_group", 0)
        self.popen = host.do(
            subprocess.Popen,
            [*before, "setpriv", "--pdeathsig", "KILL", *as_user(user), "--",
             *arguments],
            **options)
        self.pid = self.popen.pid

    def signal(self, number):
        self.popen.send_signal(number)

    def is_alive(self):
        return self.popen.poll() is None

    def kill(self):
        """Send SIGKILL, which ends a stopped process, too, and reap."""
        if self.is_alive():
            self.signal(signal.SIGKILL)
        return self.popen.wait(waiting.LIMIT_S)

    def freeze(self):
        self.signal(signal.SIGSTOP)
        waiting.eventually("process %d to stop" % self.pid,
                           lambda: self.state() == "T", of=[self])

    def thaw(self):
        self.signal(signal.SIGCONT)

    def state(self):
        """The letter of /proc/PID/stat."""
        with open("/proc/%d/stat" % self.pid) as stat:
            return stat.read().rpartition(")")[2].split()[0]
