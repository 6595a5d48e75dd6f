"""The form of `analysis.json`: plain numbers, lists and names; what is undefined is null."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from segjury.analysis.analysis import Analysis, MetricCorrelations, ScoreAnalysis
from segjury.analysis.rater_agreement import LabelAgreement
from segjury.analysis.sensitivity import Sensitivity
from segjury.analysis.stability import RankDistribution, Stability
from segjury.analysis.tests import Pair, ScoreTests


def as_json(analysis: Analysis) -> dict[str, Any]:
    """All of an analysis as `json.dumps` takes it."""
    panel, settings = analysis.panel, analysis.settings
    methods = list(panel.methods)
    found = {
        "reading": panel.reading,
        "methods": methods,
        "cases": list(panel.cases),
        "settings": {
            "ranking": analysis.rules.ranking.model_dump(mode="json"),
            "bootstrap_samples": settings.samples,
            "seed": settings.seed,
            "level": settings.level,
            "alpha": settings.alpha,
            "baselines": list(settings.baselines),
            "tests": "Friedman; Conover-Friedman with Holm; Wilcoxon signed-rank, zeros "
            "discarded, exact up to 50 differences, with Holm within each metric",
        },
        "ranking": _ranking(analysis),
        "metrics": {key: _score(score, analysis) for key, score in analysis.scores.items()},
        "sensitivity": _sensitivity(analysis.sensitivity, methods),
        "correlation": _correlation(analysis.correlations, panel.keys),
        "hard_cases": _hard_cases(analysis),
        "failures": _failures(analysis),
        "raters": [_raters(label) for label in analysis.raters],
        "notes": list(analysis.notes),
        "groups": {
            column: {value: as_json(part) for value, part in parts.items()}
            for column, parts in analysis.groups.items()
        },
    }
    return {name: plain(value) for name, value in found.items()}


def plain(value: Any) -> Any:
    """Numbers and lists without numpy; None for what is not a finite number."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _ranking(analysis: Analysis) -> dict[str, Any]:
    """The leaderboard, with how sure it is."""
    board, methods = analysis.board, list(analysis.panel.methods)
    found = {
        "leaderboard": [
            {
                "method": method,
                "position": int(board.position[method]),
                "mean_rank": float(board.mean_rank[method]),
                "sd_rank": float(board.sd_rank[method]),
                "group": analysis.stability.overall.groups[m]
                if analysis.stability.informative
                else None,
            }
            for m, method in enumerate(methods)
        ],
        "bootstrap": _stability(analysis.stability, methods),
    }
    if analysis.with_raters is not None:
        found["bootstrap_cases_and_raters"] = _stability(analysis.with_raters, methods)
    return found


def _stability(stability: Stability, methods: Sequence[str]) -> dict[str, Any]:
    return {
        "samples": stability.samples,
        "raters": list(stability.raters),
        **({"raters_drawn": "within each case"} if stability.within_cases else {}),
        "scores_that_follow_the_raters": list(stability.redrawn),
        **_distribution(stability.overall, methods),
    }


def _distribution(ranks: RankDistribution, methods: Sequence[str]) -> dict[str, Any]:
    """Rank frequencies and their summaries per method."""
    return {
        "level": ranks.level,
        "first_place_wrong": ranks.first_wrong,
        "second_ahead_of_first": ranks.second_ahead,
        "kendall_tau": dict(
            zip(("low", "median", "high"), ranks.tau_quantiles.tolist(), strict=True)
        ),
        "ranks": {
            method: {
                **ranks.of_method(m),
                "frequencies": ranks.frequencies[m],
                "ahead_of": dict(zip(methods, ranks.ahead[m], strict=True)),
            }
            for m, method in enumerate(methods)
        },
    }


def _score(score: ScoreAnalysis, analysis: Analysis) -> dict[str, Any]:
    methods = analysis.panel.methods
    ranks = analysis.stability.scores[score.key]
    found: dict[str, Any] = {
        "better": "higher" if score.higher else "lower",
        "cases": len(score.values),
        "values": _values(score, methods),
        "interval_of_mean": score.means.method,
        "friedman": None,
        "conover_holm": [],
        "wilcoxon_holm": [],
        "cliques": [],
        "baselines": {},
        "bootstrap": {"samples": analysis.stability.samples, **_distribution(ranks, methods)},
    }
    return found | (_tests(score.tests, methods) if score.tests else {})


def _values(score: ScoreAnalysis, methods: Sequence[str]) -> dict[str, Any]:
    """What each method reached over the cases."""
    q1, median, q3 = score.quartiles
    return {
        method: {
            "mean": score.means.estimate[m],
            "low": score.means.low[m],
            "high": score.means.high[m],
            "sd": score.sd[m],
            "median": median[m],
            "q1": q1[m],
            "q3": q3[m],
        }
        for m, method in enumerate(methods)
    }


def _tests(tests: ScoreTests, methods: Sequence[str]) -> dict[str, Any]:
    return {
        "friedman": {
            "chi2": tests.friedman.chi2,
            "df": tests.friedman.df,
            "p": tests.friedman.p,
        },
        "mean_ranks": dict(zip(methods, tests.mean_ranks, strict=True)),
        "conover_holm": [
            {
                "a": methods[a],
                "b": methods[b],
                "p": tests.conover[a, b],
                "smallest_exact_p": tests.smallest[a, b],
                "differs": tests.differs[a, b],
            }
            for a, b in combinations(range(len(methods)), 2)
        ],
        "wilcoxon_holm": [_pair(pair, methods, tests.alpha) for pair in tests.wilcoxon],
        "smallest_friedman_p": tests.smallest_friedman_p,
        "smallest_p": tests.smallest_p,
        "smallest_p_after_holm": tests.smallest_adjusted,
        "cliques": [[methods[m] for m in clique] for clique in tests.cliques],
        "baselines": {
            methods[base]: [_pair(pair, methods, tests.alpha) for pair in pairs]
            for base, pairs in tests.baselines.items()
        },
    }


def _pair(pair: Pair, methods: Sequence[str], alpha: float) -> dict[str, Any]:
    return {
        "a": methods[pair.a],
        "b": methods[pair.b],
        "p": pair.p,
        "p_unadjusted": pair.p_unadjusted,
        "significant": pair.p < alpha,
        "direction": {1: "better", -1: "worse", 0: "none"}[pair.sign],
        "median_difference": pair.median,
        "low": pair.low,
        "high": pair.high,
        "rank_biserial": pair.effect,
    }


def _sensitivity(found: Sensitivity, methods: Sequence[str]) -> dict[str, Any]:
    """Every variant; its positions where they are not those of the leaderboard."""
    return {
        "variants": [
            {
                "kind": variant.kind,
                "choice": variant.choice,
                "kendall_tau": variant.tau,
                "positions": None
                if np.array_equal(variant.places, found.places)
                else dict(zip(methods, variant.places.astype(int), strict=True)),
            }
            for variant in found.variants
        ],
        "consensus": {
            "method": found.consensus.method,
            "order": [methods[m] for m in found.consensus.order],
            "only_one": found.consensus.only_one,
        },
    }


def _correlation(found: MetricCorrelations | None, keys: Sequence[str]) -> dict[str, Any] | None:
    if found is None:
        return None
    matrices = {str(kind): part.matrix for kind, part in found.by_kind.items()}
    return {
        "metrics": list(keys),
        **matrices,
        "spearman_within_methods": found.within_methods.matrix,
        "rows": found.by_kind["spearman"].n,
        "clustered_order": [keys[k] for k in found.clusters.order],
    }


def _hard_cases(analysis: Analysis) -> list[dict[str, Any]]:
    """Cases from the hardest, and which methods found them hard."""
    panel, found = analysis.panel, analysis.hard_cases
    return [
        {
            "case": panel.cases[c],
            "mean_signature": found.mean[c],
            "hard_for": [
                name for name, hard in zip(panel.methods, found.hard[c], strict=True) if hard
            ],
            "hard_for_several": found.several[c],
        }
        for c in found.order
    ]


def _failures(analysis: Analysis) -> dict[str, Any]:
    panel, found = analysis.panel, analysis.failures
    return {
        "rules": [
            {
                "metric": rule.metric,
                "rule": rule.text,
                "limit": rule.limit,
                "why": rule.why,
                "failed": {
                    method: [panel.cases[c] for c in np.flatnonzero(found.failed[r, :, m])]
                    for m, method in enumerate(panel.methods)
                },
            }
            for r, rule in enumerate(found.rules)
        ],
    }


def _raters(found: LabelAgreement) -> dict[str, Any]:
    """How far the raters agree on a label."""
    coefficients = found.icc.coefficients if found.icc else ()
    return {
        "label": found.label,
        "cases": len(found.volumes_cm3),
        "mean_dsc_of_pairs": found.mean_dsc,
        "mean_over_cases": found.voxels,
        "icc_of_volumes": {
            each.name: {"value": each.value, "low": each.low, "high": each.high}
            for each in coefficients
        },
        "bland_altman_of_volumes_cm3": [
            {
                "a": f"rater {found.names[a]}",
                "b": f"rater {found.names[b]}",
                "bias": pair.bias.value,
                "bias_low": pair.bias.low,
                "bias_high": pair.bias.high,
                "lower_limit": pair.lower.value,
                "upper_limit": pair.upper.value,
            }
            for (a, b), pair in found.pairs.items()
        ],
    }
