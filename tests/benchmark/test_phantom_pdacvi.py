"""Analytic shapes against their formulas; the synthetic benchmark against what it promises."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from segjury.benchmark.phantoms import benchmark_writer, shapes
from segjury.benchmark.phantoms.fields import ellipsoid_mm, smooth_noise, tube_mm
from segjury.benchmark.phantoms.pdacvi import PHANTOM
from segjury.benchmark.phantoms.pdacvi.anatomy import Lesion, gap_mm
from segjury.benchmark.phantoms.pdacvi.cases import (
    LesionCase,
    case_grid,
    make_case,
    make_plan,
)
from segjury.benchmark.phantoms.pdacvi.methods import CHARACTERS, pairwise_dice, simulate_method
from segjury.benchmark.phantoms.pdacvi.raters import PANEL
from segjury.benchmark.phantoms.raters import Rater, draw, miss_part
from segjury.benchmark.phantoms.writing import line_up, write_benchmark
from segjury.errors import InputError
from segjury.images import read_volume
from segjury.images.grid import Grid

SMALL = (64, 56, 48)
PAIRS = np.triu_indices(5, 1)
SPACING = (0.5, 0.6, 0.75)
CUBE = (100, 84, 67)  # 50 mm wide at that spacing
MIDDLE = (25.0, 25.0, 25.0)


def volume_mm3(mask: NDArray[np.bool_]) -> float:
    return float(mask.sum() * np.prod(SPACING))


# ---- analytic shapes -----------------------------------------------------------------------


def test_sphere_and_ellipsoid_have_their_volumes() -> None:
    ball = shapes.sphere(CUBE, SPACING, MIDDLE, 15)
    egg = shapes.ellipsoid(CUBE, SPACING, MIDDLE, (20, 12, 8))
    assert volume_mm3(ball) == pytest.approx(4 / 3 * np.pi * 15**3, rel=0.005)
    assert volume_mm3(egg) == pytest.approx(4 / 3 * np.pi * 20 * 12 * 8, rel=0.005)


def test_volume_converges_as_voxels_shrink() -> None:
    exact = 4 / 3 * np.pi * 8**3
    errors = []
    for step in (2.0, 0.25):
        count = int(20 / step)
        centres = [(10 + step * u, 10 - step * u, 10 + step * u / 2) for u in (0.1, 0.3, 0.45)]
        shape, spacing = (count, count, count), (step, step, step)
        found = [shapes.sphere(shape, spacing, c, 8).sum() * step**3 for c in centres]
        errors.append(np.abs(np.array(found) - exact).mean() / exact)
    assert errors[1] < 0.002
    assert errors[1] < errors[0] / 5


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (1, 2, -1), (-3, 1, 2)])
def test_cylinder_has_its_volume_along_any_axis(axis: tuple[float, float, float]) -> None:
    mask = shapes.cylinder(CUBE, SPACING, MIDDLE, axis, 7, length_mm=30)
    assert volume_mm3(mask) == pytest.approx(np.pi * 7**2 * 30, rel=0.02)


def test_tube_has_the_volume_of_its_line() -> None:
    turn = np.linspace(0, np.pi, 60)
    half_circle = 25 + 14 * np.stack([np.cos(turn), np.sin(turn) - 0.5, 0 * turn], axis=1)
    mask = shapes.tube(CUBE, SPACING, half_circle, 4)
    assert volume_mm3(mask) == pytest.approx(
        np.pi * 4**2 * np.pi * 14 + 4 / 3 * np.pi * 4**3, rel=0.02
    )


@pytest.mark.parametrize("angle_deg", [30, 90, 180, 275, 360])
@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 1, 2)])
def test_annular_sector_covers_its_angle(
    angle_deg: float, axis: tuple[float, float, float]
) -> None:
    vessel = shapes.cylinder(CUBE, SPACING, MIDDLE, axis, 6, length_mm=20)
    lesion = shapes.annular_sector(
        CUBE, SPACING, MIDDLE, axis, 6, 12, angle_deg, start_deg=20, length_mm=20
    )
    assert not (vessel & lesion).any()
    exact = angle_deg / 360 * np.pi * (12**2 - 6**2) * 20
    assert volume_mm3(lesion) == pytest.approx(exact, rel=0.03)


def test_annular_sector_turns_from_x_to_y_about_z() -> None:
    quarter = shapes.annular_sector((21, 21, 3), (1, 1, 1), (10, 10, 1), (0, 0, 1), 3, 8, 90)
    x, y, _ = np.nonzero(quarter)
    assert x.min() > 10
    assert y.min() == 10


# ---- fields and raters ---------------------------------------------------------------------


def test_signed_distances_are_exact_for_a_ball_and_a_straight_tube() -> None:
    grid = Grid((40, 40, 40), (1, 1, 1), (-20, -20, -20))
    ball = ellipsoid_mm(grid, (0, 0, 0), (9, 9, 9))
    assert ball[20, 20, 20] > 0
    assert ball[32, 20, 20] == pytest.approx(9 - 12, abs=1e-4)
    line = np.array([[0.0, 0.0, -15.0], [0.0, 0.0, 15.0]])
    tube = tube_mm(grid, line, np.array([5.0, 5.0]), reach_mm=6)
    assert tube[23, 24, 20] == pytest.approx(0, abs=1e-4)  # 3-4-5
    assert tube.min() == -6


def test_smooth_noise_has_unit_variance_and_is_smooth() -> None:
    grid = Grid((60, 50, 40), (1.0, 1.2, 2.0))
    fields = [smooth_noise(grid, 12, np.random.default_rng(k)) for k in range(30)]
    assert np.mean(np.square(fields)) == pytest.approx(1, abs=0.1)
    assert np.mean(fields) == pytest.approx(0, abs=0.1)
    assert np.abs(np.diff(fields[0], axis=0)).mean() < 0.25


def rater_setting() -> tuple[NDArray[np.float32], Grid]:
    grid = Grid((48, 48, 48), (1, 1, 1))
    return ellipsoid_mm(grid, (24, 24, 24), (12, 12, 12)), grid


def test_a_rater_without_ambiguity_draws_the_structure_moved_by_style() -> None:
    phi, grid = rater_setting()
    shared = np.ones(grid.shape, np.float32)
    drawn = draw(
        phi, grid, Rater(2.05, 3.0), ambiguity=0, shared=shared, rng=np.random.default_rng(0)
    )
    assert (drawn == shapes.sphere(grid.shape, (1, 1, 1), (24, 24, 24), 14.05)).all()


def test_disagreement_grows_with_ambiguity() -> None:
    phi, grid = rater_setting()
    agreement = []
    for ambiguity in (0.1, 0.5, 1.0):
        rng = np.random.default_rng(7)
        shared = smooth_noise(grid, 14, rng)
        masks = [
            draw(phi, grid, rater, ambiguity=ambiguity, shared=shared, rng=rng) for rater in PANEL
        ]
        agreement.append(pairwise_dice(masks)[PAIRS].mean())
    assert agreement[0] > agreement[1] > agreement[2]


def test_miss_part_leaves_out_its_share() -> None:
    phi, grid = rater_setting()
    left = miss_part(phi, grid, share=0.3, rng=np.random.default_rng(1)) > 0
    assert left.sum() == pytest.approx(0.7 * (phi > 0).sum(), rel=0.02)


def test_a_rater_always_draws_something() -> None:
    phi, grid = rater_setting()
    shared = np.zeros(grid.shape, np.float32)
    blind = Rater(bias_mm=-40, error_mm=0)
    drawn = draw(phi, grid, blind, ambiguity=1, shared=shared, rng=np.random.default_rng(0))
    assert drawn.any()


# ---- the benchmark in memory ---------------------------------------------------------------


@cache
def ten_cases() -> list[LesionCase]:
    return [make_case(index, seed=0) for index in range(10)]


def agreement(case: LesionCase) -> float:
    return float(pairwise_dice([mask[case.roi] for mask in case.raters])[PAIRS].mean())


def contact_deg(case: LesionCase, lesion: NDArray[np.bool_]) -> float:
    """Largest share, in degrees, of a vessel's axial outline that touches the lesion."""
    cross = ndimage.generate_binary_structure(2, 1)[:, :, None]
    touching = ndimage.binary_dilation(lesion[case.roi], cross)
    largest = 0.0
    for label in np.unique(case.vessels[case.roi][touching])[1:]:
        vessel = case.vessels[case.roi] == label
        edge = vessel & ~ndimage.binary_erosion(vessel, cross)
        outline = edge.sum(axis=(0, 1))
        share = (edge & touching).sum(axis=(0, 1)) / np.maximum(outline, 1)
        largest = max(largest, 360 * float(share.max()))
    return largest


def test_every_block_of_five_has_every_degree() -> None:
    for seed in range(5):
        for start in (0, 5, 10):
            plans = [make_plan(start + k, seed=seed) for k in range(5)]
            assert sum(plan.hopeless for plan in plans) == 1
            assert sum(plan.contact_deg < 0 for plan in plans) == 1
            assert sum(plan.contact_deg > 280 for plan in plans) == 1


def test_agreement_spans_the_range_of_the_real_benchmark() -> None:
    values = np.array([agreement(case) for case in ten_cases()])
    assert values.mean() == pytest.approx(0.584, abs=0.08)
    assert values.std() == pytest.approx(0.257, abs=0.08)
    assert (values <= 0.3).sum() == 2
    assert values.max() > 0.75


def test_the_junior_rater_agrees_least() -> None:
    per_rater = [
        pairwise_dice([mask[case.roi] for mask in case.raters]).mean(axis=1) for case in ten_cases()
    ]
    assert np.argmin(np.mean(per_rater, axis=0)) == 4


def test_contact_spans_none_to_encasement() -> None:
    cases = ten_cases()
    planned = np.array([case.plan.contact_deg for case in cases])
    found = np.array([np.mean([contact_deg(c, mask) for mask in c.raters]) for c in cases])
    assert found.min() == 0
    assert found.max() > 230
    assert ((found > 30) & (found < 180)).any()
    assert found[planned > 180].mean() > found[planned < 180].mean() + 60


@pytest.mark.parametrize("angle_deg", [20, 90, 180, 300, 360])
def test_gap_makes_a_flat_lesion_cover_the_angle(angle_deg: float) -> None:
    turn = np.radians(np.arange(0, 360, 0.1))
    across_mm = 6.0 * np.cos(turn)  # towards a lesion that fills everything beyond the gap
    assert (across_mm > gap_mm(angle_deg, 6.0)).mean() * 360 == pytest.approx(angle_deg, abs=0.2)


def test_a_negative_contact_is_a_distance() -> None:
    assert gap_mm(-8, 6) == 14


def test_masks_are_sound() -> None:
    for case in ten_cases():
        assert all(mask.any() for mask in case.raters)
        assert set(np.unique(case.vessels)) == {0, 1, 2, 3, 4, 5}
        assert not (case.pancreas & (case.vessels > 0)).any()
        assert not any((mask & (case.vessels > 0)).any() for mask in case.raters)
        assert case.pancreas.any()


def test_vessels_are_in_one_piece_and_bright() -> None:
    case = ten_cases()[0]
    for label in range(1, 6):
        vessel = case.vessels == label
        _, parts = ndimage.label(vessel, np.ones((3, 3, 3)))
        assert parts == 1
        assert 130 < case.image[vessel].mean() < 230


def test_the_clear_lesion_is_darker_than_the_gland() -> None:
    clear = min(ten_cases(), key=lambda case: case.ambiguity)
    inner = np.all(clear.raters, axis=0)
    gland = clear.pancreas & ~np.any(clear.raters, axis=0)
    assert clear.image[inner].mean() < clear.image[gland].mean() - 20


@pytest.mark.parametrize("shape", [(24, 24, 24), (48, 70, 30), (150, 40, 64)])
def test_any_shape_gives_voxels_of_plausible_size(shape: tuple[int, int, int]) -> None:
    case = make_case(1, seed=3, shape=shape)
    assert case.image.shape == shape
    assert max(case.grid.spacing_mm) <= 2
    assert all(mask.any() for mask in case.raters)


def test_a_full_size_grid_has_clinical_spacing() -> None:
    grid = case_grid((512, 512, 160), [Lesion((-20, -8, -10), (14, 14, 14))])
    assert grid.spacing_mm == (0.75, 0.75, 1.5)


# ---- simulated methods ---------------------------------------------------------------------


@cache
def answers(index: int) -> dict[str, tuple[NDArray[np.bool_], NDArray[np.float32]]]:
    case = ten_cases()[index]
    return {
        character.name: simulate_method(case, character, PHANTOM.method_rng(0, index, number))
        for number, character in enumerate(CHARACTERS)
    }


def thr_dsc(case: LesionCase, probability: NDArray[np.float32]) -> float:
    mean = np.mean([mask[case.roi] for mask in case.raters], axis=0)
    values = []
    for threshold in (0.1, 0.24, 0.38, 0.52, 0.66, 0.8):
        a, b = mean > threshold, probability[case.roi] > threshold
        values.append(2 * (a & b).sum() / (a.sum() + b.sum()) if a.any() or b.any() else 1.0)
    return float(np.mean(values))


def by_method(value: object) -> dict[str, NDArray[np.float64]]:
    assert callable(value)
    return {
        character.name: np.array(
            [value(case, *answers(index)[character.name]) for index, case in enumerate(ten_cases())]
        )
        for character in CHARACTERS
    }


def test_probabilities_are_smooth_and_have_exact_zeros() -> None:
    for mask, probability in answers(0).values():
        positive = probability[probability > 0]
        assert probability.dtype == np.float32
        assert probability.max() <= 1
        assert positive.min() >= 1e-3
        assert ((positive > 0.001) & (positive < 0.1)).mean() > 0.03
        assert mask.dtype == bool


def test_characters_behave_as_they_are_called() -> None:
    hopeless = np.array([case.plan.hopeless for case in ten_cases()])
    extreme = by_method(lambda _c, _m, p: (np.abs(p[p > 0.02] - 0.5) > 0.4).mean())
    size = by_method(lambda c, _m, p: p.sum() / np.mean([mask.sum() for mask in c.raters]))
    touching = by_method(lambda c, m, _p: contact_deg(c, m))
    assert extreme["Overconfident"].mean() > extreme["Calibrated"].mean() + 0.2
    assert size["Collapsing"][hopeless].mean() < 0.7 * size["Collapsing"][~hopeless].mean()
    assert touching["Overextending"].mean() > touching["Calibrated"].mean() + 60


def test_the_ranking_turns_around_where_raters_disagree_most() -> None:
    hopeless = np.array([case.plan.hopeless for case in ten_cases()])
    score = by_method(lambda c, _m, p: thr_dsc(c, p))
    best_of_rest = max(score, key=lambda name: score[name][~hopeless].mean())
    best_of_hopeless = max(score, key=lambda name: score[name][hopeless].mean())
    assert best_of_hopeless == "Disagreement-aware"
    assert best_of_rest != "Disagreement-aware"


def test_further_methods_are_variants_with_their_own_errors() -> None:
    names = [character.name for character in line_up(CHARACTERS, 8)]
    assert names[:6] == [character.name for character in CHARACTERS]
    assert names[6:] == ["Overconfident-2", "Calibrated-2"]
    case = ten_cases()[0]
    _, first = simulate_method(case, line_up(CHARACTERS, 8)[1], PHANTOM.method_rng(0, 0, 1))
    _, second = simulate_method(case, line_up(CHARACTERS, 8)[7], PHANTOM.method_rng(0, 0, 7))
    assert (first != second).any()


# ---- the benchmark on disk -----------------------------------------------------------------


def written(folder: Path, **options: int) -> dict[str, bytes]:
    write_benchmark(PHANTOM, folder, shape=SMALL, **options)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_files_are_laid_out_as_the_protocol_expects(tmp_path: Path) -> None:
    heard: list[str] = []
    write_benchmark(PHANTOM, tmp_path, cases=1, methods=1, shape=SMALL, progress=heard.append)
    assert heard == ["P001"]
    labels = {
        "annotation_1": {0, 1, 2},
        **{f"annotation_{k}": {0, 1} for k in range(2, 6)},
        "annotation_vascular": {0, 1, 2, 3, 4, 5},
    }
    folder = tmp_path / "reference" / "P001"
    assert {path.name for path in folder.iterdir()} == {
        f"{stem}.nii.gz" for stem in (*labels, "image")
    }
    image = read_volume(folder / "image.nii.gz")
    assert image.array.dtype == np.int16
    assert image.array.shape == SMALL
    for stem, expected in labels.items():
        volume = read_volume(folder / f"{stem}.nii.gz")
        assert volume.array.dtype == np.uint8
        assert volume.grid == image.grid
        assert set(np.unique(volume.array)) <= expected
        assert 1 in volume.array
    answer = tmp_path / "predictions" / "Overconfident" / "P001"
    assert read_volume(answer / "segmentation.nii.gz").array.dtype == np.uint8
    assert read_volume(answer / "probability.nii.gz").array.dtype == np.float32
    assert read_volume(answer / "probability.nii.gz").grid == image.grid


def test_same_seed_same_bytes_whatever_else_is_written(tmp_path: Path) -> None:
    both = written(tmp_path / "a", cases=2, methods=2)
    fewer = written(tmp_path / "b", cases=1, methods=1)
    other = written(tmp_path / "c", cases=1, methods=1, seed=1)
    assert fewer.items() <= both.items()
    assert all(other[name] != fewer[name] for name in fewer)


def test_the_writer_is_found_by_protocol_name() -> None:
    assert benchmark_writer("curvas-pdacvi-2025").args == (PHANTOM,)
    with pytest.raises(InputError, match="curvas-pdacvi-2025"):
        benchmark_writer("curvas-1924")


@pytest.mark.parametrize("wrong", [{"cases": 0}, {"methods": -1}, {"shape": (112, 96, 8)}])
def test_impossible_benchmarks_are_refused(tmp_path: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(InputError):
        write_benchmark(PHANTOM, tmp_path, **wrong)  # type: ignore[arg-type]
