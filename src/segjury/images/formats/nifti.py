"""NIfTI files (`.nii`, `.nii.gz`): nibabel for the header, ISA-L for gzip.

About twice as fast as nibabel or SimpleITK alone (`benchmarks/reading.py`).
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from isal import igzip
from numpy.typing import NDArray

from segjury.arrays import Shape, Span, flat
from segjury.errors import InputError
from segjury.images.formats.channels import (
    Overlaps,
    refuse_absent_channel,
    refuse_many_channels,
    unknown_label,
)
from segjury.images.formats.limits import (
    DEFLATE_LIMIT,
    SPARE_BYTES,
    check_size,
    numeric,
    three_dimensions,
)
from segjury.images.formats.nifti_grid import NIFTI_1, grid_of
from segjury.images.formats.streams import (
    PIECE_BYTES,
    Change,
    as_stored,
    read_exactly,
    read_values,
    refuse_broken_data,
    skip,
)
from segjury.images.formats.values import Labels, storable
from segjury.images.formats.wanted import ANY_LABELS, Wanted
from segjury.images.grid import Grid
from segjury.images.volume import Volume

SUFFIXES = (".nii.gz", ".nii")
GZIP = b"\x1f\x8b"
NIFTI_2 = 540  # bytes of its header
START_BYTES = 1 << 20  # of a file in which its header must be; gzip may have a name before it


def read(path: Path, wanted: Wanted, change: Change = as_stored) -> Volume:
    """The volume in a file, header scaling applied, its voxels changed as they are read."""
    header, shape, n_channels = _checked(path, wanted)
    grid = grid_of(header, shape)
    next_values = _values_reader(header, shape)
    with refuse_broken_data(), _open(path) as stream:
        skip(stream, _data_offset(header, path))
        if n_channels > 1 and wanted.labels is not None:
            volume = _overlapping(partial(next_values, stream), n_channels, wanted.labels, grid)
        else:
            earlier = (wanted.channel or 1) - 1
            skip(stream, earlier * math.prod(shape) * header.get_data_dtype().itemsize)
            values, spans = next_values(stream, change)
            volume = Volume(values.reshape(shape, order="F"), grid, spans)
        stream.read(1)  # lets the checksum behind the data be compared
    return volume


ValuesReader = Callable[..., tuple[NDArray[Any], tuple[Span, ...]]]


def _values_reader(header: Any, shape: Shape) -> ValuesReader:
    """What reads the next volume of a stream, with the header's scaling."""
    dtype, (slope, intercept) = numeric(header.get_data_dtype()), _scaling(header)

    def read_next(stream: Any, change: Change) -> tuple[NDArray[Any], tuple[Span, ...]]:
        if (slope, intercept) != (1.0, 0.0):
            change = _after_scaling(change, slope, intercept)
        return read_values(stream, math.prod(shape), dtype, change, keeps_zero=intercept == 0)

    return read_next


def _overlapping(
    next_values: ValuesReader, n_channels: int, labels: Collection[int], grid: Grid
) -> Volume:
    """The masks of all channels, each of 0 and 1, or 0 and 255."""
    overlaps = Overlaps(math.prod(grid.shape))
    for label in range(1, n_channels + 1):
        check_values = Labels((1,), full=True)
        mask, spans = next_values(check_values)
        try:
            check_values.check()
        except InputError as error:
            raise error.about(f"channel {label}") from None
        if label in labels:
            overlaps.add(label, mask, spans)
        elif mask.any():
            raise unknown_label(f"channel {label}", labels)
    return overlaps.volume(grid)


def read_grid(path: Path) -> Grid:
    """The grid of the volume in a file, or of its channels, without reading its voxels."""
    header = _header(path)
    return grid_of(header, _shape(header, Wanted(labels=ANY_LABELS))[0])


def check(path: Path, wanted: Wanted) -> None:
    """Refuse a file by its header and its size, without reading its voxels."""
    _checked(path, wanted)


def _checked(path: Path, wanted: Wanted) -> tuple[Any, Shape, int]:
    """The header of a file that may hold what it claims, its shape and number of channels."""
    header = _header(path)
    (shape, n_channels), itemsize = _shape(header, wanted), header.get_data_dtype().itemsize
    check_size(
        shape,
        itemsize,
        path.stat().st_size,
        wanted,
        grid=lambda: grid_of(header, shape),
        packed=path.name.endswith(".gz"),
        channels=n_channels,
    )
    return header, shape, n_channels


def _open(path: Path) -> Any:
    return igzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb")


def _header(path: Path) -> Any:
    """The header at the beginning of a file, of which no more is looked at."""
    with refuse_broken_data(), path.open("rb") as file:
        start = file.read(START_BYTES)
        stream: Any = io.BytesIO(start)
        if path.name.endswith(".gz"):
            if not start.startswith(GZIP):
                raise InputError("is not a gzip file", "Write it again, or give it its true ending")
            stream = igzip.IGzipFile(fileobj=stream, mode="rb")
        try:
            return _parsed(stream)
        except EOFError:
            if file.read(1):
                what = f"has no header in its first {START_BYTES} bytes"
                raise InputError(what, "Write it again") from None
            raise


def _header_size(start: bytes) -> int:
    """The first number of a NIfTI file is the size of its header, in either byte order."""
    sizes = {int.from_bytes(start, "little"), int.from_bytes(start, "big")}
    for known in (NIFTI_1, NIFTI_2):
        if known in sizes:
            return known
    raise InputError("is not a NIfTI file", "Write it again as NIfTI")


def _parsed(stream: Any) -> Any:
    from nibabel.nifti1 import Nifti1Header  # here, as most commands read no image
    from nibabel.nifti2 import Nifti2Header
    from nibabel.spatialimages import HeaderDataError
    from nibabel.wrapstruct import WrapStructError

    start = read_exactly(stream, 4)
    start += read_exactly(stream, _header_size(start) - 4)
    kind: Any = Nifti1Header if len(start) == NIFTI_1 else Nifti2Header
    try:
        header = kind(start, check=False)
        header.get_data_dtype()
        header.get_data_shape()
        header.get_slope_inter()
    except (HeaderDataError, WrapStructError, ValueError, KeyError) as error:
        raise InputError(f"has a broken NIfTI header ({error})", "Write it again") from None
    if bytes(header["magic"]).startswith((b"ni1", b"ni2")):
        raise InputError("keeps its data in another file", "Store it as one file")
    return header


def _shape(header: Any, wanted: Wanted) -> tuple[Shape, int]:
    """The shape of the volume and the number of its channels, which a fourth or fifth axis has."""
    n = int(header["dim"][0])
    if not 1 <= n <= 7:  # nibabel would count a negative number from the end
        raise InputError(f"has {n} axes", "Store one three-dimensional volume")
    sizes = [int(size) for size in header.get_data_shape()]
    n_channels = _channels(sizes)
    if n_channels > 1 and wanted.labels is not None:
        refuse_many_channels(tuple(sizes), n_channels, wanted.labels)
    if wanted.channel is not None:
        refuse_absent_channel(tuple(sizes), n_channels, wanted.channel)
    if wanted.labels is None and wanted.channel is None:
        n_channels = 1
    return three_dimensions(sizes[:3] if n_channels > 1 else sizes), n_channels


def _channels(sizes: Sequence[int]) -> int:
    """How many channels there are in `x, y, z, channel` or `x, y, z, 1, channel`; else 1."""
    further = [*sizes[3:]]
    while further and further[-1] == 1:
        further.pop()
    return further[-1] if further and all(size == 1 for size in further[:-1]) else 1


def _data_offset(header: Any, path: Path) -> int:
    """Where the data begin; ITK and nibabel disagree on less than the header's size."""
    offset, limit = float(header["vox_offset"]), path.stat().st_size
    if not offset <= limit * (DEFLATE_LIMIT if path.name.endswith(".gz") else 1):  # nor is NaN
        raise InputError("puts its data past its end", "Write it again")
    between = int(max(offset, -1)) - int(header["sizeof_hdr"])
    if between < 0:
        raise InputError("puts its data into its header", "Write it again")
    if between > SPARE_BYTES:
        raise InputError(f"puts {between} bytes before its data", "Write it without extensions")
    return int(offset)


def _scaling(header: Any) -> tuple[float, float]:
    slope, intercept = header.get_slope_inter()
    return (1.0, 0.0) if slope is None else (slope, intercept)


def _after_scaling(change: Change, slope: float, intercept: float) -> Change:
    return lambda values: change(np.asarray(values * slope + intercept))


def write(path: Path, volume: Volume) -> None:
    """Write a volume, compressed where the suffix says so.

    Piece by piece, so that it takes no memory beside the volume's own.
    """
    array = storable(volume.array)
    header = _header_for(volume.grid, array.dtype)
    voxels = flat(array)
    step = PIECE_BYTES // array.itemsize
    with path.open("wb") as file:
        stream: Any = file
        compress = path.name.endswith(".gz")
        if compress:  # without name and time, so that the same voxels make the same file
            stream = igzip.IGzipFile(filename="", mode="wb", compresslevel=2, fileobj=file, mtime=0)
        stream.write(bytes(header.binaryblock) + bytes(4))
        for start in range(0, voxels.size, step):
            stream.write(np.ascontiguousarray(voxels[start : start + step]).data)
        if compress:
            stream.close()


def _header_for(grid: Grid, dtype: np.dtype[Any]) -> Any:
    from nibabel.nifti1 import Nifti1Header

    affine = np.eye(4)
    affine[:3, :3] = np.array(grid.direction) * grid.spacing_mm
    affine[:3, 3] = grid.origin_mm
    affine[:2] *= -1
    header: Any = Nifti1Header()
    header.set_data_dtype(dtype)
    header.set_data_shape(grid.shape)
    header.set_qform(affine, code="scanner")
    header.set_sform(affine, code="scanner")
    header.set_xyzt_units("mm")
    header["vox_offset"] = 352
    header["magic"] = b"n+1"
    return header
