"""Masks and images beside the raters' own: a given consensus, structures, the image."""

from __future__ import annotations

import numpy as np

from segjury import images
from segjury.arrays import flat
from segjury.benchmark.check.masks import absent_names, geometry, read_mask
from segjury.benchmark.check.problem import MOST_NAMED, Problem, failed, warning
from segjury.benchmark.layout import Place
from segjury.benchmark.loading import numbered
from segjury.consensus import RaterPatterns, staple_foreground, union
from segjury.errors import InputError
from segjury.images.grid import Grid
from segjury.images.labels import Classes
from segjury.metrics.overlap import dsc_from_sizes
from segjury.protocols import Protocol
from segjury.wording import listed

LEAST_CONSENSUS_DSC = 0.95


def check_consensus(
    protocol: Protocol, place: Place, grid: Grid | None, patterns: RaterPatterns | None
) -> list[Problem]:
    """Compare a given consensus with the raters and with their STAPLE."""
    spec, stem = protocol.reference, place.stem
    problems: list[Problem] = []
    ignored = [spec.ignore] if spec.ignore else []
    mask = read_mask(protocol, place, [*spec.scored_numbers, *ignored], grid, problems)
    if mask is None or patterns is None or patterns.n_raters < 2:
        return problems
    apart, differing = [], []
    marks, classes = numbered(mask, spec), Classes(spec.classes)
    voxels, values = marks.voxels, marks.labels
    for number, name in enumerate(spec.labels, 1):
        codes = flat(patterns.codes)[voxels[classes.holding(number)[values]]]
        if codes.size and not union(patterns, label=number)[codes].any():
            apart.append(name)
            continue
        holds = staple_foreground(patterns, label=number)
        size, common = int(patterns.counts[holds].sum()), int(holds[codes].sum())
        dsc = dsc_from_sizes(size, codes.size, common)
        if dsc < LEAST_CONSENSUS_DSC:
            differing.append(f"{name} {dsc:.3f}")
    if apart:
        message = f"{stem} shares no voxel of {', '.join(apart)} with any rater"
        problems.append(warning("consensus-apart", message, "Check its case", file=stem))
    if differing:
        dice = listed(differing, most=MOST_NAMED)
        message = f"{stem} is not the STAPLE of the raters: Dice of {dice}"
        fix = "Scores use the file: leave it out to have it computed"
        problems.append(warning("consensus-differs", message, fix, file=stem))
    return problems


def check_structures(protocol: Protocol, place: Place, grid: Grid | None) -> list[Problem]:
    """Look at the label map of further structures."""
    spec = protocol.reference.structures
    if spec is None:
        return []
    problems: list[Problem] = []
    mask = read_mask(protocol, place, list(spec.labels.values()), grid, problems)
    if mask is None:
        return problems
    absent = absent_names(mask, {name: (number,) for name, number in spec.labels.items()})
    if len(absent) == len(spec.labels):
        message = f"{place.stem} marks nothing"
        problems.append(warning("empty-structures", message, file=place.stem))
    elif absent:
        message = f"{place.stem} has no {', '.join(absent)}"
        problems.append(warning("absent-structure", message, file=place.stem))
    return problems


def check_image(protocol: Protocol, place: Place, grid: Grid | None) -> list[Problem]:
    """Pictures alone need the image, so that nothing about it is an error."""
    name = place.stem
    try:
        path = place.find()
        name = path.name
        volume = images.read_volume(path, grid=grid, tolerance=protocol.grid)
        problems = geometry(protocol, grid, volume.grid, name)
    except InputError as error:
        return [failed(error, name, severity="warning")]
    lowest, highest = float(volume.array.min()), float(volume.array.max())
    if not np.isfinite([lowest, highest]).all():
        problems.append(warning("nan-image", f"{name} has NaN or infinite values", file=name))
    elif lowest == highest:
        message = f"{name} has the value {lowest:g} everywhere"
        problems.append(warning("constant-image", message, file=name))
    return problems
