"""The metrics that a benchmark starts with, by what its files can support."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from segjury.metrics import METRICS


@dataclass(frozen=True)
class Data:
    """What the files of a benchmark have."""

    several_raters: bool
    maps: bool
    samples: bool
    overlap: bool  # labels that share voxels
    masks: bool = True  # of predictions; else they are made of the samples


@dataclass(frozen=True)
class Choice:
    """A metric, what it tells, for what data it is chosen, and its options."""

    name: str
    tells: str
    when: Callable[[Data], bool] = lambda _data: True
    options: Mapping[str, Any] = field(default_factory=dict)

    def suits(self, data: Data) -> bool:
        """Whether it is computed to begin with: it exists, and the files have what it needs."""
        metric = METRICS.get(self.name)
        if metric is None or (metric.one_label_per_voxel and data.overlap):
            return False
        return self.when(data)

    @property
    def keys(self) -> dict[str, Any]:
        """What a protocol says of it; a metric without a worst value needs one."""
        metric = METRICS[self.name]
        if metric.worst is None and "worst" not in self.options:
            worst = "image-diagonal" if metric.unit == "mm" else "empty-prediction"
            return {**self.options, "worst": worst}
        return dict(self.options)


def _spread(data: Data) -> bool:
    return data.several_raters and data.maps


def _sampled(data: Data) -> bool:
    return data.several_raters and data.samples


def _spread_of_samples(data: Data) -> bool:
    # samples are read where a metric asks for them: of one rater too, if there is nothing else
    return data.samples and (data.several_raters or not data.masks)


# One line each, in the order of a table; a metric that does not exist is passed over.
CHOICES = (
    Choice("dsc", "overlap"),
    Choice(
        "nsd",
        "surface that is no further off than a tolerance",
        options={"tolerance_mm": 2.0},
    ),
    Choice("hd95", "large errors of the surface", lambda data: not _spread(data)),
    Choice("thr_dsc", "overlap with all raters, over several thresholds", _spread),
    Choice("brier", "error of the probability map", lambda data: data.maps),
    Choice(
        "pooled_ece",
        "calibration of the probability map near the raters' marks",
        lambda data: data.maps,
        {"region": "near"},
    ),
    Choice("crps", "volume, against the spread of the raters' volumes", _spread),
    Choice("ged", "samples against raters, both as distributions", _spread_of_samples),
    Choice("dice_match", "whether each rater has a sample of their own", _sampled),
)


def chosen_metrics(data: Data) -> list[Choice]:
    """The metrics to start with."""
    return [choice for choice in CHOICES if choice.suits(data)]
