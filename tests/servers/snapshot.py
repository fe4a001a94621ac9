# SPDX-License-Identifier: Apache-2.0
"""A ZooKeeper snapshot written by hand: a tree as it would be after a long
life, which no test could live through.

The format is that of FileSnap in ZooKeeper 3.5 to 3.9: header, sessions, ACLs,
nodes up to one called "/", and an Adler-32 of it all.
"""

import os
import zlib

import jute

# The ACL number that stands for world:anyone in every snapshot.
OPEN_ACL = -1


def node(writer, path, cversion=0, owner=0, zxid=0):
    """One node: path, DataNode, StatPersisted."""
    writer.string(path).buffer(b"").long(OPEN_ACL)
    writer.long(zxid).long(zxid).long(0).long(0)  # czxid mzxid ctime mtime
    writer.int(0).int(cversion).int(0).long(owner).long(zxid)


def parents(path):
    """The paths above."""
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[:i + 1]) for i in range(len(parts))]


def write(data, path, cversion, container=False, zxid=0x100000000):
    """Have the server with this data directory find path with a child
    counter of cversion, and the last transaction zxid."""
    writer = jute.Writer()
    writer.put("4sii", b"ZKSN", 2, -1).int(-1)  # header; its last is a long
    writer.int(0)  # sessions
    writer.int(0)  # ACLs
    node(writer, "")
    for above in ("/zookeeper", "/zookeeper/config", "/zookeeper/quota"):
        node(writer, above)
    for above in parents(path):
        node(writer, above, zxid=zxid)
    node(writer, path, cversion, jute.CONTAINER_OWNER if container else 0,
         zxid)
    writer.string("/")
    checksum = zlib.adler32(writer.bytes)
    writer.long(checksum).string("/")
    directory = os.path.join(data, "version-2")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "snapshot.%x" % zxid), "wb") as file:
        file.write(writer.bytes)
