"""Names of cases and methods: which are refused, where they lead, and which look alike."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path

from segjury.errors import InputError, is_hidden

LONGEST_BYTES = 200  # file systems end at 255, and some files are named after a name
FORMULA = "is a formula for a spreadsheet that opens the tables"
SEPARATORS = "/\\"  # of folders, here or on another system
# Cyrillic and Greek letters that no font tells from the Latin ones below
_TWINS = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеоѕіјрсухΑΒΕΖΗΙΚΜΝΟΡΤΥΧο",  # noqa: RUF001
    "ABESIJKMHOPCTYXaeosijpcyxABEZHIKMNOPTYXo",
)


def check_name(name: str, of: str) -> str:
    """The name, if it can be one of a folder that tables, pages and terminals can show.

    Else an `InputError`. `of` says what it names, such as "case". Hidden characters break lines or
    make two names look the same; a path would lead elsewhere.
    """
    fix = f"Rename the {of}"
    if any(map(is_hidden, name)):
        what = f"the name of {of} {name!a} has characters that cannot be shown"
        raise InputError(what, fix, kind="bad-name")
    if len(name.encode()) > LONGEST_BYTES:
        what = f"the name of {of} {name[:40]!r}... has more than {LONGEST_BYTES} bytes"
        raise InputError(what, fix, kind="bad-name")
    if not name.strip() or name.startswith(".") or any(sign in name for sign in SEPARATORS):
        raise InputError(f"the {of} {name!a} is no name of a folder", fix, kind="bad-name")
    return name


def place_in(folder: Path, name: str, of: str) -> Path:
    """The path of a case or method in its folder; an `InputError` for a name that leaves it.

    Names in tables come from anybody, so that no name becomes a part of a path but here. Links are
    another matter: see `prediction_files`.
    """
    return folder / check_name(name, of)


def doubtful(names: Collection[str], of: str) -> list[str]:
    """Warnings of names that a reader may take for one, or a spreadsheet for a formula."""
    alike = [
        f"{of}s {' and '.join(f'{name!a}' for name in same)} look alike"
        for same in groups_alike(names)
    ]
    return alike + [f"{of} {name!a} {FORMULA}" for name in names if is_formula(name)]


def is_formula(name: str) -> bool:
    """Whether a spreadsheet may compute a name instead of showing it."""
    return name.startswith(("=", "+", "-", "@"))


def groups_alike(names: Iterable[str]) -> list[list[str]]:
    """Names that a reader may take for one.

    They are equal without regard to case, width, ligatures, accents' encoding, separators,
    leading zeros and letters of other alphabets that look Latin.
    """
    alike = defaultdict(list)
    for name in names:
        alike[appearance(name)].append(name)
    return [same for same in alike.values() if len(same) > 1]


def appearance(name: str) -> tuple[str, ...]:
    """What is the same in names that look alike."""
    latin = unicodedata.normalize("NFKC", name).translate(_TWINS)
    plain = unicodedata.normalize("NFKC", latin.casefold())
    return tuple(part.lstrip("0") for part in re.findall(r"\d+|[^\W\d_]+|[^\s\w.-]", plain))
