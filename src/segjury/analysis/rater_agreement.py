"""How far the raters of a benchmark agree, from the numbers that a run keeps of its cases."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from segjury.analysis.statistics.bland_altman import BlandAltman, bland_altman
from segjury.analysis.statistics.icc import IccTable, icc
from segjury.arrays import Floats
from segjury.protocols.reference import CONSENSUS
from segjury.results.facts import DSC, VOLUME, VOXELS, read_facts


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
    facts = read_facts(cases)
    facts = facts[facts["second"] != CONSENSUS].assign(inside=facts["case"].isin(list(names)))
    volumes = facts[(facts["quantity"] == VOLUME) & (facts["first"] != CONSENSUS)]
    return tuple(
        _of_label(str(label), _by_case(own, "C"), facts[facts["label"] == label], level)
        for label, own in volumes.groupby("label", sort=False)
        if len(own["first"].unique()) > 1
    )


def rater_dice(cases: pd.DataFrame | None, names: Collection[str]) -> pd.DataFrame:
    """Dice per case, label and pair of raters (`first`, `second`), the consensus being one more.

    From `cases.csv`; a row for each value that is known.
    """
    columns = ["case", "label", "first", "second", "dsc"]
    if cases is None:
        return pd.DataFrame(columns=columns)
    facts = read_facts(cases[cases["case"].isin(list(names))])
    dice = facts[facts["quantity"] == DSC].rename(columns={"value": "dsc"})
    return dice[columns].dropna(ignore_index=True)


def human_dsc(agreement: Collection[LabelAgreement]) -> Floats | None:
    """Dice of all pairs of raters on all cases, the mean over labels; None where not known.

    Nor is it where a label lacks a value that another has.
    """
    known = [each.dsc for each in agreement if each.dsc.size]
    alike = len({each.shape for each in known}) == 1
    return np.mean(known, axis=0) if alike else None


def _by_case(facts: pd.DataFrame, order: Literal["C", "F"]) -> Floats:
    """A quantity as (cases inside, raters or pairs), without cases that lack one.

    `order` is that in memory, in which sums are made: another changes their last digit.
    """
    groups = facts[facts["inside"]].groupby(["first", "second"], sort=False)["value"]
    table = np.array([own.to_numpy() for _, own in groups], ndmin=2)
    return np.array(table[:, ~np.isnan(table).any(axis=0)].T, order=order)


def _of_label(label: str, volumes: Floats, facts: pd.DataFrame, level: float) -> LabelAgreement:
    several = len(volumes) > 1
    on_voxels = facts[facts["quantity"].isin(list(VOXELS))].groupby("quantity", sort=False)
    return LabelAgreement(
        label=label,
        volumes_cm3=volumes,
        dsc=_by_case(facts[facts["quantity"] == DSC], "F"),
        icc=icc(volumes, level=level) if several else None,
        pairs={
            (a, b): bland_altman(volumes[:, a], volumes[:, b], level=level)
            for a, b in combinations(range(volumes.shape[1]), 2)
            if several
        },
        voxels={str(name): float(own["value"][own["inside"]].mean()) for name, own in on_voxels},
    )
