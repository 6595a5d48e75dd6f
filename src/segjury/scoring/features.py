"""What is computed of one mask alone: surface, centreline, topology, moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from segjury.arrays import Ints, Triple
from segjury.images.grid import Grid
from segjury.metrics.distances import VOXEL_UNITS, VoxelSet
from segjury.metrics.geometry.components import Components, Connectivity, components
from segjury.metrics.geometry.thinning import Thinning, thin_voxels
from segjury.metrics.moments import Moments
from segjury.metrics.surface import Definition, Surface, mask_surface
from segjury.metrics.topology import BettiNumbers, Centreline, betti_from_voxels, centreline_of
from segjury.runtime.memo import Memo

LengthUnit = Literal["mm", "voxels"]


@dataclass(frozen=True)
class MaskFeatures:
    """A mask on a grid, whoever drew it; each feature is kept when it is first asked for.

    `voxels()` lists its flat indices (x fastest, ascending). They are not kept: they would take
    eight times the memory of the mask.
    """

    voxels: Callable[[], Ints]
    grid: Grid
    _memo: Memo = field(default_factory=Memo, repr=False, compare=False)

    def surface(self, definition: Definition = "surfel", unit: LengthUnit = "mm") -> Surface:
        """Its surface."""
        return self._memo.once(
            ("surface", definition, unit),
            lambda: mask_surface(
                self.voxels(),
                self.grid.shape,
                self._spacing(unit),
                definition=definition,
                # The released code, which counts in voxels, takes every image for a volume.
                dimension="3D" if unit == "voxels" else "true",
            ),
        )

    def voxel_set(self, unit: LengthUnit) -> VoxelSet:
        """Its voxels, for distances to them."""
        return self._memo.once(
            ("voxels", unit),
            lambda: VoxelSet(self.voxels(), self.grid.shape, self._spacing(unit)),
        )

    def components(self, connectivity: Connectivity) -> Components:
        """Its connected components."""
        return self._memo.once(
            ("components", connectivity),
            lambda: components(self.voxels(), self.grid.shape, connectivity),
        )

    def skeleton(self, thinning: Thinning) -> Ints:
        """Flat indices of its centreline."""
        return self._memo.once(
            ("skeleton", thinning), lambda: thin_voxels(self.voxels(), self.grid.shape, thinning)
        )

    @cached_property
    def centreline(self) -> Centreline:
        """Its centreline and calibre."""
        return centreline_of(self.voxels(), self.grid.shape)

    @cached_property
    def betti(self) -> BettiNumbers:
        """Its components, tunnels and cavities."""
        return betti_from_voxels(self.voxels(), self.grid.shape)

    @cached_property
    def moments(self) -> Moments:
        """Its centre and extent."""
        return Moments.of_voxels(self.voxels(), self.grid.shape)

    def _spacing(self, unit: LengthUnit) -> Triple:
        return self.grid.spacing_mm if unit == "mm" else VOXEL_UNITS
