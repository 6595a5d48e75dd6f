"""The records of a run, and keeping them: one small file for each method and case."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from segjury.writing import write_text

FORMAT = "3"  # of what is kept; results in another are computed again
Status = Literal["ok", "undefined", "missing", "failed"]


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
class CalibrationBin:
    """Voxels in a range of confidence; `confidence` is their sum, `hits` those right, per rater."""

    metric: str
    structure: str
    reading: str
    bin_low: float
    bin_high: float
    voxels: int
    confidence: float
    hits: tuple[int, ...]


@dataclass(frozen=True)
class Result:
    """Everything found out about one method on one case."""

    method: str
    case: str
    rows: tuple[Row, ...]
    details: tuple[Detail, ...] = ()
    problem: str = ""
    facts: dict[str, float] = field(default_factory=dict)  # of the case, whatever the method
    bins: tuple[CalibrationBin, ...] = ()

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Result:
        """The result that `asdict` was taken of."""
        rows = tuple(Row(**row) for row in content.pop("rows"))
        details = tuple(Detail(**detail) for detail in content.pop("details"))
        bins = tuple(
            CalibrationBin(**each | {"hits": tuple(each["hits"])}) for each in content.pop("bins")
        )
        return cls(rows=rows, details=details, bins=bins, **content)


class Store:
    """Finished results in a folder, each written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, case: str, method: str, fingerprint: str) -> Result | None:
        """The result of the same inputs, protocol and version, if there is one."""
        try:
            content = json.loads(self._path(case, method).read_text("utf-8"))
            if content["fingerprint"] != fingerprint:
                return None
            return Result.from_json(content["result"])
        except (OSError, ValueError, KeyError, TypeError):
            return None  # absent or broken: it is computed again

    def save(self, result: Result, fingerprint: str) -> None:
        """Keep a result."""
        content = {"fingerprint": fingerprint, "result": asdict(result)}
        write_text(json.dumps(content), self._path(result.case, result.method))

    def _path(self, case: str, method: str) -> Path:
        name = hashlib.sha256(f"{case}\0{method}".encode(errors="surrogateescape")).hexdigest()
        return self._folder / f"{name[:24]}.json"
