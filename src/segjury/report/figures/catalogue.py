"""All kinds of figures that a table of scores can carry, in the order in which they are shown."""

from __future__ import annotations

from segjury.report.figures.cases import failures, signatures
from segjury.report.figures.kind import Kind
from segjury.report.figures.maps import invasion, reliability, volume, volumes
from segjury.report.figures.ranks import blob, lines, ranks, sensitivity, tau
from segjury.report.figures.raters import agreement_cases, ceiling, raters
from segjury.report.figures.scores import (
    boxes,
    correlation,
    dendrogram,
    groups,
    pairs,
    podium,
    rank_map,
)
from segjury.report.figures.tests import cd, pvalues, significance

_MODULES = (
    ranks,
    blob,
    tau,
    cd,
    significance,
    pvalues,
    lines,
    sensitivity,
    boxes,
    groups,
    podium,
    rank_map,
    pairs,
    correlation,
    dendrogram,
    signatures,
    failures,
    raters,
    agreement_cases,
    ceiling,
    reliability,
    volume,
    volumes,
    invasion,
)
KINDS: dict[str, Kind] = {kind.name: kind for module in _MODULES for kind in module.KINDS}
