#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The functions that docs/architecture.md says are called are called.

    test_documented_calls.py SIM_CALLS

The page says "`sim/documented-calls` runs
`tests/simulator/scripts/documented/NAME.script`" and has tables below that, whose
rows name a file and a function.  The program SIM_CALLS runs each script and writes
down every call into the core and the client of ZooKeeper.  All rows of the tables
of a script, from the first to the last, must be among these calls, in this order.
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
RUNS = re.compile(r"`sim/documented-calls`\s+runs\s+"
                  r"`(tests/simulator/scripts/documented/[a-z0-9-]+\.script)`")
ROW = re.compile(r"^\| `([a-z0-9_/]+\.c)` \| `(\w+)\(\)` \|", re.M)
# The test fails if it finds fewer than these on the page.
SCRIPTS = 4
STEPS_MIN = 80


def documented():
    """What the page says: {script: [(file, function)]}."""
    _, *parts = RUNS.split(PAGE.read_text())
    return {script: ROW.findall(text.split("\n## ")[0])
            for script, text in zip(parts[::2], parts[1::2])}


def called(program, script):
    """What the program did: [(file, function)]."""
    with tempfile.TemporaryDirectory() as folder:
        calls = pathlib.Path(folder) / "calls"
        subprocess.run([program, "--script", ROOT / script],
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


def compare(script, steps, calls):
    at = 0
    for number, step in enumerate(steps, 1):
        if step not in calls[at:]:
            why = "earlier" if step in calls else "never"
            behind = f" behind {steps[number - 2][1]}()" if number > 1 else ""
            sys.exit(f"{PAGE}: {script}: step {number} of {len(steps)}, "
                     f"{step[1]}() of {step[0]}, is not called{behind}, but "
                     f"{why}")
        at = calls.index(step, at) + 1
    print(f"{script}: {len(steps)} steps among {len(calls)} calls")


def main(program):
    page = documented()
    count = sum(map(len, page.values()))
    if len(page) != SCRIPTS or count < STEPS_MIN:
        sys.exit(f"{PAGE}: {len(page)} scripts of {count} steps, expected "
                 f"{SCRIPTS} of {STEPS_MIN} at least")
    for script, steps in page.items():
        compare(script, steps, called(program, script))


if __name__ == "__main__":
    main(sys.argv[1])
