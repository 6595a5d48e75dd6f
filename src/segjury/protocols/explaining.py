"""Read a TOML file of a known form, and explain what is wrong with it by line and meaning."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from segjury.errors import InputError

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Form(Generic[Model]):
    """The form of a file, one of whose lists has entries of several kinds, told apart by a tag."""

    model: type[Model]
    kinds: Mapping[str, type[BaseModel]]
    tag: str  # the key that says which kind an entry is of
    noun: str  # what an entry is called
    todo: str  # where the form is shown

    def read(self, text: str, where: str) -> Model:
        """The content of a file; an error names every problem in it."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{where} is not valid TOML: {error}", "Mend that line") from None
        try:
            return self.model.model_validate(content)
        except ValidationError as error:
            problems = [self._explain(problem, text) for problem in error.errors()]
            raise InputError(f"{where}: {'; '.join(problems)}", self.todo) from None

    def _explain(self, problem: Any, text: str) -> str:
        """One problem in words: where it is, what is wrong there, and what that line is for."""
        keys = [key for key in problem["loc"] if key not in self.kinds]
        names = [f"[{key + 1}]" if isinstance(key, int) else str(key) for key in keys]
        place = ".".join(names).replace(".[", "[") or "the file"
        line = _line_of(keys, text)
        where = f"line {line}, {place}" if line else place
        model, meaning = self._field(problem["loc"])
        if problem["type"] == "extra_forbidden":
            return f"{where}: this key is not known here; known are {', '.join(model.model_fields)}"
        if problem["type"] == "union_tag_invalid":
            unknown, known = problem["input"].get(self.tag), ", ".join(self.kinds)
            return f"{where}: {self.noun} {unknown!r} is not known; known are {known}"
        message = problem["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
        message = message[0].lower() + message[1:]
        got = "" if problem["type"] in ("missing", "value_error") else f", got {problem['input']!r}"
        return f"{where}: {message}{got}" + (f" (meaning: {meaning})" if meaning else "")

    def _field(self, keys: tuple[int | str, ...]) -> tuple[type[BaseModel], str]:
        """The table that `keys` lead into, and what the field they end at is for."""
        table: type[BaseModel] = self.model
        meaning = ""
        for key in keys:
            if key in self.kinds:
                table = self.kinds[str(key)]
                continue
            field = table.model_fields.get(str(key))
            if field is None:
                continue
            meaning = field.description or ""
            parts = (field.annotation, *getattr(field.annotation, "__args__", ()))
            nested = (p for p in parts if isinstance(p, type) and issubclass(p, BaseModel))
            table = next(nested, table)
        return table, meaning


def _line_of(keys: list[int | str], text: str) -> int | None:
    """The line of the key that `keys` end at, or else of the table it belongs to."""
    names = [key for key in keys if isinstance(key, str)]
    if not names:
        return None
    wanted = next((key for key in keys if isinstance(key, int)), 0)
    table, entries, fallback = "", -1, None
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]", line):
            table = header.group(2)
            if table == names[0] and header.group(1) == "[[":
                entries += 1
            if table == ".".join(names[:-1]) and max(entries, 0) == wanted:
                fallback = number
        key = re.match(r"\s*\"?([\w-]+)\"?\s*=", line)
        here = table == ".".join(names[:-1]) and max(entries, 0) == wanted
        if key and here and key.group(1) == names[-1]:
            return number
    return fallback
