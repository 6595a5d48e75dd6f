"""Tables as LaTeX, for papers: booktabs lines, and names that can hold any character."""

from __future__ import annotations

from collections.abc import Sequence

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(SPECIAL.get(sign, sign) for sign in " ".join(text.split()))


def latex_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str) -> str:
    """A table of text cells, the first column to the left and the others to the right.

    Needs the package booktabs.
    """
    lines = [
        r"\begin{table}",
        rf"\caption{{{escaped(caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        _line(head),
        r"\midrule",
        *(_line(row) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    line = " & ".join(escaped(cell) for cell in cells)
    guard = "{}" if line.startswith(("[", "*")) else ""  # or it is the option of the line before
    return guard + line + r" \\"
