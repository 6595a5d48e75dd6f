"""The one exception that bad input raises, and how it reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class InputError(Exception):
    """Something the user gave is wrong: what is wrong and what to do, and where.

    `where` is filled in by the caller that knows it (case, method, file), so that the code
    which finds the fault need not.
    """

    what: str
    todo: str = ""
    where: str = ""

    def __str__(self) -> str:
        message = f"{self.where}: {self.what}" if self.where else self.what
        message = message.rstrip(".") + "."
        return f"{message} {self.todo.rstrip('.')}." if self.todo else message

    def at(self, where: str) -> InputError:
        """The same error, said to be at `where` (put before what is known already)."""
        return InputError(self.what, self.todo, f"{where}: {self.where}" if self.where else where)


class MissingInputError(InputError):
    """A file or folder that should be there is not."""

    def at(self, where: str) -> MissingInputError:
        """As `InputError.at`, and still a missing input."""
        return MissingInputError(
            self.what, self.todo, f"{where}: {self.where}" if self.where else where
        )
