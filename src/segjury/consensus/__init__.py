"""What several raters say together: packed patterns, and every consensus as a function of them."""

from segjury.consensus.overlaps import Overlaps, PackedMask, overlaps
from segjury.consensus.patterns import (
    MAX_PATTERNS,
    Patterns,
    Piece,
    RaterPatterns,
    SeenPatterns,
    number_patterns,
    pack,
    pack_marks,
)
from segjury.consensus.performance import Performance, performance
from segjury.consensus.simple import Simple, simple
from segjury.consensus.staple import (
    MultiLabelStaple,
    Staple,
    multilabel_staple,
    staple,
    staple_foreground,
)
from segjury.consensus.votes import (
    Region,
    Ties,
    agreement_region,
    break_ties,
    intersection,
    leaders,
    majority,
    majority_of,
    soft_mean,
    union,
    votes,
)

__all__ = [
    "MAX_PATTERNS",
    "MultiLabelStaple",
    "Overlaps",
    "PackedMask",
    "Patterns",
    "Performance",
    "Piece",
    "RaterPatterns",
    "Region",
    "SeenPatterns",
    "Simple",
    "Staple",
    "Ties",
    "agreement_region",
    "break_ties",
    "intersection",
    "leaders",
    "majority",
    "majority_of",
    "multilabel_staple",
    "number_patterns",
    "overlaps",
    "pack",
    "pack_marks",
    "performance",
    "simple",
    "soft_mean",
    "staple",
    "staple_foreground",
    "union",
    "votes",
]
