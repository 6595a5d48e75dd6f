"""What the commands on tables share: reading one, and the rules of its ranking."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from segjury.cli import options

if TYPE_CHECKING:
    import pandas as pd

    from segjury.analysis.ranking import Rules
    from segjury.analysis.study import Study


def table_of(scores: Path, columns: str, matrix: str | None, cohort: str | None) -> pd.DataFrame:
    """The rows of a table that were asked for."""
    from segjury.analysis.ranking import in_cohort
    from segjury.results.read import read_cases, read_scores

    table = read_scores(scores, columns=options.pairs("columns", columns), matrix=matrix)
    return in_cohort(table, cohort, read_cases(scores) if cohort else None)


def rules_of(
    scores: Path, table: pd.DataFrame, metrics: str, directions: dict[str, Any], **ranking: str
) -> Rules:
    """The run's rules with what was asked for instead."""
    from dataclasses import replace

    from segjury.analysis.ranking import Rules, doubtful_directions
    from segjury.cli.terminal import warn
    from segjury.results.read import read_run

    usual = Rules.of_run(read_run(scores))
    present = [str(name) for name in table["metric"].unique()]
    said = {options.metric(name, present): way for name, way in directions.items()}
    chosen = options.ranking(usual.ranking, **ranking)
    if ranking.get("weighted"):
        weights = {options.metric(name, present): w for name, w in chosen.weights.items()}
        chosen = chosen.model_copy(update={"weights": weights})
    for warning in doubtful_directions(table, said):
        warn(warning)
    return replace(
        usual,
        metrics=tuple(options.metric(name, present) for name in options.names(metrics) or ())
        or None,
        directions=said,
        ranking=chosen,
    )


def study_from(
    scores: Path,
    *,
    reading: str | None,
    higher: list[str] | None,
    lower: list[str] | None,
    missing: str,
    columns: str,
    matrix: str | None,
    raters: Path | None = None,
    **settings: Any,
) -> Study:
    """A table with the rules of its ranking and what a run wrote beside it."""
    from segjury.analysis import Settings
    from segjury.analysis.study import Study, completed
    from segjury.results.read import read_calibration, read_cases, read_ceiling, read_details

    table = table_of(scores, columns, matrix, None)
    return Study(
        completed(table),
        rules_of(scores, table, "", options.directions(higher, lower), missing=missing),
        Settings(**settings),
        reading_asked=reading,
        details=read_details(scores, columns=options.pairs("columns", columns), matrix=matrix),
        cases=read_cases(scores),
        calibration=read_calibration(scores),
        ceiling=read_ceiling(scores, raters),
    )
