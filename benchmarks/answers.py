"""Time of the scores of maps, of samples and of lesions beside reading the files they are made of.

One case with five raters. What is scored is read before; scoring starts anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from cases import SPACING_MM, mark_ellipsoid, write_cases, write_image
from measuring import apart, best_seconds, size_text, table

PDACVI, CASE, METHOD = "curvas-pdacvi-2025", "C001", "method1"
N_SAMPLES, N_LESIONS = 16, 30
OF_MAPS = (
    *("brier", "nll", "crps_empirical", "pooled_ece", "adaptive_ece", "classwise_ece", "ace"),
    *("mce", "boundary_ece", "aurc", "e_aurc", "augrc", "uncertainty_ncc"),
)
OF_SAMPLES = (
    *("ged", "hungarian_iou", "dice_max", "dice_match", "dice_soft", "crps_samples"),
    *("volume_coverage", "interval_score"),
)
OF_LESIONS = (
    *("lesion_f1", "lesion_recall", "lesion_precision", "pq", "small_lesion_recall"),
    *("lesion_count_error", "froc"),
)
FAMILIES = {  # what is measured, its form, its metrics
    "maps": ("maps, sparse", "usual", OF_MAPS),
    "dense": ("maps, no zero in them", "dense", OF_MAPS),
    "samples": (f"{N_SAMPLES} samples", "usual", OF_SAMPLES),
    "lesions": (f"{N_LESIONS} lesions, mask and map", "usual", OF_LESIONS),
}


def times(family: str, folder: str, repeat: int) -> list[float]:
    """Seconds to read the files one by one, and to compute all scores of a family."""
    from segjury.benchmark.loading import load_prediction, load_reference
    from segjury.images import read_volume
    from segjury.runtime.memo import Memo
    from segjury.scoring.score import score

    protocol, place = _protocol(FAMILIES[family][2]), Path(folder)
    method = place / "predictions" / METHOD
    reference = load_reference(protocol, place / "reference", CASE)
    prediction = load_prediction(protocol, method, CASE, reference.grid)
    samples = sorted((method / CASE).glob("sample_*"))
    read_too = samples if family == "samples" else sorted((method / CASE).glob("probability*"))
    raters = sorted((place / "reference" / CASE).glob("annotation_?.nii.gz"))
    paths = [*raters, *read_too, *(method / CASE).glob("segmentation*")]

    def read() -> None:
        for path in paths:
            read_volume(path)

    def compute() -> object:
        fresh = replace(reference, memo=Memo())  # of which nothing is known yet
        return score(fresh, prediction, protocol, ["corrected"])

    compute()
    return best_seconds([read, compute], repeat)


def answers(folder: Path, *, quick: bool) -> Iterator[str]:
    """Scoring beside reading, of each family."""
    shape = (64, 64, 32) if quick else (512, 512, 160)
    rows = []
    for family, (words, form, metrics) in FAMILIES.items():
        place = folder / family
        write_cases(PDACVI, place, shape, methods=1, form=form)
        _ADDED.get(family, lambda _place, _shape: None)(place, shape)
        read, compute = apart("answers.times", family, str(place), 3)
        cells = [words, size_text(shape), str(len(metrics)), f"{compute:.2f} s", f"{read:.2f} s"]
        rows.append([*cells, f"{compute / read:.2f}"])
    head = ["scores of", "voxels", "metrics", "scoring", "reading its files one by one", "ratio"]
    yield table(head, rows)


def _protocol(metrics: tuple[str, ...]) -> Any:
    from segjury.protocols import Protocol

    no_limit = {"nll", "crps_empirical", "crps_samples", "interval_score", "lesion_count_error"}
    uses = [{"name": m, "worst": 1.0} if m in no_limit else {"name": m} for m in metrics]
    labels = {"PDAC": 1}
    reference = {"raters": "annotation_{rater}", "n_raters": 5, "labels": labels}
    reference["other_labels"] = {"pancreas": 2}
    named = {"name": "answers", "title": "Answers", "reference": reference, "metrics": uses}
    return Protocol.model_validate(named)


def _add_samples(place: Path, shape: tuple[int, int, int]) -> None:
    """Ellipsoids about the lesion, as a method might draw them again and again."""
    rng, size = np.random.default_rng(1), np.array(shape)
    middle, radii = 0.47 * size, np.array([0.04, 0.04, 0.06]) * size
    for number in range(1, N_SAMPLES + 1):
        mask = np.zeros(shape, np.uint8, "F")
        centre, scale = middle + rng.normal(0, 0.15, 3) * radii, rng.uniform(0.8, 1.2)
        mark_ellipsoid(mask, centre, scale * radii, 1)
        path = place / "predictions" / METHOD / CASE / f"sample_{number:02}.nii.gz"
        write_image(path, mask, shape, SPACING_MM[PDACVI])


def _add_lesions(place: Path, shape: tuple[int, int, int]) -> None:
    """Small lesions all over the image, some seen by every rater, some predicted."""
    rng, size = np.random.default_rng(2), np.array(shape)
    seen = [rng.uniform(0.1, 0.9, 3) * size for _ in range(N_LESIONS)]
    radii = np.array([0.012, 0.012, 0.02]) * size
    drawn = {f"reference/{CASE}/annotation_{k}": seen[k - 1 :] for k in range(1, 6)}
    predicted = seen[: 2 * N_LESIONS // 3] + [rng.uniform(0.1, 0.9, 3) * size for _ in range(5)]
    drawn[f"predictions/{METHOD}/{CASE}/segmentation"] = predicted
    for name, middles in drawn.items():
        mask = np.zeros(shape, np.uint8, "F")
        for middle in middles:
            mark_ellipsoid(mask, middle, radii, 1)
        write_image(place / f"{name}.nii.gz", mask, shape, SPACING_MM[PDACVI])
    path = place / f"predictions/{METHOD}/{CASE}/probability.nii.gz"
    write_image(path, (0.8 * mask).astype(np.float32), shape, SPACING_MM[PDACVI])


_ADDED: dict[str, Callable[[Path, tuple[int, int, int]], None]] = {
    "samples": _add_samples,
    "lesions": _add_lesions,
}
