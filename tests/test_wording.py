"""Numbers, names and lists in words."""

from __future__ import annotations

import pytest

from segjury.analysis.columns import decimals
from segjury.errors import did_you_mean, same_name
from segjury.wording import listed, number, p_text, p_value, plural, rank, wrapped
from tests.score_tables import ODD_NAMES


def test_names_are_wrapped_and_only_beyond_two_lines_lose_their_middle() -> None:
    assert wrapped("short") == "short"
    sixty = ODD_NAMES[2]
    assert len(sixty) == 60
    assert wrapped(sixty).replace("\n", " ") == sixty
    long = wrapped("start " + "x" * 100 + " end")
    assert long.startswith("start")
    assert long.endswith("end")
    assert "…" in long
    assert max(len(line) for line in long.split("\n")) <= 34
    assert wrapped("<script>alert(1)</script>", width=24).split("\n")[1].endswith("ipt>")
    assert wrapped("Disagreement-aware", width=13) == "Disagreement-\naware"


def test_numbers_have_the_digits_of_their_metric() -> None:
    assert number(0.12345, decimals("dsc", [])) == "0.123"
    assert number(0.12345, decimals("mr_ece", [])) == "0.1235"
    assert number(12.345, decimals("vi", [])) == "12.3"
    assert number(1234.5, decimals("somebody_elses", [1234.5])) == "1234"
    assert number(12.3456, decimals("somebody_elses", [12.3456, 1.0])) == "12.35"
    assert number(71.04, decimals("dsc", [71.04])) == "71.04"  # per cent
    assert number(-0.00001, 3) == "0.000"
    assert number(-1.5, 1) == "\N{MINUS SIGN}1.5"
    assert (rank(2.0), rank(2.5), rank(1 / 3)) == ("2", "2.5", "0.33")


@pytest.mark.parametrize(
    ("p", "alpha", "text"),
    [
        (0.0, 0.05, "<.001"),
        (0.00099, 0.05, "<.001"),
        (0.0044, 0.05, ".004"),
        (0.034, 0.05, ".03"),
        (0.0496, 0.05, "<.05"),
        (0.05, 0.05, ".05"),
        (0.054, 0.05, ".05"),
        (0.73, 0.05, ".73"),
        (0.9961, 0.05, ">.99"),
        (1.0, 0.05, "1"),
        (0.0096, 0.01, "<.01"),
        (0.0104, 0.01, ".01"),
        (0.0007, 0.0005, ".001"),
        (0.0004, 0.0005, "<.0005"),
    ],
)
def test_p_is_written_as_journals_do_and_on_its_side_of_alpha(
    p: float, alpha: float, text: str
) -> None:
    assert p_text(p, alpha) == text


@pytest.mark.parametrize(
    ("names", "most", "last", "text"),
    [
        ([], None, ", ", ""),
        (["A"], 1, " and ", "A"),
        (["A", "B"], None, " and ", "A and B"),
        (["A", "B", "C"], 3, ", ", "A, B, C"),
        (["A", "B", "C"], 3, " and ", "A, B and C"),
        (["A", "B", "C", "D"], 2, " and ", "A, B and 2 more"),
        ([1, 2], None, ", ", "1, 2"),
    ],
)
def test_names_in_a_row(names: list[object], most: int | None, last: str, text: str) -> None:
    assert listed(names, most=most, last=last) == text


def test_one_thing_and_several() -> None:
    assert [plural(n, "case") for n in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]


@pytest.mark.parametrize(
    ("p", "said", "column"),
    [
        (0.0344, "0.034", "0.034"),
        (0.5, "0.5", "0.500"),
        (1.0, "1", "1.000"),
        (0.001, "0.001", "0.001"),
        (0.0000123, "1.2e-05", "<0.001"),
    ],
)
def test_p_in_a_sentence_and_in_a_column(p: float, said: str, column: str) -> None:
    assert p_value(p) == said
    assert p_value(p, digits=3) == column


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("dsc", "dsc"),
        ("DSC", "dsc"),
        ("MR-ECE", "mr_ece"),
        (" mr ece", "mr_ece"),
        ("a", "a"),
        ("A-", None),
        ("x", None),
    ],
)
def test_a_name_is_known_whatever_its_capitals(given: str, meant: str | None) -> None:
    assert same_name(given, ["dsc", "mr_ece", "a", "a_", "A_"]) == meant


def test_an_unknown_name_gets_the_nearest_one() -> None:
    known = ["dsc", "mr_ece", "crps"]
    assert did_you_mean("MRECE", known) == "Did you mean 'mr_ece'? Use one of dsc, mr_ece, crps"
    assert did_you_mean("volume", known, "It has") == "It has dsc, mr_ece, crps"
    assert did_you_mean("x" * 10**6, ["y" * 10**6] * 3, "It has").startswith("It has y")
