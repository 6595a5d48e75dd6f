"""The measurements of all cases as tables, and what they come to over the cases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pandas as pd

from segjury.consensus.agreement import MISSING, krippendorff_alpha
from segjury.protocols.reference import WHOLE
from segjury.raters.case import CaseRaters, LabelRow, RaterRow
from segjury.raters.contact import ContactRow
from segjury.raters.outliers import is_apart
from segjury.raters.pairs import SIGNED, PairRow
from segjury.raters.repeats import RepeatRow
from segjury.scoring.scorers.measured import RATER

PAIR = ["label", "vessel", "measure", "unit", "first", "second", "consensus_of"]
SOMEBODY = "rater"  # of a panel in which nobody knows who that is
ADDED = ("volume_cm3", "everyone_cm3", "anyone_cm3", "dissensus_cm3", "consensus_cm3")


def pair_table(cases: Sequence[CaseRaters]) -> pd.DataFrame:
    """Every measure of every two masks of every case.

    Of several labels `all` is their mean, of volumes in cm3 their sum; of several vessels the mean.
    """
    rows = [{"case": each.case, **asdict(row)} for each in cases for row in each.pairs]
    table = pd.DataFrame(rows, columns=["case", *_names(PairRow)])
    if len(table["label"].unique()) > 1:
        added = table["measure"].isin(ADDED)
        table = pd.concat([table, _whole(table[~added], "mean"), _whole(table[added], "sum")])
    touched = table[table["vessel"] != ""]
    if not touched.empty:
        keys = [name for name in table.columns if name not in ("vessel", "value")]
        mean = touched.groupby(keys, sort=False, as_index=False)["value"].mean()
        table = pd.concat([table, mean.assign(vessel=WHOLE)])
    return table.reset_index(drop=True)


def _whole(table: pd.DataFrame, how: str) -> pd.DataFrame:
    """A measure over all labels of a case."""
    keys = [name for name in table.columns if name not in ("label", "value")]
    found = table.groupby(keys, sort=False)["value"].agg(how)
    return found.reset_index().assign(label=WHOLE)


def agreement_table(
    pairs: pd.DataFrame, cohorts: Mapping[str, Sequence[str]], *, anonymous: bool = False
) -> pd.DataFrame:
    """Mean, sample SD and number of cases of each measure of each pair, in each cohort.

    Of an `anonymous` panel all pairs of raters of a case are one, and so are a consensus and each
    rater; who of two raters draws larger means nothing then.
    """
    pairs = _without_names(pairs) if anonymous else pairs
    parts = [_over_cases(pairs).assign(cohort=WHOLE)]
    for name, cases in cohorts.items():
        parts.append(_over_cases(pairs[pairs["case"].isin(list(cases))]).assign(cohort=name))
    table = pd.concat(parts, ignore_index=True)
    return table[["cohort", *PAIR, "mean", "sd", "cases"]]


def _without_names(pairs: pd.DataFrame) -> pd.DataFrame:
    """One row per case for all pairs of raters, and for each consensus and all raters."""
    is_rater = {name: pairs[name].str.startswith(RATER) for name in ("first", "second")}
    unordered = is_rater["first"] & is_rater["second"] & pairs["measure"].isin(SIGNED)
    renamed = {name: pairs[name].mask(own, SOMEBODY) for name, own in is_rater.items()}
    table = pairs.assign(**renamed)[~unordered]
    return table.groupby(["case", *PAIR], sort=False)["value"].mean().reset_index()


def _over_cases(pairs: pd.DataFrame) -> pd.DataFrame:
    groups = pairs.groupby(PAIR, sort=False)["value"]
    found = groups.agg(mean="mean", sd="std", cases="count").reset_index()
    return found[found["cases"] > 0]


def square(agreement: pd.DataFrame, measure: str) -> dict[str, dict[str, dict[str, str]]]:
    """For each label the matrix of a measure that has no sign, as texts `mean ± SD`."""
    rows = agreement[(agreement["cohort"] == WHOLE) & (agreement["measure"] == measure)]
    found: dict[str, dict[str, dict[str, str]]] = {}
    for label, own in rows.groupby("label", sort=False):
        names = dict.fromkeys([*own["first"], *own["second"]])
        cells: dict[str, dict[str, str]] = {name: {} for name in names}
        for row in own.to_dict("records"):
            sd = f" ± {row['sd']:.2f}" if row["cases"] > 1 else ""
            text = f"{row['mean']:.2f}{sd}"
            cells[row["first"]][row["second"]] = cells[row["second"]][row["first"]] = text
        found[str(label)] = cells
    return found


def measure_table(cases: Sequence[CaseRaters]) -> pd.DataFrame:
    """What each rater did on each case and label; `all` is the mean over labels.

    Of volumes it is the sum. `apart` says that a rater drew something else; see `outliers`.
    """
    rows = [{"case": each.case, **asdict(row)} for each in cases for row in each.raters]
    table = _with_whole(pd.DataFrame(rows, columns=["case", *_names(RaterRow)]), ["case", "rater"])
    apart = [is_apart(*pair) for pair in _columns(table, "highest_dice", "dice_among_others")]
    return table.assign(apart=np.array(apart, bool))


def case_table(cases: Sequence[CaseRaters], cohort: Mapping[str, str]) -> pd.DataFrame:
    """How far the raters agree on each case and label; `all` as in `measure_table`."""
    rows = [{"case": each.case, **asdict(row)} for each in cases for row in each.labels]
    table = _with_whole(pd.DataFrame(rows, columns=["case", *_names(LabelRow)]), ["case"])
    table.insert(2, "cohort", table["case"].map(dict(cohort)))
    share = table["dissensus_cm3"] / table["anyone_cm3"].where(table["anyone_cm3"] > 0)
    return table.assign(dissensus_share=share)


def _with_whole(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    if len(table["label"].unique()) < 2:
        return table
    numbers = [name for name in table.columns if name not in (*keys, "label")]
    how = {name: "sum" if name in ADDED else "mean" for name in numbers}
    whole = table.groupby(keys, sort=False, as_index=False).agg(how).assign(label=WHOLE)
    return pd.concat([table, whole], ignore_index=True)


def contact_table(cases: Sequence[CaseRaters], panel: Sequence[str] = ()) -> pd.DataFrame:
    """The raters' contact angles with each vessel of each case, and how they are split.

    Raters are in the order of the panel, empty where they did not mark the case.
    """
    rows = [_contact(each.case, row, panel) for each in cases for row in each.contacts]
    return pd.DataFrame(rows)


def _angle_column(rater: str) -> str:
    return f"rater_{rater}_deg"


def _contact(case: str, row: ContactRow, panel: Sequence[str]) -> dict[str, Any]:
    own = dict(zip(row.raters, row.angles_deg, strict=True))
    angles = {_angle_column(name): own.get(name, math.nan) for name in panel or row.raters}
    return {
        "case": case,
        "vessel": row.vessel,
        "way": row.way,
        **angles,
        "touching": row.touching,
        "over_180": row.encasing,
        "split_at_0": row.split_at_0,
        "split_at_180": row.split_at_180,
    }


def split_table(contacts: pd.DataFrame) -> pd.DataFrame:
    """How often raters fall on different sides of 0 and 180 degrees.

    Per vessel over the cases that have it; `all` counts a case where any vessel splits the raters.
    """
    return pd.DataFrame(
        list(_splits(contacts)),
        columns=[
            "way",
            "vessel",
            "cases",
            "split_at_0",
            "share_at_0",
            "split_at_180",
            "share_at_180",
        ],
    )


def _splits(contacts: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    if contacts.empty:
        return
    several = contacts.filter(regex=r"^rater_.*_deg$").notna().sum(axis=1) > 1
    if several.any():  # one rater is on one side
        contacts = contacts[several]
    sides = ["split_at_0", "split_at_180"]
    for way, rows in contacts.groupby("way", sort=False):
        whole = rows.groupby("case", sort=False)[sides].any().reset_index().assign(vessel=WHOLE)
        for vessel, own in pd.concat([rows, whole]).groupby("vessel", sort=False):
            at_0, at_180 = (int(own[side].sum()) for side in sides)
            yield way, vessel, len(own), at_0, at_0 / len(own), at_180, at_180 / len(own)


def repeat_table(cases: Sequence[CaseRaters]) -> pd.DataFrame:
    """Later reads beside the first ones; `all` as in `measure_table`."""
    rows = [{"case": each.case, **asdict(row)} for each in cases for row in each.repeats]
    table = pd.DataFrame(rows, columns=["case", *_names(RepeatRow)])
    return _with_whole(table, ["case", "rater", "read"])


def pooled_alpha(cases: Sequence[CaseRaters]) -> dict[str, float]:
    """Krippendorff's alpha of each label over the voxels of all cases, whoever marked them."""
    most = max((each.n_raters for each in cases), default=0)
    if most < 2:
        return {}
    votes = {
        label: [(k, n, count) for each in cases for n in [each.n_raters]
                for k, count in enumerate(each.votes[label])]
        for label in cases[0].votes
    }  # fmt: skip
    return {
        label: krippendorff_alpha(
            [[1] * k + [0] * (n - k) + [MISSING] * (most - n) for k, n, _ in rows],
            [count for _, _, count in rows],
        )
        for label, rows in votes.items()
    }


def cohort_cases(cohort: Mapping[str, str]) -> dict[str, list[str]]:
    """The cases of each cohort, from the cohorts of each case."""
    found: dict[str, list[str]] = {}
    for case, names in cohort.items():
        for name in filter(None, names.split(";")):
            found.setdefault(name, []).append(case)
    return found


def _names(row: type) -> list[str]:
    return [field.name for field in fields(row)]


def _columns(table: pd.DataFrame, *names: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, row)) for row in table[list(names)].to_numpy()]
