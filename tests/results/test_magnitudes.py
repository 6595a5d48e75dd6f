"""Numbers beyond any score are refused, so that nothing downstream overflows."""

from __future__ import annotations

import pandas as pd
import pytest

import segjury
from segjury.analysis.study import completed
from segjury.errors import InputError
from segjury.results.facts import read_facts
from tests import commands

CASES = 7
ODD = {
    "large": lambda c: (9e49 - c * 1e48, 1e49 + c, -9e49),
    "mixed": lambda c: (9e49 * (-1) ** c, 1e-308 * c, c),
    "subnormal": lambda c: (1e-320 * (c + 1), 3e-320, 0),
    "tiny": lambda c: (1e-200 * (c + 1), 3e-200, 0),
    "minus zero": lambda _: ("-0.0", "0.0", 0),
    "large integers": lambda c: (10**30 + c * 10**20, 10**30, 7),
    "equal": lambda _: (0.5, 0.5, 0.5),
    "one method": lambda c: (c / 10,),
}


def table_of(values, metrics=("distance", "time")):
    """A table whose case c has the values of each method that `values(c)` gives."""
    return "method,case,metric,value\n" + "".join(
        f"{'ABC'[m]},P{c},{metric},{value}\n"
        for metric in metrics
        for c in range(CASES)
        for m, value in enumerate(values(c))
    )


@pytest.mark.parametrize("command", ["rank", "analyze", "report", "figure"])
@pytest.mark.parametrize("value", ["1.7e308", "-1e308", "1e51"])
def test_a_value_beyond_any_score_is_refused_by_name(command, value, tmp_path):
    (tmp_path / "scores.csv").write_text(table_of(lambda _: (value, 0.5, 0.4)))
    words = ["cd"] if command == "figure" else []
    done = commands.segjury(
        command, *words, tmp_path / "scores.csv", "--lower", "distance", "--lower", "time",
        "--out", tmp_path / {"report": "r.md", "figure": "f.svg"}.get(command, "out"),
    )  # fmt: skip
    assert done.returncode == 2
    assert f"the value of A, P0, distance is {float(value):g}" in done.stderr
    assert "1e+50" in done.stderr


@pytest.mark.parametrize("values", ODD.values(), ids=ODD)
def test_odd_values_are_analysed_without_a_warning(values, tmp_path):
    (tmp_path / "scores.csv").write_text(table_of(values))
    study = segjury.read(tmp_path / "scores.csv", lower=["distance", "time"]).analyze(samples=100)
    assert study.sentences
    study.report(tmp_path / "report.md", figures=["cd", "boxes", "podium"])


def test_a_data_frame_is_refused_as_a_file_is():
    frame = pd.DataFrame([("A", "P0", "dsc", 1e308)], columns=["method", "case", "metric", "value"])
    for read in (segjury.read, completed):
        with pytest.raises(InputError, match="A, P0, dsc is 1e"):
            read(frame)


def test_what_lies_beside_a_table_is_refused_too(tmp_path):
    (tmp_path / "scores.csv").write_text(table_of(lambda _: (0.5, 0.4)))
    (tmp_path / "details.csv").write_text(
        "method,case,metric,structure,reading,quantity,item,value\n"
        "A,P0,distance,all,given,score,rater 1,1e300\n"
    )
    with pytest.raises(InputError, match=r"details\.csv"):
        segjury.read(tmp_path / "scores.csv")
    with pytest.raises(InputError, match="rater_1_cm3 of P0"):
        read_facts(pd.DataFrame({"case": ["P0"], "rater_1_cm3": [-1e60]}))
    assert read_facts(pd.DataFrame({"case": ["P0"], "number": ["9" * 60]})).empty
