"""Groups of methods that no test tells apart: bars and letters of a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

import numpy as np
from numpy.typing import ArrayLike

from segjury.arrays import Bools, Ints


def cliques(order: Sequence[int] | Ints, differs: ArrayLike) -> list[tuple[int, ...]]:
    """The bars of a critical-difference diagram: groups of two and more methods not told apart.

    `order` has the methods' indices from best to worst, `differs[i, j]` whether i and j differ.
    A group is contiguous in the order, has no differing pair, and lies in no larger such group.
    """
    return [group for group in _groups(order, differs) if len(group) > 1]


def letters(order: Sequence[int] | Ints, differs: ArrayLike) -> list[str]:
    """Compact letter display, one text per method (by index): those not told apart share a letter.

    The groups of `cliques`, and methods that are in none by themselves, are lettered from the
    best; a method in the first two has `ab`. After z follow a2, b2, ..., z2, a3, ...
    """
    texts = [""] * len(order)
    for number, group in enumerate(_groups(order, differs)):
        for method in group:
            texts[method] += _letter(number)
    return texts


def _letter(number: int) -> str:
    turn, place = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(turn + 1) if turn else "")


def _groups(order: Sequence[int] | Ints, differs: ArrayLike) -> list[tuple[int, ...]]:
    """Largest contiguous groups without a differing pair; a single method may be one."""
    methods = np.asarray(order, np.int64)
    pairs = _ordered_pairs(methods, np.asarray(differs))
    groups: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(methods)):
        stop = start + 1
        while stop < len(methods) and not pairs[stop, start:stop].any():
            stop += 1
        if stop > reached:  # otherwise the group before holds this one
            groups.append(tuple(methods[start:stop].tolist()))
            reached = stop
    return groups


def _ordered_pairs(methods: Ints, differs: Bools) -> Bools:
    """`differs` with its rows and columns from best to worst."""
    count = methods.size
    if methods.ndim != 1 or not np.array_equal(np.sort(methods), np.arange(count)):
        raise ValueError(f"order is {methods.tolist()}, expected each index from 0 once")
    if differs.dtype != np.bool_ or differs.shape != (count, count):
        raise ValueError(
            f"differs is {differs.dtype} of shape {differs.shape}, "
            f"expected bool of shape {(count, count)}"
        )
    if not np.array_equal(differs, differs.T):
        raise ValueError("differs must be symmetric")
    return differs[np.ix_(methods, methods)]
