"""Features of a mask: computed once, of the reference once for all methods."""

from __future__ import annotations

import numpy as np
import pytest

from segjury.arrays import nonzero_voxels
from segjury.benchmark.case import PredictedCase, ReferenceCase
from segjury.consensus import pack
from segjury.images.grid import Grid
from segjury.images.labels import SparseLabels
from segjury.protocols import load_protocol
from segjury.scoring import features
from segjury.scoring.features import MaskFeatures
from segjury.scoring.score import score

GRID = Grid((12, 12, 12), (1.0, 1.0, 2.0))
COMPUTED = ("mask_surface", "VoxelSet", "thin_voxels", "betti_from_voxels", "centreline_of")


def ring(at=5):
    """A square ring: one component, one tunnel, no cavity."""
    mask = np.zeros(GRID.shape, bool, order="F")
    mask[2:10, 2:10, at - 1 : at + 2] = True
    mask[5:7, 5:7] = False
    return mask


@pytest.fixture
def calls(monkeypatch):
    """The numbers of voxels that each feature was computed of."""
    sizes = {name: [] for name in COMPUTED}

    def counted(name, compute):
        def count(voxels, *args, **options):
            sizes[name].append(voxels.size)
            return compute(voxels, *args, **options)

        return count

    for name in COMPUTED:
        monkeypatch.setattr(features, name, counted(name, getattr(features, name)))
    return sizes


def test_features_are_those_of_the_mask():
    voxels = nonzero_voxels(ring())
    mask = MaskFeatures(lambda: voxels, GRID)
    assert (mask.betti.components, mask.betti.tunnels, mask.betti.cavities) == (1, 1, 0)
    assert mask.voxel_set("voxels").spacing == (1, 1, 1)
    assert mask.voxel_set("mm").spacing == GRID.spacing_mm
    assert np.isin(mask.skeleton("lee"), voxels).all()


def test_a_feature_is_computed_when_first_asked_for_and_once(calls):
    voxels = nonzero_voxels(ring())
    mask = MaskFeatures(lambda: voxels, GRID)
    assert not any(calls.values())
    assert mask.surface("surfel", "mm") is mask.surface()
    assert mask.surface("edge-voxels") is not mask.surface()
    assert len(calls["mask_surface"]) == 2


def test_what_depends_on_the_reference_alone_is_computed_once_for_all_methods(calls):
    reference = ReferenceCase(GRID, pack([ring()]), ("vessel",), {})
    protocol = load_protocol("smile-uhura-2023")
    size = int(ring().sum())
    for step in range(3):
        drawn = ring()
        drawn[0, 0, : step + 1] = True  # another size, by which the calls are told apart
        score(reference, PredictedCase(SparseLabels.of(drawn.view(np.uint8))), protocol)
    for name in ("VoxelSet", "thin_voxels", "betti_from_voxels"):
        assert calls[name].count(size) == 1, name
        assert {size + 1, size + 2, size + 3} <= set(calls[name]), name
