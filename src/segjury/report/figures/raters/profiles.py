"""What each rater is like: means with intervals over the cases, from `raters.csv`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from segjury.report.figures.drawing.frame import finished, note, sheet
from segjury.report.figures.drawing.rater_labels import rater_name
from segjury.report.figures.drawing.style import COLOURS, INK, MUTED, PAGE_WIDTH_IN, styled
from segjury.report.figures.illustration import Illustration
from segjury.wording import number, plain

_ROW_IN = 0.28
_FRAME_IN = 0.85
_SPREAD = 0.3  # half the height over which the cases of a rater are spread
_GREY = "#a3abb4"


@dataclass(frozen=True)
class Trait:
    """A column of the table, its title, and digits."""

    column: str
    title: str
    digits: int
    middle: float | None = None  # where nothing is


BIAS = (
    Trait("boundary_bias_mm", "boundary further out than the others', mm", 2, 0.0),
    Trait("volume_bias_percent", "volume larger than the others', %", 0, 0.0),
)
QUALITY = (
    Trait("sensitivity", "sensitivity (STAPLE)", 3),
    Trait("specificity", "specificity (STAPLE)", 5),
)
_KINDS = (
    ("bias", "Bias of the raters", BIAS, "Right of the line a rater draws larger than the others."),
    (
        "quality",
        "Quality of the raters",
        QUALITY,
        "Further right is better, by STAPLE's own truth.",
    ),
)
_HELP = "Mark and bar: mean over the cases and its interval; a grey dot is a case. "


def rater_profiles(
    raters: pd.DataFrame, measures: pd.DataFrame, *, level: float
) -> list[Illustration]:
    """Bias and quality of the raters on each label."""
    several = len(raters["label"].unique()) > 1
    figures = []
    for label, own in raters.groupby("label", sort=False):
        cases = measures[measures["label"] == label]
        for name, title, traits, help_ in _KINDS:
            if own[traits[0].column].notna().any():
                of = f", {plain(label)}" if several else ""
                caption = f"{_HELP.replace('its', f'its {100 * level:g} %')}{help_}"
                figures.append(
                    Illustration(
                        figure=profile(own, cases, traits, f"{title}{of}", caption),
                        name=f"{name} {label}" if several else name,
                        title=f"{title}{of}",
                        caption=caption,
                        alt=f"{title}{of}. {_words(own, traits)}",
                        data=own,
                    )
                )
    return figures


def profile(
    own: pd.DataFrame, cases: pd.DataFrame, traits: Sequence[Trait], title: str, caption: str
) -> Figure:
    """A panel per trait, a row per rater."""
    names = [str(name) for name in own["rater"]]
    with styled():
        figure = sheet(PAGE_WIDTH_IN * 0.75, _FRAME_IN + _ROW_IN * max(2, len(names)))
        panels = figure.subplots(1, len(traits), squeeze=False)[0]
        for axes, trait in zip(panels, traits, strict=True):
            _draw(axes, own, cases, trait)
            axes.set_yticks(range(len(names)), labels=[])
            axes.set_ylim(len(names) - 0.5, -0.5)
        panels[0].set_yticks(range(len(names)), labels=[rater_name(name) for name in names])
        panels[0].tick_params(axis="y", labelcolor=INK)
        note(figure, caption)
        return finished(figure, title)


def _draw(axes: Axes, own: pd.DataFrame, cases: pd.DataFrame, trait: Trait) -> None:
    if trait.middle is not None:
        axes.axvline(trait.middle, color=MUTED, linewidth=0.8, label="none")
    low, high = f"{trait.column}_low", f"{trait.column}_high"
    for y, row in enumerate(own.to_dict("records")):
        colour = COLOURS[y % len(COLOURS)]
        dots = cases[cases["rater"] == row["rater"]][trait.column].to_numpy(np.float64)
        offsets = np.linspace(-_SPREAD, _SPREAD, dots.size) if dots.size > 1 else np.zeros(1)
        axes.plot(dots, y + offsets, "o", color=_GREY, markersize=2, label=f"cases {row['rater']}")
        axes.plot(
            [row[low], row[high]],
            [y, y],
            color=colour,
            linewidth=2.2,
            label=f"interval {row['rater']}",
        )
        axes.plot(
            row[trait.column],
            y,
            "o",
            color=colour,
            markersize=5,
            markeredgecolor="white",
            label=f"mean {row['rater']}",
        )
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(trait.title)


def _words(own: pd.DataFrame, traits: Sequence[Trait]) -> str:
    parts = []
    for trait in traits:
        each = (
            f"{row['rater']} {number(row[trait.column], trait.digits)}"
            for row in own.to_dict("records")
        )
        parts.append(f"{trait.title}: {', '.join(each)}.")
    return " ".join(parts)
