"""Numbers, names, lists and tables in words, for people, LaTeX and Markdown."""

from __future__ import annotations

import math
import re
import textwrap
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from segjury.errors import escaped, is_hidden

NONE = "–"  # noqa: RUF001  (a dash stands for no number)
_UNITS = {"cm3": "cm³", "mm3": "mm³", "degree": "degrees", "deg": "degrees"}
_LONGEST = 1e15  # from here on numbers have an exponent
_ALONE = 4  # letters that do not make a line
_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "×": r"$\times$",  # noqa: RUF001  (a sign, not a letter)
    "\N{MINUS SIGN}": "$-$",
    "\N{EN DASH}": "--",
    "…": r"\dots{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "²": "$^{2}$",
    "³": "$^{3}$",
    "°": r"$^{\circ}$",
    "µ": r"$\mu$",
    "χ": r"$\chi$",
}
# what stands between the parts of a split cell, before the second, and whether both have a style
_SPLITS = {" ± ": (r" $\pm$ ", "", True), " (": (" ", "(", False)}
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|<>&~$-])")

# ---- numbers -------------------------------------------------------------------------------


def number(value: float, digits: int) -> str:
    """A number with a fixed count of decimals and a true minus; a dash where there is none."""
    if not math.isfinite(value):
        return NONE
    text = f"{value:.{digits}f}" if abs(value) < _LONGEST else f"{value:.3e}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "\N{MINUS SIGN}")


def rank(value: float) -> str:
    """A rank: whole where it is, halves and thirds of ties to two digits."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else NONE


def p_value(p: float, *, digits: int | None = None) -> str:
    """P in a sentence: `0.034`, `1.2e-05`; with `digits`, as in a column: `0.034`, `<0.001`."""
    if digits is None:
        return f"{p:.2g}" if p >= 0.001 else f"{p:.1e}"
    least = 10.0**-digits
    return f"{p:.{digits}f}" if p >= least else f"<{least:.{digits}f}"


def p_text(p: float, alpha: float) -> str:
    """P as journals print it: `<.001`, `.004`, `.03`; never rounded up to alpha."""
    least = min(0.001, alpha)
    if p < least:
        return f"<{least:.4g}".replace("0.", ".", 1)
    digits = 3 if p < 0.01 else 2
    if p < alpha <= round(p, digits):
        return f"<{alpha:.4g}".replace("0.", ".", 1)
    if round(p, digits) >= 1:
        return "1" if p == 1 else ">.99"
    return f"{p:.{digits}f}".removeprefix("0")


def p_words(p: float, alpha: float) -> str:
    """P in a sentence: `p < .001`, `p = .03`."""
    text = p_text(p, alpha)
    return f"p {text[0]} {text[1:]}" if text[0] in "<>" else f"p = {text}"


def plural(count: int, noun: str) -> str:
    """A number of things: `1 pair`, `15 pairs`."""
    return f"{count} {noun}" + ("" if count == 1 else "s")


def listed(names: Iterable[object], *, most: int | None = None, last: str = ", ") -> str:
    """Names in a row: `A, B, C`, or, of more than `most`, `A, B and 3 more`.

    `last` stands before the last of all: " and " in a sentence.
    """
    texts = list(map(str, names))
    if most is not None and len(texts) > most:
        return f"{', '.join(texts[:most])} and {len(texts) - most} more"
    return ", ".join(texts[:-1]) + last + texts[-1] if len(texts) > 1 else "".join(texts)


def grouped(lines: Sequence[str], *, most: int = 10, about: str = "") -> list[str]:
    """The first of many lines alike, and how many more there are; `about` begins that line."""
    more = len(lines) - most
    return [*lines[:most], f"{about}{more:,} more like these"] if more > 0 else list(lines)


def unit(text: str) -> str:
    """A unit as it is printed."""
    return _UNITS.get(text, text)


# ---- names ---------------------------------------------------------------------------------


def plain(text: object) -> str:
    """Text safe to draw: no control or invisible characters, runs of space as one."""
    visible = (" " if _is_invisible(char) else char for char in str(text))
    return " ".join("".join(visible).split())


def _is_invisible(char: str) -> bool:
    """Hidden, private or not assigned, so that no font has it."""
    return is_hidden(char) or unicodedata.category(char)[0] == "C"


def wrapped(text: object, *, width: int = 34, lines: int = 2) -> str:
    """A name on at most `lines` lines of `width` characters; a longer one loses its middle.

    No character stands alone on the last line.
    """
    name = plain(text)
    half = width * lines // 2
    while len(pieces := textwrap.wrap(name, width)) > lines:
        name = f"{name[:half].rstrip()}…{name[-half:].lstrip()}"
        half -= 1
    while len(pieces) > 1 and len(pieces[-1]) < _ALONE < width:
        width -= 1
        narrower = textwrap.wrap(name, width)
        if len(narrower) > lines:
            break
        pieces = narrower
    return "\n".join(pieces)


# ---- tables --------------------------------------------------------------------------------


def latex_escaped(text: str) -> str:
    """Text that LaTeX prints as it is, what cannot be seen written out."""
    shown = escaped(" ".join(text.split()))
    apart = {at + 1 for at in range(len(shown) - 1) if shown[at : at + 2] == "--"}  # no dash of two
    return "".join(
        ("{}" if at in apart else "") + _LATEX_SPECIAL.get(char, char)
        for at, char in enumerate(shown)
    )


def latex_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str,
    label: str = "",
    split: Mapping[int, str] | None = None,
    best: Container[tuple[int, int]] = (),
    second: Container[tuple[int, int]] = (),
) -> str:
    """A table of text cells, the first column to the left and the others to the right.

    `split` says of columns what divides their cells in two, ` ± ` or ` (`: there they are aligned.
    `best` are cells in bold, `second` cells that are underlined, by row and column. Needs the
    package booktabs.
    """
    parts = split or {}
    kinds = "".join(
        f"r@{{{_SPLITS[parts[place]][0]}}}l" if place in parts else "r"
        for place in range(1, len(head))
    )
    heads = [
        rf"\multicolumn{{2}}{{c}}{{{latex_escaped(name)}}}" if n in parts else latex_escaped(name)
        for n, name in enumerate(head)
    ]
    lines = [
        [
            _latex_cell(cell, parts.get(place, ""), (row, place) in best, (row, place) in second)
            for place, cell in enumerate(cells)
        ]
        for row, cells in enumerate(rows)
    ]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_escaped(caption)}}}",
            *([rf"\label{{{label}}}"] if label else []),
            rf"\begin{{tabular}}{{l{kinds}}}",
            r"\toprule",
            _latex_line(heads),
            r"\midrule",
            *map(_latex_line, lines),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _latex_cell(cell: str, split: str, best: bool, second: bool) -> str:
    """A cell, or the two that it is split in."""
    style = r"\textbf{%s}" if best else r"\underline{%s}" if second else "%s"
    left, sign, right = cell.partition(split) if split else (cell, "", "")
    if split and not sign:
        return rf"\multicolumn{{2}}{{c}}{{{style % latex_escaped(cell)}}}"
    if not split:
        return style % latex_escaped(cell)
    _, before, both = _SPLITS[split]
    behind = before + latex_escaped(right)
    return f"{style % latex_escaped(left)} & {style % behind if both else behind}"


def _latex_line(cells: Sequence[str]) -> str:
    line = " & ".join(cells)
    guard = "{}" if line.startswith(("[", "*")) else ""  # or it is the option of the line before
    return guard + line + r" \\"


def markdown_escaped(text: str) -> str:
    """Text that Markdown and HTML take for nothing but text, what cannot be seen written out."""
    shown = _MARKDOWN_SPECIAL.sub(r"\\\1", escaped(" ".join(text.split())))
    return shown.replace("\\<", "&lt;").replace("\\>", "&gt;")


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table of text cells, each on one line."""
    for cells in (head, None, *rows):
        texts = ["---"] * len(head) if cells is None else [markdown_escaped(cell) for cell in cells]
        yield f"| {' | '.join(texts)} |"
