# SPDX-License-Identifier: Apache-2.0
"""The same for asyncio: the loop reads the descriptor of the client, and
callbacks run on it.  There is no thread but the engine's own.

A task that is cancelled while it waits ends once its ticket is gone."""
from __future__ import annotations

import asyncio
import itertools
import os
import weakref
from types import TracebackType
from typing import (Any, Callable, List, Optional, Sequence, Set, Tuple, Type,
                    TypeVar, Union)

from . import _c
from ._barrier import AsyncBarrier, AsyncDoubleBarrier
from ._base import (BaseClient, BaseElection, BaseGrant, BaseLock, BaseLocks,
                    SIDES, Kind, LockHandle, Ticket, Wait)
from ._call import Call
from ._error import Error
from ._library import c, check
from ._metrics import LockEvent
from ._mutex import AsyncMutex, AsyncRWLock
from ._names import AsyncNames

T = TypeVar("T")
OnGrant = Optional[Callable[["AsyncGrant"], Any]]
OnElection = Optional[Callable[["AsyncElection"], Any]]


class AsyncClient(BaseClient):
    """The connection to an engine, on the loop that runs where it is made.
    Callbacks are functions, or coroutine functions, which run as tasks."""

    _delivery = _c.HF_DELIVER_DISPATCH

    def __init__(self, url: Optional[str] = None, *,
                 connect_timeout: Optional[float] = 15, loss_at: str = "lost",
                 on_state: Optional[Callable[[str], Any]] = None,
                 metrics: bool = False,
                 on_event: Optional[Callable[[LockEvent], Any]] = None
                 ) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks: Set[Any] = set()
        self._owners: weakref.WeakKeyDictionary[Any, int] = \
            weakref.WeakKeyDictionary()
        self._owner_numbers = itertools.count(1)
        super().__init__(url, connect_timeout=connect_timeout,
                         loss_at=loss_at, on_state=on_state, metrics=metrics,
                         on_event=on_event)
        self._fd = c.hf_client_fd(self._handle)
        self._loop.add_reader(self._fd, _dispatch, self._handle)

    def lock(self, name: str, timeout: Optional[float] = None,
             kind: Kind = "mutex", *,
             permits: Optional[Tuple[int, int]] = None,
             text: Optional[str] = None, on_loss: OnGrant = None,
             on_wait: Optional[Callable[[Wait], Any]] = None,
             on_revoke: OnGrant = None) -> AsyncLock:
        """As Client.lock()."""
        return AsyncLock(self, [LockHandle(self, name, kind, permits)],
                         timeout, text, on_loss, on_wait, on_revoke)

    def locks(self, locks: Sequence[Union[str, AsyncLock]],
              timeout: Optional[float] = None, *, text: Optional[str] = None,
              on_loss: OnGrant = None,
              on_wait: Optional[Callable[[Wait], Any]] = None,
              on_revoke: OnGrant = None) -> AsyncLocks:
        """As Client.locks()."""
        parts = [LockHandle(self, lock, "mutex", None) if isinstance(lock, str)
                 else lock._parts[0] for lock in locks]
        if not parts:
            raise ValueError("there is no lock to acquire")
        return AsyncLocks(self, parts, timeout, text, on_loss, on_wait,
                          on_revoke)

    def election(self, name: str, *, kind: Kind = "election",
                 id: Optional[str] = None,  # pylint: disable=redefined-builtin
                 text: Optional[str] = None, on_elected: OnElection = None,
                 on_deposed: OnElection = None, on_revoke: OnElection = None,
                 on_ended: Optional[Callable[[AsyncElection, Error], Any]] = None
                 ) -> AsyncElection:
        """As Client.election()."""
        return AsyncElection(self, name, kind, text, id,
                             {"on_elected": on_elected,
                              "on_deposed": on_deposed, "on_revoke": on_revoke,
                              "on_ended": on_ended})

    def mutex(self, name: str, timeout: Optional[float] = None, *,
              text: Optional[str] = None, on_loss: OnGrant = None,
              on_wait: Optional[Callable[[Wait], Any]] = None,
              on_revoke: OnGrant = None,
              detect_deadlock: bool = False) -> AsyncMutex:
        """As Client.mutex(), for the task that has it."""
        return AsyncMutex(self.lock(name, timeout, text=text, on_loss=on_loss,
                                    on_wait=on_wait, on_revoke=on_revoke),
                          detect_deadlock)

    def rwlock(self, name: str, timeout: Optional[float] = None, *,
               text: Optional[str] = None, on_loss: OnGrant = None,
               on_wait: Optional[Callable[[Wait], Any]] = None,
               on_revoke: OnGrant = None,
               detect_deadlock: bool = False) -> AsyncRWLock:
        """As Client.rwlock(), for the task that has it."""
        read, write = (self.lock(name, timeout, kind, text=text,
                                 on_loss=on_loss, on_wait=on_wait,
                                 on_revoke=on_revoke)
                       for kind in SIDES)
        return AsyncRWLock(read, write, detect_deadlock)

    def barrier(self, name: str) -> AsyncBarrier:
        """As Client.barrier()."""
        return AsyncBarrier(self, name)

    def double_barrier(self, name: str, participants: int,
                       timeout: Optional[float] = None) -> AsyncDoubleBarrier:
        """As Client.double_barrier()."""
        return AsyncDoubleBarrier(self, name, participants, timeout)

    def names(self, prefix: str = "", *,
              all: bool = False,  # pylint: disable=redefined-builtin
              timeout: Optional[float] = None) -> AsyncNames:
        """As Client.names()."""
        return AsyncNames(self, prefix, all, timeout)

    def _owner(self) -> int:
        """The number of the task that calls.  Like that of a thread, it is
        never used again."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("the caller is not a task of asyncio")
        if task not in self._owners:
            self._owners[task] = next(self._owner_numbers)
        return self._owners[task]

    def _run(self, fn: Callable[..., Any], *arguments: Any) -> None:
        made = fn(*arguments)
        if asyncio.iscoroutine(made):
            task = self._loop.create_task(made)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _wait(self, call: Call[T]) -> T:
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError(f"{self!r} belongs to another loop")
        waiter = _Waiter(self._loop, call)
        try:
            await waiter.begin_and_wait()
        except BaseException:
            while call.cancel():
                try:
                    await waiter.wait()
                except asyncio.CancelledError:
                    pass  # it has been cancelled
            call.discard()
            raise
        return call.result()

    async def close(self) -> None:
        """As Client.close()."""
        handle = self._take_handle()
        if handle is None:
            return

        def ended(_result: Any) -> None:
            self._loop.remove_reader(self._fd)
            self._closed()

        def begin(done: Any, _op: Any) -> None:
            check(c.hf_client_close_start(handle, done))

        call = Call(begin, ended)
        waiter = _Waiter(self._loop, call)
        try:
            await waiter.begin_and_wait()
        except Error as failure:
            if failure.status != _c.Status.EFORKED:
                self._handle = handle
            raise
        call.result()

    def _close_now(self) -> None:
        if self._handle is not None and not self._loop.is_closed() and \
                self._pid == os.getpid():
            self._loop.remove_reader(self._fd)
        super()._close_now()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_exit: Any) -> None:
        await self.close()


def _dispatch(handle: Any) -> None:
    c.hf_client_dispatch(handle)


class _Waiter:
    """What a task waits for until its call has ended."""

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Call[Any]) -> None:
        self._loop = loop
        self._call = call
        self._future: Optional[asyncio.Future[None]] = None

    def _wake(self) -> None:
        future = self._future
        if future is not None and not future.done() and \
                not self._loop.is_closed():
            future.set_result(None)

    async def begin_and_wait(self) -> None:
        self._call.begin(self._wake)
        await self.wait()

    async def wait(self) -> None:
        if not self._call.ended:
            self._future = self._loop.create_future()
            await self._future


class AsyncGrant(BaseGrant):
    """As Grant."""

    async def release(self) -> None:
        """As Grant.release()."""
        await self._client._wait(self._release_call())

    async def downgrade(self) -> None:
        """As Grant.downgrade()."""
        await self._client._wait(self._downgrade_call())

    async def __aenter__(self) -> AsyncGrant:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        _value: Optional[BaseException],
                        _trace: Optional[TracebackType]) -> None:
        try:
            await self.release()
        except Error:
            # What happened inside says more.
            if kind is None:
                raise


class AsyncLocks(BaseLocks[AsyncClient, AsyncGrant]):
    """As Locks."""

    _grant_type = AsyncGrant

    async def acquire(self, timeout: Union[float, None, str] = "default"
                      ) -> AsyncGrant:
        """As Locks.acquire()."""
        return await self._client._wait(self._acquire_call(timeout))

    async def __aenter__(self) -> AsyncGrant:
        key, grant = asyncio.current_task(), await self.acquire()
        before = self._entered.get(key)
        self._entered[key] = grant, before
        return grant

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self._leave(asyncio.current_task()).__aexit__(kind, value, trace)


class AsyncLock(AsyncLocks, BaseLock[AsyncClient, AsyncGrant]):
    """As Lock."""

    async def tickets(self, which: str = "all",
                      timeout: Optional[float] = None) -> List[Ticket]:
        """As Lock.tickets()."""
        return await self._client._wait(self._tickets_call(which, timeout))

    async def evict(self, ticket: Union[str, Ticket],
                    by: Optional[str] = None,
                    timeout: Optional[float] = None) -> None:
        """As Lock.evict()."""
        await self._client._wait(self._evict_call(ticket, by, timeout))

    async def revoke(self, ticket: Union[str, Ticket, None] = None,
                     timeout: Optional[float] = None) -> None:
        """As Lock.revoke()."""
        await self._client._wait(self._revoke_call(ticket, timeout))


class AsyncElection(BaseElection[AsyncClient]):
    """As Election."""

    async def wait(self, timeout: Optional[float] = None) -> None:
        """As Election.wait()."""
        await self._client._wait(self._wait_call(timeout))

    async def resign(self) -> None:
        """As Election.resign()."""
        await self._client._wait(self._resign_call())

    async def tickets(self, which: str = "all",
                      timeout: Optional[float] = None) -> List[Ticket]:
        """As Election.tickets()."""
        return await self._client._wait(self._tickets_call(which, timeout))

    async def __aenter__(self) -> AsyncElection:
        self.campaign()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        _value: Optional[BaseException],
                        _trace: Optional[TracebackType]) -> None:
        try:
            await self.resign()
        except Error:
            if kind is None:
                raise
