"""Simulated raters of a mask: what was asked for is what the files show."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import ndimage

from segjury.benchmark.phantoms.mask_raters import RaterPanel, part_of
from segjury.benchmark.phantoms.simulation import simulate, write_raters
from segjury.cli import app
from segjury.errors import InputError
from segjury.images import read_grid, read_volume, write_volume
from segjury.images.grid import Grid
from segjury.images.labels import LabelMap, SparseLabels
from segjury.images.volume import Volume
from tests.commands import segjury

TURNED = ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
GRID = Grid((44, 40, 24), (1.0, 1.0, 2.0), (10.0, -5.0, 3.0), TURNED)


def ellipsoid(grid=GRID, *, centre=(0.5, 0.5, 0.5), size=0.28):
    """A mask of about 2000 voxels."""
    offsets = np.ogrid[tuple(slice(0, n) for n in grid.shape)]
    scaled = zip(offsets, grid.shape, centre, strict=True)
    return np.asfortranarray(
        sum(((x + 0.5 - c * n) / (size * n)) ** 2 for x, n, c in scaled) < 1, np.uint8
    )


def label_map(mask, grid=GRID):
    return LabelMap(SparseLabels.of(mask), grid)


def equal_raters(count=4, **options):
    return RaterPanel((0.0,) * count, (1.0,) * count, **options)


def drawn(made):
    return [made.image(rater).array for rater in range(made.panel.size)]


def dice(one, two):
    return 2 * np.count_nonzero(one & two) / (np.count_nonzero(one) + np.count_nonzero(two))


def mean_pairwise(masks):
    """Mean Dice over the pairs, counted voxel by voxel."""
    masks = [mask > 0 for mask in masks]
    pairs = [dice(masks[i], masks[j]) for j in range(len(masks)) for i in range(j)]
    return np.mean(pairs)


@pytest.mark.parametrize("disagreement", [0.05, 0.4, 0.6])
def test_the_wanted_disagreement_is_reached(disagreement):
    made = simulate(label_map(ellipsoid()), equal_raters(), disagreement=disagreement)
    assert mean_pairwise(drawn(made)) == pytest.approx(1 - disagreement, abs=0.01)
    assert made.agreement(1) == pytest.approx(mean_pairwise(drawn(made)))


def test_more_disagreement_is_less_agreement_and_none_is_the_mask():
    mask = ellipsoid()
    found = [
        simulate(label_map(mask), equal_raters(3, seed=2), disagreement=share)
        for share in (0, 0.1, 0.2, 0.5)
    ]
    assert all((each == mask).all() for each in drawn(found[0]))
    agreement = [mean_pairwise(drawn(made)) for made in found]
    assert agreement == sorted(agreement, reverse=True)
    strayed = [made.amplitudes_mm[0] for made in found]
    assert strayed == sorted(strayed)


def test_bias_is_found_in_the_volumes():
    bias = (0.6, 0.0, -0.6, 1.5, -1.5)
    panel = RaterPanel(bias, (1.0,) * 5, wavering=0.0)
    made = simulate(label_map(ellipsoid()), panel, disagreement=0.4)
    volumes = [np.count_nonzero(mask) for mask in drawn(made)]
    assert np.argsort(volumes).tolist() == np.argsort(bias).tolist()
    assert volumes[1] == np.count_nonzero(ellipsoid())  # no style, so no other size


def test_a_bias_alone_moves_the_edge_by_so_many_mm():
    grid = Grid((30, 30, 30))
    x, y, z = np.ogrid[:30, :30, :30]
    ball = np.asfortranarray((x - 15) ** 2 + (y - 15) ** 2 + (z - 15) ** 2 < 9.5**2, np.uint8)
    panel = RaterPanel((0.0, 0.4, -0.4, 2.0), (1.0,) * 4, rho=0.0)
    made = simulate(label_map(ball, grid), panel, disagreement=0.0)
    assert made.amplitudes_mm == (0.0,)  # the styles alone disagree more than is wanted
    radii = np.cbrt([np.count_nonzero(mask) * 3 / 4 / np.pi for mask in drawn(made)])
    np.testing.assert_allclose(
        radii[1:] - radii[0], [0.4, -0.4, 2.0], atol=0.2
    )  # steps of the grid


def test_skill_is_found_in_the_dice_with_the_mask():
    mask = ellipsoid()
    panel = RaterPanel((0.0,) * 5, (0.5, 1.0, 2.0, 4.0, 0.0), rho=0.0, wavering=0.0)
    made = simulate(label_map(mask), panel, disagreement=0.3)
    found = [dice(each > 0, mask > 0) for each in drawn(made)]
    assert found[4] == 1  # who never errs
    assert found[0] > found[1] > found[2] > found[3]


def test_raters_who_share_their_errors_agree_with_each_other_more_than_with_the_mask():
    mask = ellipsoid()
    alike = simulate(label_map(mask), equal_raters(rho=3.0), disagreement=0.2)
    apart = simulate(label_map(mask), equal_raters(rho=0.0), disagreement=0.2)
    with_mask = [
        np.mean([dice(each > 0, mask > 0) for each in drawn(made)]) for made in (alike, apart)
    ]
    assert with_mask[0] < 0.8 - 0.05
    assert with_mask[1] > 0.8


def test_who_misses_a_part_draws_less():
    mask = ellipsoid()
    panel = equal_raters(6, missed=1.0, wavering=0.0)
    made = simulate(label_map(mask), panel, disagreement=0.0)
    shares = [np.count_nonzero(each) / np.count_nonzero(mask) for each in drawn(made)]
    assert max(shares) < 0.85
    assert min(shares) > 0.35


def test_several_labels_do_not_overlap_and_each_disagrees_as_wanted():
    mask = np.where(ellipsoid(centre=(0.3, 0.5, 0.5), size=0.2), np.uint8(3), np.uint8(0))
    mask = np.asfortranarray(np.where(ellipsoid(centre=(0.65, 0.5, 0.5), size=0.2), 7, mask))
    made = simulate(label_map(mask), equal_raters(), disagreement=0.3)
    masks = drawn(made)
    assert made.labels == [3, 7]
    assert all(set(np.unique(each)) == {0, 3, 7} for each in masks)
    for label in (3, 7):
        reached = mean_pairwise([each == label for each in masks])
        assert reached == pytest.approx(0.7, abs=0.01)


@pytest.mark.parametrize(
    "grid",
    [Grid((48, 44, 1), (0.5, 0.7, 3.0)), Grid((1, 48, 44)), Grid((40, 40, 12), (0.7, 0.7, 5.0))],
)
def test_slices_and_thick_slices(grid):
    made = simulate(label_map(ellipsoid(grid), grid), equal_raters(), disagreement=0.3)
    assert mean_pairwise(drawn(made)) == pytest.approx(0.7, abs=0.01)


def test_a_mask_at_the_border_is_not_drawn_smaller_there():
    mask = ellipsoid(centre=(0.0, 0.5, 1.0))
    made = simulate(label_map(mask), equal_raters(wavering=0.0), disagreement=0.1)
    core = ndimage.binary_erosion(mask > 0, iterations=4, border_value=1)
    assert core[0].any()
    assert core[:, :, -1].any()
    assert all((each[core] == 1).all() for each in drawn(made))


def test_signed_distances_are_scipys():
    rng = np.random.default_rng(0)
    grid = Grid((14, 12, 9), (0.7, 0.9, 3.0))
    mask = np.asfortranarray(ndimage.gaussian_filter(rng.normal(size=grid.shape), 2) > 0.02)
    part = part_of(label_map(mask.astype(np.uint8), grid), 1, disagreement=0.5, bias_mm=0.0)
    inside = ndimage.distance_transform_edt(mask, sampling=grid.spacing_mm)
    outside = ndimage.distance_transform_edt(~mask, sampling=grid.spacing_mm)
    expected = np.where(mask, inside - 0.35, 0.35 - outside)[part.box]
    np.testing.assert_allclose(part.phi_mm, expected, atol=1e-5)


def test_a_rater_is_the_same_whoever_else_there_is():
    mask = label_map(ellipsoid())
    panels = [equal_raters(count, seed=5, missed=1.0) for count in (2, 4)]
    few, many = (simulate(mask, panel, disagreement=0.0) for panel in panels)
    np.testing.assert_array_equal(drawn(few)[1], drawn(many)[1])


@pytest.mark.parametrize(
    ("mask", "options", "said"),
    [
        (np.zeros((5, 5, 5), np.uint8), {}, "is empty"),
        (np.ones((5, 5, 5), np.uint8), {}, "fills the image"),
        (None, {"disagreement": 1.0}, "disagreement of 1"),
        (None, {"disagreement": np.nan}, "disagreement of nan"),
        (None, {"skill": (1.0, -1.0)}, "out of range"),
        (None, {"bias_mm": (np.inf, 0.0)}, "bias is no number"),
        (None, {"grain_mm": 0.1}, "too fine"),
    ],
)
def test_what_cannot_be_simulated_is_refused(mask, options, said):
    grid = GRID if mask is None else Grid(mask.shape)
    known = label_map(ellipsoid() if mask is None else np.asfortranarray(mask), grid)
    wanted = options.pop("disagreement", 0.4)
    panel = RaterPanel(**({"bias_mm": (0.0, 0.0), "skill": (1.0, 1.0)} | options))
    with pytest.raises(InputError, match=said):
        simulate(known, panel, disagreement=wanted)


# ---- files ---------------------------------------------------------------------------------


def run(*arguments):
    return segjury("phantom", "raters", *arguments)


def test_the_command_writes_a_reference_case(tmp_path):
    path, out = tmp_path / "mask.mha", tmp_path / "reference" / "P001"
    write_volume(path, Volume(ellipsoid(), GRID))
    options = ("--raters", 3, "--skill", "1,1,2", "--bias", "0.5,0,-0.5", "--disagreement", 0.3)
    done = run(path, *options, "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(out)
    names = [f"annotation_{k}.nii.gz" for k in (1, 2, 3)]
    assert sorted(p.name for p in out.iterdir()) == [*names, "raters.json"]
    masks = [read_volume(out / name).array for name in names]
    known = json.loads((out / "raters.json").read_text())
    assert known["skill"] == [1, 1, 2]
    label = known["labels"]["1"]
    assert label["mean_pairwise_dice"] == pytest.approx(mean_pairwise(masks))
    assert label["pairwise_dice"][0][2] == pytest.approx(dice(masks[0] > 0, masks[2] > 0))
    assert label["dice_with_mask"][1] == pytest.approx(dice(masks[1] > 0, ellipsoid() > 0))
    np.testing.assert_allclose(label["volume_mm3"], [mask.sum() * 2 for mask in masks])
    for name in names:
        grid = read_grid(out / name)
        assert grid.shape == GRID.shape
        np.testing.assert_allclose(grid.spacing_mm, GRID.spacing_mm)
        np.testing.assert_allclose(grid.origin_mm, GRID.origin_mm)
        np.testing.assert_allclose(grid.direction, GRID.direction, atol=1e-6)
    with pytest.raises(InputError, match=r"has annotation_1\.nii\.gz"):
        write_raters(path, out, equal_raters(), disagreement=0.3)


def test_a_number_for_each_rater_or_one_for_all(tmp_path):
    arguments = [
        "phantom",
        "raters",
        "mask.nii.gz",
        "--raters",
        "3",
        "--out",
        str(tmp_path / "new"),
    ]
    for given, said in (("1,2", "2 numbers for 3 raters"), ("1,x,2", "--bias is '1,x,2'")):
        with pytest.raises(InputError, match=said):
            app([*arguments, "--bias", given], standalone_mode=False)
    assert not (tmp_path / "new").exists()


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(tmp_path):
    path = tmp_path / "mask.nii.gz"
    write_volume(path, Volume(ellipsoid(), GRID))
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        write_raters(path, tmp_path / name, equal_raters(2, seed=seed), disagreement=0.3)
    one, same, other = (
        [file.read_bytes() for file in sorted((tmp_path / name).iterdir())]
        for name in ("one", "same", "other")
    )
    assert one == same
    assert all(a != b for a, b in zip(one, other, strict=True))


def test_a_mask_too_small_for_the_wanted_disagreement_says_so(tmp_path):
    mask = np.zeros((9, 9, 9), np.uint8, order="F")
    mask[4, 4, 4] = 1
    path = tmp_path / "dot.nii"
    write_volume(path, Volume(mask, Grid(mask.shape)))
    done = run(path, "--raters", 2, "--disagreement", 0.3, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "0.700 could not be reached" in done.stderr  # two raters, one voxel: Dice 0 or 1
