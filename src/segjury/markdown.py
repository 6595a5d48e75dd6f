"""Tables as Markdown, with text from outside shown as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|<>&~$-])")


def escaped(text: str) -> str:
    """Text that Markdown and HTML take for nothing but text."""
    return _SPECIAL.sub(r"\\\1", text).replace("\\<", "&lt;").replace("\\>", "&gt;")


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table of text cells, each on one line."""
    for cells in (head, None, *rows):
        texts = ["---"] * len(head) if cells is None else [_on_one_line(cell) for cell in cells]
        yield f"| {' | '.join(texts)} |"


def _on_one_line(cell: str) -> str:
    return escaped(" ".join(cell.split()))
