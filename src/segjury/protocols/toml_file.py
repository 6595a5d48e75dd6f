"""Read a TOML file of a known schema, and explain what is wrong with it by line and meaning."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from segjury.errors import InputError, escaped
from segjury.runtime.paths import refuse_pipe

Model = TypeVar("Model", bound=BaseModel)

# TOML takes time and memory with the square of the length of a dotted key
MOST_BYTES = 1 << 18
MOST_DOTS_IN_A_LINE = 100
MOST_EXPLAINED = 10
LONGEST_INPUT = 200  # characters of what was got, in a message


def toml_text(path: Path) -> str:
    """The text of a file that somebody gave, of a sensible size."""
    try:
        refuse_pipe(path)
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InputError(f"{path.name} has more than {MOST_BYTES} bytes", "Give a smaller one")
        return content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} cannot be read ({error})", "Save it as UTF-8") from None


@dataclass(frozen=True)
class Schema(Generic[Model]):
    """The schema of a file, one of whose lists has entries of kinds that a tag tells apart."""

    model: type[Model]
    kinds: Mapping[str, type[BaseModel]]
    tag: str  # the key that says which kind an entry is of
    noun: str  # what an entry is called
    fix: str  # where the schema is shown

    def read(self, text: str, where: str, **context: Any) -> Model:
        """The content of a file; an error names every problem in it."""
        try:
            return self.model.model_validate(
                _parse(text, where), context={"where": where, **context}
            )
        except ValidationError as error:
            found = error.errors()
            problems = [self._explain(problem, text) for problem in found[:MOST_EXPLAINED]]
            if len(found) > MOST_EXPLAINED:
                problems.append(f"and {len(found) - MOST_EXPLAINED} more")
            raise InputError(f"{where}: {'; '.join(problems)}", self.fix) from None

    def _explain(self, problem: Any, text: str) -> str:
        """One problem in words: where it is, what is wrong there, and what that line is for."""
        keys = [key for key in problem["loc"] if key not in self.kinds]
        names = [f"[{key + 1}]" if isinstance(key, int) else _printable(key) for key in keys]
        place = ".".join(names).replace(".[", "[") or "the file"
        line = _line_of(keys, text)
        where = f"line {line}, {place}" if line else place
        model, meaning = self._field(problem["loc"])
        if problem["type"] == "extra_forbidden":
            return f"{where}: this key is not known here; known are {', '.join(model.model_fields)}"
        if problem["type"] == "union_tag_invalid":
            unknown, known = _shown(problem["input"].get(self.tag)), ", ".join(self.kinds)
            return f"{where}: {self.noun} {unknown} is not known; known are {known}"
        message = problem["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
        message = message[0].lower() + message[1:]
        told = problem["type"] in ("missing", "value_error")
        got = "" if told else f", got {_shown(problem['input'])}"
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


def _parse(text: str, where: str) -> dict[str, Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MOST_DOTS_IN_A_LINE:
            raise InputError(
                f"{where}: line {number} has more than {MOST_DOTS_IN_A_LINE} dots", "Break it up"
            )
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{where} is nested too deeply", "Give it a simpler form") from None
    except ValueError as error:  # its own kind, or a number of too many digits
        raise InputError(f"{where} is not valid TOML: {error}", "Fix that line") from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_INPUT else f"{text[:LONGEST_INPUT]}..."


def _printable(key: object) -> str:
    """A key as it is, unless its signs would break a line or a terminal."""
    text = str(key)
    return text if escaped(text) == text and len(text) <= LONGEST_INPUT else _shown(text)


def _line_of(keys: list[int | str], text: str) -> int | None:
    """The line of the key that `keys` end at, or else of the table it belongs to."""
    names = [key for key in keys if isinstance(key, str)]
    if not names:
        return None
    wanted = next((key for key in keys if isinstance(key, int)), 0)
    table, entries, fallback = "", -1, None
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*(\[\[?)([^\]]+)\]", line):
            table = header.group(2).strip()
            if table == names[0] and header.group(1) == "[[":
                entries += 1
            if table == ".".join(names[:-1]) and max(entries, 0) == wanted:
                fallback = number
        key = re.match(r"\s*\"?([\w-]+)\"?\s*=", line)
        here = table == ".".join(names[:-1]) and max(entries, 0) == wanted
        if key and here and key.group(1) == names[-1]:
            return number
    return fallback
