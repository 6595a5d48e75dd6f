"""Image files of any known format: volumes, masks and probability maps."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from segjury.arrays import Shape
from segjury.errors import InputError, MissingInputError, unreadable
from segjury.images.finding import is_file, suffix
from segjury.images.formats import FORMATS, SUFFIXES, npz
from segjury.images.formats.streams import Change, as_stored
from segjury.images.formats.values import Labels, Numbers, Probabilities
from segjury.images.grid import Grid
from segjury.images.labels import LabelMap, SparseLabels
from segjury.images.volume import Volume
from segjury.runtime.writing import whole_file


def read_volume(path: Path, *, expected_shape: Shape | None = None) -> Volume:
    """Read an image of any known format.

    Parameters
    ----------
    path : Path
        A file that ends in one of `SUFFIXES`.
    expected_shape : tuple of int, optional
        Refuse another shape before memory is taken for it.

    Returns
    -------
    Volume
        Values as stored, header scaling applied, and their grid.
    """
    with _errors_about(path):
        return _read(path, expected_shape, as_stored)


def _read(path: Path, expected_shape: Shape | None, change: Change) -> Volume:
    format_ = FORMATS[suffix_of(path)]
    _refuse_absent(path)
    volume: Volume = format_.read(path, expected_shape, change)
    return volume


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

    Reading would refuse it too, in the same words.
    """
    check = npz.check if path.suffix == ".npz" else FORMATS[suffix_of(path)].check
    with _errors_about(path):
        _refuse_absent(path)
        check(path, expected_shape)


def read_mask(
    path: Path, *, labels: Collection[int], expected_shape: Shape | None = None
) -> LabelMap:
    """Read a mask or label map.

    Parameters
    ----------
    path : Path
        A file that ends in one of `SUFFIXES`.
    labels : collection of int
        The labels that the mask may have, 1 to 255; 0 is always allowed, others are refused.
        Floats close to whole numbers are rounded.
    expected_shape : tuple of int, optional
        Refuse another shape before memory is taken for it.

    Returns
    -------
    LabelMap
        The labelled voxels and their grid; `dense()` gives an array.
    """
    check_labels = Labels(labels)
    with _errors_about(path):
        volume = _read(path, expected_shape, check_labels)
        check_labels.check()
    return LabelMap(SparseLabels.of(volume.array, volume.spans), volume.grid)


def read_label_numbers(path: Path) -> tuple[int, ...]:
    """Read which labels a mask has, where nobody says which it may have.

    Parameters
    ----------
    path : Path
        A file that ends in one of `SUFFIXES`.

    Returns
    -------
    tuple of int
        The numbers from 1 to 255 that its voxels have, ascending; others are refused.
    """
    numbers = Numbers()
    with _errors_about(path):
        _read(path, None, numbers)
        numbers.check()
    return numbers.found


def read_probability(path: Path, *, expected_shape: Shape | None = None) -> Volume:
    """Read a probability map; refuse NaN and what leaves [0, 1].

    Parameters
    ----------
    path : Path
        A file that ends in one of `SUFFIXES`.
    expected_shape : tuple of int, optional
        Refuse another shape before memory is taken for it.

    Returns
    -------
    Volume
        Values in float32, or float64 where they are stored so, and their grid.
    """
    check_range = Probabilities()
    with _errors_about(path):
        volume = _read(path, expected_shape, check_range)
        check_range.check()
    return volume


def write_volume(path: Path, volume: Volume) -> None:
    """Write a volume; the file appears whole or not at all.

    Parameters
    ----------
    path : Path
        A file that ends in one of `SUFFIXES`.
    volume : Volume
        An array with axes x, y, z, and its grid.
    """
    format_ = FORMATS[suffix_of(path)]
    with whole_file(path) as partial:
        format_.write(partial, volume)


def suffix_of(path: Path) -> str:
    """The known suffix that a file's name ends in."""
    if end := suffix(path.name):
        return end
    raise InputError(f"{path.name} is of no known format", f"Use one of {', '.join(SUFFIXES)}")


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
