from __future__ import annotations

import numpy as np
import pytest
import SimpleITK as sitk
from hypothesis import given, settings
from hypothesis import strategies as st

from segjury import consensus
from segjury.consensus import pack

SHAPE = (4, 5, 6)


def images(masks):
    return [sitk.GetImageFromArray(mask.astype(np.uint8)) for mask in masks]


@st.composite
def raters(draw, *, n_labels=2, odd=False):
    """Raters from careful to hopeless, some of them empty or marking everything."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth = rng.integers(0, n_labels, SHAPE) * (
        rng.random(SHAPE) < draw(st.sampled_from([0.1, 0.6]))
    )
    masks = []
    for _ in range(draw(st.sampled_from([1, 3, 5]) if odd else st.integers(1, 5))):
        error = rng.random(SHAPE) < draw(st.sampled_from([0.0, 0.05, 0.3]))
        mask = np.where(error, rng.integers(0, n_labels, SHAPE), truth)
        kind = draw(st.sampled_from(["marks"] * 6 + ["nothing", "everything"]))
        masks.append({"marks": mask, "nothing": mask * 0, "everything": mask * 0 + 1}[kind])
    return np.stack(masks)


@settings(max_examples=150, deadline=None)
@given(raters())
def test_staple_is_simpleitks_mask_for_mask(masks):
    itk = sitk.GetArrayFromImage(sitk.STAPLE(images(masks), 1.0))
    patterns = pack(masks)
    found = consensus.staple(patterns)
    np.testing.assert_array_equal(patterns.image(found.foreground), itk > 0.5)
    np.testing.assert_allclose(patterns.image(found.probability), itk, rtol=1e-6, atol=1e-9)


def test_staple_of_nobody_and_of_everybody_is_empty_as_simpleitks():
    for value in (0, 1):
        masks = np.full((3, *SHAPE), value)
        assert not (sitk.GetArrayFromImage(sitk.STAPLE(images(masks), 1.0)) > 0.5).any()
        patterns = pack(masks)
        assert not patterns.image(consensus.staple(patterns).foreground).any()


def test_what_every_rater_marks_everywhere_is_the_consensus():
    for value in (0, 1):
        patterns = pack(np.full((3, *SHAPE), value))
        assert (patterns.image(consensus.staple_foreground(patterns)) == value).all()


def test_staple_recovers_raters_of_known_quality():
    rng = np.random.default_rng(1)
    truth = rng.random((40, 40, 40)) < 0.2
    sensitivity, specificity = np.array([0.95, 0.8, 0.6]), np.array([0.99, 0.97, 0.9])
    masks = [
        np.where(truth, rng.random(truth.shape) < p, rng.random(truth.shape) > q)
        for p, q in zip(sensitivity, specificity, strict=True)
    ]
    found = consensus.staple(pack(np.stack(masks)))
    np.testing.assert_allclose(found.sensitivity, sensitivity, atol=0.05)
    np.testing.assert_allclose(found.specificity, specificity, atol=0.02)


@settings(max_examples=60, deadline=None)
@given(raters(n_labels=3, odd=True))
def test_multilabel_staple_is_simpleitks_where_the_vote_has_no_ties(masks):
    patterns = pack(masks, n_labels=3)
    if (consensus.majority(patterns)[patterns.codes] == 3).any() or masks.max() < 2:
        return
    itk = sitk.MultiLabelSTAPLEImageFilter()
    itk.SetMaximumNumberOfIterations(1000)
    expected = sitk.GetArrayFromImage(itk.Execute(images(masks)))
    found = consensus.multilabel_staple(patterns)
    np.testing.assert_array_equal(patterns.image(found.labels), expected)


@settings(max_examples=40, deadline=None)
@given(raters(n_labels=3))
def test_votes_are_simpleitks(masks):
    expected = sitk.GetArrayFromImage(sitk.LabelVoting(images(masks), 3))
    patterns = pack(masks, n_labels=3)
    np.testing.assert_array_equal(patterns.image(consensus.majority(patterns)), expected)


def test_regions_and_simple_consensus_by_hand():
    a = np.array([[[1, 1, 0, 0]]])
    b = np.array([[[1, 0, 1, 0]]])
    patterns = pack(np.stack([a, b]))
    assert patterns.image(consensus.soft_mean(patterns)).ravel().tolist() == [1, 0.5, 0.5, 0]
    assert patterns.image(consensus.intersection(patterns)).ravel().tolist() == [1, 0, 0, 0]
    assert patterns.image(consensus.union(patterns)).ravel().tolist() == [1, 1, 1, 0]
    for region, expected in (
        ("foreground", [1, 0, 0, 0]),
        ("background", [0, 0, 0, 1]),
        ("dissensus", [0, 1, 1, 0]),
    ):
        found = patterns.image(consensus.agreement_region(patterns, region))
        assert found.ravel().tolist() == expected


@settings(max_examples=30, deadline=None)
@given(raters(n_labels=4))
def test_packing_loses_nothing(masks):
    patterns = pack(masks, n_labels=4)
    np.testing.assert_array_equal(patterns.labels[patterns.codes], np.moveaxis(masks, 0, -1))
    np.testing.assert_array_equal(
        patterns.counts, np.bincount(patterns.codes.ravel(), minlength=patterns.n_codes)
    )


def test_what_cannot_be_packed_is_refused():
    with pytest.raises(ValueError, match="too many"):
        pack(np.zeros((17, 2, 2, 2)))
    with pytest.raises(ValueError, match="labels outside 0 to 1"):
        pack(np.full((1, 2, 2, 2), 2))
    with pytest.raises(ValueError, match="no rater"):
        pack(np.zeros((0, 2, 2, 2)))
