"""Smaller SVG files: the same picture without what no viewer needs.

matplotlib repeats clip path and style with every dot, names every group and writes six digits after
the point. Here each style is written once, as a class. Only tags are touched, never the text
between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_HEAD = re.compile(r"<!DOCTYPE[^>]*>|<metadata>.*?</metadata>", re.DOTALL)
# matplotlib escapes < and > in texts and attributes, so this is a tag and nothing else
_TAGS = re.compile(r"(<[^<>]*>)")
_ATTRIBUTE = re.compile(r'([\w:-]+)="([^"]*)"')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_STEP = re.compile(r"([A-Za-z])([^A-Za-z]*)")
_RUN = re.compile(
    r"<g class='(?P<look>\w+)'>(?:<use[^>]*/>)+</g>"
    r"(?:<g class='(?P=look)'>(?:<use[^>]*/>)+</g>)+"
)
_SAME_MARKS = re.compile(
    r"<use xlink:href='#(?P<mark>\w+)' x='[^']*' y='[^']*' class='(?P<look>\w+)'/>"
    r"(?:<use xlink:href='#(?P=mark)' x='[^']*' y='[^']*' class='(?P=look)'/>){7,}"
)
_SAME_PATHS = re.compile(
    r"<path d='[^']*' class='(?P<look>\w+)'/>(?:<path d='[^']*' class='(?P=look)'/>)+"
)
_PLACE = re.compile(r" x='([^']*)' y='([^']*)'")
_MEASURES = ("x", "y", "width", "height", "transform", "points")
# Verdana and Geneva are as wide as DejaVu Sans, which few computers have
_FONTS = "'DejaVu Sans',Verdana,Geneva,sans-serif"
_STYLE = (
    "*{stroke-linejoin:round;stroke-linecap:butt}"
    "text{white-space:pre;font-family:" + _FONTS + "}"  # runs of space part words
)
_ROUNDING = 0.03  # of points with two digits


def slim(svg: str) -> str:
    """The drawing in fewer bytes, to a hundredth of a point."""
    sheet = _Sheet()
    body = "".join(sheet.written(_HEAD.sub("", svg)))
    body = _SAME_MARKS.sub(_marked_line, _RUN.sub(_one_group, body))
    body = _SAME_PATHS.sub(sheet.one_path, body)
    return body.replace("<style></style>", f"<style>{_STYLE}{sheet.rules()}</style>", 1)


@dataclass
class _Sheet:
    """The styles and names met so far, each with its short name."""

    looks: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def written(self, svg: str) -> Iterator[str]:
        """The tags and texts of the drawing."""
        dropped: list[bool] = []  # of the groups that are open
        reading = False
        for piece in _TAGS.split(svg):
            if not piece.startswith("<"):
                yield piece if reading else ""
                continue
            if piece.startswith("<text"):
                reading = True
            if piece.startswith("</g"):
                yield "" if dropped.pop() else piece
                continue
            tag = self._tag(piece)
            if tag == "<g>" or (piece.startswith("<g") and not piece.endswith("/>")):
                dropped.append(tag == "<g>")
            yield "" if tag in ("<g>", "<g/>") else tag
            if piece.startswith(("</text", "</style")):
                reading = False

    def rules(self) -> str:
        """The styles as CSS."""
        return "".join(f".{name}{{{look}}}" for look, name in self.looks.items())

    def one_path(self, run: re.Match[str]) -> str:
        """Paths of one look in a row as one, unless they shine through where they overlap."""
        looks = {name: look for look, name in self.looks.items()}
        if "opacity" in looks[run["look"]]:
            return run.group()
        return re.sub(rf"' class='{run['look']}'/><path d='", "", run.group())

    def _tag(self, tag: str) -> str:
        name, _, rest = tag[1:-1].partition(" ")
        if tag.startswith(("</", "<?", "<!")):
            return tag
        if name == "style":
            return "<style>"
        given = dict(_ATTRIBUTE.findall(rest))
        if name == "g":
            given.pop("id", None)
        look = self._look(given)
        kept = [
            _attribute(key, self._value(key, value))
            for key, value in given.items()
            if not value.startswith("rotate(-0 ")
        ]
        end = "/>" if tag.endswith("/>") else ">"
        return f"<{' '.join([name, *kept, *look])}{end}"

    def _look(self, given: dict[str, str]) -> list[str]:
        """Style and clip path, taken out of the attributes, as a class."""
        parts = []
        if "clip-path" in given:
            parts.append(f"clip-path:{self._renamed(given.pop('clip-path'))}")
        parts += [
            re.sub(r"\s*:\s*", ":", part.strip())
            for part in given.pop("style", "").split(";")
            if part.strip() and not part.strip().startswith("font-family")
        ]
        if not parts:
            return []
        look = ";".join(re.sub(r"(font:[^']*)'.*", rf"\1{_FONTS}", part) for part in parts)
        return [_attribute("class", self.looks.setdefault(look, f"c{len(self.looks)}"))]

    def _value(self, key: str, value: str) -> str:
        if key == "d":
            return _path(value)
        if key in _MEASURES:
            return _rounded(value)
        return self._renamed(value) if key in ("id", "xlink:href") and len(value) < 40 else value

    def _renamed(self, text: str) -> str:
        """References with short names: `url(#p1)`, `#m2`."""
        return re.sub(
            r"\b([pm])[0-9a-f]{10}\b",
            lambda match: self.names.setdefault(
                match.group(), f"{match.group(1)}{len(self.names)}"
            ),
            text,
        )


def _attribute(name: str, value: str) -> str:
    """In single quotes, so that a page can hold the drawing in double ones."""
    return f"{name}='{value}'" if "'" not in value else f'{name}="{value}"'


def _rounded(text: str) -> str:
    return _NUMBER.sub(lambda match: _number(float(match.group())), text)


def _number(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _path(text: str) -> str:
    """A path in short: circles as arcs, level and upright lines by one number."""
    steps = [
        (letter, [round(float(n), 2) for n in _NUMBER.findall(numbers)])
        for letter, numbers in _STEP.findall(text)
    ]
    circle = _circle(steps)
    if circle:
        return circle
    written, at = [], (math.nan, math.nan)
    for letter, numbers in steps:
        if letter == "L" and numbers[1] == at[1]:
            written.append(f"H{_number(numbers[0])}")
        elif letter == "L" and numbers[0] == at[0]:
            written.append(f"V{_number(numbers[1])}")
        else:
            written.append(letter + " ".join(map(_number, numbers)))
        at = (numbers[-2], numbers[-1]) if numbers else (math.nan, math.nan)
    return "".join(written)


def _circle(steps: list[tuple[str, list[float]]]) -> str:
    """The four or eight curves of a round marker as two arcs; nothing for any other path."""
    letters = "".join(letter for letter, _ in steps)
    if letters not in ("MCCCCz", "MCCCCCCCCz"):
        return ""
    (x, y), ends = steps[0][1], [numbers[-2:] for _, numbers in steps[1:-1]]
    ends = ends[len(ends) // 4 - 1 :: len(ends) // 4]  # after each quarter
    r = ends[0][0] - x
    quarters = [(x + r, y - r), (x, y - 2 * r), (x - r, y - r), (x, y)]
    if max(math.dist(end, place) for end, place in zip(ends, quarters, strict=True)) > _ROUNDING:
        return ""
    across = f"a{_number(r)} {_number(r)} 0 1 0 0 "
    return f"M{_number(x)} {_number(y)}{across}{_number(-2 * r)}{across}{_number(2 * r)}z"


def _one_group(run: re.Match[str]) -> str:
    """Marks within one frame, as one group."""
    return run.group().replace(f"</g><g class='{run['look']}'>", "")


def _marked_line(run: re.Match[str]) -> str:
    """Many marks of one look as an invisible line with a mark at each of its points."""
    name = f"k{run.start()}"
    points = " ".join(f"{x} {y}" for x, y in _PLACE.findall(run.group()))
    return (
        f"<marker id='{name}' markerUnits='userSpaceOnUse' overflow='visible'>"
        f"<use xlink:href='#{run['mark']}' class='{run['look']}'/></marker>"
        f"<path d='M{points}' fill='none' marker-start='url(#{name})' marker-mid='url(#{name})' "
        f"marker-end='url(#{name})'/>"
    )
