"""Formats that are not read, by the endings of their files: what they are, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Unread(NamedTuple):
    """A format that is not read: its name with its article, and what to do."""

    name: str
    fix: str = "convert it to .nii.gz"


UNPACK = "unpack it"
DRAW = "fill it on the grid of the reference and store that as .nii.gz"
ARRAY = "store it with its voxel size as .nii.gz"
UNREAD = {
    ".mgz": Unread("a FreeSurfer volume"),
    ".mgh": Unread("a FreeSurfer volume"),
    ".img": Unread("an Analyze or NIfTI pair"),
    ".img.gz": Unread("an Analyze or NIfTI pair"),
    ".hdr": Unread("an Analyze or NIfTI pair"),
    ".mhd": Unread("a MetaImage with its data in another file", "store it as one .mha file"),
    ".raw": Unread("voxels without a header"),
    ".zraw": Unread("voxels without a header", "store it as one .mha file"),
    ".nhdr": Unread("an NRRD with its data in another file", "store it as one .nrrd file"),
    ".mnc": Unread("a MINC volume"),
    ".minc": Unread("a MINC volume"),
    ".gipl": Unread("a GIPL volume"),
    ".gipl.gz": Unread("a GIPL volume"),
    ".nii.bz2": Unread("NIfTI in bzip2", "pack it with gzip"),
    ".nii.xz": Unread("NIfTI in xz", "pack it with gzip"),
    ".nii.zst": Unread("NIfTI in zstd", "pack it with gzip"),
    ".zip": Unread("an archive", UNPACK),
    ".tar": Unread("an archive", UNPACK),
    ".tar.gz": Unread("an archive", UNPACK),
    ".7z": Unread("an archive", UNPACK),
    ".npy": Unread("an array without a voxel size", ARRAY),
    ".npz": Unread("an archive of arrays", ARRAY),
    ".h5": Unread("an HDF5 file", ARRAY),
    ".hdf5": Unread("an HDF5 file", ARRAY),
    ".mat": Unread("a MATLAB file", ARRAY),
    ".pt": Unread("a file of PyTorch", ARRAY),
    ".stl": Unread("a surface", DRAW),
    ".obj": Unread("a surface", DRAW),
    ".ply": Unread("a surface", DRAW),
    ".vtk": Unread("a VTK file"),
    ".vti": Unread("a VTK image"),
    ".vtp": Unread("a surface", DRAW),
    ".jpg": Unread("a JPEG picture, in which labels are not kept", "store it as .png"),
    ".jpeg": Unread("a JPEG picture, in which labels are not kept", "store it as .png"),
    ".bmp": Unread("a bitmap picture", "convert it to .png"),
    ".gif": Unread("a GIF picture", "convert it to .png"),
    ".dicom": Unread("DICOM by another ending", "call it .dcm"),
    ".nii.gz.gz": Unread("NIfTI that is packed twice", "unpack it once"),
}


def unread_sibling(folder: Path, stem: str) -> str:
    """What to say of a file `stem` that is there in a format that is not read; or nothing."""
    for suffix, (name, fix) in UNREAD.items():
        path = folder / f"{stem}{suffix}"
        try:
            there = path.is_file()
        except OSError:  # the folder may not be entered
            return ""
        if there:
            return f"there is {path.name}, {name}, which is not read; {fix}"
    return ""
