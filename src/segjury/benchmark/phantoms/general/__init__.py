"""A phantom for any protocol, made from what the protocol says."""

from __future__ import annotations

from functools import partial

from segjury.arrays import Shape
from segjury.benchmark.phantoms.general.anatomy import smallest_shape
from segjury.benchmark.phantoms.general.cases import GeneralCase, make_case
from segjury.benchmark.phantoms.general.methods import CHARACTERS, Character, simulate_method
from segjury.benchmark.phantoms.writing import Files, Phantom, Rng
from segjury.protocols import Protocol
from segjury.protocols.patterns import RATER

USUAL_SHAPE: Shape = (64, 64, 32)
GROUPS = ("A", "B", "C")  # of cases, where a protocol has columns for such

METHOD_STREAM, COST_STREAM = 5, 7


def phantom_of(protocol: Protocol, shape: Shape = USUAL_SHAPE) -> Phantom[GeneralCase, Character]:
    """The phantom of a protocol; `shape` is that of its images unless another is asked for."""
    smallest = smallest_shape(protocol.reference)
    x, y, z = (max(usual, least) for usual, least in zip(shape, smallest, strict=True))
    return Phantom(
        shape=(x, y, z),
        smallest_shape=smallest,
        contents="the labels of the protocol",
        make_case=partial(make_case, protocol),
        reference=_reference,
        characters=CHARACTERS,
        prediction=simulate_method,
        method_stream=METHOD_STREAM,
        facts=_facts,
        table=protocol.cases.file,
        cost=_cost,
        cost_stream=COST_STREAM,
    )


def _reference(case: GeneralCase) -> Files:
    spec = case.protocol.reference
    files: Files = {
        spec.raters.replace(RATER, name): partial(case.mask, name)
        for name in (*case.drawn, *case.read_again)
    }
    if spec.image:
        files = {**files, spec.image: case.image}
    if spec.structures:
        files = {**files, spec.structures.file: case.structures}
    return files


def _facts(case: GeneralCase) -> dict[str, object]:
    group = GROUPS[case.index % len(GROUPS)]
    return dict.fromkeys(case.protocol.cases.columns, group)


def _cost(case: GeneralCase, _character: Character, rng: Rng) -> dict[str, str]:
    uses = [use for use in case.protocol.metrics if use.metric.measured == "elsewhere"]
    return {use.name: f"{rng.gamma(4.0, 2.0):.3f}" for use in uses}
