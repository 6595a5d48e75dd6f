"""Numbers of the organisers' released code, met through the command line on files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from segjury.consensus import pack, staple
from tests.benchmark_files import evaluate_files, golden_pdacvi, write_prediction, write_reference

CASES = golden_pdacvi()
VESSELS = ("PORTA", "SMV", "AORTA", "CELIAC TRUNK", "SMA")
PLANES = {"cor": "angle axis 0", "sag": "angle axis 1", "ax": "angle axis 2"}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    for case in CASES:
        write_reference(case, folder / "reference" / case.name)
        write_prediction(case, folder / "predictions" / "released code" / case.name)
    return evaluate_files("curvas-pdacvi-2025", folder, "--reading", "released")


@pytest.fixture(scope="module")
def scores(out):
    table = pd.read_csv(out / "scores.csv")
    return table.set_index(["case", "metric", "structure"]).sort_index()


@pytest.fixture(scope="module")
def details(out):
    table = pd.read_csv(out / "details.csv")
    return table.set_index(["case", "metric", "structure", "quantity", "item"])[
        "value"
    ].sort_index()


each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@each_case
def test_overlap(case, scores):
    assert scores.loc[(case.name, "dsc", "all"), "value"] == pytest.approx(
        case.expected["dsc"], abs=1e-9
    )
    assert scores.loc[(case.name, "thr_dsc", "all"), "value"] == pytest.approx(
        case.expected["thr_dsc"], abs=1e-9
    )


@each_case
def test_calibration_against_each_rater(case, scores, details):
    tolerance = 5e-7  # the order of its float32 sums is worth that much
    expected = case.expected["ece_per_rater"]
    got = [details[case.name, "mr_ece", "all", "ece", f"rater {k + 1}"] for k in range(5)]
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)
    row = scores.loc[(case.name, "mr_ece", "all")]
    np.testing.assert_allclose(row["value"], np.mean(expected), rtol=0, atol=tolerance)
    assert row["status"] == ("undefined" if np.isnan(expected).any() else "ok")
    assert ("border" in str(row["detail"])) == case.expected["crop_wraps"]


@each_case
def test_volume(case, scores, details):
    got_mm3 = scores.loc[(case.name, "crps", "all"), "value"] * 1000
    assert got_mm3 == pytest.approx(case.expected["crps_mm3"], rel=1e-6, abs=1e-6)
    predicted = details[case.name, "crps", "all", "volume_cm3", "prediction"] * 1000
    assert predicted == pytest.approx(case.expected["predicted_volume_mm3"], rel=1e-6)


@each_case
@pytest.mark.parametrize("vessel", VESSELS)
def test_vascular_invasion(case, vessel, scores):
    got = scores.loc[(case.name, "vi", vessel), "value"]
    assert got == pytest.approx(case.expected["vi_code"][vessel], abs=1e-6)


@each_case
@pytest.mark.parametrize("vessel", VESSELS)
def test_every_angle(case, vessel, details):
    if not (case.arrays["vessels"] == VESSELS.index(vessel) + 1).any():
        return  # without the vessel there are no angles, and the released code's are all 0
    for plane, quantity in PLANES.items():
        angles = details.loc[case.name, "vi", vessel, quantity]
        raters = [angles[f"rater {k + 1}"] for k in range(5)]
        predicted = [angles[f"p > {t:g}"] for t in np.linspace(0.1, 0.8, 6)]
        np.testing.assert_allclose(
            raters, case.expected["angles_raters"][vessel][plane], rtol=0, atol=1e-9
        )
        np.testing.assert_allclose(
            predicted, case.expected["angles_prediction"][vessel][plane], rtol=0, atol=1e-9
        )


@each_case
def test_staple_is_simpleitks(case):
    patterns = pack(case.arrays["annotations"])
    mask = patterns.image(staple(patterns).foreground)
    np.testing.assert_array_equal(mask, case.arrays["staple"] > 0)
