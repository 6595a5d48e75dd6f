"""Scores taken again with other raters, from the numbers per rater that a run keeps.

Metrics declare how they follow from these numbers; one that does not is their mean. A score is
taken for that only if all raters together give the value in the table; otherwise its raters stay
fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from segjury.analysis.ranking import Panel
from segjury.arrays import Floats
from segjury.metrics import known_metric
from segjury.metrics.redrawn import Again, how_it_follows

RATER = "rater "
SAME = 1e-9


@dataclass(frozen=True)
class RaterScores:
    """A panel whose scores can be taken again with each rater counted any number of times."""

    panel: Panel
    raters: tuple[str, ...]
    again: Mapping[int, Again]

    @property
    def keys(self) -> tuple[str, ...]:
        """The scores that depend on the raters drawn; the others keep their values."""
        return tuple(self.panel.keys[k] for k in self.again)

    def with_counts(self, counts: Floats) -> Panel:
        """The panel when each rater counts so often."""
        values = self.panel.values.copy()
        for k, again in self.again.items():
            taken = again(counts)
            inside = self.panel.defined[k][:, None] & ~np.isnan(taken)
            values[k] = np.where(inside, taken, values[k])
        return replace(self.panel, values=values)


def rater_scores(panel: Panel, details: pd.DataFrame | None) -> RaterScores | None:
    """The rater scores of a panel, from the rows of `details.csv`; None where there are none."""
    if details is None or details.empty:
        return None
    rows = details[details["reading"] == panel.reading]
    rows = rows[rows["case"].isin(panel.cases) & rows["method"].isin(panel.methods)]
    items = dict.fromkeys(rows["item"])
    raters = tuple(item for item in items if item.startswith(RATER))
    if len(raters) < 2:
        return None
    again = {}
    for k, (key, metric) in enumerate(zip(panel.keys, panel.metrics, strict=True)):
        of_key = rows[rows["metric"] == metric]
        if key != metric:
            of_key = of_key[of_key["structure"] == key.removeprefix(f"{metric} ")]
        found = _again(metric, _Parts.of(of_key, panel), raters)
        if found is not None and _reproduces(found(np.ones(len(raters))), panel, k):
            again[k] = found
    return RaterScores(panel, raters, again) if again else None


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


def _again(metric: str, parts: _Parts, raters: tuple[str, ...]) -> Again | None:
    """How a score follows from its parts: as the metric declares, or as the mean of its raters."""
    if not parts.quantities or not set(raters) <= set(parts.items):
        return None
    others = tuple(item for item in parts.items if item not in raters)
    declared = known_metric(metric)
    how = declared.from_raters if declared else None
    follows = how_it_follows(how, len(parts.quantities), len(others))
    if follows is None:
        return None
    again = follows(parts.among(raters), parts.among(others))
    return lambda counts: _mean_over_structures(again(counts))


def _reproduces(taken: Floats, panel: Panel, key: int) -> bool:
    """Whether all raters together give the values in the table, wherever parts were kept."""
    there = panel.defined[key][:, None] & ~np.isnan(taken)
    same = np.isclose(taken, panel.values[key], rtol=SAME, atol=SAME)
    return bool(there.any() and (same | ~there).all())


def _mean_over_structures(values: Floats) -> Floats:
    """Mean over the structures that are defined for a case."""
    defined = ~np.isnan(values)
    total = np.where(defined, values, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / defined.sum(axis=0))
