"""The schema of a file of curation rules; each field says what it is for."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from segjury.errors import InputError, MissingInputError
from segjury.images.grid import Property
from segjury.protocols import Protocol
from segjury.protocols.options import ProtocolPart
from segjury.protocols.patterns import Pattern
from segjury.protocols.toml_file import Schema, toml_text

Face = Literal["x-low", "x-high", "y-low", "y-high", "z-low", "z-high"]
FACES: tuple[Face, ...] = get_args(Face)
PROPERTIES: tuple[Property, ...] = get_args(Property)
Labels = Annotated[
    tuple[str, ...],
    Field(description="labels of the protocol that count, together; all where absent"),
]


class EmptyRater(ProtocolPart):
    """Too few raters mark anything."""

    kind: Literal["empty-rater"]
    labels: Labels = ()
    at_least: PositiveInt | None = Field(
        default=None, description="raters who must mark something; all where absent"
    )


class TouchesBorder(ProtocolPart):
    """A mask reaches the border of the image."""

    kind: Literal["touches-border"]
    labels: Labels = ()
    faces: tuple[Face, ...] = Field(
        default=FACES, min_length=1, description="faces of the image that count"
    )
    margin_voxels: PositiveInt = Field(
        default=1, description="layers of voxels at a face that must be free"
    )
    raters: Literal["any", "all"] = Field(
        default="any", description="whether one such rater is enough, or all must be"
    )


class CorruptGeometry(ProtocolPart):
    """The files of a case do not lie on one sound grid."""

    kind: Literal["corrupt-geometry"]
    properties: tuple[Property, ...] = Field(
        default=PROPERTIES, description="what must be that of the first rater in all files"
    )
    tolerance_mm: PositiveFloat | None = Field(
        default=None, description="allowed difference in mm; the protocol's where absent"
    )
    tolerance_direction: PositiveFloat = Field(
        default=1e-3, description="allowed difference of direction cosines, and from right angles"
    )
    min_spacing_mm: PositiveFloat = Field(default=0.01, description="smallest spacing")
    max_spacing_mm: PositiveFloat = Field(default=50.0, description="largest spacing")


class VolumeLimits(ProtocolPart):
    """The volume is out of bounds."""

    kind: Literal["volume"]
    labels: Labels = ()
    min_cm3: float | None = Field(default=None, ge=0, description="smallest volume")
    max_cm3: float | None = Field(default=None, ge=0, description="largest volume")
    of: Literal["mean", "any", "all"] = Field(
        default="mean", description="the mean of the raters' volumes, that of any, those of all"
    )

    @model_validator(mode="after")
    def _has_a_limit(self) -> VolumeLimits:
        if self.min_cm3 is None and self.max_cm3 is None:
            raise ValueError("give min_cm3 or max_cm3")
        return self


class Agreement(ProtocolPart):
    """The raters agree too little."""

    kind: Literal["agreement"]
    labels: Labels = ()
    min_mean_pairwise_dsc: float = Field(
        ge=0, le=1, description="smallest mean Dice over pairs of raters, and over the labels"
    )


class MissingStructure(ProtocolPart):
    """A structure such as a vessel is not there."""

    kind: Literal["missing-structure"]
    structures: tuple[str, ...] = Field(
        default=(), description="structures of the protocol that must be there; all where absent"
    )
    min_voxels: PositiveInt = Field(default=1, description="fewest voxels of each")


class MissingFile(ProtocolPart):
    """A file beyond those that the protocol needs is not there."""

    kind: Literal["missing-file"]
    files: tuple[Pattern, ...] = Field(
        default=("image",), min_length=1, description="file names without ending"
    )


AnyRule = (
    EmptyRater
    | TouchesBorder
    | CorruptGeometry
    | VolumeLimits
    | Agreement
    | MissingStructure
    | MissingFile
)
Rule = Annotated[AnyRule, Field(discriminator="kind")]
KINDS: dict[str, type[ProtocolPart]] = {
    get_args(rule.model_fields["kind"].annotation)[0]: rule for rule in get_args(AnyRule)
}


class RuleFile(ProtocolPart):
    """A file of rules."""

    rules: tuple[Rule, ...] = Field(min_length=1, description="what leaves a case out")


SCHEMA = Schema(RuleFile, KINDS, "kind", "rule", "See `segjury curate --print-rules` for the form")


def default_text() -> str:
    """The TOML source of the rules that hold where no others are given."""
    return (resources.files(__package__) / "default.toml").read_text("utf-8")


def load_rules(path: Path | None, protocol: Protocol) -> tuple[AnyRule, ...]:
    """The rules of a file, or the default ones; an error where they do not fit the protocol."""
    if path is not None and not path.is_file():
        raise MissingInputError(f"there is no file {path}", "Give a .toml of rules")
    text, where = (toml_text(path), path.name) if path else (default_text(), "default.toml")
    rules = SCHEMA.read(text, where).rules
    for number, rule in enumerate(rules, 1):
        problem = _misfit(rule, protocol)
        if problem:
            raise InputError(f"{where}, rules[{number}], {rule.kind}: {problem}", "Correct it")
    return rules


def _misfit(rule: AnyRule, protocol: Protocol) -> str:
    """What a rule asks for that the protocol does not have."""
    n_raters = len(protocol.reference.panel)
    for name in getattr(rule, "labels", ()):
        if name not in protocol.label_names:
            return f"there is no label {name} (there are {', '.join(protocol.label_names)})"
    if isinstance(rule, EmptyRater) and (rule.at_least or 1) > n_raters:
        return f"at_least is {rule.at_least}, the protocol has {n_raters} raters"
    if isinstance(rule, Agreement) and n_raters < 2:
        return "the protocol has one rater"
    if isinstance(rule, MissingStructure):
        known = ", ".join(protocol.structure_names) or "none"
        if not protocol.structure_names or not set(rule.structures) <= set(known.split(", ")):
            return f"the protocol's structures are {known}"
    return ""
