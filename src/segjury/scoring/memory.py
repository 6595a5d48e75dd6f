"""How much memory the scoring of a case takes, for the number of processes that fit."""

from __future__ import annotations

from collections.abc import Collection

from segjury.benchmark.loading import MOST_AHEAD, READ_AHEAD_BYTES
from segjury.metrics.geometry.surfaces.nearest import MOST_BOX_VOXELS

PROCESS_BYTES = 350_000_000  # Python, its libraries, and work on pieces of a volume

# Bytes per voxel in a bad case. What is 0 takes next to nothing, so that a usual one needs less.
MASK = 1
MAP = 8  # float64
SHAPES = 4  # the label map again, and what is near the reference
LISTS = 28  # the elements of a surface with weights and distances, where all voxels are such
TRANSFORM = 16  # distances by a transform
THINNING = 28  # voxels, their neighbours, and those that go or stay
RUNS = 40  # runs of voxels that are their components, of a mask and of a map
RATED = 20  # the probabilities of all marked voxels in order, or the places of a band
ORDERED = 16  # how unsure the map is of each voxel that it has wrong
BY_SURENESS = {"aurc", "e_aurc", "augrc"}
BESIDE_RATERS = {
    *("brier", "nll", "pooled_ece", "adaptive_ece", "classwise_ece", "ace", "mce"),
    *("boundary_ece", "uncertainty_ncc"),
}
DISTANCES = {
    "hd",
    "hd95",
    "assd",
    "masd",
    "bavd",
    "ahd",
}  # they list all of a surface; NSD does not
TOPOLOGY = {"cldice", "betti", "small_recall"}
LESIONS = {
    *("lesion_f1", "lesion_recall", "lesion_precision", "pq", "small_lesion_recall"),
    *("lesion_count_error", "froc"),
}


def case_bytes(
    voxels: int, *, metrics: Collection[str], n_labels: int, n_maps: int, n_samples: int = 0
) -> int:
    """Upper estimate of the memory that scoring a case takes besides `PROCESS_BYTES`.

    For masks that are full, or nothing but surface, and maps of float64 without a zero.
    """
    prediction = voxels * (MASK * (1 + n_samples) + MAP * n_maps)
    waiting = min((1 + MOST_AHEAD) * prediction, READ_AHEAD_BYTES)
    patterns = voxels * (2 if n_labels > 1 else 1)
    shapes = 0 if n_maps else SHAPES * voxels
    if (BESIDE_RATERS | BY_SURENESS) & set(metrics):
        shapes += RATED * voxels
    if BY_SURENESS & set(metrics):
        shapes += ORDERED * voxels
    if TOPOLOGY & set(metrics):
        shapes = max(shapes, THINNING * voxels)
    if LESIONS & set(metrics):
        shapes = max(shapes, RUNS * voxels)
    if DISTANCES & set(metrics):  # more, and not at the same time
        shapes = max(shapes, LISTS * voxels + TRANSFORM * min(voxels, MOST_BOX_VOXELS))
    return patterns + max(prediction, waiting) + shapes
