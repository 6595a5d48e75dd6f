"""What places depend on: how they change without a case, rater or metric, or by another choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from segjury.analysis.sensitivity import Variant
from segjury.analysis.study import Scores, Study, study_of
from segjury.report.figures.drawing.frame import (
    finished,
    name_rows,
    note,
    rows_height,
    sheet,
    width_of_names,
)
from segjury.report.figures.drawing.rank_axis import place_axis
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    INK,
    PAGE_WIDTH_IN,
    SEQUENTIAL,
    method_colours,
    method_markers,
    styled,
)
from segjury.report.figures.kind import Kind, Subject, nothing_else
from segjury.wording import plain, plural, wrapped

OTHER_CHOICES = "other choices"
LEFT_OUT = {"without case": "case", "without rater": "rater", "without metric": "metric"}
_FRAME_IN = 0.9
_ROW_IN = 0.18
_NARROWEST_IN, _WIDEST_IN = 0.8, 1.6
_CHARACTER_IN = 0.045
_NAME_WIDTH = 19  # characters of what moves a method
_HALF = 0.34  # of a row is half the height of a shaded place


def sensitivity(scores: Scores) -> Figure:
    """A row per method, a panel per kind of change: all places it takes, shaded by how often.

    The mark is the place in the ranking, the line the range. At the right stands what moves the
    method the most, if it moves at all.
    """
    study = study_of(scores)
    data, methods = sensitivity_data(study), study.methods
    panels = {str(name): own for name, own in data.groupby("changed", sort=False)}
    texts = [[_mover(row) for _, row in _each(own).iterrows()] for own in panels.values()]
    beside = [_CHARACTER_IN * max(5, *map(len, text)) for text in texts]
    room_in = PAGE_WIDTH_IN - 0.4 - width_of_names(methods) - sum(beside)
    panel_in = min(_WIDEST_IN, max(_NARROWEST_IN, room_in / len(panels) - 0.15))
    width_in = 0.4 + width_of_names(methods) + sum(beside) + (panel_in + 0.15) * len(panels)
    with styled():
        rows_in = max(rows_height(methods), _ROW_IN * len(methods))
        figure = sheet(max(COLUMN_WIDTH_IN, width_in), _FRAME_IN + rows_in)
        drawn = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (changed, own), text in zip(drawn, panels.items(), texts, strict=True):
            _draw_panel(axes, study, changed, own, text)
            place_axis(axes, len(methods), panel_in)
        name_rows(drawn[0], study, methods)
        note(figure, _small_print(study, panels))
        return finished(figure, "What the places depend on")


def _draw_panel(
    axes: Axes, study: Study, changed: str, own: pd.DataFrame, movers: Sequence[str]
) -> None:
    rows = {method: y for y, method in enumerate(study.methods)}
    _shade(axes, changed, own, rows)
    for (_, row), mover in zip(_each(own).iterrows(), movers, strict=True):
        method = str(row["method"])
        y, name = rows[method], f"{changed} {method}"
        range_ = [row["low"], row["high"]]
        axes.plot(range_, [y, y], color=INK, linewidth=0.7, zorder=3, label=f"range {name}")
        axes.plot(
            row["place"],
            y,
            marker=method_markers(study.all_methods)[method],
            color=method_colours(study.all_methods)[method],
            markersize=4.5,
            markeredgecolor="white",
            markeredgewidth=0.4,
            zorder=4,
            label=f"place {name}",
        )
        axes.annotate(
            mover,
            (1, y),
            (3, 0),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=5.5,
            parse_math=False,
            annotation_clip=False,
            label=f"mover {name}",
        )
    axes.set_title(_title(changed, int(own["variants"].iloc[0])), fontsize=6.5, loc="left")
    axes.set_xlabel("place")
    axes.set_yticks([])
    axes.set_ylim(len(rows) - 0.5, -0.5)


def _shade(axes: Axes, changed: str, own: pd.DataFrame, rows: Mapping[str, int]) -> None:
    """A cell for every place that a method takes, the darker the more often."""
    cells = [
        Rectangle((place - 0.5, rows[method] - _HALF), 1, 2 * _HALF)
        for place, method in zip(own["taken"], own["method"], strict=True)
    ]
    shades = PatchCollection(cells, cmap=SEQUENTIAL, linewidth=0, zorder=2)
    shades.set_array(own["share"].to_numpy())
    shades.set_clim(-0.3, 1.15)  # the rarest is seen, and the line on the most frequent too
    shades.set_label(f"shares {changed}")
    axes.add_collection(shades)


def _title(changed: str, variants: int) -> str:
    """What was changed, and in how many ways."""
    if changed == OTHER_CHOICES:
        return f"{changed}\n({variants})"
    noun = LEFT_OUT[changed]
    return f"without one {noun}\n({plural(variants, noun)})"


def _mover(row: pd.Series[Any]) -> str:
    """What moves a method the most, and how many others move it as far; nothing where none does."""
    if not row["moved"]:
        return ""
    others = f" +{row['others']}" if row["others"] else ""
    return f"{wrapped(row['mover'], width=_NAME_WIDTH, lines=1)}{others}"


def _each(own: pd.DataFrame) -> pd.DataFrame:
    return own.drop_duplicates("method")


def _small_print(study: Study, panels: Mapping[str, pd.DataFrame]) -> str:
    said = "Darker: more of the changes give that place. Beside it what moves the method the most; "
    said += "+n, so many others move it as far."
    idle = [plain(v.choice) for v in study.analysis.sensitivity.choices if not _orders(v)]
    if idle and OTHER_CHOICES in panels:
        said += f" Left out, as it ties all methods: {', '.join(idle)}."
    return said


def sensitivity_data(study: Study) -> pd.DataFrame:
    """The places that each method takes under each kind of change, and their shares.

    With it the place in the ranking, the range, and the change that moves the method the most:
    `moved` is by how many places, down positive, `others` how many others move it as far.
    """
    rows: list[dict[str, object]] = []
    now = study.analysis.sensitivity.places
    for changed, variants in _kinds(study).items():
        places = np.stack([variant.places for variant in variants])
        names = [_name(study, variant) for variant in variants]
        for m, method in enumerate(study.methods):
            away = np.abs(places[:, m] - now[m])
            most = int(away.argmax())
            about = {
                "changed": changed,
                "variants": len(variants),
                "method": method,
                "place": int(now[m]),
                "low": int(places[:, m].min()),
                "high": int(places[:, m].max()),
                "mover": names[most] if away.any() else "",
                "moved": int(places[most, m] - now[m]),
                "others": int((away == away[most]).sum()) - 1 if away.any() else 0,
            }
            taken, counts = np.unique(places[:, m], return_counts=True)
            rows += [
                {**about, "taken": int(place), "share": count / len(variants)}
                for place, count in zip(taken, counts, strict=True)
            ]
    return pd.DataFrame(rows)


def _kinds(study: Study) -> dict[str, list[Variant]]:
    """The variants by what was changed; a choice that ties all methods says nothing of a place."""
    every = study.analysis.sensitivity
    kinds = {kind: every.of_kind(kind) for kind in LEFT_OUT}
    kinds[OTHER_CHOICES] = [variant for variant in every.choices if _orders(variant)]
    return {kind: variants for kind, variants in kinds.items() if variants}


def _orders(variant: Variant) -> bool:
    return bool(variant.places.max() > 1)


def _name(study: Study, variant: Variant) -> str:
    """A change in a word or two."""
    named = {"ties": f"ties {variant.choice}", "digits": f"{variant.choice} digits"}
    if variant.kind == "without metric":
        return study.title(variant.choice)
    return named.get(variant.kind, variant.choice)


def sensitivity_alt(study: Study) -> str:
    """The widest range under each kind of change, and how many methods move at all."""
    data, said = sensitivity_data(study), []
    for changed, own in data.groupby("changed", sort=False):
        each = _each(own)
        moving = each[each["moved"] != 0]
        text = f"{changed} ({own['variants'].iloc[0]}): {len(moving)} of {len(each)} methods move"
        if len(moving):
            widest = moving.iloc[moving["moved"].abs().argmax()]
            name = wrapped(widest["method"], width=30, lines=1)
            text += (
                f", most {name} from place {widest['place']}, range {widest['low']} to "
                f"{widest['high']}, by {wrapped(widest['mover'], width=30, lines=1)}"
            )
        said.append(text)
    return f"Ranges of the places when one thing is changed. {'; '.join(said)}."


def sensitivity_subjects(study: Study) -> list[Subject]:
    """The whole table, if there are methods to order and something to change."""
    return nothing_else(study) if len(study.methods) > 1 and _kinds(study) else []


SENSITIVITY = Kind(
    name="sensitivity",
    title="What the places depend on",
    help="The mark is the place in the ranking, the shaded cells the places when one thing is left "
    "out or chosen otherwise; the name is what moves the method the most.",
    section="choices",
    draw=sensitivity,
    data=sensitivity_data,
    alt=sensitivity_alt,
    subjects=sensitivity_subjects,
)
KINDS = (SENSITIVITY,)
