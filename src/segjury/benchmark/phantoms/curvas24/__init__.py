"""The phantom of CURVAS 2024: CT, three raters of three organs, simulated methods."""

from __future__ import annotations

from segjury.benchmark.phantoms.curvas24.cases import OrganCase, make_case
from segjury.benchmark.phantoms.curvas24.methods import CHARACTERS, Character, simulate_method
from segjury.benchmark.phantoms.writing import Files, Phantom, Rng


def _reference(case: OrganCase) -> Files:
    drawn = {f"annotation_{k}": labels for k, labels in enumerate(case.annotations, start=1)}
    return {"image": case.image, **drawn}


def _prediction(case: OrganCase, character: Character, rng: Rng) -> Files:
    answer = simulate_method(case, character, rng)
    maps = {f"probability_{organ}": each for organ, each in answer.probabilities.items()}
    return {"segmentation": answer.labels, **maps}


PHANTOM = Phantom(
    shape=(112, 96, 64),
    smallest_shape=(24, 24, 24),
    contents="the organs",
    make_case=make_case,
    reference=_reference,
    characters=CHARACTERS,
    prediction=_prediction,
    method_stream=5,
    facts=lambda case: vars(case.plan),
)
