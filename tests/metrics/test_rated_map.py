"""Counts of a map's probabilities by the number of raters who mark a voxel."""

from __future__ import annotations

import numpy as np
import pytest

from segjury.arrays import Box
from segjury.consensus import pack
from segjury.metrics.rated_map import N_RANGES, ranges_of, rated_box, rated_image

KINDS = ["even", "tiny", "clustered", "with zeros", "zeros alone", "double"]


def many(kind, n=300_000):
    """More voxels than are looked at together, and many in one range."""
    rng = np.random.default_rng(0)
    p = {
        "even": lambda: rng.random(n),
        "tiny": lambda: 10 ** rng.uniform(-45, 0, n),
        "clustered": lambda: 0.3 + 1e-5 * rng.random(n),
        "with zeros": lambda: rng.random(n) * (rng.random(n) < 0.3),
        "zeros alone": lambda: np.zeros(n),
        "double": lambda: 0.3 + 1e-12 * rng.random(n),
    }[kind]()
    raters = rng.random((2, n)) < 0.001
    p = p if kind == "double" else p.astype(np.float32)
    return raters.reshape(2, -1, 10, 10), p.reshape(-1, 10, 10)


def rated(raters, p):
    return rated_box(pack(raters), 1, p, Box.whole(p.shape))


@pytest.mark.parametrize("kind", KINDS)
def test_counts_and_sums_between_cuts(kind):
    raters, p = many(kind)
    cuts = np.unique(np.concatenate([p.ravel()[::50_000], np.array([0, 0.5, 1], p.dtype)]))
    voxels, sums = rated(raters, p).between(cuts)
    marking = raters.sum(axis=0)
    part = np.searchsorted(cuts, p, "right")
    for k in range(3):
        for number in range(cuts.size + 1):
            here = p[(marking == k) & (part == number)]
            assert voxels[k, number] == here.size
            assert sums[k, number] == pytest.approx(here.sum(dtype=float), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_values_at_ranks(kind):
    raters, p = many(kind)
    ranks = np.array([1, 2, 777, 50_000, 150_000, p.size - 1, p.size])
    found = rated(raters, p).values_at(ranks)
    assert found.tolist() == np.sort(p, axis=None)[ranks - 1].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_below_a_value(kind):
    raters, p = many(kind)
    spread = rated(raters, p).spread
    values = np.unique(np.concatenate([p.ravel()[::10_000], np.array([0, 0.25], p.dtype)]))
    unmarked = np.sort(p[~raters.any(axis=0)])
    below = spread.below(values, spread.members(np.unique(ranges_of(values))))
    assert below.tolist() == np.searchsorted(unmarked, values).tolist()


def test_ranges_grow_with_their_values():
    for dtype in (np.float32, np.float64):
        values = np.sort(10 ** np.random.default_rng(0).uniform(-50, 0, 10_000)).astype(dtype)
        numbers = ranges_of(values)
        assert (np.diff(numbers) >= 0).all()
        ends = np.array([-0.0, 0.0, 1.0, np.nextafter(dtype(1), dtype(2))], dtype)
        assert ranges_of(ends)[:2].tolist() == [0, 0]
        assert ranges_of(ends)[2:].max() < N_RANGES


def test_spans_may_leave_out_what_is_zero():
    raters, p = many("with zeros")
    raters[:, 100:], p[100:] = False, 0
    raters, p = (np.asfortranarray(np.moveaxis(a, -3, -1)) for a in (raters, p))
    patterns = pack(raters)
    spans = [(0, 4096), (4096, 5000), (5000, 10_000)]
    whole, part = rated(raters, p), rated_image(patterns, 1, p, spans)
    cuts = np.array([0.2, 0.7], p.dtype)
    for a, b in zip(whole.between(cuts), part.between(cuts), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert whole.voxels_by_raters.tolist() == part.voxels_by_raters.tolist()
