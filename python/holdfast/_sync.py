# SPDX-License-Identifier: Apache-2.0
"""Clients, locks, grants and elections whose calls wait."""
from __future__ import annotations

import threading
from types import TracebackType
from typing import (Any, Callable, List, Optional, Sequence, Tuple, Type,
                    Union)

from . import _c
from ._barrier import Barrier, DoubleBarrier
from ._base import (BaseClient, BaseElection, BaseGrant, BaseLock, BaseLocks,
                    SIDES, Kind, LockHandle, Ticket, Wait)
from ._call import wait
from ._error import Error
from ._library import c, check
from ._mutex import Mutex, RWLock
from ._names import Names

OnGrant = Optional[Callable[["Grant"], Any]]
OnElection = Optional[Callable[["Election"], Any]]


class Client(BaseClient):
    """The connection to an engine.  Without a URL the environment is asked, as
    hf_client_open() does.  Callbacks run on a thread of the client's own."""

    _delivery = _c.HF_DELIVER_THREAD

    def lock(self, name: str, timeout: Optional[float] = None,
             kind: Kind = "mutex", *,
             permits: Optional[Tuple[int, int]] = None,
             text: Optional[str] = None, on_loss: OnGrant = None,
             on_wait: Optional[Callable[[Wait], Any]] = None,
             on_revoke: OnGrant = None) -> Lock:
        """The lock called ${name}.  timeout: how many seconds "with" and
        acquire() wait; None: for ever.  kind: "mutex", "read" or "write".
        permits=(2, 5): a semaphore, two of its five permits.  text: shown to
        those who list the queue.  on_loss, on_revoke: called with the grant
        when it is lost, or when another program asks for its release; on_wait:
        with a Wait, while waiting."""
        return Lock(self, [LockHandle(self, name, kind, permits)], timeout,
                    text, on_loss, on_wait, on_revoke)

    def locks(self, locks: Sequence[Union[str, Lock]],
              timeout: Optional[float] = None, *, text: Optional[str] = None,
              on_loss: OnGrant = None,
              on_wait: Optional[Callable[[Wait], Any]] = None,
              on_revoke: OnGrant = None) -> Locks:
        """Several locks, all of which are acquired, or none.  A name stands for
        a mutex."""
        parts = [LockHandle(self, lock, "mutex", None) if isinstance(lock, str)
                 else lock._parts[0] for lock in locks]
        if not parts:
            raise ValueError("there is no lock to acquire")
        return Locks(self, parts, timeout, text, on_loss, on_wait, on_revoke)

    def election(self, name: str, *, kind: Kind = "election",
                 id: Optional[str] = None,  # pylint: disable=redefined-builtin
                 text: Optional[str] = None, on_elected: OnElection = None,
                 on_deposed: OnElection = None, on_revoke: OnElection = None,
                 on_ended: Optional[Callable[[Election, Error], Any]] = None
                 ) -> Election:
        """A candidate for the leadership called ${name}, from the "with" or
        campaign() on."""
        return Election(self, name, kind, text, id,
                        {"on_elected": on_elected, "on_deposed": on_deposed,
                         "on_revoke": on_revoke, "on_ended": on_ended})

    def mutex(self, name: str, timeout: Optional[float] = None, *,
              text: Optional[str] = None, on_loss: OnGrant = None,
              on_wait: Optional[Callable[[Wait], Any]] = None,
              on_revoke: OnGrant = None,
              detect_deadlock: bool = False) -> Mutex:
        """The mutex called ${name}, which the thread that has it may acquire
        again through this object.  detect_deadlock: raise Deadlock from an
        acquire that waits in a cycle of such owners.  The rest as in
        lock()."""
        return Mutex(self.lock(name, timeout, text=text, on_loss=on_loss,
                               on_wait=on_wait, on_revoke=on_revoke),
                     detect_deadlock)

    def rwlock(self, name: str, timeout: Optional[float] = None, *,
               text: Optional[str] = None, on_loss: OnGrant = None,
               on_wait: Optional[Callable[[Wait], Any]] = None,
               on_revoke: OnGrant = None,
               detect_deadlock: bool = False) -> RWLock:
        """The read/write lock called ${name}, which the thread that has it may
        acquire again.  The rest as in mutex()."""
        read, write = (self.lock(name, timeout, kind, text=text,
                                 on_loss=on_loss, on_wait=on_wait,
                                 on_revoke=on_revoke)
                       for kind in SIDES)
        return RWLock(read, write, detect_deadlock)

    def barrier(self, name: str) -> Barrier:
        """The barrier called ${name}, a name that no lock has."""
        return Barrier(self, name)

    def double_barrier(self, name: str, participants: int,
                       timeout: Optional[float] = None) -> DoubleBarrier:
        """One participant of the double barrier called ${name}, a name that no
        lock has.  participants: how many it takes, the same everywhere.
        timeout: how long enter() and leave() wait."""
        return DoubleBarrier(self, name, participants, timeout)

    def names(self, prefix: str = "", *,
              all: bool = False,  # pylint: disable=redefined-builtin
              timeout: Optional[float] = None) -> Names:
        """A walk over the names of locks that are ${prefix} or below it.  all:
        also in a tree of ZooKeeper with more than 100,000 nodes.  timeout: of
        each request for some of them."""
        return Names(self, prefix, all, timeout)

    def close(self) -> None:
        """End the session.  Waits end with Closed, and grants are lost."""
        handle = self._take_handle()
        if handle is None:
            return
        status = c.hf_client_close(handle)
        if status == _c.Status.EREENTRANT:
            self._handle = handle
        check(status)
        self._closed()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_exit: Any) -> None:
        self.close()


class Grant(BaseGrant):
    """A grant, from the end of an acquire until its release.  It may be used
    as a context, which releases it, and by any thread."""

    def release(self) -> None:
        """Leave the queue.  Raises Lost if it cannot be excluded that another
        owner had been admitted before.  Nothing if it was released."""
        wait(self._release_call())

    def downgrade(self) -> None:
        """Make the grant of a writer that of a reader."""
        wait(self._downgrade_call())

    def __enter__(self) -> Grant:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 _value: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        try:
            self.release()
        except Error:
            # What happened inside says more.
            if kind is None:
                raise


class Locks(BaseLocks[Client, Grant]):
    """Several locks, acquired together: the context of one grant."""

    _grant_type = Grant

    def acquire(self, timeout: Union[float, None, str] = "default") -> Grant:
        """Wait until admitted, by default as long as this lock was opened
        with; 0: raise Busy where it would wait for another owner."""
        return wait(self._acquire_call(timeout))

    def __enter__(self) -> Grant:
        key, grant = threading.get_ident(), self.acquire()
        before = self._entered.get(key)
        self._entered[key] = grant, before
        return grant

    def __exit__(self, kind: Optional[Type[BaseException]],
                 value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._leave(threading.get_ident()).__exit__(kind, value, trace)


class Lock(Locks, BaseLock[Client, Grant]):
    """A name that can be acquired, any number of times.  As a context it gives
    the grant.  It is not recursive."""

    def tickets(self, which: str = "all",
                timeout: Optional[float] = None) -> List[Ticket]:
        """The queue as it is now, or its "holders" or "waiters"."""
        return wait(self._tickets_call(which, timeout))

    def evict(self, ticket: Union[str, Ticket], by: Optional[str] = None,
              timeout: Optional[float] = None) -> None:
        """Remove a ticket by force.  by: who does that, and why."""
        wait(self._evict_call(ticket, by, timeout))

    def revoke(self, ticket: Union[str, Ticket, None] = None,
               timeout: Optional[float] = None) -> None:
        """Ask the owner of a ticket, or each holder, to release it."""
        wait(self._revoke_call(ticket, timeout))


class Election(BaseElection[Client]):
    """A candidate, whose context is the candidacy."""

    def wait(self, timeout: Optional[float] = None) -> None:
        """Wait until this candidate leads, or has led since the call."""
        wait(self._wait_call(timeout))

    def resign(self) -> None:
        """End the candidacy and the leadership."""
        wait(self._resign_call())

    def tickets(self, which: str = "all",
                timeout: Optional[float] = None) -> List[Ticket]:
        """Those of all candidates, the leader first."""
        return wait(self._tickets_call(which, timeout))

    def __enter__(self) -> Election:
        self.campaign()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 _value: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        try:
            self.resign()
        except Error:
            if kind is None:
                raise
