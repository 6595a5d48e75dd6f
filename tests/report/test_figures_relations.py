"""Figures of how scores and methods relate: trees, correlations and points read back."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy import stats
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform

from segjury.analysis.ranking import Rules
from segjury.analysis.study import Study, study_of
from segjury.errors import InputError
from segjury.protocols.ranking import Ranking
from segjury.report.figures import method_colours, method_markers
from segjury.report.figures.drawing.correlations import correlation_text
from segjury.report.figures.saving.save import figure_bytes
from segjury.report.figures.scores.correlation import (
    CORRELATION,
    correlation,
    correlation_alt,
    correlation_data,
)
from segjury.report.figures.scores.dendrogram import (
    DENDROGRAM,
    SCORE_TREE,
    dendrogram,
    dendrogram_alt,
    score_tree,
    score_tree_alt,
    signature_distances,
)
from segjury.report.figures.scores.pairs import PAIRS, pair_plot, pair_plot_alt, pair_plot_data
from tests.report.test_figures_tests import LONG, check_kind, small_print
from tests.score_tables import ODD_NAMES, labelled, make_scores

HIGHER = {"dsc": 1, "thr_dsc": 1, "mr_ece": -1, "crps": -1}
TITLES = {"dsc": "Dice", "thr_dsc": "Thr-Dice", "mr_ece": "MR-ECE", "crps": "CRPS"}
METHODS = ("A", "B", "C", "D", "E")
KINDS = (PAIRS, CORRELATION, DENDROGRAM, SCORE_TREE)


def related(methods: tuple[str, ...] = METHODS, cases: int = 12) -> pd.DataFrame:
    """Scores of which the first two go together; the methods differ, and so do the cases."""
    generator = np.random.default_rng(11)
    table = make_scores(methods, cases, ("corrected",), tuple(HIGHER))
    shape = (len(methods), cases)
    skill = generator.normal(size=(len(methods), 1)) + generator.normal(size=(1, cases))
    first = skill + 0.5 * generator.normal(size=shape)
    values = np.stack(
        [
            first,
            first + 0.3 * generator.normal(size=shape),
            -0.4 * skill + generator.normal(size=shape),
            generator.normal(size=shape),
        ],
        axis=-1,
    )
    return table.assign(value=values.ravel())


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(related())


def wide(study: Study) -> pd.DataFrame:
    """A row per method and case, a column per score, read from the table itself."""
    table = study.scores
    return table.pivot(index=["method", "case"], columns="metric", values="value")[list(HIGHER)]


def oriented(study: Study) -> pd.DataFrame:
    return wide(study) * pd.Series(HIGHER)


# ---- trees ---------------------------------------------------------------------------------


def row_names(axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def joined_at(figure: Figure, names: list[str]) -> dict[frozenset[str], float]:
    """At which distance every two leaves join, as the lines of the tree show it."""
    branches = {(0.0, float(y)): {name} for y, name in enumerate(names)}
    found = {}
    for line in sorted(labelled(figure, "merger").values(), key=lambda line: line.get_xdata()[1]):
        x, y = line.get_xdata(), line.get_ydata()
        one, two = branches.pop((x[0], y[0])), branches.pop((x[3], y[3]))
        assert x[1] == x[2]
        for a, b in itertools.product(one, two):
            found[frozenset((a, b))] = x[1]
        branches[x[1], (y[0] + y[3]) / 2] = one | two
    assert len(branches) == 1
    return found


def cophenetic(distances: np.ndarray, names: list[str]) -> dict[frozenset[str], float]:
    tree = hierarchy.cophenet(hierarchy.linkage(distances, "average"))
    return dict(zip(map(frozenset, itertools.combinations(names, 2)), tree, strict=True))


def test_methods_join_at_the_root_mean_square_difference_of_their_signatures(study: Study) -> None:
    standard = wide(study).apply(stats.zscore).unstack("case")
    expected = cophenetic(pdist(standard) / np.sqrt(standard.shape[1]), list(standard.index))
    figure = dendrogram(study)
    assert joined_at(figure, row_names(figure.axes[0])) == pytest.approx(expected)
    assert set(labelled(figure, "mark")) == set(METHODS)
    assert figure.axes[0].get_xlim()[1] > max(expected.values())
    assert "4 scores and 12 cases" in small_print(figure)


def test_distances_are_over_what_both_methods_have() -> None:
    nothing = np.nan
    signatures = np.array(
        [[[1.0, 2.0, nothing], [0.0, 4.0, 1.0]], [[nothing] * 3, [3.0, 3.0, 5.0]]]
    )
    first = np.sqrt((1 + 16 + 0) / 3)
    second, third = np.sqrt((1 + 4) / 2), np.sqrt((9 + 4) / 2)
    expected = squareform([first, second, third])
    np.testing.assert_allclose(signature_distances(signatures), expected)
    assert np.isnan(signature_distances(np.array([[[1.0, nothing]]]))[0, 1])


def test_a_case_without_a_score_does_not_count_for_the_tree() -> None:
    scores = related(cases=4)
    gone = (scores["case"] == "P001") & (scores["metric"] == "dsc")
    scores.loc[gone, "value"] = np.nan
    study = Study(scores)
    standard = wide(study).apply(stats.zscore, nan_policy="omit").unstack("case")
    standard = standard.dropna(axis=1)
    assert standard.shape == (5, 15)
    expected = cophenetic(pdist(standard) / np.sqrt(15), list(standard.index))
    figure = dendrogram(study)
    assert joined_at(figure, row_names(figure.axes[0])) == pytest.approx(expected)


def test_scores_join_at_one_minus_kendalls_tau_of_their_ranks(study: Study) -> None:
    means = oriented(study).groupby("method").mean()
    tau = [
        stats.kendalltau(means[a], means[b]).statistic for a, b in itertools.combinations(means, 2)
    ]
    expected = cophenetic(1 - np.array(tau), [TITLES[key] for key in means])
    figure = score_tree(study)
    assert joined_at(figure, row_names(figure.axes[0])) == pytest.approx(expected)


def test_a_score_that_ranks_nobody_is_at_one_from_all_others() -> None:
    scores = related()
    scores.loc[scores["metric"] == "crps", "value"] = 3.0
    figure = score_tree(scores)
    found = joined_at(figure, row_names(figure.axes[0]))
    others = [value for pair, value in found.items() if "CRPS" not in pair]
    assert max(others) > 0
    means = oriented(Study(scores)).groupby("method").mean()
    tau = np.array(
        [
            stats.kendalltau(means[a], means[b]).statistic
            for a, b in itertools.combinations(means, 2)
        ]
    )
    expected = cophenetic(np.where(np.isnan(tau), 1.0, 1 - tau), [TITLES[key] for key in means])
    assert found == pytest.approx(expected)


def test_equal_methods_and_equal_orders_join_at_nothing() -> None:
    scores = related(cases=3)
    scores["value"] = scores["metric"].map({"dsc": 0.7, "thr_dsc": 0.6, "mr_ece": 0.1, "crps": 2})
    figure = dendrogram(scores)
    assert set(joined_at(figure, row_names(figure.axes[0])).values()) == {0.0}
    ordered = scores["method"].map(dict(zip(METHODS, range(5), strict=True)))
    same = scores.assign(value=10 + ordered * scores["metric"].map(HIGHER))
    tree = score_tree(same)
    assert set(joined_at(tree, row_names(tree.axes[0])).values()) == {0.0}
    assert tree.axes[0].get_xlim() == (0.0, 1.0)


def test_trees_in_words_name_the_closest(study: Study) -> None:
    standard = wide(study).apply(stats.zscore).unstack("case")
    distances = pdist(standard) / np.sqrt(standard.shape[1])
    pairs = list(itertools.combinations(standard.index, 2))
    closest = set(pairs[int(distances.argmin())])
    one, two, at = re.search(r"alike: (\w) and (\w) at ([\d.]+)", dendrogram_alt(study)).groups()
    assert {one, two} == closest
    assert float(at) == pytest.approx(distances.min(), rel=1e-2)
    assert "Tree of 4 scores" in score_tree_alt(study)


# ---- correlations --------------------------------------------------------------------------


def within_methods(values: pd.DataFrame) -> pd.DataFrame:
    """Pearson's correlation of ranks within each method, about the method's mean rank."""
    ranks = values.groupby("method").rank()
    return (ranks - ranks.groupby("method").transform("mean")).corr()


def test_cells_are_spearman_over_all_rows_below_and_within_methods_above(study: Study) -> None:
    values = oriented(study)
    everywhere, inside = values.corr("spearman"), within_methods(values)
    assert (everywhere - inside).abs().max().max() > 0.05
    figure = correlation(study)
    axes = figure.axes[0]
    keys = {title: key for key, title in TITLES.items()}
    order = [keys[re.sub(r"  \d$", "", name)] for name in row_names(axes)]
    (mesh,) = axes.collections
    texts = {tuple(map(int, text.get_position())): text.get_text() for text in axes.texts}
    for (i, a), (j, b) in itertools.permutations(enumerate(order), 2):
        expected = (inside if i < j else everywhere).loc[a, b]
        assert mesh.get_array()[i, j] == pytest.approx(expected)
        written = float(texts[j, i].replace("\N{MINUS SIGN}", "-"))
        assert written == pytest.approx(expected, abs=0.005)
    assert len(texts) == 12
    assert "Lower left" in small_print(figure)
    assert "agree on what is good" in small_print(figure)


def test_scores_stand_in_the_order_of_their_tree(study: Study) -> None:
    figure = correlation(study)
    titles = [re.sub(r"  \d$", "", name) for name in row_names(figure.axes[0])]
    matrix = oriented(study).corr("spearman").to_numpy()
    distances = squareform(1 - matrix, checks=False)
    expected = cophenetic(distances, [TITLES[key] for key in HIGHER])
    assert joined_at(figure, titles) == pytest.approx(expected)
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    data = correlation_data(study)
    cells = data[data["what"] == "correlation"]
    assert ((cells["scope"] == "within methods") == (cells["row"] < cells["column"])).all()
    assert cells.loc[cells["scope"] == "all rows", "rows"].tolist() == [60] * 6
    assert (data["what"] == "tree").sum() == 7


def test_one_case_leaves_correlations_within_methods_open() -> None:
    scores = related(cases=1)
    figure = correlation(scores)
    (mesh,) = figure.axes[0].collections
    upper = np.triu_indices(4, 1)
    assert np.ma.getmaskarray(mesh.get_array())[upper].all()
    assert not np.ma.getmaskarray(mesh.get_array()).T[upper].any()


def test_correlations_as_journals_print_them() -> None:
    values = {0.854: ".85", -0.123: "\N{MINUS SIGN}.12", 1.0: "1", -1.0: "\N{MINUS SIGN}1"}
    values |= {0.0: "0", -0.001: "0", 0.999: "1", float("nan"): "–"}  # noqa: RUF001
    assert {value: correlation_text(value) for value in values} == values


def test_the_words_name_the_scores_that_agree_most(study: Study) -> None:
    matrix = oriented(study).corr("spearman")
    pairs = {(a, b): matrix.loc[a, b] for a, b in itertools.combinations(HIGHER, 2)}
    (a, b), value = max(pairs.items(), key=lambda item: item[1])
    for words in (correlation_alt(study), pair_plot_alt(study)):
        said = f"agreement: {TITLES[a]} and {TITLES[b]} {value:.2f}".replace("0.", ".")
        assert said in words


# ---- pair plot -----------------------------------------------------------------------------


def scale_of(axis, n: int) -> np.poly1d:
    """Value by place on the axis for the n-th score, from the ticks that a reader sees."""
    ticks = {
        at: float(label.get_text().replace("\N{MINUS SIGN}", "-"))
        for at, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        if abs(at - n) < 0.5
    }
    assert len(ticks) >= 2
    return np.poly1d(np.polyfit(list(ticks), list(ticks.values()), 1))


def points_in_cell(axes, places: np.ndarray, row: int, column: int) -> np.ndarray:
    """The values of the points in a cell, (points, 2)."""
    inside = (abs(places - [column, row]) < 0.5).all(axis=1)
    x, y = places[inside].T
    return np.stack([scale_of(axes.xaxis, column)(x), scale_of(axes.yaxis, row)(y)], axis=1)


def test_points_are_the_values_of_all_methods_and_cases(study: Study) -> None:
    figure = pair_plot(study)
    axes, values = figure.axes[0], wide(study)
    colours, looks = method_colours(METHODS), method_markers(METHODS)
    for method, line in labelled(figure, "points").items():
        assert to_hex(line.get_color()) == colours[method]
        assert line.get_marker() == looks[method]
        places = line.get_xydata()
        assert len(places) == 12 * 6
        for row, column in itertools.combinations(range(4), 2):
            found = points_in_cell(axes, places, column, row)
            expected = values.loc[method].iloc[:, [row, column]].to_numpy()
            np.testing.assert_allclose(found, expected, atol=1e-9)
    assert set(labelled(figure, "points")) == set(labelled(figure, "name")) == set(METHODS)
    assert labelled(figure, "lost") == {}


def test_correlations_stand_above_the_diagonal(study: Study) -> None:
    axes = pair_plot(study).axes[0]
    expected = oriented(study).corr("spearman").to_numpy()
    numbers = {
        tuple(map(int, text.get_position())): text.get_text()
        for text in axes.texts
        if not text.get_label().startswith(("row", "column"))
    }
    (mesh,) = axes.collections
    for i, j in itertools.combinations(range(4), 2):
        assert mesh.get_array()[i, j] == pytest.approx(expected[i, j])
        written = float(numbers[j, i].replace("\N{MINUS SIGN}", "-"))
        assert written == pytest.approx(expected[i, j], abs=0.005)
    assert len(numbers) == mesh.get_array().count() == 6


@pytest.mark.parametrize("methods", [METHODS, tuple("ABCDEFGH")], ids=["few", "many"])
def test_histograms_count_the_values_of_a_score(methods: tuple[str, ...]) -> None:
    study = Study(related(methods))
    figure = pair_plot(study)
    for n, key in enumerate(HIGHER):
        steps = labelled(figure, f"histogram {key}") if len(methods) == 5 else {}
        whole = labelled(figure, "histogram").get(key)
        assert (whole is None) == (len(methods) == 5)
        scale = scale_of(figure.axes[0].xaxis, n)
        heights, ground = {}, np.full(12, n + 0.5)
        for method, patch in (steps or {"": whole}).items():
            top, edges, floor = patch.get_data()
            assert floor == pytest.approx(ground)
            ground = top
            own = wide(study)[key] if not method else wide(study)[key].loc[method]
            counts = np.histogram(own, scale(edges))[0]
            assert counts.sum() == len(own)
            heights[method] = (floor - top) / np.maximum(counts, 1)
            assert ((floor > top + 1e-12) == (counts > 0)).all()
        drawn = np.concatenate([height[height > 1e-12] for height in heights.values()])
        assert drawn == pytest.approx(np.full(len(drawn), drawn[0]))  # one height per value


def test_titles_say_unit_and_the_better_end(study: Study) -> None:
    figure = pair_plot(study)
    columns = [text.get_text() for text in labelled(figure, "column").values()]
    assert columns == [
        "Dice\nbetter →",
        "Thr-Dice\nbetter →",
        "MR-ECE\n← better",
        "CRPS\ncm³\n← better",
    ]
    rows = labelled(figure, "row").values()
    assert [text.get_text() for text in rows] == columns
    assert {text.get_rotation() for text in rows} == {90.0}


def test_lost_predictions_are_hollow_and_at_the_edge_where_they_are_off_the_scale() -> None:
    scores = related()
    lost = (scores["method"] == "B") & (scores["case"] == "P003")
    scores.loc[lost, ["status", "value"]] = "missing", np.nan
    scores.loc[lost & (scores["metric"] == "dsc"), "value"] = -1e6
    study = Study(scores, Rules(ranking=Ranking(missing="worst")))
    figure = pair_plot(study)
    (line,) = labelled(figure, "lost").values()
    assert to_hex(line.get_markerfacecolor()) == "#ffffff"
    assert len(labelled(figure, "points")["B"].get_xydata()) == 11 * 6
    in_first_column = line.get_xydata()[line.get_xydata()[:, 0] < 0.5]
    assert len(in_first_column) == 3
    assert (in_first_column[:, 0] < -0.45).all()
    low, high = scale_of(figure.axes[0].xaxis, 0)([-0.42, 0.42])
    scored = wide(study)["dsc"].drop(("B", "P003"))
    assert (low, high) == pytest.approx((scored.min(), scored.max()))
    assert "Hollow: not scored" in small_print(figure)
    assert pair_plot_data(study)["lost"].sum() == 1


def test_only_the_first_nine_scores_are_drawn_and_it_is_said() -> None:
    names = tuple(f"s{n}" for n in range(11))
    scores = make_scores(("A", "B"), 5, ("corrected",), names)
    study = Study(scores, Rules(directions=dict.fromkeys(names, "higher")))
    figure = pair_plot(study)
    assert len(labelled(figure, "column")) == 9
    assert "The first 9 of 11 scores" in small_print(figure)
    assert figure.get_size_inches()[0] == pytest.approx(7.2)
    box = figure.axes[0].get_position()
    width, height = figure.get_size_inches() * [box.width, box.height]
    assert width == pytest.approx(height, rel=0.04)


def test_few_points_are_marks_and_many_are_pixels_below_means(study: Study) -> None:
    few = labelled(pair_plot(study), "points").values()
    assert len(few) == len(study.methods)
    assert not any(line.get_rasterized() for line in few)
    crowd = study_of(related(LONG, 70))
    figure = pair_plot(crowd)
    (grey,) = figure.findobj(lambda artist: artist.get_label() == "points")
    assert grey.get_rasterized()
    first, second = (crowd.ranked[n].key for n in (0, 1))
    table = pair_plot_data(crowd).query("what == 'case'")
    means = table.groupby("method")[[f"score {first}", f"score {second}"]].mean()
    size = len(table)  # the first so many points are of the second row's first cell
    for method, line in labelled(figure, "mean").items():
        for data, points, key in (
            (line.get_xdata()[0], grey.get_xdata()[:size], first),
            (line.get_ydata()[0], grey.get_ydata()[:size], second),
        ):
            values = table[f"score {key}"]
            share = (means.loc[method, f"score {key}"] - values.min()) / np.ptp(values)
            at_lowest, at_highest = points[values.argmin()], points[values.argmax()]
            assert data == pytest.approx(at_lowest + share * (at_highest - at_lowest))
    assert set(labelled(figure, "mean")) == set(crowd.methods)


# ---- all of them ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_table_has_one_of_each(kind, study: Study) -> None:
    assert kind.section == "relations"
    assert len(kind.help) <= 200
    assert list(kind.subjects(study)) == [{}]
    check_kind(kind, study, {})
    first, second = (figure_bytes(kind.draw(study), "svg") for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("methods", "cases", "metrics", "expected"),
    [
        (METHODS, 5, ("dsc",), {"dendrogram"}),
        (METHODS[:2], 5, ("dsc", "crps"), {"pairs", "correlation"}),
        (METHODS[:2], 1, ("dsc", "crps"), set()),
        (METHODS[:3], 1, ("dsc", "crps"), {"pairs", "correlation", "dendrogram"}),
        (METHODS[:1], 5, ("dsc", "crps", "mr_ece"), {"pairs", "correlation"}),
        (METHODS[:2], 1, ("dsc", "crps", "mr_ece"), {"score-tree"}),
    ],
)
def test_what_a_small_table_can_carry(
    methods: tuple[str, ...], cases: int, metrics: tuple[str, ...], expected: set[str]
) -> None:
    small = Study(make_scores(methods, cases, ("corrected",), metrics))
    drawn = [kind for kind in KINDS if kind.subjects(small)]
    assert {kind.name for kind in drawn} == expected
    for kind in drawn:
        check_kind(kind, small, {})


def test_what_cannot_be_correlated_is_said() -> None:
    for draw in (correlation, pair_plot):
        with pytest.raises(InputError, match="nothing can be correlated"):
            draw(make_scores(("A", "B"), 5, ("corrected",), ("dsc",)))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("methods", [ODD_NAMES, LONG], ids=["odd", "long"])
def test_any_names_and_number_of_methods(kind, methods: tuple[str, ...]) -> None:
    metrics = ("dsc", "thr_dsc", "mr_ece", "crps", "vi")
    scores = make_scores(methods, 20, ("corrected",), metrics)
    check_kind(kind, Study(scores), {})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_any_names_of_scores(kind) -> None:
    names = (*ODD_NAMES, *LONG[:3])
    scores = make_scores(METHODS, 4, ("corrected",), names)
    check_kind(kind, Study(scores, Rules(directions=dict.fromkeys(names, "higher"))), {})
