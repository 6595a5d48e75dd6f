"""Case-wise signatures: which cases are hard, for whom and in what."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from segjury.analysis.study import Scores, Study, study_of
from segjury.report.figures.cases.signatures_map import (
    Sizes,
    draw_frames,
    draw_map,
    draw_scale,
    name_cases,
    name_columns,
    names_in,
    over_block,
)
from segjury.report.figures.drawing.frame import finished, note, sheet
from segjury.report.figures.drawing.style import COLUMN_WIDTH_IN, styled
from segjury.report.figures.kind import Kind, Subject, nothing_else
from segjury.wording import number, plain, wrapped

MOST_CASES = 64  # rows; of more, the hardest
MOST_COLUMNS = 60  # methods x scores; with more, the mean over the scores
MEAN = "mean"
_SCORE_WIDTH = 16  # characters of a score's title
_BAR_IN = 0.07  # of the scale


def signatures(scores: Scores) -> Figure:
    """A row per case, hardest first; a block of columns per method: its scores, standardised.

    A frame is where a method's mean over the scores is an SD or more below average. Source:
    CURVAS-PDACVI, figure 7 and supplementary 6.5.3.
    """
    study = study_of(scores)
    data = signatures_data(study)
    cases, keys = list(dict.fromkeys(data["case"])), list(dict.fromkeys(data["score"]))
    sizes = Sizes(len(cases), len(study.methods), len(keys))
    titles = _titles(study, keys)
    names = [over_block(method, sizes) for method in study.methods]
    with styled():
        width_in = max(COLUMN_WIDTH_IN, 1.35 + sizes.map_in)
        rows_in = max(0.3, sizes.row_in * len(cases))
        scores_in = 0.04 * max(map(len, titles)) if len(keys) > 1 else 0.0
        figure = sheet(width_in, 0.8 + names_in(names, sizes) + rows_in + scores_in)
        grid = figure.add_gridspec(2, 3, width_ratios=[1, 2, 1], height_ratios=[rows_in, _BAR_IN])
        axes = figure.add_subplot(grid[0, :])
        mesh = draw_map(axes, data["signature"].to_numpy(float).reshape(len(cases), -1))
        draw_frames(axes, data, sizes)
        name_cases(axes, data, sizes)
        name_columns(axes, study, names, titles, sizes)
        draw_scale(figure, figure.add_subplot(grid[1, 1]), mesh)
        if remarks := _remarks(study, data, keys):
            note(figure, remarks)
        return finished(figure, "Case-wise signatures")


def signatures_data(study: Study) -> pd.DataFrame:
    """The signature of every case, method and score that is shown, hardest case first.

    `mean` is the method's over the scores, `hard` whether it found the case hard; `case_mean` is
    the mean over methods, `hard_for` how many of `of_methods` found the case hard, `several`
    whether they are enough to call it so.
    """
    panel, hard, values = study.analysis.panel, study.analysis.hard_cases, study.analysis.signatures
    keys: tuple[str, ...] = panel.keys
    if len(keys) * len(panel.methods) > MOST_COLUMNS:
        keys, values = (MEAN,), hard.by_method[None]
    return pd.DataFrame(
        [
            {
                "case": panel.cases[c],
                "method": method,
                "score": key,
                "signature": values[k, c, m],
                "mean": hard.by_method[c, m],
                "hard": bool(hard.hard[c, m]),
                "case_mean": hard.mean[c],
                "hard_for": int(hard.number[c]),
                "of_methods": int(hard.scored[c]),
                "several": bool(hard.several[c]),
            }
            for c in hard.order[:MOST_CASES]
            for m, method in enumerate(panel.methods)
            for k, key in enumerate(keys)
        ]
    )


def _titles(study: Study, keys: list[str]) -> list[str]:
    return [
        MEAN if key == MEAN else wrapped(study.title(key), width=_SCORE_WIDTH, lines=1)
        for key in keys
    ]


def _remarks(study: Study, data: pd.DataFrame, keys: list[str]) -> str:
    total, shown = len(study.analysis.panel.cases), data["case"].nunique()
    said = [f"The {shown} hardest of {total} cases."] if shown < total else []
    if keys == [MEAN] and len(study.ranked) > 1:
        said.append(f"Each cell is the mean over {len(study.ranked)} scores.")
    elif len(keys) == 1:
        said.append(f"Of {study.title(keys[0])} alone.")
    if data["hard"].any():
        said.append("Framed, and counted at the right: the method's mean is an SD or more below 0.")
    if data["several"].any():
        said.append("Bold with a mark: so for at least half of the methods, and two.")
    return " ".join(said)


def signatures_alt(study: Study) -> str:
    """The hardest cases with their means and how many methods found them hard."""
    cases = signatures_data(study).drop_duplicates("case")
    each = (
        f"{plain(case['case'])} {number(case['case_mean'], 2)}, "
        f"hard for {case['hard_for']} of {case['of_methods']}"
        for case in cases.head(10).to_dict("records")
    )
    several = int(cases["several"].sum())
    return (
        f"Heat map of standardised scores, {len(cases)} cases by {len(study.methods)} methods; "
        f"{several} cases are hard for several methods. Hardest, by mean: {'; '.join(each)}."
    )


def signatures_subjects(study: Study) -> list[Subject]:
    """The whole table, if it has several cases."""
    return nothing_else(study) if len(study.analysis.panel.cases) > 1 else []


SIGNATURES = Kind(
    name="signatures",
    title="Case-wise signatures",
    help="Cases from the hardest at the top; a cell is a score's distance from the average of all "
    "cases and methods in SD, orange below, blue above. Frames are cases a method found hard.",
    section="cases",
    draw=signatures,
    data=signatures_data,
    alt=signatures_alt,
    subjects=signatures_subjects,
)
KINDS = (SIGNATURES,)
