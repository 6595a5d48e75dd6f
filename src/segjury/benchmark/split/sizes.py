"""Sizes of the parts of a split: what was asked for, and whether groups can be cut so."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from segjury.arrays import Ints
from segjury.errors import InputError

SECONDS = 20.0  # to look for sizes that groups allow


def part_sizes(given: str, cases: int, *, rest: bool = False) -> list[int]:
    """The sizes that a text such as `40,5,64` or `60%,40%` means; with `rest`, one part more.

    Percentages of the cases are rounded by largest remainder, so that they add up.
    """
    texts = [text.strip() for text in given.split(",")]
    fix = "Give whole numbers above 0, as 40,5,64, or percentages, as 60%,40%"
    try:
        if all(text.endswith("%") for text in texts):
            sizes = _from_percentages([Fraction(text[:-1]) for text in texts], cases)
        else:
            sizes = [int(text) for text in texts]
    except (ValueError, ZeroDivisionError):
        raise InputError(f"`sizes` is '{given}'", fix) from None
    if min(sizes) < 1:
        raise InputError(f"`sizes` is '{given}', which leaves a part empty", fix)
    left = cases - sum(sizes)
    if left < 0 or (left > 0 and not rest):
        more = ", or name a part for the others with `rest=NAME`" if left > 0 else ""
        raise InputError(
            f"`sizes` add up to {sum(sizes)}, the table has {cases} cases",
            f"Give sizes that add up to {cases}{more}",
        )
    return [*sizes, left] if left else sizes


def _from_percentages(percent: Sequence[Fraction], cases: int) -> list[int]:
    if min(percent) <= 0 or sum(percent) > 100:
        raise ValueError
    exact = [share * cases / 100 for share in percent]
    sizes = [int(size) for size in exact]
    behind = sorted(range(len(sizes)), key=lambda p: sizes[p] - exact[p])
    for p in behind[: int(sum(exact) - sum(sizes) + Fraction(1, 2))]:
        sizes[p] += 1
    return sizes


def composition(group_sizes: Ints, sizes: Sequence[int]) -> Ints:
    """How many groups of each size go into each part, (parts, different group sizes).

    As near as can be to each part's share of each size. An error names the nearest sizes where
    no choice of groups has those asked for.
    """
    different, counts = np.unique(group_sizes, return_counts=True)
    if different.size == 1 and not any(size % different[0] for size in sizes):
        return np.array(sizes)[:, None] // different
    found = _solve(different, counts, sizes, exact=True)
    if found is None:
        nearest = _solve(different, counts, sizes, exact=False)
        near = None if nearest is None else ",".join(map(str, (nearest @ different).tolist()))
        raise InputError(
            f"no choice of whole groups has the sizes {','.join(map(str, sizes))} "
            f"(groups have {', '.join(map(str, different[:10]))}"
            f"{', ...' if different.size > 10 else ''} cases)",
            f"The nearest sizes are {near}" if near else "Give other sizes",
        )
    return found


def _solve(different: Ints, counts: Ints, sizes: Sequence[int], *, exact: bool) -> Ints | None:
    """Whole numbers x[part, size] by linear programming; each row of constraints as in its text.

    With `exact` the slack of the sizes is 0 and the distance from each part's share is least;
    without, the slack is.
    """
    k, s = len(sizes), different.size
    n = k * s
    share = np.outer(np.array(sizes) / sum(sizes), counts).ravel()
    every_group_once = np.hstack([np.tile(np.eye(s), k), np.zeros((s, n + k))])
    cases_in_parts = np.kron(np.eye(k), different[None, :])
    within_size = np.hstack([cases_in_parts, np.zeros((k, n)), -np.eye(k)])
    above_size = np.hstack([cases_in_parts, np.zeros((k, n)), np.eye(k)])
    near_share = np.hstack([np.eye(n), -np.eye(n), np.zeros((n, k))])
    above_share = np.hstack([np.eye(n), np.eye(n), np.zeros((n, k))])
    wanted = np.array(sizes, np.float64)
    none_empty = np.hstack([cases_in_parts, np.zeros((k, n + k))])
    result = milp(
        np.hstack([np.zeros(n), np.full(n, float(exact)), np.full(k, float(not exact))]),
        integrality=np.hstack([np.ones(n), np.zeros(n + k)]),
        bounds=Bounds(0, np.hstack([np.full(2 * n, np.inf), np.full(k, 0.0 if exact else np.inf)])),
        constraints=[
            LinearConstraint(every_group_once, counts, counts),
            LinearConstraint(within_size, -np.inf, wanted),
            LinearConstraint(above_size, wanted, np.inf),
            LinearConstraint(near_share, -np.inf, share),
            LinearConstraint(above_share, share, np.inf),
            LinearConstraint(none_empty, 1, np.inf),
        ],
        options={"time_limit": SECONDS, "mip_rel_gap": 0.1 if exact else 0.0},
    )
    if result.x is None:
        return None
    found = np.rint(result.x[:n]).astype(np.int64).reshape(k, s)
    right = (found.sum(axis=0) == counts).all() and (found >= 0).all()
    right &= not exact or bool((found @ different == wanted).all())
    return found if right else None


def random_parts(
    group_sizes: Ints, sizes: Sequence[int], made_of: Ints, n: int, rng: np.random.Generator
) -> Ints:
    """The part of each group in `n` random splits of exact sizes, (splits, groups).

    The largest groups first, each goes to a part with a chance in proportion to the room left
    there: without groups, every split is as likely as any other. Where the last groups find no
    room, the split has the composition `made_of`, and which groups of a size go where is random.
    """
    left = np.tile(np.array(sizes, np.int64), (n, 1))
    parts = np.zeros((n, group_sizes.size), np.int64)
    stuck = np.zeros(n, bool)
    rows = np.arange(n)
    for group in np.argsort(-group_sizes, kind="stable"):
        size = group_sizes[group]
        room = np.where(left >= size, left, 0).cumsum(axis=1)
        stuck |= room[:, -1] == 0
        place = rng.integers(0, np.maximum(room[:, -1], 1))
        part = np.minimum((place[:, None] >= room).sum(axis=1), len(sizes) - 1)
        parts[:, group] = part
        left[rows, part] -= size
    for column, size in enumerate(np.unique(group_sizes)):
        pool = np.repeat(np.arange(len(sizes)), made_of[:, column])
        same = np.flatnonzero(group_sizes == size)
        drawn = rng.permuted(np.tile(pool, (int(stuck.sum()), 1)), axis=1)
        parts[np.ix_(stuck, same)] = drawn
    return parts
