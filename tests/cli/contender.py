# SPDX-License-Identifier: Apache-2.0
"""A contender of the increments test.

    contender.py STATE COUNT TOOL LOCK   COUNT increments, each a run of TOOL
    contender.py STATE                   one increment, as the command of a run

STATE is a directory with the files "counter", the number, and "log", a line
"TOKEN VALUE" per increment that was made.  The critical section reads both and
writes both, with nothing but the lock to keep others out.  It can be killed at
any point: the line is written first, in one write; a number that was not
stored after it is made up for by the next.  So whatever is killed, the values
in the log are 1, 2, 3 and so on if and only if no two were inside at once.
"""

import os
import subprocess
import sys


def read_number(path):
    with open(path) as file:
        return int(file.read() or 0)


def last_value(path):
    with open(path) as file:
        lines = file.read().splitlines()
    return int(lines[-1].split()[1]) if lines else 0


def write(path, flags, text):
    descriptor = os.open(path, os.O_WRONLY | flags)
    os.write(descriptor, text.encode())
    os.close(descriptor)


def increment(state):
    counter, log = os.path.join(state, "counter"), os.path.join(state, "log")
    value = max(read_number(counter), last_value(log)) + 1
    write(log, os.O_APPEND, "%s %d\n" % (os.environ["HOLDFAST_TOKEN"], value))
    write(counter, 0, "%020d\n" % value)


def contend(state, count, tool, lock):
    command = [sys.executable, os.path.abspath(__file__), state]
    for _ in range(count):
        status = subprocess.run([tool, "run", lock, "--"] + command).returncode
        if status != 0:
            return status
    return 0


def make_state(state):
    """Make the files from which contenders start."""
    os.mkdir(state)
    for name in ("counter", "log"):
        with open(os.path.join(state, name), "w"):
            pass


def check(state):
    """The number of increments, if none was lost and tokens rose; else an
    AssertionError that says where."""
    token_before = 0
    with open(os.path.join(state, "log")) as file:
        lines = file.read().splitlines()
    for number, line in enumerate(lines, 1):
        token, value = map(int, line.split())
        assert value == number, "increment %d wrote %d" % (number, value)
        assert token > token_before, "token %d after %d" % (token,
                                                            token_before)
        token_before = token
    assert read_number(os.path.join(state, "counter")) <= len(lines)
    return len(lines)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        increment(sys.argv[1])
    else:
        sys.exit(contend(sys.argv[1], int(sys.argv[2]), *sys.argv[3:5]))
