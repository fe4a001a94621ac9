# SPDX-License-Identifier: Apache-2.0
"""ZooKeeper's tree in memory, as far as locks use it: what the scripted server
answers from when it answers normally.  test_fake.py compares it with a real
server."""

import copy
import struct
import time

import jute

STICKS_AT = 2 ** 31 - 1


class Failure(Exception):
    def __init__(self, code):
        super().__init__("error %d" % code)
        self.code = code


def parent_of(path):
    return path.rpartition("/")[0] or "/"


def int32(number):
    return struct.unpack(">i", struct.pack(">I", number & 0xffffffff))[0]


class Node:
    def __init__(self, zxid, data=b"", owner=0):
        self.data = data
        self.czxid = self.mzxid = self.pzxid = zxid
        self.ctime = self.mtime = int(time.time() * 1000)
        self.version = self.counter = 0
        self.owner = owner
        self.children = set()

    def stat(self):
        # The counter counts creations only; clients see both.  They do not see
        # that a node is a container.
        owner = max(self.owner, 0)
        return jute.Stat(
            self.czxid, self.mzxid, self.ctime, self.mtime, self.version,
            int32(self.counter * 2 - len(self.children)), 0, owner,
            len(self.data or b""), len(self.children), self.pzxid)


class Tree:
    def __init__(self):
        self.zxid = 0
        self.nodes = {"/": Node(0)}
        for path in ("/zookeeper", "/zookeeper/config", "/zookeeper/quota"):
            self.nodes[path] = Node(0)
            self.nodes[parent_of(path)].children.add(path.split("/")[-1])
        self.fired = []  # (watch event, path), since they were taken last

    def node(self, path):
        if path not in self.nodes:
            raise Failure(jute.NO_NODE)
        return self.nodes[path]

    def tick(self):
        """The number of the next transaction; failed ones have one too."""
        self.zxid += 1
        return self.zxid

    # ---- transactions: each is called with a zxid of its own

    def create(self, zxid, session, path, data, flags):
        """The path that it got."""
        parent = self.node(parent_of(path))
        if flags in (jute.SEQUENTIAL, jute.EPHEMERAL_SEQUENTIAL):
            path += "%010d" % parent.counter
        if path in self.nodes:
            raise Failure(jute.NODE_EXISTS)
        if parent.owner > 0:
            raise Failure(jute.NO_CHILDREN_FOR_EPHEMERALS)
        owner = {jute.EPHEMERAL: session, jute.EPHEMERAL_SEQUENTIAL: session,
                 jute.CONTAINER: jute.CONTAINER_OWNER}.get(flags, 0)
        self.nodes[path] = Node(zxid, data, owner)
        parent.children.add(path.split("/")[-1])
        parent.counter = min(parent.counter + 1, STICKS_AT)
        parent.pzxid = zxid
        self.fired += [(jute.CREATED, path),
                       (jute.CHILDREN_CHANGED, parent_of(path))]
        return path

    def delete(self, zxid, path, version):
        node = self.checked(path, version)
        if node.children:
            raise Failure(jute.NOT_EMPTY)
        del self.nodes[path]
        parent = self.nodes[parent_of(path)]
        parent.children.discard(path.split("/")[-1])
        parent.pzxid = zxid
        self.fired += [(jute.DELETED, path),
                       (jute.CHILDREN_CHANGED, parent_of(path))]

    def set(self, zxid, path, data, version):
        node = self.checked(path, version)
        node.data = data
        node.mzxid = zxid
        node.mtime = int(time.time() * 1000)
        node.version += 1
        self.fired.append((jute.CHANGED, path))
        return node.stat()

    def checked(self, path, version):
        node = self.node(path)
        if version not in (-1, node.version):
            raise Failure(jute.BAD_VERSION)
        return node

    def multi(self, zxid, session, ops):
        """All or none: ("ok", results) or ("failed", error codes)."""
        before = copy.deepcopy(self.nodes)
        fired = len(self.fired)
        results = []
        for op, fields in ops:
            try:
                results.append((op, self.one(zxid, session, op, fields)))
            except Failure as failure:
                self.nodes = before
                del self.fired[fired:]
                codes = [jute.OK] * len(results) + [failure.code]
                left = len(ops) - len(codes)
                return "failed", codes + [jute.RUNTIME_INCONSISTENCY] * left
        return "ok", results

    def one(self, zxid, session, op, fields):
        if op == "check":
            return self.checked(fields["path"], fields["version"])
        if op == "delete":
            return self.delete(zxid, fields["path"], fields["version"])
        if op == "setData":
            return self.set(zxid, fields["path"], fields["data"],
                            fields["version"])
        return self.create(zxid, session, fields["path"], fields["data"],
                           fields["flags"])

    def end(self, zxid, session):
        """A session is over: its nodes go."""
        mine = [path for path, node in self.nodes.items()
                if node.owner == session]
        for path in sorted(mine):
            self.delete(zxid, path, -1)
