# SPDX-License-Identifier: Apache-2.0
"""holdfast leading on each engine: who leads, and whether this machine does,
by the exit status, for probes that ask every second and leave nothing behind.

    test_leading.py [OnFiles] [OnZooKeeper] [OnEtcd] [OnRedis] [OnPostgreSql]
                    [OnQuorum]
"""

import json
import os
import re
import subprocess
import sys
import unittest

import engines
import harness
from harness import waiting

HERE = os.uname().nodename
# A machine with another name.  Who is not root may have one within a namespace
# of users.
ELSEWHERE = ["unshare", "--uts", *(
    [] if os.getuid() == 0 else ["--user", "--map-root-user"])]
UNSHARED = harness.can_unshare(*ELSEWHERE[1:])
RENAME = ("import os, socket, sys; socket.sethostname('elsewhere'); "
          "os.execv(sys.argv[1], sys.argv[1:])")
LEADS = re.compile(r"^holdfast \(pid \d+ on (\S+)\): sh -c, token "
                   r"(\d+), for ~?\d+\w+ at most\n$")


class Leading:
    def setUp(self):
        super().setUp()
        # The tests share a server.
        self.name = self._testMethodName.replace("_", "-")

    def ask(self, *options, name=None):
        """The exit status, the output and the error output."""
        done = subprocess.run(
            [harness.TOOL, "leading", "-c", self.url(), *options,
             name or self.name], text=True, capture_output=True,
            stdin=subprocess.DEVNULL, env=self.environment,
            timeout=waiting.LIMIT_S)
        return done.returncode, done.stdout, self.without_remarks(done.stderr)

    def without_remarks(self, err):
        return re.sub(engines.Etcd.SAID_OF_OLD, "", err)

    def status(self, *options):
        """The exit status alone is what a probe looks at."""
        status, out, err = self.ask("-q", *options)
        self.assertEqual((out, err), ("", ""))
        return status

    def parsed(self, *options):
        status, out, err = self.ask("--json", *options)
        self.assertEqual(err, "")
        found = json.loads(out)
        self.assertEqual(list(found), ["name", "leading", "leader"])
        self.assertEqual((found["name"], found["leading"]),
                         (self.name, status == 0))
        return status, found["leader"]

    def arguments(self):
        return ["-c", self.url(), self.name, "--", "sh", "-c",
                "echo began $HOLDFAST_TOKEN; exec sleep 1000"]

    def candidate(self, elsewhere=False):
        """Started on this machine, or on one with another name."""
        if not elsewhere:
            return self.start(*self.arguments(), command="elect")
        process = subprocess.Popen(
            [*harness.START[:-1], *ELSEWHERE, sys.executable, "-c", RENAME,
             harness.TOOL, "elect", *self.arguments()], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=self.environment, process_group=0)
        self.started.append(process)
        return process

    def token_of(self, candidate):
        """Once it leads."""
        return waiting.read_line(candidate).split()[1]

    # ---- what is there at the engine

    def made(self):
        """All that the server keeps, for a comparison."""
        raise NotImplementedError

    # ---- all

    def test_nobody_leads(self):
        self.holder("-c", self.url(), name=self.name + "-of-others")
        self.assertEqual(self.ask(), (1, "nobody leads %s\n" % self.name, ""))
        self.assertEqual(self.parsed(), (1, None))
        for options in ((), ("--here",), ("--host", HERE)):
            self.assertEqual(self.status(*options), 1)

    def test_a_leader_on_this_machine(self):
        token = self.token_of(self.candidate())
        status, out, err = self.ask()
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, LEADS)
        self.assertEqual(LEADS.match(out).groups(), (HERE, token))
        self.assertEqual(self.ask(name="/" + self.name)[0], 0)
        for options in ((), ("--here",), ("--host", HERE)):
            self.assertEqual(self.status(*options), 0)
        status, leader = self.parsed("--here")
        self.assertEqual((status, leader["token"], leader["state"]),
                         (0, token, "holds"))
        self.assertEqual(leader["owner"]["host"], HERE)
        # Another one leads: it is said who does.
        status, out, err = self.ask("--host", "nowhere")
        self.assertEqual((status, err), (1, ""))
        self.assertRegex(out, LEADS)
        self.assertEqual(self.parsed("--host", "nowhere")[1]["token"], token)
        self.assertEqual(self.status("--host", HERE[:-1] or "x"), 1)

    @unittest.skipUnless(UNSHARED, "this kernel makes no namespaces for us")
    def test_a_candidate_that_waits_does_not_lead(self):
        first = self.candidate(elsewhere=True)
        self.token_of(first)
        second = self.candidate()
        self.until_queued(self.name, 2, first, second)
        self.assertEqual([self.status(*options) for options in (
            (), ("--here",), ("--host", HERE), ("--host", "elsewhere"))],
            [0, 1, 1, 0])
        first.terminate()
        self.token_of(second)
        self.assertEqual([self.status(*options) for options in (
            (), ("--here",), ("--host", HERE), ("--host", "elsewhere"))],
            [0, 0, 0, 1])

    def test_who_leads_of_those_that_hold(self):
        """A mutex does, because elections of kazoo are mutexes."""
        for options, status in ((["-s"], 1), (["-x"], 0), (["-p", "1/2"], 1),
                                ([], 0)):
            holder = self.holder("-c", self.url(), *options, name=self.name)
            self.assertEqual(self.status("--here"), status, options)
            holder.stdin.close()
            holder.stdin = None
            self.finish(holder)

    def test_it_leaves_nothing_behind(self):
        self.holder("-c", self.url(), name=self.name + "-of-others")
        before = self.made()
        for _ in range(5):
            self.assertEqual(self.status("--here"), 1)
        waiting.eventually("the state from before",
                           lambda: self.made() == before)


class OnServer(Leading):
    def test_the_wait_is_bounded(self):
        self.token_of(self.candidate())
        self.server.freeze()
        try:
            status, out, err = self.ask("-w", "300ms")
        finally:
            self.server.thaw()
        self.assertIn(status, (69, 75))
        self.assertEqual(out, "")
        self.assertRegex(err, r"\Aholdfast: .*\n")


class OnFiles(Leading, engines.File, harness.Case):
    def made(self):
        return sorted(os.path.join(folder, name)
                      for folder, folders, names in os.walk(self.locks)
                      for name in folders + names)

    def refused(self, *options):
        status, out, err = self.ask(*options)
        self.assertEqual((status, out), (64, ""))
        return err

    def test_wrong_lines(self):
        self.assertIn("-q leaves nothing to print", self.refused("-qj"))
        self.assertIn("--here and --host contradict each other",
                      self.refused("--here", "--host", "db1"))
        self.assertIn("--host '': not the name of a machine",
                      self.refused("--host", ""))
        self.assertIn("--here", self.refused("--hre"))
        self.assertIn("'two'", self.refused("one", "two"))

    def test_where_no_candidate_has_been(self):
        """Nothing is made there, and a mistyped directory is no answer."""
        missing = self.path("missing")
        done = subprocess.run(
            [harness.TOOL, "leading", "-c", "file:" + missing, "name"],
            text=True, capture_output=True, env=self.environment,
            timeout=waiting.LIMIT_S)
        self.assertEqual((done.returncode, done.stdout), (73, ""))
        self.assertIn(missing, done.stderr)
        self.assertFalse(os.path.exists(missing))

    def test_an_owner_that_cannot_be_printed(self):
        """What others write steers no terminal."""
        holder = self.start("-c", self.url(), "-T", "\u00e4\u202e", self.name,
                            "--", "sh", "-c", "echo held; exec cat >/dev/null",
                            stdin=subprocess.PIPE)
        waiting.read_line(holder, "held")
        self.assertNotIn("\u202e", self.ask()[1])


class OnZooKeeper(OnServer, engines.ZooKeeper, harness.Case):
    def made(self):
        """And the sessions."""
        with self.server.client() as client:
            return client.tree(), self.server.mntr()["global_sessions"]


class OnEtcd(OnServer, engines.Etcd, harness.Case):
    def made(self):
        return [subprocess.run(
            ["etcdctl", "--endpoints", self.server.address(), *words],
            check=True, capture_output=True, text=True,
            timeout=waiting.LIMIT_S,
            env=dict(os.environ, ETCDCTL_API="3")).stdout for words in (
                ["get", "", "--prefix", "--keys-only"], ["lease", "list"])]

    def test_a_leader_that_names_no_machine(self):
        """As those of other programs, which write what they like."""
        elect = subprocess.Popen(
            ["etcdctl", "--endpoints", self.server.address(), "elect",
             self.name, "host=%s" % HERE], stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, ETCDCTL_API="3"))
        self.started.append(elect)
        waiting.read_line(elect)
        self.assertEqual(self.status(), 0)
        self.assertEqual(self.status("--here"), 1)


class OnRedis(OnServer, engines.Redis, harness.Case):
    def servers(self):
        return [self.server]

    def made(self):
        found = []
        for server in self.servers():
            with server.client() as client:
                found.append(sorted(client.ask("KEYS", "*")))
        return found


class OnPostgreSql(OnServer, engines.PostgreSql, harness.Case):
    def made(self):
        """Each table, and how many rows it has."""
        tables = [row[0] for row in self.server.sql(
            "select schemaname || '.' || tablename from pg_tables "
            "where schemaname not in ('pg_catalog', 'information_schema') "
            "order by 1")]
        return [(table, self.server.sql("select count(*) from " + table))
                for table in tables]


class OnQuorum(Leading, engines.Engine, harness.Case):
    @classmethod
    def setUpClass(cls):
        import redis_server
        cls.several = redis_server.Several(3, config=["appendonly yes",
                                                      "appendfsync always"])
        cls.addClassCleanup(cls.several.close)
        for server in cls.several.servers:
            server.start()

    def url(self):
        return self.several.url("?ttl=%dms&rejoin=%dms" % (
            self.lease_ms, self.lease_ms))

    made = OnRedis.made

    def servers(self):
        return self.several.servers


if __name__ == "__main__":
    harness.main()
