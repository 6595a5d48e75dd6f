"""The one visual language of all figures: colours, markers, type, sizes.

Figures are built on `matplotlib.figure.Figure` alone, never on pyplot, so that nothing global is
kept and no display is needed. Text that comes from outside (names of methods, cases, units) goes
through `plain` and is drawn with `parse_math=False`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.path import Path as Outline

FONTS = Path(__file__).with_name("fonts")  # made by docs/make_fonts.py
SMALL_FONT = "segjury sans"  # DejaVu Sans without most of its 6000 glyphs, for small, quick PDFs
WHOLE_FONT = "DejaVu Sans"  # has the glyphs that the small one lacks

COLUMN_WIDTH_IN = 3.5  # one column of a two-column paper
PAGE_WIDTH_IN = 7.2  # both columns

INK = "#1b1f24"
MUTED = "#59626d"
RULE = "#c9ced4"

# Okabe and Ito's colours first (yellow darkened to be seen on white), then those of Paul Tol that
# differ from them in hue or lightness. The second ten also get another set of markers.
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
    "#56b4e9", "#332288", "#882255", "#999933", "#4d4d4d",
    "#117733", "#ee6677", "#66ccee", "#aa4499", "#8c510a",
    "#44aa99", "#b2182b", "#6a8f00", "#7f7fff", "#999999",
)  # fmt: skip
# light to dark, and two hues apart in lightness and for all kinds of colour vision
SEQUENTIAL = LinearSegmentedColormap.from_list(
    "segjury_sequential", ["#ffffff", "#cfe1ee", "#7fb2d4", "#2f7eb5", "#0b4a6f"]
)
DIVERGING = LinearSegmentedColormap.from_list(
    "segjury_diverging", ["#b2530b", "#f0b27a", "#f7f7f7", "#8fc1e3", "#0b4a6f"]
)
NOTHING = "#e6e9ec"  # a cell without a value

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")

# a circle in four curves, half as long in a file as matplotlib's of eight
_BEND = 4 / 3 * (2**0.5 - 1)
ROUND = Outline(
    [
        (0, -1), (_BEND, -1), (1, -_BEND), (1, 0), (1, _BEND), (_BEND, 1), (0, 1),
        (-_BEND, 1), (-1, _BEND), (-1, 0), (-1, -_BEND), (-_BEND, -1), (0, -1), (0, -1),
    ],
    [Outline.MOVETO, *[Outline.CURVE4] * 12, Outline.CLOSEPOLY],
)  # fmt: skip

STYLE: dict[Any, Any] = {
    "font.size": 7.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 7.0,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "text.color": INK,
    "text.usetex": False,
    "text.hinting": "none",  # letters as wide as in vector files, at every resolution
    "axes.labelcolor": INK,
    "axes.edgecolor": RULE,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.color": "#e6e9ec",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.0,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.fonttype": "none",  # text stays text: small, searchable, in any script
    "svg.hashsalt": "segjury",
    "pdf.fonttype": 42,
    "pdf.compression": 9,
    "path.simplify": True,
}


@contextmanager
def styled() -> Iterator[None]:
    """Build or save a figure in the common style; what was set before comes back after."""
    with mpl.rc_context():
        mpl.rcdefaults()  # a user's own matplotlibrc changes nothing here
        mpl.rcParams.update(STYLE)
        mpl.rcParams["font.family"] = list(font_families())  # so that figures look alike everywhere
        yield


@cache
def font_families() -> tuple[str, str]:
    """The fonts to draw with, alike but for their size; the small one first."""
    for path in sorted(FONTS.glob("*.ttf")):
        fontManager.addfont(path)
    return SMALL_FONT, WHOLE_FONT


def method_colours(methods: Iterable[str]) -> dict[str, str]:
    """One colour per method, from the sorted names, so that order of results never matters."""
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(sorted(set(methods)))}


def method_markers(methods: Iterable[str]) -> dict[str, str]:
    """One marker per method: the second cue, for print in grey and for look-alike colours."""
    return {
        name: MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]
        for i, name in enumerate(sorted(set(methods)))
    }


def frozen_layout(figure: Figure) -> Figure:
    """Lay the figure out once, so that saving it in three formats does not do it thrice."""
    engine = figure.get_layout_engine()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # names in any script
        if engine is not None:
            engine.execute(figure)
    figure.set_layout_engine("none")
    return figure
