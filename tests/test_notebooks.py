"""The notebooks of the documentation run from top to bottom in a real kernel."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

from tests.places import DOCS

SHOWN = {  # what each must show somewhere: tables as HTML, figures as pictures
    "benchmark": {"text/html", "image/png"},
    "metrics": {"text/plain"},
    "tables": {"text/html", "image/png"},
}


def test_every_notebook_is_run():
    assert {path.stem for path in (DOCS / "notebooks").glob("*.ipynb")} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs_and_shows_what_it_should(name, tmp_path):
    notebook = nbformat.read(DOCS / "notebooks" / f"{name}.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}})
    client.execute()  # raises the first error of a cell
    outputs = [each for cell in notebook.cells for each in cell.get("outputs", ())]
    assert SHOWN[name] <= {kind for each in outputs for kind in each.get("data", {})}
    assert not [each.text for each in outputs if each.get("name") == "stderr"]
