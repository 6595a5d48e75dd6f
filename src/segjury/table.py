"""The long table of scores: its columns, writing it, and reading ours or anybody's CSV."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from segjury.errors import InputError, MissingInputError
from segjury.metrics import METRICS

COLUMNS = (
    "method",
    "case",
    "metric",
    "structure",
    "reading",
    "value",
    "unit",
    "status",
    "detail",
    "cohort",
)
NEEDED = ("method", "case", "metric", "value")
DEFAULTS = {
    "structure": "all",
    "reading": "given",
    "unit": "",
    "status": "ok",
    "detail": "",
    "cohort": "",
}
NO_VALUE = ("", "nan", "na", "none", "null")
DETAIL_COLUMNS = ("method", "case", "metric", "structure", "reading", "quantity", "item", "value")

# columns of a results table that are not metrics: what a ranking printed, and spreads
_DERIVED = re.compile(
    r"^(rank_.*|.*_rank|mean_rank|sd_rank|final_position|position|.*_(iqr|sd|std))$", re.I
)
_UNIT_SUFFIX = re.compile(r"_(percent|e3|cm3|mm3|mm|median|mean)$")


def write_scores(scores: pd.DataFrame, folder: Path) -> None:
    """Write `scores.csv` and `scores.parquet`, each whole or not at all."""
    write_csv(scores, folder / "scores.csv")
    partial = folder / f".scores.parquet.{os.getpid()}"
    scores.to_parquet(partial, index=False)
    partial.replace(folder / "scores.parquet")


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    table.to_csv(partial, index=False, lineterminator="\n")
    partial.replace(path)


def read_scores(path: Path) -> pd.DataFrame:
    """Read a table of scores: our long one, a long CSV of another tool, or a wide one.

    A long CSV needs `method, case, metric, value`. A wide one has `method` and a column per
    metric (suffixes such as `_percent` or `_median` are dropped, `vi_porta` becomes `vi` of PORTA,
    and columns of ranks and spreads are left out), with or without `case`.
    """
    if path.is_dir():
        path = path / "scores.csv"
    if not path.is_file():
        raise MissingInputError(f"there is no table {path}", "Give a scores.csv")
    table = _read_any(path)
    names = [str(name).strip() for name in table.columns]
    table.columns = [name.lower() if name.lower() in COLUMNS else name for name in names]
    if "method" not in table.columns:
        raise InputError(
            f"{path.name} has no column 'method' (it has {', '.join(map(str, table.columns))})",
            f"Name the columns {', '.join(NEEDED)}",
        )
    if table.empty:
        raise InputError(f"{path.name} has no rows", "Give a table with scores")
    if not {"metric", "value"} <= set(table.columns):
        table = _from_wide(table, path)
    return _complete(table, path)


def _read_any(path: Path) -> pd.DataFrame:
    """The table with all cells as text: a method may be called NA, a case 007."""
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        if len(table.columns) == 1:  # a semicolon or a tab between the columns
            table = pd.read_csv(
                path,
                dtype=str,
                keep_default_na=False,
                sep=None,
                engine="python",
                encoding="utf-8-sig",
            )
        return table.loc[:, ~table.columns.astype(str).str.match(r"Unnamed: \d+$")].copy()
    except (OSError, ValueError, pd.errors.ParserError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0][:200]
        raise InputError(f"{path.name} cannot be read ({reason})", "Give a CSV") from None


def _from_wide(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    metrics = [c for c in table.columns if c not in COLUMNS and not _DERIVED.match(c)]
    if not metrics:
        raise InputError(
            f"{path.name} has neither 'metric' and 'value' nor a column per metric",
            f"Name the columns {', '.join(NEEDED)}",
        )
    if "case" not in table.columns:
        table = table.assign(case="all")
    about = [name for name in COLUMNS if name in table.columns]
    long = table.melt(about, metrics, "column", "value")
    names = {column: _metric_and_structure(column) for column in metrics}
    long["metric"] = [names[column][0] for column in long["column"]]
    long["structure"] = [names[column][1] for column in long["column"]]
    return long.drop(columns="column")


def _metric_and_structure(column: str) -> tuple[str, str]:
    """`vi_porta` is metric `vi` of PORTA, `dsc_percent` is `dsc`; others keep their name."""
    name = _UNIT_SUFFIX.sub("", column.lower())
    if name in METRICS:
        return name, "all"
    for metric in sorted(METRICS, key=len, reverse=True):
        if name.startswith(f"{metric}_"):
            return metric, name.removeprefix(f"{metric}_").replace("_", " ").upper()
    return column, "all"


def _complete(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Fill in the columns another tool left out, and refuse what cannot be meant."""
    absent = [name for name in NEEDED if name not in table.columns]
    if absent:
        raise InputError(
            f"{path.name} has no column {', '.join(map(repr, absent))}",
            f"Name the columns {', '.join(NEEDED)}",
        )
    for name, default in DEFAULTS.items():
        known = name in table.columns
        table[name] = table[name].fillna("").replace("", default) if known else default
    table["value"] = [_number(row, path) for row in table.itertuples()]
    key = ["method", "case", "metric", "structure", "reading"]
    double = table.duplicated(key)
    if double.any():
        row = table[double].iloc[0]
        raise InputError(
            f"{path.name} has two rows for method {row['method']}, case {row['case']}, "
            f"metric {row['metric']}, structure {row['structure']}, reading {row['reading']}",
            "Keep one of them",
        )
    return table[list(COLUMNS)]


def _number(row: Any, path: Path) -> float:
    """The value of a row; NaN where it is empty."""
    if isinstance(row.value, str) and row.value.strip().lower() in NO_VALUE:
        return math.nan
    try:
        value = float(row.value)
    except (TypeError, ValueError):
        value = math.inf
    if math.isinf(value):
        raise InputError(
            f"{path.name}: the value of {row.method}, {row.case}, {row.metric} is {row.value!r}",
            "Give a number, or leave it empty",
        )
    return value


def read_run(scores: Path) -> dict[str, Any] | None:
    """The `run.json` beside a table of scores, if there is one."""
    folder = scores if scores.is_dir() else scores.parent
    try:
        run = json.loads((folder / "run.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return run if isinstance(run, dict) else None


def run_folder(run: Mapping[str, Any], kind: str, beside: Path) -> Path:
    """Where a run's images are: as it was started, or at the same place relative to its table."""
    places = [Path(str(run[kind])), beside / str(run.get("relative", {}).get(kind, run[kind]))]
    for place in places:
        if place.is_dir():
            return place
    raise InputError(f"there is no folder {places[0]}")
