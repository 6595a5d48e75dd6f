"""Time and memory that predictions took: from a table, into the scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from segjury.errors import InputError
from segjury.metrics import METRICS
from segjury.metrics.efficiency import MEMORY_GB_S, TIME_S
from segjury.metrics.metric import Reading
from segjury.protocols import Protocol
from segjury.protocols.metric_use import Efficiency
from segjury.store import Result, Row, Status

COSTS = (TIME_S.name, MEMORY_GB_S.name)
Costs = Mapping[tuple[str, str], float]  # by method and case


def read_efficiency(
    path: Path, methods: Sequence[str], cases: Sequence[str]
) -> dict[str, dict[tuple[str, str], float]]:
    """The costs in a table, by metric: columns `method`, `time_s`, `memory_gb_s`, maybe `case`.

    Without `case`, a method's cost is the same for every case.
    """
    from segjury.table import read_scores

    table = read_scores(path)
    found: dict[str, dict[tuple[str, str], float]] = {}
    for row in table.itertuples():
        metric, method, value = str(row.metric), str(row.method), float(str(row.value))
        if metric not in COSTS or method not in methods:
            continue
        if value < 0:
            raise InputError(
                f"{path.name}: {metric} of {method} is {value:g}", "Give no less than 0"
            )
        for case in cases if row.case == "all" else [str(row.case)]:
            found.setdefault(metric, {})[method, case] = value
    if not found:
        raise InputError(
            f"{path.name} has no {' or '.join(COSTS)} of the methods {', '.join(methods[:3])}, ...",
            f"Name the columns method, {', '.join(COSTS)}",
        )
    return found


def with_efficiency(
    protocol: Protocol,
    results: Iterable[Result],
    readings: Sequence[Reading],
    metric: str,
    costs: Costs,
) -> list[Result]:
    """The results with rows of a cost; a missing prediction costs as much as the dearest one."""
    use = next((use for use in protocol.metrics if use.name == metric), None) or Efficiency(
        name="time_s" if metric == "time_s" else "memory_gb_s"
    )
    results = list(results)
    dearest: dict[str, float] = {}
    for result in results:
        if not result.problem and (result.method, result.case) in costs:
            cost = costs[result.method, result.case]
            dearest[result.case] = max(dearest.get(result.case, cost), cost)

    def rows(result: Result) -> list[Row]:
        cost = costs.get((result.method, result.case), math.nan)
        status: Status = "missing" if result.problem else "undefined" if math.isnan(cost) else "ok"
        detail = ""
        if status != "ok":
            worst = use.worst if isinstance(use.worst, float) else dearest.get(result.case)
            cost = math.nan if worst is None else worst
            detail = result.problem or f"the efficiency table has no {metric} of it"
        return [
            Row(metric, "all", reading, cost, METRICS[metric].unit, status, detail)
            for reading in readings
            if reading in use.readings
        ]

    return [replace(result, rows=(*result.rows, *rows(result))) for result in results]
