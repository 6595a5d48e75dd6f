"""The methods of a synthetic benchmark: some characters, and more of the same beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from segjury.errors import InputError

Character = TypeVar("Character", bound=Any)  # a dataclass with a name


def cast_of(characters: Sequence[Character], count: int) -> list[Character]:
    """The first `count` characters; beyond the last, the first again as `NAME-2` and so on."""
    rounds = [divmod(number, len(characters)) for number in range(count)]
    return [
        replace(characters[which], name=f"{characters[which].name}-{again + 1}")
        if again
        else characters[which]
        for again, which in rounds
    ]


def check_counts(cases: int, methods: int) -> None:
    """Refuse a benchmark without cases."""
    if cases < 1 or methods < 0:
        raise InputError(f"{cases} cases and {methods} methods", "Ask for at least one case")
