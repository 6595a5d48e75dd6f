"""Checks before scoring: each kind of damage has its kind, and errors are those of scoring."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk

import segjury
from segjury.benchmark.check import KINDS, check
from segjury.benchmark.check.problem import lines, warning
from segjury.benchmark.phantoms import BENCHMARKS, benchmark_writer
from segjury.errors import InputError, escaped
from segjury.images import read_volume, write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.protocols import load_protocol
from tests import commands
from tests.deep_folders import few_calls, write_deep_folder
from tests.places import DOCS
from tests.small_benchmarks import CASES, GRID, METHODS, boxes, change, put, soft, write_benchmark

PDACVI, ORGANS, VESSELS = "curvas-pdacvi-2025", "curvas-2024", "smile-uhura-2023"
VOXELS = int(np.prod(GRID.shape))


# ---- damage: the reference of P1 (r) or the prediction of P1 by A (p), in a benchmark (b) -------


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-40])


def link_away(path):
    place = path.parents[3] / "elsewhere.nii.gz"
    path.rename(place)
    path.symlink_to(place)


def as_metres(b):
    for path in sorted((b / "reference" / "P1").iterdir()):
        change(path.parent, path.name.removesuffix(".nii.gz"), spacing_mm=(1e-3, 1e-3, 2e-3))


def reheader(path, offset, numbers):
    """Write numbers into the header of a compressed NIfTI file."""
    content, numbers = bytearray(gzip.decompress(path.read_bytes())), np.array(numbers, "<f4")
    content[offset : offset + numbers.nbytes] = numbers.tobytes()
    path.write_bytes(gzip.compress(content))


def shear(path):
    reheader(path, 280, [-1, 0.5, 0, 0])  # the first row of the sform
    reheader(path, 252, [0])  # neither qform nor sform
    content = bytearray(gzip.decompress(path.read_bytes()))
    content[254] = 1  # but the sform
    path.write_bytes(gzip.compress(content))


def nnunet(b, *, scale=1.0, case="P1"):
    """The prediction of A in nnU-Net's layout."""
    folder = b / "predictions" / "A" / case
    (folder / "segmentation.nii.gz").rename(folder.parent / f"{case}.nii.gz")
    sure = scale * soft(boxes([1], CASES.index(case), 0) > 0, 0)
    np.savez(
        folder.parent / f"{case}.npz",
        probabilities=np.stack([1 - sure, sure]).transpose(0, 3, 2, 1),
    )
    shutil.rmtree(folder)


def write_consensus(b, mask):
    for c, case in enumerate(CASES):
        put(b / "reference" / case / "annotation_staple.nii.gz", mask(c))


def one_voxel(c):
    mask = np.zeros(GRID.shape, np.uint8)
    mask[3, 3, 3 + c] = 1
    return mask


def turn(path):
    """Store an image with its axes as z, x and y backwards, as its header says."""
    image = sitk.PermuteAxes(sitk.ReadImage(path), (2, 0, 1))
    sitk.WriteImage(sitk.Flip(image, (False, False, True)), path)


def stack_twice(path):
    """Store a mask as two channels that are the same."""
    image = nib.load(path)
    mask = np.asarray(image.dataobj)
    nib.save(nib.Nifti1Image(np.stack([mask, mask], axis=-1), image.affine), path)


def in_pixels(b):
    """The files of P1 with voxels of 1 mm, and its mask by A as the pages of a picture."""
    for path in sorted((b / "reference" / "P1").iterdir()):
        change(path.parent, path.name.removesuffix(".nii.gz"), spacing_mm=(1.0, 1.0, 1.0))
    for path in sorted((b / "predictions").glob("*/P1/*.nii.gz")):
        change(path.parent, path.name.removesuffix(".nii.gz"), spacing_mm=(1.0, 1.0, 1.0))
    mask = sitk.ReadImage(p(b) / "segmentation.nii.gz") * 255
    sitk.WriteImage(mask, p(b) / "segmentation.tif")
    (p(b) / "segmentation.nii.gz").unlink()


def append(path, text):
    path.write_text(path.read_text() + text)


def r(b):
    return b / "reference" / "P1"


def p(b):
    return b / "predictions" / "A" / "P1"


def forget_place(path):
    """Write a mask again as if its header had been lost."""
    array = read_volume(path).array
    write_volume(path, Volume(array, Grid(array.shape)))


ERRORS = {
    # the reference
    "no rater": ("missing-file", lambda b: (r(b) / "annotation_2.nii.gz").unlink()),
    "first rater empty file": (
        "unreadable-file",
        lambda b: (r(b) / "annotation_1.nii.gz").write_bytes(b""),
    ),
    "rater cut short": ("unreadable-file", lambda b: cut_short(r(b) / "annotation_3.nii.gz")),
    "rater is text": (
        "unreadable-file",
        lambda b: (r(b) / "annotation_3.nii.gz").write_text("no image"),
    ),
    "rater twice": ("two-files", lambda b: put(r(b) / "annotation_1.mha", boxes([1], 0, 0))),
    "rater of another shape": (
        "other-shape",
        lambda b: change(r(b), "annotation_2", lambda a: a[:-1]),
    ),
    "rater turned": (
        "other-direction",
        lambda b: change(r(b), "annotation_2", direction=((-1, 0, 0), (0, -1, 0), (0, 0, 1))),
    ),
    "rater of floats": (
        "not-whole-numbers",
        lambda b: change(r(b), "annotation_2", lambda a: a * np.float32(0.5)),
    ),
    "rater of other labels": (
        "unknown-label",
        lambda b: change(r(b), "annotation_2", lambda a: a * 7),
    ),
    "no vessels": ("missing-file", lambda b: (r(b) / "annotation_vascular.nii.gz").unlink()),
    "unknown vessel": (
        "unknown-label",
        lambda b: change(r(b), "annotation_vascular", lambda a: a * 2),
    ),
    "broken consensus": (
        "unreadable-file",
        lambda b: (r(b) / "annotation_staple.nii").write_bytes(b"x" * 400),
    ),
    "nothing in the case": ("empty-case", lambda b: [path.unlink() for path in r(b).iterdir()]),
    # the prediction
    "no prediction": ("missing-prediction", lambda b: shutil.rmtree(p(b))),
    "no method": (
        "empty-method",
        lambda b: [shutil.rmtree(path) for path in p(b).parent.iterdir()],
    ),
    "no mask": ("missing-file", lambda b: (p(b) / "segmentation.nii.gz").unlink()),
    "no map": ("missing-file", lambda b: (p(b) / "probability.nii.gz").unlink()),
    "mask twice": ("two-files", lambda b: put(p(b) / "segmentation.nrrd", boxes([1], 0, 0))),
    "map behind a link": ("link-outside", lambda b: link_away(p(b) / "probability.nii.gz")),
    "map cut short": ("unreadable-file", lambda b: cut_short(p(b) / "probability.nii.gz")),
    "mask of floats": (
        "not-whole-numbers",
        lambda b: change(p(b), "segmentation", lambda a: a * np.float32(0.4)),
    ),
    "mask with pancreas": (
        "unknown-label",
        lambda b: change(p(b), "segmentation", lambda a: a * 2),
    ),
    "rater with masks that overlap": (
        "overlapping-labels",
        lambda b: stack_twice(r(b) / "annotation_2.nii.gz"),
    ),
    "mask sheared": ("sheared-axes", lambda b: shear(p(b) / "segmentation.nii.gz")),
    "first rater sheared": ("sheared-axes", lambda b: shear(r(b) / "annotation_1.nii.gz")),
    "mask of another shape": (
        "other-shape",
        lambda b: change(p(b), "segmentation", lambda a: a[:, :-2]),
    ),
    "map with swapped axes": ("other-shape", lambda b: change(p(b), "probability", lambda a: a.T)),
    "mask turned": (
        "other-direction",
        lambda b: change(p(b), "segmentation", direction=((1, 0, 0), (0, 0, 1), (0, -1, 0))),
    ),
    "NaN in a map": (
        "nan-probability",
        lambda b: change(p(b), "probability", lambda a: np.where(a > 0.5, np.nan, a)),
    ),
    "map of logits": ("out-of-range", lambda b: change(p(b), "probability", lambda a: 8 * a - 4)),
    "map of bytes": (
        "out-of-range",
        lambda b: change(p(b), "probability", lambda a: (255 * a).astype(np.uint8)),
    ),
    "nnU-Net without archive": (
        "missing-file",
        lambda b: (nnunet(b), (p(b).parent / "P1.npz").unlink()),
    ),
    "nnU-Net archive of text": (
        "unreadable-file",
        lambda b: (nnunet(b), (p(b).parent / "P1.npz").write_text("x")),
    ),
    "nnU-Net archive over 1": ("out-of-range", lambda b: nnunet(b, scale=1.2)),
    "nnU-Net archive of another shape": (
        "other-shape",
        lambda b: (
            nnunet(b),
            np.savez(p(b).parent / "P1.npz", probabilities=np.zeros((2, 3, 4, 5), np.float32)),
        ),
    ),
    "nnU-Net mask twice": (
        "two-files",
        lambda b: (nnunet(b), put(p(b).parent / "P1.mha", boxes([1], 0, 0))),
    ),
    "hidden sign in a name": (
        "bad-name",
        lambda b: (b / "predictions" / "A\u202eB").mkdir(),
    ),
    # the table of cases
    "too many cells": (
        "broken-case-table",
        lambda b: append(r(b).parent / "cases.csv", "P4,a,b,c\n"),
    ),
    "open quote": ("broken-case-table", lambda b: append(r(b).parent / "cases.csv", 'P4,"a\n')),
    "NUL in the table": (
        "broken-case-table",
        lambda b: append(r(b).parent / "cases.csv", "P4,\0\n"),
    ),
    "case twice in table": ("double-case", lambda b: append(r(b).parent / "cases.csv", "P2,\n")),
    "case not in table": (
        "case-not-in-table",
        lambda b: (r(b).parent / "cases.csv").write_text("case\nP1\nP2\n"),
    ),
    "table without cases": (
        "broken-case-table",
        lambda b: (r(b).parent / "cases.csv").write_text("name\nP1\n"),
    ),
}

WARNINGS = {
    "mask of white": ("stored-as-255", PDACVI, in_pixels),
    "rater in another order": (
        "reoriented",
        PDACVI,
        lambda b: turn(r(b) / "annotation_2.nii.gz"),
    ),
    "vessels in another order": (
        "reoriented",
        PDACVI,
        lambda b: turn(r(b) / "annotation_vascular.nii.gz"),
    ),
    "image in another order": ("reoriented", PDACVI, lambda b: turn(r(b) / "image.nii.gz")),
    "mask in another order": ("reoriented", ORGANS, lambda b: turn(p(b) / "segmentation.nii.gz")),
    "map in another order": ("reoriented", PDACVI, lambda b: turn(p(b) / "probability.nii.gz")),
    "rater marks nothing": (
        "empty-rater",
        PDACVI,
        lambda b: change(r(b), "annotation_4", lambda a: a * 0),
    ),
    "rater without kidney": (
        "absent-label",
        ORGANS,
        lambda b: change(r(b), "annotation_2", lambda a: a * (a != 2)),
    ),
    "sixth rater": (
        "extra-rater",
        PDACVI,
        lambda b: put(r(b) / "annotation_6.nii.gz", boxes([1], 0, 5)),
    ),
    "rater copied": (
        "copied-rater",
        PDACVI,
        lambda b: shutil.copy(r(b) / "annotation_1.nii.gz", r(b) / "annotation_5.nii.gz"),
    ),
    "case copied": (
        "copied-case",
        PDACVI,
        lambda b: shutil.copytree(r(b), r(b).parent / "P3", dirs_exist_ok=True),
    ),
    "empty vessels": (
        "empty-structures",
        PDACVI,
        lambda b: change(r(b), "annotation_vascular", lambda a: a * 0),
    ),
    "no SMA": (
        "absent-structure",
        PDACVI,
        lambda b: change(r(b), "annotation_vascular", lambda a: a * (a < 5)),
    ),
    "consensus elsewhere": (
        "consensus-apart",
        PDACVI,
        lambda b: write_consensus(b, lambda c: boxes([1], c, 0)[::-1]),
    ),
    "consensus of one voxel": (
        "consensus-differs",
        PDACVI,
        lambda b: write_consensus(b, one_voxel),
    ),
    "consensus of one case": (
        "partial-consensus",
        PDACVI,
        lambda b: put(r(b) / "annotation_staple.nii.gz", boxes([1], 0, 1)),
    ),
    "rater at the border": (
        "touches-border",
        PDACVI,
        lambda b: change(r(b), "annotation_2", lambda a: np.roll(a, -2, axis=0)),
    ),
    "spacing in metres": ("odd-spacing", PDACVI, as_metres),
    "mask of two sizes": (
        "pixdim-differs",
        PDACVI,
        lambda b: reheader(p(b) / "segmentation.nii.gz", 80, [1, 1, 5]),
    ),
    "first rater of two sizes": (
        "pixdim-differs",
        PDACVI,
        lambda b: reheader(r(b) / "annotation_1.nii.gz", 80, [1, 1, 5]),
    ),
    "volume in metres": ("odd-volume", PDACVI, as_metres),
    "other spacing": (
        "other-spacing",
        PDACVI,
        lambda b: change(p(b), "probability", spacing_mm=(1, 1, 3)),
    ),
    "other origin": (
        "other-origin",
        PDACVI,
        lambda b: change(p(b), "segmentation", origin_mm=(5, 0, 0)),
    ),
    "no image": ("missing-image", PDACVI, lambda b: (r(b) / "image.nii.gz").unlink()),
    "one value": ("constant-image", PDACVI, lambda b: change(r(b), "image", lambda a: a * 0 + 7)),
    "NaN in the image": (
        "nan-image",
        PDACVI,
        lambda b: change(r(b), "image", lambda a: np.where(a > 95, np.nan, a)),
    ),
    "broken image": ("unreadable-file", PDACVI, lambda b: cut_short(r(b) / "image.nii.gz")),
    "names alike": (
        "look-alike-cases",
        PDACVI,
        lambda b: (r(b).parent / "P2").rename(r(b).parent / "p_03"),
    ),
    "methods alike": (
        "look-alike-methods",
        PDACVI,
        lambda b: (p(b).parents[1] / "B").rename(p(b).parents[1] / "a"),
    ),
    "formula": (
        "formula-name",
        PDACVI,
        lambda b: (p(b).parents[1] / "B").rename(p(b).parents[1] / '=HYPERLINK("x")'),
    ),
    "no table": ("missing-case-table", VESSELS, lambda b: (r(b).parent / "cases.csv").unlink()),
    "stranger in the table": (
        "unknown-case-in-table",
        PDACVI,
        lambda b: append(r(b).parent / "cases.csv", "P9\n"),
    ),
    "empty cell": (
        "empty-cell",
        VESSELS,
        lambda b: (r(b).parent / "cases.csv").write_text("case,dataset\nP1,open\nP2,open\nP3, \n"),
    ),
    "thumbnail": ("stray-files", PDACVI, lambda b: (r(b) / "thumb.png").touch()),
    "pickle": ("stray-files", PDACVI, lambda b: (p(b).parent / "P1.pkl").touch()),
    "archive beside the methods": (
        "stray-files",
        PDACVI,
        lambda b: (p(b).parents[1] / "all.zip").touch(),
    ),
    "left by a system": ("hidden-files", PDACVI, lambda b: (p(b) / ".DS_Store").touch()),
    "left by an editor": ("hidden-files", PDACVI, lambda b: (r(b).parent / "cases.csv~").touch()),
    "unknown case": ("unknown-case", PDACVI, lambda b: shutil.copytree(p(b), p(b).parent / "P9")),
    "unknown nnU-Net case": (
        "unknown-case",
        PDACVI,
        lambda b: put(p(b).parent / "P9.nii.gz", boxes([1], 0, 0)),
    ),
    "both layouts": (
        "both-layouts",
        PDACVI,
        lambda b: put(p(b).parent / "P1.nii.gz", boxes([1], 0, 0)),
    ),
    "nothing predicted": (
        "empty-prediction",
        PDACVI,
        lambda b: change(p(b), "segmentation", lambda a: a * 0),
    ),
    "inverted": ("covers-image", PDACVI, lambda b: change(p(b), "segmentation", lambda a: 1 - a)),
    "mask as map": (
        "map-is-a-mask",
        PDACVI,
        lambda b: change(p(b), "probability", lambda a: np.round(a)),
    ),
    "map of another place": (
        "map-contradicts-mask",
        PDACVI,
        lambda b: change(p(b), "probability", lambda a: np.roll(a, 1, axis=0)),
    ),
    "sum over 1": (
        "sum-over-one",
        ORGANS,
        lambda b: put(p(b) / "probability_liver.nii.gz", soft(boxes([1], 0, 0) > 0, 0)),
    ),
    "mirrored": ("mirrored", PDACVI, lambda b: change(p(b), "segmentation", lambda a: a[:, ::-1])),
    "mirrored organs": (
        "mirrored",
        ORGANS,
        lambda b: change(p(b), "segmentation", lambda a: a[:, :, ::-1]),
    ),
    "lost header": ("lost-header", PDACVI, lambda b: forget_place(p(b) / "segmentation.nii.gz")),
    "shifted": (
        "no-overlap",
        PDACVI,
        lambda b: [
            change(b / "predictions" / "A" / case, "segmentation", lambda a: np.roll(a, 6, axis=1))
            for case in CASES
        ],
    ),
    "submitted twice": (
        "same-prediction",
        PDACVI,
        lambda b: shutil.copytree(p(b).parent, p(b).parents[1] / "C"),
    ),
    "mask that is the reference's file": (
        "same-file",
        PDACVI,
        lambda b: [
            (p(b) / "segmentation.nii.gz").unlink(),
            os.link(r(b) / "annotation_2.nii.gz", p(b) / "segmentation.nii.gz"),
        ],
    ),
    "mask of a rater": (
        "copied-reference",
        PDACVI,
        lambda b: put(p(b) / "segmentation.nii.gz", boxes([1], 0, 2)),
    ),
    "prediction of another case": (
        "repeated-prediction",
        PDACVI,
        lambda b: shutil.copytree(p(b), p(b).parent / "P2", dirs_exist_ok=True),
    ),
}


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """A benchmark without problems of each of three protocols."""
    folder = tmp_path_factory.mktemp("clean")
    for protocol in (PDACVI, ORGANS, VESSELS):
        write_benchmark(protocol, folder / protocol)
    return folder


@pytest.fixture
def bench(clean, tmp_path):
    """A copy to damage."""

    def copy(protocol):
        return Path(shutil.copytree(clean / protocol, tmp_path / "bench"))

    return copy


def checked(folder, protocol=PDACVI, **options):
    folders = {"reference": folder / "reference", "predictions": folder / "predictions"}
    return check(load_protocol(protocol), **(folders | options))


def words(problem):
    return str(InputError(problem.message, problem.fix))


def unscored(folder, protocol):
    """Case, method and reason of what `evaluate` does not score; a whole run refused is one."""
    try:
        table = segjury.evaluate(
            protocol,
            reference=folder / "reference",
            predictions=folder / "predictions",
            readings=("corrected",),
        )
    except InputError as error:
        return {("", ""): str(error)}
    rows = table[table["status"].isin(["missing", "failed"])]
    assert (rows.groupby(["case", "method"])["detail"].nunique() == 1).all()
    return {(row.case, row.method): row.detail for row in rows.itertuples()}


def announced(problems):
    """The same of a check; what is wrong with a reference stops every method."""
    said = {}
    for problem in (problem for problem in problems if problem.severity == "error"):
        if problem.case is None:
            said["", ""] = words(problem)
        for method in METHODS if problem.case and problem.method is None else ():
            said[problem.case, method] = f"reference: {words(problem)}"
        if problem.method is not None:
            said[problem.case, problem.method] = words(problem)
    return said


def begin_alike(ours, scored):
    """Whether the words of scoring are those of the check, which may add what it guesses."""
    return ours.keys() == scored.keys() and all(ours[k].startswith(scored[k]) for k in scored)


@pytest.mark.parametrize("damage", ERRORS)
def test_errors_are_what_scoring_fails_on(bench, damage):
    kind, do = ERRORS[damage]
    folder = bench(PDACVI)
    do(folder)
    problems = checked(folder).problems
    assert kind in {problem.kind for problem in problems}
    ours, scored = announced(problems), unscored(folder, PDACVI)
    assert scored
    assert begin_alike(ours, scored), (ours, scored)
    assert sum(problem.severity == "error" for problem in problems) == len(
        {(case, "" if text.startswith("reference: ") else m) for (case, m), text in scored.items()}
    )


@pytest.mark.parametrize("damage", WARNINGS)
def test_what_scoring_takes_is_a_warning(bench, damage):
    kind, protocol, do = WARNINGS[damage]
    folder = bench(protocol)
    do(folder)
    problems = checked(folder, protocol).problems
    assert kind in {problem.kind for problem in problems if problem.severity == "warning"}
    if damage != "names alike":  # a case of another name has no predictions
        assert not [str(p) for p in problems if p.severity == "error"]


def test_every_kind_has_its_damage_and_its_line_in_the_documentation():
    found = {damage[0] for damage in (*ERRORS.values(), *WARNINGS.values())}
    elsewhere = {"too-few-raters", "too-many-samples"}  # test_layout.py, test_sample_files.py
    assert found | elsewhere == KINDS.keys()
    page = (DOCS / "check.md").read_text("utf-8")
    rows = re.findall(
        r"^\| `([a-z0-9-]+)` \| (?:error|warning|either) \| (.+?) \|$", page, re.MULTILINE
    )
    assert dict(rows) == KINDS
    assert len(rows) == len(KINDS)


@pytest.mark.parametrize("protocol", [PDACVI, ORGANS, VESSELS])
def test_a_clean_benchmark_has_no_problem(clean, protocol):
    found = checked(clean / protocol, protocol)
    assert [str(problem) for problem in found.problems] == []
    assert (found.cases, found.methods) == (3, 2)
    on_disk = sum(path.stat().st_size for path in (clean / protocol).rglob("*") if path.is_file())
    assert found.bytes == on_disk


@pytest.mark.parametrize("protocol", BENCHMARKS)
def test_a_phantom_has_no_error(tmp_path, protocol):
    benchmark_writer(protocol)(tmp_path, cases=1, methods=2, seed=3)
    found = checked(tmp_path, protocol)
    assert [str(problem) for problem in found.problems if problem.severity == "error"] == []


def test_a_doubtful_size_is_told_of_the_files_that_have_it(bench):
    folder = bench(PDACVI)
    nnunet(folder)  # whose archive is put on the grid of the reference
    reheader(r(folder) / "annotation_1.nii.gz", 80, [1, 1, 5])
    (told,) = checked(folder).problems
    assert str(told) == (
        "warning: case P1: annotation_1.nii.gz has voxels of 1 x 1 x 2 mm by its sform, which is "
        "used, and of 1 x 1 x 5 mm by its pixdim. Make its header agree with itself."
    )
    reheader(p(folder).with_name("P1.nii.gz"), 80, [1, 1, 5])
    alone = check(load_protocol(PDACVI), predictions=folder / "predictions", methods=["A"])
    assert [problem.kind for problem in alone.problems] == ["pixdim-differs"]


@pytest.mark.parametrize("where", ["reference", "predictions", "predictions/A/P1"])
def test_folders_of_any_depth_are_looked_at(bench, where):
    folder = bench(PDACVI)
    write_deep_folder(folder / where / "deep")
    with few_calls():
        problems = checked(folder).problems
    kinds = {problem.kind for problem in problems}
    # a folder of its own there is a case or a method without any file
    expected = {"reference": "empty-case", "predictions": "empty-method"}
    assert expected.get(where, "stray-files") in kinds
    assert all(len(str(problem)) < 500 for problem in problems)


def test_a_circle_of_links_among_the_files_is_a_file_that_nothing_reads(bench):
    folder = bench(PDACVI)
    for name in ("a_loop", "z_loop"):
        (p(folder) / name).symlink_to(name)
    (told,) = checked(folder).problems
    assert told.message == "2 files are not read: P1/a_loop, P1/z_loop"


def test_the_staple_of_another_program_is_no_problem(bench):
    folder = bench(PDACVI)

    def itk(c):
        masks = [sitk.GetImageFromArray(boxes([1], c, rater)) for rater in range(5)]
        return sitk.GetArrayFromImage(sitk.STAPLE(masks, 1.0)) > 0.5

    write_consensus(folder, itk)
    assert checked(folder).problems == []


def test_a_mask_of_another_threshold_is_no_contradiction(bench):
    folder = bench(PDACVI)
    change(p(folder), "segmentation", lambda a: soft(a > 0, 0) > 0.1)
    assert checked(folder).problems == []


def test_labels_that_do_not_count_may_reach_the_border(bench):
    folder = bench(PDACVI)

    def with_pancreas(mask):
        mask[0] = 2
        return mask

    change(r(folder), "annotation_2", with_pancreas)
    found = check(load_protocol(PDACVI), reference=folder / "reference").problems
    assert [problem.kind for problem in found] == []


def test_marks_that_usually_reach_the_border_are_no_problem(bench):
    folder = bench(VESSELS)
    for case in CASES[:2]:
        change(folder / "reference" / case, "annotation_1", lambda a: np.roll(a, -2, axis=0))
    kinds = {problem.kind for problem in checked(folder, VESSELS).problems}
    assert "touches-border" not in kinds


@pytest.mark.parametrize(
    ("change_map", "guess"),
    [
        (lambda a: 8 * a - 4, "It looks like logits: "),
        (lambda a: 100 * a, "It looks like percent: divide by 100."),
        (lambda a: (255 * a).astype(np.uint8), "It looks like 8-bit grey values: divide by 255."),
        (lambda a: a * np.float32(1.1115), "It looks like rounding or resampling: "),
        (lambda a: a.T, "Its axes may be swapped."),
    ],
)
def test_a_guess_at_what_a_map_is(bench, change_map, guess):
    folder = bench(PDACVI)
    change(p(folder), "probability", change_map)
    (problem,) = checked(folder).problems
    assert guess in str(problem)


def test_the_axis_of_a_mirrored_mask_is_named(bench):
    folder = bench(PDACVI)
    change(p(folder), "segmentation", lambda a: a[:, :, ::-1])
    said = [problem.message for problem in checked(folder).problems if problem.kind == "mirrored"]
    assert said == [
        "the mask seems mirrored along z: 0 % of its voxels are inside a rater's, "
        "100 % when flipped"
    ]


def test_each_broken_file_of_a_case_has_its_line(bench):
    folder = bench(PDACVI)
    for stem in ("annotation_2", "annotation_5", "annotation_vascular"):
        (r(folder) / f"{stem}.nii.gz").unlink()
    (p(folder) / "segmentation.nii.gz").unlink()
    (p(folder) / "probability.nii.gz").unlink()
    assert len(checked(folder).problems) == 5
    scored = unscored(folder, PDACVI)
    assert scored["P1", "A"] == f"reference: {words(checked(folder).problems[0])}"


# ---- without a reference ---------------------------------------------------------------------


def test_predictions_alone_are_compared_with_themselves(bench):
    folder = bench(PDACVI)
    nnunet(folder, case="P2")
    assert checked(folder, reference=None).problems == []
    change(p(folder), "probability", lambda a: a[:-1])
    shutil.rmtree(folder / "predictions" / "B" / "P3")
    found = checked(folder, reference=None)
    first, second = found.problems
    assert "probability.nii.gz has shape (15, 18, 14), the mask has (16, 18, 14)." in str(first)
    assert (second.kind, second.case, second.method) == ("missing-prediction", "P3", "B")
    assert "could not be compared" in found.notes[0]


@pytest.mark.parametrize("layout", ["folder", "file", "nnU-Net"])
def test_predictions_are_compared_with_images(bench, tmp_path, layout):
    folder = bench(PDACVI)
    images = tmp_path / "images"
    for case in (*CASES, "P4"):
        name = {"folder": f"{case}/image", "file": case, "nnU-Net": f"{case}_0000"}[layout]
        put(images / f"{name}.nii.gz", np.zeros(GRID.shape, np.float32))
    change(p(folder), "segmentation", lambda a: a[:-1])
    found = checked(folder, reference=None, images=images)
    assert [
        (q.kind, q.case, q.method) for q in found.problems if q.kind != "missing-prediction"
    ] == [("other-shape", "P1", "A")]
    assert [(q.case, q.method) for q in found.problems if q.kind == "missing-prediction"] == [
        ("P4", "A"), ("P4", "B"),
    ]  # fmt: skip


def test_the_folder_of_one_method_may_be_given(clean):
    folder = clean / PDACVI
    for reference in (folder / "reference", None):
        found = checked(folder, reference=reference, predictions=folder / "predictions" / "A")
        assert (found.methods, found.cases, found.errors) == (1, 3, 0)


def test_folders_of_the_wrong_level_are_refused(clean):
    folder = clean / PDACVI
    with pytest.raises(InputError, match="holds predictions of the cases, of one method"):
        checked(folder, predictions=folder / "predictions" / "A", methods=["B"])
    with pytest.raises(InputError, match=r"no folder in .* has a annotation_1"):
        checked(folder, reference=folder)
    with pytest.raises(InputError, match=r"has no method Z\. It has A, B"):
        checked(folder, methods=["A", "Z"])
    with pytest.raises(InputError, match="`images` takes the place of a reference"):
        checked(folder, images=folder)
    with pytest.raises(InputError, match="nothing to check"):
        check(load_protocol(PDACVI))


# ---- the command -----------------------------------------------------------------------------


def run(folder, *options, **how):
    folders = ["--reference", folder / "reference", "--predictions", folder / "predictions"]
    run_it = commands.segjury_apart if how else commands.segjury
    return run_it("check", PDACVI, "--jobs", 1, *folders, *options, **how)


def test_the_command_prints_json_and_exits_by_what_it_found(bench):
    folder = bench(PDACVI)
    (r(folder) / "bell\a\n\x1b[2J ü").touch()  # a stray file
    change(r(folder), "annotation_4", lambda a: a * 0)
    done = run(folder, "--json", "--ignore-warnings")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["protocol"], told["cases"], told["methods"]) == (PDACVI, 3, 2)
    assert (told["errors"], told["warnings"]) == (0, 2)
    assert told["problems"][0] == {
        "severity": "warning",
        "kind": "empty-rater",
        "case": "P1",
        "method": None,
        "file": "annotation_4",
        "message": "annotation_4 marks nothing",
        "fix": "",
    }
    assert re.search(r"3 cases, 2 methods, 0\.\d+ MB: 0 errors, 2 warnings", done.stderr)
    (folder / "predictions" / "B" / "P1" / "segmentation.nii.gz").unlink()
    done = run(folder, "--ignore-warnings", env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 2
    assert done.stdout.isascii()
    assert len(done.stdout.splitlines()) == 3
    assert not set("\a\x1b") & set(done.stdout)


def test_a_closed_pipe_ends_the_command_quietly(bench):
    folder = bench(PDACVI)
    for path in (folder / "predictions").rglob("*.nii.gz"):
        path.unlink()
    reader, writer = os.pipe()
    os.close(reader)
    done = run(folder, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.returncode == 2
    assert re.fullmatch(r"3 cases, 2 methods, .+ MB: 12 errors, 0 warnings\n", done.stderr)


def test_names_cannot_break_a_line():
    line = str(
        warning(
            "missing-image", "has\na \x1b[31mred\x1b[0m name \u2028 \udcff", case="a\rb", method="ü"
        )
    )
    assert line == r"warning: case a\rb, method ü: has\na \x1b[31mred\x1b[0m name \u2028 \udcff"
    assert escaped("plain ü 脑") == "plain ü 脑"


def test_one_methods_files_side_by_side_need_no_reference(clean, tmp_path):
    for case in ("P1", "P2"):
        mask = clean / PDACVI / "predictions" / "A" / case / "segmentation.nii.gz"
        shutil.copy(mask, tmp_path / f"{case}.nii.gz")
    found = checked(clean / PDACVI, reference=None, predictions=tmp_path)
    assert (found.methods, found.cases) == (1, 2)


def test_how_a_reference_is_stored_is_told_once():
    cases = [f"P{k}" for k in range(4)]
    alike = [warning("stored-as-255", "as 255", case=case, file=f"{case}.png") for case in cases]
    other = [warning("empty-rater", "marks nothing", case=case) for case in cases]
    first, *rest = lines([*alike, *other], 4)
    assert first.startswith("warning: reference: 4 of 4 cases (P0, P1, P2 and 1 more): ")
    assert len(rest) == 4
