"""How each declared metric scores the small random scenes of its laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from segjury import metrics
from segjury.metrics import invasion
from segjury.metrics.contact import contact_angles, vessel_sections
from segjury.metrics.laws import Scene
from segjury.metrics.moments import MAHALANOBIS
from segjury.metrics.partitions import PARTITION_MEASURES
from segjury.metrics.ratios import RATIOS

# ---- how a declared metric scores a scene --------------------------------------------------

Score = Callable[[Scene, metrics.Reading], float]


def _dsc(scene: Scene, reading: metrics.Reading) -> float:
    return metrics.dsc(scene.consensus, scene.probability > 0.5, reading=reading)


def _crps(scene: Scene, reading: metrics.Reading) -> float:
    voxel_mm3 = float(np.prod(scene.spacing_mm))
    volumes = scene.raters.reshape(len(scene.raters), -1).sum(axis=1) * voxel_mm3
    predicted = float(scene.probability.sum(dtype=float)) * voxel_mm3
    return metrics.crps(volumes, predicted, reading=reading)


def _crps_empirical(scene: Scene, _reading: metrics.Reading) -> float:
    voxel_mm3 = float(np.prod(scene.spacing_mm))
    volumes = scene.raters.reshape(len(scene.raters), -1).sum(axis=1) * voxel_mm3
    return metrics.crps_empirical(volumes, float(scene.probability.sum(dtype=float)) * voxel_mm3)


def _boundary_ece(scene: Scene, _reading: metrics.Reading) -> float:
    """A band about two voxels wide, whatever their size and wherever their axes point."""
    band_mm = 2 * float(np.cbrt(np.prod(scene.spacing_mm)))
    maps = (scene.raters, scene.probability)
    return metrics.boundary_ece(*maps, spacing_mm=scene.spacing_mm, band_mm=band_mm)


def _contact_angle(scene: Scene, _reading: metrics.Reading) -> float:
    if scene.vessel.ndim < 3:  # these functions are of volumes
        scene = scene.moved(lambda array: array[:, :, None])
    sections = vessel_sections(scene.vessel, scene.spacing_mm)
    cut = np.stack([scene.probability.astype(float) > t for t in metrics.THRESHOLDS])
    return invasion.sample_distance(
        contact_angles(sections, scene.raters), contact_angles(sections, cut)
    )


def _of_samples(score: Callable[..., float], **options: Any) -> Score:
    """A metric of samples."""
    return lambda s, _: score(s.raters, s.samples, **options)


def _of_volumes(score: Callable[..., float], **options: Any) -> Score:
    """A metric of the samples' volumes."""
    return lambda s, _: score(s.raters, s.samples, spacing_mm=s.spacing_mm, **options)


def _two_classes(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """The raters' lesions and, outside them, the vessel."""
    outside = ~scene.raters & scene.vessel
    labels = scene.raters + 2 * outside.astype(np.uint8)
    beside = np.minimum(1 - scene.probability, scene.vessel)
    return labels, np.stack([scene.probability, beside])


def _ece(scene: Scene, reading: metrics.Reading) -> float:
    return metrics.ece(*_two_classes(scene), reading=reading)


def _of_masks(score: Callable[..., float], **options: Any) -> Score:
    """A metric of two masks, whatever the spacing."""
    return lambda s, _: score(s.consensus, s.probability > 0.5, **options)


def _of_lines(score: Callable[..., float], **options: Any) -> Score:
    """A metric of vessels: of the lines inside two masks."""
    return lambda s, _: score(s.consensus & s.lines, (s.probability > 0.5) & s.lines, **options)


def _of_shapes(score: Callable[..., float], *, scaled: str = "", **options: Any) -> Score:
    """A metric of two masks with a spacing; the option `scaled` grows with it."""

    def of_scene(s: Scene, _reading: metrics.Reading) -> float:
        own = {scaled: options[scaled] * s.spacing_mm[0]} if scaled else {}
        masks = (s.consensus, s.probability > 0.5)
        return score(*masks, spacing_mm=s.spacing_mm, **(options | own))

    return of_scene


def _of_raters(score: Callable[..., float], **options: Any) -> Score:
    """A metric of the lesions that at least half of the raters see, and a mask."""
    return lambda s, _: score(s.raters, s.probability > 0.5, lesions="union", **options)


def _small_lesion_recall(s: Scene, _reading: metrics.Reading) -> float:
    """All lesions of the scenes are small."""
    limit_mm3 = s.vessel.size * float(np.prod(s.spacing_mm))
    masks = (s.consensus, s.probability > 0.5)
    return metrics.small_lesion_recall(*masks, spacing_mm=s.spacing_mm, size_bins_mm3=[limit_mm3])


def _of_maps(score: Callable[..., float], **options: Any) -> Score:
    """A metric of raters and a map, whatever the spacing."""
    return lambda s, _: score(s.raters, s.probability, **options)


NEAR = {"region": "near", "padding_voxels": 2}

# A metric with its options is `name` or `name:option`.
SCORE: dict[str, Score] = {
    "dsc": _dsc,
    "dsc:agreement": lambda s, r: metrics.agreement_dsc(s.raters, s.probability > 0.5, reading=r),
    "thr_dsc": lambda s, r: metrics.thr_dsc(s.raters, s.probability, reading=r),
    "mr_ece": lambda s, r: metrics.mr_ece(s.raters, s.probability, padding_voxels=2, reading=r),
    "crps": _crps,
    "vi": lambda s, r: metrics.vi(s.vessel, s.raters, s.probability, reading=r),
    "contact_angle": _contact_angle,
    "confidence": lambda s, r: metrics.confidence(s.raters, s.probability, reading=r),
    "ece": _ece,
    "crps_empirical": _crps_empirical,
    "classwise_ece": lambda s, _: metrics.classwise_ece(*_two_classes(s)),
    "boundary_ece": _boundary_ece,
    "brier": _of_maps(metrics.brier),
    "brier:near": _of_maps(metrics.brier, **NEAR),
    "nll": _of_maps(metrics.nll),
    "nll:near": _of_maps(metrics.nll, **NEAR),
    "pooled_ece": _of_maps(metrics.pooled_ece),
    "pooled_ece:near": _of_maps(metrics.pooled_ece, **NEAR),
    "adaptive_ece": _of_maps(metrics.adaptive_ece),
    "adaptive_ece:near": _of_maps(metrics.adaptive_ece, **NEAR),
    "ace": _of_maps(metrics.ace),
    "mce": _of_maps(metrics.mce),
    "aurc": _of_maps(metrics.aurc),
    "aurc:near": _of_maps(metrics.aurc, **NEAR),
    "e_aurc": _of_maps(metrics.e_aurc),
    "augrc": _of_maps(metrics.augrc),
    "uncertainty_ncc": _of_maps(metrics.uncertainty_ncc),
    "uncertainty_ncc:entropy": _of_maps(metrics.uncertainty_ncc, uncertainty="entropy"),
    "nsd": _of_shapes(metrics.nsd, scaled="tolerance_mm", tolerance_mm=1.0),
    "nsd:edge-voxels": _of_shapes(
        metrics.nsd, scaled="tolerance_mm", tolerance_mm=1.0, definition="edge-voxels"
    ),
    "hd": _of_shapes(metrics.hd),
    "hd95": _of_shapes(metrics.hd95),
    "hd95:edge-voxels": _of_shapes(metrics.hd95, convention="edge-voxels"),
    "hd95:edge-voxels-pooled": _of_shapes(metrics.hd95, convention="edge-voxels-pooled"),
    "assd": _of_shapes(metrics.assd),
    "masd": _of_shapes(metrics.masd),
    "bavd": _of_masks(metrics.bavd),
    "bavd:mm": _of_shapes(metrics.bavd),
    "ahd": _of_masks(metrics.ahd),
    "ahd:mm": _of_shapes(metrics.ahd),
    "cldice": _of_lines(metrics.cldice),
    "cldice:topology-preserving": _of_lines(metrics.cldice, thinning="topology-preserving"),
    "betti": _of_lines(metrics.betti),
    "small_recall": _of_lines(metrics.small_recall),
    "f_beta:2": _of_masks(metrics.f_beta, beta=2.0),
    "ged": _of_samples(metrics.ged),
    "hungarian_iou": _of_samples(metrics.hungarian_iou),
    "dice_max": _of_samples(metrics.dice_max),
    "dice_max:samples": _of_samples(metrics.dice_max, average="samples"),
    "dice_match": _of_samples(metrics.dice_match),
    "dice_soft": _of_samples(metrics.dice_soft),
    "dice_per_rater": _of_samples(metrics.dice_per_rater),
    "crps_samples": _of_volumes(metrics.crps_samples),
    "crps_samples:biased": _of_volumes(metrics.crps_samples, estimator="biased"),
    "volume_coverage": _of_samples(metrics.volume_coverage),
    "interval_score": _of_volumes(metrics.interval_score),
    "lesion_f1": _of_shapes(metrics.lesion_f1),
    "lesion_f1:any-overlap": _of_shapes(metrics.lesion_f1, matching="any-overlap", threshold=0),
    "lesion_f1:union": _of_raters(metrics.lesion_f1),
    "lesion_recall": _of_shapes(metrics.lesion_recall),
    "lesion_recall:ior": _of_shapes(metrics.lesion_recall, overlap="ior", threshold=0.5),
    "lesion_precision": _of_shapes(metrics.lesion_precision),
    "pq": _of_shapes(metrics.pq),
    "pq:0.1": _of_shapes(metrics.pq, threshold=0.1, connectivity="faces"),
    "small_lesion_recall": _small_lesion_recall,
    "lesion_count_error": _of_shapes(metrics.lesion_count_error),
    "froc": lambda s, _: metrics.froc(s.consensus, s.probability),
    "froc:mean": lambda s, _: metrics.froc(s.consensus, s.probability, confidence="mean"),
} | {
    metric.name: _of_masks(getattr(metrics, metric.name))
    for metric in (*RATIOS, *PARTITION_MEASURES, MAHALANOBIS)
}
MEASURED_ELSEWHERE = {"time_s", "memory_gb_s"}
SCALES_WITH_LENGTH = {"bavd:mm", "ahd:mm"}

BY_READING = {"dsc", "dsc:agreement", "thr_dsc", "mr_ece", "crps", "vi", "confidence", "ece"}
READINGS_OF = {name: metrics.READINGS if name in BY_READING else ("corrected",) for name in SCORE}


def declared(name: str) -> metrics.Metric:
    """What the metric, whatever its options, declares of itself."""
    return metrics.METRICS[name.partition(":")[0]]
