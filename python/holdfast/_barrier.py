# SPDX-License-Identifier: Apache-2.0
"""Barriers and double barriers."""
from __future__ import annotations

import ctypes
from types import TracebackType
from typing import (TYPE_CHECKING, Any, Generic, List, Optional, Type, TypeVar,
                    Union)

from . import _c
from ._base import BaseClient, Ticket, take_nothing, take_tickets
from ._call import Call, wait
from ._error import Error
from ._library import bytes_of, c, check, milliseconds

if TYPE_CHECKING:
    from ._async import AsyncClient
    from ._sync import Client

C = TypeVar("C", bound=BaseClient)


class BaseBarrier(Generic[C]):
    """A barrier, with the handle of the library."""

    _handle: Any = None  # what __del__() finds if __init__() was interrupted

    def __init__(self, client: C, name: str) -> None:
        self._handle = ctypes.c_void_p()
        self._client = client
        self.name = name
        with client._guard:
            check(c.hf_barrier_open(client._open_handle(),
                                    bytes_of(name, "the name"),
                                    ctypes.byref(self._handle)))

    def __del__(self, free: Any = c.hf_barrier_free) -> None:
        if self._handle:
            free(self._handle)

    def _set_call(self, timeout: Optional[float]) -> Call[None]:
        wait_ms = milliseconds(timeout)
        return Call(lambda done, _op: check(c.hf_barrier_set_start(
            self._handle, wait_ms, done)), take_nothing)

    def _clear_call(self, timeout: Optional[float]) -> Call[None]:
        wait_ms = milliseconds(timeout)
        return Call(lambda done, _op: check(c.hf_barrier_clear_start(
            self._handle, wait_ms, done)), take_nothing)

    def _wait_call(self, timeout: Optional[float]) -> Call[None]:
        wait_ms = milliseconds(timeout)
        return Call(lambda done, op: check(c.hf_barrier_wait_start(
            self._handle, wait_ms, done, op)), take_nothing)

    def __repr__(self) -> str:
        return f"<holdfast.{type(self).__name__} {self.name}>"


class _Entered:
    """An enter that has ended inside.  If nobody waits for that any more, the
    participant leaves again."""

    def __init__(self, barrier: BaseDoubleBarrier[Any]) -> None:
        self._barrier = barrier

    def _discard(self) -> None:
        c.hf_double_barrier_leave_start(self._barrier._handle, 0, _c.hf_done(),
                                        None)


class BaseDoubleBarrier(Generic[C]):
    """A participant of a double barrier, with the handle of the library."""

    _handle: Any = None  # what __del__() finds if __init__() was interrupted

    def __init__(self, client: C, name: str, participants: int,
                 timeout: Optional[float]) -> None:
        milliseconds(timeout)
        self._handle = ctypes.c_void_p()
        self._client = client
        self._timeout = timeout
        self.name = name
        with client._guard:
            check(c.hf_double_barrier_open(client._open_handle(),
                                           bytes_of(name, "the name"),
                                           participants,
                                           ctypes.byref(self._handle)))

    def __del__(self, free: Any = c.hf_double_barrier_free) -> None:
        if self._handle:
            free(self._handle)

    def _wait_ms(self, timeout: Union[float, None, str]) -> int:
        return milliseconds(self._timeout if isinstance(timeout, str)
                            else timeout)

    def _enter_call(self, timeout: Union[float, None, str]) -> Call[_Entered]:
        wait_ms = self._wait_ms(timeout)
        return Call(lambda done, op: check(c.hf_double_barrier_enter_start(
            self._handle, wait_ms, done, op)), lambda _result: _Entered(self))

    def _leave_call(self, timeout: Union[float, None, str]) -> Call[None]:
        wait_ms = self._wait_ms(timeout)
        return Call(lambda done, op: check(c.hf_double_barrier_leave_start(
            self._handle, wait_ms, done, op)), take_nothing)

    def _participants_call(self, timeout: Optional[float]
                           ) -> Call[List[Ticket]]:
        wait_ms = milliseconds(timeout)
        return Call(lambda done, _op: check(
            c.hf_double_barrier_participants_start(
                self._handle, wait_ms, done)), take_tickets)

    def __repr__(self) -> str:
        return f"<holdfast.{type(self).__name__} {self.name}>"


class Barrier(BaseBarrier["Client"]):
    """A barrier, at which everybody waits while it is set.  It has no owner
    and outlives the client that set it."""

    def set(self, timeout: Optional[float] = None) -> None:
        """See that it is set, whether or not it was."""
        wait(self._set_call(timeout))

    def clear(self, timeout: Optional[float] = None) -> None:
        """See that it is clear, whether or not it was."""
        wait(self._clear_call(timeout))

    def wait(self, timeout: Optional[float] = None) -> None:
        """Wait until it was clear at some moment since the call; 0: raise Busy
        if it is set."""
        wait(self._wait_call(timeout))


class DoubleBarrier(BaseDoubleBarrier["Client"]):
    """One participant, outside at first.  As a context it enters, and leaves
    with the others; if an exception is on its way out it does not wait for
    them."""

    def enter(self, timeout: Union[float, None, str] = "default") -> None:
        """Wait until as many participants have entered as it takes, by default
        as long as this was opened with; 0: raise Busy if too few are there.
        After any failure the participant is outside."""
        wait(self._enter_call(timeout))

    def leave(self, timeout: Union[float, None, str] = "default") -> None:
        """Wait until all that were admitted leave, or are gone; 0: do not wait
        for them, and raise Busy if some are there.  In any case the
        participant is outside afterwards."""
        wait(self._leave_call(timeout))

    def participants(self, timeout: Optional[float] = None) -> List[Ticket]:
        """Those that are there, in the order in which they came.  Those that
        were admitted hold."""
        return wait(self._participants_call(timeout))

    def __enter__(self) -> DoubleBarrier:
        self.enter()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 _value: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        try:
            self.leave("default" if kind is None else 0)
        except Error:
            if kind is None:
                raise


class AsyncBarrier(BaseBarrier["AsyncClient"]):
    """As Barrier."""

    async def set(self, timeout: Optional[float] = None) -> None:
        """As Barrier.set()."""
        await self._client._wait(self._set_call(timeout))

    async def clear(self, timeout: Optional[float] = None) -> None:
        """As Barrier.clear()."""
        await self._client._wait(self._clear_call(timeout))

    async def wait(self, timeout: Optional[float] = None) -> None:
        """As Barrier.wait()."""
        await self._client._wait(self._wait_call(timeout))


class AsyncDoubleBarrier(BaseDoubleBarrier["AsyncClient"]):
    """As DoubleBarrier."""

    async def enter(self, timeout: Union[float, None, str] = "default"
                    ) -> None:
        """As DoubleBarrier.enter()."""
        await self._client._wait(self._enter_call(timeout))

    async def leave(self, timeout: Union[float, None, str] = "default"
                    ) -> None:
        """As DoubleBarrier.leave()."""
        await self._client._wait(self._leave_call(timeout))

    async def participants(self, timeout: Optional[float] = None
                           ) -> List[Ticket]:
        """As DoubleBarrier.participants()."""
        return await self._client._wait(self._participants_call(timeout))

    async def __aenter__(self) -> AsyncDoubleBarrier:
        await self.enter()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        _value: Optional[BaseException],
                        _trace: Optional[TracebackType]) -> None:
        try:
            await self.leave("default" if kind is None else 0)
        except Error:
            if kind is None:
                raise
