"""How scores spread over cases: boxes, groups, podiums and rank maps, read from their artists."""

from __future__ import annotations

import warnings
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy.stats import rankdata

from segjury.analysis import Settings
from segjury.analysis.ranking import Ranking, Rules
from segjury.analysis.study import Study, completed
from segjury.report.figures import method_colours, method_markers
from segjury.report.figures.drawing.box import box
from segjury.report.figures.drawing.style import styled
from segjury.report.figures.kind import Kind
from segjury.report.figures.saving.save import figure_bytes
from segjury.report.figures.scores.boxes import BOXES, boxes, boxes_data
from segjury.report.figures.scores.groups import GROUPS, groups
from segjury.report.figures.scores.podium import PODIUM, podium
from segjury.report.figures.scores.rank_map import RANK_MAP, rank_map
from segjury.wording import plain, wrapped
from tests.score_tables import ODD_NAMES, labelled, make_scores

FAST = Settings(samples=1)  # nothing here is resampled
KINDS = (BOXES, GROUPS, PODIUM, RANK_MAP)
TWENTY = tuple(f"Method {chr(65 + i)}" for i in range(20))


def study_with(**options: object) -> Study:
    return Study(completed(make_scores(readings=("published",), **options)), settings=FAST)


@pytest.fixture(scope="module")
def three() -> Study:
    return study_with(cases=9, cohort="hard")


@pytest.fixture(scope="module")
def twenty() -> Study:
    scores = make_scores(TWENTY, 64, ("published",), ("dsc", "crps"))
    return Study(
        completed(scores.assign(group=scores["case"].map(lambda case: "ABC"[int(case[1:]) % 3])))
    )


def by_case(study: Study, metric: str, structure: str = "all") -> pd.DataFrame:
    """The values of a score, a row per case, a column per method in the leaderboard's order."""
    table = study.scores
    rows = table[(table["metric"] == metric) & (table["structure"] == structure)]
    return rows.pivot(index="case", columns="method", values="value")[list(study.methods)]


def cut_off(figure: Figure) -> float:
    """How far anything that is drawn reaches beyond the figure's edge, in inches."""
    for text in figure.findobj(Text):
        text.set_in_layout(True)
    with styled(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        drawn = figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer())
    width_in, height_in = figure.get_size_inches()
    return max(-drawn.x0, -drawn.y0, drawn.x1 - width_in, drawn.y1 - height_in)


def small_print(figure: Figure) -> str:
    return figure.get_supxlabel().replace("\n", " ")


# ---- what all of them keep -----------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    "methods", [ODD_NAMES, ODD_NAMES[:2], tuple(f"{i} {'x' * 60}" for i in range(20))]
)
def test_odd_and_long_names_are_drawn_as_they_are_and_not_cut_off(
    kind: Kind, methods: tuple[str, ...]
) -> None:
    study = study_with(methods=methods, cases=4, metrics=("dsc",), cohort="$hard$ <b>")
    picture = kind.illustrate(study, kind.subjects(study)[0])
    assert cut_off(picture.figure) < 0.01
    svg = figure_bytes(picture.figure, "svg")
    assert b"<script" not in svg
    assert b"<b>" not in svg
    root = ElementTree.fromstring(svg)  # noqa: S314  (a file made here)
    texts = {"".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")}
    for method in methods:
        assert set(wrapped(method, width=24).split("\n")) <= texts
        assert plain(method) in picture.alt


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_twenty_methods_are_told_shortly_and_files_stay_small(kind: Kind, twenty: Study) -> None:
    (picture,) = (
        kind.illustrate(twenty, subject)
        for subject in kind.subjects(twenty)
        if subject["score"] == "crps"
    )
    assert len(picture.alt) < 1500
    assert len(picture.caption) < 220
    svg = figure_bytes(picture.figure, "svg")
    assert len(svg) < 130_000
    assert svg == figure_bytes(kind.draw(twenty, score="crps"), "svg")
    assert cut_off(picture.figure) < 0.01


def test_subjects_are_those_that_the_table_carries(three: Study) -> None:
    keys = [*three.analysis.panel.keys]
    for kind in KINDS:
        assert [subject["score"] for subject in kind.subjects(three)] == keys
    one_case = study_with(cases=1, metrics=("dsc",))
    assert [len(kind.subjects(one_case)) for kind in KINDS] == [1, 0, 1, 0]
    one_method = study_with(methods=("A",), metrics=("dsc",))
    assert [len(kind.subjects(one_method)) for kind in KINDS] == [1, 0, 0, 0]


# ---- boxes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "structure"), [("dsc", "all"), ("crps", "all"), ("vi", "CELIAC TRUNK")]
)
def test_medians_boxes_means_and_dots_are_the_tables(metric: str, structure: str) -> None:
    scores = make_scores()
    key = metric if structure == "all" else f"{metric} {structure}"
    figure = boxes(Study(scores, reading_asked="published"), key)
    part = scores[
        (scores["metric"] == metric)
        & (scores["structure"] == structure)
        & (scores["reading"] == "published")
    ]
    digits = {"dsc": 3, "crps": 3, "vi": 1}[metric]
    for method, values in part.groupby("method")["value"]:
        median = labelled(figure, "median")[method]
        assert list(median.get_xdata()) == pytest.approx([values.median()] * 2)
        frame = labelled(figure, "box")[method]
        assert frame.get_x() == pytest.approx(values.quantile(0.25))
        assert frame.get_x() + frame.get_width() == pytest.approx(values.quantile(0.75))
        assert labelled(figure, "mean")[method].get_text() == f"{values.mean():.{digits}f}"
        assert sorted(labelled(figure, "cases")[method].get_xdata()) == pytest.approx(
            sorted(values)
        )
    assert set(labelled(figure, "median")) == {"Alpha", "Beta", "Gamma"}


def test_whiskers_end_at_the_last_value_within_one_and_a_half_box_lengths() -> None:
    shape = box(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 20.0]))
    assert (shape.low, shape.median, shape.high) == (1.0, 3.5, 5.0)


def test_methods_stand_in_the_order_of_the_leaderboard() -> None:
    scores = make_scores(metrics=("dsc",), readings=("corrected",))
    scores["value"] = scores["method"].map({"Alpha": 0.2, "Beta": 0.9, "Gamma": 0.5})
    axes = boxes(scores, "dsc").axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["Beta", "Gamma", "Alpha"]
    assert axes.yaxis_inverted()


def test_axis_says_unit_and_which_end_is_better(three: Study) -> None:
    label = boxes(three, "crps").axes[0].get_xlabel()
    assert "cm³" in label
    assert "← lower is better" in label
    assert "higher is better →" in boxes(three, "dsc").axes[0].get_xlabel()


def lossy(missing: str) -> Study:
    """Case P001 has no score of SMA: one near the others, one far off, one without a value."""
    scores = make_scores(metrics=("vi",), readings=("corrected",))
    bad = (scores["structure"] == "SMA") & (scores["case"] == "P001")
    scores.loc[bad, "status"] = "missing"
    for method, value in {"Alpha": 45.0, "Beta": 3600.0, "Gamma": np.nan}.items():
        scores.loc[bad & (scores["method"] == method), "value"] = value
    return Study(scores, Rules(ranking=Ranking(missing=missing)))


def test_rows_that_are_not_ok_are_hollow_and_never_lost() -> None:
    study = lossy("exclude")
    figure = boxes(study, "vi SMA")
    near = labelled(figure, "not ok")
    assert list(near) == ["Alpha"]
    assert near["Alpha"].get_xdata() == pytest.approx([45.0])
    assert near["Alpha"].get_markerfacecolor() == "white"
    assert set(labelled(figure, "aside")) == {"Beta", "Gamma"}
    assert figure.axes[0].get_xlim()[1] < 200
    assert all(len(dots.get_xdata()) == 4 for dots in labelled(figure, "cases").values())
    assert "Hollow" in small_print(figure)
    counted = by_case(study, "vi", "SMA").drop(index="P001")
    for method, median in labelled(figure, "median").items():
        assert median.get_xdata()[0] == pytest.approx(counted[method].median())
        assert labelled(figure, "mean")[method].get_text() == f"{counted[method].mean():.0f}"
    data = boxes_data(study, "vi SMA")
    assert data[~data["counts"]]["case"].tolist() == ["P001"] * 3


def test_what_the_policy_sets_for_a_gap_is_in_the_box_and_hollow() -> None:
    study = lossy("worst")
    data = boxes_data(study, "vi SMA")
    gap = data[(data["method"] == "Gamma") & (data["case"] == "P001")].iloc[0]
    assert gap["value"] == 3600.0  # the worst there is
    assert gap["status"] == "missing"
    filled = by_case(study, "vi", "SMA").fillna(3600.0)
    figure = boxes(study, "vi SMA")
    for method, median in labelled(figure, "median").items():
        assert median.get_xdata()[0] == pytest.approx(filled[method].median())
    assert set(labelled(figure, "aside")) == {"Beta", "Gamma"}


def test_a_method_keeps_its_colour_and_marker_everywhere(three: Study) -> None:
    wanted = method_colours(["Gamma", "Alpha", "Beta"])
    markers = method_markers(["Gamma", "Alpha", "Beta"])
    drawn = [
        *(labelled(boxes(three, key), "cases") for key in ("dsc", "vi SMV")),
        labelled(podium(three, "crps"), "dots"),
        labelled(rank_map(three, "crps"), "mark"),
    ]
    for artists in drawn:
        assert {name: artist.get_color() for name, artist in artists.items()} == wanted
        assert {name: artist.get_marker() for name, artist in artists.items()} == markers


@pytest.mark.parametrize(("methods", "cases"), [(1, 1), (1, 4), (6, 1), (20, 3)])
def test_any_number_of_methods_and_cases(methods: int, cases: int) -> None:
    names = TWENTY[:methods]
    figure = boxes(study_with(methods=names, cases=cases, metrics=("dsc",)), "dsc")
    assert set(labelled(figure, "cases")) == set(names)
    assert set(labelled(figure, "median")) == (set(names) if cases > 1 else set())
    assert cut_off(figure) < 0.01


def test_a_score_beside_the_ranking_may_lack_methods_cases_and_values() -> None:
    scores = make_scores(cases=3, readings=("corrected",), metrics=("dsc", "time_s", "memory_gb_s"))
    lacks = (scores["metric"] == "time_s") & (
        (scores["method"] == "Gamma") | ((scores["method"] == "Beta") & (scores["case"] == "P002"))
    )
    scores = scores[~lacks].reset_index(drop=True)
    empty = scores["metric"] == "memory_gb_s"
    scores.loc[empty, ["value", "status"]] = [np.nan, "undefined"]
    study = Study(scores, Rules(metrics=("dsc",)))
    assert [subject["score"] for subject in BOXES.subjects(study)] == [
        "dsc",
        "time_s",
        "memory_gb_s",
    ]
    figure = boxes(study, "time_s")
    assert {text.get_text() for text in figure.axes[0].get_yticklabels()} == {"Alpha", "Beta"}
    assert "1 of 3 methods have no such score" in small_print(figure)
    alpha = scores[(scores["metric"] == "time_s") & (scores["method"] == "Alpha")].set_index("case")
    shown = float(labelled(figure, "mean")["Alpha"].get_text())
    assert shown == pytest.approx(alpha.loc[["P000", "P001"], "value"].mean(), abs=5e-5)
    assert len(labelled(figure, "cases")["Alpha"].get_xdata()) == 3
    nothing = boxes(study, "memory_gb_s")
    assert labelled(nothing, "median") == {}
    assert labelled(nothing, "mean")["Beta"].get_text() == "–"  # noqa: RUF001  (a dash is meant)


# ---- groups --------------------------------------------------------------------------------


def test_each_group_has_its_own_box(twenty: Study) -> None:
    figure = groups(twenty, "crps")
    rows = twenty.scores[twenty.scores["metric"] == "crps"]
    medians, frames = labelled(figure, "median"), labelled(figure, "box")
    assert len(medians) == len(frames) == 60
    for (part, method), values in rows.groupby(["group", "method"])["value"]:
        name = f"{part} {method}"
        assert medians[name].get_xdata()[0] == pytest.approx(values.median())
        assert frames[name].get_x() == pytest.approx(values.quantile(0.25))
        end = frames[name].get_x() + frames[name].get_width()
        assert end == pytest.approx(values.quantile(0.75))
        assert labelled(figure, "value")[name].get_text() == f"{values.median():.3f}"
        whiskers = labelled(figure, "whiskers")[name].get_xdata()
        reach = 1.5 * (values.quantile(0.75) - values.quantile(0.25))
        inside = values[
            values.between(values.quantile(0.25) - reach, values.quantile(0.75) + reach)
        ]
        assert (whiskers[0], whiskers[-1]) == pytest.approx((inside.min(), inside.max()))
    assert "A 22, B 21, C 21" in small_print(figure)
    heights = [medians[f"{part} {twenty.methods[0]}"].get_ydata().mean() for part in "ABC"]
    assert heights == sorted(heights)
    assert max(heights) < min(medians[f"A {twenty.methods[1]}"].get_ydata())


def test_cases_in_no_cohort_are_a_group_and_few_cases_have_no_box(three: Study) -> None:
    figure = groups(three, "dsc")
    values = by_case(three, "dsc")
    for method in three.methods:
        hard, others = values[method].iloc[:2], values[method].iloc[2:]
        line = labelled(figure, "whiskers")[f"hard {method}"]
        assert list(line.get_xdata()) == pytest.approx([hard.min(), hard.max()])
        median = labelled(figure, "median")[f"other cases {method}"]
        assert median.get_xdata()[0] == pytest.approx(others.median())
    assert set(labelled(figure, "box")) == {f"other cases {method}" for method in three.methods}
    assert "hard 2, other cases 7" in small_print(figure)
    assert "fewer than 5 cases" in small_print(figure)


def test_columns_with_too_many_groups_are_named_and_not_drawn() -> None:
    scores = make_scores(cases=8, readings=("published",), metrics=("dsc",))
    number = scores["case"].str[1:].astype(int)
    scores["site"], scores["sex"] = number.astype(str), np.where(number % 2, "f", "m")
    scores["scanner"] = "the same"
    figure = groups(scores, "dsc")
    assert len(figure.axes) == 1
    assert figure.axes[0].get_title(loc="left") == "sex"
    assert "Not shown, for want of room: site." in small_print(figure)
    alone = Study(completed(scores.drop(columns="sex")))
    assert GROUPS.subjects(alone) == []


# ---- podiums and rank maps -----------------------------------------------------------------


@pytest.mark.parametrize("metric", ["dsc", "crps"])
def test_a_podium_sorts_the_methods_on_each_case(three: Study, metric: str) -> None:
    values = by_case(three, metric)
    ranks = rankdata(-values if metric == "dsc" else values, axis=1)
    figure = podium(three, metric)
    data = PODIUM.data(three, score=metric)
    assert data["rank"].to_numpy().reshape(9, 3) == pytest.approx(ranks)
    dots, bars = figure.axes[:2]
    counts = {c.get_label().removeprefix("bars "): c for c in bars.containers}
    for m, method in enumerate(three.methods):
        drawn = labelled(figure, "dots")[method]
        assert sorted(drawn.get_ydata()) == pytest.approx(sorted(values[method]))
        places = [round((x - m) / 4) + 1 for x in drawn.get_xdata()]  # 3 columns and a gap
        assert sorted(places) == sorted(ranks[:, m])
        heights = {
            round((bar.get_x() + bar.get_width() / 2 - m) / 4) + 1: bar.get_height()
            for bar in counts[method]
        }
        assert heights == {p: n for p in (1, 2, 3) if (n := (ranks[:, m] == p).sum())}
    line = labelled(figure, "lines")["cases"]
    pieces = np.split(line.get_ydata(), np.flatnonzero(np.isnan(line.get_ydata())) + 1)
    joined = [sorted(piece[:-1]) for piece in pieces if piece.size]
    assert np.array(sorted(joined)) == pytest.approx(
        np.array(sorted(map(sorted, values.to_numpy()), key=list))
    )
    assert dots.get_ylabel() == boxes(three, metric).axes[0].get_xlabel()


def test_bars_of_every_place_add_up_to_the_cases(twenty: Study) -> None:
    figure = podium(twenty, "dsc")
    bars = [bar for container in figure.axes[1].containers for bar in container]
    starts = np.array([band.get_x() for band in figure.axes[1].patches if band.get_height() == 1])
    sums = pd.Series(
        [bar.get_height() for bar in bars],
        index=[int((bar.get_x() > starts).sum()) for bar in bars],
    )
    assert sums.groupby(level=0).sum().tolist() == [64] * 6
    labels = [text.get_text() for text in figure.axes[1].get_xticklabels()]
    assert labels == ["1", "2", "3", "4", "5", "20"]
    assert "the places 1 to 5 and the last, 20" in small_print(figure)


def test_each_place_of_a_podium_of_many_names_those_who_have_it_most_often(twenty: Study) -> None:
    figure = podium(twenty, "dsc")
    ranks = pd.DataFrame(rankdata(-by_case(twenty, "dsc"), axis=1), columns=list(twenty.methods))
    feet = labelled(figure, "foot number")
    for place in (1, 2, 3, 4, 5, 20):
        times = (ranks == place).sum()
        named = {
            label.partition(" ")[2]: text.get_text()
            for label, text in feet.items()
            if label.partition(" ")[0] == str(place)
        }
        rest = named.pop("of others", "+0")
        assert len(named) <= 7
        left_out = [method for method in times[times > 0].index if method not in named]
        assert rest == f"+{len(left_out)}"
        assert times[list(named)].min() >= times[left_out].max()
        assert named == {m: labelled(figure, "number")[m].get_text() for m in named}


def test_the_columns_of_a_podium_of_many_have_room_for_their_marks(twenty: Study) -> None:
    figure = podium(twenty, "dsc")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes_px = [
        text.get_window_extent(canvas.get_renderer())
        for text in labelled(figure, "foot number").values()
    ]
    boxes_px.sort(key=lambda box: box.x0)
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes_px))
    sizes = {line.get_markersize() for line in labelled(figure, "dots").values()}
    assert sizes == {4.0}


def test_a_podium_joins_neighbouring_places_only(twenty: Study) -> None:
    line = labelled(podium(twenty, "dsc"), "lines")["cases"]
    pieces = np.split(line.get_ydata(), np.flatnonzero(np.isnan(line.get_ydata())) + 1)
    best = -np.sort(-by_case(twenty, "dsc").to_numpy(), axis=1)[:, :5]
    drawn = np.array([piece[:-1] for piece in pieces if piece.size])
    assert np.sort(drawn, axis=0) == pytest.approx(np.sort(best, axis=0))


def tied() -> Study:
    """Alpha leads; on the last case all three have the same score, on the first Gamma is lost."""
    table = {"Alpha": (0.9, 0.9, 0.5), "Beta": (0.0, 0.5, 0.5), "Gamma": (0.0, 0.7, 0.5)}
    rows = [
        {"method": method, "case": f"P{c}", "metric": "dsc", "value": value}
        for method, values in table.items()
        for c, value in enumerate(values)
    ]
    scores = completed(pd.DataFrame(rows))
    lost = (scores["method"] == "Gamma") & (scores["case"] == "P0")
    return Study(scores.assign(status=np.where(lost, "missing", "ok")))


def test_equal_scores_share_a_rank_and_stand_in_the_order_of_the_leaderboard() -> None:
    study = tied()
    assert study.methods == ("Alpha", "Gamma", "Beta")
    data = PODIUM.data(study, score="dsc").set_index(["case", "method"])
    assert data.loc["P2", "rank"].tolist() == [2.0, 2.0, 2.0]
    assert data.loc["P2", "place"].to_dict() == {"Alpha": 1, "Gamma": 2, "Beta": 3}
    assert data.loc["P0", "place"].to_dict() == {"Alpha": 1, "Gamma": 3, "Beta": 2}
    assert "in the order of the leaderboard" in small_print(podium(study, "dsc"))


@pytest.mark.parametrize("metric", ["dsc", "crps"])
def test_a_rank_map_counts_the_places(twenty: Study, metric: str) -> None:
    values = by_case(twenty, metric)
    places = rankdata(-values if metric == "dsc" else values, axis=1, method="min")
    wanted = np.array([[(places[:, m] == p).sum() for p in range(1, 21)] for m in range(20)])
    figure = rank_map(twenty, metric)
    (cells,) = figure.findobj(lambda artist: artist.get_label() == "cases")
    drawn = np.asarray(cells.get_array()).reshape(20, 20)
    assert (drawn == wanted).all()
    assert (drawn.sum(axis=1) == 64).all()
    at = {text.get_position(): text.get_text() for text in figure.axes[0].texts}
    for row, column in np.argwhere(wanted):
        assert at[column, row] == str(wanted[row, column])
    for m, method in enumerate(twenty.methods):
        shown = labelled(figure, "mean place")[method].get_text()
        assert shown == f"{places[:, m].mean():.2f}"


def test_equal_scores_share_the_best_place_and_lost_ones_are_last() -> None:
    data = RANK_MAP.data(tied(), score="dsc").pivot(index="method", columns="place", values="cases")
    assert data.loc["Alpha"].tolist() == [3, 0, 0]
    assert data.loc["Gamma"].tolist() == [1, 1, 1]
    assert data.loc["Beta"].tolist() == [1, 1, 1]
