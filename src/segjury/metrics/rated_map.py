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
from functools import cached_property, partial
from itertools import chain, pairwise
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
MOST_KEPT = 1 << 22  # values that are not looked up again
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

    def marked(self) -> Iterator[Piece]:
        """Patterns and probabilities of all voxels that a rater marks, some at a time."""
        anyone = self.raters_marking > 0
        for here, p in self.pieces():
            if here.any():
                where = np.flatnonzero(anyone[here])
                yield here[where], exact(p[where])

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
            for some in parts_of(p, FEW_VOXELS):
                yield some.astype(np.float64)

    @cached_property
    def voxels_by_raters(self) -> Ints:
        """How many voxels 0, 1, 2, ... raters mark."""
        voxels = np.zeros(self.n_raters + 1, np.int64)
        for codes, _ in self.marked():
            voxels += np.bincount(self.raters_marking[codes], minlength=voxels.size)
        voxels[0] = self.voxels - voxels.sum()
        return voxels

    @cached_property
    def by_raters(self) -> tuple[Values, ...]:
        """Probabilities in ascending order, of the voxels that 1, 2, ... raters mark."""
        found = list[Values]()
        filled = np.zeros(self.n_raters, np.int64)
        for codes, p in self.marked():
            found = found or [np.empty(n, p.dtype) for n in self.voxels_by_raters[1:]]
            count = self.raters_marking[codes]
            for k in range(self.n_raters):
                here = p[count == k + 1]
                found[k][filled[k] : filled[k] + here.size] = here
                filled[k] += here.size
        for values in found:
            values.sort()
        return tuple(found) or (np.zeros(0, np.float32),) * self.n_raters

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
        marked = [values[np.searchsorted(values, 0, "right") :] for values in self.by_raters]
        voxels = np.zeros(N_RANGES, np.int64)
        voxels[self.spread.ranges] = self.spread.voxels
        for part in _parts_of_all(marked):
            found = np.bincount(ranges_of(part))
            voxels[: found.size] += found
        ends = self.voxels - int(voxels.sum()) + np.cumsum(voxels)  # zeros come first
        values = np.zeros(ranks.size, self.dtype)
        beyond = np.flatnonzero(ranks > ends[-1] - voxels.sum())
        holding = np.searchsorted(ends, ranks[beyond])
        wanted = np.zeros(N_RANGES, bool)
        wanted[holding] = True
        members = [part[wanted[ranges_of(part)]] for part in _parts_of_all(marked)]
        unmarked = self.spread.members(np.flatnonzero(wanted))
        members.append(unmarked.of_ranges(wanted))
        every = np.sort(np.concatenate(members))
        starts = np.concatenate([[0], np.cumsum(np.where(wanted, voxels, 0))])
        values[beyond] = every[starts[holding] + ranks[beyond] - (ends - voxels)[holding] - 1]
        return values

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the probabilities."""
        return np.result_type(self.spread.dtype, *self.by_raters)


@dataclass(frozen=True)
class Members:
    """All values in some ranges but for zeros, in ascending order, and where each range begins."""

    values: Values
    ranges: Ints
    starts: Ints  # and the end of the last one

    def places(self, ranges: Ints) -> tuple[Ints, Ints]:
        """Where the values of some ranges begin, and where they end."""
        first, last = (np.searchsorted(self.ranges, ranges, side) for side in SIDES)
        return self.starts[first], self.starts[last]

    def of_ranges(self, wanted: Bools) -> Values:
        """The values of those ranges alone that are wanted."""
        if wanted[self.ranges].all():
            return self.values
        return self.values[np.repeat(wanted[self.ranges], np.diff(self.starts))]


@dataclass(frozen=True)
class Spread:
    """Many probabilities: how many are 0, and number and sum of the others by narrow ranges.

    `looked_at` are the members that were last asked for.
    """

    pieces: Callable[[], Iterable[Values]]
    zeros: int
    ranges: Ints  # those that hold any, ascending
    voxels: Ints
    sums: Floats
    dtype: np.dtype[Any]
    looked_at: list[Members] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def of(cls, pieces: Callable[[], Iterable[Values]], n_voxels: int) -> Spread:
        """Count in one pass; voxels that the pieces leave out are 0."""
        voxels, sums, dtype = np.zeros(N_RANGES, np.int64), np.zeros(N_RANGES), np.dtype(np.float32)
        zeros = n_voxels
        for p in pieces():
            dtype, ranges = p.dtype, ranges_of(p)
            found = np.bincount(ranges)
            voxels[: found.size] += found
            sums[: found.size] += np.bincount(ranges, weights=p)
            positive = np.count_nonzero(p)
            voxels[0] -= p.size - positive
            zeros -= int(positive)
        filled = np.flatnonzero(voxels)
        return cls(pieces, zeros, filled, voxels[filled], sums[filled], dtype)

    @cached_property
    def above_half(self) -> Values:
        """The values above 0.5, ascending; a map is seldom that sure of what no rater marks."""
        first = np.searchsorted(self.ranges, ranges_of(np.array([HALF]))[0])
        return self._gathered(int(self.voxels[first:].sum()), lambda p: p > HALF)

    def members(self, ranges: Ints) -> Members:
        """The members of some ranges, and maybe of others."""
        wanted = np.zeros(N_RANGES, bool)
        wanted[ranges] = True
        here = wanted[self.ranges]
        for members in self.looked_at:
            if np.isin(self.ranges[here], members.ranges).all():
                return members
        starts = np.concatenate([[0], np.cumsum(self.voxels[here])])
        least = _least_of(np.flatnonzero(wanted))
        values = self._gathered(int(starts[-1]), partial(_in_ranges, wanted=wanted, least=least))
        members = Members(values, self.ranges[here], starts)
        if values.size < MOST_KEPT:
            self.looked_at[:] = [members]
        return members

    def _gathered(self, most: int, which: Callable[[Values], Bools]) -> Values:
        """The values that are wanted, at most so many, in ascending order."""
        values, size = np.empty(most, self.dtype), 0
        for p in self.pieces() if most else ():
            here = p[which(p)]
            values[size : size + here.size] = here
            size += here.size
        values[:size].sort()
        return values[:size]

    def below(self, values: Values, members: Members) -> Ints:
        """How many are smaller than each of some values; `members` are those of their ranges."""
        ranges = ranges_of(values)
        ends = np.concatenate([[0], np.cumsum(self.voxels)])
        lower = self.zeros + ends[np.searchsorted(self.ranges, ranges)] - members.places(ranges)[0]
        return np.where(values > 0, lower + np.searchsorted(members.values, values), 0)

    def between(self, cuts: Values) -> tuple[Ints, Floats]:
        """Voxels and sum of probabilities between ascending cuts, as `RatedMap.between`."""
        ranges = ranges_of(cuts)
        members = self.members(ranges)
        below = self.below(cuts, members)
        voxels = np.diff([0, *below, self.zeros + int(self.voxels.sum())])
        # Of each part: the rest of the range it begins in, whole ranges, the start of the last one.
        places = np.searchsorted(members.values, cuts).tolist()
        first, last = (each.tolist() for each in members.places(ranges))
        lower, upper = (np.searchsorted(self.ranges, ranges, side).tolist() for side in SIDES)
        sums: list[float] = []
        place = rest = whole = 0
        for k in range(cuts.size):
            if k and ranges[k] == ranges[k - 1]:
                parts = [members.values[place : places[k]]]
            else:
                parts = [
                    members.values[place:rest],
                    self.sums[whole : lower[k]],
                    members.values[first[k] : places[k]],
                ]
            sums.append(sum(float(part.sum(dtype=np.float64)) for part in parts))
            place, rest, whole = places[k], last[k], upper[k]
        ending = members.values[place:rest].sum(dtype=np.float64) + self.sums[whole:].sum()
        return voxels, np.array([*sums, float(ending)])


SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


def exact(p: NDArray[Any]) -> Values:
    """Probabilities as floats that hold them exactly."""
    is_double = p.dtype.kind == "f" and p.dtype.itemsize > 4
    return p.astype(np.float64 if is_double else np.float32, copy=False)


def ranges_of(values: Values) -> NDArray[np.intp]:
    """The narrow range of each value, which grows with it; the first one is that of 0.

    The bits of positive floats are in the order of their values. In place, as memory that is taken
    and given back for each step costs many times the arithmetic.
    """
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32) & BITS_WITHOUT_SIGN
    bits += np.uint32(2**LOWER_BITS - 1)
    bits >>= np.uint32(LOWER_BITS)
    return bits.astype(np.intp)


N_RANGES = int(ranges_of(np.ones(1))[0]) + 2  # one more, for a cut above 1


def _in_ranges(p: Values, wanted: Bools, least: np.float32) -> Bools:
    """Which values are in wanted ranges, none of which has a value below `least`."""
    inside = p.astype(np.float32, copy=False) >= least
    if 8 * np.count_nonzero(inside) < p.size:  # mostly far below: looked up one by one
        few = np.flatnonzero(inside)
        inside[few] = wanted[ranges_of(p[few])]
    else:
        inside = wanted[ranges_of(p)]
    return inside & (p > 0) if wanted[0] else inside


def _least_of(ranges: Ints) -> np.float32:
    """The least value in the first of some ascending ranges; 0 where there is none."""
    first = int(ranges[0]) if ranges.size else 0
    bits = np.uint32(((first - 1) << LOWER_BITS) + 1 if first else 0)
    return np.float32(bits.view(np.float32))


def parts_of(values: Values, size: int) -> Iterator[Values]:
    """The values, so many at a time."""
    return (values[start : start + size] for start in range(0, values.size, size))


def _parts_of_all(arrays: Iterable[Values]) -> Iterator[Values]:
    return chain.from_iterable(parts_of(values, SOME_VOXELS) for values in arrays)


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

    return RatedMap(pieces, p.size - patterns.ignored, patterns.marked(label))


def rated_box(
    patterns: RaterPatterns, label: int, p: NDArray[Any], box: Box, *, ignored: int = 0
) -> RatedMap:
    """The voxels of a box, some planes at a time; so many that are 0 there do not count."""
    codes, probabilities = patterns.codes[box], p[box]
    step = max(1, LONGEST_SPAN // max(math.prod(box.shape[:2]), 1))

    def pieces() -> Iterator[Piece]:
        for first in range(0, box.shape[2], step):
            planes = slice(first, first + step)
            yield flat(codes[..., planes]), flat(probabilities[..., planes])

    return RatedMap(pieces, codes.size - ignored, patterns.marked(label))


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
