# SPDX-License-Identifier: Apache-2.0
"""What the tests of the package for Python share."""
import asyncio
import os
import shutil
import subprocess
import sys
import unittest

import holdfast

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402,F401

TOOL = os.environ["HOLDFAST"]


class Case(unittest.TestCase):
    """A lock directory of its own."""

    def setUp(self):
        self.directory = machine.directory("python")
        self.addCleanup(shutil.rmtree, self.directory)
        self.url = "file:{0}/run?state={0}/state".format(self.directory)

    def tool(self, *words):
        return subprocess.run(
            [TOOL, *words[:1], "--url", self.url, *words[1:]], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
            timeout=waiting.LIMIT_S).stdout

    def script(self, text, *arguments, **options):
        """A program in Python with standard input and output."""
        process = machine.popen(
            [sys.executable, "-X", "dev", "-c", text, self.url, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **options)
        for last in (process.stdin.close, process.stdout.close,
                     process.stderr.close, process.wait, process.kill):
            self.addCleanup(last)
        return process

    def run_with_client(self, main, **options):
        """Run the coroutine function ${main} with a client of asyncio."""
        async def run():
            async with holdfast.AsyncClient(self.url, **options) as client:
                await asyncio.wait_for(main(client), waiting.LIMIT_S)
        asyncio.run(run(), debug=True)

    async def until(self, said):
        while not said():
            await asyncio.sleep(0.01)

    async def queued(self, client, name, count):
        while len(await client.lock(name).tickets()) != count:
            await asyncio.sleep(0.01)
