"""Image formats, one file each: `SUFFIXES`, `read`, `read_grid`, `check` and, of some, `write`.

Volumes are decoded here, as libraries trust headers that may lie: every header is checked before
memory is taken for what it claims, and no more is unpacked than that. What a library must decode
(pictures, DICOM) is checked as far before it does.
"""

from __future__ import annotations

from types import ModuleType

from segjury.images.formats import dicom, mha, nifti, nrrd, raster, seg_nrrd

# the longer of two endings first
FORMATS: dict[str, ModuleType] = {
    suffix: format_
    for format_ in (nifti, mha, seg_nrrd, nrrd, raster, dicom)
    for suffix in format_.SUFFIXES
}
SUFFIXES = tuple(FORMATS)
WRITTEN = tuple(suffix for suffix, format_ in FORMATS.items() if hasattr(format_, "write"))
