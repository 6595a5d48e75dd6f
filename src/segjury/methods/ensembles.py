"""Ensembles of methods: written as the prediction of one more method, and scored as such."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segjury import images
from segjury.analysis.ranking import Rules
from segjury.benchmark.case import PredictedCase
from segjury.benchmark.layout import CaseFiles, Place, case_names, scored_cases
from segjury.benchmark.loading import load_prediction
from segjury.benchmark.names import place_in
from segjury.consensus import (
    SeenPatterns,
    break_ties,
    leaders,
    majority,
    multilabel_staple,
    number_patterns,
    staple_foreground,
    votes,
)
from segjury.errors import InputError
from segjury.images.grid import Grid
from segjury.images.volume import Volume
from segjury.protocols import Protocol
from segjury.results import Results
from segjury.runtime import prefetch
from segjury.runtime.lock import locked
from segjury.runtime.paths import remove_folder
from segjury.scoring.run import score_benchmark

Voting = Literal["majority", "staple"]
MARKER = "ensemble.json"  # in the folder of an ensemble


@dataclass(frozen=True)
class Ensemble:
    """Methods that vote, the best one first, under the name of one more method."""

    name: str
    methods: tuple[str, ...]
    voting: Voting


def score_ensemble(
    scores: Path,
    *,
    top: int = 3,
    methods: Sequence[str] | None = None,
    voting: Voting = "majority",
    name: str = "",
    reference: Path | None = None,
    predictions: Path | None = None,
    jobs: int | None = 1,
    progress: Callable[[str], None] = lambda _case: None,
) -> tuple[Ensemble, list[str]]:
    """Let the best methods of a run vote, and score the result with the others.

    The `top` methods of the leaderboard vote, or those named; ensembles made before do not. The
    prediction lands beside the methods', and the tables of the run are written again.
    """
    folder = scores if scores.is_dir() else scores.parent
    given = Results.read(folder, beside=())
    run, protocol = given.run, given.run.protocol.model if given.run else None
    if run is None or protocol is None or not run.readings:
        raise InputError(f"there is no usable run.json beside {scores}", "Run evaluate")
    reference = reference or run.folder("reference", folder)
    predictions = predictions or run.folder("predictions", folder)
    board = Rules.of_run(run).leaderboard(given.scores)
    scored = {
        name: place_in(predictions, name, "method") for name in map(str, board.position.index)
    }
    ranked = [name for name, place in scored.items() if not (place / MARKER).exists()]
    unknown = [method for method in methods or [] if method not in ranked]
    if unknown:
        raise InputError(f"{', '.join(unknown)} was not scored", f"Use {', '.join(ranked)}")
    chosen = tuple(m for m in ranked if m in methods) if methods else tuple(ranked[:top])
    if len(chosen) < 2:
        raise InputError(f"{len(chosen)} method cannot make an ensemble", "Give at least two")
    ensemble = Ensemble(name or f"ensemble-{voting}-{len(chosen)}", chosen, voting)
    notes = write_ensemble(
        ensemble,
        protocol,
        reference=reference,
        predictions=predictions,
        cases=scored_cases(protocol, reference, case_names(protocol, reference))[0],
        follow_links=run.follow_links,
        progress=progress,
    )
    with locked(folder):
        results = score_benchmark(
            protocol,
            reference=reference,
            predictions=predictions,
            readings=run.readings,
            methods=[*run.methods, *({ensemble.name} - set(run.methods))],
            jobs=jobs,
            store=folder / "parts",
            case_file=Path(run.case_table) if run.case_table else None,
            efficiency=Path(run.efficiency) if run.efficiency else None,
            follow_links=run.follow_links,
            text=run.protocol.text,
        )
        results.write(folder)
    return ensemble, notes


def write_ensemble(
    ensemble: Ensemble,
    protocol: Protocol,
    *,
    reference: Path,
    predictions: Path,
    cases: Sequence[str],
    follow_links: bool = False,
    progress: Callable[[str], None] = lambda _case: None,
) -> list[str]:
    """Write the ensemble's prediction of each case; says what it had to do without.

    A method whose prediction of a case is missing or unusable has no vote there. Where no method
    has one, the ensemble has no prediction either. Probability maps are the mean of the methods'.
    An ensemble of the same name is written anew; a method's predictions are never overwritten.
    """
    folder = place_in(predictions, ensemble.name, "ensemble")
    _make_folder(folder, ensemble)
    notes = []
    for case in cases:
        try:
            grid = images.read_grid(CaseFiles.of(protocol, reference, case).first.find())
        except InputError as error:
            notes.append(f"case {case}: left out, reference: {error}")
            continue
        votes: list[PredictedCase] = []

        def load(method: str, case: str = case, grid: Grid = grid) -> PredictedCase:
            place = place_in(predictions, method, "method")
            return load_prediction(protocol, place, case, grid, follow_links=follow_links)

        loading = prefetch(load, ensemble.methods, depth=1)
        for method, loaded in zip(ensemble.methods, loading, strict=True):
            try:
                vote = loaded.result()
            except InputError as error:
                notes.append(f"case {case}: without {method}: {error}")
                continue
            if why := _no_vote(protocol, vote):
                notes.append(f"case {case}: without {method}: {why}")
            else:
                votes.append(vote)
        if votes:
            _write(ensemble, protocol, votes, grid, folder, case)
        progress(case)
    return notes


def _no_vote(protocol: Protocol, prediction: PredictedCase) -> str:
    """Why a prediction cannot vote; nothing where it can."""
    for no_map in prediction.no_maps.values():
        return no_map
    known = len(protocol.reference.classes)
    if any(values.max(initial=0) > known for _, values in prediction.marks.pieces()):
        return "its labels overlap as no number of the protocol says"
    return ""


def _make_folder(folder: Path, ensemble: Ensemble) -> None:
    """Make an empty folder with a marker that tells it from a method's."""
    if folder.exists() and not (folder / MARKER).is_file():
        raise InputError(f"{ensemble.name} is a method already", "Give another `name`")
    if folder.exists():
        remove_folder(folder)
    folder.mkdir()
    content = {"methods": ensemble.methods, "voting": ensemble.voting}
    (folder / MARKER).write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def _write(
    ensemble: Ensemble,
    protocol: Protocol,
    votes: Sequence[PredictedCase],
    grid: Grid,
    folder: Path,
    case: str,
) -> None:
    spec = protocol.reference
    labels = vote(votes, grid, n_labels=len(spec.classes) + 1, by=ensemble.voting)
    stored = np.zeros(len(spec.classes) + 1, np.uint8)
    for number, value in reversed(spec.class_of_number.items()):
        stored[value] = number
    mask = Place.of(protocol.prediction.mask, folder, case)
    images.write_volume(mask.folder / mask.usual_name, Volume(stored[labels], grid))
    for number, stem in enumerate(protocol.probability_stems.values()):
        mean = np.zeros(grid.shape, np.float64, order="F")
        maps = [volume for each in votes if (volume := each.probabilities[number])]
        for volume in maps:
            mean += volume.array
        mean /= len(maps)
        place = Place.of(stem, folder, case)
        volume = Volume(mean.astype(np.float32), grid)
        images.write_volume(place.folder / place.usual_name, volume)


def vote(
    predicted: Sequence[PredictedCase], grid: Grid, *, n_labels: int, by: Voting
) -> NDArray[np.uint8]:
    """The label map of an ensemble, labels from 1 in the order of the protocol.

    Where labels are equally good, the one with the most votes wins, and of these the first
    method's.
    """
    marks = [each.marks.pieces() for each in predicted]
    patterns = number_patterns(marks, math.prod(grid.shape))
    patterns = replace(patterns, n_labels=n_labels)
    decided = majority(patterns) if by == "majority" else _staple(patterns)
    first = break_ties(patterns, leaders(votes(patterns)), ties="first")
    labels = np.where(decided == n_labels, first, decided).astype(np.uint8)
    return patterns.spread(labels).reshape(grid.shape, order="F")


def _staple(patterns: SeenPatterns) -> NDArray[np.int64]:
    if patterns.n_labels == 2:
        return staple_foreground(patterns).astype(np.int64)
    return multilabel_staple(patterns).labels
