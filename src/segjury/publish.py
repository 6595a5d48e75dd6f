"""From a scores table to its report: finds the run beside it, and the images for its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import ValidationError

from segjury import files
from segjury.errors import InputError
from segjury.figures import Illustration, case_illustration, case_panel
from segjury.loading import prediction_files, read_predicted_mask, read_probability_map
from segjury.protocols import Protocol
from segjury.ranking import Rules
from segjury.report import write_report
from segjury.table import read_run, run_folder
from segjury.volume import Box, LabelMap, bounding_box, grow

MOST_TILES = 6  # methods shown in a picture: the first of the leaderboard
MARGIN_VOXELS = 60  # image kept around what is drawn


@dataclass(frozen=True)
class Published:
    """The files of a report, and what it had to do without."""

    paths: list[Path]
    note: str = ""


def publish(
    scores: Path,
    table: pd.DataFrame,
    out: Path,
    *,
    rules: Rules,
    reference: Path | None = None,
    predictions: Path | None = None,
) -> Published:
    """Write the report of the table in a file of scores; pictures too, where images are at hand."""
    run = read_run(scores)
    panels: list[Illustration] = []
    note = ""
    if run:
        folder = scores if scores.is_dir() else scores.parent
        try:
            protocol = Protocol.model_validate(run["protocol"]["definition"])
            cases = reference or run_folder(run, "reference", folder)
            methods = predictions or run_folder(run, "predictions", folder)
            panels = _panels(table, rules, protocol, cases, methods)
        except (InputError, ValidationError, OSError, KeyError, TypeError) as error:
            note = f"no pictures of cases: {error} Say where they are: --reference, --predictions"
    return Published(write_report(table, out, run=run, panels=panels, rules=rules), note)


def _panels(
    table: pd.DataFrame, rules: Rules, protocol: Protocol, reference: Path, predictions: Path
) -> list[Illustration]:
    """Pictures of a typical case and of the hardest one."""
    board = rules.leaderboard(table)
    methods = [str(name) for name in board.values.index]
    return [
        _panel(protocol, reference, predictions, case, methods, why)
        for case, why in _telling_cases(table, board.reading).items()
    ]


def _telling_cases(table: pd.DataFrame, reading: str) -> dict[str, str]:
    """The case of lowest and the one of median mean Dice over the methods, and why they tell."""
    dice = table["metric"].isin(["dsc", "dice"]) & (table["structure"] == "all")
    overlap = table[dice & (table["reading"] == reading) & (table["status"] == "ok")]
    mean = overlap.groupby("case")["value"].mean().dropna().sort_values()
    if mean.empty:
        return {}
    typical, hardest = str(mean.index[len(mean) // 2]), str(mean.index[0])
    why = {typical: "A typical case: the median of the methods' mean Dice."}
    return why | ({hardest: "The hardest case: the lowest mean Dice."} if len(mean) > 1 else {})


def _panel(
    protocol: Protocol,
    reference: Path,
    predictions: Path,
    case: str,
    methods: Sequence[str],
    why: str,
) -> Illustration:
    form, folder = protocol.reference, reference / case
    names = [f"Rater {k + 1}" for k in range(form.n_raters)] if form.n_raters > 1 else ["Reference"]
    raters = {
        name: _scored(
            files.read_mask(files.find(folder, stem), labels=form.allowed_labels), protocol
        )
        for name, stem in zip(names, form.rater_stems, strict=True)
    }
    grid = raters[names[0]].grid
    masks: dict[str, LabelMap] = {}
    maps: dict[str, NDArray[Any]] = {}
    for method in methods[:MOST_TILES]:
        try:
            found = prediction_files(protocol, predictions / method, case)
            masks[method] = read_predicted_mask(protocol, found.mask, grid)
            if len(found.probabilities) == 1:  # of several labels, none would be the one to show
                ((name, path),) = found.probabilities.items()
                maps[method] = read_probability_map(path, form.labels[name], grid).array
        except InputError:
            masks.pop(method, None)  # its rows say why it could not be scored
    box = _region([*raters.values(), *masks.values()])
    image = None
    if form.image is not None and files.candidates(folder, form.image):
        image = files.read_volume(files.find(folder, form.image)).array[box]
    figure = case_panel(
        image,
        {name: mask.dense()[box] for name, mask in raters.items()},
        _structures(protocol, folder, box),
        {name: mask.dense()[box] for name, mask in masks.items()},
        {name: probability[box] for name, probability in maps.items()},
        spacing_mm=grid.spacing_mm,
        title=f"Case {case}",
        direction=grid.direction,
        everyone=methods,
    )
    return case_illustration(
        figure, case, list(masks), why, n_raters=form.n_raters, n_labels=len(form.labels)
    )


def _scored(mask: LabelMap, protocol: Protocol) -> LabelMap:
    """A label map without the labels that do not count."""
    counts = np.isin(mask.labels, list(protocol.reference.labels.values()))
    return LabelMap(mask.voxels[counts], mask.labels[counts], mask.grid)


def _structures(protocol: Protocol, folder: Path, box: Box) -> dict[str, NDArray[np.bool_]]:
    form = protocol.reference.structures
    if form is None:
        return {}
    found = files.read_mask(files.find(folder, form.file), labels=form.labels.values())
    return {name: found.dense(label)[box] for name, label in form.labels.items()}


def _region(masks: Sequence[LabelMap]) -> Box:
    """The part of the image around everything that is drawn."""
    shape = masks[0].grid.shape
    box = bounding_box(np.concatenate([mask.voxels for mask in masks]), shape)
    return grow(
        box or (slice(0, shape[0]), slice(0, shape[1]), slice(0, shape[2])), MARGIN_VOXELS, shape
    )
