"""The report, before it becomes a page, a PDF or Markdown, and what was written of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from segjury.report.content import Content
from segjury.report.drawing import DrawnFigures
from segjury.report.methods import RANKING, Paragraph
from segjury.report.provenance import Definition, ProtocolSummary, Provenance

ReportFormat = Literal["html", "pdf", "markdown"]


@dataclass(frozen=True)
class Report:
    """All that a report says and shows, whatever format it is written in.

    `commands` repeat it, in its folder.
    """

    title: str
    content: Content
    drawn: DrawnFigures
    protocol: ProtocolSummary
    provenance: Provenance
    definitions: tuple[Definition, ...]
    methods: tuple[Paragraph, ...]
    citation: str
    version: str
    commands: tuple[str, ...] = ()

    @property
    def order(self) -> str:
        """How ranks are made and methods are ordered, in two sentences."""
        (ranking,) = (paragraph for paragraph in self.methods if paragraph.title == RANKING)
        return " ".join(ranking.sentences[:2])

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be drawn, a sentence each."""
        return self.drawn.problems


@dataclass(frozen=True)
class Written:
    """The files of a report, itself first, and what could not be drawn."""

    paths: tuple[Path, ...]
    problems: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The report itself."""
        return self.paths[0]
