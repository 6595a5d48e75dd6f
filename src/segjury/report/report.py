"""Write the report: one HTML file that needs nothing else, and the figures beside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from segjury.figures.illustration import Illustration
from segjury.figures.marks import MARK_PATHS
from segjury.figures.save import save_figure, slug, write_whole
from segjury.figures.study import completed
from segjury.figures.style import method_colours, method_markers, plain
from segjury.ranking import Rules
from segjury.report.content import Content, content
from segjury.report.gaps import LISTED
from segjury.report.plots import plots
from segjury.report.protocol import definitions, protocol, provenance

_MIME = {"svg": "image/svg+xml", "png": "image/png"}


@dataclass(frozen=True)
class Plate:
    """A figure as the page shows it."""

    title: str
    caption: str
    alt: str
    source: str
    size_px: tuple[int, int]
    files: tuple[tuple[str, str], ...]


def write_report(
    scores: pd.DataFrame,
    out: Path,
    *,
    run: Mapping[str, Any] | None = None,
    panels: Sequence[Illustration] = (),
    title: str | None = None,
    rules: Rules | None = None,
) -> list[Path]:
    """Write the page to `out` and its figures to `figures/` beside it; says what was written.

    `run` is the content of `run.json`, `panels` are pictures of cases. The same input gives the
    same bytes.
    """
    rules = rules or Rules()
    table = completed(scores)
    found = content(table, rules)
    folder = out.parent / "figures"
    written: list[Path] = []
    plates: dict[str, list[Plate]] = {"ranked": [], "beside": [], "panels": []}
    taken: set[str] = set()
    for part, pictures in (
        ("ranked", plots(table, found, found.ranked, rules)),
        ("beside", plots(table, found, found.beside, rules)),
        ("panels", panels),
    ):
        for picture in pictures:
            plate, paths = _plate(picture, folder, taken)
            plates[part].append(plate)
            written += paths
    page = _page(found, rules, plates, run or {}, title)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, page.encode("utf-8", "replace"))
    return [out, *written]


def _plate(picture: Illustration, folder: Path, taken: set[str]) -> tuple[Plate, list[Path]]:
    """Save a figure and make it part of the page."""
    paths = save_figure(picture.figure, folder, _free(slug(picture.name), taken))
    shown = paths[picture.inline].read_bytes()
    source = f"data:{_MIME[picture.inline]};base64,{base64.b64encode(shown).decode()}"
    files = tuple((form.upper(), f"{folder.name}/{path.name}") for form, path in paths.items())
    texts = (plain(picture.title), plain(picture.caption), plain(picture.alt))
    width, height = (round(inches * 96) for inches in picture.figure.get_size_inches())
    return Plate(*texts, source, (width, height), files), list(paths.values())


def _free(name: str, taken: set[str]) -> str:
    """The name, numbered if another figure has it."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    taken.add(free)
    return free


def _page(
    found: Content,
    ranked_by: Rules,
    plates: Mapping[str, Sequence[Plate]],
    run: Mapping[str, Any],
    title: str | None,
) -> str:
    rules, origin = protocol(run), provenance(run)
    environment = Environment(
        loader=PackageLoader("segjury.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = _asset(environment, "report.css"), _asset(environment, "report.js")
    return environment.get_template("report.html.j2").render(
        title=plain(title or rules.title or rules.name or "Segmentation benchmark"),
        content=found,
        by_case=ranked_by.ranking.scheme == "rank-then-aggregate",
        plates=plates,
        protocol=rules,
        provenance=origin,
        version=origin.version or _version(),
        definitions=definitions(found.ranked, found.beside),
        marks=_marks(found.methods),
        listed=LISTED,
        style=style,
        script=script,
        policy=_content_policy(style, script),
    )


def _asset(environment: Environment, name: str) -> Markup:
    """Our own style or script, as it is."""
    assert environment.loader is not None  # noqa: S101  (set above)
    source, _, _ = environment.loader.get_source(environment, name)
    return Markup(source)  # noqa: S704  (a file of this package, nothing from outside)


def _content_policy(style: str, script: str) -> str:
    """Nothing is fetched, and no other style or script than ours is run."""
    return (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _marks(methods: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Outline and colour of each method's mark, as in the figures."""
    colours, markers = method_colours(methods), method_markers(methods)
    return {name: (MARK_PATHS[markers[name]], colours[name]) for name in methods}


def _version() -> str:
    try:
        return version("segjury")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return ""
