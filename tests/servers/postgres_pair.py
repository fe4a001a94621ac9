# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL primary and its synchronous standby.  The primary confirms no
commit that the standby does not have, so the standby can be promoted at any
time, whatever has become of the primary.  Or an asynchronous one, which must
not be promoted while the primary lives."""

import waiting
from postgres import Server
from proxy import Proxy

CONFIG = {
    # The name of a standby.  "*" would also match pg_basebackup, whose copy is
    # no standby when it breaks off.
    "synchronous_standby_names": "walreceiver",
    # So that a standby is back soon after a fault.
    "wal_receiver_timeout": "5s",
    "wal_retrieve_retry_interval": "100ms",
    "wal_sender_timeout": "5s",
    # And finds what it missed, also after the primary has restarted; so does
    # a copy.
    "wal_keep_size": "64MB",
}

# Those of holdfast whose COMMIT waits: for the standby, or for the lock that
# commits with notices take one after the other.  The result of the statement
# is in the server's buffer already.
COMMITTING = ("FROM pg_stat_activity WHERE application_name = 'holdfast' "
              "AND wait_event IN ('SyncRep', 'object')")


class Pair:
    """.primary and .standby, and .spare, which is dead or was replaced, or
    None.  .ways[server] is the proxy through which others follow it.  A
    context manager."""

    def __init__(self, synchronous=True):
        self.config = dict(CONFIG)
        if not synchronous:
            del self.config["synchronous_standby_names"]
        self.servers = []
        self.ways = {}
        self.spare = None
        try:
            self.primary = self.add()
            self.standby = self.add(self.ways[self.primary].port)
            waiting.eventually("the standby to be there", self.is_synchronous
                               if synchronous else self.is_followed)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def add(self, follows=None):
        server = Server(self.config, follows=follows)
        self.servers.append(server)
        self.ways[server] = Proxy(server.port)
        return server

    def add_spare(self):
        """Before the first failover, where its address has to be known."""
        self.spare = self.add()
        self.spare.kill()

    def close(self):
        for server in self.servers:
            self.ways[server].close()
            server.close()

    # ---- replication

    def is_synchronous(self):
        """Whether the standby confirms commits."""
        return self.primary.sql("SELECT count(*) FROM pg_stat_replication "
                                "WHERE sync_state = 'sync'") == [(1,)]

    def is_followed(self):
        """Whether the standby has all that there is."""
        return self.primary.sql(
            "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' "
            "AND replay_lsn = pg_current_wal_lsn()") == [(1,)]

    def wait(self):
        """Until the primary can commit."""
        waiting.eventually("the standby to be synchronous", self.is_synchronous)

    def cut_off(self):
        """The standby gets nothing more: every commit waits."""
        self.ways[self.primary].refuse()
        self.ways[self.primary].cut()

    def reconnect(self):
        """Take cut_off() back."""
        self.ways[self.primary].refuse(False)

    # ---- commits that wait

    def committing(self, server):
        """How many of holdfast's commits wait in that server."""
        return server.sql("SELECT count(*) " + COMMITTING)[0][0]

    def cancel(self, server):
        server.sql("SELECT pg_cancel_backend(pid) " + COMMITTING)

    def terminate(self, server):
        server.sql("SELECT pg_terminate_backend(pid) " + COMMITTING)

    # ---- failover

    def fail_over(self):
        """The standby is promoted, and the spare server becomes its standby,
        with a copy of its data.  The old primary is returned: it is the spare
        one as soon as the caller has killed it.  Alive or frozen, it confirms
        no commit any more, because its standby has left it."""
        old = self.primary
        self.cut_off()
        self.standby.sql("SELECT pg_promote()")
        self.primary = self.standby
        if self.spare:
            self.spare.follow(self.ways[self.primary].port)
            self.ways[self.spare].refuse(False)
            self.standby = self.spare
        else:
            self.standby = self.add(self.ways[self.primary].port)
        self.spare = old
        self.wait()
        return old
