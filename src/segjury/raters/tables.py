"""The measurements of all cases as tables, and what they come to over the cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import pandas as pd

from segjury.protocols.reference import WHOLE
from segjury.raters.case import CaseRaters, LabelRow, RaterRow
from segjury.raters.contact import ContactRow
from segjury.raters.outliers import is_apart
from segjury.raters.pairs import PairRow

PAIR = ["label", "vessel", "measure", "unit", "first", "second", "consensus_of"]
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


def agreement_table(pairs: pd.DataFrame, cohorts: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Mean, sample SD and number of cases of each measure of each pair, in each cohort."""
    parts = [_over_cases(pairs).assign(cohort=WHOLE)]
    for name, cases in cohorts.items():
        parts.append(_over_cases(pairs[pairs["case"].isin(list(cases))]).assign(cohort=name))
    table = pd.concat(parts, ignore_index=True)
    return table[["cohort", *PAIR, "mean", "sd", "cases"]]


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


def contact_table(cases: Sequence[CaseRaters]) -> pd.DataFrame:
    """The raters' contact angles with each vessel of each case, and how they are split."""
    rows = [_contact(each.case, row) for each in cases for row in each.contacts]
    return pd.DataFrame(rows)


def _contact(case: str, row: ContactRow) -> dict[str, Any]:
    angles = {f"rater_{k + 1}_deg": angle for k, angle in enumerate(row.angles_deg)}
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
    sides = ["split_at_0", "split_at_180"]
    for way, rows in contacts.groupby("way", sort=False):
        whole = rows.groupby("case", sort=False)[sides].any().reset_index().assign(vessel=WHOLE)
        for vessel, own in pd.concat([rows, whole]).groupby("vessel", sort=False):
            at_0, at_180 = (int(own[side].sum()) for side in sides)
            yield way, vessel, len(own), at_0, at_0 / len(own), at_180, at_180 / len(own)


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
