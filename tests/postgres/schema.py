# SPDX-License-Identifier: Apache-2.0
"""The schema as its files have it, and calls of it without the library.  After
a change of the schema run this file: it writes the definition that the library
compares with."""

import os
import sys
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "servers"))

import postgres  # noqa: E402

FOLDER = os.path.join(HERE, "..", "..", "src", "engines", "postgres", "sql")
FUNCTIONS = ["common.sql", "calls.sql", "acquire_release.sql", "access.sql"]
FILES = ["tables.sql"] + FUNCTIONS

# Of the tables, and of the schema of the functions.
VERSION = 4

# The state of the queue of that name.
OF_NAME = "queue = (SELECT number FROM holdfast.queue WHERE name = %s)"

COLUMNS = ("code server_ms backend found own_ids id sequence kind weight payload "
           "expires_in_ms revoked created_ms more_ahead").split()
MUTEX, READ, WRITE, LEASE, BARRIER, PARTICIPANT, READY = 1, 2, 3, 4, 7, 8, 9
TTL_MS = 60000
NEVER_MS = 1 << 62
NOBODY = str(uuid.UUID(int=0))


def file(name, folder=FOLDER):
    with open(os.path.join(folder, name)) as source:
        return source.read()


def text():
    return "".join(map(file, FILES))


def write_definition():
    """Of the schema as its files have it now."""
    with postgres.Server() as server, \
            open(os.path.join(FOLDER, "definition.txt"), "w") as target:
        server.sql(text())
        target.write(server.sql("SET search_path = pg_catalog, pg_temp;" +
                                file("check.sql"))[0][1])


def settings():
    """Those of a client's connection that its plans depend on."""
    return ("SET search_path = pg_catalog, pg_temp; SET jit = off;"
            "SET enable_seqscan = off; SET enable_bitmapscan = off;"
            "SET enable_hashjoin = off; SET enable_mergejoin = off;"
            "SET plan_cache_mode = force_generic_plan;")


class Session:
    """One session of the schema on a connection of its own, which calls as a
    client does; by_hand: the functions alone, whatever search_path is."""

    def __init__(self, server, ttl_ms=TTL_MS, database="postgres",
                 by_hand=False):
        self.id = str(uuid.uuid4())
        self.ttl_ms = ttl_ms
        self.ahead = 0  # of the last one that it put in
        self.connection = server.connect(database=database)
        self.cursor = self.connection.cursor()
        self.cursor.execute('LISTEN "holdfast_%s"' % self.id.replace("-", ""))
        self.prepared = not by_hand
        if self.prepared:
            self.cursor.execute(settings() + file("prepare.sql"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def call(self, function, *arguments):
        """The head of the answer, and its tickets: the first one may be in the
        head."""
        self.cursor.execute(
            ("EXECUTE hf_%s(%s)" if self.prepared else
             "SELECT * FROM holdfast_4.%s(%s)") % (
                function, ", ".join(["%s"] * len(arguments))), arguments)
        rows = [dict(zip(COLUMNS, row)) for row in self.cursor.fetchall()]
        return rows[0], rows if rows[0]["id"] else rows[1:]

    def enqueue(self, queue, kind=MUTEX, ticket=None, not_after_ms=NEVER_MS):
        """The ticket's id, and what decides on it as (id, sequence)."""
        ticket = ticket or str(uuid.uuid4())
        head, rows = self.call("enqueue", self.id, self.ttl_ms, not_after_ms,
                               queue.encode(), ticket, kind, 1, b"me")
        assert head["code"] == 0, head
        self.ahead = len(rows) - 1 + (head["more_ahead"] or 0)
        return ticket, [(row["id"], row["sequence"]) for row in rows]

    def list(self, queue):
        return [(row["id"], row["sequence"])
                for row in self.call("list", queue.encode(), False,
                                     False)[1]]

    def look_ahead(self, queue, ticket, reads=False):
        """What decides on the ticket, and how many more are ahead."""
        head, rows = self.call("list_ahead", queue.encode(), ticket, reads)
        return [row["id"] for row in rows], head["more_ahead"]

    def remove(self, queue, ticket):
        head, _ = self.call("remove", self.id, NEVER_MS, queue.encode(),
                            ticket, None)
        return head["found"]

    def renew(self, without=None):
        """The ids of the tickets there are; first those of without go."""
        if without is None:
            head, _ = self.call("renew", self.id, self.ttl_ms, NEVER_MS)
        else:
            head, _ = self.call("renew_and_remove", self.id, self.ttl_ms,
                                NEVER_MS, "{%s}" % ",".join(without))
        own = bytes(head["own_ids"] or b"")
        return {str(uuid.UUID(bytes=own[i:i + 16]))
                for i in range(0, len(own), 16)}

    def end(self):
        """End its lease, as if it had not been renewed for its ttl."""
        self.cursor.execute("UPDATE holdfast.session SET expires_at = "
                            "clock_timestamp() WHERE id = %s", (self.id,))

    def notices(self):
        """The notices that have come since, in words, with queues as text."""
        self.cursor.execute("SELECT")  # brings what there is
        self.connection.poll()
        found = []
        for notice in self.connection.notifies:
            *words, queue = notice.payload.split(" ")
            found.append((*words, bytes.fromhex(queue).decode()))
        self.connection.notifies.clear()
        return found


if __name__ == "__main__":
    write_definition()
