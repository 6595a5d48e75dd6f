"""The table of two masks and its ratios: the tool's numbers, scikit-learn's, and hand counts."""

from __future__ import annotations

import inspect
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segjury.metrics import ratios
from segjury.metrics.confusion import Confusion
from segjury.metrics.ratios import (
    RATIOS,
    accuracy,
    dice,
    dice_from,
    f_beta,
    f_beta_from,
    jaccard,
    precision,
    probabilistic_distance,
    probabilistic_distance_from,
    sensitivity,
    volsim,
)
from tests.evaluatesegmentation import REFUSED, SCORED

each_pair = pytest.mark.parametrize("pair", SCORED, ids=lambda pair: pair.name)
TOOL_NAMES = {
    "dice": "DICE",
    "jaccard": "JACRD",
    "volsim": "VOLSMTY",
    "sensitivity": "SNSVTY",
    "specificity": "SPCFTY",
    "precision": "PRCISON",
    "f_beta": "FMEASR",
    "auc": "AUC",
    "accuracy": "ACURCY",
    "fallout": "FALLOUT",
}

# Printed by scikit-learn 1.9.1 for masks with these counts (tp, fp, fn, tn).
SKLEARN = {
    (7, 3, 5, 85): {
        "auc": 0.7746212121212122,
        "f_2": 0.603448275862069,
        "f_half": 0.6730769230769231,
        "jaccard": 0.4666666666666667,
        "precision": 0.7,
        "accuracy": 0.92,
        "sensitivity": 0.5833333333333334,
    },
    (1, 9, 4, 6): {
        "auc": 0.3,
        "f_2": 0.16666666666666666,
        "f_half": 0.1111111111111111,
        "jaccard": 0.07142857142857142,
        "precision": 0.1,
        "accuracy": 0.35,
        "sensitivity": 0.2,
    },
    (40, 0, 12, 948): {
        "auc": 0.8846153846153846,
        "f_2": 0.8064516129032258,
        "f_half": 0.9433962264150944,
        "jaccard": 0.7692307692307693,
        "precision": 1.0,
        "accuracy": 0.988,
        "sensitivity": 0.7692307692307693,
    },
}

counts_of_voxels = st.builds(Confusion, *[st.integers(0, 50)] * 4)


@each_pair
def test_the_table_is_the_tools(pair):
    counts = Confusion.of(pair.reference, pair.prediction)
    found = (counts.tp, counts.fp, counts.fn, counts.tn, counts.reference, counts.prediction)
    assert found == tuple(pair.values[key] for key in ("TP", "FP", "FN", "TN", "REFVOL", "SEGVOL"))


@each_pair
@pytest.mark.parametrize(("name", "tool_name"), TOOL_NAMES.items())
def test_ratios_are_the_tools(name, tool_name, pair):
    value = getattr(ratios, name)(pair.reference, pair.prediction)
    assert value == pytest.approx(pair.values[tool_name], rel=0, abs=1e-12)


@each_pair
def test_probabilistic_distance(pair):
    masks = pair.reference, pair.prediction
    tools = probabilistic_distance(*masks, convention="evaluatesegmentation")
    assert tools == pytest.approx(pair.values["PROBDST"], abs=1e-12)
    if pair.values["DICE"]:
        assert probabilistic_distance(*masks) == pytest.approx(1 / pair.values["DICE"] - 1)
    else:
        assert math.isnan(probabilistic_distance(*masks))


@pytest.mark.parametrize("pair", REFUSED, ids=lambda pair: pair.name)
@pytest.mark.parametrize("measure", [dice, jaccard, volsim])
def test_what_the_tool_refuses_is_undefined(measure, pair):
    assert math.isnan(measure(pair.reference, pair.prediction))


@pytest.mark.parametrize(("table", "expected"), SKLEARN.items())
def test_rates_are_scikit_learns(table, expected):
    counts = Confusion(*table)
    found = {metric.name: measure(counts) for metric, measure in RATIOS.items()}
    found |= {"f_2": f_beta_from(counts, beta=2), "f_half": f_beta_from(counts, beta=0.5)}
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-14)


def test_masks_drawn_by_hand():
    reference = np.array([[1, 1, 0, 0], [1, 1, 0, 0]])
    prediction = np.array([[0, 1, 1, 0], [0, 1, 0, 0]])
    assert Confusion.of(reference, prediction) == Confusion(tp=2, fp=1, fn=2, tn=3)
    assert dice(reference, prediction) == 4 / 7
    assert jaccard(reference, prediction) == 2 / 5
    assert volsim(reference, prediction) == 6 / 7
    assert sensitivity(reference, prediction) == 2 / 4
    assert precision(reference, prediction) == 2 / 3
    assert accuracy(reference, prediction) == 5 / 8
    assert probabilistic_distance(reference, prediction) == 3 / 4


def test_memory_order_does_not_matter():
    rng = np.random.default_rng(0)
    r, p = rng.random((2, 5, 6, 7)) > 0.6
    assert Confusion.of(r, p) == Confusion.of(np.asfortranarray(r), p)


def test_the_table_from_sizes():
    assert Confusion.of_sizes(4, 3, 2, 8) == Confusion(tp=2, fp=1, fn=2, tn=3)


UNDEFINED = {
    "empty reference": (
        Confusion(0, 3, 0, 9),
        {"dice", "jaccard", "volsim", "sensitivity", "false_negative_rate", "auc"},
    ),
    "empty prediction": (Confusion(0, 0, 3, 9), {"dice", "jaccard", "volsim", "precision"}),
    "no common voxel": (Confusion(0, 2, 3, 9), set()),
    "full reference": (Confusion(5, 0, 3, 0), {"specificity", "fallout", "auc"}),
    "no voxel": (Confusion(0, 0, 0, 0), {metric.name for metric in RATIOS}),
}


@pytest.mark.parametrize(("counts", "names"), UNDEFINED.values(), ids=UNDEFINED)
def test_only_what_has_no_denominator_is_undefined(counts, names):
    undefined = {metric.name for metric, of in RATIOS.items() if math.isnan(of(counts))}
    assert undefined == names | ({"probabilistic_distance"} if counts.tp == 0 else set())


@given(counts=counts_of_voxels, beta=st.sampled_from([0.0, 0.5, 1.0, 3.0]))
def test_the_f_measure_is_the_weighted_harmonic_mean(counts, beta):
    if counts.tp == 0:
        return  # the harmonic mean of zeros has no value
    p, s = Fraction(counts.tp, counts.prediction), Fraction(counts.tp, counts.reference)
    weight = Fraction(beta) ** 2
    expected = (1 + weight) / (1 / p + weight / s)
    assert f_beta_from(counts, beta=beta) == pytest.approx(float(expected), rel=1e-15)


def test_numpys_integers_do_not_overflow():
    counts = Confusion(*np.array([4, 1, 1, 2], np.int32) * 100_000_000)
    assert dice_from(counts) == 0.8
    assert counts.voxels == 800_000_000
    assert all(type(count) is int for count in (counts.tp, counts.fp, counts.fn, counts.tn))


def test_a_measure_of_masks_shows_its_own_signature():
    assert list(inspect.signature(dice).parameters) == ["reference", "prediction"]
    assert str(inspect.signature(f_beta)) == (
        "(reference: 'ArrayLike', prediction: 'ArrayLike', *, beta: 'float' = 1.0) -> 'float'"
    )
    assert inspect.getdoc(f_beta) == inspect.getdoc(f_beta_from)
    assert pickle.loads(pickle.dumps(f_beta)) is f_beta  # noqa: S301 (our own bytes)


def test_mistakes_are_refused():
    with pytest.raises(ValueError, match=r"prediction has shape \(3,\), reference has \(2,\)"):
        dice([True, False], [True, False, True])
    with pytest.raises(ValueError, match="fn is -1, expected a number of voxels"):
        Confusion(tp=1, fp=0, fn=-1, tn=3)
    with pytest.raises(TypeError):
        Confusion(tp=0.5, fp=0, fn=1, tn=3)
    for beta in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="beta is"):
            f_beta([True], [True], beta=beta)
    with pytest.raises(ValueError, match="convention is 'tool', expected one of standard"):
        probabilistic_distance_from(Confusion(1, 0, 0, 1), convention="tool")
