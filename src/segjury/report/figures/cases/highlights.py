"""Which cases of a benchmark tell most: what a report shows pictures of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from segjury.results.columns import WHOLE
from segjury.wording import plain

Role = Literal["typical", "hardest", "disputed", "contact"]


@dataclass(frozen=True)
class TellingCase:
    """A case that a report shows, what for, and the reasons as sentences."""

    case: str
    roles: tuple[Role, ...]
    why: str


def highlights(
    table: pd.DataFrame,
    cases: pd.DataFrame | None,
    reading: str,
    *,
    details: pd.DataFrame | None = None,
) -> list[TellingCase]:
    """The typical case, the hardest, the most disputed and the one of most vessel contact.

    One that is several of these is told once. Without Dice there is none.
    """
    dice = table["metric"].isin(["dsc", "dice"]) & (table["structure"] == WHOLE)
    overlap = table[dice & (table["reading"] == reading) & (table["status"] == "ok")]
    mean = overlap.groupby(overlap["case"].astype(str))["value"].mean().dropna().sort_values()
    if mean.empty:
        return []
    reasons: list[tuple[str, Role, str]] = []
    typical, hardest = str(mean.index[len(mean) // 2]), str(mean.index[0])
    sentence = "A typical case: the median of the methods' mean Dice, {:.2f}."
    reasons.append((typical, "typical", sentence.format(mean[typical])))
    if len(mean) > 1:
        sentence = "The hardest case: the lowest mean Dice, {:.2f}."
        reasons.append((hardest, "hardest", sentence.format(mean[hardest])))
    reasons += _most_disputed(cases, set(mean.index))
    reasons += _most_contact(details, set(mean.index))
    told: dict[str, list[tuple[Role, str]]] = {}
    for case, role, why in reasons:
        told.setdefault(case, []).append((role, why))
    return [
        TellingCase(case, tuple(role for role, _ in each), " ".join(why for _, why in each))
        for case, each in told.items()
    ]


def _most_disputed(cases: pd.DataFrame | None, known: set[str]) -> list[tuple[str, Role, str]]:
    """The case on which raters agree least, where several drew it."""
    if cases is None or "mean_pairwise_dsc" not in cases.columns:
        return []
    agreement = cases.set_index(cases["case"].astype(str))["mean_pairwise_dsc"].astype(float)
    agreement = agreement[agreement.index.isin(known)].dropna()
    if agreement.empty:
        return []
    case = str(agreement.idxmin())
    why = f"The raters agree least here: mean Dice of two of them {agreement[case]:.2f}."
    return [(case, "disputed", why)]


def _most_contact(details: pd.DataFrame | None, known: set[str]) -> list[tuple[str, Role, str]]:
    """The case with the largest angle of contact of lesion and a vessel, as the raters see it."""
    if details is None:
        return []
    angles = details[
        (details["metric"] == "contact_angle")
        & details["item"].astype(str).str.startswith("rater ")
        & details["case"].astype(str).isin(known)
    ]
    names = [angles["case"].astype(str), angles["structure"].astype(str)]
    mean = angles.groupby(names)["value"].mean().dropna()
    if mean.empty or not mean.max() > 0:
        return []
    case, vessel = mean.index[int(mean.to_numpy().argmax())]
    why = f"The largest contact: {plain(vessel)}, {mean.max():.0f}° in the mean of the raters."
    return [(str(case), "contact", why)]
