"""The synthetic angiograms against the laws that vessels, images and methods promise to obey."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import cKDTree
from skimage.morphology import skeletonize

from segjury.arrays import Bools
from segjury.benchmark.phantoms import benchmark_writer, shapes
from segjury.benchmark.phantoms.smile import PHANTOM
from segjury.benchmark.phantoms.smile.anatomy import grow_tree, split
from segjury.benchmark.phantoms.smile.cases import (
    SCANS,
    Dataset,
    VesselCase,
    case_grid,
    dataset,
    make_case,
)
from segjury.benchmark.phantoms.smile.image import add_blood, lay_slabs, render, rician
from segjury.benchmark.phantoms.smile.methods import (
    CHARACTERS,
    add_ball,
    add_noise,
    simulate_method,
    threshold,
)
from segjury.benchmark.phantoms.smile.raster import pieces_of, rasterise, rasterise_pieces
from segjury.benchmark.phantoms.smile.tree import Vessel, VesselTree
from segjury.benchmark.phantoms.writing import line_up, write_benchmark
from segjury.errors import InputError
from segjury.images import read_volume
from segjury.images.grid import Grid

Mask = NDArray[np.bool_]

SMALL = (64, 72, 40)
CUBE = Grid((40, 40, 40))
TOUCHING = np.ones((3, 3, 3))
inside_cube = st.tuples(*[st.floats(2, 37)] * 3)


def parts(mask: Mask) -> int:
    return int(ndimage.label(mask, TOUCHING)[1])


def straight(start: object, end: object, first: float, last: float | None = None) -> Vessel:
    radii = np.array([first, first if last is None else last])
    return Vessel((0, 1), np.array([start, end], float), radii)


def dice(a: Mask, b: Mask) -> float:
    return 2 * float((a & b).sum()) / float(a.sum() + b.sum())


@cache
def two_cases() -> list[VesselCase]:
    """An open and a secret one."""
    return [make_case(index) for index in range(2)]


@cache
def answers(index: int) -> dict[str, Mask]:
    return {
        character.name: simulate_method(
            two_cases()[index], character, PHANTOM.method_rng(0, index, number)
        )
        for number, character in enumerate(CHARACTERS)
    }


# ---- the tree ------------------------------------------------------------------------------


@given(st.floats(1.3, 12), st.integers(0, 10**6))
def test_a_vessel_splits_as_murray_says(ratio: float, seed: int) -> None:
    smallest = 0.15
    radius = ratio * smallest
    (a, angle_a), (b, angle_b) = split(radius, smallest, np.random.default_rng(seed))
    assert a**3 + b**3 == pytest.approx(radius**3)
    assert a >= b >= smallest * (1 - 1e-9)
    # least work: pulls as strong as the squared radii are in balance at the branching
    assert a**2 * np.cos(angle_a) + b**2 * np.cos(angle_b) == pytest.approx(radius**2)
    assert a**2 * np.sin(angle_a) == pytest.approx(b**2 * np.sin(angle_b))


def test_murrays_law_holds_at_every_branching() -> None:
    branchings = [each for case in two_cases() for each in case.tree.branchings()]
    assert sum(len(children) == 2 for _, children in branchings) > 60
    for parent, children in branchings:
        flow = sum(child.radii_mm[0] ** 3 for child in children)
        assert flow == pytest.approx(parent.radii_mm[-1] ** 3)
        for child in children:
            assert (child.points_mm[0] == parent.points_mm[-1]).all()


def test_vessels_taper_down_to_a_voxel() -> None:
    for case in two_cases():
        voxel = case.grid.spacing_mm[0]
        grown = case.tree.vessels[case.tree.trunks :]
        assert all((np.diff(vessel.radii_mm) <= 0).all() for vessel in grown)
        assert min(vessel.radii_mm[-1] for vessel in grown) == pytest.approx(voxel / 2)
        assert sum(vessel.radii_mm[-1] < 0.51 * voxel for vessel in grown) > 30


def test_the_ring_is_the_only_way_round() -> None:
    for case in two_cases():
        tree = case.tree
        base = VesselTree(tree.vessels[: tree.trunks], tree.trunks)
        assert base.tunnels == tree.tunnels == 1
        mask = rasterise(base.vessels, case.grid)
        level = case.grid.shape[2] // 3  # the ring lies a third of the way up
        from_above = mask[:, :, level - 8 : level + 12].any(axis=2)
        assert ndimage.label(~from_above)[1] == 2  # inside and outside


def test_vessels_stay_in_the_field() -> None:
    for case in two_cases():
        index = [(v.points_mm - case.grid.origin_mm) / 0.3 for v in case.tree.vessels]
        assert np.concatenate(index).min() >= -1e-9
        assert (np.concatenate(index) <= np.array(case.grid.shape) - 1 + 1e-9).all()


def test_finer_voxels_show_finer_vessels() -> None:
    grid = Grid((96, 96, 64), (0.15, 0.15, 0.15), (-7.2, -7.2, -3.2))
    tree = grow_tree(grid, np.random.default_rng(1))
    assert min(vessel.radii_mm.min() for vessel in tree.vessels) == pytest.approx(0.075)
    assert parts(rasterise(tree.vessels, grid)) == 1


# ---- voxels of vessels ---------------------------------------------------------------------


@given(inside_cube, inside_cube, st.floats(1.0, 6.0))
@settings(max_examples=25)
def test_a_tube_has_the_voxels_within_its_radius(
    start: tuple[float, float, float], end: tuple[float, float, float], radius: float
) -> None:
    mask = rasterise([straight(start, end, radius)], CUBE)

    def tube(radius: float) -> Bools:
        return shapes.tube(CUBE.shape, CUBE.spacing_mm, [start, end], radius)

    # a voxel just at the radius may fall on either side of it
    assert not (tube(radius - 1e-9) & ~mask).any()
    assert not (mask & ~tube(radius + 1e-9)).any()


@given(inside_cube, inside_cube, st.floats(0.001, 0.3))
@settings(max_examples=40)
def test_a_vessel_thinner_than_a_voxel_is_one_voxel_wide(
    start: tuple[float, float, float], end: tuple[float, float, float], radius: float
) -> None:
    line = np.array([start, end])
    assume((np.abs(line % 1 - 0.5) > 1e-9).all())  # between two voxels either one will do
    mask = rasterise([straight(start, end, radius)], CUBE)
    first, last = np.floor(line + 0.5).astype(int)
    assert mask[tuple(first)]
    assert mask[tuple(last)]
    assert parts(mask) == 1
    assert not ndimage.binary_erosion(mask, np.ones((2, 2, 2))).any()
    at_least = np.abs(last - first).max() + 1
    assert at_least <= mask.sum() <= 2 * at_least
    assert (mask <= shapes.tube(CUBE.shape, CUBE.spacing_mm, line, 0.87)).all()


def test_a_thin_vessel_along_an_axis_has_as_many_voxels_as_its_length() -> None:
    for axis in range(3):
        start = np.array([7.2, 8.1, 9.3])
        end = start + 21 * np.eye(3)[axis]
        assert rasterise([straight(start, end, 0.1)], CUBE).sum() == 22


def test_a_cone_has_its_volume() -> None:
    cone = straight((8, 9, 8), (30, 28, 31), 7, 2)
    caps = 2 / 3 * np.pi * (7**3 + 2**3)
    mask = rasterise([cone], CUBE)
    assert cone.volume_mm3 == pytest.approx(np.pi / 3 * (49 + 14 + 4) * cone.length_mm)
    assert mask.sum() == pytest.approx(cone.volume_mm3 + caps, rel=0.03)


def test_the_mask_is_as_large_as_the_vessels() -> None:
    for case in two_cases():
        exact = sum(vessel.volume_mm3 for vessel in case.tree.vessels)
        found = case.annotation.sum() * case.grid.voxel_volume_mm3
        assert found == pytest.approx(exact, rel=0.08)  # vessels overlap where they meet


def test_the_skeleton_of_the_mask_is_as_long_as_the_vessels() -> None:
    case = two_cases()[0]
    points = np.argwhere(skeletonize(case.annotation))
    pairs = cKDTree(points).query_pairs(1.8, output_type="ndarray")
    steps = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    graph = coo_array((steps, (pairs[:, 0], pairs[:, 1])), shape=(len(points),) * 2)
    length_mm = minimum_spanning_tree(graph).sum() * case.grid.spacing_mm[0]
    assert length_mm == pytest.approx(case.tree.length_mm, rel=0.1)


def test_all_vessels_hang_together() -> None:
    for case in two_cases():
        assert parts(case.annotation) == 1
    for seed in range(3):
        grid = case_grid(SMALL)
        assert parts(rasterise(grow_tree(grid, np.random.default_rng(seed)).vessels, grid)) == 1


def test_vessels_fill_little_of_the_volume() -> None:
    grid = case_grid((240, 320, 96))
    mask = rasterise(grow_tree(grid, np.random.default_rng(0)).vessels, grid)
    assert 0.008 < mask.mean() < 0.04
    assert parts(mask) == 1


# ---- the image -----------------------------------------------------------------------------


def test_noise_in_air_is_rayleigh() -> None:
    noise = rician(np.zeros((60, 70, 80), np.float32), 20, np.random.default_rng(0))
    assert noise.mean() == pytest.approx(20 * np.sqrt(np.pi / 2), rel=0.005)
    assert noise.std() == pytest.approx(20 * np.sqrt(2 - np.pi / 2), rel=0.005)


@pytest.mark.parametrize("signal", [10.0, 40.0, 400.0])
def test_noise_on_a_signal_is_rician(signal: float) -> None:
    values = rician(np.full((60, 70, 80), signal, np.float32), 20, np.random.default_rng(0))
    squares = np.square(values, dtype=np.float64)
    assert squares.mean() == pytest.approx(signal**2 + 2 * 20**2, rel=0.01)
    assert squares.var() == pytest.approx(4 * 20**4 + 4 * 20**2 * signal**2, rel=0.02)


@pytest.mark.parametrize("name", ["open", "secret"])
def test_the_air_beside_the_head_is_nothing_but_noise(name: Dataset) -> None:
    scan = SCANS[name]
    image = render(case_grid((480, 40, 32)), [], scan, np.random.default_rng(0))
    air = np.concatenate([image[:10], image[-10:]]).astype(float)
    assert air.mean() == pytest.approx(scan.noise * np.sqrt(np.pi / 2), rel=0.02)
    assert air.std() / air.mean() == pytest.approx(np.sqrt(4 / np.pi - 1), rel=0.02)


def test_four_slabs_of_52_or_60_slices_make_163() -> None:
    grid = case_grid((480, 640, 163))
    for scan, slices in ((SCANS["open"], 52), (SCANS["secret"], 60)):
        slabs = lay_slabs(grid, scan, np.random.default_rng(0))
        assert np.unique(slabs.number).tolist() == [0, 1, 2, 3]
        assert slabs.depth_mm.min() == pytest.approx(0, abs=1e-9)
        assert slabs.depth_mm.max() == pytest.approx((slices - 1) * 0.3, abs=0.31)


def test_blood_fades_up_a_slab_and_starts_afresh_in_the_next() -> None:
    scan = SCANS["open"]
    grid = Grid((24, 24, 80), (0.3, 0.3, 0.3), (0.0, 0.0, scan.lowest_mm))
    slabs = lay_slabs(grid, scan, np.random.default_rng(0))
    border = int(np.flatnonzero(np.diff(slabs.number))[0]) + 1
    fall = []
    for radius_mm in (2.0, 0.5):
        line = straight((3.6, 3.6, scan.lowest_mm), (3.6, 3.6, scan.lowest_mm + 23.7), radius_mm)
        blood = np.zeros(grid.shape, np.uint8, order="F")
        add_blood(blood, grid, [line], slabs, scan)
        along = blood[12, 12].astype(float)
        assert (np.diff(along[:border]) <= 0).all()
        assert (np.diff(along[border:]) <= 0).all()
        assert along[0] == 255
        assert along[border] > along[border - 1] + 20
        fall.append(np.log(along[0] / along[border - 1]))
    assert fall[1] == pytest.approx(2 * fall[0], rel=0.05)  # √(2.0 / 0.5) faster


def test_slab_borders_show_in_the_image() -> None:
    for case in two_cases():
        scan = SCANS[case.dataset]
        number = lay_slabs(case.grid, scan, np.random.default_rng(0)).number
        border = int(np.flatnonzero(np.diff(number))[0]) + 1
        vessel = ndimage.binary_erosion(case.annotation)
        inner = [case.image[:, :, k][vessel[:, :, k]].mean() for k in range(1, 47)]
        steps = np.diff(inner)
        assert steps[border - 2] > 3 * np.median(np.abs(steps))


def test_vessels_are_brighter_than_tissue_and_the_data_sets_differ() -> None:
    seen = []
    for case in two_cases():
        tissue = case.image[~ndimage.binary_dilation(case.annotation, iterations=3)]
        vessels = case.image[ndimage.binary_erosion(case.annotation)]
        assert np.quantile(vessels, 0.05) > np.quantile(tissue, 0.95)
        seen.append((tissue.mean(), vessels.mean()))
    assert seen[0][0] > 1.2 * seen[1][0]
    assert seen[0][1] > 1.2 * seen[1][1]


# ---- simulated methods ---------------------------------------------------------------------


def thin_and_thick(case: VesselCase, limit_voxels: float) -> tuple[Mask, Mask]:
    """The voxels of pieces below and from a radius."""
    pieces = pieces_of(case.tree.vessels, case.grid)
    thick = np.maximum(pieces.first, pieces.last) >= limit_voxels
    masks = [rasterise_pieces(pieces[which], case.grid.shape) for which in (~thick, thick)]
    return masks[0], masks[1]


@pytest.mark.parametrize("index", [0, 1])
def test_large_vessels_loses_the_thin_ones_only(index: int) -> None:
    case, found = two_cases()[index], answers(index)["Large-vessels"]
    thin, _ = thin_and_thick(case, 0.95)
    _, thick = thin_and_thick(case, 1.5)
    assert (found <= case.annotation).all()
    assert (thick <= found).all()
    only_thin = thin & ~thick
    assert (found & only_thin).sum() < 0.2 * only_thin.sum()
    assert dice(case.annotation, found) > 0.8


@pytest.mark.parametrize("index", [0, 1])
def test_the_other_methods_err_as_they_are_called(index: int) -> None:
    case, found = two_cases()[index], answers(index)
    truth = case.annotation
    assert (truth <= found["Generous"]).all()
    assert found["Generous"].sum() > 1.3 * truth.sum()
    assert (truth <= found["Noisy"]).all()
    assert parts(found["Noisy"]) > 200
    sizes = np.bincount(ndimage.label(found["Noisy"] & ~truth, TOUCHING)[0].reshape(-1))[1:]
    assert np.median(sizes) <= 5
    assert (found["Broken"] <= truth).all()
    assert parts(found["Broken"]) > 30
    assert dice(truth, found["Broken"]) > 0.92
    assert parts(found["Careful"]) <= 3
    assert dice(truth, found["Careful"]) == max(dice(truth, mask) for mask in found.values())


@pytest.mark.parametrize("index", [0, 1])
def test_stray_leaves_a_ball_far_from_any_vessel(index: int) -> None:
    case, found = two_cases()[index], answers(index)["Stray"]
    labels, count = ndimage.label(found, TOUCHING)
    assert count == 2
    sizes = np.bincount(labels.reshape(-1))[1:]
    assert sizes.min() == pytest.approx(0.02 * case.annotation.sum(), rel=0.4)
    ball = np.argwhere(labels == 1 + np.argmin(sizes))
    corners = np.array(np.meshgrid(*[(0, size - 1) for size in found.shape])).reshape(3, -1).T
    assert np.linalg.norm(corners - ball.mean(axis=0), axis=1).min() < 30


def test_a_ball_goes_to_the_empty_corner() -> None:
    mask = np.ones((60, 60, 60), bool, order="F")
    mask[40:, :20, 40:] = False
    full = mask.sum()
    add_ball(mask, 500, np.random.default_rng(0))
    assert mask.sum() - full == pytest.approx(500, rel=0.1)


def test_noise_comes_in_small_clusters() -> None:
    mask = np.zeros((120, 120, 120), bool, order="F")
    add_noise(mask, 3000, np.random.default_rng(0))
    sizes = np.bincount(ndimage.label(mask)[0].reshape(-1))[1:]
    assert mask.sum() == pytest.approx(3000, rel=0.2)  # a walk may come back to where it was
    assert (sizes <= 5).mean() > 0.98
    assert len(np.unique(sizes[sizes <= 5])) == 5


def test_a_threshold_loses_what_has_faded() -> None:
    case = two_cases()[0]
    slabs = lay_slabs(case.grid, SCANS[case.dataset], np.random.default_rng(0))
    found, truth = answers(0)["Threshold"], case.annotation
    recall = (found & truth).sum(axis=(0, 1)) / truth.sum(axis=(0, 1))
    border = int(np.flatnonzero(np.diff(slabs.number))[0]) + 1
    assert recall[border : border + 5].mean() > recall[border - 5 : border].mean() + 0.1


def test_a_threshold_does_not_depend_on_how_slices_are_taken_together() -> None:
    image = np.asfortranarray(two_cases()[0].image[:, :, :40])
    level = threshold(image, 0.5)
    smooth = ndimage.gaussian_filter(image.astype(np.float32), 0.6, mode="nearest")
    assert smooth[level].min() > smooth[~level].max()


def test_further_methods_are_variants_with_their_own_errors() -> None:
    names = [character.name for character in line_up(CHARACTERS, len(CHARACTERS) + 2)]
    assert names[: len(CHARACTERS)] == [character.name for character in CHARACTERS]
    assert names[-2:] == ["Careful-2", "Large-vessels-2"]
    case = two_cases()[0]
    for number in range(len(CHARACTERS)):
        again = simulate_method(
            case, CHARACTERS[number], PHANTOM.method_rng(0, 0, number + len(CHARACTERS))
        )
        assert (again != answers(0)[CHARACTERS[number].name]).any()


def test_a_method_without_a_fault_is_right() -> None:
    case = two_cases()[0]
    perfect = replace(CHARACTERS[0], radius_error=0.0, lost_ends=0.0)
    assert (simulate_method(case, perfect, np.random.default_rng(0)) == case.annotation).all()


# ---- the benchmark on disk -----------------------------------------------------------------


def written(folder: Path, **options: int) -> dict[str, bytes]:
    write_benchmark(PHANTOM, folder, shape=SMALL, **options)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_files_are_laid_out_as_the_protocol_expects(tmp_path: Path) -> None:
    heard: list[str] = []
    write_benchmark(PHANTOM, tmp_path, cases=2, methods=2, shape=SMALL, progress=heard.append)
    assert heard == ["S001", "S002"]
    with (tmp_path / "reference" / "cases.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [{"case": "S001", "dataset": "open"}, {"case": "S002", "dataset": "secret"}]
    folder = tmp_path / "reference" / "S002"
    assert {path.name for path in folder.iterdir()} == {"image.nii.gz", "annotation_1.nii.gz"}
    image = read_volume(folder / "image.nii.gz")
    assert image.array.dtype == np.uint16
    assert image.array.shape == SMALL
    assert image.grid.spacing_mm == pytest.approx((0.3, 0.3, 0.3))
    for path in (
        folder / "annotation_1.nii.gz",
        tmp_path / "predictions" / "Careful" / "S002" / "segmentation.nii.gz",
        tmp_path / "predictions" / "Large-vessels" / "S002" / "segmentation.nii.gz",
    ):
        mask = read_volume(path)
        assert mask.array.dtype == np.uint8
        assert set(np.unique(mask.array)) == {0, 1}
        assert mask.grid == image.grid


def test_same_seed_same_bytes_whatever_else_is_written(tmp_path: Path) -> None:
    both = written(tmp_path / "a", cases=2, methods=7)
    fewer = written(tmp_path / "b", cases=1, methods=4)
    other = written(tmp_path / "c", cases=1, methods=4, seed=1)
    images = [name for name in fewer if name.endswith(".nii.gz")]
    assert all(fewer[name] == both[name] for name in images)
    assert all(fewer[name] != other[name] for name in images)


def test_the_writer_is_found_by_protocol_name() -> None:
    assert benchmark_writer("smile-uhura-2023").args == (PHANTOM,)


def test_data_sets_are_in_the_proportion_of_the_challenge() -> None:
    names = [dataset(index) for index in range(22)]
    assert names.count("open") == 8
    assert [names[:k].count("open") for k in (1, 4, 11)] == [1, 2, 4]


@pytest.mark.parametrize(
    ("shape", "spacing"),
    [
        ((480, 640, 163), 0.3),
        ((960, 1280, 326), 0.15),
        ((120, 160, 48), 0.3),
        ((100, 100, 326), 0.15),
    ],
)
def test_voxels_are_cubes_that_fit_into_the_field(
    shape: tuple[int, int, int], spacing: float
) -> None:
    grid = case_grid(shape)
    assert grid.spacing_mm == pytest.approx((spacing,) * 3)
    assert (np.multiply(shape, grid.spacing_mm) <= np.array([144.01, 192.01, 48.91])).all()


def test_the_smallest_shape_gives_every_method_something_to_find() -> None:
    case = make_case(1, seed=3, shape=PHANTOM.smallest_shape)
    for number, character in enumerate(CHARACTERS):
        assert simulate_method(case, character, PHANTOM.method_rng(3, 1, number)).any()


@pytest.mark.parametrize(
    "wrong", [{"cases": 0}, {"methods": -1}, {"shape": (120, 160, 8)}, {"shape": (40, 160, 48)}]
)
def test_impossible_benchmarks_are_refused(tmp_path: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(InputError):
        write_benchmark(PHANTOM, tmp_path, **wrong)  # type: ignore[arg-type]
