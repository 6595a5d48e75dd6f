"""The exceptions that bad input raises, how text from outside is shown, what a name may mean."""

from __future__ import annotations

import errno
import re
import unicodedata
from collections.abc import Iterable
from typing import Self

# what the system says of a file as it is; whatever else it says may be gone the next time
LASTING = (
    *(errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP),
    *(errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO),
)

# What draws nothing: Default_Ignorable_Code_Point of DerivedCoreProperties.txt, the same from
# Unicode 14.0 to 16.0. It includes places kept for later, which `unicodedata` cannot tell.
DEFAULT_IGNORABLE = tuple(
    range(first, last + 1)
    for first, last in (
        *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5)),
        *((0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F)),
        *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0)),
        *((0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
    )
)
_BLANK = "\N{BRAILLE PATTERN BLANK}"  # draws nothing either, though it counts as a symbol
_COMPARED, _MOST_COMPARED = 80, 1000  # letters and names, as comparing takes time
_MOST_LISTED = 40
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, direction and width, no UTF-8, line ends


def is_hidden(char: str) -> bool:
    """Whether a character is not seen, ends a line, or steers a terminal or the text around it."""
    if unicodedata.category(char) in _HIDDEN or char == _BLANK:
        return True
    return not char.isascii() and any(ord(char) in span for span in DEFAULT_IGNORABLE)


def escaped(text: str) -> str:
    """Text from outside on one line, each character that cannot be seen written out.

    All that people read goes through it: terminal, messages, LaTeX and Markdown.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() and not is_hidden(char) else _written_out(char) for char in text
    )


def _written_out(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


class InputError(Exception):
    """Something the user gave is wrong: what is wrong, and what to do about it.

    `kind` is one of those of `segjury check`, empty where it has none of its own; `hint` says what
    may be behind it, which only a check tells.
    """

    kind = ""

    def __init__(self, what: str, fix: str = "", *, kind: str = "", hint: str = "") -> None:
        super().__init__(what, fix)
        self.what = what
        self.fix = fix
        self.kind = kind or self.kind
        self.hint = hint

    def __str__(self) -> str:
        sentences = (self.what, self.fix)
        return escaped(" ".join(f"{text.rstrip('.')}." for text in sentences if text))

    def about(self, subject: str) -> Self:
        """The same error with the thing it is about in front: a file's name."""
        return type(self)(f"{subject} {self.what}", self.fix, kind=self.kind, hint=self.hint)


class MissingInputError(InputError):
    """A file or folder that should be there is not."""

    kind = "missing-file"


class PassingError(InputError):
    """Something failed that may go well the next time, such as reading a file from a busy disk.

    Nobody's input is to blame.
    """


def unreadable(error: OSError) -> InputError:
    """What to say of a file that the system, or what unpacks it, could not read."""
    what = f"cannot be read ({error.strerror or error})"
    if error.errno is None or error.errno in LASTING:
        return InputError(what, "Write or copy it again")
    return PassingError(what, "Run the same command again")


# ---- names that are not known ---------------------------------------------------------------


def same_name(given: str, known: Iterable[str]) -> str | None:
    """The known name that is meant: itself, else the only one but for capitals and joins.

    `MR-ECE`, `mr ece` and `mr_ece` are one name.
    """
    names = list(known)
    if given in names:
        return given
    alike = [name for name in names if _folded(name) == _folded(given)]
    return alike[0] if len(alike) == 1 else None


def did_you_mean(given: str, known: Iterable[str], start: str = "Use one of") -> str:
    """What to do about a name that is not known: `Did you mean 'dsc'? Use one of dsc, nsd`."""
    from difflib import get_close_matches

    names = list(dict.fromkeys(known))
    folded = {_folded(name)[:_COMPARED]: name for name in reversed(names[:_MOST_COMPARED])}
    near = get_close_matches(_folded(given)[:_COMPARED], folded, n=1)
    question = f"Did you mean '{folded[near[0]]}'? " if near else ""
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f"{question}{start} {', '.join(names[:_MOST_LISTED])}{more}"


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())
