"""A case as its projections show it: image or labels, and what became of each pixel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from segjury.report.figures.pictures.mip_projections import (
    PLANES,
    Plane,
    Window,
    closer_window,
    main_plane,
    project,
    project_labels,
    reference_part,
)
from segjury.report.figures.pictures.shared.background import HEAT, grey
from segjury.report.figures.pictures.shared.images import BRIGHTEST_PERCENT, CaseImages, Labels
from segjury.report.figures.pictures.shared.outcomes import (
    Classes,
    Outcome,
    compared,
    outcome_counts,
)
from segjury.report.figures.pictures.shared.slicing import Pair
from segjury.report.figures.pictures.shared.tiles import label_colour

_FAR_SHADE = 0.45  # of the colour of what lies farthest from the eye
_SHADES = 6  # steps towards it


@dataclass(frozen=True)
class Scene:
    """The part of an upright case round its reference; `plane` is the one that shows most of it."""

    whole: CaseImages
    images: CaseImages
    plane: Plane

    @classmethod
    def of(cls, images: CaseImages) -> Scene:
        """The scene of any case."""
        return images.kept.once(("scene",), lambda: cls._made(images.upright))

    @classmethod
    def _made(cls, upright: CaseImages) -> Scene:
        part = upright.part(reference_part(upright))
        return cls(upright, part, main_plane(part))

    @property
    def planes(self) -> tuple[Plane, Plane, Plane]:
        """All planes, the main one first."""
        others = [plane for plane in PLANES if plane != self.plane]
        return self.plane, others[0], others[1]

    @property
    def shows_image(self) -> bool:
        """Whether the image is projected; in CT, bones would hide everything."""
        return self.images.image is not None and not self.images.is_ct

    @property
    def several_labels(self) -> bool:
        """Whether labels have colours of their own."""
        return len(self.images.labels) > 1

    @cached_property
    def counts(self) -> dict[str, dict[Outcome, int]]:
        """Voxels by outcome, per method, of the whole case."""
        counts = {}
        for method, mask in self.whole.predictions.items():
            counts[method] = outcome_counts(self.whole.consensus, mask)
            counts[method][Outcome.ADDED] += self.whole.voxels_outside(method)
        return counts

    @cached_property
    def size(self) -> int:
        """Voxels of the reference, at least 1."""
        return max(int(np.count_nonzero(self.whole.consensus)), 1)

    @cached_property
    def outside(self) -> dict[str, int]:
        """Voxels that a method added outside the part that is seen."""
        seen = self.images.predictions
        return {
            method: int(np.count_nonzero(mask) - np.count_nonzero(seen[method]))
            + self.whole.voxels_outside(method)
            for method, mask in self.whole.predictions.items()
        }

    def size_mm(self, plane: Plane) -> Pair:
        """Width and height of the picture on a plane."""
        return plane.size_mm(self.images.consensus.shape, self.images.spacing_mm)

    def picture(self, plane: Plane) -> NDArray[np.float64]:
        """The projected image, or else the reference coloured by label or by depth."""
        if self.shows_image:
            flat = project(np.asarray(self.images.image), plane)
            return grey(flat, (0.0, float(np.nanpercentile(flat, BRIGHTEST_PERCENT)) or 1.0))
        labels, depth = project_labels(self.images.consensus, plane)
        if self.several_labels:
            colours = [(0.0, 0.0, 0.0)]
            colours += [to_rgb(label_colour(n)) for n in self.images.numbers.values()]
            shade = 1 - (1 - _FAR_SHADE) * np.round(depth * _SHADES) / _SHADES
            return np.asarray(np.array(colours)[labels] * shade[..., None])
        return np.where(labels[..., None] != 0, HEAT(1 - depth)[..., :3], 0.0)

    def flattened(self, labels: Labels) -> Labels:
        """Labels on the main plane: of several, those nearest to the eye."""
        if self.several_labels:
            return project_labels(labels, self.plane)[0]
        return project(labels, self.plane)

    @cached_property
    def reference(self) -> Labels:
        """The reference on the main plane."""
        return self.flattened(self.images.consensus)

    @cached_property
    def outcomes(self) -> dict[str, Classes]:
        """What became of each pixel of the main plane, per method."""
        return {
            method: compared(self.reference, self.flattened(mask))
            for method, mask in self.images.predictions.items()
        }

    @cached_property
    def window(self) -> Window:
        """The part of the main plane to be enlarged."""
        return closer_window(
            [*self.outcomes.values()] or [compared(self.reference, self.reference)]
        )

    @property
    def window_mm(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of that part."""
        width, height = self.size_mm(self.plane)
        x, y = self.window
        across, down = width / self.reference.shape[0], height / self.reference.shape[1]
        sides = (x.stop - x.start) * across, (y.stop - y.start) * down
        return x.start * across, y.start * down, *sides
