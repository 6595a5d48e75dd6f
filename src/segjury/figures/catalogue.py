"""All kinds of figures that a table of scores can carry."""

from __future__ import annotations

from segjury.figures import blobs
from segjury.figures.kind import Kind

KINDS: dict[str, Kind] = {kind.name: kind for family in (blobs,) for kind in family.KINDS}
