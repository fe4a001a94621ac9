# SPDX-License-Identifier: Apache-2.0
"""A walk over the names that there are."""
from __future__ import annotations

import collections
import ctypes
from typing import (TYPE_CHECKING, Any, Deque, Generic, NamedTuple, Optional,
                    TypeVar)

from . import _c
from ._base import KIND_NAMES, BaseClient, Ticket, ticket_of
from ._call import Call, wait
from ._library import bytes_of, c, check, milliseconds, text_of

if TYPE_CHECKING:
    from ._async import AsyncClient
    from ._sync import Client

C = TypeVar("C", bound=BaseClient)


class Name(NamedTuple):
    """A name that somebody holds or waits for, as its queue was when it was
    read."""

    name: str
    kind: str
    holders: int
    waiters: int
    holder: Optional[Ticket]  # the one that began to ask first
    waiter: Optional[Ticket]  # the one that has waited longest


def _name_of(view: Any) -> Name:
    return Name(text_of(view.name), KIND_NAMES.get(view.kind, str(view.kind)),
                view.holders, view.waiters,
                ticket_of(view.holder.contents) if view.holder else None,
                ticket_of(view.waiter.contents) if view.waiter else None)


class BaseNames(Generic[C]):
    """A walk, with the handle of the library and what was found but not given
    out yet.  A page that comes after its wait was interrupted is added all the
    same, so that the walk misses nothing."""

    _handle: Any = None  # what __del__() finds if __init__() was interrupted

    def __init__(self, client: C, prefix: str, everything: bool,
                 timeout: Optional[float]) -> None:
        self._handle = ctypes.c_void_p()
        self._client = client
        self._wait_ms = milliseconds(timeout)
        self._found: Deque[Name] = collections.deque()
        self._ended = False
        #: How many nodes, keys, rows or directories were looked at so far,
        self.looked_at = 0
        #: and how many of them, or of the names, could not be read.
        self.unreadable = 0
        opts = _c.hf_names_opts_default()
        opts.all = everything
        with client._guard:
            check(c.hf_names_open(client._open_handle(),
                                  bytes_of(prefix, "the prefix"),
                                  ctypes.byref(opts),
                                  ctypes.byref(self._handle)))

    def __del__(self, free: Any = c.hf_names_free) -> None:
        if self._handle:
            free(self._handle)

    def _take(self, result: Any) -> None:
        page = result.names
        if not page:
            self._ended = True
            return
        try:
            self._found.extend(
                _name_of(c.hf_names_at(page, index).contents)
                for index in range(c.hf_names_count(page)))
            self.looked_at = c.hf_names_looked_at(page)
            self.unreadable = c.hf_names_unreadable(page)
        finally:
            c.hf_names_page_free(page)

    def _page_call(self) -> Call[None]:
        return Call(lambda done, _op: check(c.hf_names_next_start(
            self._handle, self._wait_ms, done)), self._take)


class Names(BaseNames["Client"]):
    """The names, one after the other.  After a failure the next step goes on
    where this one began."""

    def __iter__(self) -> Names:
        return self

    def __next__(self) -> Name:
        while not self._found:
            if self._ended:
                raise StopIteration
            wait(self._page_call())
        return self._found.popleft()


class AsyncNames(BaseNames["AsyncClient"]):
    """As Names, for "async for"."""

    def __aiter__(self) -> AsyncNames:
        return self

    async def __anext__(self) -> Name:
        while not self._found:
            if self._ended:
                raise StopAsyncIteration
            await self._client._wait(self._page_call())
        return self._found.popleft()
