"""What figures of raters share: their Dice on a label, and their names."""

from __future__ import annotations

import pandas as pd

from segjury.analysis.rater_agreement import rater_dice
from segjury.analysis.study import Study
from segjury.errors import InputError
from segjury.results.columns import WHOLE
from segjury.wording import plain, wrapped


def of_label(structure: str) -> str:
    """What a title says of the label it is about."""
    return "" if structure == WHOLE else f", {plain(structure)}"


def label_dice(study: Study, structure: str) -> pd.DataFrame:
    """Dice per case and pair of raters on a label; `all` is the mean over the labels."""
    dice = rater_dice(study.cases, study.analysis.panel.cases)
    if structure == WHOLE:
        return dice.groupby(["case", "first", "second"], sort=False)["dsc"].mean().reset_index()
    known = dict.fromkeys(dice["label"])
    if structure not in known:
        raise InputError(f"the raters have no label '{structure}'", f"It is {', '.join(known)}")
    return dice[dice["label"] == structure].drop(columns="label")


def rater_name(name: str) -> str:
    """A rater or consensus as figures write it."""
    shown = wrapped(name, width=14)
    return {"staple": "STAPLE"}.get(name, f"{shown[:1].upper()}{shown[1:]}")
