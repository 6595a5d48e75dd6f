"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Sequence
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from segjury.report.content import facts
from segjury.report.drawing import DrawnFigure, FigureGroup
from segjury.report.figures.drawing.marks import MARK_PATHS
from segjury.report.gaps import LISTED
from segjury.report.model import Report
from segjury.wording import plain

_PLAIN = " !'()*+,-./:;<=>?@[]^_`{|}~"  # characters that an address in double quotes may hold
_MIME = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
SCREEN_PX_PER_IN = 150  # type of 6.5 points is read on paper, not on a screen
WIDE_IN = 4.6  # figures wider than a column of the page


def page(report: Report) -> str:
    """The page; all text from outside is escaped, and nothing but our own script may run."""
    environment = Environment(
        loader=PackageLoader("segjury.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plain"] = plain
    environment.globals |= {
        "source": _source,
        "packed": _packed_csv,
        "size_px": _size_px,
        "wide": _wide,
        "alone": _alone,
    }
    style, script = _asset(environment, "report.css"), _asset(environment, "report.js")
    return environment.get_template("report.html.j2").render(
        report=report,
        content=report.content,
        facts=facts(report.content),
        marks=_marks(report),
        listed=LISTED,
        style=style,
        script=script,
        policy=_content_policy(style, script),
    )


def _source(drawn: DrawnFigure, file_format: str = "") -> Markup:
    """A file of a figure as an address that holds it; by default the one that is shown.

    Vectors are text with the few characters escaped that would end the address or the attribute.
    """
    file_format = file_format or drawn.inline
    data, start = drawn.files[file_format], f"data:{_MIME[file_format]}"
    if file_format == "svg":
        address = f"{start},{quote(data, safe=_PLAIN)}"
    else:
        address = f"{start};base64,{base64.b64encode(data).decode()}"
    return Markup(address)  # noqa: S704  (quoted above: no " or & is left)


def _packed_csv(drawn: DrawnFigure) -> str:
    """The data of a figure in gzip, the same bytes each time."""
    return base64.b64encode(gzip.compress(drawn.files["csv"], 9, mtime=0)).decode()


def _size_px(drawn: DrawnFigure) -> tuple[int, int]:
    width, height = drawn.size_in
    return round(width * SCREEN_PX_PER_IN), round(height * SCREEN_PX_PER_IN)


def _wide(group: FigureGroup) -> bool:
    return max(drawn.size_in[0] for drawn in group.figures) > WIDE_IN


def _alone(groups: Sequence[FigureGroup]) -> set[str]:
    """The narrow ones that have no neighbour, as figures stand in two columns."""
    lonely: set[str] = set()
    waiting = ""
    for group in groups:
        if waiting and not _wide(group):
            waiting = ""
            continue
        lonely |= {waiting} - {""}
        waiting = "" if _wide(group) else group.name
    return lonely | {waiting} - {""}


def _asset(environment: Environment, name: str) -> Markup:
    """Our own style or script, as it is."""
    assert environment.loader is not None  # noqa: S101  (set above)
    source, _, _ = environment.loader.get_source(environment, name)
    return Markup(source)  # noqa: S704  (a file of this package, nothing from outside)


def _content_policy(style: str, script: str) -> str:
    """Nothing is fetched, and no other style or script than ours is run."""
    return (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _marks(report: Report) -> dict[str, tuple[str, str]]:
    """Outline and colour of each method's mark, as in the figures."""
    looks = report.content.looks
    return {name: (MARK_PATHS[marker], colour) for name, (marker, colour) in looks.items()}
