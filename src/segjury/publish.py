"""From a scores table to its report: finds the run beside it, and the images for its pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import ValidationError

from segjury import files
from segjury.case import prediction_files, read_probability_map
from segjury.errors import InputError
from segjury.figures import Illustration, case_illustration, case_panel
from segjury.metrics.metric import Direction
from segjury.protocols import Protocol
from segjury.ranking import protocol_ranking
from segjury.report import write_report
from segjury.report.content import Ranking
from segjury.table import read_run, read_scores
from segjury.volume import Box, LabelMap, bounding_box, grow

MOST_TILES = 6  # methods shown in a picture: the first of the leaderboard
MARGIN_VOXELS = 60  # image kept around what is drawn


def publish(
    scores: Path, out: Path, *, directions: Mapping[str, Direction] | None = None
) -> list[Path]:
    """Write the report of a table of scores; pictures too, where its images are at hand."""
    table = read_scores(scores)
    run = read_run(scores)
    metrics, aggregate = protocol_ranking(run)
    ranking = Ranking(metrics=metrics, directions=directions, aggregate=aggregate)
    panels = _panels(table, run, ranking) if run else []
    return write_report(table, out, run=run, panels=panels, ranking=ranking)


def _panels(table: pd.DataFrame, run: Mapping[str, Any], ranking: Ranking) -> list[Illustration]:
    """Pictures of a typical case and of the hardest one."""
    board = ranking.leaderboard(table)
    methods = [str(name) for name in board.values.index]
    found = []
    for case in _telling_cases(table, board.reading):
        try:
            protocol = Protocol.model_validate(run["protocol"]["definition"])
            folders = Path(str(run["reference"])), Path(str(run["predictions"]))
            found.append(_panel(protocol, *folders, case, methods))
        except (InputError, ValidationError, OSError, KeyError, TypeError):
            continue  # the images have moved on; the report is complete without them
    return found


def _telling_cases(table: pd.DataFrame, reading: str) -> list[str]:
    """The case of median and the one of lowest mean Dice over the methods."""
    overlap = table[(table["metric"] == "dsc") & (table["reading"] == reading)]
    mean = overlap.groupby("case")["value"].mean().dropna().sort_values()
    if mean.empty:
        return []
    return list(dict.fromkeys([str(mean.index[len(mean) // 2]), str(mean.index[0])]))


def _panel(
    protocol: Protocol, reference: Path, predictions: Path, case: str, methods: Sequence[str]
) -> Illustration:
    form, folder = protocol.reference, reference / case
    labels = [form.label, *form.other_labels.values()]
    raters = {
        f"Rater {k + 1}": files.read_mask(files.find(folder, stem), labels=labels)
        for k, stem in enumerate(form.rater_stems)
    }
    grid = raters["Rater 1"].grid
    shown: dict[str, tuple[LabelMap, NDArray[Any]]] = {}
    for method in methods[:MOST_TILES]:
        try:
            mask, probability = prediction_files(protocol, predictions / method, case)
            shown[method] = (
                files.read_mask(mask, labels=[1], expected_shape=grid.shape),
                read_probability_map(probability, grid).array,
            )
        except InputError:
            continue  # its rows say why it could not be scored
    box = _region([*raters.values(), *(mask for mask, _ in shown.values())])
    image = None
    if form.image is not None and files.candidates(folder, form.image):
        image = files.read_volume(files.find(folder, form.image)).array[box]
    figure = case_panel(
        image,
        {name: mask.dense(form.label)[box] for name, mask in raters.items()},
        _structures(protocol, folder, box),
        {name: mask.dense(1)[box] for name, (mask, _) in shown.items()},
        {name: probability[box] for name, (_, probability) in shown.items()},
        spacing_mm=grid.spacing_mm,
        title=f"Case {case}",
        direction=grid.direction,
        everyone=methods,
    )
    return case_illustration(figure, case, list(shown))


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
