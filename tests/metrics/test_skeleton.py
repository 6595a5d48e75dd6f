"""Skeletons: topology against GUDHI, centrelines of drawn shapes, lengths by hand, laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy.spatial import cKDTree

from segjury.arrays import flat
from segjury.metrics.geometry.skeleton import branch_count, centreline_length_mm, skeleton_graph
from segjury.metrics.geometry.thinning import skeleton
from tests.tubes import bent_tube, blob, gudhi_numbers, masks, moves, tube

UNIT = (1.0, 1.0, 1.0)


# ---- thinning ------------------------------------------------------------------------------


@settings(max_examples=60)
@given(mask=masks)
def test_thinning_keeps_the_topology(mask):
    thin = skeleton(mask)
    assert not (thin & ~mask).any()
    assert gudhi_numbers(thin) == gudhi_numbers(mask)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000), share=st.sampled_from([0.2, 0.5, 0.8]))
def test_thinning_keeps_the_topology_of_blobs(seed, share):
    mask = blob(seed, share=share)
    thin = skeleton(mask)
    assert gudhi_numbers(thin) == gudhi_numbers(mask)
    assert np.array_equal(skeleton(thin), thin)


@pytest.mark.parametrize("width", [1, 3, 5, 7])
def test_bars_of_odd_width_thin_to_their_middle(width):
    for axis in range(3):
        sides = [width] * 3
        sides[axis] = 30
        at = np.argwhere(skeleton(np.ones(sides, bool)))
        assert (np.delete(at, axis, axis=1) == width // 2).all()
        assert np.ptp(at[:, axis]) >= 29 - width


@pytest.mark.parametrize("width", [*itertools.combinations_with_replacement(range(1, 7), 2)])
def test_no_bar_is_lost(width):
    for sides in set(itertools.permutations((*width, 30))):
        graph = skeleton_graph(skeleton(np.ones(sides, bool)), spacing_mm=UNIT)
        assert len(graph.branches) == 1
        assert 29 - max(width) - 1 <= graph.branches[0].length_mm <= 31


@pytest.mark.parametrize("diameter", [1.8, 2, 3, 4, 5, 7, 10, 14])
def test_smooth_tubes_thin_to_one_curve_along_their_axis(diameter):
    for seed in range(3):
        mask = bent_tube(diameter, seed)
        graph = skeleton_graph(skeleton(mask), spacing_mm=UNIT)
        assert len(graph.branches) == 1
        assert graph.branches[0].length_mm >= 0.95 * 45 - diameter
        depth = ndimage.distance_transform_edt(mask)
        assert depth[skeleton(mask)].mean() > 0.7 * depth.max()


def test_the_skeleton_of_a_component_depends_on_nothing_else():
    mask = np.zeros((40, 30, 30), bool)
    mask[:20, :20, :20] = blob(4)
    alone = skeleton(mask)
    mask[25:39, 10:28, 12:29] = True
    assert np.array_equal(skeleton(mask)[:22], alone[:22])


def test_skeletons_of_almost_nothing():
    assert not skeleton(np.zeros((3, 4, 5))).any()
    assert skeleton(np.ones((1, 1, 1))).all()
    assert skeleton(np.ones((7, 6, 5))).sum() >= 1


# ---- graph ---------------------------------------------------------------------------------


def drawn(*strokes):
    """A mask with straight strokes, each from voxel to voxel in equal steps."""
    mask = np.zeros((24, 24, 3), bool)
    for start, stop in strokes:
        steps = max(abs(a - b) for a, b in zip(start, stop, strict=True))
        for k in range(steps + 1):
            x, y = (a + (b - a) * k // max(steps, 1) for a, b in zip(start, stop, strict=True))
            mask[x, y, 1] = True
    return mask


DIAGONAL = math.sqrt(2)
LINE = ((2, 2), (12, 2))
SQUARE = (((2, 2), (7, 2)), ((7, 2), (7, 7)), ((7, 7), (2, 7)), ((2, 7), (2, 2)))
DRAWN = {  # name: strokes, branches, ends, junctions, length
    "nothing": ((), 0, 0, 0, 0.0),
    "voxel": ((((3, 3), (3, 3)),), 0, 0, 0, 0.0),
    "pair": ((((3, 3), (4, 4)),), 1, 2, 0, DIAGONAL),
    "line": ((LINE,), 1, 2, 0, 10.0),
    "diagonal": ((((2, 2), (12, 12)),), 1, 2, 0, 10 * DIAGONAL),
    "two lines": ((LINE, ((2, 9), (6, 9))), 2, 4, 0, 14.0),
    "L": ((LINE, ((12, 2), (12, 9))), 1, 2, 0, 17.0),
    "T": ((LINE, ((7, 2), (7, 9))), 3, 3, 1, 17.0),
    "Y": (
        (((10, 2), (10, 8)), ((10, 8), (15, 13)), ((10, 8), (5, 13))),
        *(3, 3, 1, 6 + 10 * DIAGONAL),
    ),
    "cross": ((((2, 8), (14, 8)), ((8, 2), (8, 14))), 4, 4, 1, 24.0),
    "X": ((((2, 2), (12, 12)), ((2, 12), (12, 2))), 4, 4, 1, 20 * DIAGONAL),
    "ring": (SQUARE, 1, 0, 0, 20.0),
    "ring with a tail": ((*SQUARE, ((7, 5), (15, 5))), 2, 1, 1, 28.0),
    "H": ((((2, 2), (2, 12)), ((9, 2), (9, 12)), ((2, 7), (9, 7))), 5, 4, 2, 27.0),
}


@pytest.mark.parametrize("name", DRAWN)
def test_graphs_of_drawn_skeletons(name):
    strokes, branches, ends, junctions, length = DRAWN[name]
    for move in (lambda a: a, lambda a: a.transpose(2, 1, 0), lambda a: a[::-1, :, ::-1]):
        graph = skeleton_graph(move(drawn(*strokes)), spacing_mm=UNIT)
        assert len(graph.branches) == branches
        assert len(graph.ends) == ends
        assert len(graph.junctions_mm) == junctions
        assert sum(branch.length_mm for branch in graph.branches) == pytest.approx(length)


def test_branches_run_in_order_from_end_to_junction():
    graph = skeleton_graph(drawn(*DRAWN["T"][0]), spacing_mm=(2.0, 1.0, 1.0))
    assert graph.junctions_mm.tolist() == [[14.0, 2.0, 1.0]]
    lengths = sorted(branch.length_mm for branch in graph.branches)
    assert lengths == [7.0, 10.0, 10.0]
    for branch in graph.branches:
        steps = np.linalg.norm(np.diff(branch.points_mm, axis=0), axis=1)
        assert set(steps.tolist()) in ({1.0}, {2.0})
        assert branch.chord_mm == branch.length_mm
        assert branch.junctions == 1


def test_a_loop_has_no_chord():
    (loop,) = skeleton_graph(drawn(*SQUARE), spacing_mm=UNIT).branches
    assert (loop.length_mm, loop.chord_mm, loop.junctions) == (20.0, 0.0, 0)
    assert len(loop.voxels) == 20


def test_lengths_and_branches_of_masks():
    bar = np.ones((31, 3, 3), bool)
    assert centreline_length_mm(bar, spacing_mm=(0.5, 1, 1)) == pytest.approx(15, abs=1.5)
    assert branch_count(bar) == 1
    assert centreline_length_mm(np.zeros((3, 3, 3)), spacing_mm=UNIT) == 0.0
    assert branch_count(np.zeros((3, 3, 3))) == 0
    cross = drawn(((2, 10), (20, 10)), ((10, 2), (10, 20)))
    wide = ndimage.binary_dilation(np.pad(cross, 1), np.ones((3, 3, 3)))
    assert branch_count(wide) == 4
    assert centreline_length_mm(wide, spacing_mm=UNIT) == pytest.approx(36, abs=3)


@st.composite
def scribbles(draw):
    """Skeletons of random walks."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    mask = np.zeros((14, 12, 10), bool)
    for _ in range(3):
        walk = rng.uniform(2, 8, 3) + rng.normal(size=(20, 3)).cumsum(axis=0)
        at = np.clip(walk.round().astype(int), 0, np.array(mask.shape) - 1)
        mask[tuple(at.T)] = True
    return skeleton(mask)


@settings(max_examples=20)
@given(thin=scribbles(), factor=st.sampled_from([0.3, 2.0]))
def test_lengths_follow_flips_permutations_and_spacing(thin, factor):
    spacing = np.array([0.5, 1.0, 2.5])
    before = sum(b.length_mm for b in skeleton_graph(thin, spacing_mm=spacing).branches)
    scaled = sum(b.length_mm for b in skeleton_graph(thin, spacing_mm=factor * spacing).branches)
    assert scaled == pytest.approx(factor * before)
    for axes in itertools.permutations(range(3)):
        moved = np.flip(thin.transpose(axes), axes[0])
        graph = skeleton_graph(moved, spacing_mm=spacing[list(axes)])
        assert sum(b.length_mm for b in graph.branches) == pytest.approx(before)


@settings(max_examples=20)
@given(thin=scribbles())
def test_nodes_and_branches_make_up_the_topology(thin):
    graph = skeleton_graph(thin, spacing_mm=UNIT)
    in_branches = np.concatenate([np.zeros(0, int), *(b.voxels for b in graph.branches)])
    assert len(np.unique(in_branches)) == len(in_branches)
    loops = sum(b.chord_mm == 0 and b.junctions == 0 for b in graph.branches)
    sizes = np.bincount(ndimage.label(thin, np.ones((3, 3, 3)))[0].ravel())[1:]
    alone = np.count_nonzero(sizes == 1)
    nodes = len(graph.ends) + len(graph.junctions_mm) + alone + loops
    # Voxels of a junction may stand around a tunnel or a cavity, which the graph does not see.
    junctions = thin.copy(order="F")
    flat(junctions)[graph.voxels[in_branches]] = False
    whole, hidden = gudhi_numbers(thin), gudhi_numbers(junctions)
    euler = whole.components - whole.tunnels + whole.cavities
    assert euler == nodes - len(graph.branches) - hidden.tunnels + hidden.cavities


def test_skeletons_lie_at_most_a_voxel_apart_when_the_image_is_moved():
    mask = tube(5, (1, 2, 3), size=40, length=25)
    here = np.argwhere(skeleton(mask))
    places = np.arange(mask.size).reshape(mask.shape)
    for move in list(moves())[::5]:
        there = np.stack(np.unravel_index(move(places)[skeleton(move(mask))], mask.shape), axis=1)
        assert cKDTree(here).query(there)[0].max() < 4
        assert np.median(cKDTree(here).query(there)[0]) <= 1
