"""The grid of an image, its place in space, and the one comparison of two grids.

Space is LPS millimetres, as in ITK.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from segjury.arrays import Shape, Triple
from segjury.errors import InputError

Direction = tuple[Triple, Triple, Triple]
Property = Literal["spacing", "origin", "direction"]

Severity = Literal["error", "warn", "ignore"]

IDENTITY: Direction = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class Grid:
    """Shape, spacing, origin and direction of a volume; columns of `direction` are its axes."""

    shape: tuple[int, int, int]
    spacing_mm: Triple = (1.0, 1.0, 1.0)
    origin_mm: Triple = (0.0, 0.0, 0.0)
    direction: Direction = IDENTITY

    @property
    def voxel_volume_mm3(self) -> float:
        """Volume of one voxel."""
        return float(np.prod(self.spacing_mm))


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

    Spacing and origin may differ by `tolerance_mm` along each axis, direction cosines by
    `tolerance_direction`. Messages call the first grid the `name`'s.
    """
    if other.shape != reference.shape:
        raise other_shape(other.shape, reference.shape, name)
    checks: tuple[tuple[Property, Any, Any, float], ...] = (
        ("spacing", reference.spacing_mm, other.spacing_mm, tolerance_mm),
        ("origin", reference.origin_mm, other.origin_mm, tolerance_mm),
        ("direction", reference.direction, other.direction, tolerance_direction),
    )
    return [
        GridDifference(kind, f"has {kind} {_rounded(got)}, the {name} has {_rounded(expected)}")
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


def _rounded(values: Any) -> str:
    return str(np.round(np.asarray(values, float), 4).tolist())


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
