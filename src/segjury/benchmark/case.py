"""One case: the reference prepared once, and a method's prediction of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, Triple, flat
from segjury.consensus import PackedMask, RaterPatterns, staple_foreground
from segjury.images.grid import Grid
from segjury.images.labels import Classes, SparseLabels
from segjury.images.volume import Volume
from segjury.metrics.contact import VesselSections, contact_angles, vessel_sections
from segjury.metrics.geometry.dimension import is_volume
from segjury.metrics.invasion import InvasionAngles, VesselEdges, invasion_angles, vessel_edges
from segjury.runtime.memo import Memo


@dataclass(frozen=True)
class Structure:
    """A further structure of the reference, such as a vessel, cut out with a small margin."""

    mask: NDArray[np.bool_]
    box: Box
    spacing_mm: Triple

    @cached_property
    def edges(self) -> VesselEdges:
        """Its in-slice edge voxels."""
        return vessel_edges(self.mask)

    @cached_property
    def sections(self) -> VesselSections:
        """Its cross-sections perpendicular to the centreline."""
        return vessel_sections(self.mask, self.spacing_mm)

    @cached_property
    def shell(self) -> NDArray[np.bool_]:
        """The structure and the 26 neighbours of its voxels: all that can be in contact."""
        shell = self.mask.copy()
        for axis in range(3):
            along = np.moveaxis(shell, axis, 0)  # a view: what is written lands in the shell
            before = along.copy()
            along[1:] |= before[:-1]
            along[:-1] |= before[1:]
        return shell

    def invasion_angles(self, lesions: NDArray[Any], n_masks: int) -> InvasionAngles:
        """Slice-wise contact angles of packed lesions in the box."""
        return invasion_angles(self.edges, lesions, n_masks)

    def contact_angles(self, lesions: NDArray[Any], n_masks: int) -> NDArray[np.float64]:
        """Anatomical contact angles of packed lesions in the box."""
        if is_volume(self.mask.shape) and not lesions[self.shell].any():
            return np.zeros(n_masks)  # spares the centreline of vessels that no lesion touches
        return contact_angles(self.sections, lesions, n_masks=n_masks)


@dataclass(frozen=True)
class Consensus:
    """What counts as the truth of a case: for each label, the patterns that hold it."""

    patterns: RaterPatterns
    holds: NDArray[np.bool_]  # (patterns, labels), labels from 1 in column 0

    def voxels(self, label: int) -> NDArray[np.int64]:
        """Flat indices (x fastest) of the voxels of a label."""
        holds = self.holds[:, label - 1]
        if holds[0]:  # STAPLE may call foreground what no rater marked
            return np.flatnonzero(holds[flat(self.patterns.codes)])
        return self.patterns.marks.select(lambda codes: np.asarray(holds[codes]))

    def size(self, label: int) -> int:
        """Number of voxels of a label."""
        return int(self.patterns.counts[self.holds[:, label - 1]].sum())


@dataclass(frozen=True)
class SecondRead:
    """What a rater marked when reading the case once more; `name` is that of the read."""

    rater: str
    name: str
    marks: SparseLabels  # values as in the patterns


@dataclass(frozen=True)
class ReferenceCase:
    """What the raters say of a case, in the form that scoring any number of methods needs.

    Labels count from 1 in the order of the protocol, whatever their numbers in the files. Voxels
    that are `ignored` are marked by nobody and counted nowhere.
    """

    grid: Grid
    patterns: RaterPatterns
    label_names: tuple[str, ...]
    structures: dict[str, Structure | None]  # None where the case has no such structure
    given_consensus: RaterPatterns | None = None  # from a file, as if of one rater
    warnings: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()  # who marked this case; numbered from 1 where nobody is named
    panel: tuple[str, ...] = ()  # all raters of the benchmark, if these are known over the cases
    repeats: tuple[SecondRead, ...] = ()
    ignored: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)  # for who scores against it

    @property
    def rater_names(self) -> tuple[str, ...]:
        """What the raters of this case are called, in the order of the patterns."""
        return self.raters or tuple(str(k + 1) for k in range(self.patterns.n_raters))

    @property
    def labels(self) -> dict[str, int]:
        """The scored labels, by name."""
        return {name: number for number, name in enumerate(self.label_names, 1)}

    def rater_voxels(self, rater: str, label: int) -> NDArray[np.int64]:
        """Flat indices of the voxels that a rater gives a label."""
        marked = self.patterns.marked(label)[:, self.rater_names.index(rater)]
        return self.patterns.marks.select(lambda codes: np.asarray(marked[codes]))

    def read_again(self, read: SecondRead, label: int) -> NDArray[np.int64]:
        """Flat indices of the voxels that a rater gives a label in a later read."""
        return _where(read.marks, label, self.patterns.classes)

    @cached_property
    def consensus(self) -> Consensus:
        """The one rater's mask, the consensus given in a file, or the STAPLE of each label."""
        numbers = self.labels.values()
        patterns = self.given_consensus or self.patterns
        if patterns.n_raters == 1:
            holds = [patterns.marked(label)[:, 0] for label in numbers]
        else:
            holds = [staple_foreground(patterns, label=label) for label in numbers]
        return Consensus(patterns, np.stack(holds, axis=1))

    def volumes_cm3(self, label: int = 1) -> NDArray[np.float64]:
        """The raters' volumes of a label."""
        sizes = self.patterns.counts @ self.patterns.marked(label)
        return sizes * self.grid.voxel_volume_mm3 / 1000

    def packed_raters(self, label: int = 1) -> tuple[PackedMask, ...]:
        """The raters' masks of a label, as bits."""

        def pack() -> tuple[PackedMask, ...]:
            marked = self.patterns.marked(label).T
            return tuple(
                PackedMask.of(self.patterns.marks.select(partial(np.take, of_rater)))
                for of_rater in marked
            )

        return self.memo.once(("packed", label), pack)

    @cached_property
    def invasion_angles(self) -> dict[str, InvasionAngles]:
        """The raters' slice-wise contact angles with each structure there is."""
        n_raters = self.patterns.n_raters
        return {
            name: structure.invasion_angles(self._marks(structure.box), n_raters)
            for name, structure in self.structures.items()
            if structure
        }

    @cached_property
    def contact_angles(self) -> dict[str, NDArray[np.float64]]:
        """The raters' anatomical contact angles with each structure there is."""
        n_raters = self.patterns.n_raters
        return {
            name: structure.contact_angles(self._marks(structure.box), n_raters)
            for name, structure in self.structures.items()
            if structure
        }

    def _marks(self, box: Box) -> NDArray[Any]:
        """The raters' masks in a box, as bits."""
        bits = self.patterns.marked() @ (1 << np.arange(self.patterns.n_raters))
        table = bits.astype(np.min_scalar_type(int(bits.max())))
        return np.asarray(table[self.patterns.codes[box]])


@dataclass(frozen=True)
class PredictedCase:
    """A method's prediction of a case, on the reference grid; labels as in `ReferenceCase`.

    `probabilities` has a map per label, if the protocol asks for them, or None where `no_maps`
    says why there is none. `classes` are what values in `marks` stand for, where labels overlap.
    """

    marks: SparseLabels
    probabilities: tuple[Volume | None, ...] = ()
    warnings: tuple[str, ...] = ()
    no_maps: Mapping[int, str] = field(default_factory=dict)
    samples: tuple[SparseLabels, ...] = ()  # equally likely answers, where the method gives a set
    no_samples: str = ""  # why there are none, though the protocol asks for them
    classes: Classes | None = None
    lost_header: bool = False  # whether its file says nothing of where it lies

    @property
    def why_no_samples(self) -> str:
        """Why there are no samples; nothing where there are some."""
        return "" if self.samples else self.no_samples or "the prediction has no samples"

    def of(self, label: int) -> NDArray[np.int64]:
        """Flat indices of the voxels of a label."""
        return _where(self.marks, label, self.classes)

    def sample_of(self, sample: int, label: int) -> NDArray[np.int64]:
        """Flat indices of the voxels of a label in one of the samples."""
        return _where(self.samples[sample], label, self.classes)


def _where(marks: SparseLabels, label: int, classes: Classes | None) -> NDArray[np.int64]:
    if classes is None:
        return marks.where(label)
    holding = classes.holding(label)
    return marks.select(lambda values: np.asarray(holding[values]))
