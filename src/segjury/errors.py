"""The exceptions that bad input raises, and how they read."""

from __future__ import annotations

import errno
from typing import Self

# what the system says of a file as it is; whatever else it says may be gone the next time
LASTING = (
    *(errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP),
    *(errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO),
)


def escaped(text: str) -> str:
    """Text on one line: characters that would break it, or steer a terminal, are written out."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


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
