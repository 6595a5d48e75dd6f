"""What a caller wants of a file, by which a header is refused before its voxels are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from segjury.arrays import Shape
from segjury.errors import InputError
from segjury.images.grid import USUAL_TOLERANCE, Grid, Tolerance, other_shape
from segjury.images.orientation import fitting_axes

MOST_LABELS = 255
ANY_LABELS = frozenset(range(1, MOST_LABELS + 1))


@dataclass(frozen=True)
class Wanted:
    """The grid a volume must be on, and how what it holds is told apart.

    Without a `grid`, `shape` alone counts, whatever the order of its axes. `labels` are those of a
    mask, which may then have a channel or a segment for each; `names` are the segments' by name.
    `channel` chooses one of several, from 1.
    """

    grid: Grid | None = None
    tolerance: Tolerance = USUAL_TOLERANCE
    shape: Shape | None = None
    labels: frozenset[int] | None = None
    names: Mapping[str, int] | None = None
    channel: int | None = None

    def refuse_other_shape(self, shape: Shape, grid: Callable[[], Grid]) -> None:
        """Refuse a shape that is not the expected one, nor becomes it when axes are put in order.

        `grid` is that of the header, and is asked only where the sizes are the expected ones.
        """
        expected = self.grid.shape if self.grid else self.shape
        if expected is None or shape == expected:
            return
        if sorted(shape) != sorted(expected) or not self._fits(grid):
            raise other_shape(shape, expected)

    def _fits(self, grid: Callable[[], Grid]) -> bool:
        if self.grid is None:
            return True
        try:
            return fitting_axes(grid(), self.grid, self.tolerance) is not None
        except InputError:  # a grid that none can have: another shape is the plainer reason
            return False
