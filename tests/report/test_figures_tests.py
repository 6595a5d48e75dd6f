"""Figures of tests between methods: bars, triangles and numbers are those of other libraries."""

from __future__ import annotations

import itertools
import re
import warnings
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scikit_posthocs import posthoc_conover_friedman
from scipy import stats
from statsmodels.stats.multitest import multipletests

from segjury.analysis import Settings
from segjury.analysis.ranking import Rules
from segjury.analysis.study import Study, completed
from segjury.errors import InputError
from segjury.report.figures import method_colours, method_markers
from segjury.report.figures.drawing.style import styled
from segjury.report.figures.saving.save import figure_bytes
from segjury.report.figures.tests.cd import CD, cd, cd_alt, cd_data
from segjury.report.figures.tests.pvalues import (
    P_VALUES,
    p_values,
    p_values_alt,
    p_values_data,
)
from segjury.report.figures.tests.significance import (
    SIGNIFICANCE,
    significance,
    significance_alt,
    significance_data,
)
from segjury.results.read import read_scores
from segjury.wording import plain
from tests.places import PUBLISHED
from tests.score_tables import ODD_NAMES, labelled, make_scores

LONG = tuple(
    f"{n:02d} sixty characters of a name that somebody thought needed!!" for n in range(20)
)
KINDS = (CD, SIGNIFICANCE, P_VALUES)


def skilled(
    methods: tuple[str, ...], cases: int, spread: float, metrics: tuple[str, ...] = ("dsc", "crps")
) -> pd.DataFrame:
    """A table in which the methods get worse one by one, by `spread` in all, with noise of SD 1."""
    generator = np.random.default_rng(5)
    table = make_scores(methods, cases, ("corrected",), metrics)
    skill = dict(zip(methods, np.linspace(spread, 0, len(methods)), strict=True))
    better = table["metric"].map({"dsc": 1.0, "crps": -1.0})
    noise = generator.normal(size=len(table))
    table["value"] = 20 + better * table["method"].map(skill) + noise
    return table


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(skilled(("F", "E", "D", "C", "B", "A"), 20, 2.0))


@pytest.fixture(scope="module")
def close() -> Study:
    """Twenty methods with long names and hardly a difference."""
    return Study(skilled(LONG, 30, 0.2, ("dsc",)))


@pytest.fixture(scope="module")
def published() -> Study:
    ranks = read_scores(PUBLISHED / "smile_uhura_ranks_dice.csv", matrix="dice")
    return Study(completed(ranks), Rules(directions={"dice": "lower"}))


def table_of(study: Study, metric: str) -> pd.DataFrame:
    rows = study.scores[study.scores["metric"] == metric]
    return rows.pivot(index="case", columns="method", values="value")


def holm_of_pairs(p_of_pair: dict[tuple[str, str], float]) -> dict[frozenset[str], float]:
    adjusted = multipletests(list(p_of_pair.values()), method="holm")[1]
    return {frozenset(pair): p for pair, p in zip(p_of_pair, adjusted, strict=True)}


def conover_holm(table: pd.DataFrame) -> dict[frozenset[str], float]:
    raw = posthoc_conover_friedman(table)
    return holm_of_pairs({(a, b): raw.loc[a, b] for a, b in itertools.combinations(table, 2)})


def wilcoxon_holm(table: pd.DataFrame) -> dict[frozenset[str], float]:
    return holm_of_pairs(
        {
            (a, b): stats.wilcoxon(table[a], table[b], method="exact").pvalue
            for a, b in itertools.combinations(table, 2)
        }
    )


def small_print(figure: Figure) -> str:
    return figure.get_supxlabel().replace("\n", " ")


def drawn_texts(figure: Figure) -> list[tuple[str, np.ndarray]]:
    """What can be read in a figure and the box that it covers, in points."""
    with styled(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.draw_without_rendering()  # ticks are placed only then
    texts = list(figure.texts)
    for axes in figure.axes:
        texts += axes.texts
        if axes.axison:
            for axis in (axes.xaxis, axes.yaxis):
                low, high = sorted(axis.get_view_interval())
                ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
                texts += [label for at, label in ticks if low <= at <= high]
                texts.append(axis.label)
    renderer = FigureCanvasAgg(figure).get_renderer()
    with styled(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        return [
            (text.get_text(), text.get_window_extent(renderer).extents * 72 / figure.dpi)
            for text in texts
            if text.get_text()
        ]


def check_texts(figure: Figure) -> None:
    """No text overlaps another or is cut off, and all can be read in print."""
    found = drawn_texts(figure)
    boxes = np.array([box for _, box in found]) + np.array([0.7, 0.7, -0.7, -0.7])
    width, height = 72 * figure.get_size_inches()
    cut = (boxes[:, :2] < -1).any(axis=1) | (boxes[:, 2] > width + 1) | (boxes[:, 3] > height + 1)
    assert not [found[n][0] for n in np.flatnonzero(cut)]
    apart = (boxes[:, None, :2] >= boxes[None, :, 2:]).any(axis=2)
    both = ~(apart | apart.T) & ~np.eye(len(boxes), dtype=bool)
    assert not [(found[a][0], found[b][0]) for a, b in np.argwhere(both)]
    sizes = {text.get_fontsize() for axes in figure.axes for text in axes.texts}
    assert not sizes or min(sizes) >= 4.0


def check_kind(kind, study: Study, subject: dict[str, str]) -> None:
    """What every kind of figure promises, on one study."""
    drawn = kind.illustrate(study, subject)
    check_texts(drawn.figure)
    assert drawn.data is not None
    assert len(drawn.data)
    assert len(drawn.alt) < 1600
    svg = figure_bytes(drawn.figure, "svg")
    assert b"<script" not in svg
    ElementTree.fromstring(svg)  # noqa: S314  (a file made here)


# ---- critical differences ------------------------------------------------------------------


def bars_of(figure: Figure) -> dict[str, tuple[float, float]]:
    return {
        n: (min(line.get_xdata()), max(line.get_xdata()))
        for n, line in labelled(figure, "bar").items()
    }


def under(bar: tuple[float, float], ranks: pd.Series) -> set[str]:
    """The methods that a reader sees under a bar."""
    return set(ranks.index[(ranks > bar[0] - 1e-9) & (ranks < bar[1] + 1e-9)])


@pytest.mark.parametrize(("metric", "higher"), [("dsc", True), ("crps", False)])
def test_methods_stand_at_their_mean_ranks(study: Study, metric: str, higher: bool) -> None:
    figure = cd(study, metric)
    expected = table_of(study, metric).rank(axis=1, ascending=not higher).mean()
    marks = labelled(figure, "mean rank")
    assert set(marks) == set(expected.index)
    colours, looks = method_colours(expected.index), method_markers(expected.index)
    for method, rank in expected.items():
        assert marks[method].get_xdata()[0] == pytest.approx(rank)
        assert labelled(figure, "line")[method].get_xdata()[:2] == pytest.approx([rank, rank])
        assert labelled(figure, "number")[method].get_text() == f"{rank:.2f}"
        for mark in (marks[method], labelled(figure, "mark")[method]):
            assert to_hex(mark.get_color()) == colours[method]
            assert mark.get_marker() == looks[method]
    low, high = figure.axes[0].get_xlim()
    assert low < expected.min() <= expected.max() < high


@pytest.mark.parametrize("metric", ["dsc", "crps"])
def test_methods_share_a_bar_if_and_only_if_no_pair_between_them_differs(
    study: Study, metric: str
) -> None:
    table = table_of(study, metric)
    ranks = table.rank(axis=1, ascending=metric == "crps").mean().sort_values()
    differs = {pair for pair, p in conover_holm(table).items() if p < 0.05}
    groups = [under(bar, ranks) for bar in bars_of(cd(study, metric)).values()]
    assert 2 <= len(groups) < len(differs)
    order = list(ranks.index)
    for i, j in itertools.combinations(range(len(order)), 2):
        between = map(frozenset, itertools.combinations(order[i : j + 1], 2))
        together = any({order[i], order[j]} <= group for group in groups)
        assert together == differs.isdisjoint(between)
    assert not any(one < other for one in groups for other in groups)


def test_bars_and_statistic_are_those_of_the_published_ranks(published: Study) -> None:
    figure = cd(published, "dice")
    assert "χ²(17) = 127.70, p < .001, 11 cases" in small_print(figure)
    ranks = pd.read_csv(PUBLISHED / "smile_uhura_ranks_dice.csv", index_col="subject").mean()
    groups = [under(bar, ranks) for bar in bars_of(figure).values()]
    pairs = pd.read_csv(PUBLISHED / "smile_uhura_conover_pairs.csv")
    listed = pairs[(pairs["metric"] == "Dice") & (pairs["p_holm"] < 0.05)]
    differ = {frozenset(pair) for pair in listed[["method_a", "method_b"]].itertuples(index=False)}
    assert len(differ) == 76
    for group in groups:
        assert differ.isdisjoint(map(frozenset, itertools.combinations(group, 2)))
    order = list(ranks.sort_values().index)
    for pair in itertools.pairwise(order):
        assert any(set(pair) <= group for group in groups) == (frozenset(pair) not in differ)


def test_bars_that_overlap_are_in_different_lanes(published: Study) -> None:
    lanes: dict[float, list[tuple[float, float]]] = {}
    for bar in labelled(cd(published, "dice"), "bar").values():
        lanes.setdefault(round(bar.get_ydata()[0], 6), []).append(tuple(bar.get_xdata()))
    assert 1 < len(lanes) < sum(map(len, lanes.values()))
    for bars in lanes.values():
        for (_, end), (start, _) in itertools.pairwise(sorted(bars)):
            assert start > end


def test_one_bar_holds_all_where_friedman_finds_no_difference(close: Study) -> None:
    table = table_of(close, "dsc")
    expected = stats.friedmanchisquare(*table.to_numpy().T)
    assert expected.pvalue > 0.05
    figure = cd(close, "dsc")
    ranks = table.rank(axis=1, ascending=False).mean()
    ((low, high),) = bars_of(figure).values()
    assert (low, high) == pytest.approx((ranks.min(), ranks.max()))
    assert f"χ²(19) = {expected.statistic:.2f}" in small_print(figure)
    assert "no difference between the methods" in small_print(figure)
    assert "No difference between methods was found" in cd_alt(close, "dsc")


def test_two_methods_without_any_rank_between_them() -> None:
    scores = make_scores(("A", "B"), 4, ("corrected",), ("dsc",)).assign(value=0.5)
    figure = cd(scores, "dsc")
    assert bars_of(figure) == {"1": (1.5, 1.5)}
    assert "χ²(1) = –, p = 1" in small_print(figure)  # noqa: RUF001  (a dash is meant)


def test_lines_to_the_names_never_cross(close: Study) -> None:
    lines = [np.array(line.get_xydata()) for line in labelled(cd(close, "dsc"), "line").values()]
    for (_, corner, end), (start, other, _) in itertools.permutations(lines, 2):
        reach = sorted((corner[0], end[0]))
        crosses = reach[0] < start[0] < reach[1] and other[1] < corner[1]
        assert not crosses


def test_the_words_and_the_table_of_a_diagram(study: Study) -> None:
    words, data = cd_alt(study, "dsc"), cd_data(study, "dsc")
    ranks = table_of(study, "dsc").rank(axis=1, ascending=False).mean()
    assert all(f"{method} {rank:.2f}" in words for method, rank in ranks.items())
    assert data.groupby("method")["mean_rank"].first().to_dict() == pytest.approx(ranks.to_dict())
    assert data["p"].iloc[0] == pytest.approx(
        stats.friedmanchisquare(*table_of(study, "dsc").to_numpy().T).pvalue
    )
    drawn = {int(n): under(bar, ranks) for n, bar in bars_of(cd(study, "dsc")).items()}
    listed = data.dropna(subset="bar").groupby("bar")["method"].agg(set).to_dict()
    assert listed == drawn


# ---- significance map ----------------------------------------------------------------------


def rank_biserial(first: pd.Series, second: pd.Series) -> float:
    difference = first - second
    ranks = stats.rankdata(difference.abs())
    return float((ranks * np.sign(difference)).sum() / ranks.sum())


@pytest.mark.parametrize(("metric", "towards"), [("dsc", 1), ("crps", -1)])
def test_triangles_and_shades_are_of_wilcoxon_and_holm(
    study: Study, metric: str, towards: int
) -> None:
    table, order = table_of(study, metric), study.methods
    adjusted = wilcoxon_holm(table)
    better, worse, effects, small = set(), set(), {}, {}
    for (i, a), (j, b) in itertools.permutations(enumerate(order), 2):
        effect = towards * rank_biserial(table[a], table[b])
        if adjusted[frozenset((a, b))] < 0.05:
            (better if effect > 0 else worse).add((j, i))
            effects[i, j] = effect
        else:
            small[j, i] = effect
    figure = significance(study, metric)
    drawn = labelled(figure, "significantly")
    assert len(better) > 3
    assert {tuple(map(int, at)) for at in drawn["better"].get_offsets()} == better
    assert {tuple(map(int, at)) for at in drawn["worse"].get_offsets()} == worse
    cells = {mesh.get_label(): mesh for mesh in figure.axes[0].collections}
    matrix = cells["significant"].get_array()
    assert {at: matrix[at] for at in effects} == pytest.approx(effects)
    assert matrix.count() == len(effects)
    squares = cells["not significant"]
    drawn_small = zip(squares.get_offsets(), squares.get_array(), strict=True)
    found = {tuple(map(int, at)): effect for at, effect in drawn_small}
    assert found == pytest.approx(small)


def test_rows_are_named_and_numbered_and_columns_numbered(study: Study) -> None:
    order = [str(name) for name in study.analysis.board.position.index]
    for figure in (significance(study, "dsc"), p_values(study, "dsc")):
        axes = figure.axes[0]
        rows = [label.get_text() for label in axes.get_yticklabels()]
        assert rows == [f"{name}  {n}" for n, name in enumerate(order, 1)]
        assert [label.get_text() for label in axes.get_xticklabels()] == list("123456")
        assert set(labelled(figure, "mark")) == set(order)


def test_a_median_of_zero_leaves_the_direction_to_the_ranks() -> None:
    scores = make_scores(("A", "B"), 20, ("corrected",), ("dsc",))
    ahead = (scores["method"] == "B") & (scores["case"] < "P008")
    scores["value"] = 0.5 + ahead * (0.1 + 0.01 * scores["case"].str[-1].astype(int))
    figure = significance(scores, "dsc")
    assert labelled(figure, "significantly")["better"].get_offsets().tolist() == [[1.0, 0.0]]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["B  1", "A  2"]
    # eight differences above 0: 2 / 2^8
    assert significance_data(Study(scores), "dsc")["p"].tolist() == pytest.approx([2**-7, 2**-7])


def test_too_few_cases_are_said_to_show_nothing() -> None:
    said = {
        4: "With 4 cases no exact test of two methods gives a p below .12",  # 2 / 2^4
        6: "With 6 cases no adjusted p of Wilcoxon's can be below .09",  # 3 pairs, 2 / 2^6 each
    }
    for cases, sentence in said.items():
        scores = skilled(("A", "B", "C"), cases, 30.0, ("dsc",))
        for figure in (significance(scores, "dsc"), p_values(scores, "dsc")):
            assert sentence in small_print(figure)
    drawn = labelled(significance(scores, "dsc"), "significantly")
    assert [len(marks.get_offsets()) for marks in drawn.values()] == [0, 0]
    assert "0 pairs differ" in significance_alt(Study(scores), "dsc")


def test_the_words_of_a_map_count_who_is_better(study: Study) -> None:
    adjusted = wilcoxon_holm(table_of(study, "dsc"))
    differing = [pair for pair, p in adjusted.items() if p < 0.05]
    words = significance_alt(study, "dsc")
    assert f"{len(differing)} pairs differ" in words
    assert f"F {sum('F' in pair for pair in differing)}, 0" in words
    assert f"A 0, {sum('A' in pair for pair in differing)}" in words


# ---- p-values ------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["dsc", "crps"])
def test_wilcoxon_is_above_the_diagonal_and_conover_below(study: Study, metric: str) -> None:
    figure, order = p_values(study, metric), study.methods
    above, below = wilcoxon_holm(table_of(study, metric)), conover_holm(table_of(study, metric))
    axes = figure.axes[0]
    texts = {tuple(map(int, text.get_position())): text.get_text() for text in axes.texts}
    (mesh,) = axes.collections
    assert len(texts) == 30
    p_of_shade = []
    for (i, a), (j, b) in itertools.permutations(enumerate(order), 2):
        p = (above if i < j else below)[frozenset((a, b))]
        written, shown = texts[j, i], mesh.get_array()[i, j]
        if written[0] in "<>":
            limit = float(written[1:])
            assert (p < limit) if written[0] == "<" else (p > limit)
        else:
            assert float(written) == pytest.approx(p, abs=0.005)
        assert shown >= 0.5 if p < 0.05 else shown <= 0.25
        p_of_shade.append((shown, p))
    falling = [p for _, p in sorted(p_of_shade)]
    dark = [p for shade, p in sorted(p_of_shade) if shade < 1]
    assert dark == pytest.approx(sorted(falling, reverse=True)[: len(dark)])
    assert np.ma.getmaskarray(mesh.get_array()).diagonal().all()
    assert re.search("Upper right: Wilcoxon.*Lower left: Conover", small_print(figure))


def test_another_alpha_moves_the_step(study: Study) -> None:
    strict = Study(study.scores, settings=Settings(alpha=0.01))
    (mesh,) = p_values(strict, "dsc").axes[0].collections
    data = p_values_data(strict, "dsc")
    shades = mesh.get_array()[data["row"] - 1, data["column"] - 1]
    assert ((data["p"] > 0.01) & (data["p"] < 0.05)).any()
    assert ((shades >= 0.5) == (data["p"] < 0.01)).all()


def test_the_words_of_p_values_count_pairs_of_both_tests(study: Study) -> None:
    table, words = table_of(study, "dsc"), p_values_alt(study, "dsc")
    for test, adjusted in (("Wilcoxon", wilcoxon_holm(table)), ("Conover", conover_holm(table))):
        found = sum(p < 0.05 for p in adjusted.values())
        assert re.search(rf"{test}[^:]*: {found} of 15 pairs differ", words)


# ---- all of them ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_score_that_was_tested_has_one(kind, study: Study) -> None:
    assert kind.section == "tests"
    assert len(kind.help) <= 200
    assert [of["score"] for of in kind.subjects(study)] == ["dsc", "crps"]
    check_kind(kind, study, {"score": "crps"})
    first, second = (figure_bytes(kind.draw(study, score="crps"), "svg") for _ in range(2))
    assert first == second


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_nothing_is_drawn_of_one_case_or_one_method(kind) -> None:
    for methods, cases in ((("A", "B"), 1), (("A",), 5)):
        alone = Study(make_scores(methods, cases, ("corrected",), ("dsc",)))
        assert list(kind.subjects(alone)) == []
        with pytest.raises(InputError, match="nothing was tested"):
            kind.draw(alone, score="dsc")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("methods", [ODD_NAMES, ("A", "B"), ("A", "B", "C")], ids=["odd", "2", "3"])
def test_any_names_and_few_methods(kind, methods: tuple[str, ...]) -> None:
    odd = Study(skilled(methods, 12, 3.0, ("dsc",)))
    check_kind(kind, odd, {"score": "dsc"})
    assert all(plain(name) in cd_alt(odd, "dsc") for name in methods)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("spread", [0.2, 4.0])
def test_twenty_methods_with_long_names(kind, close: Study, spread: float) -> None:
    many = close if spread == 0.2 else Study(skilled(LONG, 30, spread, ("dsc",)))
    check_kind(kind, many, {"score": "dsc"})
