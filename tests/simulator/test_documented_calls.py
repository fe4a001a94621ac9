#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The life of a lock, and what is lost in it, are as docs/architecture.md tells.

    test_life.py SIM_CALLS

The page says "`sim/life` plays `tests/sim/NAME.story`" and has tables below that,
whose rows name a file and a function.  Each story is played by the simulator, with
every call into the core and the client of ZooKeeper noted.  All rows of the tables
of a story, from the first to the last, must be among its calls, in this order.
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
PLAYS = re.compile(r"`sim/life`\s+plays\s+`(tests/sim/[a-z0-9-]+\.story)`")
ROW = re.compile(r"^\| `([a-z0-9_/]+\.c)` \| `(\w+)\(\)` \|", re.M)
# Should the page be written in another way, the test says so.
STORIES = 4
STEPS_MIN = 80


def told():
    """What the page says: {story: [(file, function)]}."""
    _, *parts = PLAYS.split(PAGE.read_text())
    return {story: ROW.findall(text.split("\n## ")[0])
            for story, text in zip(parts[::2], parts[1::2])}


def called(program, story):
    """What the program did: [(file, function)]."""
    with tempfile.TemporaryDirectory() as place:
        calls = pathlib.Path(place) / "calls"
        subprocess.run([program, "--story", ROOT / story],
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


def compare(story, steps, calls):
    at = 0
    for number, step in enumerate(steps, 1):
        if step not in calls[at:]:
            why = "earlier" if step in calls else "never"
            behind = f" behind {steps[number - 2][1]}()" if number > 1 else ""
            sys.exit(f"{PAGE}: {story}: step {number} of {len(steps)}, "
                     f"{step[1]}() of {step[0]}, is not called{behind}, but "
                     f"{why}")
        at = calls.index(step, at) + 1
    print(f"{story}: {len(steps)} steps among {len(calls)} calls")


def main(program):
    page = told()
    count = sum(map(len, page.values()))
    if len(page) != STORIES or count < STEPS_MIN:
        sys.exit(f"{PAGE}: {len(page)} stories of {count} steps, expected "
                 f"{STORIES} of {STEPS_MIN} at least")
    for story, steps in page.items():
        compare(story, steps, called(program, story))


if __name__ == "__main__":
    main(sys.argv[1])
