"""The grid of an image, its place in space, and the one comparison of two grids.

Space is LPS millimetres, as in ITK.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Shape, Triple
from segjury.errors import InputError

Direction = tuple[Triple, Triple, Triple]
Property = Literal["spacing", "origin", "direction"]

Severity = Literal["error", "warn", "ignore"]

IDENTITY: Direction = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
MOST_COSINE = 1e-3  # between two axes that count as at right angles: rounding in a header
MOST_OF_A_VOXEL = 0.1  # by which grids may differ, however large the tolerance: voxels may be small
FINE_MM = 0.01  # voxels below it, as a microscope's, are told with more decimals


class Doubt(NamedTuple):
    """What is to be told of how a file was read: a kind of `segjury check`, words, what to do."""

    kind: Literal["pixdim-differs", "sheared-axes", "reoriented", "stored-as-255"]
    message: str
    fix: str = "Make its header agree with itself"


@dataclass(frozen=True)
class Grid:
    """Shape, spacing, origin and direction of a volume; columns of `direction` are its axes."""

    shape: tuple[int, int, int]
    spacing_mm: Triple = (1.0, 1.0, 1.0)
    origin_mm: Triple = (0.0, 0.0, 0.0)
    direction: Direction = IDENTITY
    doubts: tuple[Doubt, ...] = field(default=(), compare=False, repr=False)

    @property
    def voxel_volume_mm3(self) -> float:
        """Volume of one voxel."""
        return float(np.prod(self.spacing_mm))


def doubts_of(grid: Grid, name: str) -> list[str]:
    """What to say of the grid of the file `name` by itself."""
    return [f"{name} {doubt.message}" for doubt in grid.doubts]


def at_right_angles(axes: NDArray[Any]) -> bool:
    """Whether the columns of a matrix are, up to rounding; lengths in mm need it of a grid."""
    axes = np.asarray(axes, float)
    with np.errstate(all="ignore"):  # of an axis of no length
        axes = axes / np.sqrt((axes**2).sum(axis=0))
    cosines = [(axes[:, i] * axes[:, j]).sum() for i, j in ((0, 1), (0, 2), (1, 2))]
    return bool((np.abs(cosines) <= MOST_COSINE).all())  # which is not so of a NaN


def nifti_unit_exponent(xyzt_units: int) -> int:
    """The power of ten from a NIfTI header's unit of length to mm.

    Codes 1 and 3 are metres and micrometres; an unknown unit is mm, as in ITK.
    """
    return {1: 3, 3: -3}.get(xyzt_units & 7, 0)


@dataclass(frozen=True)
class GridDifference:
    """One property in which two grids differ beyond tolerance."""

    property: Property
    message: str


def grid_differences(
    reference: Grid,
    other: Grid,
    *,
    tolerance_mm: float = 1e-3,
    tolerance_direction: float = 1e-3,
    name: str = "reference",
) -> list[GridDifference]:
    """Compare two grids: raise `InputError` for another shape, list what else differs.

    Spacing and origin may differ by `tolerance_mm` along each axis, yet never by more than a tenth
    of the smallest voxel side; direction cosines by `tolerance_direction`. Messages call the first
    grid the `name`'s.
    """
    if other.shape != reference.shape:
        raise other_shape(other.shape, reference.shape, name)
    tolerance_mm = min(tolerance_mm, MOST_OF_A_VOXEL * min(reference.spacing_mm))
    checks: tuple[tuple[Property, Any, Any, float], ...] = (
        ("spacing", reference.spacing_mm, other.spacing_mm, tolerance_mm),
        ("origin", reference.origin_mm, other.origin_mm, tolerance_mm),
        ("direction", reference.direction, other.direction, tolerance_direction),
    )
    decimals = 4 if min(reference.spacing_mm) >= FINE_MM else 7
    return [
        GridDifference(
            kind,
            f"has {kind} {_rounded(got, decimals)}, the {name} has {_rounded(expected, decimals)}",
        )
        for kind, expected, got, tolerance in checks
        if not np.allclose(got, expected, rtol=0, atol=tolerance)
    ]


def other_shape(shape: Shape, expected: Shape, name: str = "reference") -> InputError:
    """What to say of an image that has another shape than the `name`."""
    return InputError(
        f"has shape {shape}, the {name} has {expected}",
        f"Resample it to the {name} grid",
        kind="other-shape",
        hint="Its axes may be swapped" if sorted(shape) == sorted(expected) else "",
    )


def _rounded(values: Any, decimals: int) -> str:
    return str(np.round(np.asarray(values, float), decimals).tolist())


class Tolerance(Protocol):
    """What a difference in each property leads to, beyond an allowed difference in mm."""

    @property
    def tolerance_mm(self) -> float: ...  # noqa: D102
    @property
    def spacing(self) -> Severity: ...  # noqa: D102
    @property
    def origin(self) -> Severity: ...  # noqa: D102
    @property
    def direction(self) -> Severity: ...  # noqa: D102


@dataclass(frozen=True)
class UsualTolerance:
    """As protocols have it unless they say otherwise: another origin is a warning."""

    tolerance_mm: float = 0.01
    spacing: Severity = "error"
    origin: Severity = "warn"
    direction: Severity = "error"


USUAL_TOLERANCE = UsualTolerance()


def tolerated_differences(
    tolerance: Tolerance, grid: Grid, other: Grid, name: str, *, reference: str = "reference"
) -> list[GridDifference]:
    """The differences of a file's grid that are tolerated with a warning; others are errors."""
    tolerated = []
    try:
        differences = grid_differences(
            grid, other, tolerance_mm=tolerance.tolerance_mm, name=reference
        )
    except InputError as error:
        raise error.about(name) from None
    for difference in differences:
        severity, message = getattr(tolerance, difference.property), f"{name} {difference.message}"
        if severity == "error":
            fix = f"Resample it to the {reference} grid"
            raise InputError(message, fix, kind=f"other-{difference.property}")
        if severity == "warn":
            tolerated.append(replace(difference, message=message))
    return tolerated
