"""How raters would draw the label of a given mask.

The model of `raters`, `phi + b_k + A (rho G + s_k G_k) > 0`, made to fit any mask. Errors alone do
not change the size: rater k draws as many voxels as `phi + b_k > 0` has, those where the sum is
highest, so that size is style and shape is skill. A is a length, to be found for the disagreement
that is wanted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from segjury.arrays import Box, bounding_box
from segjury.benchmark.phantoms.fields import Field, smooth_noise, subgrid
from segjury.benchmark.phantoms.raters import Mask, miss_part
from segjury.images.grid import Grid
from segjury.images.labels import LabelMap

SMALLEST_STRAY_MM = 1e-3  # orders voxels that are equally far from the edge
SMALLEST_SHARE = 0.1  # of the mask, drawn by whoever hardly sees it
MOST_WAVERING = 1 / 3  # of the radius
MISSED_SHARE = (0.2, 0.6)  # of the mask, by whoever misses a part
USUAL_GRAIN = 2.0  # radii

_SHARED, _OWN, _LEVEL, _MISSED = range(4)  # independent streams of a rater


@dataclass(frozen=True)
class RaterPanel:
    """Simulated raters: style and skill of each, and what all have in common.

    `skill` is the size of a rater's own errors relative to the others', `rho` that of the errors
    all share, `wavering` how much the size that a rater draws varies with them, `missed` the
    probability that a rater overlooks a part of a label.
    """

    bias_mm: tuple[float, ...]
    skill: tuple[float, ...]
    rho: float = 0.5
    wavering: float = 0.25
    missed: float = 0.0
    grain_mm: float | None = None  # how far the errors at two points are alike
    seed: int = 0

    @property
    def size(self) -> int:
        """How many raters there are."""
        return len(self.bias_mm)


@dataclass(frozen=True)
class MaskPart:
    """A label, the box in which raters may draw it, and its signed distance there."""

    label: int
    box: Box
    grid: Grid
    phi_mm: Field
    radius_mm: float  # of a ball (in one slice: a disc) of its size


@dataclass(frozen=True)
class Sketch:
    """What a rater sees of a label and where he or she strays, before it is known how far."""

    seen_mm: Field
    stray: Field
    bias_mm: float
    waver: float
    most_waver_mm: float
    step_mm: float


def part_of(mask: LabelMap, label: int, *, disagreement: float, bias_mm: float) -> MaskPart:
    """A label where it may be drawn: its box, and a margin that grows with the disagreement."""
    voxels = mask.where(label)
    tight = bounding_box(voxels, mask.grid.shape)
    if tight is None:
        raise ValueError(f"the mask has no label {label}")
    radius = _radius_mm(voxels.size, mask.grid)
    margin = min(2.5 * disagreement, 1.5) * radius + max(bias_mm, 0.0)
    box = _grown(tight, margin, mask.grid)
    phi = _phi_mm(mask.crop(label, box), tight.grow(1, mask.grid.shape).inside(box), mask.grid)
    return MaskPart(label, box, subgrid(mask.grid, box), phi, radius)


def _radius_mm(voxels: int, grid: Grid) -> float:
    """Radius of a ball with as many voxels; of a disc or a line, where the image is one."""
    sides = [step for step, count in zip(grid.spacing_mm, grid.shape, strict=True) if count > 1]
    unit = {0: 2.0, 1: 2.0, 2: math.pi, 3: 4 * math.pi / 3}[len(sides)]
    return float((voxels * math.prod(sides or [1.0]) / unit) ** (1 / max(len(sides), 1)))


def _grown(box: Box, margin_mm: float, grid: Grid) -> Box:
    return box.grow([math.ceil(margin_mm / step) + 2 for step in grid.spacing_mm], grid.shape)


def _phi_mm(mask: Mask, around: Box, grid: Grid) -> Field:
    """Signed distance to the edge, which is half the smallest step before the nearest voxel.

    `around` holds all of the mask and what touches it. The border of the image is no edge: what it
    cuts goes on beyond.
    """
    half = np.float32(min(grid.spacing_mm) / 2)
    phi = half - _distance_mm(mask, grid)
    inside = mask[around]
    phi[around][inside] = _distance_mm(~inside, grid)[inside] - half
    return phi


def _distance_mm(mask: Mask, grid: Grid) -> Field:
    """Distance of each voxel outside the mask to the nearest one in it."""
    import SimpleITK as sitk

    image = sitk.GetImageFromArray(np.ascontiguousarray(mask.T).view(np.uint8))
    image.SetSpacing(grid.spacing_mm)
    distance = sitk.SignedMaurerDistanceMap(image, squaredDistance=False, useImageSpacing=True)
    return np.asarray(sitk.GetArrayFromImage(distance).T, np.float32)


def sketch(part: MaskPart, panel: RaterPanel, rater: int) -> Sketch:
    """What a rater makes of a label; the same whatever others there are."""

    def rng(stream: int, of: int) -> np.random.Generator:
        return np.random.default_rng([panel.seed, part.label, stream, of])

    grain = panel.grain_mm or usual_grain_mm(part)
    stray = smooth_noise(part.grid, grain, rng(_OWN, rater))
    stray *= np.float32(panel.skill[rater])
    if panel.rho:
        shared = smooth_noise(part.grid, grain, rng(_SHARED, 0))
        shared *= np.float32(panel.rho)
        stray += shared
    seen, luck = part.phi_mm, rng(_MISSED, rater)
    if luck.random() < panel.missed:
        seen = miss_part(seen, part.grid, share=luck.uniform(*MISSED_SHARE), rng=luck)
    return Sketch(
        seen,
        stray,
        panel.bias_mm[rater],
        panel.wavering * float(rng(_LEVEL, rater).normal()),
        MOST_WAVERING * part.radius_mm,
        min(part.grid.spacing_mm),
    )


def usual_grain_mm(part: MaskPart) -> float:
    """Errors alike over the width of the label, but over two voxels at least."""
    return max(USUAL_GRAIN * part.radius_mm, smallest_grain_mm(part.grid))


def smallest_grain_mm(grid: Grid) -> float:
    """Finer noise could not be told from single voxels, and would take more memory than they."""
    return float(2 * grid.voxel_volume_mm3 ** (1 / 3))


def drawn_mm(sketched: Sketch, amplitude_mm: float) -> Field:
    """How far inside of what the rater draws each voxel is; above 0 where it is drawn."""
    most = sketched.most_waver_mm
    level = sketched.bias_mm + float(np.clip(amplitude_mm * sketched.waver, -most, most))
    seen = sketched.seen_mm
    fewest = max(SMALLEST_SHARE * np.count_nonzero(seen > 0), 1)
    # A voxel half inside counts half, so that a shift by less than a voxel shows in the size.
    value = seen + np.float32(level)
    value /= np.float32(sketched.step_mm)
    value += np.float32(0.5)
    filled = float(np.clip(value, 0, 1, out=value).sum(dtype=float))
    np.multiply(sketched.stray, np.float32(max(amplitude_mm, SMALLEST_STRAY_MM)), out=value)
    value += seen
    highest_left_out = value.size - 1 - min(round(max(filled, fewest)), value.size - 1)
    value -= np.partition(value, highest_left_out, axis=None)[highest_left_out]
    return value


def thinned(sketched: Sketch, grid: Grid, *, most_voxels: int) -> Sketch:
    """Every so-many-th voxel of a sketch: enough to measure how far raters agree."""
    stride = [1, 1, 1]
    while math.prod(-(-n // s) for n, s in zip(grid.shape, stride, strict=True)) > most_voxels:
        wide = [axis for axis in range(3) if grid.shape[axis] > stride[axis]]
        stride[min(wide, key=lambda axis: grid.spacing_mm[axis] * stride[axis])] += 1
    every = tuple(slice(None, None, s) for s in stride)
    return replace(
        sketched, seen_mm=sketched.seen_mm[every].copy(), stray=sketched.stray[every].copy()
    )
