"""Draw the figures of a report, in several processes where they are many."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Literal

from segjury import runtime
from segjury.analysis.study import Study
from segjury.report.figures.catalogue import KINDS
from segjury.report.figures.illustration import Illustration
from segjury.report.figures.kind import Section, Subject
from segjury.report.figures.saving.save import FORMATS, Format, figure_bytes, free_slug, slug
from segjury.runtime.tables import quoting
from segjury.wording import plain

FIGURES_AT_ONCE = 4  # by a process, before it takes the next ones
FEW_FIGURES = 16  # up to here starting processes costs more than it gains


@dataclass(frozen=True)
class DrawnFigure:
    """A drawn figure: its words, its size, and its files by format (`csv` is its data)."""

    name: str
    title: str
    caption: str
    alt: str
    label: str
    inline: Literal["svg", "png"]
    size_in: tuple[float, float]
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class FigureGroup:
    """The figures of one kind; a page shows one of them at a time."""

    name: str
    title: str
    help: str
    section: Section | Literal["pictures"]
    figures: tuple[DrawnFigure, ...]


@dataclass(frozen=True)
class DrawnFigures:
    """All figures of a report, and what could not be drawn."""

    groups: tuple[FigureGroup, ...]
    problems: tuple[str, ...] = ()

    def of(self, section: str) -> list[FigureGroup]:
        """The groups of a section."""
        return [group for group in self.groups if group.section == section]


@dataclass(frozen=True)
class _Chunk:
    """Figures that one process draws one after the other; `at` is the place of the first."""

    at: int
    study: Study
    tasks: tuple[tuple[str, Subject], ...]
    formats: tuple[Format, ...]


def draw_all(
    study: Study,
    *,
    kinds: Collection[str] | None = None,
    pictures: Sequence[Illustration] = (),
    formats: Sequence[Format] = FORMATS,
    jobs: int = 1,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> DrawnFigures:
    """Draw every figure that the study can carry, and write it in every format.

    `kinds` are the names of those wanted, all unless told. A figure that fails is a problem to
    tell of, not the end of the report.
    """
    wanted = [kind for name, kind in KINDS.items() if kinds is None or name in kinds]
    tasks = [(kind.name, subject) for kind in wanted for subject in kind.subjects(study)]
    if len(tasks) <= FEW_FIGURES:
        jobs = 1
    figures: dict[str, list[DrawnFigure]] = {kind.name: [] for kind in wanted}
    problems: list[str] = []
    with ThreadPoolExecutor(1) as aside:  # while other processes draw the rest
        waiting = [aside.submit(drawn_figure, picture, tuple(formats)) for picture in pictures]
        if jobs == 1:
            wait(waiting)  # two threads of one process must not draw at once
        each = zip(tasks, _drawn(study, tasks, tuple(formats), jobs), strict=True)
        for done, ((name, _), drawn) in enumerate(each, 1):
            progress(done, len(tasks))
            if isinstance(drawn, DrawnFigure):
                figures[name].append(drawn)
            else:
                problems.append(drawn)
        shown = [future.result() for future in waiting]
    groups = [
        FigureGroup(kind.name, kind.title, kind.help, kind.section, tuple(figures[kind.name]))
        for kind in wanted
        if figures[kind.name]
    ]
    for title in dict.fromkeys(picture.kind for picture in pictures):
        own = [
            drawn for drawn, picture in zip(shown, pictures, strict=True) if picture.kind == title
        ]
        groups.append(FigureGroup(slug(f"picture {title}"), title, "", "pictures", tuple(own)))
    return DrawnFigures(_with_file_names(groups), tuple(problems))


def _with_file_names(groups: Sequence[FigureGroup]) -> tuple[FigureGroup, ...]:
    """The groups with safe names of their files, numbered where two would be the same."""
    taken: set[str] = set()

    def named(drawn: DrawnFigure) -> DrawnFigure:
        return replace(drawn, name=free_slug(drawn.name, taken))

    return tuple(replace(group, figures=tuple(map(named, group.figures))) for group in groups)


def drawn_figure(picture: Illustration, formats: tuple[Format, ...] = FORMATS) -> DrawnFigure:
    """A figure with its words, written in each format."""
    files: dict[str, bytes] = {each: figure_bytes(picture.figure, each) for each in formats}
    if picture.data is not None:
        table = picture.data.to_csv(
            index=False,
            lineterminator="\n",
            float_format="%.12g",  # beyond, scores count as equal
            quoting=quoting(picture.data),
        )
        files["csv"] = table.encode("utf-8", "replace")
    width, height = picture.figure.get_size_inches()
    return DrawnFigure(
        name=picture.name,
        title=plain(picture.title),
        caption=plain(picture.caption),
        alt=plain(picture.alt),
        label=plain(picture.label),
        inline=picture.inline if picture.inline in files else "svg",
        size_in=(float(width), float(height)),
        files=files,
    )


def _drawn(
    study: Study,
    tasks: Sequence[tuple[str, Subject]],
    formats: tuple[Format, ...],
    jobs: int,
) -> Iterator[DrawnFigure | str]:
    """Each figure, or why there is none, in the order of the tasks."""
    _ = study.analysis  # once, before the study is sent to others
    sent = study if jobs == 1 else _light(study)
    size = 1 if jobs == 1 else FIGURES_AT_ONCE
    chunks = [
        _Chunk(at, sent, tuple(tasks[at : at + size]), formats) for at in range(0, len(tasks), size)
    ]
    waiting: dict[int, list[DrawnFigure | str]] = {}
    following = 0
    for chunk, figures in runtime.run(_draw_chunk, chunks, jobs=jobs):
        waiting[chunk.at] = figures
        while following in waiting:
            yield from waiting[following]
            following += size


def _light(study: Study) -> Study:
    """The study without the details of readings that are not drawn, which are most of it."""
    if study.details is None:
        return study
    shown = study.details[study.details["reading"].isin(["", study.reading])]
    words = {name: "category" for name in shown.columns if name != "value"}
    light = replace(study, details=shown.astype(words))
    light.__dict__["analysis"] = study.analysis  # made of all details; not to be made again
    return light


def _draw_chunk(chunk: _Chunk) -> list[DrawnFigure | str]:
    return [_draw(chunk.study, name, subject, chunk.formats) for name, subject in chunk.tasks]


def _draw(
    study: Study, name: str, subject: Subject, formats: tuple[Format, ...]
) -> DrawnFigure | str:
    try:
        return drawn_figure(KINDS[name].illustrate(study, subject), formats)
    except Exception as error:  # one figure must not cost the others
        of = " ".join([name, *subject.values()])
        return f"the figure {of} could not be drawn, please report it: " + re.sub(
            r"\s+", " ", f"{type(error).__name__}: {error}"
        )
