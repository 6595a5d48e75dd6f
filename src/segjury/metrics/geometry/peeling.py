"""A mask that is thinned: which neighbours its voxels have left, and which voxels are due.

Whether a voxel goes depends on its 26 neighbours alone. One that stayed stays until a neighbour
goes: only then it is due again, in every direction. So the work follows the number of voxels,
however many layers lie one above the other and however much of the mask cannot be thinned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import LONGEST_SPAN, Bools, Ints, Shape, bounding_box, coordinates
from segjury.metrics.geometry.neighbourhood import CENTRE, OFFSETS, Codes

BLOCK = 512  # voxels that are looked through together where one is due
PIECE = 1 << 19  # voxels that are judged together, so that a full mask needs little memory

# Of each voxel: bits 0 to 8 are the mask in the 3 x 3 voxels around it in its plane, itself in the
# middle, as in a code; the next ones say in which directions it is due, the last that it is marked.
SQUARE = np.uint16(0x1FF)
ITSELF = np.uint16(1 << 4)
FIRST_DUE = 9
DUE = np.uint16(0x3F << FIRST_DUE)
MARK = np.uint16(1 << 15)


class Peel:
    """A mask from which voxels are removed.

    Voxels are given by their places: flat indices in the mask's box, one voxel wider on each side.
    `directions` are at most six bits of a code: the neighbours beyond the faces.
    """

    def __init__(self, voxels: Ints, shape: Shape, directions: Sequence[int]) -> None:
        self._shape, self._directions = shape, list(directions)
        box = bounding_box(voxels, shape)
        if box is None:
            raise ValueError("the mask is empty, expected at least one voxel")
        self._start = [side.start - 1 for side in box]
        wide, high, deep = (size + 2 for size in box.shape)
        self._box: Shape = wide, high, deep
        self.step: Ints = OFFSETS @ np.array([1, wide, wide * high])  # to each neighbour
        self._state = np.zeros(-(-wide * high * deep // BLOCK) * BLOCK, np.uint16)
        self._blocks = self._state.reshape(-1, BLOCK)
        self._due_blocks = np.zeros((len(directions), len(self._blocks)), bool)
        for start in range(0, voxels.size, LONGEST_SPAN):
            place = self._placed(voxels[start : start + LONGEST_SPAN])
            for bit in range(9):
                self._state[place - self.step[9 + bit]] |= np.uint16(1 << bit)
            self._state[place] |= DUE
            self._due_blocks[:, place // BLOCK] = True
        # The blocks in which the neighbours of a block's voxels can lie.
        self._near = np.unique([self.step // BLOCK, -(-self.step // BLOCK)])

    def _placed(self, voxels: Ints) -> Ints:
        x, y, z = (
            axis - start
            for axis, start in zip(coordinates(voxels, self._shape), self._start, strict=True)
        )
        return np.asarray(x + self._box[0] * (y + self._box[1] * z))

    def coordinates(self, places: Ints) -> tuple[Ints, Ints, Ints]:
        """Indices x, y, z of places in the image."""
        x, y, z = (
            axis + start
            for axis, start in zip(coordinates(places, self._box), self._start, strict=True)
        )
        return x, y, z

    def code(self, places: Ints) -> Codes:
        """The neighbours that are left of voxels, as bits."""
        code = np.zeros(places.size, np.uint32)
        for plane in range(3):
            square = self._state[places + self.step[9 * plane + 4]] & SQUARE
            code |= square.astype(np.uint32) << np.uint32(9 * plane)
        return code & ~np.uint32(1 << CENTRE)

    def due(self, direction: int) -> Iterator[Ints]:
        """The voxels that are due and free in a direction, ascending; each is due no longer."""
        number = self._directions.index(direction)
        due = np.uint16(1 << FIRST_DUE + number)
        blocks = np.flatnonzero(self._due_blocks[number])
        self._due_blocks[number] = False
        for start in range(0, blocks.size, PIECE // BLOCK):
            some = blocks[start : start + PIECE // BLOCK]
            state = self._blocks[some]
            here = np.flatnonzero(state & (due | ITSELF) == due | ITSELF)
            self._blocks[some] = state & ~due
            place = some[here // BLOCK] * BLOCK + here % BLOCK
            yield place[self._state[place + self.step[direction]] & ITSELF == 0]

    def mark(self, places: Ints) -> None:
        """Mark voxels."""
        self._state[places] |= MARK

    def unmark(self, places: Ints) -> None:
        """Take the marks from voxels."""
        self._state[places] &= ~MARK

    def is_marked(self, places: Ints) -> Bools:
        """Which of some places are marked."""
        return np.asarray(self._state[places] & MARK > 0)

    def remove(self, places: Ints) -> None:
        """Remove voxels; their neighbours are due."""
        for start in range(0, places.size, PIECE):
            some = places[start : start + PIECE]
            for bit, step in enumerate(self.step.tolist()):
                state = self._state[some + step] | DUE
                if 9 <= bit < 18:
                    state &= ~np.uint16(1 << 17 - bit)  # seen from there, the opposite bit
                self._state[some + step] = state
            hit = np.zeros(len(self._blocks), bool)
            hit[some // BLOCK] = True
            near = (np.flatnonzero(hit)[:, None] + self._near).ravel()
            self._due_blocks[:, near[(near >= 0) & (near < len(hit))]] = True

    def left(self, voxels: Ints) -> Ints:
        """Those of the mask's voxels that are left."""
        spans = range(0, voxels.size, LONGEST_SPAN)
        pieces = (voxels[start : start + LONGEST_SPAN] for start in spans)
        left = [piece[self._state[self._placed(piece)] & ITSELF > 0] for piece in pieces]
        return np.concatenate(left)


class Verdicts:
    """What is known of codes: each is judged once, as most come again and again."""

    def __init__(self, judge: Callable[[Codes], NDArray[np.uint8]]) -> None:
        self._judge = judge
        self._known = np.zeros(1 << 27, np.uint8)  # takes memory only where a code came

    def of(self, code: Codes) -> NDArray[np.uint8]:
        """The verdicts, as bits; `judge` sets at least one in each."""
        found = self._known[code]
        new = found == 0
        if new.any():
            self._known[code[new]] = self._judge(code[new])
            found = self._known[code]
        return found
