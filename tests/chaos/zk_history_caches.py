# SPDX-License-Identifier: Apache-2.0
"""Checks the caches of histories of zk_client_storm.c, for zk_history.py.

The lines of a cache are in the order of its callbacks.  A query has a line
before it and one after it, so it has to know what stands before the first one.
Nothing is said of the order of different nodes: a read that was begun for an
earlier event of a node may show a change that is newer than those of others.

The rules, by the word that a violation begins with:

    cache        an event fits what the cache had reported of the node before,
                 and leads to something newer; a node comes after the one above
                 it; INITIALISED comes once and before RESYNCED
    query        a cache shows nothing that is older than its events, than what
                 it has shown before, or than what was waited for
    contents     in the end a cache has what the servers have, and has reported
                 it
"""

import collections

KINDS = "jkzQAKi"

Node = collections.namedtuple("Node", "czxid mzxid version data")


def node_of(words):
    """From CZXID MZXID VERSION DATA; None if there is none."""
    czxid, mzxid, version = map(int, words[:3])
    return Node(czxid, mzxid, version, None if words[3] == "-" else words[3]) \
        if czxid else None


def newer(one, two):
    """Of two nodes, each of which may be None."""
    return max(filter(None, (one, two)), default=None,
               key=lambda node: node.mzxid)


class Cache:
    """From its line k on."""

    def __init__(self, handle, words):
        self.handle = handle
        self.number = words[0]
        self.mode = words[1]
        self.depth = int(words[2])
        self.without_data = words[3] == "1"
        self.path = words[4]
        self.freed = False
        self.initialised = False
        # By path: what was reported and is there; what was there last, where
        # it was removed; what a query has shown.
        self.reported = {}
        self.removed = {}
        self.shown = {}
        self.queries = {}  # (path, the newest that is known, least mzxid)
        self.status = None  # of the last wait
        self.nodes = {}  # that it had after it, by path

    def __str__(self):
        return "%s, the %s cache %s of %s" % (self.handle, self.mode,
                                              self.number, self.path)

    def covers(self, path):
        above = self.path.rstrip("/") + "/"
        return path == self.path or path.startswith(above) and not (
            0 <= self.depth < path[len(above):].count("/") + 1)


class Checker:
    """.seen is what caches have reported and shown: (cache, path, node)."""

    def __init__(self, handles):
        self.violations = []
        self.seen = []
        self.events = 0
        self.queries = 0
        self.caches = []
        for handle in handles:
            self.read(handle)

    def violate(self, rule, text, *arguments):
        self.violations.append("%s: %s" % (rule, text % arguments))

    def read(self, handle):
        caches = {}
        for kind, *words in handle.log:
            if kind == "k":
                caches[words[0]] = Cache(handle, words)
            elif kind in KINDS:
                getattr(self, "read_" + kind)(caches[words[0]], words[1:])
        self.caches += caches.values()

    # ---- events

    def read_z(self, cache, _):
        cache.freed = True

    def read_j(self, cache, words):
        kind, path = words[:2]
        self.events += 1
        if cache.freed:
            self.violate("cache", "%s was freed, and reports that %s is %s",
                         cache, path, kind)
        if kind in ("initialised", "resynced"):
            self.mark(cache, kind)
        else:
            self.change(cache, kind, path, node_of(words[2:6]),
                        node_of(words[6:]))

    def mark(self, cache, kind):
        if (kind == "initialised") == cache.initialised:
            self.violate("cache", "%s is %s, %s it was initialised", cache,
                         kind, "after" if cache.initialised else "before")
        cache.initialised = True

    def change(self, cache, kind, path, before, after):
        known = cache.reported.pop(path, None)
        if before != known or kind != (
                "added" if not before else "changed" if after else "removed"):
            self.violate("cache", "%s: %s is %s, from %s to %s, and was "
                         "reported as %s", cache, path, kind, before, after,
                         known)
        last = known or cache.removed.get(path)
        if after and last and (
                after.mzxid <= last.mzxid or
                (after.czxid == last.czxid) != (kind == "changed")):
            self.violate("cache", "%s: %s is %s to %s, and was reported as %s",
                         cache, path, kind, after, last)
        above = path.rpartition("/")[0] or "/"
        if after and path != cache.path and above not in cache.reported:
            self.violate("cache", "%s: %s is %s, and there is no %s yet",
                         cache, path, kind, above)
        if after:
            cache.reported[path] = after
            self.see(cache, path, after)
        else:
            cache.removed[path] = before

    def see(self, cache, path, node):
        if not cache.without_data:
            self.seen.append((cache, path, node))

    # ---- queries: registers are never deleted

    def read_Q(self, cache, words):
        number, mzxid, path = words
        known = newer(cache.shown.get(path), cache.reported.get(path) or
                      cache.removed.get(path))
        cache.queries[number] = (path, known, path in cache.reported,
                                 int(mzxid), cache.initialised)

    def read_A(self, cache, words):
        path, known, is_there, mzxid, initialised = cache.queries.pop(words[0])
        status, node = words[1], node_of(words[2:])
        self.queries += 1
        if status not in ("HF_OK", "HF_EGONE", "HF_ESTATE") or \
                status == "HF_ESTATE" and (initialised or mzxid):
            self.violate("query", "%s says %s of %s", cache, status, path)
        elif mzxid and (node.mzxid < mzxid if node else path[:2] == "/r"):
            self.violate("query", "%s shows %s of %s, after a wait for %d",
                         cache, node, path, mzxid)
        elif node and known and (node.mzxid < known.mzxid or
                                 node.czxid == known.czxid and not is_there and
                                 known == cache.removed.get(path)):
            self.violate("query", "%s shows %s of %s, after it was %s", cache,
                         node, path, known)
        if node:
            cache.shown[path] = newer(node, cache.shown.get(path))
            self.see(cache, path, node)

    # ---- the end

    def read_K(self, cache, words):
        cache.status = words[0]
        cache.at_end = dict(cache.reported)
        if words != ["HF_OK", "0"]:
            self.violate("contents", "%s ends with %s, and %s nodes are not "
                         "readable", cache, *words)
        if not cache.initialised:
            self.violate("cache", "%s was not reported as initialised", cache)

    def read_i(self, cache, words):
        cache.nodes[words[0]] = node_of(words[1:])

    def check_contents(self, one, two):
        """Of two lists of all nodes, one before the caches were asked and one
        afterwards.  What differs between them was still being removed."""
        for cache in self.caches:
            if cache.status != "HF_OK":
                continue
            for path in {*one, *two, *cache.nodes, *cache.at_end}:
                if not cache.covers(path) or one.get(path) != two.get(path):
                    continue
                there = one.get(path)
                if there and cache.without_data:
                    there = there._replace(data=None)
                if cache.nodes.get(path) != there:
                    self.violate("contents", "%s has %s of %s, and there is %s",
                                 cache, cache.nodes.get(path), path, there)
                elif cache.at_end.get(path) != there:
                    self.violate("contents", "%s has reported %s of %s, and "
                                 "there is %s", cache, cache.at_end.get(path),
                                 path, there)
