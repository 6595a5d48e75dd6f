"""Figures as files: smaller than matplotlib writes them, and the same picture."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.patches import Circle, Ellipse, Patch
from matplotlib.textpath import TextPath

from segjury.report.figures.drawing.style import FONTS, font_families, styled
from segjury.report.figures.ranks.blob import blob
from segjury.report.figures.saving.save import figure_bytes
from segjury.report.figures.saving.svg import slim
from tests.score_tables import ODD_NAMES, make_scores


def elements(svg: str, tag: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)  # noqa: S314  (a file made here)
    return list(root.iter(f"{{http://www.w3.org/2000/svg}}{tag}"))


def test_smaller_vector_files_hold_the_same_texts_and_marks() -> None:
    figure = blob(make_scores(ODD_NAMES[:4], 8, ("corrected",), ("dsc",)))
    buffer = io.StringIO()
    with styled():
        FigureCanvasSVG(figure).print_svg(buffer)
    before, after = buffer.getvalue(), slim(buffer.getvalue())
    assert len(after) < 0.4 * len(before)
    for tag in ("text", "use"):
        assert len(elements(after, tag)) == len(elements(before, tag))
    parts = [
        sum(path.get("d", "").upper().count("M") for path in elements(svg, "path"))
        for svg in (before, after)
    ]
    assert parts[0] == parts[1]
    said = [["".join(text.itertext()) for text in elements(svg, "text")] for svg in (before, after)]
    assert said[0] == said[1]
    assert "$x_1$ & $" in said[1]
    placed = [
        (old.get(side), new.get(side))
        for old, new in zip(elements(before, "text"), elements(after, "text"), strict=True)
        for side in ("x", "y")
    ]
    assert sum(old is not None for old, _ in placed) > 20
    for old, new in placed:
        assert (old is None) == (new is None)
        assert old is None or float(new) == pytest.approx(float(old), abs=0.006)


def test_many_marks_of_one_look_are_points_of_one_line() -> None:
    values = [0.1 * n for n in range(20)]
    figure = Figure(figsize=(2, 2))
    figure.add_subplot().plot(values, values[::-1], "D", color="red")
    buffer = io.StringIO()
    with styled():
        FigureCanvasSVG(figure).print_svg(buffer)
    ticks = {"0.5", "1.5"}
    old = [
        (float(mark.get("x", "")), float(mark.get("y", "")))
        for mark in elements(buffer.getvalue(), "use")
        if "#ff0000" in mark.get("style", "")
    ]
    assert len(old) == 20
    after = slim(buffer.getvalue())
    (line,) = [path for path in elements(after, "path") if path.get("marker-mid")]
    (marker,) = elements(after, "marker")
    assert line.get("marker-start") == line.get("marker-end") == f"url(#{marker.get('id')})"
    numbers = [float(n) for n in line.get("d", "").removeprefix("M").split()]
    new = list(zip(numbers[::2], numbers[1::2], strict=True))
    for was, now in zip(old, new, strict=True):
        assert now == pytest.approx(was, abs=0.006)
    assert ticks <= {"".join(text.itertext()) for text in elements(after, "text")}


def test_styles_clips_and_turns_are_kept_as_classes() -> None:
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        '<defs><style type="text/css">*{stroke-linejoin: round}</style></defs>'
        '<g id="a"><g id="empty"/><path d="M 1 2 \nL 3 2 \nL 3 4.00123 \nz" '
        'clip-path="url(#p0123456789)" style="fill: none; stroke: #ff0000"/></g>'
        '<g id="b"><text style="font-size: 7px; font-family: \'X\'; fill: #000000" x="1.23456" '
        'y="2" transform="rotate(-90 1.23456 2)">  d="1.23456" &lt;g&gt; </text></g></svg>'
    )
    small = slim(drawing)
    assert "<path d='M1 2H3V4z' class='c0'/>" in small
    assert ".c0{clip-path:url(#p0);fill:none;stroke:#ff0000}" in small
    assert "<text x='1.23' y='2' transform='rotate(-90 1.23 2)' class='c1'>" in small
    assert '>  d="1.23456" &lt;g&gt; </text>' in small
    assert "<g" not in small


@pytest.mark.parametrize(("style", "paths"), [("fill: #ff0000", 1), ("fill-opacity: 0.5", 2)])
def test_paths_of_one_look_are_one_unless_they_shine_through(style: str, paths: int) -> None:
    path = f'<path d="M 1 2 L 3 4" style="{style}"/>'
    small = slim(f'<svg xmlns="http://www.w3.org/2000/svg">{path}{path}</svg>')
    assert len(elements(small, "path")) == paths
    assert small.count("M1 2L3 4") == 2


def test_circles_are_arcs_and_other_curves_are_not() -> None:
    def drawn(patch: Patch) -> str:
        figure = Figure(figsize=(1, 1))
        figure.add_artist(patch)
        return figure_bytes(figure, "svg").decode()

    circle = drawn(Circle((36, 36), 10, transform=None))
    (arc,) = re.findall(r"d='[^']*(M[^'M]*a[^'M]*)'", circle)
    assert arc == "M36 46a10 10 0 1 0 0 -20a10 10 0 1 0 0 20z"
    ellipse = drawn(Ellipse((36, 36), 20, 10, transform=None))
    assert "a" not in "".join(re.findall(r" d='([^']*)'", ellipse))
    assert "C" in ellipse


def test_the_resolution_of_a_figure_is_the_same_after_saving() -> None:
    figure = Figure(figsize=(1, 1), dpi=100)
    files = [figure_bytes(figure, form) for form in ("svg", "png", "pdf", "svg", "png", "pdf")]
    assert figure.get_dpi() == 100
    assert files[:3] == files[3:]


@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_the_small_font_sets_text_as_the_whole_one_does(weight: str) -> None:
    small, whole = font_families()
    sizes = []
    for family in (small, whole):
        found = FontProperties(family=family, weight=weight)
        assert (family == small) == (Path(str(findfont(found))).parent == FONTS)
        path = TextPath((0, 0), "Mean ± SD, χ² → 0.05 Ärzte", size=10, prop=found)
        sizes.append(path.get_extents().bounds)
    assert sizes[0] == pytest.approx(sizes[1], abs=1e-6)
