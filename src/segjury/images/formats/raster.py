"""PNG and TIFF files, decoded by Pillow: two-dimensional, or a stack of pages in z.

They tell no place in space, and a resolution in them is mostly that of a print: a pixel counts as
1 mm wide. Of labels, the grey value or the index into the palette counts, never a colour. Size,
kind and packing are looked at before Pillow decodes anything.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from segjury.errors import InputError
from segjury.images.formats.libraries import refuse_what_a_library_refuses
from segjury.images.formats.limits import refuse_much_more
from segjury.images.formats.streams import Change, as_stored
from segjury.images.formats.wanted import Wanted
from segjury.images.grid import Grid
from segjury.images.volume import Volume

if TYPE_CHECKING:  # here, as most commands read no picture
    from PIL.Image import Image

SUFFIXES = (".png", ".tif", ".tiff")
MOST_PIXELS = 1 << 26  # of a page
MOST_PAGES = 1 << 12
MOST_VOXELS = 1 << 28
PNG_START = struct.Struct(">8s8xIIBB")
PNG_MAGIC = b"\x89PNG\r\n\x1a\n"
TIFF_MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
PALETTE = 3  # the type of a PNG whose values are indices
# what Pillow calls kinds of pixels, and what numpy does
TYPES = {"1": "?", "L": "u1", "P": "u1", "I": "i4", "F": "f4", "RGB": "u1"} | {
    f"I;16{order}": "u2" for order in ("", "L", "B", "N")
}
ALPHA = ("LA", "La", "PA", "RGBA", "RGBa")
# tags of a TIFF file
BITS, COMPRESSION, PHOTOMETRIC, DESCRIPTION, STRIPS, ORIENTATION = 258, 259, 262, 270, 273, 274
ROWS_PER_STRIP, TILE_WIDTH, TILE_LENGTH, TILES, SAMPLE_FORMAT = 278, 322, 323, 324, 339
RAW, PACKINGS = 1, (1, 5, 8, 32946, 32773)  # none, LZW, deflate, deflate by its old name, PackBits
SAMPLES = {  # bits, and 1 for whole numbers, 2 for those with a sign, 3 for floats
    (1, 1), (8, 1), (16, 1), (32, 1), (16, 2), (32, 2), (32, 3),
}  # fmt: skip
BLACK_IS_0, RGB, INDEX = 1, 2, 3
FIX = "Store one grey value per pixel"


def read(path: Path, wanted: Wanted, change: Change = as_stored) -> Volume:
    """The image in a file, its pixels changed as they are read."""
    with _opened(path) as image:
        grid = _grid(image, path, wanted)
        kind = change(np.empty(0, TYPES[image.mode])).dtype
        array = np.zeros(grid.shape, kind, order="F")
        for page in range(grid.shape[2]):
            image.seek(page)
            array[:, :, page] = change(_pixels(image).T)
    return Volume(array, grid)


def read_grid(path: Path) -> Grid:
    """The grid of a file: its size, in voxels of 1 mm."""
    with _opened(path) as image:
        return _grid(image, path, Wanted())


def check(path: Path, wanted: Wanted) -> None:
    """Refuse a file by its size and kind, without decoding it."""
    with _opened(path) as image:
        _grid(image, path, wanted)


@contextmanager
def _opened(path: Path) -> Iterator[Image]:
    """A file of which the header alone was read, by the one decoder that its ending names."""
    from PIL.PngImagePlugin import PngImageFile
    from PIL.TiffImagePlugin import TiffImageFile

    with path.open("rb") as file, refuse_what_a_library_refuses():
        if path.name.endswith(".png"):
            _refuse_png(file)
            image: Any = PngImageFile(file)
            if image.n_frames > 1:
                raise InputError("is a moving picture", FIX)
        else:
            if file.read(4) not in TIFF_MAGIC:
                raise InputError("is not a TIFF file", "Write it again, or give it its true ending")
            file.seek(0)
            image = TiffImageFile(file)
        yield image


def _refuse_png(file: BinaryIO) -> None:
    """Refuse a PNG by its first bytes, before Pillow sees it."""
    start = file.read(PNG_START.size)
    if not start.startswith(PNG_MAGIC):
        raise InputError("is not a PNG file", "Write it again, or give it its true ending")
    if len(start) < PNG_START.size:
        raise EOFError("it is cut short")
    _, width, height, depth, kind = PNG_START.unpack(start)
    _refuse_size(width, height)
    # fewer bits of grey are spread over a byte when decoded, and two bytes of a colour cut to one
    if (kind != PALETTE and depth in (2, 4)) or (kind == RGB and depth == 16):
        raise InputError(f"has {depth} bits per value", "Store 8 bits per pixel")
    file.seek(0)


def _refuse_size(width: int, height: int) -> None:
    if not (width > 0 and height > 0) or width * height > MOST_PIXELS:
        what = f"claims {width} x {height} pixels in its header, at most {MOST_PIXELS}"
        raise InputError(what, "Crop it")


def _grid(image: Image, path: Path, wanted: Wanted) -> Grid:
    """The grid of all pages, which must be of one size and kind."""
    expected = wanted.grid.shape if wanted.grid else wanted.shape
    most = max(expected) if expected else MOST_PAGES
    size, mode, n_pages = image.size, image.mode, 0
    while _has_page(image, n_pages):
        if n_pages == most:
            raise InputError(f"has more than {most} pages", "Store one volume", kind="other-shape")
        _refuse_size(*image.size)
        if (image.size, image.mode) != (size, mode):
            raise InputError("has pages of different sizes or kinds", "Store one size in a file")
        if not path.name.endswith(".png"):
            _refuse_tiff(image)
        n_pages += 1
    _refuse_hidden_pages(image, n_pages)
    if mode in ALPHA:
        raise InputError("has an alpha channel", "Store it without")
    if mode not in TYPES:
        raise InputError(f"has pixels of kind {mode}", FIX)
    grid = Grid((*size, n_pages))
    wanted.refuse_other_shape(grid.shape, lambda: grid)
    n_voxels = size[0] * size[1] * n_pages
    if n_voxels > MOST_VOXELS:
        raise InputError(f"claims {grid.shape} voxels, more than {MOST_VOXELS}", "Crop it")
    refuse_much_more(path.stat().st_size, n_voxels * np.dtype(TYPES[mode]).itemsize)
    return grid


def _has_page(image: Image, number: int) -> bool:
    try:
        image.seek(number)
    except EOFError:
        return False
    return True


def _refuse_tiff(image: Any) -> None:
    """Refuse a page whose values Pillow would not give as they are stored, or not read whole."""
    tags = image.tag_v2
    packing, photometric = tags.get(COMPRESSION, RAW), tags.get(PHOTOMETRIC, 0)
    if packing not in PACKINGS:
        raise InputError(f"is compressed in way {packing}", "Store it raw, or with LZW or deflate")
    if photometric not in (BLACK_IS_0, RGB, INDEX):
        what = f"says 'PhotometricInterpretation' is {photometric}"
        raise InputError(what, f"{FIX}, 0 for black")
    samples = {*zip(tags.get(BITS, (1,)), (*tags.get(SAMPLE_FORMAT, ()), 1, 1, 1), strict=False)}
    if not samples <= SAMPLES or (photometric == RGB and samples != {(8, 1)}):
        shown = " and ".join(f"{bits} bits" for bits, _ in sorted(samples))
        raise InputError(f"has values of {shown}", "Store 8 or 16 bits, or float32")
    if tags.get(ORIENTATION, 1) != 1:
        raise InputError("has its rows in another order", "Store the first row first")
    _refuse_missing_parts(tags, *image.size)


def _refuse_hidden_pages(image: Any, n_pages: int) -> None:
    """Refuse a stack of ImageJ that has more slices than pages, behind the last one."""
    image.seek(0)
    description = str(image.tag_v2.get(DESCRIPTION, "")) if image.format == "TIFF" else ""
    stated = description.partition("images=")[2].split()[:1]
    if description.startswith("ImageJ=") and stated not in ([], [str(n_pages)]):
        raise InputError("hides further pages behind its last", "Store it as plain TIFF")


def _refuse_missing_parts(tags: Any, width: int, height: int) -> None:
    """Refuse a page whose strips or tiles do not cover it."""
    if STRIPS in tags:
        rows, count = tags.get(ROWS_PER_STRIP, height), len(tags[STRIPS])
        whole = rows > 0 and count * rows >= height
    else:
        across, down, count = tags.get(TILE_WIDTH, 0), tags.get(TILE_LENGTH, 0), len(tags[TILES])
        whole = across > 0 and down > 0 and count >= -(-width // across) * -(-height // down)
    if not whole:
        raise InputError("is cut short", "Write or copy it again")


def _pixels(image: Image) -> NDArray[Any]:
    """The values of the page that the file stands at, rows first."""
    pixels = np.asarray(image)
    if image.mode == "RGB":
        if (pixels != pixels[:, :, :1]).any():
            raise InputError("has colours", "Store labels as grey values, or with a palette")
        pixels = pixels[:, :, 0]
    return pixels.astype(TYPES[image.mode], copy=False)
