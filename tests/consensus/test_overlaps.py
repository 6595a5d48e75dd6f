"""What several masks have in common, from bits, beside counts of whole arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segjury.arrays import LONGEST_SPAN
from segjury.consensus import PackedMask, overlaps


def packed(masks):
    return [PackedMask.of(np.flatnonzero(mask)) for mask in masks]


def dense_counts(raters, samples):
    """Common voxels of each two masks, and voxels by votes, from whole arrays."""
    masks = np.concatenate([raters, samples])
    common = [[int((a & b).sum()) for b in masks] for a in masks]
    votes = np.zeros((len(raters) + 1, len(samples) + 1), int)
    np.add.at(votes, (raters.sum(axis=0), samples.sum(axis=0)), 1)
    votes[0, 0] = 0
    return common, votes.tolist()


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_raters=st.integers(1, 4),
    n_samples=st.integers(1, 6),
    n_voxels=st.integers(1, 400),
    share=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
)
def test_they_are_those_of_whole_arrays(seed, n_raters, n_samples, n_voxels, share):
    rng = np.random.default_rng(seed)
    raters, samples = (rng.random((n, n_voxels)) < share for n in (n_raters, n_samples))
    found = overlaps(packed(raters), packed(samples))
    common, votes = dense_counts(raters, samples)
    assert found.common.tolist() == common
    assert found.votes.tolist() == votes
    assert found.volumes == (raters.sum(axis=1).tolist(), samples.sum(axis=1).tolist())
    assert (found.n_raters, found.n_samples) == (n_raters, n_samples)


def test_masks_longer_than_a_piece_are_not_cut_inside_a_word():
    rng = np.random.default_rng(0)
    masks = rng.random((3, 2 * LONGEST_SPAN)) < [[0.7], [0.99], [1e-4]]
    masks[:, 5000:200_000] = False
    found = overlaps(packed(masks[:1]), packed(masks[1:]))
    common, votes = dense_counts(masks[:1], masks[1:])
    assert found.common.tolist() == common
    assert found.votes.tolist() == votes


def test_bits_lie_where_voxels_do():
    mask = PackedMask.of(np.array([0, 63, 64, 200]))
    assert mask.places.tolist() == [0, 1, 3]
    assert mask.words.tolist() == [1 | 1 << 63, 1, 1 << (200 - 192)]


def test_no_voxel_at_all():
    nothing = PackedMask.of(np.zeros(0, np.int64))
    found = overlaps([nothing], [nothing, nothing])
    assert not found.common.any()
    assert not found.votes.any()
    assert found.votes.shape == (2, 3)


@pytest.mark.parametrize("n_samples", [255, 256, 300])
def test_more_samples_than_a_byte_counts(n_samples):
    mask = np.array([True, False, True])
    found = overlaps(packed([mask]), packed([mask] * n_samples))
    assert found.votes[1, n_samples] == 2
    assert found.votes.sum() == 2
