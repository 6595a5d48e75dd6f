"""The scores that are ranked, as one array: metrics x cases x methods."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from segjury.arrays import Bools, Floats
from segjury.errors import InputError
from segjury.metrics import known_metric
from segjury.metrics.metric import Direction
from segjury.protocols.ranking import MissingPolicy
from segjury.results.columns import LOST, WHOLE
from segjury.wording import listed

ASSIGNED = (*LOST, "undefined")


@dataclass(frozen=True)
class Panel:
    """Scores of one reading, complete for every case that counts.

    `keys` are the ranked scores, `dsc`, or `vi PORTA` for a metric of a structure; `metrics` are
    their metrics. `values` has axes (keys, cases, methods): a case is NaN for all methods where it
    does not count. `lost` marks predictions that were missing, failed or over a limit, or had no
    value; `assigned` also what was undefined: values that a policy set, and nobody measured.
    """

    reading: str
    methods: tuple[str, ...]
    cases: tuple[str, ...]
    keys: tuple[str, ...]
    metrics: tuple[str, ...]
    higher: Bools
    values: Floats
    lost: Bools
    assigned: Bools
    notes: tuple[str, ...] = ()

    @cached_property
    def defined(self) -> Bools:
        """Whether a case counts for a score, (keys, cases)."""
        return np.asarray(~np.isnan(self.values).any(axis=2))

    def scores(self, key: str) -> Floats:
        """One score, (cases, methods), of the cases that count."""
        at = self.keys.index(key)
        return np.asarray(self.values[at, self.defined[at]])

    def of_cases(self, inside: Bools) -> Panel:
        """The panel of some of the cases, without the scores that none of them has."""
        kept = np.asarray(self.defined[:, inside].any(axis=1))
        return replace(
            self.of_keys(kept),
            cases=tuple(np.asarray(self.cases, dtype=object)[inside]),
            values=self.values[kept][:, inside],
            lost=self.lost[kept][:, inside],
            assigned=self.assigned[kept][:, inside],
        )

    def of_keys(self, kept: Bools) -> Panel:
        """The panel of some of the scores."""
        at = np.flatnonzero(kept)
        return replace(
            self,
            keys=tuple(self.keys[k] for k in at),
            metrics=tuple(self.metrics[k] for k in at),
            higher=self.higher[at],
            values=self.values[at],
            lost=self.lost[at],
            assigned=self.assigned[at],
        )


def panel(
    table: pd.DataFrame,
    directions: Mapping[str, Direction],
    missing: MissingPolicy,
    methods: Collection[str] = (),
) -> Panel:
    """The panel of selected rows (see `selected`), with the policy for what is missing applied.

    A case without a value for any method does not count for that score. A value that only some
    methods lack is an error; with `exclude` the case does not count for anybody; with `worst` it
    becomes the metric's worst value, or the worst in the table if that is worse or there is no
    limit. `methods` are ranked even if the table has no row of them.
    """
    everybody = pd.Index(dict.fromkeys([*methods, *table["method"].unique()]))
    method = everybody.get_indexer(pd.Index(table["method"]))
    case, cases = pd.factorize(table["case"])
    pairs = pd.MultiIndex.from_arrays([table["metric"], table["structure"]])
    key, names = pd.factorize(pairs)
    values = np.full((len(names), len(cases), len(everybody)), np.nan)
    values[key, case, method] = table["value"].to_numpy(np.float64)
    lost, assigned = np.zeros(values.shape, bool), np.zeros(values.shape, bool)
    lost[key, case, method] = table["status"].isin(LOST).to_numpy()
    assigned[key, case, method] = table["status"].isin(ASSIGNED).to_numpy()
    metrics = [str(metric) for metric, _structure in names]
    keys = tuple(m if s == WHOLE else f"{m} {s}" for m, s in names)
    for twice in (name for name in keys if keys.count(name) > 1):
        raise InputError(f"two scores are called '{twice}'", "Rename the metric or the structure")
    whole = Panel(
        reading=str(table["reading"].iloc[0]) if len(table) else "",
        methods=tuple(map(str, everybody)),
        cases=tuple(map(str, cases)),
        keys=keys,
        metrics=tuple(metrics),
        higher=np.array([directions[metric] == "higher" for metric in metrics], dtype=bool),
        values=values,
        lost=lost,
        assigned=assigned,
    )
    whole = _complete(whole, missing)
    if not whole.defined.any():
        raise InputError("no metric has a value that all methods share", "Check the table")
    return whole.of_cases(np.asarray(whole.defined.any(axis=0)))


def _complete(found: Panel, missing: MissingPolicy) -> Panel:
    """The panel without gaps that only some methods have."""
    absent: Bools = np.isnan(found.values)
    gaps = np.asarray(absent & ~absent.all(axis=2, keepdims=True))
    if not gaps.any():
        return found
    key, case, method = np.argwhere(gaps)[0]
    if missing == "error":
        raise InputError(
            f"method {found.methods[method]} has no value of {found.keys[key]} for case "
            f"{found.cases[case]}, others have",
            "Add the row, or say what it costs: `missing='worst'` gives the method the worst "
            "value, `missing='exclude'` leaves the case out for all methods",
        )
    if missing == "exclude":
        gone = np.asarray(gaps.any(axis=2))
        values = np.where(gone[:, :, None], np.nan, found.values)
        return replace(found, values=values, notes=_left_out(found, gone))
    worst = np.array([_worst(found, k) for k in range(len(found.keys))])
    values = np.where(gaps, worst[:, None, None], found.values)
    counts = gaps.any(axis=0).sum(axis=0)
    used = ", ".join(
        f"{key} {value:.4g}"
        for key, value, any_gap in zip(
            found.keys, worst, np.asarray(gaps.any(axis=(1, 2))), strict=True
        )
        if any_gap
    )
    said = f"values that were missing count as the worst ({used}): " + ", ".join(
        f"{name} in {count} of {len(found.cases)} cases"
        for name, count in zip(found.methods, counts, strict=True)
        if count
    )
    lost, assigned = found.lost | gaps, found.assigned | gaps
    return replace(found, values=values, lost=lost, assigned=assigned, notes=(said,))


def _left_out(found: Panel, gone: Bools) -> tuple[str, ...]:
    """Which cases were left out for all methods, of which scores."""
    by_cases: dict[tuple[str, str], list[str]] = {}
    scored = np.asarray(~np.isnan(found.values).all(axis=2))
    for key, before, absent in zip(found.keys, scored, gone, strict=True):
        if absent.any():
            cases = listed([found.cases[c] for c in np.flatnonzero(absent)], most=5)
            rest = ", so that the score does not count" if (absent == before).all() else ""
            by_cases.setdefault((cases, rest), []).append(key)
    return tuple(
        f"left out for all methods, as some have no value of {listed(keys, most=5)}: {cases}{rest}"
        for (cases, rest), keys in by_cases.items()
    )


def _worst(found: Panel, key: int) -> float:
    seen = found.values[key][~np.isnan(found.values[key])]
    if not seen.size:
        return np.nan
    worst = float(seen.min() if found.higher[key] else seen.max())
    declared = known_metric(found.metrics[key])
    limit = None if declared is None else declared.worst
    if limit is None or declared is None or (declared.direction == "higher") != found.higher[key]:
        return worst
    return min(worst, limit) if found.higher[key] else max(worst, limit)
