"""Small random scenes (raters, vessel, prediction) and how each declared metric scores them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segjury import metrics
from segjury.consensus import pack, staple
from segjury.metrics import invasion
from segjury.metrics.contact import contact_angles, vessel_sections
from segjury.metrics.moments import MAHALANOBIS
from segjury.metrics.partitions import PARTITION_MEASURES
from segjury.metrics.ratios import RATIOS

SHAPE = (26, 24, 22)


@dataclass(frozen=True)
class Scene:
    """Raters (K, x, y, z), a vessel, a probability map, a lattice of lines and the voxel size."""

    raters: NDArray[np.bool_]
    vessel: NDArray[np.bool_]
    probability: NDArray[Any]
    lines: NDArray[np.bool_]
    spacing_mm: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def moved(self, move: Callable[[NDArray[Any]], NDArray[Any]]) -> Scene:
        """The scene with every array flipped or transposed."""
        return Scene(
            np.stack([move(rater) for rater in self.raters]),
            move(self.vessel),
            move(self.probability),
            move(self.lines),
            self.spacing_mm,
        )

    def scaled(self, factor: float) -> Scene:
        x, y, z = self.spacing_mm
        return replace(self, spacing_mm=(x * factor, y * factor, z * factor))

    def drawn_by(self, rater: NDArray[np.bool_]) -> Scene:
        """The scene in which all raters draw the same mask."""
        return replace(self, raters=np.stack([rater] * len(self.raters)))

    def predicting(self, probability: NDArray[Any]) -> Scene:
        return replace(self, probability=probability.astype(np.float32))


def blob(rng: np.random.Generator, size: float = 0.3) -> NDArray[np.bool_]:
    """A smooth random shape around the middle."""
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, n) for n in SHAPE], indexing="ij"))
    centre = rng.uniform(-0.15, 0.15, 3)
    distance = np.sqrt(((grid - centre[:, None, None, None]) ** 2).sum(axis=0))
    noise = ndimage.gaussian_filter(rng.normal(size=SHAPE), 2.5)
    return distance + 0.6 * noise / np.abs(noise).max() * size < size


def vessel() -> NDArray[np.bool_]:
    """A straight vessel along z beside the middle."""
    x, y = np.ogrid[: SHAPE[0], : SHAPE[1]]
    disc = (x - 15) ** 2 + (y - 12) ** 2 <= 3.2**2
    return np.repeat(disc[:, :, None], SHAPE[2], axis=2)


def lattice() -> NDArray[np.bool_]:
    """Lines one voxel wide along all axes, like a net of the smallest vessels."""
    x, y, z = (axis % 5 == 2 for axis in np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]])
    return (x & y) | (y & z) | (x & z)


def random_scene(seed: int, n_raters: int = 4) -> Scene:
    rng = np.random.default_rng(seed)
    base = blob(rng, rng.uniform(0.2, 0.35))
    raters = np.stack(
        [
            ndimage.shift(base.astype(float), rng.uniform(-2, 2, 3), order=1) > 0.5
            for _ in range(n_raters)
        ]
    )
    blurred = ndimage.gaussian_filter(
        ndimage.shift(base.astype(float), rng.uniform(-2, 2, 3), order=1), 1
    )
    return Scene(raters, vessel(), np.clip(blurred, 0, 1).astype(np.float32), lattice())


def unanimous_scene(seed: int, n_raters: int = 4) -> Scene:
    """All raters draw the same mask, and the prediction is that mask."""
    base = blob(np.random.default_rng(seed), 0.35)
    return Scene(np.stack([base] * n_raters), vessel(), base.astype(np.float32), lattice())


# ---- how a declared metric scores a scene --------------------------------------------------

Score = Callable[[Scene, metrics.Reading], float]


def _consensus(scene: Scene) -> NDArray[np.bool_]:
    patterns = pack(scene.raters)
    return patterns.image(staple(patterns).foreground)


def _dsc(scene: Scene, reading: metrics.Reading) -> float:
    return metrics.dsc(_consensus(scene), scene.probability > 0.5, reading=reading)


def _crps(scene: Scene, reading: metrics.Reading) -> float:
    voxel_mm3 = float(np.prod(scene.spacing_mm))
    volumes = scene.raters.sum(axis=(1, 2, 3)) * voxel_mm3
    predicted = float(scene.probability.sum(dtype=float)) * voxel_mm3
    return metrics.crps(volumes, predicted, reading=reading)


def _contact_angle(scene: Scene, _reading: metrics.Reading) -> float:
    sections = vessel_sections(scene.vessel, scene.spacing_mm)
    cut = np.stack([scene.probability.astype(float) > t for t in metrics.THRESHOLDS])
    return invasion.sample_distance(
        contact_angles(sections, scene.raters), contact_angles(sections, cut)
    )


def _ece(scene: Scene, reading: metrics.Reading) -> float:
    """Two classes: the raters' lesions and, outside them, the vessel."""
    outside = ~scene.raters & scene.vessel
    labels = scene.raters + 2 * outside.astype(np.uint8)
    beside = np.minimum(1 - scene.probability, scene.vessel)
    return metrics.ece(labels, np.stack([scene.probability, beside]), reading=reading)


def _of_masks(score: Callable[..., float], **options: Any) -> Score:
    """A metric of two masks, whatever the spacing."""
    return lambda s, _: score(_consensus(s), s.probability > 0.5, **options)


def _of_lines(score: Callable[..., float], **options: Any) -> Score:
    """A metric of vessels: of the lines inside two masks."""
    return lambda s, _: score(_consensus(s) & s.lines, (s.probability > 0.5) & s.lines, **options)


def _of_shapes(score: Callable[..., float], *, scaled: str = "", **options: Any) -> Score:
    """A metric of two masks with a spacing; the option `scaled` grows with it."""

    def of_scene(s: Scene, _reading: metrics.Reading) -> float:
        own = {scaled: options[scaled] * s.spacing_mm[0]} if scaled else {}
        masks = (_consensus(s), s.probability > 0.5)
        return score(*masks, spacing_mm=s.spacing_mm, **(options | own))

    return of_scene


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
