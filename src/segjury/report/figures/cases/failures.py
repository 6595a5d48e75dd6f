"""Failure maps: which methods fail which rules on which cases."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from segjury.analysis.statistics.failures import SEVERAL
from segjury.analysis.study import Scores, Study, study_of
from segjury.arrays import Bools, Floats, Ints
from segjury.report.figures.drawing.cells import draw_cells
from segjury.report.figures.drawing.frame import (
    finished,
    name_rows,
    note,
    rows_height,
    sheet,
    width_of_names,
)
from segjury.report.figures.drawing.style import (
    COLUMN_WIDTH_IN,
    INK,
    MUTED,
    RULE,
    SEQUENTIAL,
    styled,
)
from segjury.report.figures.kind import Kind, Subject, nothing_else
from segjury.wording import listed, plain, wrapped

MOST_CASES = 64  # columns; of more, those on which most methods fail, then the hardest
_CASE_WIDTH = 18  # characters of a case's name
_MAP_IN = 5.0
_CELL_IN = (0.086, 0.42)  # of many cases and of few
_COUNT_PT = 11.0  # a column of the counts at the right
_FRAME_IN = 0.55
_WIDE_IN = 0.16  # a cell for letters of the usual size
_LETTER = 0.64  # how wide and high a letter is, in points per point of its size
_LETTER_LINE = 1.15


def failures(scores: Scores) -> Figure:
    """A row per method, a column per case: the letters of the rules that the method fails there.

    Numbers at the right count failed cases, those above the methods that fail. Source:
    CURVAS-PDACVI, figure 8 and supplementary 6.5.4.
    """
    study = study_of(scores)
    methods, data = study.methods, failures_data(study)
    cases = list(dict.fromkeys(data["case"]))
    shape = (len(methods), len(cases))
    failed = np.stack([data[rule].to_numpy(bool).reshape(shape) for rule in _rules(study)])
    with styled():
        cell_in = float(np.clip(_MAP_IN / len(cases), *_CELL_IN))
        counts_in = _COUNT_PT * (len(failed) + 1.5) / 72
        map_in = max(1.2, cell_in * len(cases))
        width_in = width_of_names(methods) + 0.45 + map_in + counts_in
        names = [wrapped(case, width=_CASE_WIDTH, lines=1) for case in cases]
        height_in = _FRAME_IN + rows_height(methods) + 0.25 + 0.042 * max(map(len, names))
        figure = sheet(max(COLUMN_WIDTH_IN, width_in), height_in)
        axes = figure.add_subplot()
        _draw_map(axes, failed, cell_in, rows_height(methods) / max(2, len(methods)))
        _draw_unscored(axes, data["not_scored"].to_numpy(bool).reshape(shape))
        name_rows(axes, study, methods)
        axes.set_xticks(range(len(names)), labels=names, parse_math=False, rotation=90)
        axes.tick_params(axis="x", labelsize=5 if cell_in < _WIDE_IN else 6, pad=1, labelcolor=INK)
        _draw_counts(axes, study, failed)
        _draw_sums(axes, cases, data["methods_failing"].to_numpy(int)[: len(cases)], cell_in)
        note(figure, _remarks(study, data))
        return finished(figure, "Failures")


def failures_data(study: Study) -> pd.DataFrame:
    """Which rules each method fails on each case that is shown, a column per rule.

    `not_scored` is where there is no score, or only what the policy set for a lost prediction;
    `methods_failing` counts the methods that fail any rule on the case.
    """
    panel, failures = study.analysis.panel, study.analysis.failures
    at = {key: k for k, key in enumerate(panel.keys)}
    lost = panel.lost[[at[rule.metric] for rule in failures.rules]]
    missing: Bools = np.any(failures.unscored | lost, axis=0)
    return pd.DataFrame(
        [
            {
                "method": method,
                "case": panel.cases[c],
                **dict(zip(_rules(study), map(bool, failures.failed[:, c, m]), strict=True)),
                "failed": int(failures.failed[:, c, m].sum()),
                "not_scored": bool(missing[c, m]),
                "methods_failing": int(failures.failing_any[c]),
            }
            for m, method in enumerate(panel.methods)
            for c in _order(study)[:MOST_CASES]
        ]
    )


def _order(study: Study) -> Ints:
    """The cases: those first on which most methods fail, of equal ones the hardest."""
    hardness = np.argsort(study.analysis.hard_cases.order)
    return np.lexsort((hardness, -study.analysis.failures.failing_any))


def _rules(study: Study) -> list[str]:
    """The rules as they are called: `a: dsc < 0.36`."""
    return [f"{_letter(r)}: {rule.text}" for r, rule in enumerate(study.analysis.failures.rules)]


def _letter(rule: int) -> str:
    return ascii_lowercase[rule % 26] * (1 + rule // 26)


def _draw_map(axes: Axes, failed: Bools, cell_in: float, row_in: float) -> None:
    """Cells shaded by the number of failed rules, with the letters of these or their number."""
    size = 5.5 if cell_in >= _WIDE_IN else 4.5
    per_line = max(1, int(72 * cell_in / (_LETTER * size)))
    lines = -(-len(failed) // per_line)
    lettered = lines * _LETTER_LINE * size <= 72 * row_in and len(failed) <= len(ascii_lowercase)
    letters = np.array([_letter(r) for r in range(len(failed))])

    def words(row: int, column: int) -> str:
        mine = failed[:, row, column]
        if not lettered:
            return str(mine.sum()) if mine.any() else ""
        parts = [
            "".join(letters[n : n + per_line][mine[n : n + per_line]])
            for n in range(0, len(failed), per_line)
        ]
        return "\n".join(part for part in parts if part)

    counts: Floats = failed.sum(axis=0).astype(float)
    limits = (0.0, 1.6 * max(3, len(failed)))  # light enough for the letters
    draw_cells(axes, counts, SEQUENTIAL, limits, label="failures", text=words, text_size=size)
    axes.spines[:].set_visible(True)
    rows, columns = counts.shape
    axes.hlines(np.arange(1, rows) - 0.5, -0.5, columns - 0.5, color=RULE, linewidth=0.4)
    axes.vlines(np.arange(1, columns) - 0.5, -0.5, rows - 0.5, color=RULE, linewidth=0.4)


def _draw_unscored(axes: Axes, missing: Bools) -> None:
    """Three strokes across each cell without a score."""
    strokes = [
        [(column - a, row + b), (column + b, row - a)]
        for row, column in np.argwhere(missing)
        for a, b in ((0.5, 0.0), (0.5, 0.5), (0.0, 0.5))
    ]
    axes.add_collection(
        LineCollection(strokes, colors=INK, linewidths=0.5, label="not scored"), autolim=False
    )


def _draw_counts(axes: Axes, study: Study, failed: Bools) -> None:
    """Failed cases of each method at the right: of each rule, and of any."""
    heads = [*(_letter(r) for r in range(len(failed))), "any"]
    counts = [*failed.sum(axis=2), failed.any(axis=0).sum(axis=1)]
    start, figure = axes.get_yaxis_transform(), axes.get_figure(root=True)
    for n, (head, column) in enumerate(zip(heads, counts, strict=True), 1):
        right = n * _COUNT_PT + (3 if head == "any" else 0)
        look: dict[str, Any] = {
            "transform": offset_copy(start, figure, x=right, units="points"),
            "ha": "right",
            "fontsize": 5.5,
        }
        for y, (method, count) in enumerate(zip(study.methods, column, strict=True)):
            look |= {"in_layout": y == 0, "label": f"{head} {method}"}
            axes.text(1.0, y, f"{count}", va="center_baseline", **look)
        look |= {"label": "", "color": MUTED}
        axes.text(1.0, -0.6, head, va="bottom", **look)


def _draw_sums(axes: Axes, cases: list[str], methods: Ints, cell_in: float) -> None:
    """Over each case how many methods fail, with a mark where it is several."""
    start, figure = axes.get_xaxis_transform(), axes.get_figure(root=True)
    over = offset_copy(start, figure, y=3, units="points")
    above = offset_copy(start, figure, y=11.5, units="points")
    size = 5.5 if cell_in >= _WIDE_IN else 5.0 if methods.max() < 10 else 4.2
    for x, (case, count) in enumerate(zip(cases, methods, strict=True)):
        if not count:
            continue
        look: dict[str, Any] = {"fontsize": size, "in_layout": x == 0, "label": f"methods {case}"}
        axes.text(x, 1.0, f"{count}", transform=over, ha="center", **look)
        if count >= SEVERAL:
            look = {"transform": above, "clip_on": False, "label": f"several {case}"}
            axes.plot(x, 1.0, marker="v", markersize=2.8, color=INK, markeredgewidth=0, **look)


def _remarks(study: Study, data: pd.DataFrame) -> str:
    total, shown = len(study.analysis.panel.cases), data["case"].nunique()
    said = [f"{shown} of {total} cases, those with most failures."] if shown < total else []
    said += [f"{words}." for words in _in_words(study)]
    if data["not_scored"].any():
        said.append("Hatched: not scored.")
    if (data["methods_failing"] >= SEVERAL).any():
        said.append("Marked: cases on which several methods fail.")
    return " ".join(said)


def _in_words(study: Study) -> list[str]:
    """Every rule with its letter, its limit and the reason for that."""
    return [
        f"{_letter(r)}: {study.title(rule.metric)} {rule.side} {rule.limit:.4g} ({rule.why})"
        for r, rule in enumerate(study.analysis.failures.rules)
    ]


def failures_alt(study: Study) -> str:
    """The rules, failed cases of each method, and the cases on which several fail."""
    panel, failures = study.analysis.panel, study.analysis.failures
    any_rule = failures.failed.any(axis=0).sum(axis=0)
    each = (f"{plain(m)} {n}" for m, n in zip(panel.methods, any_rule, strict=True))
    shared = [f"{plain(panel.cases[c])} ({failures.failing_any[c]})" for c in failures.recurrent]
    return (
        f"Map of failures of {len(panel.methods)} methods on {len(panel.cases)} cases. "
        f"Rules: {'; '.join(_in_words(study))}. Cases failed: {', '.join(each)}. "
        f"Cases on which several methods fail: {listed(shared, most=12) or 'none'}."
    )


def failures_subjects(study: Study) -> list[Subject]:
    """The whole table, if it has a rule for failures."""
    return nothing_else(study) if study.analysis.failures.rules else []


FAILURES = Kind(
    name="failures",
    title="Failures",
    help="Letters say which rules a method fails on a case, the shade how many; numbers at the "
    "right count its failed cases, those above the methods that fail on a case.",
    section="cases",
    draw=failures,
    data=failures_data,
    alt=failures_alt,
    subjects=failures_subjects,
)
KINDS = (FAILURES,)
