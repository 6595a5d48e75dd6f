"""Write small benchmarks to disk for tests."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from segjury.images import write_volume
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from tests.commands import segjury
from tests.places import GOLDEN


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
    done = segjury(*evaluate_words(folder, "--jobs", 1, *options, protocol=protocol))
    assert done.returncode == 0, done.stderr
    return folder / "out"


TABLES = ("scores.csv", "details.csv", "calibration.csv", "cases.csv")


def evaluate_words(folder: Path, *options: Any, protocol: str = "curvas-pdacvi-2025") -> list[str]:
    """How a person would score `folder`/reference and `folder`/predictions into `folder`/out."""
    words = ["evaluate", protocol, "--reference", folder / "reference", "--out", folder / "out"]
    return [str(word) for word in (*words, "--predictions", folder / "predictions", *options)]


def evaluate_command(folder: Path, *options: Any) -> list[str]:
    """The same as a process of its own."""
    return [sys.executable, "-m", "segjury", *evaluate_words(folder, *options)]


def write_small_benchmark(folder: Path, methods: Sequence[str]) -> None:
    """Two golden cases; every method predicts the same."""
    for case in golden_pdacvi():
        if case.name in ("00_typical", "05_disjoint"):
            write_reference(case, folder / "reference" / case.name)
            first, *others = (folder / "predictions" / m / case.name for m in methods)
            write_prediction(case, first)
            for other in others:
                shutil.copytree(first, other)


def tables(folder: Path) -> dict[str, bytes]:
    """The bytes of all tables in `folder`/out."""
    return {name: (folder / "out" / name).read_bytes() for name in TABLES}


# A program of Python's that ends a worker when it opens a file of the method Poison.
POISON = """
import multiprocessing, os, signal, sys

def end(event, arguments):
    if event == "open" and "/Poison/" in str(arguments[0]) and multiprocessing.parent_process():
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(end)
"""


def poisonous(folder: Path) -> dict[str, str]:
    """The environment of a program whose workers die of the method Poison."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(POISON)
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
