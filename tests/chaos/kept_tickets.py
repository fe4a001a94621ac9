# SPDX-License-Identifier: Apache-2.0
"""What a history says of tickets that a client has kept: how often it was
granted the lock on one again, and how many of these grants passed over a client
whose ticket was in the queue already."""


class KeptTickets:
    """.again: so many grants were on a ticket that was kept.  .most: that many
    of them, at most, passed over one client before it was granted the lock
    itself.  .most_waiting: the same for those that were not granted it."""

    def __init__(self, notes):
        """notes: of each line of a history the words."""
        self.again = self.most = self.most_waiting = 0
        self.tokens = {}  # of (client, lock): that of its last grant
        self.queued = {}  # of the same: the grants that have passed it over
        for note in sorted(notes, key=lambda note: int(note[0])):
            self.read(*note[1:])
        self.most_waiting = max(self.queued.values(), default=0)

    def read(self, client, word, lock, *values):
        if word == "queued":
            self.queued.setdefault((client, lock), 0)
        elif word in ("unqueued", "gaveup"):
            self.queued.pop((client, lock), None)
        elif word == "died":
            for key in [key for key in self.queued if key[0] == client]:
                del self.queued[key]
        elif word == "grant":
            self.most = max(self.most, self.queued.pop((client, lock), 0))
            self.grant(client, lock, values[0])

    def grant(self, client, lock, token):
        """In a grant the token is the first value."""
        if self.tokens.get((client, lock)) == token:
            self.again += 1
            for key in self.queued:
                self.queued[key] += key[1] == lock
        self.tokens[client, lock] = token
