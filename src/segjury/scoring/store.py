"""Keep the results of a run: one small file for each method and case."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from segjury.runtime.writing import PARTIAL, write_text
from segjury.scoring.records import Result

FORMAT = "8"  # of what is kept; results in another are computed again


class Store:
    """Finished results in a folder, each written whole or not at all.

    Those of other `settings` are kept beside them.
    """

    def __init__(self, folder: Path, settings: Sequence[str] = ()) -> None:
        self._folder = folder
        self._settings = tuple(settings)

    def load(self, case: str, method: str, fingerprint: str) -> Result | None:
        """The result of the same inputs, protocol and version, if there is one.

        One that is broken, or was changed since, is computed again.
        """
        path = self._path(case, method)
        if not path.is_file():
            return None
        try:
            content = json.loads(path.read_text("utf-8"))
            result = content["result"]
            expected = {"fingerprint": fingerprint, "checksum": _checksum(result)}
            same = content.items() >= expected.items()
            same = same and (result["case"], result["method"]) == (case, method)
            return Result.from_json(result) if same else None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def save(self, result: Result, fingerprint: str) -> None:
        """Keep a result."""
        kept = asdict(result)
        content = {"fingerprint": fingerprint, "checksum": _checksum(kept), "result": kept}
        write_text(json.dumps(content), self._path(result.case, result.method))

    def _path(self, case: str, method: str) -> Path:
        name = _digest("\0".join([case, method, *self._settings]))
        return self._folder / f"{name[:24]}.json"


def write_marker(folder: Path) -> str:
    """Put a file into the folder of a run by which workers elsewhere know it; its name."""
    mark = f"{PARTIAL}{secrets.token_hex(8)}"  # the next run removes it
    (folder / mark).touch()
    return mark


def _checksum(result: object) -> str:
    return _digest(json.dumps(result))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
