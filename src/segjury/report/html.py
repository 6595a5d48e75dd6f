"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from segjury.report.content import facts
from segjury.report.drawing import DrawnFigure, FigureGroup, packed
from segjury.report.figures.drawing.marks import MARK_PATHS
from segjury.report.gaps import LISTED
from segjury.wording import plain

if TYPE_CHECKING:
    from segjury.report.report import Report

_PLAIN = " !'()*+,-./:;<=>?@[]^_`{|}~"  # signs that an address in double quotes may hold
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


def _source(plate: DrawnFigure, form: str = "") -> Markup:
    """A file of a figure as an address that holds it; by default the one that is shown.

    Vectors are text with the few signs escaped that would end the address or the attribute.
    """
    form = form or plate.inline
    if form == "svg":
        address = f"data:{_MIME[form]},{quote(plate.files[form], safe=_PLAIN)}"
    else:
        address = f"data:{_MIME[form]};base64,{base64.b64encode(plate.files[form]).decode()}"
    return Markup(address)  # noqa: S704  (quoted above: no " or & is left)


def _packed_csv(plate: DrawnFigure) -> str:
    return base64.b64encode(packed(plate.files["csv"])).decode()


def _size_px(plate: DrawnFigure) -> tuple[int, int]:
    width, height = plate.size_in
    return round(width * SCREEN_PX_PER_IN), round(height * SCREEN_PX_PER_IN)


def _wide(family: FigureGroup) -> bool:
    return max(plate.size_in[0] for plate in family.plates) > WIDE_IN


def _alone(families: Sequence[FigureGroup]) -> set[str]:
    """The narrow ones that have no neighbour, as figures stand in two columns."""
    found: set[str] = set()
    waiting = ""
    for family in families:
        if waiting and not _wide(family):
            waiting = ""
            continue
        found |= {waiting} - {""}
        waiting = "" if _wide(family) else family.name
    return found | {waiting} - {""}


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
