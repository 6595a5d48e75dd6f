"""Smaller SVG files: the same picture without what no viewer needs.

matplotlib repeats clip path and style with every dot, names every group and writes six digits after
the point. A page with a hundred figures is a third as large without that. Only tags are touched,
never the text between them.
"""

from __future__ import annotations

import math
import re

# matplotlib escapes < and > in texts and attributes, so this is a tag and nothing else
_TAG = re.compile(r"<[^<>]*>")
_HEAD = re.compile(r"<!DOCTYPE[^>]*>|<metadata>.*?</metadata>", re.DOTALL)
_NUMBERS = re.compile(r' (d|x|y|width|height|transform|points)="([^"]*)"')
_LONG = re.compile(r"(-?\d+)\.(\d{3,})")
_NO_TURN = re.compile(r' transform="rotate\(-?0 [^"]*\)"')
_GROUP_NAME = re.compile(r'(<g) id="[^"]*"')
_FAMILY = re.compile(r"font-family: 'DejaVu Sans'; ")
_DOT = (
    r'<g clip-path="(?P<clip>[^"]*)">'
    r'<use xlink:href="(?P<mark>[^"]*)" x="[^"]*" y="[^"]*" style="(?P<style>[^"]*)"/></g>'
)
_DOTS = re.compile(
    _DOT + r'(?:<g clip-path="(?P=clip)"><use xlink:href="(?P=mark)" x="[^"]*" y="[^"]*" '
    r'style="(?P=style)"/></g>)+'
)
_MARKS = re.compile(
    r'<use xlink:href="(?P<mark>[^"]*)" x="[^"]*" y="[^"]*" style="(?P<style>[^"]*)"/>'
    r'(?:<use xlink:href="(?P=mark)" x="[^"]*" y="[^"]*" style="(?P=style)"/>)+'
)
_SPLINES = re.compile(r' d="M( -?[\d.]+){2}( C( -?[\d.]+){6}){8} z"')  # eight, as of a round marker
_ROUNDING = 0.03  # of points with two digits
_PLACE = re.compile(r' x="([^"]*)" y="([^"]*)"')
# Verdana and Geneva are as wide as DejaVu Sans, which few computers have
_FONT = "text{font-family:'DejaVu Sans',Verdana,Geneva,sans-serif}"


def slim(svg: str) -> str:
    """The drawing in fewer bytes, to a hundredth of a point."""
    text = _HEAD.sub("", svg)
    text = _TAG.sub(lambda tag: _slim_tag(tag.group()), text)
    text = re.sub(r">\s+<", "><", text)
    text = _DOTS.sub(_grouped_dots, text)
    text = _MARKS.sub(_grouped_marks, text)
    return text.replace("</style>", f"{_FONT}</style>", 1)


def _slim_tag(tag: str) -> str:
    tag = _NO_TURN.sub("", _GROUP_NAME.sub(r"\1", _FAMILY.sub("", tag)))
    return _SPLINES.sub(_two_arcs, _NUMBERS.sub(_short_numbers, tag))


def _short_numbers(attribute: re.Match[str]) -> str:
    name, value = attribute.groups()
    short = _LONG.sub(lambda number: f"{round(float(number.group()), 2):g}", value)
    return f' {name}="{" ".join(short.split())}"'


def _two_arcs(splines: re.Match[str]) -> str:
    """A circle as such; any other closed curve as it is."""
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", splines.group())]
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    (x, y), r = points[0], points[6][0] - points[0][0]
    circle = [(x + r, y - r), (x, y - 2 * r), (x - r, y - r), (x, y)]  # after every second spline
    apart = [math.dist(end, wanted) for end, wanted in zip(points[6::6], circle, strict=True)]
    if max(apart) > _ROUNDING:
        return splines.group()
    across = f"A {r:g} {r:g} 0 1 0 {x:g}"
    return f' d="M {x:g} {y:g} {across} {y - 2 * r:g} {across} {y:g} z"'


def _grouped_dots(run: re.Match[str]) -> str:
    """Dots of one look within one frame, as one group."""
    return f'<g clip-path="{run["clip"]}" style="{run["style"]}">{_uses(run)}</g>'


def _grouped_marks(run: re.Match[str]) -> str:
    return f'<g style="{run["style"]}">{_uses(run)}</g>'


def _uses(run: re.Match[str]) -> str:
    return "".join(
        f'<use xlink:href="{run["mark"]}" x="{x}" y="{y}"/>' for x, y in _PLACE.findall(run.group())
    )
