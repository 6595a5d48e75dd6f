"""What nnU-Net's `dataset.json` says of labels: their names, regions, and what is ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from segjury.benchmark.init.json_file import read_json
from segjury.errors import InputError, is_hidden
from segjury.images import is_file
from segjury.protocols.reference import WHOLE

NAME = "dataset.json"
MOST_BYTES = 1 << 24  # it may list every training case
MOST_LABELS = 255
LONGEST_NAME = 100
_NO_PART = str.maketrans("/\\{}", "--()")  # of a file's name, or of a pattern
FIX = 'Write "labels": {"background": 0, "kidney": 1, ...}, or move the file away'


@dataclass(frozen=True)
class Labels:
    """What is scored: names and the numbers that make each up, and the number to ignore."""

    numbers: dict[str, tuple[int, ...]]
    ignore: int | None = None
    others: tuple[int, ...] = ()  # in the files, but not to be scored
    title: str = ""
    source: str = ""  # where the names are from; empty where nothing says them
    remarks: dict[str, str] = field(default_factory=dict)  # by label

    @property
    def known(self) -> set[int]:
        """All numbers that it says something of."""
        ignored = {self.ignore} if self.ignore else set()
        return {n for held in self.numbers.values() for n in held} | ignored | set(self.others)


def find_dataset(folder: Path) -> Path | None:
    """The `dataset.json` in a folder, else that in the one above."""
    for place in (folder, folder.resolve().parent):
        if is_file(place / NAME):
            return place / NAME
    return None


def read_dataset(path: Path) -> Labels | None:
    """The labels that a `dataset.json` names; None if it says nothing of labels.

    In version 1 and the Medical Segmentation Decathlon the numbers name the labels, in version 2
    the names the numbers.
    """
    content = read_json(path, most_bytes=MOST_BYTES)
    if not isinstance(content, dict):
        raise InputError(f"{path.name} is no table of keys and values", FIX)
    if "labels" not in content:
        return None
    given = content["labels"]
    if not isinstance(given, dict):
        raise InputError(f"{path.name}: labels is no table of names and numbers", FIX)
    if len(given) > MOST_LABELS + 2:
        raise InputError(f"{path.name}: there are {len(given)} labels, at most 255 are read", FIX)
    by_number = bool(given) and all(key.isascii() and key.isdigit() for key in given)
    pairs = [(value, key) if by_number else (key, value) for key, value in given.items()]
    numbers: dict[str, tuple[int, ...]] = {}
    ignore = None
    for name, value in pairs:
        held = _numbers(path, name, value, is_text=by_number)
        if name == "ignore":
            if len(held) != 1:
                raise InputError(f"{path.name}: ignore is {_shown(value)}, not one number", FIX)
            ignore = held[0]
        elif held != (0,):
            numbers[free_name(usable_name(name), numbers)] = held
    if not numbers:
        raise InputError(f"{path.name}: labels names none but the background", FIX)
    _refuse_clash(path, numbers, ignore)
    return Labels(numbers, ignore, title=_title(content), source=path.name)


def _numbers(path: Path, name: Any, value: Any, *, is_text: bool) -> tuple[int, ...]:
    if not isinstance(name, str):
        raise InputError(f"{path.name}: {_shown(name)} is no name of a label", FIX)
    if is_text:
        value = int(value) if len(value) <= len("255") else 256
    held = value if isinstance(value, list) else [value]
    least = 1 if isinstance(value, list) else 0
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in held)
    if not held or not whole or not all(least <= n <= MOST_LABELS for n in held):
        expected = "expected a number from 0 to 255, or a list of them without 0"
        raise InputError(f"{path.name}: label {_shown(name)} is {_shown(value)}, {expected}", FIX)
    return tuple(dict.fromkeys(held))


def _refuse_clash(path: Path, numbers: Mapping[str, tuple[int, ...]], ignore: int | None) -> None:
    seen: dict[frozenset[int], str] = {}
    for name, held in numbers.items():
        same = seen.setdefault(frozenset(held), name)
        if same != name:
            raise InputError(f"{path.name}: {same} and {name} have the same numbers", FIX)
        if ignore in held:
            raise InputError(f"{path.name}: {name} has the number to ignore, {ignore}", FIX)


def _title(content: Mapping[str, Any]) -> str:
    title = content.get("name", content.get("dataset_name"))
    return usable_name(title) if isinstance(title, str) and title.strip() else ""


def usable_name(name: str) -> str:
    """A name as a label may be called: one line, part of a file name, and not too long."""
    shown = "".join(" " if is_hidden(sign) else sign for sign in name).translate(_NO_PART)
    text = " ".join(shown.split())[:LONGEST_NAME].strip()
    return f"{text} (label)".strip() if text in (WHOLE, "") else text


def free_name(name: str, taken: Mapping[str, Any], number: int | None = None) -> str:
    """A name that no other label has; a number is put behind one that is taken."""
    others = (f"{name} {k}" for k in count(number or len(taken) + 1))
    return name if name not in taken else next(other for other in others if other not in taken)


def _shown(value: Any) -> str:
    try:
        text = ascii(value)
    except RecursionError:  # nested too deep
        return "..."
    return text if len(text) <= 60 else f"{text[:60]}..."
