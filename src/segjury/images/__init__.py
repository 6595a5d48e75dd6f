"""Read and write image files; the only place that knows formats.

One file per format. All decode what they read here, as libraries trust headers that may lie: every
header is checked before memory is taken for what it claims, and no more is unpacked than that.
MHA and NRRD are written with SimpleITK.
"""

from __future__ import annotations

from segjury.images.finding import SUFFIXES, candidates, find, is_file, is_folder
from segjury.images.formats.npz import read_nnunet_probability
from segjury.images.formats.values import whole_numbers
from segjury.images.reading import (
    read_grid,
    read_mask,
    read_probability,
    read_volume,
    suffix_of,
    write_volume,
)

__all__ = [
    "SUFFIXES",
    "candidates",
    "find",
    "is_file",
    "is_folder",
    "read_grid",
    "read_mask",
    "read_nnunet_probability",
    "read_probability",
    "read_volume",
    "suffix_of",
    "whole_numbers",
    "write_volume",
]
