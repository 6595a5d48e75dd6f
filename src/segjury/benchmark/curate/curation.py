"""Choose the cases of a benchmark by rules, with a log of every one that is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from segjury import runtime
from segjury.benchmark.case_links import check_empty, link_files
from segjury.benchmark.case_table import case_table
from segjury.benchmark.curate.inspection import CurateTask, Exclusion, Inspected, inspect_case
from segjury.benchmark.curate.rules import AnyRule, load_rules
from segjury.benchmark.folders import refuse_output_among_inputs
from segjury.benchmark.layout import case_names
from segjury.protocols import Protocol, load_protocol
from segjury.runtime.paths import make_folder, resolved
from segjury.runtime.tables import write_csv
from segjury.runtime.writing import json_text, write_text

COLUMNS = ("case", "rule", "reason", "file", "measured", "limit")


@dataclass(frozen=True)
class Curation:
    """All cases, those that are kept with what is known of them, and why others are not."""

    cases: tuple[str, ...]
    kept: pd.DataFrame
    exclusions: tuple[Exclusion, ...]
    about: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """The names of the cases that are kept."""
        return list(self.kept["case"])

    @property
    def flow(self) -> list[tuple[str, int, int]]:
        """Each rule with the cases that it is the first to leave out, and all that break it.

        Faults of files come first, then the rules in their order, as a flow chart counts them.
        """
        first: dict[str, str] = {}
        every: dict[str, set[str]] = {rule["kind"]: set() for rule in self.about["rules"]}
        faults = {e.rule: set[str]() for e in self.exclusions if e.rule not in every}
        every = faults | every
        for exclusion in self.exclusions:
            first.setdefault(exclusion.case, exclusion.rule)
            every[exclusion.rule].add(exclusion.case)
        counted = list(first.values())
        return [(rule, counted.count(rule), len(cases)) for rule, cases in every.items()]


def curate(
    protocol: str | Path | Protocol,
    rules: str | Path | tuple[AnyRule, ...] | None = None,
    *,
    reference: str | Path,
    out: str | Path | None = None,
    link: str | Path | None = None,
    allow_code: bool = False,
    jobs: int | None = 1,
    progress: Callable[[str], None] = lambda _case: None,
) -> Curation:
    """Ask every rule about every case of the reference; nothing is moved or deleted.

    `rules` is a TOML file, the usual ones unless told. What is found is written to the folder
    `out`, if one is given, and links to the cases that are kept to the new folder `link`.
    """
    protocol, reference = load_protocol(protocol, allow_code=allow_code), Path(reference)
    if not isinstance(rules, tuple):
        rules = load_rules(Path(rules) if rules else None, protocol)
    if link is not None:
        check_empty(Path(link))
    if out is not None:
        refuse_output_among_inputs(Path(out), reference)
        make_folder(Path(out))  # first: a wrong place costs no work
    cases = case_names(protocol, reference)
    known = case_table(protocol, reference, cases)
    tasks = [CurateTask(protocol, reference, case, rules) for case in cases]
    workers = runtime.default_jobs(len(tasks)) if jobs is None else jobs
    found: dict[str, Inspected] = {}
    for task, inspected in runtime.run(inspect_case, tasks, jobs=workers):
        found[task.case] = inspected
        progress(task.case)
    kept = [  # what the table of cases says of a fact counts
        {"case": case, **(found[case].facts | known.get(case, {}))}
        for case in cases
        if not found[case].exclusions
    ]
    exclusions = tuple(e for case in cases for e in found[case].exclusions)
    about = {
        "protocol": {"name": protocol.name, "hash": protocol.hash},
        "reference": str(resolved(reference)),
        "rules": [rule.model_dump(mode="json") for rule in rules],
    }
    curation = Curation(
        tuple(cases), pd.DataFrame(kept, columns=None if kept else ["case"]), exclusions, about
    )
    if out is not None:
        write(curation, Path(out))
    if link is not None:
        link_files(protocol, reference, curation.names, Path(link))
    return curation


def write(curation: Curation, out: Path) -> None:
    """Write `exclusions.csv`, `cases.csv`, `cases_kept.txt` and `curation.json`."""
    log = [asdict(exclusion) for exclusion in curation.exclusions]
    write_csv(pd.DataFrame(log, columns=list(COLUMNS), dtype=object), out / "exclusions.csv")
    write_csv(curation.kept, out / "cases.csv")
    write_text("\n".join(curation.names), out / "cases_kept.txt")
    counts = {
        "cases": len(curation.cases),
        "excluded": len(curation.cases) - len(curation.kept),
        "kept": len(curation.kept),
        "by_rule": {
            rule: {"left_out": first, "break_it": every} for rule, first, every in curation.flow
        },
    }
    content = json_text(curation.about | {"counts": counts}, indent=2)
    write_text(content, out / "curation.json")
