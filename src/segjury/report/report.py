"""Write the report: a page, a PDF or Markdown, and the figures beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from segjury.analysis.study import Scores, study_of
from segjury.report.content import Content, content
from segjury.report.drawing import DrawnFigures, draw_all
from segjury.report.figures.illustration import Illustration
from segjury.report.figures.saving.save import FORMATS, Format, write_whole
from segjury.report.methods import RANKING, Paragraph, citation, methods_section
from segjury.report.provenance import Definition, ProtocolSummary, Provenance, definitions, protocol
from segjury.report.provenance import provenance as provenance_of
from segjury.wording import plain

ReportFormat = Literal["html", "pdf", "markdown"]
FIGURES = "figures"  # the folder beside the report


@dataclass(frozen=True)
class Report:
    """All that a report says and shows, whatever form it is written in."""

    title: str
    content: Content
    drawn: DrawnFigures
    protocol: ProtocolSummary
    provenance: Provenance
    definitions: tuple[Definition, ...]
    methods: tuple[Paragraph, ...]
    citation: str
    version: str

    @property
    def order(self) -> str:
        """How ranks are made and methods are ordered, in two sentences."""
        (ranking,) = (paragraph for paragraph in self.methods if paragraph.title == RANKING)
        return " ".join(ranking.sentences[:2])


@dataclass(frozen=True)
class Written:
    """The files of a report, itself first, and what could not be drawn."""

    paths: tuple[Path, ...]
    problems: tuple[str, ...]


def make_report(
    scores: Scores,
    *,
    run: Mapping[str, Any] | None = None,
    pictures: Sequence[Illustration] = (),
    title: str | None = None,
    table_hash: str = "",
    kinds: Collection[str] | None = None,
    formats: Sequence[Format] = FORMATS,
    jobs: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Report:
    """Analyse a table and draw its figures.

    `run` is the content of `run.json`, `pictures` are of cases, `table_hash` is the SHA-256 of the
    file of scores, `kinds` names the figures wanted, `formats` the files made of each. With
    `jobs` above 1 the call belongs under `if __name__ == "__main__":`, as always with processes.
    """
    study = study_of(scores)
    rules, origin = protocol(run or {}), provenance_of(run or {})
    found = content(study)
    name = plain(title or rules.title or rules.name or "Segmentation benchmark")
    used = origin.version or _version()
    return Report(
        title=name,
        content=found,
        drawn=draw_all(
            study, kinds=kinds, pictures=pictures, formats=formats, jobs=jobs, progress=progress
        ),
        protocol=rules,
        provenance=origin,
        definitions=definitions(found.ranked, found.unranked, study.scores),
        methods=methods_section(study, rules, origin, version=used, table_hash=table_hash),
        citation=citation(name, origin, version=used, table_hash=table_hash),
        version=used,
    )


def write_report(report: Report, out: Path, form: ReportFormat = "html") -> Written:
    """Write the report to `out` and its figures to `figures/` beside it.

    The same input gives the same bytes, but for a PDF that a browser prints.
    """
    from segjury.report.html import page
    from segjury.report.markdown import markdown
    from segjury.report.pdf import write_pdf

    out.parent.mkdir(parents=True, exist_ok=True)
    figures = _write_figures(report.drawn, out.parent / FIGURES)
    if form == "pdf":
        write_pdf(report, out)
    else:
        text = page(report) if form == "html" else markdown(report)
        write_whole(out, text.encode("utf-8", "replace"))
    return Written((out, *figures), report.drawn.problems)


def _write_figures(drawn: DrawnFigures, folder: Path) -> list[Path]:
    written = []
    for family in drawn.families:
        for plate in family.plates:
            for form, data in plate.files.items():
                folder.mkdir(exist_ok=True)
                path = folder / f"{plate.name}.{form}"
                write_whole(path, data)
                written.append(path)
    return written


def _version() -> str:
    try:
        return version("segjury")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return ""
