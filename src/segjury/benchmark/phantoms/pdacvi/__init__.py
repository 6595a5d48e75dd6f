"""The phantom of CURVAS-PDACVI: CT, five raters, five vessels, simulated methods."""

from __future__ import annotations

import numpy as np

from segjury.benchmark.phantoms.pdacvi.cases import LesionCase, make_case
from segjury.benchmark.phantoms.pdacvi.methods import CHARACTERS, Character, simulate_method
from segjury.benchmark.phantoms.writing import Files, Phantom, Rng


def _reference(case: LesionCase) -> Files:
    first = np.where(case.pancreas, np.uint8(2), np.uint8(0))
    first[case.raters[0]] = 1
    others = {f"annotation_{k}": mask for k, mask in enumerate(case.raters[1:], start=2)}
    vessels = {"annotation_vascular": case.vessels}
    return {"image": case.image, "annotation_1": first, **vessels, **others}


def _prediction(case: LesionCase, character: Character, rng: Rng) -> Files:
    mask, probability = simulate_method(case, character, rng)
    return {"segmentation": mask, "probability": probability}


PHANTOM = Phantom(
    shape=(112, 96, 64),
    smallest_shape=(24, 24, 24),
    contents="a lesion and its surroundings",
    make_case=make_case,
    reference=_reference,
    characters=CHARACTERS,
    prediction=_prediction,
    method_stream=5,
)
