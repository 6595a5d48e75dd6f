"""Votes of methods, against counting by hand and against SimpleITK."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import SimpleITK as sitk
from hypothesis import given, settings
from hypothesis import strategies as st

from segjury.benchmark.case import PredictedCase
from segjury.benchmark.phantoms import benchmark_writer
from segjury.images import read_volume
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.methods.ensembles import Ensemble, vote, write_ensemble
from tests.benchmark_files import evaluate_files
from tests.commands import segjury
from tests.scoring.test_regions import REGIONS, nested_masks, put_channels
from tests.small_panels import protocol, write_case

GRID = Grid((9, 8, 7))


def prediction(labels):
    return PredictedCase(SparseLabels.of(np.asfortranarray(labels, np.uint8)))


def random_labels(seed, n_labels, n_methods=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_labels, GRID.shape)
    wrong = rng.random((n_methods, *GRID.shape)) < 0.2
    noise = rng.integers(0, n_labels, (n_methods, *GRID.shape))
    return np.where(wrong, noise, truth).astype(np.uint8)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n_labels=st.integers(2, 5))
def test_majority_is_the_most_frequent_label_and_ties_go_to_the_first(seed, n_labels):
    labels = random_labels(seed, n_labels)
    got = vote([prediction(each) for each in labels], GRID, n_labels=n_labels, by="majority")
    first, second, third = labels
    np.testing.assert_array_equal(got, np.where(second == third, second, first))


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_staple_of_one_label_is_simpleitks(seed):
    labels = random_labels(seed, 2, n_methods=4)
    got = vote([prediction(each) for each in labels], GRID, n_labels=2, by="staple")
    images = [sitk.GetImageFromArray(each.T) for each in labels]
    expected = sitk.GetArrayFromImage(sitk.STAPLE(images, 1.0)).T > 0.5
    np.testing.assert_array_equal(got, expected)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_staple_of_several_labels_is_simpleitks_where_no_vote_is_tied(seed):
    labels = random_labels(seed, 4, n_methods=5)
    counts = np.sort((labels[None] == np.arange(4)[:, None, None, None, None]).sum(axis=1), axis=0)
    labels[:, counts[-1] == counts[-2]] = 0
    got = vote([prediction(each) for each in labels], GRID, n_labels=4, by="staple")
    images = [sitk.GetImageFromArray(each.T) for each in labels]
    expected = sitk.GetArrayFromImage(sitk.MultiLabelSTAPLE(images, 4)).T
    assert (got == expected)[expected != 4].mean() > 0.995  # ITK stops at another precision


def test_many_methods_with_many_labels_can_vote():
    labels = random_labels(0, 24, n_methods=9)
    got = vote([prediction(each) for each in labels], GRID, n_labels=24, by="majority")
    most = np.apply_along_axis(lambda votes: np.bincount(votes, minlength=24).max(), 0, labels)
    np.testing.assert_array_equal((labels == got).sum(axis=0), most)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ensemble")
    benchmark_writer("smile-uhura-2023")(folder, cases=2, methods=4, shape=(60, 72, 30))
    evaluate_files("smile-uhura-2023", folder, "--reading", "released")
    return folder


def ensemble(folder, *options):
    return segjury("ensemble", folder / "out" / "scores.csv", *options)


def test_the_best_vote_and_are_scored_as_one_more_method(bench):
    before = pd.read_csv(bench / "out" / "scores.csv")
    done = ensemble(bench, "--top", "3", "--method", "majority")
    assert done.returncode == 0, done.stderr
    assert "ensemble-majority-3: majority of " in done.stdout
    after = pd.read_csv(bench / "out" / "scores.csv")
    assert set(after["method"]) - set(before["method"]) == {"ensemble-majority-3"}
    old = after[after["method"] != "ensemble-majority-3"].reset_index(drop=True)
    pd.testing.assert_frame_equal(old, before)
    marker = bench / "predictions" / "ensemble-majority-3" / "ensemble.json"
    voters = json.loads(marker.read_text())["methods"]
    case = sorted((bench / "reference").iterdir())[0].name
    masks = [
        read_volume(bench / "predictions" / m / case / "segmentation.nii.gz").array for m in voters
    ]
    got = read_volume(bench / "predictions/ensemble-majority-3" / case / "segmentation.nii.gz")
    np.testing.assert_array_equal(got.array, np.sum(masks, axis=0) >= 2)
    again = ensemble(bench, "--top", "2", "--method", "staple", "--name", "pair")
    assert again.returncode == 0, again.stderr
    assert "ensemble-majority-3" not in again.stdout.splitlines()[0]  # it does not vote
    evaluate_files("smile-uhura-2023", bench, "--reading", "released")
    once_more = ensemble(bench, "--top", "3", "--name", "trio")
    assert "ensemble" not in once_more.stdout.splitlines()[0]  # nor after another run


def test_a_case_that_nobody_predicts_leaves_nothing_of_an_older_ensemble(bench):
    assert ensemble(bench, "--methods", "Careful,Noisy", "--name", "pair of two").returncode == 0
    case = sorted((bench / "reference").iterdir())[0].name
    for method in ("Careful", "Noisy"):
        (bench / "predictions" / method / case).rename(bench / f"{method} {case}")
    done = ensemble(bench, "--methods", "Careful,Noisy", "--name", "pair of two")
    for method in ("Careful", "Noisy"):
        (bench / f"{method} {case}").rename(bench / "predictions" / method / case)
    assert f"case {case}: without Careful: no prediction" in done.stderr
    assert not (bench / "predictions" / "pair of two" / case).exists()
    scores = pd.read_csv(bench / "out" / "scores.csv")
    mine = scores[(scores["method"] == "pair of two") & (scores["case"] == case)]
    assert set(mine["status"]) == {"missing"}


def test_a_submission_that_was_not_scored_is_not_overwritten(bench):
    submission = bench / "predictions" / "late" / "S001"
    submission.mkdir(parents=True)
    (submission / "segmentation.nii.gz").write_bytes(b"their work")
    done = ensemble(bench, "--name", "late")
    kept = (submission / "segmentation.nii.gz").read_bytes()
    shutil.rmtree(submission.parent)
    assert done.returncode == 2
    assert "late is a method already" in done.stderr
    assert kept == b"their work"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "coin"], "Use one of majority, staple"),
        (["--methods", "Careful"], "1 method cannot make an ensemble"),
        (["--methods", "Careful,Nobody"], "Nobody was not scored"),
        (["--name", "Careful"], "Careful is a method already"),
        (["--name", "../elsewhere"], "the ensemble '../elsewhere' is no name of a folder"),
    ],
)
def test_wrong_options_are_one_line(bench, options, message):
    done = ensemble(bench, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_scores_of_another_tool_have_no_images_to_vote_on(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "scores.csv").write_text("method,case,metric,value\nA,1,dice,0.5\n")
    done = ensemble(tmp_path)
    assert done.returncode == 2
    assert "no usable run.json" in done.stderr


@pytest.mark.parametrize("voting", ["majority", "staple"])
def test_a_mask_that_overlaps_as_no_number_says_has_no_vote(tmp_path, voting):
    spec = protocol(["dsc"], n_raters=1, labels=REGIONS)
    mask = nested_masks(3, 1)[0]
    write_case(tmp_path, spec, "P1", {"1": mask}, {name: (mask, {}) for name in "AB"})
    predictions = tmp_path / "predictions"
    put_channels(predictions / "C" / "P1" / "segmentation.nii.gz", [mask == 1, mask == 2])
    places = {"reference": tmp_path / "reference", "predictions": predictions}
    notes = write_ensemble(Ensemble("all", tuple("CAB"), voting), spec, **places, cases=["P1"])
    why = "its labels overlap as no number of the protocol says"
    assert notes == [f"case P1: without C: {why}"]
    written = read_volume(predictions / "all" / "P1" / "segmentation.nii.gz").array
    np.testing.assert_array_equal(written, mask)
