"""Write small benchmarks to disk for tests."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from segjury.files import write_volume
from segjury.volume import Grid, Volume

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class GoldenCase:
    name: str
    arrays: dict[str, Any]
    expected: dict[str, Any]

    @property
    def grid(self) -> Grid:
        x, y, z = self.arrays["spacing"].tolist()
        return Grid(self.arrays["probability"].shape, (x, y, z))


def golden_pdacvi() -> list[GoldenCase]:
    return [
        GoldenCase(
            path.stem, dict(np.load(path)), json.loads(path.with_suffix(".json").read_text())
        )
        for path in sorted((GOLDEN / "pdacvi").glob("*.npz"))
    ]


def write_reference(case: GoldenCase, folder: Path, *, suffix: str = ".nii.gz") -> None:
    for k, mask in enumerate(case.arrays["annotations"]):
        write_volume(folder / f"annotation_{k + 1}{suffix}", Volume(mask, case.grid))
    vessels = Volume(case.arrays["vessels"], case.grid)
    write_volume(folder / f"annotation_vascular{suffix}", vessels)


def write_prediction(case: GoldenCase, folder: Path, *, suffix: str = ".nii.gz") -> None:
    write_volume(folder / f"segmentation{suffix}", Volume(case.arrays["binary"], case.grid))
    write_volume(folder / f"probability{suffix}", Volume(case.arrays["probability"], case.grid))


def evaluate_files(protocol: str, folder: Path, *options: str) -> Path:
    """Run the program on `folder`/reference and `folder`/predictions; the folder of its tables."""
    command = [sys.executable, "-m", "segjury", "evaluate", protocol, "--jobs", "2"]
    command += ["--reference", str(folder / "reference"), "--out", str(folder / "out")]
    command += ["--predictions", str(folder / "predictions"), *options]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "out"
