"""The phantom of AortaSeg: CT angiograms, 23 branches and zones, methods and what they cost."""

from __future__ import annotations

from segjury.benchmark.phantoms.aortaseg.cases import SMALL_SHAPE, AortaCase, make_case
from segjury.benchmark.phantoms.aortaseg.methods import (
    CHARACTERS,
    Character,
    simulate_cost,
    simulate_method,
)
from segjury.benchmark.phantoms.writing import Files, Phantom, Rng


def _facts(case: AortaCase) -> dict[str, str]:
    return {"dissected": "yes" if case.plan.dissected else "no", "absent": case.plan.absent or ""}


def _prediction(case: AortaCase, character: Character, rng: Rng) -> Files:
    if character.fails_on == case.index:
        return {}
    return {"segmentation": simulate_method(case, character, rng)}


def _cost(case: AortaCase, character: Character, rng: Rng) -> dict[str, str]:
    failed = character.fails_on == case.index
    time_s, memory_gb_s = simulate_cost(character, rng, failed=failed)
    return {"time_s": f"{time_s:.2f}", "memory_gb_s": f"{memory_gb_s:.2f}"}


PHANTOM = Phantom(
    shape=SMALL_SHAPE,
    smallest_shape=(24, 17, 47),  # voxels of 15 mm: coarser ones would skip the shortest zones
    contents="the aorta and its branches",
    make_case=make_case,
    reference=lambda case: {"image": case.image, "annotation_1": case.labels},
    characters=CHARACTERS,
    prediction=_prediction,
    method_stream=4,
    facts=_facts,
    cost=_cost,
    cost_stream=5,
)
