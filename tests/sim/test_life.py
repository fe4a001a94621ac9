#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The life of a lock is as docs/architecture.md tells it.

    test_life.py SIM_CALLS

Has the simulator play life.story, with each call into the core and the client
of ZooKeeper noted.  The rows of the tables in "The life of a lock" name a file
and a function; all of them, from the first table to the last, must be among
these calls, in this order.
"""

import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
ROW = re.compile(r"^\| `([a-z_/]+\.c)` \| `(\w+)\(\)` \|", re.M)
STEPS_MIN = 40  # should the page be written in another way, the test says so


def told():
    """What the page says: [(file, function)]."""
    text = PAGE.read_text()
    begin = text.index("\n## The life of a lock\n")
    end = text.find("\n## ", begin + 1)
    return ROW.findall(text[begin:end])


def called(program):
    """What the program did: [(file, function)]."""
    with tempfile.TemporaryDirectory() as place:
        calls = pathlib.Path(place) / "calls"
        subprocess.run([program, "--story", ROOT / "tests/sim/life.story"],
                       check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "HF_CALLS": str(calls)})
        addresses = [a for a, in struct.iter_unpack("<Q", calls.read_bytes())]
    known = sorted(set(addresses))
    lines = subprocess.run(["addr2line", "-f", "-e", program,
                            *(hex(a) for a in known)], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    names = {}
    for i, address in enumerate(known):
        file = lines[2 * i + 1].split(":")[0].rpartition("/src/")[2]
        names[address] = (file, lines[2 * i])
    return [names[a] for a in addresses]


def main(program):
    steps, calls = told(), called(program)
    if len(steps) < STEPS_MIN:
        sys.exit(f"{PAGE}: {len(steps)} steps, expected {STEPS_MIN} at least")
    at = 0
    for number, step in enumerate(steps, 1):
        if step not in calls[at:]:
            why = "earlier" if step in calls else "never"
            sys.exit(f"{PAGE}: step {number} of {len(steps)}, {step[1]}() of "
                     f"{step[0]}, is not called behind {steps[number - 2][1]}()"
                     f", but {why}")
        at = calls.index(step, at) + 1
    print(f"{len(steps)} steps among {len(calls)} calls")


if __name__ == "__main__":
    main(sys.argv[1])
