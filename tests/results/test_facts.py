"""Facts of a case: the names of their columns, and rows from the columns of a file."""

from __future__ import annotations

import pandas as pd
import pytest

from segjury.results.facts import fact_column, read_facts

COLUMNS = {
    "mean_pairwise_dsc": ("all", "mean_pairwise_dsc", "", ""),
    "consensus_cm3": ("all", "volume_cm3", "consensus", ""),
    "rater_12_cm3": ("all", "volume_cm3", "12", ""),
    "liver rater_2_cm3": ("liver", "volume_cm3", "2", ""),
    "left lung fleiss_kappa": ("left lung", "fleiss_kappa", "", ""),
    "krippendorff_alpha": ("all", "krippendorff_alpha", "", ""),
    "Zone 10 R dsc_1_3": ("Zone 10 R", "dsc", "1", "3"),
    "liver dsc_2_consensus": ("liver", "dsc", "2", "consensus"),
}


@pytest.mark.parametrize(("column", "fact"), COLUMNS.items())
def test_a_fact_and_its_column(column, fact):
    assert fact_column(*fact) == column
    (row,) = read_facts(pd.DataFrame({"case": ["P1"], column: [0.5]})).to_numpy().tolist()
    assert row == ["P1", *fact, 0.5]


def test_other_columns_are_no_facts():
    known = {"case": ["P1"], "cohort": ["x"], "sex": ["f"], "volume_cm3": [1], "dsc_1_2_3": [1]}
    assert read_facts(pd.DataFrame(known)).empty


def test_rows_follow_the_columns_and_then_the_cases():
    cases = pd.DataFrame({"case": ["P2", "P1"], "dsc_1_2": [1, 0], "dsc_1_3": ["", 0.25]})
    found = read_facts(cases)
    assert list(zip(found["case"], found["second"], strict=True)) == [
        ("P2", "2"), ("P1", "2"), ("P2", "3"), ("P1", "3"),
    ]  # fmt: skip
    assert found["value"].isna().tolist() == [False, False, True, False]
