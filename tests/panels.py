"""Benchmarks whose cases were marked by different raters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from segjury.images.grid import Grid
from segjury.protocols import Protocol
from tests.small_benchmarks import put

GRID = Grid((15, 14, 12), (1.0, 1.5, 2.0))
METRICS: tuple[dict[str, Any], ...] = (
    {"name": "dsc", "readings": ["corrected"]},
    {"name": "thr_dsc", "readings": ["corrected"]},
    {"name": "mr_ece", "readings": ["corrected"], "padding_voxels": 1},
    {"name": "crps", "readings": ["corrected"], "worst": "empty-prediction"},
    {"name": "vi", "readings": ["corrected"]},
)
METHODS = ("Fine", "Worse")
MARKED = {  # who marked which case
    "P1": "ABC", "P2": "AB", "P3": "ABCD", "P4": "BD", "P5": "C", "P6": "ABD", "P7": "ACD",
}  # fmt: skip


def panel_form(reference: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A protocol with everything that depends on raters; `reference` says who these are."""
    own = {"raters": "by_{rater}", "labels": {"lesion": 1}}
    own["structures"] = {"file": "vessels", "labels": {"AORTA": 1}}
    form: dict[str, Any] = {"name": "panel", "title": "Panel", "metrics": list(METRICS)}
    return form | {"reference": own | dict(reference)} | more


def panel(reference: Mapping[str, Any], **more: Any) -> Protocol:
    """The protocol of `panel_form`."""
    return Protocol.model_validate(panel_form(reference, **more))


def named(**more: Any) -> dict[str, Any]:
    """A panel of four who are known by name and did not all mark every case."""
    return {"rater_names": list("ABCD"), "min_raters": 1, **more}


def lesion(case: int, who: int) -> np.ndarray:
    """A block whose size depends on the rater; different in all cases."""
    mask = np.zeros(GRID.shape, np.uint8, order="F")
    mask[3 : 7 + who, 3 : 8 + case % 2, 2 + case % 3 : 7 + (who + case) % 3] = 1
    return mask


def write_panel(
    folder: Path, marked: Mapping[str, Sequence[str]] = MARKED, panel: Sequence[str] = "ABCD"
) -> Path:
    """The files of cases by who marked them; what a rater draws does not depend on the others."""
    for case, raters in marked.items():
        c, place = int(case.removeprefix("P")), folder / "reference" / case
        for name in raters:
            put(place / f"by_{name}.nii.gz", lesion(c, list(panel).index(name)), GRID)
        vessels = np.zeros(GRID.shape, np.uint8, order="F")
        vessels[6:9, 5:8, :] = 1
        put(place / "vessels.nii.gz", vessels, GRID)
        for m, method in enumerate(METHODS):
            mask = lesion(c, 1)
            mask[3 : 3 + m + c % 2] = 0
            soft = np.where(mask, 0.85 - 0.2 * m, 0).astype(np.float32)
            soft[:, :, 1][mask[:, :, 4] > 0] = 0.3
            put(folder / "predictions" / method / case / "segmentation.nii.gz", mask, GRID)
            put(folder / "predictions" / method / case / "probability.nii.gz", soft, GRID)
    return folder


def toml(value: Any) -> str:
    """A protocol as text: what TOML and JSON write alike, and tables within tables."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def write_form(form: Mapping[str, Any], path: Path) -> Path:
    """A protocol as a file."""
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in form.items()))
    return path
