"""The raters of a benchmark: every case measured, then everything over the cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from segjury import runtime
from segjury.benchmark.case_table import case_table
from segjury.benchmark.folders import refuse_wrong_folders
from segjury.benchmark.layout import case_names, scored_cases
from segjury.benchmark.loading import load_reference
from segjury.errors import InputError
from segjury.metrics import READINGS, Reading
from segjury.protocols import Protocol, load_protocol
from segjury.raters import tables
from segjury.raters.case import CaseRaters, measure_case
from segjury.raters.ceiling_table import ceiling_summary
from segjury.raters.outliers import OutlierTests
from segjury.raters.profiles import USUAL, RaterSettings, no_profiles, profiles
from segjury.scoring.copy_warnings import on_same_masks
from segjury.scoring.policy import cap_missing, internal_problem
from segjury.scoring.records import Result
from segjury.scoring.scorers.measured import rater_item
from segjury.scoring.tables import case_cohorts, score_table

ANONYMOUS = "the panel is anonymous"


@dataclass(frozen=True)
class RaterStudy:
    """What the raters of a benchmark are like; each table is a file of the same name.

    `marked_by` says how many cases had so many raters, `alpha` is Krippendorff's of each label over
    the voxels of all cases. `problems` are the cases that could not be measured, and why.
    """

    protocol: Protocol
    settings: RaterSettings
    pairs: pd.DataFrame
    agreement: pd.DataFrame
    raters: pd.DataFrame
    rater_measures: pd.DataFrame
    rater_cases: pd.DataFrame
    invasion: pd.DataFrame
    invasion_splits: pd.DataFrame
    ceiling: pd.DataFrame
    ceiling_all: pd.DataFrame
    ceiling_summary: pd.DataFrame
    outliers: dict[str, OutlierTests]
    repeats: pd.DataFrame = field(default_factory=pd.DataFrame)
    marked_by: dict[int, int] = field(default_factory=dict)
    alpha: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def cases(self) -> int:
        """How many cases were measured."""
        return int(self.rater_cases["case"].nunique())

    @property
    def n_raters(self) -> int:
        """How many raters there are."""
        return len(self.protocol.reference.panel)

    @property
    def anonymous(self) -> bool:
        """Whether nobody knows which cases a rater marked."""
        return self.protocol.reference.anonymous and self.n_raters > 1

    @property
    def crossed(self) -> bool:
        """Whether the same people marked all cases."""
        return self.protocol.reference.is_complete and not self.anonymous


@dataclass(frozen=True)
class _Task:
    protocol: Protocol
    folder: Path
    case: str
    readings: tuple[Reading, ...]


def measure_raters(
    protocol: str | Path | Protocol,
    *,
    reference: str | Path,
    readings: Sequence[Reading] = READINGS,
    cases: str | Path | None = None,
    settings: RaterSettings = USUAL,
    jobs: int | None = 1,
    allow_code: bool = False,
    progress: Callable[[str], None] = lambda _case: None,
) -> RaterStudy:
    """Measure the raters of every case of a benchmark, and what they are like over the cases.

    `cases` is a table of the cases, if not in the reference folder. `progress` hears of each case
    that is done. A case that cannot be read is a problem, not the end. A protocol file that names
    Python code is refused unless `allow_code`.
    """
    definition = load_protocol(protocol, allow_code=allow_code)
    readings = definition.chosen_readings(readings)
    folder = Path(reference)
    every_case = case_names(definition, folder)
    refuse_wrong_folders(definition, folder, every_case, None, ())
    known = case_table(definition, folder, every_case, Path(cases) if cases else None)
    names, left_out = scored_cases(definition, folder, every_case)
    tasks = [_Task(definition, folder, name, readings) for name in names]
    workers = runtime.default_jobs(len(tasks)) if jobs is None else jobs
    found: dict[str, CaseRaters | str] = {}
    for task, result in runtime.run(_measured, tasks, jobs=workers):
        found[task.case] = result
        progress(task.case)
    measured = [each for name in names if isinstance(each := found[name], CaseRaters)]
    problems = tuple(f"case {n}: {found[n]}" for n in names if isinstance(found[n], str))
    if not measured:
        raise InputError(f"no case of {folder} can be measured: {problems[0]}", "Check the files")
    without = tuple(f"case {case} is left out: {why}" for case, why in left_out.items())
    return _study(definition, settings, measured, known, problems, without)


def _measured(task: _Task) -> CaseRaters | str:
    """The measurements of a case, or why there are none."""
    try:
        reference = load_reference(task.protocol, task.folder, task.case)
        return measure_case(task.case, reference, task.protocol, task.readings)
    except InputError as error:
        return str(error)
    except Exception as error:  # a fault of ours must not stop the other cases
        return internal_problem(error)[1]


def _study(
    protocol: Protocol,
    settings: RaterSettings,
    cases: Sequence[CaseRaters],
    known: dict[str, dict[str, str]],
    problems: tuple[str, ...],
    left_out: tuple[str, ...],
) -> RaterStudy:
    cohort = case_cohorts(protocol, {each.case: each.facts for each in cases}, known)

    def scores(results: list[Result]) -> pd.DataFrame:
        return score_table(protocol, cap_missing(protocol, results), known, cohort)

    spec = protocol.reference
    anonymous = spec.anonymous and len(spec.panel) > 1
    pairs, measures = tables.pair_table(cases), tables.measure_table(cases)
    contacts = tables.contact_table(cases, spec.panel)
    if anonymous:
        found = no_profiles(map(str, measures["label"].unique()), ANONYMOUS)
    else:
        found = profiles(measures, settings, order=[rater_item(name) for name in spec.panel])
    ceiling = scores([result for each in cases for result in each.ceiling.others])
    return RaterStudy(
        protocol=protocol,
        settings=settings,
        pairs=pairs,
        agreement=tables.agreement_table(pairs, tables.cohort_cases(cohort), anonymous=anonymous),
        raters=found.table,
        rater_measures=measures,
        rater_cases=tables.case_table(cases, cohort),
        invasion=contacts,
        invasion_splits=tables.split_table(contacts),
        ceiling=ceiling,
        ceiling_all=scores([result for each in cases for result in each.ceiling.everyone]),
        ceiling_summary=ceiling_summary(
            ceiling,
            protocol.ranking.aggregate,
            crossed=spec.is_complete and not anonymous,
            anonymous=anonymous,
        ),
        outliers=found.outliers,
        repeats=tables.repeat_table(cases),
        marked_by=dict(sorted(Counter(each.n_raters for each in cases).items())),
        alpha=tables.pooled_alpha(cases),
        warnings=(
            *left_out,
            *(f"case {each.case}: {w}" for each in cases for w in each.warnings),
            *(said for each in cases for said in on_same_masks(each.case, each.facts)),
        ),
        problems=problems,
    )
