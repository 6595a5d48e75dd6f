"""Points within reach of others, against the distance of every point from every other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from segjury.metrics.geometry.surfaces import reach
from segjury.metrics.geometry.surfaces.points import Points
from segjury.metrics.geometry.surfaces.reach import Reach, within_reach


@pytest.fixture(params=["searched", "slabs of a plane", "slabs of 40", "one slab"])
def _way(request, monkeypatch):
    slab = {"searched": 0, "slabs of a plane": 1, "slabs of 40": 40, "one slab": 1 << 24}
    monkeypatch.setattr(reach, "SLAB_VOXELS", slab[request.param])
    monkeypatch.setattr(reach, "MANY_POINTS", 1 << 30 if request.param == "searched" else 0)
    monkeypatch.setattr(reach, "BOX_VOXELS_PER_POINT", 1 << 30)


def up_to(limit, spacing):
    return Reach(limit, lambda d: d <= limit * (1 + 1e-9), spacing)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("seed", range(8))
def test_points_within_reach_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    shape, spacing = (
        tuple(rng.integers(1, 14, 3).tolist()),
        [(1.0, 1.0, 1.0), (0.7, 1.1, 2.5)][seed % 2],
    )
    size = int(np.prod(shape))
    shares = rng.choice([0.02, 0.2, 0.6], 2)
    a, b = (Points(np.flatnonzero(rng.random(size) < s), shape, spacing) for s in shares)
    here, there = (p.indices(np.arange(p.flat.size)) * spacing for p in (a, b))
    nearest = cdist(here, there).min(axis=1, initial=np.inf)
    for limit in (0.0, 1.1, 2.0, 2.5, 5.0, 40.0):
        expected = nearest <= limit * (1 + 1e-9)
        np.testing.assert_array_equal(within_reach(a, b, up_to(limit, spacing)), expected)


@pytest.mark.usefixtures("_way")
def test_a_distance_equal_to_the_limit_is_within_reach():
    # 3 x 0.1 is a little more than 0.3 in floating point, (0.3, 0.4) is 0.5 away
    spacing = (0.1, 0.1, 1.0)
    shape = (9, 9, 2)
    origin = Points(np.array([0]), shape, spacing)
    others = Points(np.array([3, 4, 3 + 9 * 4, 4 + 9 * 4]), shape, spacing)
    assert within_reach(others, origin, up_to(0.3, spacing)).tolist() == [True, False, False, False]
    assert within_reach(others, origin, up_to(0.5, spacing)).tolist() == [True, True, True, False]


@pytest.mark.usefixtures("_way")
def test_nothing_is_within_reach_of_nothing():
    point, nothing = (Points(np.arange(n), (4, 4, 4), (1.0, 1.0, 1.0)) for n in (1, 0))
    assert within_reach(point, nothing, up_to(9.0, point.spacing)).tolist() == [False]
    assert within_reach(nothing, point, up_to(9.0, point.spacing)).size == 0
