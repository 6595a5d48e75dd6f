"""Uncertainty beside errors: whether a map is unsure where it is wrong, and where raters differ.

A map that may leave out the voxels it is least sure of should leave out those it has wrong. Here
it predicts the label where p > 0.5, is as sure as `max(p, 1 - p)`, and its error in a voxel is the
share of the raters who say otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from segjury.arrays import LONGEST_SPAN, Floats, Ints
from segjury.metrics.geometry import steady
from segjury.metrics.metric import Metric, Reading
from segjury.metrics.proper import entropy_nat
from segjury.metrics.rated_map import (
    FEW_VOXELS,
    HALF,
    N_RANGES,
    PADDING_VOXELS,
    SIDES,
    RatedMap,
    Region,
    RegionOptions,
    Values,
    parts_of,
    ranges_of,
    rate,
)

__all__ = ["augrc", "aurc", "e_aurc", "uncertainty_ncc"]

Uncertainty = Literal["variance", "entropy"]

SAME = 1e-12  # relative: uncertainties that differ by less are one
FIRST_BY_SERIES = 32  # the sums of reciprocals below are added up


class NccOptions(RegionOptions):
    """Which voxels count, and what is the uncertainty of a probability."""

    uncertainty: Uncertainty = Field(
        default="variance", description="p (1 - p), or the entropy of p in bits"
    )

    def remark(self, _reading: Reading) -> str:
        """What is correlated."""
        return self.uncertainty


AURC = Metric(
    name="aurc",
    options=RegionOptions,
    title="AURC",
    formula="mean over i of the mean error of the i surest voxels",
    needs_raters=True,
    summary="Area under the risk-coverage curve, the surest voxels first.",
    direction="lower",
    bounds=(0.0, 1.0),
    decimals=5,
    needs_probability=True,
    readings=("corrected",),
)
E_AURC = Metric(
    name="e_aurc",
    options=RegionOptions,
    title="E-AURC",
    formula="AURC - AURC of the same errors in the best order",
    needs_raters=True,
    summary="Area under the risk-coverage curve beyond that of the best order of its voxels.",
    direction="lower",
    bounds=(0.0, 1.0),
    decimals=5,
    needs_probability=True,
    readings=("corrected",),
)
AUGRC = Metric(
    name="augrc",
    options=RegionOptions,
    title="AUGRC",
    formula="∫ over coverage of the error of the voxels kept, as a share of all",
    needs_raters=True,
    summary="Area under the generalised risk-coverage curve: errors kept, as a share of all.",
    direction="lower",
    bounds=(0.0, 0.5),
    decimals=5,
    needs_probability=True,
    readings=("corrected",),
)
UNCERTAINTY_NCC = Metric(
    name="uncertainty_ncc",
    options=NccOptions,
    title="Uncertainty NCC",
    formula="Pearson correlation of u(p) and u(share of the raters), u(p) = p (1 - p) or entropy",
    needs_raters=True,
    summary="Correlation of the map's uncertainty with the raters' disagreement.",
    direction="higher",
    bounds=(-1.0, 1.0),
    decimals=3,
    needs_probability=True,
    readings=("corrected",),
)


def aurc(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    region: Region = "image",
    padding_voxels: int = PADDING_VOXELS,
) -> float:
    """Area under the risk-coverage curve, `1/n sum_i r_i`.

    `r_i` is the mean error of the i surest voxels, an error the share of the raters who do not say
    what `p > 0.5` says, and sureness `max(p, 1 - p)`. Among equally sure voxels it is the mean over
    all their orders. `region` is the image, or the box around all raters' marks widened by
    `padding_voxels` (`near`). NaN for `near` if no rater marks anything.
    Source: Geifman and El-Yaniv, NeurIPS 2017; Geifman et al., ICLR 2019.
    """
    rated = rate(raters, probability, region=region, padding_voxels=padding_voxels)
    return risks_of(rated).aurc if rated else math.nan


def e_aurc(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    region: Region = "image",
    padding_voxels: int = PADDING_VOXELS,
) -> float:
    """Excess AURC, `AURC - AURC*`, where `AURC*` has the voxels in the order of their errors.

    Exact for this many voxels, not the limit for infinitely many. Undefined as `aurc`.
    Source: Geifman et al., ICLR 2019.
    """
    rated = rate(raters, probability, region=region, padding_voxels=padding_voxels)
    return risks_of(rated).e_aurc if rated else math.nan


def augrc(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    region: Region = "image",
    padding_voxels: int = PADDING_VOXELS,
) -> float:
    """Area under the generalised risk-coverage curve, the integral of `1/n sum_(j <= i) e_j`.

    Over the coverage i / n, linear between its points and among equally sure voxels; errors `e_j`
    and order are those of `aurc`. For errors of 0 and 1 it is
    `(1 - AUROC) a (1 - a) + (1 - a)² / 2` with accuracy a. Undefined as `aurc`.
    Source: Traub et al., NeurIPS 2024.
    """
    rated = rate(raters, probability, region=region, padding_voxels=padding_voxels)
    return risks_of(rated).augrc if rated else math.nan


def uncertainty_ncc(
    raters: ArrayLike,
    probability: ArrayLike,
    *,
    uncertainty: Uncertainty = "variance",
    region: Region = "image",
    padding_voxels: int = PADDING_VOXELS,
) -> float:
    """Pearson correlation over the voxels of `u(p)` and `u(s)`, s the share of the raters.

    `variance`: `u(p) = p (1 - p)`; `entropy`: `u(p) = -p log2 p - (1 - p) log2(1 - p)`. NaN where
    either is constant (to 12 digits): raters who agree, a map without uncertainty. For `region` see
    `aurc`. Source: normalised cross-correlation of uncertainty maps, Baumgartner et al., MICCAI
    2019; Hu et al., MICCAI 2019.
    """
    if uncertainty not in ("variance", "entropy"):
        raise ValueError(f"uncertainty is {uncertainty!r}, expected 'variance' or 'entropy'")
    rated = rate(raters, probability, region=region, padding_voxels=padding_voxels)
    return ncc_of(rated, uncertainty).value if rated else math.nan


# ---- risk and coverage -------------------------------------------------------------------------


@dataclass(frozen=True)
class _EquallyDoubtful:
    """Voxels of one doubt, some doubts at a time: how many are surer, how many there are, errors.

    `errors` counts raters who disagree, summed over the voxels.
    """

    surer: Ints
    voxels: Ints
    errors: Ints


@dataclass(frozen=True)
class Risks:
    """The mean error of a region's voxels, and the areas under its curves; NaN without a voxel."""

    risk: float
    aurc: float
    lowest_aurc: float  # of the same errors in the best order
    augrc: float

    @property
    def e_aurc(self) -> float:
        """The area beyond that of the best order."""
        excess = self.aurc - self.lowest_aurc
        return excess if math.isnan(excess) else max(excess, 0.0)


def risks_of(rated: RatedMap) -> Risks:
    """Mean error of the voxels of a region, and how it grows with those that are kept."""
    K, n = rated.n_raters, rated.voxels
    if not n:
        return Risks(math.nan, math.nan, math.nan, math.nan)
    right, wrong = _by_error(rated)
    counts = np.zeros(K + 1, np.int64)
    for error, doubts in wrong:
        counts[error] += doubts.size
    counts[0] = n - counts.sum()
    ends, errors = np.cumsum(counts), counts * np.arange(K + 1)
    lowest = _area(_EquallyDoubtful(ends - counts, counts, errors), n)
    area = kept = 0.0
    for part in _in_order(rated, right, wrong):
        area += _area(part, n)
        later = n - part.surer - part.voxels
        kept += float((part.errors * (later + part.voxels / 2)).sum())
    total = n * K
    return Risks(int(errors.sum()) / total, area / total, lowest / total, kept / n / total)


def _by_error(rated: RatedMap) -> tuple[Values, list[tuple[int, Values]]]:
    """Doubts `min(p, 1 - p)` in ascending order, of voxels that all raters mark and the map too.

    And those of all other voxels, with the number of raters whom the map contradicts; but for
    those that neither a rater nor the map marks.
    """
    K = rated.n_raters
    wrong = [(K, _doubts(rated.spread.above_half))]
    right = np.zeros(0, np.float32)
    for k, p in enumerate(rated.by_raters, 1):
        first = int(np.searchsorted(p, HALF, "right"))
        wrong.append((k, p[:first]))
        if k < K:
            wrong.append((K - k, _doubts(p[first:])))
        else:
            right = _doubts(p[first:])
    return right, wrong


def _doubts(p: Values) -> Values:
    """`1 - p` in ascending order, of ascending probabilities above 0.5: exact in their type."""
    return np.ascontiguousarray((1 - p)[::-1])


def _in_order(
    rated: RatedMap, right: Values, wrong: list[tuple[int, Values]]
) -> Iterator[_EquallyDoubtful]:
    """The voxels of doubts at which any has an error, the surest first, some at a time."""
    spread, before, step = rated.spread, 0, LONGEST_SPAN // len(wrong)
    members = spread.members(_ranges_in([doubts for _, doubts in wrong]))
    starts = np.unique(np.concatenate([doubts[::step] for _, doubts in wrong]))
    ends = {k: [*np.searchsorted(d, starts).tolist(), d.size] for k, (_, d) in enumerate(wrong)}
    for part in range(starts.size):
        runs = [
            _run(doubts[ends[k][part] : ends[k][part + 1]], error)
            for k, (error, doubts) in enumerate(wrong)
        ]
        doubts, voxels, errors = _merged([run for run in runs if run[0].size])
        surer = before + np.cumsum(voxels) - voxels
        before += int(voxels.sum())
        first, last = (np.searchsorted(right, doubts, side) for side in SIDES)
        surer += spread.below(doubts, members) + first
        voxels += np.where(doubts > 0, _count(members.values, doubts), spread.zeros)
        yield _EquallyDoubtful(surer, voxels + last - first, errors)


def _ranges_in(values: list[Values]) -> Ints:
    """The narrow ranges that hold any of the values."""
    held = np.zeros(N_RANGES, bool)
    for part in chain.from_iterable(parts_of(each, LONGEST_SPAN) for each in values):
        held[ranges_of(part)] = True
    return np.flatnonzero(held)


_Run = tuple[Values, Ints, Ints]  # different doubts in ascending order, their voxels, the errors


def _merged(runs: list[_Run]) -> _Run:
    """At least one run as one, in which equal doubts are one."""
    if len(runs) == 1:
        return runs[0]
    doubts, voxels, errors = (np.concatenate(each) for each in zip(*runs, strict=True))
    order = np.argsort(doubts, kind="stable")  # quick, as the runs are in order
    doubts = doubts[order]
    starts = np.flatnonzero(np.concatenate([[True], doubts[1:] != doubts[:-1]]))
    voxels, errors = (np.add.reduceat(each[order], starts) for each in (voxels, errors))
    return doubts[starts], voxels, errors


def _run(doubts: Values, error: int) -> _Run:
    """Different values of ascending ones, how often each is there, and the errors of these."""
    starts = np.flatnonzero(np.concatenate([[True], doubts[1:] != doubts[:-1]])[: doubts.size])
    counts = np.diff(starts, append=doubts.size)
    return doubts[starts], counts, counts * error


def _count(values: Values, wanted: Values) -> Ints:
    """How many of ascending values equal each wanted one."""
    first, last = (np.searchsorted(values, wanted, side) for side in SIDES)
    return np.asarray(last - first)


def _area(part: _EquallyDoubtful, voxels: int) -> float:
    """What the errors add to the sum of the mean errors of 1, 2, ... voxels.

    An error at rank j adds 1/i for each i from j on. Among equally sure voxels, of ranks a + 1 to
    b, every rank has the same share of the errors.
    """
    a, b = part.surer, part.surer + part.voxels
    later = part.errors * (1 + harmonic_between(b, np.full_like(b, voxels)))
    each = part.errors / np.maximum(part.voxels, 1)
    return float((later - each * (a * harmonic_between(a, b))).sum())


def harmonic_between(first: Ints, last: Ints) -> Floats:
    """`1/(a + 1) + ... + 1/b` for whole numbers up to b: added up, then by Euler and Maclaurin."""
    low, high = np.minimum(first, FIRST_BY_SERIES), np.minimum(last, FIRST_BY_SERIES)
    a, b = (np.maximum(each, FIRST_BY_SERIES) + 0.5 for each in (first, last))
    beyond = steady.log1p((b - a) / a) + (_beyond_logarithm(b) - _beyond_logarithm(a))
    return np.asarray(HARMONIC[high] - HARMONIC[low] + beyond)


HARMONIC = np.array([math.fsum(1 / n for n in range(1, m + 1)) for m in range(FIRST_BY_SERIES + 1)])


def _beyond_logarithm(x: Floats) -> Floats:
    """What `1 + 1/2 + ... + 1/n` has beyond `ln x` and a constant, for `x = n + 1/2`."""
    y = 1 / (x * x)
    return np.asarray(y * (1 / 24 - y * (7 / 960 - y * (31 / 8064 - y * (127 / 30720)))))


# ---- correlation of uncertainties --------------------------------------------------------------


@dataclass(frozen=True)
class Correlation:
    """A correlation; NaN where one side is constant."""

    value: float
    raters_constant: bool = False
    map_constant: bool = False


def ncc_of(rated: RatedMap, uncertainty: Uncertainty = "variance") -> Correlation:
    """`uncertainty_ncc` of a map beside its raters."""
    of = _variance if uncertainty == "variance" else _entropy_bits
    K, n, voxels = rated.n_raters, rated.voxels, rated.voxels_by_raters
    filled = np.flatnonzero(voxels)
    raters_constant = np.unique(np.minimum(filled, K - filled)).size < 2
    sums = _sums_by_raters(rated, of)
    map_constant = sums.high - sums.low <= SAME * sums.high
    if raters_constant or map_constant:
        return Correlation(math.nan, raters_constant, map_constant)
    of_share = of(np.arange(K + 1) / K)
    from_mean = of_share - float((voxels * of_share).sum()) / n
    covariance = float((from_mean * sums.first).sum())
    of_raters = float((voxels * from_mean * from_mean).sum())
    of_map = sums.second - float(sums.first.sum()) ** 2 / n
    if of_map <= 0:  # differences too small for their squares
        return Correlation(math.nan, map_constant=True)
    value = covariance / (math.sqrt(of_raters) * math.sqrt(of_map))
    return Correlation(min(max(value, -1.0), 1.0))


@dataclass(frozen=True)
class _Sums:
    """Of uncertainties less that of one voxel: sums by 0, 1, ... raters, and that of squares."""

    first: Floats
    second: float
    low: float
    high: float


def _sums_by_raters(rated: RatedMap, of: Callable[[Floats], Floats]) -> _Sums:
    """In one pass; less one of the values, so that small differences keep their digits."""
    origin: float | None = None
    first, second, seen = np.zeros(rated.n_raters + 1), 0.0, 0
    low, high = math.inf, 0.0
    unmarked = ((0, p) for p in rated.unmarked_doubles())
    marked = (
        (k, p) for k, values in enumerate(rated.by_raters, 1) for p in parts_of(values, FEW_VOXELS)
    )
    for k, p in chain(marked, unmarked):
        u = of(p.astype(np.float64, copy=False))
        origin = float(u[0]) if origin is None else origin
        low, high = min(low, float(u.min())), max(high, float(u.max()))
        u -= origin
        first[k] += u.sum()
        second += float((u * u).sum())
        seen += u.size
    left = rated.voxels - seen  # those left out, which are 0; fewer than none are not to be counted
    if left:
        origin = origin or 0.0
        first[0] -= left * origin
        second += left * origin * origin
        low = 0.0 if left > 0 else low
    return _Sums(first, second, low, high)


def _variance(p: Floats) -> Floats:
    return p * (1 - p)


def _entropy_bits(p: Floats) -> Floats:
    return entropy_nat(p) / math.log(2)
