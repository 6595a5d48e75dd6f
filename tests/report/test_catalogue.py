"""Figures are read back from their artists: what is drawn must be what the table says."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from segjury.analysis.columns import decimals
from segjury.report.figures import method_colours, method_markers, save_figure
from segjury.report.figures.drawing.style import COLOURS, styled
from segjury.report.figures.ranks.blob import blob
from segjury.report.figures.saving.save import figure_bytes, slug
from segjury.wording import number, rank, wrapped
from tests.score_tables import ODD_NAMES, make_scores

# ---- looks ----------------------------------------------------------------------------------


def test_twenty_methods_have_twenty_looks() -> None:
    names = [f"method {i}" for i in range(25)]
    assert len(set(method_colours(names[:20]).values())) == len(COLOURS) == 20
    looks = zip(method_colours(names).values(), method_markers(names).values(), strict=True)
    assert len(set(looks)) == 25


# ---- words and numbers ---------------------------------------------------------------------


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


# ---- files ---------------------------------------------------------------------------------


def test_files_are_the_same_each_time() -> None:
    scores = make_scores(("A", "B"), 2, ("corrected",), ("dsc",))
    for form in ("svg", "png", "pdf"):
        first, second = (figure_bytes(blob(scores, "dsc"), form) for _ in range(2))
        assert first == second
        assert b"CreationDate" not in first
        assert b"<dc:date>" not in first


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("vi CELIAC TRUNK", "vi-celiac-trunk"),
        ("../../etc/passwd", "etc-passwd"),
        ("<script>", "script"),
        ("名前", "figure"),
        ("x" * 300, "x" * 80),
    ],
)
def test_file_names_are_safe(name: str, file: str) -> None:
    assert slug(name) == file


def test_saving_leaves_nothing_half_written(tmp_path: Path) -> None:
    written = save_figure(Figure(figsize=(1, 1)), tmp_path / "new", "a b", ("png",))
    assert written == {"png": tmp_path / "new" / "a-b.png"}
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a-b.png"]


def test_the_style_is_ours_alone_and_only_while_drawing() -> None:
    before = dict(mpl.rcParams)
    with mpl.rc_context({"font.size": 40.0}), styled():
        assert mpl.rcParams["font.size"] == 7.0
    assert dict(mpl.rcParams) == before
