# SPDX-License-Identifier: Apache-2.0
"""What a unit file of systemd says, and its command run as systemd would."""
import configparser
import os
import re
import shlex
import signal

import recipes


class Unit:
    """.unit, .service, .timer: the settings of each section.

    .command      the words of ExecStart=
    .environment  the variables
    .successes    statuses of subprocess that are no failures
    """

    def __init__(self, name):
        parser = configparser.ConfigParser(
            strict=True, interpolation=None, comment_prefixes="#",
            delimiters="=")
        parser.optionxform = str
        parser.read_string((recipes.RECIPES / name).read_text())
        self.service = dict(parser["Service"])
        self.command = shlex.split(self.service["ExecStart"])
        self.environment = dict(
            word.split("=", 1)
            for word in shlex.split(self.service["Environment"]))
        self.successes = {0} | {
            int(word) if word.isdigit() else -getattr(signal, word)
            for word in self.service["SuccessExitStatus"].split()}
        # Every type but oneshot may end so.
        if self.service.get("Type") != "oneshot":
            self.successes |= {-signal.SIGTERM}

    def stop_s(self):
        return seconds(self.service["TimeoutStopSec"])

    def start(self, case, command=None):
        """A process with its command and environment, with the programs and
        the server of the test."""
        words = [re.sub("^/usr(/local)?/bin/", "", word)
                 for word in command or self.command]
        case.assertEqual(words[0], "holdfast")
        case.assertEqual(list(self.environment), ["HOLDFAST_URL"])
        return case.start(*words[2:], command=words[1])


def seconds(text):
    """Of a duration in one unit, as both systemd and holdfast write it."""
    number, unit = re.fullmatch(r"(\d+)(s|m|h)", text).groups()
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]


def option(words, name):
    """The value of an option of a command; None: it is not there."""
    return words[words.index(name) + 1] if name in words else None


def grace_s(words):
    """What a command gives processes that are left behind, in seconds."""
    return seconds(option(words, "-g") or "5s")


def stop(process):
    """As systemd does with KillMode=mixed: SIGTERM to the main process."""
    os.kill(process.pid, signal.SIGTERM)


# A program that ends when it is asked to, and says how often it was.
SERVICE = ("trap 'echo asked; exit 143' TERM; echo began; "
           "while :; do sleep 0.02; done")

