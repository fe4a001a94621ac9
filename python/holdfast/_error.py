# SPDX-License-Identifier: Apache-2.0
"""The base of all exceptions.  Those below it are made from the headers, one
for each class of statuses: see _c.py."""
from __future__ import annotations

from typing import Any


class Error(Exception):
    """A call of the library failed.  .status says how: a Status, or a number
    that a later library has and this module does not know."""

    __module__ = "holdfast"

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        if cls.__module__.startswith("holdfast."):
            cls.__module__ = "holdfast"

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> Any:
        return type(self), (self.status, self.text)
