"""What figures of correlated scores share: the correlations of a study, and how they read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segjury.analysis.analysis import MetricCorrelations
from segjury.analysis.study import Study
from segjury.arrays import Floats
from segjury.errors import InputError
from segjury.wording import number

_MOST_NAMED = 3


def correlations_of(study: Study) -> MetricCorrelations:
    """The correlations of a study."""
    correlations = study.analysis.correlations
    if correlations is None:
        raise InputError(
            "nothing can be correlated in this table",
            "Correlations need two scores that are ranked, and three rows of each",
        )
    return correlations


def correlation_text(value: float) -> str:
    """A correlation as journals print it: `.85`, `-.12`, `1`."""
    text = number(value, 2)
    return text.replace("1.00", "1").replace("0.", ".", 1) if text != "0.00" else "0"


def extremes_in_words(study: Study, keys: Sequence[str], matrix: Floats) -> str:
    """The pairs of scores that agree most and least, positive where they agree on what is good."""
    first, second = np.triu_indices(len(keys), 1)
    known = ~np.isnan(matrix[first, second])
    order = np.argsort(-matrix[first, second][known], kind="stable")
    named = [
        f"{study.title(keys[a])} and {study.title(keys[b])} {correlation_text(matrix[a, b])}"
        for a, b in zip(first[known][order], second[known][order], strict=True)
    ]
    if len(named) <= 2 * _MOST_NAMED:
        return f"From most to least agreement: {'; '.join(named) or 'none is defined'}."
    most, least = named[:_MOST_NAMED], named[-_MOST_NAMED:]
    return f"Most agreement: {'; '.join(most)}. Least: {'; '.join(least)}."
