"""A label's probability map beside its raters: what scores of maps are made from.

For most scores it only matters how many raters mark a voxel. The few voxels that a rater marks are
sorted by probability. All others are counted in very many narrow ranges, and where a limit falls
into a range, the values in it are looked at again. So every count is exact, and a map without a
zero is never sorted as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from segjury.arrays import LONGEST_SPAN, Bools, Box, Floats, Ints, Span, bounding_box, flat
from segjury.consensus import RaterPatterns, pack, union
from segjury.metrics.inputs import as_map, as_raters
from segjury.metrics.metric import Options, check_shapes

Region = Literal["image", "near"]
Piece = tuple[NDArray[Any], NDArray[Any]]  # patterns and probabilities of some voxels
Values = NDArray[Any]  # probabilities, in float32 or float64 as the map has them

PADDING_VOXELS = 20
FEW_VOXELS, SOME_VOXELS = 1 << 16, 1 << 17  # looked at together
LOWER_BITS = 12  # of a float32; values of a range share all others
MOST_KEPT = 1 << 22
BITS_WITHOUT_SIGN = np.uint32(2**31 - 1)  # a negative zero is a zero
HALF = 0.5  # up to here a map says that the label is not there


class RegionOptions(Options):
    """Which voxels of the image count."""

    region: Region = Field(
        default="image", description="the whole image, or the box near the raters' marks"
    )
    padding_voxels: int = Field(
        default=PADDING_VOXELS, ge=0, description="margin around the raters' union box, for `near`"
    )


def check_region(region: str) -> None:
    """Refuse what is no region, instead of taking it for one."""
    if region not in ("image", "near"):
        raise ValueError(f"region is {region!r}, expected 'image' or 'near'")


@dataclass(frozen=True)
class RatedMap:
    """The probabilities of a label in a region, and the raters who mark it there.

    `pieces` gives patterns and probabilities, some voxels at a time; where it leaves voxels of the
    region out, the probability is 0 and no rater marks anything.
    """

    pieces: Callable[[], Iterable[Piece]]
    voxels: int
    marks: Bools  # whether each rater gives the label, (patterns, raters)

    @property
    def n_raters(self) -> int:
        """How many raters there are."""
        return int(self.marks.shape[1])

    @cached_property
    def raters_marking(self) -> Ints:
        """How many raters give the label in each pattern."""
        return np.asarray(self.marks.sum(axis=1))

    @cached_property
    def marked(self) -> Piece:
        """Patterns and probabilities of all voxels that a rater marks."""
        anyone = self.raters_marking > 0
        codes, values = [np.zeros(0, np.uint8)], [np.zeros(0, np.float32)]
        for here, p in self.pieces():
            if here.any():
                where = np.flatnonzero(anyone[here])
                codes.append(here[where])
                values.append(exact(p[where]))
        return np.concatenate(codes), np.concatenate(values)

    def unmarked(self) -> Iterator[Values]:
        """Probabilities of the voxels that no rater marks, many at a time; those left out are 0."""
        anyone, waiting, size = self.raters_marking > 0, list[Values](), 0
        for here, p in self.pieces():
            waiting.append(exact(p[~anyone[here]] if here.any() else p))
            size += waiting[-1].size
            if size >= SOME_VOXELS:
                yield waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
                waiting, size = [], 0
        if size:
            yield np.concatenate(waiting)

    def unmarked_doubles(self) -> Iterator[Floats]:
        """`unmarked` in float64, fewer at a time: what is made of them stays in the cache."""
        for p in self.unmarked():
            for start in range(0, p.size, FEW_VOXELS):
                yield p[start : start + FEW_VOXELS].astype(np.float64)

    @cached_property
    def by_raters(self) -> tuple[Values, ...]:
        """Probabilities in ascending order, of the voxels that 1, 2, ... raters mark."""
        codes, values = self.marked
        count = self.raters_marking[codes]
        return tuple(np.sort(values[count == k]) for k in range(1, self.n_raters + 1))

    @cached_property
    def voxels_by_raters(self) -> Ints:
        """How many voxels 0, 1, 2, ... raters mark."""
        sizes = [values.size for values in self.by_raters]
        return np.array([self.voxels - sum(sizes), *sizes])

    @cached_property
    def spread(self) -> Spread:
        """The probabilities where no rater marks anything, counted in ranges."""
        return Spread.of(self.unmarked, int(self.voxels_by_raters[0]))

    def between(self, cuts: Values) -> tuple[Ints, Floats]:
        """Voxels and sum of probabilities between ascending cuts, (0, 1, 2, ... raters, parts).

        A part begins with its lower cut and ends before the upper one; the first and the last are
        open.
        """
        parts = [self.spread.between(cuts)]
        for values in self.by_raters:
            ends = [0, *np.searchsorted(values, cuts).tolist(), values.size]
            parts.append((np.diff(ends), _sums(values, ends)))
        return np.stack([voxels for voxels, _ in parts]), np.stack([sums for _, sums in parts])

    def values_at(self, ranks: Ints) -> Values:
        """The probabilities at some ranks, from 1 for the smallest, of all voxels together."""
        marked = np.sort(self.marked[1])
        zeros = self.spread.zeros + int(np.searchsorted(marked, 0, "right"))
        marked = marked[marked > 0]
        marked_ranges = ranges_of(marked)
        ranges, where = np.unique(
            np.concatenate([self.spread.ranges, marked_ranges]), return_inverse=True
        )
        sizes = np.zeros(ranges.size, np.int64)
        np.add.at(sizes, where[: self.spread.ranges.size], self.spread.voxels)
        np.add.at(sizes, where[self.spread.ranges.size :], 1)
        ends = zeros + np.cumsum(sizes)
        found = np.zeros(ranks.size, np.result_type(self.spread.dtype, marked.dtype))
        beyond = np.flatnonzero(ranks > zeros)
        holding = np.searchsorted(ends, ranks[beyond])
        wanted = np.unique(ranges[holding])
        members = np.sort(
            np.concatenate(
                [
                    self.spread.members(wanted),
                    marked[np.isin(marked_ranges, wanted)],
                ]
            )
        )
        before = ranks[beyond] - (ends - sizes)[holding] - 1
        found[beyond] = members[np.searchsorted(ranges_of(members), ranges[holding]) + before]
        return found


@dataclass(frozen=True)
class Spread:
    """Many probabilities: how many are 0, and number and sum of the others by narrow ranges.

    `looked_at` are the ranges whose values were last asked for, and these.
    """

    pieces: Callable[[], Iterable[Values]]
    zeros: int
    ranges: Ints  # those that hold any, ascending
    voxels: Ints
    sums: Floats
    above_half: Values  # ascending: a map is seldom that sure of what no rater marks
    dtype: np.dtype[Any]
    looked_at: list[tuple[Bools, Values]] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def of(cls, pieces: Callable[[], Iterable[Values]], n_voxels: int) -> Spread:
        """Count in one pass; voxels that the pieces leave out are 0."""
        voxels, sums, dtype = np.zeros(N_RANGES, np.int64), np.zeros(N_RANGES), np.dtype(np.float32)
        zeros, above = n_voxels, [np.zeros(0, np.float32)]
        for p in pieces():
            dtype, ranges = p.dtype, ranges_of(p)
            found = np.bincount(ranges)
            voxels[: found.size] += found
            sums[: found.size] += np.bincount(ranges, weights=p)
            above.append(p[p > HALF])
            positive = np.count_nonzero(p)
            voxels[0] -= p.size - positive
            zeros -= int(positive)
        filled = np.flatnonzero(voxels)
        above_half = np.sort(np.concatenate(above))
        return cls(pieces, zeros, filled, voxels[filled], sums[filled], above_half, dtype)

    def members(self, ranges: Ints) -> Values:
        """All values in some ranges, and maybe in others, but for zeros, in ascending order."""
        wanted = np.zeros(N_RANGES, bool)
        wanted[ranges[np.isin(ranges, self.ranges)]] = True
        for before, values in self.looked_at:
            if not (wanted & ~before).any():
                return values
        found = [np.zeros(0, self.dtype)]
        if wanted.any():
            for p in self.pieces():
                here = p[wanted[ranges_of(p)]]
                found.append(here[here > 0] if wanted[0] else here)
        values = np.sort(np.concatenate(found))
        if values.size < MOST_KEPT:
            self.looked_at[:] = [(wanted, values)]
        return values

    def below(self, values: Values, members: Values) -> Ints:
        """How many are smaller than each of some values; `members` are those in their ranges."""
        ranges = ranges_of(values)
        first = np.searchsorted(ranges_of(members), ranges)
        ends = np.concatenate([[0], np.cumsum(self.voxels)])
        lower = self.zeros + ends[np.searchsorted(self.ranges, ranges)]
        return np.where(values > 0, lower + np.searchsorted(members, values) - first, 0)

    def between(self, cuts: Values) -> tuple[Ints, Floats]:
        """Voxels and sum of probabilities between ascending cuts, as `RatedMap.between`."""
        ranges = ranges_of(cuts)
        members = self.members(ranges)
        below = self.below(cuts, members)
        voxels = np.diff([0, *below, self.zeros + int(self.voxels.sum())])
        # Of each part: the rest of the range it begins in, whole ranges, the start of the last one.
        places = np.searchsorted(members, cuts).tolist()
        of_members = ranges_of(members)
        first, last = (np.searchsorted(of_members, ranges, side).tolist() for side in SIDES)
        lower, upper = (np.searchsorted(self.ranges, ranges, side).tolist() for side in SIDES)
        sums: list[float] = []
        place = rest = whole = 0
        for k in range(cuts.size):
            inside = k > 0 and ranges[k] == ranges[k - 1]
            parts = (
                [members[place : places[k]]]
                if inside
                else [
                    members[place:rest],
                    self.sums[whole : lower[k]],
                    members[first[k] : places[k]],
                ]
            )
            sums.append(sum(float(part.sum(dtype=np.float64)) for part in parts))
            place, rest, whole = places[k], last[k], upper[k]
        sums.append(float(members[place:rest].sum(dtype=np.float64) + self.sums[whole:].sum()))
        return voxels, np.array(sums)


SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


def exact(p: NDArray[Any]) -> Values:
    """Probabilities as floats that hold them exactly."""
    is_double = p.dtype.kind == "f" and p.dtype.itemsize > 4
    return p.astype(np.float64 if is_double else np.float32, copy=False)


def ranges_of(values: Values) -> NDArray[np.intp]:
    """The narrow range of each value, which grows with it; the first one is that of 0.

    The bits of positive floats are in the order of their values.
    """
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32) & BITS_WITHOUT_SIGN
    return np.asarray(((bits + (2**LOWER_BITS - 1)) >> LOWER_BITS).astype(np.intp))


N_RANGES = int(ranges_of(np.ones(1))[0]) + 2  # one more, for a cut above 1


def _sums(values: Values, ends: list[int]) -> Floats:
    """Sums of the values between places."""
    return np.array([values[a:b].sum(dtype=np.float64) for a, b in pairwise(ends)])


# ---- regions ---------------------------------------------------------------------------------


def rated_image(
    patterns: RaterPatterns, label: int, p: NDArray[Any], spans: Iterable[Span]
) -> RatedMap:
    """The whole image; outside of the spans of memory, the map is 0 and no rater marks anything."""
    codes, probabilities, spans = flat(patterns.codes), flat(p), tuple(spans)

    def pieces() -> Iterator[Piece]:
        return ((codes[a:b], probabilities[a:b]) for a, b in spans)

    return RatedMap(pieces, p.size, patterns.marked(label))


def rated_box(patterns: RaterPatterns, label: int, p: NDArray[Any], box: Box) -> RatedMap:
    """The voxels of a box, some planes at a time."""
    codes, probabilities = patterns.codes[box], p[box]
    step = max(1, LONGEST_SPAN // max(math.prod(box.shape[:2]), 1))

    def pieces() -> Iterator[Piece]:
        for first in range(0, box.shape[2], step):
            planes = slice(first, first + step)
            yield flat(codes[..., planes]), flat(probabilities[..., planes])

    return RatedMap(pieces, codes.size, patterns.marked(label))


def rated_voxels(patterns: RaterPatterns, label: int, p: NDArray[Any], voxels: Ints) -> RatedMap:
    """The voxels with some flat indices."""
    codes, probabilities = flat(patterns.codes), flat(p)

    def pieces() -> Iterator[Piece]:
        for first in range(0, voxels.size, LONGEST_SPAN):
            here = voxels[first : first + LONGEST_SPAN]
            yield codes[here], probabilities[here]

    return RatedMap(pieces, voxels.size, patterns.marked(label))


def marks_box(patterns: RaterPatterns, label: int) -> Box | None:
    """The box around all voxels that a rater gives a label; None where there is none."""
    x, y, z = patterns.codes.shape
    anyone = union(patterns, label=label)
    pieces = patterns.marks.pieces()
    boxes = [bounding_box(voxels[anyone[codes]], (x, y, z)) for voxels, codes in pieces]
    found = [box for box in boxes if box]
    return Box.around(found) if found else None


def rate(
    raters: ArrayLike, probability: ArrayLike, *, region: Region, padding_voxels: int
) -> RatedMap | None:
    """The map of a label beside its raters' masks; None if the region is near no mark."""
    check_region(region)
    masks, p = as_raters(raters, probability=probability), as_map(probability)
    check_shapes(masks, probability=p)
    patterns = pack(masks)
    if region == "image":
        return rated_box(patterns, 1, p, Box.whole(p.shape))
    box = marks_box(patterns, 1)
    return rated_box(patterns, 1, p, box.grow(padding_voxels, p.shape)) if box else None
