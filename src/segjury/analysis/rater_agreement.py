"""How far the raters of a benchmark agree, from the numbers that a run keeps of its cases."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from segjury.analysis.statistics.bland_altman import BlandAltman, bland_altman
from segjury.analysis.statistics.icc import IccTable, icc
from segjury.arrays import Floats

WHOLE = "all"
VOLUME = re.compile(r"(?:(?P<label>.+) )?rater_(?P<rater>\d+)_cm3")
DICE = re.compile(r"(?:(?P<label>.+) )?dsc_(?P<a>\d+)_(?P<b>\d+)")
CONSENSUS = "consensus"
WITH_CONSENSUS = re.compile(rf"(?:(?P<label>.+) )?dsc_(?P<a>\d+)_(?P<b>{CONSENSUS})")
VOXELS = ("fleiss_kappa", "krippendorff_alpha")


@dataclass(frozen=True)
class LabelAgreement:
    """The raters on one label: volumes over cases, overlap of pairs, agreement on voxels.

    `volumes_cm3` is (cases, raters), `dsc` (cases, pairs); `icc` of the volumes and `pairs`, the
    Bland-Altman analysis of two raters' volumes, need two cases. `voxels` are means over cases.
    """

    label: str
    volumes_cm3: Floats
    dsc: Floats
    icc: IccTable | None
    pairs: dict[tuple[int, int], BlandAltman]
    voxels: dict[str, float]


def rater_agreement(
    cases: pd.DataFrame | None, names: Collection[str], *, level: float
) -> tuple[LabelAgreement, ...]:
    """Agreement per label over the cases named, from `cases.csv`; none where it is not known."""
    if cases is None:
        return ()
    inside = cases[cases["case"].isin(list(names))]
    labels: dict[str, list[str]] = {}
    for column in map(str, cases.columns):
        found = VOLUME.fullmatch(column)
        if found:
            labels.setdefault(found["label"] or WHOLE, []).append(column)
    return tuple(
        _of_label(inside, label, columns, level)
        for label, columns in labels.items()
        if len(columns) > 1
    )


def rater_dice(cases: pd.DataFrame | None, names: Collection[str]) -> pd.DataFrame:
    """Dice per case, label and pair of raters (`first`, `second`), the consensus being one more.

    From `cases.csv`; a row for each value that is known.
    """
    columns = ["case", "label", "first", "second", "dsc"]
    if cases is None:
        return pd.DataFrame(columns=columns)
    inside = cases[cases["case"].isin(list(names))]
    rows = [
        (case, found["label"] or WHOLE, found["a"], found["b"], float(value))
        for column in map(str, cases.columns)
        if (found := DICE.fullmatch(column) or WITH_CONSENSUS.fullmatch(column))
        for case, value in zip(inside["case"], inside[column], strict=True)
    ]
    return pd.DataFrame(rows, columns=columns).dropna(ignore_index=True)


def human_dsc(agreement: Collection[LabelAgreement]) -> Floats | None:
    """Dice of all pairs of raters on all cases, the mean over labels; None where not known."""
    known = [each.dsc for each in agreement if each.dsc.size]
    return np.mean(known, axis=0) if known else None


def _of_label(cases: pd.DataFrame, label: str, columns: list[str], level: float) -> LabelAgreement:
    prefix = "" if label == WHOLE else f"{label} "
    volumes = cases[columns].to_numpy(np.float64)
    volumes = volumes[~np.isnan(volumes).any(axis=1)]
    dice = [
        column
        for column in map(str, cases.columns)
        if (found := DICE.fullmatch(column)) and (found["label"] or WHOLE) == label
    ]
    several = len(volumes) > 1
    return LabelAgreement(
        label=label,
        volumes_cm3=volumes,
        dsc=cases[dice].dropna().to_numpy(np.float64),
        icc=icc(volumes, level=level) if several else None,
        pairs={
            (a, b): bland_altman(volumes[:, a], volumes[:, b], level=level)
            for a, b in combinations(range(len(columns)), 2)
            if several
        },
        voxels={
            name: float(cases[f"{prefix}{name}"].mean())
            for name in VOXELS
            if f"{prefix}{name}" in cases.columns
        },
    )
