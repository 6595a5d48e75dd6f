"""Compare ways to read a NIfTI file: this package, SimpleITK, nibabel, and bare ISA-L.

    python benchmarks/reading.py FILE.nii.gz [FILE.nii.gz ...]

Without files, a mask and two probability maps of 512x512x160 voxels are made.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import nibabel as nib
import numpy as np
import SimpleITK as sitk
from isal import igzip

from segjury.files import read_volume, write_volume
from segjury.volume import Grid, Volume

SHAPE = (512, 512, 160)


def make_files(folder: Path) -> list[Path]:
    """A sparse mask, a sparse map and one with a noisy floor."""
    x, y, z = np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    distance = np.sqrt((x - 250) ** 2 + (y - 240) ** 2 + ((z - 80) * 2) ** 2)
    p = 1 / (1 + np.exp(np.clip((distance - 30) / 3, -50, 50))).astype(np.float32)
    noise = np.random.default_rng(0).random(SHAPE, dtype=np.float32) * 1e-3
    arrays = {
        "mask_uint8": (p > 0.5).astype(np.uint8),
        "mask_float64": (p > 0.5).astype(np.float64),
        "map_sparse": np.where(p < 1e-3, 0, p).astype(np.float32),
        "map_noisy": np.clip(p + noise, 0, 1),
    }
    grid = Grid(SHAPE, (0.75, 0.75, 1.5))
    for name, array in arrays.items():
        write_volume(folder / f"{name}.nii.gz", Volume(array, grid))
    return sorted(folder.glob("*.nii.gz"))


def best(read: Callable[[Path], object], path: Path, repeat: int = 3) -> float:
    """Shortest time of several."""
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        read(path)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


READERS: dict[str, Callable[[Path], object]] = {
    "segjury": lambda path: read_volume(path).array,
    "SimpleITK": lambda path: sitk.GetArrayViewFromImage(sitk.ReadImage(str(path))),
    "nibabel": lambda path: np.asanyarray(nib.load(path).dataobj),
    "igzip alone": lambda path: igzip.open(path).read(),
}


def main() -> None:
    """Print one row per file: seconds of each reader."""
    with tempfile.TemporaryDirectory() as temporary:
        paths = [Path(name) for name in sys.argv[1:]] or make_files(Path(temporary))
        print(f"{'file':24}" + "".join(f"{name:>13}" for name in READERS))
        for path in paths:
            seconds = (best(read, path) for read in READERS.values())
            print(f"{path.name:24}" + "".join(f"{s:11.2f} s" for s in seconds))


if __name__ == "__main__":
    main()
