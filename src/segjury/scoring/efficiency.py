"""Time and memory that predictions took: from a table, into the scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from segjury.errors import InputError
from segjury.metrics import METRICS
from segjury.metrics.efficiency import MEMORY_GB_S, TIME_S
from segjury.metrics.metric import Reading
from segjury.protocols import Protocol
from segjury.protocols.options import Efficiency
from segjury.protocols.reference import WHOLE
from segjury.scoring.records import Result, Row, Status
from segjury.wording import grouped

COSTS = (TIME_S.name, MEMORY_GB_S.name)


@dataclass(frozen=True)
class Costs:
    """What a table says: per metric, the cost of each method and case; and what was left out."""

    of: Mapping[str, Mapping[tuple[str, str], float]]
    warnings: tuple[str, ...] = ()


def read_efficiency(path: Path, methods: Sequence[str], cases: Sequence[str]) -> Costs:
    """The costs in a table: columns `method`, `time_s`, `memory_gb_s`, maybe `case`.

    Without `case`, or where it is empty, a method's cost is the same for every case.
    """
    from segjury.results.read import read_scores

    found: dict[str, dict[tuple[str, str], float]] = {}
    general: dict[str, dict[tuple[str, str], float]] = {}  # of a method, whatever the case
    strangers: dict[str, None] = {}
    for row in read_scores(path).to_dict("records"):
        metric, method, case = str(row["metric"]), str(row["method"]), str(row["case"])
        value = float(row["value"])
        if metric not in COSTS or math.isnan(value):
            continue
        if value < 0:
            raise InputError(f"{path.name}: {metric} of {method} is {value:g}", "Give 0 or more")
        if method not in methods:
            strangers[f"{path.name}: {method} is no method of the run"] = None
        elif case in cases:
            found.setdefault(metric, {})[method, case] = value
        elif case in (WHOLE, ""):
            general.setdefault(metric, {}).update({(method, each): value for each in cases})
        else:
            strangers[f"{path.name}: {case} is no case of the reference"] = None
    found = {m: general.get(m, {}) | found.get(m, {}) for m in (*found, *general)}
    if not found:
        raise InputError(
            f"{path.name} has no {' or '.join(COSTS)} of any method of the run",
            f"Name the columns method, {', '.join(COSTS)}; the methods are {', '.join(methods)}",
        )
    absent = [
        f"{path.name} has no {metric} of {method} for {len(cases) - given} of {len(cases)} cases"
        for metric, costs in found.items()
        for method in methods
        if (given := sum((method, case) in costs for case in cases)) < len(cases)
    ]
    return Costs(found, (*grouped(list(strangers)), *grouped(absent)))


def with_efficiency(
    protocol: Protocol, results: Iterable[Result], readings: Sequence[Reading], costs: Costs
) -> list[Result]:
    """The results with rows of the costs.

    A missing or unusable prediction costs as much as the costliest one of its case. A cost that the
    table does not give stays empty.
    """
    declared: dict[str, Efficiency] = {
        use.name: use for use in protocol.metrics if isinstance(use, Efficiency)
    }
    results = list(results)
    for metric, given in costs.of.items():
        use = declared.get(metric) or Efficiency.model_validate({"name": metric})
        costliest: dict[str, float] = {}
        for (_, case), cost in given.items():
            costliest[case] = max(costliest.get(case, cost), cost)
        for place, result in enumerate(results):
            row = _row(metric, use, result, given, costliest.get(result.case, math.nan))
            rows = [
                replace(row, reading=reading) for reading in readings if reading in use.readings
            ]
            results[place] = replace(result, rows=(*result.rows, *rows))
    return results


def _row(
    metric: str,
    use: Efficiency,
    result: Result,
    given: Mapping[tuple[str, str], float],
    costliest: float,
) -> Row:
    cost = given.get((result.method, result.case), math.nan)
    status: Status = "undefined" if math.isnan(cost) else "ok"
    detail = f"the efficiency table has no {metric} of it" if status == "undefined" else ""
    if result.problem:
        detail = result.problem
        status = result.rows[0].status if result.rows else "failed"
        worst = use.worst if isinstance(use.worst, float) else costliest
        cost = worst if result.fault == "method" else math.nan
    return Row(metric, WHOLE, "", cost, METRICS[metric].unit, status, detail)
