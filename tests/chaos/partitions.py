# SPDX-License-Identifier: Apache-2.0
"""Ways in which the network between servers and their clients falls apart.
Each is a fault as of test_torture.py: a method gets the server that was drawn
and returns the function that undoes it."""

import time


class Partitions:
    """Of an ensemble; clients are those hosts of .network where they live."""

    def __init__(self, ensemble, network, clients, chance):
        self.servers = ensemble.servers
        self.ensemble = ensemble
        self.network = network
        self.clients = clients
        self.chance = chance

    def kinds(self):
        return [self.alone, self.unplugged, self.deaf, self.mute, self.one_way,
                self.no_clients, self.cut_off, self.bridge, self.split,
                self.flapping, self.shattered, self.alone_and_other_dead]

    # ---- servers and hosts

    def others(self, server):
        return [one.host for one in self.servers if one is not server]

    def leader(self, server):
        """The leader, or the server that was drawn while there is none."""
        return self.ensemble.leads() or server

    def lose(self, pairs):
        self.network.lose(pairs)
        return lambda: self.network.lose([])

    @staticmethod
    def between(some, others):
        """Both ways."""
        return [pair for one in some for other in others
                for pair in ((one, other), (other, one))]

    def pause(self, most_s):
        """The fault lasts so long.  Nothing is waited for."""
        time.sleep(self.chance.uniform(0.05, most_s))

    # ---- faults

    def alone(self, server, _):
        """The others do not reach it, and the clients do."""
        return self.lose(self.between([server.host], self.others(server)))

    def unplugged(self, server, _):
        self.network.unplug(server.host)
        return lambda: self.network.plug(server.host)

    def deaf(self, server, _):
        """It receives nothing, and all others receive what it sends."""
        return self.lose((other, server.host)
                         for other in self.others(server) + self.clients)

    def mute(self, server, _):
        return self.lose((server.host, other)
                         for other in self.others(server) + self.clients)

    def one_way(self, server, _):
        """Between the leader and one that follows."""
        leader = self.leader(server)
        pair = [leader.host, self.chance.choice(self.others(leader))]
        self.chance.shuffle(pair)
        return self.lose([pair])

    def no_clients(self, server, _):
        """Of the leader, which goes on leading; or one way between them."""
        ways = self.between([self.leader(server).host], self.clients)
        return self.lose(self.chance.choice((ways, ways[::2], ways[1::2])))

    def cut_off(self, *_):
        """Some clients from all servers, and the others go on."""
        return self.lose(self.between([self.chance.choice(self.clients)],
                                      self.others(None)))

    def bridge(self, server, _):
        """Two do not reach each other, and all else is whole."""
        return self.lose(self.between([server.host],
                                      self.others(server)[:1]))

    def split(self, server, _):
        """Clients, too, are on one side only, and others on the other."""
        sides = [server.host], self.others(server)
        for client in self.clients:
            self.chance.choice(sides).append(client)
        return self.lose(self.between(*sides))

    def flapping(self, server, _):
        ways = self.between([self.leader(server).host], self.chance.choice(
            (self.clients, self.others(server))))
        for _ in range(self.chance.randrange(2, 8)):
            self.network.lose(ways)
            self.pause(1)
            self.network.lose([])
            self.pause(0.5)
        return self.lose(ways)

    def shattered(self, *_):
        """Every third way is cut."""
        nodes = self.network.nodes
        return self.lose([(one, other) for one in nodes for other in nodes
                          if one is not other and self.chance.random() < 1 / 3])

    def alone_and_other_dead(self, server, _):
        """Three that have no majority."""
        other = self.chance.choice(
            [one for one in self.servers if one is not server])
        heal = self.alone(server, None)
        other.kill()

        def undo():
            heal()
            other.start()
        return undo
