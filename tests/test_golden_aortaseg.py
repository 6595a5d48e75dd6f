"""Dice and surface distances of 23 classes, met through the command line on files.

The numbers are those of the reference surfel implementation and of an edge-voxel one.
"""

from __future__ import annotations

import json
import math
import shutil
import tomllib

import numpy as np
import pandas as pd
import pytest

from segjury.protocols import load_protocol, protocol_text
from tests.benchmark_files import GOLDEN, evaluate_files

FOLDER = GOLDEN / "surface"
EXPECTED = json.loads((FOLDER / "golden.json").read_text())
LABELS = load_protocol("aortaseg-2024").reference.labels
NSD = 'definition = "{}"\ntolerance_mm = {}'
BUILT_IN = NSD.format("surfel", "2.0")
CHANGED = [("surfel", 1), ("surfel", 2), ("edge-voxels", 1), ("edge-voxels", 2)]


def golden_key(definition: str, tolerance_mm: int) -> str:
    return f"nsd_{definition.replace('-', '_')}_{tolerance_mm}mm"


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aorta")
    for name in EXPECTED:
        reference, prediction = folder / "reference" / name, folder / "predictions" / "A" / name
        for place, source, stem in (
            (reference, "truth", "annotation_1"),
            (prediction, "pred", "segmentation"),
        ):
            place.mkdir(parents=True)
            shutil.copy(FOLDER / f"{name}_{source}.nii.gz", place / f"{stem}.nii.gz")
    return folder


@pytest.fixture(scope="module", params=CHANGED, ids=lambda p: f"{p[0]} {p[1]} mm")
def changed(request, benchmark):
    """Scores under a copy of the protocol with another definition of NSD."""
    definition, tolerance_mm = request.param
    text = protocol_text("aortaseg-2024")
    assert BUILT_IN in text
    own = benchmark / f"{definition}-{tolerance_mm}.toml"
    own.write_text(text.replace(BUILT_IN, NSD.format(definition, f"{tolerance_mm}.0")))
    assert tomllib.loads(own.read_text())["metrics"][1]["definition"] == definition
    table = pd.read_csv(evaluate_files(str(own), benchmark) / "scores.csv")
    index = ["reading", "case", "metric", "structure"]
    return golden_key(definition, tolerance_mm), table.set_index(index).sort_index()


@pytest.mark.parametrize("case", EXPECTED)
def test_every_class(case, changed):
    key, scores = changed
    for name, label in LABELS.items():
        expected = EXPECTED[case]["labels"].get(str(label), {})
        for metric, wanted in (("dsc", "dsc"), ("nsd", key)):
            for reading in ("published", "corrected"):
                value = scores.loc[(reading, case, metric, name), "value"]
                if scores.loc[(reading, case, metric, name), "status"] == "undefined":
                    assert math.isnan(value)  # absent from the reference, and so from the mean
                    assert expected.get(wanted) in (None, 0.0)
                else:
                    assert value == pytest.approx(expected[wanted], abs=1e-9)
        released = scores.loc[("released", case, "dsc", name), "value"]
        assert math.isnan(released) or released == pytest.approx(expected["dsc"], abs=1e-9)


@pytest.mark.parametrize("case", EXPECTED)
def test_the_mean_is_over_the_classes_of_the_reference(case, changed):
    _, scores = changed
    for metric in ("dsc", "nsd"):
        classes = scores.loc[("corrected", case, metric), "value"].drop("all")
        mean = scores.loc[("corrected", case, metric, "all"), "value"]
        assert 0 < classes.isna().sum() < 3  # each case lacks a class or two
        assert mean == pytest.approx(classes.mean())
        assert np.isnan(scores.loc[("released", case, metric, "all"), "value"])


def test_the_tolerance_is_printed(changed):
    key, scores = changed
    details = scores.loc["corrected"].xs("nsd", level="metric")["detail"]
    assert set(details.str.split(";").str[0]) == {
        f"{key[4:-4].replace('_', '-')}, tolerance {key[-3]} mm"
    }
