"""Tables for a paper: what stands in them, and that LaTeX would take them."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import segjury
from segjury.analysis.files import write_analysis, write_ranked_tables
from segjury.analysis.study import Study
from segjury.wording import latex_escaped, latex_table
from tests.commands import segjury as command
from tests.score_tables import ODD_NAMES, make_scores

ENVIRONMENT = re.compile(r"\\(begin|end)\{(\w+)\}")


def check_syntax(text):
    """Hold what LaTeX would stumble over: characters, braces, environments, cells of each line."""
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    bare = re.sub(r"\\[\\{}&%$#_]", "", re.sub(r"(?m)^%.*\n", "", text))
    assert not re.search(r"[%#~^]", re.sub(r"\$[^$]*\$", "", bare))
    assert bare.count("$") % 2 == 0
    depth = 0
    for char in bare:
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth >= 0
    assert depth == 0
    stack = []
    for kind, name in ENVIRONMENT.findall(text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    for table in text.split(r"\begin{tabular}")[1:]:
        spec = re.match(r"\{((?:[^{}]|\{[^{}]*\})*)\}", table)[1]
        width = len(re.sub(r"@\{[^{}]*\}", "", spec))
        for line in re.findall(r"(?m)^(.*) \\\\$", table):
            spans = [int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d)\}", line)]
            assert len(re.findall(r"(?<!\\)&", line)) + 1 + sum(spans) == width, line


@pytest.fixture(scope="module")
def table():
    """Four methods, of which two are equal in Dice, and one is best in CRPS."""
    values = {"A": (0.9, 12.25), "B": (0.9, 7.5), "C": (0.8, 101.0), "D": (0.85, 11.0)}
    rows = [
        (method, f"P{case}", metric, value, unit)
        for method, pair in values.items()
        for case in range(8)
        for metric, value, unit in zip(("dsc", "crps"), pair, ("", "cm3"), strict=True)
    ]
    return pd.DataFrame(rows, columns=["method", "case", "metric", "value", "unit"])


@pytest.fixture(scope="module")
def texts(table, tmp_path_factory):
    """The tables of `rank` and of `analyze`."""
    folder = tmp_path_factory.mktemp("latex")
    table.to_csv(folder / "s.csv", index=False)
    for name in ("rank", "analyze"):
        options = ("--bootstrap", 100, "--out", folder)
        done = command(
            name, folder / "s.csv", *options, *(["--baseline", "C"][: 2 * (name != "rank")])
        )
        assert done.returncode == 0, done.stderr
    return [(folder / f"{name}.tex").read_text("utf-8") for name in ("leaderboard", "analysis")]


def rows(text):
    """The cells of each line, by its first."""
    lines = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if " & " in line]
    return {first: cells for first, *cells in lines}


def test_a_leaderboard_for_a_paper(texts):
    board, _ = texts
    check_syntax(board)
    found = rows(board)
    head = found["Method"]
    assert r"\multicolumn{2}{c}{Dice $\uparrow$}" in head
    assert r"\multicolumn{2}{c}{CRPS (cm$^{3}$) $\downarrow$}" in head
    digits = [found[method][-4] for method in "ABCD"]
    assert digits == [r"\textbf{0.900}", r"\textbf{0.900}", "0.800", r"\underline{0.850}"]
    crps = [found[method][-2] for method in "BDAC"]
    assert crps == [r"\textbf{7.500}", r"\underline{11.000}", "12.250", "101.000"]
    assert [found[method][-1] for method in "BDAC"] == ["(1)", "(2)", "(3)", "(4)"]
    assert r"\label{tab:leaderboard}" in board
    assert r"\centering" in board
    caption = re.search(r"\\caption\{(.*)\}\n", board)[1]
    for words in ("mean over 8 cases", r"$\uparrow$ higher is better", "Best in bold"):
        assert words in caption


def test_the_tables_of_an_analysis_for_a_paper(texts):
    _, analysis = texts
    check_syntax(analysis)
    labels = re.findall(r"\\label\{(.*)\}", analysis)
    assert labels == ["tab:ranks", "tab:medians", "tab:friedman", "tab:wilcoxon-c"]
    medians = rows(analysis.split(r"\label{tab:medians}")[1].split(r"\end{table}")[0])
    assert medians["B"] == [rf"\textbf{{{text}}}" for text in ("0.900", "0.000", "7.500", "0.000")]
    assert r"$\chi$$^{2}$" in analysis


def test_one_method_is_not_the_best(table, tmp_path):
    study = Study.of(segjury.read(table, methods=["A"]), samples=100)
    write_ranked_tables(study.leaderboards(), tmp_path, study.columns_of(study.leaderboards()))
    text = (tmp_path / "leaderboard.tex").read_text("utf-8")
    check_syntax(text)
    assert "textbf" not in text
    assert "% 1 of 4 methods shown" in text


def test_odd_names_are_escaped(tmp_path):
    scores = make_scores(ODD_NAMES, 7, ("corrected",), cohort="50% {of} \\all$ #1_~^")
    study = Study.of(segjury.read(scores), by=["cohort"], baselines=ODD_NAMES[:2], samples=100)
    write_ranked_tables(study.leaderboards(), tmp_path, study.columns_of(study.leaderboards()))
    write_analysis(study.analysis, tmp_path, study.ranked)
    files = sorted(tmp_path.glob("*.tex"))
    assert len(files) == 3
    for file in files:
        text = file.read_text("utf-8")
        check_syntax(text)
        labels = re.findall(r"\\label\{(.*)\}", text)
        assert len(set(labels)) == len(labels)
        assert all(re.fullmatch(r"tab:[a-z0-9-]+", label) for label in labels)


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("a--b", "a-{}-b"),
        ("1 ± 2", r"1 $\pm$ 2"),
        ("\N{MINUS SIGN}1", "$-$1"),
        ("cm³", "cm$^{3}$"),
        ("a|b", r"a\textbar{}b"),
        ("Größe", "Größe"),
    ],
)
def test_signs_that_latex_has_commands_for(text, latex):
    assert latex_escaped(text) == latex


def test_cells_are_aligned_where_they_are_split():
    text = latex_table(
        ["m", "v"], [["a", "1.0 ± 0.5"], ["b", "-"]], caption="c", label="t", split={1: " ± "}
    )
    check_syntax(text)
    assert r"\begin{tabular}{lr@{ $\pm$ }l}" in text
    assert r"a & 1.0 & 0.5 \\" in text
    assert r"b & \multicolumn{2}{c}{-} \\" in text
