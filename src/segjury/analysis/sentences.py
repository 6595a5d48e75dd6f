"""An analysis in plain sentences that say only what the resamples and tests allow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from segjury.analysis.analysis import Analysis
from segjury.analysis.stability import Stability
from segjury.analysis.tables import ALL, parts
from segjury.analysis.tests import Pair, ScoreTests
from segjury.wording import listed, p_value, plural

MOST_NAMED = 6


def summary(analysis: Analysis) -> list[str]:
    """The sentences of all cases, then those of each part."""
    sentences = []
    for (column, value), part in parts(analysis):
        if part is analysis:
            sentences += list(_sentences(part))
        else:
            sentences += [f"{column} {value}: {said}" for said in _short(part)]
    return [*sentences, *(f"Note: {note.rstrip('.')}." for note in analysis.notes)]


def _sentences(analysis: Analysis) -> Iterator[str]:
    yield _lead(analysis)
    if len(analysis.panel.methods) > 1:
        yield from on_certainty(analysis)
        yield from on_choices(analysis)
        yield from on_tests(analysis)
    yield from on_hard_cases(analysis)
    yield from on_raters(analysis)


def _short(analysis: Analysis) -> Iterator[str]:
    """The order in a part of the cases, how sure it is, and what the tests find."""
    yield _lead(analysis)
    if len(analysis.panel.methods) > 1:
        yield from on_certainty(analysis)
        yield from on_tests(analysis)


def _lead(analysis: Analysis) -> str:
    panel, board = analysis.panel, analysis.board
    first = [m for m in panel.methods if board.position[m] == 1]
    over = f"{plural(len(panel.keys), 'score')} and {plural(len(panel.cases), 'case')}"
    if len(panel.methods) == 1:
        return f"{first[0]} is the only method, with {over}."
    rank = f"mean rank {board.mean_rank[first[0]]:.2f} over {over}"
    if len(first) > 1:
        return f"{_listed(first)} share the first place: {rank}."
    second = panel.methods[1]
    return f"{first[0]} is first: {rank}, before {second} at {board.mean_rank[second]:.2f}."


def on_certainty(analysis: Analysis) -> Iterator[str]:
    """How sure the order is, by resamples of cases and raters."""
    methods, ranks = analysis.panel.methods, analysis.stability.overall
    cases = len(analysis.panel.cases)
    if cases == 1:
        yield "One case cannot say how sure that order is, and nothing was tested."
        return
    if not analysis.stability.informative:
        yield f"{cases} cases are too few for resamples to show how sure that order is."
        return
    shared = int((ranks.rank == ranks.rank.min()).sum())
    others = "others" if shared == 1 else f"none of these {shared}"
    behind = f", and {methods[1]} is before {methods[0]} in {_percent(ranks.second_ahead)}"
    yield (
        f"In {analysis.stability.samples} resamples of the cases the first place goes to {others} "
        f"in {_percent(ranks.first_wrong)}{behind if shared == 1 else ''}."
    )
    tied = [methods[m] for m in ranks.rivals]
    if len(tied) == 1:
        yield f"The resamples settle the first place, pair by pair at {100 * ranks.level:g} %."
    elif len(tied) == len(methods):
        yield f"The resamples do not settle the order of {methods[0]} with any other method."
    else:
        rest = [name for name in tied if name != methods[0]]
        yield f"The resamples do not settle the order of {methods[0]} with {_listed(rest)}."
    if analysis.with_raters is not None:
        yield _raters(analysis.with_raters, len(analysis.panel.keys))


def _raters(stability: Stability, scores: int) -> str:
    follow = len(stability.redrawn)
    which = "all scores" if follow == scores else f"{follow} of {scores} scores"
    drawn = f"the {len(stability.raters)} raters are"
    if stability.within_cases:
        drawn = "the raters of each case are"
    return (
        f"When {drawn} drawn too ({which} follow them), the first "
        f"place goes to others in {_percent(stability.overall.first_wrong)}."
    )


def on_choices(analysis: Analysis) -> Iterator[str]:
    """Which choices, cases and raters would give the first place to another method."""
    found, methods = analysis.sensitivity, analysis.panel.methods
    for kind, words in {
        "scheme": "the ranking scheme",
        "aggregate": "the aggregate",
        "reading": "the reading",
        "ties": "the rule for ties",
        "digits": "the digits compared",
    }.items():
        for variant in found.new_leaders(kind):
            first = [m for m, place in zip(methods, variant.places, strict=True) if place == 1]
            if len(first) == len(methods):
                continue  # as when no test is significant: it orders nobody
            yield (
                f"The first place depends on {words}: with {variant.choice} it goes to "
                f"{_listed(first)}."
            )
    for kind, noun in {
        "without case": "case",
        "without rater": "rater",
        "without metric": "metric",
    }.items():
        all_of, changed = found.of_kind(kind), found.new_leaders(kind)
        if changed:
            names = _listed([variant.choice for variant in changed])
            yield (
                f"Leaving out one {noun} changes the first place for {len(changed)} of "
                f"{len(all_of)}: {names}."
            )
        elif all_of:
            yield f"The first place is the same whichever {noun} is left out."


def on_tests(analysis: Analysis) -> Iterator[str]:
    """What the tests between methods find, and what they could."""
    tested = {key: score.tests for key, score in analysis.scores.items() if score.tests}
    if not tested:
        return
    alpha, methods = analysis.settings.alpha, analysis.panel.methods
    differ = {key: tests for key, tests in tested.items() if tests.found}
    yield (
        f"Friedman's test finds differences between methods in {len(differ)} of "
        f"{plural(len(tested), 'score')} at {alpha:g}, each score tested by itself."
    )
    for key, tests in differ.items():
        yield (
            f"{key}: chi2 {tests.friedman.chi2:.2f}, p {p_value(tests.friedman.p)}; "
            f"{tests.pairs_differing} of {plural(len(tests.wilcoxon), 'pair')} differ "
            "(Conover, Holm)."
        )
    yield from _power(list(tested.values()), alpha)
    for base in dict.fromkeys(base for tests in tested.values() for base in tests.baselines):
        yield from _baseline(base, tested, methods)


def _power(tested: Sequence[ScoreTests], alpha: float) -> Iterator[str]:
    """What so few cases can show at all."""
    fewest = min(tested, key=lambda tests: tests.cases)
    if fewest.smallest_adjusted < alpha:
        return
    least = (
        f"With {fewest.cases} cases the smallest possible p of a signed-rank test is "
        f"{p_value(fewest.smallest_p)}"
    )
    if fewest.smallest_p >= alpha:
        yield f"{least}, as of any exact test of two methods: no pair can be told apart."
        return
    yield (
        f"{least}, and {p_value(fewest.smallest_adjusted)} after Holm over "
        f"{plural(len(fewest.wilcoxon), 'pair')}: it cannot tell any pair apart."
    )


def _baseline(base: int, tested: Mapping[str, ScoreTests], methods: Sequence[str]) -> Iterator[str]:
    """Who differs from a baseline, by how much, and in which scores nobody does."""
    start, none = f"against {methods[base]} (Wilcoxon, Holm)", []
    for key, tests in tested.items():
        pairs = tests.baselines[base]
        better = [_named(p, methods) for p in pairs if p.p < tests.alpha and p.sign > 0]
        worse = [_named(p, methods) for p in pairs if p.p < tests.alpha and p.sign < 0]
        said = [f"better: {_listed(better)}"] if better else []
        said += [f"worse: {_listed(worse)}"] if worse else []
        if not said:
            none.append(key)
            continue
        rest = len(pairs) - len(better) - len(worse)
        said += [f"no difference found for {rest} of {len(pairs)}"] if rest else []
        yield f"{key}, {start}: {'; '.join(said)}."
    if none:
        yield f"{start[:1].upper()}{start[1:]}, no difference was found in {_listed(none)}."


def _named(pair: Pair, methods: Sequence[str]) -> str:
    interval = "" if math.isnan(pair.low) else f" [{pair.low:.3g}, {pair.high:.3g}]"
    return f"{methods[pair.a]} (median difference {pair.median:.3g}{interval}, p {p_value(pair.p)})"


def on_hard_cases(analysis: Analysis) -> Iterator[str]:
    """Cases that several methods do badly on."""
    panel, hard, failed = analysis.panel, analysis.hard_cases, analysis.failures
    if hard.recurrent.size:
        names = [
            f"{panel.cases[c]} ({hard.number[c]} of {hard.scored[c]} methods)"
            for c in hard.recurrent
        ]
        yield f"Hard for several methods, an SD or more below average: {_listed(names)}."
    if failed.rules and failed.recurrent.size:
        names = [f"{panel.cases[c]} ({failed.failing_any[c]} methods)" for c in failed.recurrent]
        yield f"Failures shared by methods: {_listed(names)}."


def on_raters(analysis: Analysis) -> Iterator[str]:
    """How many raters each case had, where that differs, and how far they agree."""
    if analysis.marked_by:
        yield f"{on_panel_sizes(analysis.marked_by)}."
    for found in analysis.raters:
        said = []
        if found.mean_dsc is not None:
            said.append(f"mean Dice of two raters {found.mean_dsc:.2f}")
        if found.icc is not None:
            one = found.icc["ICC(2,1)"]
            said.append(f"ICC(2,1) of volumes {one.value:.2f} [{one.low:.2f}, {one.high:.2f}]")
        if said:
            label = "" if found.label == ALL else f" on {found.label}"
            yield f"The raters{label}: {', '.join(said)}."


def on_panel_sizes(marked_by: Mapping[int, int]) -> str:
    """How many cases were marked by how many raters: `12 cases were marked by 2, 30 by 3`."""
    first, *rest = sorted(marked_by.items())
    was = "was" if first[1] == 1 else "were"
    said = [f"{plural(first[1], 'case')} {was} marked by {plural(first[0], 'rater')}"]
    return ", ".join([*said, *(f"{cases} by {raters}" for raters, cases in rest)])


def _percent(share: float) -> str:
    """A share of the resamples; never 0 or 100 where one was otherwise."""
    if 0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    return f"{100 * share:.3g} %"


def _listed(names: Sequence[str]) -> str:
    return listed(names, most=MOST_NAMED, last=" and ")
