"""Figures are read back from their artists: what is drawn must be what the table says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from segjury.report import figures
from segjury.report.figures import method_colours, method_markers, save_figure
from segjury.report.figures.catalogue import KINDS
from segjury.report.figures.drawing.style import COLOURS, styled
from segjury.report.figures.ranks.blob import blob
from segjury.report.figures.saving.save import figure_bytes, slug
from segjury.report.pictures import PICTURES
from tests.score_tables import make_scores

# ---- looks ----------------------------------------------------------------------------------


def test_twenty_methods_have_twenty_looks() -> None:
    names = [f"method {i}" for i in range(25)]
    assert len(set(method_colours(names[:20]).values())) == len(COLOURS) == 20
    looks = zip(method_colours(names).values(), method_markers(names).values(), strict=True)
    assert len(set(looks)) == 25


# ---- files ---------------------------------------------------------------------------------


def test_files_are_the_same_each_time() -> None:
    scores = make_scores(("A", "B"), 2, ("corrected",), ("dsc",))
    for form in ("svg", "png", "pdf"):
        first, second = (figure_bytes(blob(scores, "dsc"), form) for _ in range(2))
        assert first == second
        assert b"CreationDate" not in first
        assert b"<dc:date>" not in first


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("vi CELIAC TRUNK", "vi-celiac-trunk"),
        ("../../etc/passwd", "etc-passwd"),
        ("<script>", "script"),
        ("名前", "figure"),
        ("x" * 300, "x" * 80),
    ],
)
def test_file_names_are_safe(name: str, file: str) -> None:
    assert slug(name) == file


def test_saving_leaves_nothing_half_written(tmp_path: Path) -> None:
    written = save_figure(Figure(figsize=(1, 1)), tmp_path / "new", "a b", ("png",))
    assert written == {"png": tmp_path / "new" / "a-b.png"}
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a-b.png"]


def test_the_style_is_ours_alone_and_only_while_drawing() -> None:
    before = dict(mpl.rcParams)
    with mpl.rc_context({"font.size": 40.0}), styled():
        assert mpl.rcParams["font.size"] == 7.0
    assert dict(mpl.rcParams) == before


# ---- modules -------------------------------------------------------------------------------

FOLDER = Path(figures.__file__).parent
ROOM = figures.__name__
SHARED = ("drawing", "saving")
DRAWN = {kind.draw.__module__ for kind in (*KINDS.values(), *PICTURES.values())} | {
    f"{ROOM}.raters.pair_measures",
    f"{ROOM}.raters.profiles",
}


def modules() -> Iterator[tuple[str, Path]]:
    """The modules of all sections by name."""
    for path in sorted(FOLDER.glob("*/*.py")):
        if path.parent.name not in SHARED:
            yield f"{ROOM}.{path.parent.name}.{path.stem}", path


def figure_of(module: str) -> str:
    """The figure that a module draws, or helps to draw: `mip_scene` belongs to `mip`."""
    owners = [name for name in DRAWN if module == name or module.startswith(f"{name}_")]
    return max(owners, key=len, default="")


def test_a_figure_is_named_as_its_file() -> None:
    for name, kind in (KINDS | PICTURES).items():
        stem = {"score-tree": "dendrogram"}.get(name, name.replace("-", "_"))
        assert kind.draw.__module__.rpartition(".")[2] == stem


@pytest.mark.parametrize(("module", "path"), [*modules()])
def test_no_figure_imports_another(module: str, path: Path) -> None:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    others = {figure_of(name) for name in imported} - {"", figure_of(module)}
    assert not others
