"""Warnings of masks that are another's: of predictions, once for all cases, and of raters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from segjury.benchmark.copies import REFERENCE, Copy
from segjury.scoring.facts import same_masks
from segjury.scoring.records import Fact
from segjury.wording import listed

MOST_NAMED = 10  # methods, or cases


def copy_warnings(copies: Sequence[Copy], cases: int) -> list[str]:
    """What to say of the copies found in so many cases."""
    told: dict[str, list[str]] = defaultdict(list)  # the cases, by what is said of them
    alone: dict[str, str] = {}  # what is said where that is one case
    pairs = set()

    def of(copy: Copy) -> str:
        words = f"method {copy.method}: {copy.words_of_any_case} in"
        alone.setdefault(words, f"method {copy.method}: {copy.words} in")
        return words

    for copy in reversed([copy for copy in copies if copy.shared]):  # the later of two is named
        pair = (copy.case, frozenset((copy.method, copy.of)))
        if pair not in pairs:
            pairs.add(pair)
            told[of(copy)].insert(0, copy.case)
    told = dict(reversed(told.items()))
    clones: dict[tuple[str, str], list[str]] = defaultdict(list)
    for copy in copies:
        if copy.shared or (copy.case, frozenset((copy.method, copy.of))) in pairs:
            continue
        if copy.of == REFERENCE:
            told.setdefault(of(copy), []).append(copy.case)
        else:
            clones[copy.case, copy.of].append(copy.method)
    for (case, first), others in clones.items():
        same = listed([first, *others], most=MOST_NAMED, last=" and ")
        told.setdefault(f"methods {same} have identical predictions on", []).append(case)
    return [
        f"{words if len(where) > 1 else alone.get(words, words)} {_of_cases(where, cases)}"
        for words, where in told.items()
    ]


def on_same_masks(case: str, facts: Iterable[Fact]) -> Iterator[str]:
    """Warnings of raters whose masks of a case are the same."""
    for names in same_masks(facts):
        yield f"case {case}: the masks of raters {listed(names, last=' and ')} are the same"


def _of_cases(names: list[str], total: int) -> str:
    """How many cases of all, and which unless it is all."""
    which = f": {listed(names, most=MOST_NAMED)}" if len(names) < total else ""
    return f"{len(names)} of {total} cases{which}"
