# SPDX-License-Identifier: Apache-2.0
"""Runs the program client_driver.c: many clients and waits in one process,
which does what the test says line by line and prints each event."""

import collections
import os
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402

LONG = bool(os.environ.get("HF_LONG"))

# One line that the program printed.  words: what follows its instant.
Event = collections.namedtuple("Event", "at_ms words")


class ClientDriver:
    """One process of client_driver.c.  Its events are kept, by session and by
    wait.  As a context manager it checks that the program ends without
    error."""

    def __init__(self, program, **environment):
        self.condition = threading.Condition()
        self.sessions = collections.defaultdict(list)
        self.waits = collections.defaultdict(list)
        self.ended = False
        self.next_wait = 0
        self.next_session = 0
        self.process = machine.Process(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=dict(os.environ, **environment))
        self.popen = self.process.popen
        self.pid = self.process.pid
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.end()
        finally:
            self.kill()

    def read(self):
        for line in self.popen.stdout:
            at, who, *words = line.split()
            with self.condition:
                if who == "session":
                    kept = self.sessions[int(words.pop(0))]
                else:
                    kept = self.waits[int(who)]
                kept.append(Event(int(at), words))
                self.condition.notify_all()
        with self.condition:
            self.ended = True
            self.condition.notify_all()

    def say(self, *words):
        self.popen.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.popen.stdin.flush()

    def until(self, what, condition, seconds=None):
        """Wait until condition() is true of the events, and return its
        value."""
        deadline = time.monotonic() + (seconds or waiting.LIMIT_S)
        with self.condition:
            while not (value := condition()):
                left = deadline - time.monotonic()
                if left <= 0 or self.ended:
                    raise AssertionError("waited in vain for %s%s; events: %s" % (
                        what, ", and " + waiting.end_soon_of(self)
                        if self.ended else "", self.last()))
                self.condition.wait(left)
            return value

    def last(self):
        """The last events, for messages."""
        lines = ["session %d: %s" % (s, " ".join(t.words))
                 for s, events in self.sessions.items() for t in events[-3:]]
        lines += ["%d: %s" % (w, " ".join(t.words))
                  for w, events in self.waits.items() for t in events[-1:]]
        return "; ".join(lines[-40:])

    # ---- sessions

    def open(self, url):
        """Start to open a session; its number."""
        number = self.next_session
        self.next_session += 1
        self.say("open", number, url)
        return number

    def opened(self, *urls):
        """The numbers of new sessions, once they are connected."""
        numbers = [self.open(url) for url in urls]
        for number in numbers:
            self.until_state(number, "CONNECTED")
        return numbers

    def refused(self, session):
        """(status, text) of a session whose open call failed."""
        self.until("an event of session %d" % session,
                   lambda: self.sessions[session])
        words = self.sessions[session][0].words
        if words[0] != "refused":
            raise AssertionError("session %d was opened" % session)
        return words[1], " ".join(words[2:])

    def close(self, session):
        self.say("close", session)
        self.until_state(session, "CLOSED")

    def states(self, session):
        with self.condition:
            return [t.words[0] for t in self.sessions[session]
                    if t.words[0] != "log"]

    def until_state(self, session, state, seconds=None):
        """Wait until the last state of the session is this one."""
        self.until("session %d to be %s" % (session, state),
                   lambda: self.states(session)[-1:] == [state], seconds)

    def count_states(self, session, state):
        return self.states(session).count(state)

    def logs(self, session):
        with self.condition:
            return [" ".join(t.words[1:]) for t in self.sessions[session]
                    if t.words[0] == "log"]

    # ---- waits

    def acquire(self, session, name, wait_ms=-1, how="acquire"):
        """Start to acquire; the number of the wait.  how is acquire, or pass:
        release as soon as granted."""
        number = self.next_wait % 16384
        self.next_wait += 1
        with self.condition:
            self.waits.pop(number, None)
        self.say(how, number, session, name, wait_ms)
        return number

    def acquire_at_once(self, session, name, count):
        """The numbers of count waits, which the program reads in one piece or
        a few."""
        first = self.next_wait
        self.next_wait += count
        self.popen.stdin.write("".join(
            "acquire %d %d %s -1\n" % (number, session, name)
            for number in range(first, first + count)))
        self.popen.stdin.flush()
        return range(first, first + count)

    def find(self, wait, *kinds):
        """The last event of a wait whose first word is one of kinds, or
        None."""
        with self.condition:
            for event in reversed(self.waits[wait]):
                if event.words[0] in kinds:
                    return event
        return None

    def await_event(self, wait, *kinds, seconds=None):
        return self.until("wait %d to be %s" % (wait, " or ".join(kinds)),
                          lambda: self.find(wait, *kinds), seconds)

    def queued(self, wait, seconds=None):
        """Wait until it is in the queue; how many are ahead of it."""
        return int(self.await_event(wait, "waits", seconds=seconds).words[1])

    def granted(self, wait, seconds=None):
        """Wait for its grant; an AssertionError if it ends without."""
        event = self.await_event(wait, "granted", "ended", seconds=seconds)
        if event.words[0] != "granted":
            raise AssertionError("wait %d ended: %s" % (
                wait, " ".join(event.words)))
        return event

    def failed(self, wait, seconds=None):
        """Wait until it ends without a grant: (status, text, instant)."""
        event = self.await_event(wait, "granted", "ended", seconds=seconds)
        if event.words[0] != "ended":
            raise AssertionError("wait %d was granted" % wait)
        return event.words[1], " ".join(event.words[2:]), event.at_ms

    def release(self, wait, seconds=None):
        """Release; the status of that."""
        self.say("release", wait)
        return self.await_event(wait, "released", seconds=seconds).words[1]

    def check(self, wait):
        """(status, whether safe-until is ahead)."""
        with self.condition:
            checked = len(self.waits[wait])
        self.say("check", wait)
        event = self.until("wait %d to be checked" % wait, lambda: next((
            t for t in self.waits[wait][checked:]
            if t.words[0] == "checked"), None))
        return event.words[1], int(event.words[2]) > event.at_ms

    def cancel(self, wait):
        self.say("cancel", wait)

    # ---- the process

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    def descriptor_kinds(self):
        """What each descriptor is, as /proc shows it.  One may be closed
        meanwhile."""
        kinds = []
        for number in os.listdir("/proc/%d/fd" % self.pid):
            try:
                kinds.append(os.readlink("/proc/%d/fd/%s" % (self.pid,
                                                             number)))
            except FileNotFoundError:
                pass
        return kinds

    def threads(self):
        return len(os.listdir("/proc/%d/task" % self.pid))

    def resident_kb(self):
        with open("/proc/%d/status" % self.pid) as status:
            for line in status:
                if line.startswith("VmRSS"):
                    return int(line.split()[1])
        return 0

    def end(self):
        """Let the program close everything, and check that it ends without
        error."""
        self.popen.stdin.close()
        status = self.popen.wait(waiting.LIMIT_S)
        self.reader.join(waiting.LIMIT_S)
        if status != 0:
            raise AssertionError(waiting.end_of(self))

    def kill(self):
        self.process.kill()
        self.popen.stdin.close()
        self.popen.stdout.close()
