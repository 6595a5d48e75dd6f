"""Predictions that are another's: one file under two names, or the same content twice."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from segjury.benchmark.check import check
from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.scoring import one_case
from segjury.scoring.evaluate import run

GRID = Grid((12, 12, 6), (1.0, 1.0, 2.0))
PROTOCOL = """
name = "tiny"
title = "One label, one rater"
[reference]
raters = "annotation_{rater}"
n_raters = 1
[[metrics]]
name = "dsc"
readings = ["corrected"]
"""
REFUSE = PROTOCOL + '[policy]\nsame_file = "refuse"\n'
CASES, METHODS = ("P1", "P2", "P3"), ("A", "B", "C")


@pytest.fixture
def bench(tmp_path):
    """Three cases and three methods, all of them different."""
    (tmp_path / "warn.toml").write_text(PROTOCOL)
    (tmp_path / "refuse.toml").write_text(REFUSE)
    for n, case in enumerate(CASES):
        put(tmp_path / "reference" / case / "annotation_1.nii.gz", 4, n)
        for m, method in enumerate(METHODS):
            put(tmp_path / "predictions" / method / case / "segmentation.nii.gz", 5 + m, n)
    return tmp_path


def put(path: Path, size: int, case: int) -> None:
    mask = np.zeros(GRID.shape, np.uint8, order="F")
    mask[2 : 2 + size, 2 : 5 + case, 1:5] = 1
    write_volume(path, Volume(mask, GRID))


def mask_of(bench: Path, method: str, case: str) -> Path:
    return bench / "predictions" / method / case / "segmentation.nii.gz"


def hard_link(path: Path, target: Path) -> None:
    path.unlink()
    os.link(target, path)


def scored(bench: Path, protocol: str = "warn", out: Path | None = None):
    return run(
        bench / f"{protocol}.toml",
        reference=bench / "reference",
        predictions=bench / "predictions",
        readings=("corrected",),
        out=out,
    )


def checked(bench: Path, protocol: str = "warn"):
    folders = {name: bench / name for name in ("reference", "predictions")}
    found = check(bench / f"{protocol}.toml", **folders).problems
    return [problem for problem in found if problem.kind != "touches-border"]


def test_methods_of_their_own_get_no_warning(bench):
    assert scored(bench).warnings == ()
    assert checked(bench) == []


TO_REFERENCE = (
    "method B: segmentation.nii.gz is the same file as annotation_1.nii.gz of the reference"
)


def test_a_hard_link_to_the_reference_is_told(bench):
    hard_link(mask_of(bench, "B", "P2"), bench / "reference" / "P2" / "annotation_1.nii.gz")
    results = scored(bench)
    assert results.warnings == (f"{TO_REFERENCE} in 1 of 3 cases: P2",)
    assert set(results.scores["status"]) == {"ok"}


def test_a_hard_link_to_another_method_is_told_once(bench):
    for case in CASES:
        hard_link(mask_of(bench, "C", case), mask_of(bench, "A", case))
    said = "method C: segmentation.nii.gz is the same file as segmentation.nii.gz of method A"
    assert scored(bench).warnings == (f"{said} in 3 of 3 cases",)


@pytest.mark.parametrize("stored", [True, False])
def test_a_shared_file_is_refused_where_the_policy_says_so(bench, stored):
    """Whose file it was cannot be told, so that both are refused."""
    hard_link(mask_of(bench, "B", "P1"), mask_of(bench, "C", "P1"))
    results = scored(bench, "refuse", bench / "out" if stored else None)
    rows = results.scores.set_index(["method", "case"])
    failed = rows[rows["status"] == "failed"]
    assert set(failed.index) == {("B", "P1"), ("C", "P1")}
    assert failed.loc[("B", "P1"), "detail"] == (
        "segmentation.nii.gz is the same file as segmentation.nii.gz of method C. "
        "Put a file of its own there."
    )
    assert (failed["value"] == 0).all()
    assert set(rows.drop(failed.index)["status"]) == {"ok"}


def test_a_kept_result_is_not_taken_where_a_file_is_shared_since(bench):
    scored(bench, "refuse", bench / "out")
    os.link(mask_of(bench, "A", "P1"), bench / "kept.nii.gz")
    hard_link(mask_of(bench, "B", "P1"), mask_of(bench, "A", "P1"))
    shared = scored(bench, "refuse", bench / "out").scores
    assert (shared["status"] == "failed").sum() == 2
    shutil.copy(bench / "kept.nii.gz", bench / "own.nii.gz")
    (bench / "own.nii.gz").replace(mask_of(bench, "B", "P1"))
    assert set(scored(bench, "refuse", bench / "out").scores["status"]) == {"ok"}


@pytest.mark.parametrize("stored", [True, False])
def test_identical_predictions_are_told_in_one_line(bench, stored):
    for method in ("B", "C"):
        for case in CASES:
            shutil.copy(mask_of(bench, "A", case), mask_of(bench, method, case))
    said = "methods A, B and C have identical predictions on 3 of 3 cases"
    assert scored(bench, out=bench / "out" if stored else None).warnings == (said,)


def test_identical_predictions_on_some_cases(bench):
    shutil.copy(mask_of(bench, "A", "P3"), mask_of(bench, "B", "P3"))
    said = "methods A and B have identical predictions on 1 of 3 cases: P3"
    assert scored(bench).warnings == (said,)


def test_a_copy_of_the_reference_is_told(bench):
    for case in CASES:
        shutil.copy(bench / "reference" / case / "annotation_1.nii.gz", mask_of(bench, "A", case))
    said = "method A: segmentation.nii.gz is a copy of annotation_1.nii.gz of the reference"
    assert scored(bench).warnings == (f"{said} in 3 of 3 cases",)


def test_no_file_is_read_twice_to_compare_it(bench, monkeypatch):
    """Kept results need the digest of every file, and copies are told by the same."""
    for case in CASES:
        shutil.copy(mask_of(bench, "A", case), mask_of(bench, "B", case))
    read, content = [], one_case.content

    def counted(path, **options):
        read.append(path)
        return content(path, **options)

    monkeypatch.setattr(one_case, "content", counted)
    assert len(scored(bench, out=bench / "out").warnings) == 1
    assert len(read) == len(set(read)) == len(CASES) * (1 + len(METHODS))


def test_a_check_tells_shared_files_as_the_policy_has_them(bench):
    hard_link(mask_of(bench, "B", "P2"), bench / "reference" / "P2" / "annotation_1.nii.gz")
    for protocol, severity in (("warn", "warning"), ("refuse", "error")):
        shared, copied = checked(bench, protocol)
        assert (shared.severity, shared.kind, shared.case, shared.method) == (
            *(severity, "same-file", "P2", "B"),
        )
        assert shared.message == TO_REFERENCE.removeprefix("method B: ")
        assert copied.kind == "copied-reference"


def test_a_check_tells_a_copy_of_the_reference_however_it_is_stored(bench):
    put(mask_of(bench, "A", "P1").with_name("segmentation.mha"), 4, 0)
    mask_of(bench, "A", "P1").unlink()
    (problem,) = checked(bench)
    assert (problem.kind, problem.case, problem.method) == ("copied-reference", "P1", "A")
    assert str(problem) == (
        "warning: case P1, method A: the mask marks the same voxels as annotation_1. "
        "Check whether it is a copy."
    )


def test_the_policy_is_in_the_record(bench):
    scored(bench, "refuse", bench / "out")
    record = json.loads((bench / "out" / "run.json").read_text())
    assert record["protocol"]["definition"]["policy"]["same_file"] == "refuse"


def test_files_named_as_their_cases_are_told_once(tmp_path):
    protocol = PROTOCOL.replace("annotation_{rater}", "{case}")
    (tmp_path / "warn.toml").write_text(protocol)
    for n, case in enumerate(CASES):
        put(tmp_path / "reference" / f"{case}.nii.gz", 4, n)
        put(tmp_path / "predictions" / "A" / f"{case}.nii.gz", 4 if n else 7, n)
    said = "method A: <case>.nii.gz is a copy of <case>.nii.gz of the reference in 2 of 3 cases"
    assert scored(tmp_path).warnings == (f"{said}: P2, P3",)
    put(tmp_path / "predictions" / "A" / "P2.nii.gz", 7, 1)
    said = "method A: P3.nii.gz is a copy of P3.nii.gz of the reference in 1 of 3 cases: P3"
    assert scored(tmp_path).warnings == (said,)
