"""The exceptions that bad input raises, and how they read."""

from __future__ import annotations

from typing import Self


def escaped(text: str) -> str:
    """A text on one line: signs that would break it, or steer a terminal, are written out."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


class InputError(Exception):
    """Something the user gave is wrong: what is wrong, and what to do about it."""

    def __init__(self, what: str, todo: str = "") -> None:
        super().__init__(what, todo)
        self.what = what
        self.todo = todo

    def __str__(self) -> str:
        sentences = (self.what, self.todo)
        return escaped(" ".join(f"{text.rstrip('.')}." for text in sentences if text))

    def about(self, subject: str) -> Self:
        """The same error with the thing it is about in front: a file's name."""
        return type(self)(f"{subject} {self.what}", self.todo)


class MissingInputError(InputError):
    """A file or folder that should be there is not."""
