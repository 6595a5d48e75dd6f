"""DICOM files that hold masks (`.dcm`): segmentations (SEG) and structure sets (RTSTRUCT).

They need the extra `dicom`. pydicom takes the file apart, and what it finds is checked and decoded
here: no compressed pixels, and nothing in another file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from segjury.errors import InputError
from segjury.images.formats.dicom import rtstruct, seg
from segjury.images.formats.dicom.datasets import load, needed
from segjury.images.formats.libraries import refuse_what_a_library_refuses
from segjury.images.formats.streams import Change, as_stored
from segjury.images.formats.wanted import Wanted
from segjury.images.grid import Grid
from segjury.images.volume import Volume

SUFFIXES = (".dcm",)
SEGS = ("1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7")  # bits, and a label map
RTSTRUCT = "1.2.840.10008.5.1.4.1.1.481.3"


def read(path: Path, wanted: Wanted, change: Change = as_stored) -> Volume:  # noqa: ARG001
    """The segments or structures in a file, for which labels must be wanted."""
    if wanted.labels is None:
        raise InputError("holds masks, no image", "Give a NIfTI, MHA or NRRD file")
    with _opened(path) as (kind, dataset):
        if kind == RTSTRUCT:
            return rtstruct.read(dataset, wanted)
        return seg.read(dataset, wanted)


def read_grid(path: Path) -> Grid:
    """The grid of a segmentation, from its first slice to its last; a structure set has none."""
    with _opened(path) as (kind, dataset):
        if kind == RTSTRUCT:
            raise rtstruct.without_grid()
        return seg.read_grid(dataset)


def check(path: Path, wanted: Wanted) -> None:  # noqa: ARG001, as a part may have any shape
    """Refuse a file by what it says, without decoding its pixels or contours."""
    with _opened(path) as (kind, dataset):
        if kind != RTSTRUCT:
            seg.check(dataset)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[str, Any]]:
    """What kind of object a file is, and what it holds; pydicom reads most of it when asked."""
    with refuse_what_a_library_refuses():
        dataset = load(path)
        kind = str(needed(dataset, "SOPClassUID"))
        if kind not in (*SEGS, RTSTRUCT):
            _refuse_kind(dataset)
        yield kind, dataset


def _refuse_kind(dataset: Any) -> NoReturn:
    modality = str(dataset.get("Modality", "?"))[:16]
    raise InputError(
        f"is a DICOM file of modality {modality!r}, expected SEG or RTSTRUCT",
        "Convert images to .nii.gz, e.g. with dcm2niix",
    )
