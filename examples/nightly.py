#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One run of a nightly job at a time, wherever it is started."""
import sys

import holdfast


def write_report(token):
    print("writing the report with token", token)


try:
    with holdfast.Client() as client, \
            client.lock("nightly", timeout=30) as grant:
        write_report(grant.token)
except holdfast.Timeout as failure:
    sys.exit(f"another run goes on: {failure}")
