# SPDX-License-Identifier: Apache-2.0
"""What the tests of losses share: holders (holder.c) whose lines are kept with
their instants, and watchers that see through a client of their own when a
ticket goes.  All instants are in milliseconds on CLOCK_BOOTTIME."""

import os
import random
import select
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import jute  # noqa: E402
import machine  # noqa: E402
import waiting  # noqa: E402
import raw  # noqa: E402

LONG = os.environ.get("HF_LONG") == "1"
SEED = int(os.environ.get("HF_SEED", random.randrange(1 << 32)))

# Two clocks that are read in milliseconds, and a log that cuts them off.
ROUNDING_MS = 2


class Holder:
    """A process of holder.c."""

    def __init__(self, program, url, name, store, host=machine.LOCALHOST,
                 **environment):
        self.name = name
        self.lines = []  # (instant, word, [argument...])
        self.ended = False
        self.changed = threading.Condition()
        environment = dict(os.environ, **environment)
        # A leak checker would stop at a holder that is killed or frozen.
        environment.setdefault("ASAN_OPTIONS", "detect_leaks=0")
        self.process = machine.popen(
            [program, url, name, store], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, process_group=0,
            env=environment, host=host)
        self.pid = self.process.pid
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            at, word, *arguments = line.split()
            with self.changed:
                self.lines.append((int(at) / 1000, word, arguments))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def say(self, *words):
        self.process.stdin.write("".join(word + "\n" for word in words))
        self.process.stdin.flush()

    def signal(self, number):
        self.process.send_signal(number)

    def freeze(self):
        self.signal(signal.SIGSTOP)
        waiting.eventually("a holder to stop", lambda: self.state() == "T",
                           of=[self])

    def thaw(self):
        self.signal(signal.SIGCONT)

    def state(self):
        with open("/proc/%d/stat" % self.pid) as stat:
            return stat.read().rpartition(")")[2].split()[0]

    def close(self):
        self.process.kill()
        self.process.wait(waiting.LIMIT_S)
        self.reader.join(waiting.LIMIT_S)
        self.process.stdin.close()
        self.process.stdout.close()

    # ---- what it said

    def all(self, word):
        with self.changed:
            return [line for line in self.lines if line[1] == word]

    def wait(self, word, count=1):
        """The count-th line with this word, once it is there."""
        def found():
            return len([l for l in self.lines if l[1] == word]) >= count
        with self.changed:
            self.changed.wait_for(lambda: found() or self.ended,
                                  waiting.LIMIT_S)
            if not found():
                raise AssertionError("waited in vain for %s of %s%s: %s" % (
                    word, self.name,
                    ", but " + waiting.end_soon_of(self) if self.ended else "",
                    self.lines))
        return self.all(word)[count - 1]

    def granted(self):
        """The instant and the token."""
        at, _, (token,) = self.wait("granted")
        return at, int(token)

    def safe_until(self):
        """The latest safe_until that it ever had."""
        return max(int(until) for _, _, (until,) in self.all("safe_until"))

    def notified_at(self):
        """The instant at which it was first notified of its loss, once it was
        in each way: by the callback, the descriptor and safe_until."""
        ways = [self.wait("lost"), self.wait("readable")]
        with self.changed:
            over = [line for line in self.lines
                    if line[1] == "safe_until" and line[2] == ["0"]]
        return min(line[0] for line in ways + over)


class TicketWatcher(threading.Thread):
    """Watches a ticket until it is gone, through any of the servers that
    answers.  .session is the session of its owner; .gone_at the instant at
    which the watch fired."""

    def __init__(self, servers, queue):
        super().__init__(daemon=True)
        self.servers = servers
        self.gone_at = None
        self.stopped = False
        self.path, self.session = waiting.eventually(
            "a server that shows the ticket in " + queue,
            lambda: self.find(queue))
        self.start()

    def find(self, queue):
        """The path of the ticket and its owner's session.  A server may have
        lost its leader just now: then another one, or the same later."""
        for server in self.servers:
            try:
                with server.client() as client:
                    client.sync()
                    name, = client.children(queue)
                    path = queue + "/" + name
                    return path, client.exists(path).ephemeral_owner
            except (OSError, raw.Refused, raw.Error):
                pass
        return None

    def run(self):
        while self.gone_at is None and not self.stopped:
            for server in self.servers:
                try:
                    self.watch(server)
                except (OSError, raw.Refused, raw.Error, AssertionError):
                    pass  # another one, or the same when it is back
                if self.gone_at is not None or self.stopped:
                    return
            select.select([], [], [], 0.02)

    def watch(self, server):
        client = raw.Client(server.port, timeout_ms=40000, seconds=3)
        try:
            client.sync()
            there = client.exists(self.path, watch=True)
            while there and not self.stopped:
                woken = select.select([client.link], [], [], 1)[0]
                at = waiting.now_ms()
                client.ping()  # what has come stands before its answer
                there = (jute.DELETED, self.path) not in client.events
                if not there:
                    self.gone_at = at if woken else waiting.now_ms()
            if self.gone_at is None and not there:
                self.gone_at = waiting.now_ms()
        finally:
            client.cut()

    def gone(self):
        waiting.eventually("%s to go" % self.path,
                           lambda: self.gone_at is not None)
        return self.gone_at

    def close(self):
        self.stopped = True
        self.join(waiting.LIMIT_S)


def expired_at(server, session):
    """When a server, or one of an ensemble, first logged that the session
    expires; None if none has."""
    found = [at for at, number, _ in server.expirations()
             if number & (1 << 64) - 1 == session & (1 << 64) - 1]
    return min(found, default=None)


def summary(what, numbers):
    """Least and median, for people."""
    numbers = sorted(numbers)
    if not numbers:
        return
    print("%s: min %.0f, median %.0f, max %.0f of %d" % (
        what, numbers[0], numbers[len(numbers) // 2], numbers[-1],
        len(numbers)), flush=True)
