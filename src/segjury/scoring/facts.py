"""Facts of a case, whatever the method: volumes, and how far the raters agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np

from segjury.arrays import flat
from segjury.benchmark.case import ReferenceCase
from segjury.consensus.agreement import fleiss_kappa, krippendorff_alpha
from segjury.metrics.geometry.surfaces.points import contained
from segjury.metrics.overlap import dsc_from_sizes, mean_pairwise_dsc, pairwise_dsc
from segjury.protocols.reference import CONSENSUS, WHOLE
from segjury.scoring.records import Fact


def case_facts(reference: ReferenceCase, *, complete: bool = True) -> tuple[Fact, ...]:
    """The facts of a case; a label that is the only one is called `all`.

    How many raters there are is one where not every rater marked every case: not `complete`.
    """
    labels, n_raters = reference.labels.items(), reference.patterns.n_raters
    facts = [] if complete else [Fact(WHOLE, "n_raters", "", "", n_raters)]
    if n_raters > 1:
        facts.append(Fact(WHOLE, "mean_pairwise_dsc", "", "", _mean_dsc(reference)))
    for name, label in labels:
        named = name if len(labels) > 1 else WHOLE
        facts += _label_facts(reference, named, label)
        facts += _repeat_facts(reference, named, label)
    return tuple(facts)


def _repeat_facts(reference: ReferenceCase, name: str, label: int) -> Iterator[Fact]:
    """Dice of a rater's mask and that of a later read."""
    for read in reference.repeats:
        first, again = reference.rater_voxels(read.rater, label), reference.read_again(read, label)
        value = dsc_from_sizes(first.size, again.size, int(contained(first, again).sum()))
        yield Fact(name, "repeat_dsc", read.rater, read.name, value)


def _mean_dsc(reference: ReferenceCase) -> float:
    """Mean Dice over the pairs of raters, and over the labels."""
    patterns, labels = reference.patterns, reference.labels.values()
    pairs = [mean_pairwise_dsc(patterns.counts, patterns.marked(label)) for label in labels]
    return float(np.mean(pairs))


def _label_facts(reference: ReferenceCase, name: str, label: int) -> Iterator[Fact]:
    patterns = reference.patterns
    size = reference.consensus.size(label) * reference.grid.voxel_volume_mm3 / 1000
    yield Fact(name, "volume_cm3", CONSENSUS, "", size)
    if patterns.n_raters < 2:
        return
    raters = reference.rater_names
    for rater, volume in zip(raters, reference.volumes_cm3(label), strict=True):
        yield Fact(name, "volume_cm3", rater, "", float(volume))
    counts, marked = patterns.counts, patterns.marked(label)
    said = marked.astype(np.int64)
    yield Fact(name, "fleiss_kappa", "", "", fleiss_kappa(said, counts))
    yield Fact(name, "krippendorff_alpha", "", "", krippendorff_alpha(said, counts))
    pairs = pairwise_dsc(counts, marked)
    for i, j in combinations(range(len(pairs)), 2):
        yield Fact(name, "dsc", raters[i], raters[j], float(pairs[i, j]))
    for rater, value in zip(raters, _consensus_dsc(reference, label), strict=True):
        yield Fact(name, "dsc", rater, CONSENSUS, value)


def same_masks(facts: Iterable[Fact]) -> Iterator[tuple[str, ...]]:
    """Raters of a case whose masks are the same, and not empty: one may have been copied.

    A later read that equals the first is told with its name.
    """
    known = list(facts)
    dice = [f for f in known if f.quantity in ("dsc", "repeat_dsc") and f.second != CONSENSUS]
    marked = {f.first for f in known if f.quantity == "volume_cm3" and f.value > 0}
    differ = {(f.first, f.second) for f in dice if f.value != 1}  # on some label
    pairs = list(dict.fromkeys((f.first, f.second) for f in dice))
    told = set[str]()
    for first in dict.fromkeys(first for first, _ in pairs):
        same = [b for a, b in pairs if a == first and (a, b) not in differ]
        if same and first in marked and first not in told:
            told.update(same)
            yield (first, *same)


def _consensus_dsc(reference: ReferenceCase, label: int) -> list[float]:
    """Dice of each rater with the consensus of a label; two empty masks give 1."""
    patterns, consensus = reference.patterns, reference.consensus
    if consensus.patterns is patterns:
        inside = np.where(consensus.holds[:, label - 1], patterns.counts, 0)
    else:  # from a file: look up what the raters say in it
        codes = flat(patterns.codes)[consensus.voxels(label)]
        inside = np.bincount(codes, minlength=patterns.n_codes)
    marked, size = patterns.marked(label), consensus.size(label)
    pairs = zip(patterns.counts @ marked, inside @ marked, strict=True)
    return [dsc_from_sizes(size, int(rater), int(common)) for rater, common in pairs]
