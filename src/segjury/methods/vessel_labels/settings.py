"""Settings of one segmentation, and plausible variations of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_GAMMA_UP_TO = 2.0  # times the largest gamma
_THRESHOLDS = 1.25  # largest factor on thresholds; the smallest is 1 / 1.25


@dataclass(frozen=True)
class Setting:
    """One segmentation: which scales count, how sensitive they are, and the thresholds."""

    gamma: float
    scales: slice  # of those of the filter
    threshold_factor: float = 1.0  # on both thresholds that multi-Otsu finds


def main_settings(gammas: Sequence[float], n_scales: int) -> list[Setting]:
    """All scales, and the thresholds as they are found, for each gamma."""
    return [Setting(gamma, slice(0, n_scales)) for gamma in gammas]


def plausible_settings(
    count: int, gammas: Sequence[float], n_scales: int, rng: np.random.Generator
) -> list[Setting]:
    """Other settings that somebody could have chosen, evenly spread over what is plausible.

    A Latin hypercube: gamma from the smallest to twice the largest of `gammas`, and a factor on the
    thresholds from 0.8 to 1.25, are each drawn once from every `count`-th part of their range, in
    logarithms. Half of the settings leave out the finest scale, half the widest, where there are
    three scales and more.
    """
    place = [(rng.permutation(count) + rng.random(count)) / max(count, 1) for _ in range(4)]
    lowest, highest = math.log(min(gammas)), math.log(_GAMMA_UP_TO * max(gammas))
    gamma = np.exp(lowest + place[0] * (highest - lowest))
    factor = np.exp((2 * place[1] - 1) * math.log(_THRESHOLDS))
    spare = n_scales >= 3
    return [
        Setting(
            float(gamma[n]),
            slice(int(spare and place[2][n] < 0.5), n_scales - int(spare and place[3][n] < 0.5)),
            float(factor[n]),
        )
        for n in range(count)
    ]
