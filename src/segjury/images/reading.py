"""Image files of any known format: volumes, masks and probability maps."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from segjury.arrays import Shape
from segjury.errors import InputError, MissingInputError, unreadable
from segjury.images.finding import is_file, suffix
from segjury.images.formats import FORMATS, SUFFIXES, WRITTEN, nifti, npz, raster
from segjury.images.formats.streams import Change, as_stored
from segjury.images.formats.values import Labels, Probabilities
from segjury.images.formats.wanted import ANY_LABELS, Wanted
from segjury.images.grid import USUAL_TOLERANCE, Doubt, Grid, Tolerance
from segjury.images.labels import LabelMap, SparseLabels
from segjury.images.orientation import oriented
from segjury.images.volume import Volume
from segjury.runtime.writing import whole_file

FULL_IS_1 = Doubt(
    "stored-as-255", "holds 0 and 255 alone; 255 was read as label 1", "Store the mask as 0 and 1"
)


def read_volume(
    path: Path, *, grid: Grid | None = None, tolerance: Tolerance = USUAL_TOLERANCE
) -> Volume:
    """Read an image of any known format.

    Parameters
    ----------
    path : Path
        A file that ends in one of `SUFFIXES`.
    grid : Grid, optional
        That of the reference. Another shape is refused before memory is taken for it; axes that
        the header tells to be stored in another order or direction are put in the reference's.
    tolerance : Tolerance, optional
        How far grids may differ. Where it says to ignore directions, axes stay as they are.

    Returns
    -------
    Volume
        Values as stored, header scaling applied, and their grid.
    """
    with _errors_about(path):
        return _read(path, Wanted(grid, tolerance), as_stored)


def _read(path: Path, wanted: Wanted, change: Change) -> Volume:
    format_ = FORMATS[suffix_of(path)]
    _refuse_absent(path)
    if wanted.channel not in (None, 1) and format_ is not nifti:
        raise InputError(
            f"is read as one channel, expected channel {wanted.channel}",
            "Store channels along the fourth axis of a NIfTI file",
            kind="other-shape",
        )
    volume: Volume = format_.read(path, wanted, change)
    return oriented(volume, wanted.grid, wanted.tolerance) if wanted.grid else volume


def read_grid(path: Path) -> Grid:
    """Read the grid of an image without its voxels.

    Parameters
    ----------
    path : Path
        A file that ends in one of `SUFFIXES`.

    Returns
    -------
    Grid
        Shape, spacing, origin and direction, in LPS millimetres.
    """
    format_ = FORMATS[suffix_of(path)]
    with _errors_about(path):
        _refuse_absent(path)
        grid: Grid = format_.read_grid(path)
    return grid


def check_header(path: Path, *, expected_shape: Shape | None = None) -> None:
    """Refuse an image, or nnU-Net's archive, by its header and its size alone.

    Reading would refuse it too, in the same words. Of the expected shape, the sizes alone count:
    whether their order is that of the axes is seen when the file is read.
    """
    check = npz.check if path.suffix == ".npz" else FORMATS[suffix_of(path)].check
    with _errors_about(path):
        _refuse_absent(path)
        check(path, Wanted(shape=expected_shape, labels=ANY_LABELS))


def read_mask(
    path: Path,
    *,
    labels: Collection[int],
    grid: Grid | None = None,
    tolerance: Tolerance = USUAL_TOLERANCE,
    names: Mapping[str, int] | None = None,
    overlap: bool = True,
) -> LabelMap:
    """Read a mask or label map, or a file with a channel for each label.

    Channel 1 is the mask of label 1, and so on; the channels may overlap, and the map then has
    `members`.

    Parameters
    ----------
    path : Path
        A file that ends in one of `SUFFIXES`.
    labels : collection of int
        The labels that the mask may have, 1 to 255; 0 is always allowed, others are refused.
        Floats close to whole numbers are rounded.
    grid : Grid, optional
        That of the reference, as in `read_volume`.
    tolerance : Tolerance, optional
        How far grids may differ, as in `read_volume`.
    names : mapping of str to int, optional
        The labels of segments by their names, for files whose segments have some; without it, the
        numbers of the segments count.
    overlap : bool
        Whether a voxel may have several labels. Where it may not, the map never has `members`.

    Returns
    -------
    LabelMap
        The labelled voxels and their grid; `dense()` gives an array.
    """
    check_labels = Labels(labels, full=_is_picture(path))
    with _errors_about(path):
        wanted = Wanted(grid, tolerance, labels=frozenset(labels), names=names)
        volume = _read(path, wanted, check_labels)
        check_labels.check()
        grid = _told(volume.grid, FULL_IS_1) if check_labels.was_full else volume.grid
        mask = LabelMap(SparseLabels.of(volume.array, volume.spans), grid, volume.members)
        return mask if overlap else mask.single()


def read_probability(
    path: Path,
    *,
    channel: int | None = None,
    grid: Grid | None = None,
    tolerance: Tolerance = USUAL_TOLERANCE,
) -> Volume:
    """Read a probability map; refuse NaN and what leaves [0, 1].

    Parameters
    ----------
    path : Path
        A file that ends in one of `SUFFIXES`.
    channel : int, optional
        Which channel of a file with several, from 1: the map of label 1, and so on.
    grid : Grid, optional
        That of the reference, as in `read_volume`.
    tolerance : Tolerance, optional
        How far grids may differ, as in `read_volume`.

    Returns
    -------
    Volume
        Values in float32, or float64 where they are stored so, and their grid.
    """
    check_range = Probabilities(grey=_is_picture(path))
    with _errors_about(path):
        volume = _read(path, Wanted(grid, tolerance, channel=channel), check_range)
        check_range.check()
    return volume


def write_volume(path: Path, volume: Volume) -> None:
    """Write a volume; the file appears whole or not at all.

    Parameters
    ----------
    path : Path
        A file that ends in one of `WRITTEN`.
    volume : Volume
        An array with axes x, y, z, and its grid.
    """
    format_ = FORMATS[written_suffix(path)]
    with whole_file(path) as partial:
        format_.write(partial, volume)


def _is_picture(path: Path) -> bool:
    return path.name.endswith(raster.SUFFIXES)


def _told(grid: Grid, doubt: Doubt) -> Grid:
    """The grid with one more doubt of the file that it was read from."""
    return replace(grid, doubts=(*grid.doubts, doubt))


def suffix_of(path: Path) -> str:
    """The known suffix that a file's name ends in."""
    if end := suffix(path.name):
        return end
    raise InputError(f"{path.name} is of no known format", f"Use one of {', '.join(SUFFIXES)}")


def written_suffix(path: Path) -> str:
    """The suffix of a file to write, of a format that is not only read."""
    suffix = suffix_of(path)
    if suffix not in WRITTEN:
        raise InputError(f"{path.name} cannot be written", f"Use one of {', '.join(WRITTEN)}")
    return suffix


def _refuse_absent(path: Path) -> None:
    """Refuse a file in which there is nothing to read."""
    if not is_file(path):
        raise MissingInputError("is missing")
    if path.stat().st_size == 0:
        raise InputError("is an empty file", "Write or copy it again")


@contextlib.contextmanager
def _errors_about(path: Path) -> Iterator[None]:
    """Errors name the file; the numbers that come of nonsense are refused, without warnings."""
    try:
        with np.errstate(all="ignore"):
            yield
    except InputError as error:
        raise error.about(path.name) from None
    except OSError as error:
        raise unreadable(error).about(path.name) from None
