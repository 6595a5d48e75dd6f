"""The font of figures: DejaVu Sans, which comes with matplotlib, without most of its 6000 glyphs.

Every PDF embeds the letters that it uses, and picking them out of the whole font takes longer
than drawing the figure. Glyphs that the small font lacks are taken from the whole one.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from matplotlib import font_manager, get_data_path

SMALL = "segjury sans"
WHOLE = "DejaVu Sans"
STYLES = ("DejaVuSans", "DejaVuSans-Bold")
LETTERS = (
    *range(0x20, 0x250),  # Latin
    *range(0x370, 0x530),  # Greek and Cyrillic
    *range(0x2010, 0x2070),  # dashes, quotes, dots
    *range(0x2070, 0x20A0),  # superscripts and subscripts
    *range(0x2190, 0x2200),  # arrows
    *range(0x2200, 0x2300),  # mathematical signs
    *range(0x25A0, 0x2600),  # geometric shapes
)
FAMILY_NAMES = (1, 16)  # entries of a font's table of names


@cache
def families() -> tuple[str, str]:
    """The fonts to draw with, the small one made first; the same letters in the same places."""
    folder = tempfile.mkdtemp(prefix="segjury-font-")  # needed as long as the process lives
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for style in STYLES:
        path = Path(folder, f"{style}.ttf")
        _write_small(Path(get_data_path(), "fonts", "ttf", path.name), path)
        font_manager.fontManager.addfont(path)
    return SMALL, WHOLE


def _write_small(source: Path, target: Path) -> None:
    options = subset.Options(
        hinting=False,  # for screens of old; a third of the font
        layout_features=[],
        legacy_kern=True,
        name_IDs=["*"],
        notdef_outline=True,
    )
    options.drop_tables += ["GSUB", "GPOS", "GDEF", "FFTM"]
    with subset.load_font(source, options) as font:
        chosen = subset.Subsetter(options)
        chosen.populate(unicodes=LETTERS)
        chosen.subset(font)
        _rename(font)
        subset.save_font(font, target, options)


def _rename(font: TTFont) -> None:
    for entry in font["name"].names:
        if entry.nameID in FAMILY_NAMES:
            entry.string = SMALL
