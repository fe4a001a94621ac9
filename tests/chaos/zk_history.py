# SPDX-License-Identifier: Apache-2.0
"""Checks histories of zk_client_storm.c, which says what their lines mean.

A server answers with the zxid of the last transaction that it had carried out,
and it carries out all transactions in one order.  So the checker knows where in
that order an answer belongs: the answer to a read at zxid H shows the node as
the last write up to H left it, and a write that failed at H failed because of
the state at H.  What no client was sure of may be missing in that order; each
rule below holds for every order that is possible.

The rules, by the word that a violation begins with:

    ends        each operation ends once, each callback comes and is dropped once
    late        an operation ends soon after its deadline
    order       answers come in the order in which operations were started
    real-time   a write that began after another one had ended has a higher zxid
    sync        the server of a sync is not behind what had ended a second
                before it began
    write       a write that succeeded has a zxid and a version of its own
    data        data belong to one write, which may have been carried out
    gap         versions that nobody knows are those of unsure writes
    state       an answer shows the last write before it
    failure     a write that failed for a version or a node had a reason
    session     answers of one session do not go back
    missed      while a watch is set, no answer shows a change before its event
    old         after an event, no answer shows what was before it
    unset       a watch that is not set brings no event
    kind        an event fits what the watch was set on

zk_history_caches.py and zk_history_nodes.py have those of what is built on
operations.
"""

import bisect
import collections

import zk_history_caches
import zk_history_nodes

ONE_SHOT = "data", "children"
WRITES = "create", "delete", "set"

# Statuses that a server's answer to a write may bring.  The zxid is then that
# of the write, also of one that failed.
ANSWERS = "HF_OK", "HF_EVERSION", "HF_EGONE", "HF_EEXISTS", "HF_ENOTEMPTY"

# A write that ended like this may have been carried out.
UNSURE = "HF_EUNSURE"

# How much later than its deadline an operation may end, on a busy machine.
LATE_US = 15000000

# A leader answers a sync like a read, and at that time its followers may have
# carried out more than it has itself (CommitProcessor.java: .matchSyncs is false
# there), on a busy machine for so long.
SYNC_LAG_US = 1000000

# For how long after a session was lost its last answers may be written.
OVERLAP_US = 10000000

# Processes that have to agree that the servers have lost something.
AGREEING = 3

Sub = collections.namedtuple("Sub", "kind path version data")
Result = collections.namedtuple(
    "Result", "status czxid mzxid pzxid version data children")

# What an answer says of a node.  there: (czxid, mzxid), or None without a node;
# pzxid, version, data and children may be None, which is not known.
Shown = collections.namedtuple("Shown",
                               "path there pzxid version data children")


def word(text):
    return None if text == "-" else text


def parent(path):
    return path.rpartition("/")[0] or "/"


class Op:
    """An operation, from its line s to its line e or x."""

    def __init__(self, handle, words):
        self.handle = handle
        self.number = int(words[0])
        self.begin_us = int(words[1])
        self.waits = words[2] == "b"
        self.priority = int(words[3])
        self.wait_ms = int(words[4])
        self.watch = int(words[5])
        self.what = words[6]
        self.subs = [Sub(words[i], words[i + 1], int(words[i + 2]),
                         word(words[i + 3])) for i in range(7, len(words), 4)]
        self.ends = 0
        self.refused = False
        self.end_us = None
        self.status = None
        self.zxid = 0
        self.watching = False
        self.results = []

    def end(self, words):
        self.ends += 1
        self.end_us = int(words[0])
        self.status = words[1]
        self.zxid = int(words[2])
        self.watching = words[3] == "1"
        self.results = [
            Result(words[i], *map(int, words[i + 1:i + 5]), word(words[i + 5]),
                   word(words[i + 6])) for i in range(4, len(words), 7)]

    def __str__(self):
        return "%s/%d (%s, %s)" % (
            self.handle, self.number, " ".join(
                "%s %s" % (sub.kind, sub.path) for sub in self.subs),
            self.status)

    def is_write(self):
        return self.what == "multi" or self.subs[0].kind in WRITES

    def is_answered(self):
        return self.zxid > 0

    def may_have_been_done(self):
        """Without an end nothing is known of it."""
        return self.is_write() and not self.refused and \
            self.status in ("HF_OK", UNSURE, None)

    def pairs(self):
        """Each operation with its result, if there are results."""
        if len(self.results) == len(self.subs):
            yield from zip(self.subs, self.results)

    def shown(self):
        """What its answer shows."""
        if not self.is_answered() or \
                self.what == "multi" and self.status != "HF_OK":
            return
        for sub, result in self.pairs():
            if result.czxid:
                yield Shown(sub.path, (result.czxid, result.mzxid),
                            result.pzxid, result.version,
                            result.data if sub.kind == "get" else sub.data,
                            set((result.children or "").split(","))
                            if sub.kind == "children" else None)
            elif sub.kind == "delete" and result.status == "HF_OK" or \
                    result.status == "HF_EGONE" and sub.kind != "create":
                yield Shown(sub.path, None, None, None, None, None)


class Watch:
    """A watch of a handle, and what the answers since it was set have shown."""

    def __init__(self, kind, path):
        self.kind = kind
        self.path = path
        self.is_set = False
        self.leaves = False  # its free has begun: events may be missing
        # By ("data", path) or ("children", path): what was shown last, and what
        # was shown before the last event.
        self.known = {}
        self.old = {}
        self.names = None  # of the children
        self.paused = False  # the session was lost, and no resync came yet

    def aspects(self, shown):
        """The keys of .known that an answer is about, with their values."""
        here = shown.path == self.path
        below = self.path == "/" or shown.path.startswith(self.path + "/")
        if self.kind == "recursive" and (here or below) or \
                self.kind in ("data", "persistent") and here:
            yield ("data", shown.path), shown.there
        if self.kind in ("children", "persistent") and here and \
                shown.pzxid is not None:
            yield ("children", shown.path), shown.pzxid

    def missed(self, shown):
        """What an answer shows that has changed without an event; or None."""
        if not self.is_set or self.paused:
            return None
        for key, value in self.aspects(shown):
            if key in self.known and self.known[key] != value:
                return "%s was %s, now %s" % (key, self.known[key], value)
        pzxid = self.known.get(("children", self.path))
        if pzxid and parent(shown.path) == self.path != shown.path:
            name = shown.path.rpartition("/")[2]
            if shown.there and shown.there[0] > pzxid:
                return "a child was created at %d, after %d" % (
                    shown.there[0], pzxid)
            if not shown.there and name in (self.names or ()):
                return "the child %s is gone" % name
        return None

    def shows_old(self, shown):
        for key, value in self.aspects(shown):
            if value is not None and self.old.get(key) == value:
                return "%s is %s, as before the event" % (key, value)
        return None

    def note(self, shown):
        """Remember what an answer shows.  A one-shot watch compares with the
        answer that set it."""
        if not self.is_set or self.kind in ONE_SHOT:
            return
        self.known.update(self.aspects(shown))

    def set(self, op):
        self.is_set = True
        self.known = {}
        for shown in op.shown():
            self.known.update(self.aspects(shown))
            self.names = shown.children

    def forget(self, keys):
        for key in keys:
            if self.known.get(key) is not None:
                self.old[key] = self.known[key]
            self.known.pop(key, None)

    def fits(self, kind):
        """Of a data watch, which is set on a node or where there is none."""
        if kind == "resync" or self.kind != "data" or not self.is_set:
            return True
        if self.known.get(("data", self.path)) is None:
            return kind == "created"
        return kind in ("changed", "deleted")

    def event(self, kind, path):
        if kind == "resync":
            self.known = {}
            self.paused = False
        elif kind == "children":
            self.forget([("children", path)])
        elif kind == "deleted":
            self.forget([("data", path), ("children", path)])
        else:
            self.forget([("data", path)])
        self.names = None
        if self.kind in ONE_SHOT:
            self.is_set = False
            self.known = {}

    def session_lost(self):
        """A new session may begin on a server that is behind."""
        self.old = {}
        self.paused = self.kind not in ONE_SHOT


class Handle:
    """What one handle did.  .log has its ends, events and so on, those of
    callbacks in their order."""

    def __init__(self, name):
        self.name = name
        self.ops = {}
        self.log = []
        self.closed = None

    def __str__(self):
        return self.name


def read(name, lines):
    """The handles of one process."""
    handles = {}
    for line in lines:
        kind, number, *words = line.split()
        handle = handles.setdefault(number, Handle(name + "/" + number))
        if kind == "s":
            op = Op(handle, words)
            handle.ops[op.number] = op
            handle.log.append(("start", op))
        elif kind == "e":
            op = handle.ops[int(words[0])]
            op.end(words[1:])
            handle.log.append(("end", op))
        elif kind == "x" and int(words[0]) in handle.ops:
            op = handle.ops[int(words[0])]
            op.refused = True
            op.status = words[1]
            op.ends += 1
        elif kind == "v":
            handle.log.append(("watch", int(words[0]), words[1], words[2]))
        elif kind == "w":
            handle.log.append(("event", int(words[0]), words[2], words[3]))
        elif kind == "F":
            handle.log.append(("leave", int(words[0])))
        elif kind == "f":
            handle.log.append(("free", int(words[0])))
        elif kind == "t":
            handle.log.append(("state", int(words[0]), words[1]))
        elif kind == "c":
            handle.closed = tuple(map(int, words[1:]))
        else:
            handle.log.append((kind, *words))
    return list(handles.values())


class Checker:
    """The violations are in .violations once check() is back, and in .lost what
    the servers themselves have lost: ZooKeeper 3.8 can lose transactions that
    it had committed, when elections follow one another while a server is behind
    (such as ZOOKEEPER-4643).  A client has no part in that.  It is recognised
    by answers in a later epoch to several processes, which agree on an older
    state."""

    def __init__(self, handles):
        self.handles = handles
        self.ops = [op for handle in handles for op in handle.ops.values()]
        self.violations = []
        self.lost = []

    def violate(self, rule, text, *arguments):
        self.violations.append("%s: %s" % (rule, text % arguments))

    def check(self):
        for handle in self.handles:
            self.check_ends(handle)
            self.check_order(handle)
            self.check_session(handle)
            self.check_calls(handle)
            self.check_watches(handle)
        self.check_real_time()
        self.caches = zk_history_caches.Checker(self.handles)
        self.nodes_left = zk_history_nodes.Checker(self.handles)
        self.collect()
        self.find_lost()
        self.check_data()
        self.check_gaps()
        self.check_states()
        self.check_failures()
        self.check_built()
        return self.violations

    def check_built(self):
        """What is built on operations."""
        opened = self.nodes_left.check(self.caches.seen)
        if len(opened) > 1:
            self.caches.check_contents(*(
                {path: node for path, (node, _) in
                 self.nodes_left.lists[name].items()} for name in opened[:2]))
        self.violations += self.caches.violations + self.nodes_left.violations

    # ---- one handle

    def check_ends(self, handle):
        for op in handle.ops.values():
            if op.ends != 1:
                self.violate("ends", "%s ended %d times", op, op.ends)
            elif op.end_us and op.wait_ms > 0 and op.end_us > \
                    op.begin_us + op.wait_ms * 1000 + LATE_US:
                self.violate("late", "%s ended %d ms after it began", op,
                             (op.end_us - op.begin_us) // 1000)
        if handle.closed is None:
            self.violate("ends", "%s was not closed", handle)
            return
        started, refused, ended, dropped = handle.closed
        if ended != started or dropped != started + refused:
            self.violate("ends", "%s started %d and %d were refused, %d ended "
                         "and %d were dropped", handle, *handle.closed)

    def check_order(self, handle):
        """Of those that were answered, for each priority."""
        started = {entry[1]: i for i, entry in enumerate(handle.log)
                   if entry[0] == "start"}
        last = {}
        for kind, *entry in handle.log:
            if kind != "end" or entry[0].waits or not entry[0].is_answered():
                continue
            op = entry[0]
            before = last.get(op.priority)
            if before and started[before] > started[op]:
                self.violate("order", "%s ended after %s, which was started "
                             "later", op, before)
            last[op.priority] = op

    def check_session(self, handle):
        """The zxid of answers, in the order of callbacks.  A listener may be
        notified of a loss ahead of earlier callbacks, so the zxid may go back
        once at any time after it."""
        highest = None
        losses = 0
        for kind, *entry in handle.log:
            if kind == "state":
                losses += entry[1] == "LOST"
            if kind != "end" or entry[0].waits or not entry[0].is_answered():
                continue
            op = entry[0]
            if highest and op.zxid < highest.zxid:
                if losses:
                    losses = 0
                else:
                    self.violate("session", "%s is of %d, after %s of %d", op,
                                 op.zxid, highest, highest.zxid)
            highest = op

    def check_calls(self, handle):
        """The zxid of calls that wait: not before that of what had ended when
        they began, unless the session was lost about then."""
        losses = [entry[1] for entry in handle.log
                  if entry[:1] == ("state",) and entry[2] == "LOST"]
        ends = sorted((op.end_us, op.zxid) for op in handle.ops.values()
                      if op.is_answered())
        for op in handle.ops.values():
            if not op.waits or not op.is_answered():
                continue
            at = bisect.bisect_right(losses, op.begin_us)
            since = losses[at - 1] + OVERLAP_US if at else 0
            if at < len(losses) and losses[at] < op.end_us + OVERLAP_US or \
                    since > op.begin_us:
                continue
            # The last ones are enough: these do not go back either.
            upto = bisect.bisect_left(ends, (op.begin_us, 0))
            for end_us, zxid in ends[max(0, upto - 8):upto]:
                if end_us > since and zxid > op.zxid:
                    self.violate("session", "%s is of %d, and %d ended before "
                                 "it began", op, op.zxid, zxid)
                    break

    def check_watches(self, handle):
        watches = {}
        for kind, *entry in handle.log:
            if kind == "watch":
                watches[entry[0]] = Watch(*entry[1:])
            elif kind == "leave" and watches[entry[0]]:
                watches[entry[0]].leaves = True
            elif kind == "free":
                watches[entry[0]] = None
            elif kind == "event":
                self.check_event(handle, watches.get(entry[0]), *entry)
            elif kind == "state" and entry[1] == "LOST":
                for watch in filter(None, watches.values()):
                    watch.session_lost()
            elif kind == "end" and not entry[0].waits:
                self.check_answer(watches, entry[0])

    def check_event(self, handle, watch, number, kind, path):
        if not watch or not watch.is_set:
            self.violate("unset", "%s: watch %d, which is %s, brought %s of %s",
                         handle, number, "not set" if watch else "freed", kind,
                         path)
            if not watch:
                return
        if not watch.fits(kind):
            self.violate("kind", "%s: watch %d (%s %s) of %s brought %s",
                         handle, number, watch.kind, watch.path, watch.known,
                         kind)
        watch.event(kind, path)

    def check_answer(self, watches, op):
        living = [item for item in watches.items() if item[1]]
        for shown in op.shown():
            for number, watch in living:
                changed = watch.missed(shown)
                if changed and not watch.leaves:
                    self.violate("missed", "watch %d (%s %s) brought no event "
                                 "before %s: %s", number, watch.kind,
                                 watch.path, op, changed)
                if changed := watch.shows_old(shown):
                    self.violate("old", "watch %d (%s %s) brought an event, "
                                 "then %s: %s", number, watch.kind, watch.path,
                                 op, changed)
                watch.note(shown)
        watch = watches.get(op.watch)
        if watch and op.watching:
            watch.set(op)

    # ---- all of them

    def check_real_time(self):
        """Nothing that ended before an operation began has a higher zxid."""
        def since_us(op):
            return op.begin_us - (0 if op.is_write() else SYNC_LAG_US)

        writes = [op for op in self.ops if op.is_write() and
                  op.is_answered() and op.status in ANSWERS]
        by_zxid = {}
        for op in writes:
            if by_zxid.setdefault(op.zxid, op) is not op:
                self.violate("write", "%s and %s have the zxid %d", op,
                             by_zxid[op.zxid], op.zxid)
        ended = sorted(writes, key=lambda op: op.end_us)
        highest = None
        at = 0
        syncs = [op for op in self.ops if op.subs[0].kind == "sync" and
                 op.is_answered()]
        for op in sorted(writes + syncs, key=since_us):
            while at < len(ended) and ended[at].end_us < since_us(op):
                if not highest or ended[at].zxid > highest.zxid:
                    highest = ended[at]
                at += 1
            if highest and highest.zxid >= op.zxid + (not op.is_write()):
                self.violate("real-time" if op.is_write() else "sync",
                             "%s is of %d, and %s, which had ended before, of "
                             "%d", op, op.zxid, highest, highest.zxid)

    def collect(self):
        """.shown: (op, shown) by path.  .nodes: by path, what is known of each
        (czxid, mzxid): its version and data.  .deletes: the zxids of deletes
        that succeeded.  .unsure: the operations that may have been carried out,
        by (kind, path)."""
        self.shown = collections.defaultdict(list)
        self.nodes = collections.defaultdict(dict)
        self.deletes = collections.defaultdict(list)
        self.unsure = collections.defaultdict(list)
        for op in self.ops:
            for shown in op.shown():
                self.shown[shown.path].append((op, shown))
                if shown.there:
                    self.learn(op, shown)
        for cache, path, node in self.caches.seen:
            if path.startswith(("/r", "/d/")):
                self.learn(cache, Shown(path, (node.czxid, node.mzxid), None,
                                        node.version, node.data, None))
        for op in self.ops:
            if op.is_write() and op.may_have_been_done():
                for sub in op.subs:
                    if op.status != "HF_OK":
                        self.unsure[sub.kind, sub.path].append(op)
                    elif sub.kind == "delete":
                        self.deletes[sub.path].append(op.zxid)
        for zxids in self.deletes.values():
            zxids.sort()
        self.mzxids = {path: sorted(there[1] for there in nodes)
                       for path, nodes in self.nodes.items()}
        self.by_mzxid = {path: {there[1]: (there[0], *known)
                                for there, known in nodes.items()}
                         for path, nodes in self.nodes.items()}

    def find_lost(self):
        """Writes that some had seen, in paths that are never deleted, and that
        AGREEING processes did not see in a later epoch."""
        for path, all_shown in self.shown.items():
            if any(kind == "delete" and there == path
                   for kind, there in self.unsure) or path in self.deletes:
                continue
            processes = collections.defaultdict(set)
            for op, shown in all_shown:
                last = self.last_write(path, op.zxid)
                if shown.there and shown.there[1] < last and \
                        last >> 32 < op.zxid >> 32:
                    processes[shown.there[1], last].add(
                        op.handle.name.partition("/")[0])
            self.lost += ["%s: what was written after %d, up to %d" % (
                path, *between) for between, names in processes.items()
                if len(names) >= AGREEING]

    def learn(self, op, shown):
        """Two answers must not differ in what one transaction wrote."""
        version, data = self.nodes[shown.path].get(shown.there, (None, None))
        if version is not None and shown.version != version or \
                data and shown.data and data != shown.data:
            self.violate("write", "%s shows %s as version %d, %s, and another "
                         "answer as %d, %s", op, shown.there, shown.version,
                         shown.data, version, data)
        self.nodes[shown.path][shown.there] = (shown.version,
                                               data or shown.data)

    def check_writes(self, op):
        for sub, result in op.pairs():
            if result.status == "HF_OK" and sub.kind in ("set", "create") and (
                    result.mzxid != op.zxid or sub.version >= 0 and
                    sub.kind == "set" and result.version != sub.version + 1):
                self.violate("write", "%s is of %d and made version %d of %d",
                             op, op.zxid, result.version, result.mzxid)

    def check_data(self):
        writers = {sub.data: (op, sub.path) for op in self.ops
                   if op.is_write() for sub in op.subs if sub.data}
        found = {}
        for op in self.ops:
            if op.is_write() and op.status == "HF_OK":
                self.check_writes(op)
        for path, nodes in self.nodes.items():
            for (_, mzxid), (_, data) in nodes.items():
                if not data:
                    continue
                writer, target = writers.get(data, (None, None))
                if target != path:
                    self.violate("data", "%s has %s, which nobody wrote there",
                                 path, data)
                elif not writer.may_have_been_done():
                    self.violate("data", "%s has %s of %s", path, data, writer)
                elif writer.status == "HF_OK" and writer.zxid != mzxid:
                    self.violate("data", "%s has %s at %d, and %s is of %d",
                                 path, data, mzxid, writer, writer.zxid)
                if found.setdefault(data, mzxid) != mzxid:
                    self.violate("data", "%s has %s at %d and at %d", path,
                                 data, found[data], mzxid)
        self.found = found

    def check_gaps(self):
        """Versions rise by one from the creation on; those that are missing
        belong to writes of which nothing is known."""
        for path, nodes in self.nodes.items():
            by_node = collections.defaultdict(list)
            for (czxid, mzxid), (version, _) in sorted(nodes.items()):
                by_node[czxid].append((mzxid, version))
            for versions in by_node.values():
                for (_, one), (mzxid, two) in zip(versions, versions[1:]):
                    if two <= one:
                        self.violate("write", "%s has version %d, and later, at"
                                     " %d, version %d", path, one, mzxid, two)
            created = sum(v[0][1] == 0 for v in by_node.values())
            written = sum(v[-1][1] + 1 for v in by_node.values())
            self.check_gap("create", path, len(by_node) - created)
            self.check_gap("set", path, written - len(nodes) -
                           (len(by_node) - created))

    def check_gap(self, kind, path, missing):
        unsure = sum(sub.data not in self.found
                     for op in self.unsure[kind, path] for sub in op.subs
                     if (sub.kind, sub.path) == (kind, path))
        if missing > unsure:
            self.violate("gap", "%s: %d versions are not known, and %d writes "
                         "(%s) are unsure", path, missing, unsure, kind)

    def last_write(self, path, zxid):
        """The mzxid of the last known write up to zxid, or 0."""
        known = self.mzxids.get(path, ())
        at = bisect.bisect_right(known, zxid)
        return known[at - 1] if at else 0

    def last_delete(self, path, zxid):
        """The same of deletes that succeeded."""
        deletes = self.deletes.get(path, ())
        at = bisect.bisect_right(deletes, zxid)
        return deletes[at - 1] if at else 0

    def may_be_gone(self, path, since, op):
        """Was it, or may it have been, deleted after since and before the end
        of op?"""
        return self.last_delete(path, op.zxid) > since or any(
            other.begin_us < op.end_us
            for other in self.unsure.get(("delete", path), ()))

    def check_states(self):
        for path, all_shown in self.shown.items():
            for op, shown in all_shown:
                last = self.last_write(path, op.zxid)
                gone = self.last_delete(path, op.zxid)
                if shown.there and gone > shown.there[1]:
                    self.violate("state", "%s at %d shows %s, which was deleted"
                                 " at %d", op, op.zxid, path, gone)
                elif shown.there and last != shown.there[1]:
                    self.violate("state", "%s at %d shows %d of %s, and %d is "
                                 "newer", op, op.zxid, shown.there[1], path,
                                 last)
                elif not shown.there and last and not self.may_be_gone(
                        path, last, op):
                    self.violate("state", "%s at %d shows no %s, and nobody "
                                 "has deleted it since %d", op, op.zxid, path,
                                 last)

    def check_failures(self):
        for op in self.ops:
            if not op.is_write() or not op.is_answered():
                continue
            for sub, result in op.pairs():
                if result.status == "HF_EVERSION":
                    self.check_version_failure(op, sub)
                elif result.status == "HF_EEXISTS":
                    self.check_exists_failure(op, sub.path)

    def check_version_failure(self, op, sub):
        """It is wrong if the node had the version that was asked for, before
        and afterwards."""
        known = self.mzxids.get(sub.path, ())
        at = bisect.bisect_right(known, op.zxid)
        if not at:
            return
        czxid, version, _ = self.by_mzxid[sub.path][known[at - 1]]
        if version != sub.version:
            return
        if at < len(known):
            after = self.by_mzxid[sub.path][known[at]]
            if after[:2] != (czxid, version + 1):
                return
        self.violate("failure", "%s at %d: %s had version %d, of %d", op,
                     op.zxid, sub.path, version, known[at - 1])

    def check_exists_failure(self, op, path):
        """It is wrong if the node was deleted, and nobody may have created it
        since."""
        since = self.last_delete(path, op.zxid)
        if self.last_write(path, op.zxid) <= since and not any(
                other.begin_us < op.end_us
                for other in self.unsure.get(("create", path), ())):
            self.violate("failure", "%s at %d: %s was not there since %d", op,
                         op.zxid, path, since)


def check(histories):
    """(violations, what the servers lost, counts by name) of the lines of each
    process, by its name."""
    handles = [handle for name, lines in histories.items()
               for handle in read(name, lines)]
    checker = Checker(handles)
    checker.check()
    counts = collections.Counter(
        operations=len(checker.ops),
        watches=sum(entry[0] == "watch" for handle in handles
                    for entry in handle.log))
    for op in checker.ops:
        counts[op.status] += 1
    for write in checker.nodes_left.writes:
        counts["%s %s" % (write.kind, write.status)] += 1
    counts["caches"] = len(checker.caches.caches)
    counts["cache events"] = checker.caches.events
    counts["cache queries"] = checker.caches.queries
    counts["registrations"] = sum(
        wanted.path != "-" for wanted in checker.nodes_left.registrations)
    counts["registered"] = sum(
        entry[:2] == ("r", "registered") for handle in handles
        for entry in handle.log)
    for handle in handles:
        for kind, *entry in handle.log:
            if kind == "event":
                counts["resyncs" if entry[1] == "resync" else "events"] += 1
            elif kind == "state" and entry[1] in ("SUSPENDED", "LOST"):
                counts[entry[1]] += 1
    return checker.violations, checker.lost, counts


def lines_of(paths, kinds=""):
    """The whole lines of each file, by its name: all, or those of kinds."""
    histories = {}
    for path in paths:
        with open(path) as file:
            histories[path.rpartition("/")[2].partition(".")[0]] = [
                line for line in file
                if line[-1] == "\n" and (not kinds or line[0] in kinds)]
    return histories


def check_files(paths):
    """check() of files."""
    return check(lines_of(paths))


def remains(paths, name):
    """What is wrong in the list of all nodes that the file of this name has."""
    handles = [handle for one, lines in lines_of(
        paths, zk_history_nodes.KINDS_OF_END).items()
        for handle in read(one, lines)]
    checker = zk_history_nodes.Checker(handles)
    return list(checker.remains(checker.lists[name]))
