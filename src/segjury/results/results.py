"""The results of a run, or of another tool: the table of scores and what lies beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Self

import pandas as pd

from segjury.errors import InputError
from segjury.metrics.metric import Direction
from segjury.results import read as files
from segjury.results.run import RUN, Run
from segjury.runtime.tables import write_csv
from segjury.runtime.writing import whole_file, whole_files
from segjury.wording import plural

BESIDE = ("details", "calibration", "cases", "ceiling")
ROWS_SHOWN = 10


@dataclass(frozen=True)
class Results:
    """A table of scores and, where a run wrote it, all that lies beside it.

    `scores` is long: a row per method, case, metric, structure and reading. `details` is what the
    scores were made from, `calibration` the voxels per confidence bin, `cases` what is known of
    the cases, `ceiling` what raters score as methods, `run` the record of the run, `path` where
    the table is. `better` says which values of a metric are better, where that was said.
    `problems` are predictions and cases that could not be scored, `worth_repeating` whether that
    may go well the next time.
    """

    scores: pd.DataFrame
    _: KW_ONLY
    details: pd.DataFrame | None = None
    calibration: pd.DataFrame | None = None
    cases: pd.DataFrame | None = None
    ceiling: pd.DataFrame | None = None
    run: Run | None = None
    path: Path | None = None
    better: Mapping[str, Direction] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    worth_repeating: bool = False

    @classmethod
    def read(
        cls,
        source: str | Path | pd.DataFrame,
        *,
        columns: Mapping[str, str] | None = None,
        groups: Collection[str] = (),
        matrix: str | None = None,
        raters: str | Path | None = None,
        higher: Sequence[str] = (),
        lower: Sequence[str] = (),
        beside: Collection[str] = BESIDE,
    ) -> Self:
        """Read results: a folder of a run, or a table from another tool.

        Parameters
        ----------
        source
            A folder that `segjury evaluate` wrote; a CSV or parquet file; or a data frame. A table
            of others is long (`method, case, metric, value`), has a column per metric, or is a
            `matrix`.
        columns
            What our columns are called in the table, as in `{"method": "team"}`.
        groups
            Columns of numbers that are groups of cases all the same.
        matrix
            The metric, if the table has a row per case and a column per method.
        raters
            The folder that `segjury raters` wrote, if it is not beside the table.
        higher, lower
            Metrics where more, or less, is better; those of others need it said.
        beside
            Which tables to read that lie beside the scores: all that are there unless told.

        Returns
        -------
        Results
            The scores and what lies beside them.

        """
        path = None if isinstance(source, pd.DataFrame) else Path(source)
        scores, by_rater = files.scores_and_raters(
            source if isinstance(source, pd.DataFrame) else Path(source),
            columns=columns,
            groups=groups,
            matrix=matrix,
        )
        ceiling = Path(raters) if raters is not None else None
        found: dict[str, Any] = {}
        if path is not None:
            readers = {
                "calibration": files.read_calibration,
                "cases": files.read_cases,
                "ceiling": lambda path: files.read_ceiling(path, ceiling),
                "details": files.read_details if by_rater is None else lambda _path: by_rater,
            }
            found = {name: readers[name](path) for name in beside}
        elif ceiling is not None:
            found = {"ceiling": files.read_ceiling(ceiling, ceiling)}
        return cls(
            scores,
            **{"details": by_rater} | found,
            run=None if path is None else Run.read(path),
            path=path,
            better=directions(scores, higher, lower),
        )

    def write(self, folder: str | Path) -> None:
        """Write `scores.csv` and `.parquet`, `details`, `calibration`, `cases.csv` and `run.json`.

        They take the place of an earlier run's all together; a table that is not there is not
        written.
        """
        out = Path(folder)
        with whole_files(out, last=RUN) as new:
            write_scores(self.scores, new)
            for name in BESIDE[:3]:
                table = getattr(self, name)
                if table is not None:
                    write_csv(table, new / f"{name}.csv")
            if self.run is not None:
                self.run.write(out, into=new)

    def _repr_html_(self) -> str:
        """What Jupyter shows: what there is, and the first rows."""
        of = ("method", "case", "metric")
        counts = ", ".join(plural(self.scores[name].nunique(), name) for name in of)
        return f"<p>{counts}</p>{shown(self.scores)}"


def shown(table: pd.DataFrame, *, rows: int | None = ROWS_SHOWN) -> str:
    """A table as Jupyter shows it, all text from outside escaped; only some rows of a long one."""
    return str(
        table.to_html(index=False, max_rows=rows, float_format="{:.4g}".format, na_rep="", border=0)
    )


def write_scores(scores: pd.DataFrame, folder: Path) -> None:
    """Write `scores.csv` and `scores.parquet`, each whole or not at all."""
    write_csv(scores, folder / "scores.csv")
    with whole_file(folder / "scores.parquet") as partial:
        scores.to_parquet(partial, index=False)


def directions(
    scores: pd.DataFrame, higher: Sequence[str], lower: Sequence[str]
) -> dict[str, Direction]:
    """Which values of the metrics named are better, by their names in the table."""
    both = [name for name in higher if name in lower]
    if both:
        raise InputError(f"`higher` and `lower` both name {', '.join(both)}", "Choose one")
    more: dict[str, Direction] = dict.fromkeys(metric_names(scores, higher), "higher")
    less: dict[str, Direction] = dict.fromkeys(metric_names(scores, lower), "lower")
    return more | less


def metric_names(scores: pd.DataFrame, given: Sequence[str]) -> list[str]:
    """Metrics as the table calls them, whatever capitals they are given in."""
    if isinstance(given, str):
        raise InputError(f"'{given}' is one text", f"Give a list of metrics: ['{given}']")
    present = [str(name) for name in scores["metric"].unique()]
    names = []
    for name in given:
        same = [known for known in present if known.lower() == name.lower()]
        if name not in present and len(same) != 1:
            raise InputError(f"the table has no metric {name}", f"It has {', '.join(present)}")
        names.append(name if name in present else same[0])
    return names
