#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many processes increment a counter in a file under one lock, half of them
through the library and half through holdfast run, while holders and waiters
are killed at random and started again; then the same after the lock directory
was removed, and after two kinds of reboot.

    test_increments.py CONTENDER HOLDFAST [--processes N] [--each N] [--seed N]
"""

import argparse
import os
import random
import select
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402

NAME = "increments/and kills"


class Contender(threading.Thread):
    """Runs one process after another until its share is in the log."""

    def __init__(self, fixture, number, share):
        super().__init__(daemon=True)
        self.fixture = fixture
        self.id = f"{fixture.phase}.{number}"
        self.through_tool = number % 2 == 1
        self.share = share
        self.process = None
        self.errors = []

    def command(self, left):
        f = self.fixture
        if self.through_tool:
            return [f.holdfast, "run", "-q", "-c", f.url, NAME, "--",
                    f.contender, "once", f.directory, self.id]
        return [f.contender, "add", f.url, NAME, f.directory, self.id,
                str(left)]

    def run(self):
        while (left := self.share - self.fixture.done_by(self.id)) > 0:
            # In a group of its own: the kernel sends SIGHUP to a group that has
            # become an orphan while a process in it is stopped.  That happens
            # when a supervisor is killed while a leak checker has stopped the
            # command.
            self.process = machine.popen(self.command(left),
                                         stderr=subprocess.PIPE)
            error = self.process.communicate()[1]
            # 137: the command was killed.  76: a supervisor was killed while it
            # held the lock; 70: while it waited.
            if self.process.returncode not in (0, -9, 137, 76, 70):
                self.errors.append((self.process.returncode, error))
                return


class Fixture:
    def __init__(self, options):
        self.contender = os.path.abspath(options.contender)
        self.holdfast = os.path.abspath(options.holdfast)
        self.processes = options.processes
        self.random = random.Random(options.seed)
        self.directory = machine.directory("increments", on_disk=True)
        self.root = os.path.join(self.directory, "run")
        self.state = os.path.join(self.directory, "state")
        self.url = f"file:{self.root}?state={self.state}"
        self.phase = 0
        self.kills = 0

    def lines(self):
        try:
            with open(os.path.join(self.directory, "log")) as log:
                return [line.split() for line in log]
        except FileNotFoundError:
            return []

    def done_by(self, name):
        return sum(1 for line in self.lines() if line[0] == name)

    def kill_one(self, contenders):
        """Kill the process of a contender, or one of its children."""
        contender = self.random.choice(contenders)
        if contender.process is None:
            return
        victims = [contender.process.pid]
        try:
            path = f"/proc/{victims[0]}/task/{victims[0]}/children"
            with open(path) as children:
                victims += [int(pid) for pid in children.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            pass
        victim = self.random.choice(victims)
        self.kills += machine.signal_if(
            lambda: machine.uses(victim, self.directory), victim)

    def logged(self):
        try:
            return os.stat(os.path.join(self.directory, "log")).st_size
        except FileNotFoundError:
            return 0

    def until_more(self, contenders, began):
        """Wait until the lock was granted again, or all are done."""
        before = self.logged()
        while self.logged() == before and any(c.is_alive()
                                              for c in contenders):
            if time.monotonic() - began > 1200:
                sys.exit("not everyone finished")
            select.select([], [], [], 0.002)

    def contend(self, share, kills):
        self.phase += 1
        contenders = [Contender(self, i, share) for i in range(self.processes)]
        for contender in contenders:
            contender.start()
        began = time.monotonic()
        while any(contender.is_alive() for contender in contenders):
            if kills:
                self.kill_one(contenders)
            self.until_more(contenders, began)
        errors = [e for contender in contenders for e in contender.errors]
        if errors:
            sys.exit(f"a contender failed: {errors[0]}")
        self.check(share)

    def check(self, share):
        lines = self.lines()
        tokens = [int(line[1]) for line in lines]
        numbers = [int(line[2]) for line in lines]
        with open(os.path.join(self.directory, "counter")) as counter:
            total = int(counter.read())
        # The log is written inside the lock, so it is in the order of grants.
        # One contender may have several lines with one token only if it logged
        # twice in one grant, which it never does.
        assert all(a < b for a, b in zip(tokens, tokens[1:])), "tokens"
        assert all(a < b for a, b in zip(numbers, numbers[1:])), "lost update"
        for i in range(self.processes):
            assert self.done_by(f"{self.phase}.{i}") >= share
        # A kill between the two writes leaves a number out of the log.
        assert 0 <= total - len(lines) <= self.kills, (total, len(lines))
        self.check_nothing_left()

    def left(self):
        return [(where, files) for where, _, files in
                os.walk(os.path.join(self.root, "locks"))][1:]

    def check_nothing_left(self):
        """The next run removes what a killed one has left.  The supervisor of
        a killed launcher may take a moment to end."""
        until = time.monotonic() + 20
        while True:
            subprocess.run([self.holdfast, "run", "-c", self.url, NAME, "--",
                            "true"], check=True)
            if not (left := self.left()):
                return
            assert time.monotonic() < until, left


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("contender")
    parser.add_argument("holdfast")
    parser.add_argument("--processes", type=int, default=50)
    parser.add_argument("--each", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    each = options.each or (100 if os.environ.get("HF_LONG") else 20)
    fixture = Fixture(options)
    try:
        fixture.contend(each, kills=True)
        killed = fixture.kills
        assert killed > 0, "all were done before one was killed"
        shutil.rmtree(os.path.join(fixture.root, "locks"))
        fixture.contend(1, kills=False)
        shutil.rmtree(fixture.root)  # a reboot
        fixture.contend(1, kills=False)
        shutil.rmtree(fixture.root)  # a reboot that lost the durable file too
        shutil.rmtree(fixture.state)
        fixture.contend(1, kills=False)
        print(f"{fixture.processes} processes x {each} increments, "
              f"{killed} kills, seed {options.seed}: {len(fixture.lines())} "
              "logged, none lost, tokens strictly rising, nothing left")
    finally:
        shutil.rmtree(fixture.directory, ignore_errors=True)


if __name__ == "__main__":
    main()
