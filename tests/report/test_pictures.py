"""Pictures of cases: small arrays drawn by hand, and what must be seen of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from PIL import Image

from segjury.benchmark.phantoms import benchmark_writer
from segjury.images import read_volume, write_volume
from segjury.images.grid import IDENTITY
from segjury.images.volume import Volume
from segjury.metrics.contact import contact_angle
from segjury.protocols import load_protocol
from segjury.report.figures.cases.highlights import TellingCase, highlights
from segjury.report.figures.drawing.style import SEQUENTIAL, method_colours
from segjury.report.figures.pictures.agreement import agreement_data, slice_outcomes, slice_regions
from segjury.report.figures.pictures.contact import contact_alt, contact_data
from segjury.report.figures.pictures.contact_surface import painted_vessel, seen_from
from segjury.report.figures.pictures.contact_unrolling import RATERS, contacts
from segjury.report.figures.pictures.mip import mip_data
from segjury.report.figures.pictures.mip_projections import (
    AXIAL,
    CORONAL,
    SAGITTAL,
    closer_window,
    main_plane,
    project,
    project_labels,
)
from segjury.report.figures.pictures.mip_scene import Scene
from segjury.report.figures.pictures.probability_maps import (
    HEAT,
    most_disputed_label,
    probability_data,
)
from segjury.report.figures.pictures.shared.background import grey
from segjury.report.figures.pictures.shared.callouts import spread
from segjury.report.figures.pictures.shared.images import CaseImages, to_lps
from segjury.report.figures.pictures.shared.outcomes import (
    LOOKS,
    Outcome,
    compared,
    fitted,
    painted,
)
from segjury.report.figures.pictures.shared.slicing import Slice, choose_slice, contours, disputed
from segjury.report.figures.pictures.shared.tiles import (
    LABEL_COLOURS,
    PREDICTION_COLOUR,
    VESSEL_COLOURS,
)
from segjury.report.figures.pictures.slices import case_panel, panel_data
from segjury.report.figures.saving.png import indexed_png
from segjury.report.figures.saving.save import figure_bytes
from segjury.report.pictures import PICTURES, SHOWN, case_images, report_pictures
from tests.score_tables import ODD_NAMES, labelled

SHAPE = (60, 50, 8)
SPACING = (1.0, 1.5, 3.0)
NOTHING = np.zeros(SHAPE, bool)


def block(x: tuple[int, int], y: tuple[int, int], z: tuple[int, int]) -> np.ndarray:
    mask = np.zeros(SHAPE, bool)
    mask[slice(*x), slice(*y), slice(*z)] = True
    return mask


CORE = block((20, 30), (20, 30), (2, 6))
TAIL = block((30, 36), (20, 30), (4, 5))
RATER_MASKS = {"rater 1": CORE, "rater 2": CORE | TAIL}
METHODS = {"A": block((22, 32), (18, 28), (1, 7)), "B": NOTHING}
TUBES = {"PORTA": block((32, 38), (20, 26), (0, 8)), "SMA": NOTHING}
CT = np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE) % 400 - 160


def make_images(**changes: Any) -> CaseImages:
    """Two raters who differ in a tail of 6 by 10 voxels on slice 4, and two methods."""
    usual: dict[str, Any] = {
        "case": "P1",
        "raters": RATER_MASKS,
        "consensus": CORE,
        "predictions": METHODS,
        "spacing_mm": SPACING,
        "labels": ("PDAC",),
        "image": CT,
        "structures": TUBES,
        "probabilities": {name: {"PDAC": mask * 0.7} for name, mask in METHODS.items()},
    }
    return CaseImages(**(usual | changes))


def two_labels(**changes: Any) -> CaseImages:
    """A kidney that both raters draw alike and a pancreas on which they differ."""
    kidney, pancreas = block((5, 15), (10, 20), (3, 6)), block((30, 40), (10, 20), (3, 6))
    first = kidney * 2 + pancreas * 1
    second = kidney * 2 + block((30, 35), (10, 20), (3, 6)) * 1
    swapped = kidney * 1 + pancreas * 2
    return make_images(
        **{
            "raters": {"rater 1": first, "rater 2": second},
            "consensus": first,
            "predictions": {"A": first, "B": swapped},
            "labels": ("pancreas", "kidney"),
            "structures": {},
            "probabilities": {
                "A": {"pancreas": pancreas * 0.6, "kidney": kidney * 0.9},
            },
        }
        | changes
    )


def pixels(figure: Figure) -> np.ndarray:
    """A figure as it looks, small."""
    figure.set_dpi(60)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.array(canvas.buffer_rgba())


# ---- one case in any orientation -----------------------------------------------------------


def turned(array: np.ndarray) -> np.ndarray:
    """Stored with axes S, R, P."""
    return array[::-1].transpose(2, 0, 1)


TURNED = ((0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


def turn_images(images: CaseImages) -> CaseImages:
    return replace(
        images._each(turned),
        spacing_mm=(SPACING[2], SPACING[0], SPACING[1]),
        direction=TURNED,
        corner=(7, 5, 3),
    )


@pytest.mark.parametrize("name", ["slices", "agreement", "probability-maps", "mip"])
@pytest.mark.parametrize("make", [make_images, two_labels])
def test_any_orientation_is_shown_alike(name: str, make: Any) -> None:
    images = make()
    picture = PICTURES[name]
    again = turn_images(images)
    assert np.array_equal(to_lps(again.image, TURNED), CT)
    as_stored = replace(images, corner=(0, 0, 7))
    assert np.array_equal(pixels(picture.draw(as_stored)), pixels(picture.draw(again)))
    pd.testing.assert_frame_equal(picture.data(as_stored), picture.data(again))


def test_slices_have_the_number_they_have_in_the_file() -> None:
    upright = turn_images(make_images()).upright
    assert upright.slice_number(2) == 9  # the first axis, upwards, from 7 on
    flipped = make_images(direction=((1, 0, 0), (0, 1, 0), (0, 0, -1)), corner=(0, 0, 10)).upright
    assert flipped.slice_number(0) == 17  # the last of eight slices from 10 on
    assert flipped.part((slice(0, 5), slice(0, 5), slice(2, 4))).slice_number(0) == 15


def test_an_upright_case_is_left_as_it_is() -> None:
    images = make_images()
    assert images.upright is images
    assert to_lps(CT, IDENTITY) is CT


def test_arrays_must_fit_together() -> None:
    with pytest.raises(ValueError, match="at least one rater"):
        make_images(raters={})
    with pytest.raises(ValueError, match=r"method A has shape .*, the consensus has"):
        make_images(predictions={"A": CORE[:5]})
    with pytest.raises(ValueError, match="map of A"):
        make_images(probabilities={"A": {"PDAC": CORE[:, :3] * 0.5}})


def test_one_label_of_several() -> None:
    images = two_labels(outside={"A": {"pancreas": 3, "kidney": 4}}).only("kidney")
    assert images.labels == ("kidney",)
    assert images.predictions["A"].sum() == 10 * 10 * 3
    assert images.probabilities["A"].keys() == {"kidney"}
    assert (images.voxels_outside("A"), images.voxels_outside("B")) == (4, 0)


# ---- words and legends ---------------------------------------------------------------------

LONG = "sixty characters of a name that somebody thought was needed!"


def words_outside(figure: Figure) -> list[str]:
    """The words and legends that are cut off at an edge of a figure."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    cut = []
    for artist in figure.findobj(lambda each: isinstance(each, (Text, Legend))):
        words = artist.get_text() if isinstance(artist, Text) else "legend"
        extent = artist.get_window_extent(canvas.get_renderer())
        inside = min(extent.x0, extent.y0) > -1 and (
            extent.x1 < figure.bbox.width + 1 and extent.y1 < figure.bbox.height + 1
        )
        if words.strip() and not inside:
            cut.append(words)
    return cut


def of_many(count: int, start: str, make: Any = make_images, **changes: Any) -> CaseImages:
    """A case of so many methods, whose names begin in one way as those of the raters do."""
    images = make(**changes)
    names = [f"{start} {n}"[-60:] for n in range(count)]
    masks, maps = list(images.predictions.values()), list(images.probabilities.values())
    return replace(
        images,
        predictions={name: masks[n % len(masks)] for n, name in enumerate(names)},
        probabilities={name: maps[n % len(maps)] for n, name in enumerate(names)},
        raters={f"{start} {name}": mask for name, mask in images.raters.items()},
    )


@pytest.mark.parametrize("start", ["Net", LONG])
@pytest.mark.parametrize("methods", [0, 1, 2, 12])
@pytest.mark.parametrize("name", ["slices", "agreement", "probability-maps", "mip", "contact"])
def test_no_words_are_cut_off(name: str, methods: int, start: str) -> None:
    touched = {f"{start} {n}": TUBES["PORTA"] for n in "abc"}
    far = {f"{start} {n}": block((0, 2), (0, 2), (0, 8)) for n in "defgh"}
    images = of_many(methods, start, structures=touched | far, case=start)
    assert words_outside(PICTURES[name].draw(images)) == []


@pytest.mark.parametrize("name", ["slices", "agreement", "probability-maps", "mip"])
def test_long_names_of_labels_are_not_cut_off(name: str) -> None:
    first, second = f"{LONG} a", f"{LONG} b"
    maps = {"A": {first: CORE * 0.6, second: CORE * 0.3}}
    images = two_labels(labels=(first, second), probabilities=maps)
    assert words_outside(PICTURES[name].draw(images)) == []


@pytest.mark.parametrize("name", ["slices", "agreement"])
def test_legends_lie_beside_each_other_and_below_the_tiles(name: str) -> None:
    figure = PICTURES[name].draw(of_many(6, LONG))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    left, right = (each.get_window_extent(canvas.get_renderer()) for each in figure.legends)
    assert left.x1 < right.x0
    assert max(left.y1, right.y1) < min(axes.bbox.y0 for axes in figure.axes)


# ---- slices --------------------------------------------------------------------------------


def test_the_slice_is_where_raters_differ_most() -> None:
    view = choose_slice(make_images())
    assert (view.z, view.why) == (4, "where the raters differ most")


def test_with_one_rater_it_is_where_methods_err_most_each_with_the_same_say() -> None:
    loud = CORE | block((20, 30), (30, 45), (2, 3))  # 150 errors, all on slice 2
    faint = [CORE ^ block((20, 22), (20, 21), (5, 6)) for _ in range(2)]  # 2 errors on slice 5
    methods = {"loud": loud, "faint": faint[0], "other": faint[1]}
    view = choose_slice(make_images(raters={"one": CORE}, predictions=methods, probabilities={}))
    assert (view.z, view.why) == (5, "where the methods differ most from the reference")


def test_else_it_is_the_largest_part_of_reference_or_prediction() -> None:
    wide = CORE | block((0, 40), (0, 40), (3, 4))
    agreed = make_images(
        raters={"one": wide}, consensus=wide, predictions={"A": wide}, probabilities={}
    )
    assert choose_slice(agreed).z == 3
    nothing = {"raters": {"one": NOTHING}, "consensus": NOTHING, "probabilities": {}}
    only = {"A": block((0, 9), (0, 9), (6, 7))}
    assert choose_slice(make_images(**nothing, predictions=only)).z == 6
    assert choose_slice(make_images(**nothing, predictions={})).shape == SHAPE[:2]


def test_the_crop_holds_the_lesion_with_a_margin_and_is_square_in_millimetres() -> None:
    lesion = np.zeros((400, 300, 3), bool)
    lesion[200:240, 150:170, 1] = True
    view = choose_slice(CaseImages("P1", {"one": lesion}, lesion, {}, spacing_mm=(0.5, 1.0, 2.0)))
    assert view.size_mm == pytest.approx((80.0, 80.0), abs=1.0)
    assert view.x.start < 200 - 40
    assert view.x.stop > 240 + 40
    assert view.y.start <= 150 - 20
    assert view.y.stop >= 170 + 20


def test_contours_run_along_the_mask_in_millimetres() -> None:
    mask = np.zeros((10, 8), bool)
    mask[3:6, 2:4] = True
    (line,) = contours((2.0, 3.0), mask)
    assert line.min(axis=0) == pytest.approx([6.0, 6.0])
    assert line.max(axis=0) == pytest.approx([12.0, 12.0])
    mask[:] = True
    assert contours((2.0, 3.0), mask)[0].max(axis=0) == pytest.approx([20.0, 24.0])
    assert contours((2.0, 3.0), np.zeros((10, 8), bool)) == []


def test_tiles_hold_the_raters_then_every_method_with_vessels() -> None:
    figure = case_panel(make_images(case="$case_1$"))
    first, *others = figure.axes
    drawn = {line.get_label(): line for line in first.collections}
    assert {"rater rater 1", "rater rater 2", "vessel PORTA"} <= set(drawn)
    assert len(others) == 2
    tile = {line.get_label(): line for line in others[0].collections}
    assert to_hex(tile["prediction"].get_color()[0]) == PREDICTION_COLOUR
    assert to_hex(tile["vessel PORTA"].get_color()[0]) == VESSEL_COLOURS["PORTA"]
    view = choose_slice(make_images())
    corner = np.array([view.x.start, view.y.start]) * [1.0, 1.5]
    outline = tile["prediction"].get_segments()[0]
    assert outline.min(axis=0) + corner == pytest.approx([22.0, 27.0])
    assert outline.max(axis=0) + corner == pytest.approx([32.0, 42.0])
    empty = {line.get_label(): line for line in others[1].collections}
    assert empty["prediction"].get_segments() == []
    assert set(labelled(figure, "mark")) == {"A", "B"}


def test_every_label_has_a_colour_and_its_name_on_the_first_tile() -> None:
    figure = case_panel(two_labels())
    assert {text.get_text() for text in labelled(figure, "name").values()} == {"pancreas", "kidney"}
    tile = {line.get_label(): line for line in figure.axes[2].collections}  # B swaps the labels
    for label, colour, left in (("pancreas", 0, 5.0), ("kidney", 1, 30.0)):
        line = tile[f"prediction {label}"]
        assert to_hex(line.get_color()[0]) == LABEL_COLOURS[colour]
        view = choose_slice(two_labels())
        assert line.get_segments()[0][:, 0].min() + view.x.start == pytest.approx(left)


def test_a_label_that_only_a_method_draws_is_named_on_its_tile() -> None:
    only_kidney = two_labels().consensus * (two_labels().consensus == 2)
    images = two_labels(
        raters={"one": only_kidney}, consensus=only_kidney, probabilities={}, image=None
    )
    first, own, _ = case_panel(images).axes
    names = [[str(text.get_text()) for text in axes.texts] for axes in (first, own)]
    assert "kidney" in names[0]
    assert "pancreas" not in names[0]
    assert "pancreas" in names[1]
    assert "kidney" not in names[1]


def test_twenty_three_labels_are_told_apart_from_their_neighbours() -> None:
    colours = [LABEL_COLOURS[n % len(LABEL_COLOURS)] for n in range(23)]
    assert all(colours[n] != colours[n + 1] for n in range(22))
    assert len(set(LABEL_COLOURS)) == len(LABEL_COLOURS) >= 12


def test_areas_and_volumes_are_those_of_the_masks() -> None:
    data = panel_data(make_images(outside={"A": {"PDAC": 10}})).set_index("name")
    assert data.loc["rater 2", "area_mm2"] == pytest.approx(16 * 10 * 1.5)
    assert data.loc["rater 2", "volume_cm3"] == pytest.approx((400 + 60) * 4.5 / 1000)
    assert data.loc["A", "volume_cm3"] == pytest.approx((600 + 10) * 4.5 / 1000)
    assert (data["slice"] == 4).all()


def test_methods_keep_their_colour_when_only_some_are_shown() -> None:
    images = make_images(predictions={"B": CORE}, probabilities={}, everyone=("A", "B", "C"))
    wanted = method_colours(["A", "B", "C"])["B"]
    for name in ("slices", "agreement", "mip", "contact"):
        assert labelled(PICTURES[name].draw(images), "mark")["B"].get_color() == wanted


def test_windows_are_of_soft_tissue_of_vessels_or_up_to_the_brightest() -> None:
    assert make_images().window == (-160.0, 240.0)
    bright = np.where(CORE, 400.0, -50.0)
    assert make_images(image=bright).window == (-150.0, 550.0)
    angiography = np.where(CORE, 900.0, 100.0)
    assert make_images(image=angiography).window == (0.0, 900.0)
    shades = grey(np.array([[-1000.0, -160.0, 40.0, 240.0, 3000.0]]), (-160.0, 240.0))
    assert shades[0, :, 0] == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])


# ---- agreement -----------------------------------------------------------------------------


def test_regions_and_outcomes_of_single_pixels() -> None:
    images = make_images()
    whole = Slice(4, slice(0, 60), slice(0, 50), (1.0, 1.5))
    agreed, regions = slice_regions(images, whole)
    assert (agreed != 0).sum() == 100
    assert (regions == Outcome.AGREED).sum() == 100
    assert (regions == Outcome.DISPUTED).sum() == 60
    outcomes = slice_outcomes(images, whole, "A")  # 22 to 32 by 18 to 28
    at = {(25, 25): "RIGHT", (20, 20): "MISSED", (25, 18): "ADDED", (0, 0): "NOTHING"}
    at |= {(31, 25): "INCLUDED", (31, 29): "LEFT_OUT", (35, 20): "LEFT_OUT"}
    assert {place: Outcome(outcomes[place]).name for place in at} == at


def test_counts_of_the_whole_case_and_of_the_slice() -> None:
    data = agreement_data(make_images(outside={"A": {"PDAC": 7}}))
    table = data.set_index(["name", "outcome"])
    assert table.loc[("", "all raters mark it"), "voxels"] == 400
    assert table.loc[("", "raters differ"), "voxels"] == 60
    voxels = {
        "right": 8 * 8 * 4,
        "missed": 400 - 256,
        "added": 600 - 256 - 2 * 8 + 7,
        "differ: included": 2 * 8,
        "differ: left out": 60 - 16,
    }
    assert table.loc["A", "voxels"].to_dict() == voxels
    on_slice = {"right": 64, "missed": 36, "added": 20, "differ: included": 16}
    assert table.loc["A", "voxels_on_slice"].drop("differ: left out").to_dict() == on_slice
    assert table.loc[("A", "missed"), "cm3"] == pytest.approx(144 * 4.5 / 1000)
    assert table.loc[("B", "missed"), "voxels"] == 400


def test_labels_are_counted_by_themselves() -> None:
    table = agreement_data(two_labels()).set_index(["name", "label", "outcome"])["voxels"]
    assert table["", "kidney", "all raters mark it"] == 300
    assert table["", "pancreas", "raters differ"] == 150
    assert table["B", "kidney", "missed"] == table["B", "pancreas", "added"] == 300
    whole = Slice(4, slice(0, 60), slice(0, 50), (1.0, 1.5))
    assert slice_outcomes(two_labels(), whole, "B")[10, 15] == Outcome.OTHER_LABEL


def test_a_label_is_disputed_where_some_but_not_all_give_it() -> None:
    assert disputed(two_labels()).sum() == disputed(two_labels(), 1).sum() == 150
    assert not disputed(two_labels(), 2).any()


def test_agreement_needs_raters_who_differ() -> None:
    applies = PICTURES["agreement"].applies
    assert applies(make_images())
    assert not applies(make_images(raters={"one": CORE}))
    assert not applies(make_images(raters={"one": CORE, "two": CORE}))


def test_outcomes_differ_in_lightness_or_pattern() -> None:
    def lightness(outcome: Outcome) -> float:
        return float(np.dot(to_rgb(LOOKS[outcome].colour), (0.2126, 0.7152, 0.0722)))

    shown = (Outcome.RIGHT, Outcome.MISSED, Outcome.ADDED)
    steps = [lightness(a) - lightness(b) for a, b in pairwise(shown)]
    assert min(steps) > 0.15
    patterns = [LOOKS[each].pattern for each in (*shown, Outcome.INCLUDED)]
    assert len(set(patterns)) == 4


def test_painting_shows_every_class_at_its_place() -> None:
    classes = np.zeros((4, 2), np.uint8)
    classes[1, 0], classes[3, 1] = Outcome.RIGHT, Outcome.ADDED
    picture = painted(classes, (40.0, 20.0), 0.2, patterns=False)
    assert picture.shape == (40, 20, 4)
    assert picture[15, 5] == pytest.approx([*to_rgb(LOOKS[Outcome.RIGHT].colour), 1.0])
    assert picture[35, 15] == pytest.approx([*to_rgb(LOOKS[Outcome.ADDED].colour), 1.0])
    assert picture[5, 5, 3] == 0


def test_nothing_thin_is_lost_in_a_small_tile() -> None:
    line = np.zeros((1000, 500), np.uint8)
    line[777, :] = 3
    small = fitted(line, (100.0, 50.0), 0.5)
    assert small.shape == (100, 50)
    assert (small.max(axis=0) == 3).all()
    assert small[77].all()


# ---- probability maps ----------------------------------------------------------------------


def test_the_first_tile_is_the_share_of_the_raters_on_the_scale_of_the_maps() -> None:
    figure = PICTURES["probability-maps"].draw(make_images())
    view = choose_slice(make_images())
    maps = {
        str(image.get_label()): np.ma.getdata(image.get_array()).astype(int)
        for axes in figure.axes
        for image in axes.images
        if str(image.get_label()).startswith("map")
    }
    at = 25 - view.y.start, 25 - view.x.start, 33 - view.x.start
    everyone, half = maps["map raters"][at[0], at[1]], maps["map raters"][at[0], at[2]]
    assert list(everyone) == pytest.approx([255 * part for part in HEAT(1.0)], abs=1)
    assert list(half) == pytest.approx([255 * part for part in HEAT(0.5)], abs=1)
    of_a = list(maps["map A"][at[0], at[1]])
    assert of_a == pytest.approx([255 * part for part in HEAT(0.7)], abs=1)
    assert maps["map raters"][0, 0, 3] == 0


def test_contours_are_at_the_first_the_middle_and_the_last_threshold() -> None:
    images = make_images(thresholds=(0.2, 0.4, 0.6))
    figure = PICTURES["probability-maps"].draw(images)
    levels = {name for name in labelled(figure, "level") if name.endswith(" A")}
    assert levels == {"0.2 A", "0.5 A", "0.6 A"}
    data = probability_data(images)
    of_raters = data[data["name"] == ""].set_index("above")["area_mm2"].to_dict()
    assert of_raters == pytest.approx({0.2: 240.0, 0.5: 150.0, 0.6: 150.0})
    of_a = data[data["name"] == "A"].set_index("above")["area_mm2"].to_dict()
    assert of_a == pytest.approx({0.2: 150.0, 0.5: 150.0, 0.6: 150.0})


def test_of_several_labels_the_most_disputed_is_shown() -> None:
    assert most_disputed_label(two_labels()) == "pancreas"
    assert set(probability_data(two_labels())["label"]) == {"pancreas"}
    assert set(probability_data(two_labels())["name"]) == {"", "A"}


# ---- projections ---------------------------------------------------------------------------


def test_projections_are_maxima_seen_as_usual() -> None:
    volume = np.random.default_rng(0).random((4, 5, 6))
    assert np.array_equal(project(volume, AXIAL), volume.max(axis=2))
    assert np.array_equal(project(volume, CORONAL), volume.max(axis=1)[:, ::-1])  # head up
    assert np.array_equal(project(volume, SAGITTAL), volume.max(axis=0)[:, ::-1])


def test_the_label_nearest_to_the_eye_is_seen() -> None:
    labels = np.zeros((4, 5, 6), np.uint8)
    labels[1, 1, 2], labels[1, 3, 2] = 1, 2  # one behind the other, the first is anterior
    labels[3, 1, 2] = 3  # left of the first
    front, depth = project_labels(labels, CORONAL)
    assert (front[1, 3], depth[1, 3]) == (1, 0.25)
    assert project_labels(labels, SAGITTAL)[0][1, 3] == 3
    assert sorted(np.unique(project_labels(labels, AXIAL)[0])) == [0, 1, 2, 3]
    for plane in (AXIAL, CORONAL, SAGITTAL):
        found = project_labels(labels, plane)[0] != 0
        assert np.array_equal(found, project(labels != 0, plane))


def test_the_main_plane_shows_most_of_the_reference() -> None:
    flat, tall = block((5, 50), (5, 45), (3, 4)), block((5, 50), (20, 22), (0, 8))
    images = make_images(structures={}, spacing_mm=(1.0, 1.0, 1.0))
    assert main_plane(replace(images, consensus=flat)).name == "axial"
    assert main_plane(replace(images, consensus=tall)).name == "coronal"
    sideways = replace(images, consensus=block((20, 22), (5, 45), (0, 8)))
    assert main_plane(sideways).name == "sagittal"


def test_the_window_holds_the_place_of_the_largest_difference() -> None:
    wrong = np.zeros((90, 60), np.uint8)
    wrong[70:74, 40:45] = Outcome.MISSED
    x, y = closer_window([wrong])
    assert (x.stop - x.start, y.stop - y.start) == (30, 20)
    assert x.start <= 70
    assert x.stop >= 74
    assert y.start <= 40
    assert y.stop >= 45
    loud = np.zeros((90, 60), np.uint8)
    loud[:20, :15] = Outcome.ADDED  # one method's many errors do not outweigh those of two
    x, _ = closer_window([loud, wrong, wrong])
    assert x.start > 40
    middle, _ = closer_window([np.ones((90, 60), np.uint8)])
    assert (middle.start, middle.stop) == (30, 60)


def test_found_missed_and_added_are_counted_and_projected() -> None:
    reference = block((10, 50), (10, 40), (3, 4))
    guess = block((10, 40), (10, 45), (3, 4))
    stray = block((0, 1), (0, 1), (0, 1))
    images = make_images(
        raters={"one": reference},
        consensus=reference,
        predictions={"A": guess | stray},
        outside={"A": {"PDAC": 9}},
        probabilities={},
        image=np.where(reference, 900.0, 100.0),
    )
    table = mip_data(images).set_index("outcome")
    assert table["voxels"].to_dict() == {
        "right": 30 * 30,
        "missed": 10 * 30,
        "added": 30 * 5 + 1 + 9,
        "other label": 0,
    }
    assert (table["plane"] == "axial").all()
    assert table.loc["missed", "share_of_reference"] == pytest.approx(0.25)
    assert table["pixels"].to_dict() == {
        "right": 900,
        "missed": 300,
        "added": 30 * 3,  # of 5 rows beside the reference, the view has room for 3
        "other label": 0,
    }
    assert Scene.of(images).outside == {"A": 30 * 2 + 1 + 9}
    figure = PICTURES["mip"].draw(images)
    assert labelled(figure, "numbers")["A"].get_text().startswith("missed 25 %, added 13 %")
    assert {"axial", "coronal", "sagittal", "enlarged"} <= set(labelled(figure, "view"))


def test_the_frame_is_the_part_that_is_enlarged() -> None:
    scene = Scene.of(make_images(probabilities={}))
    left, top, width, height = scene.window_mm
    x, y = scene.window
    full = scene.size_mm(scene.plane)
    assert left / full[0] == pytest.approx(x.start / scene.reference.shape[0])
    assert (top + height) / full[1] == pytest.approx(y.stop / scene.reference.shape[1])
    assert width / full[0] == pytest.approx(1 / 3, abs=0.05)


def test_ct_is_not_projected_and_angiography_is() -> None:
    assert not Scene.of(make_images()).shows_image
    assert Scene.of(make_images(image=CT + 1000)).shows_image
    assert not Scene.of(make_images(image=None)).shows_image


def test_other_labels_are_seen_in_projections() -> None:
    scene = Scene.of(two_labels())
    assert set(np.unique(scene.outcomes["B"])) == {Outcome.NOTHING, Outcome.OTHER_LABEL}
    assert scene.counts["B"][Outcome.OTHER_LABEL] == 600
    same = compared(scene.reference, scene.reference)
    assert set(np.unique(same)) == {Outcome.NOTHING, Outcome.RIGHT}


# ---- vessel contact ------------------------------------------------------------------------

TUBE_SHAPE = (44, 44, 40)
X, Y, Z = np.indices(TUBE_SHAPE)
TUBE = np.hypot(X - 21.3, Y - 21.6) <= 9
FLIP = ((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0))


def tube_images(lesions: list[np.ndarray], **changes: Any) -> CaseImages:
    """A vessel that runs upwards, and raters who draw these lesions on it."""
    usual: dict[str, Any] = {
        "case": "P1",
        "raters": {f"rater {k}": lesion for k, lesion in enumerate(lesions, 1)},
        "consensus": lesions[0],
        "predictions": {"A": lesions[0]},
        "spacing_mm": (1.0, 1.0, 1.0),
        "structures": {"SMV": TUBE, "SMA": np.zeros(TUBE_SHAPE, bool), "PORTA": X < 2},
    }
    return CaseImages(**(usual | changes))


HALF = (X > 21.3) & ~TUBE & (abs(Z - 20) <= 8) & (X < 40)  # a slab along one half of the tube
QUARTER = HALF & (Y < 21.6)


def test_a_tube_half_touched_by_a_slab_is_in_contact_on_180_degrees() -> None:
    images = tube_images([HALF, QUARTER])
    (vessel,) = contacts(images)
    assert vessel.vessel == "SMV"
    assert vessel.sides == ("A", "L", "P", "R")
    assert vessel.angle_deg[RATERS] == pytest.approx([180, 90], abs=9)
    share = vessel.share(RATERS)
    middle = share[np.abs(vessel.sections.centre_mm[:, 2] - 20) < 5]
    angle = np.arange(share.shape[1]) * 360 / share.shape[1]  # from anterior over left
    assert np.allclose(middle[:, (angle > 10) & (angle < 80)], 1.0)
    assert np.allclose(middle[:, (angle > 100) & (angle < 170)], 0.5)
    assert np.allclose(middle[:, (angle > 190) & (angle < 350)], 0.0)


def test_angles_are_those_that_scores_compare() -> None:
    images = tube_images([HALF, QUARTER])
    data = contact_data(images).set_index("name")["contact_angle_deg"]
    for name, lesion in (("rater 1", HALF), ("rater 2", QUARTER), ("A", HALF)):
        assert data[name] == contact_angle(TUBE, lesion, (1.0, 1.0, 1.0))


def test_a_map_is_cut_at_every_threshold() -> None:
    images = tube_images(
        [HALF],
        probabilities={"A": {"foreground": HALF * 0.3 + QUARTER * 0.4}},
        thresholds=(0.1, 0.5, 0.8),
    )
    angles = contacts(images)[0].angle_deg["A"]
    assert angles == pytest.approx([180, 90, 0], abs=9)
    data = contact_data(images)
    assert list(data[data["name"] == "A"]["threshold"]) == ["p > 0.1", "p > 0.5", "p > 0.8"]


def test_sides_are_those_of_the_body_in_any_orientation() -> None:
    upright, turned_case = (
        contacts(tube_images([HALF, QUARTER], direction=direction))[0]
        for direction in (IDENTITY, FLIP)
    )
    angle = np.arange(120) * 3.0

    def middle(vessel: Any) -> float:
        weights = np.nansum(vessel.share(RATERS), axis=0)
        return float(np.degrees(np.angle((weights * np.exp(1j * np.radians(angle))).sum())) % 360)

    assert upright.sides == turned_case.sides == ("A", "L", "P", "R")
    assert middle(upright) == pytest.approx(75, abs=12)  # between anterior and left
    assert middle(turned_case) == pytest.approx(255, abs=12)  # x now grows to the right
    level = tube_images(
        [HALF.transpose(2, 1, 0)],
        consensus=HALF.transpose(2, 1, 0),
        predictions={},
        structures={"SMV": TUBE.transpose(2, 1, 0)},
    )
    assert contacts(level)[0].sides == ("A", "I", "P", "S")  # of a vessel from right to left


def test_the_strip_is_centred_on_the_contact_and_stretches_along_it() -> None:
    figure = PICTURES["contact"].draw(tube_images([HALF, QUARTER]))
    strips = labelled(figure, "contact")
    assert set(strips) == {"raters SMV", "A SMV"}
    values = np.ma.getdata(strips["raters SMV"].get_array())
    rows = np.flatnonzero(values.max(axis=1) > 0)
    assert rows.min() > 10
    assert rows.max() < 110
    left, right, _, _ = strips["raters SMV"].get_extent()
    assert right - left == pytest.approx(17 + 2 * 8, abs=4)  # the slab and what is around it
    angles = labelled(figure, "angle")
    mean = contacts(tube_images([HALF, QUARTER]))[0].angle_deg[RATERS].mean()
    assert angles["raters SMV"].get_text() == f"{mean:.0f}°"


def test_contact_is_painted_on_the_side_where_it_is() -> None:
    ahead = (Y < 14) & ~TUBE & (abs(Z - 20) <= 8) & (abs(X - 21) < 9)
    images = tube_images([ahead])
    painted_volume = painted_vessel(images, contacts(images)[0], RATERS)
    front = seen_from(painted_volume, np.ones(3), SEQUENTIAL)
    behind = seen_from(painted_volume, np.ones(3), SEQUENTIAL, behind=True)
    middle = front.shape[0] // 2, front.shape[1] // 2
    assert front[middle][2] - front[middle][0] > 0.2  # blue
    assert np.ptp(behind[middle][:3]) == pytest.approx(0, abs=1e-9)  # white in some light


def test_vessels_without_contact_are_told_not_drawn() -> None:
    images = tube_images([HALF])
    assert contact_alt(images).endswith("No contact: PORTA.")
    assert set(contact_data(images)["vessel"]) == {"SMV"}
    away = X > 40
    assert not PICTURES["contact"].applies(tube_images([away], structures={"SMV": TUBE}))


# ---- all of them ---------------------------------------------------------------------------


def many_methods(count: int, odd: tuple[str, ...] = ODD_NAMES) -> CaseImages:
    names = [f"{i} {odd[i % len(odd)]}" for i in range(count)]
    masks = dict.fromkeys(names, METHODS["A"])
    return make_images(
        case="sixty characters of a name that somebody thought was needed!",
        predictions=masks,
        probabilities={name: {"PDAC": mask * 0.7} for name, mask in masks.items()},
    )


def boxes(figure: Figure) -> Iterator[Any]:
    return (axes.get_position(original=True) for axes in figure.axes)


@pytest.mark.parametrize("methods", [0, 1, 3, 6, 20])
@pytest.mark.parametrize("name", list(PICTURES))
def test_tiles_of_any_number_of_methods_do_not_overlap(name: str, methods: int) -> None:
    figure = PICTURES[name].draw(many_methods(methods))
    assert len(labelled(figure, "mark")) == methods
    found = list(boxes(figure))
    for i, one in enumerate(found):
        assert one.x0 >= -1e-9
        assert one.x1 <= 1 + 1e-9
        assert one.y0 > 0
        assert one.y1 < 1
        for other in found[:i]:
            apart = one.x0 >= other.x1 - 1e-9 or other.x0 >= one.x1 - 1e-9
            assert apart or one.y0 >= other.y1 - 1e-9 or other.y0 >= one.y1 - 1e-9


@pytest.mark.parametrize("name", list(PICTURES))
def test_no_text_is_cut_off(name: str) -> None:
    latin = tuple(name for name in ODD_NAMES if name.isascii())
    figure = PICTURES[name].draw(many_methods(7, latin))
    figure.draw_without_rendering()
    width, height = figure.bbox.width, figure.bbox.height
    for text in figure.findobj(lambda artist: hasattr(artist, "get_text")):
        if text.get_text() and text.get_visible():
            extent = text.get_window_extent()
            assert extent.x0 >= -2, text.get_text()
            assert extent.x1 <= width + 2, text.get_text()
            assert extent.y0 >= -2, text.get_text()
            assert extent.y1 <= height + 2, text.get_text()


@pytest.mark.parametrize("name", list(PICTURES))
def test_words_and_numbers_go_with_every_picture(name: str) -> None:
    drawn = PICTURES[name].illustrate(many_methods(20), "It is typical.")
    assert drawn.inline == "png"
    assert drawn.caption.startswith("It is typical. ")
    assert len(drawn.caption) < 15 + 210
    assert 50 < len(drawn.alt) < 1500
    assert "\u202e" not in drawn.alt
    assert not drawn.data.empty


def test_the_same_images_give_the_same_files() -> None:
    for name in ("slices", "contact"):
        first, second = (figure_bytes(PICTURES[name].draw(make_images()), "png") for _ in range(2))
        assert first == second


def test_pictures_without_an_image_or_a_method_are_drawn() -> None:
    bare = make_images(image=None, predictions={}, probabilities={}, structures={})
    for name in ("slices", "agreement", "mip"):
        assert PICTURES[name].illustrate(bare).figure.axes


def test_colours_that_mean_something_survive_the_palette() -> None:
    random = np.random.default_rng(0)
    noise = random.integers(0, 255, (200, 300, 1), np.uint8).repeat(3, axis=2)
    noise[100:] = random.integers(0, 255, (100, 300, 3), np.uint8)  # as of a tinted image
    marks = np.array([to_rgb(c) for c in method_colours(map(str, range(20))).values()])
    marks = np.round(marks * 255).astype(np.uint8)
    for k, colour in enumerate(marks):
        noise[10:18, 10 + 12 * k : 18 + 12 * k] = colour
    image = Image.open(BytesIO(indexed_png(noise, 200)))
    assert image.mode == "P"
    again = np.asarray(image.convert("RGB"))
    for k, colour in enumerate(marks):
        if np.ptp(colour) > 0:  # greys are those of the image
            assert (again[10:18, 10 + 12 * k : 18 + 12 * k] == colour).all()
    assert np.abs(again.astype(int) - noise)[:100].max() <= 4


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=30).map(sorted),
    st.floats(0.5, 10),
)
def test_names_are_spread_in_order_apart_and_within_limits(wanted: list[float], gap: float) -> None:
    places = spread(wanted, gap, 0.0, 100.0)
    assert places == sorted(places)
    assert min(places) >= -1e-9
    assert max(places) <= 100 + 1e-9
    if (len(wanted) - 1) * gap <= 100:
        assert all(b - a >= gap - 1e-6 for a, b in pairwise(places))
    if len(wanted) == 1:
        assert places == wanted


# ---- which cases ---------------------------------------------------------------------------


def dice_table(values: dict[str, list[float]], **changes: str) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "method": method,
                "case": f"c{case}",
                "metric": "dsc",
                "structure": "all",
                "reading": "corrected",
                "status": "ok",
                "value": value,
            }
            | changes
            for method, row in values.items()
            for case, value in enumerate(row)
        ]
    )


TABLE = dice_table({"A": [0.9, 0.5, 0.7, 0.2, 0.8], "B": [0.7, 0.5, 0.5, 0.4, 0.8]})


def test_typical_hardest_and_disputed_cases_and_the_one_of_most_contact() -> None:
    agreement = pd.DataFrame(
        {"case": [f"c{k}" for k in range(5)], "mean_pairwise_dsc": [0.7, 0.3, 0.6, 0.5, 0.9]}
    )
    details = pd.DataFrame(
        [
            ("A", "c0", "contact_angle", "SMV", "rater 1", 100.0),
            ("A", "c0", "contact_angle", "SMV", "rater 2", 110.0),
            ("A", "c1", "contact_angle", "SMA", "rater 1", 200.0),
            ("A", "c1", "contact_angle", "SMA", "rater 2", 0.0),
            ("A", "c3", "contact_angle", "SMA", "p > 0.1", 300.0),
        ],
        columns=["method", "case", "metric", "structure", "item", "value"],
    )
    told = highlights(TABLE, agreement, "corrected", details=details)
    assert [(each.case, each.roles) for each in told] == [
        ("c2", ("typical",)),  # means 0.8, 0.5, 0.6, 0.3, 0.8: median 0.6
        ("c3", ("hardest",)),
        ("c1", ("disputed",)),
        ("c0", ("contact",)),
    ]
    assert [each.why for each in told] == [
        "A typical case: the median of the methods' mean Dice, 0.60.",
        "The hardest case: the lowest mean Dice, 0.30.",
        "The raters agree least here: mean Dice of two of them 0.30.",
        "The largest contact: SMV, 105° in the mean of the raters.",
    ]


def test_no_case_is_told_twice() -> None:
    agreement = pd.DataFrame({"case": ["c3", "c0"], "mean_pairwise_dsc": [0.2, 0.4]})
    told = highlights(TABLE, agreement, "corrected")
    assert [each.roles for each in told] == [("typical",), ("hardest", "disputed")]
    assert "hardest" in told[1].why
    assert "agree least" in told[1].why


def test_what_cannot_be_known_is_not_told() -> None:
    assert highlights(TABLE, None, "released") == []
    assert highlights(dice_table({"A": [0.5]}, status="missing"), None, "corrected") == []
    (alone,) = highlights(dice_table({"A": [0.5]}), None, "corrected")
    assert alone.roles == ("typical",)
    other = pd.DataFrame({"case": ["c0"], "consensus_cm3": [3.0]})
    assert len(highlights(TABLE, other, "corrected")) == 2


# ---- reading images ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmark")
    benchmark_writer("curvas-pdacvi-2025")(folder, cases=2, methods=3, shape=(64, 56, 40))
    return folder


def voxels(path: Path) -> np.ndarray:
    return np.asarray(nibabel.load(path).dataobj)


def test_images_are_those_of_the_files(benchmark: Path) -> None:
    protocol = load_protocol("curvas-pdacvi-2025")
    methods = sorted(path.name for path in (benchmark / "predictions").iterdir())
    reference, predictions = benchmark / "reference", benchmark / "predictions"
    case = sorted(path.name for path in reference.iterdir() if path.is_dir())[0]
    images = case_images(protocol, reference, predictions, case, methods[:2], everyone=methods)
    part = tuple(
        slice(corner, corner + size)
        for corner, size in zip(images.corner, images.consensus.shape, strict=True)
    )
    folder = reference / case
    assert np.array_equal(images.image, voxels(folder / "image.nii.gz")[part])
    for k, mask in enumerate(images.raters.values(), 1):
        assert np.array_equal(mask == 1, voxels(folder / f"annotation_{k}.nii.gz")[part] == 1)
    vessels = voxels(folder / "annotation_vascular.nii.gz")
    assert np.array_equal(images.structures["SMV"], vessels[part] == 2)
    for method in methods[:2]:
        own = predictions / method / case
        mask = voxels(own / "segmentation.nii.gz")
        assert np.array_equal(images.predictions[method], mask[part])
        assert images.voxels_outside(method) == (mask == 1).sum() - (mask[part] == 1).sum()
        assert np.array_equal(
            images.probabilities[method]["PDAC"], voxels(own / "probability.nii.gz")[part]
        )
    assert list(images.predictions) == methods[:2]
    assert images.everyone == tuple(methods)


def test_a_prediction_that_cannot_be_used_is_left_out(
    benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segjury.report.pictures.MARGIN_MM", 0.0)
    protocol = load_protocol("curvas-pdacvi-2025")
    reference = benchmark / "reference"
    case = sorted(path.name for path in reference.iterdir() if path.is_dir())[0]
    source = sorted((benchmark / "predictions").iterdir())[0] / case
    for name in ("whole", "stray", "broken", "no map"):
        (tmp_path / name / case).mkdir(parents=True)
        for file in source.iterdir():
            (tmp_path / name / case / file.name).write_bytes(file.read_bytes())
    (tmp_path / "broken" / case / "segmentation.nii.gz").write_bytes(b"nothing")
    (tmp_path / "no map" / case / "probability.nii.gz").write_bytes(b"nothing")
    far = tmp_path / "stray" / case / "segmentation.nii.gz"
    volume = read_volume(far)
    marked = volume.array.copy()
    marked[0, 0, 0] = 1
    write_volume(far, Volume(marked, volume.grid))
    methods = ["whole", "stray", "broken", "no map", "missing"]
    images = case_images(protocol, reference, tmp_path, case, methods)
    assert list(images.predictions) == ["whole", "stray"]
    assert images.corner[0] > 0
    assert images.voxels_outside("stray") - images.voxels_outside("whole") == 1
    areas = panel_data(images)
    areas = areas[areas["drawn_by"] == "method"].set_index("name")["volume_cm3"]
    assert areas["stray"] - areas["whole"] == pytest.approx(images.voxel_cm3)


def test_a_report_shows_what_is_planned_for_each_case(benchmark: Path) -> None:
    assert {name for _, name, _ in SHOWN} <= set(PICTURES)
    protocol = load_protocol("curvas-pdacvi-2025")
    reference, predictions = benchmark / "reference", benchmark / "predictions"
    first, second = sorted(path.name for path in reference.iterdir() if path.is_dir())
    methods = sorted(path.name for path in predictions.iterdir())
    cases = [
        TellingCase(first, ("typical",), "Typical."),
        TellingCase(second, ("hardest", "disputed"), "Hard."),
    ]
    drawn = list(report_pictures(protocol, reference, predictions, cases, methods))
    assert [each.name for each in drawn] == [
        f"slices {first}",  # no projections where there are several raters
        f"slices {second}",
        f"agreement {second}",
        f"probability-maps {second}",
    ]
    assert drawn[1].caption.startswith("Hard. ")


def test_projections_are_shown_of_a_typical_case_with_one_reference(tmp_path: Path) -> None:
    benchmark_writer("smile-uhura-2023")(tmp_path, cases=1, methods=2, shape=(48, 56, 24))
    reference, predictions = tmp_path / "reference", tmp_path / "predictions"
    case = next(path.name for path in reference.iterdir() if path.is_dir())
    methods = sorted(path.name for path in predictions.iterdir())
    drawn = report_pictures(
        load_protocol("smile-uhura-2023"),
        reference,
        predictions,
        [TellingCase(case, ("typical",), "")],
        methods,
    )
    assert [each.name for each in drawn] == [f"slices {case}", f"mip {case}"]
