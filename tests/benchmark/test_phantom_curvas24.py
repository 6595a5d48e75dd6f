"""The synthetic CURVAS 2024 benchmark against what the study reports and the module promises."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from segjury.benchmark.phantoms.curvas24 import PHANTOM
from segjury.benchmark.phantoms.curvas24.cases import (
    OrganCase,
    case_grid,
    make_case,
    make_plan,
)
from segjury.benchmark.phantoms.curvas24.methods import CHARACTERS, Answer, simulate_method
from segjury.benchmark.phantoms.writing import line_up, write_benchmark
from segjury.errors import InputError
from segjury.images import read_mask, read_probability, read_volume
from segjury.images.grid import Grid

SMALL = (48, 40, 36)
ORGANS = {"pancreas": 1, "kidney": 2, "liver": 3}
CASES = 6
Mask = NDArray[np.bool_]


@cache
def case_number(index: int) -> OrganCase:
    return make_case(index, seed=0)


def cases() -> list[OrganCase]:
    return [case_number(index) for index in range(CASES)]


@cache
def answers(index: int) -> dict[str, Answer]:
    case = case_number(index)
    return {
        character.name: simulate_method(case, character, PHANTOM.method_rng(0, index, number))
        for number, character in enumerate(CHARACTERS)
    }


def dice(a: Mask, b: Mask) -> float:
    return float(2 * (a & b).sum() / (a.sum() + b.sum()))


def cm3(case: OrganCase, amount: float) -> float:
    return amount * float(np.prod(case.grid.spacing_mm)) / 1000


def voxel_at(case: OrganCase, point_mm: tuple[float, float, float]) -> tuple[int, int, int]:
    index = np.subtract(point_mm, case.grid.origin_mm) / case.grid.spacing_mm
    x, y, z = np.rint(index).astype(int).tolist()
    return x, y, z


# ---- the plan ------------------------------------------------------------------------------


def test_every_three_cases_cover_the_groups_of_the_study() -> None:
    cysts = {"A": range(3), "B": range(3, 6), "C": range(6, 11)}
    for seed in range(4):
        for start in range(0, 12, 3):
            plans = [make_plan(start + k, seed=seed) for k in range(3)]
            assert {plan.group for plan in plans} == {"A", "B", "C"}
            assert all(plan.cysts in cysts[plan.group] for plan in plans)
            assert all((plan.pathology == "none") == (plan.group != "C") for plan in plans)


def test_the_pathologies_of_group_c_go_round_from_the_missing_kidney() -> None:
    plans = [make_plan(index, seed=3) for index in range(12)]
    assert [plan.pathology for plan in plans if plan.group == "C"] == [
        "missing kidney",
        "hydronephrosis",
        "liver metastases",
        "adrenal metastasis",
    ]


def test_cysts_are_at_most_2_cm_wide_and_as_many_as_planned() -> None:
    for case in cases():
        widths = [2 * f.radius_mm for f in case.patient.findings if f.kind == "cyst"]
        assert len(widths) == case.plan.cysts
        assert all(width < 20 for width in widths)


# ---- anatomy and image ---------------------------------------------------------------------


def test_organs_have_the_volumes_of_adults() -> None:
    for case in cases():
        for labels in case.annotations:
            sizes = [cm3(case, np.count_nonzero(labels == label)) for label in (1, 2, 3)]
            kidneys = len(case.patient.kidneys)
            assert 45 < sizes[0] < 115
            assert 110 * kidneys < sizes[1] < 200 * kidneys
            assert 1200 < sizes[2] < 1900


def test_the_field_of_view_holds_all_organs() -> None:
    for case in cases():
        inner = np.zeros(case.grid.shape, bool)
        inner[1:-1, 1:-1, 1:-1] = True
        assert all(not labels[~inner].any() for labels in case.annotations)


@pytest.mark.parametrize("shape", [(24, 24, 24), (60, 90, 33)])
def test_any_shape_shows_all_organs_in_square_pixels(shape: tuple[int, int, int]) -> None:
    case = make_case(0, seed=2, shape=shape)
    x, y, _ = case.grid.spacing_mm
    assert x == y
    for labels in case.annotations:
        assert set(np.unique(labels)) == {0, 1, 2, 3}


def test_a_full_size_grid_has_clinical_spacing() -> None:
    assert case_grid((512, 512, 160)).spacing_mm == (0.672, 0.672, 1.65)


def test_a_missing_kidney_is_missing_and_the_others_are_in_their_places() -> None:
    for case in cases():
        x = case.grid.origin_mm[0] + case.grid.spacing_mm[0] * np.arange(case.grid.shape[0])
        for labels in case.annotations:
            per_column = (labels == 2).sum(axis=(1, 2))
            sides = [per_column[x < 0].sum() > 0, per_column[x > 0].sum() > 0]
            assert sum(sides) == (1 if case.plan.pathology == "missing kidney" else 2)
            assert labels[x < -90].max() == 3  # the liver lies on the right (LPS)
            assert not (labels[x > 90] == 3).any()
    assert any(case.plan.pathology == "missing kidney" for case in cases())


def test_pancreas_and_liver_are_in_one_piece() -> None:
    for case in cases():
        for label in (1, 3):
            parts, _ = ndimage.label(case.annotations[0] == label, np.ones((3, 3, 3)))
            sizes = np.bincount(parts.ravel())[1:]
            assert sizes.max() > 0.9 * sizes.sum()


def test_the_ct_shows_the_organs_in_the_portal_venous_phase() -> None:
    for case in cases():
        inner = [ndimage.binary_erosion(case.annotations[1] == k) for k in (1, 2, 3)]
        pancreas, kidney, liver = (float(np.median(case.image[mask])) for mask in inner)
        assert 90 < pancreas < 130
        assert 150 < kidney < 200
        assert 95 < liver < 125
        assert np.median(case.image[0]) < -900  # air
        around = ndimage.binary_dilation(case.annotations[0] == 2, iterations=2)
        assert case.image[around & (case.annotations[0] == 0)].mean() < 60


def test_cysts_hold_water() -> None:
    case = make_case(1, seed=0, shape=(172, 128, 96))
    values = [
        case.image[voxel_at(case, finding.centre_mm)]
        for finding in case.patient.findings
        if finding.kind == "cyst"
    ]
    assert len(values) >= 6
    assert np.median(values) == pytest.approx(6, abs=15)


# ---- raters --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("organ", "low", "high"),
    [("pancreas", 0.84, 0.92), ("kidney", 0.93, 0.97), ("liver", 0.96, 0.985)],
)
def test_raters_agree_as_much_as_experts_do(organ: str, low: float, high: float) -> None:
    label = ORGANS[organ]
    pairs = [
        dice(a == label, b == label)
        for case in cases()
        for a, b in combinations(case.annotations, 2)
    ]
    assert low < np.mean(pairs) < high
    assert min(pairs) > low - 0.08


def test_errors_of_the_draft_survive_in_all_three_annotations() -> None:
    for case in cases():
        liver, drawn = case.parts["liver"], case.drawn["liver"]
        truth = liver.truth_mm > 0
        wrong = [mask ^ truth for mask in drawn.raters]
        in_play = np.abs(liver.truth_mm) < 4
        rates = [each[in_play].mean() for each in wrong]
        together = np.logical_and.reduce(wrong)[in_play].mean()
        assert together > 5 * np.prod(rates)
        kept = np.logical_and.reduce(wrong) & (drawn.draft ^ truth)
        assert kept.sum() > 0.1 * (drawn.draft ^ truth).sum()


def test_the_edge_is_partly_the_draft_itself_and_partly_redrawn() -> None:
    for case in cases():
        for labels in case.annotations:
            edge = (case.draft == 3) & ~ndimage.binary_erosion(case.draft == 3)
            left_alone = (labels == case.draft)[edge].mean()
            assert 0.6 < left_alone < 1


def test_a_dilated_kidney_is_missing_in_the_draft_but_not_in_the_annotations() -> None:
    case = next(case for case in cases() if case.plan.pathology == "hydronephrosis")
    name = next(name for name, kidney in case.patient.kidneys.items() if kidney.widened)
    assert not case.drawn[name].draft.any()
    masks = case.drawn[name].raters
    assert min(dice(a, b) for a, b in combinations(masks, 2)) > 0.85


def test_raters_disagree_on_kidney_cysts() -> None:
    votes = np.array(
        [
            [labels[voxel_at(case, finding.centre_mm)] == 2 for labels in case.annotations]
            for case in cases()
            for finding in case.patient.findings
            if finding.kind == "cyst" and "kidney" in finding.part
        ]
    )
    split = (votes.sum(axis=1) % 3) > 0
    assert len(votes) > 10
    assert 0.4 < split.mean() < 0.95
    assert votes[:, 0].mean() > votes[:, 1].mean()


# ---- simulated methods ---------------------------------------------------------------------


def calibration_error(case: OrganCase, answer: Answer) -> float:
    """Top-label calibration error in 20 bins, mean of the raters, by the definition."""
    organs = np.stack([answer.probabilities[organ] for organ in ORGANS])
    classes = np.concatenate([1 - organs.sum(axis=0, keepdims=True), organs])
    confidence, chosen = classes.max(axis=0), classes.argmax(axis=0)
    which = np.digitize(confidence, np.linspace(0, 1, 21)[1:-1]).ravel()
    claimed = np.bincount(which, confidence.ravel(), 20)
    errors = [
        np.abs(np.bincount(which, (chosen == labels).ravel(), 20) - claimed).sum() / which.size
        for labels in case.annotations
    ]
    return float(np.mean(errors))


def organ_confidence(case: OrganCase, answer: Answer) -> float:
    """Mean probability where all raters say organ, mean over the organs."""
    agreed = {
        organ: np.logical_and.reduce([labels == label for labels in case.annotations])
        for organ, label in ORGANS.items()
    }
    means = [answer.probabilities[organ][mask].mean() for organ, mask in agreed.items()]
    return float(np.mean(means))


def volumes(organ: str, method: str) -> NDArray[np.float64]:
    return np.array(
        [
            cm3(case, answers(index)[method].probabilities[organ].sum(dtype=np.float64))
            for index, case in enumerate(cases())
        ]
    )


def test_probabilities_are_probabilities_and_labels_their_largest() -> None:
    for index in range(2):
        for answer in answers(index).values():
            organs = np.stack([answer.probabilities[organ] for organ in ORGANS])
            assert organs.dtype == np.float32
            assert organs.min() >= 0
            assert organs.max() <= 1
            total = organs.sum(axis=0, dtype=np.float64)
            assert total.max() <= 1 + 1e-6
            classes = np.concatenate([1 - total[None], organs])
            chosen = np.take_along_axis(classes, answer.labels[None].astype(int), axis=0)[0]
            assert (chosen > classes.max(axis=0) - 1e-6).all()


def test_the_careful_method_is_best_calibrated_of_those_with_fair_masks() -> None:
    for index, case in enumerate(cases()):
        careful, *others = (
            calibration_error(case, answers(index)[name])
            for name in ("Careful", "Overconfident", "Blurred", "Floored")
        )
        assert careful < min(others)
        assert careful < 1e-3
        assert min(others[:2]) > 3 * careful


def test_confidence_falls_from_overconfident_to_blurred() -> None:
    for index, case in enumerate(cases()):
        sure, careful, unsure = (
            organ_confidence(case, answers(index)[name])
            for name in ("Overconfident", "Careful", "Blurred")
        )
        assert sure > careful > unsure


def test_the_overconfident_mask_is_good() -> None:
    for index, case in enumerate(cases()):
        answer = answers(index)["Overconfident"]
        for organ, label in ORGANS.items():
            mean = np.mean([dice(a == label, answer.labels == label) for a in case.annotations])
            assert mean > (0.85 if organ == "pancreas" else 0.93)
            undecided = [
                np.count_nonzero((p > 0.1) & (p < 0.9))
                for p in (
                    answer.probabilities[organ],
                    answers(index)["Careful"].probabilities[organ],
                )
            ]
            assert undecided[0] < undecided[1] / 4


def test_the_floor_is_everywhere() -> None:
    for index, case in enumerate(cases()):
        for organ, probability in answers(index)["Floored"].probabilities.items():
            assert probability.min() > 9e-6
            far = (case.image < -900) & (answers(index)["Careful"].probabilities[organ] == 0)
            assert np.median(probability[far]) == pytest.approx(1e-4, rel=1)
            assert probability[far].max() < 1.01e-3


def test_the_floor_adds_its_share_of_the_field_of_view() -> None:
    case, floored = case_number(0), CHARACTERS[3]
    plain = simulate_method(case, replace(floored, floor=0), PHANTOM.method_rng(0, 0, 3))
    for organ in ORGANS:
        with_floor, without = (
            answer.probabilities[organ].sum(dtype=np.float64)
            for answer in (answers(0)["Floored"], plain)
        )
        extra = (with_floor - (1 - 40 * floored.floor) * without) / case.image.size
        assert extra == pytest.approx(floored.floor, rel=0.6)


def test_the_tail_is_missing() -> None:
    whole, cut = volumes("pancreas", "Careful"), volumes("pancreas", "Tail-missing")
    assert (cut < 0.9 * whole).all()
    assert cut.mean() < 0.8 * whole.mean()
    for case, answer in zip(cases(), map(answers, range(CASES)), strict=True):
        tail = voxel_at(case, tuple(case.patient.anatomy.pancreas[0][-3]))
        assert answer["Tail-missing"].probabilities["pancreas"][tail] < 0.1


def test_a_kidney_is_lost_in_group_c_only() -> None:
    share = volumes("kidney", "Kidney-losing") / volumes("kidney", "Careful")
    hard = np.array([case.plan.group == "C" for case in cases()])
    assert (share[hard] < 0.65).all()
    assert share[~hard] == pytest.approx(1, abs=0.06)
    single = next(k for k, c in enumerate(cases()) if c.plan.pathology == "missing kidney")
    assert share[single] == 0


def test_the_cyst_counting_method_fills_the_cysts_that_others_doubt() -> None:
    at_cysts: dict[str, list[float]] = {"Careful": [], "Cyst-counting": []}
    for index, case in enumerate(cases()):
        for finding in case.patient.findings:
            if finding.kind == "cyst" and "kidney" in finding.part:
                for name, values in at_cysts.items():
                    kidney = answers(index)[name].probabilities["kidney"]
                    values.append(float(kidney[voxel_at(case, finding.centre_mm)]))
    assert min(at_cysts["Cyst-counting"]) > 0.5
    assert np.mean(at_cysts["Cyst-counting"]) > 0.95
    assert np.mean(at_cysts["Careful"]) < 0.75


def test_further_methods_are_variants_with_their_own_errors() -> None:
    names = [character.name for character in line_up(CHARACTERS, 9)]
    assert names[:7] == [character.name for character in CHARACTERS]
    assert names[7:] == ["Careful-2", "Overconfident-2"]
    second = simulate_method(case_number(0), line_up(CHARACTERS, 9)[7], PHANTOM.method_rng(0, 0, 7))
    assert (second.labels != answers(0)["Careful"].labels).any()


# ---- files ---------------------------------------------------------------------------------


def written(folder: Path, **options: int) -> dict[str, bytes]:
    write_benchmark(PHANTOM, folder, shape=SMALL, **options)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_files_are_complete_and_readable(tmp_path: Path) -> None:
    heard: list[str] = []
    write_benchmark(PHANTOM, tmp_path, cases=3, methods=7, shape=SMALL, progress=heard.append)
    assert heard == ["P001", "P002", "P003"]
    for name in heard:
        reference = tmp_path / "reference" / name
        stems = ["image", *(f"annotation_{k}" for k in (1, 2, 3))]
        assert {path.name for path in reference.iterdir()} == {f"{s}.nii.gz" for s in stems}
        image = read_volume(reference / "image.nii.gz")
        assert image.array.dtype == np.int16
        for stem in stems[1:]:
            assert read_volume(reference / f"{stem}.nii.gz").array.dtype == np.uint8
            labels = read_mask(reference / f"{stem}.nii.gz", labels=(1, 2, 3))
            assert set(labels.labels) == {1, 2, 3}
            assert labels.grid == image.grid
        for character in CHARACTERS:
            check_answer(tmp_path / "predictions" / character.name / name, image.grid)
    check_case_table(tmp_path / "reference" / "cases.csv", heard)


def check_answer(folder: Path, grid: Grid) -> None:
    mask = read_mask(folder / "segmentation.nii.gz", labels=(1, 2, 3))
    assert mask.grid == grid
    total = np.zeros(grid.shape)
    for organ in ORGANS:
        volume = read_probability(folder / f"probability_{organ}.nii.gz")
        assert volume.array.dtype == np.float32
        assert volume.grid == grid
        total += volume.array
    assert total.max() <= 1 + 1e-6
    assert len(list(folder.iterdir())) == 4


def check_case_table(path: Path, names: list[str]) -> None:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["case"] for row in rows] == names
    assert {row["group"] for row in rows} == {"A", "B", "C"}
    assert {row["pathology"] for row in rows} == {"none", "missing kidney"}


def test_same_seed_same_bytes_whatever_else_is_written(tmp_path: Path) -> None:
    both = written(tmp_path / "a", cases=2, methods=2)
    fewer = written(tmp_path / "b", cases=1, methods=1)
    other = written(tmp_path / "c", cases=1, methods=1, seed=1)
    del fewer["reference/cases.csv"]  # lists the cases that were asked for
    assert fewer.items() <= both.items()
    assert all(other[name] != fewer[name] for name in fewer)


@pytest.mark.parametrize("wrong", [{"cases": 0}, {"methods": -1}, {"shape": (112, 96, 8)}])
def test_impossible_benchmarks_are_refused(tmp_path: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(InputError):
        write_benchmark(PHANTOM, tmp_path, **wrong)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
