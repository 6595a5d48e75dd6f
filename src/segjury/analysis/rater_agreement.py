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
from segjury.protocols.reference import CONSENSUS, WHOLE
from segjury.results.facts import DSC, N_RATERS, VOLUME, VOXELS, read_facts


@dataclass(frozen=True)
class LabelAgreement:
    """The raters on one label: volumes over cases, overlap of pairs, agreement on voxels.

    `volumes_cm3` is (cases, raters), `dsc` (cases, pairs), NaN where a rater did not mark the case;
    `icc` of the volumes needs two cases and all raters on all of them, `pairs`, the Bland-Altman
    analysis of two raters' volumes, two cases that both marked. An anonymous panel has neither.
    `voxels` are means over cases.
    """

    label: str
    names: tuple[str, ...]  # of the raters
    volumes_cm3: Floats
    dsc: Floats
    icc: IccTable | None
    pairs: dict[tuple[int, int], BlandAltman]
    voxels: dict[str, float]

    @property
    def mean_dsc(self) -> float | None:
        """Mean over the pairs of raters of a case, and over the cases."""
        if not self.dsc.size:
            return None
        if not np.isnan(self.dsc).any():
            return float(self.dsc.mean())
        return float(np.nanmean(self.dsc, axis=1).mean())


def rater_agreement(
    cases: pd.DataFrame | None, names: Collection[str], *, level: float, anonymous: bool = False
) -> tuple[LabelAgreement, ...]:
    """Agreement per label over the cases named, from `cases.csv`; none where it is not known.

    Cases that lack a value are left out, unless the table says how many raters each case had.
    """
    if cases is None:
        return ()
    facts = read_facts(cases)
    gaps = bool((facts["quantity"] == N_RATERS).any())
    facts = facts[facts["second"] != CONSENSUS].assign(inside=facts["case"].isin(list(names)))
    volumes = facts[(facts["quantity"] == VOLUME) & (facts["first"] != CONSENSUS)]
    return tuple(
        _of_label(
            str(label),
            own,
            facts[facts["label"] == label],
            level=level,
            gaps=gaps,
            anonymous=anonymous,
        )
        for label, own in volumes.groupby("label", sort=False)
        if len(own["first"].unique()) > 1
    )


def raters_per_case(cases: pd.DataFrame | None, names: Collection[str]) -> dict[int, int]:
    """How many of the cases named had so many raters; nothing where the table does not say."""
    if cases is None:
        return {}
    facts = read_facts(cases[cases["case"].isin(list(names))])
    numbers = facts[(facts["quantity"] == N_RATERS) & (facts["label"] == WHOLE)]["value"]
    sizes, counts = np.unique(numbers.dropna().to_numpy(np.int64), return_counts=True)
    return dict(zip(sizes.tolist(), counts.tolist(), strict=True))


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


def _by_case(facts: pd.DataFrame, order: Literal["C", "F"], *, gaps: bool) -> Floats:
    """A quantity as (cases inside, raters or pairs), without cases that lack one, or all.

    `order` is that in memory, in which sums are made: another changes their last digit.
    """
    groups = facts[facts["inside"]].groupby(["first", "second"], sort=False)["value"]
    table = np.array([own.to_numpy() for _, own in groups], ndmin=2)
    absent = np.isnan(table)
    lacking = absent.all(axis=0) if gaps else absent.any(axis=0)
    return np.array(table[:, ~lacking].T, order=order)


def _of_label(
    label: str,
    own: pd.DataFrame,
    facts: pd.DataFrame,
    *,
    level: float,
    gaps: bool,
    anonymous: bool,
) -> LabelAgreement:
    volumes = _by_case(own, "C", gaps=gaps)
    whole = len(volumes) > 1 and not np.isnan(volumes).any()
    on_voxels = facts[facts["quantity"].isin(list(VOXELS))].groupby("quantity", sort=False)
    return LabelAgreement(
        label=label,
        names=tuple(map(str, own["first"].unique())),
        volumes_cm3=volumes,
        dsc=_by_case(facts[facts["quantity"] == DSC], "F", gaps=gaps),
        icc=icc(volumes, level=level) if whole and not anonymous else None,
        pairs={} if anonymous else _pairs(volumes, level),
        voxels={str(name): float(own["value"][own["inside"]].mean()) for name, own in on_voxels},
    )


def _pairs(volumes: Floats, level: float) -> dict[tuple[int, int], BlandAltman]:
    """The volumes of every two raters who marked two cases in common."""
    found = {}
    for a, b in combinations(range(volumes.shape[1]), 2):
        both = ~np.isnan(volumes[:, a] + volumes[:, b])
        if both.sum() > 1:
            found[a, b] = bland_altman(volumes[both, a], volumes[both, b], level=level)
    return found
