"""The schema of a protocol file; each field says what it is for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Literal

from pydantic import AliasChoices, Field, field_validator, model_validator

from segjury.errors import InputError
from segjury.images.grid import Severity, UsualTolerance
from segjury.metrics import READINGS, Reading
from segjury.protocols.options import MetricUse, ProtocolPart
from segjury.protocols.patterns import LABEL, RATER, SAMPLE, Pattern
from segjury.protocols.ranking import Ranking
from segjury.protocols.reference import Reference

NO_SCORES = ("name", "title", "summary", "sources", "ranking", "cases", "cohorts")
TAKEN = ("method", "metric", "structure", "reading", "value", "unit", "status", "detail", "cohort")


class Source(ProtocolPart):
    """Where the protocol comes from."""

    title: str = Field(description="name of a paper or page that defines the protocol")
    url: str = Field(default="", description="address of that source")


class Prediction(ProtocolPart):
    """The files of a prediction."""

    mask: Pattern = Field(
        default="segmentation",
        description="file name of the predicted mask; with {case} a path below the method's folder",
    )
    probability: Pattern = Field(
        default="probability",
        description="file name of the probability map; of several, NAME_<label> each, or as "
        "{label} says",
    )
    sample: Pattern = Field(
        default="sample",
        description="file name of equally likely masks, of which NAME_01 is the first; {sample} "
        "is their number",
    )
    most_samples: int = Field(
        default=100, ge=1, le=1000, description="how many of them a prediction may have"
    )

    @model_validator(mode="after")
    def _lies_somewhere(self) -> Prediction:
        for pattern, foreign in (
            (self.mask, (RATER, LABEL, SAMPLE)),
            (self.probability, (RATER, SAMPLE)),
            (self.sample, (RATER, LABEL)),
        ):
            for placeholder in foreign:
                if placeholder in pattern:
                    raise ValueError(f"{pattern} has no {placeholder}")
        return self


class GridRules(ProtocolPart):
    """What to do where a file's geometry differs from the first rater's; shape must be equal."""

    tolerance_mm: float = Field(
        default=UsualTolerance.tolerance_mm, gt=0, description="allowed difference in mm"
    )
    spacing: Severity = Field(
        default=UsualTolerance.spacing, description="what another spacing leads to"
    )
    origin: Severity = Field(
        default=UsualTolerance.origin, description="what another origin leads to"
    )
    direction: Severity = Field(
        default=UsualTolerance.direction, description="what another direction leads to"
    )


class Policy(ProtocolPart):
    """What a row that is not ok costs."""

    missing: Literal["worst"] = Field(default="worst", description="cost of a missing prediction")
    failed: Literal["worst"] = Field(default="worst", description="cost of an unusable prediction")
    over_limit: Literal["worst", "exclude"] = Field(
        default="worst",
        description="cost of a prediction whose scoring takes more time or memory than the limit",
    )
    undefined: Literal["exclude", "worst"] = Field(
        default="exclude", description="cost of a score that is not defined for a case"
    )
    empty_reference: Literal["exclude", "score"] = Field(
        default="score",
        validation_alias=AliasChoices("empty_reference", "absent"),  # `absent` was its name
        description="a label that the reference of a case lacks: undefined whatever is predicted, "
        "so that false positives go free, or scored: an empty prediction is perfect, and a false "
        "positive gets the worst value where the metric gives it none",
    )
    missing_map: Literal["score-mask", "missing"] = Field(
        default="score-mask",
        description="a prediction without its probability map: its mask is scored and only the "
        "metrics of maps count as missing, or all do",
    )
    same_file: Literal["warn", "refuse"] = Field(
        default="warn",
        description="a prediction whose file is the reference's or another method's by a hard "
        "link: a warning, or a failed prediction",
    )


class Cohort(ProtocolPart):
    """A subset of the cases, chosen by what the reference shows."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]+$", description="name of the cohort")
    measure: Literal["mean_pairwise_dsc"] = Field(description="property of the case to look at")
    at_most: float = Field(description="largest value of that property in the cohort")


class CaseTable(ProtocolPart):
    """A table that says more of each case, such as the dataset it belongs to."""

    file: str = Field(
        default="cases.csv",
        pattern=r"^[A-Za-z0-9_.-]+$",
        description="file in the reference folder; needs a column `case`",
    )
    columns: tuple[str, ...] = Field(
        default=(), description="columns that go into the scores; their values are cohorts"
    )

    @field_validator("columns")
    @classmethod
    def _not_those_of_the_scores(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for name in given:
            if name in (*TAKEN, "case"):
                raise ValueError(f"the scores have a column {name} of their own")
        return given


class Protocol(ProtocolPart):
    """One benchmark: its files, metrics, policies and ranking."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", description="short name of the protocol")
    title: str = Field(description="full name of the protocol")
    summary: str = Field(default="", description="what is scored, in a sentence or two")
    sources: tuple[Source, ...] = Field(default=(), description="texts that define the protocol")
    reference: Reference = Field(description="files of a reference case")
    prediction: Prediction = Field(default=Prediction(), description="files of a prediction")
    grid: GridRules = Field(default=GridRules(), description="tolerated differences in geometry")
    metrics: tuple[MetricUse, ...] = Field(min_length=1, description="what is computed")
    policy: Policy = Field(default=Policy(), description="what a row that is not ok costs")
    ranking: Ranking = Field(default=Ranking(), description="how methods are ranked")
    cases: CaseTable = Field(default=CaseTable(), description="what is known of each case")
    cohorts: tuple[Cohort, ...] = Field(default=(), description="subsets of the cases")

    @model_validator(mode="after")
    def _fits_together(self) -> Protocol:
        names = [use.name for use in self.metrics]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"metric {name} is listed twice")
        stray = [name for name in self.ranking.weights if name not in set(names)]
        if stray:
            raise ValueError(f"ranking.weights names {stray[0]}, which is no metric here")
        for use in self.metrics:
            self._check_worst(use)
            if use.metric.scope == "structure":
                if self.reference.structures is None:
                    raise ValueError(f"{use.name} needs [reference.structures]")
                if len(self.reference.labels) > 1:
                    raise ValueError(f"{use.name} needs a single label in reference.labels")
            self._check_labels(use)
            if use.metric.one_label_per_voxel and self.reference.overlap:
                raise ValueError(f"{use.name} needs labels that do not overlap")
        return self

    def _check_labels(self, use: MetricUse) -> None:
        """Refuse an option that names some labels and not others, or what is none."""
        for option in use.for_labels:
            given = getattr(use, option)
            if not isinstance(given, dict):
                continue
            for name in (*given, *self.label_names):
                if name not in self.label_names:
                    raise ValueError(f"{use.name}: {option} names {name}, which is no label here")
                if name not in given:
                    raise ValueError(f"{use.name}: {option} has none for {name}")

    @staticmethod
    def _check_worst(use: MetricUse) -> None:
        metric, is_length = use.metric, use.unit_used in ("mm", "voxels")
        choices = 'a number or worst = "image-diagonal"' if is_length else "a number"
        if not metric.needs_voxels:
            choices += ' or worst = "empty-prediction"'
        if use.worst is None and metric.worst is None:
            raise ValueError(f"{use.name} has no worst value: give {choices}")
        if use.worst == "empty-prediction" and metric.needs_voxels:
            raise ValueError(f"{use.name} is undefined for an empty prediction: give {choices}")
        if use.worst == "image-diagonal" and not is_length:
            raise ValueError(f"{use.name} is no length: give {choices}")

    @property
    def hash(self) -> str:
        """Fingerprint of everything the protocol says, whatever the layout of its file."""
        return self._hash_without()

    @property
    def scoring_hash(self) -> str:
        """Fingerprint of all that the scores of a prediction depend on."""
        return self._hash_without(*NO_SCORES)

    def _hash_without(self, *parts: str) -> str:
        content = json.dumps(self.model_dump(mode="json", exclude=set(parts)), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def uses(self, reading: Reading) -> list[MetricUse]:
        """The metrics that are computed in a reading."""
        return [use for use in self.metrics if reading in use.readings]

    def chosen_readings(self, asked: Sequence[str]) -> tuple[Reading, ...]:
        """The readings asked for; refuses one in which nothing is computed, unless all are asked.

        Asking for all means those that there are.
        """
        known = [reading for reading in READINGS if self.uses(reading)]
        fix = f"Use {', '.join(known)}"
        if isinstance(asked, str) or not asked:
            raise InputError(f"`readings` is {asked!r}, not a list of readings", fix)
        everything = set(READINGS) <= set(asked)
        absent = [name for name in asked if name not in (READINGS if everything else known)]
        if absent:
            raise InputError(f"the protocol {self.name} has no reading {', '.join(absent)}", fix)
        return tuple(reading for reading in READINGS if reading in asked)

    def ranked_metrics(self, reading: Reading) -> tuple[str, ...]:
        """Names of the metrics that count in a reading's ranking."""
        return tuple(
            use.name
            for use in self.uses(reading)
            if use.ranked is True or (use.ranked and reading in use.ranked)
        )

    @property
    def structure_names(self) -> list[str]:
        """Names of the further structures."""
        return list(self.reference.structures.labels) if self.reference.structures else []

    @property
    def label_names(self) -> list[str]:
        """Names of what is scored."""
        return list(self.reference.labels)

    @property
    def probability_stems(self) -> dict[str, str]:
        """File name of each label's probability map; none where no metric looks at one."""
        if not any(use.metric.needs_probability for use in self.metrics):
            return {}
        stem, names = self.prediction.probability, self.label_names
        if LABEL in stem:
            return {name: stem.replace(LABEL, name) for name in names}
        return {name: stem if len(names) == 1 else f"{stem}_{name}" for name in names}

    @property
    def needs_samples(self) -> bool:
        """Whether a metric looks at sets of samples."""
        return any(use.metric.needs_samples for use in self.metrics)
