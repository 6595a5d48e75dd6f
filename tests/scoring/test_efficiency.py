"""Time and memory from a table, and the area under a curve of memory."""

from __future__ import annotations

import math

import numpy as np
import pytest

from segjury.errors import InputError
from segjury.metrics import memory_gb_s
from segjury.protocols import load_protocol
from segjury.scoring.efficiency import read_efficiency, with_efficiency
from segjury.scoring.records import Result, Row

CASES = ["1", "2"]


def test_a_constant_load_is_its_height_times_its_time():
    assert memory_gb_s([0, 1, 2, 5], [3, 3, 3, 3]) == 15
    assert memory_gb_s([0, 1, 2, 5], [3, 3, 3, 3], tolerance_gb=1) == 10


def test_intervals_are_those_that_were_measured():
    assert memory_gb_s([0, 0.5, 3.0], [2, 8, 99]) == 2 * 0.5 + 8 * 2.5


def test_memory_below_the_tolerance_gives_nothing_back():
    assert memory_gb_s([0, 1, 2], [1, 5, 5], tolerance_gb=3) == 2


def test_too_few_or_unordered_samples():
    assert math.isnan(memory_gb_s([0], [1]))
    with pytest.raises(ValueError, match="ascend"):
        memory_gb_s([0, 2, 1], [1, 1, 1])
    with pytest.raises(ValueError, match="shape"):
        memory_gb_s([0, 1], [1])


def results(problem, fault=""):
    lost = Row("dsc", "all", "corrected", 0.0, "", "missing", problem)
    failed = {("B", "2"): {"problem": problem, "fault": fault}}
    return [
        Result(method, case, (lost,), **failed.get((method, case), {}))
        for case in CASES
        for method in ("A", "B", "C")
    ]


def table(tmp_path, text):
    path = tmp_path / "efficiency.csv"
    path.write_text(text)
    return path


def test_a_cost_per_method_counts_for_every_case(tmp_path):
    path = table(tmp_path, "method,time_s,memory_gb_s\nA,10,5\nB,20,6\nC,30,\n")
    found = read_efficiency(path, ["A", "B", "C"], CASES)
    assert found.of["time_s"]["B", "1"] == found.of["time_s"]["B", "2"] == 20
    assert ("C", "1") not in found.of["memory_gb_s"]
    assert found.warnings == ("efficiency.csv has no memory_gb_s of C for 2 of 2 cases",)


def test_a_missing_prediction_costs_as_much_as_the_costliest_other(tmp_path):
    path = table(tmp_path, "method,case,time_s\nA,1,10\nA,2,40\nB,1,20\nB,2,1\nC,1,30\nC,2,15\n")
    costs = read_efficiency(path, ["A", "B", "C"], CASES)
    protocol = load_protocol("aortaseg-2024")
    rows = {
        (r.method, r.case): r.rows[-1]
        for r in with_efficiency(protocol, results("no prediction", "method"), ["corrected"], costs)
    }
    assert rows["B", "1"].value == 20
    assert (rows["B", "2"].value, rows["B", "2"].status) == (40, "missing")  # not its own second
    assert rows["A", "2"].unit == "s"


def test_a_method_that_the_table_lacks_is_said_to_be(tmp_path):
    path = table(tmp_path, "method,time_s\nA,10\nB,20\n")
    costs = read_efficiency(path, ["A", "B", "C"], CASES)
    protocol = load_protocol("aortaseg-2024")
    scored = with_efficiency(protocol, results(""), ["corrected"], costs)
    row = next(r.rows[-1] for r in scored if r.method == "C")
    assert math.isnan(row.value)  # not invented
    assert row.status == "undefined"
    assert row.detail == "the efficiency table has no time_s of it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method,time_s\nA,-1\n", "time_s of A is -1"),
        ("method,time_s\nZ,1\n", "has no time_s or memory_gb_s of any method of the run"),
        ("method,speed\nA,1\n", "has no time_s"),
        ("name,time_s\nA,1\n", "no column 'method'"),
    ],
)
def test_bad_tables_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_efficiency(table(tmp_path, text), ["A"], CASES)


def test_costs_are_numbers(tmp_path):
    found = read_efficiency(table(tmp_path, "method,time_s\nA,1.5\n"), ["A"], CASES)
    assert np.isfinite(list(found.of["time_s"].values())).all()


def test_an_empty_cell_is_no_cost_and_an_empty_case_is_all_cases(tmp_path):
    path = table(tmp_path, "method,case,time_s\nA,1,\nB,1,20\nB,2,5\nA,,7\n")
    found = read_efficiency(path, ["A", "B"], CASES)
    assert found.of["time_s"] == {("A", "1"): 7, ("A", "2"): 7, ("B", "1"): 20, ("B", "2"): 5}


def test_strangers_in_the_table_are_named(tmp_path):
    path = table(tmp_path, "method,case,time_s\nA,1,1\nA,2,1\nCarefull,1,3\nA,99,2\n")
    assert read_efficiency(path, ["A"], CASES).warnings == (
        "efficiency.csv: Carefull is no method of the run",
        "efficiency.csv: 99 is no case of the reference",
    )


def test_a_fault_of_ours_or_of_the_reference_costs_nobody_anything(tmp_path):
    path = table(tmp_path, "method,time_s\nA,1\nB,2\nC,3\n")
    costs = read_efficiency(path, ["A", "B", "C"], CASES)
    protocol = load_protocol("aortaseg-2024")
    for fault in ("reference", "passing", "ours"):
        scored = with_efficiency(protocol, results("it is broken", fault), ["corrected"], costs)
        row = next(r.rows[-1] for r in scored if (r.method, r.case) == ("B", "2"))
        assert math.isnan(row.value)
