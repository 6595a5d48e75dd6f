"""How methods are ranked, as data: what a protocol file states and every ranking is made by."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from segjury.protocols.options import ProtocolPart

Scheme = Literal[
    "mean-of-metric-ranks", "aggregate-then-rank", "rank-then-aggregate", "test-then-rank"
]
Ties = Literal["average", "min", "max", "dense"]
MissingPolicy = Literal["error", "exclude", "worst"]
Aggregate = Literal["mean", "median"] | Annotated[float, Field(ge=0, le=1)]


class Ranking(ProtocolPart):
    """How methods are ranked."""

    scheme: Scheme = Field(
        default="mean-of-metric-ranks", description="how metric values become one order"
    )
    aggregate: Aggregate = Field(
        default="mean",
        description="how a metric's case values become one value; a number is a quantile",
    )
    ties: Ties = Field(default="average", description="rank of equal values")
    digits: int = Field(
        default=12, ge=1, le=12, description="significant digits in which values must differ"
    )
    weights: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="weight of a metric's ranks, 1 where it is not named"
    )
    missing: MissingPolicy = Field(
        default="error", description="a value that some methods have and others lack"
    )
    alpha: float = Field(
        default=0.05, gt=0, lt=0.5, description="level of the tests in test-then-rank"
    )


def in_words(aggregate: Aggregate) -> str:
    """`mean`, `median`, `0.25 quantile`."""
    return aggregate if isinstance(aggregate, str) else f"{aggregate:g} quantile"
