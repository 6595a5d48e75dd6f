"""One prediction beside the reference: the counts that metrics and readings share.

Each is computed when a metric first asks for it, and once. What depends on the reference alone
is kept with the reference, once for all methods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, bounding_box, flat, joined_spans, nonzero_spans
from segjury.benchmark.case import PredictedCase, ReferenceCase, Structure
from segjury.consensus import Overlaps, PackedMask, RaterPatterns, agreement_region, overlaps
from segjury.images.labels import Classes
from segjury.images.volume import Volume
from segjury.metrics import agreement, calibration, crowded, distances, invasion, overlap, surface
from segjury.metrics.confusion import Confusion
from segjury.metrics.geometry.dimension import is_volume
from segjury.metrics.metric import Reading
from segjury.metrics.rated_map import (
    RatedMap,
    RegionOptions,
    marks_box,
    rated_box,
    rated_image,
)
from segjury.runtime.memo import Memo, R
from segjury.scoring.features import LengthUnit, MaskFeatures


class Comparison:
    """A prediction and the reference it is judged against.

    `lowest_threshold` is the lowest at which any metric will cut the probability map.
    """

    def __init__(
        self, reference: ReferenceCase, prediction: PredictedCase, lowest_threshold: float
    ) -> None:
        self.reference = reference
        self.prediction = prediction
        self._lowest_threshold = lowest_threshold
        self._kept = Memo()

    def once(self, key: tuple[object, ...], compute: Callable[[], R]) -> R:
        """What `compute` returns, computed once for a key."""
        return self._kept.once(key, compute)

    # ---- counts ----------------------------------------------------------------------------

    @cached_property
    def _classes(self) -> Classes:
        """What the predicted values stand for."""
        return self.prediction.classes or Classes.plain(len(self.reference.labels))

    def _joint(self, patterns: RaterPatterns) -> NDArray[np.int64]:
        """Voxels of the whole image by (pattern, predicted value)."""

        def count() -> NDArray[np.int64]:
            n_values, codes = len(self._classes.sets) + 1, flat(patterns.codes)
            found = np.zeros(patterns.n_codes * n_values, np.int64)
            for voxels, values in self.prediction.marks.pieces():
                cells = codes[voxels].astype(np.intp) * n_values + values
                found += np.bincount(cells, minlength=found.size)
            joint = found.reshape(patterns.n_codes, n_values)
            joint[:, 0] = patterns.counts - joint.sum(axis=1)
            return joint

        return self._kept.once(("joint", id(patterns)), count)

    def confusion(self, label: int) -> Confusion:
        """The 2x2 table of the consensus and the predicted mask of a label."""
        consensus = self.reference.consensus
        joint, holds = self._joint(consensus.patterns), consensus.holds[:, label - 1]
        predicted = joint[:, self._classes.holding(label)].sum(axis=1)
        tp = int(predicted[holds].sum())
        fn = int(joint[holds].sum()) - tp
        fp = int(predicted[~holds].sum())
        return Confusion(tp=tp, fp=fp, fn=fn, tn=int(joint.sum()) - tp - fn - fp)

    def agreement_sizes(self, label: int) -> tuple[int, int, int]:
        """Voxels of the consensus foreground, of the prediction outside dissensus, of both."""
        patterns = self.reference.patterns
        predicted = self._joint(patterns)[:, self._classes.holding(label)].sum(axis=1)
        everyone, counted = self._agreed(label)
        return (
            int(patterns.counts[everyone].sum()),
            int(predicted[counted].sum()),
            int(predicted[everyone].sum()),
        )

    def agreement_rows(self, label: int) -> agreement.RowCounts:
        """`agreement_sizes` of every row along x."""
        patterns, shape = self.reference.patterns, self.reference.grid.shape
        everyone, counted = self._agreed(label)
        codes, rows = flat(patterns.codes), agreement.RowCounts.of_nothing(shape)
        for voxels, here in patterns.marks.pieces():
            rows.add(foreground=voxels[everyone[here]])
        holding = self._classes.holding(label)
        for voxels, values in self.prediction.marks.pieces():
            predicted = voxels[holding[values]]
            here = codes[predicted]
            rows.add(counted=predicted[counted[here]], common=predicted[everyone[here]])
        return rows

    def _agreed(self, label: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Patterns in which all raters give a label, and in which all or none do."""
        patterns = self.reference.patterns
        everyone = agreement_region(patterns, "foreground", label=label)
        return everyone, ~agreement_region(patterns, "dissensus", label=label)

    # ---- probabilities ---------------------------------------------------------------------

    def probability(self, label: int) -> Volume:
        """The probability map of a label, which must be there."""
        volume = self.prediction.probabilities[label - 1]
        if volume is None:
            raise ValueError(f"the prediction has no map of label {label}")
        return volume

    def pattern_sums(self, label: int) -> NDArray[np.float64]:
        """Sum of a label's probabilities over the voxels of each pattern."""

        def add() -> NDArray[np.float64]:
            patterns, volume = self.reference.patterns, self.probability(label)
            codes, p = flat(patterns.codes), flat(volume.array)
            sums = np.zeros(patterns.n_codes)
            for start, stop in volume.spans:
                sums += np.bincount(
                    codes[start:stop], weights=p[start:stop], minlength=patterns.n_codes
                )
            return sums

        return self._kept.once(("sums", label), add)

    def _probable(self, label: int) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """The map of a label a span at a time, and its voxels above the lowest threshold."""
        p = flat(self.probability(label).array)
        cut = _largest_not_above(self._lowest_threshold, p.dtype)
        for start, stop in self.probability(label).spans:
            span = p[start:stop]
            yield span, np.flatnonzero(span > cut) + start

    def _sum_and_box(self, label: int) -> tuple[float, Box | None]:
        def look() -> tuple[float, Box | None]:
            total, boxes = 0.0, []
            for span, voxels in self._probable(label):
                total += float(span.sum(dtype=np.float64))
                if box := bounding_box(voxels, self.reference.grid.shape):
                    boxes.append(box)
            return total, Box.around(boxes) if boxes else None

        return self._kept.once(("sum", label), look)

    def volume_mm3(self, label: int) -> float:
        """Predicted volume of a label: the sum of its probabilities."""
        return self._sum_and_box(label)[0] * self.reference.grid.voxel_volume_mm3

    def probability_levels(self, label: int, thresholds: tuple[float, ...]) -> NDArray[np.int64]:
        """Voxels of the whole image by (pattern, number of thresholds the probability exceeds)."""

        def count() -> NDArray[np.int64]:
            patterns, p = self.reference.patterns, flat(self.probability(label).array)
            codes, n_levels = flat(patterns.codes), len(thresholds) + 1
            found = np.zeros(patterns.n_codes * n_levels, np.int64)
            for _, voxels in self._probable(label):
                levels = overlap.threshold_levels(p[voxels], thresholds)
                cells = codes[voxels].astype(np.intp) * n_levels + levels
                found += np.bincount(cells, minlength=found.size)
            joint = found.reshape(patterns.n_codes, n_levels)
            joint[:, 0] = patterns.counts - joint[:, 1:].sum(axis=1)
            return joint

        return self._kept.once(("levels", label, thresholds), count)

    def lesion_calibration(
        self, label: int, around: calibration.ScoredBox, bins: int, reading: Reading
    ) -> calibration.CalibrationHistogram:
        """Counts in a reading's box around a label; others than the released share the same box."""
        counted: Reading = "released" if reading == "released" else "corrected"
        box = around.of(reading)
        return self._kept.once(
            ("lesion calibration", label, str(box), bins, counted),
            lambda: calibration.calibration_histogram(
                self.reference.patterns.codes[box],
                [self.probability(label).array[box]],
                self.reference.patterns.n_codes,
                bins=bins,
                reading=counted,
                counts=self._counts_in(box),
            ),
        )

    def _counts_in(self, box: Box) -> NDArray[np.int64] | None:
        """Voxels of each pattern in a box, but for ignored ones; None where none are."""
        patterns = self.reference.patterns
        if not patterns.ignored:
            return None
        counts = np.bincount(flat(patterns.codes[box]), minlength=patterns.n_codes)
        counts[0] -= self._ignored_in(box)
        return counts

    def _ignored_in(self, box: Box) -> int:
        """How many voxels of a box are not counted; it may be one that only slicing understands."""
        reference = self.reference
        if not reference.ignored.size:
            return 0
        left = np.zeros(reference.grid.shape, bool, order="F")
        flat(left)[reference.ignored] = True
        return int(np.count_nonzero(left[box]))

    def calibration(self, bins: int, reading: Reading) -> calibration.CalibrationHistogram:
        """Counts over the whole image and all labels; shared as those of a lesion."""
        counted: Reading = "released" if reading == "released" else "corrected"
        maps = [self.probability(label) for label in self.reference.labels.values()]
        return self._kept.once(
            ("calibration", bins, counted),
            lambda: calibration.calibration_histogram(
                flat(self.reference.patterns.codes),
                [flat(volume.array) for volume in maps],
                self.reference.patterns.n_codes,
                bins=bins,
                reading=counted,
                spans=joined_spans(volume.spans for volume in maps),
                counts=self.reference.patterns.counts,
            ),
        )

    # ---- samples ---------------------------------------------------------------------------

    def sample_overlaps(self, label: int) -> Overlaps:
        """The voxels of a label that the raters and the samples have in common."""

        def count() -> Overlaps:
            numbers = range(len(self.prediction.samples))
            samples = [PackedMask.of(self.prediction.sample_of(k, label)) for k in numbers]
            return overlaps(self.reference.packed_raters(label), samples)

        return self._kept.once(("samples", label), count)

    def rated_map(self, label: int, use: RegionOptions) -> RatedMap | None:
        """The map of a label beside its raters, in a region; None near marks that are not there."""
        return self._kept.once(("rated", label, rated_key(use)), lambda: self._rated(label, use))

    def _rated(self, label: int, use: RegionOptions) -> RatedMap | None:
        patterns, volume = self.reference.patterns, self.probability(label)
        if use.region == "image":
            marked = self.reference.memo.once(
                ("spans",), lambda: patterns.known_spans or nonzero_spans(patterns.codes)
            )
            return rated_image(patterns, label, volume.array, joined_spans((volume.spans, marked)))
        box = self.reference.memo.once(("box", label), lambda: marks_box(patterns, label))
        if box is None:
            return None
        around = box.grow(use.padding_voxels, self.reference.grid.shape)
        return rated_box(patterns, label, volume.array, around, ignored=self._ignored_in(around))

    # ---- shapes ----------------------------------------------------------------------------

    def reference_mask(self, label: int) -> MaskFeatures:
        """The consensus of a label, with what was computed of it for any method."""
        reference = self.reference
        return reference.memo.once(
            ("mask", label),
            lambda: MaskFeatures(partial(reference.consensus.voxels, label), reference.grid),
        )

    def predicted_mask(self, label: int) -> MaskFeatures:
        """The predicted mask of a label."""
        return self._kept.once(("mask", label), lambda: self._predicted(label))

    def _predicted(self, label: int) -> MaskFeatures:
        """`predicted_mask`, of which nothing is kept: for what is needed once."""
        return MaskFeatures(partial(self.prediction.of, label), self.reference.grid)

    def surface_distances(
        self, label: int, definition: surface.Definition, unit: LengthUnit
    ) -> surface.SurfaceDistances:
        """Distances between the surfaces of a label."""
        return self._kept.once(
            ("surface", label, definition, unit),
            lambda: surface.surface_distances(
                self.reference_mask(label).surface(definition, unit),
                self._predicted(label).surface(definition, unit),
            ),
        )

    def surface_nsd(
        self, label: int, definition: surface.Definition, unit: LengthUnit, tolerance: float
    ) -> float:
        """NSD of a label, from the distances where they are there already."""
        key = "surface", label, definition, unit
        if key in self._kept:
            found = self.surface_distances(label, definition, unit)
            return surface.nsd_from_distances(found, tolerance)
        reference = self.reference_mask(label).surface(definition, unit)
        if found_map := self._crowded_map(label):
            return crowded.label_nsd(reference, *found_map, tolerance)
        predicted = self._predicted(label).surface(definition, unit)
        return surface.surface_nsd(reference, predicted, tolerance)

    def _crowded_map(self, label: int) -> tuple[crowded.CrowdedMap, int] | None:
        """The predicted labels, where they are very many voxels of a volume together.

        The second is the label's value there: a label that may overlap others has a map of its own.
        """
        joint, shape = self._joint(self.reference.consensus.patterns), self.reference.grid.shape
        if joint[:, 1:].sum() <= crowded.MANY_VOXELS or not is_volume(shape):
            return None
        overlap = self.prediction.classes is not None

        def painted() -> crowded.CrowdedMap:
            if not overlap:
                return crowded.CrowdedMap(self.prediction.marks.painted(math.prod(shape)), shape)
            mask = np.zeros(math.prod(shape), np.uint8)
            mask[self.prediction.of(label)] = 1
            return crowded.CrowdedMap(mask, shape)

        key = ("crowded", label if overlap else 0)
        return self._kept.once(key, painted), 1 if overlap else label

    def voxel_distances(self, label: int, unit: LengthUnit) -> distances.VoxelDistances:
        """Distances between the voxels that only one of the masks of a label has, and the other."""
        return self._kept.once(
            ("voxels", label, unit),
            lambda: distances.voxel_distances(
                self.reference_mask(label).voxel_set(unit), self._predicted(label).voxel_set(unit)
            ),
        )

    # ---- contact ---------------------------------------------------------------------------

    def invasion_angles(
        self, name: str, structure: Structure, thresholds: tuple[float, ...]
    ) -> invasion.InvasionAngles:
        """Slice-wise contact angles of the map, cut at each threshold, with a structure."""
        return self._kept.once(
            ("invasion", name, thresholds),
            lambda: structure.invasion_angles(
                self._lesions(name, structure.box, thresholds), len(thresholds)
            ),
        )

    def contact_angles(
        self, name: str, structure: Structure, thresholds: tuple[float, ...]
    ) -> NDArray[np.float64]:
        """Anatomical contact angles of the map, cut at each threshold, with a structure."""
        lesions = self._lesions(name, structure.box, thresholds)
        return structure.contact_angles(lesions, len(thresholds))

    def _lesions(self, name: str, box: Box, thresholds: tuple[float, ...]) -> NDArray[Any]:
        """The masks `p > t` in a structure's box, as bits."""
        return self._kept.once(("lesions", name, thresholds), lambda: self._pack(box, thresholds))

    def _pack(self, box: Box, thresholds: tuple[float, ...]) -> NDArray[Any]:
        bits = np.min_scalar_type((1 << len(thresholds)) - 1)
        packed = np.zeros(box.shape, bits, order="F")
        probable = self._sum_and_box(1)[1]
        if probable and (common := box & probable):
            probability = self.probability(1).array[common]
            packed[common.inside(box)] = invasion.pack_levels(probability, thresholds)
        return packed


def rated_key(use: RegionOptions) -> tuple[object, ...]:
    """What tells regions apart."""
    return (use.region, use.padding_voxels if use.region == "near" else 0)


def _largest_not_above(value: float, dtype: np.dtype[Any]) -> Any:
    """The largest number of `dtype` that is at most `value`: `p > it` equals `p > value`."""
    nearest = dtype.type(value)
    return nearest if float(nearest) <= value else np.nextafter(nearest, dtype.type(0))
