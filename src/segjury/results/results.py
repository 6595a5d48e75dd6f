"""The results of a run, or of another tool: the table of scores and what lies beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pandas as pd

from segjury.metrics.metric import Direction
from segjury.results import read as files
from segjury.results.names import chosen_methods, directions
from segjury.results.run import RUN, Run
from segjury.runtime.tables import write_csv
from segjury.runtime.writing import whole_file, whole_files
from segjury.wording import listed, plural

BESIDE = ("details", "calibration", "cases", "ceiling")
ROWS_SHOWN = 10
MOST_NAMED = 20


@dataclass(frozen=True)
class HowRead:
    """What was said of a table when it was read: the arguments of `Results.read`.

    `notes` say how numbers were read that are not written as usual.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    matrix: str | None = None
    raters: Path | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Results:
    """A table of scores and, where a run wrote it, all that lies beside it.

    `scores` is long: a row per method, case, metric, structure and reading. `details` is what the
    scores were made from, `calibration` the voxels per confidence bin, `cases` what is known of
    the cases, `ceiling` what raters score as methods, `run` the record of the run, `path` where
    the table is. `better` says which values of a metric are better, where that was said.
    `how_read` is what was said of the table, `left_out` are its methods that are not shown.
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
    left_out: tuple[str, ...] = ()
    how_read: HowRead = field(default_factory=HowRead)
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
        methods: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        beside: Collection[str] = BESIDE,
    ) -> Self:
        """Read results: a folder of a run, or a table from another tool.

        Parameters
        ----------
        source
            A folder that `segjury evaluate` wrote; a CSV, parquet or xlsx file; or a data frame.
            A table of others is long (`method, case, metric, value`), has a column per metric, or
            is a `matrix`.
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
        methods, exclude
            Methods of the table to take, all unless told, and to leave out.
        beside
            Which tables to read that lie beside the scores: all that are there unless told.

        Returns
        -------
        Results
            The scores and what lies beside them.

        """
        path = None if isinstance(source, pd.DataFrame) else Path(source)
        scores, by_rater, said = files.scores_and_raters(
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
            how_read=HowRead(dict(columns or {}), tuple(groups), matrix, ceiling, tuple(said)),
        ).of_methods(methods, exclude)

    def of_methods(self, methods: Sequence[str] | None, exclude: Sequence[str] = ()) -> Self:
        """The results of some methods: those named, all unless told, without those to exclude."""
        present = [str(name) for name in self.scores["method"].unique()]
        kept = chosen_methods(present, methods, exclude)
        if len(kept) == len(present):
            return self
        tables = {name: getattr(self, name) for name in ("scores", "details", "calibration")}
        return replace(
            self,
            **{
                name: table[table["method"].isin(kept)].reset_index(drop=True)
                for name, table in tables.items()
                if table is not None
            },
            left_out=(*self.left_out, *(name for name in present if name not in kept)),
        )

    @property
    def on_table(self) -> tuple[str, ...]:
        """Sentences on how the table was read, and on its methods that are not shown."""
        if not self.left_out:
            return self.how_read.notes
        shown = self.scores["method"].nunique()
        every = plural(shown + len(self.left_out), "method")
        names = listed(self.left_out, most=MOST_NAMED)
        said = f"{shown} of {every} shown, and ranked among each other; left out: {names}"
        return (*self.how_read.notes, said)

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
