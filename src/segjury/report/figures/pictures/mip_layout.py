"""Where the tiles of a picture of projections lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from segjury.report.figures.drawing.style import PAGE_WIDTH_IN
from segjury.report.figures.pictures.mip_scene import Scene
from segjury.report.figures.pictures.shared.layout import GAP_IN, TITLE_IN, Spot, name_height

MAIN, ENLARGED = "main", "enlarged"  # names of views
REFERENCE, REFERENCE_ENLARGED = "reference", "reference enlarged"
NUMBERS_IN = 0.13  # for a line of numbers below a tile, and for each line more
LINE_IN = 0.09
_HEAD_IN = 0.19
_NAMES_IN = 1.05  # for names of labels, left and right of the main view
_HIGHEST_VIEW_IN = 3.0
_HIGHEST_GRID_IN = 6.0
_MOST_COLUMNS = 6
_PAIR_GAP_IN = 0.02


def image_spots(scene: Scene) -> dict[str, Spot]:
    """The image and the reference, each with its enlarged part; below, the other two planes."""
    main, *others = (scene.size_mm(plane) for plane in scene.planes)
    below = max(height for _, height in others)
    scale = min(
        (PAGE_WIDTH_IN - 3 * GAP_IN) / (4 * main[0]),
        (PAGE_WIDTH_IN - GAP_IN) / sum(width for width, _ in others),
        _HIGHEST_VIEW_IN * 1.4 / (main[1] + below),
    )
    top_in, size = TITLE_IN + _HEAD_IN, (main[0] * scale, main[1] * scale)
    names = (MAIN, ENLARGED, REFERENCE, REFERENCE_ENLARGED)
    spots = {
        name: Spot(place * (size[0] + GAP_IN), top_in, *size) for place, name in enumerate(names)
    }
    left_in = 0.0
    for plane, (width, height) in zip(scene.planes[1:], others, strict=True):
        top = top_in + size[1] + _HEAD_IN
        spots[plane.name] = Spot(left_in, top, width * scale, height * scale)
        left_in += width * scale + GAP_IN
    return spots


def label_spots(scene: Scene) -> dict[str, Spot]:
    """The reference on the main plane with names at its sides, enlarged, and on the others."""
    sizes = [scene.size_mm(plane) for plane in scene.planes]
    main, *others = sizes
    names_in = _NAMES_IN if scene.several_labels else 0.0
    scale = min(
        (PAGE_WIDTH_IN - 2 * names_in - 3 * GAP_IN) / (main[0] + sum(width for width, _ in sizes)),
        _HIGHEST_VIEW_IN / max(height for _, height in sizes),
    )
    spots, left_in = {}, names_in
    named = [MAIN, ENLARGED, *(plane.name for plane in scene.planes[1:])]
    for name, (width, height) in zip(named, [main, main, *others], strict=True):
        spots[name] = Spot(left_in, TITLE_IN + _HEAD_IN, width * scale, height * scale)
        left_in += width * scale + GAP_IN + (names_in if name == MAIN else 0.0)
    return spots


def pair_spots(
    scene: Scene, below: Callable[[str, float], str], top_in: float
) -> list[tuple[Spot, Spot]]:
    """Places of an overview and an enlarged part per method, in as few columns as fit the page.

    `below` is what is written below the pair of a method whose tiles are so wide.
    """
    width, height = scene.size_mm(scene.plane)
    methods = list(scene.images.predictions)
    for columns in range(2 if len(methods) < 3 else 3, _MOST_COLUMNS + 1):
        tile_in = ((PAGE_WIDTH_IN + 2 * GAP_IN) / columns - 2 * GAP_IN - _PAIR_GAP_IN) / 2
        head_in = name_height(methods, name_width(tile_in))
        lines = max((below(m, tile_in).count("\n") for m in methods), default=0)
        row_in = head_in + tile_in * height / width + NUMBERS_IN + LINE_IN * lines
        if row_in * -(-len(methods) // columns) <= _HIGHEST_GRID_IN:
            break
    spots = []
    for index in range(len(methods)):
        row, column = divmod(index, columns)
        left_in = column * (2 * tile_in + _PAIR_GAP_IN + 2 * GAP_IN)
        overview = Spot(left_in, top_in + row * row_in + head_in, tile_in, tile_in * height / width)
        spots.append((overview, replace(overview, left_in=left_in + tile_in + _PAIR_GAP_IN)))
    return spots


def name_width(tile_in: float) -> int:
    """How many characters of a name fit above a pair."""
    return max(10, int((2 * tile_in - 0.15) / 0.056))
