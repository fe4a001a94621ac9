# SPDX-License-Identifier: Apache-2.0
"""holdfast show of what only ZooKeeper has: a double barrier, whose parties
are other programs, as Curator's are."""

import json
import os
import subprocess
import sys
import uuid

import harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import jute  # noqa: E402
from zookeeper import Standalone  # noqa: E402

NAME = "start"


class DoubleBarrier(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Standalone()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def show(self, *options):
        done = subprocess.run(
            [harness.TOOL, "show", "-c",
             "zk://127.0.0.1:%d" % self.server.port, *options, NAME],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=harness.PATIENCE_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_parties(self):
        with self.server.client() as client:
            def come(who):
                name = str(uuid.uuid4())
                client.create("/%s/%s" % (NAME, name), who.encode(),
                              jute.EPHEMERAL)
                return name

            client.create("/" + NAME, flags=jute.CONTAINER)
            self.assertEqual(self.show(),
                             "nobody holds or waits for start\n")
            parties = [come("10.0.0.1"), come("10.0.0.2")]
            rows = self.show().splitlines()
            self.assertRegex(
                rows[0], r"^# STATE KIND +AGE +TOKEN +DIALECT +OWNER$")
            self.assertRegex(
                rows[1], r"^1 waits member ~\d+s +\d+ +curator +10\.0\.0\.1$")
            self.assertRegex(
                rows[2], r"^2 waits member ~\d+s +\d+ +curator +10\.0\.0\.2$")
            self.assertEqual(len(rows), 3)
            client.create("/%s/ready" % NAME)
            parties.append(come("10.0.0.3"))
            found = json.loads(self.show("--json"))
            self.assertEqual(
                [(t["id"], t["state"], t["kind"], t["payload"])
                 for t in found["tickets"]],
                [(parties[0], "inside", "member", "10.0.0.1"),
                 (parties[1], "inside", "member", "10.0.0.2"),
                 (parties[2], "waits", "member", "10.0.0.3")])
            self.assertEqual(found["foreign"], [])
            tokens = [int(t["token"]) for t in found["tickets"]]
            self.assertEqual(tokens, sorted(set(tokens)))
        self.assertEqual(self.show(), "nobody holds or waits for start\n")


if __name__ == "__main__":
    harness.main()
