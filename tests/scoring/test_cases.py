"""Cases on an engine: what is tried again, and how."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from segjury.benchmark.copies import Copy
from segjury.protocols import load_protocol
from segjury.runtime import Exceeded, Limits, OverLimit, WorkerDied
from segjury.scoring.cases import score_cases
from segjury.scoring.one_case import CaseScores, CaseTask, CutShort
from segjury.scoring.records import Result, Row

EXCEEDED = Exceeded("time", 1.0)
TASK = CaseTask(
    load_protocol("aortaseg-2024"),
    ("corrected",),
    Path("reference"),
    Path("predictions"),
    "P1",
    ("A", "B", "C"),
    limits=Limits(1.0),
)
ROW = Row("dsc", "all", "corrected", 0.0, "", "over_limit", "")


def result(method):
    return Result(method, "P1", (replace(ROW, status="ok"),))


def copies(methods):
    """All methods are copies of the first that is known."""
    first, *others = methods
    return tuple(Copy("P1", other, "x.nii", first, "x.nii", shared=False) for other in others)


@dataclass
class Engine:
    """An engine on which method B goes wrong: beside others, or always."""

    wrong: str
    always: bool
    given: list[tuple[tuple[str, ...], bool]] = field(default_factory=list)
    name: str = "fake"

    def isolated(self):
        return self

    def outcomes(self, _work, tasks):
        for task in tasks:
            self.given.append((task.methods, task.alone))
            if "B" in task.methods and (self.always or not task.alone):
                yield task, self.ended(task)
            else:
                found = tuple(map(result, task.methods))
                yield task, CaseScores(found, 0, 1.0, copies(task.methods))

    def ended(self, task):
        if self.wrong == "died":
            return WorkerDied()
        before = task.methods[: task.methods.index("B")]
        instead = Result("B", "P1", (ROW,), fault="method") if task.alone else None
        scores = CaseScores(tuple(map(result, before)), 0, 1.0, copies(task.methods))
        return OverLimit(EXCEEDED, CutShort(scores, "B", instead, ""))


def scored(engine):
    told = []
    results, *_ = score_cases(engine, [TASK], told.append)
    assert [(each.case, each.done, each.of) for each in told] == [("P1", 1, 1)]
    assert [each.method for each in results] == ["A", "B", "C"]
    return results


def test_a_method_over_a_limit_is_tried_again_alone_after_the_others():
    engine = Engine("over", always=False)
    assert scored(engine) == [result(method) for method in "ABC"]
    assert engine.given == [(("A", "B", "C"), False), (("C",), False), (("B",), True)]


def test_a_method_over_a_limit_alone_has_the_reason_in_its_rows():
    of_b = scored(Engine("over", always=True))[1]
    reason = "scoring took more than 1 s of processor time"
    assert of_b.rows == (replace(ROW, detail=reason),)
    assert (of_b.problem, of_b.fault, of_b.exceeded) == (reason, "method", EXCEEDED)


@pytest.mark.parametrize(("always", "fault"), [(False, ""), (True, "passing")])
def test_a_case_whose_process_died_is_tried_again_method_by_method(always, fault):
    engine = Engine("died", always=always)
    assert scored(engine)[1].fault == fault
    assert engine.given[1:] == [(("A",), True), (("B",), True), (("C",), True)]


def test_copies_are_those_that_the_task_with_all_methods_found():
    *_, found = score_cases(Engine("over", always=False), [TASK], lambda _done: None)
    assert found == list(copies("ABC"))
