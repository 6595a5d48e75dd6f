"""Panels as they are: raters with names, gaps, weights, second reads, or nobody knows who."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import segjury
from segjury.analysis.redrawn_raters import rater_scores
from segjury.arrays import nonzero_voxels
from segjury.benchmark.case import ReferenceCase, SecondRead
from segjury.benchmark.loading import load_reference
from segjury.consensus import pack, soft_mean
from segjury.errors import InputError
from segjury.images.grid import Grid
from segjury.images.labels import Classes, SparseLabels
from segjury.metrics import METRICS as METRICS_KNOWN
from segjury.metrics import crps, thr_dsc
from segjury.metrics.invasion import vi_score
from segjury.raters import RaterStudy, measure_raters, write_raters
from segjury.raters.case import measure_case
from segjury.raters.masks import without_rater
from segjury.raters.outliers import OutlierTests, outlier_tests
from segjury.raters.sentences import sentences
from segjury.raters.tables import pooled_alpha
from segjury.report.content import content
from segjury.report.figures.maps.invasion import invasion_data
from segjury.report.figures.maps.volume_curves import volume_data
from segjury.results import Results
from tests.commands import segjury as command
from tests.panels import (
    GRID,
    MARKED,
    METHODS,
    METRICS,
    lesion,
    named,
    panel,
    panel_form,
    write_form,
)
from tests.panels import write_panel as write
from tests.places import ROOT
from tests.small_benchmarks import change, put

NUMBERED = {"n_raters": 4, "min_raters": 1}
ANONYMOUS = NUMBERED | {"anonymous": True}
NUMBER = dict(zip("ABCD", "1234", strict=True))


def run(folder: Path, reference: Mapping[str, object], **more: object) -> Results:
    return segjury.run(
        panel(reference, **more), reference=folder / "reference", predictions=folder / "predictions"
    )


def numbered_by_case(folder: Path) -> None:
    """Number the raters of each case from 1, as who does not know them does."""
    for case in (folder / "reference").iterdir():
        for k, path in enumerate(sorted(case.glob("by_*")), 1):
            path.rename(case / f"by_{k}.nii.gz")


def without(results: Results, case: str) -> list[str]:
    """The lines of `scores.csv` and `details.csv` that are not of a case."""
    tables = (results.scores, results.details)
    texts = [table[table["case"] != case].to_csv(index=False) for table in tables]
    return [line for text in texts for line in text.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("panel"))


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return run(folder, named())


@pytest.fixture(scope="module")
def study(folder: Path) -> RaterStudy:
    return measure_raters(panel(named()), reference=folder / "reference", readings=["corrected"])


@pytest.fixture(scope="module")
def unnamed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write(tmp_path_factory.mktemp("anonymous"))
    numbered_by_case(folder)
    return folder


@pytest.fixture(scope="module")
def unnamed_study(unnamed: Path) -> RaterStudy:
    return measure_raters(panel(ANONYMOUS), reference=unnamed / "reference", readings=["corrected"])


# ---- laws ----------------------------------------------------------------------------------


def test_a_rater_missing_from_a_case_changes_nothing_on_the_others(folder, results, tmp_path):
    shutil.copytree(folder, tmp_path / "fewer")
    (tmp_path / "fewer" / "reference" / "P3" / "by_A.nii.gz").unlink()
    fewer = run(tmp_path / "fewer", named())
    assert without(fewer, "P3") == without(results, "P3")
    assert not fewer.scores.equals(results.scores)


def test_other_names_change_only_names(folder, results, tmp_path):
    shutil.copytree(folder, tmp_path / "numbered")
    for path in (tmp_path / "numbered" / "reference").rglob("by_*"):
        path.rename(path.with_name(f"by_{NUMBER[path.name[3]]}.nii.gz"))
    found = run(tmp_path / "numbered", NUMBERED)
    pd.testing.assert_frame_equal(found.scores, results.scores)
    items = results.details["item"].replace({f"rater {a}": f"rater {n}" for a, n in NUMBER.items()})
    pd.testing.assert_frame_equal(found.details, results.details.assign(item=items))
    for table, other in ((found.cases, results.cases), (found.calibration, results.calibration)):
        np.testing.assert_array_equal(table.to_numpy(str), other.to_numpy(str))


def test_the_order_of_raters_changes_no_score(folder, results):
    turned = run(folder, named(rater_names=list("DCBA")))
    same = turned.scores.drop(columns="value")
    pd.testing.assert_frame_equal(same, results.scores.drop(columns="value"))
    assert turned.scores["value"].to_numpy() == pytest.approx(
        results.scores["value"].to_numpy(), abs=1e-12
    )


# ---- tables --------------------------------------------------------------------------------


def test_columns_are_those_of_the_panel_and_empty_where_a_rater_is_missing(results, tmp_path):
    results.write(tmp_path)
    read = Results.read(tmp_path)
    cases = read.cases.set_index("case")
    assert [name for name in cases if name.endswith("_cm3")] == [
        *("consensus_cm3", "rater_A_cm3", "rater_B_cm3", "rater_C_cm3", "rater_D_cm3")
    ]
    pairs = ["_".join(pair) for pair in combinations("ABCD", 2)]
    assert [name for name in cases if name.startswith("dsc_")] == [
        *(f"dsc_{pair}" for pair in pairs),
        *(f"dsc_{name}_consensus" for name in "ABCD"),
    ]
    assert cases["raters"].to_dict() == {case: len(names) for case, names in MARKED.items()}
    for name in "CD":
        there = cases[f"dsc_{name}_consensus"].notna()
        expected = {c for c, names in MARKED.items() if name in names and len(names) > 1}
        assert set(cases.index[there]) == expected
    hits = read.calibration.drop_duplicates("case").set_index("case")
    for case, names in MARKED.items():
        assert [name for name in "ABCD" if np.isfinite(hits[f"hits_{name}"][case])] == list(names)


def test_a_complete_panel_has_no_number_of_raters(tmp_path):
    found = run(write(tmp_path, {"P1": "AB"}, "AB"), {"rater_names": ["A", "B"]})
    assert "raters" not in found.cases


def test_a_calibration_table_without_any_hits_is_refused(results, tmp_path):
    results.write(tmp_path)
    table = pd.read_csv(tmp_path / "calibration.csv")
    table.loc[0, [f"hits_{name}" for name in "ABCD"]] = np.nan
    table.to_csv(tmp_path / "calibration.csv", index=False)
    with pytest.raises(InputError, match="no hits of any rater for case P1"):
        Results.read(tmp_path)


# ---- weights -------------------------------------------------------------------------------

HEAVY = {"rater_weights": {"A": 2.0}}


@pytest.fixture(scope="module")
def weighted(folder: Path) -> Results:
    return run(folder, named(**HEAVY))


def value(results: Results, metric: str, case: str, method: str = "Fine") -> float:
    rows = results.scores
    chosen = (rows["metric"] == metric) & (rows["case"] == case) & (rows["method"] == method)
    return float(rows[chosen & (rows["reading"] == "corrected")]["value"].item())


def parts(results: Results, metric: str, case: str, method: str = "Fine") -> pd.DataFrame:
    rows = results.details
    chosen = (rows["metric"] == metric) & (rows["case"] == case) & (rows["method"] == method)
    return rows[chosen].pivot(index="quantity", columns="item", values="value")


def test_a_weight_of_two_is_a_rater_twice(folder, weighted):
    """Of scores that follow from numbers per rater: written out with the rater twice."""
    raters = ["rater A", "rater A", "rater B", "rater C"]
    ece = parts(weighted, "mr_ece", "P1")[raters].to_numpy()
    assert value(weighted, "mr_ece", "P1") == pytest.approx(ece.mean(), abs=1e-12)
    volumes = parts(weighted, "crps", "P1")
    expected = crps(volumes[raters].to_numpy()[0], volumes["prediction"].item())
    assert value(weighted, "crps", "P1") == pytest.approx(expected, abs=1e-12)
    angles = parts(weighted, "vi", "P1")
    predicted = angles.loc[:, angles.columns.str.startswith("p >")].to_numpy()
    expected = vi_score(angles[raters].to_numpy(), predicted)
    assert value(weighted, "vi", "P1") == pytest.approx(expected, abs=1e-9)
    maps = segjury.images.read_volume(
        folder / "predictions" / "Fine" / "P1" / "probability.nii.gz"
    ).array
    expected = thr_dsc([lesion(1, who) for who in (0, 0, 1, 2)], maps)
    assert value(weighted, "thr_dsc", "P1") == pytest.approx(expected, abs=1e-12)
    assert value(weighted, "dsc", "P1") == value(run(folder, named()), "dsc", "P1")


def test_weights_count_in_the_corrected_reading_alone(tmp_path):
    write(tmp_path, {"P1": "ABC"})
    metrics = [
        {"name": name, "readings": ["released", "corrected"], **more}
        for name, more in (
            ("thr_dsc", {}),
            ("mr_ece", {}),
            ("crps", {"worst": "empty-prediction"}),
            ("vi", {}),
        )
    ]
    plain, heavy = (run(tmp_path, named(**more), metrics=metrics).scores for more in ({}, HEAVY))
    same = plain["value"] == heavy["value"]
    assert same[plain["reading"] == "released"].all()
    assert not same[plain["reading"] == "corrected"].any()


def test_weights_that_are_alike_are_none(folder, results):
    alike = run(folder, named(rater_weights=dict.fromkeys("ABCD", 0.3)))
    pd.testing.assert_frame_equal(alike.scores, results.scores)


def test_a_share_of_weights_is_exact_at_a_threshold():
    patterns = pack([[0, 1], [0, 1], [0, 0]])
    heavy = type(patterns)(patterns.codes, 3, 2, weights=(0.1, 0.2, 0.3))
    assert soft_mean(heavy)[3] == 0.5  # where 0.1 + 0.2 of 0.6 is 0.5000000000000001
    assert soft_mean(heavy)[7] == 1.0


# ---- raters drawn --------------------------------------------------------------------------


def redrawn(results: Results, **more):
    made = results.analyze(samples=0)
    return rater_scores(made.analysis.panel, results.details, **more), made.analysis.panel


def crps_of(results: Results, case: str, method: str, drawn: list[str]) -> float:
    volumes = parts(results, "crps", case, method)
    return crps(volumes[[f"rater {name}" for name in drawn]].to_numpy()[0],
                volumes["prediction"].item())  # fmt: skip


def test_leaving_out_a_rater_leaves_each_case_its_others(results):
    scores, table = redrawn(results)
    counts = np.array([0.0 if name == "rater C" else 1.0 for name in scores.raters])
    found = scores.with_counts(counts).values[table.keys.index("crps")]
    for c, case in enumerate(table.cases):
        drawn = [name for name in MARKED[case] if name != "C"] or ["C"]  # P5 keeps its value
        for m, method in enumerate(table.methods):
            assert found[c, m] == pytest.approx(crps_of(results, case, method, drawn), abs=1e-9)


def test_raters_are_drawn_on_each_case_by_itself(results):
    scores, table = redrawn(results)
    assert not scores.crossed
    cases = np.array([table.cases.index(name) for name in ("P1", "P6", "P1", "P5")])
    drawn = ["AAB", "DDD", "CCB", "C"]
    names = [name.removeprefix("rater ") for name in scores.raters]
    counts = np.array([[float(own.count(name)) for name in names] for own in drawn])
    found = scores.resampled(cases, counts)
    assert found.cases == ("P1", "P6", "P1", "P5")
    for c, (case, own) in enumerate(zip(found.cases, drawn, strict=True)):
        for m, method in enumerate(table.methods):
            expected = crps_of(results, case, method, list(own))
            got = found.values[table.keys.index("crps"), c, m]
            assert got == pytest.approx(expected, abs=1e-9)
            mean = parts(results, "mr_ece", case, method)[[f"rater {n}" for n in own]].to_numpy()
            got = found.values[table.keys.index("mr_ece"), c, m]
            assert got == pytest.approx(mean.mean(), abs=1e-12)


def test_weights_and_draws_multiply(weighted):
    scores, table = redrawn(weighted, weights=HEAVY["rater_weights"])
    assert set(scores.keys) == {"mr_ece", "crps", "vi AORTA"}
    names = [name.removeprefix("rater ") for name in scores.raters]
    counts = np.array([[float("AAB".count(name)) for name in names]])
    found = scores.resampled(np.array([table.cases.index("P1")]), counts)
    for m, method in enumerate(table.methods):
        got = found.values[table.keys.index("crps"), 0, m]
        assert got == pytest.approx(crps_of(weighted, "P1", method, list("AAAAB")), abs=1e-9)


def test_an_anonymous_panel_is_drawn_by_case_and_nobody_is_left_out(tmp_path):
    write(tmp_path, dict.fromkeys(["P1", "P2", "P3"], "ABC"), "ABC")
    numbered_by_case(tmp_path)
    made = run(tmp_path, {"n_raters": 3, "anonymous": True}).analyze(samples=20)
    assert made.analysis.with_raters.within_cases
    assert not made.analysis.sensitivity.of_kind("without rater")
    assert any("the panel is anonymous" in note for note in made.analysis.notes)
    made = run(tmp_path, {"n_raters": 3}).analyze(samples=20)
    assert not made.analysis.with_raters.within_cases
    assert len(made.analysis.sensitivity.of_kind("without rater")) == 3


# ---- the raters beside each other ------------------------------------------------------------


def test_a_profile_is_over_the_cases_that_a_rater_marked(study):
    table = study.raters.set_index("rater")
    assert list(table.index) == [f"rater {name}" for name in "ABCD"]
    for name in "ABCD":
        own = [case for case, names in MARKED.items() if name in names]
        row = table.loc[f"rater {name}"]
        assert row["cases"] == len(own)
        voxels = [int(lesion(int(case[1]), "ABCD".index(name)).sum()) for case in own]
        assert row["volume_cm3"] == pytest.approx(np.mean(voxels) * 3.0 / 1000)


def test_outliers_among_raters_of_different_cases_are_tested_over_their_own():
    rng = np.random.default_rng(4)
    own, others = rng.random((40, 4)), rng.random((40, 4)) + np.array([0, 0, 0.3, 0])
    own[rng.random(own.shape) < 0.3] = np.nan
    own[3:, 3] = np.nan  # three cases cannot show anything
    found = outlier_tests(own, others, alpha=0.05)
    p = []
    for k in range(3):
        there = ~np.isnan(own[:, k])
        p.append(stats.wilcoxon(own[there, k] - others[there, k], alternative="less").pvalue)
        assert found.of_rater[k] == there.sum()
    ordered = np.argsort(p)
    holm = np.empty(3)
    holm[ordered] = np.minimum(1, np.maximum.accumulate(np.array(p)[ordered] * [3, 2, 1]))
    assert found.p[:3] == pytest.approx(holm, rel=1e-6)
    assert np.isnan(found.p[3])
    assert list(found.flagged(0.05)) == [False, False, True, False]


def test_who_has_too_few_cases_for_the_test_is_named(study):
    found = [np.nan, np.nan, -0.2, np.nan], [np.nan, np.nan, -0.9, np.nan], [0.5, 0.5, 0.01, np.nan]
    tests = OutlierTests(*map(np.array, found), 9, of_rater=(9, 9, 8, 3))
    columns = dict(zip(("dice_deficit", "outlier_correlation", "outlier_p"), found, strict=True))
    table = study.raters.assign(**columns, outlier=[False, False, True, False])
    said = list(sentences(replace(study, raters=table, outliers={"lesion": tests})))
    assert "Too few cases for that test have rater D (3)." in said
    assert any("Rater C is an outlier" in each and "over 8 cases" in each for each in said)


def test_too_few_cases_of_each_rater_have_no_test(study):
    tests = study.outliers["lesion"]
    assert tests.why_not.startswith("with 4 raters it takes 7 cases of a rater")
    assert np.isnan(tests.p).all()


def test_the_ceiling_is_against_those_who_marked_the_same_case(folder, study, tmp_path):
    shutil.copytree(folder / "reference", tmp_path / "reference")
    for case, names in MARKED.items():
        mask = tmp_path / "reference" / case / "by_A.nii.gz"
        if "A" in names:
            place = tmp_path / "predictions" / "A" / case
            put(place / "segmentation.nii.gz", lesion(int(case[1]), 0), GRID)
            put(place / "probability.nii.gz", lesion(int(case[1]), 0).astype(np.float32), GRID)
            mask.unlink()
        else:
            shutil.rmtree(tmp_path / "reference" / case)
    found = run(tmp_path, named(rater_names=list("BCD"))).scores
    ceiling = study.ceiling[study.ceiling["method"] == "rater A"]
    assert set(ceiling["case"]) == {c for c, names in MARKED.items() if "A" in names}
    assert list(ceiling["value"]) == list(found["value"])
    assert "P5" not in set(study.ceiling["case"])  # one rater has nobody to be judged against


def test_the_summary_of_the_ceiling_is_that_of_the_raters_of_each_case(study):
    dice = study.ceiling[study.ceiling["metric"] == "dsc"]
    by_case = dice.pivot(index="case", columns="method", values="value")
    row = study.ceiling_summary[study.ceiling_summary["metric"] == "dsc"].iloc[0]
    assert row["mean"] == pytest.approx(by_case.mean(axis=1).mean())
    assert row["lowest"] == pytest.approx(by_case.min(axis=1).mean())
    assert row["highest"] == pytest.approx(by_case.max(axis=1).mean())
    assert row["rater C"] == pytest.approx(by_case["rater C"].mean())
    assert row["cases"] == 6


def test_alpha_over_all_cases_is_that_of_all_voxels():
    rng = np.random.default_rng(1)
    shapes, form = (
        [(3, 4, 2), (4, 2, 2), (3, 3, 3)],
        panel(named(structures=None), metrics=[METRICS[0]]),
    )
    masks = [rng.integers(0, 2, (n, *shape)) for n, shape in zip((2, 4, 1), shapes, strict=True)]
    cases = []
    for k, own in enumerate(masks):
        grid = Grid(own.shape[1:], (1.0, 1.0, 1.0))
        reference = ReferenceCase(grid, pack(own.astype(np.uint8)), ("lesion",), {})
        cases.append(measure_case(f"P{k}", reference, form, ["corrected"]))
    units = [own.reshape(len(own), -1)[:, v].tolist() for own in masks for v in range(own[0].size)]
    units = [unit for unit in units if len(unit) > 1]
    everybody = [rating for unit in units for rating in unit]
    n = len(everybody)
    observed = sum(
        sum(a != b for i, a in enumerate(unit) for j, b in enumerate(unit) if i != j)
        / (len(unit) - 1)
        for unit in units
    )
    ones = sum(everybody)
    expected = 2 * ones * (n - ones) / (n - 1)
    assert pooled_alpha(cases)["lesion"] == pytest.approx(1 - observed / expected, abs=1e-12)


def test_contact_angles_stand_under_the_names_of_raters(study):
    table = study.invasion.set_index(["case", "way"])
    assert [name for name in table if name.endswith("_deg")] == [
        f"rater_{name}_deg" for name in "ABCD"
    ]
    for case, names in MARKED.items():
        row = table.loc[(case, "anatomical")]
        assert [name for name in "ABCD" if np.isfinite(row[f"rater_{name}_deg"])] == list(names)
    whole = study.invasion_splits[study.invasion_splits["vessel"] == "all"]
    assert list(whole["cases"]) == [6, 6]  # one rater cannot be split


def test_sentences_say_how_many_raters_and_over_how_many_cases(study):
    said = list(sentences(study))
    assert said[0] == "4 raters; 1 case was marked by 1 rater, 2 by 2, 3 by 3, 1 by 4."
    assert any("Rater C and rater D agree most" in each and "2 cases" in each for each in said)
    assert any(each.startswith("Krippendorff's alpha over the voxels") for each in said)


def test_leaving_out_a_rater_keeps_all_that_is_known_of_the_others():
    classes = Classes((frozenset([1]), frozenset([1, 2])))
    marks = SparseLabels((np.array([0, 1]), np.array([1, 2], np.uint8)))
    packed = pack(np.random.default_rng(0).integers(0, 3, (3, 3, 3, 2)), n_labels=3)
    patterns = type(packed)(packed.codes, 3, 3, classes=classes, ignored=2, weights=(2.0, 1.0, 1.0))
    reference = ReferenceCase(
        Grid((3, 3, 2), (1.0, 1.0, 1.0)), patterns, ("a", "b"), {}, raters=("A", "B", "C"),
        repeats=(SecondRead("A", "A2", marks), SecondRead("C", "C2", marks)),
        ignored=np.array([0, 1]),
    )  # fmt: skip
    rest = without_rater(reference, 2)
    assert rest.rater_names == ("A", "B")
    assert (rest.patterns.weights, rest.patterns.ignored) == ((2.0, 1.0), 2)
    assert rest.patterns.classes is classes
    assert [read.name for read in rest.repeats] == ["A2"]
    assert list(rest.ignored) == [0, 1]
    assert rest.memo is not reference.memo
    alike = without_rater(reference, 0).patterns
    assert alike.weights == ()  # the others count alike
    assert (soft_mean(alike) == alike.marked().mean(axis=1)).all()


# ---- second reads ----------------------------------------------------------------------------


def again(folder: Path) -> dict[str, object]:
    """Second reads of rater A on P1 and P2, as large as B's, and of one who is not there on P4."""
    for case in ("P1", "P2", "P4"):
        mask = lesion(int(case[1]), 1)
        mask[4, 4, 4] = 0
        put(folder / "reference" / case / "by_A2.nii.gz", mask, GRID)
    return named(rater_names=["A", "A2", "B", "C", "D"], repeats={"A2": "A"})


def test_second_reads_are_no_raters_but_measured(folder, results, tmp_path):
    shutil.copytree(folder, tmp_path / "again")
    reference = again(tmp_path / "again")
    found = run(tmp_path / "again", reference)
    pd.testing.assert_frame_equal(found.scores, results.scores)
    dice = {}
    for case in ("P1", "P2"):
        first, second = lesion(int(case[1]), 0), lesion(int(case[1]), 1)
        second[4, 4, 4] = 0
        dice[case] = 2 * int((first & second).sum()) / int(first.sum() + second.sum())
    cases = found.cases.set_index("case")["repeat_dsc_A_A2"].dropna()
    assert cases.to_dict() == pytest.approx(dice)
    study = measure_raters(panel(reference), reference=tmp_path / "again" / "reference")
    table = study.repeats.set_index("case")
    assert table["dice"].to_dict() == pytest.approx(dice)
    assert list(table["read"]) == ["A2", "A2"]
    difference = int(lesion(1, 1).sum()) - 1 - int(lesion(1, 0).sum())  # the second read is larger
    assert table["volume_cm3"]["P1"] == pytest.approx(difference * 3.0 / 1000)
    between = study.rater_cases.set_index("case")["mean_dice"][["P1", "P2"]].mean()
    assert (
        f"Rater A's second reads agree with the first: mean Dice {np.mean(list(dice.values())):.2f}"
        f" over 2 cases, between raters {between:.2f} on the same."
    ) in list(sentences(study))
    write_raters(study, tmp_path / "out")
    assert list(pd.read_csv(tmp_path / "out" / "repeats.csv")["rater"]) == ["rater A"] * 2


# ---- anonymous panels ------------------------------------------------------------------------


def test_of_an_anonymous_panel_nothing_is_said_of_a_rater(unnamed_study, study, tmp_path):
    assert unnamed_study.raters.empty
    assert list(unnamed_study.raters.columns) == list(study.raters.columns)
    said = list(sentences(unnamed_study))
    assert any(each.startswith("The panel is anonymous") for each in said)
    assert not any("draws larger than" in each or "rater 1 and" in each for each in said)
    assert set(unnamed_study.agreement["first"]) == {
        *("rater", "staple", "majority", "intersection")
    }
    write_raters(unnamed_study, tmp_path)
    assert not (tmp_path / "raters.csv").exists()
    columns = set(unnamed_study.ceiling_summary.columns)
    assert not {name for name in columns if name.startswith("rater ")}


def test_agreement_of_an_anonymous_panel_is_that_of_the_same_raters_with_names(
    unnamed_study, study
):
    dice = study.pairs[(study.pairs["measure"] == "dice") & (study.pairs["consensus_of"] == "")]
    own = unnamed_study.agreement
    row = own[(own["measure"] == "dice") & (own["second"] == "rater")].iloc[0]
    assert row["mean"] == pytest.approx(dice.groupby("case")["value"].mean().mean())
    assert row["cases"] == 6
    signed = own[own["measure"].isin(["boundary_mm", "volume_cm3", "volume_percent"])]
    assert "rater" not in set(signed["second"])
    assert unnamed_study.alpha == study.alpha


# ---- figures and the report --------------------------------------------------------------------


def figures(made) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """All figures of a study that the raters are in: name, data, words."""
    from segjury.report.figures.catalogue import KINDS

    for kind in KINDS.values():
        if kind.section in ("raters", "maps", "ceiling"):
            for subject in kind.subjects(made):
                drawn = kind.illustrate(made, subject)
                yield kind.name, drawn.data, drawn.alt


@pytest.mark.parametrize("size", [1, 2, 20])
def test_figures_of_panels_of_any_size(tmp_path, size):
    everyone = [f"deVries-{k}" for k in range(size)]
    marked = {f"P{c}": everyone[4 * c : 4 * c + 8] or everyone for c in range(4)}
    write(tmp_path, marked, everyone)
    found = run(tmp_path, named(rater_names=everyone))
    names = [name for name, _data, _words in figures(found.analyze(samples=20))]
    assert ("raters" in names) == (size > 1)
    assert "reliability" in names


def test_the_matrix_has_the_names_as_they_are_and_gaps(results):
    from segjury.report.figures.drawing.rater_labels import rater_name
    from segjury.report.figures.raters.raters import raters, raters_data

    made = results.analyze(samples=0)
    data = raters_data(made).set_index(["first", "second"])
    assert data.loc[("C", "D"), "cases"] == 2
    ticks = [t.get_text() for t in raters(made).axes[0].get_yticklabels()]
    assert ticks == ["Rater A", "Rater B", "Rater C", "Rater D", "Consensus"]
    assert rater_name("rater deVries") == "Rater deVries"


def test_reliability_is_over_the_cases_of_each_rater(results):
    from segjury.report.figures.maps.reliability import reliability_data

    made = results.analyze(samples=0)
    data = reliability_data(made, "Fine")
    own = results.calibration[results.calibration["method"] == "Fine"]
    for name in "ABCD":
        rows = own[own["case"].isin([c for c, names in MARKED.items() if name in names])]
        bins = rows.groupby("bin_low")[["voxels", "confidence", f"hits_{name}"]].sum().astype(float)
        missed = (bins[f"hits_{name}"] - bins["confidence"]).abs().sum() / bins["voxels"].sum()
        drawn = data[data["rater"] == name]
        assert drawn["ece"].iloc[0] == pytest.approx(missed)
        accuracy = bins[f"hits_{name}"] / bins["voxels"]
        assert drawn["accuracy"].to_numpy() == pytest.approx(accuracy.to_numpy())
    errors = data[data["rater"] != "mean"].drop_duplicates("rater")["ece"]
    assert data[data["rater"] == "mean"]["ece"].iloc[0] == pytest.approx(errors.mean())


def test_figures_of_an_anonymous_panel_name_nobody(unnamed):
    made = run(unnamed, ANONYMOUS).analyze(samples=20)
    found = {name: (data, words) for name, data, words in figures(made)}
    assert set(found["raters"][0]["first"]) == {"rater", "consensus", "all pairs"}
    assert "agree most" not in found["raters"][1]
    assert set(found["reliability"][0]["rater"]) == {"mean"}


def test_figures_of_weighted_raters_draw_the_score(weighted):
    made = weighted.analyze(samples=0)
    drawn = volume_data(made, "P1").set_index(["part", "of"])
    for method in METHODS:
        own, scored = (drawn.loc[(part, method), "value"].item() for part in ("crps", "score"))
        assert own == pytest.approx(scored, abs=1e-9)
    angles = invasion_data(made, "P1").drop_duplicates("method")
    assert angles["distance"].to_numpy() == pytest.approx(angles["score"].to_numpy(), abs=1e-9)


def test_the_report_says_who_was_left_out_and_how_many_raters_there_were(folder):
    found = run(folder, named(min_raters=2))
    assert found.run.left_out == {"P5": "1 of 4 raters marked it (C), at least 2 are needed"}
    said = content(found.analyze(samples=20))
    why = "P5 (1 of 4 raters marked it (C), at least 2 are needed)"
    assert f"1 case was left out for all methods: {why}." in said.summary
    assert "2 cases were marked by 2 raters, 3 by 3, 1 by 4." in said.said["raters"]


# ---- bad input -------------------------------------------------------------------------------


def test_a_rater_under_two_names_is_said(tmp_path):
    write(tmp_path, {"P1": "ABC", "P2": "AB"})
    shutil.copy(*(tmp_path / "reference" / "P1" / f"by_{name}.nii.gz" for name in "CB"))
    for name in "AB":  # nothing drawn is no copy
        change(tmp_path / "reference" / "P2", f"by_{name}", np.zeros_like)
    found = run(tmp_path, named())
    same = [said for said in found.warnings if "are the same" in said]
    assert same == ["case P1: the masks of raters B and C are the same"]
    study = measure_raters(panel(named()), reference=tmp_path / "reference")
    assert same[0] in study.warnings


def test_a_file_of_an_unknown_rater_is_said(tmp_path):
    write(tmp_path, {"P1": "ABE"}, "ABE")
    found = run(tmp_path, named())
    said = "1 of 1 cases has files of raters who are not in the panel (A, B, C, D), such as by_E"
    assert said in found.warnings
    assert found.cases["raters"].item() == 2


def test_a_case_that_nobody_marked_is_left_out(tmp_path):
    write(tmp_path, {"P1": "AB", "P2": ""})
    found = run(tmp_path, named())
    assert found.run.left_out == {"P2": "0 of 4 raters marked it, at least 1 is needed"}
    assert set(found.scores["case"]) == {"P1"}


def test_a_case_whose_masks_are_all_empty_costs_its_own_rows(tmp_path, folder, results):
    shutil.copytree(folder, tmp_path / "empty")
    for name in MARKED["P3"]:
        change(tmp_path / "empty" / "reference" / "P3", f"by_{name}", np.zeros_like)
    found = run(tmp_path / "empty", named())
    assert not found.problems
    assert without(found, "P3") == without(results, "P3")
    study = measure_raters(panel(named()), reference=tmp_path / "empty" / "reference")
    assert not study.problems


def test_nobody_with_enough_raters_is_refused(tmp_path):
    write(tmp_path, {"P1": "A"})
    with pytest.raises(InputError, match="no case has enough raters"):
        run(tmp_path, named(min_raters=2))


def test_a_panel_from_end_to_end(folder, tmp_path):
    form = write_form(panel_form(named()), tmp_path / "panel.toml")
    out, reference = tmp_path / "out", folder / "reference"
    done = command("evaluate", form, "--reference", reference, "--predictions",
                   folder / "predictions", "--out", out, "--jobs", 1)  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = command("raters", form, "--reference", reference, "--out", out / "raters", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert "4 raters; 1 case was marked by 1 rater" in done.stdout
    assert set(METHODS) <= set(pd.read_csv(out / "scores.csv")["method"])
    assert load_reference(panel(named()), reference, "P7").rater_names == ("A", "C", "D")
    assert nonzero_voxels(lesion(7, 0)).size


# ---- what the page says ----------------------------------------------------------------------


def test_the_page_names_the_metrics_that_use_weights(tmp_path):
    write(tmp_path, {"P1": "ABC"})
    place = tmp_path / "predictions" / "Fine" / "P1"
    for k, mask in enumerate([lesion(0, 0), lesion(0, 1), lesion(1, 0), lesion(0, 0)], 1):
        put(place / f"sample_{k:02}.nii.gz", mask, GRID)  # all smaller than what B marks
    metrics = [
        {"name": name, "readings": ["corrected"]}
        | ({} if metric.worst is not None else {"worst": 1e6})
        for name, metric in METRICS_KNOWN.items()
        if metric.needs_raters
    ]
    plain, heavy = (
        run(tmp_path, named(labels={"lesion": 1}, **more), metrics=metrics).scores
        for more in ({}, HEAVY)
    )
    rows = (plain["method"] == "Fine") & plain["value"].notna()
    assert set(plain[rows]["metric"]) == {each["name"] for each in metrics}
    changed = set(plain[rows & (plain["value"] != heavy["value"])]["metric"])
    page = (ROOT / "docs" / "raters.md").read_text("utf-8")
    table = page.partition("| uses weights | how |")[2].partition("\n\n")[0]
    cells = " ".join(line.split("|")[1] for line in table.splitlines() if line.count("|") > 1)
    assert changed == set(re.findall(r"`(\w+)`", cells))
