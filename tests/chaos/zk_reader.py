# SPDX-License-Identifier: Apache-2.0
"""A process of zk_reader.c: a handle of ZooKeeper that a test drives."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402


class Reader:
    """.states has the states that it has had, and .events "KIND PATH" of its
    watches, as far as lines were read."""

    def __init__(self, program, url, read_only=False):
        self.states = []
        self.events = []
        self.logged = []
        environment = dict(os.environ)
        # It leaves its watches to the end of the process.
        environment.setdefault("ASAN_OPTIONS", "detect_leaks=0")
        self.process = machine.popen(
            [program, url] + ["read_only"] * read_only, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=environment)

    def run(self, *words):
        """Run a command: the words of its answer."""
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self):
        while True:
            word, _, rest = waiting.read_line(self).partition(" ")
            if word == "=":
                return rest.split()
            {"state": self.states, "event": self.events,
             "log": self.logged}[word].append(rest)

    def is_read_only(self):
        return self.run("read_only") == ["1"]

    def close(self):
        self.process.kill()
        self.process.wait(waiting.LIMIT_S)
        self.process.stdin.close()
        self.process.stdout.close()
