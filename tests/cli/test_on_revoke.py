# SPDX-License-Identifier: Apache-2.0
"""holdfast run --on-revoke: what a holder does when another program asks for
its lock, on each engine.

    test_on_revoke.py [OnFiles] [OnZooKeeper] [OnEtcd] [OnRedis] [OnPostgreSql]
"""

import engines
import harness
from harness import waiting

# It says which signal it got, and goes on after SIGHUP until its input ends.
REPORT = ("trap 'echo got TERM; exit 7' TERM; trap 'echo got HUP' HUP; "
          "echo held; while read line; do :; done; exit 9")

BY_REQUEST = "'lock' was released because another program asked for it; "


class OnRevoke:
    def run_with(self, *options, script=REPORT):
        return self.start("-c", self.url(), *options, "lock", "--", "bash", "-c",
                          script, stdin=-1)

    def holder_with(self, *options, **arguments):
        process = self.run_with(*options, **arguments)
        waiting.read_line(process, "held")
        return process

    def test_term_is_sent_and_waited_for(self):
        process = self.holder_with("--on-revoke", "TERM")
        self.revoke("lock", "mutex")
        waiting.read_line(process, "got TERM")
        status, out, err = self.finish(process)
        self.assertEqual((status, out), (79, ""), err)
        self.assertIn(BY_REQUEST + "the command ended with status 7", err)
        self.assertEqual(self.in_queue("lock"), 0)

    def test_hup_is_sent_and_waited_for(self):
        process = self.holder_with("-q", "--on-revoke=HUP")
        self.revoke("lock", "mutex")
        waiting.read_line(process, "got HUP")
        self.assertEqual(self.in_queue("lock"), 1)
        process.stdin.close()
        process.stdin = None
        self.assertEqual(self.finish(process), (79, "", ""))

    def test_exit_ends_the_tree(self):
        """Also what ignores SIGTERM, after the grace."""
        process = self.holder_with(
            "--on-revoke", "exit", "--grace", "50ms",
            script="trap '' TERM; sleep 1000 & echo held; sleep 1000")
        self.revoke("lock", "mutex")
        status, _, err = self.finish(process)
        self.assertEqual(status, 79, err)
        self.assertIn(BY_REQUEST + "the command was stopped", err)

    def test_without_the_option_nothing_happens(self):
        for options in ((), ("--on-revoke", "ignore")):
            process = self.holder_with(*options)
            self.revoke("lock", "mutex")
            process.stdin.close()
            process.stdin = None
            status, out, err = self.finish(process)
            self.assertEqual((status, out), (9, ""), err)
            self.assertNotIn("asked", err)

    def test_a_request_during_the_wait_counts_at_the_grant(self):
        holder = self.holder_with()
        waiters = []
        for what in ("TERM", "HUP", "exit"):
            waiters.append(self.run_with("--on-revoke", what))
            self.until_queued("lock", 1 + len(waiters), waiters[-1])
        for ticket in self.tickets_of("lock")[1:]:
            self.revoke("lock", "mutex", ticket["id"])
        holder.stdin.close()
        holder.stdin = None
        self.assertEqual(self.finish(holder)[0], 9)
        for waiter in waiters:
            status, out, err = self.finish(waiter)
            self.assertEqual((status, out), (79, ""), err)
            self.assertIn(BY_REQUEST + "the command was not started", err)


class OnFiles(OnRevoke, engines.File, harness.Case):
    pass


class OnZooKeeper(OnRevoke, engines.ZooKeeper, harness.Case):
    pass


class OnEtcd(OnRevoke, engines.Etcd, harness.Case):
    pass


class OnRedis(OnRevoke, engines.Redis, harness.Case):
    pass


class OnPostgreSql(OnRevoke, engines.PostgreSql, harness.Case):
    pass


if __name__ == "__main__":
    harness.main()
