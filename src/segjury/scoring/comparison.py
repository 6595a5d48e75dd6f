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
from segjury.consensus import RaterPatterns, agreement_region
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

    def _joint(self, patterns: RaterPatterns) -> NDArray[np.int64]:
        """Voxels of the whole image by (pattern, predicted label)."""

        def count() -> NDArray[np.int64]:
            n_labels, codes = len(self.reference.labels) + 1, flat(patterns.codes)
            found = np.zeros(patterns.n_codes * n_labels, np.int64)
            for voxels, labels in self.prediction.marks.pieces():
                cells = codes[voxels].astype(np.intp) * n_labels + labels
                found += np.bincount(cells, minlength=found.size)
            joint = found.reshape(patterns.n_codes, n_labels)
            joint[:, 0] = patterns.counts - joint.sum(axis=1)
            return joint

        return self._kept.once(("joint", id(patterns)), count)

    def confusion(self, label: int) -> Confusion:
        """The 2x2 table of the consensus and the predicted mask of a label."""
        consensus = self.reference.consensus
        joint, holds = self._joint(consensus.patterns), consensus.holds[:, label - 1]
        tp = int(joint[holds, label].sum())
        fn = int(joint[holds].sum()) - tp
        fp = int(joint[~holds, label].sum())
        return Confusion(tp=tp, fp=fp, fn=fn, tn=int(joint.sum()) - tp - fn - fp)

    def agreement_sizes(self, label: int) -> tuple[int, int, int]:
        """Voxels of the consensus foreground, of the prediction outside dissensus, of both."""
        patterns = self.reference.patterns
        joint = self._joint(patterns)
        everyone, counted = self._agreed(label)
        return (
            int(patterns.counts[everyone].sum()),
            int(joint[counted, label].sum()),
            int(joint[everyone, label].sum()),
        )

    def agreement_rows(self, label: int) -> agreement.RowCounts:
        """`agreement_sizes` of every row along x."""
        patterns, shape = self.reference.patterns, self.reference.grid.shape
        everyone, counted = self._agreed(label)
        codes, rows = flat(patterns.codes), agreement.RowCounts.of_nothing(shape)
        for voxels, here in patterns.marks.pieces():
            rows.add(foreground=voxels[everyone[here]])
        for voxels, labels in self.prediction.marks.pieces():
            predicted = voxels[labels == label]
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
        """The probability map of a label."""
        return self.prediction.probabilities[label - 1]

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
            ),
        )

    def calibration(self, bins: int, reading: Reading) -> calibration.CalibrationHistogram:
        """Counts over the whole image and all labels; shared as those of a lesion."""
        counted: Reading = "released" if reading == "released" else "corrected"
        maps = self.prediction.probabilities
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
        return rated_box(patterns, label, volume.array, around)

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
        if self._crowded_map:
            return crowded.label_nsd(reference, self._crowded_map, label, tolerance)
        predicted = self._predicted(label).surface(definition, unit)
        return surface.surface_nsd(reference, predicted, tolerance)

    @cached_property
    def _crowded_map(self) -> crowded.CrowdedMap | None:
        """The predicted labels, where they are very many voxels of a volume together."""
        joint, shape = self._joint(self.reference.consensus.patterns), self.reference.grid.shape
        if joint[:, 1:].sum() <= crowded.MANY_VOXELS or not is_volume(shape):
            return None
        return crowded.CrowdedMap(self.prediction.marks.painted(math.prod(shape)), shape)

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
