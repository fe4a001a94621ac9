# SPDX-License-Identifier: Apache-2.0
"""What a client counts of its own locks, as numbers and as OpenMetrics text."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, NamedTuple, Tuple

from . import _c
from ._call import type_of
from ._library import c, check, status_of, text_of


class Histogram(NamedTuple):
    """Durations, in seconds."""

    count: int  # type: ignore[assignment]  # tuple.count() is another
    sum: float
    buckets: Tuple[int, ...]  # each without those below it; see BUCKET_BOUNDS


#: The upper bounds of the buckets of a histogram, in seconds and inclusive.
BUCKET_BOUNDS: Tuple[float, ...] = (
    *(bound / 1e6 for bound in _c.HISTOGRAM_BOUNDS_US), float("inf"))


class LockStats(NamedTuple):
    """The acquires of a client, or those of one name."""

    name: str
    acquired: int
    waited: int  # others were ahead
    failed: int
    lost: int
    revoked: int
    wait: Histogram
    hold: Histogram
    handoff: Histogram


class ClientStats(NamedTuple):
    """What a client has counted since it was opened, all of one instant."""

    all: LockStats
    by_status: Dict[_c.Status, int]  # how acquires have ended
    reconnects: int
    suspensions: int
    sessions_lost: int
    deadlock_searches_cut: int
    round_trip: Histogram
    names: Dict[str, LockStats]
    others: LockStats  # of all names that are not there


class LockEvent(NamedTuple):
    """What has happened to one lock of a client."""

    kind: str  # "acquired", "failed", "released", "lost" or "revoked"
    name: str
    index: int  # type: ignore[assignment]  # which of several locks it is
    count: int  # type: ignore[assignment]  # how many were acquired together
    status: int  # how an acquire has failed: a Status
    token: int
    waited: bool
    duration: float  # in seconds, from the call, or from the grant


_EVENT_KINDS = {number: name[len("HF_LOCK_EVENT_"):].lower()
                for name, number in vars(_c).items()
                if name.startswith("HF_LOCK_EVENT_")}


def event_of(event: Any) -> LockEvent:
    return LockEvent(_EVENT_KINDS.get(event.kind, str(event.kind)),
                     text_of(event.name), event.index, event.count,
                     status_of(event.status), event.token, event.waited,
                     event.duration_us / 1e6)


def _histogram(found: Any) -> Histogram:
    return Histogram(found.count, found.sum_us / 1e6, tuple(found.buckets))


def _lock_stats(found: Any) -> LockStats:
    return LockStats(text_of(found.name), found.acquired, found.waited,
                     found.failed, found.lost, found.revoked,
                     _histogram(found.wait), _histogram(found.hold),
                     _histogram(found.handoff))


def read_stats(client: Any) -> ClientStats:
    """hf_client_stats() of the handle of a client."""
    pointer = ctypes.POINTER(_c.hf_client_stats)()
    check(c.hf_client_stats(client, ctypes.byref(pointer)))
    try:
        found = pointer.contents
        names = [_lock_stats(found.names[index].contents)
                 for index in range(found.name_count)]
        return ClientStats(
            _lock_stats(found.all.contents),
            {status: found.by_status[status] for status in _c.Status
             if status < found.status_count and found.by_status[status]},
            found.reconnects, found.suspensions, found.sessions_lost,
            found.deadlock_searches_cut, _histogram(found.round_trip),
            {stats.name: stats for stats in names},
            _lock_stats(found.others.contents))
    finally:
        c.hf_client_stats_free(pointer)


def read_text(client: Any) -> str:
    """hf_client_metrics_write() of the handle of a client."""
    pieces: List[bytes] = []

    def add(_arg: Any, text: int, count: int) -> bool:
        pieces.append(ctypes.string_at(text, count))
        return True

    # Not the type in the struct, whose text would be read up to a NUL.
    function = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p,
                                ctypes.c_size_t)(add)
    check(c.hf_client_metrics_write(client, _c.hf_metrics_write(
        ctypes.cast(function, type_of(_c.hf_metrics_write, "fn")), None)))
    return b"".join(pieces).decode("utf-8")
