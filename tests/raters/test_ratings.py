"""Experts' ratings: pingouin's and a paper's numbers, tables by hand, laws, and bad input."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import segjury.cli.ratings  # noqa: F401  (adds its command)
from segjury.cli.program import main
from segjury.errors import InputError, MissingInputError
from segjury.raters.ratings.ratings import analyze_ratings, icc_words, sentences
from segjury.raters.ratings.table import apply_floor, check_floor, long_ratings, read_ratings
from tests.places import DOCS, GOLDEN

STATISTICS = GOLDEN / "statistics"
PINGOUIN = [
    table
    for table in json.loads((STATISTICS / "icc_pingouin.json").read_text())["tables"]
    if table["name"].startswith(("integers", "Shrout"))
]
ALPHA = [
    matrix
    for matrix in json.loads((STATISTICS / "alpha_krippendorff.json").read_text())["matrices"]
    if matrix["name"].endswith("missing 0")
]
RATERS = ("Ann", "Ben", "Eve")

# SMILE-UHURA's volume of 150 µm. The paper prints the means over three raters, ICC(2,k) and its
# limits, not the ratings: these whole ones have the printed means, and were sought to have the rest
PUBLISHED = {
    "Baseline DS6": ((2, 3, 4), (3, 4, 4)),
    "Baseline UNet MSS": ((1, 2, 2), (3, 4, 2)),
    "EURECOM-UNIANDES": ((2, 5, 4), (2, 3, 2)),
    "neuRoSliCCe multiMIP": ((2, 2, 2), (2, 4, 4)),
    "neuRoSliCCe DS6 MIP": ((1, 2, 2), (1, 4, 3)),
    "neuRoSliCCe MIP": ((1, 1, 1), (2, 4, 2)),
    "FunPixel": ((0, 0, 0), (0, 0, 0)),
}


def rows_of(table, question="rating", raters=None):
    """Long rows of a table (segmentations, raters), each row a method of its own on one case."""
    return [
        {"method": f"m{m}", "case": "c", "question": question, "rater": rater, "value": value}
        for m, row in enumerate(table)
        for rater, value in zip(raters or map(str, range(len(row))), row, strict=True)
    ]


def long_of(ratings, question="Q1"):
    """Ratings of methods on cases as `{method: {case: (of Ann, of Ben, of Eve)}}`."""
    return pd.DataFrame(
        [
            {"method": method, "case": case, "question": question, "rater": rater, "value": value}
            for method, cases in ratings.items()
            for case, values in cases.items()
            for rater, value in zip(RATERS, values, strict=False)
        ]
    ).astype({"value": float})


def text_table(text):
    names, *rows = [line.split(",") for line in text.split()]
    return pd.DataFrame(rows, columns=names, dtype=str)


@pytest.fixture
def run(capsys, monkeypatch):
    """The command as a person types it: exit code, output, errors."""

    def segjury(*arguments):
        monkeypatch.setattr("sys.argv", ["segjury", "ratings", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return segjury


def published_file(folder):
    path = folder / "ratings.csv"
    lines = ["Method,case,question,Ann,Ben,Eve"]
    lines += [
        f"{method},150um,{question},{','.join(map(str, values))}"
        for method, both in PUBLISHED.items()
        for question, values in zip(("Q1", "Q2"), both, strict=True)
    ]
    path.write_text("\n".join(lines))
    return path


# ---- numbers of others ---------------------------------------------------------------------


@pytest.mark.parametrize("table", PINGOUIN, ids=lambda table: table["name"])
def test_the_command_writes_pingouins_numbers(table, tmp_path, run):
    pd.DataFrame(rows_of(table["ratings"])).to_csv(tmp_path / "ratings.csv", index=False)
    code, _, errors = run(tmp_path / "ratings.csv", "--out", tmp_path / "out")
    assert code == 0, errors
    found = pd.read_csv(tmp_path / "out" / "ratings_icc.csv").set_index("coefficient")
    for name, (value, low, high, f, df1, df2, p) in table["icc"].items():
        row = found.loc[name]
        assert (row["value"], row["low"], row["high"]) == pytest.approx((value, low, high))
        assert (row["f"], row["df1"], row["df2"]) == pytest.approx((f, df1, df2))
        assert row["p"] == pytest.approx(p, rel=1e-6)
    written = json.loads((tmp_path / "out" / "ratings.json").read_text())["agreements"][0]
    assert written["icc"]["ICC(2,k)"]["low"] == pytest.approx(table["icc"]["ICC(2,k)"][1])
    assert written["segmentations"] == len(table["ratings"])


@pytest.mark.parametrize("matrix", ALPHA, ids=lambda matrix: matrix["name"])
def test_alpha_is_that_of_krippendorffs_program(matrix):
    ratings = pd.DataFrame(rows_of(np.transpose(matrix["ratings"])))
    assert analyze_ratings(ratings).agreements[0].alpha == pytest.approx(matrix["alpha"]["ordinal"])


def test_a_published_table_end_to_end(tmp_path, run):
    path, out = published_file(tmp_path), tmp_path / "out"
    code, printed, errors = run(path, "--raters", "Ann,Ben,Eve", "--floor", "Q1=Q2", "--out", out)
    assert code == 0, errors
    found = pd.read_csv(out / "ratings_icc.csv").set_index(["question", "coefficient"])
    for question, published in {"Q1": (0.88, 0.54, 0.98), "Q2": (0.80, 0.27, 0.96)}.items():
        row = found.loc[(question, "ICC(2,k)")]
        assert (row["value"], row["low"], row["high"]) == pytest.approx(published, abs=0.005)
    methods = pd.read_csv(out / "ratings_methods.csv").set_index(["question", "method"])
    means = {"Q1": (3.0, 1.67, 3.67, 2.0, 1.67, 1.0, 0.0)}
    means["Q2"] = (3.67, 3.0, 2.33, 3.33, 2.67, 2.67, 0.0)
    for question, expected in means.items():
        medians = methods.loc[question].loc[list(PUBLISHED), "median"]
        assert tuple(medians) == pytest.approx(expected, abs=0.005)
    first, last = methods.loc["Q1"].index[[0, -1]]
    assert (first, last) == ("EURECOM-UNIANDES", "FunPixel")
    assert "moderate to excellent reliability: ICC(2,k) 0.876" in printed
    assert "poor to excellent reliability: ICC(2,k) 0.800" in printed
    latex = (out / "ratings.tex").read_text()
    assert r"Q1 & 0.88 & 0.54 to 0.98 &" in latex
    assert r"FunPixel & 0.00 & 0.00 & 0.00 & 0.00 \\" in latex


# ---- by hand -------------------------------------------------------------------------------


def test_methods_have_quartiles_of_the_raters_means_and_are_ordered():
    # means over raters of a: 3, 10/3, 11/3, 4, so quartiles by hand 3.25, 3.5 and 3.75
    a = {"1": (3, 3, 3), "2": (3, 3, 4), "3": (4, 3, 4), "4": (4, 4, 4)}
    b = {"1": (5, 5, 5), "2": (2, 3, 4), "3": (4, 4, 4), "4": (0, 0, 0)}  # 5, 3, 4, 0
    c = {"1": (3, 3, 3), "2": (3, 3, 3), "3": (4, 4, 4), "4": (5, 5, 5)}  # 3, 3, 4, 5
    found = analyze_ratings(long_of({"b": b, "a": a, "c": c})).agreements[0].methods
    assert [m.method for m in found] == ["c", "a", "b"]  # the same medians, other means
    rated = found[1]
    assert (rated.q1, rated.median, rated.q3, rated.iqr) == pytest.approx((3.25, 3.5, 3.75, 0.5))
    assert [m.mean for m in found] == pytest.approx([3.75, 3.5, 3.0])
    assert [m.cases for m in found] == [4, 4, 4]


def test_who_is_strict():
    # Ben is 1 below Ann on all four, Eve 2 below Ann on two and the same on two
    cases = {"1": (3, 2, 3), "2": (4, 3, 2), "3": (5, 4, 3), "4": (2, 1, 2)}
    found = analyze_ratings(long_of({"a": cases})).agreements[0]
    assert found.means == {"Ann": 3.5, "Ben": 2.5, "Eve": 2.5}
    by_pair = {(p.first, p.second): p for p in found.pairs}
    same = by_pair["Ann", "Ben"]
    assert (same.bias.low, same.bias.value, same.bias.high) == (1, 1, 1)
    assert (same.lower, same.upper) == (1, 1)
    other = by_pair["Ann", "Eve"]  # differences 0, 2, 2, 0: SD 2/√3, t(0.975, 3) = 3.182446
    assert other.bias.value == 1
    assert other.bias.low == pytest.approx(1 - 3.182446 * 2 / math.sqrt(3) / 2, rel=1e-6)
    assert other.upper == pytest.approx(1 + 1.96 * 2 / math.sqrt(3))
    assert "Strictest: Ben and Eve (mean 2.50); mildest: Ann (3.50)." in sentences(found)


def test_the_strictest_rater_with_the_interval():
    cases = {"1": (3, 1), "2": (4, 3), "3": (5, 4), "4": (2, 0)}  # differences 2, 1, 1, 2
    said = sentences(analyze_ratings(long_of({"a": cases})).agreements[0])[1]
    half = 3.182446 * math.sqrt(1 / 3) / 2
    assert said.startswith("Strictest: Ben (mean 2.00); mildest: Ann (3.50); 1.50 apart")
    assert said.endswith(f"{1.5 - half:.2f} to {1.5 + half:.2f}.")
    few = long_of({"a": {"1": (3, 1), "2": (4, 3)}})  # 2 and 1: t(0.975, 1) = 12.7
    assert "may be chance" in sentences(analyze_ratings(few).agreements[0])[1]


def test_perfect_agreement_and_none_at_all():
    perfect = analyze_ratings(long_of({"a": {"1": (3, 3), "2": (4, 4)}})).agreements[0]
    assert (perfect.of_the_mean.value, perfect.alpha) == (1.0, 1.0)
    assert "has excellent reliability: ICC(2,k) 1.000" in sentences(perfect)[0]
    assert sentences(perfect)[1] == "All raters have the same mean, 3.50."
    same = analyze_ratings(long_of({"a": {"1": (3, 3), "2": (3, 3)}})).agreements[0]
    assert math.isnan(same.of_the_mean.value)
    assert math.isnan(same.alpha)
    assert "ICC(2,k) is undefined" in sentences(same)[0]


def test_what_is_undefined_is_null(tmp_path, run):
    path = tmp_path / "ratings.csv"
    path.write_text("method,case,A,B\na,1,3,3\nb,1,3,3\n")
    code, printed, errors = run(path, "--raters", "A,B", "--out", tmp_path)
    assert code == 0, errors
    assert "undefined" in printed
    written = json.loads((tmp_path / "ratings.json").read_text())["agreements"][0]
    assert written["alpha"] is None
    assert written["icc"]["ICC(2,k)"]["value"] is None


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.12, 0.54, "poor to moderate"),
        (0.13, 0.49, "poor"),
        (0.43, 0.83, "poor to good"),
        (0.5, 0.74, "moderate"),
        (0.75, 0.9, "good"),
        (0.54, 0.98, "moderate to excellent"),
        (0.91, 1.0, "excellent"),
        (-math.inf, 0.3, "poor"),
    ],
)
def test_words_are_those_of_koo_and_li(low, high, words):
    assert icc_words(low, high) == words


def test_parts_are_those_segmentations_alone():
    cases = {"1": (3, 2, 1), "2": (4, 2, 5), "3": (5, 4, 1), "4": (2, 0, 0), "5": (1, 1, 1)}
    ratings = long_of({"a": cases, "b": {case: v[::-1] for case, v in cases.items()}})
    dataset = {"1": "open", "2": "open", "3": "secret", "4": "secret", "5": "secret"}
    ratings = ratings.assign(dataset=ratings["case"].map(dataset))
    found = analyze_ratings(ratings, by=["dataset"])
    assert [a.part for a in found.agreements] == [None, ("dataset", "open"), ("dataset", "secret")]
    assert [a.segmentations for a in found.agreements] == [10, 4, 6]
    alone = analyze_ratings(ratings[ratings["dataset"] == "secret"]).agreements[0]
    assert found.agreements[2].icc == alone.icc
    assert found.agreements[2].methods == alone.methods
    assert found.notes == ()


def test_a_part_that_is_too_small_is_said():
    ratings = long_of({"a": {"1": (3, 2), "2": (4, 2), "3": (0, 1)}})
    ratings = ratings.assign(site=np.where(ratings["case"] == "3", "Y", "X"))
    found = analyze_ratings(ratings, by=["site"])
    assert [a.part for a in found.agreements] == [None, ("site", "X")]
    assert found.notes == ("Q1, site Y: too few segmentations to compare",)


# ---- forms ---------------------------------------------------------------------------------

LONG = """method,case,rater,value
a,1,Ann,3
a,1,Ben,2
a,2,Ann,4
a,2,Ben,4.5
"""


def read(tmp_path, text, **options):
    path = tmp_path / "ratings.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_ratings(path, **options)


def test_long_and_wide_tables_say_the_same(tmp_path):
    long = read(tmp_path, LONG)
    wide = read(tmp_path, "method,case,Ann,Ben\na,1,3,2\na,2,4,4.5\n", raters=["Ann", "Ben"])
    columns = ["method", "case", "question", "rater", "value"]
    for each in (long, wide):
        assert each["value"].dtype == float
    pd.testing.assert_frame_equal(
        long[columns].sort_values(columns, ignore_index=True),
        wide[columns].sort_values(columns, ignore_index=True),
        check_dtype=False,
    )
    assert analyze_ratings(long) == analyze_ratings(wide)


@pytest.mark.parametrize(
    "text",
    [
        LONG.replace(",", ";"),
        LONG.replace(",", "\t"),
        LONG.replace("\n", "\r\n") + "\r\n,,,\r\n",
        "\ufeff" + LONG,
        LONG.replace("a,", " a ,").replace("3", " 3 "),
        LONG.replace("method", "Method").replace("value", "VALUE"),
        LONG.replace("a,1", '"a",1'),
        "\n" + "\n".join(f"\t{line}" for line in LONG.replace(",", "\t").splitlines()),
    ],
)
def test_other_ways_to_write_a_csv(tmp_path, text):
    assert analyze_ratings(read(tmp_path, text)) == analyze_ratings(read(tmp_path, LONG))


def test_columns_of_others(tmp_path):
    theirs = LONG.replace("method", "team").replace("value", "score")
    columns = {"method": "team", "value": "score"}
    assert analyze_ratings(read(tmp_path, theirs, columns=columns)).agreements[0].segmentations == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LONG.replace("value", "rating"), "no column 'value' .*it has method, case, rater, rating"),
        (LONG.replace("rater", "who"), "no column 'rater'.*`raters="),
        (LONG + "a,1,Ann,3\n", "two ratings of method a, case 1, question rating, rater Ann"),
        (LONG + "b,1,,3\n", "row without rater: method b"),
        (LONG + "b,1,Ann,good\n", "the rating of method b, .*rater Ann is 'good'"),
        (LONG + "b,1,Ann,inf\n", "is 'inf'"),
        (LONG + 'b,1,Ann,"3,5"\n', "is '3,5'.*decimal point"),
        (LONG + "b,1,Ann\n", "has 3 cells, the header has 4"),
        (LONG + "b,1,Ann,3,\n", "has 5 cells"),
        (LONG + '"b,1,Ann,3\n', "ends inside a quoted cell"),
        ("method,case,rater,value\n", "no rows"),
        ("", "it is empty"),
        ("method,case,rater,Rater,value\na,1,A,A,3\n", "two columns 'rater'"),
        ("methode,köln".encode("latin-1"), "is not UTF-8 text"),
    ],
)
def test_bad_tables_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"metric": "x"}}, "no column 'metric'.*method, case, question, rater, value"),
        ({"columns": {"value": "score"}}, "no column 'score'"),
        ({"columns": {"case": "rater"}}, "two columns 'case'"),
        ({"raters": ["Ann"]}, "no column 'Ann'"),
        ({"raters": ["method"]}, "has a column 'rater'"),
    ],
)
def test_bad_names_of_columns_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        long_ratings(text_table(LONG), "ratings.csv", **options)


@pytest.mark.parametrize("raters", [["Ann", "Ann"], ["Ann", "case"]])
def test_bad_names_of_raters_are_refused(raters):
    wide = text_table("method,case,Ann,Ben\na,1,3,2")
    with pytest.raises(InputError, match="`raters` cannot take"):
        long_ratings(wide, "ratings.csv", raters=raters)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(MissingInputError, match="there is no table"):
        read_ratings(tmp_path / "ratings.csv")


# ---- gaps ----------------------------------------------------------------------------------


def gappy():
    cases = {"1": (3, 2, 3), "2": (4, math.nan, 2), "3": (5, 4, 3), "4": (2, 1)}  # no row of Eve's
    return long_of({"a": cases})


def test_gaps_are_refused_or_left_out_with_a_note():
    with pytest.raises(
        InputError, match=r"2 of 4 segmentations.*case 2, not rated by Ben.*exclude"
    ):
        analyze_ratings(gappy())
    found = analyze_ratings(gappy(), missing="exclude")
    rest = analyze_ratings(long_of({"a": {"1": (3, 2, 3), "3": (5, 4, 3)}}))
    assert found.agreements == rest.agreements
    assert found.notes == ("Q1: 2 of 4 segmentations left out, which not every rater rated",)


def test_methods_on_different_cases_are_said():
    cases = {"1": (3, 2), "2": (4, 2), "3": (0, 1)}
    found = analyze_ratings(long_of({"a": cases, "b": {"1": (1, 1)}}))
    assert "not all methods were rated on all 3 cases (b 1)" in found.notes[0]


def test_a_rater_of_another_question_is_said():
    ratings = pd.concat([long_of({"a": {"1": (3, 2, 3), "2": (4, 3, 3)}})] * 2, ignore_index=True)
    ratings.loc[6:, "question"] = "Q2"
    ratings.loc[(ratings["question"] == "Q2") & (ratings["rater"] == "Eve"), "value"] = math.nan
    found = analyze_ratings(ratings)
    assert [len(a.means) for a in found.agreements] == [3, 2]
    assert found.notes == ("Q2: Eve rated nothing",)
    assert [a.question for a in analyze_ratings(ratings, questions=["Q2"]).agreements] == ["Q2"]


@pytest.mark.parametrize(
    ("ratings", "options", "message"),
    [
        ({"a": {"1": (3,), "2": (2,)}}, {}, "Q1 was rated by Ann. .*two raters"),
        ({"a": {"1": (3, 2)}}, {}, "only 1 of 1 segmentations"),
        ({"a": {"1": (3, 2), "2": (3,)}}, {"missing": "exclude"}, "only 1 of 2 segmentations"),
        ({"a": {"1": (3, 2), "2": (3, 1)}}, {"questions": ["Q3"]}, "no question 'Q3'.*Q1"),
        ({"a": {"1": (3, 2), "2": (3, 1)}}, {"by": ["sex"]}, "no parts by 'sex'"),
        ({"a": {"1": (3, 2), "2": (3, 1)}}, {"by": ["rater"]}, "no parts by 'rater'"),
    ],
)
def test_what_cannot_be_analysed_is_refused(ratings, options, message):
    with pytest.raises(InputError, match=message):
        analyze_ratings(long_of(ratings), **options)


@pytest.mark.parametrize("wrong", ["", "Y"])
def test_a_part_that_is_not_one_is_refused(wrong):
    ratings = long_of({"a": {"1": (3, 2), "2": (4, 2)}}).assign(site="X")
    ratings.loc[3, "site"] = wrong
    with pytest.raises(InputError, match=r"'site' is empty or not always the same .*case 2"):
        analyze_ratings(ratings, by=["site"])


# ---- floor ---------------------------------------------------------------------------------


def two_questions():
    """Ben gives 0 in Q2 to cases 1, 2 and 3, and in Q1 2, nothing at all, and an empty cell."""
    q1 = long_of({"a": {"1": (3, 2), "2": (4, 0), "3": (5, math.nan), "4": (2, 1)}})
    q1 = q1.drop(index=3)
    q2 = long_of({"a": {"1": (3, 0), "2": (4, 0), "3": (0.5, 0), "4": (2, 1)}}, question="Q2")
    return pd.concat([q1, q2], ignore_index=True)


def test_a_floor_is_checked():
    with pytest.raises(InputError, match=r"1 of the ratings differ \(rater Ben, .*case 1: 2\)"):
        check_floor(two_questions(), "Q1", "Q2")
    check_floor(two_questions().query("case != '1'"), "Q1", "Q2")


def test_a_floor_is_applied_also_where_nothing_was_given():
    found, note = apply_floor(two_questions(), "Q1", "Q2")
    assert "(1 had another rating, 2 had none)" in note
    check_floor(found, "Q1", "Q2")
    given = found.pivot(index=["question", "case"], columns="rater", values="value")
    assert given.loc["Q1", "Ben"].tolist() == [0, 0, 0, 1]
    assert given.loc["Q1", "Ann"].tolist() == [3, 4, 5, 2]
    assert given.loc["Q2", "Ben"].tolist() == [0, 0, 0, 1]
    again, note = apply_floor(found, "Q1", "Q2")
    assert "(0 had another rating, 0 had none)" in note
    pd.testing.assert_frame_equal(again, found)


def test_many_violations_are_counted():
    q1 = long_of({"a": {str(case): (3, 2) for case in range(20)}})
    q2 = q1.assign(question="Q2", value=0.0)
    with pytest.raises(InputError, match=r"40 of the ratings differ .*; and 30 more\)"):
        check_floor(pd.concat([q1, q2], ignore_index=True), "Q1", "Q2")


def test_the_floor_of_the_command(tmp_path, run):
    path = tmp_path / "ratings.csv"
    two_questions().to_csv(path, index=False)
    code, _, errors = run(path, "--floor", "Q1=Q2")
    assert code == 2
    assert "--apply-floor" in errors
    code, printed, errors = run(path, "--floor", "Q1=Q2", "--apply-floor", "--question", "Q1")
    assert code == 0, errors
    assert "note: Q1 set to 0 where the same rater gave 0 in Q2 (1 had another rating" in printed
    assert "\nQ2: " not in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--apply-floor"], "--apply-floor is given without --floor"),
        (["--floor", "Q1"], "--floor is 'Q1'"),
        (["--floor", "Q1=Q2,Q3=Q2"], "Write it as Q1=Q2"),
        (["--floor", "Q1=Q9"], "no question 'Q9'"),
        (["--floor", "Q1=Q1"], "names Q1 twice"),
        (["--missing", "worst"], "--missing is 'worst'"),
        (["--columns", "value"], "--columns is 'value'"),
    ],
)
def test_bad_options_are_one_line(tmp_path, run, arguments, message):
    two_questions().to_csv(tmp_path / "ratings.csv", index=False)
    code, _, errors = run(tmp_path / "ratings.csv", *arguments)
    assert code == 2
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert message in errors


# ---- the page ------------------------------------------------------------------------------


def test_the_example_of_the_page(tmp_path, run, monkeypatch):
    page = (DOCS / "ratings.md").read_text("utf-8")
    table, command, output = (
        re.search(rf"^```{kind}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
        for kind in ("csv", "sh", "text")
    )
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").write_text(table)
    program, name, *arguments = command.split()
    assert (program, name) == ("segjury", "ratings")
    code, printed, errors = run(*arguments)
    assert code == 0, errors
    assert printed.split() == output.split()


# ---- names and laws ------------------------------------------------------------------------


def test_names_are_never_markup(tmp_path, run):
    path = tmp_path / "ratings.csv"
    path.write_text("method,case,[red],B_1\n[bold]x & y[/],1,3,2\n[/],1,4,4\n")
    code, printed, errors = run(path, "--raters", "[red],B_1", "--out", tmp_path)
    assert code == 0, errors
    for name in ("[bold]x & y[/]", "[/] ", "[red] - B_1", "mildest: [red]"):
        assert name in printed
    assert r"[bold]x \& y[/] & 2.50" in (tmp_path / "ratings.tex").read_text()


TABLES = st.tuples(st.integers(2, 4), st.integers(2, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 5), min_size=shape[1], max_size=shape[1]),
        min_size=3 * shape[0],
        max_size=3 * shape[0],
    )
)


def of_three_cases(table):
    """Long rows of a table whose rows are methods on three cases each."""
    rows = pd.DataFrame(rows_of(table)).astype({"value": float})
    number = rows["method"].str[1:].astype(int)
    return rows.assign(method="m" + (number // 3).astype(str), case=(number % 3).astype(str))


@settings(max_examples=20, deadline=None)
@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_raters_and_rows_changes_nothing(table, random):
    ratings = of_three_cases(table)
    order, numbers = list(range(len(ratings))), list(range(len(table[0])))
    random.shuffle(order)
    random.shuffle(numbers)
    names = {str(old): f"r{new}" for old, new in enumerate(numbers)}
    moved = ratings.assign(rater=ratings["rater"].map(names)).iloc[order]
    before, after = (analyze_ratings(each).agreements[0] for each in (ratings, moved))
    assert after.methods == before.methods
    assert after.means == {names[name]: mean for name, mean in before.means.items()}
    assert after.alpha == pytest.approx(before.alpha, nan_ok=True)
    for a, b in zip(before.icc.coefficients, after.icc.coefficients, strict=True):
        assert (b.value, b.low, b.high) == pytest.approx((a.value, a.low, a.high), nan_ok=True)


@settings(max_examples=20, deadline=None)
@given(TABLES)
def test_a_severe_rater_lowers_agreement_but_not_consistency(table):
    ratings = of_three_cases(table)
    severe = ratings.assign(value=ratings["value"] - 50 * (ratings["rater"] == "0"))
    before, after = (analyze_ratings(each).agreements[0] for each in (ratings, severe))
    for name in ("ICC(3,1)", "ICC(3,k)"):
        assert after.icc[name].value == pytest.approx(before.icc[name].value, nan_ok=True)
    single = before.icc["ICC(2,1)"].value
    assume(not math.isnan(single) and abs(single) > 1e-9)
    assert abs(after.icc["ICC(2,1)"].value) < abs(single)
    assert after.pairs[0].bias.value == pytest.approx(before.pairs[0].bias.value - 50)
    assert sentences(after)[1].startswith("Strictest: 0 ")
