# SPDX-License-Identifier: Apache-2.0
"""Many shells add to one counter under one lock while they are killed at
random: no update is lost, tokens rise, and nothing stays behind."""

import os
import random
import subprocess
import sys

import contender
import harness
from harness import machine, testing, waiting

SEED = int(os.environ.get("HF_SEED", random.randrange(1 << 32)))


class Increments(harness.Case):
    def setUp(self):
        super().setUp()
        # In a sanitizer build: its leak checker waits for ever for a helper
        # of its own that the random kills may hit.
        self.environment["ASAN_OPTIONS"] = "detect_leaks=0"

    def begin(self, count):
        process = machine.popen(
            [sys.executable, contender.__file__, self.state, str(count),
             harness.TOOL, "increments"],
            env=self.environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.started.append(process)
        return process

    def kill_one(self, chance, processes):
        """KILL a launcher, a supervisor or a command of a random contender: a
        holder or a waiter, as it comes."""
        launcher = harness.children(chance.choice(processes).pid)
        if not launcher:
            return False
        victims = launcher + harness.descendants(launcher[0])
        victim = chance.choice(victims)
        return machine.signal_if(
            lambda: machine.uses(victim, self.directory), victim)

    def run_all(self, contenders, increments, kills):
        wanted = kills
        chance = random.Random(SEED)
        print("HF_SEED=%d replays the choices" % SEED)
        self.state = self.path("state")
        contender.make_state(self.state)
        processes = [self.begin(increments) for _ in range(contenders)]
        while kills > 0:
            kills -= self.kill_one(chance, processes)
            harness.select.select([], [], [], chance.random() / 50)
            for index, process in enumerate(processes):
                # A contender whose run was killed begins anew.
                if process.poll() not in (None, 0):
                    processes[index] = self.begin(increments)
            if all(process.poll() == 0 for process in processes):
                break
        if wanted > 0:
            self.assertLess(kills, wanted, "all were done, and none killed")
        # The survivors finish, and so does who was killed last.
        for index, process in enumerate(processes):
            while process.wait(waiting.LIMIT_S * 10) != 0:
                process = self.begin(increments)
        return contender.check(self.state)

    def assert_nothing_left(self):
        self.assertEqual(self.run_tool("increments", "--", "true")[0], 0)
        self.assertEqual(self.tickets(), 0)
        for process in self.started:
            self.assertIsNotNone(process.poll())

    def test_without_kills(self):
        self.assertEqual(self.run_all(10, 5, 0), 50)
        self.assert_nothing_left()

    def test_with_kills(self):
        contenders, increments, kills = (25, 3, 40)
        made = self.run_all(contenders, increments, kills)
        self.assertGreaterEqual(made, contenders * increments)
        self.assert_nothing_left()

    @testing.when(testing.LONG)
    def test_with_kills_for_long(self):
        made = self.run_all(25, 100, 2000)
        self.assertGreaterEqual(made, 2500)
        self.assert_nothing_left()


if __name__ == "__main__":
    harness.main()
