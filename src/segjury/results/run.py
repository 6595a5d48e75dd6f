"""The record of a run, `run.json`: enough to repeat it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from segjury.errors import InputError
from segjury.metrics import Reading
from segjury.protocols import Protocol
from segjury.runtime.writing import json_text, write_text

RUN = "run.json"
MOST_BYTES = 1 << 26  # of it


class _Record(BaseModel):
    """A part of the record; what another hand wrote there and cannot be meant is left out."""

    model_config = ConfigDict(frozen=True, extra="allow", coerce_numbers_to_str=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _usable(cls, value: Any, check: Callable[[Any], Any], info: ValidationInfo) -> Any:
        try:
            return check(value)
        except ValidationError:
            field = cls.model_fields[str(info.field_name)]
            return field.get_default(call_default_factory=True)


class RunProtocol(_Record):
    """The protocol of a run: its name, its hash, its text as written, and what that means."""

    name: str = ""
    title: str = ""
    hash: str = ""
    text: str = ""
    definition: dict[str, Any] = {}

    @cached_property
    def model(self) -> Protocol | None:
        """The protocol itself; None where the record does not hold a whole one."""
        try:
            return Protocol.model_validate(self.definition)
        except (ValidationError, InputError):  # such as code that is named and must not run
            return None


class Run(_Record):
    """A run: what was scored by which rules, with which software, where and when.

    Fields are those of `run.json`. `segjury` is our version, `code` a fingerprint of what scores
    depend on, `left_out` why cases were not scored for any method, `doubts` which methods'
    predictions look misplaced, `kept` how many results were taken from an earlier run, `relative`
    where the folders are from the results.
    """

    segjury: str = ""
    protocol: RunProtocol = RunProtocol()
    readings: list[Reading] = []
    reference: str = ""
    predictions: str = ""
    methods: list[str] = []
    follow_links: bool = False
    time_limit_s: float | None = None
    memory_limit_gb: float | None = None
    versions: dict[str, Any] = {}
    code: str = ""
    machine: dict[str, Any] = {}
    case_table: str | None = None
    efficiency: str | None = None
    cases: int = 0
    left_out: dict[str, str] = {}
    doubts: list[str] = []
    kept: int = 0
    engine: str = ""
    jobs: int | None = None
    started: str = ""
    seconds: float | None = None
    relative: dict[str, str] = {}

    @classmethod
    def read(cls, path: str | Path) -> Run | None:
        """The `run.json` in a folder, or beside a table of scores; None if there is none to use."""
        try:
            record = _folder(Path(path)) / RUN
            if not record.is_file():
                return None
            with record.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
            return cls.model_validate(json.loads(content)) if len(content) <= MOST_BYTES else None
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, folder: Path, *, into: Path | None = None) -> None:
        """Write `run.json`; `into` is where it is put meanwhile, before it goes to `folder`."""
        relative = {
            kind: os.path.relpath(place, folder)
            for kind, place in (("reference", self.reference), ("predictions", self.predictions))
        }
        content = self.model_copy(update={"relative": relative}).model_dump(mode="json")
        write_text(json_text(content, indent=2), (into or folder) / RUN)

    def folder(self, kind: Literal["reference", "predictions"], beside: Path) -> Path:
        """Where images of the run are: as it was started, or as they lie from its results."""
        given: str = getattr(self, kind)
        if not given:
            raise InputError(f"{RUN} does not say where the {kind} is", f"Say it: `{kind}`")
        places = [Path(given), _folder(beside) / self.relative.get(kind, given)]
        for place in places:
            if place.is_dir():
                return place
        raise InputError(f"there is no folder {places[0]}")


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent
