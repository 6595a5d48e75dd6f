"""Find and read protocol files, with errors that say what a line means."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from segjury.errors import InputError
from segjury.metrics import METRICS
from segjury.protocols.metric_use import METRIC_USES
from segjury.protocols.protocol import Protocol


def builtin_names() -> list[str]:
    """Names of the protocols that come with the package."""
    folder = resources.files(__package__)
    return sorted(
        f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")
    )


def protocol_text(name_or_path: str | Path) -> str:
    """The TOML source of a built-in protocol or of a file."""
    name = str(name_or_path)
    if name in builtin_names():
        return (resources.files(__package__) / f"{name}.toml").read_text("utf-8")
    path = Path(name)
    if not path.is_file():
        raise InputError(
            f"there is no protocol '{name}'",
            f"Use {', '.join(builtin_names())} or the path of a .toml file",
        )
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} cannot be read ({error})", "Save it as UTF-8") from None


def load_protocol(name_or_path: str | Path) -> Protocol:
    """Read a built-in protocol by name, or a TOML file of the same form."""
    text = protocol_text(name_or_path)
    where = Path(name_or_path).name
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not valid TOML: {error}", "Mend that line") from None
    try:
        return Protocol.model_validate(content)
    except ValidationError as error:
        problems = [_explain(problem, text) for problem in error.errors()]
        raise InputError(
            f"{where}: {'; '.join(problems)}", "See `segjury protocols NAME` for the form"
        ) from None


def _explain(problem: Any, text: str) -> str:
    """One problem in words: where it is, what is wrong there, and what that line is for."""
    keys = [key for key in problem["loc"] if key not in METRICS]
    names = [f"[{key + 1}]" if isinstance(key, int) else str(key) for key in keys]
    place = ".".join(names).replace(".[", "[") or "the file"
    line = _line_of(keys, text)
    where = f"line {line}, {place}" if line else place
    model, meaning = _field(problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{where}: this key is not known here; known are {', '.join(model.model_fields)}"
    if problem["type"] == "union_tag_invalid":
        unknown = problem["input"].get("name")
        return f"{where}: metric {unknown!r} is not known; known are {', '.join(METRIC_USES)}"
    message = problem["msg"].removeprefix("Value error, ").replace("a valid tuple", "a list")
    message = message[0].lower() + message[1:]
    got = "" if problem["type"] in ("missing", "value_error") else f", got {problem['input']!r}"
    return f"{where}: {message}{got}" + (f" (meaning: {meaning})" if meaning else "")


def _field(keys: tuple[int | str, ...]) -> tuple[type[BaseModel], str]:
    """The table that `keys` lead into, and what the field they end at is for."""
    table: type[BaseModel] = Protocol
    meaning = ""
    for key in keys:
        if key in METRIC_USES:
            table = METRIC_USES[str(key)]
            continue
        field = table.model_fields.get(str(key))
        if field is None:
            continue
        meaning = field.description or ""
        parts = (field.annotation, *getattr(field.annotation, "__args__", ()))
        table = next((p for p in parts if isinstance(p, type) and issubclass(p, BaseModel)), table)
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
