"""Read and write image files; the only place that knows formats."""

from __future__ import annotations

from segjury.images.finding import candidates, find, is_file, is_folder, is_picture, suffix
from segjury.images.formats import SUFFIXES, WRITTEN
from segjury.images.formats.npz import read_nnunet_probability
from segjury.images.formats.values import whole_numbers
from segjury.images.reading import (
    check_header,
    read_grid,
    read_label_numbers,
    read_mask,
    read_probability,
    read_segment_names,
    read_volume,
    suffix_of,
    write_volume,
    written_suffix,
)

__all__ = [
    "SUFFIXES",
    "WRITTEN",
    "candidates",
    "check_header",
    "find",
    "is_file",
    "is_folder",
    "is_picture",
    "read_grid",
    "read_label_numbers",
    "read_mask",
    "read_nnunet_probability",
    "read_probability",
    "read_segment_names",
    "read_volume",
    "suffix",
    "suffix_of",
    "whole_numbers",
    "write_volume",
    "written_suffix",
]
