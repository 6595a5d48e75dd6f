"""Simulated raters of a mask, who disagree as much as one wants."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Box, flat, nonzero_spans
from segjury.benchmark.phantoms.mask_raters import (
    MaskPart,
    RaterPanel,
    Sketch,
    drawn_mm,
    part_of,
    sketch,
    smallest_grain_mm,
    thinned,
    usual_grain_mm,
)
from segjury.consensus import Piece, SeenPatterns, number_patterns
from segjury.errors import InputError
from segjury.images import read_mask, write_volume
from segjury.images.grid import Grid
from segjury.images.labels import LabelMap
from segjury.images.volume import Volume
from segjury.metrics.overlap import mean_pairwise_dsc, pairwise_dsc
from segjury.runtime.writing import write_text

MOST_SAMPLES = 250_000  # voxels on which the amplitude is found
CLOSE = 0.001  # to the wanted agreement, where bisection ends
CLOSE_ENOUGH = 0.004  # where no other round is needed
REACHED = 0.01  # where it counts as reached
ROUNDS = 4
FARTHEST = 64  # radii that raters stray at most
MOST_RATERS = 100


@dataclass(frozen=True)
class Simulation:
    """What simulated raters drew, in a box outside which there is nothing."""

    panel: RaterPanel
    parts: tuple[MaskPart, ...]
    grid: Grid
    box: Box
    patterns: SeenPatterns  # of the raters, and last the mask itself
    amplitudes_mm: tuple[float, ...]  # per label
    wanted: float  # mean pairwise Dice

    @property
    def labels(self) -> list[int]:
        """The labels of the mask."""
        return [part.label for part in self.parts]

    def agreement(self, label: int) -> float:
        """Mean pairwise Dice of the raters."""
        return mean_pairwise_dsc(self.patterns.counts, self.patterns.marked(label)[:, :-1])

    def image(self, rater: int) -> Volume:
        """What a rater drew, on the grid of the mask."""
        whole = np.zeros(self.grid.shape, np.uint8, order="F")
        drawn = self.patterns.spread(self.patterns.labels[:, rater].astype(np.uint8))
        whole[self.box] = drawn.reshape(self.box.shape, order="F")
        return Volume(whole, self.grid)


def simulate(
    mask: LabelMap,
    panel: RaterPanel,
    *,
    disagreement: float,
    progress: Callable[[float], None] = lambda _share: None,
) -> Simulation:
    """Let raters draw a mask so that their mean pairwise Dice is 1 - `disagreement` in each label.

    How far they stray is found by bisection on a part of the voxels, with the same random fields
    throughout, and corrected by what they then draw. Labels are drawn one by one; where two meet,
    the one that a voxel lies deeper in has it.
    """
    _check(mask, panel, disagreement)
    bias = max(panel.bias_mm)
    labels = np.unique(mask.labels).tolist()
    parts = [part_of(mask, n, disagreement=disagreement, bias_mm=bias) for n in labels]
    _check_grain(parts, panel)
    samples = [
        [
            thinned(sketch(part, panel, rater), part.grid, most_voxels=MOST_SAMPLES)
            for rater in range(panel.size)
        ]
        for part in parts
    ]
    box = Box.around([part.box for part in parts])
    wanted = 1 - disagreement
    targets = np.full(len(parts), wanted)
    rounds: list[tuple[float, Simulation]] = []
    for number in range(ROUNDS):
        amplitudes = tuple(
            amplitude_mm(sketches, target, radius_mm=part.radius_mm)
            for part, sketches, target in zip(parts, samples, targets, strict=True)
        )
        if any(amplitudes == before.amplitudes_mm for _, before in rounds):
            break
        patterns = _draw(mask, parts, panel, amplitudes, box)
        simulation = Simulation(panel, tuple(parts), mask.grid, box, patterns, amplitudes, wanted)
        off = wanted - np.array([simulation.agreement(label) for label in labels])
        rounds.append((float(np.abs(off).max()), simulation))
        progress((number + 1) / ROUNDS)
        if rounds[-1][0] <= CLOSE_ENOUGH:
            break
        targets = targets + off
    progress(1.0)
    return min(rounds, key=lambda each: each[0])[1]


def amplitude_mm(sketches: Sequence[Sketch], agreement: float, *, radius_mm: float) -> float:
    """How far raters must stray for a mean pairwise Dice; where none does it, for the nearest."""

    def reached(amplitude: float) -> float:
        marked = np.stack([flat(drawn_mm(each, amplitude)) > 0 for each in sketches], axis=1)
        return mean_pairwise_dsc(np.ones(len(marked), np.int64), marked)

    if reached(0.0) <= agreement:
        return 0.0
    tried = {radius_mm / 16: reached(radius_mm / 16)}
    while min(tried.values()) > agreement:
        if max(tried) >= FARTHEST * radius_mm:
            return min(tried, key=lambda amplitude: tried[amplitude])
        farther = 2 * max(tried)
        tried[farther] = reached(farther)
    high = max(tried)
    low = high / 2 if len(tried) > 1 else 0.0
    for _ in range(30):
        middle = (low + high) / 2
        dice = reached(middle)
        if abs(dice - agreement) <= CLOSE:
            return middle
        low, high = (middle, high) if dice > agreement else (low, middle)
    return (low + high) / 2


def _draw(
    mask: LabelMap,
    parts: Sequence[MaskPart],
    panel: RaterPanel,
    amplitudes: Sequence[float],
    box: Box,
) -> SeenPatterns:
    """The patterns of what the raters draw, and last of the mask, in the box."""

    def everyone() -> Iterator[Iterator[Piece]]:
        for rater in range(panel.size):
            yield _marks(_drawing(parts, panel, rater, amplitudes, box))
        yield _marks(_crop(mask, box))

    return number_patterns(everyone(), math.prod(box.shape))


def _drawing(
    parts: Sequence[MaskPart], panel: RaterPanel, rater: int, amplitudes: Sequence[float], box: Box
) -> NDArray[np.uint8]:
    labels = np.zeros(box.shape, np.uint8, order="F")
    depth = np.zeros(labels.shape, np.float32, order="F")
    for part, amplitude in zip(parts, amplitudes, strict=True):
        here = part.box.inside(box)
        drawn = drawn_mm(sketch(part, panel, rater), amplitude)
        deeper = drawn > depth[here]
        labels[here][deeper] = part.label
        np.maximum(depth[here], drawn, out=depth[here])
    return labels


def _marks(labels: NDArray[np.uint8]) -> Iterator[Piece]:
    voxels = flat(labels)
    for start, stop in nonzero_spans(labels):
        yield slice(start, stop), voxels[start:stop]


def _crop(mask: LabelMap, box: Box) -> NDArray[np.uint8]:
    labels = np.zeros(box.shape, np.uint8, order="F")
    labels[box.places(mask.voxels, mask.grid.shape)] = mask.labels
    return labels


# ---- checks and files ----------------------------------------------------------------------


def _check(mask: LabelMap, panel: RaterPanel, disagreement: float) -> None:
    if not mask.voxels.size:
        raise InputError("the mask is empty", "Give one with something to draw")
    if mask.voxels.size == math.prod(mask.grid.shape) and len(np.unique(mask.labels)) == 1:
        raise InputError("the mask fills the image", "Give one with an edge to disagree about")
    if not 0 <= disagreement < 1:
        raise InputError(f"a disagreement of {disagreement:g}", "Give 0 to below 1, as 0.4")
    if not 2 <= panel.size <= MOST_RATERS:
        raise InputError(f"{panel.size} raters", f"Give 2 to {MOST_RATERS}")
    if not all(map(math.isfinite, panel.bias_mm)):
        raise InputError("a bias is no number", "Give mm, as 0.5,0,-0.5")
    shares = (*panel.skill, panel.rho, panel.wavering)
    if not all(0 <= value < math.inf for value in shares) or not 0 <= panel.missed <= 1:
        raise InputError(
            "a skill, rho, wavering or missed is out of range",
            "Give numbers of at least 0, and missed up to 1",
        )


def _check_grain(parts: Sequence[MaskPart], panel: RaterPanel) -> None:
    least = max(smallest_grain_mm(part.grid) for part in parts)
    if panel.grain_mm is not None and not least <= panel.grain_mm < math.inf:
        raise InputError(
            f"a grain of {panel.grain_mm:g} mm is too fine for the mask's voxels",
            f"Give at least {math.ceil(least * 10) / 10:g} mm",
        )


def simulate_raters(
    mask: str | Path,
    out: str | Path,
    *,
    raters: int = 5,
    disagreement: float = 0.4,
    bias: float | Sequence[float] = 0.0,
    skill: float | Sequence[float] = 1.0,
    rho: float = 0.5,
    wavering: float = 0.25,
    missed: float = 0.0,
    grain: float | None = None,
    seed: int = 0,
    progress: Callable[[float], None] = lambda _share: None,
) -> Simulation:
    """Let simulated raters draw the mask in a file; writes what each drew to the folder `out`.

    Parameters
    ----------
    mask, out
        The mask that all of them draw; the folder for `annotation_1.nii.gz`, ... and `raters.json`.
    raters, disagreement
        Their number; 1 minus the mean pairwise Dice that is wanted.
    bias, skill
        Millimetres that each draws outwards, and the size of each one's own errors: a number for
        all, or one for each.
    rho, wavering, missed, grain
        Size of the errors that all share; how much errors change the size drawn; share of the
        raters who miss a part; millimetres over which errors are alike, by the mask unless told.
    seed
        The same one gives the same files.
    progress
        Called with the share that is done.

    Returns
    -------
    Simulation
        What was drawn, and how far the raters agree.

    """
    panel = RaterPanel(
        _of_each("bias", bias, raters),
        _of_each("skill", skill, raters),
        rho=rho,
        wavering=wavering,
        missed=missed,
        grain_mm=grain,
        seed=seed,
    )
    return write_raters(Path(mask), Path(out), panel, disagreement=disagreement, progress=progress)


def _of_each(argument: str, given: float | Sequence[float], raters: int) -> tuple[float, ...]:
    """A number for each rater; one alone is everybody's."""
    values = tuple(np.atleast_1d(np.asarray(given, np.float64)).tolist())
    if len(values) not in (1, raters):
        what = f"`{argument}` has {len(values)} numbers for {raters} raters"
        raise InputError(what, "Give one for each")
    return values * raters if len(values) == 1 else values


def write_raters(
    path: Path,
    out: Path,
    panel: RaterPanel,
    *,
    disagreement: float,
    progress: Callable[[float], None] = lambda _share: None,
) -> Simulation:
    """Simulate raters of the mask in a file: `annotation_1.nii.gz`, ... and `raters.json`."""
    there = sorted(out.glob("annotation_*"))
    if there:
        raise InputError(f"{out} has {there[0].name}", "Give another folder")
    mask = read_mask(path, labels=range(1, 256), overlap=False)
    try:
        simulation = simulate(mask, panel, disagreement=disagreement, progress=progress)
    except InputError as error:
        raise InputError(f"{path.name}: {error.what}", error.fix) from None
    for rater in range(panel.size):
        write_volume(out / f"annotation_{rater + 1}.nii.gz", simulation.image(rater))
    about = {"mask": path.name, "disagreement": disagreement, **asdict(panel)}
    about["labels"] = {str(label): facts(simulation, label) for label in simulation.labels}
    write_text(json.dumps(about, indent=2, allow_nan=False), out / "raters.json")
    return simulation


def facts(simulation: Simulation, label: int) -> dict[str, Any]:
    """What is known of a label: how far raters strayed, what they drew, how they agree."""
    part, amplitude = next(
        (part, amplitude)
        for part, amplitude in zip(simulation.parts, simulation.amplitudes_mm, strict=True)
        if part.label == label
    )
    counts, marked = simulation.patterns.counts, simulation.patterns.marked(label)
    volumes = (counts @ marked * simulation.grid.voxel_volume_mm3).tolist()
    dice = pairwise_dsc(counts, marked)
    return {
        "amplitude_mm": amplitude,
        "grain_mm": simulation.panel.grain_mm or usual_grain_mm(part),
        "mean_pairwise_dice": simulation.agreement(label),
        "pairwise_dice": dice[:-1, :-1].tolist(),
        "dice_with_mask": dice[-1, :-1].tolist(),
        "volume_mm3": volumes[:-1],
        "mask_volume_mm3": volumes[-1],
    }
