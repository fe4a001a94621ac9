# SPDX-License-Identifier: Apache-2.0
"""ZooKeeper's wire format: the records of a client's conversation with a
server, written and read without the library under test."""

import collections
import struct

# Request types.
OPS = {
    "create": 1, "delete": 2, "exists": 3, "getData": 4, "setData": 5,
    "getACL": 6, "setACL": 7, "getChildren": 8, "sync": 9, "ping": 11,
    "getChildren2": 12, "check": 13, "multi": 14, "create2": 15,
    "createContainer": 19, "createTTL": 21, "multiRead": 22, "auth": 100,
    "setWatches": 101, "setWatches2": 105, "closeSession": -11, "error": -1,
}
NAMES = {number: name for name, number in OPS.items()}

# Flags of a create.
PERSISTENT, EPHEMERAL, SEQUENTIAL, EPHEMERAL_SEQUENTIAL, CONTAINER = range(5)

# The ephemeralOwner of a container.
CONTAINER_OWNER = -2 ** 63

# Errors.
OK = 0
RUNTIME_INCONSISTENCY = -2
CONNECTION_LOSS = -4
MARSHALLING_ERROR = -5
UNIMPLEMENTED = -6
BAD_ARGUMENTS = -8
NO_NODE = -101
NO_AUTH = -102
BAD_VERSION = -103
NO_CHILDREN_FOR_EPHEMERALS = -108
NODE_EXISTS = -110
NOT_EMPTY = -111
SESSION_EXPIRED = -112
INVALID_ACL = -114
AUTH_FAILED = -115
SESSION_MOVED = -118
NOT_READ_ONLY = -119

# xids that the protocol itself uses.
XID_WATCH, XID_PING, XID_AUTH, XID_SET_WATCHES = -1, -2, -4, -8

# Watch events.
CREATED, DELETED, CHANGED, CHILDREN_CHANGED = 1, 2, 3, 4
SYNC_CONNECTED = 3

Stat = collections.namedtuple(
    "Stat", "czxid mzxid ctime mtime version cversion aversion "
    "ephemeral_owner data_length children pzxid")
STAT = struct.Struct(">qqqqiiiqiiq")

Acl = collections.namedtuple("Acl", "perms scheme id")
ANYONE = [Acl(31, "world", "anyone")]


class Truncated(Exception):
    """A record ended before its fields did."""


class Writer:
    """Appends fields; every method returns the writer."""

    def __init__(self):
        self.bytes = b""

    def put(self, layout, *values):
        self.bytes += struct.pack(">" + layout, *values)
        return self

    def int(self, value):
        return self.put("i", value)

    def long(self, value):
        return self.put("q", value)

    def bool(self, value):
        return self.put("?", value)

    def buffer(self, value):
        if value is None:
            return self.int(-1)
        self.int(len(value))
        self.bytes += value
        return self

    def string(self, value):
        return self.buffer(value.encode())

    def strings(self, values):
        self.int(len(values))
        for value in values:
            self.string(value)
        return self

    def acls(self, acls):
        self.int(len(acls))
        for acl in acls:
            self.int(acl.perms).string(acl.scheme).string(acl.id)
        return self

    def stat(self, stat):
        self.bytes += STAT.pack(*stat)
        return self


class Reader:
    """Takes fields off the front."""

    def __init__(self, data):
        self.bytes = data
        self.at = 0

    def take(self, count):
        if count < 0 or self.at + count > len(self.bytes):
            raise Truncated("%d bytes wanted at %d of %d" % (
                count, self.at, len(self.bytes)))
        self.at += count
        return self.bytes[self.at - count:self.at]

    def get(self, layout):
        return struct.unpack(">" + layout,
                             self.take(struct.calcsize(">" + layout)))[0]

    def int(self):
        return self.get("i")

    def long(self):
        return self.get("q")

    def bool(self):
        return self.get("?")

    def buffer(self):
        count = self.int()
        return None if count == -1 else self.take(count)

    def string(self):
        return (self.buffer() or b"").decode()

    def strings(self):
        return [self.string() for _ in range(max(self.int(), 0))]

    def acls(self):
        return [Acl(self.int(), self.string(), self.string())
                for _ in range(max(self.int(), 0))]

    def stat(self):
        return Stat(*STAT.unpack(self.take(STAT.size)))

    def left(self):
        return len(self.bytes) - self.at


def frame(data):
    """With its length in front, as it goes over the wire."""
    return struct.pack(">i", len(data)) + data


# ---- requests: what a server reads

Connect = collections.namedtuple(
    "Connect", "protocol last_zxid timeout_ms session password read_only")


def read_connect(reader):
    connect = [reader.int(), reader.long(), reader.int(), reader.long(),
               reader.buffer()]
    # Clients before 3.4 do not send the last field.
    return Connect(*connect, reader.bool() if reader.left() else None)


def read_fields(op, reader):
    """The fields of a request's body, by name."""
    if op in ("create", "create2", "createContainer"):
        return {"path": reader.string(), "data": reader.buffer(),
                "acls": reader.acls(), "flags": reader.int()}
    if op == "createTTL":
        return {"path": reader.string(), "data": reader.buffer(),
                "acls": reader.acls(), "flags": reader.int(),
                "ttl": reader.long()}
    if op in ("delete", "check"):
        return {"path": reader.string(), "version": reader.int()}
    if op in ("exists", "getData", "getChildren", "getChildren2"):
        return {"path": reader.string(), "watch": reader.bool()}
    if op == "setData":
        return {"path": reader.string(), "data": reader.buffer(),
                "version": reader.int()}
    if op in ("sync", "getACL"):
        return {"path": reader.string()}
    if op == "auth":
        return {"type": reader.int(), "scheme": reader.string(),
                "auth": reader.buffer()}
    if op in ("setWatches", "setWatches2"):
        kinds = ["data", "exists", "child"]
        if op == "setWatches2":
            kinds += ["persistent", "recursive"]
        zxid = reader.long()
        return {"zxid": zxid, **{kind: reader.strings() for kind in kinds}}
    if op in ("multi", "multiRead"):
        return {"ops": read_multi(reader)}
    return {}


def read_multi(reader):
    """The operations of a multi: (name, fields)."""
    ops = []
    while True:
        kind, done = reader.int(), reader.bool()
        reader.int()
        if done:
            return ops
        name = NAMES.get(kind, str(kind))
        ops.append((name, read_fields(name, reader)))
