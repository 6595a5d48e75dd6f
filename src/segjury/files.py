"""Read and write image files; the only place that knows formats.

NIfTI is decoded here, with nibabel for the header and ISA-L for gzip: about twice as fast as
nibabel or SimpleITK alone (`benchmarks/reading.py`). MHA and NRRD go through SimpleITK. Every
header is checked before memory is taken for what it claims.
"""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, cast

import numpy as np
from isal import igzip, isal_zlib
from nibabel.nifti1 import Nifti1Header
from nibabel.nifti2 import Nifti2Header
from nibabel.spatialimages import HeaderDataError
from nibabel.wrapstruct import WrapStructError
from numpy.typing import NDArray

from segjury.errors import InputError, MissingInputError
from segjury.volume import (
    Direction,
    Grid,
    LabelMap,
    Shape,
    Span,
    Triple,
    Volume,
    flat,
    nonzero_spans,
    nonzero_voxels,
)

SUFFIXES = (".nii.gz", ".nii", ".mha", ".nrrd")
MAX_VOXELS = 2**30
DEFLATE_LIMIT = 1032  # no deflate stream expands more than this, so a header that says so lies
WHOLE_NUMBER_TOLERANCE = 1e-3
GZIP = b"\x1f\x8b"
NIFTI_1, NIFTI_2 = 348, 540  # bytes of their headers
PIECE_BYTES = 1 << 20  # read at a time: fits the cache, and threads seldom wait for each other
BrokenGzipError: type[Exception] = cast("type[Exception]", isal_zlib.error)  # its stub is off


def candidates(folder: Path, stem: str) -> list[Path]:
    """The images `stem` in `folder`, with any known suffix."""
    return [path for s in SUFFIXES if (path := folder / f"{stem}{s}").is_file()]


def find(folder: Path, stem: str) -> Path:
    """The one image `stem` in `folder`."""
    found = candidates(folder, stem)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise InputError(f"{folder.name} has {names}", "Keep one of them")
    if not found:
        raise MissingInputError(f"{stem}{SUFFIXES[0]} is missing")
    return found[0]


def read_volume(path: Path, *, expected_shape: Shape | None = None) -> Volume:
    """Read any known format; values as stored, header scaling applied."""
    readers: dict[str, Callable[[Path, Shape | None], Volume]] = {
        ".nii.gz": _read_nifti,
        ".nii": _read_nifti,
        ".mha": _read_with_simpleitk,
        ".nrrd": _read_with_simpleitk,
    }
    suffix = next((s for s in SUFFIXES if path.name.endswith(s)), None)
    if suffix is None:
        raise InputError(f"{path.name} is of no known format", f"Use one of {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise MissingInputError(f"{path.name} is missing")
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is an empty file", "Write or copy it again")
    try:
        return readers[suffix](path, expected_shape)
    except InputError as error:
        raise error.about(path.name) from None
    except OSError as error:
        raise InputError(
            f"{path.name} cannot be read ({error.strerror or error})", "Check it"
        ) from None


def read_grid(path: Path) -> Grid:
    """The grid of an image; of NIfTI, without reading its voxels."""
    if not path.name.endswith((".nii", ".nii.gz")):
        return read_volume(path).grid
    try:
        with igzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb") as stream:
            header = _nifti_header(stream)
        return _nifti_grid(header, _three_dimensions(header.get_data_shape()))
    except InputError as error:
        raise error.about(path.name) from None
    except (BrokenGzipError, EOFError, OSError) as error:
        raise InputError(f"{path.name} cannot be read ({error})", "Write it again") from None


def read_mask(
    path: Path, *, labels: Collection[int], expected_shape: Shape | None = None
) -> LabelMap:
    """Read a mask or label map.

    Floats close to whole numbers are rounded, others refused, and so is a value that is not one
    of `labels` (0 is always allowed).
    """
    volume = read_volume(path, expected_shape=expected_shape)
    try:
        return _label_map(volume, labels)
    except InputError as error:
        raise error.about(path.name) from None


def read_probability(path: Path, *, expected_shape: Shape | None = None) -> Volume:
    """Read a probability map (float32 or float64 as stored); refuse NaN and what leaves [0, 1]."""
    volume = read_volume(path, expected_shape=expected_shape)
    try:
        return _probabilities(volume)
    except InputError as error:
        raise error.about(path.name) from None


def read_nnunet_probability(path: Path, channel: int, *, grid: Grid) -> Volume:
    """Read one class of nnU-Net's `.npz` (key `probabilities`, axes class, z, y, x) on a grid.

    Pickled content is never loaded; channels before the wanted one are skipped, not kept.
    """
    try:
        with (
            zipfile.ZipFile(path) as archive,
            archive.open("probabilities.npy") as member,
        ):
            shape, fortran_order, dtype = _npy_header(member)
            wanted = grid.shape[::-1]
            if len(shape) != 4 or shape[1:] != wanted or channel >= shape[0]:
                raise InputError(
                    f"probabilities have shape {shape}, expected (classes, {wanted[0]}, "
                    f"{wanted[1]}, {wanted[2]}) with at least {channel + 1} classes",
                    "Export them on the reference grid",
                )
            if dtype.kind != "f" or fortran_order:
                raise InputError(f"probabilities are stored as {dtype}", "Store plain float32")
            size = math.prod(wanted) * dtype.itemsize
            for _ in range(channel):
                _skip(member, size)
            values, spans = _read_values(member, math.prod(wanted), dtype)
            return _probabilities(Volume(values.reshape(wanted).T, grid, spans))
    except InputError as error:
        raise error.about(path.name) from None
    except KeyError:
        raise InputError(f"{path.name} has no array 'probabilities'", "Export it again") from None
    except (
        OSError,
        EOFError,
        ValueError,
        NotImplementedError,  # an unknown way of compression
        RuntimeError,  # an encrypted archive
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise InputError(f"{path.name} cannot be read ({error})", "Export it again") from None


def write_volume(path: Path, volume: Volume) -> None:
    """Write a volume in the format of the suffix; the file appears whole or not at all."""
    partial = path.with_name(f".{os.getpid()}.{path.name}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if path.name.endswith((".nii.gz", ".nii")):
            partial.write_bytes(_nifti_bytes(volume, compress=path.name.endswith(".gz")))
        elif path.name.endswith((".mha", ".nrrd")):
            _write_with_simpleitk(partial, volume)
        else:
            raise InputError(f"{path.name}: unknown format", f"Use one of {', '.join(SUFFIXES)}")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


# ---- checks on values ----------------------------------------------------------------------


def _label_map(volume: Volume, labels: Collection[int]) -> LabelMap:
    voxels = nonzero_voxels(volume.array, volume.spans)
    values = flat(volume.array)[voxels]
    if values.dtype.kind == "f":
        rounded = np.rint(values)
        with np.errstate(invalid="ignore"):
            off = ~(np.abs(values - rounded) <= WHOLE_NUMBER_TOLERANCE)
        if off.any():
            raise InputError(
                f"is not a mask: {off.sum()} voxels are not whole numbers, e.g. {values[off][0]:g}",
                "Store labels, and resample masks with nearest neighbour",
            )
        voxels, values = voxels[rounded != 0], rounded[rounded != 0]
    allowed = np.unique([0, *labels])
    known = np.isin(values, allowed)
    if not known.all():
        unknown = np.unique(values[~known])
        shown = ", ".join(f"{value:g}" for value in unknown[:5])
        raise InputError(
            f"has unknown label{'s' if unknown.size > 1 else ''} {shown}"
            f"{', ...' if unknown.size > 5 else ''}, expected {', '.join(map(str, allowed))}",
            "Store the mask with the protocol's labels",
        )
    return LabelMap(voxels, values.astype(np.min_scalar_type(allowed[-1])), volume.grid)


def _probabilities(volume: Volume) -> Volume:
    if volume.array.dtype not in (np.float32, np.float64):
        volume = Volume(volume.array.astype(np.float32, order="F"), volume.grid)
    voxels = flat(volume.array)
    lowest = highest = voxels.dtype.type(0)
    for start, stop in volume.spans:
        span = voxels[start:stop]
        lowest = np.minimum(lowest, span.min())  # keeps a NaN, as the plain comparison would not
        highest = np.maximum(highest, span.max())
    if np.isnan(lowest) or np.isnan(highest):
        raise InputError("has NaN where a probability is expected", "Replace NaN by 0")
    if lowest < 0 or highest > 1:
        raise InputError(
            f"has values from {lowest:g} to {highest:g}, expected probabilities in [0, 1]",
            "Scale the map to probabilities",
        )
    return volume


# ---- NIfTI ---------------------------------------------------------------------------------


def _read_nifti(path: Path, expected_shape: Shape | None) -> Volume:
    compressed = path.name.endswith(".gz")
    if compressed and not _begins_with(path, GZIP):
        raise InputError("is not a gzip file", "Write it again, or give it its true ending")
    try:
        with igzip.open(path, "rb") if compressed else path.open("rb") as stream:
            header = _nifti_header(stream)
            dtype = _numeric(header.get_data_dtype())
            shape = _three_dimensions(header.get_data_shape())
            limit = path.stat().st_size * (DEFLATE_LIMIT if compressed else 1)
            _check_size(shape, dtype.itemsize, limit, expected_shape)
            offset = float(header["vox_offset"])
            if not offset <= limit:  # nor is NaN
                raise InputError("puts its data past its end", "Write it again")
            _skip(stream, int(offset) - int(header["sizeof_hdr"]))
            values, spans = _read_values(stream, math.prod(shape), dtype)
            stream.read(1)  # lets the checksum behind the data be compared
    except EOFError:
        raise InputError("is cut short", "Write or copy it again") from None
    except (BrokenGzipError, OSError) as error:
        raise InputError(f"cannot be read ({error})", "Write or copy it again") from None
    array = values.astype(dtype.newbyteorder("="), copy=False).reshape(shape, order="F")
    grid = _nifti_grid(header, shape)
    slope, intercept = header.get_slope_inter()
    if slope is not None and (slope, intercept) != (1.0, 0.0):
        return Volume(array * slope + intercept, grid)
    return Volume(array, grid, spans)


def _begins_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _header_size(start: bytes) -> int:
    """The first number of a NIfTI file is the size of its header, in either byte order."""
    sizes = {int.from_bytes(start, "little"), int.from_bytes(start, "big")}
    for known in (NIFTI_1, NIFTI_2):
        if known in sizes:
            return known
    raise InputError("is not a NIfTI file", "Write it again as NIfTI")


def _nifti_header(stream: Any) -> Any:
    start = _read_exactly(stream, 4)
    start += _read_exactly(stream, _header_size(start) - 4)
    kind: Any = Nifti1Header if len(start) == NIFTI_1 else Nifti2Header
    try:
        header = kind(start, check=False)
        header.get_data_dtype()
        header.get_data_shape()
        header.get_slope_inter()
        header.get_best_affine()
    except (HeaderDataError, WrapStructError, ValueError, KeyError) as error:
        raise InputError(f"has a broken NIfTI header ({error})", "Write it again") from None
    return header


def _nifti_grid(header: Any, shape: Shape) -> Grid:
    """Spacing, origin and direction, turned from RAS to LPS.

    Without any orientation code, spacing alone counts, as in ITK.
    """
    if int(header["sform_code"]) or int(header["qform_code"]):
        affine = np.array(header.get_best_affine(), float)
    else:
        affine = np.diag([-1.0, -1.0, 1.0, 1.0]) @ np.diag([*_zooms(header), 1.0])
    affine[:2] *= -1
    spacing = np.linalg.norm(affine[:3, :3], axis=0)
    if not (np.isfinite(affine).all() and (spacing > 0).all()):
        raise InputError("has a broken orientation in its header", "Write it again")
    direction = _rows(affine[:3, :3] / spacing)
    if int(header["sizeof_hdr"]) == NIFTI_1:
        spacing = np.array([_shortest(length) for length in spacing])
    return Grid(shape, _triple(spacing), _triple(affine[:3, 3]), direction)


def _shortest(length: float) -> float:
    """The length that was meant: NIfTI keeps 0.4 as the float32 next to it, 0.4000000059."""
    return float(str(np.float32(length)))


def _zooms(header: Any) -> list[float]:
    zooms = [abs(float(zoom)) for zoom in header.get_zooms()[:3]]
    return [*zooms, 1.0, 1.0][:3]


def _nifti_bytes(volume: Volume, *, compress: bool) -> bytes:
    grid = volume.grid
    array = volume.array.astype(np.uint8) if volume.array.dtype == bool else volume.array
    affine = np.eye(4)
    affine[:3, :3] = np.array(grid.direction) * grid.spacing_mm
    affine[:3, 3] = grid.origin_mm
    affine[:2] *= -1
    header: Any = Nifti1Header()
    header.set_data_dtype(array.dtype)
    header.set_data_shape(grid.shape)
    header.set_qform(affine, code="scanner")
    header.set_sform(affine, code="scanner")
    header.set_xyzt_units("mm")
    header["vox_offset"] = 352
    header["magic"] = b"n+1"
    content = bytes(header.binaryblock) + bytes(4) + array.tobytes(order="F")
    return igzip.compress(content, 2, mtime=0) if compress else content


# ---- MHA and NRRD --------------------------------------------------------------------------


def _read_with_simpleitk(path: Path, expected_shape: Shape | None) -> Volume:
    import SimpleITK as sitk

    _refuse_data_elsewhere(path)
    sitk.ProcessObject.SetGlobalWarningDisplay(False)
    reader = sitk.ImageFileReader()
    reader.SetFileName(str(path))
    try:
        reader.ReadImageInformation()
        shape = _three_dimensions(reader.GetSize())
        if reader.GetNumberOfComponents() != 1:
            raise InputError("has several values per voxel", "Store one value per voxel")
        _check_size(shape, 1, path.stat().st_size * DEFLATE_LIMIT, expected_shape)
        image = reader.Execute()
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1][:200]
        raise InputError(f"cannot be read ({reason})", "Write or copy it again") from None
    array = sitk.GetArrayFromImage(image).T.reshape(shape, order="F")
    _numeric(array.dtype)
    dimension = image.GetDimension()
    direction = np.eye(3)
    stored = np.reshape(image.GetDirection(), (dimension, dimension))[:3, :3]
    direction[: stored.shape[0], : stored.shape[1]] = stored
    spacing = [*image.GetSpacing()[:3], 1.0][:3]
    origin = [*image.GetOrigin()[:3], 0.0][:3]
    return Volume(array, Grid(shape, _triple(spacing), _triple(origin), _rows(direction)))


def _refuse_data_elsewhere(path: Path) -> None:
    """Refuse headers that name another file for the data: they could name any file."""
    with path.open("rb") as file:
        head = file.read(1 << 16).split(b"\n\n")[0].lower().splitlines()
    for line in head:
        key, _, value = line.partition(b"=") if b"=" in line else line.partition(b":")
        key, value = key.strip(), value.strip(b" =\r")
        if key == b"elementdatafile":
            if value != b"local":
                raise InputError("keeps its data in another file", "Store it as one file")
            return
        if key in (b"data file", b"datafile"):
            raise InputError("keeps its data in another file", "Store it as one file")


def _write_with_simpleitk(path: Path, volume: Volume) -> None:
    import SimpleITK as sitk

    array = volume.array.astype(np.uint8) if volume.array.dtype == bool else volume.array
    image = sitk.GetImageFromArray(np.ascontiguousarray(array.T))
    image.SetSpacing(volume.grid.spacing_mm)
    image.SetOrigin(volume.grid.origin_mm)
    image.SetDirection(np.array(volume.grid.direction).reshape(-1).tolist())
    sitk.WriteImage(image, str(path), useCompression=True)


# ---- shared small parts --------------------------------------------------------------------


def _check_size(shape: Shape, itemsize: int, limit: int, expected_shape: Shape | None) -> None:
    if expected_shape is not None and shape != expected_shape:
        raise InputError(
            f"has shape {shape}, the reference has {expected_shape}",
            "Resample it to the reference grid",
        )
    if math.prod(shape) > MAX_VOXELS:
        raise InputError(f"claims {shape} voxels in its header, more than {MAX_VOXELS}", "Crop it")
    if math.prod(shape) * itemsize > limit:
        raise InputError(
            f"claims {shape} voxels in its header, more than the file can hold",
            "Write or copy it again",
        )


def _three_dimensions(shape: tuple[int, ...]) -> Shape:
    sizes = [int(size) for size in shape]
    while len(sizes) > 3 and sizes[-1] == 1:
        sizes.pop()
    sizes += [1] * (3 - len(sizes))
    if len(sizes) > 3 or min(sizes) < 1:
        raise InputError(f"has shape {tuple(sizes)}", "Store one three-dimensional volume")
    return sizes[0], sizes[1], sizes[2]


def _numeric(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise InputError(f"has voxels of type {dtype}", "Store integers or floats")
    return dtype


def _triple(values: Any) -> Triple:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _rows(matrix: NDArray[Any]) -> Direction:
    x, y, z = (_triple(row) for row in matrix)
    return x, y, z


def _npy_header(member: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(member)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    return read(member)


def _read_exactly(stream: Any, count: int) -> bytes:
    content: bytes = stream.read(count)
    if len(content) < count:
        raise EOFError("it is cut short")
    return content


def _skip(stream: Any, count: int) -> None:
    while count > 0:
        count -= len(_read_exactly(stream, min(count, 1 << 20)))


def _read_values(
    stream: Any, count: int, dtype: np.dtype[Any]
) -> tuple[NDArray[Any], tuple[Span, ...]]:
    """Read voxels, and tell the spans outside which all are 0.

    Pieces pass through a small buffer that stays in the cache, and stretches of zeros are not
    copied on. The memory behind them is then never touched, so that an almost empty volume costs
    neither memory nor the time to get it: reading is several times faster.
    """
    values = np.zeros(count, dtype)
    buffer = np.empty(PIECE_BYTES // dtype.itemsize, dtype)
    spans = []
    for start in range(0, count, buffer.size):
        piece = buffer[: min(buffer.size, count - start)]
        _fill(stream, memoryview(piece.view(np.uint8).data))
        for first, last in nonzero_spans(piece):
            values[start + first : start + last] = piece[first:last]
            spans.append((start + first, start + last))
    return values, tuple(spans)


def _fill(stream: Any, memory: memoryview) -> None:
    while memory:
        count = stream.readinto(memory)
        if not count:
            raise EOFError("it is cut short")
        memory = memory[count:]
