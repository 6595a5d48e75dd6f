"""JSON files from outside: of a sensible size, and an error in a sentence for any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from segjury.errors import InputError
from segjury.runtime.paths import refuse_pipe


def read_json(path: Path, *, most_bytes: int) -> Any:
    """The content of a file; an `InputError` for one too large, not JSON or nested too deep."""
    try:
        refuse_pipe(path)
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        what = f"{path.name} cannot be read ({error.strerror})"
        raise InputError(what, "Write or copy it again") from None
    if len(content) > most_bytes:
        raise InputError(f"{path.name} has more than {most_bytes} bytes", "Give a smaller one")
    try:
        return json.loads(content.decode("utf-8-sig"))
    except RecursionError:
        raise InputError(f"{path.name} is nested too deeply", "Give it a simpler form") from None
    except ValueError as error:  # no UTF-8, no JSON, or a number of too many digits
        raise InputError(f"{path.name} is not valid JSON ({error})", "Write it again") from None
