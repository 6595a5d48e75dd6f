"""Write the report: a page, a PDF or Markdown, and the figures beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from segjury.analysis.study import Scores, study_of
from segjury.report.content import content
from segjury.report.drawing import DrawnFigures, draw_all
from segjury.report.figures.illustration import Illustration
from segjury.report.figures.saving.save import FORMATS, Format, write_whole
from segjury.report.html import page
from segjury.report.markdown import markdown
from segjury.report.methods import citation, methods_section
from segjury.report.model import Report, ReportFormat, Written
from segjury.report.pdf import pdf
from segjury.report.provenance import definitions, protocol
from segjury.report.provenance import provenance as provenance_of
from segjury.results import Run
from segjury.runtime.paths import make_folder
from segjury.wording import plain

FIGURES = "figures"  # the folder beside the report


def make_report(
    scores: Scores,
    *,
    pictures: Sequence[Illustration] = (),
    title: str | None = None,
    table_hash: str = "",
    commands: Sequence[str] = (),
    kinds: Collection[str] | None = None,
    formats: Sequence[Format] = FORMATS,
    jobs: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Report:
    """Analyse a table and draw its figures.

    `pictures` are of cases, `table_hash` is the SHA-256 of the file of scores, `commands` repeat
    the report, `kinds` names the figures wanted, `formats` the files made of each. With
    `jobs` above 1 the call belongs under `if __name__ == "__main__":`, as always with processes.
    """
    study = study_of(scores)
    run = study.run or Run()
    rules, origin = protocol(run), provenance_of(run)
    said = content(study)
    name = plain(title or rules.title or rules.name or "Segmentation benchmark")
    used = origin.version or _version()
    return Report(
        title=name,
        content=said,
        drawn=draw_all(
            study, kinds=kinds, pictures=pictures, formats=formats, jobs=jobs, progress=progress
        ),
        protocol=rules,
        provenance=origin,
        definitions=definitions(said.ranked, said.unranked, study.scores),
        methods=methods_section(study, rules, origin, version=used, table_hash=table_hash),
        citation=citation(name, origin, version=used, table_hash=table_hash),
        version=used,
        commands=tuple(commands),
    )


def write_report(report: Report, out: Path, file_format: ReportFormat = "html") -> Written:
    """Write the report to `out` and its figures to `figures/` beside it.

    The same input gives the same bytes, but for a PDF that a browser prints.
    """
    if file_format == "pdf":
        data = pdf(report)
    else:
        text = page(report) if file_format == "html" else markdown(report)
        data = text.encode("utf-8", "replace")
    make_folder(out.parent)
    figures = _write_figures(report.drawn, out.parent / FIGURES)
    write_whole(out, data)
    return Written((out, *figures), report.problems)


def _write_figures(drawn: DrawnFigures, folder: Path) -> list[Path]:
    files = {
        folder / f"{figure.name}.{suffix}": data
        for group in drawn.groups
        for figure in group.figures
        for suffix, data in figure.files.items()
    }
    if files:
        folder.mkdir(exist_ok=True)
    for path, data in files.items():
        write_whole(path, data)
    return list(files)


def _version() -> str:
    try:
        return version("segjury")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return ""
