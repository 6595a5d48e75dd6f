"""Tables of a split: every number, and the short one that a paper prints."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from segjury.arrays import Bools, Floats
from segjury.benchmark.split.balance import MEASURES, level_shares
from segjury.benchmark.split.differences import share_difference, total_variation
from segjury.benchmark.split.split import ALL, RANDOM_SPLITS, Split
from segjury.benchmark.split.variables import Variable
from segjury.wording import markdown_escaped, markdown_table

COLUMNS = ("variable", "level", "part", "n", "percent", "mean", "sd", "median")
OF_VARIABLES = [
    name
    for measure in MEASURES
    for name in (measure, f"{measure}_random_median", f"{measure}_better_than_percent")
]
Rows = list[list[str]]


def balance(split: Split) -> pd.DataFrame:
    """A row per variable, level and part, and per variable and part with an empty level.

    The row of a variable (part `all`) has the measures of the split, their medians over random
    splits, and the percentage of these that are worse; that of a part its total variation from
    all cases; the row of a level (part `all`) the largest difference between two parts.
    """
    rows: list[dict[str, Any]] = []
    for v, variable in enumerate(split.variables):
        shares = _shares(split, variable)
        found = split.comparison
        measured = [found.values[v], found.random_median[v], found.better_than[v]]
        about = dict(zip(OF_VARIABLES, np.stack(measured, axis=1).ravel(), strict=True))
        for p, (part, inside) in enumerate(_parts(split)):
            apart = {"total_variation": float(total_variation(shares[p], shares[0]))}
            of_part = _sizes(variable, inside) | (about if p == 0 else apart)
            rows.append({"variable": variable.name, "part": part, **of_part})
        for code, level in enumerate(variable.levels):
            apart = {"standardised_difference": _level_difference(shares[1:, code])}
            rows += [
                {
                    "variable": variable.name,
                    "level": level,
                    "part": part,
                    "n": int((variable.codes[inside] == code).sum()),
                    "percent": 100 * shares[p, code],
                    **(apart if p == 0 else {}),
                }
                for p, (part, inside) in enumerate(_parts(split))
            ]
    return pd.DataFrame(rows, columns=[*COLUMNS, *OF_VARIABLES])


def _parts(split: Split) -> Iterator[tuple[str, Bools]]:
    """All cases, then those of each part."""
    yield ALL, np.ones(split.parts.size, bool)
    for part, name in enumerate(split.names):
        yield name, split.parts == part


def _shares(split: Split, variable: Variable) -> Floats:
    """The share of each level in all cases, then in each part."""
    of_parts = level_shares(variable, split.parts[None], split.sizes)[0]
    return np.vstack([variable.shares, of_parts])


def _sizes(variable: Variable, inside: Bools) -> dict[str, Any]:
    """How many cases there are, and what their numbers are."""
    if variable.values is None:
        return {"n": int(inside.sum())}
    values = variable.values[inside]
    known = values[~np.isnan(values)]
    return {
        "n": known.size,
        "mean": known.mean() if known.size else np.nan,
        "sd": known.std(ddof=1) if known.size > 1 else np.nan,
        "median": np.median(known) if known.size else np.nan,
    }


def _level_difference(shares: Floats) -> float:
    return max(float(share_difference(p, q)) for p, q in combinations(shares, 2))


# ---- as a paper prints it ------------------------------------------------------------------


def table_one(split: Split) -> tuple[list[str], Rows]:
    """Head and rows: percentages per part, means in brackets, largest standardised difference."""
    parts = list(_parts(split))
    head = ["variable", "level", *(f"{name} (N={inside.sum()})" for name, inside in parts)]
    rows: Rows = []
    for v, variable in enumerate(split.variables):
        if variable.kind == "pair" and variable.scores is not None:
            continue  # its means stand in brackets
        rows += _rows(split, variable, split.comparison.values[v, -1])
    return [*head, "difference"], rows


def _rows(split: Split, variable: Variable, difference: float) -> Rows:
    """The lines of a variable; its name and its difference stand in the first."""
    parts = list(_parts(split))
    shares = _shares(split, variable)
    bracketed = _mean_beside(split, variable)
    rows: Rows = []
    if variable.values is not None:
        found = [_sizes(variable, inside) for _, inside in parts]
        rows.append(["", "mean (SD)", *map(_mean_and_sd, found), ""])
        rows.append(["", "median", *(f"{f['median']:.4g}" if f["n"] else "" for f in found), ""])
    for code, level in enumerate(variable.levels):
        cells = [f"{100 * share:.2f}%" for share in shares[:, code]]
        name = level
        if bracketed is not None:
            name = f"{level} (mean {bracketed.name})"
            means = [_sizes(bracketed, inside & (variable.codes == code)) for _, inside in parts]
            cells = [
                f"{cell} ({found['mean']:.4g})" if found["n"] else cell
                for cell, found in zip(cells, means, strict=True)
            ]
        rows.append(["", name, *cells, f"{_level_difference(shares[1:, code]):.3f}"])
    rows[0][0] = variable.name
    if variable.values is not None:
        rows[0][-1] = "" if np.isnan(difference) else f"{difference:.3f}"
    return rows


def _mean_and_sd(found: dict[str, Any]) -> str:
    """The mean, and the SD of more than one value."""
    spread = "" if np.isnan(found["sd"]) else f" ({found['sd']:.4g})"
    return f"{found['mean']:.4g}{spread}" if found["n"] else "none known"


def _mean_beside(split: Split, variable: Variable) -> Variable | None:
    """The quantity whose mean is shown for each level of a category.

    That of a pair with it; without any such pair, the first quantity there is.
    """
    if variable.kind != "categories":
        return None
    numbers = {other.name: other for other in split.variables if other.kind == "numbers"}
    paired = [v.of for v in split.variables if v.kind == "pair" and v.scores is not None]
    if not paired:
        return next(iter(numbers.values()), None)
    beside = [name for pair in paired if variable.name in pair for name in pair]
    return next((numbers[name] for name in beside if name in numbers), None)


COMPARED = (
    f"measure / its median over {RANDOM_SPLITS} random splits of the same sizes, "
    "and how many of these are worse"
)


def comparison_table(split: Split) -> tuple[list[str], Rows]:
    """Head and rows: each measure, its median over random splits, and how many are worse."""
    found = split.comparison
    rows = [
        [
            variable.name,
            *(
                f"{value:.3f} / {median:.3f}, {worse:.1f}%" if not np.isnan(value) else "undefined"
                for value, median, worse in zip(
                    found.values[v], found.random_median[v], found.better_than[v], strict=True
                )
            ),
        ]
        for v, variable in enumerate(split.variables)
    ]
    return ["variable", *(measure.replace("_", " ") for measure in MEASURES)], rows


def markdown(split: Split) -> str:
    """Both tables, and what there is to note."""
    of_parts = ", ".join(
        f"{markdown_escaped(name)} {size}"
        for name, size in zip(split.names, split.sizes, strict=True)
    )
    return "\n".join(
        [
            f"Split of {split.parts.size} cases: {of_parts}.",
            "Percentages are relative to each part; the difference is the largest standardised",
            "difference between two parts.",
            "",
            *markdown_table(*table_one(split)),
            "",
            f"Each {COMPARED}:",
            "",
            *markdown_table(*comparison_table(split)),
            *(
                ["", *(f"- note: {markdown_escaped(note)}" for note in split.notes)]
                if split.notes
                else []
            ),
        ]
    )
