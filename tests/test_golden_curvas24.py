"""Numbers of the organisers' released code of 2024, met through the command line on files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from tests.benchmark_files import GOLDEN, evaluate_files

ORGANS = {"pancreas": "panc", "kidney": "kidn", "liver": "livr"}
EDGE_MM = 0.5625 ** (1 / 3)


@dataclass(frozen=True)
class OrganCase:
    """A golden case with axes turned from z, y, x to x, y, z."""

    name: str
    raters: Any
    labels: Any
    probabilities: Any
    expected: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> OrganCase:
        arrays = np.load(path)
        return cls(
            path.stem,
            [mask.T for mask in arrays["annotations"]],
            arrays["labels"].T,
            [p.T for p in arrays["probabilities"]],
            json.loads(path.with_suffix(".json").read_text()),
        )

    def write(self, folder: Path) -> None:
        grid = Grid(self.labels.shape, (EDGE_MM, EDGE_MM, EDGE_MM))
        reference = folder / "reference" / self.name
        for k, mask in enumerate(self.raters):
            write_volume(reference / f"annotation_{k + 1}.nii.gz", Volume(mask, grid))
        prediction = folder / "predictions" / "released code" / self.name
        write_volume(prediction / "segmentation.nii.gz", Volume(self.labels, grid))
        for organ, p in zip(ORGANS, self.probabilities, strict=True):
            write_volume(prediction / f"probability_{organ}.nii.gz", Volume(p, grid))


CASES = [OrganCase.read(path) for path in sorted((GOLDEN / "curvas24").glob("*.npz"))]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
each_organ = pytest.mark.parametrize("organ", ORGANS)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curvas24")
    for case in CASES:
        case.write(folder)
    return evaluate_files("curvas-2024", folder)


@pytest.fixture(scope="module")
def scores(out):
    table = pd.read_csv(out / "scores.csv")
    return table.set_index(["reading", "case", "metric", "structure"])["value"].sort_index()


@pytest.fixture(scope="module")
def details(out):
    table = pd.read_csv(out / "details.csv")
    return table.set_index(["reading", "case", "metric", "structure", "quantity", "item"])["value"]


@each_case
@each_organ
def test_overlap_where_the_raters_agree(case, organ, scores):
    short = ORGANS[organ]
    row_wise = case.expected["dsc_released_code"][short]
    assert scores["released", case.name, "dsc", organ] == pytest.approx(row_wise, abs=1e-6)
    for reading in ("published", "corrected"):
        volumetric = case.expected["dsc_volumetric"][short]
        assert scores[reading, case.name, "dsc", organ] == pytest.approx(volumetric, abs=1e-9)


@each_case
@each_organ
def test_confidence(case, organ, scores):
    expected = case.expected["confidence"][ORGANS[organ]]
    assert scores["released", case.name, "confidence", organ] == pytest.approx(expected, abs=1e-9)


@each_case
def test_calibration_against_each_rater(case, scores, details):
    expected = case.expected["ece_per_rater"]
    got = [details["released", case.name, "ece", "all", "ece", f"rater {k + 1}"] for k in range(3)]
    np.testing.assert_allclose(got, expected, rtol=0, atol=5e-8)
    assert scores["released", case.name, "ece", "all"] == pytest.approx(np.mean(expected), abs=5e-8)


@each_case
@each_organ
def test_volume(case, organ, scores):
    # a file holds spacing as float32, so that the volumes differ in the seventh digit
    got_mm3 = scores["released", case.name, "crps", organ] * 1000
    assert got_mm3 == pytest.approx(case.expected["crps_mm3"][ORGANS[organ]], rel=1e-4)


@each_case
@pytest.mark.parametrize("metric", ["dsc", "confidence", "crps"])
def test_the_case_value_is_the_mean_over_the_organs(case, metric, scores):
    for reading in ("released", "published", "corrected"):
        organs = [scores[reading, case.name, metric, organ] for organ in ORGANS]
        assert scores[reading, case.name, metric, "all"] == pytest.approx(np.mean(organs))
