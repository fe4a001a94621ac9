# SPDX-License-Identifier: Apache-2.0
"""holdfast show of a double barrier on ZooKeeper, whose participants are other
programs, such as Curator's."""

import json
import os
import subprocess
import sys
import uuid

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import jute  # noqa: E402
from zookeeper import Standalone  # noqa: E402

NAME = "start"


class Served(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Standalone()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()


class Kazoo(Served):
    """Programs with kazoo do not see tickets in the names of Curator."""

    def tool(self, command, query, *arguments):
        done = subprocess.run(
            [harness.TOOL, command, "-c", "zk://127.0.0.1:%d%s" % (
                self.server.port, query), *arguments],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=waiting.LIMIT_S)
        return done.returncode, done.stderr

    def test_its_tickets_beside_ours_are_reported(self):
        warning = ("/jobs has tickets in the layout of kazoo",
                   "put layout=kazoo into the URL, here it is layout=curator")
        commands = (("show", 0, ["jobs"]),
                    ("run", 75, ["--try", "jobs", "--", "true"]))
        with self.server.client() as client:
            client.create("/jobs")
            client.create("/jobs/%s__lock__" % uuid.uuid4().hex, b"kazoo",
                          jute.EPHEMERAL | jute.SEQUENTIAL)
            for command, expected, arguments in commands:
                with self.subTest(command=command):
                    status, err = self.tool(command, "", *arguments)
                    self.assertEqual(status, expected)
                    for part in warning:
                        self.assertEqual(err.count(part), 1, err)
                    status, err = self.tool(command, "?layout=kazoo",
                                            *arguments)
                    self.assertEqual(status, expected)
                    self.assertNotIn("layout", err)


class DoubleBarrier(Served):
    def show(self, *options):
        done = subprocess.run(
            [harness.TOOL, "show", "-c",
             "zk://127.0.0.1:%d" % self.server.port, *options, NAME],
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=waiting.LIMIT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_participants(self):
        with self.server.client() as client:
            def come(who):
                name = str(uuid.uuid4())
                client.create("/%s/%s" % (NAME, name), who.encode(),
                              jute.EPHEMERAL)
                return name

            client.create("/" + NAME, flags=jute.CONTAINER)
            self.assertEqual(self.show(),
                             "nobody holds or waits for start\n")
            participants = [come("10.0.0.1"), come("10.0.0.2")]
            rows = self.show().splitlines()
            self.assertRegex(
                rows[0], r"^# STATE KIND +QUEUED +HELD +TOKEN +LAYOUT +OWNER$")
            for row, position in ((rows[1], "1"), (rows[2], "2")):
                self.assertRegex(
                    row, "^" + position + r" waits participant ~\d+s +- +\d+ +"
                    r"curator +10\.0\.0\." + position + "$")
            self.assertEqual(len(rows), 3)
            client.create("/%s/ready" % NAME)
            participants.append(come("10.0.0.3"))
            found = json.loads(self.show("--json"))
            self.assertEqual(
                [(t["id"], t["state"], t["kind"], t["payload"])
                 for t in found["tickets"]],
                [(participants[0], "inside", "participant", "10.0.0.1"),
                 (participants[1], "inside", "participant", "10.0.0.2"),
                 (participants[2], "waits", "participant", "10.0.0.3")])
            self.assertEqual(found["unknown"], [])
            tokens = [int(t["token"]) for t in found["tickets"]]
            self.assertEqual(tokens, sorted(set(tokens)))
        self.assertEqual(self.show(), "nobody holds or waits for start\n")


if __name__ == "__main__":
    harness.main()
