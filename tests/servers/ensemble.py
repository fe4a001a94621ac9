# SPDX-License-Identifier: Apache-2.0
"""Several real ZooKeeper servers.  On one host each connection of a follower
to its leader goes through a proxy of the test; on a host each they use the
network."""

import os

import machine
import waiting
from proxy import Proxy
from zookeeper import Server


LEADING = "Peer state changed: leading - broadcast"


class Peer(Server):
    """One of an ensemble; .links are its proxies to the others' quorum
    ports, by id."""

    def __init__(self, number, **options):
        super().__init__(**options)
        self.id = number
        self.claims += [machine.Port(self.host), machine.Port(self.host)]
        self.quorum_port, self.election_port = \
            [claim.number for claim in self.claims[-2:]]
        self.links = {}
        with open(os.path.join(self.data, "myid"), "w") as file:
            file.write("%d\n" % number)

    def meet(self, servers):
        """Write the others into the configuration, those of the same host
        behind proxies.

        A follower connects to the leader at the address in its own zoo.cfg,
        so a link is the proxy that this member has for the other one.
        Elections do not go through proxies: a member with a higher id calls
        back at the address that the other one says it has.
        """
        for other in servers:
            port = other.quorum_port
            if other is not self and other.host is self.host:
                self.links[other.id] = Proxy(port)
                port = self.links[other.id].port
            self.config["server.%d" % other.id] = "%s:%d:%d" % (
                other.host.address, port, other.election_port)

    def close(self):
        super().close()
        for link in self.links.values():
            link.close()
        self.links = {}


class Ensemble:
    """Serves, with a leader, once the constructor is back."""

    def __init__(self, hosts=3 * (machine.LOCALHOST,), init_limit=8, sync_limit=4,
                 config=None, **options):
        """hosts has one for each member.  sync_limit is in ticks: after how
        long without a message a leader and a follower give each other up."""
        config = {"initLimit": init_limit, "syncLimit": sync_limit,
                  **(config or {})}
        self.servers = []
        try:
            for number, host in enumerate(hosts, 1):
                self.servers.append(Peer(number, config=config, host=host,
                                         **options))
            for server in self.servers:
                server.meet(self.servers)
            for server in self.servers:
                server.launch()
            self.wait()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for server in self.servers:
            server.close()

    def wait(self):
        """Until every member that runs serves."""
        for server in self.servers:
            if server.process.is_alive():
                server.wait()

    def addresses(self, servers=None):
        """As in a URL."""
        return ",".join(server.address()
                        for server in servers or self.servers)

    def running(self):
        """Neither dead nor frozen."""
        return [server for server in self.servers
                if server.process.is_alive() and
                server.process.state() not in "TZ"]

    def leads(self):
        """The member that leads, or None.  A leader that was cut off may think
        for a while that it still is; the one with the later epoch counts."""
        leading = [m for m in self.running() if m.mode() == "leader"]
        return max(leading, key=Peer.epoch, default=None)

    def leader(self):
        """The member that leads, once there is one."""
        return waiting.eventually("a leader", self.leads)

    def followers(self):
        return [m for m in self.running() if m.mode() == "follower"]

    def link(self, follower, leader=None):
        """The proxy between them: UP is from the follower to the leader."""
        return follower.links[(leader or self.leader()).id]

    def client(self, **options):
        return self.leader().client(**options)

    def elections(self):
        """(instant, id) of each that came to lead, in order."""
        return sorted((at_ms, m.id) for m in self.servers
                      for at_ms, _ in m.logged(LEADING))

    def expirations(self):
        """Those that any server logged, because the leader of the time expires
        sessions."""
        return sorted(e for m in self.servers for e in m.expirations())
