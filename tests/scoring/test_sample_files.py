"""Samples are found and read beside a mask, or in its place and in that of the map."""

from __future__ import annotations

import numpy as np
import pytest

import segjury
from segjury import metrics
from segjury.report.pictures import case_images
from tests.small_panels import SHAPE, SPACING_MM, balls, protocol, put, soft, write_case

METRICS = [{"name": "dsc"}, {"name": "thr_dsc"}, {"name": "ged"}]
METRICS.append({"name": "crps", "worst": "empty-prediction"})
RATERS = balls(1, 4)


def benchmark(folder, **prediction):
    """A case of four raters, and a method that gives six samples alone."""
    given = protocol(METRICS, n_raters=4, prediction=prediction)
    write_case(folder, given, "P1", {str(k + 1): mask for k, mask in enumerate(RATERS)}, {})
    for number, sample in enumerate(balls(2, 6), 1):
        put(folder / "predictions" / "M", f"sample_{number:02}", sample, case="P1")
    return given, {name: folder / name for name in ("reference", "predictions")}


def rows(given, places):
    results = segjury.run(given, **places, readings=["corrected"])
    table = results.scores.set_index(["method", "metric"])
    return table, results.problems


def test_samples_alone_give_the_mask_and_the_map(tmp_path):
    given, places = benchmark(tmp_path)
    table, problems = rows(given, places)
    samples = balls(2, 6)
    mean = samples.mean(axis=0).astype(np.float32)
    value = table["value"].loc["M"]
    assert problems == ()
    assert value["ged"] == pytest.approx(metrics.ged(RATERS, samples))
    assert value["thr_dsc"] == pytest.approx(metrics.thr_dsc(RATERS, mean))
    consensus = segjury.consensus.staple_foreground(packed := segjury.consensus.pack(RATERS))
    most = metrics.dsc(packed.image(consensus), mean > 0.5)
    assert value["dsc"] == pytest.approx(most)
    litres = [mask.sum() * np.prod(SPACING_MM) / 1000 for mask in (*RATERS, mean)]
    assert value["crps"] == pytest.approx(metrics.crps(litres[:-1], litres[-1]), rel=1e-6)


def test_a_mask_and_a_map_of_its_own_come_first(tmp_path):
    given, places = benchmark(tmp_path)
    drawn = balls(9, 1)[0]
    put(places["predictions"] / "M", "segmentation", drawn, case="P1")
    put(places["predictions"] / "M", "probability", soft(drawn, 1), case="P1")
    table, _ = rows(given, places)
    assert table["value"].loc["M"]["thr_dsc"] == metrics.thr_dsc(RATERS, soft(drawn, 1))


def test_the_files_may_be_called_otherwise_and_lie_flat(tmp_path):
    given, places = benchmark(tmp_path / "nested")
    expected, _ = rows(given, places)
    flat, places = benchmark(tmp_path / "flat", mask="{case}", sample="{case}/draw{sample}")
    for path in (places["predictions"] / "M" / "P1").iterdir():
        path.rename(path.with_name(path.name.replace("sample_0", "draw")))
    got, problems = rows(flat, places)
    assert problems == ()
    assert got["value"].equals(expected["value"])


def test_the_order_of_the_samples_changes_nothing(tmp_path):
    given, places = benchmark(tmp_path)
    before, _ = rows(given, places)
    folder = places["predictions"] / "M" / "P1"
    (folder / "sample_01.nii.gz").rename(folder / "sample_17.nii.gz")
    after, _ = rows(given, places)
    np.testing.assert_allclose(after["value"], before["value"], rtol=1e-12)


def whole(folder):
    """As `benchmark`, and a mask and a map, so that the samples alone can be missing."""
    given, places = benchmark(folder)
    drawn = balls(9, 1)[0]
    put(places["predictions"] / "M", "segmentation", drawn, case="P1")
    put(places["predictions"] / "M", "probability", soft(drawn, 1), case="P1")
    return given, places


def many(folder):
    for number in range(7, 201):
        put(folder, f"sample_{number:03}", np.zeros(SHAPE, np.uint8), case="P1")


def another_grid(folder):
    put(folder, "sample_04", np.zeros((4, 5, 6), np.uint8), case="P1")


def none_left(folder):
    for path in (folder / "P1").glob("sample_*"):
        path.unlink()


def one_twice(folder):
    (folder / "P1" / "sample_02.nii").write_bytes(b"nothing")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (many, "there are 200 samples, at most 100 are read"),
        (another_grid, "sample_04.nii.gz has shape (4, 5, 6), the reference has (16, 18, 14)"),
        (none_left, "sample_01.nii.gz is missing"),
        (one_twice, "there are sample_02.nii, sample_02.nii.gz. Keep one of them"),
    ],
)
def test_bad_samples_cost_their_own_scores_alone(tmp_path, damage, words):
    given, places = whole(tmp_path)
    before, _ = rows(given, places)
    damage(places["predictions"] / "M")
    after, problems = rows(given, places)
    assert words in problems[0]
    lost = after.loc["M"].loc["ged"]
    assert (lost["status"], lost["value"]) == ("missing", 2.0)
    assert words in lost["detail"]
    kept = ["dsc", "thr_dsc", "crps"]
    assert after.loc["M"].loc[kept].equals(before.loc["M"].loc[kept])


DAMAGE = {
    many: "too-many-samples",
    another_grid: "other-shape",
    none_left: "missing-file",
    one_twice: "two-files",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_check_looks_at_samples(tmp_path, damage):
    given, places = whole(tmp_path)
    assert [problem.severity for problem in segjury.check(given, **places).problems] == []
    damage(places["predictions"] / "M")
    problems = segjury.check(given, **places).problems
    assert [(each.severity, each.kind) for each in problems] == [("error", DAMAGE[damage])]


def test_pictures_show_the_samples_as_mask_and_map(tmp_path):
    given, places = benchmark(tmp_path)
    images = case_images(given, *places.values(), "P1", ["M"])
    samples = balls(2, 6)
    share = images.probabilities["M"]["foreground"]
    assert share.sum() == pytest.approx(samples.mean(axis=0).sum())
    assert images.predictions["M"].sum() == (samples.mean(axis=0) > 0.5).sum()
