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

SHAPE = (26, 24, 22)


@dataclass(frozen=True)
class Scene:
    """Raters (K, x, y, z), a vessel, a probability map and the voxel size."""

    raters: NDArray[np.bool_]
    vessel: NDArray[np.bool_]
    probability: NDArray[Any]
    spacing_mm: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def moved(self, move: Callable[[NDArray[Any]], NDArray[Any]]) -> Scene:
        """The scene with every array flipped or transposed."""
        return Scene(
            np.stack([move(rater) for rater in self.raters]),
            move(self.vessel),
            move(self.probability),
            self.spacing_mm,
        )

    def scaled(self, factor: float) -> Scene:
        x, y, z = self.spacing_mm
        return replace(self, spacing_mm=(x * factor, y * factor, z * factor))

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
    return Scene(raters, vessel(), np.clip(blurred, 0, 1).astype(np.float32))


def unanimous_scene(seed: int, n_raters: int = 4) -> Scene:
    """All raters draw the same mask, and the prediction is that mask."""
    base = blob(np.random.default_rng(seed), 0.35)
    return Scene(np.stack([base] * n_raters), vessel(), base.astype(np.float32))


# ---- how a declared metric scores a scene --------------------------------------------------


def _consensus(scene: Scene) -> NDArray[np.bool_]:
    patterns = pack(scene.raters)
    return patterns.image(staple(patterns).foreground)


def _dsc(scene: Scene, reading: metrics.Reading) -> float:
    return metrics.dsc(_consensus(scene), scene.probability > 0.5, reading=reading)


def _crps(scene: Scene, reading: metrics.Reading) -> float:
    voxel_cm3 = float(np.prod(scene.spacing_mm)) / 1000
    volumes = scene.raters.sum(axis=(1, 2, 3)) * voxel_cm3
    predicted = float(scene.probability.sum(dtype=float)) * voxel_cm3
    return metrics.crps(volumes, predicted, reading=reading)


def _contact_angle(scene: Scene, _reading: metrics.Reading) -> float:
    sections = vessel_sections(scene.vessel, scene.spacing_mm)
    cut = np.stack([scene.probability.astype(float) > t for t in metrics.THRESHOLDS])
    return invasion.sample_distance(
        contact_angles(sections, scene.raters), contact_angles(sections, cut)
    )


SCORE: dict[str, Callable[[Scene, metrics.Reading], float]] = {
    "dsc": _dsc,
    "thr_dsc": lambda s, r: metrics.thr_dsc(s.raters, s.probability, reading=r),
    "mr_ece": lambda s, r: metrics.mr_ece(s.raters, s.probability, padding_voxels=2, reading=r),
    "crps": _crps,
    "vi": lambda s, r: metrics.vi(s.vessel, s.raters, s.probability, reading=r),
    "contact_angle": _contact_angle,
}
READINGS_OF = dict.fromkeys(SCORE, metrics.READINGS) | {"contact_angle": ("corrected",)}
