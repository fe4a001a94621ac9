# SPDX-License-Identifier: Apache-2.0
"""libholdfast, loaded, with the functions that _c.py describes."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Optional

from . import _c
from ._error import Error

# Until 1.0 a minor version may break the ABI and then changes the soname.
_SONAME = "libholdfast.so.{}".format(
    f"0.{_c.HF_VERSION_MINOR}" if _c.HF_VERSION_MAJOR == 0
    else _c.HF_VERSION_MAJOR)


def _load() -> ctypes.CDLL:
    path = os.environ.get("HOLDFAST_LIBRARY") or _SONAME
    try:
        return ctypes.CDLL(path)
    except OSError as failure:
        raise ImportError(
            f"holdfast cannot load its library in C: {failure}.  Install "
            f"{_SONAME}, or name the file in HOLDFAST_LIBRARY") from None


class _Functions:
    """Each function of the library, as an attribute."""

    def __init__(self) -> None:
        library = _load()
        for name, (result, arguments) in _c.FUNCTIONS.items():
            function: Any = getattr(library, name, None)
            if function is not None:
                function.restype = result
                function.argtypes = arguments
                setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{_SONAME} is older than this module: it has no "
                             f"{name}()")


c: Any = _Functions()


def text_of(raw: Optional[bytes]) -> str:
    return (raw or b"").decode("utf-8", "replace")


def bytes_of(text: str, what: str) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"{what} is {text!r}; expected a str")
    if "\0" in text:
        raise ValueError(f"{what} has a NUL in it: {text!r}")
    return text.encode("utf-8")


def status_of(number: int) -> int:
    """The Status, or the number if this module does not know it."""
    try:
        return _c.Status(number)
    except ValueError:
        return number


def error(status: int, text: str) -> Error:
    """The exception for ${status}.  One that this module does not know is
    taken by its class, as a program in C does."""
    kind = _c.BY_STATUS.get(status) or \
        _c.BY_CLASS.get(c.hf_status_class(status)) or Error
    return kind(status_of(status), text)


def check(status: int) -> None:
    """Raise the failure of the call that this thread has just made."""
    if status == _c.Status.OK:
        return
    last = c.hf_last_error().contents
    # A handler of a signal may have had another one since.
    same = last.status == status
    raise error(status, text_of(last.text if same
                                else c.hf_status_text(status)))


def milliseconds(timeout: Optional[float]) -> int:
    """${timeout} in seconds; None is no limit."""
    if timeout is None:
        return _c.HF_FOREVER
    if not isinstance(timeout, (int, float)):
        raise TypeError(f"a timeout is a number of seconds, not {timeout!r}")
    if not timeout >= 0:
        raise ValueError(f"a timeout is at least 0 seconds, not {timeout!r}")
    return int(min(-(-timeout * 1000 // 1), _c.HF_FOREVER - 1))


def seconds(ms: int) -> float:
    return float("inf") if ms == _c.HF_FOREVER else ms / 1000
