"""Make benchmarks of any size quickly: ellipsoids and tubes, nothing of anatomy.

    python benchmarks/cases.py PROTOCOL FOLDER --shape 512,512,160 [--form adverse]

The forms are `usual` (byte masks; maps that are 0 far from what is sought), `dense` (the same with
small numbers all over float32 maps), `adverse` (a mask that is full everywhere, or 30 % of it for
vessels, and noise in float64 all over the maps) and `wide` (raters that mark much of the volume).
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from isal import igzip
from nibabel.nifti1 import Nifti1Header

FORMS = ("usual", "dense", "adverse", "wide")
SPACING_MM = {
    "curvas-pdacvi-2025": (0.75, 0.75, 1.5),
    "curvas-2024": (0.75, 0.75, 1.5),
    "smile-uhura-2023": (0.3, 0.3, 0.3),
    "aortaseg-2024": (0.8, 0.8, 1.0),
}
VESSEL_SHARE = 0.014  # of the voxels of a SMILE-UHURA volume
BLOCK_SHARE, BLOCK = 0.3, 16  # what a bad prediction marks of it, in cubes
PLANES = 16  # written at a time

Shape = tuple[int, int, int]
Array = np.ndarray[Any, Any]


def write_cases(
    protocol: str,
    folder: Path,
    shape: Shape,
    *,
    methods: int = 2,
    cases: int = 1,
    form: str = "usual",
) -> Path:
    """Write `reference` and `predictions` of some cases into a folder."""
    make = {
        "curvas-pdacvi-2025": _lesion,
        "curvas-2024": _organs,
        "smile-uhura-2023": _vessels,
        "aortaseg-2024": _aorta,
    }[protocol]
    for case, seed in ((f"C{number:03d}", number) for number in range(1, cases + 1)):
        rng = np.random.default_rng(seed)
        for name, array in make(shape, methods, form, rng):
            path = folder / name.replace("CASE", case)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_image(path, array, shape, SPACING_MM[protocol])
    return folder


Files = Iterator[tuple[str, "Array | Callable[[int, int], Array]"]]


# ---- protocols -----------------------------------------------------------------------------


def _lesion(shape: Shape, methods: int, form: str, rng: np.random.Generator) -> Files:
    """A tumour drawn by five raters beside five vessels, and its maps."""
    size = np.array(shape)
    middle, radii = 0.47 * size, np.array([0.04, 0.04, 0.06]) * size
    if form == "wide":
        radii = 0.5 * size
    for rater in range(5):
        mask = np.zeros(shape, np.uint8, "F")
        mark_ellipsoid(mask, middle, 2.5 * radii, 2)
        mark_ellipsoid(
            mask, middle + rng.normal(0, 0.1, 3) * radii, (0.85 + 0.07 * rater) * radii, 1
        )
        yield f"reference/CASE/annotation_{rater + 1}.nii.gz", mask
    vessels = np.zeros(shape, np.uint8, "F")
    for label in range(1, 6):
        aside = (label / 2, 0, 0) * radii
        start, stop = middle + aside - (0, 0, 0.3) * size, middle + aside + (0, 0, 0.3) * size
        _tube(vessels, _curve(start, stop, 0.02 * size), 0.012 * size[0], label)
    yield "reference/CASE/annotation_vascular.nii.gz", vessels
    for folder, centre in _methods(methods, middle, radii, rng):
        p = _map(shape, centre, radii)
        yield f"{folder}/segmentation.nii.gz", _mask([p], form)
        yield from _maps(folder, [p], ["probability"], form, rng)


def _organs(shape: Shape, methods: int, form: str, rng: np.random.Generator) -> Files:
    """Pancreas, kidneys and liver drawn by three raters, and a map of each."""
    size = np.array(shape)
    organs = [  # middle, radii, label
        (np.array([0.5, 0.4, 0.5]), np.array([0.08, 0.04, 0.08]), 1),
        (np.array([0.3, 0.6, 0.4]), np.array([0.05, 0.05, 0.12]), 2),
        (np.array([0.7, 0.6, 0.4]), np.array([0.05, 0.05, 0.12]), 2),
        (np.array([0.3, 0.35, 0.7]), np.array([0.17, 0.17, 0.25]), 3),
    ]
    if form == "wide":
        organs = [(middle, 2.5 * radii, label) for middle, radii, label in organs]
    for rater in range(3):
        mask = np.zeros(shape, np.uint8, "F")
        for middle, radii, label in organs:
            mark_ellipsoid(mask, middle * size, (0.95 + 0.04 * rater) * radii * size, label)
        yield f"reference/CASE/annotation_{rater + 1}.nii.gz", mask
    for folder, moved in _methods(methods, np.zeros(3), 0.02 * size, rng):
        maps = [np.zeros(shape, np.float32, "F") for _ in range(3)]
        for middle, radii, label in organs:
            p = _map(shape, middle * size + moved, radii * size)
            np.maximum(maps[label - 1], p, out=maps[label - 1])
        yield f"{folder}/segmentation.nii.gz", _mask(maps, form)
        names = [f"probability_{organ}" for organ in ("pancreas", "kidney", "liver")]
        yield from _maps(folder, [p / np.float32(3) for p in maps], names, form, rng)


def _vessels(shape: Shape, methods: int, form: str, rng: np.random.Generator) -> Files:
    """Vessels one to seven voxels wide; a method misses some, and shifts and adds others."""
    curves = _tangle(shape, VESSEL_SHARE, rng)
    mask = np.zeros(shape, np.uint8, "F")
    for points, radius in curves:
        _tube(mask, points, radius, 1)
    yield "reference/CASE/annotation_1.nii.gz", mask
    for folder, moved in _methods(methods, np.zeros(3), np.ones(3), rng):
        found = np.zeros(shape, np.uint8, "F")
        for points, radius in curves[len(curves) // 8 :] + _tangle(shape, VESSEL_SHARE / 10, rng):
            _tube(found, points + np.clip(moved, -0.6, 0.6), radius, 1)
        if form == "adverse":
            found = _blocks(found, rng)
        yield f"{folder}/segmentation.nii.gz", found


def _aorta(shape: Shape, methods: int, form: str, rng: np.random.Generator) -> Files:
    """Twelve zones one above the other and eleven branches."""
    size = np.array(shape)
    low, high = np.array([0.5, 0.5, 0.1]) * size, np.array([0.5, 0.5, 0.9]) * size
    trunk = _curve(low, high, 0.05 * size)

    def drawn(moved: Array) -> Array:
        mask = np.zeros(shape, np.uint8, "F")
        for label, points in enumerate(np.array_split(trunk, 12), 1):
            _tube(mask, points + moved, 0.025 * size[0], label)
        for label, start in enumerate(trunk[:: len(trunk) // 11][:11], 13):
            side = (0.2 * (-1) ** label, 0.1, 0.05) * size
            _tube(mask, _curve(start + moved, start + side, 0.02 * size), 0.008 * size[0], label)
        return mask

    yield "reference/CASE/annotation_1.nii.gz", drawn(np.zeros(3))
    for folder, moved in _methods(methods, np.zeros(3), np.full(3, 6.0), rng):
        found = drawn(moved)
        if form == "adverse":
            found[found == 0] = 1
        yield f"{folder}/segmentation.nii.gz", found


def _methods(
    count: int, middle: Array, spread: Array, rng: np.random.Generator
) -> Iterator[tuple[str, Array]]:
    """The folder of each method, and where it sees the middle of a thing."""
    for number in range(1, count + 1):
        yield f"predictions/method{number}/CASE", middle + rng.normal(0, 0.15, 3) * spread


# ---- shapes --------------------------------------------------------------------------------


def mark_ellipsoid(mask: Array, middle: Array, radii: Array, label: int) -> None:
    """Mark the voxels of an ellipsoid."""
    for place, distance in _around(mask.shape, middle, radii):
        mask[place][distance <= 1] = label


def _map(shape: Shape, middle: Array, radii: Array) -> Array:
    """A probability map: a half on the surface of the ellipsoid, 0 far from it."""
    p = np.zeros(shape, np.float32, "F")
    for place, distance in _around(shape, middle, 1.5 * radii):
        p[place] = np.where(distance < 1, 1 / (1 + np.exp(15 * (1.5 * distance - 1))), 0)
    return p


def _around(
    shape: tuple[int, ...], middle: Array, radii: Array
) -> Iterator[tuple[tuple[slice, slice, int], Array]]:
    """Planes of the box around an ellipsoid, and the distance from its middle: 1 on the surface."""
    first = np.clip(np.floor(middle - radii), 0, shape).astype(int).tolist()
    last = np.clip(np.ceil(middle + radii) + 1, 0, shape).astype(int).tolist()
    x, y, z = (
        ((np.arange(a, b, dtype=np.float32) - np.float32(m)) / np.float32(r)) ** 2
        for a, b, m, r in zip(first, last, middle, radii, strict=True)
    )
    in_plane = np.asfortranarray(x[:, None] + y)
    for plane, square in enumerate(z, first[2]):
        place = (slice(first[0], last[0]), slice(first[1], last[1]), plane)
        yield place, np.sqrt(in_plane + square)


def _curve(start: Array, stop: Array, bend: Array) -> Array:
    """Points about half a voxel apart on a wave from one place to another."""
    way = np.linspace(0, 1, max(2, int(2 * np.abs(stop - start).max())))[:, None]
    return np.asarray(start + way * (stop - start) + bend * np.sin(2 * np.pi * way) * (1, 0.5, 0))


def _tangle(shape: Shape, share: float, rng: np.random.Generator) -> list[tuple[Array, float]]:
    """Curves with radii that together fill about a share of the volume."""
    curves, left = [], share * np.prod(shape)
    while left > 0:
        start, stop = rng.uniform(0, 1, (2, 3)) * shape
        points, radius = _curve(start, stop, 0.05 * np.array(shape)), rng.uniform(0.5, 3.5)
        curves.append((points, radius))
        left -= np.linalg.norm(stop - start) * max(1.0, np.pi * radius**2)
    return curves


def _tube(mask: Array, points: Array, radius: float, label: int) -> None:
    """Mark the voxels within a radius of any of the points."""
    reach = int(radius)
    steps = np.arange(-reach, reach + 1)
    offsets = np.array(
        [o for o in itertools.product(steps, steps, steps) if np.dot(o, o) <= radius**2]
    )
    for some in np.array_split(points, 1 + len(points) * len(offsets) // 2_000_000):
        x, y, z = (np.rint(some)[:, None] + offsets).reshape(-1, 3).astype(int).T
        inside = np.ones(x.size, bool)
        for axis, size in zip((x, y, z), mask.shape, strict=True):
            inside &= (axis >= 0) & (axis < size)
        mask[x[inside], y[inside], z[inside]] = label


def _blocks(mask: Array, rng: np.random.Generator) -> Array:
    """The mask and cubes all over."""
    coarse = rng.random([-(-size // BLOCK) for size in mask.shape]) < BLOCK_SHARE
    for z in range(mask.shape[2]):
        plane = coarse[:, :, z // BLOCK].repeat(BLOCK, 0).repeat(BLOCK, 1)
        mask[:, :, z] |= plane[: mask.shape[0], : mask.shape[1]]
    return mask


# ---- files ---------------------------------------------------------------------------------


def _mask(maps: list[Array], form: str) -> Array:
    """The likeliest label; of an adverse method the first, everywhere."""
    mask = np.zeros(maps[0].shape, np.uint8, "F")
    for label, p in enumerate(maps, 1):
        mask[p > 0.5] = label
    if form == "adverse":
        mask[mask == 0] = 1
    return mask


def _maps(
    folder: str, maps: list[Array], names: list[str], form: str, rng: np.random.Generator
) -> Files:
    """The maps as files; noise is added as they are written, and takes no memory before."""
    for p, name in zip(maps, names, strict=True):
        if form == "adverse":  # not compressed, which would take long and change no memory

            def noisy(first: int, last: int, p: Array = p) -> Array:
                some = p[:, :, first:last]
                return np.asarray(some * 0.7 + 0.3 / len(maps) * rng.random(some.shape))

            yield f"{folder}/{name}.nii", noisy
        elif form == "dense":

            def floored(first: int, last: int, p: Array = p) -> Array:
                some = p[:, :, first:last]
                noise = rng.random(some.shape, dtype=np.float32)
                return np.asarray(some * np.float32(0.999) + noise * np.float32(1e-4))

            yield f"{folder}/{name}.nii.gz", floored
        else:
            yield f"{folder}/{name}.nii.gz", p


def write_image(
    path: Path, array: Array | Callable[[int, int], Array], shape: Shape, spacing_mm: Any
) -> None:
    """Write NIfTI a few planes at a time."""
    planes = array if callable(array) else lambda first, last: array[:, :, first:last]
    header: Any = Nifti1Header()
    header.set_data_dtype(planes(0, 1).dtype)
    header.set_data_shape(shape)
    header.set_zooms(spacing_mm)
    header.set_sform(np.diag([*spacing_mm, 1.0]), code="scanner")
    header["vox_offset"], header["magic"] = 352, b"n+1"
    with igzip.open(path, "wb", 1) if path.suffix == ".gz" else path.open("wb") as file:
        file.write(bytes(header.binaryblock) + bytes(4))
        for first in range(0, shape[2], PLANES):
            file.write(planes(first, min(first + PLANES, shape[2])).tobytes(order="F"))


def main() -> None:
    """Write what the arguments ask for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("protocol", choices=SPACING_MM)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shape", required=True)
    parser.add_argument("--methods", type=int, default=2)
    parser.add_argument("--cases", type=int, default=1)
    parser.add_argument("--form", choices=FORMS, default="usual")
    given = parser.parse_args()
    x, y, z = (int(size) for size in given.shape.split(","))
    write_cases(
        given.protocol,
        given.folder,
        (x, y, z),
        methods=given.methods,
        cases=given.cases,
        form=given.form,
    )


if __name__ == "__main__":
    main()
