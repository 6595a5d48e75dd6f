"""Time and memory of `evaluate` for the costliest masks and maps, beside usual ones.

What they are: `hostile_masks.py`, `hostile_maps.py`.

The reference is the organiser's and usual. Each mask is scored by a process of its own, as the
command does it, all metrics and readings.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from cases import mark_ellipsoid, write_cases, write_image
from hostile_maps import MAPS, hostile_maps
from hostile_masks import MASKS, THICK_OR_TANGLED, hostile_mask
from measuring import apart, program, size_text, table

DISTANCES = """
name = "distances"
title = "All distances"
summary = "All metrics of surfaces and of distances between voxels, of one label."
reference = { raters = "annotation_{rater}", n_raters = 1, labels = { thing = 1 } }
prediction = { mask = "segmentation" }
"""
for _name in ("hd", "hd95", "assd", "masd", "bavd", "ahd"):
    DISTANCES += f'[[metrics]]\nname = "{_name}"\nworst = "image-diagonal"\n'
for _name in ("dice", "nsd"):
    DISTANCES += f'[[metrics]]\nname = "{_name}"\n'
LESIONS = """
name = "lesions"
title = "All of lesions"
summary = "All metrics of lesions, in masks and in maps."
prediction = { mask = "segmentation", probability = "probability" }
[reference]
raters = "annotation_{rater}"
n_raters = 5
labels = { lesion = 1 }
other_labels = { pancreas = 2 }
"""
for _name in ("lesion_f1", "lesion_recall", "lesion_precision", "pq", "small_lesion_recall"):
    LESIONS += f'[[metrics]]\nname = "{_name}"\n'
LESIONS += '[[metrics]]\nname = "lesion_count_error"\nworst = 1000.0\n'
OWN = {"distances": DISTANCES, "lesions": LESIONS}
OWN["lesions and FROC"] = LESIONS + '[[metrics]]\nname = "froc"\n'


class Kind(NamedTuple):
    """What masks are scored: by which protocol, against what, of what size, how many classes."""

    protocol: str
    reference: str
    shape: tuple[int, int, int]
    spacing_mm: tuple[float, float, float]
    classes: int = 1
    maps: tuple[str, ...] = ()

    @property
    def predictions(self) -> list[str]:
        """The names of what is predicted: of maps, where there are any."""
        if self.maps:
            return list(MAPS)
        return [*MASKS, *(THICK_OR_TANGLED if self.protocol == "smile-uhura-2023" else ())]


ORGANS = ("probability_pancreas", "probability_kidney", "probability_liver")
CT = (512, 512, 160), (0.75, 0.75, 1.5)
KINDS = {
    "`aortaseg-2024`": Kind("aortaseg-2024", "aorta", (450, 450, 695), (0.8, 0.8, 1.0), 23),
    "`smile-uhura-2023`": Kind("smile-uhura-2023", "vessels", (480, 640, 163), (0.3, 0.3, 0.3)),
    "`curvas-2024`": Kind("curvas-2024", "organs", *CT, 3, ORGANS),
    "`curvas-pdacvi-2025`": Kind("curvas-pdacvi-2025", "lesion", *CT, 1, ("probability",)),
    "all distances, vessels": Kind("distances", "vessels", (480, 640, 163), (0.3, 0.3, 0.3)),
    "all distances, an organ": Kind("distances", "organ", *CT),
    "lesions": Kind("lesions", "lesion", *CT),
    "lesions, FROC": Kind("lesions and FROC", "lesion", *CT, 1, ("probability",)),
}
CASES_OF = {
    "aorta": "aortaseg-2024",
    "vessels": "smile-uhura-2023",
    "organs": "curvas-2024",
    "lesion": "curvas-pdacvi-2025",
}
MASK_OF_MAPS = "noise, 50 %"
PREDICTED = "predictions/method1/C001/segmentation.nii.gz"


# ---- what is done in processes of its own ----------------------------------------------------


def write(kind: str, folder: str, shape: Sequence[int]) -> None:
    """Write a usual case with one method, and the protocol where it is not a built-in one."""
    place, (x, y, z) = Path(folder), shape
    place.mkdir()
    if KINDS[kind].protocol in OWN:
        (place / "own.toml").write_text(OWN[KINDS[kind].protocol])
    if KINDS[kind].reference in CASES_OF:
        write_cases(CASES_OF[KINDS[kind].reference], place, (x, y, z), methods=1)
        return
    for path, moved in (("reference/C001/annotation_1.nii.gz", 0.0), (PREDICTED, 0.006)):
        size, mask = np.array(shape), np.zeros(shape, np.uint8, "F")
        mark_ellipsoid(mask, (0.4 + moved) * size, np.array([0.17, 0.16, 0.25]) * size, 1)
        (place / path).parent.mkdir(parents=True)
        write_image(place / path, mask, (x, y, z), KINDS[kind].spacing_mm)


def predict(kind: str, folder: str, shape: Sequence[int], name: str) -> None:
    """Write a mask, or maps with a mask of noise, as the prediction."""
    what, path, (x, y, z) = KINDS[kind], Path(folder) / PREDICTED, shape
    mask = hostile_mask(MASK_OF_MAPS if what.maps else name, (x, y, z), classes=what.classes)
    write_image(path, mask, (x, y, z), what.spacing_mm)
    if not what.maps:
        return
    for old in path.parent.glob("probability*"):
        old.unlink()
    maps, suffix = hostile_maps(name, (x, y, z), len(what.maps))
    for stem, planes in zip(what.maps, maps, strict=True):
        write_image(path.with_name(stem + suffix), planes, (x, y, z), what.spacing_mm)


def measure(kind: str, folder: str) -> tuple[float, float]:
    """Seconds of processor time, which a busy machine changes less, and peak memory in GB."""
    place, protocol = Path(folder), KINDS[kind].protocol
    given = str(place / "own.toml") if protocol in OWN else protocol
    options = ["--reference", str(place / "reference"), "--out", str(place / "results")]
    options += ["--predictions", str(place / "predictions"), "--jobs", "1"]
    start = time.process_time()
    _, gb = program("evaluate", given, *options)
    return time.process_time() - start, gb


# ---- table -----------------------------------------------------------------------------------


def hostile(folder: Path, *, quick: bool) -> Iterator[str]:
    """Time and memory of each prediction, and the ratio to a usual one."""
    rows = []
    for kind in KINDS:
        shape = [max(32, size // 8) for size in KINDS[kind].shape] if quick else KINDS[kind].shape
        place = str(folder / "case")
        apart("hostile.write", kind, place, list(shape))
        usual, gb = apart("hostile.measure", kind, place)
        rows.append([f"{kind}, {size_text(shape)}", "usual", f"{usual:.1f} s", "1", f"{gb:.2f} GB"])
        for name in KINDS[kind].predictions:
            apart("hostile.predict", kind, place, list(shape), name)
            seconds, gb = apart("hostile.measure", kind, place)
            cells = [f"{seconds:.1f} s", f"{seconds / usual:.1f}", f"{gb:.2f} GB"]
            rows.append(["", name, *cells])
        shutil.rmtree(place)
    head = ["`segjury evaluate`, one case, one method", "prediction", "processor time"]
    yield table([*head, "ratio to the usual one", "peak memory"], rows)
