# SPDX-License-Identifier: Apache-2.0
"""The contenders of holdfast torture on one host, and the history that they
write."""

import os
import signal
import subprocess

import machine
import waiting


def notes_of(history, offset=0):
    """The words of each complete line from that offset on."""
    with open(history) as file:
        file.seek(offset)
        return [line.split() for line in file.read().splitlines()[1:-1]]


class Contenders:
    """Run holdfast torture until stop()."""

    def __init__(self, arguments, host, history, url):
        self.history = history
        self.process = machine.Process(
            [*arguments, "--history", history], host=host,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(os.environ, HOLDFAST_URL=url))

    def notes(self, offset=0):
        return notes_of(self.history, offset)

    def locks(self, word, offset=0):
        """The locks of the lines with this word."""
        return {note[3] for note in self.notes(offset) if note[2] == word}

    def noted_bytes(self):
        return os.path.getsize(self.history)

    def grants(self):
        """The instants of all grants, in ms."""
        return [int(note[0]) / 1000 for note in self.notes()
                if note[2] == "grant"]

    def faults(self):
        """The lines about contenders that were killed or frozen."""
        return [note for note in self.notes()
                if note[2] in ("died", "frozen")]

    def stop(self):
        self.process.signal(signal.SIGTERM)

    def end(self):
        """Its exit status and all of its output."""
        out, err = self.process.popen.communicate(timeout=waiting.LIMIT_S)
        return self.process.popen.returncode, (out + err).decode()

    def close(self):
        self.process.kill()


def merge(histories, path):
    """Merge histories into one.  Contenders of two histories are different,
    though they have the same name."""
    with open(path, "w") as merged:
        for number, history in enumerate(histories):
            with open(history) as file:
                first = next(file)
                if number == 0:
                    merged.write(first)
                for line in file:
                    at, client, rest = line.split(" ", 2)
                    merged.write("%s %s%s %s" % (
                        at, chr(ord("a") + number), client, rest))
