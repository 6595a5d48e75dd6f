"""Look at every file of a benchmark before anything is scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segjury import runtime
from segjury.benchmark.check.case_table import check_case_table
from segjury.benchmark.check.cohort import compare_predictions, compare_references
from segjury.benchmark.check.folders import (
    Found,
    check_beside_methods,
    check_method_folder,
    check_names,
    check_reference_folder,
    files_below,
    predicted_cases,
    stem_of,
)
from segjury.benchmark.check.prediction import CheckedPrediction, check_prediction
from segjury.benchmark.check.problem import (
    MOST_NAMED,
    Problem,
    Severity,
    failed,
    placed,
    warning,
)
from segjury.benchmark.check.reference import CheckedReference, ReferenceFacts, check_reference
from segjury.benchmark.copies import InputFiles
from segjury.benchmark.folders import (
    chosen_methods,
    escapes,
    refuse_wrong_folders,
    submitted,
)
from segjury.benchmark.init import assume
from segjury.benchmark.layout import folder_names, found_cases, unknown_raters
from segjury.benchmark.names import check_name
from segjury.errors import InputError
from segjury.images import candidates, read_grid
from segjury.protocols import Protocol, load_protocol
from segjury.wording import listed, plural

CHANNEL = "_0000"  # nnU-Net's ending of an image's name


@dataclass(frozen=True)
class Checked:
    """What was looked at, and the problems found."""

    protocol: str
    cases: int
    methods: int
    bytes: int
    problems: list[Problem]
    notes: tuple[str, ...] = ()

    @property
    def errors(self) -> int:
        """The problems that keep a case from being scored."""
        return sum(problem.severity == "error" for problem in self.problems)

    @property
    def warnings(self) -> int:
        """The other problems."""
        return len(self.problems) - self.errors

    def as_json(self) -> dict[str, Any]:
        """The content that `--json` writes."""
        return {
            "protocol": self.protocol,
            "cases": self.cases,
            "methods": self.methods,
            "bytes": self.bytes,
            "errors": self.errors,
            "warnings": self.warnings,
            "notes": list(self.notes),
            "problems": [problem.as_json() for problem in self.problems],
        }


@dataclass(frozen=True)
class CheckTask:
    """One case to look at: its reference or image, if there is one, and the predictions of it."""

    protocol: Protocol
    reference: Path | None
    image: Path | None
    predictions: Path | None
    case: str
    methods: tuple[str, ...]
    follow_links: bool = False


@dataclass(frozen=True)
class CheckedCase:
    """The problems of a case, and what it is compared in with others."""

    problems: list[Problem]
    facts: ReferenceFacts
    predictions: Mapping[str, CheckedPrediction]


def check(
    protocol: str | Path | Protocol | None,
    *,
    reference: str | Path | None = None,
    predictions: str | Path | None = None,
    images: str | Path | None = None,
    methods: Sequence[str] | None = None,
    follow_links: bool = False,
    allow_code: bool = False,
    jobs: int | None = 1,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Checked:
    """Look at every file of the reference and of the predictions, whichever are given.

    Without a reference, predictions are compared with the images, or with themselves alone.
    Without a protocol, it is made from the files, as `segjury.init` does.
    """
    reference, predictions, images = (
        Path(folder) if folder else None for folder in (reference, predictions, images)
    )
    if reference is None and predictions is None:
        raise InputError("there is nothing to check", "Give `reference`, `predictions` or both")
    notes: tuple[str, ...] = ()
    if protocol is None:
        if reference is None:
            raise InputError("a protocol is needed", "Give one, or `reference`, to make it from")
        made = assume(reference, predictions)
        protocol, notes = made.protocol, (made.assumed,)
    protocol = load_protocol(protocol, allow_code=allow_code)
    if images and (reference or not predictions):
        raise InputError("`images` takes the place of a reference", "Give `predictions` alone")
    problems: list[Problem] = []
    given = predictions
    if predictions:
        known = _good_names(found_cases(protocol, reference), "case", []) if reference else None
        predictions, methods = submitted(protocol, predictions, methods, cases=known)
    chosen = _chosen_methods(predictions, methods, problems)
    below = {
        method: list(files_below(predictions / method))
        for method in chosen
        if predictions and (follow_links or not escapes(predictions / method, predictions / method))
    }
    pictures = _case_images(protocol, images) if images else {}
    cases = _cases(protocol, reference, pictures, below, problems)
    refuse_wrong_folders(protocol, reference, cases, predictions, chosen)
    tasks = [
        CheckTask(
            protocol,
            reference,
            pictures.get(case),
            predictions,
            case,
            tuple(chosen),
            follow_links,
        )
        for case in cases
    ]
    workers = runtime.default_jobs(len(tasks)) if jobs is None else jobs
    found: dict[str, CheckedCase] = {}
    for task, checked in runtime.run(check_case, tasks, jobs=workers):
        found[task.case] = checked
        progress(len(found), len(cases))
    problems += [problem for case in cases for problem in found[case].problems]
    size = sum(file.n_bytes for files in below.values() for file in files)
    if reference:
        files = [file for file in files_below(reference) if not file.lies_in(reference, given)]
        size += sum(file.n_bytes for file in files)
        problems += compare_references(protocol, {case: found[case].facts for case in cases})
        problems += check_names(cases, "cases")
        problems += check_case_table(protocol, reference, cases)
        problems += _extra_raters(protocol, reference, cases)
        problems += check_reference_folder(protocol, files)
    scored = [case for case in cases if found[case].predictions]
    by_method = {m: {case: found[case].predictions[m] for case in scored} for m in chosen}
    problems += compare_predictions(by_method)
    problems += check_names(chosen, "methods")
    for method, files in below.items():
        problems += check_method_folder(protocol, files, method, cases)
    if predictions and predictions == given:  # else it is the folder above the one that was given
        problems += check_beside_methods(predictions)
    notes += _notes(reference, predictions, images)
    return Checked(protocol.name, len(cases), len(chosen), size, problems, notes)


def _chosen_methods(
    predictions: Path | None, methods: Sequence[str] | None, problems: list[Problem]
) -> list[str]:
    if predictions is None:
        if methods:
            raise InputError("`methods` needs `predictions`", "Give the folder of the methods")
        return []
    if methods:
        return chosen_methods(predictions, methods)
    return _good_names(folder_names(predictions, "method"), "method", problems)


def _good_names(names: Sequence[str], of: str, problems: list[Problem]) -> list[str]:
    """The names that can be shown; the others go to the problems."""
    good = []
    for name in names:
        try:
            good.append(check_name(name, of))
        except InputError as error:
            problems.append(failed(error))
    return good


def _cases(
    protocol: Protocol,
    reference: Path | None,
    pictures: Mapping[str, Path],
    below: Mapping[str, Sequence[Found]],
    problems: list[Problem],
) -> list[str]:
    """Those of the reference; else those that have an image; else those that are predicted."""
    if reference is not None:
        return _good_names(found_cases(protocol, reference), "case", problems)
    if pictures:
        return _good_names(sorted(pictures), "case", problems)
    found = sorted({case for files in below.values() for case in predicted_cases(protocol, files)})
    cases = _good_names(found, "case", problems)
    if not cases:
        fix = "Expected <method>/<case>/ with a mask, or <method>/<case>.nii.gz"
        raise InputError("no method has a prediction", fix)
    return cases


def _case_images(protocol: Protocol, folder: Path) -> dict[str, Path]:
    """The image of each case: `<case>/image.<ext>`, `<case>.<ext>` or nnU-Net's `_0000`."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", "Give the folder of the images")
    stem = protocol.reference.image or "image"
    found = {}
    for path in sorted(folder.iterdir()):
        alone = stem_of(path.name)
        if path.name.startswith("."):
            continue
        if path.is_dir() and (inside := candidates(path, stem)):
            found[path.name] = inside[0]
        elif alone is not None and path.is_file():
            found[alone.removesuffix(CHANNEL)] = path
    if not found:
        raise InputError(f"{folder} has no images", f"Expected <case>/{stem}.nii.gz")
    return found


def _extra_raters(protocol: Protocol, reference: Path, cases: Sequence[str]) -> list[Problem]:
    """Files named as the raters', of raters who are not in the panel."""
    spec, problems = protocol.reference, []
    expected = f"the protocol has {plural(len(spec.panel), 'rater')}"
    if spec.rater_names:
        expected = f"the raters are {listed(spec.all_names, most=MOST_NAMED)}"
    for case, names in unknown_raters(protocol, reference, cases).items():
        problems += [
            warning("extra-rater", f"{name} is not read, {expected}", case=case, file=name)
            for name in names
        ]
    return problems


def check_case(task: CheckTask) -> CheckedCase:
    """Problems of one case's reference, then of each method's prediction of it."""
    if task.reference is not None:
        reference = check_reference(task.protocol, task.reference, task.case)
    else:
        reference = _of_image(task.image)
    problems = placed(reference.problems, case=task.case)
    if reference.left_out:  # whatever is predicted of it
        return CheckedCase(problems, reference.facts, {})
    predictions, shared = {}, _shared_files(task)
    for method in task.methods:
        predictions[method] = check_prediction(
            task.protocol,
            (task.predictions or Path()) / method,
            task.case,
            grid=reference.grid,
            patterns=reference.patterns,
            follow_links=task.follow_links,
        )
        found = [*shared.get(method, ()), *predictions[method].problems]
        if rater := reference.raters.get(predictions[method].marks):
            message = f"the mask marks the same voxels as {rater}"
            found.append(warning("copied-reference", message, "Check whether it is a copy"))
        problems += placed(found, case=task.case, method=method)
    return CheckedCase(problems, reference.facts, predictions)


def _shared_files(task: CheckTask) -> dict[str, list[Problem]]:
    """The methods whose files are the reference's or another's, as the policy has them."""
    if task.predictions is None:
        return {}
    files = InputFiles.of(
        task.protocol,
        task.reference,
        task.predictions,
        task.methods,
        task.case,
        follow_links=task.follow_links,
    )
    severity: Severity = "error" if task.protocol.policy.same_file == "refuse" else "warning"
    return {
        method: [failed(copy.error, copy.file, severity=severity)]
        for method, copy in files.shared().items()
    }


def _of_image(image: Path | None) -> CheckedReference:
    """An image instead of a reference: its grid is the reference's."""
    problems, grid = [], None
    if image is not None:
        try:
            grid = read_grid(image)
        except InputError as error:
            problems.append(failed(error, image.name, severity="warning"))
    return CheckedReference(problems, ReferenceFacts(), grid)


def _notes(
    reference: Path | None, predictions: Path | None, images: Path | None
) -> tuple[str, ...]:
    if reference is not None or predictions is None:
        return ()
    if images is not None:
        return ("no reference: grids and cases are compared with the images",)
    return ("no reference: grids could not be compared with it, nor whether cases are missing",)
