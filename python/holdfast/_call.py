# SPDX-License-Identifier: Apache-2.0
"""Callbacks of the library, and the operations that end with one.

The library calls a few functions that live as long as the process.  Their
argument is a number, under which a table here has the object meant; it leaves
the table when the library says that it is done with it (.drop).  So no callback
ever finds memory that Python has freed.  An exception in a callback goes to
sys.unraisablehook, as ctypes does it, and never into C.
"""
from __future__ import annotations

import ctypes
import itertools
import threading
from typing import Any, Callable, Dict, Generic, Optional, TypeVar

from . import _c
from ._library import c, error, text_of

T = TypeVar("T")


class _ThisThread(threading.local):
    in_callback = False


_this_thread = _ThisThread()
_objects: Dict[int, Any] = {}
_numbers = itertools.count(1)


def type_of(struct: Any, field: str) -> Any:
    return dict(struct._fields_)[field]


def unregister(number: int) -> None:
    _objects.pop(number, None)


_drop = type_of(_c.hf_done, "drop")(unregister)


def _function(struct: Any, method: str) -> Any:
    """What the library calls for ${method} of the object of a callback."""

    def call(number: int, *arguments: Any) -> None:
        found = _objects.get(number)
        if found is None:
            return
        before, _this_thread.in_callback = _this_thread.in_callback, True
        try:
            getattr(found, method)(*arguments)
        finally:
            _this_thread.in_callback = before

    return type_of(struct, "fn")(call)


_FUNCTIONS = {
    (struct, method): _function(struct, method)
    for struct, method in (
        (_c.hf_done, "on_done"), (_c.hf_on_state, "on_state"),
        (_c.hf_on_log, "on_log"), (_c.hf_on_event, "on_event"), (_c.hf_on_wait, "on_wait"),
        (_c.hf_on_loss, "on_loss"), (_c.hf_on_revoke, "on_revoke"),
        (_c.hf_on_election, "on_elected"), (_c.hf_on_election, "on_deposed"),
        (_c.hf_on_election, "on_revoke"), (_c.hf_on_ended, "on_ended"))}


def register(target: Any) -> int:
    number = next(_numbers)
    _objects[number] = target
    return number


def callback(struct: Any, method: str, target: Any) -> Any:
    """A struct of a callback that calls ${method} of ${target}."""
    return struct(_FUNCTIONS[struct, method], register(target), _drop)


def log_callback(number: int, level: int) -> Any:
    """The one for log lines, which has no .drop."""
    return _c.hf_on_log(_FUNCTIONS[_c.hf_on_log, "on_log"], number, level)


def event_callback(number: int) -> Any:
    """The one for events of metrics, which has no .drop."""
    return _c.hf_on_event(_FUNCTIONS[_c.hf_on_event, "on_event"], number)


class _End(Generic[T]):
    """How an operation ends: what the library knows of it.  The thread that
    calls back may still refer to it when the one who waited has gone on, so it
    keeps nothing that it was given or has handed over: a grant that is dropped
    is released at once, and not when that thread runs again."""

    op: Any = None  # what __del__() finds if __init__() was interrupted

    def __init__(self, take: Callable[[Any], T]) -> None:
        self._take: Optional[Callable[[Any], T]] = take
        self.op = ctypes.c_void_p()
        self.value: Optional[T] = None
        self.failure: Optional[BaseException] = None
        self.here = False
        self.wake: Callable[[], None] = lambda: None

    def on_done(self, result: Any) -> None:
        assert self._take is not None
        try:
            found = result.contents
            if found.status == _c.Status.OK:
                self.value = self._take(found)
            else:
                self.failure = error(found.status, text_of(found.text))
        except BaseException as failure:  # pylint: disable=broad-except
            self.failure = failure
        self._take = None
        self.here = True
        self.wake()

    def __del__(self, free: Any = c.hf_op_free) -> None:
        if self.op:
            free(self.op)


class Call(Generic[T]):
    """An operation, as the one who waits for it knows it.  ${begin} starts it,
    given what to call at the end and where to put the handle by which it is
    cancelled, and raises if it cannot, and returns True if it has ended
    already; ${take} makes the value out of an hf_result.  One that nobody
    waits for any more is cancelled, however that came."""

    _end: Any = None

    def __init__(self, begin: Callable[[Any, Any], Optional[bool]],
                 take: Callable[[Any], T]) -> None:
        self._end = _End(take)
        self._begin: Optional[Callable[[Any, Any], Optional[bool]]] = begin

    def begin(self, wake: Callable[[], None]) -> None:
        """Start it, and have ${wake} called when it has ended."""
        end, begin = self._end, self._begin
        assert begin is not None
        self._begin = None  # and what it refers to
        end.wake = wake
        if begin(callback(_c.hf_done, "on_done", end), ctypes.byref(end.op)):
            end.here = True
            wake()

    @property
    def ended(self) -> bool:
        return bool(self._end.here)

    def cancel(self) -> bool:
        """False if it has ended, has not begun, or cannot be cancelled.  .op is
        set by the call in C, so this is right even if an exception, as that of
        Ctrl-C, came before that had returned to us."""
        if self._end.here or not self._end.op:
            return False
        c.hf_op_cancel(self._end.op)
        return True

    def result(self) -> T:
        """How it ended, to be asked for once."""
        failure, self._end.failure = self._end.failure, None
        if failure is not None:
            try:
                raise failure
            finally:
                failure = None  # no reference cycle through the traceback
        value: T
        value, self._end.value = self._end.value, None
        return value

    def discard(self) -> None:
        """It ended though nobody waits any more: release what it brought."""
        drop = getattr(self._end.value, "_discard", None)
        if drop is not None:
            drop()

    def __del__(self, cancel: Any = c.hf_op_cancel) -> None:
        end = self._end
        if end is not None and end.op and not end.here:
            cancel(end.op)


def wait(call: Call[T]) -> T:
    """Run ${call} on this thread, without the GIL while it waits.  A signal
    whose handler raises, as Ctrl-C, ends it, once its ticket is gone.  In a
    callback it could only wait for itself."""
    if _this_thread.in_callback:
        raise error(_c.Status.EREENTRANT, "a call that waits was made in a "
                    "callback; make it on another thread")
    ended = threading.Lock()
    ended.acquire()  # pylint: disable=consider-using-with
    try:
        call.begin(ended.release)
        ended.acquire()  # pylint: disable=consider-using-with
    except BaseException:
        try:
            if call.cancel():
                ended.acquire()  # pylint: disable=consider-using-with
        finally:
            call.discard()
        raise
    return call.result()
