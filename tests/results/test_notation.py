"""Numbers as other tools write them: decimal commas, per cent, cells without a value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import segjury
from segjury.errors import InputError
from segjury.results import Results
from segjury.results.read import read_scores

HEADER = "method;case;metric;value"


@pytest.fixture
def table(tmp_path):
    """Writes a table, and returns its path."""

    def write(text, encoding="utf-8"):
        path = tmp_path / "s.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def values(path, **options):
    return read_scores(path, **options)["value"].tolist()


# ---- decimal commas ------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas_are_read_to_the_last_digit(table, separator):
    text = f"{HEADER}\nA;1;dsc;0,932\nA;2;dsc;,5\nA;3;dsc;-1,25e-3\nA;4;dsc;1\nA;5;dsc;\n"
    found = values(table(text.replace(";", separator)))
    assert found[:4] == [0.932, 0.5, -0.00125, 1.0]
    assert np.isnan(found[4])


def test_decimal_commas_in_quotes_between_commas(table):
    assert values(table('method,case,metric,value\nA,1,dsc,"0,932"\n')) == [0.932]


def test_decimal_commas_in_a_column_per_metric_and_in_a_matrix(table):
    wide = read_scores(table("method;case;dsc;speed;site\nA;1;0,9;12,5;Bonn, Süd\n"))
    assert wide[["metric", "value", "site"]].to_numpy().tolist() == [
        ["dsc", 0.9, "Bonn, Süd"], ["speed", 12.5, "Bonn, Süd"],
    ]  # fmt: skip
    assert values(table("case;A;B\n1;0,9;0,8\n"), matrix="dsc") == [0.9, 0.8]


def test_that_commas_were_read_is_said(table):
    found = Results.read(table(f"{HEADER}\nA;1;dsc;0,932\n"))
    assert found.how_read.notes == ("s.csv has decimal commas: '0,932' is read as 0.932",)
    assert Results.read(table(f"{HEADER}\nA;1;dsc;0.932\n")).how_read.notes == ()


REFUSED_COMMAS = {
    "thousands or decimals": (["1,234"], "'1,234', which may be 1.234 or 1234"),
    "all of them": (["1,234", "12,345", "7"], "'1,234', which may be 1.234 or 1234"),
    "points too": (["0,932", "0.95"], "'0,932' and '0.95', with decimal commas and points"),
    "both in one": (["1.234,5"], "A, 0, dsc is '1.234,5'"),
    "groups": (["0,5", "1,234,567"], "A, 1, dsc is '1,234,567'"),
}


@pytest.mark.parametrize(("cells", "message"), REFUSED_COMMAS.values(), ids=REFUSED_COMMAS)
def test_commas_that_may_mean_something_else_are_refused(table, cells, message):
    rows = "".join(f"A;{case};dsc;{cell}\n" for case, cell in enumerate(cells))
    with pytest.raises(InputError, match=message):
        read_scores(table(f"{HEADER}\n{rows}"))
    wide = "".join(f"A;{case};{cell}\n" for case, cell in enumerate(cells))
    with pytest.raises(InputError, match=message):
        read_scores(table(f"method;case;dsc\n{wide}"))


def test_one_cell_that_only_a_decimal_comma_explains_explains_the_others(table):
    assert values(table(f"{HEADER}\nA;1;dsc;0,932\nA;1;hd;1,234\n")) == [0.932, 1.234]


def test_a_leaderboard_notes_it(table):
    path = table("case;A;B\n1;0,932;0,5\n")
    board = segjury.read(path, matrix="dsc").leaderboard()
    assert board.notes[0] == "s.csv has decimal commas: '0,932' is read as 0.932"


# ---- per cent ------------------------------------------------------------------------------


def test_per_cent_of_a_share_are_fractions(table):
    text = "method,case,metric,value\nA,1,dsc,93.2 %\nA,2,dsc,100%\nA,1,hd,4.5\n"
    found = Results.read(table(text))
    assert found.scores["value"].tolist() == [0.932, 1.0, 4.5]
    assert found.scores["unit"].tolist() == ["", "", ""]
    assert found.how_read.notes == ("dsc is given in per cent: '93.2 %' is read as 0.932",)


def test_per_cent_of_anything_else_keep_their_unit(table):
    found = Results.read(table("method,case,metric,value\nA,1,growth,93.2 %\nA,1,hd,4 %\n"))
    assert found.scores[["value", "unit"]].to_numpy().tolist() == [[93.2, "%"], [4.0, "%"]]
    assert found.how_read.notes == ()


def test_per_cent_with_decimal_commas_in_a_column_per_metric_and_in_a_matrix(table):
    path = table("method;case;dsc;dsc_liver\nA;1;93,2 %;50%\nB;1;-;50 %\n")
    assert read_scores(path)["value"].fillna(-1).tolist() == [0.932, -1, 0.5, 0.5]
    assert values(table("case;A;B\n1;93,2 %;50%\n"), matrix="dsc") == [0.932, 0.5]


REFUSED_PERCENT = {
    "some only": ("93.2 %", "0.95", "dsc is '93.2 %' in one row and '0.95' in another"),
    "nought": ("93.2 %", "0", "dsc is '93.2 %' in one row and '0' in another"),
}


@pytest.mark.parametrize(("first", "second", "message"), REFUSED_PERCENT.values())
def test_per_cent_and_fractions_are_not_mixed(table, first, second, message):
    text = f"method,case,metric,value\nA,1,dsc,{first}\nB,1,dsc,{second}\n"
    with pytest.raises(InputError, match=message):
        read_scores(table(text))
    with pytest.raises(InputError, match=message):
        read_scores(table(f"method,case,dsc\nA,1,{first}\nB,1,{second}\n"))
    with pytest.raises(InputError, match=message):
        read_scores(table(f"case,A,B\n1,{first},{second}\n"), matrix="dsc")


def test_per_cent_of_another_unit_are_refused(table):
    with pytest.raises(InputError, match="hd is '4 %', and its unit is 'mm'"):
        read_scores(table("method,case,metric,value,unit\nA,1,hd,4 %,mm\n"))
    kept = read_scores(table("method,case,metric,value,unit\nA,1,growth,4 %,%\n"))
    assert kept["unit"].tolist() == ["%"]


def test_a_data_frame_is_read_alike():
    frame = pd.DataFrame(
        {"method": ["A", "B"], "case": 1, "metric": "dsc", "value": ["93.2 %", "50 %"]}
    )
    assert values(frame) == [0.932, 0.5]


# ---- no value ------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["", "NA", "n/a", "N/A", "n.a.", "-", "\u2013", "#N/A", "<NA>"])
def test_cells_without_a_value(table, cell):
    found = values(table(f"{HEADER}\nA;1;dsc;0,5\nB;1;dsc;{cell}\n"))
    assert found[0] == 0.5
    assert np.isnan(found[1])


@pytest.mark.parametrize("cell", ["#DIV/0!", "--", "?", "93 %%", "% 93", "1e5 %", "0,5.", "inf %"])
def test_cells_that_are_no_number_are_refused(table, cell):
    with pytest.raises(InputError, match="the value of A, 1, dsc is"):
        read_scores(table(f"{HEADER}\nA;1;dsc;{cell}\n"))


# ---- encodings and separators --------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_marks_of_encodings(table, encoding):
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    found = read_scores(table(f"{mark}{HEADER}\nÄ;1;dsc;0,5\n", encoding))
    assert found.loc[0, ["method", "value"]].tolist() == ["Ä", 0.5]


def test_a_header_may_hold_commas_between_other_separators(table):
    found = read_scores(table("method;case;metric;value;site, country\nA;1;dsc;0.5;Bonn\n"))
    assert found["site, country"].tolist() == ["Bonn"]


def test_a_long_row_of_digits_takes_no_long_time(table):
    with pytest.raises(InputError, match="the value of A, 1, dsc is"):
        read_scores(table(f"{HEADER}\nA;1;dsc;{'1' * 200_000}x\n"))
