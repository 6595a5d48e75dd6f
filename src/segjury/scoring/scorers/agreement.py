"""Scores where all raters agree."""

from __future__ import annotations

import math

from segjury.consensus import agreement_region
from segjury.metrics import agreement
from segjury.metrics.metric import Options, Reading
from segjury.scoring.comparison import Comparison
from segjury.scoring.scorers.measured import Measured, scorer


@scorer(agreement.CONFIDENCE)
def score_confidence(
    comparison: Comparison, label: int, _use: Options, _reading: Reading
) -> Measured:
    """Probability of being right where the raters agree."""
    patterns, sums = comparison.reference.patterns, comparison.pattern_sums(label)
    everyone = agreement_region(patterns, "foreground", label=label)
    nobody = agreement_region(patterns, "background", label=label)
    value = agreement.confidence_from_sums(
        int(patterns.counts[everyone].sum()),
        float(sums[everyone].sum()),
        int(patterns.counts[nobody].sum()),
        float(sums[nobody].sum()),
    )
    return Measured(value, "the raters agree on no voxel of it" if math.isnan(value) else "")
