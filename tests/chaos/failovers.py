# SPDX-License-Identifier: Apache-2.0
"""Faults of a PostgreSQL primary and its synchronous standby: failovers,
backends that are ended, commits that wait for the standby and are given up,
and commits that fail."""

import collections
import random
import threading

import psycopg2

import waiting

# Of the log: a COMMIT that failed, and one that holds here only.
FAILED = "ERROR:  this commit fails"
GIVEN_UP = "wait for synchronous replication"

# As a transaction fails at COMMIT when it cannot be serialized.
FAILING = """
CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() < 0.3 THEN
        RAISE EXCEPTION 'this commit fails' USING ERRCODE = '40001';
    END IF;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER fail AFTER INSERT OR DELETE ON holdfast.ticket
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION public.fail()
"""

# Those that have looked at the schema.
SET_UP = ("SELECT count(*) FROM pg_stat_activity WHERE "
          "application_name = 'holdfast' AND query LIKE 'PREPARE hf_%'")

# How long something to happen to is waited for.
MOMENT_S = 1


def happens(condition):
    """The value of condition() if it becomes true within MOMENT_S, else
    None."""
    try:
        return waiting.eventually("a moment", condition, MOMENT_S)
    except AssertionError:
        return None


class Again(threading.Thread):
    """A thread that calls a function again and again until stop()."""

    def __init__(self, function, seed):
        super().__init__(daemon=True)
        self.function = function
        self.pauses = random.Random(seed)
        self.stopped = threading.Event()
        self.failure = None
        self.start()

    def run(self):
        try:
            while not self.stopped.wait(self.pauses.uniform(0.02, 0.5)):
                self.function()
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure

    def stop(self):
        self.stopped.set()
        self.join(waiting.LIMIT_S)
        if self.failure:
            raise self.failure


class Failovers:
    """.clients[host][server] is the proxy through which the clients of a host
    go to it.  Each fault returns how it is undone; None: it cannot be done
    now."""

    def __init__(self, pair, clients, chance):
        self.pair = pair
        self.clients = clients
        self.chance = chance
        self.ends = collections.Counter()  # of primaries that were replaced

    def kinds(self):
        """Beside fail_over()."""
        return [self.end_backends, self.give_up_commits, self.fail_commits]

    # ---- backends

    def choose(self):
        """A function that cancels or terminates the commits that wait in a
        server."""
        return self.chance.choice((self.pair.cancel, self.pair.terminate))

    def again(self, function):
        return Again(function, self.chance.getrandbits(32)).stop

    def end_backends(self, *_):
        """At work or idle."""
        how = self.chance.choice(("cancel", "terminate"))
        primary = self.pair.primary
        return self.again(lambda: primary.sql(
            "SELECT pg_%s_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'holdfast' AND random() < 0.2" % how))

    def give_up_commits(self, *_):
        """The standby gets nothing."""
        give_up, primary = self.choose(), self.pair.primary
        self.pair.cut_off()
        stop = self.again(lambda: give_up(primary))

        def undo():
            stop()
            self.pair.reconnect()
            self.pair.wait()
        return undo

    # ---- commits that fail

    def refuse_clients(self, refusing):
        for proxies in self.clients:
            for proxy in proxies.values():
                proxy.refuse(refusing)

    def are_set_up(self):
        """There is a schema, and all clients of the primary have looked at
        it."""
        links = sum(proxies[self.pair.primary].links()
                    for proxies in self.clients)
        return 0 < links <= self.pair.primary.sql(SET_UP)[0][0]

    def is_altered(self, text):
        """By a statement for which the users of the schema must pause, but not
        for long; it does not wait for the standby."""
        try:
            self.pair.primary.sql("SET lock_timeout = '200ms';"
                                  "SET synchronous_commit = local;" + text)
        except psycopg2.errors.LockNotAvailable:
            return False
        return True

    def fail_commits(self, *_):
        """Some commits fail.  No client can connect meanwhile, because it
        would refuse a schema with a trigger that is not ours."""
        def undo():
            if fail:
                waiting.eventually("commits to work", lambda: self.is_altered(
                    "DROP FUNCTION public.fail CASCADE"))
            self.refuse_clients(False)

        self.refuse_clients(True)
        fail = happens(self.are_set_up) and happens(
            lambda: self.is_altered(FAILING))
        if fail:
            return undo
        undo()
        return None

    # ---- failovers

    def kill(self, old):
        old.kill()

    def freeze(self, old):
        old.freeze()

    def stop(self, old):
        old.stop()

    def abort(self, old):
        old.abort()

    def replace(self, _):
        """It lives, and knows of nothing."""

    def leave_behind(self, old):
        """The standby lacks commits that are waited for, and some that were
        given up."""
        give_up = self.choose()
        self.pair.cut_off()
        for _ in range(self.chance.randrange(10)):
            if happens(lambda: self.pair.committing(old)):
                give_up(old)
        happens(lambda: self.pair.committing(old))

    def divide(self, old, new):
        """The clients of one host stay with the old primary, and do not reach
        the new one; the others are the reverse.  Returns how it is undone."""
        stay = self.chance.randrange(len(self.clients))
        proxies = [proxies[new if host == stay else old]
                   for host, proxies in enumerate(self.clients)]
        for proxy in proxies:
            proxy.refuse()
            proxy.cut()
        return lambda: [proxy.refuse(False) for proxy in proxies]

    def fail_over(self):
        old = self.pair.primary
        end = self.chance.choice((self.kill, self.freeze, self.stop,
                                  self.abort, self.replace))
        undo = [self.divide(old, self.pair.standby)]
        if self.chance.random() < 0.7:
            self.leave_behind(old)
        end(old)
        self.pair.fail_over()
        self.ends[end.__name__] += 1
        if end == self.freeze:
            undo.insert(0, lambda: self.thaw(old))
        elif end == self.replace:
            give_up = self.choose()
            undo.insert(0, self.again(lambda: give_up(old)))

        return lambda: [step() for step in undo + [old.kill]]

    def thaw(self, old):
        """It works on until it sees that commits wait for ever."""
        old.thaw()
        if happens(lambda: self.pair.committing(old)):
            self.choose()(old)

    # ---- for people

    def logged(self, text):
        """How often servers said that."""
        return sum(server.log().count(text) for server in self.pair.servers)

    def figures(self):
        return [
            "%d commits failed, %d waits for the standby were given up" % (
                self.logged(FAILED), self.logged(GIVEN_UP)),
            "primaries replaced after: " + ", ".join(
                "%s %d" % end for end in sorted(self.ends.items()))]
