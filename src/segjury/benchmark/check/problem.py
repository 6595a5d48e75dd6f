"""A problem of one file, case or method, and how it reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from segjury.benchmark.check.kinds import KINDS
from segjury.errors import InputError, escaped
from segjury.wording import listed

Severity = Literal["error", "warning"]
MOST_NAMED = 3  # of the names that a message is about
ENOUGH_CASES = 3  # of a method with one kind of problem, to tell of them once
STORED = (
    "reoriented",
    "stored-as-255",
    "pixdim-differs",
)  # said of all files of a reference at once
MOST_ALIKE = 10  # problems that a text lists before it counts them


@dataclass(frozen=True)
class Problem:
    """Something wrong; a warning does not keep a case from being scored."""

    severity: Severity
    kind: str
    case: str | None
    method: str | None
    file: str | None
    message: str
    fix: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind} is no kind of problem")

    @property
    def where(self) -> str:
        """The case and method it is about; else the file or folder."""
        parts = (("case", self.case), ("method", self.method))
        named = [f"{of} {name}" for of, name in parts if name is not None]
        return ", ".join(named) or self.file or "benchmark"

    def __str__(self) -> str:
        said = str(InputError(self.message, self.fix))
        if self.severity == "warning" and not self.fix:
            said = self.message
        return escaped(f"{self.severity}: {self.where}: {said}")

    def as_json(self) -> dict[str, str | None]:
        """The content that `--json` writes."""
        return asdict(self)


def failed(
    error: InputError,
    file: str | None = None,
    *,
    severity: Severity = "error",
    otherwise: str = "unreadable-file",
) -> Problem:
    """A file that cannot be used: the words of scoring, then what may be behind it.

    Its kind is that of the error, `otherwise` where it has none.
    """
    fix = ". ".join(text.rstrip(".") for text in (error.fix, error.hint) if text)
    return Problem(severity, error.kind or otherwise, None, None, file, error.what, fix)


def warning(
    kind: str,
    message: str,
    fix: str = "",
    *,
    case: str | None = None,
    method: str | None = None,
    file: str | None = None,
) -> Problem:
    """Something that does not keep a case from being scored."""
    return Problem("warning", kind, case, method, file, message, fix)


def lines(problems: Sequence[Problem], cases: int = 0) -> list[str]:
    """A line for each problem; of many alike in one place, the first and how many more.

    What a method does alike in three cases or more, of so many, is one line; so is how the files
    of the reference are stored.
    """
    return _lines(list(_by_method(problems, cases)))


def _by_method(problems: Sequence[Problem], cases: int) -> Iterator[Problem]:
    """The problems, those of one kind in many cases of a method as one, where the first stood."""
    found: dict[tuple[str, str, str], list[Problem]] = {}
    empty = {problem.method for problem in problems if problem.kind == "empty-method"}
    for each in problems:
        whole = each.method not in empty if each.method else each.kind in STORED
        if whole and each.case:
            found.setdefault((each.severity, each.kind, each.method or ""), []).append(each)
    told = set()
    for each in problems:
        key = (each.severity, each.kind, each.method or "")
        alike = found.get(key, []) if each.case else []
        where = list(dict.fromkeys(str(problem.case) for problem in alike))
        if len(where) < ENOUGH_CASES:
            yield each
        elif key not in told:
            told.add(key)
            of = f"{len(where)} of {cases} cases" if cases else f"{len(where)} cases"
            names = listed(where, most=MOST_NAMED)
            message = f"{of} ({names}): {KINDS[each.kind]}. In {each.case}: {each.message}"
            place = each.file if each.method else "reference"
            yield replace(each, case=None, file=place, message=message)


def _lines(problems: Sequence[Problem]) -> list[str]:
    empty = {problem.method for problem in problems if problem.kind == "empty-method"}

    def likeness(problem: Problem) -> tuple[str | None, ...]:
        kind = (problem.severity, problem.kind)
        return kind if problem.method in empty else (*kind, problem.case, problem.method)

    counts, told, shown = Counter(map(likeness, problems)), Counter[tuple[str | None, ...]](), []
    for problem in problems:
        like = likeness(problem)
        told[like] += 1
        if told[like] <= MOST_ALIKE:
            shown.append(str(problem))
        elif told[like] == MOST_ALIKE + 1:
            one_place = problem.method not in empty and (problem.case or problem.method)
            where = f"{escaped(problem.where)}: " if one_place else ""
            more = f"{counts[like] - MOST_ALIKE:,} more like these ({problem.kind})"
            shown.append(f"{problem.severity}: {where}{more}")
    return shown


def placed(
    problems: Iterable[Problem], *, case: str | None = None, method: str | None = None
) -> list[Problem]:
    """The problems with the case and method that they are about."""
    return [replace(problem, case=case, method=method) for problem in problems]
