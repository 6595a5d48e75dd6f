"""What scoring a prediction gives: rows, the numbers behind them, and whose fault it is if none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from segjury.runtime import Exceeded

Status = Literal["ok", "undefined", "missing", "failed", "over_limit"]
# Whose fault it is that there are no scores; "passing" is what may be gone the next time.
Fault = Literal["", "method", "reference", "passing", "ours"]


@dataclass(frozen=True)
class Row:
    """One score of the long table, without the method and case it belongs to."""

    metric: str
    structure: str
    reading: str
    value: float
    unit: str
    status: Status
    detail: str


@dataclass(frozen=True)
class Detail:
    """A number that a score was made from."""

    metric: str
    structure: str
    reading: str
    quantity: str
    item: str
    value: float


@dataclass(frozen=True)
class Fact:
    """A number about a case; `first` and `second` are whom it is of, such as rater `1` and `2`."""

    label: str
    quantity: str
    first: str
    second: str
    value: float


@dataclass(frozen=True)
class CalibrationBin:
    """Voxels in a range of confidence; `confidence` is their sum, `hits` those right, per rater.

    `raters` are the names of these.
    """

    metric: str
    structure: str
    reading: str
    bin_low: float
    bin_high: float
    voxels: int
    confidence: float
    hits: tuple[int, ...]
    raters: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """Everything found out about one method on one case."""

    method: str
    case: str
    rows: tuple[Row, ...]
    details: tuple[Detail, ...] = ()
    problem: str = ""
    fault: Fault = ""
    facts: tuple[Fact, ...] = ()  # of the case, whatever the method
    bins: tuple[CalibrationBin, ...] = ()
    exceeded: Exceeded | None = None  # the limit that scoring it met
    kind: str = ""  # of the problem, as `segjury check` has them; empty where it has none
    doubts: tuple[str, ...] = ()  # what the prediction looks like, such as mirrored
    absent: tuple[str, ...] = ()  # labels that the reference has, and the prediction has not

    @property
    def may_pass(self) -> bool:
        """Whether the problem may be gone the next time."""
        return self.fault in ("passing", "ours")

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Result:
        """The result that `asdict` was taken of."""
        rows = tuple(Row(**row) for row in content.pop("rows"))
        details = tuple(Detail(**detail) for detail in content.pop("details"))
        bins = tuple(
            CalibrationBin(**each | {"hits": tuple(each["hits"]), "raters": tuple(each["raters"])})
            for each in content.pop("bins")
        )
        facts = tuple(Fact(**fact) for fact in content.pop("facts"))
        limit = content.pop("exceeded")
        doubts, absent = (tuple(content.pop(name)) for name in ("doubts", "absent"))
        exceeded = None if limit is None else Exceeded(**limit)
        return cls(
            rows=rows,
            details=details,
            bins=bins,
            facts=facts,
            exceeded=exceeded,
            doubts=doubts,
            absent=absent,
            **content,
        )
