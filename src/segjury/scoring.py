"""From a comparison of prediction and reference to scores: one short function per metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.comparison import Comparison
from segjury.consensus import soft_mean
from segjury.metrics import calibration, invasion, overlap, volume
from segjury.metrics.metric import Reading
from segjury.protocols import protocol as form
from segjury.volume import flat

WHOLE = "all"
NO_VESSEL = "the reference has no such vessel"


@dataclass(frozen=True)
class Part:
    """A number that a score was made from, such as one rater's ECE or one angle."""

    quantity: str
    item: str
    value: float


@dataclass(frozen=True)
class Score:
    """A metric's value for one structure; NaN is undefined, and `note` says why or warns."""

    structure: str
    value: float
    note: str = ""
    parts: tuple[Part, ...] = ()


def score_dsc(comparison: Comparison, _use: form.Dsc, reading: Reading) -> list[Score]:
    """Dice of the predicted mask and the consensus."""
    reference, voxels = comparison.reference, comparison.prediction.mask_voxels
    common = int(np.count_nonzero(reference.consensus[voxels]))
    size = reference.consensus_voxels.size
    value = overlap.dsc_from_sizes(size, voxels.size, common, reading=reading)
    return [Score(WHOLE, value)]


def score_thr_dsc(comparison: Comparison, use: form.ThrDsc, reading: Reading) -> list[Score]:
    """Mean Dice over thresholds, from voxel counts by (rater pattern, probability level)."""
    patterns = comparison.reference.patterns
    voxels = comparison.probable_voxels
    levels = overlap.threshold_levels(
        flat(comparison.prediction.probability.array)[voxels], use.thresholds
    )
    codes = flat(patterns.codes)[voxels].astype(np.intp)
    n_levels = len(use.thresholds) + 1
    joint = np.bincount(codes * n_levels + levels, minlength=patterns.n_codes * n_levels)
    joint = joint.reshape(patterns.n_codes, n_levels)
    joint[:, 0] = patterns.counts - joint[:, 1:].sum(axis=1)
    by_level = np.zeros((n_levels, n_levels), np.int64)
    np.add.at(by_level, overlap.threshold_levels(soft_mean(patterns), use.thresholds), joint)
    return [Score(WHOLE, overlap.thr_dsc_from_levels(by_level, reading=reading))]


def score_mr_ece(comparison: Comparison, use: form.MrEce, reading: Reading) -> list[Score]:
    """Calibration error against each rater inside the padded union box."""
    patterns = comparison.reference.patterns
    around = calibration.scored_box(patterns, use.padding_voxels)
    if around is None:
        return [Score(WHOLE, float("nan"), "no rater marked anything")]
    histogram = comparison.calibration_histogram(around, use.bins, reading)
    errors = calibration.ece_per_rater(histogram, patterns.marked())
    note = ""
    if reading == "released" and around.wraps:
        note = "the lesion is nearer to the border than the padding, so the released code scores "
        note += "an empty region" if np.isnan(errors).any() else "a wrong region"
    parts = tuple(Part("ece", f"rater {k + 1}", float(e)) for k, e in enumerate(errors))
    return [Score(WHOLE, float(errors.mean()), note, parts)]


def score_crps(comparison: Comparison, _use: form.Crps, reading: Reading) -> list[Score]:
    """CRPS of the predicted volume in cm3."""
    volumes = comparison.reference.volumes_cm3
    value = volume.crps(volumes, comparison.volume_cm3, reading=reading)
    note = "the raters' volumes are all equal" if np.ptp(volumes) == 0 else ""
    parts = [Part("volume_cm3", f"rater {k + 1}", float(v)) for k, v in enumerate(volumes)]
    parts.append(Part("volume_cm3", "prediction", comparison.volume_cm3))
    return [Score(WHOLE, value, note if np.isnan(value) else "", tuple(parts))]


def score_vi(comparison: Comparison, use: form.Vi, reading: Reading) -> list[Score]:
    """Distance between raters' and predicted slice-wise contact angles, per vessel."""
    scores = []
    for name, structure in comparison.reference.structures.items():
        if structure is None:
            value = 0.0 if reading == "released" else float("nan")
            scores.append(Score(name, value, NO_VESSEL))
            continue
        predicted = comparison.invasion_angles(name, structure, use.thresholds).of(reading)
        raters = comparison.reference.invasion_angles[name].of(reading)
        value = invasion.vi_score(raters, predicted, reading=reading)
        scores.append(Score(name, value, "", _angle_parts(raters, predicted, use.thresholds)))
    return scores


def score_contact_angle(
    comparison: Comparison, use: form.ContactAngle, _reading: Reading
) -> list[Score]:
    """Distance between raters' and predicted anatomical contact angles, per vessel."""
    scores = []
    for name, structure in comparison.reference.structures.items():
        if structure is None:
            scores.append(Score(name, float("nan"), NO_VESSEL))
            continue
        predicted = comparison.contact_angles(name, structure, use.thresholds)
        raters = comparison.reference.contact_angles[name]
        value = invasion.sample_distance(raters, predicted)
        scores.append(
            Score(name, value, "", _angle_parts(raters[None], predicted[None], use.thresholds))
        )
    return scores


def _angle_parts(
    raters: NDArray[np.float64], predicted: NDArray[np.float64], thresholds: tuple[float, ...]
) -> tuple[Part, ...]:
    """The angles behind a score: per array axis, where there are several, and mask."""
    items = [f"rater {k + 1}" for k in range(raters.shape[1])] + [f"p > {t:g}" for t in thresholds]
    return tuple(
        Part(f"angle axis {axis}" if len(raters) > 1 else "angle", item, float(value))
        for axis, row in enumerate(np.concatenate([raters, predicted], axis=1))
        for item, value in zip(items, row, strict=True)
    )


SCORERS: dict[str, Callable[[Comparison, Any, Reading], list[Score]]] = {
    "dsc": score_dsc,
    "thr_dsc": score_thr_dsc,
    "mr_ece": score_mr_ece,
    "crps": score_crps,
    "vi": score_vi,
    "contact_angle": score_contact_angle,
}
