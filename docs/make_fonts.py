"""Make the small fonts of figures: DejaVu Sans, which comes with matplotlib, with fewer glyphs.

Every PDF embeds the letters that it uses, and picking them out of the whole font, which has 6000,
takes longer than drawing the figure. Run it again when `LETTERS` changes, and commit the files:

    python docs/make_fonts.py
"""

from __future__ import annotations

import shutil
from pathlib import Path

from fontTools import subset
from matplotlib import get_data_path

from segjury.report.figures.drawing.style import FONTS, SMALL_FONT

STYLES = ("DejaVuSans", "DejaVuSans-Bold")
LICENCE = "LICENSE_DEJAVU"
LETTERS = (
    *range(0x20, 0x250),  # Latin
    *range(0x370, 0x530),  # Greek and Cyrillic
    *range(0x2010, 0x2070),  # dashes, quotes, dots
    *range(0x2070, 0x20A0),  # superscripts and subscripts
    *range(0x2190, 0x2200),  # arrows
    *range(0x2200, 0x2300),  # mathematical symbols
    *range(0x25A0, 0x2600),  # geometric shapes
)
FAMILY_NAMES = (1, 16)  # entries of a font's table of names


def write_small_font(source: Path, target: Path) -> None:
    """Write the letters of a font to a font named as figures ask for it."""
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
        for entry in font["name"].names:
            if entry.nameID in FAMILY_NAMES:
                entry.string = SMALL_FONT
        font.recalcTimestamp = False  # the same bytes each time
        subset.save_font(font, target, options)


if __name__ == "__main__":
    whole = Path(get_data_path(), "fonts", "ttf")
    FONTS.mkdir(exist_ok=True)
    for style in STYLES:
        write_small_font(whole / f"{style}.ttf", FONTS / f"{style}.ttf")
    shutil.copyfile(whole / LICENCE, FONTS / LICENCE)
