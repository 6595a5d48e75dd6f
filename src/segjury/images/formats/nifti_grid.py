"""The grid of a NIfTI file: its unit of length, and which of sform, qform and pixdim counts.

A header tells the grid up to three times. The sform is an affine; the qform is a rotation, which
takes the voxel size from the pixdim. Which of the two is taken is as in ITK. ITK takes the voxel
size from the pixdim even beside an sform; here it is the sform's, and a pixdim that says
otherwise is a doubt.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from segjury.arrays import Floats, Shape
from segjury.errors import InputError
from segjury.images.formats.limits import checked_grid
from segjury.images.grid import Doubt, Grid, at_right_angles, nifti_unit_exponent

NIFTI_1 = 348  # bytes of its header
SCANNER = 1  # the code of a form that gives the place in the scanner
SAME_FORM = 1e-3  # of a voxel, by which sform and qform may differ and mean the same
SAME_SIZE = 1e-3  # of a voxel, by which sform and pixdim may


def grid_of(header: Any, shape: Shape) -> Grid:
    """Spacing, origin and direction in mm, turned from RAS to LPS.

    Without any orientation code, spacing alone counts, as in ITK.
    """
    affine, doubts = _affine(header)
    affine[:2] *= -1
    exponent = nifti_unit_exponent(int(header["xyzt_units"]))
    lengths = _lengths(affine)
    spacing = [_in_mm(length, exponent, header) for length in lengths]
    origin = affine[:3, 3] * 10.0**exponent
    return checked_grid(shape, spacing, origin, affine[:3, :3] / lengths, doubts)


def _affine(header: Any) -> tuple[Floats, tuple[Doubt, ...]]:
    """From voxels to the header's unit of length, and what speaks against it."""
    sform, qform = _sform(header), _qform(header)
    if sform is None:
        spaced = np.diag([-1.0, -1.0, 1.0, 1.0]) @ np.diag([*_pixdim(header), 1.0])
        return (spaced if qform is None else qform), ()
    if qform is not None and not at_right_angles(sform[:3, :3]):
        message = "has axes in its sform that are not at right angles: its qform is used"
        return qform, (Doubt("sheared-axes", message),)
    if qform is None or int(header["sform_code"]) == SCANNER or _close(sform, qform):
        return sform, _contradiction(header, sform, used="sform")
    return qform, _contradiction(header, sform, used="pixdim")


def _sform(header: Any) -> Floats | None:
    return np.array(header.get_sform(), float) if int(header["sform_code"]) else None


def _qform(header: Any) -> Floats | None:
    """The qform; where it is broken and there is no sform either, the file is refused."""
    from nibabel.spatialimages import HeaderDataError  # here, as most commands read no image

    if not int(header["qform_code"]):
        return None
    try:
        return np.array(header.get_qform(), float)
    except (ValueError, HeaderDataError) as error:  # of its quaternion, or its pixdim
        if int(header["sform_code"]):
            return None
        raise InputError(f"has a broken NIfTI header ({error})", "Write it again") from None


def _close(sform: Floats, qform: Floats) -> bool:
    """Whether two forms mean the same grid, up to the rounding of a quaternion."""
    most = SAME_FORM * _lengths(sform).min()
    return bool(np.allclose(sform, qform, rtol=0, atol=most))


def _contradiction(header: Any, sform: Floats, *, used: str) -> tuple[Doubt, ...]:
    """Whether the voxels have another size by the pixdim than by the sform."""
    lengths, pixdim = _lengths(sform), np.array(_pixdim(header))
    n_axes = min(int(header["dim"][0]), 3)  # beyond which a pixdim says nothing
    if np.allclose(pixdim[:n_axes], lengths[:n_axes], rtol=SAME_SIZE, atol=0):
        return ()
    exponent = nifti_unit_exponent(int(header["xyzt_units"]))
    sizes = {
        name: " x ".join(f"{_in_mm(side, exponent, header):.6g}" for side in sides)
        for name, sides in (("sform", lengths), ("pixdim", pixdim))
    }
    first, second = (f"of {size} mm by its {name}" for name, size in sizes.items())
    if used == "sform":
        return (Doubt("pixdim-differs", f"has voxels {first}, which is used, and {second}"),)
    return (Doubt("pixdim-differs", f"has voxels {first} and {second}, which is used"),)


def _lengths(affine: Floats) -> Floats:
    return np.asarray(np.linalg.norm(affine[:3, :3], axis=0))


def _pixdim(header: Any) -> list[float]:
    pixdim = [abs(float(length)) for length in header.get_zooms()[:3]]
    return [*pixdim, 1.0, 1.0][:3]


def _in_mm(length: float, exponent: int, header: Any) -> float:
    """A length in mm that was meant: NIfTI-1 keeps 0.4 as the float32 next to it, 0.4000000059."""
    stored = np.float32(length) if int(header["sizeof_hdr"]) == NIFTI_1 else np.float64(length)
    return float(Decimal(str(stored)).scaleb(exponent))
