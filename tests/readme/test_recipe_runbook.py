#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/recipes/runbook.md: each symptom on an engine where it happens, with its
real servers, and the figures of its table.

    test_recipe_runbook.py [CLASS]"""
import os
import re
import shlex
import signal
import socket
import subprocess
import unittest

import recipes
from recipes import engines, harness, waiting

import ensemble
import etcd
import redis_server
from proxy import Proxy

DOCUMENT = recipes.document("runbook.md")
TEXT = " ".join(DOCUMENT.text.split())

NOT_CONFIRMED = "the engine did not confirm it in time"
STOOD_STILL = "did not move in time to prove that it still does"

# Of tests in which leases end.
LEASE_MS = 4000
# Of tests in which a server is away and nothing may be lost, whatever else the
# machine has to do.
LONG_LEASE = "40s"


# ---------------------------------------------- how long an outage is survived

def safe_after_ms(lease_ms):
    """How long after its sending a renewal proves that the lock is held."""
    return lease_ms - -(-lease_ms * 9 // 109)


def margin_ms(lease_ms):
    return max(200, safe_after_ms(lease_ms) / 20)


def survived(lease_ms, quarters):
    """The instants of an outage (least, most) at which a command gets SIGTERM
    and SIGKILL and a program is notified of LOST.  quarters: how old the proof
    is at most that the last renewal before it has brought, in quarters of the
    lease."""
    least = safe_after_ms(lease_ms) - quarters * lease_ms / 4
    margin = margin_ms(lease_ms)
    grace = min(5000, (least - margin) / 2)
    return [(at, at + lease_ms / 4)
            for at in (least - margin - grace, least - margin, least)]


class Figures(unittest.TestCase):
    """The table is what the lease and the constants of the code make it."""

    def text(self, instants):
        return "%.1f to %.1f s" % tuple(at / 1000 for at in instants)

    def test_the_table(self):
        for engine, quarters in (("zk:", 2), ("etcd:", 1), ("redis:", 1),
                                 ("postgresql:", 1), ("quorum:", 1)):
            with self.subTest(engine):
                row, = re.findall(rf"(?m)^\| `{engine}` \| .*=10s` \| (.*) \|$",
                                  DOCUMENT.text)
                usual = survived(10000, quarters)
                longer = survived(30000, quarters)[:2]
                self.assertEqual(row.split(" | "), [
                    *map(self.text, usual), ", ".join(map(self.text, longer))])


# ---------------------------------------------------------------------- helpers

class Case(recipes.Case):
    document = DOCUMENT

    def assert_said(self, shown, printed):
        """The document shows it, and it was printed."""
        self.assertIn(shown, TEXT)
        self.assertIn(shown, " ".join(printed.split()))

    def replace(self, *pairs):
        """What the block of this test has for a name or an address."""
        for was, is_now in pairs:
            self.assertIn(was, self.text)
            self.text = self.text.replace(was, is_now)

    def held_and_waited(self):
        """A holder, which ends when its input does, and one that waits."""
        self.holding = self.holder(name="deploy")
        self.ticket = self.until_held("deploy", self.holding)
        self.next = self.start("deploy", "--", "echo", "entered")
        self.wait_for_queue("deploy", 2, self.holding, self.next)

    def assert_kept(self):
        """Both have the tickets of before, and the next one enters."""
        first, _ = self.queue("deploy")
        self.assertEqual(first["token"], self.ticket["token"])
        self.holding.stdin.close()
        self.holding.stdin = None
        self.assertEqual(self.finish(self.holding)[0], 0)
        self.assertEqual(self.finish(self.next)[:2], (0, "entered\n"))

    def doctor(self):
        return self.shell("holdfast doctor")[1]

    def until_doctor_says(self, pattern):
        waiting.eventually(f"doctor to say {pattern}",
                           lambda: re.search(pattern, self.doctor()))


class Leases:
    """A mixin for an engine whose leases end in tests."""
    lease_ms = LEASE_MS


class OnEtcd(recipes.Leased, engines.Etcd, Case):
    """A real etcd, with a prefix for each test."""
    layout = "holdfast"

    def url(self):
        return super().url().replace("?", f"/{self._testMethodName}?")

    def shell(self, script):
        status, said = super().shell(script)
        return status, re.sub("(?m)" + self.SAID_OF_OLD, "", said)


# --------------------------------------------------------------- everybody waits

class EverybodyWaits:
    @recipes.block("$ holdfast ls -l")
    def test_a_holder_that_hangs(self):
        self.until_held("deploy", self.occupy("deploy", program="./deploy.sh"))
        self.wait_for_queue("deploy", 2,
                            self.occupy("deploy", program="./deploy.sh"))
        self.follow()

    @recipes.block("$ holdfast doctor | grep -A1 ' deadlock:'")
    def test_two_wait_for_each_other(self):
        runs = self.cross(("deploy", "deploy.sh", "backup", "upload.sh"),
                          ("backup", "backup.sh", "deploy", "copy.sh"))
        for name in ("deploy", "backup"):
            self.wait_for_queue(name, 2, *runs)
        (command, wanted), = recipes.transcript(self.text)
        other = {"deploy": "backup", "backup": "deploy"}
        self.assertIn(self.shell(command)[1].split(), [  # begins with either
            wanted.split(), re.sub("deploy|backup", lambda name: other[name[0]],
                                   wanted).split()])

    @recipes.block("$ holdfast show deploy")
    def test_another_engine(self):
        """That of the program that waits is not that of the operator."""
        self.until_held("deploy", self.occupy("deploy"))
        waits = self.occupy("deploy")
        self.wait_for_queue("deploy", 2, waits)
        self.replace(("file:/srv/locks", self.environment["HOLDFAST_URL"]))
        os.mkdir(self.path("other"), 0o700)
        self.environment["HOLDFAST_URL"] = "file:" + self.path("other")
        self.follow(("4711", str(waits.pid)))


class WaitsOnFiles(EverybodyWaits, recipes.OnFiles, Case):
    pass


class WaitsOnZooKeeper(EverybodyWaits, recipes.OnZooKeeper, Case):
    pass


class WaitsOnRedis(EverybodyWaits, recipes.OnRedis, Case):
    pass


class WaitsOnPostgreSql(EverybodyWaits, recipes.OnPostgreSql, Case):
    pass


class WaitsOnEtcd(EverybodyWaits, OnEtcd):
    pass


# ------------------------------------------------------------ the engine was away

class Away(Leases):
    def freeze(self):
        self.server.freeze()

    def thaw(self):
        self.server.thaw()

    def leader(self):
        leads = self.start("service", "--", "sh", "-c",
                           "echo began; exec sleep 1000", command="elect")
        waiting.read_line(leads, "began")
        return leads

    def is_late(self, said):
        """The launcher has ended the command, because the supervisor got no
        processor in time: as on a machine that stands still."""
        return STOOD_STILL in said

    def assert_stopped(self, said):
        if not self.is_late(said):
            self.assert_said(NOT_CONFIRMED, said)
            self.assert_said("was lost while the command ran", said)

    def assert_leads_again(self, leads):
        """By itself; an elect that was late has ended, and is started again."""
        if leads.stdout.readline() == "began\n":
            leads.terminate()
            self.assertIn(NOT_CONFIRMED, self.finish(leads)[2])
            return
        status, _, said = self.finish(leads)
        self.assertEqual((status, self.is_late(said)), (76, True), said)
        self.leader()

    def test_what_each_does(self):
        holds = self.occupy("deploy")
        self.until_held("deploy", holds)
        waits = self.start("deploy", "--", "echo", "entered")
        self.wait_for_queue("deploy", 2, holds, waits)
        leads = self.leader()
        ends = self.holder(name="short")
        self.freeze()
        ends.stdin.close()
        ends.stdin = None
        self.assertEqual(
            self.run_tool("-w", "1", "other", "--", "true")[0], 69)
        status, _, said = self.finish(holds)
        self.assertEqual(status, 76)
        self.assert_stopped(said)
        status, _, said = self.finish(ends)
        self.assertEqual(status, 76)
        self.assertIn("lost", said)
        self.assertIsNone(waits.poll())
        self.thaw()
        self.assertEqual(self.finish(waits)[:2], (0, "entered\n"))
        self.assert_leads_again(leads)

    def test_the_command_is_not_stopped_before_its_time(self):
        """That of the table, counted from before the first proof."""
        began_ms = waiting.now_ms()
        holds, waits, pids = self.held_on_a_frozen_server()
        for pid in pids:
            harness.ended(pid)
        self.assertGreaterEqual(
            waiting.now_ms() - began_ms,
            safe_after_ms(LEASE_MS) - margin_ms(LEASE_MS))
        self.thaw()
        self.assert_followed(holds, waits)

    def test_the_command_is_stopped_before_the_next_one_enters(self):
        """Although the server goes on as soon as it was asked to end."""
        holds, waits, _ = self.held_on_a_frozen_server()
        # Or nothing: on a busy machine SIGKILL may come before it was printed.
        self.assertIn(holds.stdout.readline(), ("TERM\n", ""))
        self.thaw()
        self.assert_followed(holds, waits)

    def held_on_a_frozen_server(self):
        """A holder that goes on after SIGTERM, the next one, and the pids."""
        holds = self.start("deploy", "--", "sh", "-c",
                           "trap 'echo TERM' TERM; %s & "
                           "while :; do sleep 0.05; done" %
                           self.beat_command("holds", flags="t"))
        pids = self.beating("holds", 1)
        waits = self.start("deploy", "--", "sh", "-c",
                           "exec " + self.beat_command("waits", 5))
        self.wait_for_queue("deploy", 2, holds, waits)
        self.freeze()
        return holds, waits, pids

    def assert_followed(self, holds, waits):
        self.assertEqual(self.finish(holds)[0], 76)
        self.assertEqual(self.finish(waits)[0], 0)
        self.assert_before("holds", "waits")


class AwayOnZooKeeper(Away, recipes.OnZooKeeper, Case):
    pass


class AwayOnEtcd(Away, OnEtcd):
    pass


class AwayOnPostgreSql(Away, recipes.OnPostgreSql, Case):
    pass


class AwayOnRedis(Away, recipes.OnRedis, Case):
    @recipes.block("$ holdfast doctor -w 2s | grep -A1 ^error")
    def test_how_it_looks(self):
        self.replace(("redis1/0", self.server.address() + "/0"),
                     ("redis1:", self.server.address() + ":"))
        self.server.stop()
        self.follow()
        self.server.start()

    @recipes.block("$ holdfast run probe -- echo works")
    def test_it_is_over(self):
        self.follow()


class AwayOnQuorum(Away, Case):
    """Two of three are away."""
    server = None

    @classmethod
    def setUpClass(cls):
        cls.servers = redis_server.Several(3)
        cls.addClassCleanup(cls.servers.close)
        cls.servers.__enter__()

    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_URL"] = self.servers.url(
            f"?ttl={LEASE_MS}ms&rejoin={LEASE_MS}ms")
        # Once it has an answer the servers count.
        self.assertEqual(self.run_tool("any", "--", "true")[0], 0)

    def tearDown(self):
        self.thaw()
        super().tearDown()

    def freeze(self):
        for server in self.servers.servers[:2]:
            server.freeze()

    def thaw(self):
        for server in self.servers.servers:
            server.thaw()


# ------------------------------------------------------------------ a leader flaps

class Flaps(recipes.OnRedis, Case):
    @recipes.block("$ holdfast elect -b 3 scheduler -- scheduler")
    def test_a_command_that_ends_at_once(self):
        (command, wanted), = recipes.transcript(self.text)
        self.program("scheduler", "exit 1")
        words = shlex.split(command)
        self.assertEqual(words[:2], ["holdfast", "elect"])
        leads = self.start(*words[2:], command="elect")
        for line in wanted.splitlines():
            self.assert_printed(waiting.read_line(leads, stream="stderr"), line)
            self.assertTrue("leading" in line or "resigning" in line or
                            "the command ended with status" in line)

    @recipes.block("$ holdfast doctor | grep -A1 ' lease:'")
    def test_a_lease_too_short(self):
        proxy = Proxy(self.server.port)
        self.addCleanup(proxy.close)
        proxy.delay(300)
        self.environment["HOLDFAST_URL"] = \
            "redis://127.0.0.1:%d/0?ttl=10s" % proxy.port
        self.follow()

    def test_a_machine_that_stands_still(self):
        self.shorten_lease()
        leads = self.start("scheduler", "--", "sh", "-c",
                           "echo began; exec sleep 1000", command="elect")
        waiting.read_line(leads, "began")
        os.kill(self.supervisor(leads), signal.SIGSTOP)
        status, _, said = self.finish(leads)
        self.assertEqual(status, 76)
        self.assert_said(STOOD_STILL, said)


# ---------------------------------------------------------------- rolling restarts

class RestartsOfZooKeeper(Case):
    @recipes.block("$ holdfast doctor | grep -c '^ok *zookeeper-server:'")
    def test_one_after_the_other(self):
        with ensemble.Ensemble() as servers:
            self.environment["HOLDFAST_URL"] = "zk://%s?timeout=%s" % (
                servers.addresses(), LONG_LEASE)
            self.held_and_waited()
            for server in [*servers.followers(), servers.leader()]:
                server.stop()
                waiting.eventually("two servers", self.are_two)
                server.start()
                servers.wait()
                self.follow()
            self.assert_kept()

    def are_two(self):
        return len(re.findall("(?m)^ok *zookeeper-server:",
                              self.doctor())) == 2


class RestartsOfEtcd(Case):
    @recipes.block("$ holdfast doctor | grep -c '^ok *etcd-member:'")
    def test_one_after_the_other(self):
        with etcd.Cluster() as servers:
            self.environment["HOLDFAST_URL"] = "etcd://%s?ttl=%s" % (
                servers.address(), LONG_LEASE)
            self.held_and_waited()
            others, leader = servers.followers(), servers.leader()
            for server in [*others, leader]:
                if server is leader:
                    leader.etcdctl("move-leader", "%x" % others[0].number())
                server.stop()
                servers.leader()
                server.start()
                servers.wait()
                self.follow()
            self.assert_kept()


class RestartsOfRedis(Case):
    KEPT = ["appendonly yes", "appendfsync always"]

    def server(self, *config):
        return self.enterContext(redis_server.Server(
            ["repl-diskless-sync-delay 0", *config]))

    def test_one_server(self):
        server = self.server(*self.KEPT)
        self.environment["HOLDFAST_URL"] = server.url(
            options="?ttl=" + LONG_LEASE)
        self.held_and_waited()
        server.stop()
        server.start()
        self.assert_kept()

    @recipes.block("$ holdfast doctor | grep redis-replicas")
    def test_its_replica(self):
        server = self.server(*self.KEPT)
        # Without a file: Redis ends by no SIGTERM while it writes its first.
        replica = self.server("replicaof 127.0.0.1 %d" % server.port)
        self.environment["HOLDFAST_URL"] = server.url(
            options=f"?ttl={LONG_LEASE}&wait=1")
        self.held_and_waited()
        replica.stop()
        self.assertEqual(
            self.run_tool("-w", "1", "other", "--", "true")[0], 69)
        replica.start()
        self.until_doctor_says("ok *redis-replicas")
        self.replace(("redis1", server.address()))
        self.follow()
        self.assert_kept()

    def test_a_quorum(self):
        """Each counts again before the next one is restarted."""
        servers = self.enterContext(redis_server.Several(3))
        self.environment["HOLDFAST_URL"] = servers.url("?ttl=5s&rejoin=5s")
        self.assertEqual(self.run_tool("any", "--", "true")[0], 0)
        self.held_and_waited()
        for server in servers.servers:
            server.restart()
            self.until_doctor_says(r"(?s)^(?!.*(notice|warning|error) *"
                                   r"(quorum-(server|majority)|engine):)")
        self.assert_kept()


class RestartOfPostgreSql(recipes.OnPostgreSql, Case):
    lease_ms = 300000

    def test_one_server(self):
        self.held_and_waited()
        self.server.stop()
        self.server.start()
        self.assert_kept()


class FailoverOfPostgreSql(Case):
    @recipes.block("$ holdfast doctor | grep postgres-standbys")
    def test_to_a_synchronous_standby(self):
        import postgres_pair  # where there is a module for PostgreSQL

        with postgres_pair.Pair() as pair:
            self.environment["PGPASSWORD"] = pair.primary.password
            self.environment["HOLDFAST_URL"] = (
                "postgresql://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres"
                "?ttl=5m" % (pair.primary.port, pair.standby.port))
            self.assertEqual(self.run_tool("any", "--", "true")[0], 0)
            self.held_and_waited()
            pair.fail_over().kill()
            self.until_doctor_says("ok *postgres-standbys")
            self.replace(("pg2", "127.0.0.1:%d" % pair.primary.port))
            self.follow()
            self.assert_kept()


# --------------------------------------------------------------- a host is drained

class Drained:
    def rest(self):
        """What the loop of the document prints now."""
        text, = [text for (first, _), text in recipes.blocks(DOCUMENT).items()
                 if first.startswith("$ holdfast ls |")]
        loop = [command for command, _ in recipes.transcript(text)]
        return self.shell("; ".join(loop).replace("db1", socket.gethostname()))

    @recipes.block("$ holdfast ls | sed -E '1d; s/^(\\S+ +){3}//' "
                   "| sort -u > names")
    def test_what_is_held_from_there(self):
        holds = self.occupy("deploy", program="./deploy.sh")
        self.until_held("deploy", holds)
        waits = self.occupy("deploy", program="./report.sh")
        self.wait_for_queue("deploy", 2, holds, waits)
        if self.layout:
            self.text = recipes.with_layout(self.text, self.layout)
        self.follow((" on db1)", f" on {socket.gethostname()})"))
        for process in (waits, holds):
            process.terminate()
            self.finish(process)
        self.assertEqual(self.rest()[1], "")

    def test_one_that_is_asked(self):
        holds = self.occupy("deploy", "--on-revoke", "TERM")
        self.until_held("deploy", holds)
        self.assertEqual(self.shell("holdfast revoke deploy")[0], 0)
        self.assertEqual(self.finish(holds)[0], 79)
        self.assertEqual(self.rest()[1], "")

    def test_a_leader(self):
        leads = self.occupy("service", command="elect")
        self.until_held("service", leads)
        leads.terminate()
        self.assertEqual(self.finish(leads)[0], 143)
        self.assertEqual(self.rest()[1], "")

    def test_one_of_two_processes_is_killed(self):
        """The ticket is gone as soon as the command is, whatever the lease."""
        for kill in (lambda run: os.kill(self.supervisor(run), signal.SIGKILL),
                     lambda run: run.kill()):
            holds = self.occupy("deploy")
            self.until_held("deploy", holds)
            command = self.command(holds)
            kill(holds)
            harness.ended(command)
            waiting.eventually("its ticket to go",
                               lambda: not self.queue("deploy"))
        self.assertEqual(self.rest()[1], "")


class DrainedOnFiles(Drained, recipes.OnFiles, Case):
    pass


class DrainedOnRedis(Drained, recipes.OnRedis, Case):
    pass


# ------------------------------------------------------------------ a disk is full

class FullOfFiles(recipes.OnFiles, Case):
    """A directory of locks without room, in a mount namespace."""

    def setUp(self):
        if not harness.can_unshare("-m"):
            self.skipTest("no mount namespace to be had")
        super().setUp()

    def shell(self, script):
        return super().shell("unshare -m bash -c " + shlex.quote(f"""
            mount -t tmpfs -o mode=0700,nr_inodes=40 none {self.locks} || exit 9
            mkfifo go ended
            holdfast run held -- sh -c 'echo in; read _ < go' > ended &
            exec 9<> go 8< ended
            read -r -u 8 _
            n=0
            while touch {self.locks}/$n 2>/dev/null; do n=$((n + 1)); done
            {script}
            echo >&9
            wait $! || echo "the holder ended with $?"
            rm {self.locks}/[0-9]*
            holdfast run nightly -- true || echo "no room"
            """))

    @recipes.block("$ holdfast run nightly -- ./report.sh")
    def test_the_locks(self):
        self.replace(("/run/holdfast/locks", self.locks + "/locks"),
                     ("/run/holdfast", self.locks),
                     ("user 0", f"user {os.getuid()}"))
        self.follow()

    def test_the_status(self):
        status, said = self.shell("holdfast run nightly -- true; echo $?")
        self.assertEqual((status, said.split()[-1]), (0, "73"))
        self.assert_said("No space left on device", said)

    def test_the_metrics(self):
        """The command runs all the same."""
        self.environment["HOLDFAST_METRICS_DIR"] = self.path("full/metrics")
        os.mkdir(self.path("full"))
        done = recipes.Case.shell(self, "unshare -m bash -c " + shlex.quote("""
            mount -t tmpfs -o size=16k none full || exit 9
            mkdir full/metrics
            cat /dev/zero > full/all 2>/dev/null
            holdfast run nightly -- echo ran"""))
        self.assertEqual(done[0], 0)
        self.assertIn("ran\n", done[1])
        self.assert_said("No space left on device", done[1])


class FullOfEtcd(Case):
    @recipes.block("$ holdfast doctor | grep -A1 etcd-alarm")
    def test_no_space(self):
        with etcd.Server(config={"quota-backend-bytes": 16 << 20}) as server:
            self.environment["HOLDFAST_URL"] = "etcd://%s?ttl=%s" % (
                server.address(), LONG_LEASE)
            self.held_and_waited()
            server.fill()
            status, _, said = self.run_tool("-w", "1", "other", "--", "true")
            self.assertEqual(status, 73)
            self.assert_said("space exceeded", said)
            self.follow()
            self.assert_kept()


class LittleRoom(redis_server.Server):
    """A file of more than 256 KiB cannot be written, until make_room()."""

    def program(self):
        path = os.path.join(self.directory, "little_room")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\ntrap '' XFSZ\nulimit -S -f 512\n"
                       f"exec {super().program()} \"$@\"\n")
        os.chmod(path, 0o755)
        return path

    def fill(self):
        with self.client() as client:
            try:
                for number in range(200):
                    client.ask("SET", "fill%d" % number, "x" * 4096)
            except (redis_server.ReplyError, OSError):
                return
        raise AssertionError("there is room left")

    def make_room(self):
        subprocess.run(["prlimit", "--fsize=unlimited:", "--pid",
                        str(self.process.pid)], check=True)


class FullOfRedis(Case):
    def full(self, policy):
        server = self.enterContext(LittleRoom(
            ["appendonly yes", "appendfsync " + policy]))
        self.environment["HOLDFAST_URL"] = server.url(
            options=f"?ttl={LEASE_MS}ms")
        self.holding = self.occupy("deploy")
        self.until_held("deploy", self.holding)
        server.fill()
        return server

    def test_everysec(self):
        """No renewal is taken either."""
        server = self.full("everysec")
        status, _, said = self.run_tool("-w", "1", "other", "--", "true")
        self.assertEqual(status, 73)
        self.assert_said("MISCONF", said)
        self.assertEqual(self.finish(self.holding)[0], 76)
        server.make_room()
        self.assertEqual(self.run_tool("-w", "60", "deploy", "--", "true")[0], 0)

    def test_always(self):
        server = self.full("always")
        waiting.eventually("the end of the server",
                           lambda: not server.process.is_alive())
        self.assertEqual(
            self.run_tool("-w", "1", "other", "--", "true")[0], 69)
        self.assertEqual(self.finish(self.holding)[0], 76)


class Blocks(Case):
    def test_every_block_is_run(self):
        self.every_block_is_run(*(
            one for one in globals().values()
            if isinstance(one, type) and hasattr(one, "mro")))


if __name__ == "__main__":
    unittest.main()
