"""From the results of a run to its tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from segjury.protocols import Protocol
from segjury.protocols.reference import CONSENSUS, WHOLE
from segjury.rounding import rounded
from segjury.scoring.records import Fact, Result
from segjury.wording import listed

if TYPE_CHECKING:
    import pandas as pd

    from segjury.results import Results

ENOUGH_CASES = 3  # of a method with one kind of problem, to tell of them once
MOST_NAMED = 3
OF_THE_CASE = ("n_raters", "mean_pairwise_dsc")
FACTS = (
    *OF_THE_CASE,
    *("volume_cm3", "fleiss_kappa", "krippendorff_alpha", "dsc", "repeat_dsc"),
)


def tabulate(
    protocol: Protocol,
    results: list[Result],
    known: dict[str, dict[str, str]],
    about: dict[str, Any],
    warnings: tuple[str, ...],
) -> Results:
    """The tables of a run; `known` is what the table of cases says, `about` goes to `run.json`."""
    import pandas as pd

    from segjury.results import Results, Run
    from segjury.results.columns import DETAIL_COLUMNS

    facts: dict[str, Sequence[Fact]] = {}
    for result in results:
        facts[result.case] = result.facts or facts.get(result.case, ())
    cohort = case_cohorts(protocol, facts, known)
    scores = score_table(protocol, results, known, cohort)
    details = pd.DataFrame(
        [{"method": r.method, "case": r.case, **asdict(d)} for r in results for d in r.details],
        columns=list(DETAIL_COLUMNS),
    )
    cases = pd.DataFrame(
        [
            {"case": case, **known.get(case, {}), "cohort": cohort[case], **_by_column(measured)}
            for case, measured in facts.items()
        ]
    )
    if not protocol.reference.is_complete:
        cases = _in_usual_order(cases, protocol, facts.values())
    calibration = _calibration(results, protocol.reference.panel)
    told = list(doubts(results))
    return Results(
        scores,
        details=details,
        calibration=calibration,
        cases=cases,
        run=Run.model_validate(about | {"doubts": told}),
        problems=_problems(results),
        warnings=(*told, *warnings),
        worth_repeating=any(r.may_pass for r in results),
    )


def score_table(
    protocol: Protocol,
    results: Sequence[Result],
    known: Mapping[str, Mapping[str, str]],
    cohort: Mapping[str, str],
) -> pd.DataFrame:
    """The long table of scores, with the cohorts of each case and the groups known of it."""
    import pandas as pd

    from segjury.results.columns import COLUMNS

    columns = protocol.cases.columns if known else ()
    return pd.DataFrame(
        [
            {"method": r.method, "case": r.case, **asdict(row), "cohort": cohort[r.case]}
            | {column: known[r.case][column] for column in columns}
            for r in results
            for row in r.rows
        ],
        columns=[*COLUMNS, *columns],
    )


def case_cohorts(
    protocol: Protocol,
    facts: Mapping[str, Sequence[Fact]],
    known: Mapping[str, Mapping[str, str]],
) -> dict[str, str]:
    """The cohorts of each case, with semicolons: by its facts, then by the groups known of it."""
    columns = protocol.cases.columns if known else ()
    groups = {case: [known[case][column] for column in columns] for case in facts}
    return {
        case: ";".join([*_cohorts(protocol, facts[case]), *filter(None, groups[case])])
        for case in facts
    }


def _calibration(results: list[Result], panel: Sequence[str]) -> pd.DataFrame:
    """The filled confidence bins of all predictions, with a column of hits per rater.

    It is empty where a rater did not mark the case.
    """
    import pandas as pd

    from segjury.results.columns import BIN_COLUMNS

    hits = [f"hits_{name}" for name in panel]
    rows = [
        {"method": r.method, "case": r.case, **vars(b)}
        | {f"hits_{name}": n for name, n in zip(b.raters, b.hits, strict=True)}
        for r in results
        for b in r.bins
    ]
    table = pd.DataFrame(rows, columns=[*BIN_COLUMNS, *hits])
    if table[hits].isna().any(axis=None):  # counts stay whole numbers beside empty cells
        return table.astype(dict.fromkeys(hits, "Int64"))
    return table


def _problems(results: list[Result]) -> tuple[str, ...]:
    """One line per fault: a reference's once, what a method does alike in many cases once."""
    cases = len({r.case for r in results})
    alike: dict[tuple[str, str], list[Result]] = {}
    for r in results:
        if r.problem and r.kind and r.fault in ("", "method"):
            alike.setdefault((r.method, r.kind), []).append(r)
    lines = dict.fromkeys(_line(r, alike.get((r.method, r.kind), []), cases) for r in results)
    return tuple(line for line in lines if line)


def _line(result: Result, alike: Sequence[Result], cases: int) -> str:
    """The problem of a result; of many that are alike, the first one's and where they are."""
    if not result.problem:
        return ""
    if result.fault == "reference":
        return f"case {result.case}: {result.problem}"
    if len(alike) < ENOUGH_CASES:
        return f"case {result.case}, method {result.method}: {result.problem}"
    names, first = listed([r.case for r in alike], most=MOST_NAMED), alike[0]
    where = f"{len(alike)} of {cases} cases ({names})"
    return f"method {result.method}, {where}: in {first.case}, {first.problem}"


def doubts(results: Sequence[Result]) -> Iterator[str]:
    """What the predictions of a method look like, in half of its cases or more.

    And labels that it never marks, though the reference of several cases has them.
    """
    cases: dict[str, int] = {}
    found: dict[tuple[str, str], list[str]] = {}
    for r in results:
        cases[r.method] = cases.get(r.method, 0) + (not r.fault)
        for doubt in r.doubts:
            found.setdefault((r.method, doubt), []).append(r.case)
    for (method, doubt), where in found.items():
        if 2 * len(where) >= cases[method]:
            yield f"method {method}: {len(where)} of {cases[method]} cases {doubt}"
    for method, label, having in _never_marked(results):
        yield f"method {method}: marks no {label} in any of {having} cases that have it"


def _never_marked(results: Sequence[Result]) -> Iterator[tuple[str, str, int]]:
    """Labels that a method lacks wherever the reference has them, and in how many cases."""
    lacks: dict[tuple[str, str], int] = {}
    scored: dict[str, list[Result]] = {}
    for r in results:
        if not r.fault:
            scored.setdefault(r.method, []).append(r)
        for label in r.absent:
            lacks[r.method, label] = lacks.get((r.method, label), 0) + 1
    for (method, label), count in lacks.items():
        having = sum(_has(r, label) for r in scored[method])
        if count == having >= ENOUGH_CASES:
            yield method, label, having


def _has(result: Result, label: str) -> bool:
    """Whether the reference of a case has voxels of a label, by the facts of the case."""
    return any(
        fact.quantity == "volume_cm3"
        and fact.first == CONSENSUS
        and fact.label in (label, WHOLE)
        and fact.value > 0
        for fact in result.facts
    )


def _by_column(facts: Sequence[Fact]) -> dict[str, float]:
    """The facts of a case by their columns in `cases.csv`."""
    from segjury.results.facts import fact_column

    return {fact_column(f.label, f.quantity, f.first, f.second): f.value for f in facts}


def _in_usual_order(
    cases: pd.DataFrame, protocol: Protocol, facts: Iterable[Sequence[Fact]]
) -> pd.DataFrame:
    """The table with its facts as they stand where every rater marked every case."""
    from segjury.results.facts import fact_column

    names = list(protocol.reference.all_names)
    labels = [WHOLE, *protocol.reference.labels]
    order = {name: place for place, name in enumerate(("", CONSENSUS, *names))}

    def place(fact: Fact) -> tuple[object, ...]:
        return (
            fact.quantity not in OF_THE_CASE,
            labels.index(fact.label),
            FACTS.index(fact.quantity),
            fact.second == CONSENSUS,  # after the pairs of raters
            order[fact.first],
            order[fact.second],
        )

    every = sorted({replace(f, value=0.0) for own in facts for f in own}, key=place)
    columns = [fact_column(f.label, f.quantity, f.first, f.second) for f in every]
    others = [name for name in cases.columns if name not in columns]
    return cases[[*others, *columns]]


def _cohorts(protocol: Protocol, facts: Sequence[Fact]) -> list[str]:
    measured = _by_column(facts)
    return [
        c.name
        for c in protocol.cohorts
        if rounded(np.array(measured.get(c.measure, math.inf))) <= c.at_most
    ]
