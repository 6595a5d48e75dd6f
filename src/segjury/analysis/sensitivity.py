"""What the order depends on: cases, raters, metrics, and every choice in the ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from segjury.analysis.ranking import Panel
from segjury.analysis.ranking.consensus import ConsensusRanking, consensus, kendall_tau
from segjury.analysis.ranking.schemes import places, standings
from segjury.analysis.redrawn_raters import ANONYMOUS, RaterScores
from segjury.analysis.statistics.resampling import leave_one_out
from segjury.arrays import Floats
from segjury.errors import InputError
from segjury.protocols.ranking import Ranking

CHOICES = ("reading", "scheme", "aggregate", "ties", "digits")  # kinds, in the order shown
COARSER_DIGITS = (3, 2)  # scores as papers print them


@dataclass(frozen=True)
class Variant:
    """The places of the methods when one thing is done otherwise, and Kendall's tau-b with them.

    `kind` is what was changed (`scheme`, `ties`, `without case`, ...), `choice` to what.
    """

    kind: str
    choice: str
    places: Floats
    mean_rank: Floats
    tau: float


@dataclass(frozen=True)
class Sensitivity:
    """All variants of a ranking, and the consensus over those that are choices."""

    places: Floats
    variants: tuple[Variant, ...]
    skipped: tuple[str, ...]
    consensus: ConsensusRanking
    of_nobody: tuple[str, ...] = ()  # why raters were not left out one by one

    def of_kind(self, kind: str) -> list[Variant]:
        """The variants in which one kind of thing was changed."""
        return [variant for variant in self.variants if variant.kind == kind]

    @property
    def choices(self) -> list[Variant]:
        """The variants that are choices of whoever ranks."""
        return [variant for kind in CHOICES for variant in self.of_kind(kind)]

    def new_leaders(self, kind: str) -> list[Variant]:
        """Those in which not the same methods are first."""
        first = self.places == 1
        return [v for v in self.of_kind(kind) if not np.array_equal(v.places == 1, first)]


def sensitivity(
    panel: Panel,
    ranking: Ranking,
    *,
    others: Mapping[str, Panel] | None = None,
    raters: RaterScores | None = None,
) -> Sensitivity:
    """Rank again with one thing changed at a time.

    `others` are the panels of the other readings; `raters` can be left out one by one where
    scores are known per rater; a case that only this rater marked keeps its scores.
    """
    main = standings(panel, ranking)
    variants, skipped = [], []
    for kind, choice, changed, rules in _choices(panel, ranking, others or {}):
        try:
            found = standings(changed, rules)
        except InputError as error:
            skipped.append(f"{kind} {choice}: {error}")
            continue
        variants += _variants(kind, [choice], main.mean_rank[0], found.mean_rank)
    orders = np.stack([main.positions[0], *(variant.places for variant in variants)])
    if len(panel.cases) > 1:
        blocks = leave_one_out(len(panel.cases))
        without = np.concatenate([standings(panel, ranking, b).mean_rank for b in blocks])
        variants += _variants("without case", panel.cases, main.mean_rank[0], without)
    of_nobody: tuple[str, ...] = ()
    if raters is not None and raters.anonymous:
        of_nobody = (f"raters were not left out one by one: {ANONYMOUS}",)
    elif raters is not None:
        (fewer,) = leave_one_out(len(raters.raters))
        each = [standings(raters.with_counts(counts), ranking).mean_rank for counts in fewer]
        without = np.concatenate(each)
        variants += _variants("without rater", raters.raters, main.mean_rank[0], without)
    return Sensitivity(
        main.positions[0], tuple(variants), tuple(skipped), consensus(orders), of_nobody
    )


def _variants(kind: str, choices: Sequence[str], main: Floats, mean_ranks: Floats) -> list[Variant]:
    """One variant per choice, from their mean ranks (choices, methods)."""
    found = zip(choices, places(mean_ranks), mean_ranks, kendall_tau(main, mean_ranks), strict=True)
    return [
        Variant(kind, choice, place, mean_rank, float(tau))
        for choice, place, mean_rank, tau in found
    ]


def _choices(
    panel: Panel, ranking: Ranking, others: Mapping[str, Panel]
) -> Iterator[tuple[str, str, Panel, Ranking]]:
    """Everything that could have been chosen otherwise: kind, choice, scores, rules."""

    def but(**changed: object) -> Ranking:
        return ranking.model_copy(update=changed)

    same = {"mean-of-metric-ranks", "aggregate-then-rank"}  # two names of one scheme
    schemes = ["mean-of-metric-ranks", "rank-then-aggregate"]
    if len(panel.cases) > 1:
        schemes.append("test-then-rank")
    for scheme in schemes:
        if scheme != ranking.scheme and not {scheme, ranking.scheme} <= same:
            yield "scheme", scheme, panel, but(scheme=scheme)
    for aggregate in ("mean", "median"):
        if aggregate != ranking.aggregate and len(panel.cases) > 1:
            yield "aggregate", aggregate, panel, but(aggregate=aggregate)
    for ties in ("average", "min", "max", "dense"):
        if ties != ranking.ties:
            yield "ties", ties, panel, but(ties=ties)
    for digits in COARSER_DIGITS:
        if digits < ranking.digits:
            yield "digits", str(digits), panel, but(digits=digits)
    if len(panel.keys) > 1:
        for k, key in enumerate(panel.keys):
            kept = np.arange(len(panel.keys)) != k
            yield "without metric", key, panel.of_keys(kept), ranking
    for reading, other in others.items():
        if other.methods == panel.methods:
            yield "reading", reading, other, ranking
