"""Laws that every metric must obey, on small random scenes of raters and a prediction.

Each law takes what a metric declares, how it scores a scene, and a seed, and returns what is wrong,
or nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from scipy import ndimage

from segjury.arrays import Bools, Triple
from segjury.consensus import pack, staple_foreground
from segjury.errors import InputError
from segjury.metrics.metric import Metric

SHAPE = (26, 24, 22)
SAME = 1e-9
FACTORS = (0.5, 2.0, 3.0)  # of the voxel size
STEPS = 6  # layers that a mask loses
SEEDS = range(5)


@dataclass(frozen=True)
class Scene:
    """Raters (K, x, y, z), a vessel, a probability map, a lattice of lines and the voxel size."""

    raters: Bools
    vessel: Bools
    probability: NDArray[Any]
    lines: Bools
    spacing_mm: Triple = (1.0, 1.0, 1.0)

    @property
    def consensus(self) -> Bools:
        """What counts as the truth."""
        patterns = pack(self.raters)
        return patterns.image(staple_foreground(patterns))

    @property
    def samples(self) -> Bools:
        """As many equally likely masks as there are raters: the map, cut at even levels."""
        n = len(self.raters)
        return np.stack([self.probability > (k + 0.5) / n for k in range(n)])

    def moved(self, move: Callable[[NDArray[Any]], NDArray[Any]]) -> Scene:
        """The scene with every array flipped or transposed."""
        return Scene(
            np.stack([move(rater) for rater in self.raters]),
            move(self.vessel),
            move(self.probability),
            move(self.lines),
            self.spacing_mm,
        )

    def scaled(self, factor: float) -> Scene:
        """The scene with voxels so many times as large."""
        x, y, z = self.spacing_mm
        return replace(self, spacing_mm=(x * factor, y * factor, z * factor))

    def drawn_by(self, rater: Bools) -> Scene:
        """The scene in which all raters draw the same mask."""
        return replace(self, raters=np.stack([rater] * len(self.raters)))

    def predicting(self, probability: NDArray[Any]) -> Scene:
        """The scene with another prediction."""
        return replace(self, probability=probability.astype(np.float32))


Score = Callable[[Scene], float]


def blob(rng: np.random.Generator, size: float = 0.3) -> Bools:
    """A smooth random shape around the middle."""
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, n) for n in SHAPE], indexing="ij"))
    centre = rng.uniform(-0.15, 0.15, 3)
    distance = np.sqrt(((grid - centre[:, None, None, None]) ** 2).sum(axis=0))
    noise = ndimage.gaussian_filter(rng.normal(size=SHAPE), 2.5)
    return np.asarray(distance + 0.6 * noise / np.abs(noise).max() * size < size)


def _vessel() -> Bools:
    """A straight vessel along z beside the middle."""
    x, y = np.ogrid[: SHAPE[0], : SHAPE[1]]
    disc = (x - 15) ** 2 + (y - 12) ** 2 <= 3.2**2
    return np.repeat(disc[:, :, None], SHAPE[2], axis=2)


def _lattice() -> Bools:
    """Lines one voxel wide along all axes, like a net of the smallest vessels."""
    x, y, z = (axis % 5 == 2 for axis in np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]])
    return np.asarray((x & y) | (y & z) | (x & z))


def random_scene(seed: int, n_raters: int = 4) -> Scene:
    """Raters who differ, and a blurred prediction beside them."""
    rng = np.random.default_rng(seed)
    base = blob(rng, rng.uniform(0.2, 0.35)).astype(float)

    def shifted() -> NDArray[np.float64]:
        return np.asarray(ndimage.shift(base, rng.uniform(-2, 2, 3), order=1))

    raters = np.stack([shifted() > 0.5 for _ in range(n_raters)])
    blurred = ndimage.gaussian_filter(shifted(), 1)
    return Scene(raters, _vessel(), np.clip(blurred, 0, 1).astype(np.float32), _lattice())


def unanimous_scene(seed: int, n_raters: int = 4) -> Scene:
    """All raters draw the same mask, and the prediction is that mask."""
    base = blob(np.random.default_rng(seed), 0.35)
    return Scene(np.stack([base] * n_raters), _vessel(), base.astype(np.float32), _lattice())


# ---- laws ----------------------------------------------------------------------------------


def perfect_is_best(metric: Metric, score: Score, seed: int) -> str:
    """A prediction that is the mask of all raters has the best value."""
    value = score(unanimous_scene(seed))
    return "" if _near(value, metric.best, 1e-6) else f"scores {value:g}, not {metric.best:g}"


def within_bounds(metric: Metric, score: Score, seed: int) -> str:
    """Values lie within the bounds; masks that do not meet may leave one undefined."""
    value, (low, high) = score(random_scene(seed)), metric.bounds
    inside = math.isnan(value) or low - SAME <= value <= high + SAME
    return "" if inside else f"scores {value:g}, declared are {low:g} to {high:g}"


def symmetric(metric: Metric, score: Score, seed: int) -> str:
    """Exchanging reference and prediction changes nothing, where that is declared."""
    if not metric.symmetric:
        return ""
    rng = np.random.default_rng(seed)
    a, b = blob(rng), blob(rng)
    there, back = (
        score(unanimous_scene(seed).drawn_by(first).predicting(second))
        for first, second in ((a, b), (b, a))
    )
    same = _near(there, back, 1e-12 * max(1.0, abs(back)))
    return "" if same else f"scores {there:g}, and {back:g} with the masks exchanged"


def moves() -> Iterator[Callable[[NDArray[Any]], NDArray[Any]]]:
    """All flips and axis permutations of a volume but the identity."""
    for axes in itertools.permutations(range(3)):
        for flips in itertools.product((False, True), repeat=3):
            if axes == (0, 1, 2) and not any(flips):
                continue
            yield partial(_moved, axes=axes, flipped=tuple(np.flatnonzero(flips).tolist()))


def _moved(array: NDArray[Any], axes: tuple[int, ...], flipped: tuple[int, ...]) -> NDArray[Any]:
    return np.flip(array.transpose(axes), flipped)


def changes_under_moves(score: Score, seed: int) -> NDArray[np.float64]:
    """By how much each flip and axis permutation changes a score."""
    scene = random_scene(seed)
    before = score(scene)
    return np.abs([score(scene.moved(move)) - before for move in moves()])


def same_when_flipped(metric: Metric, score: Score, seed: int) -> str:
    """Mirroring and exchanging the axes changes nothing, where that is declared."""
    if "corrected" not in metric.flip_invariant:
        return ""
    change = float(np.nanmax(changes_under_moves(score, seed), initial=0))
    return "" if change <= SAME else f"a flip or an exchange of axes changes it by {change:g}"


def follows_voxel_size(metric: Metric, score: Score, seed: int, *, tolerance: float = SAME) -> str:
    """Scores follow the voxel size as declared."""
    if metric.scales_with == "otherwise":
        return ""
    scene, factor = random_scene(seed), FACTORS[seed % len(FACTORS)]
    power = {"nothing": 0, "length": 1, "volume": 3}[metric.scales_with]
    before, after = score(scene), score(scene.scaled(factor))
    expected = before * factor**power
    if _near(after, expected, tolerance + SAME * abs(expected)):
        return ""
    return f"voxels {factor:g} times as large turn {before:g} into {after:g}, not {expected:g}"


def improvements(metric: Metric, score: Score, seed: int) -> NDArray[np.float64]:
    """By how much each layer that a perfect mask loses makes the score better.

    What a prediction without a voxel leaves undefined costs the worst value, so it cannot gain.
    """
    scene = unanimous_scene(seed)
    mask, values = scene.raters[0], []
    for _ in range(STEPS):
        values.append(score(scene.predicting(mask)))
        mask = ndimage.binary_erosion(mask)
    values.append(score(scene.predicting(np.zeros(SHAPE))))
    steps = np.diff([value for value in values if not math.isnan(value)])
    return np.asarray(steps if metric.direction == "higher" else -steps)


def worse_is_not_better(metric: Metric, score: Score, seed: int) -> str:
    """A mask that loses layer after layer never scores better."""
    gain = float(improvements(metric, score, seed).max(initial=0))
    return "" if gain <= SAME else f"a mask that lost a layer scores better by {gain:g}"


def odd_masks() -> dict[str, Bools]:
    """Masks at the edge of what a mask can be, on the grid `odd_scene`."""
    masks = {
        name: np.zeros(odd_scene().vessel.shape, bool)
        for name in ("empty", "full", "one voxel", "one slice", "part of a slice", "at the border")
    }
    masks["full"][:] = True
    masks["one voxel"][4, 3, 2] = True
    masks["one slice"][:, :, 3] = True
    masks["part of a slice"][2:7, 2:6, 4] = True
    masks["at the border"][:4, 2:5, 2:6] = True
    return masks | {"all but one voxel": ~masks["one voxel"]}


def odd_scene() -> Scene:
    """A small scene: a corner of a larger one that the vessel runs through."""
    corner = (slice(8, 17), slice(8, 16), slice(7))
    return unanimous_scene(0).moved(lambda array: array[corner])


def perfect_is_never_beaten(metric: Metric, score: Score, seed: int) -> str:
    """On no reference does another prediction score better than a perfect one.

    Where the perfect one is undefined, every other is: a false mark must not be the only value.
    """
    masks = odd_masks()
    predictions = masks | {"noise": np.random.default_rng(seed).random(masks["full"].shape) < 0.3}
    for name, reference in masks.items():
        scene = odd_scene().drawn_by(reference)
        perfect = score(scene.predicting(reference))
        for other, prediction in predictions.items():
            value = score(scene.predicting(prediction))
            gain = value - perfect if metric.direction == "higher" else perfect - value
            if not math.isnan(value) and not gain <= SAME:
                words = f"the reference is {name}: a perfect prediction scores {perfect:g}"
                return f"{words}, and one that is {other} {value:g}"
    return ""


def empty_is_a_value_or_undefined(metric: Metric, score: Score, seed: int) -> str:
    """Empty masks give a value within the bounds or NaN; NaN where voxels are needed."""
    scene, nothing = unanimous_scene(seed), np.zeros(SHAPE, bool)
    for words, empty in (
        ("an empty prediction", scene.predicting(nothing)),
        ("an empty reference", scene.drawn_by(nothing)),
        ("two empty masks", scene.drawn_by(nothing).predicting(nothing)),
    ):
        value, (low, high) = score(empty), metric.bounds
        if math.isnan(value):
            continue
        if metric.needs_voxels:
            return f"{words} scores {value:g}, though it declares that it needs voxels"
        if not low <= value <= high or math.isinf(value):
            return f"{words} scores {value:g}, declared are {low:g} to {high:g}"
    return ""


def _near(value: float, expected: float, tolerance: float) -> bool:
    return abs(value - expected) <= tolerance or (math.isnan(value) and math.isnan(expected))


LAWS: dict[str, Callable[[Metric, Score, int], str]] = {
    "a perfect prediction scores best": perfect_is_best,
    "no prediction beats a perfect one, on any reference": perfect_is_never_beaten,
    "values stay within the bounds": within_bounds,
    "a worse mask never scores better": worse_is_not_better,
    "reference and prediction can be exchanged, if declared": symmetric,
    "flips and exchanged axes change nothing, if declared": same_when_flipped,
    "the voxel size counts as declared": follows_voxel_size,
    "empty masks give a value or NaN": empty_is_a_value_or_undefined,
}


def check_laws(metric: Metric) -> dict[str, str]:
    """Each law, and what is wrong with a third party's metric under it; nothing if it holds."""

    def outcome(law: Callable[[Metric, Score, int], str]) -> str:
        try:
            return next((wrong for seed in SEEDS if (wrong := law(metric, score, seed))), "")
        except Exception as error:  # whatever the code of others raises
            return f"fails with {type(error).__name__}: {error}"

    score = scene_score(metric)
    return {name: outcome(law) for name, law in LAWS.items()}


def scene_score(metric: Metric) -> Score:
    """How a third party's metric scores a scene, with its usual options."""
    try:
        options = metric.options().model_dump()
    except ValidationError as error:
        names = ", ".join(str(each["loc"][0]) for each in error.errors())
        raise InputError(f"{metric.name} has no usual value of {names}", "Give it one") from None

    def score(scene: Scene) -> float:
        raters, probability, samples = scene.raters, scene.probability, scene.samples
        masks = (raters.mean(axis=0) > 0.5, probability > 0.5)  # quicker than their consensus
        if metric.scope == "case":
            masks = (masks[0].astype(np.uint8), masks[1].astype(np.uint8))
            raters, probability = raters.astype(np.uint8), probability[None]
            samples = samples.astype(np.uint8)
        more = {"probability": probability} if metric.needs_probability else {}
        more |= {"raters": raters} if metric.needs_raters else {}
        more |= {"samples": samples} if metric.needs_samples else {}
        assert metric.score is not None  # noqa: S101 - loading refuses one without
        return float(metric.score(*masks, spacing_mm=scene.spacing_mm, **more, **options))

    return score
