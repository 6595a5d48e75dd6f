"""From a response to a mask: two thresholds by multi-Otsu, hysteresis, no specks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segjury.arrays import Bools, Ints, Shape, flat
from segjury.methods.vessel_labels.responses import STEPS, Responses

BINS = 256
CLASSES = 3  # background, perhaps, vessel


@dataclass(frozen=True)
class Segmentation:
    """A mask, and how it came about."""

    mask: Bools
    low: float  # thresholds on the response; NaN where there are none
    high: float
    voxels: int
    removed_voxels: int  # in clusters that were too small


def segmentation(responses: Responses, setting: int, *, smallest_cluster: int = 3) -> Segmentation:
    """Threshold the response of a setting.

    A response with fewer than three levels has no thresholds, and the mask is empty.
    """
    thresholds = multi_otsu(responses.counts(setting))
    if thresholds is None:
        return Segmentation(np.zeros(responses.shape, bool, order="F"), np.nan, np.nan, 0, 0)
    low, high = (value * responses.settings[setting].threshold_factor for value in thresholds)
    mask = hysteresis(
        responses.above(setting, low), responses.above(setting, high), responses.shape
    )
    before = int(mask.sum())
    remove_small(mask, smallest_cluster)
    after = int(mask.sum())
    return Segmentation(mask, low / STEPS, high / STEPS, after, before - after)


def multi_otsu(counts: Ints) -> tuple[float, float] | None:
    """Two thresholds that divide values 0, 1, ... with these counts into three classes.

    The values go into 256 bins from the lowest to the highest; the thresholds are those centres of
    bins that make the variance between the classes largest (Liao et al. 2001). None where fewer
    than three bins have a value.
    """
    from skimage.filters import threshold_multiotsu

    values = np.flatnonzero(counts)
    heights, edges = np.histogram(values, BINS, weights=counts[values])
    if np.count_nonzero(heights) < CLASSES:
        return None
    centres = (edges[:-1] + edges[1:]) / 2
    low, high = threshold_multiotsu(hist=(heights, centres), classes=CLASSES)
    return float(low), float(high)


def hysteresis(low: Ints, high: Ints, shape: Shape) -> Bools:
    """Voxels above the low threshold that hang together, by faces, with one above the high one.

    Both are flat indices, x fastest. The same mask as `skimage.filters.apply_hysteresis_threshold`.
    """
    mask = np.zeros(shape, bool, order="F")
    flat(mask)[low] = True
    parts = _parts(mask, 1)
    kept = np.zeros(int(parts.max(initial=0)) + 1, bool)
    kept[parts[high]] = True
    kept[0] = False
    flat(mask)[low] = kept[parts[low]]
    return mask


def remove_small(mask: Bools, smallest_cluster: int) -> None:
    """Empty the parts, joined by faces, edges or corners, with fewer voxels than this."""
    if smallest_cluster <= 1:
        return
    parts = _parts(mask, 3)
    voxels = np.flatnonzero(parts)
    sizes = np.bincount(parts[voxels])
    flat(mask)[voxels] = sizes[parts[voxels]] >= smallest_cluster


def _parts(mask: Bools, connectivity: int) -> NDArray[np.int32]:
    """Number of the part that each voxel belongs to, x fastest; 0 outside the mask."""
    structure = ndimage.generate_binary_structure(3, connectivity)
    parts, _ = ndimage.label(mask.T, structure)  # as it lies in memory
    return np.asarray(parts.reshape(-1))
