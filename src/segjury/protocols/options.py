"""How a protocol uses each metric: in which readings, with which options, at what cost."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, field_validator, model_validator

from segjury.metrics import METRICS, READINGS, THRESHOLDS, Metric, Reading, surface
from segjury.metrics.calibration import BINS, PADDING_VOXELS
from segjury.metrics.geometry.thinning import Thinning

MOST_THRESHOLDS = 60  # each is a bit of a whole number
MOST_BINS = 10_000


class ProtocolPart(BaseModel):
    """A part of a protocol file: unknown keys and numbers without an end are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Use(ProtocolPart):
    readings: tuple[Reading, ...] = Field(
        default=READINGS, min_length=1, description="readings in which the metric is computed"
    )
    ranked: bool | tuple[Reading, ...] = Field(
        default=True, description="whether it counts in the ranking, or the readings where it does"
    )

    @property
    def metric(self) -> Metric:
        """What the metric declares of itself."""
        return METRICS[getattr(self, "name")]  # noqa: B009 - each subclass has its own literal

    def remark(self, _reading: Reading) -> str:
        """How a reading measures it, where that is a choice that every table should show."""
        return ""

    @property
    def unit_used(self) -> str:
        """The unit of its values: the metric's own unless an option says another."""
        return str(getattr(self, "unit", self.metric.unit))


class _MetricUse(_Use):
    worst: FiniteFloat | Literal["empty-prediction", "image-diagonal"] | None = Field(
        default=None,
        description="value of a missing or failed prediction: a number; `empty-prediction` scores "
        "one without any voxel; `image-diagonal` is that length; the metric's worst bound where "
        "absent",
    )
    undefined: Literal["exclude", "worst"] | None = Field(
        default=None, description="cost of an undefined score; the policy's where absent"
    )


class Dsc(_MetricUse):
    """Dice against the consensus, or where the raters agree."""

    name: Literal["dsc"]
    against: Literal["consensus", "agreement"] = Field(
        default="consensus",
        description="the consensus mask, or only voxels on which all raters agree",
    )
    epsilon: float = Field(
        default=0.0,
        ge=0,
        description="added to the denominator in the released and published readings",
    )

    def remark(self, reading: Reading) -> str:
        """Which voxels count."""
        if self.against == "consensus":
            return ""
        by_rows = ", as a mean over image rows instead of the volume"
        return f"where all raters agree{by_rows if reading == 'released' else ''}"


class _Thresholded(_MetricUse):
    thresholds: tuple[float, ...] = Field(
        default=THRESHOLDS,
        min_length=1,
        max_length=MOST_THRESHOLDS,
        description="list of cuts of the probability map, or { first, last, count } of even ones",
    )

    @field_validator("thresholds", mode="before")
    @classmethod
    def _even_steps(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.keys() != {"first", "last", "count"}:
            return given
        first, last, count = given["first"], given["last"], given["count"]
        if not isinstance(count, int) or not 1 <= count <= MOST_THRESHOLDS:
            raise ValueError(f"count must be a whole number from 1 to {MOST_THRESHOLDS}")
        if not all(isinstance(end, int | float) and 0 < end < 1 for end in (first, last)):
            raise ValueError("first and last must lie between 0 and 1")
        return tuple(np.linspace(first, last, count).tolist())

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
    bins: int = Field(default=BINS, ge=1, le=MOST_BINS, description="number of confidence bins")
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


class Ece(_MetricUse):
    """Calibration error of all classes against each rater, over the whole image."""

    name: Literal["ece"]
    bins: int = Field(default=BINS, ge=1, le=MOST_BINS, description="number of confidence bins")


class Nsd(_MetricUse):
    """Normalised surface distance."""

    name: Literal["nsd"]
    tolerance_mm: float = Field(default=2.0, ge=0, description="distance that is no error")
    definition: surface.Definition = Field(
        default="surfel", description="surface as area elements, or as edge voxels counted"
    )
    released_tolerance_voxels: float = Field(
        default=5.0, ge=0, description="the released reading's: edge voxels, in voxel units"
    )

    def remark(self, reading: Reading) -> str:
        """Definition and tolerance."""
        if reading == "released":
            return f"edge-voxels, tolerance {self.released_tolerance_voxels:g} voxels"
        return f"{self.definition}, tolerance {self.tolerance_mm:g} mm"


class Hd95(_MetricUse):
    """95th percentile of the surface distances."""

    name: Literal["hd95"]
    convention: surface.Convention = Field(
        default="surfel", description="what the percentile is taken of"
    )

    def remark(self, _reading: Reading) -> str:
        """The convention."""
        return self.convention


class ClDice(_MetricUse):
    """Dice of the centrelines."""

    name: Literal["cldice"]
    thinning: Thinning = Field(
        default="lee", description="how masks become centrelines: as usual, or keeping all vessels"
    )

    def remark(self, _reading: Reading) -> str:
        """The thinning."""
        return f"{self.thinning} thinning"


class VoxelDistance(_MetricUse):
    """Average distances between all voxels of the two masks."""

    name: Literal["bavd", "ahd"]
    unit: Literal["voxels", "mm"] = Field(default="voxels", description="unit of the distances")


class FBeta(_MetricUse):
    """Weighted harmonic mean of precision and sensitivity."""

    name: Literal["f_beta"]
    beta: float = Field(default=1.0, gt=0, description="weight of the sensitivity")


class Plain(_MetricUse):
    """A metric without options of its own."""

    name: Literal[
        "confidence",
        "dice",
        "jaccard",
        "volsim",
        "mi",
        "betti",
        "small_recall",
        "hd",
        "assd",
        "masd",
        "kappa",
        "auc",
        "rand",
        "adjusted_rand",
        "gce",
        "voi",
        "icc",
        "mahalanobis",
        "sensitivity",
        "specificity",
        "precision",
        "accuracy",
        "fallout",
        "false_negative_rate",
        "probabilistic_distance",
    ]


class Efficiency(_Use):
    """A cost that was measured elsewhere and comes as a table."""

    name: Literal["time_s", "memory_gb_s"]
    ranked: bool | tuple[Reading, ...] = Field(
        default=False, description="whether it counts in the ranking"
    )
    worst: FiniteFloat | Literal["worst-method"] = Field(
        default="worst-method", description="cost of a missing or failed prediction: as the dearest"
    )


ImageUse = (
    Dsc
    | ThrDsc
    | MrEce
    | Crps
    | Vi
    | ContactAngle
    | Ece
    | Nsd
    | Hd95
    | ClDice
    | VoxelDistance
    | FBeta
    | Plain
)
MetricUse = Annotated[ImageUse | Efficiency, Field(discriminator="name")]

METRIC_USES: dict[str, type[_Use]] = {
    name: use
    for use in get_args(get_args(MetricUse)[0])
    for name in get_args(use.model_fields["name"].annotation)
}
