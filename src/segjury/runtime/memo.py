"""Values that are computed when first asked for, and then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")


class Memo:
    """What has been computed so far, by a key that says what it is."""

    def __init__(self) -> None:
        self._values: dict[tuple[object, ...], Any] = {}

    def once(self, key: tuple[object, ...], compute: Callable[[], R]) -> R:
        """The value of a key, computed only the first time."""
        if key not in self._values:
            self._values[key] = compute()
        value: R = self._values[key]
        return value

    def __contains__(self, key: tuple[object, ...]) -> bool:
        """Whether the value of a key has been computed."""
        return key in self._values
