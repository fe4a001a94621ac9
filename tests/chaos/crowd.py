# SPDX-License-Identifier: Apache-2.0
"""The program crowd, which see: many clients and waits in one process."""

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

# What was told: words are the rest of the line.
Told = collections.namedtuple("Told", "at_ms words")


class Crowd:
    """One such process.  Whatever it told is kept, by session and by wait; a
    context manager, which sees it end well."""

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
                kept.append(Told(int(at), words))
                self.condition.notify_all()
        with self.condition:
            self.ended = True
            self.condition.notify_all()

    def say(self, *words):
        self.popen.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.popen.stdin.flush()

    def until(self, what, condition, seconds=None):
        """Wait until condition() holds of what was told, and return it."""
        deadline = time.monotonic() + (seconds or waiting.LIMIT_S)
        with self.condition:
            while not (value := condition()):
                left = deadline - time.monotonic()
                if left <= 0 or self.ended:
                    raise AssertionError("waited in vain for %s%s; told: %s" % (
                        what, ", the crowd having ended" if self.ended else "",
                        self.last()))
                self.condition.wait(left)
            return value

    def last(self):
        """The end of what was told, for messages."""
        lines = ["session %d: %s" % (s, " ".join(t.words))
                 for s, told in self.sessions.items() for t in told[-3:]]
        lines += ["%d: %s" % (w, " ".join(t.words))
                  for w, told in self.waits.items() for t in told[-1:]]
        return "; ".join(lines[-40:])

    # ---- sessions

    def open(self, url):
        """The number of a new one."""
        number = self.next_session
        self.next_session += 1
        self.say("open", number, url)
        return number

    def opened(self, *urls):
        """Connected ones."""
        numbers = [self.open(url) for url in urls]
        for number in numbers:
            self.until_state(number, "CONNECTED")
        return numbers

    def refused(self, session):
        """(status, text) of one that could not even be opened."""
        self.until("word of session %d" % session,
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
        """Until its last state is that one."""
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
        """The number of the wait; how is acquire or pass."""
        number = self.next_wait % 4096
        self.next_wait += 1
        with self.condition:
            self.waits.pop(number, None)
        self.say(how, number, session, name, wait_ms)
        return number

    def acquire_at_once(self, session, name, count):
        """The numbers of so many waits, which begin in one turn or a few."""
        first = self.next_wait
        self.next_wait += count
        self.popen.stdin.write("".join(
            "acquire %d %d %s -1\n" % (number, session, name)
            for number in range(first, first + count)))
        self.popen.stdin.flush()
        return range(first, first + count)

    def find(self, wait, *kinds):
        """The last thing told of a wait that is one of kinds, or None."""
        with self.condition:
            for told in reversed(self.waits[wait]):
                if told.words[0] in kinds:
                    return told
        return None

    def told(self, wait, *kinds, seconds=None):
        return self.until("wait %d to be %s" % (wait, " or ".join(kinds)),
                          lambda: self.find(wait, *kinds), seconds)

    def queued(self, wait, seconds=None):
        """It is in the queue; how many are ahead of it, then."""
        return int(self.told(wait, "waits", seconds=seconds).words[1])

    def granted(self, wait, seconds=None):
        """Its grant; with an AssertionError if it ends without."""
        told = self.told(wait, "granted", "ended", seconds=seconds)
        if told.words[0] != "granted":
            raise AssertionError("wait %d ended: %s" % (
                wait, " ".join(told.words)))
        return told

    def failed(self, wait, seconds=None):
        """(status, text, instant) of one that ends without a grant."""
        told = self.told(wait, "granted", "ended", seconds=seconds)
        if told.words[0] != "ended":
            raise AssertionError("wait %d was granted" % wait)
        return told.words[1], " ".join(told.words[2:]), told.at_ms

    def release(self, wait, seconds=None):
        """Its status."""
        self.say("release", wait)
        return self.told(wait, "released", seconds=seconds).words[1]

    def check(self, wait):
        """(status, whether safe-until is ahead)."""
        with self.condition:
            checked = len(self.waits[wait])
        self.say("check", wait)
        told = self.until("wait %d to be checked" % wait, lambda: next((
            t for t in self.waits[wait][checked:]
            if t.words[0] == "checked"), None))
        return told.words[1], int(told.words[2]) > told.at_ms

    def cancel(self, wait):
        self.say("cancel", wait)

    # ---- the process

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.pid))

    def descriptor_kinds(self):
        """What /proc says of each; one may go meanwhile."""
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
        """Have it close everything and see that it ends well."""
        self.popen.stdin.close()
        status = self.popen.wait(waiting.LIMIT_S)
        self.reader.join(waiting.LIMIT_S)
        if status != 0:
            raise AssertionError("the crowd ended with %d" % status)

    def kill(self):
        self.process.kill()
        self.popen.stdin.close()
        self.popen.stdout.close()
