# SPDX-License-Identifier: Apache-2.0
"""Changes the database of a member of etcd that is stopped, so that it is as if it
had served for long: a million revisions and a file of gigabytes would take too
much time and space to make.

The file is one of bbolt: pages, the first two of which describe the others.  Only
these have a checksum, FNV-1a of 64 bits (Fowler, Noll, Vo).  In the bucket "key"
the name of each record is the revision that has written it."""

import struct

MAGIC = 0xED0CDAED
PAGE_HEAD_BYTES = 16
# Magic, version, page size, flags; root page and sequence of the root bucket,
# page of the free list, number of pages, transaction; and the checksum.
META = struct.Struct("<4I5Q")
SUM = struct.Struct("<Q")


def checksum(data):
    found = 0xCBF29CE484222325
    for byte in data:
        found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return found


def record(revision):
    """The name of the first record of that revision."""
    return struct.pack(">Q", revision) + b"_" + bytes(8)


def advance(path, last, revision):
    """The last revision becomes another, later one.  No other changes place in
    the order of the records."""
    with open(path, "r+b") as file:
        data = file.read()
        at = data.find(record(last))
        if at < 0 or revision < last:
            raise AssertionError("no record of revision %d" % last)
        while at >= 0:
            file.seek(at)
            file.write(record(revision))
            at = data.find(record(last), at + 1)


def grow(path, size):
    """The file has that many bytes; those that it did not have are free."""
    with open(path, "r+b") as file:
        page_bytes = META.unpack(file.read(PAGE_HEAD_BYTES + META.size)
                                 [PAGE_HEAD_BYTES:])[2]
        for page in range(2):
            file.seek(page * page_bytes + PAGE_HEAD_BYTES)
            fields = list(META.unpack(file.read(META.size)))
            if fields[0] != MAGIC:
                raise AssertionError("%s is no database" % path)
            fields[-2] = size // page_bytes
            meta = META.pack(*fields)
            file.seek(page * page_bytes + PAGE_HEAD_BYTES)
            file.write(meta + SUM.pack(checksum(meta)))
        file.truncate(size)
