"""Pairs of masks with the values that the EvaluateSegmentation tool printed for them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import nibabel
import numpy as np
from numpy.typing import NDArray

from tests.places import GOLDEN

FOLDER = GOLDEN / "evaluatesegmentation"


@dataclass(frozen=True)
class GoldenPair:
    """`values` by the tool's own names; empty where the tool refused the pair."""

    name: str
    reference: NDArray[np.bool_]
    prediction: NDArray[np.bool_]
    values: dict[str, float]


def _mask(name: str) -> NDArray[np.bool_]:
    image: Any = nibabel.load(FOLDER / name)
    return np.asarray(image.dataobj) > 0


def golden_pairs() -> list[GoldenPair]:
    pairs = json.loads((FOLDER / "golden.json").read_text())
    return [
        GoldenPair(
            name,
            _mask(pair["truth"]),
            _mask(pair["pred"]),
            {key: float(value) for key, value in pair["values"].items()},
        )
        for name, pair in pairs.items()
    ]


SCORED = [pair for pair in golden_pairs() if pair.values]
REFUSED = [pair for pair in golden_pairs() if not pair.values]
