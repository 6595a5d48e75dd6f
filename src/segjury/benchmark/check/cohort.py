"""Problems that show only when cases are compared with each other, or methods."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from segjury.benchmark.check.prediction import CheckedPrediction
from segjury.benchmark.check.problem import MOST_NAMED, Problem, warning
from segjury.benchmark.check.reference import ReferenceFacts
from segjury.protocols import Protocol
from segjury.wording import listed

ENOUGH_CASES = 3  # to say what is usual
MOST_TIMES_MEDIAN = 100.0


def compare_references(
    protocol: Protocol, facts: Mapping[str, ReferenceFacts]
) -> Iterator[Problem]:
    """Cases that differ from the others, or do not."""
    yield from _copied_cases(facts)
    yield from _at_border(facts)
    for label in protocol.label_names:
        yield from _odd_volumes(facts, label)
    spec = protocol.reference
    if spec.image is not None:
        yield from _without_image(spec.image, facts)
    if spec.consensus is not None and any(f.has_consensus for f in facts.values()):
        for case in [case for case, fact in facts.items() if not fact.has_consensus]:
            message = f"{spec.consensus} is missing, which other cases have"
            fix = "It is computed for this case alone: give it for all or for none"
            yield warning("partial-consensus", message, fix, case=case, file=spec.consensus)


def _copied_cases(facts: Mapping[str, ReferenceFacts]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for case, fact in facts.items():
        if fact.digest and (same := first.setdefault(fact.digest, case)) != case:
            message = f"has the same masks as case {same}"
            yield warning("copied-case", message, "Check whether a folder was copied", case=case)


def _at_border(facts: Mapping[str, ReferenceFacts]) -> Iterator[Problem]:
    """Marks at the border, unless half of the cases have them: then they belong there."""
    touching = {case: fact.at_border for case, fact in facts.items() if fact.at_border}
    if len(facts) >= ENOUGH_CASES and 2 * len(touching) >= len(facts):
        return
    for case, raters in touching.items():
        sides = sorted({side for reached in raters.values() for side in reached})
        reach = "reaches" if len(raters) == 1 else "reach"
        who = listed(raters, most=MOST_NAMED)
        message = f"{who} {reach} the border of the image ({', '.join(sides)})"
        yield warning("touches-border", message, "Check that nothing is cut off", case=case)


def _odd_volumes(facts: Mapping[str, ReferenceFacts], label: str) -> Iterator[Problem]:
    volumes = {
        case: fact.volumes_cm3[label]
        for case, fact in facts.items()
        if fact.volumes_cm3 and label in fact.volumes_cm3
    }
    if len(volumes) < ENOUGH_CASES:
        return
    median = float(np.median(list(volumes.values())))
    for case, volume in volumes.items():
        if not median / MOST_TIMES_MEDIAN <= volume <= median * MOST_TIMES_MEDIAN:
            message = f"{label} has {volume:.3g} cm3, the median over the cases is {median:.3g} cm3"
            fix = "Check that the spacing in its header is in mm"
            yield warning("odd-volume", message, fix, case=case)


def _without_image(stem: str, facts: Mapping[str, ReferenceFacts]) -> Iterator[Problem]:
    lacking = [case for case, fact in facts.items() if not fact.has_image]
    fix = "Pictures of cases need it"
    if len(lacking) == len(facts):
        yield warning("missing-image", f"no case has the image {stem}", fix, file=stem)
        return
    for case in lacking:
        yield warning("missing-image", f"{stem} is missing", fix, case=case, file=stem)


Predictions = Mapping[str, Mapping[str, CheckedPrediction]]  # by method, then by case


def compare_predictions(predictions: Predictions) -> Iterator[Problem]:
    """Methods that are the same, that repeat themselves, that never meet, that are empty."""
    for method, cases in predictions.items():
        kinds = [{problem.kind for problem in found.problems} for found in cases.values()]
        if kinds and all("missing-prediction" in kind for kind in kinds):
            yield warning("empty-method", "has no prediction of any case", method=method)
        yield from _repeated(method, cases)
        yield from _apart(method, cases)
    yield from _same(predictions)


def _repeated(method: str, cases: Mapping[str, CheckedPrediction]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for case, found in cases.items():
        if found.digest and (same := first.setdefault(found.digest, case)) != case:
            message = f"is the same as the prediction of case {same}"
            fix = "Check whether a file was copied"
            yield warning("repeated-prediction", message, fix, case=case, method=method)


def _apart(method: str, cases: Mapping[str, CheckedPrediction]) -> Iterator[Problem]:
    known = {case: found.meets for case, found in cases.items() if found.meets is not None}
    apart = [case for case, meets in known.items() if not meets]
    if apart and 2 * len(apart) >= len(known):
        message = f"shares no voxel with any rater in {len(apart)} of {len(known)} cases: "
        fix = "Check that its masks are not shifted, nor of other cases"
        yield warning("no-overlap", message + listed(apart, most=MOST_NAMED), fix, method=method)


def _same(predictions: Predictions) -> Iterator[Problem]:
    """One line for each pair of methods, the first of the same being named."""
    first: dict[tuple[str, str], str] = {}
    pairs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for method, cases in predictions.items():
        for case, found in cases.items():
            if found.digest:
                same = first.setdefault((case, found.digest), method)
                if same != method:
                    pairs[method, same].append(case)
    for (method, same), cases_of_pair in pairs.items():
        count = f"{len(cases_of_pair)} of {len(predictions[method])} cases"
        where = listed(cases_of_pair, most=MOST_NAMED)
        message = f"is the same as method {same} in {count}: {where}"
        fix = "Check whether it was submitted twice"
        yield warning("same-prediction", message, fix, method=method)
