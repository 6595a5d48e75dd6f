"""Groups of methods not told apart: drawn by hand, and all contiguous sets by brute force."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segjury.analysis.statistics.cliques import cliques, letters


@st.composite
def decisions(draw):
    methods = draw(st.integers(1, 8))
    differs = np.zeros((methods, methods), bool)
    for i, j in itertools.combinations(range(methods), 2):
        differs[i, j] = differs[j, i] = draw(st.booleans())
    return draw(st.permutations(range(methods))), differs


def differing(methods, *pairs):
    differs = np.zeros((methods, methods), bool)
    for i, j in pairs:
        differs[i, j] = differs[j, i] = True
    return differs


def by_brute_force(order, differs):
    """All contiguous sets without a differing pair that lie in no other such set."""
    spans = itertools.combinations(range(len(order) + 1), 2)
    runs = [tuple(order[start:stop]) for start, stop in spans]
    alike = [run for run in runs if not differs[np.ix_(run, run)].any()]
    return {run for run in alike if not any(set(run) < set(other) for other in alike)}


@settings(max_examples=150)
@given(decisions())
def test_cliques_are_the_largest_contiguous_sets(case):
    found, expected = cliques(*case), by_brute_force(*case)
    assert set(found) == {run for run in expected if len(run) > 1}
    assert len(found) == len(set(found))
    places = [case[0].index(group[0]) for group in found]
    assert places == sorted(places)


@settings(max_examples=150)
@given(decisions())
def test_methods_share_a_letter_if_and_only_if_they_share_a_group(case):
    texts, groups = letters(*case), by_brute_force(*case)
    for i, j in itertools.product(range(len(texts)), repeat=2):
        together = any({i, j} <= set(group) for group in groups)
        assert bool(set(texts[i]) & set(texts[j])) == together


def test_overlapping_groups_by_hand():
    # from best to worst 3, 1, 0, 2; 3 and 0 differ, and 2 differs from all
    differs = differing(4, (3, 0), (2, 0), (2, 1), (2, 3))
    assert cliques([3, 1, 0, 2], differs) == [(3, 1), (1, 0)]
    assert letters([3, 1, 0, 2], differs) == ["b", "ab", "c", "a"]


def test_methods_alike_around_one_that_differs_are_no_group():
    assert cliques([0, 1, 2], differing(3, (0, 1), (1, 2))) == []
    assert letters([0, 1, 2], differing(3, (0, 1), (1, 2))) == ["a", "b", "c"]


def test_all_alike_are_one_group_and_one_method_is_none():
    assert cliques(np.array([1, 0, 2]), differing(3)) == [(1, 0, 2)]
    assert letters([1, 0, 2], differing(3)) == ["a", "a", "a"]
    assert cliques([0], differing(1)) == []
    assert letters([0], differing(1)) == ["a"]


def test_letters_beyond_z_stay_apart():
    methods = 60
    differs = differing(methods, *((i, j) for i in range(methods) for j in range(i - 1)))
    texts = letters(range(methods), differs)
    assert texts[0] == "a"
    assert texts[25:28] == ["yz", "za2", "a2b2"]
    assert texts[53] == "a3b3"
    apart = [set(re.findall(r"[a-z]\d*", text)) for text in texts]
    for i, j in itertools.combinations(range(methods), 2):
        assert bool(apart[i] & apart[j]) == (j == i + 1)


def test_wrong_calls_are_refused():
    with pytest.raises(ValueError, match=r"order is \[0, 2\]"):
        cliques([0, 2], differing(2))
    with pytest.raises(ValueError, match=r"order is \[0, 0\]"):
        letters([0, 0], differing(2))
    with pytest.raises(ValueError, match=r"expected bool of shape \(2, 2\)"):
        cliques([0, 1], differing(3))
    with pytest.raises(ValueError, match="differs is float64"):
        cliques([0, 1], np.ones((2, 2)))
    with pytest.raises(ValueError, match="symmetric"):
        cliques([0, 1], np.array([[False, True], [False, False]]))
