"""The form of a protocol file; each field says what it is for."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from segjury.metrics import METRICS, READINGS, THRESHOLDS, Metric, Reading
from segjury.metrics.calibration import BINS, PADDING_VOXELS

Severity = Literal["error", "warn", "ignore"]
Stem = Annotated[str, Field(pattern=r"^[A-Za-z0-9_{}-]+$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Part):
    """Where the protocol comes from."""

    title: str = Field(description="name of a paper or page that defines the protocol")
    url: str = Field(default="", description="address of that source")


class Structures(_Part):
    """A label map in the reference that metrics are computed against."""

    file: Stem = Field(description="file name, without ending, of the label map")
    labels: dict[str, int] = Field(min_length=1, description="its structures and their labels")


class Reference(_Part):
    """The files of a reference case."""

    raters: Stem = Field(description="file name of a rater's mask; {rater} counts from 1")
    n_raters: int = Field(ge=1, le=16, description="how many raters marked each case")
    label: int = Field(default=1, ge=1, le=255, description="label that is scored")
    other_labels: dict[str, int] = Field(
        default_factory=dict, description="labels that raters' files may hold and that do not count"
    )
    image: Stem | None = Field(default=None, description="file name of the image, for pictures")
    consensus: Stem | None = Field(
        default=None, description="file name of a ready consensus mask; computed where absent"
    )
    structures: Structures | None = Field(
        default=None, description="label map of further structures, such as vessels"
    )

    @model_validator(mode="after")
    def _names_each_rater(self) -> Reference:
        if self.n_raters > 1 and "{rater}" not in self.raters:
            raise ValueError("raters must contain {rater}, which counts the raters from 1")
        return self

    @property
    def rater_stems(self) -> list[str]:
        """File names of the raters' masks, without ending."""
        return [self.raters.replace("{rater}", str(k + 1)) for k in range(self.n_raters)]


class Prediction(_Part):
    """The files of a prediction."""

    mask: Stem = Field(default="segmentation", description="file name of the predicted mask")
    probability: Stem = Field(default="probability", description="file name of the probability map")


class GridRules(_Part):
    """What to do where a file's geometry differs from the first rater's; shape must be equal."""

    tolerance_mm: float = Field(default=0.01, gt=0, description="allowed difference in mm")
    spacing: Severity = Field(default="error", description="what another spacing leads to")
    origin: Severity = Field(default="warn", description="what another origin leads to")
    direction: Severity = Field(default="error", description="what another direction leads to")


class Policy(_Part):
    """What a row that is not ok costs."""

    missing: Literal["worst"] = Field(default="worst", description="cost of a missing prediction")
    failed: Literal["worst"] = Field(default="worst", description="cost of an unusable prediction")
    undefined: Literal["exclude", "worst"] = Field(
        default="exclude", description="cost of a score that is not defined for a case"
    )


class Ranking(_Part):
    """How methods are ranked."""

    scheme: Literal["mean-of-metric-ranks"] = Field(
        default="mean-of-metric-ranks", description="how metric values become one order"
    )
    aggregate: Literal["mean", "median"] = Field(
        default="mean", description="how a metric's case values become one value"
    )
    ties: Literal["average"] = Field(default="average", description="rank of equal values")


class Cohort(_Part):
    """A subset of the cases, chosen by what the reference shows."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]+$", description="name of the cohort")
    measure: Literal["mean_pairwise_dsc"] = Field(description="property of the case to look at")
    at_most: float = Field(description="largest value of that property in the cohort")


class _MetricUse(_Part):
    readings: tuple[Reading, ...] = Field(
        default=READINGS, min_length=1, description="readings in which the metric is computed"
    )
    ranked: bool = Field(default=True, description="whether the metric counts in the ranking")
    worst: float | Literal["empty-prediction"] | None = Field(
        default=None,
        description="value of a missing or failed prediction; `empty-prediction` scores one "
        "without any voxel; the metric's worst bound where absent",
    )

    @property
    def metric(self) -> Metric:
        """What the metric declares of itself."""
        return METRICS[getattr(self, "name")]  # noqa: B009 - each subclass has its own literal


class Dsc(_MetricUse):
    """Dice against the consensus."""

    name: Literal["dsc"]


class _Thresholded(_MetricUse):
    thresholds: tuple[float, ...] = Field(
        default=THRESHOLDS,
        min_length=1,
        description="list of cuts of the probability map, or { first, last, count } of even ones",
    )

    @field_validator("thresholds", mode="before")
    @classmethod
    def _even_steps(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.keys() == {"first", "last", "count"}:
            return tuple(np.linspace(given["first"], given["last"], given["count"]).tolist())
        return given

    @model_validator(mode="after")
    def _ascending(self) -> _Thresholded:
        if list(self.thresholds) != sorted(set(self.thresholds)):
            raise ValueError("thresholds must ascend")
        if not all(0 < t < 1 for t in self.thresholds):
            raise ValueError("thresholds must lie between 0 and 1")
        return self


class ThrDsc(_Thresholded):
    """Threshold-averaged Dice."""

    name: Literal["thr_dsc"]


class MrEce(_MetricUse):
    """Calibration error against each rater."""

    name: Literal["mr_ece"]
    bins: int = Field(default=BINS, ge=1, description="number of confidence bins")
    padding_voxels: int = Field(
        default=PADDING_VOXELS, ge=0, description="margin around the raters' union box"
    )


class Crps(_MetricUse):
    """Volume against the raters' volumes."""

    name: Literal["crps"]


class Vi(_Thresholded):
    """Vascular invasion, per structure."""

    name: Literal["vi"]


class ContactAngle(_Thresholded):
    """Anatomical contact angle, per structure."""

    name: Literal["contact_angle"]
    readings: tuple[Literal["corrected"], ...] = Field(
        default=("corrected",), min_length=1, description="readings in which it is computed"
    )


MetricUse = Annotated[
    Dsc | ThrDsc | MrEce | Crps | Vi | ContactAngle,
    Field(discriminator="name"),
]


METRIC_USES: dict[str, type[_MetricUse]] = {
    "dsc": Dsc,
    "thr_dsc": ThrDsc,
    "mr_ece": MrEce,
    "crps": Crps,
    "vi": Vi,
    "contact_angle": ContactAngle,
}


class Protocol(_Part):
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
    cohorts: tuple[Cohort, ...] = Field(default=(), description="subsets of the cases")

    @model_validator(mode="after")
    def _fits_together(self) -> Protocol:
        names = [use.name for use in self.metrics]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"metric {name} is listed twice")
        unlimited = [
            use.name for use in self.metrics if use.worst is None and use.metric.worst is None
        ]
        if unlimited:
            raise ValueError(
                f'{unlimited[0]} has no worst value: give one, or worst = "empty-prediction"'
            )
        needs_structures = {"vi", "contact_angle"} & set(names)
        if needs_structures and self.reference.structures is None:
            raise ValueError(f"{min(needs_structures)} needs [reference.structures]")
        return self

    @property
    def hash(self) -> str:
        """Fingerprint of everything the protocol says, whatever the layout of its file."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def structure_names(self) -> list[str]:
        """Names of the further structures."""
        return list(self.reference.structures.labels) if self.reference.structures else []
