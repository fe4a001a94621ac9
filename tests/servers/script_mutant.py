# SPDX-License-Identifier: Apache-2.0
"""A mutation of the script that runs at a Redis server: a proxy changes what a
client loads.  The client calls the script by the digest that SCRIPT LOAD
answers, and so calls the mutant."""

from proxy import UP, Proxy

# By name: what the script says, and what it says instead, which must not be
# longer, because the length is said in front.
MUTATIONS = {
    # The next call of any client removes an expired ticket (.by is nil).
    "REDIS_PURGE_NOTIFIES_NO_WAITER": (
        "        for _, id in ipairs(ids) do\n            "
        "notify_waiters(id, removed[id].kind, removed, '0')\n        end",
        "        for _, id in ipairs(by and ids or {}) do "
        "notify_waiters(id,removed[id].kind,removed,'0') end"),
    "REDIS_PURGE_NOTIFIES_NO_WATCHER": (
        "{'gone', '0', id, name}, ' '))\n            end\n        end\n"
        "        notify_watchers()\n    end",
        "{'gone', '0', id, name}, ' ')) end end "
        "if by then notify_watchers() end end"),
    # Somebody watches the queue, and is not notified of what comes into it, or of
    # a ticket whose kind or number has changed.
    "REDIS_ENQUEUE_NOTIFIES_NO_WATCHER": (
        "if notify_watchers then -- otherwise nobody watches",
        "if false then"),
    "REDIS_SHORT_PATH_NOTIFIES_NO_WATCHER": (
        "call('ZCARD', prefix .. 'queue') == 0 and\n"
        "            call('ZCARD', prefix .. 'watchers') == 0 and",
        "call('ZCARD', prefix .. 'queue') == 0 and"),
    "REDIS_DOWNGRADE_NOTIFIES_NO_WATCHER": (
        "call('ZREM', writers, ARGV[4])\n            notify_watchers()",
        "call('ZREM', writers, ARGV[4])"),
    "REDIS_PROPOSE_NOTIFIES_NO_WATCHER": (
        "        prolong_keys(ttl)\n        notify_watchers()\n",
        "        prolong_keys(ttl)\n"),
    "REDIS_COMMIT_NOTIFIES_NO_WATCHER": (
        "call('ZADD', queue, number, id)\n        notify_watchers()",
        "call('ZADD', queue, number, id)"),
    # A renewal prolongs tickets, and not the keys that they are in.
    "REDIS_KEYS_NOT_PROLONGED": (
        "        if #ARGV >= 5 then\n"
        "            prolong_keys(ttl)\n        end\n", ""),
    # The only ticket of its name has the clock as its token.
    "REDIS_SOLE_TOKEN_OF_CLOCK": ("if before and before < clock then",
                                  "if before then"),
    # The servers of a quorum receive the highest number and do not keep it.
    "REDIS_NUMBER_NOT_KEPT": ("            call('SET', last, number)", ""),
}


class Mutant(Proxy):
    """A proxy to the port target, behind which clients load the script with
    that mutation.  changed is how many have."""

    def __init__(self, target, name):
        old, new = MUTATIONS[name]
        self.old = old.encode()
        self.new = new.encode().ljust(len(self.old))
        assert len(self.new) == len(self.old), name
        self.changed = 0
        self.kept = {}  # by way: the beginning of old, if bytes end with it
        super().__init__(target)

    def arrived(self, way, data):
        if way.name != UP:
            super().arrived(way, data)
            return
        kept = self.kept.pop(way, b"")
        if data:
            self.pass_on(way, self.mutated(way, kept + data))
        else:
            self.pass_on(way, kept)
            super().arrived(way, data)

    def pass_on(self, way, data):
        if data:
            super().arrived(way, data)

    def mutated(self, way, data):
        self.changed += data.count(self.old)
        data = data.replace(self.old, self.new)
        kept = self.unfinished(data)
        if kept:
            self.kept[way] = data[-kept:]
            data = data[:-kept]
        return data

    def unfinished(self, data):
        """How many bytes at its end may become old with what follows."""
        return next((count for count in range(len(self.old) - 1, 0, -1)
                     if data.endswith(self.old[:count])), 0)
