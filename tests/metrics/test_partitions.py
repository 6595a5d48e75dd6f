"""Masks as partitions: the tool's numbers, scikit-learn's, and the definitions spelt out."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy, f_oneway

from segjury.metrics import partitions
from segjury.metrics.confusion import Confusion
from segjury.metrics.partitions import (
    PARTITION_MEASURES,
    adjusted_rand_from,
    gce,
    gce_from,
    icc,
    icc_from,
    kappa_from,
    mi,
    mi_from,
    rand_from,
    voi_from,
)
from tests.evaluatesegmentation import REFUSED, SCORED

each_pair = pytest.mark.parametrize("pair", SCORED, ids=lambda pair: pair.name)
TOOL_NAMES = {
    "mi": "MUTINF",
    "voi": "VARINFO",
    "rand": "RNDIND",
    "adjusted_rand": "ADJRIND",
    "kappa": "KAPPA",
}
# Printed by scikit-learn 1.9.1 for masks with these counts (tp, fp, fn, tn); mi and voi, the latter
# from homogeneity and completeness, were divided by ln 2.
SKLEARN = {
    (7, 3, 5, 85): {
        "mi": 0.16264268912900298,
        "voi": 0.6730710806186398,
        "rand": 0.8513131313131314,
        "adjusted_rand": 0.5318066157760815,
        "kappa": 0.5918367346938775,
    },
    (1, 9, 4, 6): {
        "mi": 0.09130503043715808,
        "voi": 1.6286680635848167,
        "rand": 0.5210526315789473,
        "adjusted_rand": 0.0526027397260274,
        "kappa": -0.3,
    },
    (40, 0, 12, 948): {
        "mi": 0.20176599754322588,
        "voi": 0.13359301335916335,
        "rand": 0.9762642642642643,
        "adjusted_rand": 0.8520156039327207,
        "kappa": 0.8633879781420766,
    },
    (0, 3, 4, 20): {
        "mi": 0.027388868501550458,
        "voi": 1.0536671744059654,
        "rand": 0.6011396011396012,
        "adjusted_rand": -0.10885458976441917,
        "kappa": -0.1454545454545455,
    },
}

few = settings(max_examples=40)
small_counts = st.builds(Confusion, *[st.integers(0, 6)] * 4)
positive_counts = st.builds(Confusion, *[st.integers(1, 6)] * 4)


def labels(counts):
    """For each voxel, whether it is in the reference and in the prediction."""
    cells = [(1, 1), (0, 1), (1, 0), (0, 0)]
    numbers = (counts.tp, counts.fp, counts.fn, counts.tn)
    return [cell for cell, number in zip(cells, numbers, strict=True) for _ in range(number)]


@each_pair
@pytest.mark.parametrize(("name", "tool_name"), TOOL_NAMES.items())
def test_measures_are_the_tools(name, tool_name, pair):
    value = getattr(partitions, name)(pair.reference, pair.prediction)
    assert value == pytest.approx(pair.values[tool_name], rel=0, abs=1e-12)


@each_pair
@pytest.mark.parametrize(("measure", "tool_name"), [(gce, "GCOERR"), (icc, "ICCORR")])
def test_the_tools_own_convention(measure, tool_name, pair):
    value = measure(pair.reference, pair.prediction, convention="evaluatesegmentation")
    assert value == pytest.approx(pair.values[tool_name], rel=0, abs=1e-12)


@pytest.mark.parametrize("pair", REFUSED, ids=lambda pair: pair.name)
def test_what_the_tool_refuses_is_undefined(pair):
    assert math.isnan(mi(pair.reference, pair.prediction))


@pytest.mark.parametrize(("table", "expected"), SKLEARN.items())
def test_measures_are_scikit_learns(table, expected):
    found = {metric.name: of(Confusion(*table)) for metric, of in PARTITION_MEASURES.items()}
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-12)


@few
@given(counts=positive_counts)
def test_information_is_a_sum_of_entropies(counts):
    joint = np.array([[counts.tp, counts.fn], [counts.fp, counts.tn]], float)
    of_reference, of_prediction = (entropy(joint.sum(axis=axis), base=2) for axis in (1, 0))
    both = entropy(joint.ravel(), base=2)
    assert mi_from(counts) == pytest.approx(of_reference + of_prediction - both, abs=1e-14)
    assert voi_from(counts) == pytest.approx(2 * both - of_reference - of_prediction, abs=1e-14)


def test_information_of_halves():
    assert mi_from(Confusion(8, 0, 0, 8)) == 1.0
    assert mi_from(Confusion(0, 8, 8, 0)) == 1.0  # a complement tells as much
    assert mi_from(Confusion(4, 4, 4, 4)) == 0.0
    assert voi_from(Confusion(4, 4, 4, 4)) == 2.0
    assert voi_from(Confusion(8, 0, 0, 8)) == 0.0


@few
@given(counts=small_counts)
def test_rand_counts_pairs(counts):
    pairs = list(itertools.combinations(labels(counts), 2))
    if not pairs:
        assert math.isnan(rand_from(counts))
        return
    agreed = sum((a[0] == b[0]) == (a[1] == b[1]) for a, b in pairs)
    assert rand_from(counts) == agreed / len(pairs)


def test_pairs_of_large_images_do_not_overflow():
    m = 100_000_000  # voxels in each of four equal cells; n² is 1.6e17, n⁴ 2.6e34
    counts = Confusion(*[np.int64(m)] * 4)
    assert rand_from(counts) == (2 * m - 1) / (4 * m - 1)
    # joined 2m(m-1), in each mask 2m(2m-1), of 2m(4m-1) pairs
    mean, expected = 2 * m - 1, Fraction((2 * m - 1) ** 2, 4 * m - 1)
    assert adjusted_rand_from(counts) == float((m - 1 - expected) / (mean - expected))
    assert kappa_from(counts) == 0.0


def test_adjusted_rand_reaches_its_lower_bound():
    tables = itertools.product(range(7), repeat=4)
    values = [adjusted_rand_from(Confusion(*table)) for table in tables]
    assert np.nanmin(values) == adjusted_rand_from(Confusion(1, 1, 1, 1)) == -0.5


def local_error(voxels, place, towards):
    """Summed over the voxels: the share of a voxel's region that the other mask cuts off."""
    total = Fraction(0)
    for voxel in voxels:
        region = [other for other in voxels if other[place] == voxel[place]]
        outside = [other for other in region if other[towards] != voxel[towards]]
        total += Fraction(len(outside), len(region))
    return total


@few
@given(counts=positive_counts)
def test_the_consistency_error_is_martins(counts):
    voxels = labels(counts)
    error = min(local_error(voxels, 0, 1), local_error(voxels, 1, 0)) / len(voxels)
    assert gce_from(counts) == float(error)


@pytest.mark.parametrize("table", [(0, 0, 3, 5), (0, 3, 0, 5), (4, 2, 0, 0), (4, 0, 2, 0)])
def test_a_single_region_has_no_consistency_error(table):
    assert math.isnan(gce_from(Confusion(*table)))


@few
@given(counts=positive_counts)
def test_icc_is_that_of_a_one_way_analysis_of_variance(counts):
    f = f_oneway(*[list(map(float, voxel)) for voxel in labels(counts)]).statistic
    assert icc_from(counts) == pytest.approx((f - 1) / (f + 1), abs=1e-12)


def test_extremes_of_icc_and_kappa():
    for measure in (icc_from, kappa_from):
        assert measure(Confusion(8, 0, 0, 8)) == 1.0
        assert measure(Confusion(0, 8, 8, 0)) == -1.0


@pytest.mark.parametrize("measure", [icc_from, kappa_from, adjusted_rand_from])
def test_equal_masks_agree_whatever_chance_would_give(measure):
    for counts in (Confusion(0, 0, 0, 9), Confusion(9, 0, 0, 0)):  # empty, full
        assert measure(counts) == 1.0
        assert measure(Confusion(counts.tp, counts.tn, counts.tp, counts.tn)) < 1


def test_partitions_do_not_know_the_mask_from_the_background():
    counts, complement = Confusion(7, 3, 5, 85), Confusion(5, 85, 7, 3)  # of the prediction
    for measure in (mi_from, voi_from, gce_from, rand_from, adjusted_rand_from):
        assert measure(complement) == pytest.approx(measure(counts))


@few
@given(counts=small_counts)
def test_all_are_symmetric_and_in_bounds(counts):
    exchanged = Confusion(counts.tp, counts.fn, counts.fp, counts.tn)
    for metric, measure in PARTITION_MEASURES.items():
        value = measure(counts)
        assert value == pytest.approx(measure(exchanged), rel=0, abs=0, nan_ok=True)
        assert math.isnan(value) or metric.bounds[0] <= value <= metric.bounds[1]


def test_an_unknown_convention_is_refused():
    for measure in (gce_from, icc_from):
        with pytest.raises(ValueError, match="convention is 'tool'"):
            measure(Confusion(1, 1, 1, 1), convention="tool")
