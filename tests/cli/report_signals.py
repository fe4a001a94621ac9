# SPDX-License-Identifier: Apache-2.0
"""A command that prints the name of each signal it gets, a line each, in the
order of arrival.  It ends with status 9 at the line "end", with 1 at the end of
its input.

It is not a shell with traps, because a shell that is about to read(2) when the
signal comes runs the trap only after it has read something: bash did so for
about one signal of 15,000."""

import os
import select
import signal
import sys

arrived, arrives = os.pipe()
os.set_blocking(arrives, False)
signal.set_wakeup_fd(arrives)
for name in ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM"):
    signal.signal(getattr(signal, "SIG" + name), lambda *_: None)
print("ready", flush=True)
while True:
    readable = select.select([arrived, 0], [], [])[0]
    if arrived in readable:
        for number in os.read(arrived, 64):
            print(signal.Signals(number).name.removeprefix("SIG"), flush=True)
    else:
        sys.exit(9 if os.read(0, 64) == b"end\n" else 1)
