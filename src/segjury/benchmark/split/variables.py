"""The variables that a split balances: levels of a column, bins of numbers, pairs of both."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd

from segjury.arrays import Floats, Ints
from segjury.errors import InputError
from segjury.rounding import SAME
from segjury.runtime.tables import numbers

Kind = Literal["categories", "numbers", "pair"]
MISSING = "(missing)"
FEWEST_NUMBERS = 7  # different values from which a column of numbers is taken for a quantity


@dataclass(frozen=True)
class Variable:
    """One thing to balance: the level of each case, and what its numbers are where it has some."""

    name: str
    kind: Kind
    levels: tuple[str, ...]
    codes: Ints  # the level of each case
    values: Floats | None = None  # of a quantity; NaN where missing
    scores: Floats | None = None  # (cases, columns): numbers whose means should be alike
    of: tuple[str, ...] = ()  # the two columns of a pair

    @property
    def shares(self) -> Floats:
        """The share of each level in all cases."""
        counts = np.bincount(self.codes, minlength=len(self.levels))
        return np.asarray(counts / self.codes.size)

    @property
    def blocks(self) -> list[Floats]:
        """Centred columns, of which sums over a part are 0 where it is like the whole.

        Levels as `(1[level] - P) / sqrt(P)`, whose squared sums make Pearson's chi-square, and the
        scores. A block has mean square 1 in all, one without any spread is left out.
        """
        shares = self.shares
        levels = (np.eye(len(self.levels))[self.codes] - shares) / np.sqrt(shares)
        blocks = [levels] if self.scores is None else [levels, self.scores]
        spread = [(block**2).mean(axis=0).sum() for block in blocks]
        return [b / np.sqrt(size) for b, size in zip(blocks, spread, strict=True) if size > SAME]


def variables_of(
    table: pd.DataFrame,
    by: Sequence[str],
    *,
    pairs: Sequence[tuple[str, str]] = (),
    bins: int = 4,
    numeric: Collection[str] = (),
    categorical: Collection[str] = (),
) -> list[Variable]:
    """The variables of a table with a row per case: its columns `by`, then pairs of columns.

    A column is one of numbers if it is among `numeric`, or if all its known cells are numbers of
    at least seven different values and it is not among `categorical`.
    """
    named = [*(name for pair in pairs for name in pair), *numeric, *categorical]
    for name in (*by, *named):
        if name not in table.columns:
            raise InputError(f"there is no column '{name}'", f"There are {_listed(table.columns)}")
    stray = [name for name in named if name not in by]
    if stray:
        raise InputError(f"'{stray[0]}' is not among the variables", "Name it in `by` too")
    both = [name for name in numeric if name in categorical]
    if both:
        raise InputError(f"'{both[0]}' cannot be numbers and categories", "Choose one")
    known = {}
    for name in by:
        values = None if name in categorical else _numbers(table[name], forced=name in numeric)
        known[name] = _categories(table[name]) if values is None else _binned(name, values, bins)
    return [*(known[name] for name in by), *(_pair(known[a], known[b]) for a, b in pairs)]


def _listed(names: Any) -> str:
    return ", ".join(map(str, names))


def _numbers(cells: pd.Series[Any], *, forced: bool) -> Floats | None:
    """The numbers of a column; None if it is one of categories."""
    found = numbers(cells)
    wrong = np.isinf(found)
    if forced:
        if wrong.any():
            cell = cells[wrong].iloc[0]
            raise InputError(f"column '{cells.name}' has the cell {cell!r}", "Give a number")
        if np.isnan(found).all():
            raise InputError(f"column '{cells.name}' has no numbers", "Leave it out")
        return found
    codes = cells.astype(str).str.match(r"\s*[+-]?0\d").any()  # as in 007: a name
    different = np.unique(found[~np.isnan(found)]).size
    return None if wrong.any() or codes or different < FEWEST_NUMBERS else found


def _categories(cells: pd.Series[Any]) -> Variable:
    """The different texts of a column in their order, numbers by size; empty cells come last."""
    texts = cells.astype(str).str.strip().replace({"": MISSING, "nan": MISSING})
    different = texts.drop_duplicates()
    size = np.nan_to_num(numbers(different), nan=np.inf)  # words have none, and come after numbers
    keys = zip((different == MISSING).tolist(), size.tolist(), different.tolist(), strict=True)
    levels = [text for _, _, text in sorted(keys)]
    place = {text: code for code, text in enumerate(levels)}
    codes = np.array([place[text] for text in texts], np.int64)
    return Variable(str(cells.name), "categories", tuple(levels), codes)


def _binned(name: str, values: Floats, bins: int) -> Variable:
    """A quantity in bins of about as many cases each; missing values are a bin of their own.

    The edges are quantiles that occur in the data, so that no bin is empty; equal quantiles make
    fewer bins.
    """
    missing = np.isnan(values)
    known = values[~missing]
    cuts = np.arange(1, bins) / bins
    edges = np.unique(np.quantile(known, cuts, method="inverted_cdf"))
    edges = edges[edges < known.max()]
    codes = np.searchsorted(edges, values, side="left")
    codes[missing] = edges.size + 1
    texts = _short(edges)
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    levels = [f"up to {texts[0]}", *between, f"above {texts[-1]}"] if texts else [f"{known[0]:.6g}"]
    if missing.any():
        levels.append(MISSING)
    scores = _standard_scores(values)[:, None]
    return Variable(name, "numbers", tuple(levels), codes.astype(np.int64), values, scores)


def _short(edges: Floats) -> list[str]:
    """Edges with as few digits as tell them apart."""
    for digits in range(4, 17):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(float(edge)) for edge in edges]


def _pair(first: Variable, second: Variable) -> Variable:
    """The levels of two variables together; the means of a quantity in each category as well."""
    if first.name == second.name:
        raise InputError(f"a pair names '{first.name}' twice", "Name two columns, as sex:age")
    width = len(second.levels)
    together, codes = np.unique(first.codes * width + second.codes, return_inverse=True)
    levels = [
        f"{first.levels[code // width]}, {second.levels[code % width]}"
        for code in together.tolist()
    ]
    names = (first.name, second.name)
    scores = _scores_in_levels(first, second)
    return Variable(" x ".join(names), "pair", tuple(levels), codes, scores=scores, of=names)


def _scores_in_levels(first: Variable, second: Variable) -> Floats | None:
    """A column per category: the standard scores of its cases, 0 for the others."""
    number, category = (first, second) if second.values is None else (second, first)
    if number.values is None or category.values is not None:
        return None
    scores = np.zeros((category.codes.size, len(category.levels)))
    for code in range(len(category.levels)):
        inside = category.codes == code
        scores[inside, code] = _standard_scores(number.values[inside])
    return scores


def _standard_scores(values: Floats) -> Floats:
    """`(x - mean) / SD` of the known values; 0 where one is missing or all are equal."""
    known = ~np.isnan(values)
    scores = np.zeros_like(values)
    if known.any():
        largest = np.abs(values[known]).max() or 1.0  # squares of huge numbers would overflow
        centred = values[known] / largest - (values[known] / largest).mean()
        spread = np.sqrt((centred**2).mean())
        scores[known] = centred / spread if spread > SAME else 0.0
    return scores
