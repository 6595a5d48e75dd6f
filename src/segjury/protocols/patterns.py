"""Where the files of a case lie, as a pattern such as `labels/{case}_reader-{rater}`.

A pattern with `{case}` is a path below the folder of the reference or of a method, without the
ending. One without is a file in the folder of the case: `segmentation` means `{case}/segmentation`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

CASE, RATER, LABEL, SAMPLE = "{case}", "{rater}", "{label}", "{sample}"
PLACEHOLDERS = (CASE, RATER, LABEL, SAMPLE)
MOST_FOLDERS = 8
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def _below_a_folder(pattern: str) -> str:
    parts = pattern.split("/")
    if any(not part or part[0] in ". " or part[-1] in ". " for part in parts):
        raise ValueError("a folder or file cannot begin or end with a dot or a space")
    if len(parts) > MOST_FOLDERS:
        raise ValueError(f"the file lies more than {MOST_FOLDERS} folders deep")
    if set("{}") & set(_PLACEHOLDER.sub("", pattern)):
        raise ValueError("a brace is not closed")
    for name in _PLACEHOLDER.findall(pattern):
        if f"{{{name}}}" not in PLACEHOLDERS:
            raise ValueError(f"{{{name}}} is not known; known are {', '.join(PLACEHOLDERS)}")
    return pattern


Pattern = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_{} .=+@/-]+$", max_length=200),
    AfterValidator(_below_a_folder),
]


def below_root(pattern: str) -> str:
    """The whole path of a pattern; one without `{case}` is a file in the folder of the case."""
    return pattern if CASE in pattern else f"{CASE}/{pattern}"


def lies_in_case_folder(pattern: str) -> bool:
    """Whether the first folder is the case's own, so that the folders there are the cases."""
    return below_root(pattern).startswith(f"{CASE}/")


def filled(pattern: str, **values: str) -> str:
    """The whole path with values in place of their placeholders."""
    return _PLACEHOLDER.sub(
        lambda found: values.get(found[1], found[0]),
        below_root(pattern),
    )


def is_named_as(pattern: str, path: Path) -> bool:
    """Whether a file is called as a pattern says, whatever its placeholders stand for."""
    name = below_root(pattern).rpartition("/")[2]
    return re.fullmatch(rf"{_expression(name, {})}\.[A-Za-z.]+", path.name) is not None


def matcher(pattern: str, choices: Mapping[str, str]) -> re.Pattern[str]:
    """What paths of a pattern look like; `choices` are expressions for what a placeholder may be.

    A placeholder that stands twice has one value; the groups are named as the placeholders.
    """
    return re.compile(_expression(below_root(pattern), choices))


def _expression(text: str, choices: Mapping[str, str]) -> str:
    """A regular expression of it, in which every placeholder is tried but once."""
    parts, seen = [], set[str]()
    end = 0
    for found in _PLACEHOLDER.finditer(text):
        name = found[1]
        parts.append(re.escape(text[end : found.start()]))
        parts.append(
            f"(?P={name})" if name in seen else f"(?P<{name}>{choices.get(name, '[^/]+')})"
        )
        seen.add(name)
        end = found.end()
    return "".join(parts) + re.escape(text[end:])
