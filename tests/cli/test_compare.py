"""`segjury compare`, and a submission given by itself."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

import segjury
from segjury.benchmark.folders import submitted
from segjury.errors import InputError
from tests.commands import segjury as run
from tests.small_benchmarks import write_benchmark

PDACVI = "curvas-pdacvi-2025"


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    write_benchmark(PDACVI, folder)
    return folder


def compare(bench, *given, **options):
    return segjury.compare(*given, protocol=PDACVI, reference=bench / "reference", **options)


def test_versions_have_the_scores_of_evaluate(bench):
    folders = [bench / "predictions" / name for name in ("A", "B")]
    table = compare(bench, *folders).versions.table.set_index("score")
    scores = segjury.evaluate(
        PDACVI,
        reference=bench / "reference",
        predictions=bench / "predictions",
        readings=["corrected"],
    )
    means = scores.groupby(["method", "metric"])["value"].mean()
    for score in ("dsc", "thr_dsc", "mr_ece", "crps"):
        assert table.loc[score, "first"] == pytest.approx(means["A", score])
        assert table.loc[score, "second"] == pytest.approx(means["B", score])


def test_the_command_writes_tables_and_pictures(bench, tmp_path):
    given = [str(bench / "predictions" / name) for name in ("A", "B")]
    done = run(
        "compare", *given, "--protocol", PDACVI, "--reference", str(bench / "reference"),
        "--out", str(tmp_path / "changes"), "--pictures", "1", "--jobs", "1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "A is A, B is B" in done.stdout
    assert "signed-rank" in done.stdout
    written = {path.name for path in (tmp_path / "changes").iterdir()}
    assert {"versions.csv", "cases.csv"} < written
    assert len([name for name in written if name.endswith(".png")]) == 1
    cases = pd.read_csv(tmp_path / "changes" / "cases.csv")
    assert set(cases["better"]) <= {"first", "second", "equal"}


def test_versions_of_one_name_are_told_apart_by_the_folders_above(bench, tmp_path):
    for version, name in (("v1", "A"), ("v2", "B")):
        shutil.copytree(bench / "predictions" / name, tmp_path / version / "mine")
    versions = compare(bench, tmp_path / "v1" / "mine", tmp_path / "v2").versions
    assert (versions.first, versions.second) == ("v1-mine", "v2-mine")


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("A", "A", "are the same folder"),
        (".", "A", r"has 2 methods, A, B"),
        ("A", "nowhere", "there is no folder"),
    ],
)
def test_folders_that_are_no_two_versions_are_refused(bench, first, second, words):
    with pytest.raises(InputError, match=words):
        compare(bench, bench / "predictions" / first, bench / "predictions" / second)


def test_a_broken_prediction_is_told_and_costs_its_case_alone(bench, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(bench / "predictions" / "B", mine)
    (mine / "P2" / "segmentation.nii.gz").write_bytes(b"nothing")
    compared = compare(bench, bench / "predictions" / "A", mine)
    assert len(compared.problems) == 1
    assert "P2, method mine" in compared.problems[0]
    assert len(compared.versions.by_case["case"].unique()) == 3


# ---- one submission ------------------------------------------------------------------------


def test_the_folder_of_one_method_is_scored_as_beside_others(bench):
    options = {"reference": bench / "reference", "readings": ["corrected"]}
    both = segjury.evaluate(PDACVI, predictions=bench / "predictions", **options)
    alone = segjury.evaluate(PDACVI, predictions=bench / "predictions" / "B", **options)
    expected = both[both["method"] == "B"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, expected)


def test_a_submission_beside_its_results(bench, tmp_path):
    shutil.copytree(bench / "predictions" / "A", tmp_path / "mine")
    out = tmp_path / "results"
    results = segjury.run(
        PDACVI, reference=bench / "reference", predictions=tmp_path / "mine", out=out
    )
    assert results.run.methods == ["mine"]
    assert (out / "scores.csv").is_file()


def test_nnunets_files_are_a_submission_too(bench, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    for case in ("P1", "P2", "P3"):
        source = bench / "predictions" / "A" / case / "segmentation.nii.gz"
        shutil.copy(source, mine / f"{case}.nii.gz")
    protocol = segjury.load_protocol(PDACVI)
    found = submitted(protocol, mine, cases=["P1", "P2", "P3"])
    assert found == (tmp_path.resolve(), ["mine"])


def test_a_method_called_as_a_case_is_still_a_method(bench, tmp_path):
    shutil.copytree(bench / "predictions" / "A", tmp_path / "P1")
    shutil.copytree(bench / "predictions" / "B", tmp_path / "B")
    protocol = segjury.load_protocol(PDACVI)
    assert submitted(protocol, tmp_path, cases=["P1", "P2", "P3"]) == (tmp_path, None)
