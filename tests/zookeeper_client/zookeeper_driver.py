# SPDX-License-Identifier: Apache-2.0
"""Runs the program zookeeper_driver.c: handles of the public ZooKeeper client in
one process, which does what the test says line by line and prints each
callback."""

import os
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402

# The numbers of <holdfast/zookeeper.h>.
KINDS = {"create": 1, "delete": 2, "exists": 3, "get": 4, "set": 5,
         "children": 7, "sync": 8, "get_acl": 9, "set_acl": 10,
         "ephemerals": 13, "count": 14, "add_watch": 15, "add_auth": 16,
         "whoami": 17, "reconfig": 19,
         # Those that zookeeper_driver.c adds.
         "create_protected": 101, "delete_guaranteed": 102, "update": 103}
MODES = {"persistent": 0, "ephemeral": 1, "sequential": 2,
         "ephemeral_sequential": 3, "container": 4, "ttl": 5,
         "ttl_sequential": 6}
WATCHES = {"data": 1, "children": 2, "persistent": 3, "recursive": 4}
PRIORITIES = {"normal": 0, "urgent": 1, "bulk": 2}
WAIT_MS = 20000


class Result:
    """How an operation ended: .status, .watching, .error, .text, and the rest
    by name; children and acls are lists."""

    def __init__(self, words):
        line = " ".join(words)
        head, _, self.text = line.partition(" text=")
        status, watching, error, *pairs = head.split(" ")
        self.status = status
        self.watching = watching == "1"
        self.error = int(error)
        self.children = []
        self.acls = []
        self.values = {}
        for pair in pairs:
            name, _, value = pair.partition("=")
            if name == "child":
                self.children.append(value)
            elif name == "acl":
                self.acls.append(value)
            else:
                self.values[name] = value

    def __getitem__(self, name):
        """The value of a name; None if the result does not have it."""
        return self.values.get(name)


class ZookeeperDriver:
    """One process of zookeeper_driver.c.  .lines are all that it printed, as
    lists of words."""

    def __init__(self, program, **options):
        self.condition = threading.Condition()
        self.lines = []
        self.ended = False
        self.next = {"session": 0, "op": 0, "watch": 0, "registration": 0}
        self.process = machine.Process(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            **options)
        self.popen = self.process.popen
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.popen.stdout:
            with self.condition:
                self.lines.append(line.rstrip("\n").split(" "))
                self.condition.notify_all()
        with self.condition:
            self.ended = True
            self.condition.notify_all()

    def say(self, *words, **options):
        self.popen.stdin.write(" ".join(
            [*map(str, words), *("%s=%s" % item for item in options.items()
                                 if item[1] is not None)]) + "\n")
        self.popen.stdin.flush()

    def number(self, what):
        self.next[what] += 1
        return self.next[what] - 1

    # ---- what it printed

    def of(self, what, number):
        """The lines of a session, an operation or a watch, without these two
        words."""
        with self.condition:
            return [line[2:] for line in self.lines
                    if line[:2] == [what, str(number)]]

    def until(self, what, condition):
        """Wait until condition() is true and return its value."""
        deadline = time.monotonic() + waiting.LIMIT_S
        with self.condition:
            while not (value := condition()):
                left = deadline - time.monotonic()
                if left <= 0 or self.ended:
                    raise AssertionError("waited in vain for %s%s; lines: %s" % (
                        what, ", and " + waiting.end_soon_of(self)
                        if self.ended else "",
                        [" ".join(line) for line in self.lines[-20:]]))
                self.condition.wait(left)
            return value

    def await_line(self, what, number, *words, after=0):
        """Wait for a line of it that begins with words, behind that many."""
        return self.until("%s %d %s" % (what, number, " ".join(words)), lambda: next(
            (line for line in self.of(what, number)[after:]
             if line[:len(words)] == list(words)), None))

    # ---- handles

    def open(self, url, **options):
        """The number of a new handle, which may not be connected yet."""
        number = self.number("session")
        self.say("open", number, url, **options)
        line = self.await_line("session", number, "opened")
        if line[1] != "HF_OK":
            raise AssertionError(" ".join(line))
        return number

    def opened(self, url, **options):
        number = self.open(url, **options)
        self.await_line("session", number, "CONNECTED")
        return number

    def states(self, session):
        """Without SUSPENDED's twins: each change of the state, in order."""
        return [line[0] for line in self.of("session", session)
                if line[0].isupper()]

    def session(self, session):
        """ID:PASSWORD:TIMEOUT of the session, or its status."""
        count = len([line for line in self.of("session", session)
                     if line[0] == "is"])
        self.say("session", session)
        line = self.until("the session", lambda: next(iter(
            [line for line in self.of("session", session)
             if line[0] == "is"][count:]), None))
        return ":".join(line[2:]) if line[1] == "HF_OK" else line[1]

    def close(self, session):
        self.say("close", session)
        return self.await_line("session", session, "closed")[1]

    # ---- operations

    def start(self, session, kind, path=None, wait_ms=WAIT_MS, **options):
        """The number of an operation that was started."""
        number = self.number("op")
        for name, values in (("mode", MODES), ("priority", PRIORITIES)):
            if name in options:
                options[name] = values[options[name]]
        self.say("start", number, session, KINDS[kind], wait_ms, path=path,
                 **options)
        return number

    def has_ended(self, number):
        return bool(self.of("op", number))

    def result(self, number):
        """Wait for its end."""
        self.until("the end of operation %d" % number,
                   lambda: self.has_ended(number))
        return Result(self.of("op", number)[0])

    def do(self, session, kind, path=None, **options):
        return self.result(self.start(session, kind, path, **options))

    def ok(self, session, kind, path=None, **options):
        """The result of an operation that must succeed."""
        result = self.do(session, kind, path, **options)
        if result.status != "HF_OK":
            raise AssertionError("%s %s: %s %s" % (kind, path, result.status,
                                                   result.text))
        return result

    # ---- watches

    def watch(self, session, kind, path):
        """The number of a watch that is not set yet."""
        number = self.number("watch")
        self.say("watch", number, session, WATCHES[kind], path)
        line = self.await_line("watch", number, "opened")
        if line[1] != "HF_OK":
            raise AssertionError(" ".join(line))
        return number

    def added(self, session, kind, path):
        """A persistent watch that is set."""
        watch = self.watch(session, kind, path)
        self.ok(session, "add_watch", watch=watch)
        return watch

    def events(self, watch):
        """Those that came, as "KIND PATH"."""
        return [" ".join(line) for line in self.of("watch", watch)
                if line[0].isupper()]

    def await_event(self, watch, event):
        self.await_line("watch", watch, *event.split(" "))

    def unwatch(self, watch):
        self.say("unwatch", watch)
        self.await_line("watch", watch, "freed")

    # ---- registrations

    def register(self, session, path, data=None):
        """The number of a registration, which may not be registered yet."""
        number = self.number("registration")
        self.say("register", number, session, path, data=data)
        line = self.await_line("registration", number, "opened")
        if line[1] != "HF_OK":
            raise AssertionError(" ".join(line))
        return number

    def registration_events(self, registration):
        """Those that came, as "KIND STATUS"."""
        return [" ".join(line[:2])
                for line in self.of("registration", registration)
                if line[0].isupper()]

    def await_registration(self, registration, event, after=0):
        """Wait for an event "KIND STATUS" behind that many; its line."""
        return self.until(
            "%s of registration %d" % (event, registration),
            lambda: next((line for line in
                          [line for line in self.of("registration", registration)
                           if line[0].isupper()][after:]
                          if " ".join(line[:2]) == event), None))

    def reset(self, registration, data=None):
        self.say("reset", registration, "-", data=data)

    def wait_registered(self, registration, wait_ms=WAIT_MS):
        """The status of a wait for it."""
        count = len(self.waits(registration))
        self.say("registered", registration, wait_ms)
        return self.until("the wait for registration %d" % registration,
                          lambda: self.waits(registration)[count:])[0]

    def waits(self, registration):
        return [line[1] for line in self.of("registration", registration)
                if line[0] == "waited"]

    def unregister(self, registration, wait_ms=WAIT_MS):
        """The status of its close."""
        self.say("unregister", registration, wait_ms)
        return self.await_line("registration", registration, "closed")[1]

    def free_registration(self, registration):
        self.say("unregister", registration, "free")
        self.await_line("registration", registration, "freed")

    # ---- its end

    def check_drops(self):
        """Every callback that was taken was dropped once, after its call."""
        for number in range(self.next["op"]):
            words = [line[0] for line in self.of("op", number)]
            if len(words) != 2 or words[1] != "dropped":
                raise AssertionError("operation %d: %s" % (number, words))
        for number in range(self.next["watch"]):
            words = [line[0] for line in self.of("watch", number)]
            if words.count("dropped") != 1:
                raise AssertionError("watch %d: %s" % (number, words))
        for number in range(self.next["registration"]):
            words = [line[0] for line in self.of("registration", number)]
            if words.count("dropped") != 1:
                raise AssertionError("registration %d: %s" % (number, words))

    def end(self):
        """Let it close everything, and check how it ends."""
        self.popen.stdin.close()
        status = self.popen.wait(waiting.LIMIT_S)
        self.reader.join(waiting.LIMIT_S)
        if status != 0:
            raise AssertionError(waiting.end_of(self))
        self.check_drops()

    def kill(self):
        self.process.kill()
        self.popen.stdin.close()
        self.reader.join(waiting.LIMIT_S)
        self.popen.stdout.close()
