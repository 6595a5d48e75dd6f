"""Consensus of files: against SimpleITK, against counting by hand, and as a person types it."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import SimpleITK as sitk
from hypothesis import given, settings
from hypothesis import strategies as st

from segjury import consensus
from segjury.cli import app
from segjury.consensus import fuse, number_patterns, pack
from segjury.consensus.mask_files import read_raters
from segjury.errors import InputError
from segjury.images import WRITTEN, read_volume, write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from tests.commands import segjury

SHAPE = (7, 6, 5)
GRID = Grid(SHAPE, (0.5, 0.5, 2.0), (1.0, 2.0, 3.0))


def masks_of(seed, *, raters=5, values=(0, 1), wrong=0.2):
    """Raters who share a truth, each with errors of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(values, SHAPE)
    errors = rng.choice(values, (raters, *SHAPE))
    return np.where(rng.random((raters, *SHAPE)) < wrong, errors, truth).astype(np.uint16)


def without_ties(masks):
    """The masks, with background where two labels are equally frequent."""
    votes = np.sort([(masks == value).sum(axis=0) for value in np.unique(masks)], axis=0)
    masks[:, votes[-1] == votes[-2]] = 0
    return masks


def written(folder, masks, *, grid=GRID, suffix=".nii.gz"):
    paths = [folder / f"reader_{k}{suffix}" for k in range(1, len(masks) + 1)]
    for path, mask in zip(paths, masks, strict=True):
        write_volume(path, Volume(np.asfortranarray(mask), grid))
    return paths


def images(masks):
    return [sitk.GetImageFromArray(mask.T) for mask in masks]


def array(image):
    return sitk.GetArrayFromImage(image).T


def fused(folder, masks, method, *, label=None, soft=False, **options):
    """The image that a consensus of files is."""
    paths = written(folder, masks)
    raters = read_raters(paths, label=label)
    out = folder / "out.nii.gz"
    fuse.write_fusion(raters, fuse.fuse(raters, method, **options), out, soft=soft)
    volume = read_volume(out)
    assert volume.grid == GRID
    return volume.array


# ---- against SimpleITK ---------------------------------------------------------------------


@pytest.mark.parametrize(("raters", "seed"), [(2, 0), (3, 1), (5, 2), (19, 3)])
def test_staple_of_one_label_is_simpleitks(tmp_path, raters, seed):
    masks = masks_of(seed, raters=raters, values=(0, 7), wrong=0.4)
    itk = array(sitk.STAPLE(images(masks), 1.0, 7.0))
    np.testing.assert_array_equal(fused(tmp_path, masks, "staple"), np.where(itk > 0.5, 7, 0))
    soft = fused(tmp_path, masks, "staple", soft=True)
    assert soft.dtype == np.float32
    np.testing.assert_allclose(soft, itk, rtol=1e-5, atol=1e-8)


def test_raters_of_staple_are_simpleitks(tmp_path):
    masks = masks_of(4, raters=4, wrong=0.3)
    itk = sitk.STAPLEImageFilter()
    itk.SetForegroundValue(1.0)
    itk.Execute(images(masks))
    raters = read_raters(written(tmp_path, masks))
    rows = pd.DataFrame(fuse.rows(raters, fuse.fuse(raters, "staple")))
    np.testing.assert_allclose(rows["sensitivity"], itk.GetSensitivity(), rtol=1e-6)
    np.testing.assert_allclose(rows["specificity"], itk.GetSpecificity(), rtol=1e-6)
    np.testing.assert_allclose(rows["volume_mm3"], masks.sum(axis=(1, 2, 3)) * 0.5)


@pytest.mark.parametrize(("values", "raters"), [((0, 1, 2), 3), (tuple(range(0, 36, 3)), 9)])
def test_staple_of_several_labels_is_simpleitks(tmp_path, values, raters):
    masks = without_ties(masks_of(5, raters=raters, values=values, wrong=0.3))
    itk = sitk.MultiLabelSTAPLEImageFilter()
    itk.SetMaximumNumberOfIterations(1000)
    expected = array(itk.Execute(images(masks)))
    got = fused(tmp_path, masks, "staple")
    np.testing.assert_array_equal(got, expected)
    assert set(np.unique(got)) <= set(values)


@pytest.mark.parametrize("raters", [2, 5, 6])
def test_votes_are_simpleitks_and_ties_are_settled(tmp_path, raters):
    masks = masks_of(6, raters=raters, values=(0, 2, 5), wrong=0.7)
    undecided = 9
    expected = array(sitk.LabelVoting(images(masks), undecided))
    tied = expected == undecided
    assert tied.any()
    settled = {ties: fused(tmp_path, masks, "majority", ties=ties) for ties in ("background",
               "lower", "first")}  # fmt: skip
    for got in settled.values():
        np.testing.assert_array_equal(got[~tied], expected[~tied])
    assert not settled["background"][tied].any()
    votes = np.array([(masks == value).sum(axis=0) for value in (0, 2, 5)])
    best = votes == votes.max(axis=0)
    np.testing.assert_array_equal(settled["lower"], np.array([0, 2, 5])[best.argmax(axis=0)])
    for place in np.argwhere(tied):
        given = masks[(slice(None), *place)].tolist()
        leading = [v for v in given if given.count(v) == max(map(given.count, given))]
        assert settled["first"][tuple(place)] == leading[0]


# ---- by hand -------------------------------------------------------------------------------


def test_one_label_alone_is_that_of_its_own_masks(tmp_path):
    masks = masks_of(7, values=(0, 1, 4), raters=4)
    for method in ("staple", "majority", "mean", "simple", "intersection", "union"):
        alone = fused(tmp_path, np.where(masks == 4, 4, 0).astype(np.uint8), method)
        np.testing.assert_array_equal(fused(tmp_path, masks, method, label=4), alone)


def test_means_of_several_labels_go_to_a_file_each(tmp_path):
    masks = masks_of(8, values=(0, 1, 300))
    raters = read_raters(written(tmp_path, masks))
    out = tmp_path / "mean.mha"
    paths = fuse.write_fusion(raters, fuse.fuse(raters, "mean"), out)
    assert [path.name for path in paths] == ["mean_1.mha", "mean_300.mha"]
    for path, label in zip(paths, (1, 300), strict=True):
        np.testing.assert_allclose(read_volume(path).array, (masks == label).mean(axis=0))


def test_intersection_and_union_of_labels(tmp_path):
    a, b, c = np.zeros((3, *SHAPE), np.uint8)
    a[0, 0], b[0, 0], c[0, 0] = [1, 1, 2, 0, 0], [1, 0, 2, 2, 1], [1, 0, 1, 1, 0]
    masks = np.stack([a, b, c])
    assert fused(tmp_path, masks, "intersection")[0, 0].tolist() == [1, 0, 0, 0, 0]
    assert fused(tmp_path, masks, "union")[0, 0].tolist() == [1, 1, 2, 1, 1]
    assert fused(tmp_path, masks, "union", ties="first")[0, 0].tolist() == [1, 1, 2, 2, 1]
    assert fused(tmp_path, masks, "union").sum() == 6


def row(*values):
    return np.array(values, np.uint8)[None, None, :]


def test_simple_drops_the_rater_who_draws_elsewhere():
    good = [row(1, 1, 1, 1, 0, 0, 0, 0), row(1, 1, 1, 0, 0, 0, 0, 0), row(0, 1, 1, 1, 0, 0, 0, 0)]
    patterns = pack(np.stack([*good, row(1, 1, 1, 1, 1, 0, 0, 0), row(0, 0, 0, 0, 0, 1, 1, 1)]))
    found = consensus.simple(patterns)
    # Vote of all: 1 1 1 1. Dice: 1, 6/7, 6/7, 8/9, 0; mean .7206, SD .3638, so below .175 goes.
    assert found.dropped_in.tolist() == [0, 0, 0, 0, 1]
    np.testing.assert_allclose(found.weights, [1, 6 / 7, 6 / 7, 8 / 9, 0])
    assert patterns.image(found.labels).ravel().tolist() == [1, 1, 1, 1, 0, 0, 0, 0]
    assert found.iterations == 2
    assert consensus.simple(patterns, alpha=2.1).dropped_in.tolist() == [0] * 5


def test_simple_weighs_votes_by_dice():
    masks = np.stack([row(1, 1, 1, 1, 0, 0), row(1, 1, 1, 1, 0, 0), row(1, 0, 0, 0, 1, 1),
                      row(1, 0, 0, 0, 1, 1), row(1, 1, 1, 0, 0, 0)])  # fmt: skip
    patterns = pack(masks[:4])
    # Tied but for the first voxel, with which the two smaller masks agree better: 1/2 against 2/5.
    assert patterns.image(consensus.simple(patterns).labels).ravel().tolist() == [1, 0, 0, 0, 1, 1]
    patterns = pack(masks)
    # Vote: 1 1 1. Dice: 6/7, 6/7, 1/3, 1/3, 1. In voxel 4, 12/7 are for it and 5/3 against.
    found = consensus.simple(patterns, alpha=5, max_iterations=1)
    np.testing.assert_allclose(found.weights, [6 / 7, 6 / 7, 1 / 3, 1 / 3, 1])
    assert patterns.image(found.labels).ravel().tolist() == [1, 1, 1, 1, 0, 0]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), raters=st.integers(2, 9), alpha=st.floats(0, 3))
def test_simple_keeps_three_raters_and_knows_no_order(seed, raters, alpha):
    masks = masks_of(seed, raters=raters, values=(0, 1, 2), wrong=0.5)
    patterns = pack(masks, n_labels=3)
    found = consensus.simple(patterns, alpha=alpha)
    assert (found.dropped_in == 0).sum() >= min(raters, 3)
    assert ((found.weights > 0) <= (found.dropped_in == 0)).all()
    turned = pack(masks[::-1], n_labels=3)
    again = consensus.simple(turned, alpha=alpha)
    np.testing.assert_array_equal(again.dropped_in[::-1], found.dropped_in)
    np.testing.assert_array_equal(turned.image(again.labels), patterns.image(found.labels))


def test_performance_by_hand():
    masks = [row(1, 1, 0, 0, 0), row(0, 1, 1, 0, 0), row(0, 0, 0, 1, 0), row(0, 0, 0, 0, 0)]
    patterns = pack(np.stack(masks))
    mask = (patterns.labels[:, 1:].any(axis=1)).astype(float)  # 0 1 1 1 0
    found = consensus.performance(patterns, np.stack([1 - mask, mask], axis=1))
    np.testing.assert_allclose(found.dice[:, 1], [2 / 5, 4 / 5, 2 / 4, 0])
    np.testing.assert_allclose(found.sensitivity[:, 1], [1 / 3, 2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(found.specificity[:, 1], [1 / 2, 1, 1, 1])
    nothing = consensus.performance(patterns, np.stack([mask * 0 + 1, mask * 0], axis=1))
    assert np.isnan(nothing.sensitivity[:, 1]).all()
    np.testing.assert_array_equal(nothing.dice[:, 1], [0, 0, 0, np.nan])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), raters=st.integers(1, 12), highest=st.sampled_from([1, 2, 300]))
def test_numbering_patterns_loses_nothing(seed, raters, highest):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, highest + 1, (raters, 400)) * (rng.random((raters, 400)) < 0.5)
    cuts = [0, *sorted(rng.integers(0, 400, 2).tolist()), 400]
    stretches = [slice(a, b) for a, b in pairwise(cuts)]
    found = number_patterns([[(s, given[s]) for s in stretches] for given in labels], 400)
    np.testing.assert_array_equal(found.labels[found.of_voxel], labels.T)
    np.testing.assert_array_equal(
        found.counts, np.bincount(found.of_voxel, minlength=len(found.counts))
    )
    np.testing.assert_array_equal(found.spread(found.labels[:, 0]), labels[0])
    voxels = np.flatnonzero(labels.any(axis=0))
    sparse = number_patterns([[(voxels, given[voxels])] for given in labels], 400)
    np.testing.assert_array_equal(sparse.labels[sparse.of_voxel], labels.T)


# ---- odd masks -----------------------------------------------------------------------------


def test_empty_and_unanimous_masks(tmp_path):
    masks = masks_of(9, raters=3)
    for method in ("staple", "majority", "simple", "intersection", "union"):
        np.testing.assert_array_equal(fused(tmp_path, masks[[0, 0, 0]], method), masks[0])
        assert not fused(tmp_path, masks * 0, method).any()
    with_empty = masks.copy()
    with_empty[1] = 0
    raters = read_raters(written(tmp_path, with_empty))
    assert raters.warnings == ("reader_2.nii.gz marks nothing",)
    everything = masks * 0 + 1
    raters = read_raters(written(tmp_path, everything))
    assert "as ITK's" in fuse.fuse(raters, "staple").warnings[0]
    assert not fused(tmp_path, everything, "staple", soft=True).any()
    assert fused(tmp_path, everything, "simple").all()


@pytest.mark.parametrize("suffix", WRITTEN)
def test_floats_and_all_formats(tmp_path, suffix):
    masks = masks_of(10, values=(0, 3))
    paths = written(tmp_path, masks.astype(np.float32), suffix=suffix)
    raters = read_raters(paths)
    out = tmp_path / f"new/out{suffix}"
    fuse.write_fusion(raters, fuse.fuse(raters, "majority"), out)
    expected = np.where((masks == 3).sum(axis=0) > 2, 3, 0)
    np.testing.assert_array_equal(read_volume(out).array, expected)
    assert read_volume(out).array.dtype == np.uint8


def test_bad_masks_are_refused_with_their_names(tmp_path):
    paths = written(tmp_path, masks_of(11, raters=2))

    def refused(mask, grid=GRID):
        write_volume(paths[1], Volume(np.asfortranarray(mask), grid))
        with pytest.raises(InputError) as error:
            read_raters(paths)
        return str(error.value)

    fine = np.zeros(SHAPE, np.int16)
    assert "reader_2.nii.gz is not a mask" in refused(fine + 0.5)
    assert "reader_2.nii.gz is not a mask" in refused(fine + np.nan)
    assert "reader_2.nii.gz has label -3" in refused(fine - 3)
    wider = Grid((8, 6, 5), GRID.spacing_mm)
    said = refused(np.zeros(wider.shape, np.uint8), wider)
    assert "reader_2.nii.gz has shape (8, 6, 5), the first mask has (7, 6, 5)" in said
    assert "has spacing" in refused(fine, Grid(SHAPE, (0.6, 0.5, 2.0)))
    turned = ((-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    assert "has direction" in refused(fine, Grid(SHAPE, GRID.spacing_mm, GRID.origin_mm, turned))
    moved = Grid(SHAPE, GRID.spacing_mm, (1.5, 2.0, 3.0))
    write_volume(paths[1], Volume(fine.astype(np.uint8), moved))
    assert "reader_2.nii.gz has origin" in read_raters(paths).warnings[0]
    with pytest.raises(InputError, match="1 mask cannot"):
        read_raters(paths[:1])
    with pytest.raises(InputError, match="Give one that they have: 1"):
        read_raters(paths, label=5)


def test_masks_in_another_order_of_axes_are_put_in_the_firsts(tmp_path):
    masks = masks_of(12, raters=3)
    paths = written(tmp_path, masks)
    straight = read_raters(paths)
    image = sitk.ReadImage(paths[1])
    sitk.WriteImage(sitk.PermuteAxes(image, (1, 2, 0)), paths[1])
    turned = read_raters(paths)
    np.testing.assert_array_equal(turned.voxels, straight.voxels)
    np.testing.assert_array_equal(turned.image(turned.patterns.labels[:, 1]).array, masks[1])
    (told,) = [text for text in turned.warnings if "stored as" in text]
    assert told.startswith("reader_2.nii.gz has its axes stored as y, z, x;")


# ---- the command ---------------------------------------------------------------------------


def run(*arguments):
    return segjury("consensus", *arguments)


def test_the_command_writes_the_mask_and_tells_of_the_raters(tmp_path):
    masks = without_ties(masks_of(12, values=(0, 1, 2), raters=3))
    paths = written(tmp_path, masks)
    out, table, about = tmp_path / "c.nrrd", tmp_path / "raters.csv", tmp_path / "c.json"
    done = run("--method", "staple", *paths, "--out", out, "--performance", table, "--json", about)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(out)
    assert "reader_2.nii.gz" in done.stdout
    consensus_mask = read_volume(out).array
    rows = pd.read_csv(table).set_index(["mask", "label"])
    assert len(rows) == 6
    for k, mask in enumerate(masks, 1):
        for label in (1, 2):
            one, two = mask == label, consensus_mask == label
            dice = 2 * (one & two).sum() / (one.sum() + two.sum())
            assert rows.loc[(f"reader_{k}.nii.gz", label), "dice"] == pytest.approx(dice)
    known = json.loads(about.read_text())
    confusion = np.array(known["confusion"])
    np.testing.assert_allclose(confusion.sum(axis=1), 1)
    diagonal = confusion[:, [1, 2], [1, 2]].ravel()
    np.testing.assert_allclose(rows["sensitivity"], diagonal, atol=1e-4)
    assert known["volume_mm3"]["2"] == (consensus_mask == 2).sum() * 0.5


def test_wrong_options_write_nothing(tmp_path):
    paths = written(tmp_path, masks_of(13, raters=2))
    before = sorted(tmp_path.iterdir()), paths[0].read_bytes()
    for arguments, said in (
        ((*paths, "--out", tmp_path / "out.png"), "out.png cannot be written"),
        ((*paths, "--out", paths[0]), "reader_1.nii.gz is one of the masks"),
        ((*paths, "--method", "simple", "--soft", "--out", tmp_path / "x.nii"), "has no --soft"),
        ((*paths, "--method", "simple", "--alpha", "inf", "--out", "x.nii"), "--alpha is inf"),
    ):
        with pytest.raises(InputError, match=said):
            app(["consensus", *map(str, arguments)], standalone_mode=False)
    assert (sorted(tmp_path.iterdir()), paths[0].read_bytes()) == before
