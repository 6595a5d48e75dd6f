"""Scores of two masks as partitions of the image."""

from __future__ import annotations

from segjury.metrics.partitions import PARTITION_MEASURES
from segjury.scoring.scorers.measured import scorer, table_scorer

for _metric, _measure in PARTITION_MEASURES.items():
    scorer(_metric)(table_scorer(_measure))
