"""Image formats, one file each: `SUFFIXES`, `read`, `read_grid`, `check` and `write`.

All decode what they read here, as libraries trust headers that may lie: every header is checked
before memory is taken for what it claims, and no more is unpacked than that.
"""

from __future__ import annotations

from types import ModuleType

from segjury.images.formats import mha, nifti, nrrd

FORMATS: dict[str, ModuleType] = {
    suffix: format_ for format_ in (nifti, mha, nrrd) for suffix in format_.SUFFIXES
}
SUFFIXES = tuple(FORMATS)
