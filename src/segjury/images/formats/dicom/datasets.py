"""What a DICOM file says, taken apart by pydicom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segjury.errors import InputError

MOST_BYTES = 1 << 27  # of which pydicom may make many times as much
MAGIC = slice(128, 132)
PLAIN = ("1.2.840.10008.1.2", "1.2.840.10008.1.2.1")  # little endian, neither packed nor deflated


def load(path: Path) -> Any:
    """All of a file, if it is one that takes no more memory than its own bytes."""
    try:
        from pydicom import dcmread  # here, as few files are DICOM
        from pydicom.filereader import read_file_meta_info
    except ImportError:
        raise InputError("is DICOM, which needs pydicom", "pip install 'segjury[dicom]'") from None
    with path.open("rb") as file:
        if file.read(MAGIC.stop)[MAGIC] != b"DICM":
            raise InputError("is not a DICOM file", "Write it again, or give it its true ending")
    n_bytes = path.stat().st_size
    if n_bytes > MOST_BYTES:
        raise InputError(f"has {n_bytes} bytes, at most {MOST_BYTES}", "Store fewer segments")
    packing = needed(read_file_meta_info(path), "TransferSyntaxUID")
    if packing not in PLAIN:
        what = f"is stored as {packing.name!r}"
        raise InputError(what, "Store it as explicit little endian, e.g. with gdcmconv --raw")
    return dcmread(path)


def needed(dataset: Any, name: str) -> Any:
    """The value of an element that must be there, and not be empty."""
    value = dataset.get(name)
    if value is None or (hasattr(value, "__len__") and not len(value)):
        raise InputError(f"has no {name}", "Write it again")
    return value


def count(dataset: Any, name: str) -> int:
    """The value of an element that says how many."""
    number = int(needed(dataset, name))
    if number < 1:
        raise InputError(f"has {name} {number}", "Write it again")
    return number


def numbers(dataset: Any, name: str, length: int) -> list[float]:
    """The finite numbers of an element, of which there must be so many."""
    values = needed(dataset, name)
    found = [float(value) for value in (values if isinstance(values, Sequence) else [values])]
    if len(found) != length or not all(map(math.isfinite, found)):
        raise InputError(f"has a broken {name}", "Write it again")
    return found


def text(dataset: Any, name: str) -> str:
    """The value of an element as text; empty where there is none."""
    return str(dataset.get(name) or "").strip()
