"""Whole runs on files, through the command line: good input, bad input, interruption."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from scipy import ndimage

import segjury
from segjury.analysis.ranking import leaderboard, readings
from segjury.arrays import Box
from segjury.benchmark.case import Structure
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.volume import Volume
from segjury.metrics import thr_dsc
from segjury.metrics.contact import contact_angles
from segjury.protocols import protocol_text
from segjury.scoring.scorers.measured import SCORERS, Scorer
from tests import commands
from tests.benchmark_files import (
    evaluate_words,
    golden_pdacvi,
    write_prediction,
    write_reference,
)

CASES = {case.name: case for case in golden_pdacvi() if case.name in ("00_typical", "05_disjoint")}
FIRST, SECOND = CASES
PROTOCOL = "curvas-pdacvi-2025"
KEY = ["method", "case", "metric", "structure", "reading"]


def evaluate(folder, *options):
    return commands.segjury(*evaluate_words(folder, "--jobs", 1, *options))


def scores(folder):
    return pd.read_csv(
        folder / "out" / "scores.csv", keep_default_na=False, na_values={"value": [""]}
    )


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Two cases, two methods, scored without any problem."""
    folder = tmp_path_factory.mktemp("good")
    for name, case in CASES.items():
        write_reference(case, folder / "reference" / name)
        for method in ("TeamA", "TeamB"):
            write_prediction(case, folder / "predictions" / method / name)
    done = evaluate(folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def bench(prepared, tmp_path):
    """A copy of it that a test may damage, with the finished results left out."""
    shutil.copytree(prepared, tmp_path / "bench", ignore=shutil.ignore_patterns("out"))
    return tmp_path / "bench"


def test_a_run_writes_every_score_once(prepared):
    table = scores(prepared)
    assert not table.duplicated(KEY).any()
    assert set(table["status"]) == {"ok"}
    per_prediction = 3 * (4 + 5) + 5  # metrics and vessels in three readings; contact angles
    assert len(table) == 2 * 2 * per_prediction
    pd.testing.assert_frame_equal(
        pd.read_parquet(prepared / "out" / "scores.parquet")[KEY], table[KEY], check_dtype=False
    )


def test_the_run_is_described_well_enough_to_repeat_it(prepared):
    run = json.loads((prepared / "out" / "run.json").read_text())
    assert run["protocol"]["name"] == PROTOCOL
    assert len(run["protocol"]["hash"]) == 64
    assert "mr_ece" in run["protocol"]["text"]
    assert run["readings"] == ["released", "published", "corrected"]
    assert {"numpy", "python"} <= run["versions"].keys()


def test_python_gives_the_same_table(prepared):
    table = segjury.evaluate(
        PROTOCOL, reference=prepared / "reference", predictions=prepared / "predictions"
    )
    np.testing.assert_array_equal(table["value"], scores(prepared)["value"])


def test_two_processes_give_the_same_bytes(prepared, bench):
    evaluate(bench, "--jobs", "2")
    for name in ("scores.csv", "details.csv", "calibration.csv", "cases.csv"):
        assert (bench / "out" / name).read_bytes() == (prepared / "out" / name).read_bytes()


def test_readings_and_methods_can_be_chosen(bench):
    done = evaluate(bench, "--reading", "released", "--methods", "TeamB")
    assert done.returncode == 0
    table = scores(bench)
    assert set(table["reading"]) == {"released"}
    assert set(table["method"]) == {"TeamB"}


@pytest.mark.parametrize("seed", range(6))
def test_only_what_is_near_a_vessel_can_touch_it(seed):
    rng = np.random.default_rng(seed)
    vessel = ndimage.binary_dilation(rng.random((14, 13, 12)) < 0.004, iterations=2)
    structure = Structure(vessel, Box.whole(vessel.shape), (1.0, 1.0, 1.0))
    near = ndimage.binary_dilation(vessel, np.ones((3, 3, 3)))
    np.testing.assert_array_equal(structure.shell, near)
    far = contact_angles(structure.sections, ~near)
    np.testing.assert_array_equal(far, [0.0])  # so that the short cut changes nothing


def test_a_ready_consensus_is_used(bench):
    mask = CASES[FIRST].arrays["binary"]  # as if the experts had agreed on the prediction
    consensus = Volume(mask, CASES[FIRST].grid)
    write_volume(bench / "reference" / FIRST / "annotation_staple.nii.gz", consensus)
    evaluate(bench)
    table = scores(bench).set_index(KEY)["value"]
    assert table["TeamA", FIRST, "dsc", "all", "corrected"] == 1.0


def test_the_cohort_of_total_disagreement(prepared):
    table = scores(prepared)
    in_cohort = set(table[table["cohort"] == "high-complexity"]["case"])
    masks = {name: case.arrays["annotations"].astype(bool) for name, case in CASES.items()}
    expected = {name for name, raters in masks.items() if mean_pairwise(raters) <= 0.30}
    assert in_cohort == expected


def mean_pairwise(raters):
    pairs = [(a, b) for i, a in enumerate(raters) for b in raters[i + 1 :]]
    return np.mean([2 * (a & b).sum() / (a.sum() + b.sum()) for a, b in pairs])


@pytest.mark.parametrize("suffix", [".nii", ".mha", ".nrrd"])
def test_other_formats_give_the_same_scores(prepared, bench, suffix):
    for folder in (bench / "predictions" / "TeamA" / FIRST, bench / "reference" / FIRST):
        shutil.rmtree(folder)
    write_reference(CASES[FIRST], bench / "reference" / FIRST, suffix=suffix)
    write_prediction(CASES[FIRST], bench / "predictions" / "TeamA" / FIRST, suffix=suffix)
    evaluate(bench, "--methods", "TeamA")
    expected = scores(prepared)
    expected = expected[expected["method"] == "TeamA"]["value"].to_numpy()
    np.testing.assert_allclose(scores(bench)["value"], expected, rtol=1e-6, atol=1e-12)


def test_the_layout_of_nnunet_gives_the_same_scores(prepared, bench):
    team = bench / "predictions" / "TeamA"
    for name, case in CASES.items():
        shutil.move(team / name / "segmentation.nii.gz", team / f"{name}.nii.gz")
        shutil.rmtree(team / name)
        p = case.arrays["probability"].transpose(2, 1, 0)
        np.savez_compressed(team / f"{name}.npz", probabilities=np.stack([1 - p, p]))
    assert evaluate(bench).returncode == 0
    np.testing.assert_array_equal(scores(bench)["value"], scores(prepared)["value"])


# ---- bad input -----------------------------------------------------------------------------


def save_with_header(path, array, dtype):
    nib.save(nib.Nifti1Image(array.astype(dtype), nib.load(path).affine), path)


def truncated(folder):
    path = folder / "probability.nii.gz"
    path.write_bytes(path.read_bytes()[:-2000])


def wrong_shape(folder):
    path = folder / "probability.nii.gz"
    save_with_header(path, nib.load(path).get_fdata()[:, :, :-3], np.float32)


def with_nan(folder):
    path = folder / "probability.nii.gz"
    array = nib.load(path).get_fdata()
    array[3, 4, 5] = np.nan
    save_with_header(path, array, np.float32)


def times_255(name):
    def change(folder):
        save_with_header(folder / name, nib.load(folder / name).get_fdata() * 255, np.int16)

    return change


def fractional(folder):
    path = folder / "segmentation.nii.gz"
    save_with_header(path, nib.load(path).get_fdata() * 0.5, np.float32)


def unknown_label(folder):
    path = folder / "segmentation.nii.gz"
    save_with_header(path, nib.load(path).get_fdata() * 4, np.uint8)


def mirrored(folder):
    path = folder / "segmentation.nii.gz"
    image = nib.load(path)
    affine = image.affine @ np.diag([-1, 1, 1, 1])
    nib.save(nib.Nifti1Image(np.asarray(image.dataobj), affine), path)


BAD = {
    "truncated gzip": (truncated, "failed", "probability.nii.gz is cut short"),
    "empty file": (lambda f: (f / "probability.nii.gz").write_bytes(b""), "failed", "empty file"),
    "text file": (
        lambda f: (f / "probability.nii.gz").write_text("hello"),
        "failed",
        "not a gzip file",
    ),
    "text in gzip": (
        lambda f: (f / "probability.nii.gz").write_bytes(gzip.compress(b"hello world")),
        "failed",
        "not a NIfTI file",
    ),
    "wrong shape": (
        wrong_shape,
        "failed",
        "has shape (79, 84, 74), the reference has (79, 84, 77)",
    ),
    "NaN": (with_nan, "failed", "probability.nii.gz has NaN"),
    "values 0-255": (times_255("probability.nii.gz"), "failed", "expected probabilities in [0, 1]"),
    "mask 0-255": (times_255("segmentation.nii.gz"), "failed", "unknown label 255"),
    "fractional mask": (fractional, "failed", "not whole numbers"),
    "unknown label": (unknown_label, "failed", "unknown label 4, expected 0, 1"),
    "mirrored": (mirrored, "failed", "has direction"),
    "missing file": (
        lambda f: (f / "segmentation.nii.gz").unlink(),
        "missing",
        "segmentation.nii.gz is missing",
    ),
    "missing case": (shutil.rmtree, "missing", "no prediction"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_costs_its_own_rows_and_says_why(prepared, bench, kind):
    damage, status, message = BAD[kind]
    damage(bench / "predictions" / "TeamA" / FIRST)
    done = evaluate(bench)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f"error: case {FIRST}, method TeamA: " in done.stderr
    assert message in done.stderr.replace("\n", " ")
    table, good = scores(bench).set_index(KEY), scores(prepared).set_index(KEY)
    hit = (table.index.get_level_values("method") == "TeamA") & (
        table.index.get_level_values("case") == FIRST
    )
    pd.testing.assert_frame_equal(table[~hit], good[~hit])
    bad = table[hit]
    assert set(bad["status"]) == {status}
    assert bad["detail"].str.contains(message, regex=False).all()
    worst = bad.xs("corrected", level="reading").droplevel(["method", "case"])["value"]
    assert worst["dsc", "all"] == 0
    assert worst["thr_dsc", "all"] == 0
    assert worst["mr_ece", "all"] == 1
    assert worst["vi", "PORTA"] == 360
    assert worst["crps", "all"] > good.loc[("TeamA", FIRST, "crps", "all", "corrected"), "value"]


def test_a_bad_reference_leaves_the_case_out_for_everybody(prepared, bench):
    (bench / "reference" / FIRST / "annotation_3.nii.gz").unlink()
    done = evaluate(bench)
    assert done.returncode == 2
    assert "reference: annotation_3.nii.gz is missing" in done.stderr
    table = scores(bench)
    lost = table[table["case"] == FIRST]
    assert set(lost["status"]) == {"failed"}
    assert lost["value"].isna().all()
    rest, good = table[table["case"] == SECOND], scores(prepared)
    np.testing.assert_array_equal(rest["value"], good[good["case"] == SECOND]["value"])


@pytest.mark.parametrize("name", ["02_nocontact", "12_missingvessel"])
def test_a_missing_prediction_does_not_spoil_what_nobody_can_be_scored_in(tmp_path, name):
    # the first leaves the released calibration undefined, the second lacks a vessel
    case = next(case for case in golden_pdacvi() if case.name == name)
    write_reference(case, tmp_path / "reference" / name)
    write_prediction(case, tmp_path / "predictions" / "TeamA" / name)
    (tmp_path / "predictions" / "TeamB").mkdir()
    assert evaluate(tmp_path).returncode == 2
    table = scores(tmp_path)
    undefined = table["value"].isna()
    by_method = {
        m: set(map(tuple, part[KEY[2:]].to_numpy()))
        for m, part in table[undefined].groupby("method")
    }
    assert by_method["TeamA"] == by_method["TeamB"] != set()
    for reading in readings(table):
        assert leaderboard(table, reading=reading).position["TeamA"] == 1


def test_another_spacing_is_a_warning_on_the_row(bench):
    path = bench / "predictions" / "TeamA" / FIRST / "segmentation.nii.gz"
    image = nib.load(path)
    nib.save(nib.Nifti1Image(np.asarray(image.dataobj), image.affine @ np.diag([2, 1, 1, 1])), path)
    assert evaluate(bench).returncode == 0
    row = scores(bench).query(f"method == 'TeamA' and case == '{FIRST}'").iloc[0]
    assert row["status"] == "ok"
    assert "warning: segmentation.nii.gz has spacing" in row["detail"]


@pytest.mark.parametrize("name", ["annotation_1.nii.gz", "segmentation.nii.gz"])
def test_a_doubtful_voxel_size_is_a_warning_on_the_row(bench, name):
    path = next(bench.rglob(name))
    content = bytearray(gzip.decompress(path.read_bytes()))
    content[88:92] = np.array([9], "<f4").tobytes()  # the pixdim of z
    path.write_bytes(gzip.compress(content))
    assert evaluate(bench).returncode == 0
    table = scores(bench).reset_index()
    row = table[table["case"] == path.parent.name].iloc[0]
    assert row["status"] == "ok"
    assert f"warning: {name} has voxels of" in row["detail"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "TeamX"], "no method TeamX"),
        (["--reading", "imagined"], "--reading is 'imagined'"),
        (["--predictions", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_wrong_options_are_one_line(bench, options, message):
    done = evaluate(bench, *options)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_fault_of_ours_neither_stops_the_others_nor_punishes_the_method(prepared, monkeypatch):
    def broken(_comparison, _label, _use, _reading):
        raise RuntimeError("a bug")

    monkeypatch.setitem(SCORERS, "crps", Scorer(broken))
    folders = {"reference": prepared / "reference", "predictions": prepared / "predictions"}
    table = segjury.evaluate(PROTOCOL, **folders, methods=["TeamA"])
    assert set(table["status"]) == {"failed"}
    assert table["value"].isna().all()
    assert table["detail"].str.contains("internal error, please report it: RuntimeError").all()
    assert set(table["case"]) == set(CASES)


def corrected_only(folder):
    """A protocol of one metric that is computed in the corrected reading alone."""
    text = protocol_text(PROTOCOL).replace(PROTOCOL, "mine")
    start, end = text.index("[[metrics]]"), text.index("[policy]")
    metric = '[[metrics]]\nname = "dsc"\nreadings = ["corrected"]\n\n'
    (folder / "mine.toml").write_text(text[:start] + metric + text[end:])
    return folder / "mine.toml"


@pytest.mark.parametrize("asked", [["released"], ["corrected", "published"], []])
def test_a_reading_that_a_protocol_lacks_is_refused_before_anything_is_written(
    prepared, tmp_path, asked
):
    protocol, out = corrected_only(tmp_path), tmp_path / "out"
    folders = {"reference": prepared / "reference", "predictions": prepared / "predictions"}
    assert len(segjury.run(protocol, **folders, out=out, methods=["TeamA"]).scores)  # all there are
    before = (out / "scores.csv").read_bytes()
    with pytest.raises(InputError, match="corrected"):
        segjury.run(protocol, **folders, out=out, methods=["TeamA"], readings=asked)
    with pytest.raises(InputError, match="corrected"):
        segjury.measure_raters(protocol, reference=folders["reference"], readings=asked)
    assert (out / "scores.csv").read_bytes() == before


def test_the_command_names_the_readings_there_are(prepared, tmp_path):
    done = commands.segjury(
        "evaluate", corrected_only(tmp_path), "--reference", prepared / "reference",
        "--predictions", prepared / "predictions", "--out", tmp_path / "out",
        "--reading", "released",
    )  # fmt: skip
    assert done.returncode == 2
    assert "mine has no reading released" in done.stderr
    assert "Use corrected" in done.stderr
    assert not (tmp_path / "out" / "scores.csv").exists()


def test_an_own_protocol_with_three_raters_and_no_vessels(prepared, tmp_path):
    text = protocol_text(PROTOCOL)
    text = text.replace("n_raters = 5", "n_raters = 3").replace(PROTOCOL, "mine")
    start, end = text.index("[reference.structures]"), text.index("[prediction]")
    text = text[:start] + text[end:]
    start, end = text.index('[[metrics]]\nname = "vi"'), text.index("[policy]")
    (tmp_path / "mine.toml").write_text(text[:start] + text[end:])
    table = segjury.evaluate(
        tmp_path / "mine.toml",
        reference=prepared / "reference",
        predictions=prepared / "predictions",
        readings=["corrected"],
    ).set_index(KEY)["value"]
    arrays = CASES[FIRST].arrays
    expected = thr_dsc(arrays["annotations"][:3], arrays["probability"])
    assert table["TeamA", FIRST, "thr_dsc", "all", "corrected"] == pytest.approx(expected)
    assert set(table.index.get_level_values("metric")) == {"dsc", "thr_dsc", "mr_ece", "crps"}


def test_metrics_with_thresholds_of_their_own_do_not_share_masks(prepared, tmp_path):
    def contact_angles(vi_thresholds):
        text = protocol_text(PROTOCOL)
        start = text.index('name = "vi"')
        first, rest = text[:start], text[start:]
        rest = rest.replace("{ first = 0.1, last = 0.8, count = 6 }", vi_thresholds, 1)
        rest = rest.replace("{ first = 0.1, last = 0.8, count = 6 }", "[0.5]", 1)
        (tmp_path / "mine.toml").write_text(first + rest)
        folders = {"reference": prepared / "reference", "predictions": prepared / "predictions"}
        table = segjury.evaluate(tmp_path / "mine.toml", **folders, methods=["TeamA"])
        return table[table["metric"] == "contact_angle"]["value"].tolist()

    angles = contact_angles("[0.05, 0.9]")
    assert angles == contact_angles("[0.5]")
    assert any(angles)


# ---- interruption --------------------------------------------------------------------------


def test_a_second_run_computes_only_what_changed(bench):
    evaluate(bench)
    parts = {path: path.stat().st_mtime_ns for path in (bench / "out" / "parts").iterdir()}
    before = (bench / "out" / "scores.csv").read_bytes()
    evaluate(bench)
    assert {p: p.stat().st_mtime_ns for p in (bench / "out" / "parts").iterdir()} == parts
    assert (bench / "out" / "scores.csv").read_bytes() == before
    changed = bench / "predictions" / "TeamB" / SECOND / "segmentation.nii.gz"
    save_with_header(changed, np.zeros(nib.load(changed).shape), np.uint8)
    evaluate(bench)
    again = [p for p in parts if p.stat().st_mtime_ns != parts[p]]
    assert len(again) == 1
    table = scores(bench).set_index(KEY)["value"]
    assert table["TeamB", SECOND, "dsc", "all", "corrected"] == 0.0


def test_a_broken_part_is_computed_again(bench, prepared):
    evaluate(bench)
    for path in (bench / "out" / "parts").iterdir():
        path.write_text(path.read_text()[:100])
    assert evaluate(bench).returncode == 0
    assert (bench / "out" / "scores.csv").read_bytes() == (
        prepared / "out" / "scores.csv"
    ).read_bytes()


def test_nothing_is_left_half_written(prepared):
    leftovers = [p for p in Path(prepared).rglob("*") if "partial" in p.name or p.name[0] == "."]
    assert leftovers == []
