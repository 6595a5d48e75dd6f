"""Topology of vessels: clDice, Betti numbers, and which calibres of vessel are found."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from segjury.arrays import Ints, Shape
from segjury.metrics.geometry.calibre import calibre_mm
from segjury.metrics.geometry.dimension import stood_up
from segjury.metrics.geometry.neighbourhood import voxels_of
from segjury.metrics.geometry.parts import PartCount, eightfold_euler, slabs
from segjury.metrics.geometry.surfaces.outline import flat_masks
from segjury.metrics.geometry.surfaces.points import contained
from segjury.metrics.geometry.thinning import Thinning, skeleton_voxels, thin_voxels
from segjury.metrics.metric import Metric, Options, Reading

__all__ = ["betti", "betti_numbers", "cldice", "small_recall"]

CALIBRES = ("1-2 voxels", "3-4 voxels", "5 voxels and more")
CALIBRE_LIMITS = (2.5, 4.5)  # of the diameter in voxels, between the classes


class ClDiceOptions(Options):
    """How masks become centrelines."""

    thinning: Thinning = Field(
        default="lee", description="how masks become centrelines: as usual, or keeping all vessels"
    )

    def remark(self, _reading: Reading) -> str:
        """The thinning."""
        return f"{self.thinning} thinning"


CLDICE = Metric(
    name="cldice",
    options=ClDiceOptions,
    title="clDice",
    formula="2TS / (T + S), T and S the shares of the centrelines in the other mask",
    summary="Harmonic mean of the shares of each centreline that lie in the other mask.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    symmetric=True,
    flip_invariant=(),  # a centreline may lie one voxel beside when mirrored
)
BETTI = Metric(
    name="betti",
    title="Betti error",
    formula="|Δb0| + |Δb1| + |Δb2|",
    summary="Difference in the numbers of components, tunnels and cavities.",
    direction="lower",
    bounds=(0.0, math.inf),
    decimals=1,
    symmetric=True,
)
SMALL_RECALL = Metric(
    name="small_recall",
    title="Small-vessel recall",
    formula="|C ∧ P| / |C|, C the centreline of vessels 1-2 voxels wide",
    summary="Share of the centreline of vessels 1-2 voxels wide that lies in the prediction.",
    direction="higher",
    bounds=(0.0, 1.0),
    decimals=3,
    flip_invariant=(),  # a centreline may lie one voxel beside when mirrored
)


def cldice(reference: ArrayLike, prediction: ArrayLike, *, thinning: Thinning = "lee") -> float:
    """Centreline Dice, `2 T S / (T + S)`.

    `T = |S_P ∧ R| / |S_P|` and `S = |S_R ∧ P| / |S_R|`, S_R and S_P the skeletons of the masks
    R and P; 0 if both are 0. NaN if a mask is empty. `lee` is the thinning that is generally
    used; `topology-preserving` loses no vessel, see `thin_voxels`. Source: Shit et al., CVPR 2021.
    """
    r, p, shape = flat_masks(reference, prediction)
    return cldice_from_skeletons(
        r,
        p,
        reference_skeleton=thin_voxels(r, shape, thinning),
        prediction_skeleton=thin_voxels(p, shape, thinning),
    )


def cldice_from_skeletons(
    reference: Ints, prediction: Ints, *, reference_skeleton: Ints, prediction_skeleton: Ints
) -> float:
    """`cldice` from the flat indices (ascending) of the voxels of masks and skeletons."""
    precision = share(prediction_skeleton, reference)
    sensitivity = share(reference_skeleton, prediction)
    if precision + sensitivity == 0:
        return 0.0
    return 2 * precision * sensitivity / (precision + sensitivity)


def share(voxels: Ints, of: Ints) -> float:
    """Share of the voxels that are in a mask, NaN without voxels or without a mask."""
    return float(contained(voxels, of).mean()) if voxels.size and of.size else math.nan


@dataclass(frozen=True)
class BettiNumbers:
    """Numbers of components, of tunnels through them, and of cavities in them."""

    components: int
    tunnels: int
    cavities: int


def betti(reference: ArrayLike, prediction: ArrayLike) -> float:
    """Betti-number error, `|Δb0| + |Δb1| + |Δb2|`; an empty mask has the numbers 0, 0, 0."""
    r, p, shape = flat_masks(reference, prediction)
    return betti_error(betti_from_voxels(r, shape), betti_from_voxels(p, shape))


def betti_error(reference: BettiNumbers, prediction: BettiNumbers) -> float:
    """`betti` from the Betti numbers of the two masks."""
    return float(
        abs(reference.components - prediction.components)
        + abs(reference.tunnels - prediction.tunnels)
        + abs(reference.cavities - prediction.cavities)
    )


def betti_numbers(mask: ArrayLike) -> BettiNumbers:
    """Betti numbers b0, b1, b2 of a mask.

    Voxels hang together also across edges and corners (26-connected), the background only across
    faces (6-connected), as if there were more of it around the image. b0 counts the components of
    the mask, b2 those of the background but the outer one, and b1 = b0 + b2 - χ, χ the Euler
    characteristic. In 2D, that is 8- and 4-connected, b1 counts the holes, and b2 is 0.
    Source: Kong and Rosenfeld 1989.
    """
    voxels, shape = voxels_of(mask)
    return betti_from_voxels(voxels, shape)


def betti_from_voxels(voxels: Ints, shape: Shape) -> BettiNumbers:
    """`betti_numbers` from flat voxel indices (x fastest, ascending).

    Works slab by slab, so that time and memory follow the box around the mask.
    """
    if not voxels.size:
        return BettiNumbers(0, 0, 0)
    shape, _ = stood_up(shape)
    mask, background, eightfold = PartCount(reach=3), PartCount(reach=1), 0
    for slab, _ in slabs(voxels, shape):
        mask.add(slab)
        background.add(1 - slab)
        eightfold += eightfold_euler(slab)
    cavities = background.count - 1
    return BettiNumbers(mask.count, mask.count + cavities - eightfold // 8, cavities)


@dataclass(frozen=True)
class Centreline:
    """The skeleton of a mask, and the vessel's diameter at each of its voxels."""

    voxels: Ints  # flat indices, ascending
    diameter_voxels: NDArray[np.float64]


def centreline_of(voxels: Ints, shape: Shape) -> Centreline:
    """The centreline of a mask, given by flat voxel indices (x fastest, ascending)."""
    thin = skeleton_voxels(voxels, shape)
    return Centreline(thin, calibre_mm(voxels, thin, shape, spacing_mm=(1.0, 1.0, 1.0)))


@dataclass(frozen=True)
class RadiusRecall:
    """Recall of the centreline for each class of vessel calibre, in the order of `CALIBRES`."""

    recall: tuple[float, ...]  # NaN for a class without centreline
    centreline_voxels: tuple[int, ...]

    @property
    def small(self) -> float:
        """Recall of the vessels 1-2 voxels wide."""
        return self.recall[0]


def small_recall(reference: ArrayLike, prediction: ArrayLike) -> float:
    """Share of the centreline of vessels 1-2 voxels wide that lies in the prediction.

    NaN if the reference has none. After the small vessels of SMILE-UHURA 2023.
    """
    return radius_recall(reference, prediction).small


def radius_recall(reference: ArrayLike, prediction: ArrayLike) -> RadiusRecall:
    """Share of the reference's centreline that lies in the prediction, by the vessel's diameter.

    Diameters in voxels, rounded: 1-2, 3-4, 5 and more; see `calibre_mm`.
    """
    r, p, shape = flat_masks(reference, prediction)
    return radius_recall_of_centreline(centreline_of(r, shape), p)


def radius_recall_of_centreline(reference: Centreline, prediction: Ints) -> RadiusRecall:
    """`radius_recall` from the centreline and the flat voxel indices (ascending)."""
    found = contained(reference.voxels, prediction)
    group = np.digitize(reference.diameter_voxels, CALIBRE_LIMITS)
    members = [found[group == k] for k in range(len(CALIBRES))]
    return RadiusRecall(
        recall=tuple(float(member.mean()) if member.size else math.nan for member in members),
        centreline_voxels=tuple(member.size for member in members),
    )
