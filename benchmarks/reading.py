"""Ways to read a NIfTI file: this package, SimpleITK, nibabel, and bare ISA-L."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from measuring import best_seconds, size_text, table

SHAPE, QUICK_SHAPE = (512, 512, 160), (64, 64, 32)


def _make_files(folder: Path, shape: tuple[int, int, int]) -> dict[str, Path]:
    """Masks and maps, sparse and with a noisy floor."""
    from segjury.images import write_volume
    from segjury.images.grid import Grid
    from segjury.images.volume import Volume

    x, y, z = (np.arange(size) - size / 2 for size in shape)
    distance = np.sqrt(x[:, None, None] ** 2 + y[:, None] ** 2 + (2 * z) ** 2)
    p = 1 / (1 + np.exp(np.clip((distance - 0.06 * shape[0]) / 3, -50, 50))).astype(np.float32)
    noise = np.random.default_rng(0).random(shape, dtype=np.float32) * np.float32(1e-3)
    arrays = {
        "byte mask": (p > 0.5).astype(np.uint8),
        "float64 mask": (p > 0.5).astype(np.float64),
        "sparse map": np.where(p < 1e-3, 0, p).astype(np.float32),
        "map with a noisy floor": np.clip(p + noise, 0, 1),
    }
    paths = {name: folder / f"{number}.nii.gz" for number, name in enumerate(arrays)}
    for name, array in arrays.items():
        write_volume(paths[name], Volume(array, Grid(shape, (0.75, 0.75, 1.5))))
    return paths


def _readers() -> dict[str, Callable[[Path], object]]:
    import nibabel as nib
    import SimpleITK as sitk
    from isal import igzip

    from segjury.images import read_volume

    return {
        "segjury": lambda path: read_volume(path).array,
        "SimpleITK": lambda path: sitk.GetArrayViewFromImage(sitk.ReadImage(str(path))),
        "nibabel": lambda path: np.asanyarray(nib.load(path).dataobj),
        "ISA-L alone": lambda path: igzip.open(path).read(),
    }


def reading(folder: Path, *, quick: bool) -> Iterator[str]:
    """Seconds of each reader for each kind of file, and how many times ours."""
    readers, rows = _readers(), []
    shape = QUICK_SHAPE if quick else SHAPE
    for name, path in _make_files(folder, shape).items():
        seconds = best_seconds([partial(read, path) for read in readers.values()], 3)
        others = [f"{each:.2f} s ({each / seconds[0]:.1f})" for each in seconds[1:]]
        rows.append([name, f"{seconds[0]:.2f} s", *others])
    ours, *others_names = readers
    yield table(
        [f"file of {size_text(shape)}", ours, *(f"{name} (ratio)" for name in others_names)], rows
    )
