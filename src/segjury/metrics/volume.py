"""Volume as a distribution: CRPS of the predicted volume against the raters' volumes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segjury.metrics.inputs import as_array
from segjury.metrics.metric import Metric, Reading, check_reading
from segjury.metrics.redrawn import crps_of_raters, empirical_crps_of_raters

__all__ = ["crps", "crps_empirical"]

GRID_POINTS = 100
GRID_TAIL = 0.01  # the grid runs from the 1st to the 99th percentile
RELEASED_REACH_SD = 3.0

CRPS = Metric(
    name="crps",
    from_raters=crps_of_raters,
    title="CRPS",
    formula="SD (z (2Φ(z) - 1) + 2φ(z) - 1/√π), z = (V - mean) / SD",
    needs_raters=True,
    failure="population",
    summary="Distance of the predicted volume from the distribution of the raters' volumes.",
    direction="lower",
    bounds=(0.0, math.inf),
    unit="cm3",
    decimals=3,
    scales_with="volume",
    needs_probability=True,
)

CRPS_EMPIRICAL = Metric(
    name="crps_empirical",
    from_raters=empirical_crps_of_raters,
    title="Empirical CRPS",
    formula="mean over raters of |V_k - V| - ½ mean over pairs of |V_k - V_l|",
    needs_raters=True,
    summary="Distance of the predicted volume from the raters' volumes, without a Gaussian.",
    direction="lower",
    bounds=(0.0, math.inf),
    unit="cm3",
    decimals=3,
    scales_with="volume",
    needs_probability=True,
    readings=("corrected",),
)


def crps(
    reference_volumes: ArrayLike, predicted_volume: float, *, reading: Reading = "corrected"
) -> float:
    """CRPS of one volume against a Gaussian with the raters' mean and population SD.

    `corrected`: the closed form `SD (z (2Φ(z)-1) + 2φ(z) - 1/√π)`, `z = (V-mean)/SD`; for SD = 0
    its limit `|V-mean|`. `released`: the integral of `(F - H)²` over mean ± 3 SD, F linear between
    100 points from the 1st to the 99th percentile, by adaptive quadrature; SD = 0 gives 0.
    `published`: the sum over those points times their distance; NaN for SD = 0. In the unit of
    the volumes; the released quadrature stops earlier on small numbers, so give it mm3.
    Source: CURVAS-PDACVI 6.3; Gneiting and Raftery 2007 for the closed form.
    """
    check_reading(reading)
    volumes = as_array(reference_volumes, "reference_volumes").astype(float)
    if volumes.size == 0:
        raise ValueError("there is no rater's volume to compare with")
    mean, sd = float(volumes.mean()), float(volumes.std())
    if np.ptp(volumes) == 0:  # exact, where the SD of equal numbers may be a tiny one
        return {
            "corrected": abs(predicted_volume - float(volumes[0])),
            "released": 0.0,
            "published": math.nan,
        }[reading]
    if reading == "corrected":
        return _closed_form(mean, sd, predicted_volume)
    if reading == "released":
        return _released_integral(mean, sd, predicted_volume)
    return _published_sum(mean, sd, predicted_volume)


def crps_empirical(reference_volumes: ArrayLike, predicted_volume: float) -> float:
    """CRPS of one volume against the raters' volumes as they are, each equally likely.

    `mean_k |V_k - V| - 1/2 mean_kl |V_k - V_l|`, the pairs with themselves included, which is the
    integral of the squared difference of the two distribution functions. In the unit of the
    volumes. Source: Gneiting and Raftery, J Am Stat Assoc 2007.
    """
    volumes = as_array(reference_volumes, "reference_volumes").astype(float)
    if volumes.size == 0:
        raise ValueError("there is no rater's volume to compare with")
    apart = np.abs(volumes - predicted_volume).mean()
    among = np.abs(volumes[:, None] - volumes).mean()
    return max(0.0, float(apart - among / 2))


def _closed_form(mean: float, sd: float, volume: float) -> float:
    z = (volume - mean) / sd
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    centred = math.erf(z / math.sqrt(2))  # 2Φ(z) - 1
    return max(0.0, sd * (z * centred + 2 * density - 1 / math.sqrt(math.pi)))


def _gaussian_grid(mean: float, sd: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.special import ndtr, ndtri

    reach = float(ndtri(1 - GRID_TAIL)) * sd
    x = np.linspace(mean - reach, mean + reach, GRID_POINTS)
    cdf: NDArray[np.float64] = ndtr((x - mean) / sd)
    return x, cdf


def _released_integral(mean: float, sd: float, volume: float) -> float:
    """The released code's adaptive quadrature, with the error that 50 intervals leave it.

    The integrand jumps at the volume and at both ends of the grid; the quadrature is off by up to
    1 % there, so only the same one gives the same digits.
    """
    from scipy.integrate import quad

    x, cdf = _gaussian_grid(mean, sd)
    reach = RELEASED_REACH_SD * sd

    def squared(y: float) -> float:
        return float((np.interp(y, x, cdf, left=0.0, right=1.0) - (y >= volume)) ** 2)

    # full_output keeps it from warning that it gave up refining
    return float(quad(squared, mean - reach, mean + reach, full_output=1)[0])


def _published_sum(mean: float, sd: float, volume: float) -> float:
    x, cdf = _gaussian_grid(mean, sd)
    step = (x >= volume).astype(float)
    return float((x[1] - x[0]) * ((cdf - step) ** 2).sum())
