"""Figures are read back from their artists: what is drawn must be what the table says."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from segjury.figures import case_panel, method_colours, method_markers, metric_boxes, save_figure
from segjury.figures.boxes import box
from segjury.figures.notation import decimals, number, rank
from segjury.figures.save import figure_bytes, slug
from segjury.figures.slices import Slice, choose_slice, contours, to_lps
from segjury.figures.style import COLOURS, plain, styled, wrapped
from segjury.figures.tiles import PREDICTION_COLOUR, VESSEL_COLOURS, grey
from segjury.volume import IDENTITY

VESSELS = ("PORTA", "SMV", "AORTA", "CELIAC TRUNK", "SMA")
UNITS = {"crps": "cm3", "vi": "degrees"}
ODD_NAMES = (
    "<script>alert(1)</script>",
    "$x_1$ & $",
    "sixty characters of a name that somebody thought was needed!",
    "tab\tand\x07bell\u202e",
    "名前",
    "$$",
)


def make_scores(
    methods: tuple[str, ...] = ("Alpha", "Beta", "Gamma"),
    cases: int = 5,
    readings: tuple[str, ...] = ("released", "published", "corrected"),
    metrics: tuple[str, ...] = ("dsc", "thr_dsc", "mr_ece", "crps", "vi"),
    cohort: str = "",
    seed: int = 3,
) -> pd.DataFrame:
    """A table of the true shape with random values; the first two cases are in the cohort."""
    generator = np.random.default_rng(seed)
    scale = {"crps": 10.0, "vi": 90.0, "mr_ece": 0.1}
    rows = [
        {
            "method": method,
            "case": f"P{case:03d}",
            "metric": metric,
            "structure": structure,
            "reading": reading,
            "value": generator.uniform(0.05, 1) * scale.get(metric, 1.0),
            "unit": UNITS.get(metric, ""),
            "status": "ok",
            "detail": "",
            "cohort": cohort if case < 2 else "",
        }
        for reading in readings
        for method in methods
        for case in range(cases)
        for metric in metrics
        for structure in (VESSELS if metric == "vi" else ("all",))
    ]
    return pd.DataFrame(rows)


def labelled(figure: Figure, start: str) -> dict[str, object]:
    """Artists by label, those whose label begins with `start`, without it."""
    artists = figure.findobj(lambda artist: str(artist.get_label()).startswith(f"{start} "))
    return {str(artist.get_label())[len(start) + 1 :]: artist for artist in artists}


# ---- box plots -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "structure"), [("dsc", "all"), ("crps", "all"), ("vi", "CELIAC TRUNK")]
)
def test_medians_boxes_means_and_dots_are_the_tables(metric: str, structure: str) -> None:
    scores = make_scores()
    figure = metric_boxes(scores, metric, structure, "published")
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
        dots = labelled(figure, "cases")[method].get_offsets()
        assert sorted(dots[:, 0]) == pytest.approx(sorted(values))
    assert set(labelled(figure, "median")) == {"Alpha", "Beta", "Gamma"}


def test_whiskers_end_at_the_last_value_within_one_and_a_half_box_lengths() -> None:
    shape = box(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 20.0]))
    assert (shape.low, shape.median, shape.high) == (1.0, 3.5, 5.0)


def test_methods_stand_in_the_order_of_the_leaderboard() -> None:
    scores = make_scores(metrics=("dsc",), readings=("corrected",))
    scores["value"] = scores["method"].map({"Alpha": 0.2, "Beta": 0.9, "Gamma": 0.5})
    names = labelled(metric_boxes(scores, "dsc"), "name")
    assert sorted(names, key=lambda name: names[name].get_position()[1]) == [
        "Beta",
        "Gamma",
        "Alpha",
    ]


def test_axis_says_unit_and_which_end_is_better() -> None:
    scores = make_scores()
    label = metric_boxes(scores, "crps", "all", "corrected").axes[0].get_xlabel()
    assert "cm³" in label
    assert "← lower is better" in label
    assert "higher is better →" in metric_boxes(scores, "dsc").axes[0].get_xlabel()


def test_rows_that_are_not_ok_are_hollow_and_never_lost() -> None:
    scores = make_scores(metrics=("vi",), readings=("corrected",))
    bad = (scores["structure"] == "SMA") & (scores["case"] == "P001")
    scores.loc[bad, "status"] = "missing"
    scores.loc[bad & (scores["method"] == "Alpha"), "value"] = 45.0
    scores.loc[bad & (scores["method"] == "Beta"), "value"] = 3600.0
    scores.loc[bad & (scores["method"] == "Gamma"), "value"] = np.nan
    figure = metric_boxes(
        scores, "vi", "SMA", "corrected", methods=["Alpha", "Beta", "Gamma"], direction="lower"
    )
    near = labelled(figure, "not ok")
    assert list(near) == ["Alpha"]
    assert near["Alpha"].get_offsets()[0, 0] == pytest.approx(45.0)
    assert to_hex(near["Alpha"].get_facecolor()[0]) == "#ffffff"
    assert set(labelled(figure, "aside")) == {"Beta", "Gamma"}
    assert figure.axes[0].get_xlim()[1] < 200
    assert all(len(dots.get_offsets()) == 4 for dots in labelled(figure, "cases").values())


def test_a_method_keeps_its_colour_and_marker_everywhere() -> None:
    scores = make_scores()
    wanted = method_colours(["Gamma", "Alpha", "Beta"])
    for metric, structure, reading in (("dsc", "all", "released"), ("vi", "SMV", "corrected")):
        figure = metric_boxes(scores, metric, structure, reading)
        for method, dots in labelled(figure, "cases").items():
            assert to_hex(dots.get_facecolor()[0]) == wanted[method]


def test_twenty_methods_have_twenty_looks() -> None:
    names = [f"method {i}" for i in range(25)]
    assert len(set(method_colours(names[:20]).values())) == len(COLOURS) == 20
    looks = zip(method_colours(names).values(), method_markers(names).values(), strict=True)
    assert len(set(looks)) == 25


@pytest.mark.parametrize(("methods", "cases"), [(1, 1), (1, 4), (6, 1), (20, 3)])
def test_any_number_of_methods_and_cases(methods: int, cases: int) -> None:
    names = tuple(f"method {i:02d}" for i in range(methods))
    scores = make_scores(names, cases, ("corrected",), ("dsc",))
    assert set(labelled(metric_boxes(scores, "dsc"), "median")) == set(names)


def test_no_value_at_all_is_drawn_without_a_box() -> None:
    scores = make_scores(("A",), 2, ("corrected",), ("dsc",)).assign(
        value=np.nan, status="undefined"
    )
    figure = metric_boxes(scores, "dsc", "all", "corrected", methods=["A"])
    assert labelled(figure, "median") == {}
    assert labelled(figure, "mean")["A"].get_text() == "–"  # noqa: RUF001  (a dash is meant)


def test_odd_names_are_drawn_as_they_are_and_the_file_stays_sound() -> None:
    figure = metric_boxes(make_scores(ODD_NAMES, 2, ("corrected",), ("dsc",)), "dsc")
    drawn = [text.get_text().replace("\n", " ") for text in labelled(figure, "name").values()]
    assert set(drawn) == {plain(name) for name in ODD_NAMES}
    svg = figure_bytes(figure, "svg")
    assert b"<script" not in svg
    root = ElementTree.fromstring(svg)  # noqa: S314  (a file made here)
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "<script>alert(1)</script>" in texts
    assert "$x_1$ & $" in texts
    assert "名前" in texts


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
        first, second = (figure_bytes(metric_boxes(scores, "dsc"), form) for _ in range(2))
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


# ---- case panels ---------------------------------------------------------------------------

SHAPE = (60, 50, 8)


def block(x: tuple[int, int], y: tuple[int, int], z: tuple[int, int]) -> np.ndarray:
    mask = np.zeros(SHAPE, bool)
    mask[slice(*x), slice(*y), slice(*z)] = True
    return mask


RATERS = {
    "rater 1": block((20, 30), (20, 30), (2, 6)),
    "rater 2": block((20, 30), (20, 30), (2, 6)) | block((30, 36), (20, 30), (4, 5)),
}
CUBE = {"A": block((22, 32), (18, 28), (1, 7)), "B": np.zeros(SHAPE, bool)}
TUBE = {"PORTA": block((32, 38), (20, 26), (0, 8)), "SMA": np.zeros(SHAPE, bool)}


def test_the_slice_is_where_raters_differ_most_else_the_largest() -> None:
    assert choose_slice(RATERS, CUBE, (1.0, 1.0, 1.0)).z == 4
    agreed = {"one": RATERS["rater 1"] | block((0, 40), (0, 40), (3, 4))}
    assert choose_slice(agreed, CUBE, (1.0, 1.0, 1.0)).z == 3
    nothing = {"one": np.zeros(SHAPE, bool)}
    only = {"A": block((0, 9), (0, 9), (6, 7))}
    assert choose_slice(nothing, only, (1.0, 1.0, 1.0)).z == 6
    assert choose_slice(nothing, {}, (1.0, 1.0, 1.0)).shape == SHAPE[:2]


def test_the_crop_holds_the_lesion_with_a_margin_and_is_square_in_millimetres() -> None:
    lesion = {"one": np.zeros((400, 300, 3), bool)}
    lesion["one"][200:240, 150:170, 1] = True
    view = choose_slice(lesion, {}, (0.5, 1.0, 2.0))
    assert view.extent_mm == pytest.approx((0.0, 80.0, 80.0, 0.0), abs=1.0)
    assert view.x.start < 200 - 40
    assert view.x.stop > 240 + 40
    assert view.y.start <= 150 - 20
    assert view.y.stop >= 170 + 20


def test_contours_run_along_the_mask_in_millimetres() -> None:
    view = Slice(0, slice(0, 10), slice(0, 8), (2.0, 3.0))
    mask = np.zeros((10, 8), bool)
    mask[3:6, 2:4] = True
    (line,) = contours(view, mask)
    assert line.min(axis=0) == pytest.approx([6.0, 6.0])
    assert line.max(axis=0) == pytest.approx([12.0, 12.0])
    mask[:] = True
    assert contours(view, mask)[0].max(axis=0) == pytest.approx([20.0, 24.0])
    assert contours(view, np.zeros((10, 8), bool)) == []


def test_any_orientation_is_shown_alike() -> None:
    image = np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE) % 400 - 160
    as_stored = case_panel(image, RATERS, TUBE, CUBE, spacing_mm=(1.0, 1.5, 3.0))

    def turned(array: np.ndarray) -> np.ndarray:  # axes S, R, P
        return array[::-1].transpose(2, 0, 1)

    direction = ((0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
    assert np.array_equal(to_lps(turned(image), direction), image)
    assert to_lps(image, IDENTITY) is image
    again = case_panel(
        turned(image),
        *({name: turned(mask) for name, mask in masks.items()} for masks in (RATERS, TUBE, CUBE)),
        spacing_mm=(3.0, 1.0, 1.5),
        direction=direction,
    )
    assert figure_bytes(as_stored, "png") == figure_bytes(again, "png")


def test_tiles_hold_the_raters_then_every_method_with_vessels() -> None:
    figure = case_panel(None, RATERS, TUBE, CUBE, spacing_mm=(1.0, 1.0, 1.0), title="$case_1$")
    first, *others = figure.axes
    drawn = {line.get_label(): line for line in first.collections}
    assert {"rater rater 1", "rater rater 2", "vessel PORTA"} <= set(drawn)
    assert len(others) == 2
    tile = {line.get_label(): line for line in others[0].collections}
    assert to_hex(tile["prediction"].get_color()[0]) == PREDICTION_COLOUR
    assert to_hex(tile["vessel PORTA"].get_color()[0]) == VESSEL_COLOURS["PORTA"]
    outline = tile["prediction"].get_segments()[0]
    view = choose_slice(RATERS, CUBE, (1.0, 1.0, 1.0))
    corner = np.array([view.x.start, view.y.start])
    assert outline.min(axis=0) + corner == pytest.approx([22.0, 18.0])
    empty = {line.get_label(): line for line in others[1].collections}
    assert empty["prediction"].get_segments() == []
    assert set(labelled(figure, "mark")) == {"A", "B"}


def test_methods_keep_their_colour_when_only_some_are_shown() -> None:
    figure = case_panel(
        None, RATERS, {}, {"B": CUBE["A"]}, spacing_mm=(1.0, 1.0, 1.0), everyone=["A", "B", "C"]
    )
    wanted = method_colours(["A", "B", "C"])["B"]
    assert labelled(figure, "mark")["B"].get_color() == wanted


@pytest.mark.parametrize("methods", [0, 1, 3, 6, 20])
def test_tiles_of_any_number_of_methods_do_not_overlap(methods: int) -> None:
    masks = {f"{i} {ODD_NAMES[i % len(ODD_NAMES)]}": CUBE["A"] for i in range(methods)}
    shares = {name: mask * 0.7 for name, mask in masks.items()}
    figure = case_panel(np.zeros(SHAPE), RATERS, TUBE, masks, shares, spacing_mm=(1.0, 1.0, 3.0))
    assert len(figure.axes) == methods + 1
    boxes = [axes.get_position(original=True) for axes in figure.axes]
    for i, one in enumerate(boxes):
        assert one.x0 >= 0
        assert one.x1 <= 1 + 1e-9
        assert one.y0 > 0
        for other in boxes[:i]:
            apart = one.x0 >= other.x1 or other.x0 >= one.x1
            assert apart or one.y0 >= other.y1 or other.y0 >= one.y1


def test_the_window_is_soft_tissue() -> None:
    shades = grey(np.array([[-1000.0, -160.0, 40.0, 240.0, 3000.0]]))
    assert shades[0, :, 0] == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])


def test_a_panel_needs_a_mask() -> None:
    with pytest.raises(ValueError, match="at least one mask"):
        case_panel(None, {}, {}, {}, spacing_mm=(1.0, 1.0, 1.0))
