# SPDX-License-Identifier: Apache-2.0
"""What clients, locks, grants and elections of both kinds have in common: the
handles of the library and how operations are begun.  How they are waited for is
in _sync.py and _async.py.

Handles hold each other alive: a grant its locks, a lock its client.  Each is
used under a lock of its own, so that no thread frees what another one uses.
"""
from __future__ import annotations

import atexit
import ctypes
import logging
import os
import threading
import warnings
import weakref
from typing import (Any, Callable, Dict, Generic, List, Literal, NamedTuple,
                    Optional, Sequence, Tuple, Type, TypeVar, Union)

from . import _c
from ._call import (Call, callback, event_callback, log_callback, register,
                    unregister)
from ._error import Error
from ._library import (bytes_of, c, check, error, milliseconds, seconds,
                       text_of)
from ._metrics import (ClientStats, LockEvent, event_of, read_stats,
                       read_text)

_log = logging.getLogger("holdfast")
_log.addHandler(logging.NullHandler())
_LEVELS = {_c.HF_LOG_ERROR: logging.ERROR, _c.HF_LOG_WARNING: logging.WARNING,
           _c.HF_LOG_INFO: logging.INFO, _c.HF_LOG_DEBUG: logging.DEBUG}

# What a lock or an election can be, by the words of _KINDS.
Kind = Literal["mutex", "read", "write", "semaphore", "election"]
SIDES: Tuple[Kind, Kind] = ("read", "write")  # of a read/write lock

_KINDS = {"mutex": _c.HF_KIND_MUTEX, "read": _c.HF_KIND_READ,
          "write": _c.HF_KIND_WRITE, "semaphore": _c.HF_KIND_SEMAPHORE,
          "election": _c.HF_KIND_ELECTION}
KIND_NAMES = {number: name[len("HF_KIND_"):].lower()
              for name, number in vars(_c).items()
              if name.startswith("HF_KIND_")}
_LOSS_AT = {"lost": _c.HF_LOSS_AT_LOST, "suspended": _c.HF_LOSS_AT_SUSPENDED}
_WHICH = {"all": _c.HF_TICKETS_ALL, "holders": _c.HF_TICKETS_HOLDERS,
          "waiters": _c.HF_TICKETS_WAITERS}


def _one_of(table: Dict[str, int], value: str, what: str) -> int:
    if value not in table:
        raise ValueError(f"{what} is {value!r}; expected one of "
                         f"{', '.join(table)}")
    return table[value]


def _two_of(permits: Tuple[int, int]) -> Tuple[int, int]:
    """The permits that are wanted, and how many there are."""
    if not isinstance(permits, (tuple, list)) or len(permits) != 2:
        raise TypeError(f"permits is {permits!r}; expected two numbers, such as "
                        f"(2, 5) for two of five")
    return permits[0], permits[1]


class Ticket(NamedTuple):
    """A ticket in a queue.  Times are in seconds."""

    id: str
    kind: str
    permits: int
    holds: bool
    own: bool
    token: int  # 0 if unknown
    age: Optional[float]
    created_utc: Optional[float]  # since 1970, by the clock of its owner
    layout: str
    owner: str  # what its owner says: anything, do not print it as it is
    session: int

    def said(self, key: str) -> Optional[str]:
        """What its owner says of ${key}: "host", "pid", "text" and so on."""
        value = ctypes.create_string_buffer(_c.HF_OWNER_VALUE_MAX)
        status = c.hf_owner_text_get(bytes_of(self.owner, "the owner"),
                                     bytes_of(key, "the key"), value,
                                     len(value))
        return text_of(value.value) if status == _c.Status.OK else None


class Wait(NamedTuple):
    """The state of a wait."""

    ahead: int
    waited: float
    holder: str
    displaced: int
    name: str


def ticket_of(view: Any) -> Ticket:
    return Ticket(text_of(view.id), KIND_NAMES.get(view.kind, str(view.kind)),
                  view.permits, view.holds, view.own, view.token,
                  None if view.age_ms == _c.HF_FOREVER else view.age_ms / 1000,
                  view.created_utc_ms / 1000 or None, text_of(view.layout),
                  text_of(view.owner), view.session)


def take_tickets(result: Any) -> List[Ticket]:
    tickets = result.tickets
    try:
        return [ticket_of(c.hf_tickets_at(tickets, index).contents)
                for index in range(c.hf_tickets_count(tickets))]
    finally:
        c.hf_tickets_free(tickets)


def take_nothing(_result: Any) -> None:
    return None


class _Log:
    """Lines of the library go to the logger "holdfast"."""

    def on_log(self, level: int, line: bytes) -> None:
        _log.log(_LEVELS.get(level, logging.DEBUG), "%s", text_of(line))


class _ClientCallback:
    """A callback of a client, which it does not keep alive."""

    def __init__(self, client: "BaseClient", fn: Callable[[Any], Any]) -> None:
        self._client = weakref.ref(client)
        self._fn = fn

    def _run(self, argument: Any) -> None:
        client = self._client()
        if client is not None:
            client._run(self._fn, argument)

    def on_state(self, state: int) -> None:
        self._run(text_of(c.hf_state_name(state)))

    def on_event(self, event: Any) -> None:
        self._run(event_of(event.contents))


class BaseClient:
    """A client, with the handle of the library."""

    _delivery: int
    _warn = True
    _all: "weakref.WeakSet[BaseClient]" = weakref.WeakSet()
    _exiting = False
    _handle: Any = None

    def __init__(self, url: Optional[str] = None, *,
                 connect_timeout: Optional[float] = 15, loss_at: str = "lost",
                 on_state: Optional[Callable[[str], Any]] = None,
                 metrics: bool = False,
                 on_event: Optional[Callable[[LockEvent], Any]] = None
                 ) -> None:
        self._guard = threading.RLock()
        opts = _c.hf_client_opts_default()
        if metrics:
            opts.metrics = _c.HF_METRICS_COUNT | _c.HF_METRICS_DIR
        opts.delivery = self._delivery
        opts.connect_ms = milliseconds(connect_timeout)
        opts.loss_at = _one_of(_LOSS_AT, loss_at, "loss_at")
        effective = _log.getEffectiveLevel()
        log = register(_Log())
        self._registered = [log]  # what has no .drop
        opts.on_log = log_callback(
            log,
            max((level for level, python in _LEVELS.items()
                 if python >= effective), default=_c.HF_LOG_ERROR))
        encoded = None if url is None else bytes_of(url, "the URL")
        if on_state is not None:
            opts.on_state = callback(_c.hf_on_state, "on_state",
                                     _ClientCallback(self, on_state))
        if on_event is not None:
            number = register(_ClientCallback(self, on_event))
            self._registered.append(number)
            opts.on_event = event_callback(number)
        handle = ctypes.c_void_p()
        try:
            check(c.hf_client_open(encoded, ctypes.byref(opts),
                                   ctypes.byref(handle)))
        except Error:
            self._closed()
            raise
        self._handle = handle
        self._pid = os.getpid()
        BaseClient._all.add(self)

    def _run(self, fn: Callable[..., Any], *arguments: Any) -> None:
        """Call a function of the user's."""
        fn(*arguments)

    def _take_handle(self) -> Any:
        """The handle, for the one who closes it; None if it is closed."""
        with self._guard:
            handle, self._handle = self._handle, None
        return handle

    def _closed(self) -> None:
        for number in self._registered:
            unregister(number)

    def _close_now(self) -> None:
        """Close it in Python's last moments, or when nobody refers to it."""
        handle = self._take_handle()
        if handle is None:
            return
        status = c.hf_client_close(handle)
        if status == _c.Status.EREENTRANT:
            c.hf_client_close_start(handle, _c.hf_done())
        elif status == _c.Status.OK:
            self._closed()

    def __del__(self) -> None:
        if self._handle is None or BaseClient._exiting:
            return
        if self._pid == os.getpid():
            warnings.warn(f"{self!r} was not closed", ResourceWarning,
                          source=self, stacklevel=2)
        self._close_now()

    def _open_handle(self) -> Any:
        if self._handle is None:
            raise error(_c.Status.ECLOSED, "the client was closed")
        return self._handle

    @property
    def state(self) -> str:
        """CONNECTING, CONNECTED, SUSPENDED, LOST or CLOSED."""
        with self._guard:
            state = _c.HF_STATE_CLOSED if self._handle is None \
                else c.hf_client_state(self._handle)
        return text_of(c.hf_state_name(state))

    def stats(self) -> ClientStats:
        """What was counted since the client was opened with metrics=True."""
        with self._guard:
            return read_stats(self._open_handle())

    def metrics_text(self) -> str:
        """The same as OpenMetrics text, version 1.0.0."""
        with self._guard:
            return read_text(self._open_handle())

    def __repr__(self) -> str:
        said = ctypes.create_string_buffer(256)
        with self._guard:
            if self._handle is not None:
                c.hf_client_describe(self._handle, said, len(said))
        return f"<holdfast.{type(self).__name__} " \
               f"{text_of(said.value) or 'closed'}>"


@atexit.register
def _close_all() -> None:
    """No thread of the library may call Python once that is being ended."""
    for client in list(BaseClient._all):
        client._close_now()
    BaseClient._exiting = True


class LockHandle:
    """An hf_lock."""

    handle: Any = None  # what __del__() finds if __init__() was interrupted

    def __init__(self, client: BaseClient, name: str, kind: Kind,
                 permits: Optional[Tuple[int, int]]) -> None:
        self.handle = ctypes.c_void_p()
        opts = _c.hf_lock_opts_default()
        if permits is not None:
            if kind not in ("mutex", "semaphore"):
                raise ValueError(f"permits are for a semaphore, not for "
                                 f"kind={kind!r}")
            kind = "semaphore"
            opts.permits, opts.limit = _two_of(permits)
        opts.kind = _one_of(_KINDS, kind, "kind")
        self.client = client
        with client._guard:
            check(c.hf_lock_open(client._open_handle(),
                                 bytes_of(name, "the name"), ctypes.byref(opts),
                                 ctypes.byref(self.handle)))
        self.name = text_of(c.hf_lock_name(self.handle))

    def __del__(self, free: Any = c.hf_lock_free) -> None:
        if self.handle:
            free(self.handle)


C = TypeVar("C", bound=BaseClient)
G = TypeVar("G", bound="BaseGrant")


class _Acquire(Generic[G]):
    """The callbacks of one acquire."""

    def __init__(self, locks: "BaseLocks[Any, G]") -> None:
        self._locks = locks
        # Not the grant itself: one that is dropped is released.
        self._grant: Callable[[], Optional[G]] = lambda: None

    def take(self, result: Any) -> G:
        grant = self._locks._grant_type(self._locks, result.grant)
        self._grant = weakref.ref(grant)
        return grant

    def on_wait(self, wait: Any) -> None:
        found = wait.contents
        self._locks._client._run(
            self._locks._on_wait,
            Wait(found.ahead, found.waited_ms / 1000, text_of(found.holder),
                 found.displaced, text_of(found.name)))

    def _about_grant(self, fn: Any) -> None:
        grant = self._grant()
        if grant is not None:
            self._locks._client._run(fn, grant)

    def on_loss(self, _grant: Any) -> None:
        self._about_grant(self._locks._on_loss)

    def on_revoke(self, _grant: Any) -> None:
        self._about_grant(self._locks._on_revoke)


class BaseLocks(Generic[C, G]):
    """One lock, or several that are acquired together."""

    _grant_type: Type[G]

    def __init__(self, client: C, parts: Sequence[LockHandle],
                 timeout: Optional[float], text: Optional[str],
                 on_loss: Optional[Callable[[G], Any]],
                 on_wait: Optional[Callable[[Wait], Any]],
                 on_revoke: Optional[Callable[[G], Any]]) -> None:
        self._client = client
        self._parts = list(parts)
        self._timeout = timeout
        self._text = None if text is None else bytes_of(text, "the text")
        self._on_loss: Any = on_loss
        self._on_wait: Any = on_wait
        self._on_revoke: Any = on_revoke
        # The grants of "with", by the thread or the task that entered: the
        # innermost, and those around it.  It is stored last of all: no signal
        # handler runs between a store and a return, and one that raised there
        # would leave a grant that nobody releases.
        self._entered: Dict[Any, Tuple[G, Any]] = {}
        milliseconds(timeout)

    def _acquire_call(self, timeout: Union[float, None, str],
                      owner: int = 0, detect_deadlock: bool = False
                      ) -> Call[G]:
        """timeout: a text stands for that of this lock.  owner: its number, or
        0."""
        acquire = _Acquire(self)
        wait_ms = milliseconds(self._timeout if isinstance(timeout, str)
                               else timeout)

        def begin(done: Any, op: Any) -> None:
            opts = _c.hf_acquire_opts_default()
            opts.wait_ms = wait_ms
            opts.text = self._text
            opts.owner = owner
            opts.detect_deadlock = detect_deadlock
            for name, struct in (("on_wait", _c.hf_on_wait),
                                 ("on_loss", _c.hf_on_loss),
                                 ("on_revoke", _c.hf_on_revoke)):
                if getattr(self, "_" + name) is not None:
                    setattr(opts, name, callback(struct, name, acquire))
            first = self._parts[0]
            if len(self._parts) == 1:
                status = c.hf_lock_acquire_start(
                    first.handle, ctypes.byref(opts), done, op)
            else:
                handles = (ctypes.c_void_p * len(self._parts))(
                    *(part.handle.value for part in self._parts))
                status = c.hf_locks_acquire_start(
                    handles, len(handles), ctypes.byref(opts), done, op)
            check(status)

        return Call(begin, acquire.take)

    def _leave(self, key: Any) -> G:
        grant, before = self._entered[key]
        if before is None:
            del self._entered[key]
        else:
            self._entered[key] = before
        return grant

    def __repr__(self) -> str:
        names = " ".join(part.name for part in self._parts)
        return f"<holdfast.{type(self).__name__} {names}>"


class BaseLock(BaseLocks[C, G]):
    """One lock, and its queue."""

    @property
    def name(self) -> str:
        return self._parts[0].name

    def _tickets_call(self, which: str,
                      timeout: Optional[float]) -> Call[List[Ticket]]:
        part, number = self._parts[0], _one_of(_WHICH, which, "which")
        wait_ms = milliseconds(timeout)
        return Call(lambda done, _op: check(c.hf_lock_tickets_start(
            part.handle, number, wait_ms, done)), take_tickets)

    def _evict_call(self, ticket: Union[str, Ticket], by: Optional[str],
                    timeout: Optional[float]) -> Call[None]:
        part, wait_ms = self._parts[0], milliseconds(timeout)
        said = None if by is None else bytes_of(by, "by")
        name = bytes_of(_id_of(ticket), "the ticket")
        return Call(lambda done, _op: check(c.hf_lock_evict_start(
            part.handle, name, said, wait_ms, done)), take_nothing)

    def _revoke_call(self, ticket: Union[str, Ticket, None],
                     timeout: Optional[float]) -> Call[None]:
        part, wait_ms = self._parts[0], milliseconds(timeout)
        name = None if ticket is None else \
            bytes_of(_id_of(ticket), "the ticket")
        return Call(lambda done, _op: check(c.hf_lock_revoke_start(
            part.handle, name, wait_ms, done)), take_nothing)


def _id_of(ticket: Union[str, Ticket]) -> str:
    return ticket if isinstance(ticket, str) else ticket.id


class BaseGrant:
    """The proof that you were admitted."""

    _handles: List[int] = []

    def __init__(self, locks: BaseLocks[Any, Any], handle: int) -> None:
        self._client = locks._client
        self._parts = locks._parts
        self._handles = [handle]  # empty once it is released
        self._guard = threading.RLock()
        #: The fencing token: send it with each write.  Of several locks, that
        #: of the first.
        self.token: int = c.hf_grant_token(handle)
        #: The token of each lock, by its name.
        self.tokens: Dict[str, int] = {
            part.name: c.hf_grant_token_of(handle, part.handle)
            for part in self._parts}

    @property
    def _handle(self) -> Optional[int]:
        return self._handles[0] if self._handles else None

    def _held(self) -> int:
        if self._handle is None:
            raise error(_c.Status.ESTATE, "the grant was released")
        return self._handle

    @property
    def safe_until(self) -> float:
        """The instant on CLOCK_BOOTTIME, in seconds, before which no other
        client can have been admitted; infinite on an engine without leases; 0
        once the grant is lost or released."""
        with self._guard:
            return 0.0 if self._handle is None else \
                seconds(c.hf_grant_safe_until_ms(self._handle))

    @property
    def lost(self) -> bool:
        """Whether it has ended before its release, as far as is known now.
        With files nobody looks unless on_loss= was given or fileno() called;
        check() looks."""
        with self._guard:
            return self._handle is not None and \
                c.hf_grant_safe_until_ms(self._handle) == 0

    def check(self) -> None:
        """Raise Lost, with the reason, if this grant is lost.  Advice and not
        a fence: it can be out of date when it returns."""
        with self._guard:
            check(c.hf_grant_check(self._held()))

    def fileno(self) -> int:
        """A descriptor that becomes readable when the grant is lost, for
        select() and the like.  Do not read it."""
        number = ctypes.c_int()
        with self._guard:
            check(c.hf_grant_loss_fd(self._held(), ctypes.byref(number)))
        return number.value

    def _start_release(self, done: Any) -> Any:
        """hf_grant_release_start().  The handle is taken and used in one step,
        between whose halves no signal handler runs: what that raises leaves a
        grant that is held, or one whose release is under way."""
        return next(map(c.hf_grant_release_start,
                        iter(self._handles.pop, None), (done,)))

    def _release_call(self) -> Call[None]:
        def begin(done: Any, _op: Any) -> bool:
            with self._guard:
                handle = self._handle
                if handle is None:
                    return True  # it was released already
                status = self._start_release(done)
            # Of a client that is closed: nobody can call back any more, and
            # nothing is waited for.
            at_once = bool(status == _c.Status.ECLOSED)
            if at_once:
                status = c.hf_grant_release(handle)
            check(status)
            return at_once

        return Call(begin, take_nothing)

    def _downgrade_call(self) -> Call[None]:
        def begin(done: Any, _op: Any) -> None:
            with self._guard:
                check(c.hf_grant_downgrade_start(self._held(), done))

        return Call(begin, take_nothing)

    def _discard(self) -> None:
        """Release it in the background."""
        with self._guard:
            if self._handles:
                self._start_release(_c.hf_done())

    def __del__(self) -> None:
        if not self._handles or BaseClient._exiting:
            return
        self._discard()
        if self._client._pid == os.getpid():
            warnings.warn(f"{self!r} was not released", ResourceWarning,
                          source=self, stacklevel=2)

    def __repr__(self) -> str:
        state = "released" if self._handle is None else \
            "lost" if self.lost else "held"
        return f"<holdfast.{type(self).__name__} of " \
               f"{' '.join(self.tokens)}, token {self.token}, {state}>"


E = TypeVar("E", bound="BaseElection[Any]")


class _Campaign:
    """The callbacks of one candidate, which they do not keep alive."""

    def __init__(self, election: "BaseElection[Any]") -> None:
        self._election = weakref.ref(election)

    def _run(self, name: str, *arguments: Any) -> None:
        election = self._election()
        if election is not None:
            election._client._run(election._callbacks[name], election,
                                  *arguments)

    def on_elected(self, _election: Any, _token: int) -> None:
        self._run("on_elected")

    def on_deposed(self, _election: Any, _token: int) -> None:
        self._run("on_deposed")

    def on_revoke(self, _election: Any, _token: int) -> None:
        self._run("on_revoke")

    def on_ended(self, _election: Any, why: Any) -> None:
        self._run("on_ended",
                  error(why.contents.status, text_of(why.contents.text)))


class BaseElection(Generic[C]):
    """A candidate for a leadership."""

    _handle: Any = None

    def __init__(self, client: C, name: str, kind: Kind, text: Optional[str],
                 candidate_id: Optional[str],
                 callbacks: Dict[str, Optional[Callable[..., Any]]]) -> None:
        self._handle = ctypes.c_void_p()
        self._client = client
        self._callbacks: Dict[str, Any] = callbacks
        self.name = name
        opts = _c.hf_election_opts_default()
        opts.kind = _one_of(_KINDS, kind, "kind")
        opts.text = None if text is None else bytes_of(text, "the text")
        opts.id = None if candidate_id is None else \
            bytes_of(candidate_id, "the id")
        encoded = bytes_of(name, "the name")
        campaign = _Campaign(self)
        for key, fn in callbacks.items():
            if fn is not None:
                struct = _c.hf_on_ended if key == "on_ended" \
                    else _c.hf_on_election
                setattr(opts, key, callback(struct, key, campaign))
        with client._guard:
            check(c.hf_election_open(client._open_handle(), encoded,
                                     ctypes.byref(opts),
                                     ctypes.byref(self._handle)))

    def __del__(self, free: Any = c.hf_election_free) -> None:
        if self._handle and not BaseClient._exiting:
            free(self._handle)

    def campaign(self) -> None:
        """Be a candidate from now on, in the background, until resign()."""
        check(c.hf_election_campaign_start(self._handle))

    @property
    def is_leader(self) -> bool:
        return bool(c.hf_election_is_leader(self._handle))

    @property
    def token(self) -> int:
        """The fencing token of the leadership; 0 without one."""
        return int(c.hf_election_token(self._handle))

    @property
    def safe_until(self) -> float:
        """As Grant.safe_until; 0 without a leadership."""
        return seconds(c.hf_election_safe_until_ms(self._handle))

    def _wait_call(self, timeout: Optional[float]) -> Call[None]:
        wait_ms = milliseconds(timeout)
        return Call(lambda done, op: check(c.hf_election_wait_start(
            self._handle, wait_ms, done, op)), take_nothing)

    def _resign_call(self) -> Call[None]:
        return Call(lambda done, _op: check(c.hf_election_resign_start(
            self._handle, done)), take_nothing)

    def _tickets_call(self, which: str,
                      timeout: Optional[float]) -> Call[List[Ticket]]:
        wait_ms, number = milliseconds(timeout), _one_of(_WHICH, which, "which")
        return Call(lambda done, _op: check(c.hf_election_tickets_start(
            self._handle, number, wait_ms, done)), take_tickets)

    def __repr__(self) -> str:
        return f"<holdfast.{type(self).__name__} {self.name}" \
               f"{', leads' if self.is_leader else ''}>"
