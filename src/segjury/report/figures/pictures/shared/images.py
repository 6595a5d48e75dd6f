"""The arrays of one case that pictures are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Bools, Box, Triple
from segjury.images.grid import IDENTITY, Direction
from segjury.metrics.overlap import THRESHOLDS
from segjury.runtime.memo import Memo

Labels = NDArray[Any]  # a label map: 0 is nothing, labels count from 1; or the mask of one label
Place = tuple[int, int, int]

SOFT_TISSUE_HU = (-160.0, 240.0)  # level 40, width 400
ANGIOGRAPHY_HU = (-150.0, 550.0)
BRIGHT_HU = 150.0  # vessels with contrast; no organ is so bright
BRIGHTEST_PERCENT = 99.8  # of other modalities, which have no unit
_EVERY = 4  # voxel that a look at the whole image takes


@dataclass(frozen=True)
class CaseImages:
    """What the raters and the methods drew in one case, on one grid, with axes x, y, z.

    Masks are label maps whose labels count from 1 in the order of `labels`, or boolean for a
    single one. `direction` says where the axes point (columns, LPS). Arrays may be a part of the
    files: `corner` is where in the file the first voxel is, `outside` how many voxels of each label
    a method drew elsewhere. `everyone` names all methods of a
    benchmark, so that a method keeps its colour when only some are shown. Pictures such as PNG have
    no `has_sides`. `kept` is what picture,
    table and words share.
    """

    case: str
    raters: Mapping[str, Labels]
    consensus: Labels
    predictions: Mapping[str, Labels]
    spacing_mm: Triple
    labels: tuple[str, ...] = ("foreground",)
    image: NDArray[Any] | None = None
    structures: Mapping[str, Bools] = field(default_factory=dict)
    probabilities: Mapping[str, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
    thresholds: tuple[float, ...] = THRESHOLDS
    outside: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    direction: Direction = IDENTITY
    corner: Place = (0, 0, 0)
    steps: Place = (1, 1, 1)  # along the file, from one voxel to the next
    everyone: tuple[str, ...] = ()
    has_sides: bool = True  # whether the files say which side of the body is where
    kept: Memo = field(default_factory=Memo, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.raters:
            raise ValueError("pictures of a case need at least one rater")
        for what, array in self._arrays():
            if array.shape != self.consensus.shape:
                raise ValueError(
                    f"{what} has shape {array.shape}, the consensus has {self.consensus.shape}"
                )

    def _arrays(self) -> list[tuple[str, NDArray[Any]]]:
        groups = (("rater", self.raters), ("method", self.predictions), ("", self.structures))
        named = [(f"{what} {name}", a) for what, group in groups for name, a in group.items()]
        maps = [
            (f"the map of {method}", array)
            for method, each in self.probabilities.items()
            for array in each.values()
        ]
        return [*named, *maps, *([] if self.image is None else [("the image", self.image)])]

    @property
    def several_raters(self) -> bool:
        """Whether there is anything to disagree about."""
        return len(self.raters) > 1

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each label in the label maps."""
        return {name: number for number, name in enumerate(self.labels, 1)}

    @property
    def voxel_cm3(self) -> float:
        """Volume of a voxel."""
        return float(np.prod(self.spacing_mm)) / 1000

    @property
    def all_methods(self) -> tuple[str, ...]:
        """Every method of the benchmark, drawn here or not."""
        return (*self.predictions, *self.everyone)

    @cached_property
    def is_ct(self) -> bool:
        """Whether the image is CT: air is -1000 HU, other modalities have no negatives."""
        if self.image is None:
            return False
        return bool(np.nanmin(self.image[::_EVERY, ::_EVERY, ::_EVERY], initial=0) < 0)

    @cached_property
    def window(self) -> tuple[float, float]:
        """The image values shown black and white.

        CT is shown as soft tissue, or as angiography where what the reference marks is that
        bright. Others are shown up to their brightest.
        """
        if self.image is None:
            return 0.0, 1.0
        some = self.image[::_EVERY, ::_EVERY, ::_EVERY]
        if not self.is_ct:
            return 0.0, float(np.nanpercentile(some, BRIGHTEST_PERCENT)) or 1.0
        inside = some[self.consensus[::_EVERY, ::_EVERY, ::_EVERY] > 0]
        bright = inside.size and np.nanmedian(inside) > BRIGHT_HU
        return ANGIOGRAPHY_HU if bright else SOFT_TISSUE_HU

    @cached_property
    def upright(self) -> CaseImages:
        """The same with axes that point, as nearly as they can, to L, P and S."""
        if self.direction == IDENTITY:
            return self
        order = axes_to_lps(self.direction)
        corner, steps = [], []
        for row, axis in enumerate(order):
            back = self.direction[row][axis] < 0
            last = self.steps[axis] * (self.consensus.shape[axis] - 1)
            corner.append(self.corner[axis] + last * back)
            steps.append(-self.steps[axis] if back else self.steps[axis])
        return replace(
            self._each(lambda array: to_lps(array, self.direction)),
            spacing_mm=_three([self.spacing_mm[axis] for axis in order]),
            direction=IDENTITY,
            corner=_three(corner),
            steps=_three(steps),
        )

    def only(self, label: str) -> CaseImages:
        """The same with one label alone, its masks boolean."""
        number = self.numbers[label]
        return replace(
            self,
            labels=(label,),
            consensus=self.consensus == number,
            raters={name: a == number for name, a in self.raters.items()},
            predictions={name: a == number for name, a in self.predictions.items()},
            probabilities={
                method: {label: maps[label]}
                for method, maps in self.probabilities.items()
                if label in maps
            },
            outside={m: {label: self.voxels_outside(m, label)} for m in self.predictions},
        )

    def voxels_outside(self, method: str, label: str | None = None) -> int:
        """Voxels that a method drew outside the arrays, of a label or of all."""
        counts = self.outside.get(method, {})
        return sum(counts.values()) if label is None else counts.get(label, 0)

    def slice_number(self, z: int) -> int:
        """The number in the file, from 0, of an axial slice of an upright case."""
        return self.corner[2] + self.steps[2] * z

    def slice_words(self, number: int) -> str:
        """What the slice of a number in the file is called."""
        return f"{'axial slice' if self.has_sides else 'slice'} {number}"

    def part(self, box: Box) -> CaseImages:
        """A part of the case."""
        places = zip(self.corner, self.steps, box, strict=True)
        corner = _three([at + step * side.start for at, step, side in places])
        return replace(self._each(lambda array: array[box]), corner=corner)

    def _each(self, turn: Callable[[NDArray[Any]], NDArray[Any]]) -> CaseImages:
        """The same with every array changed in the same way."""
        return replace(
            self,
            consensus=turn(self.consensus),
            image=None if self.image is None else turn(self.image),
            raters={name: turn(a) for name, a in self.raters.items()},
            predictions={name: turn(a) for name, a in self.predictions.items()},
            structures={name: turn(a) for name, a in self.structures.items()},
            probabilities={
                method: {name: turn(a) for name, a in maps.items()}
                for method, maps in self.probabilities.items()
            },
        )


def _three(values: list[Any]) -> Any:
    x, y, z = values
    return x, y, z


def axes_to_lps(direction: Direction) -> Place:
    """The array axis that lies nearest to each of L, P and S."""
    cosines = np.abs(np.array(direction, float))
    best = max(permutations(range(3)), key=lambda order: cosines[range(3), list(order)].sum())
    return best[0], best[1], best[2]


def to_lps(array: NDArray[Any], direction: Direction) -> NDArray[Any]:
    """A view of the array whose axes point, as nearly as they can, to L, P and S."""
    if direction == IDENTITY:
        return array
    order = axes_to_lps(direction)
    flips = [slice(None, None, 1 if direction[i][j] > 0 else -1) for i, j in enumerate(order)]
    return array.transpose(order)[tuple(flips)]
