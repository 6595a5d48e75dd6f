"""Predictions stored in another order than the image are recognised, once per method."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

import segjury
from segjury.benchmark.check.problem import lines
from segjury.benchmark.orientation import how_moved, lost_header
from segjury.consensus import pack
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.images.volume import Volume
from tests.small_panels import SHAPE, protocol, put, write_case


def corner(shape):
    """A box that no flip and no exchange of axes leaves where it is."""
    mask = np.zeros(shape, np.uint8, order="F")
    mask[1:4, 2:7, 3:5] = 1
    return mask


def marks(array):
    return SparseLabels.of(np.asfortranarray(array))


@pytest.mark.parametrize("flips", list(product((1, -1), repeat=3))[1:])
def test_flips_are_named_by_their_axes(flips):
    mask = corner(SHAPE)
    moved = mask[:: flips[0], :: flips[1], :: flips[2]]
    axes = " and ".join(axis for axis, flip in zip("xyz", flips, strict=True) if flip < 0)
    assert how_moved(pack([mask]), marks(moved), SHAPE) == (f"mirrored along {axes}", 0.0, 1.0)


@pytest.mark.parametrize("order", list(permutations(range(3)))[1:])
def test_exchanged_axes_are_named_in_the_order_in_which_they_are_stored(order):
    shape = (9, 9, 9)
    mask = corner(shape)
    stored = ", ".join("xyz"[axis] for axis in order)
    words, _, back = how_moved(pack([mask]), marks(mask.transpose(order)), shape)
    assert (words, back) == (f"stored with its axes in the order {stored}", 1.0)


def test_axes_of_other_lengths_cannot_have_been_exchanged():
    mask = corner((9, 9, 12))
    found = how_moved(pack([mask]), marks(mask[:, :, ::-1]), (9, 9, 12))
    assert found is not None
    assert found[0] == "mirrored along z"


@pytest.mark.parametrize("shift", [0, 1])
def test_a_mask_that_is_about_right_is_not_suspected(shift):
    mask = corner(SHAPE)
    assert how_moved(pack([mask]), marks(np.roll(mask, shift, axis=1)), SHAPE) is None


def test_a_mask_that_is_wrong_whichever_way_it_is_turned_is_not_suspected():
    mask = corner(SHAPE)
    assert how_moved(pack([mask]), marks(np.roll(mask, 4, axis=0)), SHAPE) is None


def test_a_header_is_lost_where_the_reference_has_one():
    here, blank = Grid(SHAPE, (1.0, 1.0, 2.0), (5.0, 0.0, 0.0)), Grid(SHAPE)
    of_nifti = Grid(SHAPE, direction=((-1.0, 0, 0), (0, -1.0, 0), (0, 0, 1.0)))
    assert lost_header(blank, here)
    assert lost_header(of_nifti, here)
    assert not lost_header(here, here)
    assert not lost_header(blank, of_nifti)


def benchmark(folder):
    """Four cases; one method is right, one mirrored, and one without a header."""
    given = protocol(["dsc"], n_raters=1)
    given = given.model_copy(update={"grid": given.grid.model_copy(update={"spacing": "warn"})})
    cases = ("P1", "P2", "P3", "P4")
    for number, case in enumerate(cases):
        mask = np.roll(corner(SHAPE), number, axis=1)
        methods = {"right": (mask, {}), "mirrored": (mask[::-1], {}), "bare": (mask, {})}
        write_case(folder, given, case, {"1": mask}, methods)
        path = folder / "predictions" / "bare" / case / "segmentation.nii.gz"
        write_volume(path, Volume(np.asfortranarray(mask), Grid(SHAPE)))
    return given, {name: folder / name for name in ("reference", "predictions")}


def test_a_run_says_once_per_method_how_its_predictions_look(tmp_path):
    given, places = benchmark(tmp_path)
    results = segjury.run(given, **places, out=tmp_path / "out")
    expected = [
        "method bare: 4 of 4 cases are without a position in its header: voxels of 1 mm, origin 0, "
        "as if it had been lost",
        "method mirrored: 4 of 4 cases look mirrored along x",
    ]
    assert results.warnings[:2] == tuple(expected)
    assert segjury.read(tmp_path / "out").run.doubts == expected
    again = segjury.run(given, **places, out=tmp_path / "out")  # from what was kept
    assert again.warnings[:2] == tuple(expected)


def test_few_cases_out_of_many_are_no_habit_of_a_method(tmp_path):
    given, places = benchmark(tmp_path)
    for number, case in enumerate(("P1", "P2", "P3")):
        mask = np.roll(corner(SHAPE), number, axis=1)
        put(places["predictions"] / "mirrored", "segmentation", mask, case=case)
    assert not [w for w in segjury.run(given, **places).warnings if "mirrored along" in w]


def test_a_check_tells_of_a_method_once(tmp_path):
    given, places = benchmark(tmp_path)
    checked = segjury.check(given, **places)
    said = [line for line in lines(checked.problems, checked.cases) if "method mirrored" in line]
    (line,) = (line for line in said if "axes exchanged" in line)
    assert line.startswith("warning: method mirrored: 4 of 4 cases (P1, P2, P3 and 1 more): a mask")


def test_what_fails_alike_in_many_cases_is_one_line(tmp_path):
    given, places = benchmark(tmp_path)
    for case in ("P1", "P2", "P3"):
        (places["predictions"] / "right" / case / "segmentation.nii.gz").write_bytes(b"")
    (places["predictions"] / "mirrored" / "P1" / "segmentation.nii.gz").write_bytes(b"")
    said = "segmentation.nii.gz is an empty file. Write or copy it again."
    assert segjury.run(given, **places).problems == (
        f"case P1, method mirrored: {said}",
        f"method right, 3 of 4 cases (P1, P2, P3): in P1, {said}",
    )
