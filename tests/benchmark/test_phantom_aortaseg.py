"""The synthetic aorta benchmark against anatomy, simple geometry and what its methods promise."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from segjury.benchmark.phantoms import shapes
from segjury.benchmark.phantoms.aortaseg import PHANTOM
from segjury.benchmark.phantoms.aortaseg.anatomy import (
    LABELS,
    OCCLUDABLE,
    ZONES,
    Course,
    Tree,
    make_tree,
)
from segjury.benchmark.phantoms.aortaseg.cases import (
    AortaCase,
    case_grid,
    make_case,
    make_plan,
)
from segjury.benchmark.phantoms.aortaseg.drawing import draw, label_map
from segjury.benchmark.phantoms.aortaseg.methods import CHARACTERS, simulate_method
from segjury.benchmark.phantoms.writing import line_up, write_benchmark
from segjury.errors import InputError
from segjury.images import read_volume
from segjury.images.grid import Grid

Labels = NDArray[np.uint8]

FINE = (175, 125, 348)  # voxels of 2 mm
SMALLEST = (44, 32, 87)

# what the classification of zones asks for, by label
ALONG_THE_AORTA = {(1, 3), (3, 5), (5, 7), (7, 8), (8, 9), (9, 10), (10, 12), (12, 14), (14, 17)}
FROM_THE_AORTA = {(1, 2), (3, 4), (5, 6), (10, 11), (12, 13), (14, 15), (14, 16)}
ILIAC = {(17, 18), (17, 19), (18, 20), (19, 21), (18, 22), (19, 23)}
AT_A_FORK = {(18, 19), (20, 22), (21, 23)}
PAIRS = ((15, 16), (18, 19), (20, 21), (22, 23))  # right, left


@cache
def case_of(index: int, shape: tuple[int, int, int] = (88, 64, 174)) -> AortaCase:
    return make_case(index, seed=0, shape=shape)


@cache
def image_of(index: int) -> NDArray[np.int16]:
    return case_of(index, FINE).image


@cache
def first_case(*, dissected: bool) -> int:
    return next(i for i in range(4) if make_plan(i, seed=0).dissected is dissected)


def middle_mm(case: AortaCase, label: int) -> NDArray[np.float64]:
    index = np.argwhere(case.labels == label).mean(axis=0)
    return np.asarray(index * case.grid.spacing_mm + case.grid.origin_mm)


def volume_ml(case: AortaCase, *names: str) -> float:
    voxels = np.isin(case.labels, [LABELS[name] for name in names]).sum()
    return float(voxels * case.grid.voxel_volume_mm3 / 1000)


def touching(labels: Labels) -> set[tuple[int, int]]:
    """Pairs of labels that share a face of a voxel."""
    pairs: set[tuple[int, int]] = set()
    for axis in range(3):
        along = np.moveaxis(labels, axis, 0)
        one, other = along[:-1], along[1:]
        differ = (one != other) & (one > 0) & (other > 0)
        both = np.sort(np.stack([one[differ], other[differ]], axis=1), axis=1)
        pairs |= {(int(a), int(b)) for a, b in np.unique(both, axis=0)}
    return pairs


@cache
def boxes(index: int) -> list[tuple[slice, slice, slice] | None]:
    """Around each label of a fine case, from 1 on; None where the label is absent."""
    return list(ndimage.find_objects(case_of(index, FINE).labels, max_label=23))


def inscribed_radius_mm(index: int, label: int) -> float:
    """From the innermost voxel of a label to the centre of the nearest one outside."""
    case = case_of(index, FINE)
    mask = np.pad(case.labels[boxes(index)[label - 1]] == label, 1)
    return float(ndimage.distance_transform_edt(mask, sampling=case.grid.spacing_mm).max())


def dice(reference: Labels, prediction: Labels) -> dict[int, float]:
    """Dice of each label that the reference has."""
    return {
        int(label): 2
        * float(((reference == label) & (prediction == label)).sum())
        / float((reference == label).sum() + (prediction == label).sum())
        for label in np.unique(reference)[1:]
    }


# ---- drawing -------------------------------------------------------------------------------


def test_a_straight_aorta_is_cut_into_cylinders() -> None:
    grid = Grid((60, 60, 240), (1.0, 1.0, 1.0))
    x, y, top = 30.2, 29.7, 220.3
    lengths = [30.0, 10.0, 14.5, 20.0, 21.0, 40.0, 15.0, 12.0, 11.0, 27.0]
    ends = np.cumsum(lengths)
    line = Course(np.array([[x, y, top], [x, y, top - ends[-1]]]), np.full(2, 14.0))
    tree = Tree(line, tuple(ends[:-1]), {}, None)
    labels = label_map(grid, draw(grid, tree), tree.cuts_mm)
    for zone, length, end in zip(ZONES, lengths, ends, strict=True):
        middle = (x, y, float(top - end + length / 2))
        cylinder = shapes.cylinder(
            grid.shape, grid.spacing_mm, middle, (0, 0, 1), 14.0, length_mm=length
        )
        np.testing.assert_array_equal(labels == LABELS[zone], cylinder)
    assert (labels > 0).sum() == pytest.approx(np.pi * 14**2 * ends[-1], rel=0.01)


def test_a_branch_thinner_than_a_voxel_is_drawn_all_the_same() -> None:
    grid = Grid((30, 30, 30), (5.0, 5.0, 5.0))
    aorta = Course(np.array([[72.0, 72, 140], [72.0, 72, 5]]), np.full(2, 12.0))
    thin = Course(np.array([[72.0, 72, 72], [132.0, 30, 72]]), np.full(2, 0.5))
    tree = Tree(aorta, tuple(np.arange(10.0, 100, 10)), {"SMA": thin}, None)
    branch = label_map(grid, draw(grid, tree), tree.cuts_mm) == LABELS["SMA"]
    assert branch[26, 6, 14]  # the voxel in which it ends
    assert ndimage.label(branch, np.ones((3, 3, 3)))[1] == 1


def test_volumes_do_not_depend_on_the_voxel_size() -> None:
    for index in range(2):
        coarse, fine = volume_ml(case_of(index), *ZONES), volume_ml(case_of(index, FINE), *ZONES)
        assert coarse == pytest.approx(fine, rel=0.02)


# ---- anatomy -------------------------------------------------------------------------------


def test_the_23_labels_are_those_of_the_protocol() -> None:
    names = (
        "Zone 0, Innominate, Zone 1, Left Common Carotid, Zone 2, Left Subclavian, Zone 3, Zone 4, "
        "Zone 5, Zone 6, Celiac, Zone 7, SMA, Zone 8, Right Renal, Left Renal, Zone 9, Zone 10 R, "
        "Zone 10 L, Right Internal Iliac, Left Internal Iliac, Zone 11 R, Zone 11 L"
    )
    assert {name: k for k, name in enumerate(names.split(", "), start=1)} == LABELS


@pytest.mark.parametrize("index", range(4))
def test_zones_and_branches_touch_what_they_should_and_nothing_else(index: int) -> None:
    case = case_of(index, FINE)
    gone = LABELS.get(case.plan.absent or "", 0)
    expected = {pair for pair in ALONG_THE_AORTA | FROM_THE_AORTA | ILIAC if gone not in pair}
    assert touching(case.labels) - AT_A_FORK == expected


@pytest.mark.parametrize("index", range(4))
def test_every_class_is_in_one_piece(index: int) -> None:
    labels = case_of(index).labels
    for label, box in enumerate(ndimage.find_objects(labels, max_label=23), start=1):
        if box is not None:
            assert ndimage.label(labels[box] == label, np.ones((3, 3, 3)))[1] == 1


@pytest.mark.parametrize("index", range(4))
def test_everything_lies_where_it_belongs(index: int) -> None:
    case = case_of(index)
    middle = {label: middle_mm(case, int(label)) for label in np.unique(case.labels)[1:]}
    down_the_aorta = [middle[label][2] for label in (7, 8, 9, 10, 12, 14, 17)]
    through_the_arch = [middle[label][1] for label in (1, 3, 5, 7)]
    assert down_the_aorta == sorted(down_the_aorta, reverse=True)
    assert through_the_arch == sorted(through_the_arch)  # from the front to the back
    assert all(
        middle[right][0] < middle[left][0]
        for right, left in PAIRS
        if right in middle and left in middle
    )
    assert middle[2][0] < middle[4][0] < middle[6][0]
    assert min(middle[label][2] for label in (2, 4, 6)) > middle[5][2]
    assert middle[13][1] < middle[12][1] - 20  # in front of the aorta
    assert middle[22][1] < middle[18][1]  # the external iliac runs to the front


@pytest.mark.parametrize("index", range(4))
def test_calibres_are_plausible(index: int) -> None:
    case = case_of(index, FINE)
    radius = {
        name: inscribed_radius_mm(index, label)
        for name, label in LABELS.items()
        if name != case.plan.absent
    }
    assert 14 < radius["Zone 0"] < 19
    assert 11 < radius["Zone 5"] < (22 if case.plan.dissected else 15)
    assert 9 < radius["Zone 9"] < (18 if case.plan.dissected else 13)
    small = [r for name, r in radius.items() if name not in ZONES]
    assert min(small) > 2
    assert max(small) < 8.5  # voxels of 2 mm, measured between centres
    assert 150 < volume_ml(case, *ZONES) < 500


def test_zone_3_is_two_centimetres_long() -> None:
    index = first_case(dissected=False)
    radius = inscribed_radius_mm(index, LABELS["Zone 4"])  # it goes on as wide
    length_mm = 1000 * volume_ml(case_of(index, FINE), "Zone 3") / (np.pi * radius**2)
    assert length_mm == pytest.approx(20, rel=0.15)


def test_zone_4_ends_at_the_sixth_thoracic_vertebra() -> None:
    for index in range(4):
        case = case_of(index)
        heights = np.flatnonzero((case.labels == 8).any(axis=(0, 1)))
        lowest = heights.min() * case.grid.spacing_mm[2] + case.grid.origin_mm[2]
        assert 138 < lowest < 158  # 150 mm, for a stature of 0.96 to 1.03


@pytest.mark.parametrize("seed", range(3))
def test_a_dissected_aorta_is_larger(seed: int) -> None:
    grid = case_grid((88, 64, 174))
    thoracic = []
    for dissected in (False, True):
        tree = make_tree(np.random.default_rng(seed), dissected=dissected, absent=None)
        labels = label_map(grid, draw(grid, tree), tree.cuts_mm)
        thoracic.append(np.isin(labels, (7, 8, 9)).sum())
    assert 1.3 < thoracic[1] / thoracic[0] < 2.5


@pytest.mark.parametrize("absent", OCCLUDABLE)
def test_only_the_occluded_branch_is_absent(absent: str) -> None:
    grid = case_grid(SMALLEST)
    for dissected in (False, True):
        tree = make_tree(np.random.default_rng(7), dissected=dissected, absent=absent)
        labels = label_map(grid, draw(grid, tree), tree.cuts_mm)
        assert set(np.unique(labels)) == set(range(24)) - {LABELS[absent]}


def test_every_block_of_four_has_two_dissections_and_one_absent_class() -> None:
    for seed in range(5):
        for start in (0, 4):
            plans = [make_plan(start + k, seed=seed) for k in range(4)]
            assert sum(plan.dissected for plan in plans) == 2
            assert sum(plan.absent is not None for plan in plans) == 1


@pytest.mark.parametrize("shape", [SMALLEST, (90, 90, 139), (200, 40, 100)])
def test_any_shape_holds_every_class(shape: tuple[int, int, int]) -> None:
    for index in range(2):
        case = make_case(index, seed=5, shape=shape)
        gone = {LABELS[case.plan.absent]} if case.plan.absent else set()
        assert set(np.unique(case.labels)) == set(range(24)) - gone
        assert case.labels.shape == shape


def test_a_full_size_grid_has_the_spacing_of_the_real_one() -> None:
    assert case_grid((450, 450, 695)).spacing_mm == (1.0, 1.0, 1.0)


# ---- image ---------------------------------------------------------------------------------


def test_the_angiogram_is_bright_in_the_arteries_and_dark_in_the_lungs() -> None:
    index = first_case(dissected=False)
    case, image = case_of(index, FINE), image_of(index)
    inner = ndimage.binary_erosion(np.isin(case.labels, [LABELS[zone] for zone in ZONES]))
    assert image[inner].mean() == pytest.approx(350, abs=5)
    assert image[inner].std() == pytest.approx(16, abs=3)
    assert image[0, 0, 0] == -1000
    lungs = image[[FINE[0] // 4, 3 * FINE[0] // 4], FINE[1] // 2, 3 * FINE[2] // 4]
    assert (lungs < -700).all()


def test_the_flap_parts_the_aorta_into_two_lumina() -> None:
    index = first_case(dissected=True)
    case, image = case_of(index, FINE), image_of(index)
    box = boxes(index)[LABELS["Zone 4"] - 1]  # the flap runs through it
    inner = ndimage.binary_erosion(case.labels[box] == LABELS["Zone 4"])
    smooth = ndimage.median_filter(image[box], 3)
    lumina, count = ndimage.label(inner & (image[box] > 225))
    sizes = np.bincount(lumina.reshape(-1))[1:]
    largest = np.argsort(sizes)[::-1][:2] + 1
    share = sizes[largest - 1] / inner.sum()
    assert count >= 2
    assert share.min() > 0.15
    false, true = sorted(float(np.median(smooth[lumina == part])) for part in largest)
    assert true == pytest.approx(350, abs=10)
    assert false == pytest.approx(270, abs=10)


# ---- simulated methods ---------------------------------------------------------------------


@cache
def answers(index: int) -> dict[str, Labels]:
    return {
        character.name: simulate_method(
            case_of(index), character, PHANTOM.method_rng(0, index, number)
        )
        for number, character in enumerate(CHARACTERS)
    }


@cache
def scores(index: int, method: str) -> dict[int, float]:
    return dice(case_of(index).labels, answers(index)[method])


def mean(values: dict[int, float], labels: list[int]) -> float:
    return float(np.mean([values[label] for label in labels if label in values]))


EVERYTHING = list(range(1, 24))
ZONE_LABELS = [LABELS[zone] for zone in ZONES]
BRANCH_LABELS = [label for label in EVERYTHING if label not in ZONE_LABELS]
ILIAC_LABELS = [18, 19, 20, 21, 22, 23]


@pytest.mark.parametrize("index", range(4))
def test_the_careful_method_is_best_and_never_perfect(index: int) -> None:
    means = {c.name: mean(scores(index, c.name), EVERYTHING) for c in CHARACTERS}
    assert max(means, key=lambda name: means[name]) == "Careful"
    assert 0.88 < means["Careful"] < 0.99


@pytest.mark.parametrize("index", range(4))
def test_shifted_borders_cost_zones_not_branches(index: int) -> None:
    values = scores(index, "Zone-shifting")
    assert mean(values, BRANCH_LABELS) > 0.8
    assert mean(values, [3, 5, 7, 10, 12, 14]) < 0.75  # the short zones
    assert min(values.values()) > 0
    reference, prediction = case_of(index).labels > 0, answers(index)["Zone-shifting"] > 0
    assert 2 * (reference & prediction).sum() / (reference.sum() + prediction.sum()) > 0.9


def test_missed_branches_are_missing_classes() -> None:
    present = set(np.unique(answers(0)["Branch-missing"]))
    assert present == set(range(24)) - {15, 16, 20, 21}
    assert mean(scores(0, "Branch-missing"), ZONE_LABELS) > 0.85


@pytest.mark.parametrize("index", range(4))
def test_swapped_sides_score_nothing_in_the_iliacs_only(index: int) -> None:
    values = scores(index, "Side-swapping")
    assert mean(values, ILIAC_LABELS) < 0.05
    assert mean(values, [label for label in EVERYTHING if label not in ILIAC_LABELS]) > 0.85


def test_stray_voxels_lie_in_opposite_corners() -> None:
    labels = answers(0)["Stray-voxels"]
    parts, count = ndimage.label(labels == LABELS["SMA"], np.ones((3, 3, 3)))
    assert labels[0, 0, 0] == labels[-1, -1, -1] == LABELS["SMA"]
    assert sorted(np.bincount(parts.reshape(-1))[1:])[:2] == [1, 1]
    assert count == 3
    assert mean(scores(0, "Stray-voxels"), EVERYTHING) > 0.88


@pytest.mark.parametrize("index", range(4))
def test_the_over_segmenting_method_adds_a_voxel_all_round(index: int) -> None:
    reference, prediction = case_of(index).labels > 0, answers(index)["Over-segmenting"] > 0
    cross, cube = (ndimage.generate_binary_structure(3, k) for k in (1, 3))
    grown = ndimage.binary_dilation(reference, cross)
    assert (grown & prediction).sum() / grown.sum() > 0.97
    assert not (prediction & ~ndimage.binary_dilation(reference, cube, 2)).any()


def test_further_methods_are_variants_with_their_own_errors() -> None:
    names = [character.name for character in line_up(CHARACTERS, 9)]
    assert names == [*(c.name for c in CHARACTERS), "Careful-2", "Zone-shifting-2"]
    again = simulate_method(case_of(0), line_up(CHARACTERS, 8)[7], PHANTOM.method_rng(0, 0, 7))
    assert (again != answers(0)["Careful"]).any()


# ---- the benchmark on disk -----------------------------------------------------------------


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_files_are_laid_out_as_the_protocol_expects(tmp_path: Path) -> None:
    heard: list[str] = []
    write_benchmark(PHANTOM, tmp_path, cases=4, methods=7, progress=heard.append)
    assert heard == ["A001", "A002", "A003", "A004"]
    facts = rows(tmp_path / "reference" / "cases.csv")
    assert [fact["case"] for fact in facts] == heard
    assert [fact["dissected"] for fact in facts].count("yes") == 2
    for fact in facts:
        folder = tmp_path / "reference" / fact["case"]
        assert {path.name for path in folder.iterdir()} == {"image.nii.gz", "annotation_1.nii.gz"}
        image = read_volume(folder / "image.nii.gz")
        reference = read_volume(folder / "annotation_1.nii.gz")
        gone = {LABELS[fact["absent"]]} if fact["absent"] else set()
        assert image.array.dtype == np.int16
        assert reference.array.dtype == np.uint8
        assert reference.grid == image.grid
        assert set(np.unique(reference.array)) == set(range(24)) - gone
    found = {
        (path.parts[-3], path.parts[-2])
        for path in (tmp_path / "predictions").glob("*/*/segmentation.nii.gz")
    }
    pairs = {(character.name, case) for character in CHARACTERS for case in heard}
    assert pairs - found == {("Failing", "A002")}
    assert found < pairs
    assert not (tmp_path / "predictions" / "Failing" / "A002").exists()
    for method, case in found:
        path = tmp_path / "predictions" / method / case / "segmentation.nii.gz"
        prediction = read_volume(path)
        assert prediction.array.dtype == np.uint8
        assert prediction.grid == case_of(0).grid
        assert prediction.array.max() <= 23


def test_every_run_has_its_cost(tmp_path: Path) -> None:
    write_benchmark(PHANTOM, tmp_path, cases=2, methods=8, shape=SMALLEST)
    costs = rows(tmp_path / "efficiency.csv")
    methods = [character.name for character in line_up(CHARACTERS, 8)]
    assert [(r["method"], r["case"]) for r in costs] == [
        (method, case) for case in ("A001", "A002") for method in methods
    ]
    time_s = np.array([float(row["time_s"]) for row in costs])
    memory_gb = np.array([float(row["memory_gb_s"]) for row in costs]) / time_s
    assert ((time_s > 1) & (time_s < 300)).all()
    assert ((memory_gb > 2) & (memory_gb < 24)).all()


def test_same_seed_same_bytes_whatever_else_is_written(tmp_path: Path) -> None:
    def written(name: str, **options: int) -> dict[str, bytes]:
        write_benchmark(PHANTOM, tmp_path / name, shape=SMALLEST, **options)
        files = sorted((tmp_path / name).rglob("*.nii.gz"))
        return {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in files}

    both = written("a", cases=2, methods=3)
    fewer = written("b", cases=1, methods=2)
    other = written("c", cases=1, methods=2, seed=1)
    assert fewer.items() <= both.items()
    assert all(other[name] != fewer[name] for name in fewer)
    few, many = (rows(tmp_path / name / "efficiency.csv") for name in ("b", "a"))
    assert all(row in many for row in few)


@pytest.mark.parametrize(
    "wrong", [{"cases": 0}, {"methods": -1}, {"shape": (88, 64, 40)}, {"shape": (0, 64, 174)}]
)
def test_impossible_benchmarks_are_refused(tmp_path: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(InputError):
        write_benchmark(PHANTOM, tmp_path, **wrong)  # type: ignore[arg-type]
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("index", range(4))
def test_a_coarse_grid_still_has_every_class_there_is(index: int) -> None:
    case = make_case(index, seed=2, shape=(48, 48, 48))
    absent = {case.plan.absent} - {None}
    assert {n for n, label in LABELS.items() if not (case.labels == label).any()} == absent
