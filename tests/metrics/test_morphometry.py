"""Morphometry of vessels whose length, radius and tortuosity are known."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from scipy.spatial import cKDTree

from segjury.metrics.geometry.morphometry import fractal_dimension, morphometrics
from tests.tubes import bent_tube, tube

UNIT = (1.0, 1.0, 1.0)


def around(curve_mm, radius_mm, shape, spacing_mm=UNIT):
    """Voxels whose centres lie within a radius of a curve."""
    voxels_mm = np.indices(shape).reshape(3, -1).T * np.array(spacing_mm)
    return (cKDTree(curve_mm).query(voxels_mm)[0] <= radius_mm).reshape(shape)


def length_of(curve_mm):
    return np.linalg.norm(np.diff(curve_mm, axis=0), axis=1).sum()


@pytest.mark.parametrize("diameter", [2, 3, 5, 8])
def test_straight_tubes_in_all_directions(diameter):
    rng = np.random.default_rng(diameter)
    for _ in range(3):
        found = morphometrics(tube(diameter, rng.normal(size=3)), spacing_mm=UNIT)
        assert len(found.branches) == found.components == 1
        assert (found.ends, found.junctions) == (2, 0)
        assert 39 - 2 * diameter <= found.length_mm <= 41
        assert found.mean_tortuosity == pytest.approx(1.0, abs=0.015)
        assert 2 * found.radius_mm.median == pytest.approx(diameter, rel=0.06)


def test_a_helix():
    turn = np.linspace(0, 3 * np.pi, 4000)
    helix = np.stack([40 + 20 * np.cos(turn), 40 + 20 * np.sin(turn), 15 + 5 * turn], axis=1)
    found = morphometrics(around(helix, 3.0, (80, 80, 80)), spacing_mm=UNIT)
    (branch,) = found.branches
    # The tube ends in half balls, so the skeleton reaches as far as the curve.
    assert branch.length_mm == pytest.approx(length_of(helix), rel=0.01)
    chord = np.linalg.norm(helix[-1] - helix[0])
    assert branch.tortuosity == pytest.approx(length_of(helix) / chord, rel=0.01)
    assert branch.mean_radius_mm == pytest.approx(3.0, rel=0.02)
    assert found.weighted_tortuosity == found.median_tortuosity == branch.tortuosity


def test_voxels_that_are_no_cubes():
    spacing = np.array([0.5, 0.5, 1.25])
    direction = np.array([1.0, 0.6, 1.2]) / np.linalg.norm([1.0, 0.6, 1.2])
    middle = np.array([15.0, 15.0, 30.0])
    line = middle + np.linspace(-15, 15, 500)[:, None] * direction
    found = morphometrics(around(line, 3.0, (60, 60, 48), spacing), spacing_mm=spacing)
    (branch,) = found.branches
    assert branch.mean_radius_mm == pytest.approx(3.0, rel=0.05)
    assert branch.length_mm == pytest.approx(30.0, abs=6.0)
    assert branch.tortuosity == pytest.approx(1.0, abs=0.04)
    capsule_mm3 = math.pi * 9 * 30 + 4 / 3 * math.pi * 27
    assert found.volume_mm3 == pytest.approx(capsule_mm3, rel=0.02)


def test_three_vessels_that_meet():
    middle = np.array([30.0, 30.0, 15.0])
    ends = middle + 25 * np.array([[1, 0, 0], [-0.5, 0.866, 0], [-0.5, -0.866, 0]])
    curves = [middle + np.linspace(0, 1, 200)[:, None] * (end - middle) for end in ends]
    mask = np.any([around(curve, 2.5, (60, 60, 30)) for curve in curves], axis=0)
    found = morphometrics(mask, spacing_mm=UNIT)
    assert len(found.branches) == found.ends == 3
    assert found.junctions == found.components == 1
    assert found.length_mm == pytest.approx(75, rel=0.05)
    assert found.branches_per_mm == pytest.approx(3 / 75, rel=0.05)


def test_densities_and_volume_by_hand():
    mask = np.zeros((30, 20, 9), bool)
    mask[2:23, 4, 4] = True
    mask[12, 4:15, 4] = True
    found = morphometrics(mask, spacing_mm=(1.0, 2.0, 3.0))
    assert found.volume_mm3 == 31 * 6
    assert [branch.length_mm for branch in found.branches] == pytest.approx([10, 10, 20], rel=0.15)
    assert found.branches_per_cm3 == pytest.approx(3 / (21 * 22 * 3 / 1000))


def test_the_rough_wall_of_a_vessel_grows_no_branches():
    rng = np.random.default_rng(0)
    x, y, z = np.indices((60, 30, 30))
    wall = 36 + 60 * ndimage.gaussian_filter(rng.normal(size=x.shape), 1.0)
    mask = ((y - 15) ** 2 + (z - 15) ** 2 <= wall) & (x >= 3) & (x < 57)
    found = morphometrics(ndimage.binary_fill_holes(mask), spacing_mm=UNIT)
    (branch,) = found.branches
    assert branch.mean_radius_mm == pytest.approx(6, rel=0.05)


def test_loops_have_no_tortuosity():
    turn = np.linspace(0, 2 * np.pi, 2000)
    ring = np.stack([20 + 14 * np.cos(turn), 20 + 14 * np.sin(turn), np.full(2000, 6.0)], axis=1)
    found = morphometrics(around(ring, 2.0, (40, 40, 12)), spacing_mm=UNIT)
    (branch,) = found.branches
    assert branch.length_mm == pytest.approx(28 * math.pi, rel=0.03)
    assert math.isnan(branch.tortuosity)
    assert math.isnan(found.mean_tortuosity)
    assert (found.ends, found.junctions) == (0, 0)


def test_nothing_to_measure():
    found = morphometrics(np.zeros((5, 5, 5)), spacing_mm=UNIT)
    assert (found.volume_mm3, found.length_mm, found.components) == (0.0, 0.0, 0)
    assert (found.branches, found.ends, found.junctions) == ((), 0, 0)
    assert math.isnan(found.radius_mm.mean)
    assert math.isnan(found.fractal_dimension)
    assert math.isnan(found.branches_per_mm)
    voxel = morphometrics(np.ones((1, 1, 1)), spacing_mm=(2.0, 2.0, 2.0))
    assert (voxel.volume_mm3, voxel.length_mm, voxel.components) == (8.0, 0.0, 1)
    assert voxel.radius_mm.mean == pytest.approx(math.cbrt(3 * 8 / (4 * math.pi)))  # of the ball


@settings(max_examples=5)
@given(seed=st.integers(0, 1000), factor=st.sampled_from([0.3, 2.5]))
def test_measures_follow_the_spacing(seed, factor):
    mask = bent_tube(4, seed, size=40, length=25) | bent_tube(2, seed + 1, size=40, length=25)
    before = morphometrics(mask, spacing_mm=UNIT)
    after = morphometrics(mask, spacing_mm=(factor,) * 3)
    assert after.volume_mm3 == pytest.approx(factor**3 * before.volume_mm3)
    assert after.length_mm == pytest.approx(factor * before.length_mm)
    assert after.mean_tortuosity == pytest.approx(before.mean_tortuosity)
    assert after.fractal_dimension == pytest.approx(before.fractal_dimension)
    for name, value in dataclasses.asdict(before.radius_mm).items():
        assert getattr(after.radius_mm, name) == pytest.approx(factor * value, rel=1e-6)


@pytest.mark.parametrize(
    ("shape", "dimension"),
    [((128, 1, 1), 1), ((100, 1, 1), 1), ((64, 64, 1), 2), ((90, 1, 90), 2), ((64, 64, 64), 3)],
)
def test_fractal_dimension_of_a_line_a_plane_and_a_cube(shape, dimension):
    assert fractal_dimension(np.ones(shape), spacing_mm=UNIT) == pytest.approx(dimension, abs=0.1)


@pytest.mark.parametrize("octants", [1, 2, 3, 4, 5, 8])
def test_fractal_dimension_of_nested_cubes(octants):
    # A cube of which so many octants are filled, each of them the same way, and so on.
    place = np.indices((64, 64, 64))
    octant = [(place >> level & 1).transpose(1, 2, 3, 0) @ (1, 2, 4) for level in range(6)]
    mask = np.all([of_level >= 8 - octants for of_level in octant], axis=0)
    mask |= np.all(place == 0, axis=0)  # spans the box when the filled ones do not
    expected = math.log2(octants)
    assert fractal_dimension(mask, spacing_mm=UNIT) == pytest.approx(expected, abs=0.25)


def test_fractal_dimension_of_voxels_that_are_no_cubes():
    plate = np.ones((128, 128, 1), bool)
    assert fractal_dimension(plate, spacing_mm=(1, 1, 2)) == pytest.approx(2, abs=0.05)
    assert math.isnan(fractal_dimension(np.ones((15, 15, 15)), spacing_mm=UNIT))
