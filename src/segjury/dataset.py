"""Integrity of a benchmark's files, before anything is scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from segjury import execution, files
from segjury.errors import InputError
from segjury.loading import (
    case_names,
    case_table,
    grid_warnings,
    method_names,
    prediction_files,
    read_predicted_mask,
    read_probability_map,
    unknown_cases,
)
from segjury.protocols import Protocol
from segjury.volume import Grid, LabelMap, Volume


@dataclass(frozen=True)
class Problem:
    """Something wrong with one file; a warning does not keep a case from being scored."""

    where: str
    message: str
    warning: bool = False

    def __str__(self) -> str:
        return f"{'warning' if self.warning else 'error'}: {self.where}: {self.message}"


@dataclass(frozen=True)
class CheckTask:
    """One case to look at."""

    protocol: Protocol
    reference: Path
    predictions: Path | None
    case: str
    methods: tuple[str, ...]


def check(
    protocol: Protocol,
    *,
    reference: Path,
    predictions: Path | None = None,
    methods: Sequence[str] | None = None,
    jobs: int | None = 1,
    progress: Callable[[str], None] = lambda _case: None,
) -> list[Problem]:
    """Look at every file of the reference, and of the predictions if there are any."""
    cases = case_names(reference)
    chosen = tuple(methods or method_names(predictions)) if predictions else ()
    tasks = [CheckTask(protocol, reference, predictions, case, chosen) for case in cases]
    workers = execution.default_jobs(len(tasks)) if jobs is None else jobs
    found = {}
    for task, problems in execution.run(check_case, tasks, jobs=workers):
        found[task.case] = problems
        progress(task.case)
    problems = [problem for case in cases for problem in found[case]]
    problems += _check_case_table(protocol, reference, cases)
    strangers = unknown_cases(reference, predictions, chosen) if predictions else []
    return problems + [Problem("predictions", message, warning=True) for message in strangers]


def _check_case_table(protocol: Protocol, reference: Path, cases: Sequence[str]) -> list[Problem]:
    try:
        case_table(protocol, reference, cases)
    except InputError as error:
        return [Problem(protocol.cases.file, str(error))]
    return []


def check_case(task: CheckTask) -> list[Problem]:
    """Problems of one case's reference, then of each method's prediction of it."""
    folder = task.reference / task.case
    problems, grid = _check_reference(task, folder)
    for method in task.methods:
        problems += _check_prediction(task, method, grid)
    return problems


def _check_reference(task: CheckTask, folder: Path) -> tuple[list[Problem], Grid | None]:
    form = task.protocol.reference
    where = f"case {task.case}"
    problems: list[Problem] = []
    grid: Grid | None = None
    for stem in form.rater_stems:
        volume, found = _read_mask(task.protocol, folder, stem, form.allowed_labels, grid, where)
        problems += found
        if volume is not None:
            grid = grid or volume.grid
            problems += _absent_labels(stem, volume, form.labels, where)
    if form.structures is not None:
        known = form.structures.labels
        volume, found = _read_mask(
            task.protocol, folder, form.structures.file, list(known.values()), grid, where
        )
        problems += found
        if volume is not None:
            problems += _absent_labels(form.structures.file, volume, known, where)
    if form.consensus is not None and files.candidates(folder, form.consensus):
        labels = list(form.labels.values())
        problems += _read_mask(task.protocol, folder, form.consensus, labels, grid, where)[1]
    if form.image is not None and files.candidates(folder, form.image):
        problems += _check_image(task.protocol, folder, form.image, grid, where)
    return problems, grid


def _absent_labels(
    stem: str, found: LabelMap, labels: Mapping[str, int], where: str
) -> list[Problem]:
    present = set(np.unique(found.labels).tolist())
    absent = [name for name, label in labels.items() if label not in present]
    if len(absent) == len(labels):
        return [Problem(where, f"{stem} marks nothing", warning=True)]
    return [Problem(where, f"{stem} has no {name}", warning=True) for name in absent]


def _read_mask(
    protocol: Protocol,
    folder: Path,
    stem: str,
    labels: list[int],
    grid: Grid | None,
    where: str,
) -> tuple[LabelMap | None, list[Problem]]:
    try:
        path = files.find(folder, stem)
        shape = grid.shape if grid else None
        volume = files.read_mask(path, labels=labels, expected_shape=shape)
        return volume, list(_geometry(protocol, grid, volume.grid, path.name, where))
    except InputError as error:
        return None, [Problem(where, str(error))]


def _check_image(
    protocol: Protocol, folder: Path, stem: str, grid: Grid | None, where: str
) -> list[Problem]:
    try:
        path = files.find(folder, stem)
        volume = files.read_volume(path, expected_shape=grid.shape if grid else None)
        return list(_geometry(protocol, grid, volume.grid, path.name, where))
    except InputError as error:
        return [Problem(where, str(error), warning=True)]  # pictures only


def _check_prediction(task: CheckTask, method: str, grid: Grid | None) -> list[Problem]:
    assert task.predictions is not None  # noqa: S101 - methods come from that folder
    where = f"case {task.case}, method {method}"
    try:
        found = prediction_files(task.protocol, task.predictions / method, task.case)
    except InputError as error:
        return [Problem(where, str(error))]
    if grid is None:
        return []  # there is nothing to compare with, and the reference's own problem is listed
    labels = task.protocol.reference.labels
    reading: list[tuple[Path, Callable[[], LabelMap | Volume]]] = [
        (found.mask, partial(read_predicted_mask, task.protocol, found.mask, grid))
    ]
    reading += [
        (path, partial(read_probability_map, path, labels[name], grid))
        for name, path in found.probabilities.items()
    ]
    problems: list[Problem] = []
    for path, read in reading:
        try:
            problems += _geometry(task.protocol, grid, read().grid, path.name, where)
        except InputError as error:
            problems.append(Problem(where, str(error)))
    return problems


def _geometry(
    protocol: Protocol, grid: Grid | None, other: Grid, name: str, where: str
) -> Iterator[Problem]:
    if grid is not None:
        for message in grid_warnings(protocol, grid, other, name):
            yield Problem(where, message, warning=True)
