"""What a notebook calls: results that rank themselves, studies that draw and report.

The rooms below know nothing of those above them, so what an object can be asked is put together
here, where all of them are in sight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from segjury import raters
from segjury.analysis import RankedTable
from segjury.analysis.study import Study
from segjury.benchmark.folders import refuse_output_among_inputs
from segjury.metrics import READINGS, Reading
from segjury.protocols import Protocol
from segjury.raters import RaterStudy
from segjury.report import Written
from segjury.report.figures import Illustration
from segjury.report.publish import illustrate, publish, write_rater_figures
from segjury.results import Results
from segjury.runtime.paths import make_folder
from segjury.scoring import evaluate

Options = ParamSpec("Options")


@dataclass(frozen=True)
class NotebookStudy(Study):
    """A study that draws its figures and writes its report."""

    def figure(
        self,
        name: str,
        *,
        score: str | None = None,
        case: str | None = None,
        structure: str | None = None,
        method: str | Sequence[str] = (),
        reference: str | Path | None = None,
        predictions: str | Path | None = None,
    ) -> Illustration:
        """Draw a figure of the study, or a picture of a case.

        Parameters
        ----------
        name
            Its name, one that `segjury figure list` shows.
        score, case, structure, method
            What it is drawn of; pictures take several methods.
        reference, predictions
            Where the images of a picture are; as the run says unless told.

        Returns
        -------
        Illustration
            With `.data`, `.alt` and `.save(file)`; Jupyter shows it.

        """
        given = {"score": score, "case": case, "structure": structure}
        return illustrate(
            name,
            self,
            {part: text for part, text in given.items() if text},
            methods=[method] if isinstance(method, str) else method,
            reference=Path(reference) if reference else None,
            predictions=Path(predictions) if predictions else None,
        )

    def report(
        self,
        out: str | Path,
        *,
        file_format: str | None = None,
        title: str | None = None,
        figures: Sequence[str] | None = None,
        reference: str | Path | None = None,
        predictions: str | Path | None = None,
        jobs: int = 1,
        progress: Callable[[int, int], None] = lambda _done, _of: None,
    ) -> Written:
        """Write the report, and a folder `figures` beside it.

        Parameters
        ----------
        out, file_format
            The file, `.html`, `.pdf` or `.md`; `html`, `pdf` or `markdown` if it ends otherwise.
        title
            The protocol's unless told.
        figures
            Names of the figures wanted; all unless told.
        reference, predictions
            Where the images of pictures are; as the run says unless told.
        jobs
            Processes that draw; with several, call it under `if __name__ == "__main__":`.
        progress
            Called with how many figures are drawn, and of how many.

        Returns
        -------
        Written
            `.path`, and `.problems`: what could not be drawn.

        """
        return publish(
            self,
            Path(out),
            file_format=file_format,
            title=title,
            kinds=figures,
            reference=Path(reference) if reference else None,
            predictions=Path(predictions) if predictions else None,
            jobs=jobs,
            progress=progress,
        )


@dataclass(frozen=True)
class NotebookResults(Results):
    """Results that rank and analyse themselves."""

    def leaderboard(
        self,
        *,
        reading: str | None = None,
        cohort: str | None = None,
        methods: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        metrics: Sequence[str] | None = None,
        scheme: str | None = None,
        aggregate: str | float | None = None,
        ties: str | None = None,
        weights: Mapping[str, float] | None = None,
        missing: str | None = None,
        higher: Sequence[str] = (),
        lower: Sequence[str] = (),
        samples: int = 1000,
        seed: int = 0,
    ) -> RankedTable:
        """Rank the methods.

        Parameters
        ----------
        reading
            The reading to rank by; `corrected` first unless told.
        cohort
            Only the cases of this cohort, or of a condition such as `mean_pairwise_dsc<=0.3`.
        methods, exclude
            Methods to rank, all unless told, and to leave out.
        metrics
            The metrics that count; the protocol's unless told.
        scheme, aggregate, ties, weights, missing
            How metric values become one order, instead of what the protocol says.
        higher, lower
            Metrics where more, or less, is better.
        samples, seed
            Resamples of the cases, 0 for none, and their seed.

        Returns
        -------
        RankedTable
            `.table` has the columns of `leaderboard.csv`, `.readings` the other readings.

        """
        return NotebookStudy.of(
            self,
            reading=reading,
            cohort=cohort,
            methods=methods,
            exclude=exclude,
            metrics=metrics,
            scheme=scheme,
            aggregate=aggregate,
            ties=ties,
            weights=weights,
            missing=missing,
            higher=higher,
            lower=lower,
            samples=samples,
            seed=seed,
        ).leaderboards()[0]

    def analyze(
        self,
        *,
        baselines: Sequence[str] = (),
        by: Sequence[str] = (),
        failures: Sequence[str] = (),
        samples: int = 1000,
        seed: int = 0,
        alpha: float = 0.05,
        reading: str | None = None,
        cohort: str | None = None,
        methods: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        metrics: Sequence[str] | None = None,
        scheme: str | None = None,
        aggregate: str | float | None = None,
        ties: str | None = None,
        weights: Mapping[str, float] | None = None,
        missing: str | None = None,
        higher: Sequence[str] = (),
        lower: Sequence[str] = (),
    ) -> NotebookStudy:
        """Analyse the scores: how sure the ranks are, tests between methods, what drives the order.

        Parameters
        ----------
        baselines
            Methods that the others are compared with.
        by
            Columns such as `cohort` or `dataset`; each part of the cases is analysed too.
        failures
            Rules such as `dsc<0.5` or `crps>p90` by which failures are counted too.
        samples, seed, alpha
            Resamples and their seed; the level of the tests.
        reading, cohort, methods, exclude, metrics, higher, lower
            As for `leaderboard`.
        scheme, aggregate, ties, weights, missing
            As for `leaderboard`.

        Returns
        -------
        NotebookStudy
            `.sentences`, `.tests(score)`, `.tables`, `.figure(name)` and `.report(file)`.

        """
        return NotebookStudy.of(
            self,
            baselines=baselines,
            by=by,
            failures=failures,
            samples=samples,
            seed=seed,
            alpha=alpha,
            reading=reading,
            cohort=cohort,
            methods=methods,
            exclude=exclude,
            metrics=metrics,
            scheme=scheme,
            aggregate=aggregate,
            ties=ties,
            weights=weights,
            missing=missing,
            higher=higher,
            lower=lower,
        ).analyzed()


def _for_notebooks(scored: Callable[Options, Results]) -> Callable[Options, NotebookResults]:
    """A function that gives results, such that they can be asked for more."""

    @wraps(scored)
    def call(*given: Options.args, **options: Options.kwargs) -> NotebookResults:
        results = scored(*given, **options)
        return NotebookResults(
            **{each.name: getattr(results, each.name) for each in fields(results)}
        )

    return call


read = NotebookResults.read
run = _for_notebooks(evaluate.run)


def measure_raters(
    protocol: str | Path | Protocol,
    *,
    reference: str | Path,
    out: str | Path | None = None,
    readings: Sequence[Reading] = READINGS,
    cases: str | Path | None = None,
    allow_code: bool = False,
    seed: int = 0,
    jobs: int | None = 1,
    progress: Callable[[str], None] = lambda _case: None,
) -> RaterStudy:
    """Measure the raters of a benchmark: agreement, bias, outliers, and the human ceiling.

    Parameters
    ----------
    protocol, reference
        As for `run`.
    out
        A folder for the tables, `raters.json`, `raters.md` and figures.
    readings, cases, allow_code, seed, jobs
        Readings of the ceiling; a table of the cases; whether Python code that the protocol names
        may run; seed of the resamples; processes.
    progress
        Called with the name of each case that is done.

    Returns
    -------
    RaterStudy
        The tables; `.problems` are cases that could not be measured.

    """
    folder = None if out is None else Path(out)
    if folder:
        refuse_output_among_inputs(folder, Path(reference))
        make_folder(folder)  # before any work: a wrong place costs none
    study = raters.measure_raters(
        protocol,
        reference=reference,
        readings=readings,
        cases=cases,
        allow_code=allow_code,
        settings=raters.RaterSettings(seed=seed),
        jobs=jobs,
        progress=progress,
    )
    if folder:
        raters.write_raters(study, folder)
        tables = (study.agreement, study.raters, study.rater_measures)
        write_rater_figures(*tables, folder / "figures", level=study.settings.level)
    return study
