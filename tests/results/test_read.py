from __future__ import annotations

import contextlib
import csv
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from segjury.analysis.ranking import cohorts
from segjury.cli.output.terminal import as_options
from segjury.errors import InputError
from segjury.results import Results
from segjury.results.columns import COLUMNS, DETAIL_COLUMNS, group_columns
from segjury.results.read import read_cases, read_scores
from segjury.results.results import write_scores
from tests.places import PUBLISHED

HEADER = "method,case,metric,value"

quick = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def read_details(path, **options):
    return Results.read(path, **options, beside=["details"]).details


def write(path, text):
    path.write_text(text, "utf-8", newline="")
    return path


@pytest.fixture
def table(tmp_path):
    """Writes a table, and returns its path."""
    return lambda text: write(tmp_path / "s.csv", text)


# a long table


def test_a_table_of_another_tool_is_completed(table):
    scores = read_scores(table(f"{HEADER}\nA,1,dsc,0.5\nB,1,dsc,\n"))
    assert tuple(scores.columns) == COLUMNS
    assert scores["reading"].tolist() == ["given", "given"]
    assert np.isnan(scores["value"].iloc[1])


@pytest.mark.parametrize("separator", [";", "\t", ",", "|"])
def test_other_separators_and_an_index_column(table, separator):
    text = f",{HEADER}\n0,A,1,dsc,0.5\n1,B,1,dsc,0.25\n".replace(",", separator)
    scores = read_scores(table(text))
    assert scores[["method", "value"]].to_numpy().tolist() == [["A", 0.5], ["B", 0.25]]
    assert group_columns(scores) == []


def test_columns_may_be_in_capitals(table):
    scores = read_scores(table("Method,CASE,Metric,Value\nA,1,dsc,0.5\n"))
    assert scores.loc[0, ["method", "case", "metric", "value"]].tolist() == ["A", "1", "dsc", 0.5]


def test_a_method_may_be_called_na_and_a_value_may_be_absent(table):
    scores = read_scores(
        table(f"{HEADER}\nNA,1,dsc,0.5\nnull,1,dsc,NA\nnan,1,dsc,\nx,1,dsc, NaN\n")
    )
    assert scores["method"].tolist() == ["NA", "null", "nan", "x"]
    assert scores["value"].isna().tolist() == [False, True, True, True]


def test_case_names_stay_text(table):
    scores = read_scores(table(f"{HEADER}\n007,001,dsc,0.5\n"))
    assert scores.loc[0, ["method", "case"]].tolist() == ["007", "001"]


@quick
@given(st.lists(st.floats(-1e50, 1e50), min_size=1, max_size=30))
@example([0.1 + 0.2, 5e-324, 9.876543210123457e49, -0.0])
def test_values_are_read_to_the_last_digit(tmp_path, values):
    for form in (repr, "{:.25e}".format, " {:+.17g} ".format):
        texts = [form(value) for value in values]
        rows = "".join(f"A,{case},dsc,{text}\n" for case, text in enumerate(texts))
        found = read_scores(write(tmp_path / "s.csv", f"{HEADER}\n{rows}"))["value"]
        assert [x.hex() for x in found] == [float(text).hex() for text in texts]


def test_further_columns_are_groups_and_stay_text(table):
    text = f"site,{HEADER},sex,notes\n007,A,1,dsc,0.5,f,\n007,B,1,dsc,0.4,f,\n008,A,2,dsc,1,m,\n"
    scores = read_scores(table(text))
    assert list(scores.columns) == [*COLUMNS, "site", "sex"]
    assert group_columns(scores) == ["site", "sex"]
    assert scores["site"].tolist() == ["007", "007", "008"]


def test_a_column_that_counts_the_rows_is_no_group(table):
    text = f"index,{HEADER}\n5,A,1,dsc,0.5\n6,B,1,dsc,0.4\n"
    assert group_columns(read_scores(table(text))) == []
    named = read_scores(table(text.replace("\n6", "\n5")), groups=["index"])
    assert named["index"].tolist() == ["5", "5"]


def test_rows_of_separators_are_blank_lines(table):
    assert len(read_scores(table(f"{HEADER}\nA,1,dsc,0.5\n,,,\n\n,,,\n"))) == 1


def test_a_byte_order_mark_line_ends_and_quoted_newlines(table):
    text = f'\ufeff\r\n{HEADER}\r\n"A, ""the""\r\nfirst",1,dsc,0.5\r\nÄ,1,dsc,0.25'
    assert read_scores(table(text))["method"].tolist() == ['A, "the"\r\nfirst', "Ä"]


# a column per metric


def test_columns_of_known_metrics_in_capitals(table):
    scores = read_scores(table("method,DSC,VI_PORTA\nA,0.5,20\n"))
    assert scores[["metric", "structure"]].to_numpy().tolist() == [["dsc", "all"], ["vi", "PORTA"]]


def test_a_wide_table_keeps_reading_and_cohort(table):
    text = "method,case,reading,cohort,dsc\nA,1,released,hard,0.5\nA,1,corrected,hard,0.25\n"
    scores = read_scores(table(text))
    assert scores["reading"].tolist() == ["released", "corrected"]
    assert cohorts(scores) == ["hard"]


def test_a_wide_table_keeps_its_structures(table):
    scores = read_scores(table("method,case,structure,dsc\nA,1,liver,0.5\nA,1,spleen,0.25\n"))
    assert scores[["structure", "value"]].to_numpy().tolist() == [["liver", 0.5], ["spleen", 0.25]]


def test_a_metric_that_only_begins_like_ours_is_not_ours(table):
    scores = read_scores(table("method,dsch,vision\nA,0.5,20\n"))
    assert scores["metric"].tolist() == ["dsch", "vision"]


def test_the_rows_of_a_wide_table_are_those_of_its_cells(table):
    text = "method,case,dsc,site,speed,empty\nA,1,0.1,x,5,\nA,2,0.2,none,,\nB,1,0.3,x,7,\n"
    scores = read_scores(table(text))
    keys = ["method", "case", "metric", "site"]
    found = dict(zip(map(tuple, scores[keys].to_numpy()), scores["value"], strict=True))
    assert math.isnan(found.pop(("A", "2", "speed", "none")))
    assert found == {
        ("A", "1", "dsc", "x"): 0.1,
        ("A", "2", "dsc", "none"): 0.2,
        ("B", "1", "dsc", "x"): 0.3,
        ("A", "1", "speed", "x"): 5,
        ("B", "1", "speed", "x"): 7,
    }
    assert group_columns(scores) == ["site"]


def test_a_group_of_numbers_can_be_named(table):
    path = table("method,case,dsc,site\nA,1,0.1,01\nA,2,0.2,02\n")
    assert read_scores(path)["metric"].tolist() == ["dsc", "dsc", "site", "site"]
    scores = read_scores(path, groups=["site"])
    assert scores["metric"].tolist() == ["dsc", "dsc"]
    assert scores["site"].tolist() == ["01", "02"]


def test_a_leaderboard_can_be_read_again(table):
    scores = read_scores(
        table("method,position,mean_rank,dsc,rank_dsc\nA,1,1.0,0.5,1\nB,2,2,0.4,2\n")
    )
    assert scores["metric"].tolist() == ["dsc", "dsc"]
    assert group_columns(scores) == []
    words = read_scores(table("method,case,position,dsc\nA,1,supine,0.5\nB,1,supine,0.4\n"))
    assert group_columns(words) == ["position"]


# other names


def test_columns_can_be_called_otherwise(table):
    path = table("team,patient,measure,score\nA,1,dsc,0.5\n")
    names = {"method": "team", "case": "patient", "metric": "measure", "value": "score"}
    scores = read_scores(path, columns=names)
    assert scores.loc[0, ["method", "case", "metric", "value"]].tolist() == ["A", "1", "dsc", 0.5]
    swapped = read_scores(
        table("case,method,metric,value\nA,1,dsc,1\n"), columns={"method": "case", "case": "method"}
    )
    assert swapped.loc[0, ["method", "case"]].tolist() == ["A", "1"]


BAD_NAMES = {
    "not ours": (
        {"team": "method"},
        r"no column 'team'.*`columns` takes are method, case",
    ),
    "absent": ({"method": "group"}, r"no column 'group' \(it has method, team, case, dsc\)"),
    "taken": ({"method": "team"}, "a column 'method' besides 'team'"),
    "twice": ({"method": "team", "case": "team"}, "two names to one column"),
}


@pytest.mark.parametrize(("names", "message"), BAD_NAMES.values(), ids=BAD_NAMES)
def test_bad_names_are_refused(table, names, message):
    with pytest.raises(InputError, match=message):
        read_scores(table("method,team,case,dsc\nA,B,1,0.5\n"), columns=names)


@pytest.mark.parametrize(
    ("header", "absent", "pairs"),
    [
        ("team,case,metric,value", "'method'", "method=team"),
        ("Team Name,Patient,metric,value", "'method', 'case'", "method=Team Name,case=Patient"),
        ("method,case,measure,score", "'metric', 'value'", "metric=measure,value=score"),
        ("method,case,metric,score", "'value'", "value=score"),
        ("method,case,dsc,value", "'metric'", "metric=NAME"),
        ("method,subject,dsc,nsd", "'case'", "case=subject"),
        ("algorithm,id,dsc,nsd", "'method', 'case'", "method=algorithm,case=id"),
        ("what,ever,it,is", "'method'", "method=NAME"),
    ],
)
def test_what_is_called_otherwise_is_suggested_and_not_guessed(table, header, absent, pairs):
    with pytest.raises(InputError) as caught:
        read_scores(table(f"{header}\nA,1,2,x\n"))
    has = header.replace(",", ", ")
    assert caught.value.what == f"s.csv has no column {absent} (it has {has})"
    assert as_options(caught.value.fix) == f"Rename columns, or say --columns {pairs}"


# a column per method


def test_a_published_matrix_comes_out_cell_by_cell():
    path = PUBLISHED / "smile_uhura_ranks_dice.csv"
    scores = read_scores(path, matrix="dice")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    expected = {
        (method, row["subject"], "dice", "all"): float(cell)
        for row in rows
        for method, cell in row.items()
        if method != "subject"
    }
    keys = map(tuple, scores[["method", "case", "metric", "structure"]].to_numpy())
    assert dict(zip(keys, scores["value"], strict=True)) == expected
    assert len(scores) == 11 * 18
    with pytest.raises(InputError, match=r"one column per method. Say `matrix=METRIC`"):
        read_scores(path)


def test_the_cases_of_a_matrix(table):
    first = read_scores(table(",A,B\n7,0.1,\n8,0.2,0.3\n"), matrix="dsc")
    assert first["case"].tolist() == ["7", "8", "7", "8"]
    assert first["value"].fillna(-1).tolist() == [0.1, 0.2, -1, 0.3]
    named = read_scores(table("A,Case,B\n0.1,7,0.2\n"), matrix="dsc")
    assert named[["method", "case"]].to_numpy().tolist() == [["A", "7"], ["B", "7"]]
    path = table(",A,scan,age\n0,0.1,x,1\n")
    mapped = read_scores(path, matrix="dsc", columns={"case": "scan"}, groups=["age"])
    assert mapped[["method", "case", "age"]].to_numpy().tolist() == [["A", "x", "1"]]


BAD_MATRICES = {
    "case twice": ("case,A\n1,0.5\n1,0.6\n", "two rows for method A, case 1"),
    "method twice": ("case,A,A\n1,0.5,0.6\n", "two columns 'A'"),
    "words": ("case,A,B\n1,0.5,good\n", "the value of B, 1, dsc is 'good'"),
    "long": (f"{HEADER}\nA,1,dsc,1\n", "'method', 'metric', 'value', so it is not one column per"),
    "no method": ("case\n1\n", "no column of a method"),
    "no case": ("case,A\n,0.5\n", "a row without a case"),
    "no rows": ("case,A\n", "no rows"),
}


@pytest.mark.parametrize(("text", "message"), BAD_MATRICES.values(), ids=BAD_MATRICES)
def test_bad_matrices_are_refused(table, text, message):
    with pytest.raises(InputError, match=message):
        read_scores(table(text), matrix="dsc")


def test_a_matrix_needs_the_name_of_its_metric(table):
    with pytest.raises(InputError, match="names no metric"):
        read_scores(table("case,A\n1,0.5\n"), matrix=" ")


# raters


def rated(rows):
    return "method,case,metric,value,rater,sex\n" + "".join(f"{row}\n" for row in rows)


def test_raters_are_averaged_and_kept_apart_in_the_details(table):
    rows = ["A,1,q1,1,x,f", "A,1,q1,2,y,f", "B,1,q1,4,y,f", "B,1,q1,5,x,f"]
    path = table(rated([*rows, "B,2,q1,,x,m", "B,2,q1,,y,m"]))
    scores = read_scores(path)
    assert list(scores.columns) == [*COLUMNS, "sex"]
    assert scores["value"].tolist()[:2] == [1.5, 4.5]
    assert np.isnan(scores["value"].iloc[2])
    assert scores["status"].tolist() == ["ok"] * 3
    details = read_details(path)
    assert tuple(details.columns) == DETAIL_COLUMNS
    assert details["quantity"].unique().tolist() == ["score"]
    found = details[["method", "item", "value"]].to_numpy().tolist()
    assert found[:4] == [
        ["A", "rater x", 1], ["A", "rater y", 2], ["B", "rater y", 4], ["B", "rater x", 5],
    ]  # fmt: skip


def test_raters_in_a_column_per_metric(table):
    path = table("method,case,reader,q1,q2\nA,1,x,1,10\nA,1,y,2,20\n")
    scores = read_scores(path, columns={"rater": "reader"})
    assert scores[["metric", "value"]].to_numpy().tolist() == [["q1", 1.5], ["q2", 15]]
    assert len(read_details(path, columns={"rater": "reader"})) == 4


def test_a_column_of_raters_may_be_empty(table):
    path = table(rated(["A,1,q1,1,,f", "B,1,q1,2,,f"]))
    assert read_scores(path)["value"].tolist() == [1, 2]
    assert read_details(path) is None


@quick
@given(st.permutations([0.1, 0.2, 0.3, 0.7, 1e-9]), st.permutations(range(10)))
def test_the_order_of_raters_and_rows_does_not_matter(tmp_path, values, order):
    rows = [f"A,1,q1,{value},{rater},f" for rater, value in enumerate(values)]
    rows += [f"B,1,q1,{value},{rater},f" for rater, value in enumerate(sorted(values))]
    scores = read_scores(write(tmp_path / "s.csv", rated([rows[k] for k in order])))
    means = scores["value"].tolist()
    assert means[0] == means[1] == pytest.approx(math.fsum(values) / 5, rel=1e-15)


BAD_RATERS = {
    "no row": (["A,1,q1,1,x,f", "A,1,q1,2,y,f", "B,1,q1,1,x,f"], "rater y for method B, case 1"),
    "no value": (["A,1,q1,1,x,f", "A,1,q1,,y,f"], "no value of rater y for method A, case 1"),
    "twice": (["A,1,q1,1,x,f", "A,1,q1,1,x,f"], "two rows for method A.* rater x"),
    "no name": (["A,1,q1,1,x,f", "A,1,q1,1,,f"], "a row without rater: method A"),
    "groups": (["A,1,q1,1,x,f", "A,1,q1,1,y,m"], "'sex' is 'f' and 'm' for case 1"),
}


@pytest.mark.parametrize(("rows", "message"), BAD_RATERS.values(), ids=BAD_RATERS)
def test_raters_must_be_complete(table, rows, message):
    with pytest.raises(InputError, match=message):
        read_scores(table(rated(rows)))


def test_raters_must_agree_on_the_status(table):
    rows = "A,1,q1,1,x,ok\nA,1,q1,1,y,failed\n"
    with pytest.raises(InputError, match="'status' is 'ok' and 'failed' for method A, case 1"):
        read_scores(table(f"{HEADER},rater,status\n{rows}"))


# what lies beside a table


def test_details_and_cases_beside_a_table(tmp_path):
    path = write(tmp_path / "scores.csv", f"{HEADER}\nA,01,dsc,0.5\n")
    assert read_details(path) is None
    assert read_cases(tmp_path) is None
    row = "A,01,mr_ece,all,released,ece,rater 1"
    write(tmp_path / "details.csv", f"{','.join(DETAIL_COLUMNS)}\n{row},0.25\n{row[:-1]}2,\n")
    header = "case,cohort,site,age,note,none,empty,mean_pairwise_dsc,rater_1_cm3"
    write(tmp_path / "cases.csv", f"{header}\n01,5,007,61,x,none,,0.5,1\n02,6,8,,9,none,,,2\n")
    details = read_details(tmp_path)
    assert details["item"].tolist() == ["rater 1", "rater 2"]
    assert details["value"].fillna(-1).tolist() == [0.25, -1]
    cases = read_cases(path)
    assert cases.fillna(-1).to_numpy().tolist() == [
        ["01", "5", "007", 61, "x", "none", -1, 0.5, 1],
        ["02", "6", "8", -1, "9", "none", -1, -1, 2],
    ]


def test_details_without_rows(tmp_path):
    write(tmp_path / "scores.csv", f"{HEADER}\nA,1,dsc,0.5\n")
    write(tmp_path / "details.csv", ",".join(DETAIL_COLUMNS) + "\n")
    details = read_details(tmp_path)
    assert len(details) == 0
    assert details["value"].dtype == float


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("details.csv", "method,case\nA,1\n", "has no column 'metric'"),
        ("details.csv", f"{','.join(DETAIL_COLUMNS)}\nA,1,dsc,all,x,q,i,good\n", "value 'good'"),
        ("cases.csv", "patient\n1\n", "has no column 'case'"),
        ("cases.csv", "case\n1\n1\n", "two rows for case 1"),
    ],
)
def test_bad_tables_beside_a_table_are_refused(tmp_path, name, text, message):
    write(tmp_path / "scores.csv", f"{HEADER}\nA,1,dsc,0.5\n")
    write(tmp_path / name, text)
    with pytest.raises(InputError, match=message):
        (read_cases if name == "cases.csv" else read_details)(tmp_path)


# parquet


def test_names_in_parquet_may_be_numbers_and_an_index(tmp_path):
    frame = pd.DataFrame(
        {
            "case": [7, 8], "metric": pd.Categorical(["dsc", "dsc"]), "value": [1, None],
            "site": [1.0, 2.5], "hard": [True, None],
        },
        index=pd.Index(["A", "A"], name="method"),
    )  # fmt: skip
    frame.to_parquet(tmp_path / "s.parquet")
    scores = read_scores(tmp_path / "s.parquet")
    assert scores["case"].tolist() == ["7", "8"]
    assert scores["value"].fillna(-1).tolist() == [1, -1]
    assert scores[["site", "hard"]].to_numpy().tolist() == [["1", "true"], ["2.5", ""]]


def test_a_folder_adds_no_column_to_parquet(tmp_path):
    (tmp_path / "site=3").mkdir()
    frame = pd.DataFrame({"method": ["A"], "case": ["1"], "metric": ["dsc"], "value": [0.5]})
    frame.set_index(pd.Index([4])).to_parquet(tmp_path / "site=3" / "s.parquet")
    assert group_columns(read_scores(tmp_path / "site=3" / "s.parquet")) == []


def test_parquet_of_lists_or_garbage_is_refused(tmp_path):
    lists = pa.table({"method": [["A"]], "case": ["1"], "metric": ["dsc"], "value": [0.5]})
    parquet.write_table(lists, tmp_path / "s.parquet")
    with pytest.raises(InputError, match="cannot be read"):
        read_scores(tmp_path / "s.parquet")
    whole = (tmp_path / "s.parquet").read_bytes()
    for data in (b"", b"PAR1", whole[:-20], whole.replace(b"method", b"\xff\xff\xff\xff\xff\xff")):
        (tmp_path / "s.parquet").write_bytes(data)
        with pytest.raises(InputError):
            read_scores(tmp_path / "s.parquet")


# bad tables

BAD_TABLES = {
    "no method": ("team,case,metric,value\nA,1,dsc,1\n", "no column 'method'"),
    "no case": ("method,metric,value\nA,dsc,1\n", "no column 'case'"),
    "no rows": (f"{HEADER}\n", "no rows"),
    "no line end": (HEADER, "no rows"),
    "text": (f"{HEADER}\nA,1,dsc,good\n", "A, 1, dsc is 'good'"),
    "twice": (f"{HEADER}\nA,1,dsc,1\nA,1,dsc,2\n", "two rows for method A, case 1"),
    "infinite": (f"{HEADER}\nA,1,dsc,inf\n", "A, 1, dsc is 'inf'"),
    "too large": (f"{HEADER}\nA,1,dsc,1e999\n", "A, 1, dsc is '1e999'"),
    "empty": ("", "cannot be read"),
    "blank": ("\n\r\n", "cannot be read"),
    "ranks only": ("method,rank_dsc\nA,1\n", "nor a column per metric"),
    "nameless method": (f"{HEADER}\n,1,dsc,1\n", "a row without method: method , case 1"),
    "nameless metric": (f"{HEADER}\nA,1,,1\n", "a row without metric"),
    "nameless column": (f"{HEADER},\nA,1,dsc,1,x\n", "column 5 of s.csv has no name"),
    "varying group": (
        f"{HEADER},sex\nA,1,dsc,1,f\nB,1,dsc,1,m\n", "'sex' is 'f' and 'm' for case 1. Make it the"
    ),
    "column twice": (f"{HEADER},Case\nA,1,dsc,1,1\n", "two columns 'case'"),
    "group twice": (f"{HEADER},sex,sex\nA,1,dsc,1,f,f\n", "two columns 'sex'"),
    "metric twice": ("method,dsc,DSC_mean\nA,1,1\n", "two columns of dsc .*'dsc' and 'DSC_mean'"),
    "mixed": ("method,case,speed\nA,1,0.5\nA,2,fast\n", "A, 2, speed is 'fast'"),
    "words for ours": ("method,case,dsc,x\nA,1,good,1\n", "A, 1, dsc is 'good'"),
    "more cells": (f"{HEADER}\nA,1,dsc,0,5\n", "'A,1,dsc,0,5' has 5 cells, the header has 4"),
    "fewer cells": (f"{HEADER}\nA,1,dsc,1\nA,2,dsc\n", "'A,2,dsc' has 3 cells, the header has 4"),
    "open quote": (f'{HEADER},detail\nA,1,dsc,1,"x\nA,2,dsc,1,y\n', "ends inside a quoted cell"),
    "open quote in names": (f'{HEADER}\n"A,1,dsc,1\n', "ends inside a quoted cell"),
    "NUL": (f"{HEADER}\nA,1,dsc,0\0\n", "not text .line 2 has a NUL"),
    "wide": (",".join(["method", *map(str, range(10_000))]), "10,001 columns, more than 10,000"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables_are_refused(table, text, message):
    with pytest.raises(InputError, match=message):
        read_scores(table(text))


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("utf-16-le", "is not text"),
        ("latin-1", r"is not UTF-8 text \(line 2 has the byte 0xc4\)"),
    ],
)
def test_other_encodings_are_refused(tmp_path, encoding, message):
    (tmp_path / "s.csv").write_bytes(f"{HEADER}\nÄ,1,dsc,1\n".encode(encoding))
    with pytest.raises(InputError, match=message):
        read_scores(tmp_path / "s.csv")
    (tmp_path / "s.csv").write_bytes(f"{HEADER}\nÄ,1,dsc,1,2\n".encode(encoding))
    with pytest.raises(InputError, match=message):
        read_scores(tmp_path / "s.csv")


def test_a_group_that_is_not_there(table):
    path = table("method,case,dsc\nA,1,0.5\n")
    for name in ("sex", "case"):
        with pytest.raises(InputError, match=f"no group '{name}' .it has method, case, dsc"):
            read_scores(path, groups=[name])


def test_a_missing_table(tmp_path):
    for read in (read_scores, read_details):
        with pytest.raises(InputError, match="there is no table"):
            read(tmp_path / "nothing.csv")


def test_a_folder_stands_for_its_scores(tmp_path):
    write(tmp_path / "scores.csv", f"{HEADER}\nA,1,dsc,good\n")
    with pytest.raises(InputError, match=r"^scores.csv: the value of A, 1, dsc is 'good'"):
        read_scores(tmp_path)


# laws

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
names = texts.filter(bool)
values = st.none() | st.floats(-1e50, 1e50)


@st.composite
def score_tables(draw):
    rows = draw(st.lists(st.tuples(names, texts, names, names, names), min_size=1, unique=True))
    scores = pd.DataFrame(rows, columns=["method", "case", "metric", "structure", "reading"])

    def column(cells):
        return draw(st.lists(cells, min_size=len(rows), max_size=len(rows)))

    scores["value"] = np.array(column(values), float)
    for name, cells in (("unit", texts), ("status", names), ("detail", texts), ("cohort", texts)):
        scores[name] = column(cells)
    site = dict(zip(scores["case"], column(names), strict=True))
    return scores.assign(site=scores["case"].map(site))


@quick
@given(score_tables())
def test_what_is_written_is_read_back(tmp_path, scores):
    write_scores(scores, tmp_path)
    for name in ("scores.csv", "scores.parquet"):
        found = read_scores(tmp_path / name)
        pd.testing.assert_frame_equal(found, scores, check_exact=True, check_dtype=False)


def read_anyhow(path, **options):
    """Read it, or be told that it is bad input."""
    for read in (read_scores, read_details):
        with contextlib.suppress(InputError):
            read(path, **options)


@settings(quick, max_examples=150)
@given(st.binary(max_size=200))
@example(b"\xff\xfe")
@example(b'"')
@example(b"\xef\xbb\xbf")
@example(b'method\n"')
def test_arbitrary_bytes_raise_nothing_else(tmp_path, data):
    for name in ("s.csv", "s.parquet"):
        (tmp_path / name).write_bytes(data)
        read_anyhow(tmp_path / name)
        read_anyhow(tmp_path / name, matrix="dsc")


WORDS = (
    *COLUMNS, *",,,,,,;|\t\n\n\n\n\r\"\x03 ", "A", "1", "0.5", "0,5", "inf", "nan", "1_0", "rater",
    "index", "Unnamed: 0", "team", "dsc", "vi_porta", "rank_x", "position", "é", f"{HEADER}\n",
    "A,1,dsc,0.5\n", "A,1,q,",
)  # fmt: skip


@settings(quick, max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=40).map("".join), st.sampled_from([None, "dsc"]))
def test_arbitrary_texts_raise_nothing_else(tmp_path, text, matrix):
    path = write(tmp_path / "s.csv", text)
    read_anyhow(path, matrix=matrix)
    read_anyhow(path, matrix=matrix, groups=["A"], columns={"case": "1"})


@quick
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map("".join)))
def test_arbitrary_tables_beside_a_table_raise_nothing_else(tmp_path, lines):
    write(tmp_path / "scores.csv", f"{HEADER}\nA,1,dsc,0.5\n")
    for name, header in (("cases.csv", "case,x,y"), ("details.csv", ",".join(DETAIL_COLUMNS))):
        write(tmp_path / name, "\n".join([header, *lines]))
    read_anyhow(tmp_path)
    with contextlib.suppress(InputError):
        read_cases(tmp_path)


def test_cases_with_columns_without_names(tmp_path):
    write(tmp_path / "cases.csv", "case,,sex,\n1,,f,\n2,,m,\n")
    cases = read_cases(tmp_path)
    assert list(cases.columns) == ["case", "sex"]


def test_a_row_of_other_bytes_and_another_length_prints_nothing(tmp_path, capfd):
    (tmp_path / "s.csv").write_bytes(b"method,case,metric,value\nA,1,dsc,\xf2,9,9\n")
    with pytest.raises(InputError, match=r"not UTF-8 text \(line 2 has the byte 0xf2"):
        read_scores(tmp_path / "s.csv")
    assert capfd.readouterr() == ("", "")


def test_an_index_of_infinities_counts_nothing(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("index,method,case,metric,value\ninf,A,1,dsc,0.5\ninf,B,1,dsc,0.6\n")
    assert read_scores(path)["value"].tolist() == [0.5, 0.6]
