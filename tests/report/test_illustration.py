"""An illustration saves itself, and shows itself in a notebook."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from segjury.errors import InputError
from segjury.report.figures import Illustration

STARTS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


def illustration(data: pd.DataFrame | None = None) -> Illustration:
    return Illustration(
        Figure(figsize=(2, 1)), "a name", "A title", "Read it so.", "Text", data=data
    )


@pytest.mark.parametrize("suffix", STARTS)
def test_a_figure_is_saved_in_the_format_of_its_name(tmp_path: Path, suffix: str) -> None:
    path = illustration().save(str(tmp_path / "deep" / f"figure.{suffix.upper()}"))
    assert path.read_bytes().startswith(STARTS[suffix])


def test_the_data_of_a_figure_are_saved_as_csv(tmp_path: Path) -> None:
    data = pd.DataFrame({"method": ["A", "B"], "value": [0.5, 1 / 3]})
    pd.testing.assert_frame_equal(pd.read_csv(illustration(data).save(tmp_path / "d.csv")), data)


@pytest.mark.parametrize(
    ("name", "said"),
    [("d.csv", "has no numbers"), ("d.gif", ".svg, .png, .pdf or .csv"), ("d", "has no format")],
)
def test_what_cannot_be_saved_is_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        illustration().save(tmp_path / "new" / name)
    assert not (tmp_path / "new").exists()


def test_a_notebook_shows_the_pixels_of_a_figure() -> None:
    with Image.open(io.BytesIO(illustration()._repr_png_())) as image:
        assert image.size == (400, 200)  # 2 by 1 inches, 200 pixels to the inch
