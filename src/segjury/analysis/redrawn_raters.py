"""Scores taken again with other raters, from the numbers per rater that a run keeps.

Metrics declare how they follow from these numbers; one that does not is their mean. A score is
taken for that only if all raters together give the value in the table; otherwise its raters stay
fixed.

Where the same raters marked all cases, each counts so often on all of them. Where some did not, or
nobody knows who a rater is, raters are counted on each case by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from segjury.analysis.ranking import Panel
from segjury.arrays import Bools, Floats, Ints
from segjury.metrics import known_metric
from segjury.metrics.redrawn import Again, FromRaters, how_it_follows
from segjury.runtime.memo import Memo

RATER = "rater "
SAME = 1e-9
ANONYMOUS = "the panel is anonymous, and nobody knows which cases a rater marked"


@dataclass(frozen=True)
class RaterScores:
    """A panel whose scores can be taken again with each rater counted any number of times.

    `present` (raters, cases) says who marked each case, `weights` how heavy each rater is. Raters
    of an `anonymous` panel may be other people on each case.
    """

    panel: Panel
    raters: tuple[str, ...]
    again: Mapping[int, KeyParts]
    present: Bools
    weights: Floats
    anonymous: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The scores that depend on the raters drawn; the others keep their values."""
        return tuple(self.panel.keys[k] for k in self.again)

    @property
    def is_complete(self) -> bool:
        """Whether everybody marked each case of which there is a number of any rater."""
        return bool((self.present.all(axis=0) | ~self.present.any(axis=0)).all())

    @property
    def crossed(self) -> bool:
        """Whether the same people marked all cases."""
        return self.is_complete and not self.anonymous

    def with_counts(self, counts: Floats) -> Panel:
        """The panel when each rater counts so often, `counts` (raters).

        A case that none of those marked who count keeps its values.
        """
        values = self.panel.values.copy()
        for k in self.again:
            taken = self.taken(k, counts)
            inside = self.panel.defined[k][:, None] & ~np.isnan(taken)
            values[k] = np.where(inside, taken, values[k])
        return replace(self.panel, values=values)

    def taken(self, key: int, counts: Floats) -> Floats:
        """A score when each rater counts so often, (cases, methods)."""
        if self.is_complete:
            return self.again[key].taken(counts * self.weights)
        return np.stack([self._on_case(key, c, counts) for c in range(len(self.panel.cases))])

    def resampled(self, cases: Ints, counts: Floats) -> Panel:
        """The panel of some cases, one after the other, each with its own raters counted so often.

        `counts` is (cases, raters); a case may stand twice, with other raters each time.
        """
        panel = self.panel
        values = panel.values[:, cases]
        for k in self.again:
            taken = np.stack(
                [self._on_case(k, int(c), own) for c, own in zip(cases, counts, strict=True)]
            )
            inside = panel.defined[k][cases][:, None] & ~np.isnan(taken)
            values[k] = np.where(inside, taken, values[k])
        return replace(
            panel,
            cases=tuple(panel.cases[c] for c in cases),
            values=values,
            lost=panel.lost[:, cases],
            assigned=panel.assigned[:, cases],
        )

    def _on_case(self, key: int, case: int, counts: Floats) -> Floats:
        """A score of each method on a case; NaN where none of its raters counts."""
        who = np.flatnonzero(self.present[:, case])
        own = counts[who] * self.weights[who]
        if not own.any():
            return np.full(self.panel.values.shape[2], np.nan)
        return self.again[key].on_case(case, who, own)


@dataclass(frozen=True)
class KeyParts:
    """The numbers behind a score, and how it follows from them.

    Both arrays are (quantities, items, structures, cases, methods), the items being the raters or
    what they are compared with.
    """

    follows: FromRaters
    raters: Floats
    others: Floats
    _kept: Memo = field(default_factory=Memo, repr=False, compare=False)

    @cached_property
    def _of_all(self) -> Again:
        return self.follows(self.raters, self.others)

    def taken(self, counts: Floats) -> Floats:
        """The score when each rater counts so often, (cases, methods)."""
        return _mean_over_structures(self._of_all(counts))

    def on_case(self, case: int, who: Ints, counts: Floats) -> Floats:
        """The score on a case when each of its raters counts so often, (methods)."""

        def prepare() -> Again:
            one = slice(case, case + 1)
            return self.follows(self.raters[:, who, :, one], self.others[..., one, :])

        def take() -> Floats:
            again = self._kept.once(("case", case), prepare)
            return np.asarray(_mean_over_structures(again(counts))[0])

        return self._kept.once(("taken", case, counts.tobytes()), take)


def rater_scores(
    panel: Panel,
    details: pd.DataFrame | None,
    *,
    weights: Mapping[str, float] | None = None,
    anonymous: bool = False,
) -> RaterScores | None:
    """The rater scores of a panel, from the rows of `details.csv`; None where there are none.

    `weights` are those of raters by name, which only the corrected reading knows.
    """
    if details is None or details.empty:
        return None
    rows = details[details["reading"] == panel.reading]
    rows = rows[rows["case"].isin(panel.cases) & rows["method"].isin(panel.methods)]
    items = dict.fromkeys(rows["item"])
    raters = tuple(item for item in items if item.startswith(RATER))
    if len(raters) < 2:
        return None
    known = weights if weights and panel.reading == "corrected" else {}
    heavy = np.array([known.get(name.removeprefix(RATER), 1.0) for name in raters])
    empty = RaterScores(panel, raters, {}, _present(rows, raters, panel), heavy, anonymous)
    again = {}
    for k, (key, metric) in enumerate(zip(panel.keys, panel.metrics, strict=True)):
        of_key = rows[rows["metric"] == metric]
        if key != metric:
            of_key = of_key[of_key["structure"] == key.removeprefix(f"{metric} ")]
        found = _again(metric, _Parts.of(of_key, panel), raters)
        if found is not None and _reproduces(replace(empty, again={k: found}), k):
            again[k] = found
    return replace(empty, again=again) if again else None


def _present(rows: pd.DataFrame, raters: tuple[str, ...], panel: Panel) -> Bools:
    """Who marked each case: of whom there is a number, (raters, cases)."""
    pairs = rows[rows["item"].isin(raters)].drop_duplicates(["item", "case"])
    present = np.zeros((len(raters), len(panel.cases)), bool)
    rater = pd.Index(raters).get_indexer(pd.Index(pairs["item"]))
    present[rater, pd.Index(panel.cases).get_indexer(pd.Index(pairs["case"]))] = True
    return present


@dataclass(frozen=True)
class _Parts:
    """Numbers behind the scores, (quantities, items, structures, cases, methods)."""

    quantities: tuple[str, ...]
    items: tuple[str, ...]
    values: Floats

    @classmethod
    def of(cls, rows: pd.DataFrame, panel: Panel) -> _Parts:
        quantity, quantities = pd.factorize(rows["quantity"])
        item, items = pd.factorize(rows["item"])
        structure, structures = pd.factorize(rows["structure"])
        case = pd.Index(panel.cases).get_indexer(pd.Index(rows["case"]))
        method = pd.Index(panel.methods).get_indexer(pd.Index(rows["method"]))
        shape = (len(quantities), len(items), len(structures), len(panel.cases), len(panel.methods))
        values = np.full(shape, np.nan)
        values[quantity, item, structure, case, method] = rows["value"].to_numpy(np.float64)
        return cls(tuple(map(str, quantities)), tuple(map(str, items)), values)

    def among(self, items: tuple[str, ...]) -> Floats:
        """The numbers of some items, in their order."""
        return self.values[:, [self.items.index(item) for item in items]]


def _again(metric: str, parts: _Parts, raters: tuple[str, ...]) -> KeyParts | None:
    """How a score follows from its parts: as the metric declares, or as the mean of its raters."""
    if not parts.quantities or not set(raters) <= set(parts.items):
        return None
    others = tuple(item for item in parts.items if item not in raters)
    declared = known_metric(metric)
    how = declared.from_raters if declared else None
    follows = how_it_follows(how, len(parts.quantities), len(others))
    if follows is None:
        return None
    return KeyParts(follows, parts.among(raters), parts.among(others))


def _reproduces(scores: RaterScores, key: int) -> bool:
    """Whether all raters together give the values in the table, wherever parts were kept."""
    panel, taken = scores.panel, scores.taken(key, np.ones(len(scores.raters)))
    there = panel.defined[key][:, None] & ~np.isnan(taken)
    same = np.isclose(taken, panel.values[key], rtol=SAME, atol=SAME)
    return bool(there.any() and (same | ~there).all())


def _mean_over_structures(values: Floats) -> Floats:
    """Mean over the structures that are defined for a case."""
    defined = ~np.isnan(values)
    total = np.where(defined, values, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / defined.sum(axis=0))
