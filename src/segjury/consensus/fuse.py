"""One mask made of several, or a map of how many agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjury import consensus
from segjury.arrays import Floats, Ints
from segjury.consensus import SeenPatterns, Ties, break_ties, leaders
from segjury.consensus.mask_files import Raters
from segjury.consensus.performance import Performance, one_label_each, performance
from segjury.errors import InputError
from segjury.images import write_volume, written_suffix
from segjury.runtime.paths import resolved

Method = Literal["staple", "majority", "mean", "simple", "intersection", "union"]

UNDEFINED = (
    "STAPLE is not defined where nobody or everybody marks every voxel; its mask is empty, as ITK's"
)


@dataclass(frozen=True)
class Fusion:
    """A consensus: labels or a map for each label, as a value per pattern, and how it came about.

    `maps` has a column per label, the background's first. `facts` are the estimates of a method.
    """

    method: Method
    labels: Ints | None
    maps: Floats | None
    performance: Performance
    weights: Floats | None = None
    dropped_in: Ints | None = None
    facts: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()


def fuse(
    raters: Raters,
    method: Method = "staple",
    *,
    ties: Ties = "background",
    alpha: float = 1.5,
) -> Fusion:
    """Make one mask of several.

    Parameters
    ----------
    raters : Raters
        Masks of one image, from `read_raters`.
    method : {"staple", "majority", "mean", "simple", "intersection", "union"}
        How to decide; `mean` gives maps instead of labels.
    ties : {"background", "lower", "first"}
        Which of several labels that are equally good. In a union, background is no answer: the
        lower label takes its place.
    alpha : float
        Of `simple`: how many SDs below the mean a rater is dropped.

    Returns
    -------
    Fusion
        Labels or maps per pattern, and how well each rater agrees with them.
    """
    patterns = raters.patterns
    votes = consensus.votes(patterns)
    if method == "staple":
        return _binary_staple(patterns) if patterns.n_labels == 2 else _staple(patterns, ties)
    if method == "mean":
        share = votes / patterns.n_raters
        return Fusion(method, None, share, performance(patterns, share))
    if method == "simple":
        return _simple(patterns, alpha, ties)
    if method == "majority":
        labels = break_ties(patterns, leaders(votes), ties=ties)
    elif method == "intersection":
        labels = np.where(np.ptp(patterns.labels, axis=1) == 0, patterns.labels[:, 0], 0)
    else:
        votes[:, 0] = 0
        ties = "lower" if ties == "background" else ties
        labels = break_ties(patterns, leaders(votes), ties=ties)
    return Fusion(method, labels, None, _against(patterns, labels))


def _against(patterns: SeenPatterns, labels: Ints) -> Performance:
    return performance(patterns, one_label_each(labels, patterns.n_labels))


def _binary_staple(patterns: SeenPatterns) -> Fusion:
    estimate = consensus.staple(patterns)
    labels = estimate.foreground.astype(np.int64)
    undefined = bool(np.isnan(estimate.probability[patterns.counts > 0]).any())
    inside = np.nan_to_num(estimate.probability)
    with_mask = _against(patterns, labels)
    return Fusion(
        "staple",
        labels,
        np.column_stack([1 - inside, inside]),
        replace(
            with_mask,
            sensitivity=np.column_stack([estimate.specificity, estimate.sensitivity]),
            specificity=np.column_stack([estimate.sensitivity, estimate.specificity]),
        ),
        facts={"iterations": estimate.iterations},
        warnings=(UNDEFINED,) if undefined else (),
    )


def _staple(patterns: SeenPatterns, ties: Ties) -> Fusion:
    estimate = consensus.multilabel_staple(patterns)
    labels = break_ties(patterns, estimate.leading, ties=ties)
    quality = performance(patterns, estimate.probability)
    return Fusion(
        "staple",
        labels,
        estimate.probability,
        replace(quality, dice=_against(patterns, labels).dice),
        facts={
            "iterations": estimate.iterations,
            "prior": estimate.prior.tolist(),
            "confusion": estimate.confusion.tolist(),
        },
    )


def _simple(patterns: SeenPatterns, alpha: float, ties: Ties) -> Fusion:
    selection = consensus.simple(patterns, alpha=alpha, ties=ties)
    return Fusion(
        "simple",
        selection.labels,
        None,
        _against(patterns, selection.labels),
        weights=selection.weights,
        dropped_in=selection.dropped_in,
        facts={"iterations": selection.iterations, "alpha": alpha},
    )


def write_fusion(
    raters: Raters, fusion: Fusion, out: Path, *, soft: bool = False, inputs: Sequence[Path] = ()
) -> list[Path]:
    """Write the labels, or with `soft` (and where there are none) a map for each label.

    Several maps are named after their labels: `out_1.nii.gz`, `out_2.nii.gz`, ... None of the
    `inputs` is written over.
    """
    images: dict[Path, NDArray[Any]] = {}
    if fusion.labels is not None and not soft:
        stored = raters.values.astype(np.min_scalar_type(raters.values.max()))
        images[out] = stored[fusion.labels]
    elif fusion.maps is not None:
        maps = fusion.maps[:, 1:].astype(np.float32)
        images = dict(zip(_map_files(out, raters.values), maps.T, strict=True))
    read = {resolved(path) for path in inputs}
    for path in images:
        if resolved(path) in read:
            raise InputError(f"{path} is one of the masks", "Give another `out`")
    for path, per_pattern in images.items():
        write_volume(path, raters.image(per_pattern))
    return list(images)


def _map_files(out: Path, values: Ints) -> list[Path]:
    """Where the maps of labels go: one has the name, several have their labels' numbers in it."""
    if len(values) == 2:
        return [out]
    suffix = written_suffix(out)
    return [out.with_name(f"{out.name.removesuffix(suffix)}_{v}{suffix}") for v in values[1:]]


# ---- what is told of it --------------------------------------------------------------------


def volumes_mm3(raters: Raters, fusion: Fusion) -> dict[int, float]:
    """Volume of each label in the consensus; of a map, the sum of its values."""
    share = fusion.maps
    if fusion.labels is not None:
        share = one_label_each(fusion.labels, raters.patterns.n_labels)
    voxels = np.asarray(raters.patterns.counts @ np.asarray(share))
    volumes = (voxels * raters.grid.voxel_volume_mm3).tolist()
    return dict(zip(raters.values.tolist()[1:], volumes[1:], strict=True))


def rows(raters: Raters, fusion: Fusion) -> list[dict[str, Any]]:
    """A row per mask and label: its volume, and how well it agrees with the consensus."""
    agreement = fusion.performance
    table = []
    for k, name in enumerate(raters.names):
        for number, value in enumerate(raters.values.tolist()[1:], start=1):
            row: dict[str, Any] = {"mask": name, "label": value}
            row["volume_mm3"] = agreement.voxels[k, number] * raters.grid.voxel_volume_mm3
            for quantity in ("dice", "sensitivity", "specificity"):
                row[quantity] = float(getattr(agreement, quantity)[k, number])
            if fusion.weights is not None and fusion.dropped_in is not None:
                row["weight"] = float(fusion.weights[k])
                row["dropped_in"] = int(fusion.dropped_in[k])
            table.append(row)
    return table


def summary(raters: Raters, fusion: Fusion) -> dict[str, Any]:
    """All that is known of a consensus but its voxels, for a JSON file; NaN is None."""
    return {
        "method": fusion.method,
        "labels": raters.values.tolist(),
        "volume_mm3": {str(label): v for label, v in volumes_mm3(raters, fusion).items()},
        **(fusion.facts or {}),
        "raters": [
            {key: None if value != value else value for key, value in row.items()}
            for row in rows(raters, fusion)
        ],
        "warnings": [*raters.warnings, *fusion.warnings],
    }
