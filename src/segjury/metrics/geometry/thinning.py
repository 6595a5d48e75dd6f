"""Thinning of a mask to a skeleton one voxel wide, with the same topology."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.arrays import Bools, Ints, Shape, bounding_box, flat
from segjury.metrics.geometry.dimension import flat_axes, is_volume, stood_up
from segjury.metrics.geometry.neighbourhood import OFFSETS, ORDER, Codes, bits, voxels_of
from segjury.metrics.geometry.peeling import PIECE, Peel, Verdicts
from segjury.metrics.inputs import as_array

Thinning = Literal["lee", "topology-preserving"]

FACES = bits(ORDER == 1)
WITHOUT_CORNERS = bits((ORDER == 1) | (ORDER == 2))
DIRECTIONS = (22, 4, 16, 10, 14, 12)  # +z, -z, +y, -y, +x, -x
# Bits that have a next and a previous one along x and along y.
NEXT_X, PREVIOUS_X = bits(OFFSETS[:, 0] < 1), bits(OFFSETS[:, 0] > -1)
NEXT_Y, PREVIOUS_Y = bits(OFFSETS[:, 1] < 1), bits(OFFSETS[:, 1] > -1)
ONE, THREE, NINE = np.uint32(1), np.uint32(3), np.uint32(9)
KNOWN, SIMPLE, END, CANDIDATE = (np.uint8(1 << bit) for bit in range(4))

LEE_DIRECTIONS = (10, 16, 22, 4, 14, 12)  # -y, +y, +z, -z, +x, -x
LEE_PLANE_DIRECTIONS = (12, 14, 22, 4)  # -x, +x, +z, -z
BEFORE = [bit for bit in range(27) if OFFSETS[bit].tolist() < [0, 0, 0]]  # by x, y and z
# For each face, edge and corner of a voxel, the neighbours that share it, and its part in the
# Euler characteristic.
CELLS = [
    (bits(((OFFSETS[bit] == OFFSETS) | (OFFSETS == 0)).all(axis=1) & (ORDER > 0)), sign)
    for order, sign in ((1, 1), (2, -1), (3, 1))
    for bit in np.flatnonzero(order == ORDER)
]
ROUNDS = 16  # more than noise needs


def thin_voxels(voxels: Ints, shape: Shape, thinning: Thinning) -> Ints:
    """The skeleton of a mask by one of the thinnings, from and to flat voxel indices.

    `lee`: Lee et al. 1994 as in scikit-image, the usual one; it can lose whole vessels.
    `topology-preserving`: see `skeleton`.
    """
    if thinning not in get_args(Thinning):
        expected = ", ".join(get_args(Thinning))
        raise ValueError(f"thinning is {thinning!r}, expected one of {expected}")
    return _lee(voxels, shape) if thinning == "lee" else skeleton_voxels(voxels, shape)


def _thinned(
    voxels: Ints,
    shape: Shape,
    directions: Sequence[int],
    judge: Callable[[Codes], NDArray[np.uint8]],
    remove: Callable[[Ints, Peel, Verdicts], None],
) -> Ints:
    """What is left when layers are removed, from one direction after the other, until none goes.

    A layer are the candidates that are free in the direction. `remove` decides which of them go.
    """
    if not voxels.size:
        return voxels
    peel, verdicts = Peel(voxels, shape, directions), Verdicts(judge)
    unchanged = 0
    for direction in cycle(directions):
        found = [
            place[verdicts.of(peel.code(place)) & CANDIDATE > 0] for place in peel.due(direction)
        ]
        layer = np.concatenate([np.zeros(0, np.int64), *found])
        if layer.size:
            remove(layer, peel, verdicts)
        unchanged = 0 if layer.size else unchanged + 1
        if unchanged == len(directions):
            break
    return peel.left(voxels)


# ---- as in scikit-image --------------------------------------------------------------------


def _lee(voxels: Ints, shape: Shape) -> Ints:
    """The thinning of scikit-image up to 0.26, voxel for voxel."""
    shape, _ = stood_up(shape)
    box = bounding_box(voxels, shape)
    directions: Sequence[int] = LEE_DIRECTIONS
    if not is_volume(shape):
        directions = LEE_PLANE_DIRECTIONS
    elif box and box.shape[0] == 1:
        directions = LEE_DIRECTIONS[:4]  # it takes such a mask for a plane, too
    return _thinned(voxels, shape, directions, _judge_lee, _remove_in_turn)


def _remove_in_turn(candidates: Ints, peel: Peel, verdicts: Verdicts) -> None:
    """Remove one candidate after the other, by x, y and z, if it still is simple then.

    All are marked as gone at first. Then each is judged with its marked neighbours that come
    before it gone, and those after one that was wrong are judged again. As that could take as many
    rounds as candidates lie in a row, after some rounds those that are left are judged in turn,
    many at a time.
    """
    peel.mark(candidates)
    open_ones = candidates
    for _ in range(ROUNDS):
        wrong = _judged_again(open_ones, peel, verdicts)
        open_ones = _following(wrong, candidates, peel)
        if not open_ones.size:
            break
    else:
        turn = _turns(candidates, peel)
        rest = np.flatnonzero(turn >= _turns(open_ones, peel).min())
        rest = rest[np.argsort(turn[rest], kind="stable")]
        for some in np.split(rest, np.flatnonzero(np.diff(turn[rest])) + 1):
            _judged_again(candidates[some], peel, verdicts)
    gone = candidates[peel.is_marked(candidates)]
    peel.unmark(gone)
    peel.remove(gone)


def _judged_again(places: Ints, peel: Peel, verdicts: Verdicts) -> Ints:
    """Mark what goes and unmark what stays, given what is marked before; which were wrong."""
    wrong = [places[:0]]
    for start in range(0, places.size, PIECE):
        some = places[start : start + PIECE]
        code = peel.code(some)
        for bit in BEFORE:
            code &= ~(peel.is_marked(some + peel.step[bit]).astype(np.uint32) << np.uint32(bit))
        goes = verdicts.of(code) & SIMPLE > 0
        other = goes != peel.is_marked(some)
        peel.mark(some[goes & other])
        peel.unmark(some[~goes & other])
        wrong.append(some[other])
    return np.concatenate(wrong)


def _following(places: Ints, candidates: Ints, peel: Peel) -> Ints:
    """The candidates that come after some places and touch one of them."""
    follows = np.zeros(candidates.size, bool)
    for bit in BEFORE:
        after = places - peel.step[bit]
        position = np.minimum(np.searchsorted(candidates, after), candidates.size - 1)
        follows[position[candidates[position] == after]] = True
    return candidates[follows]


def _turns(places: Ints, peel: Peel) -> Ints:
    """The turn of each voxel: after that of all neighbours before it, and of no neighbour's."""
    x, y, z = peel.coordinates(places)
    return np.asarray(4 * x + 2 * y + z)


def _judge_lee(code: Codes) -> NDArray[np.uint8]:
    """Whether a voxel is simple, as Lee has it, and whether it is a candidate.

    It is simple if its neighbours hang together, or if there is none. A candidate is also no end
    of a curve, and its removal leaves the Euler characteristic as it is.
    """
    simple = _reached(_lowest(code), code, _spread_26) == code
    removed = sum(sign * (code & around == 0).astype(np.int8) for around, sign in CELLS)
    candidate = simple & (np.bitwise_count(code) != 1) & (removed == 1)  # the voxel itself is -1
    return np.asarray(KNOWN | simple * SIMPLE | candidate * CANDIDATE)


# ---- keeping the topology ------------------------------------------------------------------


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
    return _thinned(voxels, shape, directions, _judge, _remove_by_subfields)


def _remove_by_subfields(layer: Ints, peel: Peel, verdicts: Verdicts) -> None:
    """Remove the voxels of a layer that still are simple, one subfield after the other."""
    x, y, z = peel.coordinates(layer)
    subfield = ((x & 1) + 2 * (y & 1) + 4 * (z & 1)).astype(np.int8)
    peel.mark(layer)
    for field in range(8):
        some = layer[subfield == field]
        code = peel.code(some)
        verdict = verdicts.of(code)
        goes, end = verdict & SIMPLE > 0, verdict & END > 0
        # An end that hangs on a voxel of the layer is the end of a curve that lies in it; another
        # one is what is left of the layer.
        hangs_on = some[end] + peel.step[np.bitwise_count(code[end] - ONE)]
        goes[end] &= ~peel.is_marked(hangs_on)
        peel.remove(some[goes])
    peel.unmark(layer)


def _judge(code: Codes) -> NDArray[np.uint8]:
    """Whether a voxel is simple, whether it is an end, and, if only the first, a candidate."""
    simple, end = _is_simple(code), np.bitwise_count(code) == 1
    return np.asarray(KNOWN | simple * SIMPLE | end * END | (simple & ~end) * CANDIDATE)


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
