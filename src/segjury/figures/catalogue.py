"""All kinds of figures that a table of scores can carry, in the order in which they are shown."""

from __future__ import annotations

from segjury.figures import (
    blobs,
    boxes,
    case_agreement,
    case_signatures,
    cd,
    ceiling,
    correlation,
    crps,
    dendrogram,
    failure_map,
    groups,
    intervals,
    invasion,
    p_values,
    pair_plot,
    podium,
    rank_lines,
    rank_map,
    rater_matrix,
    reliability,
    sensitivity,
    significance,
    taus,
    volumes,
)
from segjury.figures.kind import Kind

_FAMILIES = (
    intervals,
    blobs,
    taus,
    cd,
    significance,
    p_values,
    rank_lines,
    sensitivity,
    boxes,
    groups,
    podium,
    rank_map,
    pair_plot,
    correlation,
    dendrogram,
    case_signatures,
    failure_map,
    rater_matrix,
    case_agreement,
    ceiling,
    reliability,
    crps,
    volumes,
    invasion,
)
KINDS: dict[str, Kind] = {kind.name: kind for family in _FAMILIES for kind in family.KINDS}
