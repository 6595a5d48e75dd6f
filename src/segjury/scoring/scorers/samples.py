"""Scores of sets of samples, all from the voxels that each two masks share."""

from __future__ import annotations

import math
from collections.abc import Iterable

from segjury.metrics import samples
from segjury.metrics.metric import Options, Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Component, Measured, scorer


@scorer(samples.GED)
def score_ged(
    comparison: Comparison, label: int, use: samples.GedOptions, _reading: Reading
) -> Measured:
    """Energy distance of the samples from the raters."""
    counts = comparison.sample_overlaps(label)
    items = ("between raters and samples", "between samples", "between raters")
    means = samples.mean_distances(counts, estimator=use.estimator)
    parts = tuple(Component("mean distance", *each) for each in zip(items, means, strict=True))
    return Measured(samples.ged_from_overlaps(counts, estimator=use.estimator), parts=parts)


@scorer(samples.HUNGARIAN_IOU)
def score_hungarian_iou(
    comparison: Comparison, label: int, _use: Options, _reading: Reading
) -> Measured:
    """IoU of raters and samples in the best matching."""
    return Measured(samples.hungarian_iou_from_overlaps(comparison.sample_overlaps(label)))


@scorer(samples.DICE_MAX)
def score_dice_max(
    comparison: Comparison, label: int, use: samples.DiceMaxOptions, _reading: Reading
) -> Measured:
    """Dice of each rater with the best sample, or the other way round."""
    best = samples.best_dice(comparison.sample_overlaps(label), average=use.average).tolist()
    if use.average == "samples":  # which change with the raters drawn, all of them
        return Measured(math.fsum(best) / len(best))
    return _mean_of_raters(comparison, "dice", best)


@scorer(samples.DICE_MATCH)
def score_dice_match(
    comparison: Comparison, label: int, _use: Options, _reading: Reading
) -> Measured:
    """Dice of each rater with a sample of their own.

    Without the raters' parts: other raters would be matched with other samples.
    """
    counts = comparison.sample_overlaps(label)
    each = samples.matched_dice(counts).tolist()
    few = counts.n_samples < counts.n_raters
    note = f"{_numbers(comparison, label)}: those left without one count as 0" if few else ""
    return Measured(math.fsum(each) / len(each), note)


@scorer(samples.DICE_SOFT)
def score_dice_soft(
    comparison: Comparison, label: int, use: samples.SoftDiceOptions, _reading: Reading
) -> Measured:
    """Dice of the two means, cut at several thresholds."""
    counts = comparison.sample_overlaps(label)
    return Measured(samples.dice_soft_from_overlaps(counts, thresholds=use.thresholds))


@scorer(samples.DICE_PER_RATER)
def score_dice_per_rater(
    comparison: Comparison, label: int, _use: Options, _reading: Reading
) -> Measured:
    """Dice of each rater with the sample made for them."""
    counts, reference = comparison.sample_overlaps(label), comparison.reference
    places = None
    if counts.n_samples == len(reference.panel):  # one for each, whoever marked this case
        places = [reference.panel.index(name) for name in reference.rater_names]
    each = samples.dice_in_order(counts, places)
    if each is None:
        note = f"{_numbers(comparison, label)}, expected one for each in their order"
        return Measured(math.nan, note, fault=True)
    return _mean_of_raters(comparison, "dice", each.tolist())


@scorer(samples.CRPS_SAMPLES)
def score_crps_samples(
    comparison: Comparison, label: int, use: samples.CrpsOptions, _reading: Reading
) -> Measured:
    """CRPS of the samples' volumes in cm3."""
    volumes = comparison.sample_overlaps(label).volumes
    voxels = samples.crps_voxels(*volumes, estimator=use.estimator)
    return _mean_of_raters(comparison, "crps", voxels, times=_voxel_cm3(comparison))


@scorer(samples.VOLUME_COVERAGE)
def score_volume_coverage(
    comparison: Comparison, label: int, use: samples.IntervalOptions, _reading: Reading
) -> Measured:
    """Share of the raters inside the interval of the samples' volumes."""
    volumes = comparison.sample_overlaps(label).volumes
    return _mean_of_raters(comparison, "inside", samples.covered(*volumes, level=use.level))


@scorer(samples.INTERVAL_SCORE)
def score_interval(
    comparison: Comparison, label: int, use: samples.IntervalOptions, _reading: Reading
) -> Measured:
    """Interval score of the samples' volumes in cm3."""
    voxels = samples.interval_voxels(*comparison.sample_overlaps(label).volumes, level=use.level)
    return _mean_of_raters(comparison, "interval score", voxels, times=_voxel_cm3(comparison))


def _mean_of_raters(
    comparison: Comparison, quantity: str, values: Iterable[float], *, times: float = 1.0
) -> Measured:
    """The mean over the raters, with what it was made from; `times` is the size of its unit."""
    each = list(values)
    parts = tuple(
        Component(quantity, f"rater {name}", value * times)
        for name, value in zip(comparison.reference.rater_names, each, strict=True)
    )
    return Measured(math.fsum(each) / len(each) * times, parts=parts)


def _voxel_cm3(comparison: Comparison) -> float:
    return comparison.reference.grid.voxel_volume_mm3 / 1000


def _numbers(comparison: Comparison, label: int) -> str:
    counts = comparison.sample_overlaps(label)
    return f"{counts.n_samples} samples for {counts.n_raters} raters"
