"""What the shell offers for a word that is begun.

The names stand here once more, as the shell cannot wait for the library that knows them to be
imported; a test compares both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

METRICS = (
    *("dsc", "thr_dsc", "mr_ece", "ece", "crps", "vi", "contact_angle", "confidence", "nsd", "hd"),
    *("crps_empirical", "brier", "nll", "pooled_ece", "adaptive_ece", "classwise_ece", "ace"),
    *("mce", "boundary_ece", "aurc", "e_aurc", "augrc", "uncertainty_ncc"),
    *("hd95", "assd", "masd", "bavd", "ahd", "cldice", "betti", "small_recall", "dice", "jaccard"),
    *("volsim", "probabilistic_distance", "sensitivity", "specificity", "precision", "f_beta"),
    *("auc", "accuracy", "fallout", "false_negative_rate", "mi", "voi", "gce", "rand"),
    *("adjusted_rand", "kappa", "icc", "mahalanobis", "ged", "hungarian_iou", "dice_max"),
    *("dice_match", "dice_soft", "dice_per_rater", "crps_samples", "volume_coverage"),
    *("interval_score", "lesion_f1", "lesion_recall", "lesion_precision", "pq"),
    *("small_lesion_recall", "lesion_count_error", "froc", "time_s", "memory_gb_s"),
)
FIGURES = (
    *("ranks", "blob", "tau", "cd", "significance", "pvalues", "lines", "sensitivity", "boxes"),
    *("groups", "podium", "rank-map", "pairs", "correlation", "dendrogram", "score-tree"),
    *("signatures", "failures", "raters", "agreement-cases", "ceiling", "reliability", "volume"),
    *("volumes", "invasion", "slices", "probability-maps", "agreement", "mip", "contact"),
)
SCHEMES = ("mean-of-metric-ranks", "aggregate-then-rank", "rank-then-aggregate", "test-then-rank")
TIES = ("average", "min", "max", "dense")
MISSING = ("error", "exclude", "worst")
AGGREGATES = ("mean", "median")
READINGS = ("all", "released", "published", "corrected")
FORMATS = ("html", "pdf", "markdown")

Complete = Callable[[str], list[str]]


def one_of(names: Iterable[str]) -> Complete:
    """Offer those names that go on as the word begins."""
    known = tuple(names)
    return lambda incomplete: [name for name in known if name.startswith(incomplete)]


def several_of(names: Iterable[str]) -> Complete:
    """Offer names for the last of several with commas between them."""
    known = tuple(names)

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        return [
            f"{before}{comma}{name}"
            for name in known
            if name.startswith(last) and name not in given
        ]

    return complete


def protocols(incomplete: str) -> list[str]:
    """Offer the protocols that come with the package; the shell adds files by itself."""
    folder = Path(__file__).parents[1] / "protocols"
    return sorted(path.stem for path in folder.glob("*.toml") if path.name.startswith(incomplete))
