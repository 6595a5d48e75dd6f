"""Scores of lesions in masks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from segjury.metrics import Metric, lesion_rules, lesions, matching
from segjury.metrics.metric import Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.lesions import rows
from segjury.scoring.scorers.lesions.matched import matched_lesions
from segjury.scoring.scorers.measured import Component, Function, Measured, Sizes, scorer

NO_LESION = "the reference has no lesion that counts"


def _sizes(comparison: Comparison, label: int, use: lesion_rules.ComponentOptions) -> Sizes:
    """How many lesions there are to find, and how many are predicted."""
    _, matched = matched_lesions(comparison, label, use)
    return matched.reference, matched.prediction


def lesion_scorer(metric: Metric) -> Callable[[Function], Function]:
    """Register the scorer of a metric of lesions: without one to find, the reference is empty."""
    return scorer(metric, sizes=_sizes)


@lesion_scorer(lesions.LESION_F1)
def score_lesion_f1(
    comparison: Comparison, label: int, use: lesion_rules.LesionOptions, _reading: Reading
) -> Measured:
    """F1 of lesions."""
    reference, matched = matched_lesions(comparison, label, use)
    parts = rows.counts(matched) + rows.of_reference(reference, matched)
    parts += rows.of_false_positives(comparison, label, use, matched)
    return _measured(matching.f1_from(matched), parts)


@lesion_scorer(lesions.LESION_RECALL)
def score_lesion_recall(
    comparison: Comparison, label: int, use: lesion_rules.LesionOptions, _reading: Reading
) -> Measured:
    """Share of the lesions that are found."""
    reference, matched = matched_lesions(comparison, label, use)
    parts = rows.counts(matched) + rows.of_reference(reference, matched)
    return _measured(matching.recall_from(matched), parts)


@lesion_scorer(lesions.LESION_PRECISION)
def score_lesion_precision(
    comparison: Comparison, label: int, use: lesion_rules.LesionOptions, _reading: Reading
) -> Measured:
    """Share of the predicted lesions that are lesions; without any, the prediction is to blame."""
    _, matched = matched_lesions(comparison, label, use)
    parts = rows.counts(matched) + rows.of_false_positives(comparison, label, use, matched)
    measured = _measured(matching.precision_from(matched), parts)
    if matched.reference and not matched.prediction:
        return replace(measured, note="the prediction has no lesion that counts", fault=True)
    return measured


@lesion_scorer(lesions.PQ)
def score_pq(
    comparison: Comparison, label: int, use: lesion_rules.PqOptions, _reading: Reading
) -> Measured:
    """Panoptic quality, and its two factors."""
    reference, matched = matched_lesions(comparison, label, use)
    sq, rq = matching.quality_from(matched)
    parts = [Component("quality", "segmentation", sq), Component("quality", "recognition", rq)]
    parts += rows.counts(matched) + rows.of_reference(reference, matched)
    parts += rows.of_false_positives(comparison, label, use, matched)
    return _measured(matching.pq_from(matched), parts)


@lesion_scorer(lesions.SMALL_LESION_RECALL)
def score_small_lesion_recall(
    comparison: Comparison, label: int, use: lesion_rules.SmallLesionOptions, _reading: Reading
) -> Measured:
    """Share of the small lesions that are found; its parts tell of the others."""
    reference, matched = matched_lesions(comparison, label, use)
    limits = use.size_bins_mm3
    by_size = lesions.recalls_by_size(matched, reference.volumes_mm3, limits)
    parts = [
        part
        for name, (recall, count) in zip(
            lesion_rules.size_class_names(limits), by_size, strict=True
        )
        for part in (
            Component("lesion recall", name, recall),
            Component("lesions", name, float(count)),
        )
    ]
    value, small = by_size[0]
    if matched.reference and not small:
        return Measured(value, f"the reference has no lesion up to {limits[0]:g} mm3", tuple(parts))
    return _measured(value, parts)


@lesion_scorer(lesions.LESION_COUNT_ERROR)
def score_lesion_count_error(
    comparison: Comparison, label: int, use: lesion_rules.ComponentOptions, _reading: Reading
) -> Measured:
    """Difference in the numbers of lesions."""
    _, matched = matched_lesions(comparison, label, use)
    counts = {"reference": matched.reference, "prediction": matched.prediction}
    parts = [Component("lesions", item, float(count)) for item, count in counts.items()]
    return _measured(matching.count_error_from(matched), parts)


def _measured(value: float, parts: list[Component]) -> Measured:
    return Measured(value, NO_LESION if math.isnan(value) else "", tuple(parts))
