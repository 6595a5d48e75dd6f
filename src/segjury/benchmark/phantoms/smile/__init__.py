"""The phantom of SMILE-UHURA: 7 T time-of-flight angiograms, one mask each, simulated methods."""

from __future__ import annotations

from segjury.benchmark.phantoms.smile.cases import make_case
from segjury.benchmark.phantoms.smile.methods import CHARACTERS, simulate_method
from segjury.benchmark.phantoms.writing import Phantom

PHANTOM = Phantom(
    shape=(120, 160, 48),
    smallest_shape=(48, 48, 24),  # the carotids are then about three voxels wide
    contents="a ring of vessels",
    make_case=make_case,
    reference=lambda case: {"image": case.image, "annotation_1": case.annotation},
    characters=CHARACTERS,
    prediction=lambda *task: {"segmentation": simulate_method(*task)},
    method_stream=3,
    facts=lambda case: {"dataset": case.dataset},
)
