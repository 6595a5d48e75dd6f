"""From a study to its report and figures: finds the images of its run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pandas as pd

from segjury.analysis.study import Study
from segjury.errors import InputError, did_you_mean
from segjury.protocols import Protocol
from segjury.report import ReportFormat, Written, make_report, write_report
from segjury.report.figures.cases.highlights import highlights
from segjury.report.figures.catalogue import KINDS
from segjury.report.figures.illustration import Illustration
from segjury.report.figures.raters.pair_measures import agreement_matrices
from segjury.report.figures.raters.profiles import rater_profiles
from segjury.report.figures.saving.save import (
    Format,
    free_slug,
    save_figure,
)
from segjury.report.pdf import needed_browser
from segjury.report.pictures import PICTURES, case_images, report_pictures
from segjury.report.repeat import repeating_commands
from segjury.results.names import method_names
from segjury.results.read import scores_file
from segjury.results.run import RUN

RATER_FORMATS: tuple[Format, ...] = ("svg", "png")
ENDINGS: dict[str, ReportFormat] = {
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
    ".md": "markdown",
}
WHERE = "Say where they are: `reference`, `predictions`"


def publish(
    study: Study,
    out: Path,
    *,
    file_format: str | None = None,
    title: str | None = None,
    kinds: Collection[str] | None = None,
    reference: Path | None = None,
    predictions: Path | None = None,
    jobs: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Written:
    """Write the report of a study; pictures too, where images are at hand.

    `kinds` names the figures wanted; without any there are no pictures either. The ending of
    `out` says the format, unless told.
    """
    chosen = check_report(out, file_format, kinds)
    pictures, problem = [], _unread(study)
    if study.run and (kinds is None or kinds):
        try:
            pictures = _pictures(study, reference, predictions)
        except (InputError, OSError) as error:
            problem = f"no pictures of cases: {error} {WHERE}"
    report = make_report(
        study,
        pictures=pictures,
        title=title,
        table_hash=_table_hash(study),
        commands=repeating_commands(
            study,
            out,
            file_format=file_format,
            title=title,
            kinds=kinds,
            reference=reference,
            predictions=predictions,
        ),
        kinds=kinds,
        jobs=jobs,
        progress=progress,
    )
    written = write_report(report, out, chosen)
    return replace(written, problems=(problem, *written.problems)) if problem else written


def check_report(
    out: Path, file_format: str | None = None, kinds: Collection[str] | None = None
) -> ReportFormat:
    """The format of a report: as asked for, or as its name says; before it is drawn in vain."""
    if out.is_dir():
        raise InputError(f"{out} is a folder", "Give the name of the file to write")
    for name in kinds or ():
        if name not in KINDS:
            raise InputError(f"`figures` is '{name}'", did_you_mean(name, KINDS))
    formats: dict[str, ReportFormat] = {each: each for each in get_args(ReportFormat)}
    if file_format and file_format not in formats:
        raise InputError(f"`file_format` is '{file_format}'", did_you_mean(file_format, formats))
    if not file_format and out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"`out` is '{out.name}', which says no format",
            f"End it in {', '.join(ENDINGS)}, or say `file_format`",
        )
    chosen = formats[file_format] if file_format else ENDINGS[out.suffix.lower()]
    if chosen == "pdf":
        needed_browser()
    return chosen


def _table_hash(study: Study) -> str:
    """The SHA-256 of the file of scores, if they are in one."""
    return hashlib.sha256(scores_file(study.path).read_bytes()).hexdigest() if study.path else ""


def _unread(study: Study) -> str:
    """A sentence if there is a `run.json` that cannot be used."""
    if study.run or not study.path or not (scores_file(study.path).parent / RUN).exists():
        return ""
    return "run.json cannot be read, so the ranking is not by the rules of its protocol"


def known_kinds() -> dict[str, tuple[tuple[str, ...], str]]:
    """All figures by name: what says of what each is drawn, and how to read it."""
    figures = {name: (kind.takes, kind.help) for name, kind in KINDS.items()}
    return figures | {name: (("case", "method"), each.help) for name, each in PICTURES.items()}


def check_kind(name: str) -> None:
    """Refuse what is no figure."""
    if name not in (kinds := known_kinds()):
        raise InputError(f"there is no figure '{name}'", did_you_mean(name, kinds))


def illustrate(
    name: str,
    study: Study,
    subject: Mapping[str, str],
    *,
    methods: Sequence[str] = (),
    reference: Path | None = None,
    predictions: Path | None = None,
) -> Illustration:
    """One figure of a study, or one picture of a case, of these methods."""
    check_kind(name)
    methods = method_names(study.methods, methods)
    if name not in PICTURES:
        of: Mapping[str, str] = {**subject, **({"method": methods[0]} if methods else {})}
        of = KINDS[name].resolved(study, of)
        return KINDS[name].illustrate(study, of)
    case, cases = subject.get("case", ""), sorted(set(study.scores["case"]))
    if case not in cases:
        given = f"there is no case '{case}'" if case else f"the picture {name} needs a `case`"
        raise InputError(given, did_you_mean(case, cases))
    images = case_images(
        *_images(study, reference, predictions),
        case,
        methods or study.methods,
        everyone=study.methods,
        follow_links=bool(study.run and study.run.follow_links),
    )
    if not PICTURES[name].applies(images):
        raise InputError(f"case {case} has nothing for the picture {name}", PICTURES[name].needs)
    return PICTURES[name].illustrate(images)


def write_rater_figures(
    agreement: pd.DataFrame,
    raters: pd.DataFrame,
    measures: pd.DataFrame,
    folder: Path,
    *,
    level: float,
) -> list[Path]:
    """Draw the tables of an analysis of raters, as SVG and PNG; intervals are of a `level`."""
    found = agreement_matrices(agreement) + rater_profiles(raters, measures, level=level)
    taken: set[str] = set()
    written = (
        save_figure(each.figure, folder, free_slug(each.name, taken), RATER_FORMATS)
        for each in found
    )
    return [path for paths in written for path in paths.values()]


def _pictures(study: Study, reference: Path | None, predictions: Path | None) -> list[Illustration]:
    """Pictures of the cases that tell most."""
    where = _images(study, reference, predictions)
    cases = highlights(study.scores, study.cases, study.reading, details=study.details)
    links = bool(study.run and study.run.follow_links)
    return list(report_pictures(*where, cases, study.methods, follow_links=links))


def _images(
    study: Study, reference: Path | None, predictions: Path | None
) -> tuple[Protocol, Path, Path]:
    """The protocol of a run and where its images are."""
    run, beside = study.run, study.path or Path()
    if run is None:
        raise InputError(f"there is no {RUN} beside the table", "Pictures need a run's folder")
    if run.protocol.model is None:
        raise InputError(f"{RUN} does not tell the protocol", "Evaluate again")
    return (
        run.protocol.model,
        reference or run.folder("reference", beside),
        predictions or run.folder("predictions", beside),
    )
