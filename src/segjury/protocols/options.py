"""How a protocol uses each metric: in which readings, with which options, at what cost."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    PlainValidator,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    create_model,
)
from pydantic_core import InitErrorDetails, PydanticKnownError

from segjury.errors import InputError
from segjury.metrics import METRICS, READINGS, Metric, Options, Reading
from segjury.metrics.third_party import (
    installed_metrics,
    load_metric,
    record,
    recorded,
    source_hash,
)


class ProtocolPart(BaseModel):
    """A part of a protocol file: unknown keys and numbers without an end are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Use(Options):
    metric: ClassVar[Metric]  # what the metric declares of itself
    place: ClassVar[str] = ""  # of a third party's code that was loaded: MODULE:NAME

    name: str
    readings: tuple[Reading, ...] = Field(
        default=READINGS, min_length=1, description="readings in which the metric is computed"
    )
    ranked: bool | tuple[Reading, ...] = Field(
        default=True, description="whether it counts in the ranking, or the readings where it does"
    )

    @property
    def unit_used(self) -> str:
        """The unit of its values: the metric's own unless an option says another."""
        return str(getattr(self, "unit", self.metric.unit))

    @property
    def options(self) -> dict[str, Any]:
        """The values of the metric's own options."""
        return {name: getattr(self, name) for name in self.metric.options.model_fields}

    def __reduce__(self) -> tuple[Any, ...]:
        """By what it says: another process loads a third party's code by its name."""
        return _restored, (self.model_dump(), self.place)


class ImageUse(_Use):
    """The use of a metric that is computed from images."""

    worst: FiniteFloat | Literal["empty-prediction", "image-diagonal"] | None = Field(
        default=None,
        description="value of a missing or failed prediction: a number; `empty-prediction` scores "
        "one without any voxel; `image-diagonal` is that length; the metric's worst bound where "
        "absent",
    )
    undefined: Literal["exclude", "worst"] | None = Field(
        default=None, description="cost of an undefined score; the policy's where absent"
    )


class Efficiency(_Use):
    """A cost that was measured elsewhere and comes as a table."""

    ranked: bool | tuple[Reading, ...] = Field(
        default=False, description="whether it counts in the ranking"
    )
    worst: FiniteFloat | Literal["worst-method"] = Field(
        default="worst-method",
        description="cost of a missing or failed prediction: as the costliest",
    )


def _use(metric: Metric, place: str = "", **fields: Any) -> type[_Use]:
    """The keys of a metric in a protocol file: those of all, and its own options."""
    base = ImageUse if metric.measured == "images" else Efficiency
    if metric.readings != READINGS:
        readings = Field(
            default=metric.readings, min_length=1, description="readings in which it is computed"
        )
        fields["readings"] = (_tuple_of(_one_of(*metric.readings)), readings)
    if not metric.ranked:
        ranked = Field(default=False, description="whether it counts in the ranking")
        fields["ranked"] = (bool | tuple[Reading, ...], ranked)
    bases = (metric.options, base) if metric.options is not Options else base
    fields = {"name": (_one_of(metric.name), ...)} | fields
    made = cast("type[_Use]", create_model(metric.name, __base__=bases, **fields))
    made.metric, made.place = metric, place
    return made


def _one_of(*names: str) -> Any:
    return Literal[names]


def _tuple_of(kind: Any) -> Any:
    return tuple[kind, ...]


@cache
def _own(name: str) -> type[_Use]:
    return _use(METRICS[name])


class _Uses(Mapping[str, type[_Use]]):
    """The keys of each of segjury's metrics, made when first asked for."""

    def __getitem__(self, name: str) -> type[_Use]:
        return _own(name)

    def __iter__(self) -> Iterator[str]:
        return iter(METRICS)

    def __len__(self) -> int:
        return len(METRICS)


METRIC_USES = _Uses()


# ---- metrics of others ---------------------------------------------------------------------

BY_SEGJURY = ("source", "declared")  # keys that a run writes, and nobody else


class _RecordedUse(ImageUse):
    """The use of a third party's metric as a run recorded it: nothing that needs its code."""

    model_config = ConfigDict(extra="allow")


@cache
def _third_party(place: str) -> type[_Use]:
    """The keys of a third party's metric, and what a run records of it."""
    metric = load_metric(place)
    common = {*ImageUse.model_fields, "python", *BY_SEGJURY}
    taken = sorted(common & metric.options.model_fields.keys())
    if taken:
        raise InputError(f"{place} has an option {taken[0]}, as all metrics have", "Rename it")
    return _use(
        metric,
        place,
        name=(_one_of(metric.name), metric.name),
        python=(str, place),
        source=(str, source_hash(metric, place)),
        declared=(dict[str, Any], record(metric)),
    )


def _recorded(value: Mapping[str, Any]) -> _Use:
    made = create_model("_RecordedUse", __base__=_RecordedUse)
    made.metric = recorded(value["declared"])
    return made.model_validate({**value, "name": made.metric.name})


def _read_use(value: Any, info: ValidationInfo) -> _Use:
    """A metric's entry in a protocol, by its name or by the place of its code.

    The context says `where` the protocol is written, and whether code may run (`allow_code`).
    """
    context = info.context or {}
    where = context.get("where", "")
    if isinstance(value, _Use):
        return value
    if not isinstance(value, dict):
        raise PydanticKnownError("dict_type")
    if any(key in value for key in BY_SEGJURY) and where:
        raise ValueError(f"{' and '.join(BY_SEGJURY)} are written by segjury, not by hand")
    if isinstance(value.get("declared"), dict):
        return _recorded(value)
    name, place = value.get("name"), value.get("python")
    if place is not None:
        if not isinstance(place, str):
            raise PydanticKnownError("string_type")
        if not context.get("allow_code"):
            raise InputError(
                f"{where or 'the protocol'} runs {place}", "Read that code, then say `allow_code`"
            )
        return _tagged(_third_party(place), "python", value)
    if name is None:
        raise PydanticKnownError("union_tag_not_found", {"discriminator": "'name'"})
    if isinstance(name, str) and name in METRICS:
        return _tagged(METRIC_USES[name], name, value)
    if isinstance(name, str) and name in installed_metrics():
        return _tagged(_third_party(installed_metrics()[name]), name, value)
    about = {"discriminator": "'name'", "tag": str(name), "expected_tags": ", ".join(METRICS)}
    raise PydanticKnownError("union_tag_invalid", about)


def _tagged(use: type[_Use], tag: str, value: dict[str, Any]) -> _Use:
    """An entry of a kind; what is wrong with it is said with the kind, as of a tagged union."""
    try:
        return use.model_validate(value)
    except ValidationError as error:
        lines = [
            InitErrorDetails(
                type=each["type"],
                loc=(tag, *each["loc"]),
                input=each["input"],
                ctx=each.get("ctx", {}),
            )
            for each in error.errors()
        ]
        raise ValidationError.from_exception_data(error.title, lines) from None


def _restored(said: dict[str, Any], place: str) -> _Use:
    """A use in another process, which must have the same code of third parties."""
    if not place:
        if "declared" in said:
            return _recorded(said)
        return METRIC_USES[said["name"]].model_validate(said)
    use = _third_party(place).model_validate(said)
    if said["source"] != _third_party(place).model_fields["source"].default:
        raise InputError(
            f"the worker on {platform.node()} has another version of {place}",
            "Install the same one everywhere",
        )
    return use


MetricUse = Annotated[
    SerializeAsAny[ImageUse] | SerializeAsAny[Efficiency], PlainValidator(_read_use)
]
