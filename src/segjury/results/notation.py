"""Numbers as other tools write them: with decimal commas, or in per cent; never guessed at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segjury.errors import InputError
from segjury.metrics import known_metric
from segjury.runtime.tables import numbers

PERCENT = "%"
_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
_THOUSANDS_TOO = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_POINT = re.compile(r"[+-]?(\d+\.\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_PER_CENT = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*%")
_ALMOST_A_NUMBER = re.compile(r"[+-]?(inf(inity)?|[\d.,]*\d(e[+-]?\d+)?\s*%?)", re.IGNORECASE)


@dataclass(frozen=True)
class Values:
    """Cells as numbers, infinite where there is none; `percent` marks those with a % behind."""

    numbers: NDArray[np.float64]
    percent: NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: Iterable[Values]) -> Values:
        """The values of several columns, one below the other."""
        each = list(parts)
        return cls(
            np.concatenate([part.numbers for part in each]),
            np.concatenate([part.percent for part in each]),
        )


def is_almost_a_number(cell: object) -> bool:
    """Whether a cell is meant as a number, however oddly it is written."""
    return _ALMOST_A_NUMBER.fullmatch(str(cell).strip()) is not None


def read_columns(
    columns: Mapping[str, pd.Series[Any]], file: str
) -> tuple[dict[str, Values], list[str]]:
    """The values of all columns of a table, which has one notation, and what was done to read them.

    A comma is a decimal comma only if some cell cannot be meant otherwise, and none has a point:
    `1,234` alone may be 1.234 or 1234.
    """
    found = {name: numbers(cells) for name, cells in columns.items()}
    comma = _decimal_comma(columns, found, file)
    values = {name: _values(columns[name], known, comma != "") for name, known in found.items()}
    read_as = comma.replace(",", ".", 1)
    said = f"{file} has decimal commas: '{comma}' is read as {read_as}"
    return values, [said] if comma else []


def _decimal_comma(
    columns: Mapping[str, pd.Series[Any]], found: Mapping[str, NDArray[np.float64]], file: str
) -> str:
    """A cell that shows the table to have decimal commas; empty if it has none."""
    odd = (cells[np.isinf(found[name])].unique() for name, cells in columns.items())
    commas = [text for cells in odd for text in map(_bare, cells) if _COMMA.fullmatch(text)]
    if not commas:
        return ""
    clear = next((text for text in commas if not _THOUSANDS_TOO.fullmatch(text)), None)
    if clear is None:
        point, whole = commas[0].replace(",", "."), commas[0].replace(",", "")
        raise InputError(
            f"{file} has the value '{commas[0]}', which may be {point} or {whole}",
            "Write numbers with a decimal point, and thousands without a comma",
        )
    texts = (cells for cells in columns.values() if not pd.api.types.is_numeric_dtype(cells))
    points = (text for cells in texts for text in map(_bare, cells.unique()))
    point_cell = next((text for text in points if _POINT.fullmatch(text)), None)
    if point_cell is not None:
        raise InputError(
            f"{file} has the values '{clear}' and '{point_cell}', with decimal commas and points",
            "Write all numbers in one way",
        )
    return clear


def _bare(cell: object) -> str:
    """A cell without space around it and a % behind."""
    return str(cell).strip().removesuffix(PERCENT).rstrip()


def _values(cells: pd.Series[Any], known: NDArray[np.float64], comma: bool) -> Values:
    percent = np.zeros(len(known), bool)
    if not np.isinf(known).any():
        return Values(known, percent)
    found = known.copy()
    for place in np.flatnonzero(np.isinf(known)):
        text = str(cells.iloc[place]).strip()
        if comma and _COMMA.fullmatch(_bare(text)):
            text = text.replace(",", ".")
        if per_cent := _PER_CENT.fullmatch(text):
            found[place], percent[place] = float(per_cent[1]), True
        elif _POINT.fullmatch(text):
            found[place] = float(text)
    return Values(found, percent)


def without_per_cent(long: pd.DataFrame, values: Values) -> tuple[pd.DataFrame, list[str]]:
    """The long table with its values; per cent of a share of 1 as fractions, of others as a unit.

    All values of a metric are in per cent, or none is. The sentences say what was read otherwise.
    """
    if not values.percent.any():
        return long.assign(value=values.numbers), []
    found, unit, said = values.numbers.copy(), long["unit"].to_numpy(object), []
    for metric, rows in _in_per_cent(long["metric"], values):
        _check_units(metric, values.numbers[rows], unit[rows])
        declared = known_metric(metric)
        share = declared is not None and not declared.unit and declared.bounds[1] == 1
        unit[rows] = "" if share else PERCENT
        if share:
            found[rows] = [float(Decimal(repr(value)).scaleb(-2)) for value in found[rows].tolist()]
            given = values.numbers[rows][0]
            said.append(
                f"{metric} is given in per cent: '{given:.12g} %' is read as {found[rows][0]:.12g}"
            )
    return long.assign(value=found, unit=pd.Series(unit, long.index, str)), said


def _in_per_cent(
    metrics: pd.Series[Any], values: Values
) -> Iterator[tuple[str, NDArray[np.integer[Any]]]]:
    """The metrics given in per cent, and their rows that have a value."""
    codes, names = pd.factorize(metrics)
    for code in np.unique(codes[values.percent]):
        rows = np.flatnonzero((codes == code) & ~np.isnan(values.numbers))
        signed = values.percent[rows]
        if not signed.all():
            found = values.numbers[rows]
            raise InputError(
                f"{names[code]} is '{found[signed][0]:.12g} %' in one row and "
                f"'{found[~signed][0]:.12g}' in another",
                "Give all its values in per cent, or none",
            )
        yield str(names[code]), rows


def _check_units(metric: str, found: NDArray[np.float64], units: NDArray[Any]) -> None:
    """Refuse per cent of what has another unit."""
    for value, unit in zip(found, units, strict=True):
        if unit not in ("", PERCENT):
            raise InputError(
                f"{metric} is '{value:.12g} %', and its unit is '{unit}'", "Leave out one of them"
            )
