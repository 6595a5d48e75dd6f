"""Label the vessels of an image file: one label per gamma, and plausible variants of them.

As OMELETTE does (Mattern et al. 2021; for the SMILE-UHURA challenge with gamma 0.01 and 0.02):
Frangi's filter at several scales, thresholds by multi-Otsu, hysteresis, small clusters removed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from segjury.errors import InputError
from segjury.images import read_volume, write_volume
from segjury.images.grid import Grid, doubts_of
from segjury.images.volume import Volume
from segjury.methods.vessel_labels.frangi import Derivatives, Filter
from segjury.methods.vessel_labels.intensity import Brightness, brightness, scaled
from segjury.methods.vessel_labels.responses import TILE_VOXELS, Responses, responses, tiles
from segjury.methods.vessel_labels.segmentation import Segmentation, segmentation
from segjury.methods.vessel_labels.settings import Setting, main_settings, plausible_settings
from segjury.runtime import default_jobs
from segjury.runtime.paths import resolved
from segjury.runtime.writing import write_text

Unit = Literal["voxels", "mm"]
Progress = Callable[[str, int, int], None]  # what is done, how many, of how many

ABOUT, RESPONSE = "label.json", "response.nii.gz"
_FINEST_VOXELS = 0.5  # a Gaussian any narrower falls between the voxels
_MAX_SCALES = 16
_MAX_VARIANTS = 99


@dataclass(frozen=True)
class Choices:
    """How to label; `unit` is that of the scales, and a voxel's length is its smallest side."""

    gammas: tuple[float, ...] = (0.02, 0.01)
    scales: tuple[float, ...] = (1.25, 1.75, 2.5, 3.5)
    unit: Unit = "voxels"
    derivatives: Derivatives = "plain"
    alpha: float = 0.5
    beta: float = 0.5
    brightest_percent: float = 99.9
    smallest_cluster: int = 3
    variants: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        for name, values in (("gammas", self.gammas), ("scales", self.scales)):
            _check_list(name, values)
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < math.inf:
                raise InputError(f"`{name}` is {value:g}", "Give a number above 0")
        if not 0 < self.brightest_percent <= 100:
            raise InputError(
                f"`brightest_percent` is {self.brightest_percent:g}", "Give a percentage"
            )
        if not 0 <= self.variants <= _MAX_VARIANTS:
            raise InputError(f"`variants` is {self.variants}", f"Ask for 0 to {_MAX_VARIANTS}")


def _check_list(name: str, values: tuple[float, ...]) -> None:
    shown = ",".join(f"{value:g}" for value in values)
    if not 1 <= len(values) <= _MAX_SCALES or not all(0 < v < math.inf for v in values):
        raise InputError(f"`{name}` is '{shown}'", f"Give 1 to {_MAX_SCALES} numbers above 0")
    if len(set(values)) < len(values):
        raise InputError(f"`{name}` is '{shown}'", "Give each number once")


@dataclass(frozen=True)
class Label:
    """A mask that was written, and how it came about."""

    file: str
    setting: Setting
    scales_mm: tuple[float, ...]
    low: float
    high: float
    voxels: int
    removed_voxels: int


def label_image(
    path: Path,
    out: Path,
    choices: Choices,
    *,
    response: bool = False,
    tile: int = TILE_VOXELS,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[list[Label], list[str]]:
    """Write the labels of an image into a folder; return what was written, and warnings.

    `label.json` comes last, with everything that is needed to make the labels again.
    """
    report = progress or (lambda _what, _done, _of: None)
    names = _names(choices)
    _check_folder(path, out, [*names, RESPONSE] if response else names)
    grid, levels, filtered, kind = _filter(path, choices, tile, jobs, report)
    (out / ABOUT).unlink(missing_ok=True)  # of an earlier run, until all is there again
    labels = []
    for number, (name, segmented) in enumerate(
        zip(names, _segment(filtered, choices), strict=True)
    ):
        write_volume(out / name, Volume(segmented.mask, grid))
        setting = filtered.settings[number]
        used = kind.scales_mm[setting.scales]
        labels.append(
            Label(
                name,
                setting,
                used,
                segmented.low,
                segmented.high,
                segmented.voxels,
                segmented.removed_voxels,
            )
        )
        report("segmenting", number + 1, len(names))
    if response:
        write_volume(out / RESPONSE, Volume(filtered.image(0), grid))
    notes = [*doubts_of(grid, path.name), *_notes(labels, levels, kind)]
    write_text(_json(path, grid, choices, levels, labels, notes), out / ABOUT)
    return labels, notes


def _filter(
    path: Path, choices: Choices, tile: int, jobs: int | None, report: Progress
) -> tuple[Grid, Brightness, Responses, Filter]:
    """Read an image and filter it; what is returned no longer needs it."""
    volume = read_volume(path)
    kind = filter_of(choices, volume.grid)
    settings = _settings(choices)
    try:
        levels = brightness(volume.array, percent=choices.brightest_percent)
    except InputError as error:
        raise error.about(path.name) from None
    grid, image = volume.grid, scaled(volume.array, levels)
    del volume
    threads = jobs or default_jobs(len(tiles(grid.shape, tile)))
    filtered = responses(
        image,
        kind,
        settings,
        tile=tile,
        jobs=threads,
        progress=lambda done, of: report("filtering", done, of),
    )
    return grid, levels, filtered, kind


def filter_of(choices: Choices, grid: Grid) -> Filter:
    """The filter that was chosen, for the voxels of a grid."""
    voxel_mm = min(grid.spacing_mm)
    unit = voxel_mm if choices.unit == "voxels" else 1.0
    scales_mm = tuple(sorted(scale * unit for scale in choices.scales))
    largest = max(size * side for size, side in zip(grid.shape, grid.spacing_mm, strict=True))
    if scales_mm[-1] > largest or scales_mm[-1] / voxel_mm > max(grid.shape):
        raise InputError(
            f"a scale is {scales_mm[-1]:g} mm, the image {largest:g} mm", "Give smaller `scales`"
        )
    return Filter(scales_mm, grid.spacing_mm, choices.alpha, choices.beta, choices.derivatives)


def _settings(choices: Choices) -> list[Setting]:
    """The settings of the labels, then those of the variants."""
    rng = np.random.default_rng(choices.seed)
    n_scales = len(choices.scales)
    variants = plausible_settings(choices.variants, choices.gammas, n_scales, rng)
    return [*main_settings(choices.gammas, n_scales), *variants]


def _segment(filtered: Responses, choices: Choices) -> Iterator[Segmentation]:
    for number in range(len(filtered.settings)):
        yield segmentation(filtered, number, smallest_cluster=choices.smallest_cluster)


# ---- files ---------------------------------------------------------------------------------


def _names(choices: Choices) -> list[str]:
    others = [f"label_gamma_{gamma}.nii.gz" for gamma in choices.gammas[1:]]
    plausible = [f"plausible_{n:02d}.nii.gz" for n in range(1, choices.variants + 1)]
    return ["label.nii.gz", *others, *plausible]


def _check_folder(image: Path, out: Path, names: list[str]) -> None:
    """Refuse a folder with masks of another run, and to write over the image."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file", "Give a folder as `out`")
    patterns = ("label.nii.gz", "label_gamma_*.nii.gz", "plausible_*.nii.gz", RESPONSE)
    present = sorted(path.name for pattern in patterns for path in out.glob(pattern))
    others = [name for name in present if name not in names]
    if others:
        raise InputError(
            f"{out} has {others[0]}, which would not be written now", "Give another `out`"
        )
    if resolved(image) in [resolved(out / name) for name in names]:
        raise InputError(f"{image} would be written over", "Give another `out`")


def _notes(labels: list[Label], levels: Brightness, kind: Filter) -> list[str]:
    notes = []
    if levels.lowest == levels.brightest:
        notes.append("all voxels of the image have the same value: nothing is labelled")
    elif any(math.isnan(label.low) for label in labels):
        empty = ", ".join(label.file for label in labels if math.isnan(label.low))
        notes.append(f"too little responds for thresholds, and these are empty: {empty}")
    coarse = min(min(kind.sigma_voxels(scale)) for scale in kind.scales_mm)
    if coarse < _FINEST_VOXELS:
        notes.append(
            f"the finest scale is {coarse:.2g} voxels along one axis, below {_FINEST_VOXELS}: its "
            "derivatives there are too small"
        )
    return notes


def _json(
    path: Path,
    grid: Grid,
    choices: Choices,
    levels: Brightness,
    labels: list[Label],
    notes: list[str],
) -> str:
    content = {
        "segjury": version("segjury"),
        "image": path.name,
        "shape": grid.shape,
        "spacing_mm": grid.spacing_mm,
        "choices": asdict(choices),
        "brightness": asdict(levels),
        "labels": [_described(label, grid) for label in labels],
        "notes": notes,
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _described(label: Label, grid: Grid) -> dict[str, Any]:
    return {
        "file": label.file,
        "gamma": label.setting.gamma,
        "scales_mm": label.scales_mm,
        "threshold_factor": label.setting.threshold_factor,
        "low": None if math.isnan(label.low) else label.low,
        "high": None if math.isnan(label.high) else label.high,
        "voxels": label.voxels,
        "volume_mm3": label.voxels * grid.voxel_volume_mm3,
        "removed_voxels": label.removed_voxels,
    }
