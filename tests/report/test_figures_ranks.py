"""Figures of ranks, read back from their artists: by hand, by loops over the same resamples."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from scipy.stats import binom, kendalltau, rankdata

from segjury.analysis.ranking import Rules
from segjury.analysis.study import Study, completed
from segjury.report.figures.drawing.rank_axis import place_ticks
from segjury.report.figures.drawing.style import method_colours, method_markers, styled
from segjury.report.figures.ranks import blob as blob_file
from segjury.report.figures.ranks import lines as lines_file
from segjury.report.figures.ranks import ranks as ranks_file
from segjury.report.figures.ranks import sensitivity as sensitivity_file
from segjury.report.figures.ranks import tau as tau_file
from segjury.report.figures.ranks.blob import blob, blob_data, blob_subjects
from segjury.report.figures.ranks.lines import lines, lines_data, tau_text
from segjury.report.figures.ranks.ranks import _lanes, ranks, ranks_data, spread_equal
from segjury.report.figures.ranks.sensitivity import sensitivity, sensitivity_data
from segjury.report.figures.ranks.tau import tau, tau_data, tau_step
from segjury.report.figures.saving.save import figure_bytes
from segjury.wording import plain
from tests.score_tables import ODD_NAMES, labelled, make_scores

FILES = (blob_file, ranks_file, tau_file, lines_file, sensitivity_file)
KINDS = {kind.name: kind for file in FILES for kind in file.KINDS}
SAMPLES = 1000


def study_of_values(values, metrics=("dsc",), **more):
    """A study of {method: values per case, or {metric: values}}; cases are 1, 2, ..."""
    rows = [
        (method, str(case), metric, value)
        for method, given in values.items()
        for metric in metrics
        for case, value in enumerate(given[metric] if isinstance(given, dict) else given, 1)
    ]
    table = pd.DataFrame(rows, columns=["method", "case", "metric", "value"])
    return Study(completed(table), **more)


def drawn_cases(study):
    """How often each case is in each resample: the first numbers of the seeded generator."""
    cases = len(study.analysis.panel.cases)
    generator = np.random.default_rng(study.settings.seed)
    return generator.multinomial(cases, np.full(cases, 1 / cases), size=SAMPLES)


def table_of(study, metric, structure="all"):
    """Values (cases, methods) read from the table itself."""
    rows = study.scores[
        (study.scores["metric"] == metric)
        & (study.scores["structure"] == structure)
        & (study.scores["reading"] == study.reading)
    ]
    return rows.pivot(index="case", columns="method", values="value")[list(study.methods)]


def resampled_ranks(study, metrics, lower=()):
    """Ranks of each resample by loops: those of each metric, and those of their mean."""
    tables = [table_of(study, metric).to_numpy() for metric in metrics]
    signs = [1 if metric in lower else -1 for metric in metrics]
    of_metrics, whole = [], []
    for counts in drawn_cases(study):
        means = [np.repeat(table, counts, axis=0).mean(axis=0).round(10) for table in tables]
        each = [rankdata(sign * mean) for sign, mean in zip(signs, means, strict=True)]
        of_metrics.append(each)
        whole.append(rankdata(np.mean(each, axis=0).round(10)))
    return np.array(of_metrics), np.array(whole)


@pytest.fixture(scope="module")
def study():
    """Five methods with scores of one digit, so that ties happen."""
    names = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon")
    scores = make_scores(names, 8, ("corrected", "released"), ("dsc", "crps"))
    scores["value"] = scores["value"].round(1)
    return Study(completed(scores))


@pytest.fixture(scope="module")
def resamples(study):
    return resampled_ranks(study, ("dsc", "crps"), lower=("crps",))


@pytest.fixture(scope="module")
def upset():
    """B 0.7, A 0.6, C 0.1 by the mean; without the third case, or by the median, A is first."""
    return study_of_values({"A": (0.9, 0.9, 0.0), "B": (0.7,) * 3, "C": (0.1,) * 3})


@pytest.fixture(scope="module")
def one_bad_case():
    """A is 0.1 ahead on five cases and 0.2 behind on the last: even if that is drawn twice."""
    return study_of_values({"A": (0.6,) * 5 + (0.3,), "B": (0.5,) * 6})


@pytest.fixture(scope="module")
def many():
    names = tuple(f"{i} {ODD_NAMES[i % len(ODD_NAMES)]}"[:60] for i in range(20))
    return Study(completed(make_scores(names, 12)))


# ---- bubbles -------------------------------------------------------------------------------


def shares_drawn(figure):
    """Shares by method and place from the areas; a full bubble is what a method's add up to."""
    found = {}
    for method, bubbles in labelled(figure, "blob").items():
        areas, places = bubbles.get_sizes(), bubbles.get_offsets()[:, 0]
        found[method] = dict(zip(places, areas / areas.sum(), strict=True))
    return found


@pytest.mark.parametrize("score", ["all", "dsc", "crps"])
def test_bubbles_are_the_shares_of_a_loop_over_the_resamples(study, resamples, score):
    of_metrics, whole = resamples
    found = whole if score == "all" else of_metrics[:, ["dsc", "crps"].index(score)]
    figure = blob(study, score)
    drawn = shares_drawn(figure)
    best = np.array([rankdata(row, method="min") for row in found])
    for m, method in enumerate(study.methods):
        places, counts = np.unique(best[:, m], return_counts=True)
        assert drawn[method] == pytest.approx(dict(zip(places, counts / SAMPLES, strict=True)))
        line = labelled(figure, "interval")[method].get_xdata()
        assert line == pytest.approx(np.percentile(found[:, m], [2.5, 97.5]))
        cross = labelled(figure, "median")[method].get_xdata()
        assert cross == pytest.approx(np.median(found[:, m]))


def test_bubbles_of_a_method_add_up_to_the_same_area_and_one_of_all_fills_its_cell(study):
    figure = blob(study)
    total = [bubbles.get_sizes().sum() for bubbles in labelled(figure, "blob").values()]
    assert total == pytest.approx([total[0]] * 5)
    axes = figure.axes[0]
    cell = np.min(axes.get_window_extent().size) / 5 * 72 / figure.dpi
    assert 0.94 * cell < np.sqrt(total[0]) <= cell
    tenth, half = axes.get_legend().legend_handles[:2]
    assert tenth.get_markersize() ** 2 == pytest.approx(0.1 * total[0])
    assert half.get_markersize() ** 2 == pytest.approx(0.5 * total[0])
    said = [text.get_text() for text in axes.get_legend().get_texts()]
    assert said == ["10 %", "50 % of the resamples", "median", "95 %"]


def test_shares_are_those_of_the_binomial_distribution(one_bad_case):
    times = binom(6, 1 / 6)
    drawn = shares_drawn(blob(one_bad_case))
    # the last case once or never: A first; twice: both first; more often: B first
    assert drawn["A"][1] == pytest.approx(times.cdf(2), abs=0.03)
    assert drawn["A"][2] == pytest.approx(times.sf(2), abs=0.03)
    assert drawn["B"][2] == pytest.approx(times.cdf(1), abs=0.045)
    data = blob_data(one_bad_case)
    assert data.groupby("method")["share"].sum().tolist() == pytest.approx([1, 1])


def test_small_bubbles_are_not_hidden_and_methods_keep_their_colour(study):
    figure = blob(study)
    for method, bubbles in labelled(figure, "blob").items():
        assert to_hex(bubbles.get_facecolor()[0]) == method_colours(study.all_methods)[method]
        assert bubbles.get_zorder() > labelled(figure, "interval")[method].get_zorder()
        assert bubbles.get_zorder() < labelled(figure, "median")[method].get_zorder()
        assert bubbles.get_linewidth()[0] == 0


def test_few_cases_or_one_method_have_no_bubbles():
    assert blob_subjects(Study(completed(make_scores(cases=5)))) == []
    assert blob_subjects(Study(completed(make_scores(("A",), cases=9)))) == []
    both = Study(completed(make_scores(("A", "B"), cases=6, metrics=("dsc", "crps"))))
    assert blob_subjects(both) == [{"score": "all"}, {"score": "dsc"}, {"score": "crps"}]


def test_places_are_numbered_as_far_as_there_is_room():
    assert place_ticks(6, 2.0) == [1, 2, 3, 4, 5, 6]
    assert place_ticks(20, 4.0) == list(range(1, 21))
    assert place_ticks(20, 1.7) == list(range(1, 21, 2))
    assert place_ticks(20, 0.8) == [1, 5, 10, 15, 20]
    assert place_ticks(1, 1.0) == [1]


# ---- the leaderboard -----------------------------------------------------------------------


def test_mean_ranks_and_their_parts_by_hand():
    values = {
        "A": {"dsc": (0.9,), "crps": (3.0,)},  # ranks 1 and 3
        "B": {"dsc": (0.8,), "crps": (1.0,)},  # 2 and 1
        "C": {"dsc": (0.1,), "crps": (2.0,)},  # 4 and 2
        "D": {"dsc": (0.5,), "crps": (4.0,)},  # 3 and 4
    }
    study = study_of_values(values, ("dsc", "crps"))
    figure = ranks(study)
    expected = {"B": (1.5, [2, 1]), "A": (2, [1, 3]), "C": (3, [4, 2]), "D": (3.5, [3, 4])}
    means, parts = labelled(figure, "mean rank"), labelled(figure, "scores")
    assert list(means) == list(expected)
    for y, (method, (mean, each)) in enumerate(expected.items()):
        assert (means[method].get_xdata()[0], means[method].get_ydata()[0]) == (mean, y)
        assert parts[method].get_xdata().tolist() == each
        assert to_hex(means[method].get_color()) == method_colours(study.all_methods)[method]
        assert means[method].get_marker() == method_markers(study.all_methods)[method]
    assert ranks_data(study).drop_duplicates("method")["place"].tolist() == [1, 2, 3, 4]
    # one case tells nothing of how sure that is
    assert labelled(figure, "interval") == labelled(figure, "group") == {}
    assert len(figure.axes) == 1


def test_intervals_are_percentiles_of_the_resampled_places(study, resamples):
    _, whole = resamples
    figure = ranks(study)
    for m, method in enumerate(study.methods):
        line = labelled(figure, "interval")[method]
        assert line.get_xdata() == pytest.approx(np.percentile(whole[:, m], [2.5, 97.5]))
        assert line.get_ydata().tolist() == [m, m]
    means = [table_of(study, metric).mean().round(10) for metric in ("dsc", "crps")]
    main = rankdata((rankdata(-means[0]) + rankdata(means[1])).round(10))
    drawn = [labelled(figure, "place")[method].get_xdata()[0] for method in study.methods]
    assert drawn == pytest.approx(list(main))
    assert labelled(figure, "raters") == {}


def test_a_letter_joins_methods_of_which_no_two_are_told_apart(study, resamples):
    _, whole = resamples
    joined = [
        tuple(int(y) for y in line.get_ydata()) for line in labelled(ranks(study), "group").values()
    ]

    def open_order(group):
        pairs = combinations(group, 2)
        won = [np.mean((whole[:, i] < whole[:, j]) + 0.5 * (whole[:, i] == whole[:, j]))
               for i, j in pairs]  # fmt: skip
        return all(0.025 < share < 0.975 for share in won)

    runs = [
        tuple(range(start, stop))
        for start in range(5)
        for stop in range(start + 1, 6)
        if open_order(range(start, stop))
    ]
    largest = [run for run in runs if not any(set(run) < set(other) for other in runs)]
    assert sorted(joined) == sorted(largest)


def test_overlapping_groups_stand_beside_each_other():
    lanes = _lanes({"a": [0, 1, 2], "b": [2, 3], "c": [3, 4], "d": [5]})
    assert lanes == {"a": 0, "b": 1, "c": 0, "d": 0}


def test_methods_far_apart_have_letters_of_their_own():
    study = study_of_values({"A": (0.9,) * 6, "B": (0.6,) * 6, "C": (0.3,) * 6})
    figure = ranks(study)
    assert set(labelled(figure, "group")) == {"a", "b", "c"}
    assert [text.get_text() for text in figure.axes[2].texts] == ["a", "b", "c", "group"]
    assert labelled(figure, "interval")["B"].get_xdata().tolist() == [2, 2]


def test_equal_ranks_are_spread_so_that_all_are_seen():
    offsets = spread_equal(np.array([1.0, 2.0, 1.0, 1.0]))
    assert offsets == pytest.approx([-0.16, 0, 0, 0.16])
    assert np.ptp(spread_equal(np.ones(50))) <= 0.72 + 1e-12


@pytest.fixture(scope="module")
def with_raters():
    """A score that is the mean of three raters' numbers, kept in the details."""
    generator = np.random.default_rng(4)
    taste = np.array([[0.0, 0.3, 0.6], [0.6, 0.3, 0.0], [0.0, 0.6, 0.9]])  # of raters, per method
    of_raters = generator.uniform(0, 0.3, (3, 7, 3)) + taste[:, None]
    methods, cases = ("A", "B", "C"), [str(case) for case in range(1, 8)]
    details = pd.DataFrame(
        [
            (method, case, "mr_ece", "all", "given", "ece", f"rater {r + 1}", of_raters[r, c, m])
            for m, method in enumerate(methods)
            for c, case in enumerate(cases)
            for r in range(3)
        ],
        columns=["method", "case", "metric", "structure", "reading", "quantity", "item", "value"],
    )
    means = of_raters.mean(axis=0)
    values = {method: means[:, m] for m, method in enumerate(methods)}
    return study_of_values(values, ("mr_ece",), details=details), of_raters


def test_the_thin_line_is_of_cases_and_raters(with_raters):
    study, of_raters = with_raters
    generator = np.random.default_rng(0)

    def draw(units):
        return generator.multinomial(units, np.full(units, 1 / units), size=SAMPLES)

    draw(7)  # those of the cases alone
    cases, raters = draw(7), draw(3)
    each = [
        rankdata(np.einsum("r,c,rcm->m", of_rater, of_case, of_raters).round(10))
        for of_rater, of_case in zip(raters, cases, strict=True)
    ]
    figure = ranks(study)
    thin, thick = labelled(figure, "raters"), labelled(figure, "interval")
    for m, method in enumerate("ABC"):
        expected = np.percentile(np.array(each)[:, m], [2.5, 97.5])
        assert thin[method].get_xdata() == pytest.approx(expected)
    assert thin["A"].get_xdata().tolist() == [1, 3]  # one rater likes it least
    assert thick["A"].get_xdata().tolist() == [1, 1]


def test_each_rater_is_left_out_once(with_raters):
    study, of_raters = with_raters
    data = sensitivity_data(study)
    own = data[data["changed"] == "without rater"]
    left = [np.delete(of_raters, r, axis=0).mean(axis=(0, 1)) for r in range(3)]
    places = np.array([rankdata(means, method="min") for means in left])
    for m, method in enumerate("ABC"):
        taken, counts = np.unique(places[:, m], return_counts=True)
        found = own[own["method"] == method]
        assert found["taken"].tolist() == taken.tolist()
        assert found["share"].tolist() == pytest.approx((counts / 3).tolist())


# ---- tau -----------------------------------------------------------------------------------


def test_tau_is_scipys_over_a_loop_of_the_resamples(study, resamples):
    of_metrics, whole = resamples
    means = [table_of(study, metric).mean().round(10) for metric in ("dsc", "crps")]
    main = {"dsc": rankdata(-means[0]), "crps": rankdata(means[1])}
    main["all"] = rankdata(((main["dsc"] + main["crps"]) / 2).round(10))
    found = {"dsc": of_metrics[:, 0], "crps": of_metrics[:, 1], "all": whole}
    figure = tau(study)
    medians = {}
    for score, rows in found.items():
        different, which = np.unique(rows, axis=0, return_inverse=True)
        values = np.array([kendalltau(main[score], row).statistic for row in different])[which]
        values = values[~np.isnan(values)]  # not where all tie
        medians[score] = np.median(values)
        assert labelled(figure, "median")[score].get_xdata() == pytest.approx(medians[score])
        quartiles = labelled(figure, "quartiles")[score].get_xdata()
        assert quartiles == pytest.approx(np.percentile(values, [25, 75]))
        steps = np.ceil((1 - values) / 0.2 - 0.5 - 1e-9)  # five methods have ten pairs
        own = tau_data(study).query("score == @score")
        assert dict(zip(own["tau"].round(9), own["share"], strict=True)) == pytest.approx(
            {round(1 - 0.2 * step, 9): np.mean(steps == step) for step in np.unique(steps)}
        )
        assert own["resamples"].unique() == [len(values)]
    rows = labelled(figure, "median")
    order = sorted(rows, key=lambda score: rows[score].get_ydata()[0])
    assert [medians[score] for score in order] == sorted(medians.values(), reverse=True)


def test_bars_of_tau_are_as_high_as_their_share_and_within_its_bounds(one_bad_case):
    figure = tau(one_bad_case)  # two methods: tau is 1 or -1, and undefined where they tie
    bars = [bar for bar in figure.axes[0].patches if bar.get_height() > 0]
    middles = [bar.get_x() + bar.get_width() / 2 for bar in bars]
    assert middles == pytest.approx([1, -1])
    assert [bar.get_y() + bar.get_height() / 2 for bar in bars] == pytest.approx([0, 0])
    times = binom(6, 1 / 6)
    wrong = times.sf(2) / times.cdf(1)
    assert bars[1].get_height() / bars[0].get_height() == pytest.approx(wrong, abs=0.03)
    data = tau_data(one_bad_case)
    assert data["resamples"].iloc[0] == pytest.approx(SAMPLES * (1 - times.pmf(2)), abs=60)
    assert data["share"].sum() == pytest.approx(1)


def test_tau_that_never_changes_and_tau_that_is_nowhere_defined():
    values = {
        name: {"dsc": (value,) * 6, "crps": (1.0,) * 6}
        for name, value in (("A", 0.9), ("B", 0.6), ("C", 0.3))
    }
    study = study_of_values(values, ("dsc", "crps"))
    data = tau_data(study)
    steady = data[data["score"] == "dsc"]
    assert (steady["tau"].tolist(), steady["share"].tolist()) == ([1.0], [1.0])
    assert data[data["score"] == "crps"]["resamples"].tolist() == [0]
    figure = tau(study)
    assert set(labelled(figure, "median")) == {"dsc", "all"}
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "– (–, –)" in texts  # noqa: RUF001  (dashes are meant)
    assert "1.00 (1.00, 1.00)" in texts


@pytest.mark.parametrize(
    ("methods", "least", "step"), [(2, -1, 2), (3, -1, 2 / 3), (20, 0.8, 2 / 190), (20, 0, 6 / 190)]
)
def test_steps_of_tau_are_those_it_can_take_or_a_multiple(methods, least, step):
    assert tau_step(methods, least) == pytest.approx(step)


# ---- lines over choices --------------------------------------------------------------------


def column_of(data, kind, choice):
    own = data[(data["kind"] == kind) & (data["choice"] == choice)]
    return own.set_index("method")


def test_lines_by_hand(upset):
    data, figure = lines_data(upset), lines(upset)
    assert upset.methods == ("B", "A", "C")
    drawn = labelled(figure, "line")
    expected = {  # place, row and tau
        ("as ranked", "as ranked"): ({"B": 1, "A": 2, "C": 3}, "BAC", 1.0),
        ("aggregate", "median"): ({"A": 1, "B": 2, "C": 3}, "ABC", 1 / 3),
        # A has the ranks 1, 1, 3 and B 2, 2, 1; C 3, 3, 2
        ("scheme", "rank-then-aggregate"): ({"A": 1, "B": 1, "C": 3}, "BAC", 2 / np.sqrt(6)),
        # three cases give no p below 1/8
        ("scheme", "test-then-rank"): ({"A": 1, "B": 1, "C": 1}, "BAC", np.nan),
        ("ties", "min"): ({"B": 1, "A": 2, "C": 3}, "BAC", 1.0),
    }
    for (kind, choice), (places, order, tau_b) in expected.items():
        own = column_of(data, kind, choice)
        column = own["column"].iloc[0]
        assert own["place"].to_dict() == places
        assert own["tau"].tolist() == pytest.approx([tau_b] * 3, nan_ok=True)
        assert own["same_order"].tolist() == [order == "BAC" and len(set(places.values())) == 3] * 3
        for row, method in enumerate(order):
            assert drawn[method].get_xdata()[column] == column
            assert drawn[method].get_ydata()[column] == row


def test_tied_methods_are_joined_and_tau_stands_beneath(upset):
    data, figure = lines_data(upset), lines(upset)
    ties = labelled(figure, "tie")
    two = column_of(data, "scheme", "rank-then-aggregate")["column"].iloc[0]
    three = column_of(data, "scheme", "test-then-rank")["column"].iloc[0]
    assert {name: list(bar.get_ydata()) for name, bar in ties.items()} == {
        f"{two} 1": [0, 1],
        f"{three} 1": [0, 2],
    }
    said = {int(name): text.get_text() for name, text in labelled(figure, "tau").items()}
    assert said[two] == "0.82"
    assert said[three] == "–"  # noqa: RUF001  (a dash is meant)
    assert said[column_of(data, "ties", "min")["column"].iloc[0]] == "1.00\nsame"
    assert 0 not in said
    ends = {name: text.get_text() for name, text in labelled(figure, "end").items()}
    assert ends == {"B": "1  B", "A": "2  A", "C": "3  C"}


def test_every_choice_of_the_analysis_is_a_column(study):
    data = lines_data(study)
    found = study.analysis.sensitivity
    kinds = ("reading", "scheme", "aggregate", "ties", "digits")
    variants = [v for kind in kinds for v in found.variants if v.kind == kind]
    assert data["column"].nunique() == 1 + len(variants) == 10  # released is one of them
    for column, variant in enumerate(variants, 1):
        own = data[data["column"] == column]
        assert (own["kind"].iloc[0], own["choice"].iloc[0]) == (variant.kind, variant.choice)
        assert own["place"].tolist() == variant.places.tolist()
        assert own["tau"].iloc[0] == pytest.approx(variant.tau, nan_ok=True)
        assert sorted(own["row"]) == [0, 1, 2, 3, 4]
    labels = [
        label.get_text().replace("\n", "") for label in lines(study).axes[0].get_xticklabels()
    ]
    assert labels == ["as ranked", *(variant.choice for variant in variants)]


def test_tau_of_another_order_is_never_written_as_one():
    assert tau_text(0.997, same=False) == ">0.99"
    assert tau_text(1.0, same=True) == "1.00"
    assert tau_text(-1 / 3, same=False) == "\N{MINUS SIGN}0.33"


# ---- what the places depend on -------------------------------------------------------------


def test_places_without_a_case_by_hand(upset):
    figure = sensitivity(upset)
    data = sensitivity_data(upset)
    own = data[data["changed"] == "without case"]
    shares = {(row.method, row.taken): row.share for row in own.itertuples()}
    assert shares == pytest.approx(
        {("B", 1): 2 / 3, ("B", 2): 1 / 3, ("A", 1): 1 / 3, ("A", 2): 2 / 3, ("C", 3): 1}
    )
    ranges = labelled(figure, "range without case")
    assert {m: list(line.get_xdata()) for m, line in ranges.items()} == {
        "B": [1, 2],
        "A": [1, 2],
        "C": [3, 3],
    }
    places = labelled(figure, "place without case")
    assert [places[m].get_xdata()[0] for m in "BAC"] == [1, 2, 3]
    movers = labelled(figure, "mover without case")
    assert [movers[m].get_text() for m in "BAC"] == ["3", "3", ""]
    assert own.drop_duplicates("method").set_index("method")["moved"].to_dict() == {
        "B": 1,
        "A": -1,
        "C": 0,
    }


def test_shaded_cells_are_at_the_places_with_their_shares(upset):
    figure = sensitivity(upset)
    shades = labelled(figure, "shares")["without case"]
    at = [path.get_extents() for path in shades.get_paths()]
    cells = {
        (round((box.x0 + box.x1) / 2), "BAC"[round((box.y0 + box.y1) / 2)]): share
        for box, share in zip(at, shades.get_array(), strict=True)
    }
    assert cells == pytest.approx(
        {(1, "B"): 2 / 3, (2, "B"): 1 / 3, (1, "A"): 1 / 3, (2, "A"): 2 / 3, (3, "C"): 1}
    )


def test_a_choice_that_ties_all_is_left_out_and_said(upset):
    data = sensitivity_data(upset)
    own = data[data["changed"] == "other choices"]
    # rank-then-aggregate, median, three rules for ties, three and two digits
    assert own["variants"].unique() == [7]
    figure = sensitivity(upset)
    assert "ties all methods: test-then-rank" in figure.get_supxlabel().replace("\n", " ")
    movers = labelled(figure, "mover other choices")
    assert movers["B"].get_text() == "median"
    assert movers["A"].get_text() == "rank-then-aggregate +1"  # and the median, both to 1


def test_every_left_out_part_is_the_analysis(study):
    data = sensitivity_data(study)
    for kind in ("without case", "without metric"):
        variants = [v for v in study.analysis.sensitivity.variants if v.kind == kind]
        for m, method in enumerate(study.methods):
            own = data[(data["changed"] == kind) & (data["method"] == method)]
            places = [variant.places[m] for variant in variants]
            assert (own["low"].iloc[0], own["high"].iloc[0]) == (min(places), max(places))
            assert own["share"].sum() == pytest.approx(1)
            moved = [place - own["place"].iloc[0] for place in places]
            assert abs(own["moved"].iloc[0]) == max(map(abs, moved))
            as_far = sum(abs(by) == max(map(abs, moved)) for by in moved)
            assert own["others"].iloc[0] == (as_far - 1 if any(moved) else 0)


def test_a_metric_is_called_by_its_title():
    values = {
        "A": {"dsc": (0.9, 0.9), "crps": (2.0, 2.0), "vi": (2.0, 2.0)},
        "B": {"dsc": (0.5, 0.5), "crps": (1.0, 1.0), "vi": (1.0, 1.0)},
    }
    study = study_of_values(values, ("dsc", "crps", "vi"))
    data = sensitivity_data(study)
    own = data[data["changed"] == "without metric"].drop_duplicates("method")
    # without crps or vi the two tie, and A is first with B
    assert own.set_index("method")["mover"].to_dict() == {"A": "CRPS", "B": ""}
    assert own.set_index("method")["others"].to_dict() == {"A": 1, "B": 0}
    assert own["variants"].unique() == [3]


# ---- all kinds -----------------------------------------------------------------------------


def texts_of(figure):
    """Every text that is drawn."""
    yield from figure.texts
    for axes in figure.axes:
        yield from axes.texts
        if axes.get_legend():
            yield from axes.get_legend().get_texts()
        if not axes.axison:
            continue
        yield from (axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label)
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            shown = (tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high)
            yield from (label for tick in shown for label in (tick.label1, tick.label2)
                        if label.get_visible())  # fmt: skip


def boxes_of_texts(figure):
    """Texts that are drawn and what they cover, in pixels."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    with styled(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # names in any script
        figure.draw_without_rendering()  # legends are placed only then
        return [
            (text.get_text(), text.get_window_extent(renderer))
            for text in texts_of(figure)
            if text.get_text()
        ]


@pytest.fixture(scope="module")
def studies(study, many, upset, with_raters):
    return {
        "five": study,
        "many": many,
        "upset": upset,
        "raters": with_raters[0],
        "two": study_of_values({"A": (0.6,) * 6, "B": (0.5,) * 6}),
        "one case": Study(completed(make_scores(cases=1))),
        "one method": Study(completed(make_scores(("A",), cases=9))),
        "long score": Study(
            completed(make_scores(ODD_NAMES, 7, ("given",), (ODD_NAMES[0], ODD_NAMES[2]))),
            Rules(
                directions=dict.fromkeys(ODD_NAMES, "higher"), metrics=(ODD_NAMES[0], ODD_NAMES[2])
            ),
        ),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["five", "many", "raters", "two", "one case", "long score"])
def test_no_text_is_cut_off_or_over_another(studies, kind, name):
    study = studies[name]
    for subject in KINDS[kind].subjects(study)[-1:]:
        figure = KINDS[kind].draw(study, **subject)
        boxes = boxes_of_texts(figure)
        for text, box in boxes:
            assert box.x0 >= -0.5, text
            assert box.y0 >= -0.5, text
            assert box.x1 <= figure.bbox.x1 + 0.5, text
            assert box.y1 <= figure.bbox.y1 + 0.5, text
        for (one, a), (other, b) in combinations(boxes, 2):
            apart = max(a.x0, b.x0) > min(a.x1, b.x1) - 1 or max(a.y0, b.y0) > min(a.y1, b.y1) - 1
            assert apart, (one, other)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("five", {"blob", "ranks", "tau", "lines", "sensitivity"}),
        ("upset", {"ranks", "lines", "sensitivity"}),
        ("one case", {"ranks", "lines", "sensitivity"}),
        ("one method", set()),
    ],
)
def test_a_study_has_the_figures_it_can_carry(studies, name, kinds):
    assert {kind for kind in KINDS if KINDS[kind].subjects(studies[name])} == kinds


@pytest.mark.parametrize("kind", KINDS)
def test_words_for_the_blind_are_short_and_plain(studies, kind):
    subject = KINDS[kind].subjects(studies["many"])[0]
    words = KINDS[kind].alt(studies["many"], **subject)
    assert 100 < len(words) < 1500
    assert words == plain(words)
    assert len(KINDS[kind].help) <= 200
    few = KINDS[kind].alt(studies["five"], **subject)
    assert kind in ("tau", "sensitivity") or "Alpha" in few


def test_words_say_the_numbers(upset, study):
    alt = KINDS["lines"].alt(upset)
    assert "aggregate median tau 0.33, first A" in alt
    assert "scheme test-then-rank" in alt
    assert "ties min same order" in alt
    assert "without case (3): 2 of 3 methods move, most B from place 1, range 1 to 2, by 3" in (
        KINDS["sensitivity"].alt(upset)
    )
    assert "1 B 1.00; 2 A 2.00; 3 C 3.00." in KINDS["ranks"].alt(upset)
    found = study.analysis.stability.overall
    assert f"{study.methods[0]} median {found.median[0]:g}, {found.low[0]:g} to" in (
        KINDS["blob"].alt(study)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_study_gives_the_same_file(studies, kind):
    subject = KINDS[kind].subjects(studies["raters"])[0]
    first, second = (
        figure_bytes(KINDS[kind].draw(studies["raters"], **subject), "svg") for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("kind", KINDS)
def test_odd_names_are_text_and_files_stay_small(many, kind):
    subject = KINDS[kind].subjects(many)[0]
    svg = figure_bytes(KINDS[kind].draw(many, **subject), "svg")
    assert b"<script" not in svg
    assert len(svg) < 150_000
    assert kind == "tau" or b"&lt;script&gt;" in svg
