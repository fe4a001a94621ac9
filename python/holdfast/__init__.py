# SPDX-License-Identifier: Apache-2.0
"""Distributed locks, by libholdfast.

    import holdfast

    with holdfast.Client() as client, \\
            client.lock("nightly", timeout=30) as grant:
        write_report(grant.token)

AsyncClient does the same with "async with", on asyncio's own loop.  Every
failure is a holdfast.Error; docs/python.md lists the exceptions.
"""
from . import _c
from ._async import (AsyncClient, AsyncElection, AsyncGrant, AsyncLock,
                     AsyncLocks)
from ._barrier import (AsyncBarrier, AsyncDoubleBarrier, Barrier,
                       DoubleBarrier)
from ._base import Ticket, Wait
from ._c import *  # noqa: F401,F403  pylint: disable=wildcard-import
from ._c import Status
from ._error import Error
from ._metrics import (BUCKET_BOUNDS, ClientStats, Histogram, LockEvent,
                       LockStats)
from ._mutex import (AsyncMutex, AsyncReentrantLock, AsyncRWLock, Mutex,
                     ReentrantLock, RWLock)
from ._names import AsyncNames, Name, Names
from ._sync import Client, Election, Grant, Lock, Locks

__version__ = (f"{_c.HF_VERSION_MAJOR}.{_c.HF_VERSION_MINOR}."
               f"{_c.HF_VERSION_PATCH}")
__all__ = ["BUCKET_BOUNDS", "AsyncBarrier", "AsyncClient",
           "AsyncDoubleBarrier", "AsyncElection", "AsyncGrant", "AsyncLock",
           "AsyncLocks", "AsyncMutex", "AsyncNames", "AsyncReentrantLock",
           "AsyncRWLock", "Barrier", "Client", "ClientStats", "DoubleBarrier",
           "Election", "Error", "Grant", "Histogram", "Lock", "LockEvent",
           "LockStats", "Locks", "Mutex", "Name", "Names", "RWLock",
           "ReentrantLock", "Status", "Ticket", "Wait"]
__all__ += _c.__all__  # so written, mypy exports the exceptions, too
