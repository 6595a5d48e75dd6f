"""The commands that repeat a report, to be run in its folder, as a shell takes them."""

from __future__ import annotations

import csv
import io
import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from segjury.analysis.analysis import Settings
from segjury.analysis.ranking import Rules
from segjury.analysis.study import Study
from segjury.errors import InputError, escaped
from segjury.metrics import READINGS
from segjury.protocols import builtin_names, load_protocol
from segjury.results import Run
from segjury.results.read import scores_file

Options = list[tuple[str, object]]  # an option and what it is given; several have one name
IN_MEMORY = "SCORES.csv"


def repeating_commands(
    study: Study,
    out: Path,
    *,
    file_format: str | None = None,
    title: str | None = None,
    kinds: Collection[str] | None = None,
    reference: Path | None = None,
    predictions: Path | None = None,
) -> tuple[str, ...]:
    """The lines that score the benchmark again, if a run tells how, and write the report.

    Paths are from the folder of the report, which may move along with the rest, and which does not
    tell whose computer it was written on. A line that begins with # is for the reader.
    """
    folder = out.parent
    lines = list(_evaluation(study, folder)) if study.run and study.path else []
    table = IN_MEMORY
    if study.path is None:
        lines.append(f"# {IN_MEMORY} is the table that was given in memory")
    else:
        table = from_folder(scores_file(study.path), folder)
    options = [
        *_reading(study, folder),
        *_asked(study),
        ("format", file_format),
        ("title", title),
        ("figures", None if kinds is None else in_row(kinds) if kinds else "none"),
        ("reference", reference and from_folder(reference, folder)),
        ("predictions", predictions and from_folder(predictions, folder)),
    ]
    return (*lines, _line(["report", table, "--out", _path(out.name)], options))


def _reading(study: Study, folder: Path) -> Options:
    """How the table was read, and which of its methods."""
    read = study.how_read
    raters = read.raters and from_folder(read.raters, folder)
    columns = in_row(f"{ours}={theirs}" for ours, theirs in read.columns.items())
    kept = list(map(str, study.scores["method"].unique()))
    fewer = len(kept) < len(study.left_out)
    return [
        ("columns", columns),
        ("groups", in_row(read.groups)),
        ("matrix", read.matrix),
        ("raters", raters),
        ("methods", in_row(kept) if fewer else None),
        ("exclude", None if fewer else in_row(study.left_out)),
        *((side, in_row([name])) for name, side in study.better.items()),
    ]


def _asked(study: Study) -> Options:
    """What was asked for instead of the protocol's and our usual ways."""
    usual, rules = Rules.of_run(study.run).ranking, study.rules
    ranking = {
        name: value
        for name, value in rules.ranking.model_dump().items()
        if value != getattr(usual, name)
    }
    weights = ranking.get("weights") or {}
    settings, default = study.settings, Settings()
    return [
        ("reading", study.reading_asked),
        ("cohort", study.cohort_asked),
        *(("by", name) for name in study.by),
        ("metrics", in_row(rules.metrics or ())),
        ("scheme", ranking.get("scheme")),
        ("aggregate", ranking.get("aggregate")),
        ("ties", ranking.get("ties")),
        ("weights", in_row(f"{name}={weight!r}" for name, weight in weights.items())),
        ("missing", ranking.get("missing")),
        *(("baseline", name) for name in settings.baselines),
        *(("failure", rule) for rule in settings.failures),
        ("bootstrap", None if settings.samples == default.samples else settings.samples),
        ("seed", None if settings.seed == default.seed else settings.seed),
        ("alpha", None if settings.alpha == default.alpha else settings.alpha),
    ]


def _evaluation(study: Study, folder: Path) -> Iterator[str]:
    """The command that scored the table, as far as its run tells."""
    run, path = study.run or Run(), study.path or Path()
    if not run.protocol.name:
        return
    name = run.protocol.name
    if name not in builtin_names() or load_protocol(name).hash != run.protocol.hash:
        name = "protocol.toml"
        yield f"# {name} is the protocol file that this report holds"
    places, there = {}, True
    for kind in ("reference", "predictions"):
        try:
            places[kind] = from_folder(run.folder(kind, path), folder)
        except (InputError, OSError):
            places[kind], there = kind.upper(), False
    if not there:
        yield "# REFERENCE has a folder for each case, PREDICTIONS one for each method"
    options: Options = [
        *places.items(),
        ("out", from_folder(scores_file(path).parent, folder)),
        ("reading", None if set(run.readings) == set(READINGS) else in_row(run.readings)),
        ("methods", None if _all_scored(run, path) else in_row(run.methods)),
        ("cases", run.case_table and from_folder(Path(run.case_table), folder)),
        ("efficiency", run.efficiency and from_folder(Path(run.efficiency), folder)),
        ("time-limit", run.time_limit_s and f"{run.time_limit_s:g}s"),
        ("memory-limit", run.memory_limit_gb and f"{run.memory_limit_gb:g}GB"),
    ]
    uses = run.protocol.definition.get("metrics")
    runs_code = any("python" in use for use in uses) if isinstance(uses, list) else False
    flags = {"follow-links": run.follow_links, "allow-code": runs_code}
    yield _line(["evaluate", name], options, flags=flags)


def _all_scored(run: Run, path: Path) -> bool:
    """Whether the run scored every method that there is now."""
    try:
        there = run.folder("predictions", path).iterdir()
        names = {each.name for each in there if each.is_dir() and not each.name.startswith(".")}
    except (InputError, OSError):
        return True
    return names <= set(run.methods)


# ---- words of a shell ----------------------------------------------------------------------


def _line(
    words: Sequence[str], options: Options, *, flags: Mapping[str, bool] | None = None
) -> str:
    """A command with those of its options that are given something."""
    given = [(name, value) for name, value in options if value not in (None, "")]
    named = [text for name, value in given for text in (f"--{name}", str(value))]
    named += [f"--{name}" for name, wanted in (flags or {}).items() if wanted]
    return " ".join(map(shell_word, ["segjury", *words, *named]))


def shell_word(text: str) -> str:
    """A word that bash and zsh take as it is; what cannot be seen is written out."""
    if escaped(text) == text:
        return shlex.quote(text)
    special = {"\\": r"\\", "'": r"\'"}
    return f"$'{''.join(special.get(char) or _written_out(char) for char in text)}'"


def _written_out(char: str) -> str:
    if escaped(char) == char:
        return char
    return f"\\x{ord(char):02x}" if ord(char) < 0x80 else f"\\U{ord(char):08x}"


def in_row(names: Iterable[str]) -> str:
    """Names with commas between them, in quotes where they hold one."""
    given = list(names)
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(given)
    return text.getvalue() if given else ""


def from_folder(path: Path, folder: Path) -> str:
    """A path from a folder; links are followed, but for the last part of the path."""
    real = os.path.realpath(path.parent) if path.name not in ("", "..") else os.path.realpath(path)
    whole = Path(real, path.name) if path.name not in ("", "..") else Path(real)
    try:
        return _path(os.path.relpath(whole, os.path.realpath(folder)))
    except ValueError:  # on another drive
        return str(whole)


def _path(text: str) -> str:
    """A path that is not taken for an option."""
    return f"./{text}" if text.startswith("-") else text
