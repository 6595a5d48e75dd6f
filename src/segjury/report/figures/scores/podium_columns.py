"""Where the columns of a podium plot stand: a block per place, in it a column per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

OTHERS = ""  # no method has no name
_ALL_METHODS = 8  # up to which every place is shown, and every method in each
_LEADING = 5  # places shown where not all are, and the last
_NAMED = 6  # of many methods, those with a column of their own in a block
_APART = 0.2  # from the middle of its place, between the others and those named
_COLUMN_IN, _LEAST_IN, _MOST_IN = 0.1, 2.2, 5.4


@dataclass(frozen=True)
class Columns:
    """The methods that have a column in the block of each place.

    Of many methods, a block has those that take its place most often, and `OTHERS` for the rest.
    """

    blocks: Mapping[int, tuple[str, ...]]
    methods: int

    @classmethod
    def of(cls, data: pd.DataFrame, methods: Sequence[str]) -> Columns:
        """The columns for the places (`method`, `place`, a row per case and method) of methods."""
        count = len(methods)
        if count <= _ALL_METHODS:
            return cls({place: tuple(methods) for place in range(1, count + 1)}, count)
        places = (*range(1, _LEADING + 1), count)
        blocks = {place: _most_often(data[data["place"] == place], methods) for place in places}
        return cls(blocks, count)

    @property
    def places(self) -> tuple[int, ...]:
        """The places shown."""
        return tuple(self.blocks)

    @property
    def whole(self) -> bool:
        """Whether every place is shown, with every method."""
        return len(self.blocks) == self.methods

    @property
    def block(self) -> int:
        """Columns of a block."""
        return max(map(len, self.blocks.values()))

    @property
    def step(self) -> float:
        """From one block to the next."""
        return self.block + max(1.0, 0.12 * self.block)

    @property
    def width_in(self) -> float:
        """Width of all blocks."""
        return min(_MOST_IN, max(_LEAST_IN, _COLUMN_IN * self.step * len(self.places)))

    @property
    def mark_size(self) -> float:
        """Size of a mark that fits a column."""
        pitch = 72 * self.width_in / (self.step * len(self.places))
        return float(np.clip(0.85 * pitch, 1.8, 4.0))

    def start(self, place: int) -> float:
        """Where the first column of a block may stand."""
        return self.places.index(place) * self.step

    def middle(self, place: int) -> float:
        """The middle of a block."""
        return self.start(place) + (self.block - 1) / 2

    def column(self, place: int, method: str) -> str:
        """Whose column a method stands in: its own, or that of the others."""
        return method if method in self.blocks[place] else OTHERS

    def x(self, place: int, column: str) -> float:
        """Where a column stands; those of a block with few stand in its middle."""
        own = self.blocks[place]
        apart = (_APART if column == OTHERS else -_APART) if OTHERS in own else 0.0
        return self.start(place) + (self.block - len(own)) / 2 + own.index(column) + apart


def _most_often(data: pd.DataFrame, methods: Sequence[str]) -> tuple[str, ...]:
    """The methods of a block, in the order given."""
    times = data["method"].value_counts()
    there = [method for method in methods if method in times]
    if len(there) <= _NAMED + 1:
        return tuple(there)
    named = sorted(there, key=lambda method: -times[method])[:_NAMED]
    return (*(method for method in there if method in named), OTHERS)
