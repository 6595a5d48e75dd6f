"""Write a synthetic benchmark: the reference, what each method gives for it, and what it cost."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from segjury.arrays import Shape
from segjury.benchmark.layout import Place
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume

Rng = np.random.Generator
# By their pattern, without ending: `image` lies in the folder of the case, `{case}_1` beside it.
# What takes much memory may be made when it is written.
Files = Mapping[str, NDArray[Any] | Callable[[], NDArray[Any]]]


class PhantomCase(Protocol):
    """A synthetic case in memory."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def grid(self) -> Grid: ...  # noqa: D102


Case = TypeVar("Case", bound=PhantomCase)
Character = TypeVar("Character", bound=Any)  # a dataclass with a name


@dataclass(frozen=True)
class Phantom(Generic[Case, Character]):
    """The synthetic benchmark of a protocol: its cases, its methods, and the files of both.

    A method that gives no file for a case has failed on it; what the failed run cost is listed all
    the same.
    """

    shape: Shape  # unless another one is asked for
    smallest_shape: Shape
    contents: str  # what must fit in
    make_case: Callable[..., Case]
    reference: Callable[[Case], Files]
    characters: Sequence[Character]
    prediction: Callable[[Case, Character, Rng], Files]
    method_stream: int  # of random numbers, beside those of the case
    facts: Callable[[Case], Mapping[str, object]] = lambda _case: {}  # columns of the table
    table: str = "cases.csv"
    cost: Callable[[Case, Character, Rng], Mapping[str, str]] = lambda _case, _method, _rng: {}
    cost_stream: int = 0

    def method_rng(self, seed: int, index: int, number: int) -> Rng:
        """The random numbers of one method on one case."""
        return np.random.default_rng([seed, index, self.method_stream, number])


def write_benchmark(
    phantom: Phantom[Case, Character],
    out: Path,
    *,
    cases: int = 10,
    methods: int = 6,
    seed: int = 0,
    shape: Shape | None = None,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Write `out`/reference and `out`/predictions; `progress` hears of each finished case."""
    shape = phantom.shape if shape is None else shape
    _check(phantom, cases, methods, shape)
    facts, costs = [], []
    for index in range(cases):
        case = phantom.make_case(index, seed=seed, shape=shape)
        facts.append({"case": case.name, **phantom.facts(case)})
        _write_volumes(out / "reference", case, phantom.reference(case))
        for number, character in enumerate(line_up(phantom.characters, methods)):
            rng = phantom.method_rng(seed, index, number)
            files = phantom.prediction(case, character, rng)
            _write_volumes(out / "predictions" / character.name, case, files)
            rng = np.random.default_rng([seed, index, phantom.cost_stream, number])
            cost = phantom.cost(case, character, rng)
            costs.append({"method": character.name, "case": case.name, **cost})
        if progress is not None:
            progress(case.name)
    _write_table(out / "reference" / phantom.table, facts, keys=1)
    _write_table(out / "efficiency.csv", costs, keys=2)


def line_up(characters: Sequence[Character], count: int) -> list[Character]:
    """The first `count` methods; beyond the last, the first again as `NAME-2` and so on."""
    rounds = [divmod(number, len(characters)) for number in range(count)]
    return [
        replace(characters[which], name=f"{characters[which].name}-{again + 1}")
        if again
        else characters[which]
        for again, which in rounds
    ]


def _write_volumes(root: Path, case: PhantomCase, files: Files) -> None:
    for pattern, given in files.items():
        place = Place.of(pattern, root, case.name)
        array = given() if callable(given) else given
        write_volume(place.folder / place.usual_name, Volume(array, case.grid))


def _write_table(path: Path, rows: Sequence[Mapping[str, object]], *, keys: int) -> None:
    """Write rows as CSV, if they say more than what their first columns name."""
    if rows and len(rows[0]) > keys:
        with path.open("w", newline="", encoding="utf-8") as stream:
            lines: Iterable[Iterable[object]] = [rows[0], *(row.values() for row in rows)]
            csv.writer(stream, lineterminator="\n").writerows(lines)


def _check(phantom: Phantom[Any, Any], cases: int, methods: int, shape: Shape) -> None:
    """Refuse a benchmark without cases, or too small to show anything."""
    if cases < 1 or methods < 0:
        raise InputError(f"{cases} cases and {methods} methods", "Ask for at least one case")
    if any(size < least for size, least in zip(shape, phantom.smallest_shape, strict=True)):
        raise InputError(
            f"a shape of {shape} is too small for {phantom.contents}",
            f"Use at least {phantom.smallest_shape} voxels",
        )
