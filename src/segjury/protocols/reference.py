"""The reference of a benchmark as data: its panel of raters, its labels and its files."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from segjury.consensus import MAX_PATTERNS
from segjury.errors import is_hidden
from segjury.protocols.options import ProtocolPart
from segjury.protocols.patterns import CASE, LABEL, RATER, SAMPLE, Pattern

WHOLE = "all"  # the structure of a row about the whole case
CONSENSUS = "consensus"  # stands beside the raters in tables, so that none is called so
MOST_RATERS = 16  # of one case, whose marks are packed into one number
LARGEST_PANEL = 1000
MOST_SHOWN = 80  # characters of what was got, in a message


def _shown(name: str) -> str:
    if any(map(is_hidden, name)):
        raise ValueError("the name has characters that cannot be shown")
    if set("{}") & set(name):
        raise ValueError("the name has a brace, which means something else in the names of files")
    return name


Label = Annotated[int, Field(ge=1, le=255)]


def _numbers(given: Any) -> int | tuple[int, ...]:
    """A number of a label, or the numbers that make it up, as a file says them."""
    numbers = given if isinstance(given, list | tuple) else [given]
    whole = all(type(number) is int and 1 <= number <= 255 for number in numbers)
    if not numbers or not whole or len(set(numbers)) < len(numbers):
        shown = repr(given)[:MOST_SHOWN]
        raise ValueError(f"expected a number from 1 to 255, or a list of such, got {shown}")
    return given if isinstance(given, int) else tuple(given)


Numbers = Annotated[int | tuple[int, ...], BeforeValidator(_numbers)]
Name = Annotated[  # may be part of a file name
    str, Field(pattern=r"^[^/\\\x00-\x1f]+$"), AfterValidator(_shown)
]
# columns of tables are made of them, with `_` between
RATER_NAME = r"[A-Za-z0-9][A-Za-z0-9.-]*"
RaterName = Annotated[str, Field(pattern=f"^{RATER_NAME}$", max_length=40)]


class Structures(ProtocolPart):
    """A label map in the reference that metrics are computed against."""

    file: Pattern = Field(description="file name, without ending, of the label map")
    labels: dict[Name, Label] = Field(min_length=1, description="its structures and their labels")

    @model_validator(mode="after")
    def _tells_labels_apart(self) -> Structures:
        if len(set(self.labels.values())) < len(self.labels):
            raise ValueError("labels give two structures the same number")
        if WHOLE in self.labels:
            raise ValueError(f"a structure cannot be called {WHOLE}, which is the whole case")
        return self


class Reference(ProtocolPart):
    """The files of a reference case."""

    raters: Pattern = Field(
        description="file name of a rater's mask; {rater} is the rater's name or number, from 1. "
        "With {case} it is a path below the reference folder"
    )
    n_raters: int | None = Field(
        default=None, ge=1, le=MOST_RATERS, description="how many raters there are, by number"
    )
    rater_names: tuple[RaterName, ...] = Field(
        default=(), max_length=LARGEST_PANEL, description="who they are, in place of n_raters"
    )
    min_raters: int | None = Field(
        default=None,
        ge=1,
        description="raters that a case needs: one with fewer is left out for all methods. Where "
        "absent, all are needed, and a missing mask is an error",
    )
    anonymous: bool = Field(
        default=False,
        description="whether rater 1 of one case may be another person than rater 1 of the next",
    )
    repeats: dict[RaterName, RaterName] = Field(
        default_factory=dict,
        description="second reads: the name in the files, and the rater whose it is",
    )
    rater_weights: dict[RaterName, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="weight of a rater, 1 where not named"
    )
    labels: dict[Name, Numbers] = Field(
        default={"foreground": 1},
        min_length=1,
        description="what is scored, and its number, or the numbers that make it up",
    )
    other_labels: dict[str, Label] = Field(
        default_factory=dict, description="labels that files may hold and that do not count"
    )
    ignore: Label | None = Field(
        default=None, description="number of the voxels that are not scored at all"
    )
    image: Pattern | None = Field(default=None, description="file name of the image, for pictures")
    consensus: Pattern | None = Field(
        default=None, description="file name of a ready consensus mask; computed where absent"
    )
    structures: Structures | None = Field(
        default=None, description="label map of further structures, such as vessels"
    )

    @model_validator(mode="after")
    def _names_each_rater(self) -> Reference:
        if (self.n_raters is None) == (not self.rater_names):
            raise ValueError("give either n_raters or rater_names")
        names = self.rater_names
        for name in names:
            if names.count(name) > 1 or name.lower() == CONSENSUS:
                why = "is named twice" if names.count(name) > 1 else "is no name of a rater"
                raise ValueError(f"rater_names: {name} {why}")
        alike = {name.lower(): name for name in names}
        if len(alike) < len(names):
            same = next(name for name in names if alike[name.lower()] != name)
            raise ValueError(
                f"rater_names: {same} and {alike[same.lower()]} differ in capitals only"
            )
        if len(self.all_names) > 1 and RATER not in self.raters:
            raise ValueError("raters must contain {rater}, the name or number of the rater")
        for key, given in (("repeats", {**self.repeats}), ("rater_weights", self.rater_weights)):
            stray = [name for name in given if name not in self.all_names]
            if stray:
                raise ValueError(f"{key} names {stray[0]}, who is no rater")
        for again, rater in self.repeats.items():
            if rater not in self.panel:
                raise ValueError(f"repeats says {again} is a second read of {rater}, no first read")
        if self.min_raters is not None and self.min_raters > len(self.panel):
            raise ValueError(f"min_raters is {self.min_raters} of {len(self.panel)} raters")
        return self

    @model_validator(mode="after")
    def _lies_somewhere(self) -> Reference:
        patterns = [self.raters, self.image, self.consensus]
        patterns += [self.structures.file] if self.structures else []
        for pattern in patterns[1:]:
            if pattern and RATER in pattern:
                raise ValueError(f"{pattern} is one file of a case, without {RATER}")
        given = [pattern for pattern in patterns if pattern]
        for pattern in given:
            if foreign := [each for each in (LABEL, SAMPLE) if each in pattern]:
                raise ValueError(f"{pattern} is in the reference, which has no {foreign[0]}")
        if len(set(given)) < len(given):
            raise ValueError("two files of a case have the same name")
        return self

    @model_validator(mode="after")
    def _tells_labels_apart(self) -> Reference:
        if WHOLE in self.labels:
            raise ValueError(f"a label cannot be called {WHOLE}, which is the mean over them")
        for name in self.labels:
            if name in (".", "..") or set(name) & set("{}"):
                raise ValueError(f"a label cannot be called {name}: files are named after it")
        plain = [value for value in self.labels.values() if isinstance(value, int)]
        others = [*self.other_labels.values(), *([self.ignore] if self.ignore else [])]
        numbers = {number for held in self.numbers.values() for number in held}
        if len(set(plain)) < len(plain) or len(set(others)) < len(others) or numbers & set(others):
            raise ValueError("labels and other_labels give two things the same number")
        regions = [frozenset(held) for held in self.numbers.values()]
        for name, region in zip(self.labels, regions, strict=True):
            if regions.count(region) > 1:
                raise ValueError(f"the label {name} has the numbers of another one")
        if self.is_complete and (len(self.classes) + 1) ** len(self.panel) > MAX_PATTERNS:
            raise ValueError(
                f"{len(self.panel)} raters with {len(self.labels)} labels are too many"
            )
        return self

    # ---- raters ----------------------------------------------------------------------------

    @property
    def all_names(self) -> tuple[str, ...]:
        """The raters by name or number, and their second reads."""
        return self.rater_names or tuple(str(k + 1) for k in range(self.n_raters or 0))

    @property
    def panel(self) -> tuple[str, ...]:
        """The raters by name or number."""
        return tuple(name for name in self.all_names if name not in self.repeats)

    @property
    def fewest(self) -> int:
        """How many of them a case needs."""
        return self.min_raters or len(self.panel)

    @property
    def is_complete(self) -> bool:
        """Whether every rater must have marked every case: a missing mask is an error."""
        return self.min_raters is None

    # ---- labels ----------------------------------------------------------------------------

    @property
    def numbers(self) -> dict[str, tuple[int, ...]]:
        """The numbers in the files that make up each label."""
        return {
            name: (value,) if isinstance(value, int) else value
            for name, value in self.labels.items()
        }

    @property
    def classes(self) -> tuple[frozenset[int], ...]:
        """The different sets of labels, counted from 1, that a number in a file may stand for.

        Labels that do not overlap are each one class, in their order.
        """
        return tuple(dict.fromkeys(self._sets.values()))

    @property
    def class_of_number(self) -> dict[int, int]:
        """The class, counted from 1, that each number in a file stands for."""
        order = {each: k for k, each in enumerate(self.classes, 1)}
        return {number: order[each] for number, each in self._sets.items()}

    @property
    def _sets(self) -> dict[int, frozenset[int]]:
        sets: dict[int, set[int]] = {}
        for position, numbers in enumerate(self.numbers.values(), 1):
            for number in numbers:
                sets.setdefault(number, set()).add(position)
        return {number: frozenset(labels) for number, labels in sets.items()}

    @property
    def has_regions(self) -> bool:
        """Whether a label is made up of several numbers."""
        return any(len(numbers) > 1 for numbers in self.numbers.values())

    @property
    def overlap(self) -> bool:
        """Whether a voxel may have several labels."""
        return any(len(labels) > 1 for labels in self.classes)

    @property
    def scored_numbers(self) -> list[int]:
        """The numbers in the files that stand for a label."""
        return list(self.class_of_number)

    @property
    def allowed_labels(self) -> list[int]:
        """All numbers that a rater's file may hold."""
        ignored = [self.ignore] if self.ignore else []
        return [*self.scored_numbers, *self.other_labels.values(), *ignored]

    # ---- files -----------------------------------------------------------------------------

    @property
    def lies_flat(self) -> bool:
        """Whether the files of all cases share folders."""
        return CASE in self.raters
