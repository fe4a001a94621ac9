# SPDX-License-Identifier: Apache-2.0
"""The mutex and the read/write lock: locks that are counted per owner, which is
a thread of a Client and a task of an AsyncClient.

The rules are those of hf_rwlock, and of hf_mutex with .handoffs of 0: each
owner has a ticket of its own.  Those calls themselves can only wait, so that
neither Ctrl-C nor a loop could go on meanwhile.  So the counts are kept here,
beside the grant of an acquire that says who its owner is.
"""
from __future__ import annotations

from types import TracebackType
from typing import (TYPE_CHECKING, Any, Dict, Generic, List, NamedTuple,
                    Optional, Type, TypeVar, Union)

from . import _c
from ._base import BaseGrant, BaseLock, Ticket
from ._call import Call, wait
from ._error import Error
from ._library import c, error

if TYPE_CHECKING:
    from ._async import AsyncGrant, AsyncLock
    from ._sync import Grant, Lock

L = TypeVar("L", bound=BaseLock[Any, Any])
G = TypeVar("G", bound=BaseGrant)
R = TypeVar("R", bound="BaseReentrantLock[Any, Any]")


class _Hold(NamedTuple):
    """What an owner holds, and how often it has acquired it.  It is replaced
    in one step, so that no signal handler ever sees half of a change."""

    grant: Any
    writes: int = 0
    reads: int = 0

    def counted(self, access: str, by: int) -> _Hold:
        return self._replace(**{access: getattr(self, access) + by})


class BaseReentrantLock(Generic[L, G]):
    """A lock that its owner may acquire again.  ${access} is the count of
    _Hold that it counts.  Only an owner itself changes what is stored for
    it."""

    def __init__(self, lock: L, detect_deadlock: bool, access: str = "writes",
                 holds: Optional[Dict[int, _Hold]] = None) -> None:
        self._lock = lock
        self._detect_deadlock = detect_deadlock
        self._access = access
        self._holds = {} if holds is None else holds

    @property
    def name(self) -> str:
        return self._lock.name

    def _owner(self) -> int:
        """The number of the caller, which no other owner ever has."""
        raise NotImplementedError

    @property
    def token(self) -> int:
        """The fencing token of the caller's grant; 0 if it has none."""
        hold = self._holds.get(self._owner())
        return 0 if hold is None else int(hold.grant.token)

    def _count_up(self, owner: int) -> Optional[G]:
        """The grant that ${owner} has, counted once more; or None.  One that
        was lost is refused until it was released as often as acquired, because
        the owner may not know of the loss."""
        hold = self._holds.get(owner)
        if hold is None:
            return None
        grant: G = hold.grant
        grant.check()
        if self._access == "writes" and hold.writes == 0:
            raise error(_c.Status.EREENTRANT,
                        "the caller reads, and as a writer it could only wait "
                        "for itself; release the read first")
        self._holds[owner] = hold.counted(self._access, 1)
        return grant

    def _acquire_call(self, timeout: Union[float, None, str],
                      owner: int) -> Call[G]:
        call: Call[G] = self._lock._acquire_call(timeout, owner,
                                                 self._detect_deadlock)
        return call

    def _first(self, grant: G) -> _Hold:
        return _Hold(grant).counted(self._access, 1)

    def _count_down(self, owner: int) -> Optional[Call[None]]:
        """The call that releases or downgrades, or None if there is none to
        make.  It has counted if it raises Lost, too."""
        hold = self._holds.get(owner)
        if hold is None or getattr(hold, self._access) == 0:
            raise error(_c.Status.EOWNER,
                        f"the caller has not acquired {self!r}; release as the "
                        "owner that acquired, and only as often")
        grant: BaseGrant = hold.grant
        if hold.writes + hold.reads == 1:
            del self._holds[owner]
            return grant._release_call()
        self._holds[owner] = hold.counted(self._access, -1)
        if self._access == "writes" and hold.writes == 1:
            return grant._downgrade_call()
        grant.check()
        return None

    def __repr__(self) -> str:
        return f"<holdfast.{type(self).__name__} {self.name}>"


class BaseRWLock(Generic[L, R]):
    """The two sides of a read/write lock, which count for the same owners."""

    _side: Type[R]

    def __init__(self, read: L, write: L, detect_deadlock: bool) -> None:
        holds: Dict[int, _Hold] = {}
        self._lock = write
        #: Shared by all readers; an owner that writes may read, too.
        self.read: R = self._side(read, detect_deadlock, "reads", holds)
        #: For one owner alone; one that only reads is refused at once.
        self.write: R = self._side(write, detect_deadlock, "writes", holds)

    @property
    def name(self) -> str:
        return self._lock.name

    def __repr__(self) -> str:
        return f"<holdfast.{type(self).__name__} {self.name}>"


class ReentrantLock(BaseReentrantLock["Lock", "Grant"]):
    """A lock that the thread that has it may acquire again, which only counts.
    As a context it gives the grant of the thread, which is to be used and not
    to be released: that is for the last release() of the lock."""

    def _owner(self) -> int:
        return int(c.hf_owner_self())

    def acquire(self, timeout: Union[float, None, str] = "default") -> Grant:
        """As Lock.acquire(), or at once if the caller has it.  Raises Lost if
        it had it, until it was released as often as it was acquired."""
        owner = self._owner()
        again = self._count_up(owner)
        if again is not None:
            return again
        grant = wait(self._acquire_call(timeout, owner))
        self._holds[owner] = self._first(grant)  # as in Locks.__enter__()
        return grant

    def release(self) -> None:
        """Count down, and release with the last one.  Raises Lost, having
        counted, as Grant.release() does."""
        call = self._count_down(self._owner())
        if call is not None:
            wait(call)

    def __enter__(self) -> Grant:
        return self.acquire()

    def __exit__(self, kind: Optional[Type[BaseException]],
                 _value: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        try:
            self.release()
        except Error:
            # What happened inside says more.
            if kind is None:
                raise


class Mutex(ReentrantLock):
    """A mutex that is counted per thread."""

    def tickets(self, which: str = "all",
                timeout: Optional[float] = None) -> List[Ticket]:
        """As Lock.tickets()."""
        return self._lock.tickets(which, timeout)


class RWLock(BaseRWLock["Lock", ReentrantLock]):
    """A read/write lock that is counted per thread.  When a thread that reads,
    too, has released the last write, it goes on as a reader, and no other
    writer comes in between."""

    _side = ReentrantLock

    def tickets(self, which: str = "all",
                timeout: Optional[float] = None) -> List[Ticket]:
        """As Lock.tickets()."""
        return self._lock.tickets(which, timeout)


class AsyncReentrantLock(BaseReentrantLock["AsyncLock", "AsyncGrant"]):
    """As ReentrantLock, for the task that has it."""

    def _owner(self) -> int:
        return self._lock._client._owner()

    async def acquire(self, timeout: Union[float, None, str] = "default"
                      ) -> AsyncGrant:
        """As ReentrantLock.acquire()."""
        owner = self._owner()
        again = self._count_up(owner)
        if again is not None:
            return again
        grant = await self._lock._client._wait(
            self._acquire_call(timeout, owner))
        self._holds[owner] = self._first(grant)
        return grant

    async def release(self) -> None:
        """As ReentrantLock.release()."""
        call = self._count_down(self._owner())
        if call is not None:
            await self._lock._client._wait(call)

    async def __aenter__(self) -> AsyncGrant:
        return await self.acquire()

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        _value: Optional[BaseException],
                        _trace: Optional[TracebackType]) -> None:
        try:
            await self.release()
        except Error:
            # What happened inside says more.
            if kind is None:
                raise


class AsyncMutex(AsyncReentrantLock):
    """A mutex that is counted per task."""

    async def tickets(self, which: str = "all",
                      timeout: Optional[float] = None) -> List[Ticket]:
        """As Lock.tickets()."""
        return await self._lock.tickets(which, timeout)


class AsyncRWLock(BaseRWLock["AsyncLock", AsyncReentrantLock]):
    """As RWLock, counted per task."""

    _side = AsyncReentrantLock

    async def tickets(self, which: str = "all",
                      timeout: Optional[float] = None) -> List[Ticket]:
        """As Lock.tickets()."""
        return await self._lock.tickets(which, timeout)
