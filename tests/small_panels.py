"""Write tiny benchmarks of several raters, in whatever layout, from arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.protocols import Protocol
from segjury.protocols.patterns import filled

SHAPE = (16, 18, 14)
SPACING_MM = (1.0, 1.0, 2.0)


def balls(seed: int, n: int, *, radius: float = 4.0, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """Masks of `n` raters: balls that differ in place and size."""
    rng = np.random.default_rng(seed)
    middle = np.array(shape) / 2 + rng.uniform(-1, 1, 3)
    places = np.indices(shape).reshape(3, -1).T
    masks = []
    for _ in range(n):
        centre, own = middle + rng.normal(0, 0.7, 3), radius + rng.normal(0, 0.6)
        inside = (((places - centre) * SPACING_MM) ** 2).sum(axis=1) < own**2
        masks.append(inside.reshape(shape))
    return np.stack(masks)


def soft(mask: np.ndarray, seed: int) -> np.ndarray:
    """A probability map of a mask: sure inside, some noise everywhere."""
    noise = np.random.default_rng(seed).uniform(0, 0.3, mask.shape)
    return np.where(mask, 0.95 - noise, 0.4 * noise**2).astype(np.float32)


def protocol(metrics: Iterable[str | dict[str, Any]], **reference: Any) -> Protocol:
    """A protocol of some metrics; `prediction` and `policy` may be among the tables."""
    tables = {key: reference.pop(key) for key in ("prediction", "policy") if key in reference}
    uses = [{"name": each} if isinstance(each, str) else each for each in metrics]
    told = {"raters": "annotation_{rater}"} | reference
    named = {"name": "mine", "title": "Mine", "reference": told, "metrics": uses}
    return Protocol.model_validate(named | tables)


def put(root: Path, pattern: str, array: np.ndarray, **values: str) -> Path:
    """Write an array where a pattern says."""
    path = root / f"{filled(pattern, **values)}.nii.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = np.float32 if array.dtype.kind == "f" else np.uint8
    volume = np.asfortranarray(array, kind)
    write_volume(path, Volume(volume, Grid(volume.shape, SPACING_MM)))
    return path


def write_case(
    folder: Path,
    spec: Protocol,
    case: str,
    raters: Mapping[str, np.ndarray],
    predictions: Mapping[str, tuple[np.ndarray, Mapping[str, np.ndarray]]],
) -> None:
    """The masks of the raters, and each method's mask and its maps by label."""
    for name, mask in raters.items():
        put(folder / "reference", spec.reference.raters, mask, case=case, rater=name)
    for method, (mask, maps) in predictions.items():
        place = folder / "predictions" / method
        put(place, spec.prediction.mask, mask, case=case)
        for label, values in maps.items():
            put(place, spec.probability_stems[label], values, case=case)
