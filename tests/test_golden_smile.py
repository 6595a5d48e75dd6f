"""Numbers of the EvaluateSegmentation tool, met through the command line on files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from tests.benchmark_files import evaluate_files
from tests.evaluatesegmentation import REFUSED, SCORED

NAMES = {"dice": "DICE", "jaccard": "JACRD", "volsim": "VOLSMTY", "mi": "MUTINF", "bavd": "bAVD"}


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smile")
    for pair in (*SCORED, *REFUSED):
        grid = Grid(pair.reference.shape, (0.3, 0.3, 0.6))  # which voxel units do not feel
        reference, prediction = Volume(pair.reference, grid), Volume(pair.prediction, grid)
        write_volume(folder / "reference" / pair.name / "annotation_1.nii.gz", reference)
        write_volume(
            folder / "predictions" / "the tool" / pair.name / "segmentation.nii.gz", prediction
        )
    table = pd.read_csv(evaluate_files("smile-uhura-2023", folder) / "scores.csv")
    return table.set_index(["reading", "case", "metric"]).sort_index()


@pytest.mark.parametrize("pair", SCORED, ids=lambda pair: pair.name)
@pytest.mark.parametrize("metric", NAMES)
@pytest.mark.parametrize("reading", ["released", "published", "corrected"])
def test_the_five_metrics(pair, metric, reading, scores):
    row = scores.loc[(reading, pair.name, metric)]
    assert row["value"] == pytest.approx(pair.values[NAMES[metric]], abs=1e-9)
    assert row["status"] == "ok"
    assert (row["unit"] == "voxels") == (metric == "bavd")


@pytest.mark.parametrize("pair", REFUSED, ids=lambda pair: pair.name)
@pytest.mark.parametrize("metric", NAMES)
def test_what_the_tool_refuses_costs_the_worst_value(pair, metric, scores):
    row = scores.loc[("released", pair.name, metric)]
    worst = {"bavd": np.sqrt(3) * 64}.get(metric, 0.0)
    assert row["status"] == "undefined"
    assert row["value"] == pytest.approx(worst)
    blamed = "prediction" if pair.reference.any() else "reference"
    assert row["detail"] == f"the {blamed} is empty"
