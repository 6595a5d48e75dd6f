"""Pictures in 256 colours: files a third as large, with nothing lost that the eye would see."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segjury.arrays import Bools

GREYS = 40  # shades of the image; finer ones would mostly store its noise
EXACT = 160  # colours kept as they are, those of even areas: marks, lines, fills
MIXED = 256 - GREYS - EXACT  # colours for all others
_NO_HUE = 10  # difference of red, green and blue up to which a pixel is grey


def indexed_png(pixels: NDArray[np.uint8], dpi: int) -> bytes:
    """A PNG of pixels (rows, columns, red green blue) with a palette of shades and colours.

    Median cut alone would spend its colours on the image, and change those that mean something.
    """
    grey = np.ptp(pixels, axis=2) <= _NO_HUE
    index = np.zeros(grey.shape, np.uint8)
    index[grey] = np.round(pixels[grey].mean(axis=1) * ((GREYS - 1) / 255))
    shades = np.round(np.linspace(0, 255, GREYS)).astype(np.uint8)
    palette = np.repeat(shades[:, None], 3, axis=1)
    if not grey.all():
        even = np.zeros(grey.shape, bool)
        even[:, 1:] = (pixels[:, 1:] == pixels[:, :-1]).all(axis=2)
        numbers, colours = _colours(pixels[~grey], even[~grey])
        index[~grey] = numbers + GREYS
        palette = np.concatenate([palette, colours])
    picture = Image.fromarray(index)
    picture.putpalette(palette.ravel().tolist())
    stream = io.BytesIO()
    picture.save(stream, "png", optimize=True, dpi=(dpi, dpi))
    return stream.getvalue()


def _colours(pixels: NDArray[np.uint8], even: Bools) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Numbers of the pixels (n, red green blue) in a palette, and the palette."""
    packed = pixels.astype(np.int32) @ np.array([1 << 16, 1 << 8, 1], np.int32)
    codes, place = np.unique(packed, return_inverse=True)
    order = np.argsort(-np.bincount(place[even], minlength=len(codes)), kind="stable")
    colours = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=1).astype(np.uint8)
    exact, others = order[:EXACT], order[EXACT:]
    numbers = np.zeros(len(codes), np.intp)
    numbers[exact] = np.arange(len(exact))
    palette = colours[exact]
    if others.size:
        mixed = Image.fromarray(colours[others][None]).quantize(
            MIXED, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
        )
        numbers[others] = np.asarray(mixed)[0] + len(exact)
        more = np.array(mixed.getpalette(), np.uint8).reshape(-1, 3)[:MIXED]
        palette = np.concatenate([palette, more])
    return numbers[place], palette
