"""The tables of an analysis, one row per fact, for CSV files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from segjury.analysis.analysis import Analysis
from segjury.analysis.stability import RankDistribution, Stability
from segjury.analysis.tests import Pair
from segjury.arrays import Floats

ALL = "all"  # the score of rows about the whole ranking, the part of rows about all cases
Row = dict[str, Any]


def tables(analysis: Analysis) -> dict[str, pd.DataFrame]:
    """Tables by name; each has the rows of all cases and of each part, in `column` and `part`."""
    found: dict[str, list[pd.DataFrame]] = {}
    for (column, part), each in parts(analysis):
        for name, rows in _rows(each).items():
            table = pd.DataFrame(rows)
            if not table.empty:
                table.insert(0, "column", column)
                table.insert(1, "part", part)
                found.setdefault(name, []).append(table)
    return {name: pd.concat(frames, ignore_index=True) for name, frames in found.items()}


def parts(analysis: Analysis) -> Iterator[tuple[tuple[str, str], Analysis]]:
    """The whole analysis, then that of each part of the cases."""
    yield (ALL, ALL), analysis
    for column, values in analysis.groups.items():
        for value, part in values.items():
            yield (column, value), part


def _rows(analysis: Analysis) -> dict[str, list[Row] | pd.DataFrame]:
    return {
        "values": _values(analysis),
        "ranks": _ranks(analysis),
        "rank_frequencies": _frequencies(analysis),
        "omnibus": _omnibus(analysis),
        "pairs": _pairs(analysis),
        "sensitivity": _sensitivity(analysis),
        "correlation": _correlation(analysis),
        "signatures": _signatures(analysis),
        "failures": _failures(analysis),
    }


def _values(analysis: Analysis) -> list[Row]:
    """Mean with its interval, SD, median and quartiles of each method in each score."""
    rows = []
    for key, score in analysis.scores.items():
        q1, median, q3 = score.quartiles
        for m, method in enumerate(analysis.panel.methods):
            rows.append(
                {
                    "score": key,
                    "method": method,
                    "cases": len(score.values),
                    "mean": score.means.estimate[m],
                    "mean_low": score.means.low[m],
                    "mean_high": score.means.high[m],
                    "interval": score.means.method,
                    "sd": score.sd[m],
                    "median": median[m],
                    "q1": q1[m],
                    "q3": q3[m],
                }
            )
    return rows


def _distributions(analysis: Analysis) -> Iterator[tuple[str, str, RankDistribution]]:
    """What was drawn, score, and the ranks over its resamples."""
    drawn: dict[str, Stability | None] = {
        "cases": analysis.stability,
        "cases and raters": analysis.with_raters,
    }
    for what, stability in drawn.items():
        if stability is not None:
            yield what, ALL, stability.overall
            for key, ranks in stability.scores.items():
                yield what, key, ranks


def _ranks(analysis: Analysis) -> list[Row]:
    return [
        {"drawn": what, "score": key, "method": method, **ranks.of_method(m)}
        for what, key, ranks in _distributions(analysis)
        for m, method in enumerate(analysis.panel.methods)
    ]


def _frequencies(analysis: Analysis) -> list[Row]:
    return [
        {"drawn": what, "score": key, "method": method, "place": place + 1, "share": share}
        for what, key, ranks in _distributions(analysis)
        for m, method in enumerate(analysis.panel.methods)
        for place, share in enumerate(ranks.frequencies[m])
    ]


def _omnibus(analysis: Analysis) -> list[Row]:
    return [
        {
            "score": key,
            "cases": score.tests.cases,
            "chi2": score.tests.friedman.chi2,
            "df": score.tests.friedman.df,
            "p": score.tests.friedman.p,
            "smallest_p": score.tests.smallest_p,
            "smallest_p_after_holm": score.tests.smallest_adjusted,
        }
        for key, score in analysis.scores.items()
        if score.tests
    ]


def _pairs(analysis: Analysis) -> list[Row]:
    """Every test of two methods; p is Holm-adjusted within its score and test.

    `differs` is what may be claimed: of Conover's p nothing that no exact test could give.
    """
    methods, rows = analysis.panel.methods, []
    for key, score in analysis.scores.items():
        if score.tests is None:
            continue
        rows += [
            {
                "score": key,
                "test": "conover",
                "a": methods[a],
                "b": methods[b],
                "p": score.tests.conover[a, b],
                "differs": score.tests.differs[a, b],
                "better": _ahead(score.tests.mean_ranks, a, b, methods),
            }
            for a, b in combinations(range(len(methods)), 2)
        ]
        families = {"wilcoxon": score.tests.wilcoxon}
        families |= {
            f"wilcoxon against {methods[base]}": found
            for base, found in score.tests.baselines.items()
        }
        for test, found in families.items():
            rows += [_pair(key, test, pair, methods, score.tests.alpha) for pair in found]
    return rows


def _ahead(mean_ranks: Floats, a: int, b: int, methods: tuple[str, ...]) -> str:
    """The method with the better mean rank, none if they are equal."""
    first = {-1.0: methods[a], 1.0: methods[b], 0.0: ""}
    return first[float(np.sign(mean_ranks[a] - mean_ranks[b]))]


def _pair(key: str, test: str, pair: Pair, methods: tuple[str, ...], alpha: float) -> Row:
    return {
        "score": key,
        "test": test,
        "a": methods[pair.a],
        "b": methods[pair.b],
        "p": pair.p,
        "differs": pair.p < alpha,
        "p_unadjusted": pair.p_unadjusted,
        "better": {1: methods[pair.a], -1: methods[pair.b], 0: ""}[pair.sign],
        "median_difference": pair.median,
        "low": pair.low,
        "high": pair.high,
        "rank_biserial": pair.effect,
    }


def _sensitivity(analysis: Analysis) -> list[Row]:
    return [
        {
            "changed": variant.kind,
            "to": variant.choice,
            "kendall_tau": variant.tau,
            "method": method,
            "place": int(variant.places[m]),
            "mean_rank": variant.mean_rank[m],
        }
        for variant in analysis.sensitivity.variants
        for m, method in enumerate(analysis.panel.methods)
    ]


def _correlation(analysis: Analysis) -> list[Row]:
    found = analysis.correlations
    if found is None:
        return []
    keys = analysis.panel.keys
    return [
        {
            "a": keys[a],
            "b": keys[b],
            **{str(kind): part.matrix[a, b] for kind, part in found.by_kind.items()},
            "spearman_within_methods": found.within_methods.matrix[a, b],
            "rows": int(found.within_methods.n[a, b]),
        }
        for a, b in combinations(range(len(keys)), 2)
    ]


def _signatures(analysis: Analysis) -> pd.DataFrame:
    """Standardised scores and their mean, a row per case and method, hardest case first."""
    panel, hard = analysis.panel, analysis.hard_cases
    index = pd.MultiIndex.from_product(
        [[panel.cases[c] for c in hard.order], panel.methods], names=["case", "method"]
    )
    scores = zip(panel.keys, analysis.signatures, strict=True)
    columns = {"mean": hard.by_method} | {f"signature {key}": values for key, values in scores}
    each = {name: values[hard.order].ravel() for name, values in columns.items()}
    return pd.DataFrame(each, index=index).reset_index()


def _failures(analysis: Analysis) -> list[Row]:
    panel, found = analysis.panel, analysis.failures
    return [
        {
            "rule": rule.text,
            "why": rule.why,
            "method": panel.methods[m],
            "case": panel.cases[c],
            "value": panel.values[panel.keys.index(rule.metric), c, m],
        }
        for r, rule in enumerate(found.rules)
        for c, m in np.argwhere(found.failed[r])
    ]
