"""The rooms of the package: how many, how large, and without cycles."""

from __future__ import annotations

from graphlib import TopologicalSorter
from pathlib import Path

import grimp

import segjury

HOUSE = Path(segjury.__file__).parent
ROOMS = {
    *("runtime", "images", "consensus", "metrics", "protocols", "benchmark", "scoring", "results"),
    *("analysis", "raters", "report", "methods", "platforms", "cli"),
}
LOOSE = {"errors", "arrays", "rounding", "wording"}
LARGEST = 15


def folders(room: Path) -> list[Path]:
    return [path for path in room.iterdir() if (path / "__init__.py").exists()]


def test_every_module_stands_in_a_room():
    assert {path.name for path in folders(HOUSE)} <= ROOMS
    assert {path.stem for path in HOUSE.glob("*.py")} - {"__init__", "__main__"} == LOOSE


def test_a_large_room_has_rooms_of_its_own():
    rooms = [path.parent for path in HOUSE.rglob("__init__.py")]
    large = [room for room in rooms if len(list(room.glob("*.py"))) > LARGEST]
    assert not [room for room in large if not folders(room)]


def test_no_module_imports_itself_by_way_of_others():
    graph = grimp.build_graph("segjury", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules
