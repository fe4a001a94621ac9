# SPDX-License-Identifier: Apache-2.0
"""Checks the registrations and the retried writes of histories of
zk_client_storm.c, for zk_history.py.

A list of all nodes (lines n) shows what the servers have when nothing is under
way any more.  Some nodes still go then, for about as long as a session lives,
so remains() says what a list has too much or lacks.

The rules, by the word that a violation begins with:

    registration  its events alternate; in the end its session has one node of
                  it, with its data; after a close there is none
    protected     a protected create that succeeded made one node, and one that
                  failed none
    guaranteed    a guaranteed delete leaves no node
    update        a counter is as high as updates succeeded, and by at most as
                  many more as were unsure; each has a version of its own
"""

import collections

from zk_history_caches import Node, node_of

# Those that remains() needs.
KINDS_OF_END = "orpxXGtn"

# Ends of a guaranteed delete after which the node is gone, or will be.
GONE = "HF_OK", "HF_EGONE", "HF_ETIMEDOUT"

# An end of a write that may have been carried out; None: it has not ended.
UNSURE = "HF_EUNSURE", None

EPHEMERAL, SEQUENTIAL, EPHEMERAL_SEQUENTIAL = "1", "2", "3"

COUNTERS = "/c0", "/c1"

Registration = collections.namedtuple("Registration",
                                      "handle status session path data")


def count_of(data):
    """What a counter says.  It is created with data that are no number."""
    number = (data or "").partition(":")[0]
    return int(number) if number.isdigit() else 0


class Write:
    """A write that is retried, from its line o to its line p or x."""

    def __init__(self, handle, words):
        self.handle = handle
        self.number = words[0]
        self.kind, self.mode, self.path, self.data = words[3:]
        self.status = None
        self.node = None  # after it
        self.owner = 0
        self.made = None  # the path of the new node
        self.cancelled = False  # perhaps when it had ended

    def end(self, words):
        self.status = words[0]
        if len(words) == 1:
            return
        self.node = node_of(words[1:4] + ["-"])
        self.owner = int(words[4])
        self.made = words[5]

    def __str__(self):
        return "%s/%s (%s %s, %s)" % (self.handle, self.number, self.kind,
                                      self.path, self.status)


class Checker:
    def __init__(self, handles):
        self.violations = []
        self.writes = []
        self.registrations = []
        self.sessions = {}  # of each handle in the end
        self.closed = []  # (handle, path) of registrations
        self.lists = {}  # by name: by path: a node, and its owner
        for handle in handles:
            self.read(handle)

    def violate(self, rule, text, *arguments):
        self.violations.append("%s: %s" % (rule, text % arguments))

    def read(self, handle):
        writes = {}
        events = []
        end = None
        for kind, *words in handle.log:
            if kind == "o":
                writes[words[0]] = Write(handle, words)
            elif kind == "p" or kind == "x" and words[0] in writes:
                writes[words[0]].end(words[1:])
            elif kind == "X":
                writes[words[0]].cancelled = True
            elif kind == "r":
                events.append(words)
            elif kind == "G":
                end = Registration(handle, *words)
            elif kind == "state" and words[1] == "LOST":
                end = None
            elif kind == "h" and words[0] == "HF_OK":
                self.closed.append((handle, words[1]))
            elif kind == "n":
                self.lists.setdefault(handle.name.partition("/")[0], {})[
                    words[0]] = (node_of(words[1:4] + words[5:]), words[4])
        self.writes += writes.values()
        self.check_events(handle, events)
        if end:
            self.sessions[handle] = end.session
            self.registrations.append(end)

    # ---- registrations

    def check_events(self, handle, events):
        registered = False
        last = 0
        for kind, status, czxid, _ in events:
            if kind == "failed":
                self.violate("registration", "%s: it failed with %s", handle,
                             status)
            if kind not in ("registered", "unregistered"):
                continue
            if (kind == "registered") == registered:
                self.violate("registration", "%s: %s twice in a row", handle,
                             kind)
            registered = kind == "registered"
            if registered and int(czxid) <= last:
                self.violate("registration", "%s: registered by %s, after %d",
                             handle, czxid, last)
            last = int(czxid) if registered else last

    def registrations_in(self, nodes):
        """What is wrong with them in a list."""
        owned = collections.defaultdict(set)
        for path, (_, owner) in nodes.items():
            if path.startswith("/g/"):
                owned[owner].add(path)
        for wanted in self.registrations:
            paths = set() if wanted.path == "-" else {wanted.path}
            if wanted.status != "HF_OK":
                yield "%s: the wait for %s ended with %s" % (
                    wanted.handle, wanted.path, wanted.status)
            elif owned[wanted.session] != paths:
                yield "%s: its session has %s, and not %s" % (
                    wanted.handle, owned[wanted.session], wanted.path)
            elif paths and nodes[wanted.path][0].data != wanted.data:
                yield "%s: %s has %s, and not %s" % (
                    wanted.handle, wanted.path, nodes[wanted.path][0].data,
                    wanted.data)

    # ---- creates and deletes

    def creates_in(self, nodes):
        made = collections.defaultdict(list)
        for path, (node, owner) in nodes.items():
            if path.startswith("/p/"):
                made[node.data].append((path, owner))
        deleted = {write.data for write in self.writes
                   if write.kind == "delete"}
        for write in self.writes:
            if write.kind == "create":
                text = self.is_wrong(write, made.pop(write.data, []),
                                     write.data in deleted)
                if text:
                    yield "%s %s" % (write, text)
        for data, paths in made.items():
            yield "nobody created %s with %s" % (paths, data)

    def is_wrong(self, write, made, deleted):
        """What is wrong with the nodes that it made; or None.  Those that are
        not sequential are also deleted by others."""
        if len(made) > 1:
            return "made %s" % made
        if not made:
            lives = write.mode == SEQUENTIAL or \
                write.mode == EPHEMERAL_SEQUENTIAL and \
                self.sessions.get(write.handle) == str(write.owner)
            return "made %s, which is not there" % write.made \
                if write.status == "HF_OK" and lives and not deleted else None
        (path, owner), = made
        if write.status not in ("HF_OK", *UNSURE):
            return "made %s" % path
        if write.status == "HF_OK" and (path, owner) != (
                write.made, str(write.owner)):
            return "made %s of %s, and not %s of %s" % (
                path, owner, write.made, write.owner)
        if write.mode != SEQUENTIAL and write.handle in self.sessions and \
                owner != self.sessions[write.handle]:
            return "made %s, of a session that has ended" % path
        return None

    def deletes_in(self, nodes):
        left = {node.data: path for path, (node, _) in nodes.items()
                if path.startswith("/p/")}
        for write in self.writes:
            in_background = write.status == "HF_ETIMEDOUT"
            if write.kind == "delete" and write.status in GONE and \
                    not (in_background and write.cancelled) and \
                    write.data in left:
                yield "%s leaves %s" % (write, left[write.data])

    def remains(self, nodes):
        """(rule, text) of all that is wrong in a list."""
        for rule, found in (("registration", self.registrations_in(nodes)),
                            ("protected", self.creates_in(nodes)),
                            ("guaranteed", self.deletes_in(nodes))):
            for text in found:
                yield rule, text

    # ---- updates

    def check_updates(self, nodes):
        """Of the last list."""
        for path in COUNTERS:
            updates = [write for write in self.writes
                       if write.kind == "update" and write.path == path]
            ended = collections.Counter(write.status for write in updates)
            if path not in nodes:
                if updates:
                    self.violate("update", "%s is not there", path)
                continue
            count = count_of(nodes[path][0].data)
            unsure = sum(ended[status] for status in UNSURE)
            if not 0 <= count - ended["HF_OK"] <= unsure:
                self.violate("update", "%s is %d, after %d updates and %d that "
                             "are unsure", path, count, ended["HF_OK"], unsure)
            self.check_count(path, nodes[path][0], "the servers")
            self.check_versions(updates)

    def check_versions(self, updates):
        """Each update that succeeded made another version."""
        by_version = {}
        for write in updates:
            if write.status == "HF_OK" and by_version.setdefault(
                    write.node.version, write) is not write:
                self.violate("update", "%s and %s made version %d",
                             by_version[write.node.version], write,
                             write.node.version)

    def check_count(self, path, node, whose):
        """Nothing else writes a counter."""
        if path in COUNTERS and count_of(node.data) != node.version:
            self.violate("update", "%s: %s is %s in version %d", whose, path,
                         node.data, node.version)

    # ---- all

    def check(self, seen):
        """seen: (who, path, node) of caches."""
        for who, path, node in seen:
            self.check_count(path, node, who)
        opened = sorted((name for name in self.lists if name[0] == "m"),
                        key=lambda name: int(name[1:]))
        if opened:
            for rule, text in self.remains(self.lists[opened[-1]]):
                self.violate(rule, "%s", text)
        if "f" in self.lists:
            nodes = self.lists["f"]
            self.check_updates(nodes)
            for handle, path in self.closed:
                if path in nodes:
                    self.violate("registration", "%s closed that of %s, which "
                                 "is there", handle, path)
        return opened
