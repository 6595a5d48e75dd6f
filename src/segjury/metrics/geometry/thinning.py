"""Thinning of a mask to a skeleton one voxel wide, with the same topology."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import LONGEST_SPAN, Bools, Ints, Shape, bounding_box, coordinates, flat
from segjury.metrics.geometry.dimension import flat_axes, is_volume, stood_up
from segjury.metrics.geometry.neighbourhood import (
    CENTRE,
    OFFSETS,
    ORDER,
    Codes,
    Neighbourhood,
    bits,
    neighbourhood,
    voxels_of,
)
from segjury.metrics.inputs import as_array

Thinning = Literal["lee", "topology-preserving"]

FACES = bits(ORDER == 1)
WITHOUT_CORNERS = bits((ORDER == 1) | (ORDER == 2))
DIRECTIONS = (22, 4, 16, 10, 14, 12)  # +z, -z, +y, -y, +x, -x
# Bits that have a next and a previous one along x and along y.
NEXT_X, PREVIOUS_X = bits(OFFSETS[:, 0] < 1), bits(OFFSETS[:, 0] > -1)
NEXT_Y, PREVIOUS_Y = bits(OFFSETS[:, 1] < 1), bits(OFFSETS[:, 1] > -1)
ONE, THREE, NINE = np.uint32(1), np.uint32(3), np.uint32(9)


def thin_voxels(voxels: Ints, shape: Shape, thinning: Thinning) -> Ints:
    """The skeleton of a mask by one of the thinnings, from and to flat voxel indices.

    `lee`: Lee et al. 1994 as in scikit-image, the usual one; it can lose whole vessels.
    `topology-preserving`: see `skeleton`.
    """
    if thinning not in get_args(Thinning):
        expected = ", ".join(get_args(Thinning))
        raise ValueError(f"thinning is {thinning!r}, expected one of {expected}")
    return _lee(voxels, shape) if thinning == "lee" else skeleton_voxels(voxels, shape)


def _lee(voxels: Ints, shape: Shape) -> Ints:
    from skimage.morphology import skeletonize

    shape, _ = stood_up(shape)
    box = bounding_box(voxels, shape)
    if box is None:
        return voxels
    mask = np.zeros(box.shape, bool)
    for start in range(0, voxels.size, LONGEST_SPAN):
        mask[box.places(voxels[start : start + LONGEST_SPAN], shape)] = True
    plane = mask if is_volume(shape) else mask[:, 0]
    x, y, z = np.nonzero(skeletonize(plane, method="lee").reshape(mask.shape))
    thin = (x + box.x.start) + shape[0] * ((y + box.y.start) + shape[1] * (z + box.z.start))
    return np.sort(thin)


def skeleton(mask: ArrayLike) -> Bools:
    """The skeleton of a mask: curves along its middle, and surfaces only around its cavities.

    Layer by layer, from six directions in turn (in 2D from four), voxels are removed whose removal
    changes no component, tunnel or cavity (simple points, Bertrand and Malandain 1994) and that are
    no end of a curve. Voxels removed at once are never neighbours (eight subfields of the grid), so
    that no removal spoils the test of another, and the skeleton has the Betti numbers of the mask.
    The thinning of Lee et al. 1994 as in scikit-image looks for ends before a layer is removed,
    not while, and so loses whole vessels, among them every bar 2 x 2 voxels wide.
    The skeleton of a component depends on nothing else. It may lie one voxel beside when the
    image is mirrored, and ends about a vessel's radius before the vessel does.
    """
    voxels, shape = voxels_of(mask)
    thin = np.zeros(as_array(mask, "mask").shape, bool, order="F")
    flat(thin)[skeleton_voxels(voxels, shape)] = True
    return thin


def skeleton_voxels(voxels: Ints, shape: Shape) -> Ints:
    """`skeleton` from and to flat voxel indices (x fastest, ascending)."""
    shape, _ = stood_up(shape)
    directions = [d for d in DIRECTIONS if not OFFSETS[d][list(flat_axes(shape))].any()]
    around = neighbourhood(voxels, shape)
    x, y, z = coordinates(voxels, shape)
    subfield = ((x & 1) + 2 * (y & 1) + 4 * (z & 1)).astype(np.int8)
    code = around.code.copy()
    left = np.arange(len(voxels))
    before = -1
    while before != (before := len(left)):
        for direction in directions:
            left = _peeled(left, direction, code, subfield, around)
    return voxels[left]


def _peeled(
    left: Ints, direction: int, code: Codes, subfield: NDArray[np.int8], around: Neighbourhood
) -> Ints:
    """What is left without the layer that is free in one direction; keeps `code` up to date."""
    layer = left[code[left] >> np.uint32(direction) & ONE == 0]
    layer = layer[(np.bitwise_count(code[layer]) > 1) & _is_simple(code[layer])]
    in_layer, gone = np.zeros((2, len(code)), bool)
    in_layer[layer] = True
    for field in range(8):
        some = layer[subfield[layer] == field]
        some = some[_is_simple(code[some])]
        if not some.size:
            continue
        ends = np.bitwise_count(code[some]) == 1
        some = np.concatenate([some[~ends], _loose(some[ends], code, in_layer, around)])
        gone[some] = True
        for bit, _, place in around.of(some):
            code[place] &= ~np.uint32(1 << 2 * CENTRE - bit)  # seen from there, the opposite bit
    return left[~gone[left]]


def _loose(ends: Ints, code: Codes, in_layer: Bools, around: Neighbourhood) -> Ints:
    """Ends that are what is left of a layer: they hang on a voxel that is not of the layer.

    One that hangs on a voxel of the layer is the end of a curve that lies in it.
    """
    loose = np.zeros(len(ends), bool)
    if not ends.size:
        return ends
    for bit, member, place in around.of(ends):
        last = code[ends[member]] == 1 << bit
        loose[member[last]] = ~in_layer[place[last]]
    return ends[loose]


def _is_simple(code: Codes) -> Bools:
    """Whether removing the voxel keeps the topology.

    It does if its neighbours hang together (26-connected) and the background beside its faces
    hangs together without passing a corner (6-connected).
    """
    whole = _reached(_lowest(code), code, _spread_26) == code
    background = ~code & WITHOUT_CORNERS
    beside = background & FACES
    around = _reached(_lowest(beside), background, _spread_6) & FACES == beside
    return np.asarray(whole & around & (code != 0) & (beside != 0))


def _lowest(code: Codes) -> Codes:
    return code & (~code + ONE)


def _reached(seed: Codes, within: Codes, spread: Callable[[Codes], Codes]) -> Codes:
    """What can be reached from the seed step by step."""
    while True:
        more = spread(seed) & within
        if np.array_equal(more, seed):
            return more
        seed = more


def _spread_26(code: Codes) -> Codes:
    code = code | _beside(code, ONE, NEXT_X, PREVIOUS_X)
    code = code | _beside(code, THREE, NEXT_Y, PREVIOUS_Y)
    return np.asarray(code | code << NINE | code >> NINE)


def _spread_6(code: Codes) -> Codes:
    along_x = _beside(code, ONE, NEXT_X, PREVIOUS_X)
    along_y = _beside(code, THREE, NEXT_Y, PREVIOUS_Y)
    return np.asarray(code | along_x | along_y | code << NINE | code >> NINE)


def _beside(code: Codes, step: np.uint32, has_next: np.uint32, has_previous: np.uint32) -> Codes:
    return np.asarray((code & has_next) << step | (code & has_previous) >> step)
