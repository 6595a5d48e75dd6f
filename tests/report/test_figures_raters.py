"""Agreement of the raters: what a run writes of it, and what the figures show."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import SimpleITK as sitk
from matplotlib.colors import to_hex

from segjury.analysis import Settings
from segjury.analysis.ranking import Rules
from segjury.analysis.rater_agreement import human_dsc, rater_agreement, rater_dice
from segjury.analysis.study import Study
from segjury.errors import InputError
from segjury.images import write_volume
from segjury.images.volume import Volume
from segjury.protocols import load_protocol
from segjury.protocols.protocol import Cohort
from segjury.report.figures.kind import each_rated_label
from segjury.report.figures.raters import agreement_cases as agreement_figures
from segjury.report.figures.raters import raters as rater_figures
from segjury.report.figures.raters.agreement_cases import agreement_cases
from segjury.report.figures.raters.raters import raters
from segjury.report.figures.saving.save import figure_bytes
from segjury.results import Run
from segjury.scoring.run import score_benchmark
from tests.benchmark_files import golden_pdacvi, write_prediction, write_reference
from tests.score_tables import ODD_NAMES, labelled, make_scores
from tests.test_golden_curvas24 import CASES as ORGAN_CASES

KINDS = (*rater_figures.KINDS, *agreement_figures.KINDS)
CASE = next(case for case in golden_pdacvi() if case.name == "00_typical")


def dice(a, b):
    return 2 * (a & b).sum() / (a.sum() + b.sum())


def make_cases(names, raters=4, labels=("",), *, consensus=True, seed=5):
    """Facts of cases with random Dice; a label stands before its columns."""
    rng = np.random.default_rng(seed)
    columns = {"case": list(names)}
    for label in labels:
        for k in range(raters):
            columns[f"{label}rater_{k + 1}_cm3"] = rng.uniform(1, 9, len(names))
        for i, j in combinations(range(raters), 2):
            columns[f"{label}dsc_{i + 1}_{j + 1}"] = rng.uniform(0.1, 0.9, len(names))
        for k in range(raters * consensus):
            columns[f"{label}dsc_{k + 1}_consensus"] = rng.uniform(0.5, 0.95, len(names))
    return pd.DataFrame(columns)


def make_study(cases=5, **options):
    scores = make_scores(cases=cases, readings=("corrected",), cohort="high-complexity")
    limit = Cohort(name="high-complexity", measure="mean_pairwise_dsc", at_most=0.3)
    facts = make_cases(scores["case"].unique(), **options)
    return Study(scores, Rules(cohorts=(limit,)), Settings(samples=100), cases=facts)


@pytest.fixture(scope="module")
def study():
    return make_study()


# ---- what a run writes ----------------------------------------------------------------------


def run_of(definition):
    return Run.model_validate({"protocol": {"definition": definition}})


def evaluated(folder, protocol="curvas-pdacvi-2025"):
    return score_benchmark(
        protocol, reference=folder / "reference", predictions=folder / "predictions"
    )


def test_a_run_writes_the_dice_of_each_rater_with_the_consensus(tmp_path):
    write_reference(CASE, tmp_path / "reference" / "P1")
    write_reference(CASE, tmp_path / "reference" / "P2")
    given = CASE.arrays["binary"].astype(bool)
    path = tmp_path / "reference" / "P2" / "annotation_staple.nii.gz"
    write_volume(path, Volume(CASE.arrays["binary"], CASE.grid))
    for case in ("P1", "P2"):
        write_prediction(CASE, tmp_path / "predictions" / "A" / case)
    facts = evaluated(tmp_path).cases.set_index("case")
    masks = CASE.arrays["annotations"].astype(bool)
    images = [sitk.GetImageFromArray(mask.astype(np.uint8)) for mask in masks]
    staple = sitk.GetArrayFromImage(sitk.STAPLE(images, 1.0)) > 0.5
    for k, mask in enumerate(masks):
        column = f"dsc_{k + 1}_consensus"
        assert facts.loc["P1", column] == pytest.approx(dice(mask, staple), abs=1e-12)
        assert facts.loc["P2", column] == pytest.approx(dice(mask, given), abs=1e-12)
    assert facts.loc["P1", "dsc_1_3"] == pytest.approx(dice(masks[0], masks[2]), abs=1e-12)


def test_with_several_labels_the_label_stands_before_the_dice(tmp_path):
    ORGAN_CASES[0].write(tmp_path)
    facts = evaluated(tmp_path, "curvas-2024").cases.iloc[0]
    for number, organ in enumerate(("pancreas", "kidney", "liver"), 1):
        masks = [mask == number for mask in ORGAN_CASES[0].raters]
        images = [sitk.GetImageFromArray(mask.astype(np.uint8)) for mask in masks]
        staple = sitk.GetArrayFromImage(sitk.STAPLE(images, 1.0)) > 0.5
        found = [facts[f"{organ} dsc_{k + 1}_consensus"] for k in range(3)]
        assert found == pytest.approx([dice(mask, staple) for mask in masks], abs=1e-12)


def test_the_consensus_is_not_taken_for_a_rater(study):
    names = study.cases["case"]
    (found,) = rater_agreement(study.cases, names, level=0.95)
    pairs = [f"dsc_{i + 1}_{j + 1}" for i, j in combinations(range(4), 2)]
    np.testing.assert_array_equal(found.dsc, study.cases[pairs])
    np.testing.assert_array_equal(human_dsc([found]), study.cases[pairs])
    rows = rater_dice(study.cases, names[:2])
    assert len(rows) == 2 * (6 + 4)
    assert set(rows["second"]) == {"2", "3", "4", "consensus"}


# ---- the matrix -----------------------------------------------------------------------------


def mesh(figure, label):
    found = figure.findobj(lambda artist: artist.get_label() == label)
    return found[0].get_array().filled(np.nan)


def texts(figure, axes=0):
    return [text.get_text() for text in figure.axes[axes].texts]


def test_cells_are_means_and_sds_over_the_cases(study):
    figure, cases = raters(study), study.cases
    matrix = mesh(figure, "dice")
    assert matrix.shape == (5, 5)
    assert np.isnan(np.diag(matrix)).all()
    np.testing.assert_array_equal(matrix, matrix.T)
    for i, j in combinations(range(4), 2):
        values = cases[f"dsc_{i + 1}_{j + 1}"]
        assert matrix[i, j] == pytest.approx(values.mean())
        assert f"±{values.std(ddof=1):.2f}" in texts(figure)
        assert f"{values.mean():.2f}" in texts(figure)
    for k in range(4):
        assert matrix[k, 4] == pytest.approx(cases[f"dsc_{k + 1}_consensus"].mean())


def test_the_margin_is_a_raters_mean_with_the_other_raters(study):
    figure, cases = raters(study), study.cases
    margin = mesh(figure, "margin")[:, 0]
    second = cases[["dsc_1_2", "dsc_2_3", "dsc_2_4"]].to_numpy()
    assert margin[1] == pytest.approx(second.mean())
    assert f"±{second.std(ddof=1):.2f}" in texts(figure, 1)
    consensus = cases[[f"dsc_{k + 1}_consensus" for k in range(4)]].to_numpy()
    assert margin[4] == pytest.approx(consensus.mean())
    pairs = cases[[f"dsc_{i + 1}_{j + 1}" for i, j in combinations(range(4), 2)]].to_numpy()
    whole = f"{pairs.mean():.2f} ± {pairs.std(ddof=1):.2f}, 5 cases"
    assert whole in figure.axes[0].get_xlabel()
    assert whole in rater_figures.raters_alt(study)


def test_cases_that_are_not_scored_do_not_count(study):
    more = pd.concat([study.cases, make_cases(["stranger"], seed=9)], ignore_index=True)
    with_gap = more.astype({"dsc_1_2": float})
    with_gap.loc[0, "dsc_1_2"] = np.nan
    found = mesh(raters(replace(study, cases=with_gap)), "dice")
    assert found[0, 1] == pytest.approx(study.cases["dsc_1_2"][1:].mean())
    assert found[0, 2] == pytest.approx(study.cases["dsc_1_3"].mean())


def test_old_runs_without_a_consensus_have_a_matrix_all_the_same():
    figure = raters(make_study(consensus=False))
    assert mesh(figure, "dice").shape == (4, 4)


def test_one_case_has_no_sd():
    figure = raters(make_study(1))
    assert not any("±" in text for text in texts(figure))
    assert "1 case" in figure.axes[0].get_xlabel()


def test_each_label_has_its_matrix_and_all_is_their_mean():
    study = make_study(labels=("liver ", "left kidney "))
    assert each_rated_label(study) == [
        {"structure": "liver"},
        {"structure": "left kidney"},
    ]
    liver, kidney = (study.cases[f"{label} dsc_1_2"] for label in ("liver", "left kidney"))
    assert mesh(raters(study, "left kidney"), "dice")[0, 1] == pytest.approx(kidney.mean())
    assert mesh(raters(study), "dice")[0, 1] == pytest.approx((liver + kidney).mean() / 2)
    with pytest.raises(InputError, match="no label 'spleen'"):
        raters(study, "spleen")


def test_pairs_that_are_alike_get_a_digit_more():
    cases = make_cases([f"P{k:03d}" for k in range(5)])
    columns = [name for name in cases.columns if "dsc" in name]
    close = cases.assign(**{name: 0.97 + cases[name] / 100 for name in columns})
    figure = raters(replace(make_study(), cases=close))
    assert f"{close['dsc_1_2'].mean():.3f}" in texts(figure)


# ---- agreement by case ----------------------------------------------------------------------


def test_cases_stand_in_the_order_of_agreement_with_the_range_of_their_pairs(study):
    pairs = study.cases[[f"dsc_{i + 1}_{j + 1}" for i, j in combinations(range(4), 2)]]
    order = pairs.mean(axis=1).sort_values().index
    figure = agreement_cases(study)
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == list(study.cases["case"][order])
    marks = labelled(figure, "cohort")
    assert set(marks) == {"other cases", "high-complexity"}
    points = np.concatenate([mark.get_xydata() for mark in marks.values()])
    drawn = points[points[:, 0].argsort()][:, 1]
    np.testing.assert_allclose(drawn, pairs.mean(axis=1)[order])
    lines = labelled(figure, "range")["of pairs"].get_segments()
    low_high = [(line[0][1], line[1][1]) for line in lines]
    ends = np.stack([pairs.min(axis=1)[order], pairs.max(axis=1)[order]], axis=1)
    np.testing.assert_allclose(low_high, ends)


def test_the_mark_tells_the_cohort_and_a_line_its_limit(study):
    figure = agreement_cases(study)
    marks, facts = labelled(figure, "cohort"), agreement_figures.agreement_cases_data(study)
    inside = facts[facts["case"].isin(["P000", "P001"])]
    np.testing.assert_allclose(marks["high-complexity"].get_xdata(), inside.index)
    assert to_hex(marks["other cases"].get_markerfacecolor()) == "#ffffff"
    assert to_hex(marks["high-complexity"].get_markerfacecolor()) != "#ffffff"
    assert marks["high-complexity"].get_marker() != marks["other cases"].get_marker()
    assert list(labelled(figure, "limit")["high-complexity"].get_ydata()) == [0.3, 0.3]
    assert labelled(agreement_cases(replace(study, rules=Rules())), "limit") == {}


def test_the_limit_is_of_the_whole_case_only():
    study = make_study(labels=("liver ", "kidney "))
    assert labelled(agreement_cases(study, "liver"), "limit") == {}
    assert set(labelled(agreement_cases(study), "limit")) == {"high-complexity"}
    subjects = agreement_figures.agreement_cases_subjects(study)
    assert subjects == [{}, {"structure": "liver"}, {"structure": "kidney"}]


def test_a_protocols_cohorts_come_with_its_rules():
    definition = {"name": "curvas-pdacvi-2025"}
    assert Rules.of_run(run_of(definition)).cohorts == ()
    protocol = load_protocol("curvas-pdacvi-2025")
    found = Rules.of_run(run_of(protocol.model_dump(mode="json")))
    assert [(cohort.name, cohort.at_most) for cohort in found.cohorts] == [("high-complexity", 0.3)]


# ---- all ------------------------------------------------------------------------------------


def test_what_a_study_cannot_carry_is_not_drawn():
    bare, one = Study(make_scores(cases=2)), make_study(1)
    assert [list(kind.subjects(bare)) for kind in KINDS] == [[], []]
    assert [list(kind.subjects(one)) for kind in KINDS] == [[{}], []]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("cases", [2, 64, 90])
def test_any_number_of_cases_with_words_of_bounded_length(kind, cases):
    picture = kind.illustrate(make_study(cases, raters=8))
    assert len(picture.alt) < 1500
    assert len(picture.data)
    assert len(kind.help) <= 200
    assert len(figure_bytes(picture.figure, "svg")) < 300_000


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_odd_names_are_drawn_as_they_are(kind):
    study = make_study(len(ODD_NAMES), labels=("$x_1$ & $ ", "<b> "))
    names = dict(zip(study.cases["case"], ODD_NAMES, strict=True))
    scores = study.scores.assign(case=study.scores["case"].map(names), cohort="$a_b$ <i>")
    odd = replace(study, scores=scores, cases=study.cases.assign(case=list(ODD_NAMES)))
    first, second = (
        figure_bytes(kind.illustrate(odd, {"structure": "$x_1$ & $"}).figure, "svg")
        for _ in range(2)
    )
    assert first == second
    assert b"$x_1$ &amp; $" in first
    assert b"<i>" not in first
